/* SPDX-License-Identifier: MIT */
/*
 * gaps.h - how often which times were measured, in memory that is there before
 * anything is.
 *
 * Times are in ticks of some clock. Below SONDE_LATENCY_EXACT each has a count
 * of its own: with a counter of up to 4 GHz that is a microsecond. Those above
 * are in the bins of base/bins.h, at most a 16th as wide as what is in them is
 * large. Count, least, greatest, sum and squares are exact in any case.
 *
 * Adding allocates nothing, and touches two cache lines at most where the time
 * is short.
 */
#ifndef LATENCY_GAPS_H
#define LATENCY_GAPS_H

#include <stdint.h>

#include "base/bins.h"
#include "base/port.h"

#define SONDE_LATENCY_EXACT 4096u

__extension__ typedef unsigned __int128 sonde_latency_wide;

/* Zeros are an empty one. */
struct sonde_latency_gaps {
	uint64_t nr_long; /* those in bins */
	uint64_t sum_long;
	uint64_t max_long;
	sonde_latency_wide squares_long;
	uint64_t exact[SONDE_LATENCY_EXACT];
	uint64_t bins[SONDE_BINS_HALF];
};

void sonde_latency_gaps_add_long(struct sonde_latency_gaps *gaps,
				 uint64_t ticks);

static inline void sonde_latency_gaps_add(struct sonde_latency_gaps *gaps,
					  uint64_t ticks)
{
	if (sonde_unlikely(ticks >= SONDE_LATENCY_EXACT))
		sonde_latency_gaps_add_long(gaps, ticks);
	else
		gaps->exact[ticks]++;
}

struct sonde_latency_summary {
	uint64_t count, sum;
	uint64_t min, max; /* 0 of an empty one, as is the rest */
	double mean, variance;
};

/* In ticks; the variance in their squares. */
void sonde_latency_gaps_sum(const struct sonde_latency_gaps *gaps,
			    struct sonde_latency_summary *ret_summary);

/* What the share `q` of all doesn't exceed: exact, or the middle of a bin. */
uint64_t sonde_latency_gaps_quantile(const struct sonde_latency_gaps *gaps,
				     double q);

/* Gives each time that has a count, in order; those of a bin as its middle. */
void sonde_latency_gaps_each(const struct sonde_latency_gaps *gaps,
			     void (*each)(void *ctx, uint64_t ticks,
					  uint64_t count),
			     void *ctx);

#endif /* LATENCY_GAPS_H */
