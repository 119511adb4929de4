/* SPDX-License-Identifier: MIT */
/*
 * columns.h - the columns that a page's list of events has: words of the page's own,
 * and expressions, of fields and contexts, of which each event has a value or none.
 *
 *	time, event, size, next_comm, bytes / 1024
 *
 * A request's: one thread uses them. Cost: an expression for each event and column.
 */
#ifndef VIEW_HTTP_COLUMNS_H
#define VIEW_HTTP_COLUMNS_H

#include <stddef.h>

#include <sonde/trace.h>

#include "base/json.h"

struct sonde_view;
struct sonde_view_error;

#define SONDE_VIEW_COLUMNS 16

struct sonde_view_columns {
	size_t nr;
	struct {
		char *text;                  /* for free() */
		struct sonde_filter *filter; /* NULL: the page's own */
	} columns[SONDE_VIEW_COLUMNS];
};

/* `text` has commas between columns; NULL: there are none. 0, -ENOMEM, or -EINVAL and
 * words that begin with "columns: ", and the column where it is wrong. To be finished
 * in any case. */
int sonde_view_columns_init(struct sonde_view_columns *columns,
			    const struct sonde_view *view, const char *text,
			    struct sonde_view_error *error);
void sonde_view_columns_fini(struct sonde_view_columns *columns);

/* Members of an open object, if there are any: "columns", how they are called; and
 * what an event has in each, null in the page's own and where it has none. */
void sonde_view_columns_put(const struct sonde_view_columns *columns,
			    struct sonde_json *json);
void sonde_view_columns_put_event(const struct sonde_view_columns *columns,
				  const struct sonde_event *event,
				  struct sonde_json *json);

#endif /* VIEW_HTTP_COLUMNS_H */
