/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * timing.c - from another clock to the session's, by pairs of both (timing.h).
 *
 * The line goes through the newest pair, with the rate since the newest one
 * that is RATE_NS older; a pair much wider than the best isn't used. What is
 * told as the error is the most that was seen. Pure, but for the measuring.
 */
#include "source/timing.h"

#include "base/time.h"

#define TRIES   32
#define RATE_NS SONDE_NS_PER_S /* the rate is that over this time, or less */
/* Off by more than this many counts, no rate explains it: the machine slept,
 * and one of the clocks with it. */
#define LEAP (UINT64_C(1) << 22)
/* A pair is too wide if it is this much wider than the best so far. */
#define WIDE_FACTOR 4u

void sonde_pair_measure(uint64_t (*now)(void), clockid_t other,
			struct sonde_pair *ret_pair)
{
	struct sonde_pair best = { .width = UINT64_MAX };

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = now();
		uint64_t ns = sonde_time_ns(other);
		uint64_t width = now() - before;

		if (width >= best.width)
			continue;
		best.ns = ns;
		best.counter = before + width / 2;
		best.width = width;
	}
	*ret_pair = best;
}

/* Counts per nanosecond, times 2^shift; 0 if that is no rate. */
static uint64_t rate_between(const struct sonde_pair *first,
			     const struct sonde_pair *last, uint32_t shift)
{
	uint64_t counts = last->counter - first->counter;
	uint64_t ns = last->ns - first->ns;
	__extension__ unsigned __int128 wide = counts;

	if (last->ns <= first->ns || last->counter <= first->counter)
		return 0;
	wide = ((wide << shift) + ns / 2) / ns;
	return wide >> 32 ? 0 : (uint64_t)wide;
}

uint64_t sonde_timing_at(const struct sonde_timing *timing, uint64_t ns)
{
	int64_t since = (int64_t)(ns - timing->line.base_ns);
	__extension__ __int128 counts = since;

	counts = counts * (int64_t)timing->line.mult >> timing->shift;
	return timing->line.base_counter + (uint64_t)counts;
}

bool sonde_timing_init(struct sonde_timing *timing,
		       const struct sonde_pair *first,
		       const struct sonde_pair *second)
{
	*timing = (struct sonde_timing){ .shift = 32, .nr = 2 };
	/* The finest that leaves room for a rate a little higher. */
	while (timing->shift &&
	       (!rate_between(first, second, timing->shift) ||
		rate_between(first, second, timing->shift) >> 31 > 1))
		timing->shift--;
	timing->line = (struct sonde_timing_line){
		.base_ns = second->ns,
		.base_counter = second->counter,
		.mult = rate_between(first, second, timing->shift),
	};
	timing->history[0] = *first;
	timing->history[1] = *second;
	timing->best_width =
		first->width < second->width ? first->width : second->width;
	return timing->line.mult;
}

/* The newest that is RATE_NS before `pair`, or the oldest there is. */
static const struct sonde_pair *reference(const struct sonde_timing *timing,
					  const struct sonde_pair *pair)
{
	uint32_t kept = timing->nr < SONDE_TIMING_HISTORY ?
				timing->nr :
				SONDE_TIMING_HISTORY;
	const struct sonde_pair *found = NULL;

	for (uint32_t back = 1; back <= kept; back++) {
		found = &timing->history[(timing->nr - back) %
					 SONDE_TIMING_HISTORY];
		if (pair->ns - found->ns >= RATE_NS)
			break;
	}
	return found;
}

bool sonde_timing_add(struct sonde_timing *timing,
		      const struct sonde_pair *pair)
{
	uint64_t predicted = sonde_timing_at(timing, pair->ns);
	uint64_t off = predicted > pair->counter ? predicted - pair->counter :
						   pair->counter - predicted;
	uint64_t mult;

	if (pair->ns < timing->line.base_ns + SONDE_TIMING_STEP_NS ||
	    pair->width / WIDE_FACTOR > timing->best_width)
		return false;
	if (off > LEAP)
		timing->nr = 0; /* what came before says nothing any more */
	mult = timing->nr ? rate_between(reference(timing, pair), pair,
					 timing->shift) :
			    timing->line.mult;
	if (!mult)
		return false;
	if (pair->width < timing->best_width)
		timing->best_width = pair->width;
	off += pair->width / 2;
	if (off > timing->worst)
		timing->worst = off;
	timing->line = (struct sonde_timing_line){
		.base_ns = pair->ns,
		.base_counter = pair->counter,
		.mult = mult,
	};
	timing->history[timing->nr++ % SONDE_TIMING_HISTORY] = *pair;
	return true;
}

bool sonde_timing_begin(struct sonde_timing *timing,
			const struct sonde_pair *first, uint64_t (*now)(void),
			clockid_t other)
{
	struct sonde_pair second;

	sonde_pair_measure(now, other, &second);
	return sonde_timing_init(timing, first, &second);
}

bool sonde_timing_measure(struct sonde_timing *timing, uint64_t (*now)(void),
			  clockid_t other)
{
	struct sonde_pair pair;

	sonde_pair_measure(now, other, &pair);
	return sonde_timing_add(timing, &pair);
}

uint64_t sonde_timing_error_ns(const struct sonde_timing *timing)
{
	uint64_t worst = timing->worst ? timing->worst : timing->best_width;
	__extension__ unsigned __int128 wide = worst;

	if (!timing->line.mult)
		return 0;
	wide = (wide << timing->shift) / timing->line.mult + 1;
	return (uint64_t)wide;
}
