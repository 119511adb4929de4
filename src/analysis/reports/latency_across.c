/* SPDX-License-Identifier: MIT */
/*
 * latency_across.c - `sonde report latency --across`: how long requests took from a
 * machine to another, each with how far that can be from the truth (across.h).
 *
 * No duration is further from the truth than its bound, so no quantile is further
 * from it than the widest one.
 */
#include "analysis/model/attribution.h"
#include "analysis/reports/across.h"
#include "analysis/reports/cell_text.h"
#include "base/port.h"
#include "reader/reader.h"

static void note_spans(const struct sonde_analysis_args *args,
		       const struct sonde_across *across,
		       struct sonde_report *report)
{
	const struct sonde_histogram *durations = &across->durations;
	const struct sonde_longest_span *worst = &across->worst.spans[0];
	struct sonde_cell_text words = { .args = args };

	sonde_report_note(
		report,
		"%s, %s of them from one machine to another: the longest took "
		"%s, from %s on, within %s; half took at most %s, 99 of 100 at "
		"most %s, each of them within %s.",
		sonde_cell_text_count(&words, durations->count, "span"),
		sonde_cell_text_int(&words, SONDE_CELL_COUNT,
				    (int64_t)across->elsewhere),
		sonde_cell_text_int(&words, SONDE_CELL_DURATION,
				    durations->max),
		sonde_cell_text_int(&words, SONDE_CELL_TIME, worst->begin_ns),
		sonde_cell_text_int(&words, SONDE_CELL_DURATION,
				    worst->other_ns),
		sonde_cell_text_int(&words, SONDE_CELL_DURATION,
				    sonde_histogram_quantile(durations, 0.5)),
		sonde_cell_text_int(&words, SONDE_CELL_DURATION,
				    sonde_histogram_quantile(durations, 0.99)),
		sonde_cell_text_int(&words, SONDE_CELL_DURATION,
				    across->widest_ns));
}

/* Notes what isn't known of latencies across machines, and why. */
static void note_doubts(const struct sonde_analysis_args *args,
			const struct sonde_across *across,
			struct sonde_report *report)
{
	struct sonde_cell_text words = { .args = args };

	if (across->unknown)
		sonde_report_note(
			report,
			"How long %s took is unknown: the two machines' clocks "
			"are known no better; it was at most %s.",
			sonde_cell_text_count(&words, across->unknown, "span"),
			sonde_cell_text_int(&words, SONDE_CELL_DURATION,
					    across->unknown_ns));
	if (across->uncompared)
		sonde_report_note(
			report,
			"%s from one machine to another left out: how their "
			"clocks were to each other then isn't known; sonde "
			"sync --write finds it out.",
			sonde_cell_text_count(&words, across->uncompared,
					      "span"));
	if (across->repeated)
		sonde_report_note(
			report,
			"%s left out: there are several begins or "
			"ends of each, and which of them belong "
			"together isn't known.",
			sonde_cell_text_count(&words, across->repeated, "key"));
	if (across->reversed)
		sonde_report_note(
			report,
			"%s left out: the end was before the begin, "
			"so these are not of each other.",
			sonde_cell_text_count(&words, across->reversed, "key"));
}

static void report_counts(const struct sonde_across *across,
			  struct sonde_report *report)
{
	const struct {
		const char *key, *title;
		uint64_t count;
	} values[] = {
		{ "unknown", "Spans of unknown length", across->unknown },
		{ "uncompared", "Spans between clocks that weren't compared",
		  across->uncompared },
		{ "repeated", "Keys with several begins or ends",
		  across->repeated },
		{ "reversed", "Keys with an end before the begin",
		  across->reversed },
		{ "unended", "Begins without an end", across->unended },
		{ "unbegun", "Ends without a begin", across->unbegun },
	};

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(values); i++)
		sonde_report_value(report, values[i].key, values[i].title,
				   SONDE_CELL_COUNT, (int64_t)values[i].count,
				   0, NULL);
}

static void report_all(const struct sonde_across *across,
		       struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		{ "count", "COUNT", SONDE_CELL_COUNT },
		{ "within", "WITHIN", SONDE_CELL_DURATION },
		SONDE_HISTOGRAM_COLUMNS(SONDE_CELL_DURATION),
	};
	struct sonde_table *table = sonde_report_table(
		report, "latency", NULL, columns, SONDE_ARRAY_SIZE(columns));

	sonde_table_row(table);
	sonde_table_uint(table, 0, across->durations.count);
	if (across->durations.count)
		sonde_table_int(table, 1, across->widest_ns);
	sonde_histogram_cells(&across->durations, table, 2);
	sonde_histogram_report(&across->durations, report, "histogram",
			       "How long", SONDE_CELL_DURATION);
}

static void report_ways(const struct sonde_analysis_args *args,
			const struct sonde_across *across,
			struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		{ "from", "FROM", SONDE_CELL_TEXT },
		{ "to", "TO", SONDE_CELL_TEXT },
		{ "count", "COUNT", SONDE_CELL_COUNT },
		{ "unknown", "UNKNOWN", SONDE_CELL_COUNT },
		{ "uncompared", "UNCOMPARED", SONDE_CELL_COUNT },
		{ "max", "LONGEST", SONDE_CELL_DURATION },
		{ "within", "WITHIN", SONDE_CELL_DURATION },
	};
	const struct sonde_trace_machine *machines = args->trace->machines;
	size_t nr = across->nr_machines;
	struct sonde_table *table =
		sonde_report_table(report, "ways", "From machine to machine",
				   columns, SONDE_ARRAY_SIZE(columns));

	for (size_t i = 0; i < nr * nr; i++) {
		const struct sonde_across_way *way = &across->ways[i];

		if (!way->spans && !way->uncompared)
			continue;
		sonde_table_row(table);
		sonde_table_text(table, 0, machines[i / nr].host);
		sonde_table_text(table, 1, machines[i % nr].host);
		sonde_table_uint(table, 2, way->spans);
		sonde_table_uint(table, 3, way->unknown);
		sonde_table_uint(table, 4, way->uncompared);
		if (way->spans)
			sonde_table_int(table, 5, way->longest_ns);
		if (way->spans)
			sonde_table_int(table, 6, way->widest_ns);
	}
}

static void report_longest_row(const struct sonde_analysis_args *args,
			       const struct sonde_longest_span *span,
			       struct sonde_table *table)
{
	int64_t ns = sonde_elapsed_ns(span->begin_ns, span->end_ns);

	sonde_table_row(table);
	if (!span->other_ns || ns > span->other_ns)
		sonde_table_int(table, 0, ns);
	sonde_table_int(table, 1, span->other_ns);
	sonde_table_int(table, 2, span->begin_ns);
	sonde_table_text(table, 3, args->trace->machines[span->place].host);
	sonde_table_text(table, 4,
			 args->trace->machines[span->other_place].host);
	if (span->tid >= 0)
		sonde_table_int(table, 5, span->tid);
	sonde_table_text(table, 6, span->name);
	sonde_table_text(
		table, 7,
		sonde_attribution_last_name(
			sonde_trace_attribution(args->trace, span->place),
			span->tid));
}

static void report_longest(const struct sonde_analysis_args *args,
			   const struct sonde_longest *worst,
			   struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		{ "duration", "DURATION", SONDE_CELL_DURATION },
		{ "within", "WITHIN", SONDE_CELL_DURATION },
		{ "begin", "BEGIN", SONDE_CELL_TIME },
		{ "from", "FROM", SONDE_CELL_TEXT },
		{ "to", "TO", SONDE_CELL_TEXT },
		{ "tid", "THREAD", SONDE_CELL_INT },
		{ "key", "KEY", SONDE_CELL_TEXT },
		SONDE_NAME_COLUMN,
	};
	struct sonde_table *table =
		sonde_report_table(report, "worst", "The longest", columns,
				   SONDE_ARRAY_SIZE(columns));

	for (size_t i = 0; i < worst->nr; i++)
		report_longest_row(args, &worst->spans[i], table);
	sonde_table_limit(table, sonde_analysis_rows(args, SONDE_LONGEST_MAX));
}

static void across_fill(const struct sonde_analysis_args *args,
			const struct sonde_durations_config *config,
			const struct sonde_across *across,
			struct sonde_report *report)
{
	const struct sonde_join left_out = {
		.keyless = across->keyless,
		.across = across->across,
		.unended = across->unended,
		.unbegun = across->unbegun,
	};

	if (!across->durations.count)
		sonde_durations_none(args, &left_out, report);
	else if (across->durations.count > across->unknown)
		note_spans(args, across, report);
	note_doubts(args, across, report);
	report_counts(across, report);
	sonde_durations_left_out(args, config, &left_out, report);
	report_all(across, report);
	report_ways(args, across, report);
	report_longest(args, &across->worst, report);
}

int sonde_across_run(struct sonde_analysis_args *args,
		     const struct sonde_durations_config *config,
		     struct sonde_report **ret_report)
{
	struct sonde_report *report;
	struct sonde_across across;
	int err = sonde_across_find(args, config, &across);

	if (!err) {
		report = sonde_report_new("latency");
		across_fill(args, config, &across, report);
		err = sonde_report_end(report, 0, ret_report);
	}
	sonde_across_fini(&across);
	return err;
}
