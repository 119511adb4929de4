/* SPDX-License-Identifier: MIT */
/*
 * kernel_sched.c - `sonde report sched`: how long threads that could run waited
 * for a CPU. The latency is the time from the first wake-up of a thread that
 * sleeps to the switch that lets it run; a thread that lost its CPU and waits
 * for another is counted apart.
 */
#include <stdio.h>
#include <string.h>

#include "analysis/reports/kernel.h"
#include "analysis/reports/reports.h"
#include "base/port.h"

enum {
	ALL, /* one tally */
	BY_THREAD,
	BY_PRIO,
};

/* Durations are latencies. */
enum {
	RUNS,
	RUN_NS,
	PREEMPTED,    /* how often the CPU was lost */
	PREEMPTED_NS, /* and waited for */
	MOVES,        /* woken here, run there */
};

static void add_ready(struct sonde_sums *sums, struct sonde_tally *tally,
		      const struct sonde_interval *interval)
{
	int64_t ns = sonde_elapsed_ns(interval->begin_ns, interval->end_ns);

	if (!tally)
		return;
	tally->numbers[MOVES] += interval->ready.moved;
	if (interval->ready.woken && interval->open)
		return; /* a latency that nobody knows */
	if (interval->ready.woken) {
		sonde_sums_add(sums, tally, ns);
		return;
	}
	tally->numbers[PREEMPTED]++;
	tally->numbers[PREEMPTED_NS] += (uint64_t)ns;
}

static void add_run(struct sonde_tally *tally,
		    const struct sonde_interval *interval)
{
	if (!tally)
		return;
	tally->numbers[RUNS]++;
	tally->numbers[RUN_NS] += (uint64_t)sonde_elapsed_ns(interval->begin_ns,
							     interval->end_ns);
}

static void add_interval(struct sonde_sums *sums,
			 const struct sonde_interval *interval)
{
	if (interval->kind == SONDE_INTERVAL_READY) {
		int32_t prio = interval->ready.prio;

		add_ready(sums, sonde_sums_at(sums, ALL, 0, interval),
			  interval);
		add_ready(sums,
			  sonde_sums_at(sums, BY_THREAD, interval->tid,
					interval),
			  interval);
		if (interval->open)
			return; /* with what priority it will run, neither */
		add_ready(sums, sonde_sums_at(sums, BY_PRIO, prio, interval),
			  interval);
		if (interval->ready.woken)
			sonde_sums_worst(sums, interval,
					 interval->ready.waker_kind);
	} else if (interval->kind == SONDE_INTERVAL_RUN && interval->tid) {
		add_run(sonde_sums_at(sums, ALL, 0, interval), interval);
		add_run(sonde_sums_at(sums, BY_THREAD, interval->tid, interval),
			interval);
		if (interval->run.prio != SONDE_PRIO_UNKNOWN)
			add_run(sonde_sums_at(sums, BY_PRIO, interval->run.prio,
					      interval),
				interval);
	}
}

/* clang-format off */
#define SCHED_COLUMNS                                                         \
	{ "wakeups", "WAKEUPS", SONDE_CELL_COUNT, SONDE_TALLY_COUNT },        \
	SONDE_HISTOGRAM_COLUMNS(SONDE_CELL_DURATION, SONDE_TALLY_DURATIONS),  \
	{ "moves", "MOVES", SONDE_CELL_COUNT, MOVES },                        \
	{ "preempted", "PREEMPTED", SONDE_CELL_COUNT, PREEMPTED },            \
	{ "preempted_wait", "FOR", SONDE_CELL_DURATION, PREEMPTED_NS },       \
	{ "runs", "RUNS", SONDE_CELL_COUNT, RUNS },                           \
	{ "run_time", "RUN TIME", SONDE_CELL_DURATION, RUN_NS }
/* clang-format on */

/* Moves, runs and their time: `cputop` and `activity` are about these. */
#define SCHED_MINOR (1u << 8 | 1u << 11 | 1u << 12)

/* Who waited longest; those that never did come last. */
static uint64_t waited(const struct sonde_model_result *result,
		       const struct sonde_tally *tally)
{
	return sonde_tally_total(result, tally) + tally->numbers[PREEMPTED_NS] +
	       1;
}

static void waker_name(const struct sonde_model_result *result,
		       const struct sonde_longest_span *span, char *to,
		       size_t size)
{
	/* An idle CPU wakes nobody by itself. */
	if (!span->other_tid || span->place == SONDE_WAKER_INTERRUPT)
		(void)snprintf(to, size, "an interrupt");
	else if (span->other_tid < 0)
		(void)snprintf(to, size, "-");
	else
		(void)snprintf(to, size, "%s (%d)%s",
			       sonde_model_thread_name(result->kernel,
						       span->other_tid),
			       span->other_tid,
			       span->place == SONDE_WAKER_MAYBE ?
				       ", or an interrupt" :
				       "");
}

static const struct sonde_tally_column all_columns[] = { SCHED_COLUMNS };
static const struct sonde_tally_column thread_columns[] = {
	{ "tid", "TID", SONDE_CELL_INT, SONDE_TALLY_TID },
	{ "thread", "THREAD", SONDE_CELL_TEXT, SONDE_TALLY_THREAD },
	SCHED_COLUMNS,
};
static const struct sonde_tally_column prio_columns[] = {
	{ "prio", "PRIORITY", SONDE_CELL_INT, SONDE_TALLY_KEY },
	SCHED_COLUMNS,
};
static const struct sonde_model_table tables[] = {
	SONDE_MODEL_TABLE("latency", "From wake-up to running", ALL,
			  all_columns, 1, waited, .minor = SCHED_MINOR << 0),
	SONDE_MODEL_TABLE("threads", "By thread", BY_THREAD, thread_columns, 20,
			  waited, .minor = SCHED_MINOR << 2),
	SONDE_MODEL_TABLE("priorities", "By priority", BY_PRIO, prio_columns,
			  20, waited, .minor = SCHED_MINOR << 1),
};

static const struct sonde_model_report model = {
	.name = "sched",
	.missing = "sched_switch or sched_wakeup",
	.wants = SONDE_WANT_THREADS,
	.thread_groups = 1u << BY_THREAD,
	.interval = add_interval,
	.noun = "wake-up",
	SONDE_MODEL_TABLES(tables),
	.took = "From wake-up to running",
	.worst_title = "The longest waits",
	.worst_what = "WOKEN BY",
	.worst_name = waker_name,
};

const struct sonde_analysis sonde_analysis_sched = {
	.name = "sched",
	.summary = "scheduler latency, by thread and priority",
	.needs = "kernel",
	.about = SONDE_WANT_THREADS,
	.model = &model,
};
