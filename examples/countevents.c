/* SPDX-License-Identifier: MIT */
/*
 * countevents.c - how often each event comes in a trace, and the largest value
 * of a field: what a program that reads traces looks like.
 *
 *	cc countevents.c $(pkg-config --cflags --libs sonde-trace)
 *	./a.out DIR [FIELD]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <sonde/trace.h>

struct count {
	uint64_t events;
	uint64_t largest;
	bool has_field;
	struct sonde_field field;
};

static struct count *make_counts(const struct sonde_trace *trace,
				 const char *field)
{
	size_t nr = sonde_trace_nr_event_classes(trace);
	struct count *counts = calloc(nr + 1, sizeof(*counts));

	for (size_t i = 0; counts && field && i < nr; i++)
		counts[i].has_field = !sonde_event_class_field(
			sonde_trace_event_class(trace, i), SONDE_SCOPE_PAYLOAD,
			field, &counts[i].field);
	return counts;
}

static void count(struct count *counts, const struct sonde_event *event)
{
	struct count *of = &counts[sonde_event_class_index(event->cls)];
	struct sonde_value value;

	of->events++;
	if (of->has_field && !sonde_event_value(event, &of->field, &value) &&
	    value.kind == SONDE_KIND_UINT && value.u > of->largest)
		of->largest = value.u;
}

static void show(const struct sonde_trace *trace, const struct count *counts)
{
	for (size_t i = 0; i < sonde_trace_nr_event_classes(trace); i++) {
		struct sonde_event_class_info info;

		sonde_event_class_get_info(sonde_trace_event_class(trace, i),
					   &info);
		if (!counts[i].events)
			continue;
		printf("%10" PRIu64 "  %s", counts[i].events, info.name);
		if (counts[i].has_field)
			printf("  at most %" PRIu64, counts[i].largest);
		printf("\n");
	}
}

int main(int argc, char **argv)
{
	struct sonde_trace_error error;
	struct sonde_trace *trace;
	struct sonde_cursor *cursor;
	const struct sonde_event *event;
	struct count *counts;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: countevents DIR [FIELD]\n");
		return 2;
	}
	if (sonde_trace_open((const char *const *)argv + 1, 1, &error,
			     &trace)) {
		fprintf(stderr, "countevents: %s\n", error.text);
		return 1;
	}
	counts = make_counts(trace, argv[2]);
	if (!counts || sonde_cursor_new(trace, NULL, &cursor)) {
		fprintf(stderr, "countevents: out of memory\n");
		free(counts);
		return 1;
	}
	while (sonde_cursor_next(cursor, &event) > 0)
		count(counts, event);
	show(trace, counts);
	sonde_cursor_free(cursor);
	free(counts);
	sonde_trace_close(trace);
	return 0;
}
