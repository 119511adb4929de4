/* SPDX-License-Identifier: MIT */
/*
 * blame_stacks.c - where a span's threads waited, and where they were woken
 * (blame_stacks.h): a row for each frame, the innermost first, those of the waker
 * behind those of the wait. What is the same in all rows of a stack is in its first,
 * but for what JSON tells them apart by.
 */
#include "analysis/reports/blame_stacks.h"

#include <stdio.h>

#include "analysis/reports/site.h"
#include "base/port.h"
#include "reader/names/names.h"

#define WAITS_SHOWN 3

enum column {
	COLUMN_TIME,
	COLUMN_WHO,
	COLUMN_DID,
	COLUMN_CODE,
	COLUMN_WAIT,
	COLUMN_DEPTH,
};

/* What a stack's rows say besides its frames. */
struct shown_stack {
	struct sonde_analysis_site at;
	const char *did;
	int64_t ns; /* below 0: not said */
	const struct sonde_waker *who;
};

void sonde_blame_stacks_begin(struct sonde_blame_stacks *stacks,
			      const struct sonde_blame_spans *spans,
			      struct sonde_report *report)
{
	*stacks = (struct sonde_blame_stacks){
		.spans = spans,
		.report = report,
	};
}

static void blame_open_table(struct sonde_blame_stacks *stacks)
{
	static const struct sonde_column columns[] = {
		[COLUMN_TIME] = { "time", "TIME", SONDE_CELL_DURATION },
		[COLUMN_WHO] = { "who", "WHO", SONDE_CELL_TEXT },
		[COLUMN_DID] = { "did", "DID", SONDE_CELL_TEXT },
		[COLUMN_CODE] = { "code", "CODE, CALLED BY", SONDE_CELL_TEXT },
		[COLUMN_WAIT] = { "wait", "WAIT", SONDE_CELL_COUNT },
		[COLUMN_DEPTH] = { "depth", "DEPTH", SONDE_CELL_COUNT },
	};

	if (stacks->table)
		return;
	stacks->table = sonde_report_table(
		stacks->report, "stacks",
		"Where it was blocked, and woken: the longest waits", columns,
		SONDE_ARRAY_SIZE(columns));
	sonde_table_minor(stacks->table,
			  1u << COLUMN_WAIT | 1u << COLUMN_DEPTH);
}

static void blame_put_code(const struct sonde_blame_stacks *stacks,
			   const struct shown_stack *shown,
			   const struct sonde_names_stack *stack, uint32_t i)
{
	const struct sonde_names_place place =
		sonde_analysis_site_place(&shown->at, stack->frames[i]);
	const struct sonde_name *name =
		sonde_names_code(stacks->spans->args->names, &place);
	bool is_cut = stack->end == SONDE_NAMES_DEEPER && i + 1 == stack->nr;
	char text[2048];

	(void)snprintf(text, sizeof(text), "%s%s",
		       name ? name->text : "unknown (no memory left)",
		       is_cut ? " ..." : "");
	sonde_table_text(stacks->table, COLUMN_CODE, text);
}

static void blame_put_stack(const struct sonde_blame_stacks *stacks,
			    const struct shown_stack *shown)
{
	const struct sonde_names_stack stack =
		sonde_analysis_site_stack(stacks->spans->args, &shown->at);
	char who[SONDE_CAUSE_THREAD];

	for (uint32_t i = 0; i < stack.nr; i++) {
		sonde_table_row(stacks->table);
		if (!i && shown->ns >= 0)
			sonde_table_int(stacks->table, COLUMN_TIME, shown->ns);
		if (!i)
			sonde_table_text(
				stacks->table, COLUMN_WHO,
				sonde_waker_text(&stacks->spans->causes,
						 shown->who, who, sizeof(who)));
		sonde_table_text(stacks->table, COLUMN_DID, shown->did);
		blame_put_code(stacks, shown, &stack, i);
		sonde_table_uint(stacks->table, COLUMN_WAIT, stacks->nr_waits);
		sonde_table_uint(stacks->table, COLUMN_DEPTH, i);
	}
}

/* The machine's own time, by which what it had mapped is known. */
static struct sonde_analysis_site
blame_site_of(const struct sonde_blame_spans *spans,
	      const struct sonde_model_stack *stack, int32_t tid, int64_t ns)
{
	size_t machine = sonde_history_machine(spans->history.nr_machines, tid);

	/* It was the sum before. */
	(void)__builtin_add_overflow(ns, spans->clocks[machine].offset_ns, &ns);
	return sonde_analysis_site_of(stack, ns);
}

static void blame_put_wait(const struct sonde_blame_stacks *stacks,
			   const struct sonde_blame_node *node)
{
	const struct sonde_history_state *wait = node->longest;
	const struct sonde_waker thread = {
		.kind = SONDE_WAKER_THREAD,
		.tid = node->tid,
	};
	const struct shown_stack waited = {
		.at = blame_site_of(stacks->spans, &wait->stack, node->tid,
				    wait->begin_ns),
		.did = "waited",
		.ns = node->longest_ns,
		.who = &thread,
	};
	const struct shown_stack woke = {
		.at = blame_site_of(stacks->spans, &wait->waker_stack,
				    node->tid, wait->end_ns),
		.did = "woke it",
		.ns = -1,
		.who = &node->waker,
	};

	blame_put_stack(stacks, &waited);
	/* Else it ends behind the span, or nobody knows by what. */
	if (node->waker.kind != SONDE_WAKER_UNKNOWN)
		blame_put_stack(stacks, &woke);
}

void sonde_blame_stacks_add(struct sonde_blame_stacks *stacks,
			    const struct sonde_blame_node *node)
{
	const struct sonde_history_state *wait = node->longest;

	if (!wait || !sonde_names_has_stacks(stacks->spans->args->names) ||
	    (!wait->stack.number && !wait->waker_stack.number))
		return;
	blame_open_table(stacks);
	stacks->nr_waits++;
	if (stacks->nr_waits >
	    sonde_analysis_rows(stacks->spans->args, WAITS_SHOWN))
		return;
	stacks->nr_rows++;
	blame_put_wait(stacks, node);
}

void sonde_blame_stacks_end(struct sonde_blame_stacks *stacks)
{
	if (stacks->table)
		sonde_table_more(stacks->table,
				 stacks->nr_waits - stacks->nr_rows);
}
