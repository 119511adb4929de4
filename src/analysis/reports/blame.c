/* SPDX-License-Identifier: MIT */
/*
 * blame.c - `sonde report blame`: the longest spans between --begin and --end
 * on a thread, and where the time of one went: down to the lock that it waited
 * for, who held that, and what that thread did meanwhile.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "analysis/reports/blame_spans.h"
#include "analysis/reports/blame_stacks.h"
#include "analysis/reports/blame_tree.h"
#include "analysis/reports/cell_text.h"
#include "analysis/reports/reports.h"
#include "base/port.h"
#include "base/text.h"

#define TREE_ROWS 40
/* What is shorter than the whole by this factor is not shown. */
#define SMALL 1000

/* ---- the answer, as a sentence ---- */

struct answer {
	const struct sonde_blame_spans *spans;
	const struct sonde_blame_tree *tree;
	struct sonde_cell_text words;
	struct sonde_text text;
};

static const char *duration(struct answer *answer, int64_t ns)
{
	return sonde_cell_text_int(&answer->words, SONDE_CELL_DURATION, ns);
}

/* "held by ..." or "until ... woke it", of what a blocked state waited for. So
 * many others had it in between. */
static void say_waker(struct answer *answer, const struct sonde_cause *cause,
		      const struct sonde_waker *waker, unsigned int nr_after)
{
	const struct sonde_causes *causes = &answer->spans->causes;
	char text[SONDE_CAUSE_THREAD];
	int32_t holder = cause->holder;

	if (!sonde_cause_is_lock(cause)) {
		if (waker->kind == SONDE_WAKER_SENDER)
			sonde_text_add(&answer->text,
				       waker->is_by_key ? " for %s" :
							  " for bytes of %s",
				       sonde_cause_thread(causes, waker->tid,
							  text, sizeof(text)));
		if (waker->kind == SONDE_WAKER_THREAD)
			sonde_text_add(&answer->text, " until %s woke it",
				       sonde_cause_thread(causes, waker->tid,
							  text, sizeof(text)));
		return;
	}
	if (holder < 0 && waker->kind == SONDE_WAKER_THREAD)
		holder = waker->tid;
	sonde_text_add(&answer->text, " held by %s",
		       sonde_cause_thread(causes, holder, text, sizeof(text)));
	if (nr_after)
		sonde_text_add(&answer->text, " (and %u after it)", nr_after);
	else if (waker->kind == SONDE_WAKER_THREAD && waker->tid != holder)
		sonde_text_add(&answer->text, " and given by %s",
			       sonde_cause_thread(causes, waker->tid, text,
						  sizeof(text)));
}

/* Whether it is something at an address that the thread waits for. */
static bool is_wait(const struct answer *answer,
		    const struct sonde_blame_node *activity)
{
	const struct sonde_blame_node *state =
		sonde_blame_child(answer->tree, activity);

	return state && state->state == SONDE_STATE_BLOCKED &&
	       activity->has_cause && activity->cause.address &&
	       activity->cause.kind != SONDE_CAUSE_FAULT;
}

/* How long it took: a wait has only its blocked state. */
static int64_t most_ns(const struct answer *answer,
		       const struct sonde_blame_node *activity)
{
	return is_wait(answer, activity) ?
		       sonde_blame_child(answer->tree, activity)->ns :
		       activity->ns;
}

/*
 * Who gave the lock to the thread may itself have waited for it for most of the
 * time, and so on: goes back to the one that had it first. Counts those between.
 */
static const struct sonde_blame_node *
first_holder(const struct answer *answer,
	     const struct sonde_blame_node *activity,
	     const struct sonde_blame_node *state, unsigned int *ret_nr)
{
	const struct sonde_blame_node *next;

	*ret_nr = 0;
	while (sonde_cause_is_lock(&activity->cause) &&
	       (next = sonde_blame_child(answer->tree, state)) &&
	       is_wait(answer, next) &&
	       next->cause.address == activity->cause.address &&
	       next->cause.pid == activity->cause.pid) {
		const struct sonde_blame_node *before =
			sonde_blame_child(answer->tree, next);

		if (before->waker.kind != SONDE_WAKER_THREAD)
			break;
		state = before;
		++*ret_nr;
	}
	return state;
}

/* "waiting for lock X held by Y". Returns as say_most(). */
static const struct sonde_blame_node *
say_wait(struct answer *answer, const struct sonde_blame_node *activity)
{
	char text[SONDE_CAUSE_TEXT];
	unsigned int nr_between;
	const struct sonde_blame_node *state =
		first_holder(answer, activity,
			     sonde_blame_child(answer->tree, activity),
			     &nr_between);

	sonde_text_add(&answer->text, "waiting for %s",
		       sonde_cause_object(&answer->spans->causes,
					  &activity->cause, text,
					  sizeof(text)));
	say_waker(answer, &activity->cause, &state->waker, nr_between);
	return state;
}

/* What a thread did for most of the time below a node. Returns the state to go
 * on with: who did what until it woke the thread. NULL: that is all. */
static const struct sonde_blame_node *
say_most(struct answer *answer, const struct sonde_blame_node *activity)
{
	const struct sonde_causes *causes = &answer->spans->causes;
	const struct sonde_blame_node *state =
		sonde_blame_child(answer->tree, activity);
	const struct sonde_cause *cause = &activity->cause;
	char text[SONDE_CAUSE_TEXT];
	bool blocked = state && state->state == SONDE_STATE_BLOCKED;

	if (is_wait(answer, activity))
		return say_wait(answer, activity);
	if (activity->has_cause && cause->kind != SONDE_CAUSE_OUTSIDE &&
	    cause->kind != SONDE_CAUSE_UNKNOWN) {
		sonde_text_add(&answer->text, "in %s",
			       sonde_cause_text(causes, cause, text,
						sizeof(text)));
		if (state && (state->state == SONDE_STATE_READY ||
			      state->state == SONDE_STATE_PREEMPTED))
			sonde_text_add(&answer->text, ", most of it %s",
				       sonde_blame_state_text(state->state));
		if (!blocked || (cause->path && cause->path[0] == '/'))
			return NULL;
		say_waker(answer, cause, &state->waker, 0);
		return state;
	}
	if (activity->state == SONDE_STATE_NETWORK)
		sonde_text_add(&answer->text, "in the network");
	else if (!state || activity->kind == SONDE_BLAME_OTHERS)
		sonde_text_add(&answer->text, "in many other ways");
	else if (state->state == SONDE_STATE_UNKNOWN)
		sonde_text_add(&answer->text,
			       "in a way that the trace doesn't tell");
	else
		sonde_text_add(&answer->text, "%s",
			       sonde_blame_state_text(
				       (enum sonde_state_kind)state->state));
	return blocked ? state : NULL;
}

/* The share of all, as a whole number of percents. */
static int percent(int64_t ns, int64_t all_ns)
{
	return all_ns > 0 ? (int)((double)ns * 100 / (double)all_ns + 0.5) : 0;
}

static void say_chain(struct answer *answer)
{
	const struct sonde_blame_node *root = answer->tree->nodes;
	const struct sonde_blame_node *activity =
		sonde_blame_child(answer->tree, root);
	const struct sonde_blame_node *state;

	if (!activity)
		return;
	sonde_text_add(&answer->text, ": %s (%d %%) of that ",
		       duration(answer, most_ns(answer, activity)),
		       percent(most_ns(answer, activity), root->ns));
	state = say_most(answer, activity);
	while (state && (activity = sonde_blame_child(answer->tree, state))) {
		answer->words.next = 0;
		sonde_text_add(&answer->text, ", which spent %s of that ",
			       duration(answer, most_ns(answer, activity)));
		state = say_most(answer, activity);
	}
}

static void add_answer(const struct sonde_blame_spans *spans,
		       const struct sonde_blame_tree *tree,
		       struct sonde_report *report)
{
	const struct sonde_longest_span *span = spans->chosen;
	char text[4096];
	struct answer answer = {
		.spans = spans,
		.tree = tree,
		.words.args = spans->args,
		.text = { .to = text, .size = sizeof(text) },
	};
	char thread[SONDE_CAUSE_THREAD];

	sonde_text_add(&answer.text, "%s took %s, from %s on",
		       sonde_cause_thread(&spans->causes, span->tid, thread,
					  sizeof(thread)),
		       duration(&answer,
				sonde_elapsed_ns(span->begin_ns, span->end_ns)),
		       sonde_cell_text_int(&answer.words, SONDE_CELL_TIME,
					   span->begin_ns));
	say_chain(&answer);
	sonde_report_note(report, "%s.", text);
}

/* ---- the spans ---- */

struct totals {
	int64_t ns[SONDE_STATE_UNKNOWN + 1];
};

static void add_piece(void *ctx, const struct sonde_history_piece *piece)
{
	struct totals *totals = ctx;

	totals->ns[piece->kind] += piece->end_ns - piece->begin_ns;
}

static void span_row(const struct sonde_blame_spans *spans,
		     const struct sonde_longest_span *span,
		     struct sonde_table *table)
{
	struct totals totals = { { 0 } };

	sonde_history_pieces(&spans->history, span->tid, span->begin_ns,
			     span->end_ns, add_piece, &totals);
	sonde_table_row(table);
	sonde_table_int(table, 0,
			sonde_elapsed_ns(span->begin_ns, span->end_ns));
	sonde_table_int(table, 1, span->begin_ns);
	sonde_table_int(table, 2, span->end_ns);
	sonde_table_int(table, 3,
			sonde_cause_own_tid(&spans->causes, span->tid));
	sonde_table_text(table, 4,
			 sonde_cause_thread_name(&spans->causes, span->tid));
	sonde_table_text(table, 5, span->name);
	for (size_t i = 0; i <= SONDE_STATE_UNKNOWN; i++)
		sonde_table_int(table, 6 + i, totals.ns[i]);
}

static void add_spans(const struct sonde_blame_spans *spans,
		      struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		{ "duration", "DURATION", SONDE_CELL_DURATION },
		{ "begin", "BEGIN", SONDE_CELL_TIME },
		{ "end", "END", SONDE_CELL_TIME },
		{ "tid", "TID", SONDE_CELL_INT },
		{ "thread", "THREAD", SONDE_CELL_TEXT },
		{ "key", "KEY", SONDE_CELL_TEXT },
		{ "run_time", "RAN", SONDE_CELL_DURATION },
		{ "ready_time", "READY", SONDE_CELL_DURATION },
		{ "preempted_time", "PREEMPTED", SONDE_CELL_DURATION },
		{ "blocked_time", "BLOCKED", SONDE_CELL_DURATION },
		{ "unknown_time", "UNKNOWN", SONDE_CELL_DURATION },
	};
	const struct sonde_longest *worst = &spans->join.worst;
	struct sonde_table *table =
		sonde_report_table(report, "slowest", "The longest", columns,
				   SONDE_ARRAY_SIZE(columns));

	sonde_table_minor(table, 1u << 2 | 1u << 5 | 1u << 10);
	for (size_t i = 0; i < worst->nr; i++)
		span_row(spans, &worst->spans[i], table);
	sonde_table_limit(table,
			  sonde_analysis_rows(spans->args, SONDE_LONGEST_MAX));
}

/* ---- where the time of one went ---- */

struct showing {
	const struct sonde_blame_spans *spans;
	const struct sonde_blame_tree *tree;
	struct sonde_table *table;
};

static void activity_text(const struct showing *showing,
			  const struct sonde_blame_node *node, char *to,
			  size_t size)
{
	const struct sonde_waker who = {
		.kind = SONDE_WAKER_THREAD,
		.tid = node->tid,
	};
	const struct sonde_causes *causes = &showing->spans->causes;
	char thread[SONDE_CAUSE_THREAD];
	char text[SONDE_CAUSE_TEXT];

	(void)sonde_waker_text(causes, &who, thread, sizeof(thread));
	if (node->kind == SONDE_BLAME_OTHERS)
		(void)snprintf(text, sizeof(text), "all else");
	else if (node->has_cause)
		(void)sonde_cause_text(causes, &node->cause, text,
				       sizeof(text));
	else if (node->state != SONDE_STATE_RUN)
		(void)snprintf(text, sizeof(text), "%s",
			       sonde_blame_state_text(
				       (enum sonde_state_kind)node->state));
	else
		(void)snprintf(text, sizeof(text), "outside of system calls");
	(void)snprintf(to, size, "%s: %s", thread, text);
}

static void state_text(const struct showing *showing,
		       const struct sonde_blame_node *node, char *to,
		       size_t size)
{
	const char *state =
		sonde_blame_state_text((enum sonde_state_kind)node->state);
	char waker[SONDE_CAUSE_THREAD];

	if (node->waker.kind == SONDE_WAKER_UNKNOWN)
		(void)snprintf(to, size, "%s", state);
	else
		(void)snprintf(to, size, "%s, woken by %s", state,
			       sonde_waker_text(&showing->spans->causes,
						&node->waker, waker,
						sizeof(waker)));
}

static void node_row(void *ctx, const struct sonde_blame_node *node,
		     unsigned int depth)
{
	const struct showing *showing = ctx;
	char text[SONDE_CAUSE_TEXT + SONDE_CAUSE_THREAD + 16];
	char indented[SONDE_CAUSE_TEXT + SONDE_CAUSE_THREAD + 128];
	bool is_state = node->kind == SONDE_BLAME_STATE;
	struct sonde_table *table = showing->table;

	if (is_state)
		state_text(showing, node, text, sizeof(text));
	else
		activity_text(showing, node, text, sizeof(text));
	(void)snprintf(indented, sizeof(indented), "%*s%s", (int)(2 * depth),
		       "", text);
	sonde_table_row(table);
	sonde_table_int(table, 0, node->ns);
	sonde_table_double(table, 1,
			   (double)node->ns /
				   (double)showing->tree->nodes[0].ns);
	sonde_table_uint(table, 2, node->count);
	sonde_table_text(table, 3, indented);
	sonde_table_uint(table, 4, depth);
	sonde_table_int(table, 5,
			sonde_cause_own_tid(&showing->spans->causes,
					    node->tid));
	if (is_state)
		sonde_table_text(table, 6,
				 sonde_blame_state_text(
					 (enum sonde_state_kind)node->state));
}

/* What comes after a node and all that is below it; keeps the depth. */
static const struct sonde_blame_node *
next_up(const struct sonde_blame_tree *tree,
	const struct sonde_blame_node *node, unsigned int *depth)
{
	while (node->parent != SONDE_BLAME_NONE) {
		if (node->next != SONDE_BLAME_NONE)
			return &tree->nodes[node->next];
		node = &tree->nodes[node->parent];
		(*depth)--;
	}
	return NULL;
}

/* Each that is long enough, the longest of its parent's first. */
static void each_shown(const struct sonde_blame_tree *tree,
		       void (*show)(void *ctx,
				    const struct sonde_blame_node *node,
				    unsigned int depth),
		       void *ctx)
{
	const struct sonde_blame_node *node =
		sonde_blame_child(tree, tree->nodes);
	unsigned int depth = 0;

	while (node) {
		bool shown = node->ns >= tree->nodes[0].ns / SMALL;

		if (shown)
			show(ctx, node, depth);
		if (shown && node->child != SONDE_BLAME_NONE) {
			node = sonde_blame_child(tree, node);
			depth++;
		} else {
			node = next_up(tree, node, &depth);
		}
	}
}

static void add_tree(const struct sonde_blame_spans *spans,
		     const struct sonde_blame_tree *tree,
		     struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		{ "time", "TIME", SONDE_CELL_DURATION },
		{ "share", "SHARE", SONDE_CELL_PERCENT },
		{ "count", "TIMES", SONDE_CELL_COUNT },
		{ "what", "WHAT", SONDE_CELL_TEXT },
		{ "depth", "DEPTH", SONDE_CELL_COUNT },
		{ "tid", "TID", SONDE_CELL_INT },
		{ "state", "STATE", SONDE_CELL_TEXT },
	};
	struct showing showing = {
		.spans = spans,
		.tree = tree,
		.table = sonde_report_table(report, "where",
					    "Where its time went", columns,
					    SONDE_ARRAY_SIZE(columns)),
	};

	sonde_table_minor(showing.table, 1u << 4 | 1u << 5 | 1u << 6);
	each_shown(tree, node_row, &showing);
	sonde_table_limit(showing.table,
			  sonde_analysis_rows(spans->args, TREE_ROWS));
}

/* ---- where it was meanwhile ---- */

static void node_stacks(void *ctx, const struct sonde_blame_node *node,
			unsigned int depth)
{
	(void)depth;
	sonde_blame_stacks_add(ctx, node);
}

static void blame_add_stacks(const struct sonde_blame_spans *spans,
			     const struct sonde_blame_tree *tree,
			     struct sonde_report *report)
{
	struct sonde_blame_stacks stacks;

	sonde_blame_stacks_begin(&stacks, spans, report);
	each_shown(tree, node_stacks, &stacks);
	sonde_blame_stacks_end(&stacks);
}

/* ---- the report ---- */

static void blame_add_notes(const struct sonde_blame_spans *spans,
			    const struct sonde_blame_tree *tree,
			    struct sonde_report *report)
{
	const struct sonde_longest_span *span = spans->chosen;
	struct totals totals = { { 0 } };

	sonde_history_pieces(&spans->history, span->tid, span->begin_ns,
			     span->end_ns, add_piece, &totals);
	if (totals.ns[SONDE_STATE_UNKNOWN])
		sonde_report_note(
			report,
			"%d %% of it is unknown: events were lost, or those "
			"that tell were not recorded.",
			percent(totals.ns[SONDE_STATE_UNKNOWN],
				tree->nodes[0].ns));
	if (tree->cut)
		sonde_report_note(report,
				  "Some wakers were not followed: there were "
				  "too many.");
	if (span->other_tid >= 0 && span->other_tid != span->tid)
		sonde_report_note(report,
				  "It ends on thread %" PRId32 ": see the "
				  "report `critical`.",
				  sonde_cause_own_tid(&spans->causes,
						      span->other_tid));
}

static int show(const struct sonde_blame_spans *spans,
		struct sonde_report *report)
{
	const struct sonde_longest_span *span = spans->chosen;
	struct sonde_blame_tree tree;
	int error;

	error = sonde_blame_tree_init(&tree, &spans->history, span->tid,
				      span->begin_ns, span->end_ns);
	if (!error) {
		add_answer(spans, &tree, report);
		blame_add_notes(spans, &tree, report);
		add_spans(spans, report);
		add_tree(spans, &tree, report);
		blame_add_stacks(spans, &tree, report);
	}
	sonde_blame_tree_fini(&tree);
	return error;
}

static int run(struct sonde_analysis_args *args,
	       struct sonde_report **ret_report)
{
	return sonde_blame_spans_report(args, "blame", true, show, ret_report);
}

const struct sonde_analysis sonde_analysis_blame = {
	.name = "blame",
	.summary = "why it took so long from --begin EXPR to --end EXPR",
	.needs = "kernel",
	.about = SONDE_WANT_THREADS,
	.spans_machines = true,
	.run = run,
};
