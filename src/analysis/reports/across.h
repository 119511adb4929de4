/* SPDX-License-Identifier: MIT */
/*
 * across.h - begins and ends with the same key, on whatever machines they are: how
 * long requests took that programs of several machines give the same id.
 *
 * Which of two machines' events was first is known no better than their clocks
 * (reader/core/clock_offset.h), so what belongs together isn't told by the order, as
 * in join.h, but by the key alone: one that has one begin and one end is a
 * request. With more of either nothing is known of it, and it is counted.
 *
 * A request is one of these, and each is counted; `bound` is how far the
 * difference of its two times can be from the truth, 0 on one machine:
 *
 *	a span		it took what its times say, within the bound
 *	unknown		a span too, but no longer than its bound: that its end
 *			was behind its begin at all, its times don't tell
 *	uncompared	its two clocks were not compared, or not at that time
 *	across		events were lost meanwhile: one of the two may be of
 *			another request
 *	reversed	it surely ended before it began
 *
 * Memory: some 100 bytes for each key; at most SONDE_ACROSS_LIMIT, then -E2BIG.
 * Parts are merged in any order, with the same result.
 */
#ifndef ANALYSIS_REPORTS_ACROSS_H
#define ANALYSIS_REPORTS_ACROSS_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/reports/durations.h"
#include "analysis/reports/histogram.h"
#include "analysis/reports/longest.h"

#define SONDE_ACROSS_LIMIT ((size_t)7 << 19) /* 7/8 of 4 Mi */

/* From one machine to another, or to itself. */
struct sonde_across_way {
	uint64_t spans, unknown, uncompared;
	int64_t longest_ns, widest_ns; /* of spans; the latter: their bounds */
};

struct sonde_across {
	struct sonde_histogram durations; /* of spans */
	/* Of each the `place` is the machine of the begin, `other_place` that of
	 * the end, and other_ns the bound. */
	struct sonde_longest worst;
	uint64_t unknown, uncompared, across, reversed;
	uint64_t elsewhere; /* spans that end on another machine */
	uint64_t repeated;  /* keys */
	uint64_t unended, unbegun;
	uint64_t keyless; /* events that had none */
	int64_t widest_ns;
	int64_t unknown_ns;            /* no unknown one took longer */
	struct sonde_across_way *ways; /* [begin's machine][end's] */
	size_t nr_machines;
};

/* As of struct sonde_analysis; to be finished in any case. The configuration has a
 * begin, an end and a key. */
int sonde_across_find(struct sonde_analysis_args *args,
		      const struct sonde_durations_config *config,
		      struct sonde_across *ret_across);
/* Does nothing to zeros. */
void sonde_across_fini(struct sonde_across *across);

/* The whole report `latency`, as of struct sonde_analysis. */
int sonde_across_run(struct sonde_analysis_args *args,
		     const struct sonde_durations_config *config,
		     struct sonde_report **ret_report);

#endif /* ANALYSIS_REPORTS_ACROSS_H */
