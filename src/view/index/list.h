/* SPDX-License-Identifier: MIT */
/*
 * list.h - which rows a picture has, in which order, and what they are called.
 *
 * Between the index' lock and unlock.
 */
#ifndef VIEW_INDEX_LIST_H
#define VIEW_INDEX_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view/index/index.h"

struct sonde_view_listed {
	uint32_t id; /* the row's number */
	const struct sonde_view_row *row;
	/* the thread it goes on within, or it */
	const struct sonde_view_row *of;
	int32_t pid; /* of a thread, a lock; -1 */
	/* its own, that one's, its process's */
	uint64_t busy, of_busy, all_busy;
};

/* A thread's, what goes on within it, and a lock's. */
static inline bool
sonde_view_row_is_of_process(const struct sonde_view_row *row)
{
	return row->kind >= SONDE_VIEW_ROW_THREAD;
}

static inline bool sonde_view_row_is_of_cpu(const struct sonde_view_row *row)
{
	return row->kind < SONDE_VIEW_ROW_OWN;
}

static inline bool sonde_view_row_has_thread(const struct sonde_view_row *row)
{
	return sonde_view_row_is_of_process(row) &&
	       row->kind != SONDE_VIEW_ROW_LOCK;
}

void sonde_view_row_name(const struct sonde_view_row *row, char *to,
			 size_t size);

/* All rows, or those whose name has the filter's text, or whose thread or
 * process that number is; `list` has room for each row of the index. How many. */
size_t sonde_view_list(const struct sonde_view_index *index, const char *filter,
		       struct sonde_view_listed *list);

/* The row of the thread that it goes on within; -1. */
int64_t sonde_view_list_thread(const struct sonde_view_index *index,
			       const struct sonde_view_row *row);

#endif /* VIEW_INDEX_LIST_H */
