/* SPDX-License-Identifier: MIT */
/*
 * offcpu_stacks.c - the time of threads that were blocked, by call stack
 * (offcpu_stacks.h): what stack_weights.h weighs, on trees (stack_tree.h), one of
 * where they were and one of where they were woken.
 */
#include "analysis/reports/offcpu_stacks.h"

#include "analysis/reports/cell_text.h"
#include "analysis/reports/reports.h"
#include "analysis/reports/stack_tree.h"
#include "analysis/reports/stack_weights.h"
#include "base/port.h"

#define STACK_ROWS 30

struct offcpu_stacks {
	const struct sonde_analysis_args *args;
	struct sonde_analysis_tree tree;
	uint64_t ns, stackless_ns;
	uint64_t nr;
};

static int offcpu_add_stack(void *ctx,
			    const struct sonde_analysis_weight *weight)
{
	struct offcpu_stacks *stacks = ctx;
	const uint64_t sums[SONDE_ANALYSIS_TREE_SUMS] = { weight->weight,
							  weight->count };

	stacks->ns += weight->weight;
	stacks->nr += weight->count;
	if (!sonde_analysis_site_stack(stacks->args, weight->at).nr)
		stacks->stackless_ns += weight->weight;
	return sonde_analysis_tree_add(&stacks->tree, weight->at, sums);
}

static int offcpu_put_tree(struct offcpu_stacks *stacks, const char *key,
			   const char *title, struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		{ "share", "SHARE", SONDE_CELL_PERCENT },
		{ "blocked_time", "BLOCKED", SONDE_CELL_DURATION },
		{ "blocked", "TIMES", SONDE_CELL_COUNT },
		SONDE_ANALYSIS_TREE_COLUMNS,
	};
	const struct sonde_analysis_tree_table table = {
		.key = key,
		.title = title,
		.columns = columns,
		.nr_columns = SONDE_ARRAY_SIZE(columns),
		.needs = 1,
		.rows = sonde_analysis_rows(stacks->args, STACK_ROWS),
		.put = sonde_analysis_tree_put_times,
		.ctx = &stacks->ns,
	};

	return sonde_analysis_tree_put(&stacks->tree, &table, report);
}

static int offcpu_put_stacks(struct offcpu_stacks *stacks,
			     struct sonde_report *report)
{
	struct sonde_cell_text words = { .args = stacks->args };

	sonde_report_note(report, "%s, for %s of threads' time.",
			  sonde_cell_text_count(&words, stacks->nr, "wait"),
			  sonde_cell_text_int(&words, SONDE_CELL_DURATION,
					      (int64_t)stacks->ns));
	if (stacks->stackless_ns)
		sonde_report_note(
			report,
			"Of %s where is not known: there is no call "
			"stack of it.",
			sonde_cell_text_int(&words, SONDE_CELL_DURATION,
					    (int64_t)stacks->stackless_ns));
	return offcpu_put_tree(stacks, "stacks",
			       "Where threads were blocked, by call stack",
			       report);
}

static int offcpu_put_wakers(struct offcpu_stacks *stacks,
			     struct sonde_report *report)
{
	struct sonde_cell_text words = { .args = stacks->args };

	if (stacks->stackless_ns)
		sonde_report_note(
			report,
			"Who ended waits of %s was somewhere that is not "
			"known: there is no call stack of it.",
			sonde_cell_text_int(&words, SONDE_CELL_DURATION,
					    (int64_t)stacks->stackless_ns));
	return offcpu_put_tree(stacks, "wakers",
			       "The same time, by where they were woken",
			       report);
}

static int offcpu_weigh(struct sonde_analysis_args *args,
			enum sonde_analysis_weigh what,
			int (*put)(struct offcpu_stacks *stacks,
				   struct sonde_report *report),
			struct sonde_report *report)
{
	struct offcpu_stacks stacks = { .args = args };
	struct sonde_analysis_weightless less;
	int err;

	sonde_analysis_tree_init(&stacks.tree, args, 0);
	err = sonde_analysis_weigh(args, what, offcpu_add_stack, &stacks,
				   &less);
	if (!err)
		err = put(&stacks, report);
	sonde_analysis_tree_fini(&stacks.tree);
	return err;
}

int sonde_analysis_offcpu_stacks(struct sonde_analysis_args *args,
				 struct sonde_report **ret_report)
{
	struct sonde_report *report;
	int err = sonde_analysis_by_stack_check(args, "-k sched --stack");

	if (err)
		return err;
	report = sonde_report_new("offcpu");
	err = offcpu_weigh(args, SONDE_ANALYSIS_WEIGH_OFFCPU, offcpu_put_stacks,
			   report);
	if (!err)
		err = offcpu_weigh(args, SONDE_ANALYSIS_WEIGH_WAKERS,
				   offcpu_put_wakers, report);
	return sonde_report_end(report, err, ret_report);
}
