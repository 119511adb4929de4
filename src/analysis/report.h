/* SPDX-License-Identifier: MIT */
/*
 * report.h - what an analysis found, as data: tables, histograms and notes.
 *
 * Analyses fill one; src/view/text/report.c shows it as text or as JSON, and
 * whatever comes later (a web page, another machine) shows the same data.
 *
 * How one is filled is in <sonde/plugin.h>, as plug-ins do it in the same way. If
 * there is no memory, sonde_report_error() says so at the end.
 */
#ifndef ANALYSIS_REPORT_H
#define ANALYSIS_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/plugin.h>

struct sonde_report *sonde_report_new(const char *key);
void sonde_report_free(struct sonde_report *report);
/* 0, or -ENOMEM if anything was left out. */
int sonde_report_error(const struct sonde_report *report);

/* What makes a report ends with this: the report in *ret_report, unless there
 * was an error, its own or that of report_error(); then it is freed. */
int sonde_report_end(struct sonde_report *report, int error,
		     struct sonde_report **ret_report);

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
