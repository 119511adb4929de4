/* SPDX-License-Identifier: MIT */
/*
 * json.c - a report as one JSON object:
 *
 *	{"report": "locks",
 *	 "events": 1234,			a value
 *	 "locks": [				a table, an object per row
 *	  {"lock": "0x7f3c", "wait_ns": 1250000}
 *	 ],
 *	 "locks_more": 3,			rows left out by a limit
 *	 "wait": {"bounds_ns": [...], "counts": [...]},	a histogram
 *	 "notes": ["..."]}
 *
 * A key ends in its unit: _ns, _bytes, _per_s, _percent. Addresses are strings,
 * for many readers of JSON have no integers of 64 bits. What isn't known is
 * null.
 */
#include "view/text/json.h"

#include <inttypes.h>
#include <stdbool.h>

#include "base/json.h"
#include "view/text/show.h"

#define KEY_SIZE 128

const char *sonde_show_json_unit(enum sonde_cell cell)
{
	switch (cell) {
	case SONDE_CELL_BYTES:
		return "bytes";
	case SONDE_CELL_DURATION:
	case SONDE_CELL_TIME:
		return "ns";
	case SONDE_CELL_RATE:
		return "per_s";
	case SONDE_CELL_PERCENT:
		return "percent";
	case SONDE_CELL_TEXT:
	case SONDE_CELL_COUNT:
	case SONDE_CELL_INT:
	case SONDE_CELL_HEX:
	case SONDE_CELL_NUMBER:
		break;
	}
	return "";
}

/* Keys are identifiers of the program's own, far shorter than this. */
static const char *name_key(char to[KEY_SIZE], const char *key,
			    const char *more)
{
	(void)snprintf(to, KEY_SIZE, "%s%s%s", key, *more ? "_" : "", more);
	return to;
}

void sonde_show_json_value(struct sonde_json *json, const char *key,
			   enum sonde_cell cell,
			   const struct sonde_cell_value *value)
{
	char text[24];

	if (!value->set) {
		sonde_json_put_text(json, key, NULL);
		return;
	}
	switch (cell) {
	case SONDE_CELL_TEXT:
		sonde_json_put_text(json, key, value->text);
		break;
	case SONDE_CELL_COUNT:
		sonde_json_put_unsigned(json, key, value->u);
		break;
	case SONDE_CELL_HEX:
		(void)snprintf(text, sizeof(text), "0x%" PRIx64, value->u);
		sonde_json_put_text(json, key, text);
		break;
	case SONDE_CELL_INT:
	case SONDE_CELL_BYTES:
	case SONDE_CELL_DURATION:
	case SONDE_CELL_TIME:
		sonde_json_put_signed(json, key, value->i);
		break;
	case SONDE_CELL_PERCENT:
		sonde_json_put_double(json, key, value->d * 100);
		break;
	case SONDE_CELL_RATE:
	case SONDE_CELL_NUMBER:
		sonde_json_put_double(json, key, value->d);
		break;
	}
}

static void show_value(struct sonde_json *json, const char *key,
		       enum sonde_cell cell,
		       const struct sonde_cell_value *value)
{
	char name[KEY_SIZE];

	sonde_show_json_value(json,
			      name_key(name, key, sonde_show_json_unit(cell)),
			      cell, value);
}

static void show_table(struct sonde_json *json,
		       const struct sonde_section *table)
{
	const struct sonde_cell_value *cell = table->cells;
	char name[KEY_SIZE];

	sonde_json_open(json, table->key, '[');
	for (size_t row = 0; row < table->nr_rows; row++) {
		sonde_json_line(json, 2);
		sonde_json_open(json, NULL, '{');
		for (size_t i = 0; i < table->nr_columns; i++, cell++)
			show_value(json, table->columns[i].key,
				   table->columns[i].cell, cell);
		sonde_json_close(json, '}');
	}
	if (table->nr_rows)
		sonde_json_line(json, 1);
	sonde_json_close(json, ']');
	if (table->nr_more) {
		sonde_json_line(json, 1);
		sonde_json_put_unsigned(json,
					name_key(name, table->key, "more"),
					table->nr_more);
	}
}

static void show_histogram(struct sonde_json *json,
			   const struct sonde_section *histogram)
{
	char name[KEY_SIZE];

	sonde_json_open(json, histogram->key, '{');
	sonde_json_open(json,
			name_key(name, "bounds",
				 sonde_show_json_unit(histogram->cell)),
			'[');
	for (size_t i = 0; histogram->nr_bins && i <= histogram->nr_bins; i++)
		sonde_json_put_signed(json, NULL, histogram->bounds[i]);
	sonde_json_close(json, ']');
	sonde_json_open(json, "counts", '[');
	for (size_t i = 0; i < histogram->nr_bins; i++)
		sonde_json_put_unsigned(json, NULL, histogram->counts[i]);
	sonde_json_close(json, ']');
	sonde_json_close(json, '}');
}

static void show_section(struct sonde_json *json,
			 const struct sonde_section *section)
{
	if (section->kind != SONDE_SECTION_NOTE)
		sonde_json_line(json, 1);
	switch (section->kind) {
	case SONDE_SECTION_TABLE:
		show_table(json, section);
		break;
	case SONDE_SECTION_HISTOGRAM:
		show_histogram(json, section);
		break;
	case SONDE_SECTION_VALUE:
		show_value(json, section->key, section->cell, &section->value);
		break;
	case SONDE_SECTION_NOTE:
		break;
	}
}

static void show_notes(struct sonde_json *json,
		       const struct sonde_report *report)
{
	struct sonde_section section;
	bool any = false;

	for (size_t i = 0; sonde_report_section(report, i, &section); i++) {
		if (section.kind != SONDE_SECTION_NOTE)
			continue;
		sonde_json_line(json, 1);
		if (!any)
			sonde_json_open(json, "notes", '[');
		any = true;
		sonde_json_line(json, 2);
		sonde_json_put_text(json, NULL, section.title);
	}
	if (any) {
		sonde_json_line(json, 1);
		sonde_json_close(json, ']');
	}
}

/* `machine` NULL: of none. */
static void show_report(struct sonde_json *json, const char *machine,
			const struct sonde_report *report)
{
	struct sonde_section section;

	sonde_json_open(json, NULL, '{');
	if (machine)
		sonde_json_put_text(json, "machine", machine);
	sonde_json_put_text(json, "report", sonde_report_key(report));
	for (size_t i = 0; sonde_report_section(report, i, &section); i++)
		show_section(json, &section);
	show_notes(json, report);
	sonde_json_close(json, '}');
}

void sonde_show_json(const struct sonde_report *report, FILE *to)
{
	struct sonde_json json = sonde_json_to_file(to);

	show_report(&json, NULL, report);
	(void)fputc('\n', to);
}

void sonde_show_json_machines(const struct sonde_report_item *machines,
			      size_t nr, FILE *to)
{
	struct sonde_json json = sonde_json_to_file(to);

	sonde_json_open(&json, NULL, '{');
	sonde_json_open(&json, "machines", '[');
	for (size_t i = 0; i < nr; i++)
		if (machines[i].report)
			show_report(&json, machines[i].name,
				    machines[i].report);
	sonde_json_close(&json, ']');
	sonde_json_close(&json, '}');
	(void)fputc('\n', to);
}
