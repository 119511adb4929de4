/* SPDX-License-Identifier: MIT */
/*
 * counters.c - counters over time: of each what it was at each time, and the least and
 * the most that it was from then until the next. Where that isn't known there is no
 * value, neither its time.
 *
 * A series' id is the row's, and which of the three it is above that.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/port.h"
#include "view/index/list.h"
#include "view/tsp/outputs.h"

#define ROW_BITS 16

_Static_assert(SONDE_VIEW_ROWS <= 1u << ROW_BITS, "a row's id");

static const char *const parts_of_counter[] = { "value", "least", "most" };

/* ---- the tree ---- */

static void put_counter_entry(const struct sonde_view_row *row, uint32_t id,
			      uint32_t part, struct sonde_json *json)
{
	sonde_json_open(json, NULL, '{');
	sonde_json_put_unsigned(json, "id", id | part << ROW_BITS);
	sonde_json_put_signed(json, "parentId", part ? (int64_t)id : -1);
	sonde_json_open(json, "labels", '[');
	sonde_json_put_text(json, NULL,
			    part ? parts_of_counter[part] : row->name);
	sonde_json_close(json, ']');
	sonde_json_put_bool(json, "hasData", true);
	sonde_json_put_bool(json, "isDefault", !part);
	sonde_view_tsp_put_style(json, SONDE_VIEW_VALUE);
	sonde_json_close(json, '}');
}

int sonde_view_tsp_counter_tree(struct sonde_view *view,
				const struct sonde_view_tsp_query *query,
				struct sonde_view_tsp_reply *reply,
				struct sonde_view_error *error)
{
	static const struct sonde_view_tsp_header header = { "Counter", "",
							     "STRING" };
	const struct sonde_view_rows *rows;

	(void)query;
	(void)error;
	(void)sonde_view_tsp_running(view, reply);
	sonde_json_open(&reply->json, "model", '{');
	sonde_view_tsp_put_headers(&reply->json, &header, 1);
	sonde_json_open(&reply->json, "entries", '[');
	rows = sonde_view_index_lock(view->index);
	for (uint32_t i = 0; i < rows->nr; i++)
		for (uint32_t part = 0;
		     rows->rows[i].kind == SONDE_VIEW_ROW_COUNTER &&
		     part < SONDE_ARRAY_SIZE(parts_of_counter);
		     part++)
			put_counter_entry(&rows->rows[i], i, part,
					  &reply->json);
	sonde_view_index_unlock(view->index);
	sonde_json_close(&reply->json, ']');
	sonde_json_close(&reply->json, '}');
	return 0;
}

/* ---- values ---- */

/* One series at work: what the pixels' reaches are, and their values. */
struct counter_series {
	const struct sonde_view *view;
	struct sonde_view_span span;
	uint32_t pixels;
	struct sonde_view_reach *reaches;
	double *at; /* the value at each pixel's begin; NaN: not known */
};

static void read_counter(struct counter_series *series,
			 const struct sonde_view_rows *rows, uint32_t id)
{
	const struct sonde_view_values values =
		sonde_view_rows_values(rows, id);
	struct sonde_view_edges edges =
		sonde_view_edges(&series->span, series->pixels);
	int64_t begin;
	int64_t end;

	sonde_view_values_paint(&values, &edges, series->pixels, 0,
				series->reaches);
	for (uint32_t i = 0; i < series->pixels; i++)
		(void)sonde_view_values_at(&values,
					   sonde_view_pixel(&series->span, i,
							    series->pixels),
					   &series->at[i], &begin, &end);
}

static double value_of_part(const struct counter_series *series, uint32_t i,
			    uint32_t part)
{
	const struct sonde_view_reach *reach = &series->reaches[i];

	if (!part)
		return series->at[i];
	return part == 1 ? reach->least : reach->most;
}

static bool has_part(const struct counter_series *series, uint32_t i,
		     uint32_t part)
{
	double value = value_of_part(series, i, part);

	return value - value == 0; /* it is finite */
}

static void put_counter_series(const struct counter_series *series,
			       const struct sonde_view_row *row, uint32_t item,
			       struct sonde_json *json)
{
	uint32_t part = item >> ROW_BITS;

	sonde_json_open(json, NULL, '{');
	sonde_json_put_unsigned(json, "seriesId", item);
	sonde_json_put_text(json, "seriesName", row->name);
	sonde_view_tsp_put_axis(json, "xValuesDescription", "Time", "ns",
				"TIMESTAMP");
	sonde_view_tsp_put_axis(json, "yValuesDescription",
				parts_of_counter[part], row->unit, "NUMBER");
	sonde_json_open(json, "xValues", '[');
	for (uint32_t i = 0; i < series->pixels; i++)
		if (has_part(series, i, part))
			sonde_view_tsp_put_time(
				series->view, json, NULL,
				sonde_view_pixel(&series->span, i,
						 series->pixels));
	sonde_json_close(json, ']');
	sonde_json_open(json, "yValues", '[');
	for (uint32_t i = 0; i < series->pixels; i++)
		if (has_part(series, i, part))
			sonde_json_put_double(json, NULL,
					      value_of_part(series, i, part));
	sonde_json_close(json, ']');
	sonde_view_tsp_put_style(json, SONDE_VIEW_VALUE);
	sonde_json_close(json, '}');
}

static void put_wanted(struct counter_series *series,
		       const struct sonde_view_tsp_query *query,
		       struct sonde_json *json)
{
	const struct sonde_view_rows *rows =
		sonde_view_index_lock(series->view->index);

	for (size_t i = 0; i < query->nr_items; i++) {
		uint32_t id = query->items[i] & ((1u << ROW_BITS) - 1);

		if (id >= rows->nr ||
		    rows->rows[id].kind != SONDE_VIEW_ROW_COUNTER ||
		    query->items[i] >> ROW_BITS >=
			    SONDE_ARRAY_SIZE(parts_of_counter))
			continue;
		read_counter(series, rows, id);
		put_counter_series(series, &rows->rows[id], query->items[i],
				   json);
	}
	sonde_view_index_unlock(series->view->index);
}

int sonde_view_tsp_counters(struct sonde_view *view,
			    const struct sonde_view_tsp_query *query,
			    struct sonde_view_tsp_reply *reply,
			    struct sonde_view_error *error)
{
	struct counter_series series = {
		.view = view,
		.span = sonde_view_tsp_span(view, query),
		.pixels = query->nr_times ? query->nr_times : 1,
	};
	bool able;

	series.reaches = calloc(series.pixels, sizeof(*series.reaches));
	series.at = calloc(series.pixels, sizeof(*series.at));
	able = series.reaches && series.at;
	if (able) {
		(void)sonde_view_tsp_running(view, reply);
		sonde_json_open(&reply->json, "model", '{');
		sonde_json_put_text(&reply->json, "title", "Counters");
		sonde_json_open(&reply->json, "series", '[');
		put_wanted(&series, query, &reply->json);
		sonde_json_close(&reply->json, ']');
		sonde_json_close(&reply->json, '}');
	}
	free(series.reaches);
	free(series.at);
	return able ? 0 :
		      sonde_view_fail(error, -ENOMEM, "no memory for values");
}
