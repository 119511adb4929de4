/* SPDX-License-Identifier: MIT */
/*
 * lost.h - when events of a trace were lost, of whatever stream: a thread's may
 * be in all. What had begun before is not known to be open after that, as its
 * end may be among them; nor what began meanwhile.
 *
 * For a state machine that gets its events in the order of time, and keeps with
 * what it has open how many losses were over then.
 */
#ifndef ANALYSIS_REPORTS_LOST_H
#define ANALYSIS_REPORTS_LOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/trace.h>

struct sonde_lost_span {
	int64_t begin_ns, end_ns;
};

struct sonde_lost {
	struct sonde_lost_span *spans; /* by their ends */
	size_t nr, room;
	size_t passed; /* those that were over at the last event */
};

/* A span that ends no earlier than those that are there. 0 or -ENOMEM. */
int sonde_lost_add(struct sonde_lost *lost, int64_t begin_ns, int64_t end_ns);
/* From zeroes, all of a trace; or with `wanted`, by event class, of the sources
 * alone that have one of those. 0 or -ENOMEM; to be finished in any case. */
int sonde_lost_read(struct sonde_lost *lost, const struct sonde_trace *trace,
		    const uint8_t *wanted);
void sonde_lost_fini(struct sonde_lost *lost);

/* Whether there are any. */
bool sonde_lost_any(const struct sonde_trace *trace);

/* Goes on to an event; whether it came while others were lost. */
bool sonde_lost_pass(struct sonde_lost *lost, int64_t time_ns);
/* Whether any event was lost in that time, both ends included. */
bool sonde_lost_within(const struct sonde_lost *lost, int64_t begin_ns,
		       int64_t end_ns);
/* When events are lost next; INT64_MAX: never. */
int64_t sonde_lost_next(const struct sonde_lost *lost);
/* Whether any event was lost at that time or later. */
bool sonde_lost_since(const struct sonde_lost *lost, int64_t time_ns);

#endif /* ANALYSIS_REPORTS_LOST_H */
