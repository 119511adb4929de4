/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * clock.h - from CLOCK_MONOTONIC, which is all a BPF program can read, to the
 * session's clock.
 *
 * A pair is both clocks at one instant: the session's before and after
 * CLOCK_MONOTONIC, the tightest of some tries, and the middle of the two. Two
 * pairs some time apart tell the rate; the newest is where the line begins.
 * Each new pair tells how far off the line was, as it was used until then:
 * what sonde_timing_error_ns() says is the most that was seen, and half a
 * pair's width, which no measurement can see. The rate is that over about a
 * second, so it follows when somebody disciplines CLOCK_MONOTONIC.
 *
 * A pair that is much wider than the best (the recorder was interrupted in
 * each try) is not used.
 *
 * Pure, but for sonde_pair_measure(). One thread.
 */
#ifndef SOURCE_BPF_CLOCK_H
#define SOURCE_BPF_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "source/bpf/shared.h"

#define SONDE_TIMING_HISTORY 64u
/* Pairs closer than this to the one before are not used: what a program has
 * read of a slot stays true for SONDE_BPF_SLOTS / 2 times as long. */
#define SONDE_TIMING_STEP_NS 5000000u

struct sonde_pair {
	uint64_t ns;      /* CLOCK_MONOTONIC */
	uint64_t counter; /* the session's clock */
	uint64_t width;   /* of the session's clock */
};

struct sonde_timing {
	uint32_t shift;
	uint32_t nr; /* pairs accepted */
	uint64_t best_width;
	uint64_t worst; /* of the session's clock: prediction off the pair */
	struct sonde_bpf_slot line;
	struct sonde_pair history[SONDE_TIMING_HISTORY]; /* nr modulo that */
};

/* Some microseconds. */
void sonde_pair_measure(uint64_t (*now)(void), struct sonde_pair *ret_pair);

/* Two pairs, the second later. False if they make no sense. */
bool sonde_timing_init(struct sonde_timing *timing,
		       const struct sonde_pair *first,
		       const struct sonde_pair *second);

/* True if `pair` was used: timing->line is another one. */
bool sonde_timing_add(struct sonde_timing *timing,
		      const struct sonde_pair *pair);

/* The session's clock at `ns`, by the line; as the programs reckon. */
uint64_t sonde_timing_at(const struct sonde_timing *timing, uint64_t ns);

uint64_t sonde_timing_error_ns(const struct sonde_timing *timing);

#endif /* SOURCE_BPF_CLOCK_H */
