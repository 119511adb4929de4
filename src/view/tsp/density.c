/* SPDX-License-Identifier: MIT */
/*
 * density.c - events over time: a series whose value at each time is how many events
 * there are from then until the next; behind the last, until the span's end.
 */
#include <errno.h>
#include <string.h>

#include "base/port.h"
#include "view/http/parts.h"
#include "view/tsp/outputs.h"

#define SERIES 0u

static void put_density_entry(struct sonde_json *json)
{
	sonde_json_open(json, NULL, '{');
	sonde_json_put_unsigned(json, "id", SERIES);
	sonde_json_put_signed(json, "parentId", -1);
	sonde_json_open(json, "labels", '[');
	sonde_json_put_text(json, NULL, "Events");
	sonde_json_close(json, ']');
	sonde_json_put_bool(json, "hasData", true);
	sonde_json_put_bool(json, "isDefault", true);
	sonde_view_tsp_put_style(json, SONDE_VIEW_SPAN);
	sonde_json_close(json, '}');
}

int sonde_view_tsp_density_tree(struct sonde_view *view,
				const struct sonde_view_tsp_query *query,
				struct sonde_view_tsp_reply *reply,
				struct sonde_view_error *error)
{
	static const struct sonde_view_tsp_header header = { "Series", "",
							     "STRING" };

	(void)query;
	(void)error;
	(void)sonde_view_tsp_running(view, reply);
	sonde_json_open(&reply->json, "model", '{');
	sonde_view_tsp_put_headers(&reply->json, &header, 1);
	sonde_json_open(&reply->json, "entries", '[');
	put_density_entry(&reply->json);
	sonde_json_close(&reply->json, ']');
	sonde_json_close(&reply->json, '}');
	return 0;
}

/* The first time whose events are the value's: a pixel's begin is rounded down. */
static int64_t begin_of_value(const struct sonde_view_histogram *drawn,
			      uint32_t i)
{
	int64_t begin = sonde_view_pixel(&drawn->span, i, drawn->pixels);

	return begin + (sonde_view_pixel_of(&drawn->span, begin,
					    drawn->pixels) < (int64_t)i);
}

static void put_series(const struct sonde_view *view,
		       const struct sonde_view_histogram *drawn,
		       struct sonde_json *json)
{
	sonde_json_open(json, NULL, '{');
	sonde_json_put_unsigned(json, "seriesId", SERIES);
	sonde_json_put_text(json, "seriesName", "Events");
	sonde_view_tsp_put_axis(json, "xValuesDescription", "Time", "ns",
				"TIMESTAMP");
	sonde_view_tsp_put_axis(json, "yValuesDescription", "Events", "",
				"NUMBER");
	sonde_json_open(json, "xValues", '[');
	for (uint32_t i = 0; i < drawn->pixels; i++)
		sonde_view_tsp_put_time(view, json, NULL,
					begin_of_value(drawn, i));
	sonde_json_close(json, ']');
	sonde_json_open(json, "yValues", '[');
	for (uint32_t i = 0; i < drawn->pixels; i++)
		sonde_json_put_unsigned(json, NULL, drawn->counts[i]);
	sonde_json_close(json, ']');
	sonde_view_tsp_put_style(json, SONDE_VIEW_SPAN);
	sonde_json_close(json, '}');
}

static bool is_series_wanted(const struct sonde_view_tsp_query *query)
{
	for (size_t i = 0; i < query->nr_items; i++)
		if (query->items[i] == SERIES)
			return true;
	return !query->items;
}

/* Lost events aren't in the series; that there were some is said. */
static void say_some_lost(const struct sonde_view_histogram *drawn,
			  struct sonde_view_tsp_reply *reply)
{
	for (uint32_t i = 0; i < drawn->pixels; i++)
		if (drawn->lost[i]) {
			(void)snprintf(reply->message, sizeof(reply->message),
				       "events were lost: see the annotations");
			return;
		}
}

int sonde_view_tsp_density(struct sonde_view *view,
			   const struct sonde_view_tsp_query *query,
			   struct sonde_view_tsp_reply *reply,
			   struct sonde_view_error *error)
{
	struct sonde_view_histogram drawn = {
		.span = sonde_view_tsp_span(view, query),
		.pixels = query->nr_times ? query->nr_times : 1,
	};
	int err = sonde_view_histogram_draw(view, &drawn);

	if (err) {
		(void)sonde_view_fail(error, err, "%s", strerrordesc_np(-err));
		sonde_view_histogram_fini(&drawn);
		return err;
	}
	if (!sonde_view_tsp_running(view, reply))
		say_some_lost(&drawn, reply);
	sonde_json_open(&reply->json, "model", '{');
	sonde_json_put_text(&reply->json, "title", "Events over time");
	sonde_json_open(&reply->json, "series", '[');
	/* Bytes of packets aren't events: it is asked again. */
	if (!drawn.bytes && is_series_wanted(query))
		put_series(view, &drawn, &reply->json);
	sonde_json_close(&reply->json, ']');
	sonde_json_close(&reply->json, '}');
	sonde_view_histogram_fini(&drawn);
	return 0;
}
