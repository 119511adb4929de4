/* SPDX-License-Identifier: MIT */
/*
 * report.c - the memory behind report.h.
 *
 * Everything is in the report's pool. A table's cells are one array, row after
 * row, that doubles as it grows, so a row costs nr_columns cells of 16 bytes
 * and, in the old copies, up to as much again; reports have thousands of rows,
 * not millions.
 *
 * Invariants: 1. `error` is set as soon as anything was left out, and stays.
 * 2. Sections are in the order in which they were made and never move.
 */
#include "analysis/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"

#define NOTE_MAX 1024

struct sonde_report {
	struct sonde_pool pool;
	const char *key;
	const struct sonde_section **sections;
	size_t nr_sections, capacity;
	int error;
};

struct sonde_table {
	struct sonde_section section;
	struct sonde_report *report;
	struct sonde_cell_value *cells; /* section.cells, to be written */
	size_t capacity;                /* rows */
};

static const char *report_copy(struct sonde_report *report, const char *text,
			       size_t length)
{
	const char *kept = sonde_pool_text(&report->pool, text, length);

	if (!kept)
		report->error = -ENOMEM;
	return kept;
}

/* Room for something of the report's that comes zeroed. */
static void *report_get(struct sonde_report *report, size_t nr, size_t size)
{
	void *memory = sonde_pool_get(&report->pool, nr, size);

	if (!memory)
		report->error = -ENOMEM;
	return memory;
}

/* Names the section and puts it behind the others; false: no memory. */
static bool add(struct sonde_report *report, struct sonde_section *section,
		const char *key, const char *title)
{
	const struct sonde_section **sections;

	sections = sonde_pool_grow(&report->pool, report->sections,
				   report->nr_sections, &report->capacity,
				   sizeof(const struct sonde_section *));
	if (!sections) {
		report->error = -ENOMEM;
		return false;
	}
	report->sections = sections;
	section->key = key ? report_copy(report, key, strlen(key)) : NULL;
	section->title =
		title ? report_copy(report, title, strlen(title)) : NULL;
	if ((key && !section->key) || (title && !section->title))
		return false;
	sections[report->nr_sections++] = section;
	return true;
}

struct sonde_report *sonde_report_new(const char *key)
{
	struct sonde_report *report = calloc(1, sizeof(*report));

	if (!report)
		return NULL;
	sonde_pool_init(&report->pool, 0);
	report->key = report_copy(report, key, strlen(key));
	if (!report->key) {
		sonde_report_free(report);
		return NULL;
	}
	return report;
}

void sonde_report_free(struct sonde_report *report)
{
	if (!report)
		return;
	sonde_pool_fini(&report->pool);
	free(report);
}

int sonde_report_error(const struct sonde_report *report)
{
	return report ? report->error : -ENOMEM;
}

int sonde_report_end(struct sonde_report *report, int error,
		     struct sonde_report **ret_report)
{
	if (!error)
		error = sonde_report_error(report);
	if (error)
		sonde_report_free(report);
	else
		*ret_report = report;
	return error;
}

/* ---- tables ---- */

/* The columns with keys and titles of our own; NULL: no memory. */
static const struct sonde_column *
copy_columns(struct sonde_report *report, const struct sonde_column *columns,
	     size_t nr_columns)
{
	struct sonde_column *kept =
		report_get(report, nr_columns, sizeof(*kept));

	for (size_t i = 0; kept && i < nr_columns; i++) {
		const struct sonde_column *from = &columns[i];

		kept[i].cell = from->cell;
		kept[i].key = report_copy(report, from->key, strlen(from->key));
		kept[i].title =
			report_copy(report, from->title, strlen(from->title));
		if (!kept[i].key || !kept[i].title)
			return NULL;
	}
	return kept;
}

struct sonde_table *sonde_report_table(struct sonde_report *report,
				       const char *key, const char *title,
				       const struct sonde_column *columns,
				       size_t nr_columns)
{
	struct sonde_table *table;

	if (!report)
		return NULL;
	table = report_get(report, 1, sizeof(*table));
	if (!table)
		return NULL;
	table->report = report;
	table->section.kind = SONDE_SECTION_TABLE;
	table->section.nr_columns = nr_columns;
	table->section.columns = copy_columns(report, columns, nr_columns);
	if (!table->section.columns ||
	    !add(report, &table->section, key, title))
		return NULL;
	return table;
}

void sonde_table_minor(struct sonde_table *table, uint64_t columns)
{
	if (table)
		table->section.minor |= columns;
}

void sonde_table_row(struct sonde_table *table)
{
	struct sonde_cell_value *cells;
	size_t row_bytes;

	if (!table)
		return;
	row_bytes = table->section.nr_columns * sizeof(*cells);
	cells = sonde_pool_grow(&table->report->pool, table->cells,
				table->section.nr_rows, &table->capacity,
				row_bytes);
	if (!cells) {
		table->report->error = -ENOMEM;
		return;
	}
	table->cells = cells;
	table->section.cells = cells;
	memset(cells + table->section.nr_rows * table->section.nr_columns, 0,
	       row_bytes);
	table->section.nr_rows++;
}

/* The cell of the last row, to be filled; NULL if there is none. */
static struct sonde_cell_value *fill(struct sonde_table *table, size_t column)
{
	struct sonde_cell_value *cell;

	if (!table || !table->section.nr_rows ||
	    column >= table->section.nr_columns)
		return NULL;
	cell = &table->cells[(table->section.nr_rows - 1) *
				     table->section.nr_columns +
			     column];
	cell->set = true;
	return cell;
}

void sonde_table_text(struct sonde_table *table, size_t column,
		      const char *text)
{
	if (text)
		sonde_table_textn(table, column, text, strlen(text));
}

void sonde_table_textn(struct sonde_table *table, size_t column,
		       const char *text, size_t length)
{
	struct sonde_cell_value *cell = fill(table, column);

	if (!cell)
		return;
	cell->text = report_copy(table->report, text, length);
	cell->set = cell->text != NULL;
}

void sonde_table_uint(struct sonde_table *table, size_t column, uint64_t value)
{
	struct sonde_cell_value *cell = fill(table, column);

	if (cell)
		cell->u = value;
}

void sonde_table_int(struct sonde_table *table, size_t column, int64_t value)
{
	struct sonde_cell_value *cell = fill(table, column);

	if (cell)
		cell->i = value;
}

void sonde_table_double(struct sonde_table *table, size_t column, double value)
{
	struct sonde_cell_value *cell = fill(table, column);

	if (cell)
		cell->d = value;
}

void sonde_table_share(struct sonde_table *table, size_t column, uint64_t part,
		       uint64_t all)
{
	sonde_table_double(table, column,
			   all ? (double)part / (double)all : 0.0);
}

static int compare_cells(enum sonde_cell kind, const struct sonde_cell_value *a,
			 const struct sonde_cell_value *b)
{
	switch (kind) {
	case SONDE_CELL_TEXT:
		return strcmp(a->text, b->text);
	case SONDE_CELL_COUNT:
	case SONDE_CELL_HEX:
		return (a->u > b->u) - (a->u < b->u);
	case SONDE_CELL_RATE:
	case SONDE_CELL_PERCENT:
	case SONDE_CELL_NUMBER:
		return (a->d > b->d) - (a->d < b->d);
	case SONDE_CELL_INT:
	case SONDE_CELL_BYTES:
	case SONDE_CELL_DURATION:
	case SONDE_CELL_TIME:
		break;
	}
	return (a->i > b->i) - (a->i < b->i);
}

struct order {
	const struct sonde_section *section;
	size_t column;
	bool descending;
};

/* Empty cells come last either way; equal rows keep their order. */
static int compare_rows(const void *a, const void *b, void *ctx)
{
	const struct order *order = ctx;
	const struct sonde_section *section = order->section;
	size_t row_a = *(const size_t *)a;
	size_t row_b = *(const size_t *)b;
	const struct sonde_cell_value *cell_a;
	const struct sonde_cell_value *cell_b;
	int sign = 0;

	cell_a = &section->cells[row_a * section->nr_columns + order->column];
	cell_b = &section->cells[row_b * section->nr_columns + order->column];
	if (cell_a->set != cell_b->set)
		return cell_a->set ? -1 : 1;
	if (cell_a->set)
		sign = compare_cells(section->columns[order->column].cell,
				     cell_a, cell_b);
	if (sign)
		return order->descending ? -sign : sign;
	return (row_a > row_b) - (row_a < row_b);
}

void sonde_table_sort(struct sonde_table *table, size_t column, bool descending)
{
	struct order order = { .column = column, .descending = descending };
	struct sonde_cell_value *sorted;
	size_t nr_rows;
	size_t nr_columns;
	size_t *rows;

	if (!table || column >= table->section.nr_columns ||
	    !table->section.nr_rows)
		return;
	order.section = &table->section;
	nr_rows = table->section.nr_rows;
	nr_columns = table->section.nr_columns;
	rows = report_get(table->report, nr_rows, sizeof(*rows));
	sorted = report_get(table->report, nr_rows * nr_columns,
			    sizeof(*sorted));
	if (!rows || !sorted)
		return;
	for (size_t i = 0; i < nr_rows; i++)
		rows[i] = i;
	qsort_r(rows, nr_rows, sizeof(*rows), compare_rows, &order);
	for (size_t i = 0; i < nr_rows; i++)
		memcpy(sorted + i * nr_columns,
		       table->cells + rows[i] * nr_columns,
		       nr_columns * sizeof(*sorted));
	memcpy(table->cells, sorted, nr_rows * nr_columns * sizeof(*sorted));
}

void sonde_table_limit(struct sonde_table *table, size_t nr_rows)
{
	if (!table || table->section.nr_rows <= nr_rows)
		return;
	table->section.nr_more += table->section.nr_rows - nr_rows;
	table->section.nr_rows = nr_rows;
}

void sonde_table_more(struct sonde_table *table, size_t nr_rows)
{
	if (table)
		table->section.nr_more += nr_rows;
}

/* ---- the other sections ---- */

void sonde_report_note(struct sonde_report *report, const char *format, ...)
{
	struct sonde_section *section;
	char words[NOTE_MAX];
	va_list args;

	if (!report)
		return;
	va_start(args, format);
	(void)vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	section = report_get(report, 1, sizeof(*section));
	if (!section)
		return;
	section->kind = SONDE_SECTION_NOTE;
	(void)add(report, section, NULL, words);
}

/* seven parameters, so that a value is one call
 * NOLINTNEXTLINE(readability-function-size) */
void sonde_report_value(struct sonde_report *report, const char *key,
			const char *title, enum sonde_cell cell, int64_t number,
			double real, const char *text)
{
	struct sonde_section *section;

	if (!report)
		return;
	section = report_get(report, 1, sizeof(*section));
	if (!section)
		return;
	section->kind = SONDE_SECTION_VALUE;
	section->cell = cell;
	section->value.set = true;
	if (cell == SONDE_CELL_TEXT) {
		section->value.set = text != NULL;
		section->value.text =
			text ? report_copy(report, text, strlen(text)) : NULL;
	} else if (cell == SONDE_CELL_RATE || cell == SONDE_CELL_PERCENT ||
		   cell == SONDE_CELL_NUMBER) {
		section->value.d = real;
	} else {
		section->value.i = number;
	}
	if (section->value.set && cell == SONDE_CELL_TEXT &&
	    !section->value.text)
		return;
	(void)add(report, section, key, title);
}

/* NOLINTNEXTLINE(readability-function-size): as above */
void sonde_report_histogram(struct sonde_report *report, const char *key,
			    const char *title, enum sonde_cell cell,
			    const int64_t *bounds, const uint64_t *counts,
			    size_t nr_bins)
{
	struct sonde_section *section;
	int64_t *kept_bounds;
	uint64_t *kept_counts;

	if (!report)
		return;
	section = report_get(report, 1, sizeof(*section));
	kept_bounds = report_get(report, nr_bins + 1, sizeof(*bounds));
	kept_counts = report_get(report, nr_bins + 1, sizeof(*counts));
	if (!section || !kept_bounds || !kept_counts)
		return;
	memcpy(kept_bounds, bounds, (nr_bins + 1) * sizeof(*bounds));
	memcpy(kept_counts, counts, nr_bins * sizeof(*counts));
	section->kind = SONDE_SECTION_HISTOGRAM;
	section->cell = cell;
	section->nr_bins = nr_bins;
	section->bounds = kept_bounds;
	section->counts = kept_counts;
	(void)add(report, section, key, title);
}

/* ---- for those who show it ---- */

const char *sonde_report_key(const struct sonde_report *report)
{
	return report->key;
}

bool sonde_report_section(const struct sonde_report *report, size_t i,
			  struct sonde_section *ret_section)
{
	if (i >= report->nr_sections)
		return false;
	*ret_section = *report->sections[i];
	return true;
}
