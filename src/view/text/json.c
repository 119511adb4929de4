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
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/escape.h"
#include "view/text/show.h"

void sonde_show_json_text(FILE *to, const char *text, size_t length)
{
	char escape[SONDE_ESCAPE_MAX];
	size_t used;

	(void)putc('"', to);
	for (size_t at = 0; at < length; at += used) {
		size_t n = sonde_escape_json(text + at, length - at, escape,
					     &used);

		(void)fwrite(escape, 1, n, to);
	}
	(void)putc('"', to);
}

static const char *suffix(enum sonde_cell cell)
{
	switch (cell) {
	case SONDE_CELL_BYTES:
		return "_bytes";
	case SONDE_CELL_DURATION:
	case SONDE_CELL_TIME:
		return "_ns";
	case SONDE_CELL_RATE:
		return "_per_s";
	case SONDE_CELL_PERCENT:
		return "_percent";
	case SONDE_CELL_TEXT:
	case SONDE_CELL_COUNT:
	case SONDE_CELL_INT:
	case SONDE_CELL_HEX:
	case SONDE_CELL_NUMBER:
		break;
	}
	return "";
}

static void show_key(FILE *to, const char *key, const char *more)
{
	/* keys are identifiers of the program's own: nothing to escape */
	(void)fprintf(to, "\"%s%s\": ", key, more);
}

static void show_double(FILE *to, double value)
{
	if (isfinite(value))
		(void)fprintf(to, "%.17g", value);
	else
		(void)fputs("null", to);
}

static void show_value(FILE *to, enum sonde_cell cell,
		       const struct sonde_cell_value *value)
{
	if (!value->set) {
		(void)fputs("null", to);
		return;
	}
	switch (cell) {
	case SONDE_CELL_TEXT:
		sonde_show_json_text(to, value->text, strlen(value->text));
		break;
	case SONDE_CELL_COUNT:
		(void)fprintf(to, "%" PRIu64, value->u);
		break;
	case SONDE_CELL_HEX:
		(void)fprintf(to, "\"0x%" PRIx64 "\"", value->u);
		break;
	case SONDE_CELL_INT:
	case SONDE_CELL_BYTES:
	case SONDE_CELL_DURATION:
	case SONDE_CELL_TIME:
		(void)fprintf(to, "%" PRId64, value->i);
		break;
	case SONDE_CELL_PERCENT:
		show_double(to, value->d * 100);
		break;
	case SONDE_CELL_RATE:
	case SONDE_CELL_NUMBER:
		show_double(to, value->d);
		break;
	}
}

static void show_table(FILE *to, const struct sonde_section *table)
{
	const struct sonde_cell_value *cell = table->cells;

	show_key(to, table->key, "");
	(void)putc('[', to);
	for (size_t row = 0; row < table->nr_rows; row++) {
		(void)fputs(row ? ",\n  {" : "\n  {", to);
		for (size_t i = 0; i < table->nr_columns; i++, cell++) {
			const struct sonde_column *column = &table->columns[i];

			(void)fputs(i ? ", " : "", to);
			show_key(to, column->key, suffix(column->cell));
			show_value(to, column->cell, cell);
		}
		(void)putc('}', to);
	}
	(void)fputs(table->nr_rows ? "\n ]" : "]", to);
	if (table->nr_more) {
		(void)fputs(",\n ", to);
		show_key(to, table->key, "_more");
		(void)fprintf(to, "%zu", table->nr_more);
	}
}

static void show_histogram(FILE *to, const struct sonde_section *histogram)
{
	show_key(to, histogram->key, "");
	(void)putc('{', to);
	show_key(to, "bounds", suffix(histogram->cell));
	(void)putc('[', to);
	for (size_t i = 0; histogram->nr_bins && i <= histogram->nr_bins; i++)
		(void)fprintf(to, i ? ", %" PRId64 : "%" PRId64,
			      histogram->bounds[i]);
	(void)fputs("], ", to);
	show_key(to, "counts", "");
	(void)putc('[', to);
	for (size_t i = 0; i < histogram->nr_bins; i++)
		(void)fprintf(to, i ? ", %" PRIu64 : "%" PRIu64,
			      histogram->counts[i]);
	(void)fputs("]}", to);
}

static void show_section(FILE *to, const struct sonde_section *section)
{
	switch (section->kind) {
	case SONDE_SECTION_TABLE:
		show_table(to, section);
		break;
	case SONDE_SECTION_HISTOGRAM:
		show_histogram(to, section);
		break;
	case SONDE_SECTION_VALUE:
		show_key(to, section->key, suffix(section->cell));
		show_value(to, section->cell, &section->value);
		break;
	case SONDE_SECTION_NOTE:
		break;
	}
}

static void show_notes(FILE *to, const struct sonde_report *report)
{
	struct sonde_section section;
	bool any = false;

	for (size_t i = 0; sonde_report_section(report, i, &section); i++) {
		if (section.kind != SONDE_SECTION_NOTE)
			continue;
		(void)fputs(any ? ",\n  " : ",\n \"notes\": [\n  ", to);
		sonde_show_json_text(to, section.title, strlen(section.title));
		any = true;
	}
	if (any)
		(void)fputs("\n ]", to);
}

void sonde_json_report(const struct sonde_report *report, FILE *to)
{
	const char *key = sonde_report_key(report);
	struct sonde_section section;

	(void)putc('{', to);
	show_key(to, "report", "");
	sonde_show_json_text(to, key, strlen(key));
	for (size_t i = 0; sonde_report_section(report, i, &section); i++) {
		if (section.kind == SONDE_SECTION_NOTE)
			continue;
		(void)fputs(",\n ", to);
		show_section(to, &section);
	}
	show_notes(to, report);
	(void)fputs("}\n", to);
}
