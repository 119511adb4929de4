/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * timing.h - from a clock that a source's records have to the session's: from
 * CLOCK_MONOTONIC, which is all a BPF program can read; from CLOCK_MONOTONIC_RAW
 * where tracefs shows no clock that is the session's (AArch64's counter).
 *
 * A pair is both clocks at one instant: the session's before and after the other
 * one, the tightest of some tries, and the middle of the two. Two
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
#ifndef SOURCE_TIMING_H
#define SOURCE_TIMING_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define SONDE_TIMING_HISTORY 64u
/* Pairs closer than this to the one before are not used: what a program has
 * read of a slot (bpf/shared.h) stays true for half as many times as there are. */
#define SONDE_TIMING_STEP_NS 5000000u

struct sonde_pair {
	uint64_t ns;      /* the other clock */
	uint64_t counter; /* the session's clock */
	uint64_t width;   /* of the session's clock */
};

/* The session's clock is base_counter + (ns - base_ns) * mult / 2^shift. */
struct sonde_timing_line {
	uint64_t base_ns;
	uint64_t base_counter;
	uint64_t mult; /* < 2^32 */
};

struct sonde_timing {
	uint32_t shift;
	uint32_t nr; /* pairs accepted */
	uint64_t best_width;
	uint64_t worst; /* of the session's clock: prediction off the pair */
	struct sonde_timing_line line;
	struct sonde_pair history[SONDE_TIMING_HISTORY]; /* nr modulo that */
};

/* Some microseconds. */
void sonde_pair_measure(uint64_t (*now)(void), clockid_t other,
			struct sonde_pair *ret_pair);

/* Two pairs, the second later. False if they make no sense. */
bool sonde_timing_init(struct sonde_timing *timing,
		       const struct sonde_pair *first,
		       const struct sonde_pair *second);

/* True if `pair` was used: timing->line is another one. */
bool sonde_timing_add(struct sonde_timing *timing,
		      const struct sonde_pair *pair);

/* The same with a pair that is measured now. */
bool sonde_timing_begin(struct sonde_timing *timing,
			const struct sonde_pair *first, uint64_t (*now)(void),
			clockid_t other);
bool sonde_timing_measure(struct sonde_timing *timing, uint64_t (*now)(void),
			  clockid_t other);

/* The session's clock at `ns`, by the line; before its base, too. */
uint64_t sonde_timing_at(const struct sonde_timing *timing, uint64_t ns);

uint64_t sonde_timing_error_ns(const struct sonde_timing *timing);

#endif /* SOURCE_TIMING_H */
