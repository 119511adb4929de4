/* SPDX-License-Identifier: MIT */
/*
 * cells.h - how many events of a trace come before each of SONDE_VIEW_CELLS + 1
 * equally spaced times, from its begin to its end. What an event says doesn't
 * matter, only when it was: so whoever reads the trace anyway can count.
 */
#ifndef VIEW_INDEX_CELLS_H
#define VIEW_INDEX_CELLS_H

#include <stdint.h>

#include "reader/map.h"
#include "view/index/index.h"

struct sonde_view_cells {
	int64_t begin_ns, end_ns;
	int64_t cell_ns; /* not 0 */
	/* [0] is 0; the last one counts all events that have a time */
	uint64_t before[SONDE_VIEW_CELLS + 1];
};

/* Without counts. */
void sonde_view_cells_init(struct sonde_view_cells *cells, int64_t begin_ns,
			   int64_t end_ns);
/* An event of that time: in any order, by any thread; then, once, the sums. */
void sonde_view_cells_see(struct sonde_view_cells *cells, int64_t time_ns);
void sonde_view_cells_sum(struct sonde_view_cells *cells);
/* All of them, where nobody reads the trace for more. 0; -EINTR:
 * options->progress says so; another negative errno. */
int sonde_view_cells_count(struct sonde_view_cells *cells,
			   struct sonde_trace *trace,
			   const struct sonde_map_options *options);
uint64_t sonde_view_cells_before(const struct sonde_view_cells *cells,
				 int64_t time);

/* A place to count events from, one by one: the begin of a cell, and how many events
 * are before it. That of the event of a number, from 0 in the order of time, false:
 * there is none; that of a time. */
bool sonde_view_cells_mark_event(const struct sonde_view_cells *cells,
				 uint64_t number,
				 struct sonde_view_mark *ret_mark);
void sonde_view_cells_mark_time(const struct sonde_view_cells *cells,
				int64_t time, struct sonde_view_mark *ret_mark);

#endif /* VIEW_INDEX_CELLS_H */
