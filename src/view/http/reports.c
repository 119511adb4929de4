/* SPDX-License-Identifier: MIT */
/*
 * reports.c - what the reports of `sonde report` say of a selected span: as they
 * are, as one table, and how long something took.
 *
 * These read the span's events, so they cost what the span is long; each has a
 * thread of its own, and gives up when the server ends.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/reports/durations.h"
#include "analysis/reports/reports.h"
#include "base/json.h"
#include "base/port.h"
#include "reader/reader.h"
#include "view/http/parts.h"
#include "view/text/json.h"
#include "view/text/show.h"

static int reports_progress(void *ctx, uint64_t done_bytes, uint64_t all_bytes)
{
	struct sonde_view *view = ctx;

	(void)done_bytes;
	(void)all_bytes;
	return atomic_load(view->stopping);
}

int sonde_view_request_args(struct sonde_view *view,
			    const struct sonde_view_request *request,
			    struct sonde_analysis_args *args,
			    struct sonde_filter **ret_filter,
			    struct sonde_view_error *error)
{
	struct sonde_view_span span;
	int err = sonde_view_request_span(view, request, &span, error);

	*ret_filter = NULL;
	*args = (struct sonde_analysis_args){
		.trace = view->trace,
		.show = sonde_show_cell,
	};
	if (!err)
		err = sonde_view_request_filter(view, request, "filter",
						ret_filter, error);
	if (err)
		return err;
	sonde_map_options_init(&args->map);
	args->map.filter = *ret_filter;
	args->map.progress = reports_progress;
	args->map.progress_ctx = view;
	if (sonde_view_request_text(request, "from"))
		args->map.from_ns = view->begin_ns + span.from;
	if (sonde_view_request_text(request, "to"))
		args->map.to_ns = view->begin_ns + span.to - 1;
	return 0;
}

int sonde_view_run_report(struct sonde_view *view,
			  const struct sonde_view_request *request,
			  const char *name, uint64_t limit,
			  struct sonde_report **ret_report,
			  struct sonde_view_error *error)
{
	const struct sonde_analysis *analysis = sonde_analysis_find(name);
	struct sonde_analysis_args args;
	struct sonde_filter *filter;
	int err;

	if (!analysis)
		return sonde_view_fail(error, -ENOENT,
				       "no report is called '%.100s'", name);
	err = sonde_view_request_args(view, request, &args, &filter, error);
	if (!err && args.trace->nr_machines > 1)
		err = sonde_view_fail(error, -EINVAL,
				      "the traces are of several machines, "
				      "whose threads may have the same "
				      "numbers: open each by itself, or ask "
				      "'sonde report %s'",
				      name);
	args.limit = limit;
	if (!err) {
		err = sonde_analysis_run(analysis, &args, ret_report);
		if (err)
			(void)sonde_view_fail(error, err, "%s",
					      args.error[0] ?
						      args.error :
						      strerrordesc_np(-err));
	}
	sonde_filter_free(filter);
	return err;
}

int sonde_view_answer_report(struct sonde_view *view,
			     const struct sonde_view_request *request, FILE *to,
			     struct sonde_view_error *error)
{
	const char *name = sonde_view_request_text(request, "name");
	struct sonde_report *report;
	int err;

	if (!name)
		return sonde_view_fail(error, -EINVAL,
				       "name: of which report?");
	err = sonde_view_run_report(view, request, name, 0, &report, error);
	if (err)
		return err;
	sonde_show_json(report, to);
	sonde_report_free(report);
	return 0;
}

/* ---- one table ---- */

#define TABLE_ROWS 1000

void sonde_view_put_table(struct sonde_json *json,
			  const struct sonde_section *table)
{
	const struct sonde_cell_value *cell = table->cells;

	sonde_json_open(json, NULL, '{');
	sonde_json_put_text(json, "title", table->title);
	sonde_json_open(json, "columns", '[');
	for (size_t i = 0; i < table->nr_columns; i++) {
		sonde_json_open(json, NULL, '{');
		sonde_json_put_text(json, "name", table->columns[i].key);
		sonde_json_put_text(
			json, "unit",
			sonde_show_json_unit(table->columns[i].cell));
		sonde_json_close(json, '}');
	}
	sonde_json_close(json, ']');
	sonde_json_open(json, "rows", '[');
	for (size_t row = 0; row < table->nr_rows; row++) {
		sonde_json_open(json, NULL, '[');
		for (size_t i = 0; i < table->nr_columns; i++, cell++)
			sonde_show_json_value(json, NULL,
					      table->columns[i].cell, cell);
		sonde_json_close(json, ']');
	}
	sonde_json_close(json, ']');
	sonde_json_close(json, '}');
}

int sonde_view_answer_table(struct sonde_view *view,
			    const struct sonde_view_request *request, FILE *to,
			    struct sonde_view_error *error)
{
	const char *by = sonde_view_request_text(request, "by");
	bool of_calls = by && !strcmp(by, "syscall");
	const char *name = of_calls ? "syscalls" : "top";
	const char *key = of_calls ? "calls" : "top";
	struct sonde_json json = sonde_view_json(to);
	struct sonde_section section;
	struct sonde_report *report;
	size_t i = 0;
	bool found;
	int err = sonde_view_run_report(view, request, name, TABLE_ROWS,
					&report, error);

	if (err)
		return err;
	while ((found = sonde_report_section(report, i++, &section)) &&
	       (section.kind != SONDE_SECTION_TABLE ||
		strcmp(section.key, key) != 0))
		;
	if (!found)
		section = (struct sonde_section){ .nr_rows = 0 };
	sonde_view_put_table(&json, &section);
	sonde_report_free(report);
	return 0;
}

/* ---- how long it took ---- */

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
