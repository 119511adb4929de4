/* SPDX-License-Identifier: MIT */
/*
 * reports.c - what the reports of `sonde report` say of a selected span: as they
 * are, and as one table.
 *
 * These read the span's events, so they cost what the span is long; each has a
 * thread of its own, and gives up when the server ends.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/reports/reports.h"
#include "base/json.h"
#include "base/port.h"
#include "reader/names/names.h"
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

int sonde_view_conditions_init(struct sonde_view_conditions *conditions,
			       struct sonde_view *view,
			       const struct sonde_view_request *request,
			       struct sonde_view_error *error)
{
	int err;

	*conditions = (struct sonde_view_conditions){ .begin = NULL };
	err = sonde_view_request_filter(view, request, "begin",
					&conditions->begin, error);
	if (!err)
		err = sonde_view_request_filter(view, request, "end",
						&conditions->end, error);
	return err ? err :
		     sonde_view_request_filter(view, request, "key",
					       &conditions->key, error);
}

void sonde_view_conditions_fini(const struct sonde_view_conditions *conditions)
{
	sonde_filter_free(conditions->begin);
	sonde_filter_free(conditions->end);
	sonde_filter_free(conditions->key);
}

int sonde_view_run_report(struct sonde_view *view,
			  const struct sonde_view_request *request,
			  const char *name, uint64_t limit,
			  struct sonde_report **ret_report,
			  struct sonde_view_error *error)
{
	const struct sonde_analysis *analysis = sonde_analysis_find(name);
	struct sonde_view_conditions conditions = { .begin = NULL };
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
	if (!err)
		err = sonde_view_conditions_init(&conditions, view, request,
						 error);
	args.limit = limit;
	args.begin = conditions.begin;
	args.end = conditions.end;
	args.key = conditions.key;
	args.names = err ? NULL : sonde_names_new(view->trace);
	if (!err && !args.names)
		err = sonde_view_fail(error, -ENOMEM, "no memory for names");
	if (!err) {
		err = sonde_analysis_run(analysis, &args, ret_report);
		if (err)
			(void)sonde_view_fail(error, err, "%s",
					      args.error[0] ?
						      args.error :
						      strerrordesc_np(-err));
	}
	sonde_names_free(args.names);
	sonde_view_conditions_fini(&conditions);
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
		/* numbers of threads and such: no quantities */
		sonde_json_put_text(
			json, "unit",
			table->columns[i].cell == SONDE_CELL_INT ?
				"id" :
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

/* Tables of reports, by what their lines are. */
static const struct {
	const char *by, *report, *section;
} tables[] = {
	{ "event", "top", "top" },
	{ "syscall", "syscalls", "calls" },
	{ "lock", "locks", "locks" },
	{ "function", "functions", "functions" },
	{ "wake-up", "sched", "threads" },
	{ "interrupt", "irq", "irqs" },
	{ "soft interrupt", "irq", "softirqs" },
};

int sonde_view_answer_table(struct sonde_view *view,
			    const struct sonde_view_request *request, FILE *to,
			    struct sonde_view_error *error)
{
	const char *by = sonde_view_request_text(request, "by");
	struct sonde_json json = sonde_view_json(to);
	struct sonde_section section;
	struct sonde_report *report = NULL;
	size_t table = 0;
	size_t i = 0;
	bool found;
	int err;

	while (table < SONDE_ARRAY_SIZE(tables) &&
	       (!by || strcmp(by, tables[table].by) != 0))
		table++;
	if (table == SONDE_ARRAY_SIZE(tables))
		return sonde_view_fail(error, -EINVAL,
				       "by: thread, state, event, syscall, "
				       "lock, function, wake-up, interrupt or "
				       "soft interrupt");
	err = sonde_view_run_report(view, request, tables[table].report,
				    TABLE_ROWS, &report, error);
	if (err)
		return err;
	while ((found = sonde_report_section(report, i++, &section)) &&
	       (section.kind != SONDE_SECTION_TABLE ||
		strcmp(section.key, tables[table].section) != 0))
		;
	if (!found)
		section = (struct sonde_section){ .nr_rows = 0 };
	sonde_view_put_table(&json, &section);
	sonde_report_free(report);
	return 0;
}
