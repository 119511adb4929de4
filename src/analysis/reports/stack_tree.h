/* SPDX-License-Identifier: MIT */
/*
 * stack_tree.h - sums by call stack, as a tree: `--by stack` of `sonde report`.
 *
 * The tree's roots are the innermost frames, where memory or a lock was asked
 * for; a node's children are its callers. A node has the sums of all stacks that
 * go through it, so those of its children and of the stacks that end with it add
 * up to its own. Memory: 120 bytes for each different frame below its parent.
 */
#ifndef ANALYSIS_REPORTS_STACK_TREE_H
#define ANALYSIS_REPORTS_STACK_TREE_H

#include "analysis/analysis.h"
#include "analysis/reports/site.h"
#include "base/hash.h"

#define SONDE_ANALYSIS_TREE_SUMS 6

struct sonde_analysis_tree_node;

struct sonde_analysis_tree {
	const struct sonde_analysis_args *args;
	/* A bit for each sum that is no sum, but the greatest. */
	uint32_t maxima;
	/* ---- private ---- */
	struct sonde_hash places;
	size_t nr, capacity;
	struct sonde_analysis_tree_node *nodes;
};

/* Whether args->by asks for it. */
bool sonde_analysis_by_stack(const struct sonde_analysis_args *args);
/* 0, or -EINVAL and said in args->error: it can't be had. `how` the trace has to
 * be recorded. */
int sonde_analysis_by_stack_check(struct sonde_analysis_args *args,
				  const char *how);

void sonde_analysis_tree_init(struct sonde_analysis_tree *tree,
			      const struct sonde_analysis_args *args,
			      uint32_t maxima);
void sonde_analysis_tree_fini(struct sonde_analysis_tree *tree);

/* 0, -ENOMEM, or -E2BIG. */
int sonde_analysis_tree_add(struct sonde_analysis_tree *tree,
			    const struct sonde_analysis_site *site,
			    const uint64_t sums[SONDE_ANALYSIS_TREE_SUMS]);

/* A table of a tree. Its last two columns are SONDE_ANALYSIS_TREE_COLUMNS. */
struct sonde_analysis_tree_table {
	const char *key, *title;
	const struct sonde_column *columns;
	size_t nr_columns;
	uint32_t by;    /* which sum is great in what comes first */
	uint32_t needs; /* which sum isn't 0 in what is shown */
	size_t rows;
	/* Fills the row's other columns. */
	void (*put)(struct sonde_table *table, const uint64_t *sums, void *ctx);
	void *ctx;
};

#define SONDE_ANALYSIS_TREE_COLUMNS                        \
	{ "depth", "DEPTH", SONDE_CELL_COUNT },            \
	{                                                  \
		"code", "CODE, CALLED BY", SONDE_CELL_TEXT \
	}

/* Columns 0 to 2, of sums[0] ns and how often they were: their share of
 * *(const uint64_t *)all_ns, the time, the number. */
void sonde_analysis_tree_put_times(struct sonde_table *table,
				   const uint64_t *sums, void *all_ns);

/* 0 or -ENOMEM. Nothing is added where nothing is to be shown. */
int sonde_analysis_tree_put(const struct sonde_analysis_tree *tree,
			    const struct sonde_analysis_tree_table *table,
			    struct sonde_report *report);

#endif /* ANALYSIS_REPORTS_STACK_TREE_H */
