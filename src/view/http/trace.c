/* SPDX-License-Identifier: MIT */
/*
 * trace.c - what a page asks first: which trace it is, how far the index is, and
 * how its events lie in time.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "view/http/parts.h"
#include "view/http/shown.h"

/* ---- the trace ---- */

static uint64_t count_lost(struct sonde_trace *trace)
{
	struct sonde_problem problem;
	uint64_t lost = 0;

	for (size_t i = 0; !sonde_trace_problem(trace, i, &problem); i++)
		if (problem.kind == SONDE_PROBLEM_LOST_EVENTS)
			lost += problem.count;
	return lost;
}

static void put_state(struct sonde_json *json, uint8_t id)
{
	const struct sonde_view_state *state = sonde_view_state(id);

	sonde_json_open(json, NULL, '{');
	sonde_json_put_unsigned(json, "id", id);
	sonde_json_put_text(json, "name", state->name);
	sonde_json_put_text(json, "colour", state->colour);
	sonde_json_put_text(json, "dark", state->dark);
	sonde_json_close(json, '}');
}

static void put_states(struct sonde_json *json)
{
	sonde_json_open(json, "states", '[');
	for (uint8_t id = 0; id < (uint8_t)SONDE_VIEW_STATES; id++)
		put_state(json, id);
	put_state(json, SONDE_VIEW_LOST);
	sonde_json_close(json, ']');
}

static void put_classes(struct sonde_json *json,
			const struct sonde_trace *trace)
{
	sonde_json_open(json, "classes", '[');
	for (size_t i = 0; i < sonde_trace_nr_event_classes(trace); i++) {
		struct sonde_event_class_info info;

		sonde_event_class_get_info(sonde_trace_event_class(trace, i),
					   &info);
		if (info.internal)
			continue;
		sonde_json_open(json, NULL, '{');
		sonde_json_put_unsigned(json, "id", i);
		sonde_json_put_text(json, "name", info.name);
		sonde_json_close(json, '}');
	}
	sonde_json_close(json, ']');
}

static void put_members(struct sonde_json *json,
			const struct sonde_event_class *cls,
			enum sonde_scope scope)
{
	const struct sonde_class *of = sonde_event_class_scope(cls, scope);

	for (size_t i = 0; of && i < sonde_class_nr_members(of); i++) {
		const char *name = NULL;

		(void)sonde_class_member(of, i, &name);
		if (name)
			sonde_json_put_text(json, NULL, name);
	}
}

/* What filters may name: of each kind of event its fields, those of contexts too. */
int sonde_view_answer_fields(struct sonde_view *view,
			     const struct sonde_view_request *request, FILE *to,
			     struct sonde_view_error *error)
{
	struct sonde_json json = sonde_view_json(to);

	(void)request;
	(void)error;
	sonde_json_open(&json, NULL, '[');
	for (size_t i = 0; i < sonde_trace_nr_event_classes(view->trace); i++) {
		const struct sonde_event_class *cls =
			sonde_trace_event_class(view->trace, i);
		struct sonde_event_class_info info;

		sonde_event_class_get_info(cls, &info);
		if (info.internal)
			continue;
		sonde_json_open(&json, NULL, '{');
		sonde_json_put_text(&json, "name", info.name);
		sonde_json_open(&json, "fields", '[');
		put_members(&json, cls, SONDE_SCOPE_PAYLOAD);
		put_members(&json, cls, SONDE_SCOPE_EVENT_CONTEXT);
		put_members(&json, cls, SONDE_SCOPE_COMMON_CONTEXT);
		sonde_json_close(&json, ']');
		sonde_json_close(&json, '}');
	}
	sonde_json_close(&json, ']');
	return 0;
}

static void put_progress(struct sonde_json *json,
			 const struct sonde_view_progress *progress)
{
	sonde_json_open(json, "index", '{');
	sonde_json_put_double(json, "done", progress->done);
	sonde_json_put_bool(json, "ready", progress->ready);
	sonde_json_put_bool(json, "from_cache", progress->from_cache);
	sonde_json_put_text(json, "error",
			    progress->error[0] ? progress->error : NULL);
	sonde_json_close(json, '}');
}

int sonde_view_answer_trace(struct sonde_view *view,
			    const struct sonde_view_request *request, FILE *to,
			    struct sonde_view_error *error)
{
	struct sonde_json json = sonde_view_json(to);
	struct sonde_view_progress progress;
	const char *base = strrchr(view->path, '/');
	char trouble[600];
	char origin[24];

	(void)request;
	(void)error;
	sonde_view_index_progress(view->index, &progress);
	(void)snprintf(origin, sizeof(origin), "%" PRId64, view->begin_ns);
	sonde_json_open(&json, NULL, '{');
	sonde_json_put_text(&json, "name",
			    base && base[1] ? base + 1 : view->path);
	sonde_json_put_text(&json, "path", view->path);
	sonde_json_put_text(&json, "origin", origin);
	sonde_json_put_unsigned(&json, "begin", 0);
	sonde_json_put_signed(&json, "end", view->end_ns - view->begin_ns);
	if (progress.counted)
		sonde_json_put_unsigned(&json, "events", progress.events);
	else
		sonde_json_put_raw(&json, "events", "null");
	sonde_json_put_unsigned(&json, "lost", count_lost(view->trace));
	put_progress(&json, &progress);
	sonde_json_put_text(&json, "why",
			    progress.why[0] ? progress.why : NULL);
	/* which may be compared */
	sonde_json_open(&json, "traces", '[');
	for (size_t i = 0; i < view->nr_paths; i++)
		sonde_json_put_text(&json, NULL, view->paths[i]);
	sonde_json_close(&json, ']');
	put_states(&json);
	put_classes(&json, view->trace);
	sonde_json_put_text(&json, "flame",
			    sonde_view_usual_flame(view->trace));
	sonde_json_put_bool(&json, "live", atomic_load(view->live));
	sonde_view_shown_trouble(view->shown, trouble, sizeof(trouble));
	sonde_json_put_text(&json, "trouble", trouble[0] ? trouble : NULL);
	sonde_json_put_unsigned(&json, "number", view->number);
	sonde_json_close(&json, '}');
	return 0;
}

/* ---- the histogram ---- */

static void mark_lost(const struct sonde_view *view,
		      struct sonde_view_histogram *drawing)
{
	struct sonde_view_hole hole;

	for (size_t i = 0; sonde_view_index_hole(view->index, i, &hole); i++) {
		uint32_t first;
		uint32_t last;

		if (sonde_view_hole_pixels(&hole, &drawing->span,
					   drawing->pixels, &first, &last))
			memset(drawing->lost + first, true, last - first + 1);
	}
}

/* The bytes of a packet over its time, while events haven't been counted. */
static void spread(const struct sonde_view *view,
		   struct sonde_view_histogram *drawing,
		   const struct sonde_packet_info *packet)
{
	int64_t first;
	int64_t last;

	if (packet->begin == SONDE_TIME_MIN || packet->end == SONDE_TIME_MAX)
		return;
	first = sonde_view_pixel_of(&drawing->span,
				    packet->begin - view->begin_ns,
				    drawing->pixels);
	last = sonde_view_pixel_of(&drawing->span, packet->end - view->begin_ns,
				   drawing->pixels);
	if (packet->end - view->begin_ns < drawing->span.from)
		return;
	for (int64_t i = first < 0 ? 0 : first;
	     i <= last && i < drawing->pixels; i++)
		drawing->counts[i] +=
			packet->content_bits / 8 / (uint64_t)(last - first + 1);
}

static void draw_packets(const struct sonde_view *view,
			 struct sonde_view_histogram *drawing)
{
	drawing->bytes = true;
	for (size_t i = 0; i < sonde_trace_nr_streams(view->trace); i++) {
		const struct sonde_stream *stream =
			sonde_trace_stream(view->trace, i);
		struct sonde_packet_info packet;

		for (size_t p = 0; !sonde_stream_packet(stream, p, &packet);
		     p++)
			spread(view, drawing, &packet);
	}
}

/* Event by event: for spans of few. */
static int draw_events(struct sonde_view *view,
		       struct sonde_view_histogram *drawing)
{
	struct sonde_cursor_options options;
	const struct sonde_event *event;
	struct sonde_cursor *cursor;
	int err;

	sonde_cursor_options_init(&options);
	options.from_ns = view->begin_ns + drawing->span.from;
	options.to_ns = view->begin_ns + drawing->span.to - 1;
	options.unmerged = true;
	err = sonde_cursor_new(view->trace, &options, &cursor);
	if (err)
		return err;
	while ((err = sonde_cursor_next(cursor, &event)) > 0)
		if (event->time_ns != SONDE_TIME_MIN)
			drawing->counts[sonde_view_pixel_of(
				&drawing->span, event->time_ns - view->begin_ns,
				drawing->pixels)]++;
	sonde_cursor_free(cursor);
	drawing->exact = !err;
	return err;
}

/* Each pixel as the cells say; a cell larger than a pixel is spread evenly. */
static void draw_cells(const struct sonde_view *view,
		       struct sonde_view_histogram *drawing)
{
	const struct sonde_view_span *span = &drawing->span;
	uint64_t before = sonde_view_index_count(view->index, span->from);

	for (uint32_t i = 0; i < drawing->pixels; i++) {
		int64_t end = sonde_view_pixel(span, i + 1, drawing->pixels);
		uint64_t next = sonde_view_index_count(view->index, end);

		drawing->counts[i] = next - before;
		before = next;
	}
}

/* Reading so many events takes some milliseconds. */
#define FEW_EVENTS 100000

static int draw_counts(struct sonde_view *view,
		       struct sonde_view_histogram *drawing)
{
	struct sonde_view_progress progress;

	sonde_view_index_progress(view->index, &progress);
	mark_lost(view, drawing);
	if (!progress.counted) {
		draw_packets(view, drawing);
		return 0;
	}
	if (sonde_view_index_count(view->index, drawing->span.to) -
		    sonde_view_index_count(view->index, drawing->span.from) <
	    FEW_EVENTS)
		return draw_events(view, drawing);
	draw_cells(view, drawing);
	return 0;
}

int sonde_view_histogram_draw(struct sonde_view *view,
			      struct sonde_view_histogram *histogram)
{
	histogram->counts =
		calloc(histogram->pixels, sizeof(*histogram->counts));
	histogram->lost = calloc(histogram->pixels, sizeof(*histogram->lost));
	return histogram->counts && histogram->lost ?
		       draw_counts(view, histogram) :
		       -ENOMEM;
}

void sonde_view_histogram_fini(struct sonde_view_histogram *histogram)
{
	free(histogram->counts);
	free(histogram->lost);
}

static void put_drawing(const struct sonde_view_histogram *drawing, FILE *to)
{
	struct sonde_json json = sonde_view_json(to);

	sonde_json_open(&json, NULL, '{');
	sonde_json_put_signed(&json, "from", drawing->span.from);
	sonde_json_put_signed(&json, "to", drawing->span.to);
	sonde_json_put_text(&json, "unit", drawing->bytes ? "bytes" : "events");
	sonde_json_put_bool(&json, "exact", drawing->exact);
	sonde_json_open(&json, "counts", '[');
	for (uint32_t i = 0; i < drawing->pixels; i++)
		sonde_json_put_unsigned(&json, NULL, drawing->counts[i]);
	sonde_json_close(&json, ']');
	sonde_json_open(&json, "lost", '[');
	for (uint32_t i = 0; i < drawing->pixels; i++)
		sonde_json_put_unsigned(&json, NULL, drawing->lost[i]);
	sonde_json_close(&json, ']');
	sonde_json_close(&json, '}');
}

int sonde_view_answer_histogram(struct sonde_view *view,
				const struct sonde_view_request *request,
				FILE *to, struct sonde_view_error *error)
{
	struct sonde_view_histogram drawing = { .exact = false };
	int err = sonde_view_request_span(view, request, &drawing.span, error);

	if (!err)
		err = sonde_view_request_pixels(request, &drawing.pixels,
						error);
	if (err)
		return err;
	err = sonde_view_histogram_draw(view, &drawing);
	if (!err)
		put_drawing(&drawing, to);
	else
		(void)sonde_view_fail(error, err, "%s", strerrordesc_np(-err));
	sonde_view_histogram_fini(&drawing);
	return err;
}
