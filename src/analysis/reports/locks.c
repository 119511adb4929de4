/* SPDX-License-Identifier: MIT */
/*
 * locks.c - `sonde report locks`: which lock is contended, how long the waits
 * are, where threads waited, and who was holding it. For traces recorded with
 * --locks; what happened is contention.c's to know.
 *
 * A table's columns of names come last, and only where the trace says which
 * files were mapped: a lock's is that of the variable it is, as far as there is
 * one.
 */
#include <errno.h>
#include <stdio.h>

#include "analysis/reports/cell_text.h"
#include "analysis/reports/contention.h"
#include "analysis/reports/locks_stacks.h"
#include "analysis/reports/ranking.h"
#include "analysis/reports/reports.h"
#include "analysis/reports/stack_tree.h"
#include "base/port.h"

#define ROWS       10
#define STACK_ROWS 30
#define LOCK_TEXT  256

static const char *const kinds[] = {
	[SONDE_LOCK_MUTEX] = "mutex",
	[SONDE_LOCK_RWLOCK] = "rwlock",
	[SONDE_LOCK_COND] = "condition",
};

/* ---- names ---- */

static bool has_mappings(const struct sonde_analysis_args *args)
{
	return sonde_names_has_mappings(args->names);
}

/* "`cache_lock` (0x5600)" or "0x5600". */
static const char *lock_text(struct sonde_cell_text *words,
			     const struct sonde_analysis_site *at, char *to,
			     size_t size)
{
	const char *address =
		sonde_cell_text_int(words, SONDE_CELL_HEX, (int64_t)at->caller);
	const char *name = sonde_analysis_site_variable(words->args, at);

	if (name)
		(void)snprintf(to, size, "`%.200s` (%s)", name, address);
	else
		(void)snprintf(to, size, "%s", address);
	return to;
}

/* ---- sentences ---- */

/* What all locks have in common. */
struct totals {
	uint64_t acquired, waited;
	const struct sonde_lock *worst; /* the first in their order */
};

static void add_up(const struct sonde_contention *contention,
		   struct totals *ret_totals)
{
	const struct sonde_lock *lock = NULL;

	*ret_totals = (struct totals){ 0 };
	while ((lock = sonde_hash_next(&contention->locks, lock))) {
		const struct sonde_lock *worst = ret_totals->worst;
		int order =
			worst ? sonde_contention_compare(lock, worst, NULL) :
				-1;

		ret_totals->acquired += lock->acquired;
		ret_totals->waited += lock->waited;
		if (order < 0 ||
		    (!order && sonde_key_compare(&lock->key, &worst->key) < 0))
			ret_totals->worst = lock;
	}
}

static void say_most_contended(struct sonde_cell_text *words,
			       const struct totals *totals,
			       struct sonde_report *report)
{
	const struct sonde_lock *lock = totals->worst;
	char text[LOCK_TEXT];

	sonde_report_note(
		report,
		"The %s %s is contended most: %s waited for it, %s in all, "
		"while it was obtained %s.",
		kinds[lock->kind],
		lock_text(words, &lock->at, text, sizeof(text)),
		sonde_cell_text_count(words, lock->waited, "call"),
		sonde_cell_text_int(words, SONDE_CELL_DURATION,
				    sonde_histogram_sum(&lock->waits)),
		sonde_cell_text_count(words, lock->acquired, "time"));
}

static void say_worst_wait(struct sonde_cell_text *words,
			   const struct sonde_longest_span *span,
			   struct sonde_report *report)
{
	const struct sonde_analysis_site lock =
		sonde_contention_site(span, span->object, span->begin_ns);
	char holder[64] = "an unknown thread";
	char text[LOCK_TEXT];

	if (span->other_tid >= 0)
		(void)snprintf(holder, sizeof(holder), "thread %d",
			       (int)span->other_tid);
	sonde_report_note(
		report,
		"The worst wait took %s: thread %d for %s, from %s on, when "
		"%s held it.",
		sonde_cell_text_int(words, SONDE_CELL_DURATION,
				    sonde_elapsed_ns(span->begin_ns,
						     span->end_ns)),
		(int)span->tid, lock_text(words, &lock, text, sizeof(text)),
		sonde_cell_text_int(words, SONDE_CELL_TIME, span->begin_ns),
		holder);
}

/* Whoever still waits for a lock when the trace ends. */
static void say_waiting(struct sonde_cell_text *words,
			const struct sonde_contention *contention,
			struct sonde_report *report)
{
	const struct sonde_lock_thread *thread = NULL;
	const struct sonde_lock_thread *first = NULL;
	uint64_t nr = 0;

	while ((thread = sonde_hash_next(&contention->threads, thread))) {
		if (!thread->waiting ||
		    thread->waits_for_kind == SONDE_LOCK_COND)
			continue;
		nr++;
		if (!first || thread->wait.begin_ns < first->wait.begin_ns ||
		    (thread->wait.begin_ns == first->wait.begin_ns &&
		     sonde_key_compare(&thread->key, &first->key) < 0))
			first = thread;
	}
	if (nr)
		sonde_report_note(
			report,
			"%s never got what it waits for; thread %d has waited "
			"for %s longest, from %s on.",
			sonde_cell_text_count(words, nr, "thread"),
			(int)first->wait.tid,
			sonde_cell_text_int(words, SONDE_CELL_HEX,
					    (int64_t)first->waits_for.number),
			sonde_cell_text_int(words, SONDE_CELL_TIME,
					    first->wait.begin_ns));
}

static void say(const struct sonde_analysis_args *args,
		const struct sonde_contention *contention,
		struct sonde_report *report)
{
	struct sonde_cell_text words = { .args = args };
	struct totals totals;

	add_up(contention, &totals);
	if (!totals.waited)
		sonde_report_note(
			report,
			"No lock is contended: nobody waited, while %s %s "
			"obtained %s.",
			sonde_cell_text_count(
				&words, contention->locks.nr_entries, "lock"),
			contention->locks.nr_entries == 1 ? "was" : "were",
			sonde_cell_text_count(&words, totals.acquired, "time"));
	else
		say_most_contended(&words, &totals, report);
	if (contention->unknown_unlocks)
		sonde_report_note(report,
				  "%s of locks that had not been seen locked.",
				  sonde_cell_text_count(
					  &words, contention->unknown_unlocks,
					  "unlocking"));
	if (contention->lost_holds || contention->lost_waits)
		sonde_report_note(
			report,
			"%s and %s were open when events were lost: how long "
			"isn't known.",
			sonde_cell_text_count(&words, contention->lost_holds,
					      "hold"),
			sonde_cell_text_count(&words, contention->lost_waits,
					      "wait"));
	if (contention->worst.nr)
		say_worst_wait(&words, &contention->worst.spans[0], report);
	say_waiting(&words, contention, report);
}

/* ---- tables ---- */

static void add_lock(struct sonde_table *table, const void *entry, void *ctx)
{
	const struct sonde_lock *lock = entry;
	uint64_t tried = lock->acquired + lock->failed;

	sonde_table_row(table);
	sonde_table_uint(table, 0, lock->key.number);
	sonde_table_text(table, 1, kinds[lock->kind]);
	sonde_table_uint(table, 2, lock->acquired);
	sonde_table_uint(table, 3, lock->waited);
	if (tried)
		sonde_table_double(table, 4,
				   (double)lock->waited / (double)tried);
	sonde_table_uint(table, 5, lock->busy);
	sonde_table_uint(table, 6, lock->failed);
	if (lock->waits.count)
		sonde_table_int(table, 7, sonde_histogram_sum(&lock->waits));
	sonde_histogram_cells(&lock->waits, table, 8);
	sonde_table_text(table, 15,
			 sonde_analysis_site_variable(ctx, &lock->at));
}

static int add_locks(const struct sonde_analysis_args *args,
		     const struct sonde_contention *contention,
		     struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		{ "lock", "LOCK", SONDE_CELL_HEX },
		{ "kind", "KIND", SONDE_CELL_TEXT },
		{ "acquired", "OBTAINED", SONDE_CELL_COUNT },
		{ "waited", "WAITED", SONDE_CELL_COUNT },
		{ "waited_share", "SHARE", SONDE_CELL_PERCENT },
		{ "busy", "BUSY", SONDE_CELL_COUNT },
		{ "failed", "FAILED", SONDE_CELL_COUNT },
		{ "wait", "WAIT", SONDE_CELL_DURATION },
		SONDE_HISTOGRAM_COLUMNS(SONDE_CELL_DURATION),
		SONDE_CONTENTION_VARIABLE,
	};
	struct sonde_analysis_args of = *args;
	const struct sonde_ranking ranking = {
		.hash = &contention->locks,
		.compare = sonde_contention_compare,
		.add = add_lock,
		.ctx = &of,
		.rows = sonde_analysis_rows(args, ROWS),
	};
	struct sonde_table *table = sonde_report_table(
		report, "locks", "Waiting, by lock", columns,
		SONDE_ARRAY_SIZE(columns) - !has_mappings(args));

	sonde_table_minor(table, 0x7u << 4); /* share, busy, failed */
	return sonde_ranking_add(&ranking, table);
}

static int compare_holds(const void *a, const void *b, void *ctx)
{
	const struct sonde_lock *x = a;
	const struct sonde_lock *y = b;

	(void)ctx;
	if (x->holds.sum != y->holds.sum)
		return x->holds.sum < y->holds.sum ? 1 : -1;
	return 0;
}

static void add_hold(struct sonde_table *table, const void *entry, void *ctx)
{
	const struct sonde_lock *lock = entry;

	sonde_table_row(table);
	sonde_table_uint(table, 0, lock->key.number);
	sonde_table_text(table, 1, kinds[lock->kind]);
	sonde_table_uint(table, 2, lock->holds.count);
	sonde_table_int(table, 3, sonde_histogram_sum(&lock->holds));
	sonde_histogram_cells(&lock->holds, table, 4);
	sonde_table_text(table, 11,
			 sonde_analysis_site_variable(ctx, &lock->at));
}

static int add_holds(const struct sonde_analysis_args *args,
		     const struct sonde_contention *contention,
		     struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		{ "lock", "LOCK", SONDE_CELL_HEX },
		{ "kind", "KIND", SONDE_CELL_TEXT },
		{ "count", "HELD", SONDE_CELL_COUNT },
		{ "hold", "TIME", SONDE_CELL_DURATION },
		SONDE_HISTOGRAM_COLUMNS(SONDE_CELL_DURATION),
		SONDE_CONTENTION_VARIABLE,
	};
	struct sonde_analysis_args of = *args;
	const struct sonde_ranking ranking = {
		.hash = &contention->locks,
		.compare = compare_holds,
		.add = add_hold,
		.ctx = &of,
		.rows = sonde_analysis_rows(args, ROWS),
	};

	return sonde_ranking_add(
		&ranking,
		sonde_report_table(report, "holds", "Holding, by lock", columns,
				   SONDE_ARRAY_SIZE(columns) -
					   !has_mappings(args)));
}

/* The places that cost most time come first: their own, and others'. */
static int compare_sites(const void *a, const void *b, void *ctx)
{
	const struct sonde_lock_site *x = a;
	const struct sonde_lock_site *y = b;
	uint64_t x_ns = x->wait_ns + x->blocked_ns;
	uint64_t y_ns = y->wait_ns + y->blocked_ns;

	(void)ctx;
	return (x_ns < y_ns) - (x_ns > y_ns);
}

static void add_lock_site(struct sonde_table *table, const void *entry,
			  void *ctx)
{
	const struct sonde_lock_site *site = entry;

	sonde_table_row(table);
	sonde_table_uint(table, 0, site->at.caller);
	sonde_table_uint(table, 1, site->waited);
	sonde_table_int(table, 2, (int64_t)site->wait_ns);
	sonde_table_int(table, 3, site->wait_max_ns);
	sonde_table_uint(table, 4, site->blocked);
	sonde_table_int(table, 5, (int64_t)site->blocked_ns);
	sonde_table_int(table, 6, site->blocked_max_ns);
	sonde_table_text(table, 7, sonde_analysis_site_text(ctx, &site->at));
}

static int add_lock_sites(const struct sonde_analysis_args *args,
			  const struct sonde_contention *contention,
			  struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		{ "caller", "CALLED FROM", SONDE_CELL_HEX },
		{ "waited", "WAITED", SONDE_CELL_COUNT },
		{ "wait", "WAIT", SONDE_CELL_DURATION },
		{ "wait_max", "MAX", SONDE_CELL_DURATION },
		{ "blocked", "MADE WAIT", SONDE_CELL_COUNT },
		{ "blocked_wait", "OTHERS' WAIT", SONDE_CELL_DURATION },
		{ "blocked_max", "MAX", SONDE_CELL_DURATION },
		{ "code", "CODE", SONDE_CELL_TEXT },
	};
	struct sonde_analysis_args of = *args;
	const struct sonde_ranking ranking = {
		.hash = &contention->sites,
		.compare = compare_sites,
		.add = add_lock_site,
		.ctx = &of,
		.rows = sonde_analysis_rows(args, ROWS),
	};

	if (!contention->sites.nr_entries)
		return 0;
	return sonde_ranking_add(
		&ranking,
		sonde_report_table(
			report, "sites",
			"Who waits where, and who held it where", columns,
			SONDE_ARRAY_SIZE(columns) - !has_mappings(args)));
}

/* The sites are places, or stacks. */
static int add_calls(const struct sonde_analysis_args *args,
		     const struct sonde_contention *contention,
		     struct sonde_report *report)
{
	if (!contention->by_stack)
		return add_lock_sites(args, contention, report);
	return sonde_lock_stacks(args, contention,
				 sonde_analysis_rows(args, STACK_ROWS), report);
}

static int compare_threads(const void *a, const void *b, void *ctx)
{
	const struct sonde_lock_thread *x = a;
	const struct sonde_lock_thread *y = b;

	(void)ctx;
	if (x->wait_ns != y->wait_ns)
		return x->wait_ns < y->wait_ns ? 1 : -1;
	return (x->hold_ns < y->hold_ns) - (x->hold_ns > y->hold_ns);
}

static void locks_add_thread(struct sonde_table *table, const void *entry,
			     void *ctx)
{
	const struct sonde_lock_thread *thread = entry;
	const struct sonde_analysis_args *args = ctx;

	sonde_table_row(table);
	sonde_table_int(table, 0, (int64_t)thread->key.number);
	sonde_table_uint(table, 1, thread->acquired);
	sonde_table_uint(table, 2, thread->waited);
	sonde_table_int(table, 3, (int64_t)thread->wait_ns);
	sonde_table_int(table, 4, thread->wait_max_ns);
	sonde_table_int(table, 5, (int64_t)thread->hold_ns);
	if (thread->waiting)
		sonde_table_uint(table, 6, thread->waits_for.number);
	sonde_table_text(
		table, 7,
		sonde_analysis_thread_name(args, (int32_t)thread->key.number));
}

static int add_threads(const struct sonde_analysis_args *args,
		       const struct sonde_contention *contention,
		       struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		{ "tid", "THREAD", SONDE_CELL_INT },
		{ "acquired", "OBTAINED", SONDE_CELL_COUNT },
		{ "waited", "WAITED", SONDE_CELL_COUNT },
		{ "wait", "WAIT", SONDE_CELL_DURATION },
		{ "wait_max", "MAX", SONDE_CELL_DURATION },
		{ "hold", "HELD FOR", SONDE_CELL_DURATION },
		{ "waits_for", "STILL WAITS FOR", SONDE_CELL_HEX },
		SONDE_NAME_COLUMN,
	};
	bool named = sonde_analysis_has_names(args);
	struct sonde_analysis_args of = *args;
	const struct sonde_ranking ranking = {
		.hash = &contention->threads,
		.compare = compare_threads,
		.add = locks_add_thread,
		.ctx = &of,
		.rows = sonde_analysis_rows(args, ROWS),
	};

	return sonde_ranking_add(
		&ranking,
		sonde_report_table(report, "threads", "Threads", columns,
				   SONDE_ARRAY_SIZE(columns) - !named));
}

static void add_cond(struct sonde_table *table, const void *entry, void *ctx)
{
	const struct sonde_lock *cond = entry;

	sonde_table_row(table);
	sonde_table_uint(table, 0, cond->key.number);
	sonde_table_uint(table, 1, cond->signals);
	sonde_table_uint(table, 2, cond->broadcasts);
	sonde_table_uint(table, 3, cond->acquired);
	sonde_table_uint(table, 4, cond->failed);
	sonde_table_text(table, 13,
			 sonde_analysis_site_variable(ctx, &cond->at));
	if (!cond->waits.count)
		return;
	sonde_table_int(table, 5, sonde_histogram_sum(&cond->waits));
	sonde_histogram_cells(&cond->waits, table, 6);
}

static int add_conds(const struct sonde_analysis_args *args,
		     const struct sonde_contention *contention,
		     struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		{ "cond", "CONDITION", SONDE_CELL_HEX },
		{ "signals", "SIGNALS", SONDE_CELL_COUNT },
		{ "broadcasts", "BROADCASTS", SONDE_CELL_COUNT },
		{ "wakes", "WAKE-UPS", SONDE_CELL_COUNT },
		{ "timeouts", "TIMED OUT", SONDE_CELL_COUNT },
		{ "wait", "WAIT", SONDE_CELL_DURATION },
		SONDE_HISTOGRAM_COLUMNS(SONDE_CELL_DURATION),
		SONDE_CONTENTION_VARIABLE,
	};
	struct sonde_analysis_args of = *args;
	const struct sonde_ranking ranking = {
		.hash = &contention->conds,
		.compare = sonde_contention_compare,
		.add = add_cond,
		.ctx = &of,
		.rows = sonde_analysis_rows(args, ROWS),
	};

	if (!contention->conds.nr_entries)
		return 0;
	return sonde_ranking_add(
		&ranking, sonde_report_table(report, "conds",
					     "Condition variables", columns,
					     SONDE_ARRAY_SIZE(columns) -
						     !has_mappings(args)));
}

static void add_long_wait(const struct sonde_analysis_args *args,
			  const struct sonde_longest_span *span,
			  struct sonde_table *table)
{
	sonde_contention_put_wait(table, span);
	sonde_table_text(table, 7, sonde_analysis_thread_name(args, span->tid));
	sonde_contention_put_names(table, 8, args, span);
}

static void add_worst(const struct sonde_analysis_args *args,
		      const struct sonde_longest *worst,
		      struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		SONDE_CONTENTION_WAIT_COLUMNS,
		SONDE_NAME_COLUMN,
		SONDE_CONTENTION_NAME_COLUMNS,
	};
	size_t nr = has_mappings(args) ?
			    SONDE_ARRAY_SIZE(columns) :
			    7u + (size_t)sonde_analysis_has_names(args);
	struct sonde_table *table;

	if (!worst->nr)
		return;
	table = sonde_report_table(report, "worst", "The longest waits",
				   columns, nr);
	for (size_t i = 0; i < worst->nr; i++)
		add_long_wait(args, &worst->spans[i], table);
	sonde_table_limit(table, sonde_analysis_rows(args, SONDE_LONGEST_MAX));
}

static int add_histogram(const struct sonde_contention *contention,
			 struct sonde_report *report)
{
	const struct sonde_lock *lock = NULL;
	struct sonde_histogram waits = { 0 };
	int err = 0;

	while (!err && (lock = sonde_hash_next(&contention->locks, lock)))
		err = sonde_histogram_merge(&waits, &lock->waits);
	if (!err)
		sonde_histogram_report(&waits, report, "waits",
				       "How long threads wait",
				       SONDE_CELL_DURATION);
	sonde_histogram_fini(&waits);
	return err;
}

static int add_tables(const struct sonde_analysis_args *args,
		      const struct sonde_contention *contention,
		      struct sonde_report *report)
{
	int err = add_locks(args, contention, report);

	add_worst(args, &contention->worst, report);
	if (!err)
		err = add_calls(args, contention, report);
	if (!err)
		err = add_holds(args, contention, report);
	if (!err)
		err = add_threads(args, contention, report);
	if (!err)
		err = add_conds(args, contention, report);
	return err ? err : add_histogram(contention, report);
}

static int run(struct sonde_analysis_args *args,
	       struct sonde_report **ret_report)
{
	struct sonde_report *report = NULL;
	struct sonde_contention contention;
	int err = sonde_lock_by_check(args);

	if (err)
		return err;
	sonde_contention_init(&contention);
	contention.by_stack = sonde_analysis_by_stack(args);
	err = sonde_contention_read(args, &contention);
	if (!err && !contention.locks.nr_entries &&
	    !contention.conds.nr_entries)
		err = sonde_analysis_fail(args, -ENODATA,
					  "no lock was used; a program's are "
					  "recorded with --locks");
	if (!err) {
		report = sonde_report_new("locks");
		say(args, &contention, report);
		err = add_tables(args, &contention, report);
	}
	err = sonde_report_end(report, err, ret_report);
	sonde_contention_fini(&contention);
	return err;
}

const struct sonde_analysis sonde_analysis_locks = {
	.name = "locks",
	.summary = "who waits for which lock, how long, and who held it",
	.needs = "locks",
	.run = run,
};
