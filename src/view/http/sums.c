/* SPDX-License-Identifier: MIT */
/*
 * sums.c - statistics of a selected span, as a table: how long threads were in
 * which state and what counters were, from the index; how often which event or system call came, from
 * the reports that count them (answers of reports.c).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "view/http/view.h"

static void put_column_head(struct sonde_json *json, const char *name,
			    const char *unit)
{
	sonde_json_open(json, NULL, '{');
	sonde_json_put_text(json, "name", name);
	sonde_json_put_text(json, "unit", unit);
	sonde_json_close(json, '}');
}

/* Of a row, or of all threads, within a span. */
static void add_selected(const struct sonde_view_rows *rows, uint32_t row,
			 const struct sonde_view_span *span,
			 uint64_t sums[SONDE_VIEW_STATES])
{
	uint64_t before[SONDE_VIEW_STATES];
	uint64_t after[SONDE_VIEW_STATES];

	sonde_view_rows_sums(rows, row, span->from, before);
	sonde_view_rows_sums(rows, row, span->to, after);
	for (size_t i = 0; i < SONDE_VIEW_STATES; i++)
		sums[i] += after[i] - before[i];
}

static bool is_thread_state(uint8_t state)
{
	return state >= SONDE_VIEW_RUNNING && state <= SONDE_VIEW_BLOCKED_FILE;
}

/* Whether the trace says what the row ever did: a thread of which only its own events
 * are known was in no state, which is not to say that it didn't run. */
static bool was_in_states(const struct sonde_view_row *row)
{
	for (uint8_t i = 0; i < (uint8_t)SONDE_VIEW_STATES; i++)
		if (is_thread_state(i) && row->sums[i])
			return true;
	return false;
}

static void put_known_time(struct sonde_json *json, bool is_known,
			   uint64_t time_ns)
{
	if (is_known)
		sonde_json_put_unsigned(json, NULL, time_ns);
	else
		sonde_json_put_raw(json, NULL, "null");
}

static void put_states_by_thread(const struct sonde_view_rows *rows,
				 const struct sonde_view_span *span,
				 struct sonde_json *json)
{
	sonde_json_open(json, "columns", '[');
	put_column_head(json, "thread", "text");
	put_column_head(json, "tid", "id");
	put_column_head(json, "pid", "id");
	for (uint8_t i = 0; i < (uint8_t)SONDE_VIEW_STATES; i++)
		if (is_thread_state(i))
			put_column_head(json, sonde_view_state(i)->name, "ns");
	sonde_json_close(json, ']');
	sonde_json_open(json, "rows", '[');
	for (uint32_t row = 0; row < rows->nr; row++) {
		const struct sonde_view_row *thread = &rows->rows[row];
		uint64_t sums[SONDE_VIEW_STATES] = { 0 };

		if (thread->kind != SONDE_VIEW_ROW_THREAD)
			continue;
		add_selected(rows, row, span, sums);
		sonde_json_open(json, NULL, '[');
		sonde_json_put_text(json, NULL, thread->name);
		sonde_json_put_signed(json, NULL, thread->number);
		if (thread->pid >= 0)
			sonde_json_put_signed(json, NULL, thread->pid);
		else
			sonde_json_put_raw(json, NULL, "null");
		for (uint8_t i = 0; i < (uint8_t)SONDE_VIEW_STATES; i++)
			if (is_thread_state(i))
				put_known_time(json, was_in_states(thread),
					       sums[i]);
		sonde_json_close(json, ']');
	}
	sonde_json_close(json, ']');
}

static void put_states_of_all(const struct sonde_view_rows *rows,
			      const struct sonde_view_span *span,
			      struct sonde_json *json)
{
	uint64_t sums[SONDE_VIEW_STATES] = { 0 };
	bool is_known = false;

	for (uint32_t row = 0; row < rows->nr; row++) {
		if (rows->rows[row].kind != SONDE_VIEW_ROW_THREAD)
			continue;
		add_selected(rows, row, span, sums);
		is_known = is_known || was_in_states(&rows->rows[row]);
	}
	sonde_json_open(json, "columns", '[');
	put_column_head(json, "state", "text");
	put_column_head(json, "time", "ns");
	sonde_json_close(json, ']');
	sonde_json_open(json, "rows", '[');
	for (uint8_t i = 0; i < (uint8_t)SONDE_VIEW_STATES; i++) {
		if (!is_thread_state(i))
			continue;
		sonde_json_open(json, NULL, '[');
		sonde_json_put_text(json, NULL, sonde_view_state(i)->name);
		put_known_time(json, is_known, sums[i]);
		sonde_json_close(json, ']');
	}
	sonde_json_close(json, ']');
}

/* What each counter was within the span; what isn't known of it is left out. */
static void put_counter_reaches(const struct sonde_view_rows *rows,
				const struct sonde_view_span *span,
				struct sonde_json *json)
{
	sonde_json_open(json, "columns", '[');
	put_column_head(json, "counter", "text");
	put_column_head(json, "unit", "text");
	put_column_head(json, "min", "id");
	put_column_head(json, "max", "id");
	put_column_head(json, "last", "id");
	sonde_json_close(json, ']');
	sonde_json_open(json, "rows", '[');
	for (uint32_t i = 0; i < rows->nr; i++) {
		const struct sonde_view_row *row = &rows->rows[i];
		const struct sonde_view_values values =
			sonde_view_rows_values(rows, i);
		struct sonde_view_edges edges = sonde_view_edges(span, 1);
		struct sonde_view_reach reach;

		if (row->kind != SONDE_VIEW_ROW_COUNTER)
			continue;
		sonde_view_values_paint(&values, &edges, 1, 0, &reach);
		sonde_json_open(json, NULL, '[');
		sonde_json_put_text(json, NULL, row->name);
		sonde_json_put_text(json, NULL, row->unit);
		sonde_json_put_double(json, NULL, reach.least);
		sonde_json_put_double(json, NULL, reach.most);
		sonde_json_put_double(json, NULL, reach.last);
		sonde_json_close(json, ']');
	}
	sonde_json_close(json, ']');
}

int sonde_view_answer_statistics(struct sonde_view *view,
				 const struct sonde_view_request *request,
				 FILE *to, struct sonde_view_error *error)
{
	const char *by = sonde_view_request_text(request, "by");
	struct sonde_json json = sonde_view_json(to);
	const struct sonde_view_rows *rows;
	struct sonde_view_span span;
	int err = sonde_view_request_span(view, request, &span, error);

	if (err)
		return err;
	if (by && strcmp(by, "thread") != 0 && strcmp(by, "state") != 0 &&
	    strcmp(by, "counter") != 0)
		return sonde_view_answer_table(view, request, to, error);
	sonde_json_open(&json, NULL, '{');
	rows = sonde_view_index_lock(view->index);
	if (by && !strcmp(by, "state"))
		put_states_of_all(rows, &span, &json);
	else if (by && !strcmp(by, "counter"))
		put_counter_reaches(rows, &span, &json);
	else
		put_states_by_thread(rows, &span, &json);
	sonde_view_index_unlock(view->index);
	sonde_json_close(&json, '}');
	return 0;
}
