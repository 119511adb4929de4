/* SPDX-License-Identifier: MIT */
/*
 * events.c - the table of events: lines by number, from 0 on in the order of time;
 * lines from a time on; and the next or previous line with a text in a column.
 *
 * Where an event of a number is, the index' counts say but for a cell of a 16,384th
 * of the trace (sonde_view_index_mark_event()); in it events are counted one by one.
 * So a line costs about that much, and more where most events of the trace are at one
 * place. A search looks at PATIENCE_NS worth of events, and then says how far it came.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/port.h"
#include "base/time.h"
#include "reader/reader.h"
#include "view/http/parts.h"
#include "view/tsp/outputs.h"

#define PATIENCE_NS ((uint64_t)10 * SONDE_NS_PER_S)
#define LOOK_EVERY  1024u
#define HIGHLIGHT   8 /* the protocol's tag of what matches */

enum column {
	TIME,
	CPU,
	NAME,
	TID,
	COMM,
	CONTENTS,
	COLUMNS,
};

/* Front ends know the first by its name: they select its time. */
static const struct {
	const char *name, *description, *type;
} columns[COLUMNS] = {
	[TIME] = { "Timestamp ns", "Nanoseconds since 1970", "TIMESTAMP" },
	[CPU] = { "CPU", "", "NUMBER" },
	[NAME] = { "Event type", "", "STRING" },
	[TID] = { "TID", "The thread", "NUMBER" },
	[COMM] = { "Thread", "Its name", "STRING" },
	[CONTENTS] = { "Contents", "Contexts and fields", "STRING" },
};

int sonde_view_tsp_event_columns(struct sonde_view *view,
				 const struct sonde_view_tsp_query *query,
				 struct sonde_view_tsp_reply *reply,
				 struct sonde_view_error *error)
{
	struct sonde_json *json = &reply->json;

	(void)view;
	(void)query;
	(void)error;
	sonde_json_open(json, "model", '[');
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(columns); i++) {
		sonde_json_open(json, NULL, '{');
		sonde_json_put_unsigned(json, "id", i);
		sonde_json_put_text(json, "name", columns[i].name);
		sonde_json_put_text(json, "description",
				    columns[i].description);
		sonde_json_put_text(json, "type", columns[i].type);
		sonde_json_close(json, '}');
	}
	sonde_json_close(json, ']');
	return 0;
}

/* ---- one line ---- */

struct lines {
	struct sonde_view *view;
	const struct sonde_view_tsp_query *query;
	struct sonde_cursor *cursor;
	uint64_t index;             /* of the event the cursor stands before */
	struct sonde_buffer buffer; /* of the contents */
	struct sonde_view_whose whose;
	char time[24], cpu[16], tid[16];
	uint64_t until_ns;
};

/* A cell's bytes, of the event that was looked at last. */
struct cell {
	const char *text;
	size_t length;
};

static void look_at_line(struct lines *lines, const struct sonde_event *event)
{
	sonde_view_event_whose(lines->view, event, &lines->whose);
	sonde_view_event_text(lines->view, event, &lines->buffer);
	(void)snprintf(lines->time, sizeof(lines->time), "%" PRId64,
		       event->time_ns);
	(void)snprintf(lines->cpu, sizeof(lines->cpu), "%" PRId32,
		       lines->whose.cpu);
	(void)snprintf(lines->tid, sizeof(lines->tid), "%" PRId32,
		       lines->whose.tid);
}

static struct cell line_cell(const struct lines *lines,
			     const struct sonde_event *event, uint32_t column)
{
	const char *text = "";

	switch (column) {
	case TIME:
		text = event->time_ns == SONDE_TIME_MIN ? "" : lines->time;
		break;
	case CPU:
		text = lines->whose.cpu < 0 ? "" : lines->cpu;
		break;
	case NAME:
		text = sonde_event_name(event);
		break;
	case TID:
		text = lines->whose.tid < 0 ? "" : lines->tid;
		break;
	case COMM:
		return (struct cell){ lines->whose.comm,
				      lines->whose.comm_length };
	case CONTENTS:
		return (struct cell){ lines->buffer.text, lines->buffer.used };
	default:
		break;
	}
	return (struct cell){ text, strlen(text) };
}

/* Whether it has, in each column that is searched, the text that is looked for. */
static bool is_line_wanted(const struct lines *lines,
			   const struct sonde_event *event)
{
	const struct sonde_view_tsp_query *query = lines->query;

	for (size_t i = 0; i < query->where.nr; i++) {
		const char *wanted = query->wanted.words[i];
		const char *word = query->where.words[i];
		struct cell cell;

		if (word[0] < '0' || word[0] >= '0' + COLUMNS || word[1])
			return false;
		cell = line_cell(lines, event, (uint32_t)(word[0] - '0'));
		if (!memmem(cell.text, cell.length, wanted, strlen(wanted)))
			return false;
	}
	return query->where.nr;
}

static void put_line_cell(const struct lines *lines,
			  const struct sonde_event *event, uint32_t column,
			  struct sonde_json *json)
{
	struct cell cell = line_cell(lines, event, column);

	sonde_json_open(json, NULL, '{');
	sonde_json_put_bytes(json, "content", cell.text, cell.length);
	sonde_json_close(json, '}');
}

static void put_event_line(const struct lines *lines,
			   const struct sonde_event *event, uint64_t index,
			   struct sonde_json *json)
{
	const struct sonde_view_tsp_query *query = lines->query;

	sonde_json_open(json, NULL, '{');
	sonde_json_put_unsigned(json, "index", index);
	sonde_json_open(json, "cells", '[');
	if (query->columns)
		for (size_t i = 0; i < query->nr_columns; i++)
			put_line_cell(lines, event, query->columns[i], json);
	else
		for (uint32_t i = 0; i < COLUMNS; i++)
			put_line_cell(lines, event, i, json);
	sonde_json_close(json, ']');
	sonde_json_put_unsigned(json, "tags",
				is_line_wanted(lines, event) ? HIGHLIGHT : 0);
	sonde_json_close(json, '}');
}

/* ---- places ---- */

static int go_to_mark(struct lines *lines, const struct sonde_view_mark *mark)
{
	lines->index = mark->before;
	return sonde_cursor_seek(lines->cursor,
				 lines->view->begin_ns + mark->time);
}

/* 1 and the event, of number lines->index - 1; 0: there is none. -EINTR. */
static int step_line(struct lines *lines, const struct sonde_event **ret_event)
{
	int got = sonde_cursor_next(lines->cursor, ret_event);

	if (got > 0 && ++lines->index % LOOK_EVERY == 0 &&
	    atomic_load(lines->view->stopping))
		return -EINTR;
	return got;
}

/* Before the event of that number, or behind the last one. */
static int go_to_index(struct lines *lines, uint64_t index)
{
	const struct sonde_event *event;
	struct sonde_view_mark mark;
	int got = 1;

	if (!sonde_view_index_mark_event(lines->view->index, index, &mark)) {
		lines->index = index;
		return sonde_cursor_seek(lines->cursor, SONDE_TIME_MAX);
	}
	got = go_to_mark(lines, &mark);
	if (got)
		return got;
	while (lines->index < index && (got = step_line(lines, &event)) > 0)
		;
	return got < 0 ? got : 0;
}

/* The number of the first event at that time or later. */
static int find_time_line(struct lines *lines, int64_t time_ns,
			  uint64_t *ret_index)
{
	const struct sonde_event *event;
	struct sonde_view_mark mark;
	int got;

	if (!sonde_view_index_mark_time(lines->view->index,
					time_ns - lines->view->begin_ns, &mark))
		return -ENODATA;
	got = go_to_mark(lines, &mark);
	if (got)
		return got;
	while ((got = step_line(lines, &event)) > 0 && event->time_ns < time_ns)
		;
	*ret_index = lines->index - (got > 0);
	return got < 0 ? got : 0;
}

/* ---- search ---- */

static bool is_patience_over(const struct lines *lines)
{
	return lines->index % LOOK_EVERY == 0 &&
	       sonde_monotonic_ns() > lines->until_ns;
}

/* The first wanted one from `from` to before `to`, or the last: 1 and its number;
 * 0: none; -EAGAIN: it takes too long, *ret_index is where to go on. */
static int find_between(struct lines *lines, uint64_t from, uint64_t to,
			uint64_t *ret_index)
{
	const struct sonde_event *event;
	int found = 0;
	int got = go_to_index(lines, from);

	if (got)
		return got;
	while (lines->index < to && (got = step_line(lines, &event)) > 0) {
		look_at_line(lines, event);
		if (is_line_wanted(lines, event)) {
			*ret_index = lines->index - 1;
			found = 1;
			if (lines->query->direction > 0)
				return 1;
		} else if (is_patience_over(lines)) {
			*ret_index = lines->index;
			return -EAGAIN;
		}
	}
	return got < 0 ? got : found;
}

/* Backward in steps: each is read forward, and its last one wanted. */
#define STEP 4096u

static int find_wanted_line(struct lines *lines, uint64_t from,
			    uint64_t *ret_index)
{
	int found = 0;

	lines->until_ns = sonde_monotonic_ns() + PATIENCE_NS;
	if (lines->query->direction > 0)
		return find_between(lines, from, UINT64_MAX, ret_index);
	for (uint64_t end = from + 1; !found && end > 0;) {
		uint64_t begin = end > STEP ? end - STEP : 0;

		found = find_between(lines, begin, end, ret_index);
		if (found == -EAGAIN)
			*ret_index = end - 1;
		end = begin;
	}
	return found;
}

/* ---- lines ---- */

static int put_event_lines(struct lines *lines, uint64_t index, uint32_t count,
			   struct sonde_json *json)
{
	const struct sonde_event *event;
	int got = go_to_index(lines, index);

	sonde_json_open(json, "lines", '[');
	for (uint32_t i = 0; !got && i < count; i++) {
		got = step_line(lines, &event);
		if (got <= 0)
			break;
		look_at_line(lines, event);
		put_event_line(lines, event, lines->index - 1, json);
		got = lines->buffer.failed ? -ENOMEM : 0;
	}
	sonde_json_close(json, ']');
	return got < 0 ? got : 0;
}

static void put_column_ids(const struct sonde_view_tsp_query *query,
			   struct sonde_json *json)
{
	sonde_json_open(json, "columnIds", '[');
	for (size_t i = 0; i < (query->columns ? query->nr_columns : COLUMNS);
	     i++)
		sonde_json_put_unsigned(json, NULL,
					query->columns ? query->columns[i] : i);
	sonde_json_close(json, ']');
}

/* Which lines are asked for: the first, and how many. 0, or a negative errno. */
static int choose_lines(struct lines *lines, uint64_t *ret_index,
			uint32_t *ret_count, struct sonde_view_tsp_reply *reply)
{
	const struct sonde_view_tsp_query *query = lines->query;
	int err = 0;

	*ret_index = query->index < 0 ? 0 : (uint64_t)query->index;
	*ret_count = query->count;
	if (query->index < 0 && query->nr_times)
		err = find_time_line(lines, query->first_ns, ret_index);
	if (err || !query->direction || !query->where.nr)
		return err;
	err = find_wanted_line(lines, *ret_index, ret_index);
	if (err == -EAGAIN)
		(void)snprintf(reply->message, sizeof(reply->message),
			       "nothing found until event %" PRIu64
			       ": search on from there",
			       *ret_index);
	if (err != 1)
		*ret_count = 0;
	return err == 1 || err == -EAGAIN ? 0 : err;
}

static int put_table(struct lines *lines, struct sonde_view_tsp_reply *reply)
{
	struct sonde_json *json = &reply->json;
	struct sonde_view_progress progress;
	uint32_t count;
	uint64_t index;
	int err = 0;

	sonde_view_index_progress(lines->view->index, &progress);
	reply->running = !progress.counted;
	index = 0;
	count = 0;
	if (progress.counted)
		err = choose_lines(lines, &index, &count, reply);
	if (err)
		return err;
	sonde_json_open(json, "model", '{');
	sonde_json_put_unsigned(json, "size",
				progress.counted ? progress.events : 0);
	sonde_json_put_unsigned(json, "lowIndex", index);
	put_column_ids(lines->query, json);
	err = put_event_lines(lines, index, count, json);
	sonde_json_close(json, '}');
	return err;
}

int sonde_view_tsp_event_lines(struct sonde_view *view,
			       const struct sonde_view_tsp_query *query,
			       struct sonde_view_tsp_reply *reply,
			       struct sonde_view_error *error)
{
	struct lines lines = { .view = view, .query = query };
	int err = sonde_buffer_init(&lines.buffer);

	if (!err)
		err = sonde_cursor_new(view->trace, NULL, &lines.cursor);
	if (!err)
		err = put_table(&lines, reply);
	if (err)
		(void)sonde_view_fail(error, err, "%s", strerrordesc_np(-err));
	sonde_cursor_free(lines.cursor);
	sonde_buffer_fini(&lines.buffer);
	return err;
}
