/* SPDX-License-Identifier: MIT */
/*
 * latency.c - how long it took from some events to others in a selected span: what
 * `sonde report latency` says, for a drawing.
 */
#include <errno.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/reports/durations.h"
#include "base/json.h"
#include "base/port.h"
#include "view/export/pairs.h"
#include "view/http/parts.h"

/* ---- what can be asked for ---- */

static void put_pair(void *ctx, const struct sonde_pair_told *told)
{
	struct sonde_json *json = ctx;

	sonde_json_open(json, NULL, '{');
	sonde_json_put_text(json, "name", told->name);
	sonde_json_put_text(json, "begin", told->begin);
	sonde_json_put_text(json, "end", told->end);
	sonde_json_put_text(json, "key",
			    told->place == SONDE_PAIR_CPU ? "cpu" : "");
	sonde_json_close(json, '}');
}

int sonde_view_answer_pairs(struct sonde_view *view,
			    const struct sonde_view_request *request, FILE *to,
			    struct sonde_view_error *error)
{
	const struct sonde_pairs_config config = { .trace = view->trace };
	struct sonde_json json = sonde_view_json(to);
	struct sonde_export_names names;
	struct sonde_pairs pairs;
	int err = sonde_export_names_init(&names);

	(void)request;
	if (err)
		return sonde_view_fail(error, err, "%s", strerrordesc_np(-err));
	err = sonde_pairs_init(&pairs, &config, &names);
	if (!err) {
		sonde_json_open(&json, NULL, '[');
		sonde_pairs_each(&pairs, put_pair, &json);
		sonde_json_close(&json, ']');
	} else {
		(void)sonde_view_fail(error, err, "%s", strerrordesc_np(-err));
	}
	sonde_pairs_fini(&pairs);
	sonde_export_names_fini(&names);
	return err;
}

/* ---- the answer ---- */

static void put_quantiles(const struct sonde_histogram *durations,
			  struct sonde_json *json)
{
	static const struct {
		const char *name;
		double q;
	} quantiles[] = {
		{ "p50", 0.5 },
		{ "p90", 0.9 },
		{ "p99", 0.99 },
		{ "p99_9", 0.999 },
	};

	sonde_json_open(json, "quantiles", '{');
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(quantiles); i++)
		sonde_json_put_signed(json, quantiles[i].name,
				      sonde_histogram_quantile(durations,
							       quantiles[i].q));
	sonde_json_close(json, '}');
}

/* The bins of the report's drawing. */
static int put_bins(const struct sonde_histogram *durations,
		    struct sonde_json *json)
{
	struct sonde_report *report = sonde_report_new("bins");
	struct sonde_section section;
	int err;

	sonde_histogram_report(durations, report, "bins", "Bins",
			       SONDE_CELL_DURATION);
	err = sonde_report_error(report);
	sonde_json_open(json, "bins", '[');
	for (size_t i = 0; !err && sonde_report_section(report, 0, &section) &&
			   i < section.nr_bins;
	     i++) {
		sonde_json_open(json, NULL, '{');
		sonde_json_put_signed(json, "from", section.bounds[i]);
		sonde_json_put_signed(json, "to", section.bounds[i + 1]);
		sonde_json_put_unsigned(json, "count", section.counts[i]);
		sonde_json_close(json, '}');
	}
	sonde_json_close(json, ']');
	sonde_report_free(report);
	return err;
}

static void put_worst(const struct sonde_view *view,
		      const struct sonde_longest *worst,
		      struct sonde_json *json)
{
	sonde_json_open(json, "worst", '[');
	for (size_t i = 0; i < worst->nr; i++) {
		const struct sonde_longest_span *span = &worst->spans[i];
		int64_t row;

		(void)sonde_view_index_lock(view->index);
		row = sonde_view_index_row(view->index, SONDE_VIEW_ROW_THREAD,
					   span->tid);
		sonde_view_index_unlock(view->index);
		sonde_json_open(json, NULL, '{');
		sonde_json_put_signed(json, "t",
				      span->begin_ns - view->begin_ns);
		sonde_json_put_signed(json, "duration",
				      span->end_ns - span->begin_ns);
		sonde_json_put_signed(json, "tid", span->tid);
		sonde_json_put_text(json, "key", span->name);
		if (row < 0)
			sonde_json_put_raw(json, "row", "null");
		else
			sonde_json_put_signed(json, "row", row);
		sonde_json_close(json, '}');
	}
	sonde_json_close(json, ']');
}

/* The rows that have a count: from *ret_first to before the result. */
static uint32_t used_rows(const struct sonde_scatter *scatter,
			  uint32_t *ret_first)
{
	size_t nr = scatter->counts ? (size_t)scatter->config->nr_columns *
					      SONDE_SCATTER_ROWS :
				      0;
	uint32_t first = SONDE_SCATTER_ROWS;
	uint32_t end = 0;

	for (size_t i = 0; i < nr; i++) {
		uint32_t row = (uint32_t)(i % SONDE_SCATTER_ROWS);

		if (!scatter->counts[i])
			continue;
		first = row < first ? row : first;
		end = row >= end ? row + 1 : end;
	}
	*ret_first = first;
	return end;
}

/* Cells as column, row, count, one behind the other; rows from the lowest that has
 * any on, and where each begins. */
static void put_scatter(const struct sonde_view *view,
			const struct sonde_scatter *scatter,
			struct sonde_json *json)
{
	const struct sonde_scatter_config *config = scatter->config;
	const uint32_t *count = scatter->counts;
	uint32_t first;
	uint32_t end = used_rows(scatter, &first);

	sonde_json_open(json, "scatter", '{');
	sonde_json_put_signed(json, "from", config->from_ns - view->begin_ns);
	sonde_json_put_signed(json, "to", config->to_ns - view->begin_ns);
	sonde_json_put_unsigned(json, "columns", config->nr_columns);
	sonde_json_put_unsigned(json, "boxed", scatter->nr_boxed);
	sonde_json_open(json, "lower", '[');
	for (uint32_t row = first; row < end + (end > 0); row++)
		sonde_json_put_signed(json, NULL, sonde_scatter_lower(row));
	sonde_json_close(json, ']');
	sonde_json_open(json, "cells", '[');
	for (uint32_t x = 0; count && x < config->nr_columns; x++)
		for (uint32_t row = 0; row < SONDE_SCATTER_ROWS; row++) {
			uint32_t n = *count++;

			if (!n)
				continue;
			sonde_json_put_unsigned(json, NULL, x);
			sonde_json_put_unsigned(json, NULL, row - first);
			sonde_json_put_unsigned(json, NULL, n);
		}
	sonde_json_close(json, ']');
	sonde_json_close(json, '}');
}

static int put_latency(const struct sonde_view *view,
		       const struct sonde_join *join, FILE *to)
{
	const struct sonde_scatter *scatter = &join->scatter;
	const struct sonde_histogram *durations = &join->durations;
	struct sonde_json json = sonde_view_json(to);
	int err;

	sonde_json_open(&json, NULL, '{');
	sonde_json_put_unsigned(&json, "count", durations->count);
	sonde_json_put_unsigned(&json, "unended", join->unended);
	sonde_json_put_unsigned(&json, "unbegun", join->unbegun);
	if (durations->count) {
		sonde_json_put_signed(&json, "min", durations->min);
		sonde_json_put_signed(&json, "max", durations->max);
		sonde_json_put_double(&json, "mean",
				      sonde_histogram_mean(durations));
		put_quantiles(durations, &json);
	}
	err = put_bins(durations, &json);
	if (scatter->config)
		put_scatter(view, scatter, &json);
	put_worst(view, scatter->config ? &scatter->worst : &join->worst,
		  &json);
	sonde_json_close(&json, '}');
	return err;
}

/* "columns": of the scatter that is wanted; 0, none. "box_from", "box_to", "least",
 * "most": the longest are those of that box. */
static int request_scatter(const struct sonde_view *view,
			   const struct sonde_view_request *request,
			   struct sonde_scatter_config *config,
			   struct sonde_view_error *error)
{
	struct sonde_view_span span;
	int64_t columns = 0;
	int64_t box[2] = { INT64_MIN / 4, INT64_MAX / 4 };
	int64_t length[2] = { INT64_MIN, INT64_MAX };
	static const char *const names[] = { "box_from", "box_to", "least",
					     "most" };
	int err = sonde_view_request_span(view, request, &span, error);

	if (err)
		return err;
	if (sonde_view_request_number(request, "columns", 0,
				      SONDE_SCATTER_COLUMNS,
				      &columns) == -EINVAL)
		return sonde_view_fail(error, -EINVAL, "columns: 0 to %u",
				       SONDE_SCATTER_COLUMNS);
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(names); i++)
		if (sonde_view_request_number(
			    request, names[i], INT64_MIN / 4, INT64_MAX / 4,
			    i < 2 ? &box[i] : &length[i - 2]) == -EINVAL)
			return sonde_view_fail(error, -EINVAL,
					       "%s: nanoseconds", names[i]);
	*config = (struct sonde_scatter_config){
		.from_ns = view->begin_ns + span.from,
		.to_ns = view->begin_ns + span.to +
			 !sonde_view_request_text(request, "to"),
		.nr_columns = (uint32_t)columns,
		.box_from_ns = view->begin_ns + box[0],
		.box_to_ns = view->begin_ns + box[1],
		.least_ns = length[0],
		.most_ns = length[1],
	};
	return 0;
}

static int find_latency(struct sonde_view *view,
			const struct sonde_view_request *request,
			const struct sonde_durations_config *config, FILE *to,
			struct sonde_view_error *error)
{
	struct sonde_analysis_args args;
	struct sonde_filter *filter;
	struct sonde_join join = { .first = false };
	int err = sonde_view_request_args(view, request, &args, &filter, error);

	if (!err) {
		err = sonde_durations_find(&args, config, &join);
		if (!err)
			err = put_latency(view, &join, to);
		else if (args.error[0])
			(void)sonde_view_fail(error, err, "%s", args.error);
		sonde_join_fini(&join);
	}
	sonde_filter_free(filter);
	return err;
}

int sonde_view_answer_latency(struct sonde_view *view,
			      const struct sonde_view_request *request,
			      FILE *to, struct sonde_view_error *error)
{
	struct sonde_view_conditions conditions;
	struct sonde_scatter_config scatter;
	int err = sonde_view_conditions_init(&conditions, view, request, error);

	if (!err && (!conditions.begin || !conditions.end))
		err = sonde_view_fail(error, -EINVAL,
				      "begin, end: conditions of events");
	if (!err)
		err = request_scatter(view, request, &scatter, error);
	if (!err) {
		const struct sonde_durations_config config = {
			.scatter = scatter.nr_columns ? &scatter : NULL,
			.begin = conditions.begin,
			.end = conditions.end,
			.key = conditions.key,
			.by_thread = true,
		};

		err = find_latency(view, request, &config, to, error);
	}
	sonde_view_conditions_fini(&conditions);
	return err;
}
