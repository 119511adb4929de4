/* SPDX-License-Identifier: MIT */
/*
 * kernel_activity.c - `sonde report activity`: what each thread did with its
 * time. --by NAME or --by TID shows one only: that thread, or those of that
 * name or process.
 */
#include <inttypes.h>

#include "analysis/reports/cell_text.h"
#include "analysis/reports/kernel.h"
#include "analysis/reports/reports.h"
#include "base/port.h"

enum {
	BY_THREAD,
};

enum {
	RUN_NS,
	CALL_NS,      /* of RUN_NS, in system calls that returned */
	WOKEN_NS,     /* waited for a CPU, after a wake-up */
	PREEMPTED_NS, /* the same, after it had lost it */
	BLOCKED_NS,
	CALLS,
	WAKEUPS,
	MOVES,
	FORKS,
};

static void add_wait(struct sonde_tally *tally,
		     const struct sonde_interval *interval, uint64_t ns)
{
	bool woken = interval->ready.woken;

	tally->numbers[woken ? WOKEN_NS : PREEMPTED_NS] += ns;
	tally->numbers[WAKEUPS] += woken;
	tally->numbers[MOVES] += interval->ready.moved;
}

static void add_call(struct sonde_tally *tally,
		     const struct sonde_interval *interval, uint64_t ns)
{
	uint64_t off_cpu_ns = interval->call.off_cpu_ns;

	tally->numbers[CALLS]++;
	if (ns > off_cpu_ns)
		tally->numbers[CALL_NS] += ns - off_cpu_ns;
}

static void add_interval(struct sonde_sums *sums,
			 const struct sonde_interval *interval)
{
	uint64_t ns = (uint64_t)sonde_elapsed_ns(interval->begin_ns,
						 interval->end_ns);
	struct sonde_tally *tally;

	if (!interval->tid)
		return;
	tally = sonde_sums_at(sums, BY_THREAD, interval->tid, interval);
	if (!tally)
		return;
	if (interval->kind == SONDE_INTERVAL_RUN)
		tally->numbers[RUN_NS] += ns;
	else if (interval->kind == SONDE_INTERVAL_BLOCKED)
		tally->numbers[BLOCKED_NS] += ns;
	else if (interval->kind == SONDE_INTERVAL_READY)
		add_wait(tally, interval, ns);
	else if (interval->kind == SONDE_INTERVAL_SYSCALL)
		add_call(tally, interval, ns);
	else if (interval->kind == SONDE_INTERVAL_FORK)
		tally->numbers[FORKS]++;
}

static void row(const struct sonde_model_result *result,
		struct sonde_table *table, const struct sonde_tally *tally)
{
	int32_t tid = (int32_t)tally->key.number;
	int32_t parent = sonde_model_thread_ppid(result->kernel, tid);

	if (tid >= 0)
		sonde_table_int(table, 2,
				sonde_model_thread_pid(result->kernel, tid));
	if (tid >= 0 && parent >= 0)
		sonde_table_int(table, 3, parent);
	/* A trace without calls doesn't say that there were none. */
	if (!sonde_model_has(result->args->trace, SONDE_WANT_CALLS, NULL))
		return;
	sonde_table_int(table, 5, (int64_t)tally->numbers[CALL_NS]);
	sonde_table_uint(table, 9, tally->numbers[CALLS]);
}

static uint64_t asked_ns(const struct sonde_model_result *result,
			 const struct sonde_tally *tally)
{
	bool asked = sonde_model_is_by(result->args, result->kernel,
				       (int32_t)tally->key.number);

	return asked ? tally->numbers[RUN_NS] + 1 : 0;
}

static const struct sonde_tally_column columns[] = {
	{ "tid", "TID", SONDE_CELL_INT, SONDE_TALLY_TID },
	{ "thread", "THREAD", SONDE_CELL_TEXT, SONDE_TALLY_THREAD },
	{ "pid", "PID", SONDE_CELL_INT, SONDE_TALLY_OWN },
	{ "ppid", "PARENT", SONDE_CELL_INT, SONDE_TALLY_OWN },
	{ "run_time", "RAN", SONDE_CELL_DURATION, RUN_NS },
	{ "call_time", "IN CALLS", SONDE_CELL_DURATION, SONDE_TALLY_OWN },
	{ "ready_time", "READY", SONDE_CELL_DURATION, WOKEN_NS },
	{ "preempted_time", "PREEMPTED", SONDE_CELL_DURATION, PREEMPTED_NS },
	{ "blocked_time", "BLOCKED", SONDE_CELL_DURATION, BLOCKED_NS },
	{ "calls", "CALLS", SONDE_CELL_COUNT, SONDE_TALLY_OWN },
	{ "wakeups", "WAKEUPS", SONDE_CELL_COUNT, WAKEUPS },
	{ "moves", "MOVES", SONDE_CELL_COUNT, MOVES },
	{ "forks", "FORKS", SONDE_CELL_COUNT, FORKS },
	{ "first", "FIRST", SONDE_CELL_TIME, SONDE_TALLY_FIRST },
	{ "last", "LAST", SONDE_CELL_TIME, SONDE_TALLY_LAST },
};
/* Ids are minor, and all from wakeups on. */
static const struct sonde_model_table threads =
	SONDE_MODEL_TABLE("threads", "Threads", BY_THREAD, columns, 40,
			  asked_ns, .minor = 1u << 2 | 1u << 3 | 0x1fu << 10,
			  .row = row);

static void say(const struct sonde_model_result *result,
		struct sonde_report *report, const struct sonde_tally *most)
{
	struct sonde_cell_text words = { .args = result->args };
	const struct sonde_tally *tally = NULL;
	uint64_t ns = 0;
	uint64_t nr = 0;

	while ((tally = sonde_hash_next(&result->sums->groups[BY_THREAD],
					tally))) {
		uint64_t one = asked_ns(result, tally);

		nr += one != 0;
		ns += one ? one - 1 : 0;
	}
	sonde_report_note(report,
			  "In %s, %s ran for %s; thread %" PRId64
			  " (%s) ran longest: %s.",
			  sonde_cell_text_int(&words, SONDE_CELL_DURATION,
					      result->span_ns),
			  sonde_cell_text_count(&words, nr, "thread"),
			  sonde_cell_text_int(&words, SONDE_CELL_DURATION,
					      (int64_t)ns),
			  (int64_t)most->key.number,
			  sonde_model_thread_name(result->kernel,
						  (int32_t)most->key.number),
			  sonde_cell_text_int(&words, SONDE_CELL_DURATION,
					      (int64_t)most->numbers[RUN_NS]));
}

static int show(const struct sonde_model_result *result,
		struct sonde_report *report)
{
	const struct sonde_tally *most =
		sonde_model_most(result, BY_THREAD, asked_ns);

	if (!most) {
		if (result->args->by)
			sonde_report_note(report, "There is no such thread.");
		return 0;
	}
	say(result, report, most);
	return sonde_model_tables(result, report, &threads, 1);
}

static const struct sonde_model_report model = {
	.name = "activity",
	.missing = "of the scheduler or system calls",
	.wants = SONDE_WANT_THREADS | SONDE_WANT_CALLS,
	.thread_groups = 1u << BY_THREAD,
	.interval = add_interval,
	.show = show,
};

const struct sonde_analysis sonde_analysis_activity = {
	.name = "activity",
	.summary = "each thread's time: ran, waited, blocked, in calls",
	.needs = "kernel",
	.about = SONDE_WANT_THREADS | SONDE_WANT_CALLS,
	.model = &model,
};
