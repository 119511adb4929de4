/* SPDX-License-Identifier: MIT */
/*
 * malloc_stacks.c - allocations by call stack, as trees (malloc_stacks.h): what
 * was held at the peak, and what was never freed. One tree, shown in two orders
 * (stack_tree.h).
 */
#include "analysis/reports/malloc_stacks.h"

#include "analysis/reports/malloc_sums.h"
#include "base/port.h"

static const struct sonde_column columns[] = {
	SONDE_MALLOC_COLUMNS,
	SONDE_ANALYSIS_TREE_COLUMNS,
};

static void malloc_put_sums(struct sonde_table *table, const uint64_t *sums,
			    void *ctx)
{
	sonde_malloc_sums_put(table, 0, sums, ctx);
}

static int malloc_add_stacks(struct sonde_analysis_tree *tree,
			     const struct sonde_heap *heap)
{
	int err = 0;

	for (size_t i = 0; !err && i < heap->nr_sites; i++) {
		const struct sonde_heap_site *site = &heap->sites[i];
		uint64_t sums[SONDE_ANALYSIS_TREE_SUMS] = { 0 };

		sonde_malloc_sums_add(sums, heap, site);
		err = sonde_analysis_tree_add(tree, &site->at, sums);
	}
	return err;
}

int sonde_malloc_stacks(const struct sonde_analysis_args *args,
			const struct sonde_heap *heap, size_t rows,
			struct sonde_report *report)
{
	struct sonde_malloc_whole whole = { heap->peak_bytes,
					    sonde_analysis_seconds(args) };
	struct sonde_analysis_tree_table table = {
		.key = "stacks",
		.title = "Who held it, by call stack",
		.columns = columns,
		.nr_columns = SONDE_ARRAY_SIZE(columns),
		.by = SONDE_MALLOC_PEAK,
		.needs = SONDE_MALLOC_CALLS,
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
	table.by = SONDE_MALLOC_LIVE_BYTES;
	table.needs = SONDE_MALLOC_LIVE_BLOCKS;
	if (!err)
		err = sonde_analysis_tree_put(&tree, &table, report);
	sonde_analysis_tree_fini(&tree);
	return err;
}
