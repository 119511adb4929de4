/* SPDX-License-Identifier: MIT */
/*
 * histogram.h - how often which values, in little memory.
 *
 * Bins are those of base/bins.h: at most a 16th as wide as the values in them are
 * large, so a quantile, given as the middle of its bin, is off by 3.2 % at most.
 * Count, least, greatest and sum are exact. There is memory for the powers of two between the least and the greatest value only,
 * 128 bytes each; all of int64_t would take 15 KiB.
 *
 * Invariant: `counts` has the bins from `first` to below `first + nr_bins`;
 * both are multiples of 16; their sum is `count`.
 *
 * Merging gives the same as adding all values to one, in whatever order.
 */
#ifndef ANALYSIS_REPORTS_HISTOGRAM_H
#define ANALYSIS_REPORTS_HISTOGRAM_H

#include <stdint.h>

#include "analysis/report.h"

__extension__ typedef __int128 sonde_int128;
__extension__ typedef unsigned __int128 sonde_uint128;

/* Zeros are an empty one. */
struct sonde_histogram {
	uint64_t count;
	int64_t min, max; /* if count is not 0 */
	sonde_int128 sum;
	sonde_uint128 squares; /* their sum, or the greatest number */
	/* ---- private ---- */
	int first, nr_bins;
	uint64_t *counts;
};

void sonde_histogram_fini(struct sonde_histogram *histogram);

/* 0 or -ENOMEM, and then nothing has changed. */
int sonde_histogram_add(struct sonde_histogram *histogram, int64_t value);

/* Adds `count` values of a bin; min, max and sum are the caller's to set, and
 * there are no squares. 0 or -ENOMEM, and then nothing has changed. */
int sonde_histogram_add_bin(struct sonde_histogram *histogram, int bin,
			    uint64_t count);

/* Adds what is in `from`, which stays as it is. 0 or -ENOMEM. */
int sonde_histogram_merge(struct sonde_histogram *into,
			  const struct sonde_histogram *from);

/*
 * The value that the share `q` (0.0 to 1.0) of all values does not exceed, as
 * near as bins tell it; 0 and 1 give the least and the greatest. 0 of an empty
 * one.
 */
int64_t sonde_histogram_quantile(const struct sonde_histogram *histogram,
				 double q);
/* 0.0 of an empty one. */
double sonde_histogram_mean(const struct sonde_histogram *histogram);
/* The sum, or the nearest int64_t. */
int64_t sonde_histogram_sum(const struct sonde_histogram *histogram);
/* The standard deviation; exact but for rounding, as long as the squares'
 * sum is below 2^128. */
double sonde_histogram_deviation(const struct sonde_histogram *histogram);

/* To the nearest whole number, within int64_t; 0 of what is none. */
int64_t sonde_round(double value);

/* Columns of a table for what a histogram says (their cell, and what else the
 * table's columns have), and their cells in its last row, from column `first`
 * on; empty cells of an empty one. */
#define SONDE_HISTOGRAM_NR_COLUMNS 7
/* clang-format off */
#define SONDE_HISTOGRAM_COLUMNS(...)            \
	{ "mean", "MEAN", __VA_ARGS__ },        \
	{ "min", "MIN", __VA_ARGS__ },          \
	{ "p50", "P50", __VA_ARGS__ },          \
	{ "p90", "P90", __VA_ARGS__ },          \
	{ "p99", "P99", __VA_ARGS__ },          \
	{ "p99_9", "P99.9", __VA_ARGS__ },      \
	{ "max", "MAX", __VA_ARGS__ }
/* clang-format on */
void sonde_histogram_cells(const struct sonde_histogram *histogram,
			   struct sonde_table *table, size_t first);

/*
 * Adds a drawing to a report, in at most 24 lines: bins are drawn together
 * until they fit. `cell` says what the values are. Nothing if it is empty.
 */
void sonde_histogram_report(const struct sonde_histogram *histogram,
			    struct sonde_report *report, const char *key,
			    const char *title, enum sonde_cell cell);

#endif /* ANALYSIS_REPORTS_HISTOGRAM_H */
