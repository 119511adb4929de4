/* SPDX-License-Identifier: MIT */
/*
 * live.h - the events of a trace as lines, while it is written.
 *
 *	sonde_live_new(&config, &live);
 *	every some milliseconds:
 *		sonde_live_look(live, now_ns)
 *	at the end of the trace:
 *		sonde_live_end(live)	the trace isn't needed any more
 *		sonde_live_drain(live)
 *	sonde_live_count(live, &counts);
 *	sonde_live_free(live);
 *
 * Order. An event is shown when no earlier one can come any more: `hold_ns`
 * after it happened, which is more than the recorder needs to write what it has
 * read, or up to a time that the recorder itself says. What comes later all the
 * same is shown then, and counted as late.
 *
 * A slow reader of the lines costs lines, never events: a look waits for it some
 * milliseconds at most, and of what it didn't take no more than some tens of
 * kilobytes are kept. What is left out is counted, and said in its place.
 *
 *	events = shown + filtered + left_out
 *
 * A filter may name what no event has had so far, and then can't be compiled:
 * events wait in the trace until it can be. If that never is, the end says so.
 *
 * One thread.
 */
#ifndef VIEW_LIVE_LIVE_H
#define VIEW_LIVE_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/trace.h>

#include "view/text/print.h"

struct sonde_follow;
struct sonde_live;

struct sonde_live_config {
	struct sonde_follow *follow; /* borrowed */
	int fd;                      /* where the lines go; borrowed */
	const char *filter;          /* borrowed; NULL: all */
	const char *columns;         /* borrowed; NULL: the usual ones */
	uint64_t hold_ns;
	bool json;
	bool colour;
	bool no_names; /* of addresses of code: numbers */
	/* Something that the user should hear at once; one line. */
	void (*say)(const char *text);
};

struct sonde_live_counts {
	uint64_t events; /* that were read */
	uint64_t shown;  /* their lines were written, or wait for the reader */
	uint64_t filtered; /* the filter says no */
	uint64_t left_out; /* the reader was too slow */
	uint64_t late;     /* of those shown: after later ones */
	uint64_t lost;     /* by the tracer, which says so */
	uint64_t lost_packets;
	uint64_t damages;
};

/* 0 or -ENOMEM. */
int sonde_live_new(const struct sonde_live_config *config,
		   struct sonde_live **ret_live);
void sonde_live_free(struct sonde_live *live); /* NULL is fine */

/* All that is in the trace now counts as seen, and isn't shown. As look. */
int sonde_live_skip(struct sonde_live *live);

/*
 * Reads what there is, and shows what is due. `read_ns`: all that happened up to
 * then, by CLOCK_MONOTONIC, is in the trace; 0: that isn't known, and hold_ns
 * is waited for. 0; -EPIPE: the reader of the lines has gone; -EINVAL: a column
 * is wrong; -errno: the trace can't be read. What is wrong is in
 * sonde_live_error().
 */
int sonde_live_look(struct sonde_live *live, uint64_t read_ns);

/* The trace is whole: reads the rest. As look, but that nothing is left out: the
 * reader is waited for, until a signal comes. */
int sonde_live_end(struct sonde_live *live);

/* Shows what is held back, and waits until the reader has all; JSON ends with the
 * counts. 0; -EPIPE; -EINTR: a signal came; -errno of writing. */
int sonde_live_drain(struct sonde_live *live);

void sonde_live_count(const struct sonde_live *live,
		      struct sonde_live_counts *ret_counts);

const struct sonde_trace_error *sonde_live_error(const struct sonde_live *live);
/* Which option the error is about; NULL: none. */
const char *sonde_live_wrong_option(const struct sonde_live *live);

#endif /* VIEW_LIVE_LIVE_H */
