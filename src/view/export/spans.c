/* SPDX-License-Identifier: MIT */
/*
 * spans.c - stacks of what has begun and not ended, for each track (spans.h).
 *
 * Spans of a track nest: what is above the one that ends is ended with it.
 * After a loss all spans of the machine's tracks are closed before the next
 * event. An event costs the look at its stream, and a search down its track's
 * stack.
 */
#include "view/export/spans.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/port.h"
#include "reader/reader.h"

/* When events were lost on a machine (reader/reader.h): losses begin and end at
 * `times`, of which `passed` are over. */
struct sonde_machine {
	int64_t *times; /* sorted */
	size_t nr_times, room;
	uint32_t passed;
};

static int make_machines(struct sonde_spans *spans,
			 const struct sonde_trace *trace)
{
	spans->machines = calloc(trace->nr_machines, sizeof(*spans->machines));
	if (!spans->machines)
		return -ENOMEM;
	spans->nr_machines = trace->nr_machines;
	return 0;
}

static int spans_add_time(struct sonde_machine *machine, int64_t time_ns)
{
	if (SONDE_GROW(machine->times, machine->nr_times, machine->room))
		return -ENOMEM;
	machine->times[machine->nr_times++] = time_ns;
	return 0;
}

static int compare_times(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Losses are known from the start, but for damage inside packets. */
static int find_losses(struct sonde_spans *spans,
		       const struct sonde_trace *trace)
{
	struct sonde_problem problem;

	for (size_t i = 0; sonde_trace_problem(trace, i, &problem) == 0; i++) {
		struct sonde_stream_info info;
		struct sonde_machine *machine;

		if ((problem.kind != SONDE_PROBLEM_LOST_EVENTS &&
		     problem.kind != SONDE_PROBLEM_LOST_PACKETS) ||
		    !problem.stream)
			continue;
		sonde_stream_get_info(problem.stream, &info);
		machine = &spans->machines[info.source->machine];
		if (spans_add_time(machine, problem.begin) != 0 ||
		    spans_add_time(machine, problem.end) != 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < spans->nr_machines; i++)
		if (spans->machines[i].nr_times > 0)
			qsort(spans->machines[i].times,
			      spans->machines[i].nr_times, sizeof(int64_t),
			      compare_times);
	return 0;
}

/* ---- tracks ---- */

/* The track like this one, made if there is none; NULL if there is no place. */
static struct sonde_track *get_track(struct sonde_spans *spans,
				     const struct sonde_track *like)
{
	struct sonde_key key = sonde_key_make(
		SONDE_KEY_UINT,
		(uint64_t)like->machine << 32 | (uint32_t)like->id, like->kind);
	struct sonde_track *track = sonde_hash_get(&spans->tracks, &key);

	if (track)
		return track;
	track = sonde_hash_put(&spans->tracks, &key);
	if (!track)
		return NULL;
	key = track->key;
	*track = *like;
	track->key = key;
	track->index = (uint32_t)spans->tracks.nr_entries - 1;
	track->losses = spans->machines[like->machine].passed;
	return track;
}

/* What is known of the stream of the last event; often it is this one's. */
static void look_at_stream(struct sonde_spans *spans,
			   const struct sonde_stream *stream)
{
	struct sonde_stream_info info;

	if (stream == spans->stream)
		return;
	sonde_stream_get_info(stream, &info);
	spans->stream = stream;
	spans->stream_index = (int32_t)info.index;
	spans->machine = (uint32_t)info.source->machine;
}

static struct sonde_track *track_of(struct sonde_spans *spans,
				    const struct sonde_event *event,
				    enum sonde_pair_place place,
				    const struct sonde_spans_who *who)
{
	struct sonde_track like = {
		.machine = spans->machine,
		.kind = SONDE_TRACK_THREAD,
		.id = who->tid,
		.pid = who->pid,
		.changed_ns = SONDE_TIME_MIN,
		.last_ns = event->time_ns,
	};
	struct sonde_track *track;

	if (place == SONDE_PAIR_CPU || like.id < 0) {
		like.kind = SONDE_TRACK_CPU;
		like.id = sonde_event_cpu(event);
		like.pid = -1;
	}
	if (like.id < 0) {
		like.kind = SONDE_TRACK_STREAM;
		like.id = spans->stream_index;
	}
	if (place == SONDE_PAIR_THREAD && like.kind != SONDE_TRACK_THREAD)
		spans->counts.threadless++;
	track = get_track(spans, &like);
	if (track && track->pid < 0)
		track->pid = like.pid;
	return track;
}

/* ---- opening and closing ---- */

static int close_last(struct sonde_spans *spans, struct sonde_track *track,
		      int64_t time_ns, const struct sonde_event *event)
{
	int err = spans->ops->close(spans->ctx, track, time_ns, event);

	track->depth--;
	spans->nr_open--;
	track->changed_ns = time_ns;
	return err;
}

/* Closes spans, not by their ends, until `depth` are left. */
static int close_to(struct sonde_spans *spans, struct sonde_track *track,
		    uint32_t depth, int64_t time_ns, uint64_t *count)
{
	int err = 0;

	while (err == 0 && track->depth > depth) {
		(*count)++;
		err = close_last(spans, track, time_ns, NULL);
	}
	track->too_deep = 0;
	return err;
}

/* If events were lost since the track's last one. */
static int forget_lost(struct sonde_spans *spans, struct sonde_track *track,
		       int64_t time_ns)
{
	struct sonde_machine *machine = &spans->machines[track->machine];

	while (machine->passed < machine->nr_times &&
	       machine->times[machine->passed] <= time_ns)
		machine->passed++;
	if (track->losses == machine->passed)
		return 0;
	track->losses = machine->passed;
	return close_to(spans, track, 0, track->last_ns, &spans->counts.lost);
}

static int push(struct sonde_spans *spans, struct sonde_track *track)
{
	if (track->depth == SONDE_SPANS_DEPTH ||
	    spans->nr_open == SONDE_SPANS_OPEN)
		return -ENOSPC;
	if (SONDE_GROW(track->spans, track->depth, track->room))
		return -ENOMEM;
	track->depth++;
	spans->nr_open++;
	return 0;
}

/* How many spans are below the innermost one of a kind and, if it isn't 0, a
 * name; -1: there is none. */
static int64_t spans_find_span(const struct sonde_track *track, uint32_t kind,
			       uint32_t name)
{
	for (uint32_t i = track->depth; i-- > 0;) {
		const struct sonde_track_span *span = &track->spans[i];

		if (span->kind == kind && (name == 0 || name == span->name))
			return i;
	}
	return -1;
}

/* When it begins: not before what the track has shown. */
static int64_t spans_begin_ns(struct sonde_spans *spans,
			      const struct sonde_track *track,
			      const struct sonde_edge *edge)
{
	if (edge->begin_ns >= track->changed_ns)
		return edge->begin_ns;
	spans->counts.late++;
	return track->changed_ns;
}

static int begin(struct sonde_spans *spans, struct sonde_track *track,
		 const struct sonde_edge *edge, const struct sonde_event *event)
{
	int64_t below = edge->flat ? spans_find_span(track, edge->kind, 0) : -1;
	int err = 0;

	if (below >= 0)
		err = close_to(spans, track, (uint32_t)below, event->time_ns,
			       &spans->counts.forced);
	if (err == 0)
		err = push(spans, track);
	if (err == -ENOSPC) {
		track->too_deep++;
		spans->counts.too_deep++;
		return 0;
	}
	if (err != 0)
		return err;
	track->spans[track->depth - 1] = (struct sonde_track_span){
		.begin_ns = spans_begin_ns(spans, track, edge),
		.name = edge->name,
		.kind = edge->kind,
	};
	spans->counts.spans++;
	err = spans->ops->open(spans->ctx, track, event);
	track->changed_ns = track->spans[track->depth - 1].begin_ns;
	return err;
}

static int end(struct sonde_spans *spans, struct sonde_track *track,
	       const struct sonde_edge *edge, const struct sonde_event *event)
{
	int64_t below;
	int err;

	if (track->too_deep > 0) {
		track->too_deep--;
		return 0;
	}
	below = spans_find_span(track, edge->kind, edge->name);
	if (below < 0 && !edge->lone)
		spans->counts.unmatched++;
	if (below < 0)
		return edge->lone && spans->ops->other ?
			       spans->ops->other(spans->ctx, track, event) :
			       0;
	err = close_to(spans, track, (uint32_t)below + 1, event->time_ns,
		       &spans->counts.forced);
	return err != 0 ? err : close_last(spans, track, event->time_ns, event);
}

static int spans_handle(struct sonde_spans *spans, struct sonde_track *track,
			const struct sonde_edge *edge,
			const struct sonde_event *event)
{
	struct sonde_edge ending = *edge;
	int err = forget_lost(spans, track, event->time_ns);

	track->last_ns = event->time_ns;
	/* The name is that of the span which begins now. */
	if (edge->begins)
		ending.name = 0;
	if (err == 0 && edge->last)
		err = close_to(spans, track, 0, event->time_ns,
			       &spans->counts.ended);
	if (err == 0 && edge->ends)
		err = end(spans, track, &ending, event);
	if (err == 0 && edge->begins)
		err = begin(spans, track, edge, event);
	if (err == 0 && !edge->begins && !edge->ends && spans->ops->other)
		err = spans->ops->other(spans->ctx, track, event);
	return err;
}

/* ---- the whole ---- */

int sonde_spans_init(struct sonde_spans *spans,
		     const struct sonde_pairs_config *config,
		     const struct sonde_spans_ops *ops, void *ctx)
{
	int err;

	*spans = (struct sonde_spans){ .ops = ops,
				       .ctx = ctx,
				       .end_ns = SONDE_TIME_MIN };
	sonde_hash_init(&spans->tracks, sizeof(struct sonde_track),
			SONDE_SPANS_TRACKS);
	err = sonde_export_names_init(&spans->names);
	if (err == 0)
		err = sonde_pairs_init(&spans->pairs, config, &spans->names);
	if (err == 0)
		err = make_machines(spans, config->trace);
	if (err == 0)
		err = find_losses(spans, config->trace);
	return err;
}

void sonde_spans_fini(struct sonde_spans *spans)
{
	struct sonde_track *track = NULL;

	while ((track = sonde_hash_next(&spans->tracks, track)))
		free(track->spans);
	sonde_hash_fini(&spans->tracks);
	for (size_t i = 0; i < spans->nr_machines; i++)
		free(spans->machines[i].times);
	free(spans->machines);
	sonde_pairs_fini(&spans->pairs);
	sonde_export_names_fini(&spans->names);
	*spans = (struct sonde_spans){ 0 };
}

int sonde_spans_event(struct sonde_spans *spans,
		      const struct sonde_event *event,
		      const struct sonde_spans_who *who)
{
	struct sonde_track *track;
	struct sonde_edge edge;

	spans->counts.events++;
	if (event->time_ns == SONDE_TIME_MIN) {
		spans->counts.untimed++;
		return 0;
	}
	if (event->time_ns > spans->end_ns)
		spans->end_ns = event->time_ns;
	sonde_pairs_edge(&spans->pairs, event, &edge);
	if (!edge.begins && !edge.ends && !edge.last && !spans->ops->other)
		return 0;
	look_at_stream(spans, event->stream);
	track = track_of(spans, event, edge.place, who);
	if (track)
		return spans_handle(spans, track, &edge, event);
	spans->counts.trackless++;
	return 0;
}

/* In the order in which tracks appeared, so that the output is always the same.
 */
static int compare_tracks(const void *a, const void *b, void *ctx)
{
	const struct sonde_track *x = a;
	const struct sonde_track *y = b;

	(void)ctx;
	return (x->index > y->index) - (x->index < y->index);
}

int sonde_spans_finish(struct sonde_spans *spans)
{
	const void **sorted =
		sonde_hash_sorted(&spans->tracks, compare_tracks, NULL);
	int err = 0;

	if (!sorted && spans->tracks.nr_entries > 0)
		return -ENOMEM;
	for (size_t i = 0; err == 0 && i < spans->tracks.nr_entries; i++) {
		const struct sonde_track *track = sorted[i];

		err = close_to(spans,
			       sonde_hash_get(&spans->tracks, &track->key), 0,
			       spans->end_ns, &spans->counts.open);
	}
	free(sorted);
	return err;
}

bool sonde_spans_note(const struct sonde_spans *spans, size_t i, char *to,
		      size_t size)
{
	const struct sonde_spans_counts *counts = &spans->counts;
	const struct {
		uint64_t count;
		const char *words;
	} notes[] = {
		{ counts->unmatched,
		  "ends had no begin in what was read, and were passed over" },
		{ counts->forced, "begins had no end of their own; they end "
				  "with what is around them, or where the next "
				  "one begins" },
		{ counts->ended, "begins were open when their thread ended" },
		{ counts->lost, "begins were open when events were lost; they "
				"end with their thread's last event before" },
		{ counts->open, "begins were still open at the end" },
		{ counts->too_deep,
		  "begins were nested too deep, and count as part of what is "
		  "around them" },
		{ counts->threadless,
		  "events don't say which thread they are of; they are taken "
		  "together by CPU" },
		{ counts->late,
		  "begins were told late, after other things that "
		  "came in them: they begin behind those, and "
		  "report functions has their times" },
		{ counts->untimed, "events without a time were left out" },
		{ counts->trackless, "events of further threads were left "
				     "out: there are too many threads" },
	};

	for (size_t k = 0; k < SONDE_ARRAY_SIZE(notes); k++) {
		if (notes[k].count == 0 || i-- > 0)
			continue;
		(void)snprintf(to, size, "%" PRIu64 " %s", notes[k].count,
			       notes[k].words);
		return true;
	}
	return false;
}
