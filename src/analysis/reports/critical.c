/* SPDX-License-Identifier: MIT */
/*
 * critical.c - `sonde report critical`: the critical path of the longest span
 * between --begin and --end, segment by segment, and added up.
 */
#include <errno.h>
#include <stdio.h>

#include "analysis/reports/blame_spans.h"
#include "analysis/reports/cell_text.h"
#include "analysis/reports/critical_path.h"
#include "analysis/reports/ranking.h"
#include "analysis/reports/reports.h"
#include "base/port.h"

#define PATH_ROWS 60
#define SUM_ROWS  20
#define SUMS      ((size_t)7 << 15)

struct sum {
	struct sonde_key key;           /* thread, state, cause, waker */
	struct sonde_path_segment like; /* the first such segment */
	int64_t ns;
	uint64_t count;
};

struct view {
	const struct sonde_blame_spans *spans;
	const struct sonde_path *path;
	struct sonde_hash sums;
	int64_t all_ns;
};

/* ---- adding up ---- */

static const struct sonde_cause *cause_of(const struct sonde_path_segment *of)
{
	return of->cause.kind == SONDE_CAUSE_UNKNOWN ? NULL : &of->cause;
}

/* 0 or -errno: then the sums are not all. */
static int add_segment(struct view *view,
		       const struct sonde_path_segment *segment)
{
	const struct sonde_cause_place place = {
		.tid = segment->tid,
		.kind = segment->kind,
		.cause = cause_of(segment),
		.waker = &segment->waker,
	};
	struct sonde_cause_place_key key;
	struct sum *sum;

	sonde_cause_place_key(&place, &key);
	sum = sonde_hash_put(&view->sums, &key.key);
	if (!sum)
		return sonde_hash_error(&view->sums);
	if (!sum->count)
		sum->like = *segment;
	/* Faults in several places have no place. */
	if (sum->like.cause.address != segment->cause.address)
		sum->like.cause.address = 0;
	sum->count++;
	sum->ns += segment->end_ns - segment->begin_ns;
	return 0;
}

/* ---- showing ---- */

/* From column `at` on: thread, state, cause, waker. */
static void segment_cells(const struct view *view, struct sonde_table *table,
			  size_t at, const struct sonde_path_segment *segment)
{
	const struct sonde_causes *causes = &view->spans->causes;
	const struct sonde_cause *cause = cause_of(segment);
	char text[SONDE_CAUSE_TEXT];

	sonde_table_int(table, at, sonde_cause_own_tid(causes, segment->tid));
	sonde_table_text(table, at + 1,
			 sonde_cause_thread_name(causes, segment->tid));
	sonde_table_text(table, at + 2, sonde_blame_state_text(segment->kind));
	if (cause)
		sonde_table_text(table, at + 3,
				 sonde_cause_text(causes, cause, text,
						  sizeof(text)));
	if (segment->waker.kind != SONDE_WAKER_UNKNOWN)
		sonde_table_text(table, at + 4,
				 sonde_waker_text(causes, &segment->waker, text,
						  sizeof(text)));
	if (causes->machines)
		sonde_table_text(table, at + 5,
				 sonde_cause_host(causes, segment->tid));
}

/* The last one only if there are several machines. */
#define SEGMENT_COLUMNS                                   \
	{ "tid", "TID", SONDE_CELL_INT },                 \
		{ "thread", "THREAD", SONDE_CELL_TEXT },  \
		{ "state", "STATE", SONDE_CELL_TEXT },    \
		{ "cause", "IN", SONDE_CELL_TEXT },       \
		{ "waker", "WOKEN BY", SONDE_CELL_TEXT }, \
	{                                                 \
		"host", "HOST", SONDE_CELL_TEXT           \
	}

static size_t count_columns(const struct view *view, size_t all)
{
	return view->spans->causes.machines ? all : all - 1;
}

static double share(const struct view *view, int64_t ns)
{
	return view->all_ns > 0 ? (double)ns / (double)view->all_ns : 0;
}

static void critical_add_path(const struct view *view,
			      struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		{ "begin", "BEGIN", SONDE_CELL_TIME },
		{ "time", "TIME", SONDE_CELL_DURATION },
		{ "share", "SHARE", SONDE_CELL_PERCENT },
		SEGMENT_COLUMNS,
	};
	size_t rows = sonde_analysis_rows(view->spans->args, PATH_ROWS);
	struct sonde_table *table = sonde_report_table(
		report, "path", "The path", columns,
		count_columns(view, SONDE_ARRAY_SIZE(columns)));

	for (size_t i = 0; i < view->path->nr_segments && i < rows; i++) {
		const struct sonde_path_segment *segment =
			&view->path->segments[i];
		int64_t ns = segment->end_ns - segment->begin_ns;

		sonde_table_row(table);
		sonde_table_int(table, 0, segment->begin_ns);
		sonde_table_int(table, 1, ns);
		sonde_table_double(table, 2, share(view, ns));
		segment_cells(view, table, 3, segment);
	}
	if (view->path->nr_segments > rows)
		sonde_table_more(table, view->path->nr_segments - rows);
}

static int compare_sums(const void *a, const void *b, void *ctx)
{
	const struct sum *left = a;
	const struct sum *right = b;

	(void)ctx;
	return (left->ns < right->ns) - (left->ns > right->ns);
}

static void sum_row(struct sonde_table *table, const void *entry, void *ctx)
{
	const struct sum *sum = entry;
	const struct view *view = ctx;

	sonde_table_row(table);
	sonde_table_int(table, 0, sum->ns);
	sonde_table_double(table, 1, share(view, sum->ns));
	sonde_table_uint(table, 2, sum->count);
	segment_cells(view, table, 3, &sum->like);
}

static int add_sums(struct view *view, struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		{ "time", "TIME", SONDE_CELL_DURATION },
		{ "share", "SHARE", SONDE_CELL_PERCENT },
		{ "count", "TIMES", SONDE_CELL_COUNT },
		SEGMENT_COLUMNS,
	};
	const struct sonde_ranking ranking = {
		.hash = &view->sums,
		.compare = compare_sums,
		.add = sum_row,
		.ctx = view,
		.rows = sonde_analysis_rows(view->spans->args, SUM_ROWS),
	};

	return sonde_ranking_add(
		&ranking,
		sonde_report_table(report, "sums", "Added up", columns,
				   count_columns(view,
						 SONDE_ARRAY_SIZE(columns))));
}

static const struct sum *find_most(const struct view *view)
{
	const struct sum *most = NULL;
	const struct sum *sum = NULL;

	while ((sum = sonde_hash_next(&view->sums, sum))) {
		int order = most ? compare_sums(sum, most, NULL) : -1;

		if (order < 0 ||
		    (!order && sonde_key_compare(&sum->key, &most->key) < 0))
			most = sum;
	}
	return most;
}

static void say(const struct view *view, struct sonde_report *report)
{
	const struct sonde_longest_span *span = view->spans->chosen;
	const struct sonde_causes *causes = &view->spans->causes;
	struct sonde_cell_text words = { .args = view->spans->args };
	const struct sum *most = find_most(view);
	const struct sonde_cause *cause;
	char text[SONDE_CAUSE_TEXT];
	char begin[SONDE_CAUSE_THREAD];
	char end[SONDE_CAUSE_THREAD];
	char on[SONDE_CAUSE_THREAD];

	if (!most)
		return;
	cause = cause_of(&most->like);
	sonde_report_note(
		report,
		"From %s to %s took %s, from %s on, in %s; %s of that was %s "
		"%s%s%s.",
		sonde_cause_thread(causes, span->tid, begin, sizeof(begin)),
		span->other_tid == span->tid ?
			"itself" :
			sonde_cause_thread(causes, span->other_tid, end,
					   sizeof(end)),
		sonde_cell_text_int(&words, SONDE_CELL_DURATION, view->all_ns),
		sonde_cell_text_int(&words, SONDE_CELL_TIME, span->begin_ns),
		sonde_cell_text_count(&words, view->path->nr_segments,
				      "segment"),
		sonde_cell_text_int(&words, SONDE_CELL_DURATION, most->ns),
		sonde_cause_thread(causes, most->like.tid, on, sizeof(on)),
		sonde_blame_state_text(most->like.kind), cause ? " in " : "",
		cause ? sonde_cause_text(causes, cause, text, sizeof(text)) :
			"");
}

/* ---- the report ---- */

static int show_path(struct view *view, struct sonde_report *report)
{
	int error = 0;

	for (size_t i = 0; i < view->path->nr_segments && !error; i++)
		error = add_segment(view, &view->path->segments[i]);
	if (error == -E2BIG)
		error = -ENOMEM;
	if (error)
		return error;
	say(view, report);
	error = add_sums(view, report);
	critical_add_path(view, report);
	return error;
}

static int show(const struct sonde_blame_spans *spans,
		struct sonde_report *report)
{
	const struct sonde_longest_span *span = spans->chosen;
	const struct sonde_path_ends ends = {
		.begin_tid = span->tid,
		.end_tid = span->other_tid >= 0 ? span->other_tid : span->tid,
		.begin_ns = span->begin_ns,
		.end_ns = span->end_ns,
	};
	struct sonde_path path;
	struct view view = {
		.spans = spans,
		.path = &path,
		.all_ns = sonde_elapsed_ns(span->begin_ns, span->end_ns),
	};
	int error = sonde_path_find(&path, &spans->history, &ends);

	sonde_hash_init(&view.sums, sizeof(struct sum), SUMS);
	if (!error)
		error = show_path(&view, report);
	sonde_hash_fini(&view.sums);
	sonde_path_fini(&path);
	return error;
}

static int run(struct sonde_analysis_args *args,
	       struct sonde_report **ret_report)
{
	return sonde_blame_spans_report(args, "critical", false, show,
					ret_report);
}

const struct sonde_analysis sonde_analysis_critical = {
	.name = "critical",
	.summary = "the critical path from --begin EXPR to --end EXPR",
	.needs = "kernel",
	.about = SONDE_WANT_THREADS,
	.spans_machines = true,
	.run = run,
};
