/* SPDX-License-Identifier: MIT */
/*
 * blame_spans.c - the spans that `blame` and `critical` explain, and the
 * sentences both say about them.
 *
 * The spans are joined first, of each machine; then it is found how the clocks of
 * other machines are to that of the one with the chosen span; what threads did is read
 * only for those spans that are asked for. Without a span that was chosen a report has notes and no table.
 */
#include "analysis/reports/blame_spans.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/reports/cell_text.h"
#include "analysis/reports/durations.h"
#include "analysis/reports/kernel.h"
#include "analysis/reports/key_senders.h"
#include "base/port.h"
#include "reader/reader.h"

/* ---- spans ---- */

/* A machine's are put with those of all. */
static void add_spans_of(struct sonde_join *all, struct sonde_join *one,
			 size_t nr_machines, size_t machine)
{
	struct sonde_longest *worst = &one->worst;

	for (size_t i = 0; i < worst->nr; i++) {
		worst->spans[i].tid = sonde_history_tid(nr_machines, machine,
							worst->spans[i].tid);
		worst->spans[i].other_tid = sonde_history_tid(
			nr_machines, machine, worst->spans[i].other_tid);
	}
	sonde_longest_merge(&all->worst, worst);
	all->unended += one->unended;
	all->unbegun += one->unbegun;
	all->across += one->across;
	all->keyless += one->keyless;
}

/* Each machine's by itself: threads of different ones have the same numbers, and
 * their clocks differ. */
static int find_spans(struct sonde_analysis_args *args,
		      const struct sonde_durations_config *config,
		      struct sonde_join *all)
{
	size_t nr = args->trace->nr_machines;
	int error = 0;

	if (nr == 1)
		return sonde_durations_find(args, config, all);
	if (nr > SONDE_HISTORY_MACHINES)
		return sonde_analysis_fail(args, -EINVAL,
					   "more than %u machines; name fewer "
					   "traces",
					   SONDE_HISTORY_MACHINES);
	for (size_t i = 0; i < nr && !error; i++) {
		const bool *streams = args->map.streams;
		bool *own = sonde_map_streams_of(args->trace, i);
		struct sonde_join one;

		if (!own)
			return -ENOMEM;
		args->map.streams = own;
		error = sonde_durations_find(args, config, &one);
		args->map.streams = streams;
		free(own);
		add_spans_of(all, &one, nr, i);
		sonde_join_fini(&one);
	}
	return error;
}

/* ---- machines ---- */

static size_t span_machine(const struct sonde_blame_spans *spans,
			   const struct sonde_longest_span *span)
{
	return sonde_history_machine(spans->args->trace->nr_machines,
				     span->tid);
}

/* All that threads sent to each other, and what that says of their clocks. */
static int find_clocks(struct sonde_analysis_args *args,
		       struct sonde_blame_spans *spans)
{
	size_t nr = args->trace->nr_machines;
	int error;

	spans->clocks = calloc(nr, sizeof(*spans->clocks));
	if (!spans->clocks)
		return -ENOMEM;
	error = sonde_transfers_read(args->trace, &args->map,
				     &spans->transfers);
	if (error)
		return error;
	return sonde_host_clocks_find(
		&spans->transfers, (uint32_t)span_machine(spans, spans->chosen),
		spans->chosen->begin_ns, spans->chosen->end_ns, spans->clocks,
		nr);
}

/* Spans of other machines are given by the clock of the chosen one's. */
static void shift_spans(struct sonde_blame_spans *spans)
{
	struct sonde_longest *worst = &spans->join.worst;

	for (size_t i = 0; i < worst->nr; i++) {
		struct sonde_longest_span *span = &worst->spans[i];
		int64_t offset_ns =
			spans->clocks[span_machine(spans, span)].offset_ns;
		int64_t begin_ns;
		int64_t end_ns;

		if (__builtin_sub_overflow(span->begin_ns, offset_ns,
					   &begin_ns) ||
		    __builtin_sub_overflow(span->end_ns, offset_ns, &end_ns))
			continue;
		span->begin_ns = begin_ns;
		span->end_ns = end_ns;
	}
}

static int name_machines(const struct sonde_analysis_args *args,
			 struct sonde_blame_spans *spans)
{
	const struct sonde_history *history = &spans->history;
	size_t first = span_machine(spans, spans->chosen);

	if (history->nr_machines > 1) {
		spans->hosts =
			calloc(history->nr_machines, sizeof(*spans->hosts));
		if (!spans->hosts)
			return -ENOMEM;
	}
	for (size_t i = 0; spans->hosts && i < history->nr_machines; i++) {
		sonde_causes_init(&spans->hosts[i], history->machines[i].tables,
				  history->machines[i].kernel);
		spans->hosts[i].host = args->trace->machines[i].host;
	}
	sonde_causes_init(&spans->causes, history->machines[first].tables,
			  history->machines[first].kernel);
	spans->causes.machines = spans->hosts;
	spans->causes.nr_machines = history->nr_machines;
	return 0;
}

/* ---- what all threads did ---- */

static int find_history(struct sonde_analysis_args *args, bool all,
			struct sonde_blame_spans *spans)
{
	const struct sonde_longest *worst = &spans->join.worst;
	struct sonde_history_window windows[SONDE_LONGEST_MAX];
	size_t nr = 0;
	int error = find_clocks(args, spans);

	if (error)
		return error;
	shift_spans(spans);
	for (size_t i = 0; i < worst->nr; i++)
		if (all || &worst->spans[i] == spans->chosen)
			windows[nr++] = (struct sonde_history_window){
				.begin_ns = worst->spans[i].begin_ns,
				.end_ns = worst->spans[i].end_ns,
			};
	error = sonde_history_read(args, windows, nr, spans->clocks,
				   span_machine(spans, spans->chosen),
				   &spans->history);
	if (!error)
		error = sonde_senders_find(&spans->history, &spans->transfers,
					   spans->clocks);
	if (!error && args->key && spans->history.nr_machines > 1)
		error = sonde_senders_find_by_key(args, &spans->history,
						  spans->clocks,
						  &spans->keys_left_out);
	return error ? error : name_machines(args, spans);
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
	const struct sonde_longest *worst = &ret_spans->join.worst;
	int error;

	*ret_spans = (struct sonde_blame_spans){ .args = args };
	if (!args->begin || !args->end)
		return sonde_analysis_fail(
			args, -EINVAL, "%s needs --begin EXPR and --end EXPR",
			name);
	if (nth > SONDE_LONGEST_MAX)
		return sonde_analysis_fail(args, -EINVAL,
					   "--nth is from 1 to %d",
					   SONDE_LONGEST_MAX);
	error = find_spans(args, &config, &ret_spans->join);
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
	for (size_t i = 0; spans->hosts && i < spans->history.nr_machines; i++)
		sonde_causes_fini(&spans->hosts[i]);
	free(spans->hosts);
	sonde_causes_fini(&spans->causes);
	free(spans->clocks);
	sonde_transfers_fini(&spans->transfers);
	sonde_history_fini(&spans->history);
	sonde_join_fini(&spans->join);
}

/* That a wait for bytes isn't followed may be since nobody can. */
static void note_unfollowed(const struct sonde_blame_spans *spans,
			    struct sonde_report *report)
{
	const struct sonde_transfers *transfers = &spans->transfers;
	struct sonde_cell_text words = { .args = spans->args };

	if (transfers->by_udp || transfers->by_others)
		sonde_report_note(
			report,
			"Bytes were received %s by UDP and %s by Unix sockets "
			"and the like: nothing in the traces says who sent "
			"them, so no wait for those is followed.",
			sonde_cell_text_count(&words, transfers->by_udp,
					      "time"),
			sonde_cell_text_count(&words, transfers->by_others,
					      "time"));
}

/* What any machine's trace lacks, and what is told of none. */
static void notes_of_machines(const struct sonde_blame_spans *spans,
			      struct sonde_report *report)
{
	const struct sonde_history *history = &spans->history;
	size_t first = span_machine(spans, spans->chosen);

	sonde_model_notes(history->machines[first].kernel, history->left_out,
			  report);
	if (spans->transfers.left_out)
		sonde_report_note(report,
				  "%" PRIu64 " times that bytes were sent or "
				  "received were not looked at: there were too "
				  "many. --from and --to may leave fewer.",
				  spans->transfers.left_out);
	if (spans->keys_left_out)
		sonde_report_note(report,
				  "%" PRIu64 " events with a key were not "
				  "looked at: there were too many. --from and "
				  "--to may leave fewer.",
				  spans->keys_left_out);
	note_unfollowed(spans, report);
	if (history->nr_machines == 1)
		return;
	if (!spans->transfers.has_events)
		sonde_report_note(report,
				  "Who sent bytes to whom is not in these "
				  "traces, so no wait is followed to another "
				  "machine: record with -k "
				  "'sock:sock_*_length', by BPF, on Linux 6.3 "
				  "or later.");
	sonde_blame_spans_clocks(spans, report);
}

void sonde_blame_spans_notes(const struct sonde_blame_spans *spans,
			     struct sonde_report *report)
{
	struct sonde_cell_text words = { .args = spans->args };
	const struct sonde_join *join = &spans->join;
	const struct sonde_durations_config config = {
		.key = spans->args->key,
	};

	sonde_durations_left_out(spans->args, &config, join, report);
	if (!join->worst.nr)
		sonde_durations_none(spans->args, join, report);
	else if (!spans->chosen)
		sonde_report_note(report, "There are only %s.",
				  sonde_cell_text_count(&words, join->worst.nr,
							"span"));
	else
		notes_of_machines(spans, report);
}

void sonde_blame_spans_clocks(const struct sonde_blame_spans *spans,
			      struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		{ "host", "HOST", SONDE_CELL_TEXT },
		{ "ahead", "AHEAD BY", SONDE_CELL_DURATION },
		{ "within", "WITHIN", SONDE_CELL_DURATION },
		{ "by", "BY WAY OF", SONDE_CELL_TEXT },
		{ "messages", "MESSAGES", SONDE_CELL_COUNT },
	};
	struct sonde_table *table =
		sonde_report_table(report, "clocks", "The machines' clocks",
				   columns, SONDE_ARRAY_SIZE(columns));

	for (size_t i = 0; i < spans->history.nr_machines; i++) {
		const struct sonde_host_clock *clock = &spans->clocks[i];

		sonde_table_row(table);
		sonde_table_text(table, 0, spans->hosts[i].host);
		if (!clock->is_known)
			continue;
		sonde_table_int(table, 1, clock->offset_ns);
		sonde_table_int(table, 2, clock->bound_ns);
		if (i == span_machine(spans, spans->chosen))
			continue;
		sonde_table_text(table, 3, spans->hosts[clock->by].host);
		sonde_table_uint(table, 4, clock->nr_messages);
	}
}

const char *sonde_blame_state_text(enum sonde_state_kind kind)
{
	static const char *const texts[] = {
		[SONDE_STATE_RUN] = "running",
		[SONDE_STATE_READY] = "waiting for a CPU",
		[SONDE_STATE_PREEMPTED] = "preempted",
		[SONDE_STATE_BLOCKED] = "blocked",
		[SONDE_STATE_UNKNOWN] = "unknown",
		[SONDE_STATE_NETWORK] = "in the network",
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
