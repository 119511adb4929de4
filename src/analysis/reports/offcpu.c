/* SPDX-License-Identifier: MIT */
/*
 * offcpu.c - `sonde report offcpu`: what threads waited for, and who woke them.
 * --by NAME or --by TID shows one only, as in activity; --by stack is another
 * report (offcpu_stacks.h).
 *
 * Waits are added up by thread, cause and waker; a key is all three as they
 * are shown, so that sums don't depend on when the trace said what.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/model/replay.h"
#include "analysis/reports/cell_text.h"
#include "analysis/reports/kernel.h"
#include "analysis/reports/offcpu_cause.h"
#include "analysis/reports/offcpu_stacks.h"
#include "analysis/reports/ranking.h"
#include "analysis/reports/reports.h"
#include "analysis/reports/stack_tree.h"
#include "base/port.h"

#define THREAD_ROWS 20
#define CAUSE_ROWS  20
#define OPEN_ROWS   5
/* Of each kind of sum; 7/8 of a power of two fill its table. */
#define SUMS ((size_t)7 << 15)

struct wait_sum {
	struct sonde_key key; /* thread, cause, waker */
	int32_t tid;
	bool asked; /* --by */
	struct sonde_cause cause;
	struct sonde_waker waker;
	uint64_t ns, max_ns, count;
};

struct thread_sum {
	struct sonde_key key; /* tid */
	uint64_t run_ns, woken_ns, preempted_ns, blocked_ns;
	uint64_t count, max_ns; /* of blocked ones */
	uint64_t open_ns;       /* of the wait that was not over, in it */
	int64_t first_ns, last_ns;
	struct sonde_cause open_cause;
	const struct wait_sum *most; /* at the end */
};

struct offcpu {
	struct sonde_analysis_args *args;
	struct sonde_hash threads, waits;
	uint64_t left_out;
};

/* ---- adding up ---- */

static struct thread_sum *get_thread(struct offcpu *offcpu,
				     const struct sonde_interval *interval)
{
	struct sonde_key key = sonde_key_make(
		SONDE_KEY_INT, (uint64_t)(int64_t)interval->tid, 0);
	size_t before = offcpu->threads.nr_entries;
	struct thread_sum *thread = sonde_hash_put(&offcpu->threads, &key);

	if (!thread) {
		offcpu->left_out++;
		return NULL;
	}
	if (offcpu->threads.nr_entries != before) {
		thread->first_ns = INT64_MAX;
		thread->last_ns = INT64_MIN;
	}
	if (interval->begin_ns < thread->first_ns)
		thread->first_ns = interval->begin_ns;
	if (interval->end_ns > thread->last_ns)
		thread->last_ns = interval->end_ns;
	return thread;
}

static void offcpu_add_wait(struct offcpu *offcpu,
			    const struct sonde_interval *interval, uint64_t ns)
{
	const struct sonde_cause_place place = {
		.tid = interval->tid,
		.cause = &interval->blocked.cause,
		.waker = &interval->blocked.waker,
	};
	struct sonde_cause_place_key key;
	struct wait_sum *wait;

	sonde_cause_place_key(&place, &key);
	wait = sonde_hash_put(&offcpu->waits, &key.key);
	if (!wait) {
		offcpu->left_out++;
		return;
	}
	if (!wait->count) {
		wait->tid = interval->tid;
		wait->cause = interval->blocked.cause;
		wait->waker = interval->blocked.waker;
	}
	/* Faults in several places have no place. */
	if (wait->cause.address != interval->blocked.cause.address)
		wait->cause.address = 0;
	wait->count++;
	wait->ns += ns;
	if (ns > wait->max_ns)
		wait->max_ns = ns;
}

static void add_blocked(struct offcpu *offcpu, struct thread_sum *thread,
			const struct sonde_interval *interval, uint64_t ns)
{
	thread->blocked_ns += ns;
	thread->count++;
	if (ns > thread->max_ns)
		thread->max_ns = ns;
	if (interval->open) {
		thread->open_ns = ns;
		thread->open_cause = interval->blocked.cause;
	} else {
		offcpu_add_wait(offcpu, interval, ns);
	}
}

static void add_interval(void *ctx, const struct sonde_interval *interval)
{
	uint64_t ns = (uint64_t)sonde_elapsed_ns(interval->begin_ns,
						 interval->end_ns);
	struct offcpu *offcpu = ctx;
	struct thread_sum *thread;

	if (interval->tid <= 0 || (interval->kind != SONDE_INTERVAL_RUN &&
				   interval->kind != SONDE_INTERVAL_READY &&
				   interval->kind != SONDE_INTERVAL_BLOCKED))
		return;
	thread = get_thread(offcpu, interval);
	if (!thread)
		return;
	if (interval->kind == SONDE_INTERVAL_BLOCKED)
		add_blocked(offcpu, thread, interval, ns);
	else if (interval->kind == SONDE_INTERVAL_RUN)
		thread->run_ns += ns;
	else if (interval->ready.woken)
		thread->woken_ns += ns;
	else
		thread->preempted_ns += ns;
}

/* Threads that have no name yet have no sums either. */
static void offcpu_ignore_rename(void *ctx, int32_t from, int32_t to)
{
	(void)ctx;
	(void)from;
	(void)to;
}

/* ---- showing ---- */

struct view {
	const struct offcpu *offcpu;
	const struct sonde_causes *causes;
};

/* So much of its time between first and last is none of these. */
static uint64_t unknown_ns(const struct thread_sum *thread)
{
	uint64_t span_ns =
		(uint64_t)sonde_elapsed_ns(thread->first_ns, thread->last_ns);
	uint64_t known_ns = thread->run_ns + thread->woken_ns +
			    thread->preempted_ns + thread->blocked_ns;

	return span_ns > known_ns ? span_ns - known_ns : 0;
}

static uint64_t off_ns(const struct thread_sum *thread)
{
	return thread->woken_ns + thread->preempted_ns + thread->blocked_ns;
}

static bool is_asked(const struct view *view, const struct sonde_key *tid)
{
	return sonde_model_is_by(view->offcpu->args, view->causes->kernel,
				 (int32_t)tid->number);
}

static int offcpu_compare_threads(const void *a, const void *b, void *ctx)
{
	const struct thread_sum *left = a;
	const struct thread_sum *right = b;
	bool left_asked = is_asked(ctx, &left->key);
	bool right_asked = is_asked(ctx, &right->key);

	if (left_asked != right_asked)
		return left_asked ? -1 : 1;
	return (off_ns(left) < off_ns(right)) - (off_ns(left) > off_ns(right));
}

static void offcpu_thread_cells(const struct sonde_causes *causes,
				struct sonde_table *table, size_t at,
				int32_t tid)
{
	sonde_table_int(table, at, tid);
	sonde_table_text(table, at + 1,
			 sonde_model_thread_name(causes->kernel, tid));
}

static void offcpu_thread_row(struct sonde_table *table, const void *entry,
			      void *ctx)
{
	const struct thread_sum *thread = entry;
	const struct view *view = ctx;
	char text[SONDE_CAUSE_TEXT];

	sonde_table_row(table);
	offcpu_thread_cells(view->causes, table, 0,
			    (int32_t)thread->key.number);
	sonde_table_int(table, 2, (int64_t)thread->run_ns);
	sonde_table_int(table, 3, (int64_t)thread->woken_ns);
	sonde_table_int(table, 4, (int64_t)thread->preempted_ns);
	sonde_table_int(table, 5, (int64_t)thread->blocked_ns);
	sonde_table_uint(table, 6, thread->count);
	sonde_table_int(table, 7, (int64_t)thread->max_ns);
	sonde_table_int(table, 8, (int64_t)unknown_ns(thread));
	if (thread->most)
		sonde_table_text(table, 9,
				 sonde_cause_text(view->causes,
						  &thread->most->cause, text,
						  sizeof(text)));
}

static int show_threads(struct view *view, struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		{ "tid", "TID", SONDE_CELL_INT },
		{ "thread", "THREAD", SONDE_CELL_TEXT },
		{ "run_time", "RAN", SONDE_CELL_DURATION },
		{ "ready_time", "READY", SONDE_CELL_DURATION },
		{ "preempted_time", "PREEMPTED", SONDE_CELL_DURATION },
		{ "blocked_time", "BLOCKED", SONDE_CELL_DURATION },
		{ "blocked", "TIMES", SONDE_CELL_COUNT },
		{ "longest", "LONGEST", SONDE_CELL_DURATION },
		{ "unknown_time", "UNKNOWN", SONDE_CELL_DURATION },
		{ "most", "MOST OF IT IN", SONDE_CELL_TEXT },
	};
	struct sonde_ranking ranking = {
		.hash = &view->offcpu->threads,
		.compare = offcpu_compare_threads,
		.add = offcpu_thread_row,
		.ctx = view,
		.rows = sonde_analysis_rows(view->offcpu->args, THREAD_ROWS),
	};
	const struct thread_sum *thread = NULL;
	struct sonde_table *table;

	while ((thread = sonde_hash_next(&view->offcpu->threads, thread)))
		ranking.candidates += is_asked(view, &thread->key);
	if (!ranking.candidates)
		return 0;
	table = sonde_report_table(report, "threads", "Off the CPU, by thread",
				   columns, SONDE_ARRAY_SIZE(columns));
	sonde_table_minor(table, 1u << 6 | 1u << 7 | 1u << 8);
	return sonde_ranking_add(&ranking, table);
}

static int compare_waits(const void *a, const void *b, void *ctx)
{
	const struct wait_sum *left = a;
	const struct wait_sum *right = b;

	(void)ctx;
	if (left->asked != right->asked)
		return left->asked ? -1 : 1;
	return (left->ns < right->ns) - (left->ns > right->ns);
}

static void wait_row(struct sonde_table *table, const void *entry, void *ctx)
{
	const struct wait_sum *wait = entry;
	const struct view *view = ctx;
	char text[SONDE_CAUSE_TEXT];

	sonde_table_row(table);
	sonde_table_int(table, 0, (int64_t)wait->ns);
	sonde_table_uint(table, 1, wait->count);
	sonde_table_int(table, 2, (int64_t)wait->max_ns);
	offcpu_thread_cells(view->causes, table, 3, wait->tid);
	sonde_table_text(table, 5,
			 sonde_cause_text(view->causes, &wait->cause, text,
					  sizeof(text)));
	sonde_table_text(table, 6,
			 sonde_waker_text(view->causes, &wait->waker, text,
					  sizeof(text)));
}

static int show_waits(struct view *view, struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		{ "blocked_time", "BLOCKED", SONDE_CELL_DURATION },
		{ "blocked", "TIMES", SONDE_CELL_COUNT },
		{ "longest", "LONGEST", SONDE_CELL_DURATION },
		{ "tid", "TID", SONDE_CELL_INT },
		{ "thread", "THREAD", SONDE_CELL_TEXT },
		{ "cause", "IN", SONDE_CELL_TEXT },
		{ "waker", "WOKEN BY", SONDE_CELL_TEXT },
	};
	struct sonde_ranking ranking = {
		.hash = &view->offcpu->waits,
		.compare = compare_waits,
		.add = wait_row,
		.ctx = view,
		.rows = sonde_analysis_rows(view->offcpu->args, CAUSE_ROWS),
	};
	const struct wait_sum *wait = NULL;
	struct sonde_table *table;

	while ((wait = sonde_hash_next(&view->offcpu->waits, wait)))
		ranking.candidates += wait->asked;
	if (!ranking.candidates)
		return 0;
	table = sonde_report_table(report, "causes",
				   "What they were blocked in, and who woke "
				   "them",
				   columns, SONDE_ARRAY_SIZE(columns));
	sonde_table_minor(table, 1u << 1 | 1u << 2 | 1u << 3);
	return sonde_ranking_add(&ranking, table);
}

/* ---- waits that were not over ---- */

static int compare_open(const void *a, const void *b, void *ctx)
{
	const struct thread_sum *left = a;
	const struct thread_sum *right = b;
	uint64_t left_ns = is_asked(ctx, &left->key) ? left->open_ns : 0;
	uint64_t right_ns = is_asked(ctx, &right->key) ? right->open_ns : 0;

	return (left_ns < right_ns) - (left_ns > right_ns);
}

static void open_row(struct sonde_table *table, const void *entry, void *ctx)
{
	const struct thread_sum *thread = entry;
	const struct view *view = ctx;
	char text[SONDE_CAUSE_TEXT];

	sonde_table_row(table);
	sonde_table_int(table, 0, (int64_t)thread->open_ns);
	offcpu_thread_cells(view->causes, table, 1,
			    (int32_t)thread->key.number);
	sonde_table_text(table, 3,
			 sonde_cause_text(view->causes, &thread->open_cause,
					  text, sizeof(text)));
	if (thread->open_cause.holder >= 0)
		offcpu_thread_cells(view->causes, table, 4,
				    thread->open_cause.holder);
}

static int show_open(struct view *view, struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		{ "blocked_time", "SO FAR", SONDE_CELL_DURATION },
		{ "tid", "TID", SONDE_CELL_INT },
		{ "thread", "THREAD", SONDE_CELL_TEXT },
		{ "cause", "IN", SONDE_CELL_TEXT },
		{ "holder_tid", "HOLDER", SONDE_CELL_INT },
		{ "holder", "ITS NAME", SONDE_CELL_TEXT },
	};
	struct sonde_ranking ranking = {
		.hash = &view->offcpu->threads,
		.compare = compare_open,
		.add = open_row,
		.ctx = view,
		.rows = sonde_analysis_rows(view->offcpu->args, OPEN_ROWS),
	};
	const struct thread_sum *thread = NULL;
	struct sonde_table *table;

	while ((thread = sonde_hash_next(&view->offcpu->threads, thread)))
		ranking.candidates +=
			thread->open_ns && is_asked(view, &thread->key);
	if (!ranking.candidates)
		return 0;
	table = sonde_report_table(report, "open",
				   "Still blocked when the trace ends", columns,
				   SONDE_ARRAY_SIZE(columns));
	return sonde_ranking_add(&ranking, table);
}

/* ---- the report ---- */

/* Which waits are asked for, and of each thread what it waited for most. */
static void offcpu_choose(struct offcpu *offcpu, const struct view *view)
{
	struct wait_sum *wait = NULL;

	while ((wait = sonde_hash_next(&offcpu->waits, wait))) {
		struct sonde_key key = sonde_key_make(
			SONDE_KEY_INT, (uint64_t)(int64_t)wait->tid, 0);
		struct thread_sum *thread =
			sonde_hash_get(&offcpu->threads, &key);
		int order;

		wait->asked = is_asked(view, &key);
		if (!thread)
			continue;
		order = thread->most ? compare_waits(wait, thread->most, NULL) :
				       -1;
		if (order < 0 ||
		    (!order &&
		     sonde_key_compare(&wait->key, &thread->most->key) < 0))
			thread->most = wait;
	}
}

static void say(const struct view *view, struct sonde_report *report)
{
	struct sonde_cell_text words = { .args = view->offcpu->args };
	const struct wait_sum *most = NULL;
	const struct wait_sum *wait = NULL;
	char cause[SONDE_CAUSE_TEXT];
	char thread[64];
	char waker[64];

	while ((wait = sonde_hash_next(&view->offcpu->waits, wait))) {
		int order = most ? compare_waits(wait, most, NULL) : -1;

		if (wait->asked &&
		    (order < 0 ||
		     (!order && sonde_key_compare(&wait->key, &most->key) < 0)))
			most = wait;
	}
	if (!most) {
		if (view->offcpu->args->by)
			sonde_report_note(report,
					  "No such thread was blocked.");
		return;
	}
	sonde_report_note(report,
			  "%s was blocked longest: %s in %s, %s, woken by %s.",
			  sonde_cause_thread(view->causes, most->tid, thread,
					     sizeof(thread)),
			  sonde_cell_text_int(&words, SONDE_CELL_DURATION,
					      (int64_t)most->ns),
			  sonde_cause_text(view->causes, &most->cause, cause,
					   sizeof(cause)),
			  sonde_cell_text_count(&words, most->count, "time"),
			  most->waker.kind == SONDE_WAKER_UNKNOWN ?
				  "nobody the trace knows" :
				  sonde_waker_text(view->causes, &most->waker,
						   waker, sizeof(waker)));
}

static int show(struct offcpu *offcpu, const struct sonde_causes *causes,
		struct sonde_report *report)
{
	struct view view = { .offcpu = offcpu, .causes = causes };
	int error;

	offcpu_choose(offcpu, &view);
	say(&view, report);
	error = show_threads(&view, report);
	if (!error)
		error = show_waits(&view, report);
	if (!error)
		error = show_open(&view, report);
	sonde_model_notes(causes->kernel, offcpu->left_out, report);
	return error;
}

static int offcpu_make_report(struct offcpu *offcpu,
			      const struct sonde_model_tables *tables,
			      const struct sonde_model *kernel,
			      struct sonde_report **ret_report)
{
	struct sonde_report *report = sonde_report_new("offcpu");
	struct sonde_causes causes;
	int error;

	sonde_causes_init(&causes, tables, kernel);
	error = show(offcpu, &causes, report);
	sonde_causes_fini(&causes);
	return sonde_report_end(report, error, ret_report);
}

static int run(struct sonde_analysis_args *args,
	       struct sonde_report **ret_report)
{
	static const struct sonde_model_sink_ops ops = {
		.interval = add_interval,
		.rename = offcpu_ignore_rename,
	};
	struct sonde_model_tables *tables;
	struct sonde_model *kernel = NULL;
	struct offcpu offcpu = { .args = args };
	int error;

	if (sonde_analysis_by_stack(args))
		return sonde_analysis_offcpu_stacks(args, ret_report);
	error = sonde_model_tables_new(args->trace, SONDE_WANT_PLAYED,
				       &args->map, &tables);
	if (error == -ENODATA)
		return sonde_analysis_fail(args, error,
					   "the trace has no events of the "
					   "scheduler");
	if (error)
		return error;
	sonde_hash_init(&offcpu.threads, sizeof(struct thread_sum), SUMS);
	sonde_hash_init(&offcpu.waits, sizeof(struct wait_sum), SUMS);
	error = sonde_model_replay_trace(args->trace, &args->map, tables, &ops,
					 &offcpu, &kernel);
	if (!error)
		error = offcpu_make_report(&offcpu, tables, kernel, ret_report);
	sonde_hash_fini(&offcpu.threads);
	sonde_hash_fini(&offcpu.waits);
	sonde_model_free(kernel);
	sonde_model_tables_free(tables);
	return error;
}

const struct sonde_analysis sonde_analysis_offcpu = {
	.name = "offcpu",
	.summary = "what threads waited for, and who woke them",
	.needs = "kernel",
	.about = SONDE_WANT_THREADS,
	.run = run,
};
