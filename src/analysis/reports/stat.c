/* SPDX-License-Identifier: MIT */
/*
 * stat.c - what a trace is: who made it, when, its clocks and streams, how many
 * events of which kind, what was lost, what is damaged. Counting is a map over
 * slices (reader/map.h); all else is known since the trace was opened.
 */
#include "analysis/reports/stat.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/reports/reports.h"
#include "base/port.h"
#include "reader/core/clock_offset.h"
#include "reader/reader.h"

#define EVENT_ROWS  32
#define STREAM_ROWS 32
#define LOST_ROWS   16

/* ---- counting ---- */

struct count {
	uint64_t events, bytes;
};

struct part {
	const struct sonde_trace *trace;
	struct count *classes; /* by info.index */
	struct count *streams; /* by index */
};

static int part_begin(void *memory, const void *config, bool first)
{
	struct part *part = memory;

	(void)first;
	part->trace = config;
	part->classes =
		calloc(part->trace->nr_classes + 1, sizeof(struct count));
	part->streams =
		calloc(part->trace->nr_streams + 1, sizeof(struct count));
	return part->classes && part->streams ? 0 : -ENOMEM;
}

static void part_fini(void *memory)
{
	struct part *part = memory;

	free(part->classes);
	free(part->streams);
}

static int part_event(void *memory, const struct sonde_event *event)
{
	struct part *part = memory;
	struct count *count = &part->classes[event->cls->info.index];

	count->events++;
	count->bytes += sonde_event_bytes(event);
	part->streams[event->stream->index].events++;
	return 0;
}

static void stat_add_counts(struct count *to, const struct count *from,
			    size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		to[i].events += from[i].events;
		to[i].bytes += from[i].bytes;
	}
}

static int part_merge(void *whole, void *memory)
{
	struct part *left = whole;
	const struct part *right = memory;

	stat_add_counts(left->classes, right->classes, left->trace->nr_classes);
	stat_add_counts(left->streams, right->streams, left->trace->nr_streams);
	return 0;
}

static const struct sonde_map_ops ops = SONDE_MAP_OPS(
	struct part, part_begin, part_event, part_merge, part_fini);

/* ---- what the report is made of ---- */

struct overview {
	const struct sonde_analysis_args *args;
	const struct sonde_trace *trace;
	struct sonde_report *report;
	const struct part *counts;
	double seconds;
	uint64_t events;
};

const char *sonde_stat_stream_name(const struct sonde_trace *trace,
				   const struct sonde_stream *stream)
{
	const char *name = strrchr(stream->path, '/');

	return trace->nr_sources == 1 && name ? name + 1 : stream->path;
}

const char *sonde_stat_problem_name(enum sonde_problem_kind kind)
{
	static const char *const names[] = {
		[SONDE_PROBLEM_LOST_EVENTS] = "events lost",
		[SONDE_PROBLEM_LOST_PACKETS] = "packets lost",
		[SONDE_PROBLEM_DAMAGE] = "damage",
		[SONDE_PROBLEM_TRUNCATED] = "truncated",
		[SONDE_PROBLEM_ORDER] = "order",
		[SONDE_PROBLEM_INDEX] = "index",
		[SONDE_PROBLEM_FORMAT] = "format",
		[SONDE_PROBLEM_METADATA] = "metadata",
		[SONDE_PROBLEM_UUID] = "other UUID",
	};

	return names[kind];
}

static size_t rows(const struct overview *overview, size_t choice)
{
	return sonde_analysis_rows(overview->args, choice);
}

/* ---- the traces ---- */

/* Who wrote it, from what it says about itself. */
static void tracer_text(const struct sonde_source *source, char *to,
			size_t size)
{
	const char *name = sonde_source_env(source, "tracer2_name");
	const char *version = sonde_source_env(source, "tracer2_version");
	int64_t major = -1;
	int64_t minor = 0;

	if (!name)
		name = sonde_source_env(source, "tracer_name");
	for (size_t i = 0; i < source->schema->nr_env && !version; i++) {
		const struct sonde_env *env = &source->schema->env[i];

		if (!strcmp(env->name, "tracer_major") && !env->text)
			major = env->number;
		if (!strcmp(env->name, "tracer_minor") && !env->text)
			minor = env->number;
	}
	if (!name)
		*to = 0;
	else if (version)
		(void)snprintf(to, size, "%s %s", name, version);
	else if (major >= 0)
		(void)snprintf(to, size, "%s %" PRId64 ".%" PRId64, name, major,
			       minor);
	else
		(void)snprintf(to, size, "%s", name);
}

static void add_uuid(struct sonde_table *table, size_t column,
		     const uint8_t uuid[16])
{
	char text[40];
	size_t used = 0;

	for (size_t i = 0; i < 16; i++) {
		bool dash = i == 4 || i == 6 || i == 8 || i == 10;

		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "%s%02x", dash ? "-" : "", uuid[i]);
	}
	sonde_table_text(table, column, text);
}

static void add_source(struct sonde_table *table,
		       const struct sonde_source *source)
{
	const char *host = sonde_source_env(source, "hostname");
	const char *domain = sonde_source_env(source, "domain");
	char text[256];

	sonde_table_row(table);
	sonde_table_text(table, 0, source->path);
	(void)snprintf(text, sizeof(text), "CTF %d.%d%s", source->schema->major,
		       source->schema->minor,
		       source->schema->big_endian ? ", big endian" : "");
	sonde_table_text(table, 1, text);
	tracer_text(source, text, sizeof(text));
	if (*text)
		sonde_table_text(table, 2, text);
	if (domain)
		sonde_table_text(table, 3, domain);
	if (host)
		sonde_table_text(table, 4, host);
	if (source->schema->has_uuid)
		add_uuid(table, 5, source->schema->uuid);
}

static void stat_add_sources(const struct overview *overview)
{
	static const struct sonde_column columns[] = {
		{ "path", "TRACE", SONDE_CELL_TEXT },
		{ "format", "FORMAT", SONDE_CELL_TEXT },
		{ "tracer", "TRACER", SONDE_CELL_TEXT },
		{ "domain", "DOMAIN", SONDE_CELL_TEXT },
		{ "host", "HOST", SONDE_CELL_TEXT },
		{ "uuid", "UUID", SONDE_CELL_TEXT },
	};
	struct sonde_table *table =
		sonde_report_table(overview->report, "traces", NULL, columns,
				   SONDE_ARRAY_SIZE(columns));

	for (size_t i = 0; i < overview->trace->nr_sources; i++)
		add_source(table, overview->trace->sources[i]);
}

static void add_environment(const struct overview *overview)
{
	static const struct sonde_column columns[] = {
		{ "trace", "TRACE", SONDE_CELL_TEXT },
		{ "name", "NAME", SONDE_CELL_TEXT },
		{ "value", "VALUE", SONDE_CELL_TEXT },
	};
	struct sonde_table *table =
		sonde_report_table(overview->report, "environment",
				   "Environment", columns,
				   SONDE_ARRAY_SIZE(columns));

	for (size_t i = 0; i < overview->trace->nr_sources; i++) {
		const struct sonde_source *source = overview->trace->sources[i];

		for (size_t k = 0; k < source->schema->nr_env; k++) {
			const struct sonde_env *env = &source->schema->env[k];
			char number[24];

			(void)snprintf(number, sizeof(number), "%" PRId64,
				       env->number);
			sonde_table_row(table);
			sonde_table_text(table, 0, source->path);
			sonde_table_text(table, 1, env->name);
			sonde_table_text(table, 2,
					 env->text ? env->text : number);
		}
	}
}

/* ---- clocks ---- */

/* Whose clock its times are on, and how far they can be from that. */
static void stat_add_uncertainty(struct sonde_report *report,
				 struct sonde_table *table,
				 const struct sonde_source *source)
{
	struct sonde_clock_widest widest = sonde_source_widest(source);

	if (!source->line)
		return;
	sonde_table_text(table, 4, source->line->to);
	if (widest.bound_ns >= 0)
		sonde_table_int(table, 5, widest.bound_ns);
	if (!widest.is_all)
		sonde_report_note(
			report,
			"How %.200s is to the clock of %.100s isn't known for "
			"all of its time.",
			source->path, source->line->to);
}

static void stat_add_clock(struct sonde_report *report,
			   struct sonde_table *table,
			   const struct sonde_source *source, size_t i)
{
	const struct sonde_clock_info *clock = &source->clocks[i];

	sonde_table_row(table);
	sonde_table_text(table, 0, source->path);
	sonde_table_text(table, 1, clock->name);
	sonde_table_uint(table, 2, clock->frequency);
	sonde_table_int(table, 3, source->scales[i].base_ns);
	stat_add_uncertainty(report, table, source);
	if (clock->precision)
		sonde_table_uint(table, 6, clock->precision);
	sonde_table_text(table, 7, clock->absolute ? "1970" : "unknown");
	if (clock->has_uuid)
		add_uuid(table, 8, clock->uuid);
	sonde_table_text(table, 9, clock->description);
}

static bool stat_has_lines(const struct sonde_trace *trace)
{
	for (size_t i = 0; i < trace->nr_sources; i++)
		if (trace->sources[i]->line)
			return true;
	return false;
}

static void add_clocks(const struct overview *overview, bool verbose)
{
	static const struct sonde_column columns[] = {
		{ "trace", "TRACE", SONDE_CELL_TEXT },
		{ "name", "CLOCK", SONDE_CELL_TEXT },
		{ "frequency_hz", "FREQUENCY (HZ)", SONDE_CELL_COUNT },
		{ "zero", "AT COUNTER 0", SONDE_CELL_TIME },
		{ "synced_to", "ON THE CLOCK OF", SONDE_CELL_TEXT },
		{ "uncertainty", "WITHIN", SONDE_CELL_DURATION },
		{ "precision_cycles", "PRECISION (CYCLES)", SONDE_CELL_COUNT },
		{ "origin", "ORIGIN", SONDE_CELL_TEXT },
		{ "uuid", "UUID", SONDE_CELL_TEXT },
		{ "description", "DESCRIPTION", SONDE_CELL_TEXT },
	};
	struct sonde_table *table =
		sonde_report_table(overview->report, "clocks", "Clocks",
				   columns,
				   verbose ? SONDE_ARRAY_SIZE(columns) :
				   stat_has_lines(overview->trace) ? 6 :
								     4);

	for (size_t i = 0; i < overview->trace->nr_sources; i++)
		for (size_t k = 0;
		     k < overview->trace->sources[i]->schema->nr_clocks; k++)
			stat_add_clock(overview->report, table,
				       overview->trace->sources[i], k);
}

/* ---- totals ---- */

static void add_time(const struct overview *overview, const char *key,
		     const char *title, int64_t time_ns)
{
	sonde_report_value(overview->report, key, title, SONDE_CELL_TIME,
			   time_ns, 0, NULL);
}

/* Times are shown without it. */
static void add_date(const struct overview *overview, int64_t time_ns)
{
	time_t seconds = time_ns / 1000000000;
	char text[32];
	struct tm tm;

	if (localtime_r(&seconds, &tm) &&
	    strftime(text, sizeof(text), "%Y-%m-%d", &tm))
		sonde_report_value(overview->report, "date", "Date",
				   SONDE_CELL_TEXT, 0, 0, text);
}

static void add_totals(const struct overview *overview)
{
	uint64_t bytes = 0;
	int64_t begin_ns;
	int64_t end_ns;

	for (size_t i = 0; i < overview->trace->nr_streams; i++)
		bytes += overview->trace->streams[i]->bytes;
	if (!sonde_trace_range(overview->trace, &begin_ns, &end_ns)) {
		add_date(overview, begin_ns);
		add_time(overview, "begin", "Begin", begin_ns);
		add_time(overview, "end", "End", end_ns);
		sonde_report_value(
			overview->report, "duration", "Duration",
			SONDE_CELL_DURATION,
			(int64_t)((uint64_t)end_ns - (uint64_t)begin_ns), 0,
			NULL);
	}
	sonde_report_value(overview->report, "size", "Size", SONDE_CELL_BYTES,
			   (int64_t)bytes, 0, NULL);
	sonde_report_value(overview->report, "total_events", "Events",
			   SONDE_CELL_COUNT, (int64_t)overview->events, 0,
			   NULL);
	if (overview->seconds > 0)
		sonde_report_value(overview->report, "rate", "Rate",
				   SONDE_CELL_RATE, 0,
				   (double)overview->events / overview->seconds,
				   NULL);
}

/* ---- streams ---- */

static uint64_t lost_in(const struct sonde_stream *stream,
			enum sonde_problem_kind kind)
{
	struct sonde_problem problem;
	uint64_t nr = 0;

	for (size_t i = 0; !sonde_trace_problem(stream->trace, i, &problem);
	     i++)
		if (problem.stream == stream && problem.kind == kind)
			nr += problem.count;
	return nr;
}

static void stat_add_stream(const struct overview *overview,
			    struct sonde_table *table,
			    const struct sonde_stream *stream)
{
	uint64_t events = overview->counts->streams[stream->index].events;
	struct sonde_stream_info info;

	sonde_stream_get_info(stream, &info);
	sonde_table_row(table);
	sonde_table_text(table, 0,
			 sonde_stat_stream_name(overview->trace, stream));
	if (info.cpu >= 0)
		sonde_table_int(table, 1, info.cpu);
	sonde_table_uint(table, 2, info.nr_packets);
	sonde_table_int(table, 3, (int64_t)info.bytes);
	sonde_table_uint(table, 4, events);
	if (info.begin <= info.end) {
		sonde_table_int(table, 5, info.begin);
		sonde_table_int(
			table, 6,
			(int64_t)((uint64_t)info.end - (uint64_t)info.begin));
	}
	sonde_table_uint(table, 7, lost_in(stream, SONDE_PROBLEM_LOST_EVENTS));
	sonde_table_uint(table, 8, lost_in(stream, SONDE_PROBLEM_LOST_PACKETS));
}

static void stat_add_streams(const struct overview *overview)
{
	static const struct sonde_column columns[] = {
		{ "stream", "STREAM", SONDE_CELL_TEXT },
		{ "cpu", "CPU", SONDE_CELL_INT },
		{ "packets", "PACKETS", SONDE_CELL_COUNT },
		{ "size", "SIZE", SONDE_CELL_BYTES },
		{ "events", "EVENTS", SONDE_CELL_COUNT },
		{ "begin", "BEGIN", SONDE_CELL_TIME },
		{ "duration", "DURATION", SONDE_CELL_DURATION },
		{ "lost_events", "LOST EVENTS", SONDE_CELL_COUNT },
		{ "lost_packets", "LOST PACKETS", SONDE_CELL_COUNT },
	};
	struct sonde_table *table =
		sonde_report_table(overview->report, "streams", "Streams",
				   columns, SONDE_ARRAY_SIZE(columns));

	for (size_t i = 0; i < overview->trace->nr_streams; i++)
		stat_add_stream(overview, table, overview->trace->streams[i]);
	sonde_table_limit(table, rows(overview, STREAM_ROWS));
}

/* ---- events ---- */

struct name_count {
	const char *name;
	struct count count;
};

static int stat_compare_names(const void *a, const void *b)
{
	const struct name_count *x = a;
	const struct name_count *y = b;

	return strcmp(x->name, y->name);
}

/* Counts by name: classes of several streams may have the same. For free();
 * NULL without memory. */
static struct name_count *count_names(const struct overview *overview,
				      size_t *ret_nr)
{
	const struct sonde_trace *trace = overview->trace;
	struct name_count *names =
		calloc(trace->nr_classes + 1, sizeof(*names));
	size_t nr = 0;

	if (!names)
		return NULL;
	for (size_t i = 0; i < trace->nr_classes; i++)
		names[i] = (struct name_count){ trace->classes[i]->info.name,
						overview->counts->classes[i] };
	qsort(names, trace->nr_classes, sizeof(*names), stat_compare_names);
	for (size_t i = 0; i < trace->nr_classes; i++) {
		if (!names[i].count.events)
			continue;
		if (nr && !strcmp(names[nr - 1].name, names[i].name))
			stat_add_counts(&names[nr - 1].count, &names[i].count,
					1);
		else
			names[nr++] = names[i];
	}
	*ret_nr = nr;
	return names;
}

static int add_events(const struct overview *overview)
{
	static const struct sonde_column columns[] = {
		{ "event", "EVENT", SONDE_CELL_TEXT },
		{ "count", "COUNT", SONDE_CELL_COUNT },
		{ "share", "SHARE", SONDE_CELL_PERCENT },
		{ "rate", "RATE", SONDE_CELL_RATE },
		{ "size", "SIZE", SONDE_CELL_BYTES },
		{ "mean", "MEAN", SONDE_CELL_BYTES },
	};
	struct sonde_table *table =
		sonde_report_table(overview->report, "events", "Events",
				   columns, SONDE_ARRAY_SIZE(columns));
	struct name_count *names;
	size_t nr = 0;

	names = count_names(overview, &nr);
	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		const struct count *count = &names[i].count;

		sonde_table_row(table);
		sonde_table_text(table, 0, names[i].name);
		sonde_table_uint(table, 1, count->events);
		sonde_table_double(table, 2,
				   (double)count->events /
					   (double)overview->events);
		if (overview->seconds > 0)
			sonde_table_double(table, 3,
					   (double)count->events /
						   overview->seconds);
		sonde_table_int(table, 4, (int64_t)count->bytes);
		sonde_table_int(table, 5,
				(int64_t)(count->bytes / count->events));
	}
	sonde_table_sort(table, 1, true);
	sonde_table_limit(table, rows(overview, EVENT_ROWS));
	free(names);
	return 0;
}

/* ---- losses and damage ---- */

static bool stat_is_loss(const struct sonde_problem *problem)
{
	return problem->kind == SONDE_PROBLEM_LOST_EVENTS ||
	       problem->kind == SONDE_PROBLEM_LOST_PACKETS;
}

/* Whether it is in the span that is looked at. */
static bool stat_is_in_span(const struct overview *overview,
			    const struct sonde_problem *problem)
{
	return problem->end >= overview->args->map.from_ns &&
	       problem->begin <= overview->args->map.to_ns;
}

static void stat_add_loss(const struct overview *overview,
			  struct sonde_table *table,
			  const struct sonde_problem *problem)
{
	bool packets = problem->kind == SONDE_PROBLEM_LOST_PACKETS;

	sonde_table_row(table);
	if (problem->begin != SONDE_TIME_MIN)
		sonde_table_int(table, 0, problem->begin);
	if (problem->end != SONDE_TIME_MAX && problem->end != SONDE_TIME_MIN)
		sonde_table_int(table, 1, problem->end);
	sonde_table_uint(table, packets ? 3 : 2, problem->count);
	sonde_table_text(table, 4,
			 sonde_stat_stream_name(overview->trace,
						problem->stream));
}

static void add_losses(const struct overview *overview)
{
	static const struct sonde_column columns[] = {
		{ "from", "FROM", SONDE_CELL_TIME },
		{ "to", "TO", SONDE_CELL_TIME },
		{ "events", "EVENTS", SONDE_CELL_COUNT },
		{ "packets", "PACKETS", SONDE_CELL_COUNT },
		{ "stream", "STREAM", SONDE_CELL_TEXT },
	};
	struct sonde_problem problem;
	struct sonde_table *table =
		sonde_report_table(overview->report, "losses",
				   "Lost by the tracer", columns,
				   SONDE_ARRAY_SIZE(columns));

	for (size_t i = 0; !sonde_trace_problem(overview->trace, i, &problem);
	     i++)
		if (stat_is_loss(&problem) &&
		    stat_is_in_span(overview, &problem))
			stat_add_loss(overview, table, &problem);
	sonde_table_sort(table, 0, false);
	sonde_table_limit(table, rows(overview, LOST_ROWS));
}

static void stat_add_problem(const struct overview *overview,
			     struct sonde_table *table,
			     const struct sonde_problem *problem)
{
	sonde_table_row(table);
	sonde_table_text(table, 0, sonde_stat_problem_name(problem->kind));
	if (problem->stream) {
		sonde_table_text(table, 1,
				 sonde_stat_stream_name(overview->trace,
							problem->stream));
		sonde_table_uint(table, 2, problem->packet);
		sonde_table_uint(table, 3, problem->byte);
	}
	sonde_table_text(table, 4, problem->text);
}

static void add_problems(const struct overview *overview)
{
	static const struct sonde_column columns[] = {
		{ "problem", "PROBLEM", SONDE_CELL_TEXT },
		{ "stream", "STREAM", SONDE_CELL_TEXT },
		{ "packet", "PACKET", SONDE_CELL_COUNT },
		{ "byte", "BYTE", SONDE_CELL_COUNT },
		{ "text", "WHAT IS WRONG", SONDE_CELL_TEXT },
	};
	struct sonde_problem problem;
	struct sonde_table *table =
		sonde_report_table(overview->report, "problems", "Problems",
				   columns, SONDE_ARRAY_SIZE(columns));

	for (size_t i = 0; !sonde_trace_problem(overview->trace, i, &problem);
	     i++)
		if (!stat_is_loss(&problem) &&
		    stat_is_in_span(overview, &problem))
			stat_add_problem(overview, table, &problem);
	sonde_table_limit(table, rows(overview, LOST_ROWS));
}

/* ---- all ---- */

static int fill(struct overview *overview, bool verbose)
{
	for (size_t i = 0; i < overview->trace->nr_streams; i++)
		overview->events += overview->counts->streams[i].events;
	overview->seconds = sonde_analysis_seconds(overview->args);
	stat_add_sources(overview);
	add_totals(overview);
	if (verbose)
		add_environment(overview);
	add_clocks(overview, verbose);
	stat_add_streams(overview);
	add_losses(overview);
	add_problems(overview);
	return add_events(overview);
}

static int run(struct sonde_analysis_args *args,
	       struct sonde_report **ret_report)
{
	struct sonde_map_options map = args->map;
	struct part whole = { 0 };
	struct overview overview = {
		.args = args,
		.trace = args->trace,
		.report = sonde_report_new("stat"),
		.counts = &whole,
	};
	int err;

	map.unmerged = true;
	err = sonde_map(args->trace, &map, &ops, args->trace, &whole);
	if (!err)
		err = fill(&overview, args->verbose);
	part_fini(&whole);
	return sonde_report_end(overview.report, err, ret_report);
}

const struct sonde_analysis sonde_analysis_stat = {
	.name = "stat",
	.summary = "what a trace is and what is in it",
	.needs = "",
	.is_inventory = true,
	.run = run,
};
