/* SPDX-License-Identifier: MIT */
/*
 * latency.c - `sonde report latency`: how long it takes from an event of
 * --begin to the next of --end with the same --key; --across: to that of --end,
 * on whatever machine it is.
 */
#include <errno.h>

#include "analysis/reports/across.h"
#include "analysis/reports/cell_text.h"
#include "analysis/reports/durations.h"
#include "analysis/reports/explain.h"
#include "analysis/reports/reports.h"

static void say(const struct sonde_analysis_args *args,
		const struct sonde_join *join, struct sonde_report *report)
{
	const struct sonde_histogram *durations = &join->durations;
	const struct sonde_longest_span *worst = &join->worst.spans[0];
	struct sonde_cell_text words = { .args = args };

	if (!durations->count) {
		sonde_durations_none(args, join, report);
		return;
	}
	sonde_report_note(
		report,
		"%s: the longest took %s, from %s on; half took at most %s, 99 "
		"of 100 at most %s.",
		sonde_cell_text_count(&words, durations->count, "span"),
		sonde_cell_text_int(&words, SONDE_CELL_DURATION,
				    durations->max),
		sonde_cell_text_int(&words, SONDE_CELL_TIME, worst->begin_ns),
		sonde_cell_text_int(&words, SONDE_CELL_DURATION,
				    sonde_histogram_quantile(durations, 0.5)),
		sonde_cell_text_int(&words, SONDE_CELL_DURATION,
				    sonde_histogram_quantile(durations, 0.99)));
}

static void head(const struct sonde_analysis_args *args,
		 const struct sonde_join *join, struct sonde_report *report)
{
	say(args, join, report);
	sonde_report_value(report, "unended", "Begins without an end",
			   SONDE_CELL_COUNT, (int64_t)join->unended, 0, NULL);
	sonde_report_value(report, "unbegun", "Ends without a begin",
			   SONDE_CELL_COUNT, (int64_t)join->unbegun, 0, NULL);
}

static int run(struct sonde_analysis_args *args,
	       struct sonde_report **ret_report)
{
	const struct sonde_durations_config config = {
		.begin = args->begin,
		.end = args->end,
		.key = args->key,
		.key_class = args->key_class,
		.by_thread = true,
	};

	if (args->across &&
	    (args->explain || !args->begin || !args->end || !args->key))
		return sonde_analysis_fail(
			args, -EINVAL,
			"latency --across needs --begin EXPR, --end EXPR and "
			"--key EXPR, what a request has on all machines, and "
			"has no --explain");
	if (args->across)
		return sonde_across_run(args, &config, ret_report);
	if (args->explain)
		return sonde_explain_latency(args, ret_report);
	if (!args->begin || !args->end)
		return sonde_analysis_fail(
			args, -EINVAL,
			"latency needs --begin EXPR and --end EXPR");
	return sonde_durations_run(args, &config, "latency", head, ret_report);
}

const struct sonde_analysis sonde_analysis_latency = {
	.name = "latency",
	.summary = "time from --begin EXPR to --end EXPR, by --key EXPR",
	.needs = "",
	.run = run,
};
