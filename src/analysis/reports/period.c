/* SPDX-License-Identifier: MIT */
/*
 * period.c - `sonde report period`: the time from one event of --begin to the
 * next one, among those with the same --key.
 *
 * Such an event ends one span and begins the next, so the only thing without
 * an end is each key's last event, and each key's first has no begin: that is
 * how many keys there are, not a defect.
 */
#include <errno.h>

#include "analysis/reports/cell_text.h"
#include "analysis/reports/durations.h"
#include "analysis/reports/reports.h"

static void say(const struct sonde_analysis_args *args,
		const struct sonde_join *join, struct sonde_report *report)
{
	const struct sonde_histogram *periods = &join->durations;
	struct sonde_cell_text words = { .args = args };
	double mean = sonde_histogram_mean(periods);
	double deviation = sonde_histogram_deviation(periods);

	if (!periods->count) {
		sonde_report_note(report, "No event comes twice.");
		return;
	}
	sonde_report_note(
		report,
		"Every %s on average, with a standard deviation of %s (%s); "
		"the shortest period is %s, the longest %s, from %s on.",
		sonde_cell_text_int(&words, SONDE_CELL_DURATION,
				    sonde_round(mean)),
		sonde_cell_text_int(&words, SONDE_CELL_DURATION,
				    sonde_round(deviation)),
		sonde_cell_text_double(&words, SONDE_CELL_PERCENT,
				       mean > 0 ? deviation / mean : 0),
		sonde_cell_text_int(&words, SONDE_CELL_DURATION, periods->min),
		sonde_cell_text_int(&words, SONDE_CELL_DURATION, periods->max),
		sonde_cell_text_int(&words, SONDE_CELL_TIME,
				    join->worst.spans[0].begin_ns));
}

static void period_head(const struct sonde_analysis_args *args,
			const struct sonde_join *join,
			struct sonde_report *report)
{
	say(args, join, report);
	sonde_report_value(report, "keys", "Different keys", SONDE_CELL_COUNT,
			   (int64_t)join->unended, 0, NULL);
}

static int run(struct sonde_analysis_args *args,
	       struct sonde_report **ret_report)
{
	const struct sonde_durations_config config = {
		.begin = args->begin,
		.end = args->begin,
		.key = args->key,
		.key_class = args->key_class,
	};

	if (!args->begin || args->end)
		return sonde_analysis_fail(
			args, -EINVAL,
			"period needs --begin EXPR, and no --end");
	return sonde_durations_run(args, &config, "period", period_head,
				   ret_report);
}

const struct sonde_analysis sonde_analysis_period = {
	.name = "period",
	.summary = "time between events of --begin EXPR, by --key EXPR",
	.needs = "",
	.run = run,
};
