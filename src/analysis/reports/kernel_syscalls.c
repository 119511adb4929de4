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

/* clang-format off */
#define CALL_COLUMNS                                                    \
	{ "count", "COUNT", SONDE_CELL_COUNT, SONDE_TALLY_COUNT },      \
	{ "errors", "ERRORS", SONDE_CELL_COUNT, ERRORS },               \
	{ "total", "TOTAL", SONDE_CELL_DURATION, SONDE_TALLY_TOTAL },   \
	{ "off_cpu", "OFF CPU", SONDE_CELL_DURATION, OFF_CPU_NS },      \
	SONDE_HISTOGRAM_COLUMNS(SONDE_CELL_DURATION, SONDE_TALLY_DURATIONS)
/* clang-format on */

static void call_row(const struct sonde_model_result *result,
		     struct sonde_table *table, const struct sonde_tally *tally)
{
	sonde_table_text(table, 0,
			 sonde_model_call_name(result->tables,
					       (uint32_t)tally->key.number));
}

static void syscalls_worst_name(const struct sonde_model_result *result,
				const struct sonde_longest_span *span, char *to,
				size_t size)
{
	(void)snprintf(to, size, "%s",
		       sonde_model_call_name(result->tables,
					     (uint32_t)span->place));
}

static const struct sonde_tally_column all_columns[] = { CALL_COLUMNS };
static const struct sonde_tally_column call_columns[] = {
	{ "call", "CALL", SONDE_CELL_TEXT, SONDE_TALLY_OWN },
	CALL_COLUMNS,
};
static const struct sonde_tally_column thread_columns[] = {
	{ "tid", "TID", SONDE_CELL_INT, SONDE_TALLY_TID },
	{ "thread", "THREAD", SONDE_CELL_TEXT, SONDE_TALLY_THREAD },
	CALL_COLUMNS,
};
static const struct sonde_model_table tables[] = {
	SONDE_MODEL_TABLE("all", "System calls", ALL, all_columns, 1,
			  sonde_tally_count),
	SONDE_MODEL_TABLE("calls", "By call", BY_CALL, call_columns, 40,
			  sonde_tally_total, .row = call_row),
	SONDE_MODEL_TABLE("threads", "By thread", BY_THREAD, thread_columns, 20,
			  sonde_tally_total),
};

static const struct sonde_model_report model = {
	.name = "syscalls",
	.missing = "of system calls",
	.wants = SONDE_WANT_CALLS,
	.thread_groups = 1u << BY_THREAD,
	.interval = add_interval,
	.noun = "system call",
	SONDE_MODEL_TABLES(tables),
	.took = "How long calls took",
	.worst_title = "The longest calls",
	.worst_what = "CALL",
	.worst_name = syscalls_worst_name,
};

const struct sonde_analysis sonde_analysis_syscalls = {
	.name = "syscalls",
	.summary = "counts, errors, latency of system calls, by thread",
	.needs = "kernel",
	.about = SONDE_WANT_CALLS,
	.model = &model,
};
