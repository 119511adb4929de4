/* SPDX-License-Identifier: MIT */
/*
 * index.h - what of a trace a page can be told at once: how many events there
 * are when, and which events are missing.
 *
 * A thread of its own reads the trace, in the background; whoever asks
 * meanwhile is told what there is, and how far it is. Questions cost the same
 * however long the trace is.
 *
 *   counts	events before each of SONDE_VIEW_CELLS equally spaced times
 *   holes	when events were lost, or can't be read
 *   rows	what each CPU and thread of a kernel's trace was doing, and what
 *		went on within threads; who held and waited for locks; what a user's
 *		rules say
 *
 * Times are since the trace's begin, but where they are called _ns: since 1970,
 * as the reader has them.
 */
#ifndef VIEW_INDEX_INDEX_H
#define VIEW_INDEX_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/trace.h>

#include "view/index/rows.h"
#include "view/index/rules.h"

#define SONDE_VIEW_CELLS 16384

struct sonde_view_index;

struct sonde_view_progress {
	double done;     /* 0 to 1 */
	bool ready;      /* nothing more will come */
	bool counted;    /* events are */
	bool from_cache; /* all was there already */
	uint64_t events; /* if counted */
	char why[256];   /* there are no states; "" */
	char error[128]; /* it could not be made; "" */
};

/* Begins to read. NULL: no memory, no thread. The trace is borrowed, as are the
 * rules, if any. `keep`: for
 * the next time; what was kept is used. */
struct sonde_view_index *
sonde_view_index_new(struct sonde_trace *trace,
		     const struct sonde_view_rules *rules, bool keep);
/* Gives up reading if it isn't done. */
void sonde_view_index_free(struct sonde_view_index *index);

void sonde_view_index_progress(struct sonde_view_index *index,
			       struct sonde_view_progress *ret_progress);

/* How many events there are before that time; inside of a cell as if they were
 * spread evenly. 0 while they are not counted. */
uint64_t sonde_view_index_count(struct sonde_view_index *index, int64_t time);

/* A place to count events from, one by one. */
struct sonde_view_mark {
	int64_t time;    /* of no event before it */
	uint64_t before; /* events that are earlier */
};
/* A little before the event of a number, from 0 in the order of time, or before a
 * time: by a 16,384th of the trace at most. False: there is no such event, or they
 * are not counted yet. */
bool sonde_view_index_mark_event(struct sonde_view_index *index,
				 uint64_t number,
				 struct sonde_view_mark *ret_mark);
bool sonde_view_index_mark_time(struct sonde_view_index *index, int64_t time,
				struct sonde_view_mark *ret_mark);

/* What is missing. */
struct sonde_view_hole {
	int64_t begin, end;
	int32_t cpu;      /* -1: any */
	uint32_t sources; /* bits as a row's; all: nobody knows */
};
/* The i-th; false beyond the last. */
bool sonde_view_index_hole(struct sonde_view_index *index, size_t i,
			   struct sonde_view_hole *ret_hole);

/* The rows so far, which stay as they are until the unlock; the functions below
 * are for between the two. */
const struct sonde_view_rows *
sonde_view_index_lock(struct sonde_view_index *index);
void sonde_view_index_unlock(struct sonde_view_index *index);
const struct sonde_view_rows *
sonde_view_index_rows(const struct sonde_view_index *index);
bool sonde_view_index_hole_locked(const struct sonde_view_index *index,
				  size_t i, struct sonde_view_hole *ret_hole);
/* A row's number; -1: there is none. */
int64_t sonde_view_index_row(const struct sonde_view_index *index,
			     enum sonde_view_row_kind kind, int32_t number);
/* What a thread was blocked by, `about` its piece; NULL: not known, or not
 * yet. */
const char *sonde_view_index_cause(const struct sonde_view_index *index,
				   uint32_t about);
/* What goes on within a thread, likewise: the i-th, from 1 on, is the name of
 * `about` i. */
const char *sonde_view_index_name(const struct sonde_view_index *index,
				  uint32_t about);
/* Its colour, 0xrrggbb and SONDE_PLUGIN_COLOUR; 0: none was declared. */
uint32_t sonde_view_index_colour(const struct sonde_view_index *index,
				 uint32_t about);

#endif /* VIEW_INDEX_INDEX_H */
