/* SPDX-License-Identifier: MIT */
/*
 * explain_latency.c - `sonde report latency --explain`: the spans of --begin and
 * --end, or those whose length --value says, with what took their time.
 *
 * Joined as `latency` joins them; then the kernel's events of these spans alone
 * are looked at.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/reports/cell_text.h"
#include "analysis/reports/durations.h"
#include "analysis/reports/explain.h"
#include "analysis/reports/kernel.h"
#include "base/port.h"
#include "base/text.h"

#define EXPLAIN_ROWS 20

struct explaining {
	struct sonde_analysis_args *args;
	struct sonde_explain explain;
	const struct sonde_join *join;
	struct sonde_join_span *spans; /* longest first */
	size_t nr;
	/* By the kind of the main reason. */
	uint64_t nr_named, nr_itself, nr_untold;
};

/* ---- which spans ---- */

static int64_t explaining_span_ns(const struct sonde_join_span *span)
{
	return sonde_elapsed_ns(span->begin_ns, span->end_ns);
}

static int explaining_compare_lengths(const void *a, const void *b)
{
	const struct sonde_join_span *left = a;
	const struct sonde_join_span *right = b;

	if (explaining_span_ns(left) != explaining_span_ns(right))
		return explaining_span_ns(left) < explaining_span_ns(right) ?
			       1 :
			       -1;
	if (left->begin_ns != right->begin_ns)
		return left->begin_ns > right->begin_ns ? 1 : -1;
	return (left->tid > right->tid) - (left->tid < right->tid);
}

static int explaining_choose(struct explaining *explaining)
{
	const struct sonde_join *join = explaining->join;
	size_t nr = explaining->args->over_ns ? join->nr_kept : join->worst.nr;

	explaining->spans = calloc(nr + 1, sizeof(*explaining->spans));
	if (!explaining->spans)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		explaining->spans[i] =
			explaining->args->over_ns ?
				join->kept[i] :
				(struct sonde_join_span){
					.begin_ns =
						join->worst.spans[i].begin_ns,
					.end_ns = join->worst.spans[i].end_ns,
					.tid = join->worst.spans[i].tid,
				};
	qsort(explaining->spans, nr, sizeof(*explaining->spans),
	      explaining_compare_lengths);
	explaining->nr = nr;
	return 0;
}

/* ---- tables ---- */

static void explaining_add_span_row(struct explaining *explaining,
				    const struct sonde_explain_span *told,
				    struct sonde_table *table)
{
	char text[2 * SONDE_EXPLAIN_TEXT + 64] = "";
	struct sonde_text more = { .to = text, .size = sizeof(text) };
	struct sonde_cell_text words = { .args = explaining->args };

	sonde_table_row(table);
	sonde_table_int(table, 0, explaining_span_ns(told->span));
	sonde_table_int(table, 1, told->span->begin_ns);
	if (told->span->tid >= 0)
		sonde_table_int(table, 2, told->span->tid);
	if (!told->nr)
		return;
	sonde_table_int(table, 3, told->shares[0].ns);
	sonde_table_text(table, 4, told->shares[0].text);
	for (size_t i = 1; i < told->nr; i++)
		sonde_text_add(&more, "%s%s %s", i > 1 ? "; " : "",
			       sonde_cell_text_int(&words, SONDE_CELL_DURATION,
						   told->shares[i].ns),
			       told->shares[i].text);
	if (*text)
		sonde_table_text(table, 5, text);
}

static void explaining_count_main(struct explaining *explaining,
				  const struct sonde_explain_span *told)
{
	uint8_t kind = told->nr ? told->shares[0].kind : SONDE_EXPLAIN_UNTOLD;

	if (kind < SONDE_EXPLAIN_ITSELF)
		explaining->nr_untold++;
	else if (kind == SONDE_EXPLAIN_ITSELF)
		explaining->nr_itself++;
	else
		explaining->nr_named++;
}

static int explaining_add_spans(struct explaining *explaining,
				struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		{ "duration", "DURATION", SONDE_CELL_DURATION },
		{ "begin", "BEGIN", SONDE_CELL_TIME },
		{ "tid", "TID", SONDE_CELL_INT },
		{ "main", "OF IT", SONDE_CELL_DURATION },
		{ "why", "WHY", SONDE_CELL_TEXT },
		{ "more", "AND", SONDE_CELL_TEXT },
	};
	struct sonde_table *table =
		sonde_report_table(report, "spans", "The longest, and why",
				   columns, SONDE_ARRAY_SIZE(columns));
	size_t rows = sonde_analysis_rows(explaining->args, EXPLAIN_ROWS);
	int error = 0;

	sonde_table_minor(table, 1u << 1 | 1u << 5);
	for (size_t i = 0; i < explaining->nr && !error; i++) {
		struct sonde_explain_span told;

		error = sonde_explain_span(&explaining->explain,
					   &explaining->spans[i], i + 1, &told);
		if (error)
			break;
		explaining_count_main(explaining, &told);
		if (i < rows)
			explaining_add_span_row(explaining, &told, table);
	}
	if (explaining->nr > rows)
		sonde_table_more(table, explaining->nr - rows);
	return error;
}

static int explaining_compare_reasons(const void *a, const void *b, void *ctx)
{
	const struct sonde_explain_reason *left = a;
	const struct sonde_explain_reason *right = b;

	(void)ctx;
	if (left->nr_main != right->nr_main)
		return left->nr_main < right->nr_main ? 1 : -1;
	return (left->ns < right->ns) - (left->ns > right->ns);
}

static int explaining_add_reasons(struct explaining *explaining,
				  struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		{ "main", "MAIN", SONDE_CELL_COUNT },
		{ "spans", "SPANS", SONDE_CELL_COUNT },
		{ "time", "TIME", SONDE_CELL_DURATION },
		{ "longest", "LONGEST", SONDE_CELL_DURATION },
		{ "why", "WHY", SONDE_CELL_TEXT },
	};
	const struct sonde_hash *reasons = &explaining->explain.reasons;
	struct sonde_table *table =
		sonde_report_table(report, "reasons", "All together", columns,
				   SONDE_ARRAY_SIZE(columns));
	const void **sorted =
		sonde_hash_sorted(reasons, explaining_compare_reasons, NULL);

	if (!sorted)
		return reasons->nr_entries ? -ENOMEM : 0;
	for (size_t i = 0; i < reasons->nr_entries; i++) {
		const struct sonde_explain_reason *reason = sorted[i];

		sonde_table_row(table);
		sonde_table_uint(table, 0, reason->nr_main);
		sonde_table_uint(table, 1, reason->nr_spans);
		sonde_table_int(table, 2, reason->ns);
		sonde_table_int(table, 3, reason->longest_ns);
		sonde_table_text(table, 4, reason->text);
	}
	free(sorted);
	sonde_table_limit(table,
			  sonde_analysis_rows(explaining->args, EXPLAIN_ROWS));
	return 0;
}

/* ---- in sentences ---- */

static void explaining_say_all(const struct explaining *explaining,
			       struct sonde_report *report)
{
	struct sonde_cell_text words = { .args = explaining->args };

	sonde_report_note(
		report,
		"Of %s, something other than the thread explains %s; in %s it had "
		"the CPU itself, with no event of the kernel to account for it; "
		"of %s the trace doesn't tell.",
		sonde_cell_text_count(&words, explaining->nr, "span"),
		sonde_cell_text_int(&words, SONDE_CELL_COUNT,
				    (int64_t)explaining->nr_named),
		sonde_cell_text_int(&words, SONDE_CELL_COUNT,
				    (int64_t)explaining->nr_itself),
		sonde_cell_text_int(&words, SONDE_CELL_COUNT,
				    (int64_t)explaining->nr_untold));
	if (explaining->join->not_kept)
		sonde_report_note(report,
				  "%s were too many to be looked at; a greater "
				  "--threshold leaves less.",
				  sonde_cell_text_count(
					  &words, explaining->join->not_kept,
					  "span"));
}

static void explaining_add_values(const struct explaining *explaining,
				  struct sonde_report *report)
{
	const struct {
		const char *key, *title;
		uint64_t value;
	} values[] = {
		{ "explained", "Spans with a reason", explaining->nr_named },
		{ "itself", "Spans of the thread itself",
		  explaining->nr_itself },
		{ "untold", "Spans without an explanation",
		  explaining->nr_untold },
		{ "unended", "Begins without an end",
		  explaining->join->unended },
		{ "unbegun", "Ends without a begin",
		  explaining->join->unbegun },
	};

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(values); i++)
		sonde_report_value(report, values[i].key, values[i].title,
				   SONDE_CELL_COUNT, (int64_t)values[i].value,
				   0, NULL);
}

static int explaining_show(struct explaining *explaining,
			   struct sonde_report *report)
{
	int error = sonde_explain_read(explaining->args, explaining->spans,
				       explaining->nr, &explaining->explain);

	if (!error)
		error = explaining_add_spans(explaining, report);
	if (!error)
		error = explaining_add_reasons(explaining, report);
	if (!error) {
		explaining_say_all(explaining, report);
		explaining_add_values(explaining, report);
		sonde_model_notes(explaining->explain.kernel,
				  explaining->explain.left_out, report);
	}
	sonde_explain_fini(&explaining->explain);
	return error;
}

/* ---- the report ---- */

static int explaining_run(struct sonde_analysis_args *args,
			  const struct sonde_durations_config *config,
			  const struct sonde_join *join,
			  struct sonde_report **ret_report)
{
	struct explaining explaining = { .args = args, .join = join };
	struct sonde_report *report = NULL;
	int error = explaining_choose(&explaining);

	if (!error) {
		report = sonde_report_new("latency");
		sonde_durations_left_out(args, config, join, report);
	}
	if (!error && explaining.nr)
		error = explaining_show(&explaining, report);
	else if (!error)
		sonde_report_note(report, "There is no span %s.",
				  args->over_ns ? "as long as --threshold" :
						  "to be explained");
	free(explaining.spans);
	return sonde_report_end(report, error, ret_report);
}

int sonde_explain_latency(struct sonde_analysis_args *args,
			  struct sonde_report **ret_report)
{
	const struct sonde_durations_config config = {
		.begin = args->begin,
		.end = args->end,
		.key = args->key,
		.key_class = args->key_class,
		.length = args->value,
		.keep_ns = args->over_ns,
		.by_thread = true,
	};
	struct sonde_join join;
	int error;

	if (!args->end || !args->begin == !args->value)
		return sonde_analysis_fail(
			args, -EINVAL,
			"latency --explain needs --end EXPR, and either "
			"--begin EXPR or, if an end says how many ns it was, "
			"--value EXPR");
	error = sonde_durations_find(args, &config, &join);
	if (!error)
		error = explaining_run(args, &config, &join, ret_report);
	sonde_join_fini(&join);
	return error;
}
