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
#include "view/http/parts.h"

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
		      const struct sonde_worst *worst, struct sonde_json *json)
{
	sonde_json_open(json, "worst", '[');
	for (size_t i = 0; i < worst->nr; i++) {
		const struct sonde_worst_span *span = &worst->spans[i];
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

static int put_latency(const struct sonde_view *view,
		       const struct sonde_join *join, FILE *to)
{
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
	put_worst(view, &join->worst, &json);
	sonde_json_close(&json, '}');
	return err;
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
	static const char *const names[] = { "begin", "end", "key" };
	struct sonde_filter *filters[SONDE_ARRAY_SIZE(names)] = { NULL };
	int err = 0;

	for (size_t i = 0; !err && i < SONDE_ARRAY_SIZE(names); i++)
		err = sonde_view_request_filter(view, request, names[i],
						&filters[i], error);
	if (!err && (!filters[0] || !filters[1]))
		err = sonde_view_fail(error, -EINVAL,
				      "begin, end: conditions of events");
	if (!err) {
		const struct sonde_durations_config config = {
			.begin = filters[0],
			.end = filters[1],
			.key = filters[2],
			.by_thread = true,
		};

		err = find_latency(view, request, &config, to, error);
	}
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(names); i++)
		sonde_filter_free(filters[i]);
	return err;
}
