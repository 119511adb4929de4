/* SPDX-License-Identifier: MIT */
/*
 * gaps.c - times counted one by one where they are short, in bins where they are
 * long (gaps.h).
 *
 * What concerns the short ones is found from their counts when it is asked for:
 * only the long ones, which are few, pay for sums when they are added.
 */
#include "latency/gaps.h"

void sonde_latency_gaps_add_long(struct sonde_latency_gaps *gaps,
				 uint64_t ticks)
{
	/* A clock that went back by what no clock does: kept in range. */
	uint64_t held = ticks > INT64_MAX ? INT64_MAX : ticks;

	gaps->bins[sonde_bins_of_magnitude(held)]++;
	gaps->nr_long++;
	gaps->sum_long += held;
	gaps->squares_long += (sonde_latency_wide)held * held;
	if (held > gaps->max_long)
		gaps->max_long = held;
}

/* The middle of a bin, but not more than all values were. */
static uint64_t gaps_middle(const struct sonde_latency_gaps *gaps, int bin)
{
	uint64_t from = (uint64_t)sonde_bins_lower(bin);
	uint64_t width = (uint64_t)sonde_bins_lower(bin + 1) - from;
	uint64_t value = from + width / 2;

	if (value < SONDE_LATENCY_EXACT)
		value = SONDE_LATENCY_EXACT;
	return value > gaps->max_long ? gaps->max_long : value;
}

void sonde_latency_gaps_each(const struct sonde_latency_gaps *gaps,
			     void (*each)(void *ctx, uint64_t ticks,
					  uint64_t count),
			     void *ctx)
{
	for (uint64_t i = 0; i < SONDE_LATENCY_EXACT; i++)
		if (gaps->exact[i])
			each(ctx, i, gaps->exact[i]);
	for (int i = 0; i < SONDE_BINS_HALF; i++)
		if (gaps->bins[i])
			each(ctx, gaps_middle(gaps, i), gaps->bins[i]);
}

struct gaps_totals {
	struct sonde_latency_summary *summary;
	sonde_latency_wide squares;
};

static void gaps_total(void *ctx, uint64_t ticks, uint64_t count)
{
	struct gaps_totals *totals = ctx;

	if (!totals->summary->count)
		totals->summary->min = ticks;
	totals->summary->count += count;
	if (ticks >= SONDE_LATENCY_EXACT)
		return;
	totals->summary->max = ticks;
	totals->summary->sum += ticks * count;
	totals->squares += (sonde_latency_wide)(ticks * ticks) * count;
}

void sonde_latency_gaps_sum(const struct sonde_latency_gaps *gaps,
			    struct sonde_latency_summary *ret_summary)
{
	struct gaps_totals totals = { .summary = ret_summary };
	long double mean;

	*ret_summary = (struct sonde_latency_summary){ 0 };
	sonde_latency_gaps_each(gaps, gaps_total, &totals);
	if (!ret_summary->count)
		return;
	ret_summary->sum += gaps->sum_long;
	totals.squares += gaps->squares_long;
	if (gaps->nr_long)
		ret_summary->max = gaps->max_long;
	mean = (long double)ret_summary->sum / (long double)ret_summary->count;
	ret_summary->mean = (double)mean;
	ret_summary->variance =
		(double)((long double)totals.squares /
				 (long double)ret_summary->count -
			 mean * mean);
	if (ret_summary->variance < 0) /* by rounding */
		ret_summary->variance = 0;
}

struct gaps_search {
	double wanted;
	uint64_t below, found;
};

static void gaps_pass(void *ctx, uint64_t ticks, uint64_t count)
{
	struct gaps_search *search = ctx;

	if (!search->below || (double)search->below < search->wanted)
		search->found = ticks;
	search->below += count;
}

uint64_t sonde_latency_gaps_quantile(const struct sonde_latency_gaps *gaps,
				     double q)
{
	struct sonde_latency_summary summary;
	struct gaps_search search = { 0 };

	sonde_latency_gaps_sum(gaps, &summary);
	search.wanted = q * (double)summary.count;
	sonde_latency_gaps_each(gaps, gaps_pass, &search);
	return q >= 1.0 ? summary.max : search.found;
}
