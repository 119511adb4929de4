/* SPDX-License-Identifier: MIT */
/*
 * sums.c - how long rows were in which states, and between what counters were
 * (reports.h): a sink of rows that keeps a histogram for each row and state, and the
 * least, the most and the mean of each counter.
 *
 * Rows and states are numbered by their names, whichever run they are of. Memory is
 * bounded by SUMS pairs; what is beyond is counted.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/plugin/reports.h"
#include "analysis/plugin/run.h"
#include "analysis/reports/cell_text.h"
#include "analysis/reports/histogram.h"
#include "analysis/reports/ranking.h"
#include "base/grow.h"
#include "base/port.h"
#include "base/search.h"

#define SUMS      16384u
#define SUMS_ROWS 30 /* of the table, unless the user says */

struct sum_names {
	char **texts;
	size_t nr, room;
};

struct sum_entry {
	struct sonde_key key;
	int row, state;
	int64_t total_ns;
	uint64_t nr_cut;
	struct sonde_histogram lengths;
};

/* A counter: what it was, and for how long. */
struct sum_counter {
	int row;
	char unit[16];
	uint64_t nr; /* values */
	double least, most, last;
	double area; /* of values and their times, ns */
	int64_t known_ns;
};

struct sums {
	struct sum_names rows, states;
	struct sum_counter *counters;
	size_t nr_counters, counters_room;
	struct sonde_hash pairs; /* struct sum_entry */
	uint64_t left_out, nr_cut;
};

static int add_sum_name(struct sum_names *names, const char *name)
{
	if (SONDE_GROW(names->texts, names->nr, names->room))
		return -ENOMEM;
	names->texts[names->nr] = strdup(name);
	return names->texts[names->nr] ? (int)names->nr++ : -ENOMEM;
}

static int sums_row(void *ctx, const char *name, uint32_t sources)
{
	(void)sources;
	return add_sum_name(&((struct sums *)ctx)->rows, name);
}

static int sums_counter(void *ctx, const char *name, const char *unit,
			uint32_t sources)
{
	struct sums *sums = ctx;
	struct sum_counter *counter;

	(void)sources;
	if (SONDE_GROW(sums->counters, sums->nr_counters, sums->counters_room))
		return -ENOMEM;
	counter = &sums->counters[sums->nr_counters++];
	*counter = (struct sum_counter){
		.row = add_sum_name(&sums->rows, name),
		.least = INFINITY,
		.most = -INFINITY,
	};
	(void)snprintf(counter->unit, sizeof(counter->unit), "%s", unit);
	return counter->row;
}

static int sums_state(void *ctx, const char *name, uint32_t colour)
{
	(void)colour;
	return add_sum_name(&((struct sums *)ctx)->states, name);
}

static void sums_left_out(void *ctx)
{
	((struct sums *)ctx)->left_out++;
}

static int sum_value(struct sums *sums, const struct sonde_plugin_piece *piece)
{
	int64_t length_ns = piece->end_ns - piece->begin_ns;
	struct sum_counter *counter;
	size_t i;

	SONDE_SEARCH(i, sums->nr_counters, sums->counters[i].row <= piece->row);
	counter = &sums->counters[i - 1];
	counter->nr++;
	counter->least = fmin(counter->least, piece->value);
	counter->most = fmax(counter->most, piece->value);
	counter->last = piece->value;
	counter->area += piece->value * (double)length_ns;
	counter->known_ns += length_ns;
	return 0;
}

static int sums_piece(void *ctx, const struct sonde_plugin_piece *piece)
{
	struct sums *sums = ctx;
	struct sonde_key key =
		sonde_key_make(SONDE_KEY_UINT, (uint32_t)(piece->state + 1),
			       (uint32_t)piece->row);
	struct sum_entry *entry;
	int64_t length_ns = piece->end_ns - piece->begin_ns;

	if (piece->is_value)
		return sum_value(sums, piece);
	entry = sonde_hash_put(&sums->pairs, &key);

	if (!entry) {
		sums->left_out++;
		return sonde_hash_error(&sums->pairs) == -E2BIG ? 0 : -ENOMEM;
	}
	entry->row = piece->row;
	entry->state = piece->state;
	entry->total_ns += length_ns;
	entry->nr_cut += piece->is_cut;
	sums->nr_cut += piece->is_cut;
	return piece->is_cut ? 0 :
			       sonde_histogram_add(&entry->lengths, length_ns);
}

static const struct sonde_plugin_sink sums_sink = {
	.row = sums_row,
	.counter = sums_counter,
	.state = sums_state,
	.piece = sums_piece,
	.left_out = sums_left_out,
};

static void fini_sum_names(struct sum_names *names)
{
	for (size_t i = 0; i < names->nr; i++)
		free(names->texts[i]);
	free(names->texts);
}

static void fini_sums(struct sums *sums)
{
	struct sum_entry *entry = NULL;

	while ((entry = sonde_hash_next(&sums->pairs, entry)))
		sonde_histogram_fini(&entry->lengths);
	sonde_hash_fini(&sums->pairs);
	free(sums->counters);
	fini_sum_names(&sums->rows);
	fini_sum_names(&sums->states);
}

/* ---- the table ---- */

static int compare_row_sums(const void *a, const void *b, void *ctx)
{
	const struct sum_entry *left = a;
	const struct sum_entry *right = b;

	(void)ctx;
	return (left->total_ns < right->total_ns) -
	       (left->total_ns > right->total_ns);
}

static void add_sum_row(struct sonde_table *table, const void *memory,
			void *ctx)
{
	const struct sum_entry *entry = memory;
	const struct sums *sums = ctx;

	sonde_table_row(table);
	sonde_table_text(table, 0, sums->rows.texts[entry->row]);
	sonde_table_text(table, 1,
			 entry->state < 0 ? "(other)" :
					    sums->states.texts[entry->state]);
	sonde_table_uint(table, 2, entry->lengths.count);
	sonde_table_uint(table, 3, entry->nr_cut);
	sonde_table_int(table, 4, entry->total_ns);
	sonde_histogram_cells(&entry->lengths, table, 5);
}

static int add_sums_table(const struct sonde_analysis_args *args,
			  struct sums *sums, struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		{ "row", "ROW", SONDE_CELL_TEXT },
		{ "state", "STATE", SONDE_CELL_TEXT },
		{ "count", "COUNT", SONDE_CELL_COUNT },
		{ "cut", "CUT", SONDE_CELL_COUNT },
		{ "total", "TOTAL", SONDE_CELL_DURATION },
		SONDE_HISTOGRAM_COLUMNS(SONDE_CELL_DURATION),
	};
	const struct sonde_ranking ranking = {
		.hash = &sums->pairs,
		.compare = compare_row_sums,
		.add = add_sum_row,
		.ctx = sums,
		.rows = sonde_analysis_rows(args, SUMS_ROWS),
	};

	return sonde_ranking_add(
		&ranking, sonde_report_table(report, "states", NULL, columns,
					     SONDE_ARRAY_SIZE(columns)));
}

/* In the order in which they appeared. */
static void add_counters_table(const struct sonde_analysis_args *args,
			       const struct sums *sums,
			       struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		{ "counter", "COUNTER", SONDE_CELL_TEXT },
		{ "unit", "UNIT", SONDE_CELL_TEXT },
		{ "values", "VALUES", SONDE_CELL_COUNT },
		{ "known", "KNOWN", SONDE_CELL_DURATION },
		{ "min", "MIN", SONDE_CELL_NUMBER },
		{ "mean", "MEAN", SONDE_CELL_NUMBER },
		{ "max", "MAX", SONDE_CELL_NUMBER },
		{ "last", "LAST", SONDE_CELL_NUMBER },
	};
	struct sonde_table *table;

	if (!sums->nr_counters)
		return;
	table = sonde_report_table(report, "counters", NULL, columns,
				   SONDE_ARRAY_SIZE(columns));
	for (size_t i = 0; i < sums->nr_counters; i++) {
		const struct sum_counter *counter = &sums->counters[i];

		sonde_table_row(table);
		sonde_table_text(table, 0, sums->rows.texts[counter->row]);
		sonde_table_text(table, 1, counter->unit);
		sonde_table_uint(table, 2, counter->nr);
		sonde_table_int(table, 3, counter->known_ns);
		if (!counter->nr)
			continue;
		sonde_table_double(table, 4, counter->least);
		if (counter->known_ns)
			sonde_table_double(table, 5,
					   counter->area /
						   (double)counter->known_ns);
		sonde_table_double(table, 6, counter->most);
		sonde_table_double(table, 7, counter->last);
	}
	sonde_table_limit(table, sonde_analysis_rows(args, SUMS_ROWS));
}

static int say_sums(const struct sonde_analysis_args *args, struct sums *sums,
		    struct sonde_report *report)
{
	struct sonde_cell_text words = { .args = args };

	size_t nr_rows = sums->rows.nr - sums->nr_counters;

	if (sums->nr_counters)
		sonde_report_note(
			report,
			"What %s was; MEAN is by time, of what is known.",
			sonde_cell_text_count(&words, sums->nr_counters,
					      "counter"));
	add_counters_table(args, sums, report);
	if (!sums->pairs.nr_entries) {
		if (!sums->nr_counters)
			sonde_report_note(report, "No row was in any state.");
		return 0;
	}
	sonde_report_note(report, "How long each state of %s took.",
			  sonde_cell_text_count(&words, nr_rows, "row"));
	if (sums->nr_cut)
		sonde_report_note(
			report,
			"%s (CUT) went on when events were lost or the trace "
			"ended: a part of TOTAL alone.",
			sonde_cell_text_count(&words, sums->nr_cut, "state"));
	if (sums->left_out)
		sonde_report_note(
			report, "%s left out: there are too many rows.",
			sonde_cell_text_count(&words, sums->left_out, "state"));
	return add_sums_table(args, sums, report);
}

/* ---- all of it ---- */

/* Where the trace ends, or what is asked of it. */
static int64_t sums_end(const struct sonde_analysis_args *args)
{
	int64_t begin_ns;
	int64_t end_ns = SONDE_TIME_MIN;

	(void)sonde_trace_range(args->trace, &begin_ns, &end_ns);
	return args->map.to_ns < end_ns ? args->map.to_ns : end_ns;
}

/* If none fits, the first one's words say why. */
static int begin_sums(struct sonde_plugin_pass *pass,
		      const struct sonde_plugin_rows *const *rows,
		      struct sonde_analysis_args *args, struct sums *sums)
{
	char first[256] = "";
	char why[256];

	for (size_t i = 0; rows[i]; i++) {
		int err = sonde_plugin_pass_rows(pass, rows[i], &sums_sink,
						 sums, why, sizeof(why));

		if (err == -ENOMEM)
			return err;
		if (err && !*why)
			(void)snprintf(why, sizeof(why), "no rows '%.60s': %s",
				       rows[i]->name, strerrordesc_np(-err));
		if (!*first)
			(void)snprintf(first, sizeof(first), "%s", why);
	}
	if (sonde_plugin_pass_wants(pass))
		return 0;
	return sonde_analysis_fail(args, -ENODATA, "%s",
				   *first ? first :
					    "the trace has no such events");
}

int sonde_plugin_sums_run(struct sonde_analysis_args *args,
			  struct sonde_report **ret_report)
{
	const struct sonde_analysis *analysis = args->analysis;
	struct sonde_report *report = sonde_report_new(analysis->name);
	struct sonde_plugin_pass *pass = NULL;
	struct sums sums = { .nr_cut = 0 };
	int err = sonde_plugin_pass_new(args->trace, &pass);

	sonde_hash_init(&sums.pairs, sizeof(struct sum_entry), SUMS);
	if (!err)
		err = begin_sums(pass, analysis->rows, args, &sums);
	if (!err)
		err = sonde_plugin_pass_run(pass, &args->map, sums_end(args));
	if (!err)
		err = say_sums(args, &sums, report);
	sonde_plugin_pass_free(pass);
	fini_sums(&sums);
	return sonde_report_end(report, err, ret_report);
}
