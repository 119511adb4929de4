/* SPDX-License-Identifier: MIT */
/*
 * kernel_syscalls.c - `sonde report syscalls`: how often, how long, how often
 * in vain. Calls that returned and whose begin is in the trace count.
 */
#include <stdio.h>

#include "analysis/reports/kernel.h"
#include "analysis/reports/reports.h"
#include "base/port.h"

enum {
	ALL, /* one tally */
	BY_CALL,
	BY_THREAD,
};

enum {
	ERRORS,
	OFF_CPU_NS, /* of the durations */
};

#define LARGEST_ERRNO 4095

static void add_call(struct sonde_sums *sums, unsigned int group,
		     int64_t number, const struct sonde_interval *interval)
{
	struct sonde_tally *tally =
		sonde_sums_at(sums, group, number, interval);
	int64_t ret = interval->call.ret;

	sonde_sums_add(sums, tally,
		       sonde_elapsed_ns(interval->begin_ns, interval->end_ns));
	if (!tally)
		return;
	tally->numbers[ERRORS] += ret < 0 && ret >= -LARGEST_ERRNO;
	tally->numbers[OFF_CPU_NS] += interval->call.off_cpu_ns;
}

static void add_interval(struct sonde_sums *sums,
			 const struct sonde_interval *interval)
{
	if (interval->kind != SONDE_INTERVAL_SYSCALL)
		return;
	add_call(sums, ALL, 0, interval);
	add_call(sums, BY_CALL, interval->call.id, interval);
	add_call(sums, BY_THREAD, interval->tid, interval);
	sonde_sums_worst(sums, interval, interval->call.id);
}

static void syscalls_call_cells(struct sonde_table *table, size_t at,
				const struct sonde_tally *tally)
{
	sonde_table_uint(table, at, tally->durations.count);
	sonde_table_uint(table, at + 1, tally->numbers[ERRORS]);
	sonde_table_int(table, at + 2, sonde_histogram_sum(&tally->durations));
	sonde_table_int(table, at + 3, (int64_t)tally->numbers[OFF_CPU_NS]);
	sonde_histogram_cells(&tally->durations, table, at + 4);
}

/* clang-format off */
#define CALL_COLUMNS                                      \
	{ "count", "COUNT", SONDE_CELL_COUNT },           \
	{ "errors", "ERRORS", SONDE_CELL_COUNT },         \
	{ "total", "TOTAL", SONDE_CELL_DURATION },        \
	{ "off_cpu", "OFF CPU", SONDE_CELL_DURATION },    \
	SONDE_HISTOGRAM_COLUMNS(SONDE_CELL_DURATION)
/* clang-format on */

static void syscalls_all_row(const struct sonde_model_result *result,
			     struct sonde_table *table,
			     const struct sonde_tally *tally)
{
	(void)result;
	syscalls_call_cells(table, 0, tally);
}

static void call_row(const struct sonde_model_result *result,
		     struct sonde_table *table, const struct sonde_tally *tally)
{
	sonde_table_text(table, 0,
			 sonde_model_call_name(result->tables,
					       (uint32_t)tally->key.number));
	syscalls_call_cells(table, 1, tally);
}

static void syscalls_thread_row(const struct sonde_model_result *result,
				struct sonde_table *table,
				const struct sonde_tally *tally)
{
	sonde_model_thread_cells(result, table, 0, (int64_t)tally->key.number);
	syscalls_call_cells(table, 2, tally);
}

static void syscalls_worst_name(const struct sonde_model_result *result,
				const struct sonde_worst_span *span, char *to,
				size_t size)
{
	(void)snprintf(to, size, "%s",
		       sonde_model_call_name(result->tables,
					     (uint32_t)span->place));
}

static const struct sonde_column all_columns[] = { CALL_COLUMNS };
static const struct sonde_column call_columns[] = {
	{ "call", "CALL", SONDE_CELL_TEXT },
	CALL_COLUMNS,
};
static const struct sonde_column thread_columns[] = {
	{ "tid", "TID", SONDE_CELL_INT },
	{ "thread", "THREAD", SONDE_CELL_TEXT },
	CALL_COLUMNS,
};
/* In the order of the groups. */
static const struct sonde_model_table tables[] = {
	{
		.key = "all",
		.title = "System calls",
		.columns = all_columns,
		.nr_columns = SONDE_ARRAY_SIZE(all_columns),
		.rows = 1,
		.weight = sonde_tally_count,
		.row = syscalls_all_row,
	},
	{
		.key = "calls",
		.title = "By call",
		.columns = call_columns,
		.nr_columns = SONDE_ARRAY_SIZE(call_columns),
		.rows = 40,
		.weight = sonde_tally_total,
		.row = call_row,
	},
	{
		.key = "threads",
		.title = "By thread",
		.columns = thread_columns,
		.nr_columns = SONDE_ARRAY_SIZE(thread_columns),
		.rows = 20,
		.weight = sonde_tally_total,
		.row = syscalls_thread_row,
	},
};

static int show(const struct sonde_model_result *result,
		struct sonde_report *report)
{
	const struct sonde_tally *all =
		sonde_hash_next(&result->sums->groups[ALL], NULL);
	int error;

	sonde_model_say(result, report, all, "system call");
	error = sonde_model_group_tables(result, report, tables,
					 SONDE_ARRAY_SIZE(tables));
	if (error)
		return error;
	if (all)
		sonde_histogram_report(&all->durations, report, "histogram",
				       "How long calls took",
				       SONDE_CELL_DURATION);
	sonde_model_worst_table(result, report, "The longest calls", "CALL",
				syscalls_worst_name);
	return 0;
}

static int run(struct sonde_analysis_args *args,
	       struct sonde_report **ret_report)
{
	static const struct sonde_model_report syscalls = {
		.name = "syscalls",
		.missing = "of system calls",
		.wants = SONDE_WANT_CALLS,
		.thread_groups = 1u << BY_THREAD,
		.interval = add_interval,
		.show = show,
	};

	return sonde_model_report_run(&syscalls, args, ret_report);
}

const struct sonde_analysis sonde_analysis_syscalls = {
	.name = "syscalls",
	.summary = "counts, errors, latency of system calls, by thread",
	.needs = "kernel",
	.about = SONDE_WANT_CALLS,
	.run = run,
};
