/* SPDX-License-Identifier: MIT */
/*
 * timegraph.c - the time graph: rows, their states, arrows between them, and what
 * is known of one state.
 *
 * States are as they are in the index, each with its own begin and end, as long as
 * a row has no more of them in the span than times were asked for (or FEW). Where
 * there are more, each time stands for what took most of the time until the next, as
 * on the page (view/index/paint.h). Either way nothing is drawn over what was lost.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/port.h"
#include "view/http/parts.h"
#include "view/index/explain.h"
#include "view/index/walk.h"
#include "view/tsp/outputs.h"

#define FEW   64u
#define HOLES 256u

/* ---- rows ---- */

struct graph_tree {
	const struct sonde_view *view;
	struct sonde_json *json;
};

static void put_number_label(struct sonde_json *json, int32_t number)
{
	char text[16];

	(void)snprintf(text, sizeof(text), "%d", number);
	sonde_json_put_text(json, NULL, number < 0 ? "" : text);
}

static void put_graph_row(void *ctx, const struct sonde_view_told_row *told)
{
	const struct graph_tree *tree = ctx;
	const struct sonde_view *view = tree->view;
	struct sonde_json *json = tree->json;
	int64_t end = view->end_ns - view->begin_ns;

	if (told->row && told->row->kind == SONDE_VIEW_ROW_COUNTER)
		return; /* they are series (counters.c) */
	sonde_json_open(json, NULL, '{');
	sonde_json_put_unsigned(json, "id", told->id);
	sonde_json_put_signed(json, "parentId", told->parent);
	sonde_json_open(json, "labels", '[');
	sonde_json_put_text(json, NULL, told->name);
	put_number_label(json, told->pid);
	put_number_label(json, told->tid);
	sonde_json_close(json, ']');
	sonde_json_put_bool(json, "hasData", told->row);
	sonde_view_tsp_put_time(view, json, "start",
				told->row ? told->row->begin : 0);
	sonde_view_tsp_put_time(view, json, "end",
				told->row ? told->row->end : end);
	sonde_json_close(json, '}');
}

int sonde_view_tsp_graph_tree(struct sonde_view *view,
			      const struct sonde_view_tsp_query *query,
			      struct sonde_view_tsp_reply *reply,
			      struct sonde_view_error *error)
{
	static const struct sonde_view_tsp_header headers[] = {
		{ "Row", "", "STRING" },
		{ "PID", "", "STRING" },
		{ "TID", "", "STRING" },
	};
	struct graph_tree tree = { view, &reply->json };
	int err;

	(void)query;
	(void)error;
	(void)sonde_view_tsp_running(view, reply);
	sonde_json_open(tree.json, "model", '{');
	sonde_view_tsp_put_headers(tree.json, headers,
				   SONDE_ARRAY_SIZE(headers));
	sonde_json_open(tree.json, "entries", '[');
	err = sonde_view_each_row(view, NULL, put_graph_row, &tree);
	sonde_json_close(tree.json, ']');
	sonde_json_close(tree.json, '}');
	return err;
}

/* ---- states ---- */

/* A row's states, as they are put. */
struct states {
	const struct sonde_view *view;
	struct sonde_json *json;
	struct sonde_view_span span;
	uint32_t pixels;
	const struct sonde_view_row *row;
	uint32_t id;
	/* holes that are the row's */
	struct sonde_view_hole holes[HOLES];
	size_t nr_holes;
	bool too_many;
	struct sonde_view_run *runs; /* room for the pixels */
};

static const char *state_label(const struct states *states, uint8_t state,
			       uint32_t about)
{
	const struct sonde_view_index *index = states->view->index;
	const char *label = NULL;

	if (state == SONDE_VIEW_SPAN)
		label = sonde_view_index_name(index, about);
	else if (state == SONDE_VIEW_RUNNING &&
		 states->row->kind == SONDE_VIEW_ROW_CPU)
		label = sonde_view_thread_name(index, (int32_t)about);
	return label && *label ? label : NULL;
}

static void put_graph_state(const struct states *states, int64_t begin,
			    int64_t end, uint8_t state, const char *label)
{
	struct sonde_json *json = states->json;

	if (begin >= end || state == SONDE_VIEW_UNKNOWN)
		return;
	sonde_json_open(json, NULL, '{');
	sonde_view_tsp_put_time(states->view, json, "start", begin);
	sonde_view_tsp_put_time(states->view, json, "end", end);
	if (label)
		sonde_json_put_text(json, "label", label);
	sonde_view_tsp_put_style(json, state);
	sonde_json_close(json, '}');
}

static void find_row_holes(struct states *states)
{
	struct sonde_view_hole hole;

	states->nr_holes = 0;
	states->too_many = false;
	for (size_t i = 0;
	     sonde_view_index_hole_locked(states->view->index, i, &hole); i++) {
		if (!sonde_view_hole_is_of(&hole, states->row) ||
		    hole.end < states->span.from ||
		    hole.begin >= states->span.to)
			continue;
		if (states->nr_holes == HOLES)
			states->too_many = true;
		else
			states->holes[states->nr_holes++] = hole;
	}
}

/* The first hole that ends at that time or later; NULL: none. */
static const struct sonde_view_hole *next_hole(const struct states *states,
					       int64_t time)
{
	const struct sonde_view_hole *first = NULL;

	for (size_t i = 0; i < states->nr_holes; i++)
		if (states->holes[i].end >= time &&
		    (!first || states->holes[i].begin < first->begin))
			first = &states->holes[i];
	return first;
}

/* What isn't in a hole, and the holes. */
static void put_piece(const struct states *states,
		      const struct sonde_view_piece *piece)
{
	const char *label = state_label(states, piece->state, piece->about);
	int64_t at = piece->begin;

	while (at < piece->end) {
		const struct sonde_view_hole *hole = next_hole(states, at);
		int64_t begin = hole && hole->begin < piece->end ? hole->begin :
								   piece->end;
		int64_t end = hole && hole->end < piece->end ? hole->end + 1 :
							       piece->end;

		put_graph_state(states, at, begin, piece->state, label);
		if (begin == piece->end)
			return;
		put_graph_state(states, begin > at ? begin : at, end,
				SONDE_VIEW_LOST, NULL);
		at = end;
	}
}

/* Each piece in the span is told, or none: false, there are more than fit. */
static bool walk_pieces(const struct states *states, bool put)
{
	const struct sonde_view_rows *rows =
		sonde_view_index_rows(states->view->index);
	uint32_t most = states->pixels > FEW ? states->pixels : FEW;
	int64_t at = states->row->begin > states->span.from ?
			     states->row->begin :
			     states->span.from;
	struct sonde_view_piece piece;
	struct sonde_view_walk walk;

	sonde_view_walk_init(&walk, rows, states->id);
	for (uint32_t nr = 0;
	     at < states->span.to && sonde_view_walk_at(&walk, at, &piece);
	     nr++) {
		if (nr == most)
			return false;
		if (put)
			put_piece(states, &piece);
		at = piece.end;
	}
	return true;
}

static void put_runs(const struct states *states)
{
	const struct sonde_view_span *span = &states->span;
	uint32_t nr = sonde_view_paint_row(states->view->index, states->id,
					   span, states->pixels, states->runs);

	for (uint32_t i = 0; i < nr; i++) {
		const struct sonde_view_run *run = &states->runs[i];

		put_graph_state(
			states, sonde_view_pixel(span, run->x, states->pixels),
			sonde_view_pixel(span, run->x + run->width,
					 states->pixels),
			run->state,
			run->name ? state_label(states, run->state, run->name) :
				    NULL);
	}
}

static void put_row_states(struct states *states, uint32_t id)
{
	const struct sonde_view_rows *rows =
		sonde_view_index_rows(states->view->index);

	if (id >= rows->nr)
		return;
	states->id = id;
	states->row = &rows->rows[id];
	find_row_holes(states);
	sonde_json_open(states->json, NULL, '{');
	sonde_json_put_unsigned(states->json, "entryId", id);
	sonde_json_open(states->json, "states", '[');
	if (!states->too_many && walk_pieces(states, false))
		(void)walk_pieces(states, true);
	else
		put_runs(states);
	sonde_json_close(states->json, ']');
	sonde_json_close(states->json, '}');
}

int sonde_view_tsp_graph_states(struct sonde_view *view,
				const struct sonde_view_tsp_query *query,
				struct sonde_view_tsp_reply *reply,
				struct sonde_view_error *error)
{
	struct states *states = calloc(1, sizeof(*states));
	int err = -ENOMEM;

	(void)error;
	(void)sonde_view_tsp_running(view, reply);
	if (states) {
		states->view = view;
		states->json = &reply->json;
		states->span = sonde_view_tsp_span(view, query);
		states->pixels = query->nr_times ? query->nr_times : 1;
		states->runs = calloc(states->pixels, sizeof(*states->runs));
	}
	if (states && states->runs) {
		err = 0;
		sonde_json_open(&reply->json, "model", '{');
		sonde_json_open(&reply->json, "rows", '[');
		(void)sonde_view_index_lock(view->index);
		for (size_t i = 0; i < query->nr_items; i++)
			put_row_states(states, query->items[i]);
		sonde_view_index_unlock(view->index);
		sonde_json_close(&reply->json, ']');
		sonde_json_close(&reply->json, '}');
		free(states->runs);
	}
	free(states);
	return err;
}

/* ---- arrows ---- */

static void put_graph_arrow(void *ctx, const struct sonde_view_arrow *arrow)
{
	const struct graph_tree *tree = ctx;
	struct sonde_json *json = tree->json;

	sonde_json_open(json, NULL, '{');
	sonde_json_put_unsigned(json, "sourceId", arrow->from_row);
	sonde_json_put_unsigned(json, "targetId", arrow->to_row);
	sonde_view_tsp_put_time(tree->view, json, "start", arrow->time);
	sonde_view_tsp_put_time(tree->view, json, "end", arrow->time);
	sonde_view_tsp_put_style_of(json, "waking");
	sonde_json_close(json, '}');
}

int sonde_view_tsp_graph_arrows(struct sonde_view *view,
				const struct sonde_view_tsp_query *query,
				struct sonde_view_tsp_reply *reply,
				struct sonde_view_error *error)
{
	struct sonde_view_span span = sonde_view_tsp_span(view, query);
	struct graph_tree tree = { view, &reply->json };

	(void)error;
	(void)sonde_view_tsp_running(view, reply);
	sonde_json_open(tree.json, "model", '[');
	if (sonde_view_each_arrow(view, query->items, query->nr_items, &span,
				  put_graph_arrow, &tree))
		(void)snprintf(reply->message, sizeof(reply->message),
			       "there may be more arrows: zoom in");
	sonde_json_close(tree.json, ']');
	return 0;
}

/* ---- one state ---- */

static void put_tooltip(const struct sonde_view *view, uint32_t id,
			const struct sonde_view_piece *piece,
			struct sonde_json *json)
{
	const struct sonde_view_rows *rows = sonde_view_index_rows(view->index);
	const struct sonde_view_row *row = &rows->rows[id];
	const char *why = sonde_view_why(view, row, piece);
	int64_t when = piece->begin;
	int64_t waker = sonde_view_waker(view->index, id, piece, &when);
	char text[32];

	sonde_json_put_text(json, "State",
			    sonde_view_state(piece->state)->name);
	(void)snprintf(text, sizeof(text), "%lld ns",
		       (long long)(piece->end - piece->begin));
	sonde_json_put_text(json, "Duration", text);
	sonde_view_put_detail(json, view, row, piece);
	if (why)
		sonde_json_put_text(json, "Why", why);
	if (waker >= 0)
		sonde_json_put_text(json, "Woken by", rows->rows[waker].name);
}

int sonde_view_tsp_graph_tooltip(struct sonde_view *view,
				 const struct sonde_view_tsp_query *query,
				 struct sonde_view_tsp_reply *reply,
				 struct sonde_view_error *error)
{
	struct sonde_view_span span = sonde_view_tsp_span(view, query);
	const struct sonde_view_rows *rows;
	struct sonde_view_piece piece;

	if (!query->nr_times || !query->nr_items)
		return sonde_view_fail(error, -EINVAL,
				       "requested_times, requested_items: of "
				       "which state?");
	(void)sonde_view_tsp_running(view, reply);
	sonde_json_open(&reply->json, "model", '{');
	rows = sonde_view_index_lock(view->index);
	if (query->items[0] < rows->nr &&
	    sonde_view_rows_at(rows, query->items[0], span.from, &piece))
		put_tooltip(view, query->items[0], &piece, &reply->json);
	sonde_view_index_unlock(view->index);
	sonde_json_close(&reply->json, '}');
	return 0;
}
