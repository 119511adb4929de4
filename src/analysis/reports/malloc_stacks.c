/* SPDX-License-Identifier: MIT */
/*
 * malloc_stacks.c - allocations by call stack, as trees (malloc_stacks.h): what
 * was held at the peak, and what was never freed. One tree, shown in two orders
 * (stack_tree.h).
 */
#include "analysis/reports/malloc_stacks.h"

#include "analysis/reports/stack_tree.h"
#include "base/port.h"

enum sum {
	PEAK,
	BYTES,
	LIVE_BYTES,
	LIVE_BLOCKS,
	CALLS,
};

/* What shares and rates are of. */
struct whole {
	double peak_bytes, seconds;
};

static const struct sonde_column columns[] = {
	{ "peak", "AT THE PEAK", SONDE_CELL_BYTES },
	{ "peak_share", "SHARE", SONDE_CELL_PERCENT },
	{ "left", "NOT FREED", SONDE_CELL_BYTES },
	{ "left_blocks", "BLOCKS", SONDE_CELL_COUNT },
	{ "allocations", "ALLOCATIONS", SONDE_CELL_COUNT },
	{ "rate", "RATE", SONDE_CELL_RATE },
	{ "allocated", "BYTES IN ALL", SONDE_CELL_BYTES },
	SONDE_ANALYSIS_TREE_COLUMNS,
};

static void malloc_put_sums(struct sonde_table *table, const uint64_t *sums,
			    void *ctx)
{
	const struct whole *whole = ctx;

	sonde_table_int(table, 0, (int64_t)sums[PEAK]);
	sonde_table_double(table, 1,
			   whole->peak_bytes > 0 ?
				   (double)sums[PEAK] / whole->peak_bytes :
				   0.0);
	sonde_table_int(table, 2, (int64_t)sums[LIVE_BYTES]);
	sonde_table_uint(table, 3, sums[LIVE_BLOCKS]);
	sonde_table_uint(table, 4, sums[CALLS]);
	sonde_table_double(table, 5, (double)sums[CALLS] / whole->seconds);
	sonde_table_int(table, 6, (int64_t)sums[BYTES]);
}

static int malloc_add_stacks(struct sonde_analysis_tree *tree,
			     const struct sonde_heap *heap)
{
	int err = 0;

	for (size_t i = 0; !err && i < heap->nr_sites; i++) {
		const struct sonde_heap_site *site = &heap->sites[i];
		const uint64_t sums[SONDE_ANALYSIS_TREE_SUMS] = {
			[PEAK] = sonde_heap_site_peak(heap, site),
			[BYTES] = site->calls.bytes,
			[LIVE_BYTES] = site->live_bytes,
			[LIVE_BLOCKS] = site->live_blocks,
			[CALLS] = site->calls.calls,
		};

		err = sonde_analysis_tree_add(tree, &site->at, sums);
	}
	return err;
}

int sonde_malloc_stacks(const struct sonde_analysis_args *args,
			const struct sonde_heap *heap, size_t rows,
			struct sonde_report *report)
{
	struct whole whole = { (double)heap->peak_bytes,
			       sonde_analysis_seconds(args) };
	struct sonde_analysis_tree_table table = {
		.key = "stacks",
		.title = "Who held it, by call stack",
		.columns = columns,
		.nr_columns = SONDE_ARRAY_SIZE(columns),
		.by = PEAK,
		.needs = CALLS,
		.rows = rows,
		.put = malloc_put_sums,
		.ctx = &whole,
	};
	struct sonde_analysis_tree tree;
	int err;

	sonde_analysis_tree_init(&tree, args, 0);
	err = malloc_add_stacks(&tree, heap);
	if (!err)
		err = sonde_analysis_tree_put(&tree, &table, report);
	table.key = "leak_stacks";
	table.title = "Not freed, by call stack";
	table.by = LIVE_BYTES;
	table.needs = LIVE_BLOCKS;
	if (!err)
		err = sonde_analysis_tree_put(&tree, &table, report);
	sonde_analysis_tree_fini(&tree);
	return err;
}
