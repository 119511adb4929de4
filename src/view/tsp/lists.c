/* SPDX-License-Identifier: MIT */
/*
 * lists.c - what all outputs have in common: times, headers of trees, styles
 * (outputs.h).
 */
#include <string.h>

#include "view/tsp/outputs.h"

struct sonde_view_span
sonde_view_tsp_span(const struct sonde_view *view,
		    const struct sonde_view_tsp_query *query)
{
	if (!query->nr_times)
		return (struct sonde_view_span){ 0, view->end_ns -
							    view->begin_ns };
	return (struct sonde_view_span){ query->first_ns - view->begin_ns,
					 query->last_ns - view->begin_ns + 1 };
}

bool sonde_view_tsp_running(const struct sonde_view *view,
			    struct sonde_view_tsp_reply *reply)
{
	struct sonde_view_progress progress;

	sonde_view_index_progress(view->index, &progress);
	reply->running = !progress.ready;
	if (!progress.ready)
		(void)snprintf(reply->message, sizeof(reply->message),
			       "%.0f %% of the trace has been read",
			       progress.done * 100);
	else
		(void)snprintf(reply->message, sizeof(reply->message), "%s",
			       progress.error[0] ? progress.error :
						   progress.why);
	return reply->running;
}

void sonde_view_tsp_put_time(const struct sonde_view *view,
			     struct sonde_json *json, const char *name,
			     int64_t time)
{
	sonde_json_put_signed(json, name, view->begin_ns + time);
}

void sonde_view_tsp_put_headers(struct sonde_json *json,
				const struct sonde_view_tsp_header *headers,
				size_t nr)
{
	sonde_json_open(json, "headers", '[');
	for (size_t i = 0; i < nr; i++) {
		sonde_json_open(json, NULL, '{');
		sonde_json_put_text(json, "name", headers[i].name);
		sonde_json_put_text(json, "tooltip", headers[i].tooltip);
		sonde_json_put_text(json, "dataType", headers[i].type);
		sonde_json_close(json, '}');
	}
	sonde_json_close(json, ']');
}

void sonde_view_tsp_put_axis(struct sonde_json *json, const char *name,
			     const char *label, const char *unit,
			     const char *type)
{
	sonde_json_open(json, name, '{');
	sonde_json_put_text(json, "label", label);
	sonde_json_put_text(json, "unit", unit);
	sonde_json_put_text(json, "dataType", type);
	sonde_json_close(json, '}');
}

/* ---- styles ---- */

/* As the page draws them: what runs fills the row. In few digits, for clients that read
 * long numbers as whole ones (json-bigint) refuse 0.67000000000000004. */
static const char *style_height(uint8_t state)
{
	switch (state) {
	case SONDE_VIEW_READY:
	case SONDE_VIEW_PREEMPTED:
		return "0.67";
	case SONDE_VIEW_HELD:
		return "0.5";
	case SONDE_VIEW_BLOCKED:
	case SONDE_VIEW_BLOCKED_LOCK:
	case SONDE_VIEW_BLOCKED_FILE:
		return "0.33";
	case SONDE_VIEW_IDLE:
		return "0.1";
	default:
		return "1";
	}
}

/* The front ends are dark unless a user says otherwise, which isn't told. */
static void put_one_style(struct sonde_json *json, const char *key,
			  const char *colour, const char *height)
{
	sonde_json_open(json, key, '{');
	sonde_json_open(json, "values", '{');
	sonde_json_put_text(json, "style-name", key);
	sonde_json_put_text(json, "background-color", colour);
	sonde_json_put_text(json, "color", colour);
	sonde_json_put_raw(json, "opacity", "1");
	sonde_json_put_raw(json, "height", height);
	sonde_json_close(json, '}');
	sonde_json_close(json, '}');
}

int sonde_view_tsp_styles(struct sonde_view *view,
			  const struct sonde_view_tsp_query *query,
			  struct sonde_view_tsp_reply *reply,
			  struct sonde_view_error *error)
{
	struct sonde_json *json = &reply->json;
	const struct sonde_view_state *lost = sonde_view_state(SONDE_VIEW_LOST);

	(void)view;
	(void)query;
	(void)error;
	sonde_json_open(json, "model", '{');
	sonde_json_open(json, "styles", '{');
	for (uint8_t i = 0; i < (uint8_t)SONDE_VIEW_STATES; i++)
		put_one_style(json, sonde_view_state(i)->name,
			      sonde_view_state(i)->dark, style_height(i));
	put_one_style(json, lost->name, lost->dark, "1");
	put_one_style(json, "waking", "#000000", "1");
	sonde_json_close(json, '}');
	sonde_json_close(json, '}');
	return 0;
}

void sonde_view_tsp_put_style_of(struct sonde_json *json, const char *key)
{
	sonde_json_open(json, "style", '{');
	sonde_json_put_text(json, "parentKey", key);
	sonde_json_open(json, "values", '{');
	sonde_json_close(json, '}');
	sonde_json_close(json, '}');
}

void sonde_view_tsp_put_style(struct sonde_json *json, uint8_t state)
{
	sonde_view_tsp_put_style_of(json, sonde_view_state(state)->name);
}

/* ---- sets of markers: there are none ---- */

int sonde_view_tsp_nothing(struct sonde_view *view,
			   const struct sonde_view_tsp_query *query,
			   struct sonde_view_tsp_reply *reply,
			   struct sonde_view_error *error)
{
	(void)view;
	(void)query;
	(void)error;
	sonde_json_open(&reply->json, "model", '[');
	sonde_json_close(&reply->json, ']');
	return 0;
}
