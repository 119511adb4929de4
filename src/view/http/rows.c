/* SPDX-License-Identifier: MIT */
/*
 * rows.c - the time line: which rows there are, what their pixels show, what a
 * row was doing at a time and why, who woke whom.
 *
 * Ids of rows are their numbers in the index; a process has none of its own
 * states, and 2^31 and its pid as its id.
 */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "view/http/view.h"
#include "view/index/explain.h"
#include "view/index/list.h"
#include "view/index/walk.h"

#define PROCESS_ID   ((uint32_t)1 << 31)
#define ARROWS_MAX   500
#define ARROWS_STEPS 200000 /* states looked at for them */

/* ---- which rows there are ---- */

static const char *const kinds[] = {
	[SONDE_VIEW_ROW_CPU] = "cpu",       [SONDE_VIEW_ROW_IRQS] = "span",
	[SONDE_VIEW_ROW_SOFTIRQS] = "span", [SONDE_VIEW_ROW_THREAD] = "thread",
	[SONDE_VIEW_ROW_LOCK] = "lock",     [SONDE_VIEW_ROW_WITHIN] = "within",
	[SONDE_VIEW_ROW_OWN] = "own",
};

static void put_one_row(struct sonde_json *json, const struct sonde_view *view,
			const struct sonde_view_listed *listed, int64_t parent)
{
	const struct sonde_view_row *row = listed->row;
	char name[96];

	sonde_view_row_name(row, name, sizeof(name));
	sonde_json_open(json, NULL, '{');
	sonde_json_put_unsigned(json, "id", listed->id);
	sonde_json_put_text(json, "kind",
			    kinds[row->kind < SONDE_VIEW_ROW_WITHIN ?
					  row->kind :
					  SONDE_VIEW_ROW_WITHIN]);
	if (parent < 0)
		sonde_json_put_raw(json, "parent", "null");
	else
		sonde_json_put_signed(json, "parent", parent);
	sonde_json_put_text(json, "name", name);
	sonde_json_put_signed(json, "pid", listed->pid);
	sonde_json_put_signed(
		json, "tid", sonde_view_row_has_thread(row) ? row->number : -1);
	sonde_json_put_double(json, "busy",
			      (double)listed->busy /
				      (double)(view->end_ns - view->begin_ns));
	sonde_json_close(json, '}');
}

static void put_process_row(struct sonde_json *json,
			    const struct sonde_view *view,
			    const struct sonde_view_listed *first)
{
	const struct sonde_view_row *row = first->row;
	int64_t leader = sonde_view_index_row(
		view->index, SONDE_VIEW_ROW_THREAD, first->pid);
	const struct sonde_view_rows *rows = sonde_view_index_rows(view->index);

	if (leader >= 0 && rows->rows[leader].name[0])
		row = &rows->rows[leader];
	sonde_json_open(json, NULL, '{');
	sonde_json_put_unsigned(json, "id", PROCESS_ID | (uint32_t)first->pid);
	sonde_json_put_text(json, "kind", "process");
	sonde_json_put_raw(json, "parent", "null");
	sonde_json_put_text(json, "name", row->name);
	sonde_json_put_signed(json, "pid", first->pid);
	sonde_json_put_signed(json, "tid", -1);
	sonde_json_put_double(json, "busy",
			      (double)first->all_busy /
				      (double)(view->end_ns - view->begin_ns));
	sonde_json_close(json, '}');
}

/* -1: it is below none. */
static int64_t parent_of(const struct sonde_view *view,
			 const struct sonde_view_listed *listed)
{
	const struct sonde_view_row *row = listed->row;

	if (listed->of != row)
		return sonde_view_list_thread(view->index, row);
	if (sonde_view_row_is_of_process(row))
		return listed->pid >= 0 ?
			       (int64_t)(PROCESS_ID | (uint32_t)listed->pid) :
			       -1;
	return row->kind == SONDE_VIEW_ROW_CPU ||
			       !sonde_view_row_is_of_cpu(row) ?
		       -1 :
		       sonde_view_index_row(view->index, SONDE_VIEW_ROW_CPU,
					    row->number);
}

static void put_rows(const struct sonde_view *view,
		     const struct sonde_view_listed *list, size_t nr, FILE *to)
{
	struct sonde_json json = sonde_view_json(to);

	sonde_json_open(&json, NULL, '[');
	for (size_t i = 0; i < nr; i++) {
		if (sonde_view_row_is_of_process(list[i].row) &&
		    list[i].pid >= 0 &&
		    (i == 0 || list[i - 1].pid != list[i].pid))
			put_process_row(&json, view, &list[i]);
		put_one_row(&json, view, &list[i], parent_of(view, &list[i]));
	}
	sonde_json_close(&json, ']');
}

/* Of what goes on within threads: the i-th is that of `name` i + 1 in a frame. */
int sonde_view_answer_names(struct sonde_view *view,
			    const struct sonde_view_request *request, FILE *to,
			    struct sonde_view_error *error)
{
	struct sonde_json json = sonde_view_json(to);
	const char *name;

	(void)request;
	(void)error;
	sonde_json_open(&json, NULL, '[');
	(void)sonde_view_index_lock(view->index);
	for (uint32_t i = 1; (name = sonde_view_index_name(view->index, i));
	     i++)
		sonde_json_put_text(&json, NULL, name);
	sonde_view_index_unlock(view->index);
	sonde_json_close(&json, ']');
	return 0;
}

/* Of these, those that were declared: by the number of the name. */
int sonde_view_answer_colours(struct sonde_view *view,
			      const struct sonde_view_request *request,
			      FILE *to, struct sonde_view_error *error)
{
	struct sonde_json json = sonde_view_json(to);

	(void)request;
	(void)error;
	sonde_json_open(&json, NULL, '{');
	(void)sonde_view_index_lock(view->index);
	for (uint32_t i = 1; sonde_view_index_name(view->index, i); i++) {
		uint32_t colour = sonde_view_index_colour(view->index, i);
		char name[12];
		char text[8];

		if (!colour)
			continue;
		(void)snprintf(name, sizeof(name), "%" PRIu32, i);
		(void)snprintf(text, sizeof(text), "#%06" PRIx32,
			       colour & 0xffffff);
		sonde_json_put_text(&json, name, text);
	}
	sonde_view_index_unlock(view->index);
	sonde_json_close(&json, '}');
	return 0;
}

int sonde_view_answer_rows(struct sonde_view *view,
			   const struct sonde_view_request *request, FILE *to,
			   struct sonde_view_error *error)
{
	const char *filter = sonde_view_request_text(request, "filter");
	const struct sonde_view_rows *rows;
	struct sonde_view_listed *list;

	(void)error;
	rows = sonde_view_index_lock(view->index);
	list = calloc(rows->nr + 1, sizeof(*list));
	if (list)
		put_rows(view, list, sonde_view_list(view->index, filter, list),
			 to);
	sonde_view_index_unlock(view->index);
	free(list);
	return list ? 0 : -ENOMEM;
}

/* ---- pixels ---- */

/* Rows that one thread draws. */
struct painting {
	const struct sonde_view *view;
	const struct sonde_view_span *span;
	const uint32_t *ids;
	size_t nr;
	uint32_t pixels;
	char *bytes; /* for free() */
	size_t size;
	int err;
};

_Static_assert(sizeof(struct sonde_view_run) == 8, "as the answer has it");

static void put_frame_row(const struct painting *painting, uint32_t id,
			  struct sonde_view_run *runs, FILE *to)
{
	uint32_t nr =
		sonde_view_paint_row(painting->view->index, id, painting->span,
				     painting->pixels, runs);
	uint32_t head[2] = { htole32(id), htole32(nr) };

	(void)fwrite(head, sizeof(head), 1, to);
	for (uint32_t i = 0; i < nr; i++) {
		runs[i].x = htole16(runs[i].x);
		runs[i].width = htole16(runs[i].width);
		runs[i].name = htole16(runs[i].name);
	}
	(void)fwrite(runs, sizeof(*runs), nr, to);
}

static void *paint_rows(void *memory)
{
	struct painting *painting = memory;
	struct sonde_view_run *runs = calloc(painting->pixels, sizeof(*runs));
	FILE *to = open_memstream(&painting->bytes, &painting->size);

	painting->err = runs && to ? 0 : -ENOMEM;
	for (size_t i = 0; !painting->err && i < painting->nr; i++)
		put_frame_row(painting, painting->ids[i], runs, to);
	if (to && fclose(to))
		painting->err = -ENOMEM;
	free(runs);
	return NULL;
}

/* Less than this, of all rows, isn't worth a second thread. */
#define PIXELS_FOR_TWO 20000

/* In two halves, for a picture of everything is searched for all over the index:
 * that is waiting for memory, which two can do at a time. */
static int paint_frame(struct painting *all, FILE *to)
{
	struct painting halves[2] = { *all, *all };
	size_t first =
		all->nr * all->pixels < PIXELS_FOR_TWO ? all->nr : all->nr / 2;
	bool alone = first == all->nr;
	pthread_t thread;
	int err;

	halves[0].nr = first;
	halves[1].nr = all->nr - first;
	halves[1].ids += first;
	if (!alone)
		alone = pthread_create(&thread, NULL, paint_rows, &halves[1]) !=
			0;
	(void)paint_rows(&halves[0]);
	if (alone)
		(void)paint_rows(&halves[1]);
	else
		(void)pthread_join(thread, NULL);
	err = halves[0].err ? halves[0].err : halves[1].err;
	for (int i = 0; i < 2; i++) {
		if (!err)
			(void)fwrite(halves[i].bytes, 1, halves[i].size, to);
		free(halves[i].bytes);
	}
	return err;
}

int sonde_view_answer_frame(struct sonde_view *view,
			    const struct sonde_view_request *request, FILE *to,
			    struct sonde_view_error *error)
{
	uint32_t ids[SONDE_VIEW_ROWS_MAX];
	struct sonde_view_span span;
	struct painting painting = { .view = view, .span = &span, .ids = ids };
	int nr;
	int err = sonde_view_request_span(view, request, &span, error);

	if (!err)
		err = sonde_view_request_pixels(request, &painting.pixels,
						error);
	if (err)
		return err;
	nr = sonde_view_request_list(request, "rows", SONDE_VIEW_ROWS_MAX, ids);
	if (nr == -EINVAL)
		return sonde_view_fail(error, nr, "rows: up to %d ids",
				       SONDE_VIEW_ROWS_MAX);
	painting.nr = nr > 0 ? (size_t)nr : 0;
	(void)sonde_view_index_lock(view->index);
	err = paint_frame(&painting, to);
	sonde_view_index_unlock(view->index);
	return err ? sonde_view_fail(error, err, "no memory for the picture") :
		     0;
}

/* ---- one state ---- */

static void put_thread(struct sonde_json *json, const struct sonde_view *view,
		       const char *name, int32_t tid)
{
	const struct sonde_view_rows *rows = sonde_view_index_rows(view->index);
	int64_t row =
		sonde_view_index_row(view->index, SONDE_VIEW_ROW_THREAD, tid);
	char text[96];

	(void)snprintf(text, sizeof(text), "%s (%" PRId32 ")",
		       row >= 0 ? rows->rows[row].name : "", tid);
	sonde_json_put_text(json, name, text);
}

/* Whether events were lost by then: whoever waited before may still do. */
static bool is_past_a_hole(const struct sonde_view *view, int64_t time)
{
	struct sonde_view_hole hole;

	for (size_t i = 0; sonde_view_index_hole_locked(view->index, i, &hole);
	     i++)
		if (hole.begin <= time)
			return true;
	return false;
}

static void put_lock_detail(struct sonde_json *json,
			    const struct sonde_view *view,
			    const struct sonde_view_piece *piece)
{
	uint32_t waiters = sonde_view_waiters(piece);

	if (piece->state == SONDE_VIEW_UNKNOWN)
		return;
	if (sonde_view_holder(piece))
		put_thread(json, view, "held by", sonde_view_holder(piece));
	else
		sonde_json_put_text(json, "held by", "not known");
	sonde_json_put_unsigned(json,
				is_past_a_hole(view, piece->begin) ?
					"threads known to wait" :
					"threads that wait",
				waiters);
}

static void put_detail(struct sonde_json *json, const struct sonde_view *view,
		       const struct sonde_view_row *row,
		       const struct sonde_view_piece *piece)
{
	char text[24];

	sonde_json_open(json, "detail", '{');
	(void)snprintf(text, sizeof(text), "%" PRIu32, piece->about);
	if (row->kind == SONDE_VIEW_ROW_LOCK)
		put_lock_detail(json, view, piece);
	else if (row->kind == SONDE_VIEW_ROW_CPU &&
		 piece->state == SONDE_VIEW_RUNNING)
		put_thread(json, view, "thread", (int32_t)piece->about);
	else if (piece->state == SONDE_VIEW_RUNNING)
		sonde_json_put_text(json, "cpu", text);
	else if (piece->state == SONDE_VIEW_SPAN)
		sonde_json_put_text(json, "name",
				    sonde_view_index_name(view->index,
							  piece->about));
	else if (piece->state == SONDE_VIEW_IRQ ||
		 piece->state == SONDE_VIEW_SOFTIRQ)
		sonde_json_put_text(json, "number", text);
	sonde_json_close(json, '}');
}

/* A row to go to, and when. */
static void put_link(struct sonde_json *json,
		     const struct sonde_view_rows *rows, const char *name,
		     int64_t row, int64_t time)
{
	if (row < 0) {
		sonde_json_put_raw(json, name, "null");
		return;
	}
	sonde_json_open(json, name, '{');
	sonde_json_put_signed(json, "row", row);
	sonde_json_put_signed(json, "t", time);
	sonde_json_put_text(json, "name", rows->rows[row].name);
	sonde_json_close(json, '}');
}

/* Who had taken a lock. */
static void put_holder(struct sonde_json *json, const struct sonde_view *view,
		       const struct sonde_view_rows *rows, uint32_t id,
		       const struct sonde_view_piece *piece)
{
	bool held = rows->rows[id].kind == SONDE_VIEW_ROW_LOCK &&
		    piece->state != SONDE_VIEW_UNKNOWN &&
		    sonde_view_holder(piece);

	put_link(json, rows, "holder",
		 held ? sonde_view_index_row(view->index, SONDE_VIEW_ROW_THREAD,
					     sonde_view_holder(piece)) :
			-1,
		 piece->begin);
}

static void put_at(const struct sonde_view *view,
		   const struct sonde_view_rows *rows, uint32_t id,
		   int64_t time, FILE *to)
{
	struct sonde_json json = sonde_view_json(to);
	struct sonde_view_piece piece = { .begin = time, .end = time };
	const char *why = NULL;
	int64_t woken = time;
	int64_t waker;

	if (!sonde_view_rows_at(rows, id, time, &piece))
		why = "nothing is known of it then";
	else if (rows->rows[id].kind == SONDE_VIEW_ROW_LOCK)
		why = piece.state ? NULL : "nobody is known to have it then";
	else if (sonde_view_is_blocked(&piece))
		why = sonde_view_index_cause(view->index, piece.about);
	sonde_json_open(&json, NULL, '{');
	sonde_json_put_unsigned(&json, "row", id);
	sonde_json_put_signed(&json, "from", piece.begin);
	sonde_json_put_signed(&json, "to", piece.end);
	sonde_json_put_unsigned(&json, "state", piece.state);
	put_detail(&json, view, &rows->rows[id], &piece);
	waker = sonde_view_waker(view->index, id, &piece, &woken);
	put_link(&json, rows, "waker", waker, woken);
	put_holder(&json, view, rows, id, &piece);
	sonde_json_put_text(&json, "why", why);
	sonde_json_close(&json, '}');
}

int sonde_view_answer_at(struct sonde_view *view,
			 const struct sonde_view_request *request, FILE *to,
			 struct sonde_view_error *error)
{
	const struct sonde_view_rows *rows;
	int64_t id = -1;
	int64_t time = 0;
	int err = 0;

	if (sonde_view_request_number(request, "row", 0, UINT32_MAX, &id) ||
	    sonde_view_request_number(request, "t", INT64_MIN / 4,
				      INT64_MAX / 4, &time))
		return sonde_view_fail(error, -EINVAL, "row, t: numbers");
	rows = sonde_view_index_lock(view->index);
	if ((uint64_t)id < rows->nr)
		put_at(view, rows, (uint32_t)id, time, to);
	else
		err = sonde_view_fail(error, -ENOENT, "there is no such row");
	sonde_view_index_unlock(view->index);
	return err;
}

/* ---- who woke whom ---- */

struct arrows {
	const struct sonde_view *view;
	struct sonde_view_span span;
	struct sonde_json json;
	int nr, steps;
	bool more;
};

static void put_arrow(struct arrows *arrows, uint32_t row,
		      const struct sonde_view_piece *piece)
{
	int64_t waker =
		sonde_view_index_row(arrows->view->index, SONDE_VIEW_ROW_THREAD,
				     (int32_t)piece->about);

	if (waker < 0)
		return;
	if (arrows->nr == ARROWS_MAX) {
		arrows->more = true;
		return;
	}
	arrows->nr++;
	sonde_json_open(&arrows->json, NULL, '{');
	sonde_json_put_signed(&arrows->json, "t", piece->begin);
	sonde_json_put_signed(&arrows->json, "from_row", waker);
	sonde_json_put_unsigned(&arrows->json, "to_row", row);
	sonde_json_close(&arrows->json, '}');
}

static void put_row_arrows(struct arrows *arrows,
			   const struct sonde_view_rows *rows, uint32_t row)
{
	const struct sonde_view_span *span = &arrows->span;
	int64_t at = rows->rows[row].begin > span->from ?
			     rows->rows[row].begin :
			     span->from;
	struct sonde_view_piece piece;
	struct sonde_view_walk walk;

	sonde_view_walk_init(&walk, rows, row);
	while (!arrows->more && at < span->to &&
	       sonde_view_walk_at(&walk, at, &piece)) {
		if (piece.state == SONDE_VIEW_READY && piece.about &&
		    piece.begin >= span->from)
			put_arrow(arrows, row, &piece);
		if (++arrows->steps > ARROWS_STEPS)
			arrows->more = true;
		at = piece.end;
	}
}

int sonde_view_answer_arrows(struct sonde_view *view,
			     const struct sonde_view_request *request, FILE *to,
			     struct sonde_view_error *error)
{
	struct arrows arrows = { .view = view, .json = sonde_view_json(to) };
	uint32_t ids[SONDE_VIEW_ROWS_MAX];
	const struct sonde_view_rows *rows;
	int err = sonde_view_request_span(view, request, &arrows.span, error);
	int nr = sonde_view_request_list(request, "rows", SONDE_VIEW_ROWS_MAX,
					 ids);

	if (err)
		return err;
	if (nr == -EINVAL)
		return sonde_view_fail(error, nr, "rows: up to %d ids",
				       SONDE_VIEW_ROWS_MAX);
	sonde_json_open(&arrows.json, NULL, '[');
	rows = sonde_view_index_lock(view->index);
	for (int i = 0; i < nr; i++)
		if (ids[i] < rows->nr &&
		    rows->rows[ids[i]].kind == SONDE_VIEW_ROW_THREAD)
			put_row_arrows(&arrows, rows, ids[i]);
	sonde_view_index_unlock(view->index);
	if (arrows.more) {
		sonde_json_open(&arrows.json, NULL, '{');
		sonde_json_put_bool(&arrows.json, "more", true);
		sonde_json_close(&arrows.json, '}');
	}
	sonde_json_close(&arrows.json, ']');
	return 0;
}
