/* SPDX-License-Identifier: MIT */
/*
 * durations.c - a pass that joins events of --begin with events of --end
 * (durations.h).
 *
 * A part has the joined spans of its slice; merging joins what was open across
 * the border (join.h), so the result is that of one pass. An event costs the
 * test of two classes, and the key's value if one of them is its.
 */
#include "analysis/reports/durations.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/reports/cell_text.h"
#include "analysis/reports/lost.h"
#include "base/port.h"
#include "reader/key.h"
#include "reader/reader.h"

/* What all parts of the map share. */
struct plan {
	struct sonde_durations_config config;
	uint8_t *roles; /* by event class: what its events can be */
	struct sonde_lost lost;
};

struct part {
	struct sonde_join join;
	const struct plan *plan;
};

static int part_begin(void *memory, const void *config, bool first)
{
	struct part *part = memory;

	part->plan = config;
	sonde_join_init(&part->join, first);
	part->join.keep_ns = part->plan->config.keep_ns;
	part->join.scatter.config = part->plan->config.scatter;
	part->join.lost = &part->plan->lost;
	return 0;
}

int sonde_durations_key(const struct sonde_durations_config *config,
			const struct sonde_event *event,
			struct sonde_key *ret_key)
{
	if (!config->key) {
		int64_t id = config->by_thread ? sonde_event_tid(event) : 0;

		if (id < 0)
			return -ENOENT; /* not one with all other unknown ones */
		*ret_key = sonde_key_make(SONDE_KEY_INT, (uint64_t)id, 0);
		return 0;
	}
	return sonde_filter_key(config->key, config->key_class, event, ret_key);
}

/* An end that says how long it was. */
static int part_take_length(struct part *part, const struct sonde_event *event,
			    const struct sonde_key *key)
{
	struct sonde_join_span span = {
		.end_ns = event->time_ns,
		.tid = sonde_event_tid(event),
	};
	struct sonde_value value;
	int64_t ns;

	if (sonde_filter_value(part->plan->config.length, event, &value) ||
	    !sonde_analysis_number(&value, &ns) || ns < 0 ||
	    __builtin_sub_overflow(span.end_ns, ns, &span.begin_ns)) {
		part->join.unbegun++;
		return 0;
	}
	return sonde_join_span(&part->join, key, &span);
}

unsigned int sonde_durations_role(const struct sonde_durations_config *config,
				  const uint8_t *roles,
				  const struct sonde_event *event)
{
	unsigned int role = roles[event->cls->info.index];

	if (role & SONDE_DURATIONS_ENDS &&
	    !sonde_filter_match(config->end, event))
		role &= ~(unsigned int)SONDE_DURATIONS_ENDS;
	if (role & SONDE_DURATIONS_BEGINS &&
	    !sonde_filter_match(config->begin, event))
		role &= ~(unsigned int)SONDE_DURATIONS_BEGINS;
	return role;
}

static int part_event(void *memory, const struct sonde_event *event)
{
	struct part *part = memory;
	const struct plan *plan = part->plan;
	unsigned int roles =
		sonde_durations_role(&plan->config, plan->roles, event);
	struct sonde_join *join = &part->join;
	struct sonde_key key;
	int err = 0;

	if (!roles)
		return 0;
	if (sonde_durations_key(&plan->config, event, &key)) {
		join->keyless++;
		return 0;
	}
	if (plan->config.length)
		return part_take_length(part, event, &key);
	if (roles & SONDE_DURATIONS_ENDS)
		err = sonde_join_end(join, &key, event->time_ns,
				     sonde_event_tid(event));
	if (!err && roles & SONDE_DURATIONS_BEGINS)
		err = sonde_join_begin(join, &key, event->time_ns,
				       sonde_event_tid(event));
	return err;
}

static int part_merge(void *whole, void *memory)
{
	struct part *left = whole;
	struct part *right = memory;

	return sonde_join_merge(&left->join, &right->join);
}

static void part_fini(void *memory)
{
	struct part *part = memory;

	sonde_join_fini(&part->join);
}

static const struct sonde_map_ops ops = SONDE_MAP_OPS(
	struct part, part_begin, part_event, part_merge, part_fini);

uint8_t *sonde_durations_roles(const struct sonde_trace *trace,
			       const struct sonde_durations_config *config)
{
	size_t nr = sonde_trace_nr_event_classes(trace);
	uint8_t *roles = calloc(nr + 1, 1);

	for (size_t i = 0; roles && i < nr; i++) {
		const struct sonde_event_class *cls =
			sonde_trace_event_class(trace, i);

		if (config->begin && sonde_filter_wants(config->begin, cls))
			roles[i] |= SONDE_DURATIONS_BEGINS;
		if (sonde_filter_wants(config->end, cls))
			roles[i] |= SONDE_DURATIONS_ENDS;
	}
	return roles;
}

int sonde_durations_find(struct sonde_analysis_args *args,
			 const struct sonde_durations_config *config,
			 struct sonde_join *ret_join)
{
	struct plan plan = { .config = *config };
	struct part whole = { 0 };
	int err;

	*ret_join = (struct sonde_join){ 0 };
	plan.roles = sonde_durations_roles(args->trace, config);
	if (!plan.roles)
		return -ENOMEM;
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it is freed below */
	err = sonde_lost_read(&plan.lost, args->trace, plan.roles);
	if (!err)
		err = sonde_map(args->trace, &args->map, &ops, &plan, &whole);
	free(plan.roles);
	sonde_lost_fini(&plan.lost);
	sonde_join_close(&whole.join);
	whole.join.lost = NULL;
	*ret_join = whole.join;
	if (err == -E2BIG)
		return sonde_analysis_fail(
			args, -EINVAL,
			"more than %zu keys are open at a time; choose "
			"another --key, or less with -f",
			SONDE_JOIN_LIMIT);
	return err;
}

static void report_keyless(const struct sonde_analysis_args *args,
			   const struct sonde_durations_config *config,
			   uint64_t keyless, struct sonde_report *report)
{
	struct sonde_cell_text words = { .args = args };

	if (!keyless)
		return;
	if (!config->key)
		sonde_report_note(report,
				  "%s of --begin and --end left out: the trace "
				  "doesn't say which thread they are of; --key "
				  "EXPR may join them by something else.",
				  sonde_cell_text_count(&words, keyless,
							"event"));
	sonde_report_value(report, "keyless", "Events without the key",
			   SONDE_CELL_COUNT, (int64_t)keyless, 0, NULL);
}

void sonde_durations_left_out(const struct sonde_analysis_args *args,
			      const struct sonde_durations_config *config,
			      const struct sonde_join *join,
			      struct sonde_report *report)
{
	struct sonde_cell_text words = { .args = args };

	report_keyless(args, config, join->keyless, report);
	if (!join->across)
		return;
	sonde_report_note(report,
			  "%s left out: events were lost between the begin and "
			  "the end, so these may not be of each other.",
			  sonde_cell_text_count(&words, join->across, "span"));
	sonde_report_value(report, "across", "Spans across lost events",
			   SONDE_CELL_COUNT, (int64_t)join->across, 0, NULL);
}

void sonde_durations_none(const struct sonde_analysis_args *args,
			  const struct sonde_join *join,
			  struct sonde_report *report)
{
	struct sonde_cell_text words = { .args = args };

	sonde_report_note(report, "No begin meets an end%s: %s, %s.",
			  join->across ? " without a loss between" : "",
			  sonde_cell_text_count(&words, join->unended, "begin"),
			  sonde_cell_text_count(&words, join->unbegun, "end"));
}

static void report_worst(const struct sonde_analysis_args *args,
			 const struct sonde_longest *worst,
			 struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		{ "duration", "DURATION", SONDE_CELL_DURATION },
		{ "begin", "BEGIN", SONDE_CELL_TIME },
		{ "end", "END", SONDE_CELL_TIME },
		{ "tid", "THREAD", SONDE_CELL_INT },
		{ "key", "KEY", SONDE_CELL_TEXT },
		SONDE_NAME_COLUMN,
	};
	bool named = sonde_analysis_has_names(args);
	struct sonde_table *table =
		sonde_report_table(report, "worst", "The longest", columns,
				   SONDE_ARRAY_SIZE(columns) - !named);

	sonde_table_minor(table, 1u << 2); /* the end */
	for (size_t i = 0; i < worst->nr; i++) {
		const struct sonde_longest_span *span = &worst->spans[i];

		sonde_table_row(table);
		sonde_table_int(table, 0,
				sonde_elapsed_ns(span->begin_ns, span->end_ns));
		sonde_table_int(table, 1, span->begin_ns);
		sonde_table_int(table, 2, span->end_ns);
		if (span->tid >= 0)
			sonde_table_int(table, 3, span->tid);
		sonde_table_text(table, 4, span->name);
		sonde_table_text(table, 5,
				 sonde_analysis_thread_name(args, span->tid));
	}
	sonde_table_limit(table, sonde_analysis_rows(args, SONDE_LONGEST_MAX));
}

static void report_durations(const struct sonde_analysis_args *args,
			     const struct sonde_join *join,
			     struct sonde_report *report, const char *name)
{
	static const struct sonde_column columns[] = {
		{ "count", "COUNT", SONDE_CELL_COUNT },
		{ "deviation", "DEVIATION", SONDE_CELL_DURATION },
		SONDE_HISTOGRAM_COLUMNS(SONDE_CELL_DURATION),
	};
	const struct sonde_histogram *durations = &join->durations;
	struct sonde_table *table = sonde_report_table(
		report, name, NULL, columns, SONDE_ARRAY_SIZE(columns));

	sonde_table_row(table);
	sonde_table_uint(table, 0, durations->count);
	if (durations->count)
		sonde_table_int(
			table, 1,
			sonde_round(sonde_histogram_deviation(durations)));
	sonde_histogram_cells(durations, table, 2);
	sonde_histogram_report(durations, report, "histogram", "How long",
			       SONDE_CELL_DURATION);
	report_worst(args, &join->worst, report);
}

int sonde_durations_run(struct sonde_analysis_args *args,
			const struct sonde_durations_config *config,
			const char *name, sonde_durations_head *head,
			struct sonde_report **ret_report)
{
	struct sonde_report *report;
	struct sonde_join join;
	int err = sonde_durations_find(args, config, &join);

	if (err)
		goto out;
	report = sonde_report_new(name);
	head(args, &join, report);
	sonde_durations_left_out(args, config, &join, report);
	report_durations(args, &join, report, name);
	err = sonde_report_end(report, 0, ret_report);
out:
	sonde_join_fini(&join);
	return err;
}
