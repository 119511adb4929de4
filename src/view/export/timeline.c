/* SPDX-License-Identifier: MIT */
/*
 * timeline.c - a trace as tracks, spans, instants and counters (timeline.h).
 *
 * A track is told to the writer before the first thing on it. Events come in
 * the order of time, once.
 */
#include "view/export/timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "view/export/in_order.h"

struct timeline {
	const struct sonde_timeline_config *config;
	const struct sonde_timeline_ops *ops;
	void *ctx;
	struct sonde_spans *spans;
};

static const char *stream_name(const struct sonde_event *event)
{
	struct sonde_stream_info info;

	sonde_stream_get_info(event->stream, &info);
	return sonde_text_base(info.path);
}

/* "sqlite3" of "sqlite3-20939-0_cpu1", if the process is 20939: so Sonde calls
 * its streams. */
static void process_of_stream(const struct sonde_event *event, int32_t pid,
			      char *to, size_t size)
{
	const char *name = stream_name(event);
	const char *end;
	char number[16];

	(void)snprintf(number, sizeof(number), "-%" PRId32 "-", pid);
	end = strstr(name, number);
	(void)snprintf(to, size, "%.*s", end ? (int)(end - name) : 0, name);
}

/* Tells the writer about a track that it doesn't know yet; track->user is
 * whether it does. */
static int tell_track(struct timeline *line, struct sonde_track *track,
		      const struct sonde_event *event)
{
	char text[SONDE_NAME_MAX] = "";
	char process[SONDE_NAME_MAX] = "";
	struct sonde_timeline_name name = { .track = text, .process = process };

	track->user = 1;
	switch (track->kind) {
	case SONDE_TRACK_THREAD:
		name.pid = track->pid >= 0 ? track->pid : track->id;
		sonde_export_thread_name(event, true, track->id, text,
					 sizeof(text));
		process_of_stream(event, name.pid, process, sizeof(process));
		if (process[0] == 0)
			sonde_export_thread_name(event, name.pid == track->id,
						 name.pid, process,
						 sizeof(process));
		break;
	case SONDE_TRACK_CPU:
		(void)snprintf(text, sizeof(text), "CPU %" PRId32, track->id);
		break;
	case SONDE_TRACK_STREAM:
		(void)snprintf(text, sizeof(text), "%s", stream_name(event));
		break;
	}
	return line->ops->track(line->ctx, track, &name);
}

static int timeline_open_span(void *ctx, struct sonde_track *track,
			      const struct sonde_event *event)
{
	struct timeline *line = ctx;
	int err = track->user ? 0 : tell_track(line, track, event);

	return err != 0 ? err : line->ops->open(line->ctx, track, event);
}

static int close_span(void *ctx, struct sonde_track *track, int64_t time_ns,
		      const struct sonde_event *event)
{
	struct timeline *line = ctx;

	return line->ops->close(line->ctx, track, time_ns, event);
}

static int other(void *ctx, struct sonde_track *track,
		 const struct sonde_event *event)
{
	struct timeline *line = ctx;
	int err = track->user ? 0 : tell_track(line, track, event);

	return err != 0 ? err : line->ops->instant(line->ctx, track, event);
}

static const struct sonde_spans_ops spans_ops = {
	.open = timeline_open_span,
	.close = close_span,
	.other = other,
};

static int count(struct timeline *line, const struct sonde_event *event)
{
	const struct sonde_timeline_config *config = line->config;
	int err = 0;

	if (event->time_ns == SONDE_TIME_MIN)
		return 0;
	for (size_t i = 0; err == 0 && i < config->nr_counters; i++) {
		struct sonde_value value;

		if (sonde_filter_value(config->counters[i].value, event,
				       &value) != 0)
			continue;
		if (value.kind == SONDE_KIND_UINT ||
		    value.kind == SONDE_KIND_INT ||
		    value.kind == SONDE_KIND_FLOAT)
			err = line->ops->counter(line->ctx, i, event->time_ns,
						 &value);
	}
	return err;
}

static int timeline_feed(void *ctx, const struct sonde_event *event,
			 const struct sonde_spans_who *who)
{
	struct timeline *line = ctx;
	int err = sonde_spans_event(line->spans, event, who);

	return err != 0 ? err : count(line, event);
}

int sonde_timeline_run(const struct sonde_timeline_config *config,
		       const struct sonde_timeline_ops *ops, void *ctx,
		       struct sonde_spans *ret_spans)
{
	struct timeline line = {
		.config = config, .ops = ops, .ctx = ctx, .spans = ret_spans
	};
	struct sonde_trace *trace = config->pairs.trace;
	int err;

	err = sonde_spans_init(ret_spans, &config->pairs, &spans_ops, &line);
	if (err == 0)
		err = sonde_export_in_order(trace, config->options,
					    timeline_feed, &line);
	if (err == 0)
		err = sonde_spans_finish(ret_spans);
	return err;
}
