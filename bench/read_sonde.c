/* SPDX-License-Identifier: MIT */
/*
 * read_sonde.c - the reader by itself, for bench/read: goes through a trace and
 * reads every field of every event, as <sonde/trace.h> gives them.
 *
 *   read_sonde decode TRACE...          every field of every event, merged
 *   read_sonde pass TRACE...            events only
 *   read_sonde filter EXPR TRACE...     events that match
 *   read_sonde seek NS TRACE...         the first event at a time after the
 *                                       begin
 *
 * Prints the number of events and a sum over all values, so that nothing can be
 * left out.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/trace.h>

#define MAX_FIELDS 64

/* What is read of the events of a class: fields by their paths where all of
 * them are simple, otherwise by a walk. */
struct plan {
	bool ready, walked;
	size_t nr_fields;
	struct sonde_field fields[MAX_FIELDS];
};

static uint64_t sum_value(const struct sonde_value *value)
{
	if (value->kind == SONDE_KIND_STRING || value->kind == SONDE_KIND_BLOB)
		return value->length +
		       (value->length ? (uint8_t)value->text[0] : 0);
	return value->u;
}

static void plan_scope(struct plan *plan, const struct sonde_event_class *cls,
		       enum sonde_scope scope)
{
	const struct sonde_class *of = sonde_event_class_scope(cls, scope);

	for (size_t i = 0; of && i < sonde_class_nr_members(of); i++) {
		const char *name;
		const struct sonde_class *member =
			sonde_class_member(of, i, &name);

		if (sonde_class_kind(member) >= SONDE_KIND_STRUCT ||
		    plan->nr_fields == MAX_FIELDS ||
		    sonde_event_class_field(cls, scope, name,
					    &plan->fields[plan->nr_fields++]))
			plan->walked = true;
	}
}

static void make_plan(struct plan *plan, const struct sonde_event_class *cls)
{
	plan->ready = true;
	for (int s = SONDE_SCOPE_COMMON_CONTEXT; s < SONDE_NR_SCOPES; s++)
		plan_scope(plan, cls, (enum sonde_scope)s);
}

static uint64_t sum_walk(const struct sonde_event *event)
{
	struct sonde_walk walk;
	struct sonde_value value;
	const char *name;
	uint64_t sum = 0;

	for (int s = SONDE_SCOPE_COMMON_CONTEXT; s < SONDE_NR_SCOPES; s++) {
		enum sonde_walk_item item;

		sonde_walk_begin(&walk, event, (enum sonde_scope)s);
		while ((item = sonde_walk_next(&walk, &name, &value)))
			if (item == SONDE_WALK_VALUE)
				sum += sum_value(&value);
	}
	return sum;
}

static uint64_t sum_event(const struct sonde_event *event, struct plan *plan)
{
	struct sonde_value values[MAX_FIELDS];
	uint64_t sum = (uint64_t)event->time_ns;

	if (!plan->ready)
		make_plan(plan, event->cls);
	if (plan->walked)
		return sum + sum_walk(event);
	(void)sonde_event_values(event, plan->fields, plan->nr_fields, values);
	for (size_t i = 0; i < plan->nr_fields; i++)
		if (values[i].cls)
			sum += sum_value(&values[i]);
	return sum;
}

static void fail(const char *what)
{
	(void)fprintf(stderr, "read_sonde: %s\n", what);
	exit(1);
}

/* A plan for each class, by its number. */
static struct plan *make_plans(const struct sonde_trace *trace)
{
	struct plan *plans =
		calloc(sonde_trace_nr_event_classes(trace) + 1, sizeof(*plans));

	if (!plans)
		fail("out of memory");
	return plans;
}

static void go(struct sonde_trace *trace,
	       const struct sonde_cursor_options *options, bool fields)
{
	struct plan *plans = make_plans(trace);
	const struct sonde_event *event;
	struct sonde_cursor *cursor;
	uint64_t nr = 0;
	uint64_t sum = 0;

	if (sonde_cursor_new(trace, options, &cursor))
		fail("out of memory");
	while (sonde_cursor_next(cursor, &event) > 0) {
		nr++;
		if (fields)
			sum += sum_event(
				event,
				&plans[sonde_event_class_index(event->cls)]);
	}
	(void)printf("%" PRIu64 " events, sum %" PRIx64 "\n", nr, sum);
	sonde_cursor_free(cursor);
	free(plans);
}

static void seek(struct sonde_trace *trace, int64_t after_ns)
{
	const struct sonde_event *event = NULL;
	struct sonde_cursor *cursor = NULL;
	int64_t begin;
	int64_t end;

	if (sonde_trace_range(trace, &begin, &end) ||
	    sonde_cursor_new(trace, NULL, &cursor) ||
	    sonde_cursor_seek(cursor, begin + after_ns) ||
	    sonde_cursor_next(cursor, &event) != 1)
		fail("no such event");
	(void)printf("%s at +%" PRId64 " ns\n", sonde_event_name(event),
		     event->time_ns - begin);
	sonde_cursor_free(cursor);
}

int main(int argc, char **argv)
{
	bool with_word = argc > 2 && (!strcmp(argv[1], "filter") ||
				      !strcmp(argv[1], "seek"));
	int first = with_word ? 3 : 2;
	struct sonde_cursor_options options;
	struct sonde_trace_error error;
	struct sonde_filter *filter = NULL;
	struct sonde_trace *trace;

	if (argc <= first)
		fail("usage: decode|pass|filter EXPR|seek NS TRACE...");
	if (sonde_trace_open((const char *const *)argv + first,
			     (size_t)(argc - first), &error, &trace))
		fail(error.text);
	sonde_cursor_options_init(&options);
	if (!strcmp(argv[1], "filter") &&
	    sonde_filter_new(trace, argv[2], &error, &filter))
		fail(error.text);
	options.filter = filter;
	if (!strcmp(argv[1], "seek"))
		seek(trace, strtoll(argv[2], NULL, 10));
	else
		go(trace, &options, !strcmp(argv[1], "decode"));
	sonde_filter_free(filter);
	sonde_trace_close(trace);
	return 0;
}
