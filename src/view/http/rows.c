/* SPDX-License-Identifier: MIT */
/*
 * rows.c - the time line: which rows there are, what their pixels show, what a
 * row was doing at a time and why, who woke whom.
 *
 * Ids of rows are their numbers in the index, or those of processes (parts.h).
 */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "view/http/parts.h"
#include "view/index/explain.h"
#include "view/index/list.h"
#include "view/index/walk.h"

#define ARROWS_STEPS 200000 /* states looked at for them */

/* ---- which rows there are ---- */

static const char *const kinds[] = {
	[SONDE_VIEW_ROW_CPU] = "cpu",
	[SONDE_VIEW_ROW_IRQS] = "span",
	[SONDE_VIEW_ROW_SOFTIRQS] = "span",
	[SONDE_VIEW_ROW_THREAD] = "thread",
	[SONDE_VIEW_ROW_LOCK] = "lock",
	[SONDE_VIEW_ROW_WITHIN] = "within",
	[SONDE_VIEW_ROW_OWN] = "own",
	[SONDE_VIEW_ROW_COUNTER] = "counter",
};

/* -1: it is below none. */
static int64_t parent_of(const struct sonde_view *view,
			 const struct sonde_view_listed *listed)
{
	const struct sonde_view_row *row = listed->row;

	if (listed->of != row)
		return sonde_view_list_thread(view->index, row);
	if (sonde_view_row_is_of_process(row))
		return listed->pid >= 0 ? (int64_t)(SONDE_VIEW_PROCESS |
						    (uint32_t)listed->pid) :
					  -1;
	return row->kind == SONDE_VIEW_ROW_CPU ||
			       !sonde_view_row_is_of_cpu(row) ?
		       -1 :
		       sonde_view_index_row(view->index, SONDE_VIEW_ROW_CPU,
					    row->number);
}

static void tell_one_row(const struct sonde_view *view,
			 const struct sonde_view_listed *listed,
			 sonde_view_tell_row *tell, void *ctx)
{
	const struct sonde_view_row *row = listed->row;
	char name[96];
	struct sonde_view_told_row told = {
		.id = listed->id,
		.parent = parent_of(view, listed),
		.row = row,
		.name = name,
		.pid = listed->pid,
		.tid = sonde_view_row_has_thread(row) ? row->number : -1,
		.busy = listed->busy,
	};

	sonde_view_row_name(row, name, sizeof(name));
	tell(ctx, &told);
}

static void tell_process_row(const struct sonde_view *view,
			     const struct sonde_view_listed *first,
			     sonde_view_tell_row *tell, void *ctx)
{
	const struct sonde_view_row *row = first->row;
	int64_t leader = sonde_view_index_row(
		view->index, SONDE_VIEW_ROW_THREAD, first->pid);
	const struct sonde_view_rows *rows = sonde_view_index_rows(view->index);
	struct sonde_view_told_row told = {
		.id = SONDE_VIEW_PROCESS | (uint32_t)first->pid,
		.parent = -1,
		.pid = first->pid,
		.tid = -1,
		.busy = first->all_busy,
	};

	if (leader >= 0 && rows->rows[leader].name[0])
		row = &rows->rows[leader];
	told.name = row->name;
	tell(ctx, &told);
}

int sonde_view_each_row(const struct sonde_view *view, const char *filter,
			sonde_view_tell_row *tell, void *ctx)
{
	const struct sonde_view_rows *rows = sonde_view_index_lock(view->index);
	struct sonde_view_listed *list = calloc(rows->nr + 1, sizeof(*list));
	size_t nr = list ? sonde_view_list(view->index, filter, list) : 0;

	for (size_t i = 0; i < nr; i++) {
		if (sonde_view_row_is_of_process(list[i].row) &&
		    list[i].pid >= 0 &&
		    (i == 0 || list[i - 1].pid != list[i].pid))
			tell_process_row(view, &list[i], tell, ctx);
		tell_one_row(view, &list[i], tell, ctx);
	}
	sonde_view_index_unlock(view->index);
	free(list);
	return list ? 0 : -ENOMEM;
}

struct putting {
	const struct sonde_view *view;
	struct sonde_json json;
};

static const char *told_kind(const struct sonde_view_row *row)
{
	if (!row)
		return "process";
	return kinds[row->kind < SONDE_VIEW_ROW_WITHIN ? row->kind :
							 SONDE_VIEW_ROW_WITHIN];
}

/* What its values are of, from what to what they go, and between what they are
 * drawn. */
static void put_counter(struct sonde_json *json,
			const struct sonde_view_row *row)
{
	double high;
	double low;

	sonde_view_value_scale(row, &low, &high);
	sonde_json_put_text(json, "unit", row->unit);
	sonde_json_put_double(json, "min", row->least);
	sonde_json_put_double(json, "max", row->most);
	sonde_json_put_double(json, "low", low);
	sonde_json_put_double(json, "high", high);
}

static void put_told_row(void *ctx, const struct sonde_view_told_row *told)
{
	struct putting *putting = ctx;
	const struct sonde_view *view = putting->view;
	struct sonde_json *json = &putting->json;

	sonde_json_open(json, NULL, '{');
	sonde_json_put_unsigned(json, "id", told->id);
	sonde_json_put_text(json, "kind", told_kind(told->row));
	if (told->parent < 0)
		sonde_json_put_raw(json, "parent", "null");
	else
		sonde_json_put_signed(json, "parent", told->parent);
	sonde_json_put_text(json, "name", told->name);
	sonde_json_put_signed(json, "pid", told->pid);
	sonde_json_put_signed(json, "tid", told->tid);
	sonde_json_put_double(json, "busy",
			      (double)told->busy /
				      (double)(view->end_ns - view->begin_ns));
	if (told->row && told->row->kind == SONDE_VIEW_ROW_COUNTER)
		put_counter(json, told->row);
	sonde_json_close(json, '}');
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
	struct putting putting = { .view = view, .json = sonde_view_json(to) };
	int err;

	(void)error;
	sonde_json_open(&putting.json, NULL, '[');
	err = sonde_view_each_row(view,
				  sonde_view_request_text(request, "filter"),
				  put_told_row, &putting);
	sonde_json_close(&putting.json, ']');
	return err;
}

/* ---- pixels ---- */

/* A picture that is drawn by one thread or two: each takes the next part, until there
 * are none. */
struct painting {
	const struct sonde_view *view;
	struct sonde_view_picture picture;
	uint32_t nr_runs[SONDE_VIEW_ROWS_MAX];
	atomic_size_t next;
};

_Static_assert(sizeof(struct sonde_view_run) == 8, "as the answer has it");

static void *paint_parts(void *memory)
{
	struct painting *painting = memory;
	const struct sonde_view_picture *picture = &painting->picture;
	size_t nr = sonde_view_picture_parts(picture);
	size_t part;

	while ((part = atomic_fetch_add(&painting->next, 1)) < nr)
		sonde_view_paint_part(painting->view->index, picture, part);
	return NULL;
}

static void put_frame_row(const struct sonde_view_picture *picture, size_t i,
			  FILE *to)
{
	struct sonde_view_run *runs = picture->runs + i * picture->pixels;
	uint32_t nr = picture->nr_runs[i];
	uint32_t head[2] = { htole32(picture->ids[i]), htole32(nr) };

	(void)fwrite(head, sizeof(head), 1, to);
	for (uint32_t run = 0; run < nr; run++) {
		runs[run].x = htole16(runs[run].x);
		runs[run].width = htole16(runs[run].width);
		runs[run].name = htole16(runs[run].name);
	}
	(void)fwrite(runs, sizeof(*runs), nr, to);
}

/* Less than this, of all rows, isn't worth a second thread. */
#define PIXELS_FOR_TWO 20000

/* By two threads, for a picture of everything is searched for all over the index:
 * that is waiting for memory, which two can do at a time. */
static int paint_frame(struct painting *painting, FILE *to)
{
	struct sonde_view_picture *picture = &painting->picture;
	size_t pixels = picture->nr * picture->pixels;
	bool alone = pixels < PIXELS_FOR_TWO;
	pthread_t thread;

	picture->nr_runs = painting->nr_runs;
	picture->runs = calloc(pixels + 1, sizeof(*picture->runs));
	if (!picture->runs)
		return -ENOMEM;
	if (!alone)
		alone = pthread_create(&thread, NULL, paint_parts, painting) !=
			0;
	(void)paint_parts(painting);
	if (!alone)
		(void)pthread_join(thread, NULL);
	for (size_t i = 0; i < picture->nr; i++)
		put_frame_row(picture, i, to);
	free(picture->runs);
	return 0;
}

int sonde_view_answer_frame(struct sonde_view *view,
			    const struct sonde_view_request *request, FILE *to,
			    struct sonde_view_error *error)
{
	uint32_t ids[SONDE_VIEW_ROWS_MAX];
	struct sonde_view_span span;
	struct painting painting = {
		.view = view,
		.picture = { .ids = ids, .span = &span },
	};
	int nr;
	int err = sonde_view_request_span(view, request, &span, error);

	if (!err)
		err = sonde_view_request_pixels(
			request, &painting.picture.pixels, error);
	if (err)
		return err;
	nr = sonde_view_request_list(request, "rows", SONDE_VIEW_ROWS_MAX, ids);
	if (nr == -EINVAL)
		return sonde_view_fail(error, nr, "rows: up to %d ids",
				       SONDE_VIEW_ROWS_MAX);
	painting.picture.nr = nr > 0 ? (size_t)nr : 0;
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

static void put_piece_value(struct sonde_json *json,
			    const struct sonde_view_row *row,
			    const struct sonde_view_piece *piece)
{
	sonde_json_put_double(json, "value", piece->value);
	if (*row->unit)
		sonde_json_put_text(json, "unit", row->unit);
}

void sonde_view_put_detail(struct sonde_json *json,
			   const struct sonde_view *view,
			   const struct sonde_view_row *row,
			   const struct sonde_view_piece *piece)
{
	char text[24];

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
	else if (piece->state == SONDE_VIEW_VALUE)
		put_piece_value(json, row, piece);
	else if (piece->state == SONDE_VIEW_IRQ ||
		 piece->state == SONDE_VIEW_SOFTIRQ)
		sonde_json_put_text(json, "number", text);
}

const char *sonde_view_why(const struct sonde_view *view,
			   const struct sonde_view_row *row,
			   const struct sonde_view_piece *piece)
{
	if (row->kind == SONDE_VIEW_ROW_LOCK)
		return piece->state ? NULL : "nobody is known to have it then";
	return sonde_view_is_blocked(piece) ?
		       sonde_view_index_cause(view->index, piece->about) :
		       NULL;
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
	else
		why = sonde_view_why(view, &rows->rows[id], &piece);
	sonde_json_open(&json, NULL, '{');
	sonde_json_put_unsigned(&json, "row", id);
	sonde_json_put_signed(&json, "from", piece.begin);
	sonde_json_put_signed(&json, "to", piece.end);
	sonde_json_put_unsigned(&json, "state", piece.state);
	sonde_json_open(&json, "detail", '{');
	sonde_view_put_detail(&json, view, &rows->rows[id], &piece);
	sonde_json_close(&json, '}');
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
	const struct sonde_view_span *span;
	sonde_view_tell_arrow *tell;
	void *ctx;
	int nr, steps;
	bool more;
};

static void tell_arrow(struct arrows *arrows, uint32_t row,
		       const struct sonde_view_piece *piece)
{
	int64_t waker =
		sonde_view_index_row(arrows->view->index, SONDE_VIEW_ROW_THREAD,
				     (int32_t)piece->about);
	const struct sonde_view_arrow arrow = { piece->begin, (uint32_t)waker,
						row };

	if (waker < 0)
		return;
	if (arrows->nr == SONDE_VIEW_ARROWS) {
		arrows->more = true;
		return;
	}
	arrows->nr++;
	arrows->tell(arrows->ctx, &arrow);
}

static void tell_row_arrows(struct arrows *arrows,
			    const struct sonde_view_rows *rows, uint32_t row)
{
	const struct sonde_view_span *span = arrows->span;
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
			tell_arrow(arrows, row, &piece);
		if (++arrows->steps > ARROWS_STEPS)
			arrows->more = true;
		at = piece.end;
	}
}

bool sonde_view_each_arrow(const struct sonde_view *view, const uint32_t *rows,
			   size_t nr, const struct sonde_view_span *span,
			   sonde_view_tell_arrow *tell, void *ctx)
{
	struct arrows arrows = {
		.view = view, .span = span, .tell = tell, .ctx = ctx
	};
	const struct sonde_view_rows *all = sonde_view_index_lock(view->index);

	for (size_t i = 0; i < (rows ? nr : all->nr); i++) {
		uint32_t row = rows ? rows[i] : (uint32_t)i;

		if (row < all->nr &&
		    all->rows[row].kind == SONDE_VIEW_ROW_THREAD)
			tell_row_arrows(&arrows, all, row);
	}
	sonde_view_index_unlock(view->index);
	return arrows.more;
}

static void put_arrow(void *ctx, const struct sonde_view_arrow *arrow)
{
	struct sonde_json *json = ctx;

	sonde_json_open(json, NULL, '{');
	sonde_json_put_signed(json, "t", arrow->time);
	sonde_json_put_unsigned(json, "from_row", arrow->from_row);
	sonde_json_put_unsigned(json, "to_row", arrow->to_row);
	sonde_json_close(json, '}');
}

int sonde_view_answer_arrows(struct sonde_view *view,
			     const struct sonde_view_request *request, FILE *to,
			     struct sonde_view_error *error)
{
	struct sonde_json json = sonde_view_json(to);
	uint32_t ids[SONDE_VIEW_ROWS_MAX];
	struct sonde_view_span span;
	int err = sonde_view_request_span(view, request, &span, error);
	int nr = sonde_view_request_list(request, "rows", SONDE_VIEW_ROWS_MAX,
					 ids);

	if (err)
		return err;
	if (nr == -EINVAL)
		return sonde_view_fail(error, nr, "rows: up to %d ids",
				       SONDE_VIEW_ROWS_MAX);
	sonde_json_open(&json, NULL, '[');
	if (sonde_view_each_arrow(view, ids, nr > 0 ? (size_t)nr : 0, &span,
				  put_arrow, &json)) {
		sonde_json_open(&json, NULL, '{');
		sonde_json_put_bool(&json, "more", true);
		sonde_json_close(&json, '}');
	}
	sonde_json_close(&json, ']');
	return 0;
}
