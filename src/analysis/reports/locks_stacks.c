/* SPDX-License-Identifier: MIT */
/*
 * locks_stacks.c - waiting for locks by call stack, as two trees
 * (locks_stacks.h): one of the calls that waited, one of the calls that had
 * obtained what was waited for. A wait is in both, so their sums are the same but
 * for locks whose holder isn't known.
 */
#include "analysis/reports/locks_stacks.h"

#include <errno.h>

#include "analysis/reports/stack_tree.h"
#include "base/port.h"

enum sum {
	WAIT_NS,
	WAITED,
	WAIT_MAX,
	BLOCKED_NS,
	BLOCKED,
	BLOCKED_MAX,
};

#define MAXIMA (1u << WAIT_MAX | 1u << BLOCKED_MAX)

/* Which sums a table has, and what all sites have of the first. */
struct part {
	enum sum first;
	uint64_t all_ns;
	const char *key, *title;
	const struct sonde_column *columns;
};

int sonde_lock_by_check(struct sonde_analysis_args *args)
{
	if (args->by && !sonde_analysis_by_stack(args))
		return sonde_analysis_fail(args, -EINVAL,
					   "--by %.100s: waits for locks are "
					   "added up by stack",
					   args->by);
	return sonde_analysis_by_stack_check(args, "--locks --stack");
}

static void locks_put_sums(struct sonde_table *table, const uint64_t *sums,
			   void *ctx)
{
	const struct part *part = ctx;
	uint64_t ns = sums[part->first];

	sonde_table_int(table, 0, (int64_t)ns);
	sonde_table_share(table, 1, ns, part->all_ns);
	sonde_table_uint(table, 2, sums[part->first + 1]);
	sonde_table_int(table, 3, (int64_t)sums[part->first + 2]);
}

static const struct sonde_column wait_columns[] = {
	{ "wait", "WAIT", SONDE_CELL_DURATION },
	{ "wait_share", "SHARE", SONDE_CELL_PERCENT },
	{ "waited", "WAITED", SONDE_CELL_COUNT },
	{ "wait_max", "MAX", SONDE_CELL_DURATION },
	SONDE_ANALYSIS_TREE_COLUMNS,
};
static const struct sonde_column holder_columns[] = {
	{ "blocked_wait", "OTHERS' WAIT", SONDE_CELL_DURATION },
	{ "blocked_share", "SHARE", SONDE_CELL_PERCENT },
	{ "blocked", "MADE WAIT", SONDE_CELL_COUNT },
	{ "blocked_max", "MAX", SONDE_CELL_DURATION },
	SONDE_ANALYSIS_TREE_COLUMNS,
};

static int locks_add_part(const struct sonde_analysis_tree *tree,
			  struct part *part, size_t rows,
			  struct sonde_report *report)
{
	const struct sonde_analysis_tree_table table = {
		.key = part->key,
		.title = part->title,
		.columns = part->columns,
		.nr_columns = SONDE_ARRAY_SIZE(wait_columns),
		.by = part->first,
		.needs = part->first + 1,
		.rows = rows,
		.put = locks_put_sums,
		.ctx = part,
	};

	return sonde_analysis_tree_put(tree, &table, report);
}

int sonde_lock_stacks(const struct sonde_analysis_args *args,
		      const struct sonde_contention *contention, size_t rows,
		      struct sonde_report *report)
{
	const struct sonde_lock_site *site = NULL;
	struct part waits = {
		.first = WAIT_NS,
		.key = "wait_stacks",
		.title = "Who waits where, by call stack",
		.columns = wait_columns,
	};
	struct part holders = {
		.first = BLOCKED_NS,
		.key = "holder_stacks",
		.title = "Who held it where, by call stack",
		.columns = holder_columns,
	};
	struct sonde_analysis_tree tree;
	int err = 0;

	sonde_analysis_tree_init(&tree, args, MAXIMA);
	while (!err && (site = sonde_hash_next(&contention->sites, site))) {
		const uint64_t sums[SONDE_ANALYSIS_TREE_SUMS] = {
			[WAIT_NS] = site->wait_ns,
			[WAITED] = site->waited,
			[WAIT_MAX] = (uint64_t)site->wait_max_ns,
			[BLOCKED_NS] = site->blocked_ns,
			[BLOCKED] = site->blocked,
			[BLOCKED_MAX] = (uint64_t)site->blocked_max_ns,
		};

		waits.all_ns += site->wait_ns;
		holders.all_ns += site->blocked_ns;
		err = sonde_analysis_tree_add(&tree, &site->at, sums);
	}
	if (!err)
		err = locks_add_part(&tree, &waits, rows, report);
	if (!err)
		err = locks_add_part(&tree, &holders, rows, report);
	sonde_analysis_tree_fini(&tree);
	return err;
}
