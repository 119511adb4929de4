/* SPDX-License-Identifier: MIT */
/*
 * statistics.c - trees of statistics: tables of reports, a line each, of the times
 * that were asked for. Counts are bare numbers, so that they can be sorted; the rest
 * is as a terminal shows it.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analysis/report.h"
#include "view/http/parts.h"
#include "view/text/show.h"
#include "view/tsp/outputs.h"

#define LINES 1000

static bool is_whole_number(enum sonde_cell cell)
{
	return cell == SONDE_CELL_COUNT || cell == SONDE_CELL_INT;
}

static void put_statistic(struct sonde_json *json, enum sonde_cell cell,
			  const struct sonde_cell_value *value)
{
	char text[256];

	if (!value->set)
		text[0] = 0;
	else if (cell == SONDE_CELL_COUNT)
		(void)snprintf(text, sizeof(text), "%" PRIu64, value->u);
	else if (cell == SONDE_CELL_INT)
		(void)snprintf(text, sizeof(text), "%" PRId64, value->i);
	else if (cell == SONDE_CELL_TEXT) {
		sonde_json_put_text(json, NULL, value->text);
		return;
	} else
		(void)sonde_show_cell(cell, value, text, sizeof(text));
	sonde_json_put_text(json, NULL, text);
}

static void put_statistics_lines(struct sonde_json *json,
				 const struct sonde_section *table)
{
	const struct sonde_cell_value *cell = table->cells;

	sonde_json_open(json, "entries", '[');
	for (size_t row = 0; row < table->nr_rows; row++) {
		sonde_json_open(json, NULL, '{');
		sonde_json_put_unsigned(json, "id", row);
		sonde_json_put_signed(json, "parentId", -1);
		sonde_json_put_bool(json, "hasData", false);
		sonde_json_open(json, "labels", '[');
		for (size_t i = 0; i < table->nr_columns; i++, cell++)
			put_statistic(json, table->columns[i].cell, cell);
		sonde_json_close(json, ']');
		sonde_json_close(json, '}');
	}
	sonde_json_close(json, ']');
}

static void put_statistics_columns(struct sonde_json *json,
				   const struct sonde_section *table)
{
	sonde_json_open(json, "headers", '[');
	for (size_t i = 0; i < table->nr_columns; i++) {
		sonde_json_open(json, NULL, '{');
		sonde_json_put_text(json, "name", table->columns[i].title);
		sonde_json_put_text(json, "tooltip", table->columns[i].key);
		sonde_json_put_text(json, "dataType",
				    is_whole_number(table->columns[i].cell) ?
					    "NUMBER" :
					    "STRING");
		sonde_json_close(json, '}');
	}
	sonde_json_close(json, ']');
}

static bool find_report_table(const struct sonde_report *report,
			      const char *key, struct sonde_section *ret_table)
{
	for (size_t i = 0; sonde_report_section(report, i, ret_table); i++)
		if (ret_table->kind == SONDE_SECTION_TABLE &&
		    !strcmp(ret_table->key, key))
			return true;
	*ret_table = (struct sonde_section){ .nr_rows = 0 };
	return false;
}

/* The report of the times that were asked for; of the default query of clients, which
 * is of no time or two, the whole trace. */
static int run_report(struct sonde_view *view,
		      const struct sonde_view_tsp_query *query,
		      const char *name, struct sonde_report **ret_report,
		      struct sonde_view_error *error)
{
	struct sonde_view_span span = sonde_view_tsp_span(view, query);
	struct sonde_view_request request = { .nr_params = 0 };
	char from[24];
	char to[24];

	(void)snprintf(from, sizeof(from), "%" PRId64, span.from);
	(void)snprintf(to, sizeof(to), "%" PRId64, span.to);
	request.params[0].name = "from";
	request.params[0].value = from;
	request.params[1].name = "to";
	request.params[1].value = to;
	request.nr_params = query->nr_times ? 2 : 0;
	return sonde_view_run_report(view, &request, name, LINES, ret_report,
				     error);
}

int sonde_view_tsp_statistics(struct sonde_view *view,
			      const struct sonde_view_tsp_query *query,
			      struct sonde_view_tsp_reply *reply,
			      struct sonde_view_error *error)
{
	struct sonde_json *json = &reply->json;
	struct sonde_section table;
	struct sonde_report *report;
	int err = run_report(view, query, reply->report, &report, error);

	if (err)
		return err;
	if (find_report_table(report, reply->table, &table) && table.nr_more)
		(void)snprintf(reply->message, sizeof(reply->message),
			       "and %zu more", table.nr_more);
	sonde_json_open(json, "model", '{');
	put_statistics_columns(json, &table);
	put_statistics_lines(json, &table);
	sonde_json_close(json, '}');
	sonde_report_free(report);
	return 0;
}
