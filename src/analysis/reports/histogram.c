/* SPDX-License-Identifier: MIT */
/*
 * histogram.c - values counted in bins that are a 16th of their power of two
 * wide (histogram.h).
 *
 * `counts` always covers the values that were added, in whole powers of two,
 * and grows towards either side; adding costs a shift and an addition
 * otherwise. Quantiles go through the bins once.
 */
#include "analysis/reports/histogram.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bins.h"
#include "base/port.h"

#define PARTS SONDE_BINS_PARTS
#define LINES 24 /* of a drawing */

void sonde_histogram_fini(struct sonde_histogram *histogram)
{
	free(histogram->counts);
	*histogram = (struct sonde_histogram){ 0 };
}

/* Makes room for the bins from `first` to `last`. */
static int histogram_reach(struct sonde_histogram *histogram, int first,
			   int last)
{
	int end = (last & ~(PARTS - 1)) + PARTS;
	uint64_t *counts;

	first &= ~(PARTS - 1);
	if (histogram->nr_bins) {
		int old_end = histogram->first + histogram->nr_bins;

		first = first < histogram->first ? first : histogram->first;
		end = end > old_end ? end : old_end;
	}
	if (end - first == histogram->nr_bins)
		return 0;
	counts = calloc((size_t)(end - first), sizeof(*counts));
	if (!counts)
		return -ENOMEM;
	if (histogram->nr_bins)
		memcpy(counts + (histogram->first - first), histogram->counts,
		       (size_t)histogram->nr_bins * sizeof(*counts));
	free(histogram->counts);
	histogram->counts = counts;
	histogram->first = first;
	histogram->nr_bins = end - first;
	return 0;
}

static void histogram_widen(struct sonde_histogram *histogram, int64_t min,
			    int64_t max)
{
	if (!histogram->count || min < histogram->min)
		histogram->min = min;
	if (!histogram->count || max > histogram->max)
		histogram->max = max;
}

static void add_squares(struct sonde_histogram *histogram,
			sonde_uint128 squares)
{
	if (__builtin_add_overflow(histogram->squares, squares,
				   &histogram->squares))
		histogram->squares = ~(sonde_uint128)0;
}

int sonde_histogram_add(struct sonde_histogram *histogram, int64_t value)
{
	int bin = sonde_bins_of(value);

	if (bin < histogram->first ||
	    bin - histogram->first >= histogram->nr_bins) {
		int err = histogram_reach(histogram, bin, bin);

		if (err)
			return err;
	}
	histogram->counts[bin - histogram->first]++;
	histogram_widen(histogram, value, value);
	histogram->sum += value;
	add_squares(histogram, (sonde_uint128)((sonde_int128)value * value));
	histogram->count++;
	return 0;
}

int sonde_histogram_add_bin(struct sonde_histogram *histogram, int bin,
			    uint64_t count)
{
	int err;

	if (!count)
		return 0;
	err = histogram_reach(histogram, bin, bin);
	if (err)
		return err;
	histogram->counts[bin - histogram->first] += count;
	histogram->count += count;
	return 0;
}

int sonde_histogram_merge(struct sonde_histogram *into,
			  const struct sonde_histogram *from)
{
	int err;

	if (!from->count)
		return 0;
	err = histogram_reach(into, from->first,
			      from->first + from->nr_bins - 1);
	if (err)
		return err;
	for (int i = 0; i < from->nr_bins; i++)
		into->counts[from->first - into->first + i] += from->counts[i];
	histogram_widen(into, from->min, from->max);
	into->sum += from->sum;
	add_squares(into, from->squares);
	into->count += from->count;
	return 0;
}

/* The middle of a bin, but nothing that was less or more than all values. */
static int64_t middle(const struct sonde_histogram *histogram, int bin)
{
	int64_t from = sonde_bins_lower(bin);
	int64_t value = from + (sonde_bins_lower(bin + 1) - 1 - from) / 2;

	if (value < histogram->min)
		return histogram->min;
	return value > histogram->max ? histogram->max : value;
}

int64_t sonde_histogram_quantile(const struct sonde_histogram *histogram,
				 double q)
{
	uint64_t below = 0;
	double wanted = q * (double)histogram->count;

	if (!histogram->count || q <= 0.0)
		return histogram->min;
	for (int i = 0; i < histogram->nr_bins && q < 1.0; i++) {
		below += histogram->counts[i];
		if (below && (double)below >= wanted)
			return middle(histogram, histogram->first + i);
	}
	return histogram->max;
}

double sonde_histogram_mean(const struct sonde_histogram *histogram)
{
	if (!histogram->count)
		return 0.0;
	return (double)histogram->sum / (double)histogram->count;
}

int64_t sonde_histogram_sum(const struct sonde_histogram *histogram)
{
	if (histogram->sum > INT64_MAX)
		return INT64_MAX;
	return histogram->sum < INT64_MIN ? INT64_MIN : (int64_t)histogram->sum;
}

double sonde_histogram_deviation(const struct sonde_histogram *histogram)
{
	long double count = (long double)histogram->count;
	long double mean = (long double)histogram->sum / count;
	long double variance =
		(long double)histogram->squares / count - mean * mean;

	if (!histogram->count || variance <= 0)
		return 0.0;
	return sqrt((double)variance);
}

int64_t sonde_round(double value)
{
	if (value >= 0x1p63)
		return INT64_MAX;
	if (value < -0x1p63)
		return INT64_MIN;
	return isnan(value) ? 0 : (int64_t)round(value);
}

void sonde_histogram_cells(const struct sonde_histogram *histogram,
			   struct sonde_table *table, size_t first)
{
	static const double quantiles[] = { 0.0, 0.5, 0.9, 0.99, 0.999, 1.0 };

	/* the mean, the least, and two of the quantiles */
	sonde_table_minor(table, (uint64_t)0x2b << first);
	if (!histogram->count)
		return;
	sonde_table_int(table, first,
			sonde_round(sonde_histogram_mean(histogram)));
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(quantiles); i++)
		sonde_table_int(table, first + 1 + i,
				sonde_histogram_quantile(histogram,
							 quantiles[i]));
}

/* Into how many lines bins go if each takes 2^shift of them. */
static int nr_lines(int first, int last, int shift)
{
	return (last >> shift) - (first >> shift) + 1;
}

void sonde_histogram_report(const struct sonde_histogram *histogram,
			    struct sonde_report *report, const char *key,
			    const char *title, enum sonde_cell cell)
{
	int first = sonde_bins_of(histogram->min);
	int last = sonde_bins_of(histogram->max);
	int64_t bounds[LINES + 1] = { 0 };
	uint64_t counts[LINES] = { 0 };
	int shift = 0;
	int lines;

	if (!histogram->count)
		return;
	while (nr_lines(first, last, shift) > LINES)
		shift++;
	lines = nr_lines(first, last, shift);
	for (int bin = first; bin <= last; bin++)
		counts[(bin >> shift) - (first >> shift)] +=
			histogram->counts[bin - histogram->first];
	for (int i = 0; i <= lines; i++)
		bounds[i] =
			sonde_bins_lower(((first >> shift) + i) * (1 << shift));
	sonde_report_histogram(report, key, title, cell, bounds, counts,
			       (size_t)lines);
}
