/* SPDX-License-Identifier: MIT */
/* kernel_cputop.c - `sonde report cputop`: who had the CPUs. */
#include <inttypes.h>
#include <stdio.h>

#include "analysis/reports/cell_text.h"
#include "analysis/reports/kernel.h"
#include "analysis/reports/reports.h"
#include "base/port.h"

enum {
	BY_THREAD,
	BY_CPU,
};

/* Numbers of a tally, nanoseconds but for SWITCHES. */
enum {
	CPU_NS,
	IDLE_NS, /* thread 0's */
	CALL_NS, /* of CPU_NS, in system calls that returned */
	SWITCHES,
};

static void add_run(struct sonde_sums *sums,
		    const struct sonde_interval *interval)
{
	uint64_t ns = (uint64_t)sonde_elapsed_ns(interval->begin_ns,
						 interval->end_ns);
	struct sonde_tally *cpu =
		sonde_sums_at(sums, BY_CPU, interval->cpu, interval);
	struct sonde_tally *thread;

	if (cpu)
		cpu->numbers[interval->tid ? CPU_NS : IDLE_NS] += ns;
	if (!interval->tid)
		return;
	thread = sonde_sums_at(sums, BY_THREAD, interval->tid, interval);
	if (thread) {
		thread->numbers[CPU_NS] += ns;
		thread->numbers[SWITCHES]++;
	}
}

static void add_interval(struct sonde_sums *sums,
			 const struct sonde_interval *interval)
{
	struct sonde_tally *thread;
	uint64_t ns = (uint64_t)sonde_elapsed_ns(interval->begin_ns,
						 interval->end_ns);

	if (interval->kind == SONDE_INTERVAL_RUN) {
		add_run(sums, interval);
	} else if (interval->kind == SONDE_INTERVAL_SYSCALL) {
		thread =
			sonde_sums_at(sums, BY_THREAD, interval->tid, interval);
		if (thread && ns > interval->call.off_cpu_ns)
			thread->numbers[CALL_NS] +=
				ns - interval->call.off_cpu_ns;
	}
}

static uint64_t cpu_ns(const struct sonde_model_result *result,
		       const struct sonde_tally *tally)
{
	(void)result;
	return tally->numbers[CPU_NS];
}

static void thread_cells(const struct sonde_model_result *result,
			 struct sonde_table *table,
			 const struct sonde_tally *tally)
{
	/* A trace without calls doesn't say that there were none. */
	if (sonde_model_has(result->args->trace, SONDE_WANT_CALLS, NULL))
		sonde_table_int(table, 2, (int64_t)tally->numbers[CALL_NS]);
}

static void thread_row(const struct sonde_model_result *result,
		       struct sonde_table *table,
		       const struct sonde_tally *tally)
{
	int64_t tid = (int64_t)tally->key.number;

	thread_cells(result, table, tally);
	if (tid >= 0)
		sonde_table_int(table, 6,
				sonde_model_thread_pid(result->kernel,
						       (int32_t)tid));
}

static uint64_t seen_ns(const struct sonde_tally *tally)
{
	return tally->numbers[CPU_NS] + tally->numbers[IDLE_NS];
}

/* CPUs come by number. */
static uint64_t is_seen(const struct sonde_model_result *result,
			const struct sonde_tally *tally)
{
	(void)result;
	return seen_ns(tally) != 0;
}

/* Then nobody knows when a CPU is idle. */
static bool is_of_program(const struct sonde_model_result *result)
{
	struct sonde_model_counts counts;

	sonde_model_counts(result->kernel, &counts);
	return counts.whose == SONDE_WHOSE_PROGRAM;
}

static void cpu_row(const struct sonde_model_result *result,
		    struct sonde_table *table, const struct sonde_tally *tally)
{
	uint64_t span = (uint64_t)result->span_ns;
	uint64_t own =
		sonde_model_own_ns(result->kernel, (int32_t)tally->key.number);
	uint64_t busy = tally->numbers[CPU_NS] + own;
	uint64_t seen = seen_ns(tally) + own;

	sonde_table_double(table, 1, (double)busy / (double)span);
	sonde_table_int(table, 2, (int64_t)busy);
	if (!is_of_program(result))
		sonde_table_int(table, 3, (int64_t)tally->numbers[IDLE_NS]);
	sonde_table_int(table, 4, seen < span ? (int64_t)(span - seen) : 0);
}

/* clang-format off */
#define CPU_COLUMNS                                                     \
	{ "share", "CPU", SONDE_CELL_PERCENT, CPU_NS },                 \
	{ "cpu_time", "TIME", SONDE_CELL_DURATION, CPU_NS },            \
	{ "call_time", "IN CALLS", SONDE_CELL_DURATION,                 \
	  SONDE_TALLY_OWN },                                            \
	{ "runs", "RUNS", SONDE_CELL_COUNT, SWITCHES }
/* clang-format on */

static const struct sonde_tally_column cpu_columns[] = {
	{ "cpu", "CPU", SONDE_CELL_INT, SONDE_TALLY_KEY },
	{ "busy", "BUSY", SONDE_CELL_PERCENT, SONDE_TALLY_OWN },
	{ "cpu_time", "TIME", SONDE_CELL_DURATION, SONDE_TALLY_OWN },
	{ "idle_time", "IDLE", SONDE_CELL_DURATION, SONDE_TALLY_OWN },
	{ "unknown_time", "UNKNOWN", SONDE_CELL_DURATION, SONDE_TALLY_OWN },
};
static const struct sonde_tally_column process_columns[] = {
	CPU_COLUMNS,
	{ "pid", "PID", SONDE_CELL_INT, SONDE_TALLY_TID },
	{ "process", "PROCESS", SONDE_CELL_TEXT, SONDE_TALLY_THREAD },
};
static const struct sonde_tally_column thread_columns[] = {
	CPU_COLUMNS,
	{ "tid", "TID", SONDE_CELL_INT, SONDE_TALLY_TID },
	{ "thread", "THREAD", SONDE_CELL_TEXT, SONDE_TALLY_THREAD },
	{ "pid", "PID", SONDE_CELL_INT, SONDE_TALLY_OWN },
};
static const struct sonde_model_table tables[] = {
	SONDE_MODEL_TABLE("cpus", "By CPU", BY_CPU, cpu_columns, 64, is_seen,
			  .row = cpu_row),
	SONDE_MODEL_TABLE("processes", "By process", BY_THREAD, process_columns,
			  20, cpu_ns, .by_process = true, .row = thread_cells),
	SONDE_MODEL_TABLE("threads", "By thread", BY_THREAD, thread_columns, 20,
			  cpu_ns, .row = thread_row),
};

static void say(const struct sonde_model_result *result,
		struct sonde_report *report)
{
	const struct sonde_tally *most =
		sonde_model_most(result, BY_THREAD, cpu_ns);
	const struct sonde_hash *by_cpu = &result->sums->groups[BY_CPU];
	struct sonde_cell_text words = { .args = result->args };
	const struct sonde_tally *cpu = NULL;
	uint64_t busy_ns = 0;
	char who[80] = "threads that the trace doesn't name";

	if (!most)
		return;
	if ((int64_t)most->key.number >= 0)
		(void)snprintf(
			who, sizeof(who), "thread %" PRId64 " (%s)",
			(int64_t)most->key.number,
			sonde_model_thread_name(result->kernel,
						(int32_t)most->key.number));
	while ((cpu = sonde_hash_next(by_cpu, cpu)))
		busy_ns += cpu->numbers[CPU_NS] +
			   sonde_model_own_ns(result->kernel,
					      (int32_t)cpu->key.number);
	sonde_report_note(
		report, "In %s, %s had work%s for %s; most was for %s: %s.",
		sonde_cell_text_int(&words, SONDE_CELL_DURATION,
				    result->span_ns),
		sonde_cell_text_count(&words, by_cpu->nr_entries, "CPU"),
		is_of_program(result) ? " of the program" : "",
		sonde_cell_text_int(&words, SONDE_CELL_DURATION,
				    (int64_t)busy_ns),
		who,
		sonde_cell_text_int(&words, SONDE_CELL_DURATION,
				    (int64_t)most->numbers[CPU_NS]));
}

static const struct sonde_model_report model = {
	.name = "cputop",
	.missing = "sched_switch",
	.wants = SONDE_WANT_THREADS | SONDE_WANT_CALLS,
	.thread_groups = 1u << BY_THREAD,
	.interval = add_interval,
	.say = say,
	SONDE_MODEL_TABLES(tables),
};

const struct sonde_analysis sonde_analysis_cputop = {
	.name = "cputop",
	.summary = "CPU time by CPU, process and thread",
	.needs = "kernel",
	.about = SONDE_WANT_THREADS,
	.model = &model,
};
