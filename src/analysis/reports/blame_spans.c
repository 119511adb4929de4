/* SPDX-License-Identifier: MIT */
/*
 * blame_spans.c - the spans that `blame` and `critical` explain, and the
 * sentences both say about them.
 *
 * The spans are joined first; what threads did is read only for those that are
 * asked for. Without a span that was chosen a report has notes and no table.
 */
#include "analysis/reports/blame_spans.h"

#include <errno.h>
#include <inttypes.h>

#include "analysis/reports/durations.h"
#include "analysis/reports/kernel.h"
#include "analysis/reports/words.h"

static int find_history(struct sonde_analysis_args *args, bool all,
			struct sonde_blame_spans *spans)
{
	const struct sonde_worst *worst = &spans->join.worst;
	struct sonde_history_window windows[SONDE_WORST_MAX];
	size_t nr = 0;
	int error;

	for (size_t i = 0; i < worst->nr; i++)
		if (all || &worst->spans[i] == spans->chosen)
			windows[nr++] = (struct sonde_history_window){
				.begin_ns = worst->spans[i].begin_ns,
				.end_ns = worst->spans[i].end_ns,
			};
	error = sonde_history_read(args, windows, nr, &spans->history);
	if (!error)
		sonde_causes_init(&spans->causes, spans->history.tables,
				  spans->history.kernel);
	return error;
}

int sonde_blame_spans_find(struct sonde_analysis_args *args, const char *name,
			   bool all, struct sonde_blame_spans *ret_spans)
{
	const struct sonde_durations_config config = {
		.begin = args->begin,
		.end = args->end,
		.key = args->key,
		.key_class = args->key_class,
		.by_thread = true,
	};
	size_t nth = args->nth ? (size_t)args->nth : 1;
	const struct sonde_worst *worst = &ret_spans->join.worst;
	int error;

	*ret_spans = (struct sonde_blame_spans){ .args = args };
	if (!args->begin || !args->end)
		return sonde_analysis_fail(
			args, -EINVAL, "%s needs --begin EXPR and --end EXPR",
			name);
	if (nth > SONDE_WORST_MAX)
		return sonde_analysis_fail(args, -EINVAL,
					   "--nth is from 1 to %d",
					   SONDE_WORST_MAX);
	error = sonde_durations_find(args, &config, &ret_spans->join);
	if (error || worst->nr < nth)
		return error;
	ret_spans->chosen = &worst->spans[nth - 1];
	if (ret_spans->chosen->tid < 0)
		return sonde_analysis_fail(
			args, -ENODATA,
			"the trace doesn't say which thread an event of "
			"--begin is of");
	return find_history(args, all, ret_spans);
}

void sonde_blame_spans_fini(struct sonde_blame_spans *spans)
{
	sonde_causes_fini(&spans->causes);
	sonde_history_fini(&spans->history);
	sonde_join_fini(&spans->join);
}

void sonde_blame_spans_notes(const struct sonde_blame_spans *spans,
			     struct sonde_report *report)
{
	struct sonde_words words = { .args = spans->args };
	const struct sonde_join *join = &spans->join;
	const struct sonde_durations_config config = {
		.key = spans->args->key,
	};

	sonde_durations_left_out(spans->args, &config, join, report);
	if (!join->worst.nr)
		sonde_durations_none(spans->args, join, report);
	else if (!spans->chosen)
		sonde_report_note(report, "There are only %s.",
				  sonde_words_count(&words, join->worst.nr,
						    "span"));
	else
		sonde_model_notes(spans->history.kernel,
				  spans->history.left_out, report);
}

const char *sonde_blame_state_text(enum sonde_state_kind kind)
{
	static const char *const texts[] = {
		[SONDE_STATE_RUN] = "running",
		[SONDE_STATE_READY] = "waiting for a CPU",
		[SONDE_STATE_PREEMPTED] = "preempted",
		[SONDE_STATE_BLOCKED] = "blocked",
		[SONDE_STATE_UNKNOWN] = "unknown",
	};

	return texts[kind];
}

int sonde_blame_spans_report(struct sonde_analysis_args *args, const char *name,
			     bool all,
			     int (*show)(const struct sonde_blame_spans *spans,
					 struct sonde_report *report),
			     struct sonde_report **ret_report)
{
	struct sonde_blame_spans spans;
	struct sonde_report *report = NULL;
	int error = sonde_blame_spans_find(args, name, all, &spans);

	if (!error) {
		report = sonde_report_new(name);
		if (spans.chosen)
			error = show(&spans, report);
		sonde_blame_spans_notes(&spans, report);
	}
	error = sonde_report_end(report, error, ret_report);
	sonde_blame_spans_fini(&spans);
	return error;
}
