/* SPDX-License-Identifier: MIT */
/*
 * check.c - the rules of the format, one by one.
 *
 * Three sources: the problems that opening and reading note by themselves
 * (heads, sizes, counters, damage in events), the tables of packets, and a map
 * over all events that looks at times, texts and labels. All become *findings*:
 * how often a stream breaks a rule, and where first. What has words of its own
 * is listed place by place, the rest once for each stream.
 *
 * An event's time has to grow inside of its packet, and to be in its packet's
 * span; packets must not overlap. Together that is: times grow in a stream. A
 * lane sorts each batch of events by time, so an event that came out of order
 * is one whose place in the packet is before that of the event given last.
 *
 * Rules have a severity. An *error* means that something can't be read. After a
 * *warning* all can be read, but readers will differ in what they make of it.
 * A *note* is no fault of the trace's: the tracer tells of losses.
 */
#include "analysis/reports/check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/reports/reports.h"
#include "analysis/reports/stat.h"
#include "base/port.h"
#include "base/utf8.h"
#include "reader/core/open.h"
#include "reader/reader.h"

#define FINDING_ROWS 64

enum severity {
	ERROR,
	WARNING,
	NOTE,
};

static const char *const severities[] = { "error", "warning", "note" };

enum rule {
	RULE_METADATA,
	RULE_HEAD,
	RULE_UUID,
	RULE_EVENTS,
	RULE_WHOLE,
	RULE_OVERLAP,
	RULE_GROWTH,
	RULE_INDEX,
	RULE_TIME_ORDER,
	RULE_TIME_SPAN,
	RULE_TEXT,
	RULE_LABEL,
	RULE_SWITCHES,
	RULE_LOST_EVENTS,
	RULE_LOST_PACKETS,
	NR_RULES,
};

static const struct {
	const char *name;
	enum severity severity;
	const char *demands;
	const char *broken; /* for those without words of their own */
} rules[NR_RULES] = {
	[RULE_METADATA] = { "metadata", WARNING,
			    "the metadata is such that all readers take it",
			    NULL },
	[RULE_HEAD] = { "head", ERROR,
			"packets have the magic number, a known stream, sizes "
			"that fit",
			NULL },
	[RULE_UUID] = { "uuid", WARNING, "packets have the trace's UUID",
			NULL },
	[RULE_EVENTS] = { "events", ERROR,
			  "events are of known classes and end inside of "
			  "their packet's content",
			  NULL },
	[RULE_WHOLE] = { "whole", ERROR, "the file ends where a packet does",
			 NULL },
	[RULE_OVERLAP] = { "overlap", WARNING,
			   "a packet begins after the one before it ended",
			   "packets begin before the one before them ends" },
	[RULE_GROWTH] = { "growth", WARNING,
			  "packets' times, numbers and counts of losses grow",
			  NULL },
	[RULE_INDEX] = { "index", WARNING,
			 "the index file says what the packets say", NULL },
	[RULE_TIME_ORDER] = { "time-order", WARNING,
			      "events of a packet are in the order of time",
			      "events are earlier than events before them" },
	[RULE_TIME_SPAN] = { "time-span", WARNING,
			     "events are between their packet's begin and end",
			     "events are not in their packet's span of time" },
	[RULE_TEXT] = { "text", WARNING, "strings are valid UTF-8",
			"strings are not valid UTF-8" },
	[RULE_LABEL] = { "label", NOTE, "an enumeration's values have labels",
			 "values of enumerations have no label" },
	[RULE_SWITCHES] = { "switches", WARNING,
			    "a switch is away from whom the one before it on "
			    "its CPU was to",
			    NULL },
	[RULE_LOST_EVENTS] = { "lost-events", NOTE,
			       "the tracer had room for all events", NULL },
	[RULE_LOST_PACKETS] = { "lost-packets", NOTE, "no packet is missing",
				NULL },
};

/* How often a rule is broken, and where first. */
struct finding {
	uint64_t count;
	uint64_t packet, byte; /* of the first */
};

static void find_at(struct finding *finding, uint64_t packet, uint64_t byte)
{
	if (!finding->count || byte < finding->byte) {
		finding->packet = packet;
		finding->byte = byte;
	}
	finding->count++;
}

/* ---- the map over events ---- */

struct stream_state {
	uint64_t events;
	struct finding findings[NR_RULES];
	/* the last event */
	uint64_t pos;
	int64_t time_ns;
	uint32_t packet;
	bool begun;
};

struct config {
	const struct sonde_trace *trace;
	const bool *has_texts; /* event classes that have to be walked */
};

struct part {
	const struct config *config;
	struct stream_state *streams;
};

static int part_begin(void *memory, const void *config, bool first)
{
	struct part *part = memory;

	(void)first;
	part->config = config;
	part->streams = calloc(part->config->trace->nr_streams + 1,
			       sizeof(*part->streams));
	return part->streams ? 0 : -ENOMEM;
}

static void part_fini(void *memory)
{
	struct part *part = memory;

	free(part->streams);
}

static void find(struct stream_state *state, enum rule rule,
		 const struct sonde_event *event)
{
	find_at(&state->findings[rule], event->packet,
		sonde_event_offset(event));
}

static void check_time(struct stream_state *state,
		       const struct sonde_event *event)
{
	const struct sonde_packet *packet =
		&event->stream->packets[event->packet];

	if (event->time_ns < packet->begin_ns ||
	    event->time_ns > packet->end_ns)
		find(state, RULE_TIME_SPAN, event);
	if (state->begun && state->packet == event->packet &&
	    (event->pos < state->pos || event->time_ns < state->time_ns))
		find(state, RULE_TIME_ORDER, event);
	state->begun = true;
	state->packet = event->packet;
	state->pos = event->pos;
	state->time_ns = event->time_ns;
}

/* Each value of an enumeration is to have a label; not so combined bits, nor
 * numbers of which only one has a meaning besides. */
static void check_value(struct stream_state *state,
			const struct sonde_event *event,
			const struct sonde_value *value)
{
	if (value->kind == SONDE_KIND_STRING &&
	    value->cls->encoding == SONDE_ENCODING_UTF8 &&
	    !sonde_utf8_is_valid(value->text, value->length))
		find(state, RULE_TEXT, event);
	if (value->kind <= SONDE_KIND_INT && value->cls->nr_labels > 1 &&
	    !sonde_class_label(value->cls, value->u, 0) &&
	    !sonde_class_names_bits(value->cls))
		find(state, RULE_LABEL, event);
}

static void check_fields(struct stream_state *state,
			 const struct sonde_event *event)
{
	enum sonde_walk_item item;
	struct sonde_value value;
	struct sonde_walk walk;
	const char *name;

	for (enum sonde_scope scope = SONDE_SCOPE_COMMON_CONTEXT;
	     scope < SONDE_NR_SCOPES; scope++) {
		sonde_walk_begin(&walk, event, scope);
		while ((item = sonde_walk_next(&walk, &name, &value)))
			if (item == SONDE_WALK_VALUE)
				check_value(state, event, &value);
	}
}

static int part_event(void *memory, const struct sonde_event *event)
{
	struct part *part = memory;
	struct stream_state *state = &part->streams[event->stream->index];

	state->events += !event->cls->info.internal;
	if (event->stream->scale)
		check_time(state, event);
	if (part->config->has_texts[event->cls->info.index])
		check_fields(state, event);
	return 0;
}

static void add_finding(struct finding *to, const struct finding *from)
{
	uint64_t count = to->count + from->count;

	if (from->count && (!to->count || from->byte < to->byte))
		*to = *from;
	to->count = count;
}

static int part_merge(void *whole, void *memory)
{
	struct part *left = whole;
	const struct part *right = memory;

	for (size_t i = 0; i < left->config->trace->nr_streams; i++) {
		left->streams[i].events += right->streams[i].events;
		for (enum rule rule = 0; rule < NR_RULES; rule++)
			add_finding(&left->streams[i].findings[rule],
				    &right->streams[i].findings[rule]);
	}
	return 0;
}

static const struct sonde_map_ops ops = SONDE_MAP_OPS(
	struct part, part_begin, part_event, part_merge, part_fini);

/* Whether anything in a class is a text or has labels. */
/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static bool has_texts(const struct sonde_class *cls)
{
	if (!cls)
		return false;
	if (cls->kind == SONDE_KIND_STRING || cls->nr_labels)
		return true;
	for (size_t i = 0; i < cls->nr_members; i++)
		if (has_texts(cls->members[i].cls))
			return true;
	return false;
}

/* For free(); NULL without memory. */
static bool *find_texts(const struct sonde_trace *trace)
{
	bool *found = calloc(trace->nr_classes + 1, sizeof(*found));

	for (size_t i = 0; found && i < trace->nr_classes; i++)
		for (enum sonde_scope scope = SONDE_SCOPE_COMMON_CONTEXT;
		     scope < SONDE_NR_SCOPES; scope++)
			found[i] |= has_texts(sonde_event_class_scope(
				trace->classes[i], scope));
	return found;
}

/* ---- packets and index files ---- */

static void check_overlap(const struct sonde_stream *stream,
			  struct stream_state *state)
{
	int64_t end_ns = SONDE_TIME_MIN;

	for (size_t i = 0; i < stream->nr_packets; i++) {
		const struct sonde_packet *packet = &stream->packets[i];

		if (packet->begin_ns < end_ns)
			find_at(&state->findings[RULE_OVERLAP], i,
				packet->offset);
		if (packet->end_ns > end_ns)
			end_ns = packet->end_ns;
	}
}

/* Opening looks at some entries only. */
static void check_index(const struct sonde_stream *stream)
{
	struct sonde_problem problem = {
		.kind = SONDE_PROBLEM_INDEX,
		.stream = stream,
		.begin = SONDE_TIME_MIN,
		.end = SONDE_TIME_MAX,
		.text = "the index file can't be read",
	};

	if (sonde_stream_index_check(stream, &problem.text))
		sonde_problem_add(stream->trace, &problem);
}

/* ---- findings ---- */

struct check {
	const struct sonde_analysis_args *args;
	const struct sonde_trace *trace;
	struct sonde_report *report;
	struct sonde_table *table;    /* of findings */
	struct stream_state *streams; /* [nr_streams]: the last is none */
	uint64_t totals[NR_RULES];
};

static enum rule check_rule_of(const struct sonde_problem *problem)
{
	const struct sonde_stream *stream = problem->stream;

	switch (problem->kind) {
	case SONDE_PROBLEM_LOST_EVENTS:
		return RULE_LOST_EVENTS;
	case SONDE_PROBLEM_LOST_PACKETS:
		return RULE_LOST_PACKETS;
	case SONDE_PROBLEM_TRUNCATED:
		return RULE_WHOLE;
	case SONDE_PROBLEM_INDEX:
		return RULE_INDEX;
	case SONDE_PROBLEM_FORMAT:
		return RULE_GROWTH;
	case SONDE_PROBLEM_METADATA:
		return RULE_METADATA;
	case SONDE_PROBLEM_UUID:
		return RULE_UUID;
	case SONDE_PROBLEM_ORDER:
		return NR_RULES; /* the map has found it as well */
	case SONDE_PROBLEM_DAMAGE:
		break;
	}
	if (stream && problem->packet < stream->nr_packets &&
	    problem->byte > stream->packets[problem->packet].offset)
		return RULE_EVENTS;
	return RULE_HEAD;
}

static void add_row(const struct check *check, enum rule rule,
		    const struct sonde_stream *stream,
		    const struct finding *finding, const char *words)
{
	struct sonde_table *table = check->table;

	sonde_table_row(table);
	sonde_table_text(table, 0, severities[rules[rule].severity]);
	sonde_table_text(table, 1, rules[rule].name);
	if (stream) {
		sonde_table_text(table, 2,
				 sonde_stat_stream_name(check->trace, stream));
		sonde_table_uint(table, 3, finding->packet);
		sonde_table_uint(table, 4, finding->byte);
	}
	sonde_table_uint(table, 5, finding->count);
	sonde_table_text(table, 6, words);
}

/* Takes the problems that the reader has put into words. */
static void take_problems(struct check *check)
{
	struct sonde_problem problem;

	for (size_t i = 0; !sonde_trace_problem(check->trace, i, &problem);
	     i++) {
		enum rule rule = check_rule_of(&problem);
		size_t stream = problem.stream ? problem.stream->index :
						 check->trace->nr_streams;
		struct finding finding = {
			.count = problem.count ? problem.count : 1,
			.packet = problem.packet,
			.byte = problem.byte,
		};

		if (rule == NR_RULES)
			continue;
		add_finding(&check->streams[stream].findings[rule], &finding);
		check->totals[rule] += finding.count;
		add_row(check, rule, problem.stream, &finding, problem.text);
	}
}

/* What the map and the tables found. */
static void take_findings(struct check *check)
{
	for (size_t i = 0; i < check->trace->nr_streams; i++)
		for (enum rule rule = 0; rule < NR_RULES; rule++) {
			const struct finding *finding =
				&check->streams[i].findings[rule];

			if (!rules[rule].broken || !finding->count)
				continue;
			check->totals[rule] += finding->count;
			add_row(check, rule, check->trace->streams[i], finding,
				rules[rule].broken);
		}
}

/* The CPU's stream that has that time in a packet: where to look. */
static const struct sonde_stream *stream_at(const struct sonde_trace *trace,
					    int32_t cpu, int64_t time_ns,
					    struct finding *finding)
{
	for (size_t i = 0; i < trace->nr_streams; i++) {
		const struct sonde_stream *stream = trace->streams[i];
		struct sonde_stream_info info;

		sonde_stream_get_info(stream, &info);
		for (size_t k = 0; info.cpu == cpu && k < stream->nr_packets;
		     k++)
			if (stream->packets[k].begin_ns <= time_ns &&
			    time_ns <= stream->packets[k].end_ns) {
				finding->packet = k;
				finding->byte = stream->packets[k].offset;
				return stream;
			}
	}
	return NULL;
}

static void take_switches(void *ctx, int32_t cpu,
			  const struct sonde_model_unseen *unseen)
{
	struct check *check = ctx;
	struct finding finding = { .count = unseen->nr };
	const struct sonde_stream *stream =
		stream_at(check->trace, cpu, unseen->first_ns, &finding);
	size_t index = stream ? stream->index : check->trace->nr_streams;
	char text[240];

	(void)snprintf(text, sizeof(text),
		       "switches are missing on CPU %" PRId32 " in %" PRIu64
		       " place%s, the first before %" PRId64 ".%09" PRId64
		       " s: who ran there for %.3f ms is unknown",
		       cpu, unseen->nr, unseen->nr == 1 ? "" : "s",
		       unseen->first_ns / 1000000000,
		       unseen->first_ns % 1000000000, (double)unseen->ns / 1e6);
	add_finding(&check->streams[index].findings[RULE_SWITCHES], &finding);
	check->totals[RULE_SWITCHES] += unseen->nr;
	add_row(check, RULE_SWITCHES, stream, &finding, text);
}

static int add_findings(struct check *check)
{
	int err;
	static const struct sonde_column columns[] = {
		{ "severity", "SEVERITY", SONDE_CELL_TEXT },
		{ "rule", "RULE", SONDE_CELL_TEXT },
		{ "stream", "STREAM", SONDE_CELL_TEXT },
		{ "packet", "PACKET", SONDE_CELL_COUNT },
		{ "byte", "BYTE", SONDE_CELL_COUNT },
		{ "count", "COUNT", SONDE_CELL_COUNT },
		{ "text", "WHAT", SONDE_CELL_TEXT },
	};

	check->table = sonde_report_table(check->report, "findings", "Findings",
					  columns, SONDE_ARRAY_SIZE(columns));
	take_problems(check);
	take_findings(check);
	err = sonde_check_switches(check->args, take_switches, check);
	sonde_table_limit(check->table,
			  sonde_analysis_rows(check->args, FINDING_ROWS));
	return err;
}

/* ---- verdicts ---- */

static uint64_t count_severity(const struct stream_state *state,
			       enum severity severity)
{
	uint64_t nr = 0;

	for (enum rule rule = 0; rule < NR_RULES; rule++)
		if (rules[rule].severity == severity)
			nr += state->findings[rule].count;
	return nr;
}

static const char *check_verdict(uint64_t errors, uint64_t warnings)
{
	if (errors)
		return "unsound";
	return warnings ? "readable, with warnings" : "sound";
}

static void check_add_streams(const struct check *check)
{
	static const struct sonde_column columns[] = {
		{ "stream", "STREAM", SONDE_CELL_TEXT },
		{ "packets", "PACKETS", SONDE_CELL_COUNT },
		{ "events", "EVENTS", SONDE_CELL_COUNT },
		{ "errors", "ERRORS", SONDE_CELL_COUNT },
		{ "warnings", "WARNINGS", SONDE_CELL_COUNT },
		{ "notes", "NOTES", SONDE_CELL_COUNT },
		{ "verdict", "VERDICT", SONDE_CELL_TEXT },
	};
	struct sonde_table *table =
		sonde_report_table(check->report, "streams", "Streams", columns,
				   SONDE_ARRAY_SIZE(columns));

	for (size_t i = 0; i < check->trace->nr_streams; i++) {
		const struct sonde_stream *stream = check->trace->streams[i];
		const struct stream_state *state = &check->streams[i];
		uint64_t errors = count_severity(state, ERROR);
		uint64_t warnings = count_severity(state, WARNING);

		sonde_table_row(table);
		sonde_table_text(table, 0,
				 sonde_stat_stream_name(check->trace, stream));
		sonde_table_uint(table, 1, stream->nr_packets);
		sonde_table_uint(table, 2, state->events);
		sonde_table_uint(table, 3, errors);
		sonde_table_uint(table, 4, warnings);
		sonde_table_uint(table, 5, count_severity(state, NOTE));
		sonde_table_text(table, 6, check_verdict(errors, warnings));
	}
}

static void check_add_rules(const struct check *check)
{
	static const struct sonde_column columns[] = {
		{ "rule", "RULE", SONDE_CELL_TEXT },
		{ "severity", "SEVERITY", SONDE_CELL_TEXT },
		{ "count", "BROKEN", SONDE_CELL_COUNT },
		{ "demands", "DEMANDS", SONDE_CELL_TEXT },
	};
	struct sonde_table *table =
		sonde_report_table(check->report, "rules", "Rules", columns,
				   SONDE_ARRAY_SIZE(columns));

	for (enum rule rule = 0; rule < NR_RULES; rule++) {
		sonde_table_row(table);
		sonde_table_text(table, 0, rules[rule].name);
		sonde_table_text(table, 1, severities[rules[rule].severity]);
		sonde_table_uint(table, 2, check->totals[rule]);
		sonde_table_text(table, 3, rules[rule].demands);
	}
}

static void add_verdict(const struct check *check,
			struct sonde_analysis_args *args)
{
	uint64_t *const counts[] = { &args->nr_errors, &args->nr_warnings,
				     &args->nr_notes };

	for (enum rule rule = 0; rule < NR_RULES; rule++)
		*counts[rules[rule].severity] += check->totals[rule];
	sonde_report_value(check->report, "verdict", "Verdict", SONDE_CELL_TEXT,
			   0, 0,
			   check_verdict(args->nr_errors, args->nr_warnings));
}

/* ---- all ---- */

static int fill(struct check *check, const struct sonde_map_options *map,
		struct sonde_analysis_args *args)
{
	bool *texts = find_texts(check->trace);
	const struct config config = { check->trace, texts };
	struct part whole = { 0 };
	int err = texts ? sonde_map(args->trace, map, &ops, &config, &whole) :
			  -ENOMEM;

	check->streams = whole.streams;
	for (size_t i = 0; i < check->trace->nr_streams && !err; i++) {
		check_overlap(check->trace->streams[i], &check->streams[i]);
		check_index(check->trace->streams[i]);
	}
	if (!err)
		err = add_findings(check);
	if (!err) {
		check_add_streams(check);
		check_add_rules(check);
		add_verdict(check, args);
	}
	part_fini(&whole);
	free(texts);
	return err;
}

static int run(struct sonde_analysis_args *args,
	       struct sonde_report **ret_report)
{
	struct sonde_map_options map = args->map;
	struct check check = {
		.args = args,
		.trace = args->trace,
		.report = sonde_report_new("check"),
	};
	int err;

	map.unmerged = true;
	map.internal = true;
	args->nr_errors = args->nr_warnings = args->nr_notes = 0;
	err = fill(&check, &map, args);
	return sonde_report_end(check.report, err, ret_report);
}

const struct sonde_analysis sonde_analysis_check = {
	.name = "check",
	.summary = "whether a trace keeps the rules of its format",
	.needs = "",
	.is_inventory = true,
	.run = run,
};
