/* SPDX-License-Identifier: MIT */
/*
 * top.h - what programs are doing, from their trace while it is written: rates of
 * events, threads and processes, locks, the longest waits, allocations.
 *
 *	sonde_top_new(&config, &top);
 *	every some milliseconds:
 *		sonde_top_look(top, read_ns)
 *	every second or so:
 *		sonde_top_turn(top)
 *		sonde_top_report(top, &view, &report)
 *	at the end of the trace:
 *		sonde_top_end(top)
 *
 * Numbers of events are counted as they are read. What depends on order, such as
 * who holds a lock, is played by the state machines of the reports when no earlier
 * event can come any more (feed.h).
 *
 * A rate is that of the time between the last two turns, so what is drawn in
 * between doesn't flicker.
 *
 * Limits: where a table is full, threads that did nothing for a while make room,
 * state machines begin anew, and what found no room is counted.
 *
 * One thread.
 */
#ifndef VIEW_LIVE_TOP_H
#define VIEW_LIVE_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/trace.h>

#include "analysis/report.h"

struct sonde_follow;
struct sonde_top;

struct sonde_top_config {
	struct sonde_follow *follow; /* borrowed */
	const char *filter;          /* borrowed; NULL: all */
	uint64_t hold_ns;
	bool no_names; /* of addresses: numbers alone */
	/* Something that the user should hear at once; one line. */
	void (*say)(const char *text);
};

/* Tables; ALL has the first rows of each. */
enum sonde_top_table {
	SONDE_TOP_ALL,
	SONDE_TOP_EVENTS,
	SONDE_TOP_PROCESSES,
	SONDE_TOP_THREADS,
	SONDE_TOP_LOCKS,
	SONDE_TOP_WAITS,
	SONDE_TOP_MEMORY,
	SONDE_TOP_CALLS,
	SONDE_TOP_NR_TABLES,
};

struct sonde_top_view {
	enum sonde_top_table table;
	size_t rows;        /* of a table; 0: all */
	int sort;           /* its column; -1: the table's own choice */
	bool ascending;     /* the least first */
	const char *having; /* rows with this text in them; NULL: all */
};

/* 0 or -ENOMEM. */
int sonde_top_new(const struct sonde_top_config *config,
		  struct sonde_top **ret_top);
void sonde_top_free(struct sonde_top *top); /* NULL is fine */

/* All that is in the trace now doesn't count. As look. */
int sonde_top_skip(struct sonde_top *top);
/* Reads what there is; `read_ns` as of sonde_feed_due_ns(). 0; -EINVAL of a
 * filter, -errno: sonde_top_error(). */
int sonde_top_look(struct sonde_top *top, uint64_t read_ns);
/* The trace is whole. As look. */
int sonde_top_end(struct sonde_top *top);

/* From now on rates are those since the turn before. 0 or -ENOMEM. */
int sonde_top_turn(struct sonde_top *top);

/* *ret_report is to be freed. 0 or -ENOMEM. */
int sonde_top_report(struct sonde_top *top, const struct sonde_top_view *view,
		     struct sonde_report **ret_report);
/* How many of the tables have something to show. */
size_t sonde_top_nr_tables(const struct sonde_top *top);
/* The i-th column; NULL beyond the last. And which one a table is sorted by. */
const struct sonde_column *sonde_top_column(enum sonde_top_table table,
					    size_t i);
size_t sonde_top_sort(enum sonde_top_table table);

struct sonde_top_counts {
	uint64_t events;   /* that were read */
	uint64_t filtered; /* of these: the filter says no */
	uint64_t lost, lost_packets, damages;
	uint64_t out_of_order; /* played after later ones */
	uint64_t left_out;     /* in no row of threads or events: no room */
	uint64_t restarts;     /* of state machines: no room */
};
void sonde_top_count(const struct sonde_top *top,
		     struct sonde_top_counts *ret_counts);

const struct sonde_trace_error *sonde_top_error(const struct sonde_top *top);
/* Whether the error is the filter's. */
bool sonde_top_is_wrong(const struct sonde_top *top);

#endif /* VIEW_LIVE_TOP_H */
