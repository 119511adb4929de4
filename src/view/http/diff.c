/* SPDX-License-Identifier: MIT */
/*
 * diff.c - what is different between two spans of the trace, or between two of the
 * traces that are shown as one: what `sonde diff` says. Either reads what is
 * compared, twice.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/reports/reports.h"
#include "base/json.h"
#include "view/http/view.h"

/* What counts as a difference, as of the command. */
#define THRESHOLD 0.1

struct diff_side {
	struct sonde_trace *opened; /* NULL: it is the view's */
	struct sonde_filter *filter;
	struct sonde_analysis_args args;
};

/* One of the traces, by itself. */
static int open_side(const struct sonde_view *view,
		     const struct sonde_view_request *request, uint32_t number,
		     struct diff_side *side, struct sonde_view_error *error)
{
	struct sonde_trace_error why = { .column = 0 };
	struct sonde_view one = *view;
	int err;

	if (number >= view->nr_paths)
		return sonde_view_fail(error, -EINVAL,
				       "traces: two of the %zu that there are, "
				       "from 0 on",
				       view->nr_paths);
	err = sonde_trace_open(&view->paths[number], 1, &why, &side->opened);
	if (err)
		return sonde_view_fail(error, err, "%s", why.text);
	side->args.trace = one.trace = side->opened;
	err = sonde_view_request_filter(&one, request, "filter", &side->filter,
					error);
	side->args.map.filter = side->filter;
	return err;
}

static int take_traces(const struct sonde_view *view,
		       const struct sonde_view_request *request,
		       struct diff_side sides[2],
		       struct sonde_view_error *error)
{
	uint32_t numbers[2];
	int err = 0;

	if (sonde_view_request_list(request, "traces", 2, numbers) != 2)
		return sonde_view_fail(error, -EINVAL, "traces: two numbers");
	for (size_t i = 0; !err && i < 2; i++)
		err = open_side(view, request, numbers[i], &sides[i], error);
	return err;
}

/* "a_from" and "a_to" against "from" and "to". */
static int take_spans(const struct sonde_view *view,
		      const struct sonde_view_request *request,
		      struct diff_side sides[2], struct sonde_view_error *error)
{
	int64_t from = 0;
	int64_t to = 0;

	if (sonde_view_request_number(request, "a_from", 0, INT64_MAX / 4,
				      &from) ||
	    sonde_view_request_number(request, "a_to", from + 1, INT64_MAX / 4,
				      &to))
		return sonde_view_fail(error, -EINVAL,
				       "a_from, a_to: what to compare with");
	sides[0].args.map.from_ns = view->begin_ns + from;
	sides[0].args.map.to_ns = view->begin_ns + to - 1;
	return 0;
}

static void put_diff(const struct sonde_report *report, FILE *to)
{
	struct sonde_json json = sonde_view_json(to);
	struct sonde_section section;

	sonde_json_open(&json, NULL, '{');
	sonde_json_open(&json, "notes", '[');
	for (size_t i = 0; sonde_report_section(report, i, &section); i++)
		if (section.kind == SONDE_SECTION_NOTE)
			sonde_json_put_text(&json, NULL, section.title);
	sonde_json_close(&json, ']');
	sonde_json_open(&json, "tables", '[');
	for (size_t i = 0; sonde_report_section(report, i, &section); i++)
		if (section.kind == SONDE_SECTION_TABLE)
			sonde_view_put_table(&json, &section);
	sonde_json_close(&json, ']');
	sonde_json_close(&json, '}');
}

static int run_diff(struct diff_side sides[2], FILE *to,
		    struct sonde_view_error *error)
{
	struct sonde_report *report;
	int err;

	sides[0].args.other = &sides[1].args;
	sides[0].args.threshold = THRESHOLD;
	err = sonde_analysis_run(&sonde_analysis_diff, &sides[0].args, &report);
	if (err)
		return sonde_view_fail(error, err, "%s",
				       sides[0].args.error[0] ?
					       sides[0].args.error :
					       strerrordesc_np(-err));
	put_diff(report, to);
	sonde_report_free(report);
	return 0;
}

int sonde_view_answer_diff(struct sonde_view *view,
			   const struct sonde_view_request *request, FILE *to,
			   struct sonde_view_error *error)
{
	bool traces = sonde_view_request_text(request, "traces") != NULL;
	struct diff_side sides[2] = { 0 };
	int err = 0;

	for (size_t i = 0; !err && i < 2; i++)
		err = sonde_view_request_args(view, request, &sides[i].args,
					      &sides[i].filter, error);
	for (size_t i = 0; traces && i < 2; i++) {
		sonde_filter_free(sides[i].filter); /* of the whole */
		sides[i].filter = NULL;
	}
	if (!err)
		err = traces ? take_traces(view, request, sides, error) :
			       take_spans(view, request, sides, error);
	if (!err)
		err = run_diff(sides, to, error);
	for (size_t i = 0; i < 2; i++) {
		sonde_filter_free(sides[i].filter);
		if (sides[i].opened)
			sonde_trace_close(sides[i].opened);
	}
	return err;
}
