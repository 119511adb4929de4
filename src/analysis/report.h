/* SPDX-License-Identifier: MIT */
/*
 * report.h - what an analysis found, as data: tables, histograms and notes.
 *
 * Analyses fill one; src/view/text/report.c shows it as text or as JSON, and
 * whatever comes later (a web page, another machine) shows the same data. Cells
 * have units, so that a duration is never printed as a bare number: text shows
 * 1.25 ms, JSON shows 1250000 under a key that ends in `_ns`.
 *
 * All memory is the report's. Functions that make something return NULL, or do
 * nothing to a NULL, if there is no memory; sonde_report_error() says so at the
 * end, so callers need not check each.
 */
#ifndef ANALYSIS_REPORT_H
#define ANALYSIS_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sonde_cell {
	SONDE_CELL_TEXT,
	SONDE_CELL_COUNT,    /* uint64_t */
	SONDE_CELL_INT,      /* int64_t: ids, priorities, differences */
	SONDE_CELL_HEX,      /* uint64_t: addresses */
	SONDE_CELL_BYTES,    /* int64_t */
	SONDE_CELL_DURATION, /* int64_t nanoseconds */
	SONDE_CELL_TIME,     /* int64_t nanoseconds since 1970 */
	SONDE_CELL_RATE,     /* double, per second */
	SONDE_CELL_PERCENT,  /* double: 1.0 is 100 % */
	SONDE_CELL_NUMBER,   /* double */
};

struct sonde_column {
	const char *key;   /* JSON, without unit: "wait" -> "wait_ns" */
	const char *title; /* text */
	enum sonde_cell cell;
};

struct sonde_report;
struct sonde_table;

struct sonde_report *sonde_report_new(const char *key);
void sonde_report_free(struct sonde_report *report);
/* 0, or -ENOMEM if anything was left out. */
int sonde_report_error(const struct sonde_report *report);

/* What makes a report ends with this: the report in *ret_report, unless there
 * was an error, its own or that of report_error(); then it is freed. */
int sonde_report_end(struct sonde_report *report, int error,
		     struct sonde_report **ret_report);

/* A table; title NULL: none. Columns are copied. */
struct sonde_table *sonde_report_table(struct sonde_report *report,
				       const char *key, const char *title,
				       const struct sonde_column *columns,
				       size_t nr_columns);
/* Column i, if bit i is set, is among the first to be left out where a terminal
 * is too narrow for all; of these the last one first. JSON has all. */
void sonde_table_minor(struct sonde_table *table, uint64_t columns);
/* Appends a row of empty cells; the setters fill the last row. An empty cell
 * is "-" in text and null in JSON. */
void sonde_table_row(struct sonde_table *table);
void sonde_table_text(struct sonde_table *table, size_t column,
		      const char *text);
void sonde_table_textn(struct sonde_table *table, size_t column,
		       const char *text, size_t length);
/* COUNT, HEX; INT, BYTES, DURATION, TIME; RATE, PERCENT, NUMBER. */
void sonde_table_uint(struct sonde_table *table, size_t column, uint64_t value);
void sonde_table_int(struct sonde_table *table, size_t column, int64_t value);
void sonde_table_double(struct sonde_table *table, size_t column, double value);
/* What part of all; of nothing, 0. */
void sonde_table_share(struct sonde_table *table, size_t column, uint64_t part,
		       uint64_t all);
/* Sorts rows by a column, stable. */
void sonde_table_sort(struct sonde_table *table, size_t column,
		      bool descending);
/* Keeps the first rows; text says how many more there were. */
void sonde_table_limit(struct sonde_table *table, size_t nr_rows);
/* So many more there were that have not even been appended. */
void sonde_table_more(struct sonde_table *table, size_t nr_rows);

/* A line of words; in JSON under notes. */
__attribute__((format(printf, 2, 3))) void
sonde_report_note(struct sonde_report *report, const char *format, ...);

/* A single named value, e.g. "events" 1,234. */
void sonde_report_value(struct sonde_report *report, const char *key,
			const char *title, enum sonde_cell cell, int64_t number,
			double real, const char *text);

/* Counts per bin; bin i holds values from bounds[i] to below bounds[i + 1].
 * Drawn with one line per bin and a bar; `cell` says what the bounds are. */
void sonde_report_histogram(struct sonde_report *report, const char *key,
			    const char *title, enum sonde_cell cell,
			    const int64_t *bounds, const uint64_t *counts,
			    size_t nr_bins);

/* ---- for those who show it ---- */

enum sonde_section_kind {
	SONDE_SECTION_TABLE,
	SONDE_SECTION_NOTE,
	SONDE_SECTION_VALUE,
	SONDE_SECTION_HISTOGRAM,
};

struct sonde_cell_value {
	bool set;
	union {
		uint64_t u;
		int64_t i;
		double d;
		const char *text;
	};
};

struct sonde_section {
	enum sonde_section_kind kind;
	const char *key, *title; /* a note's words are its title */
	/* tables */
	size_t nr_columns, nr_rows, nr_more;
	uint64_t minor; /* bit i: column i may be left out */
	const struct sonde_column *columns;
	const struct sonde_cell_value *cells; /* [row * nr_columns + column] */
	/* values, histograms */
	enum sonde_cell cell;
	struct sonde_cell_value value;
	size_t nr_bins;
	const int64_t *bounds;
	const uint64_t *counts;
};

const char *sonde_report_key(const struct sonde_report *report);
/* The i-th section, in the order they were made; false beyond the last. */
bool sonde_report_section(const struct sonde_report *report, size_t i,
			  struct sonde_section *ret_section);

#endif /* ANALYSIS_REPORT_H */
