/* SPDX-License-Identifier: MIT */
/*
 * malloc_sums.h - what is added up of allocations, be it by call site, by name
 * or by call stack, and the columns that show it.
 */
#ifndef ANALYSIS_REPORTS_MALLOC_SUMS_H
#define ANALYSIS_REPORTS_MALLOC_SUMS_H

#include "analysis/reports/heap.h"
#include "analysis/reports/stack_tree.h"

enum sonde_malloc_sum {
	SONDE_MALLOC_PEAK,
	SONDE_MALLOC_BYTES,
	SONDE_MALLOC_LIVE_BYTES,
	SONDE_MALLOC_LIVE_BLOCKS,
	SONDE_MALLOC_CALLS,
};

/* The whole that shares and rates are of. */
struct sonde_malloc_whole {
	uint64_t peak_bytes;
	double seconds;
};

#define SONDE_MALLOC_COLUMNS                                        \
	{ "peak", "AT THE PEAK", SONDE_CELL_BYTES },                \
		{ "peak_share", "SHARE", SONDE_CELL_PERCENT },      \
		{ "left", "NOT FREED", SONDE_CELL_BYTES },          \
		{ "left_blocks", "BLOCKS", SONDE_CELL_COUNT },      \
		{ "allocations", "ALLOCATIONS", SONDE_CELL_COUNT }, \
		{ "rate", "RATE", SONDE_CELL_RATE },                \
	{                                                           \
		"allocated", "BYTES IN ALL", SONDE_CELL_BYTES       \
	}
#define SONDE_MALLOC_NR_COLUMNS 7

/* Adds those of a site. */
void sonde_malloc_sums_add(uint64_t sums[SONDE_ANALYSIS_TREE_SUMS],
			   const struct sonde_heap *heap,
			   const struct sonde_heap_site *site);

/* Fills SONDE_MALLOC_COLUMNS, which begin at that one. */
void sonde_malloc_sums_put(struct sonde_table *table, size_t column,
			   const uint64_t *sums,
			   const struct sonde_malloc_whole *whole);

#endif /* ANALYSIS_REPORTS_MALLOC_SUMS_H */
