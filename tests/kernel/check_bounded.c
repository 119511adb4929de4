/* SPDX-License-Identifier: MIT */
/*
 * check_bounded.c - whether the events of bounded.c's calls lie between the
 * reads of the clock around them.
 *
 *	check_bounded TRACE FILE
 *
 * The n-th syscall_entry_getppid of the thread belongs to the n-th pair, and so
 * does the n-th exit, if exits were recorded. Times are compared as the values
 * of the trace's clock that they are, which is the clock that was read: nothing
 * is converted. Prints, per kind of event
 *
 *	NAME INSIDE OF EARLY LATE WORST
 *
 * how many lie inside, of how many pairs; how many are before and behind their
 * pair, and how far the worst is out, in ticks. The status is 0 if all events
 * of all kinds that were recorded are inside, and there are as many as pairs.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/trace.h>

#include "bounded.h"

struct tally {
	const char *name;
	uint64_t events;
	uint64_t inside;
	uint64_t early;
	uint64_t late;
	uint64_t worst;
};

struct pairs {
	struct bounded_head head;
	struct bounded_pair *pair;
};

static int load(const char *path, struct pairs *pairs)
{
	FILE *file = fopen(path, "re");
	int rc = -1;

	if (!file)
		return -1;
	if (fread(&pairs->head, sizeof(pairs->head), 1, file) != 1 ||
	    pairs->head.magic != BOUNDED_MAGIC ||
	    pairs->head.nr > (UINT64_C(1) << 32))
		goto out;
	pairs->pair = calloc(pairs->head.nr + 1, sizeof(*pairs->pair));
	if (pairs->pair && fread(pairs->pair, sizeof(*pairs->pair),
				 pairs->head.nr, file) == pairs->head.nr)
		rc = 0;
out:
	(void)fclose(file); /* only read from */
	return rc;
}

static void judge(struct tally *tally, const struct pairs *pairs,
		  uint64_t ticks)
{
	const struct bounded_pair *pair;
	uint64_t out = 0;

	if (tally->events >= pairs->head.nr) {
		tally->events++;
		return;
	}
	pair = &pairs->pair[tally->events++];
	if (ticks < pair->before) {
		tally->early++;
		out = pair->before - ticks;
	} else if (ticks > pair->after) {
		tally->late++;
		out = ticks - pair->after;
	} else {
		tally->inside++;
	}
	if (out > tally->worst)
		tally->worst = out;
}

/* Whether the events' clock is the one that was read. */
static bool same_clock(const struct sonde_event *event, uint32_t clock)
{
	struct sonde_stream_info stream;
	struct sonde_source_info source;
	bool monotonic;

	sonde_stream_get_info(event->stream, &stream);
	sonde_source_get_info(stream.source, &source);
	if (stream.clock < 0)
		return false;
	monotonic = !strcmp(source.clocks[stream.clock].name, "monotonic");
	return monotonic == (clock == BOUNDED_MONOTONIC);
}

static int judge_all(struct sonde_trace *trace, const struct pairs *pairs,
		     struct tally *tallies, size_t nr)
{
	const struct sonde_event *event;
	struct sonde_cursor *cursor;

	if (sonde_cursor_new(trace, NULL, &cursor))
		return -1;
	while (sonde_cursor_next(cursor, &event) > 0) {
		const char *name = sonde_event_name(event);

		for (size_t i = 0; i < nr; i++) {
			if (strcmp(name, tallies[i].name) != 0 ||
			    sonde_event_tid(event) != (int32_t)pairs->head.tid)
				continue;
			if (!same_clock(event, pairs->head.clock)) {
				sonde_cursor_free(cursor);
				return -1;
			}
			judge(&tallies[i], pairs, event->ticks);
		}
	}
	sonde_cursor_free(cursor);
	return 0;
}

static int verdict(const struct tally *tallies, size_t nr, uint64_t nr_pairs)
{
	bool any = false;
	bool good = true;

	for (size_t i = 0; i < nr; i++) {
		const struct tally *t = &tallies[i];

		printf("%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
		       " %" PRIu64 "\n",
		       t->name, t->inside, nr_pairs, t->early, t->late,
		       t->worst);
		any = any || t->events;
		good = good && (!t->events || (t->events == nr_pairs &&
					       t->inside == nr_pairs));
	}
	return any && good ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct tally tallies[] = {
		{ .name = "syscall_entry_getppid" },
		{ .name = "syscall_exit_getppid" },
	};
	struct sonde_trace_error error;
	struct sonde_trace *trace;
	struct pairs pairs = { 0 };
	int status = 2;

	if (argc != 3) {
		fprintf(stderr, "usage: check_bounded TRACE FILE\n");
		return 2;
	}
	if (load(argv[2], &pairs)) {
		fprintf(stderr, "check_bounded: %s: not of bounded\n", argv[2]);
		free(pairs.pair);
		return 2;
	}
	if (sonde_trace_open((const char *const *)argv + 1, 1, &error,
			     &trace)) {
		fprintf(stderr, "check_bounded: %s\n", error.text);
		free(pairs.pair);
		return 2;
	}
	if (judge_all(trace, &pairs, tallies, 2))
		fprintf(stderr, "check_bounded: the trace has another clock "
				"than was read\n");
	else
		status = verdict(tallies, 2, pairs.head.nr);
	sonde_trace_close(trace);
	free(pairs.pair);
	return status;
}
