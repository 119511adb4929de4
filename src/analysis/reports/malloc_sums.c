/* SPDX-License-Identifier: MIT */
/*
 * malloc_sums.c - what is added up of allocations, and its columns
 * (malloc_sums.h).
 */
#include "analysis/reports/malloc_sums.h"

void sonde_malloc_sums_add(uint64_t sums[SONDE_ANALYSIS_TREE_SUMS],
			   const struct sonde_heap *heap,
			   const struct sonde_heap_site *site)
{
	sums[SONDE_MALLOC_PEAK] += sonde_heap_site_peak(heap, site);
	sums[SONDE_MALLOC_BYTES] += site->calls.bytes;
	sums[SONDE_MALLOC_LIVE_BYTES] += site->live_bytes;
	sums[SONDE_MALLOC_LIVE_BLOCKS] += site->live_blocks;
	sums[SONDE_MALLOC_CALLS] += site->calls.calls;
}

void sonde_malloc_sums_put(struct sonde_table *table, size_t column,
			   const uint64_t *sums,
			   const struct sonde_malloc_whole *whole)
{
	uint64_t peak = sums[SONDE_MALLOC_PEAK];
	uint64_t calls = sums[SONDE_MALLOC_CALLS];

	sonde_table_int(table, column, (int64_t)peak);
	sonde_table_share(table, column + 1, peak, whole->peak_bytes);
	sonde_table_int(table, column + 2,
			(int64_t)sums[SONDE_MALLOC_LIVE_BYTES]);
	sonde_table_uint(table, column + 3, sums[SONDE_MALLOC_LIVE_BLOCKS]);
	sonde_table_uint(table, column + 4, calls);
	sonde_table_double(table, column + 5, (double)calls / whole->seconds);
	sonde_table_int(table, column + 6, (int64_t)sums[SONDE_MALLOC_BYTES]);
}
