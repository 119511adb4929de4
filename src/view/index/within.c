/* SPDX-License-Identifier: MIT */
/*
 * within.c - rows of what threads begin and end (within.h).
 *
 * Spans of one depth of a thread are disjoint and end in the order in which they
 * begin, so each is its row's next state when it is closed. A name is kept when a
 * span of that name is opened first.
 */
#include "view/index/within.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "view/export/in_order.h"
#include "view/export/spans.h"

struct sonde_view_within {
	struct sonde_view_build *build;
	struct sonde_trace *trace;
	struct sonde_spans spans;
	bool *streams; /* which are read */
	uint32_t *
		numbers; /* of the spans' names: what `about` is; 0: none yet */
};

static uint32_t number_of_name(struct sonde_view_within *within, uint32_t name)
{
	uint32_t *number = &within->numbers[name];

	if (!*number)
		*number = sonde_view_build_name(
			within->build, within->spans.names.texts[name]);
	return *number;
}

static int within_open(void *ctx, struct sonde_track *track,
		       const struct sonde_event *event)
{
	struct sonde_view_within *within = ctx;
	struct sonde_track_span *span = &track->spans[track->depth - 1];
	char name[SONDE_VIEW_ROW_NAME];

	span->user = number_of_name(within, span->name);
	if (track->user || track->kind != SONDE_TRACK_THREAD)
		return 0;
	track->user = 1;
	sonde_export_thread_name(event, true, track->id, name, sizeof(name));
	return sonde_view_build_thread(within->build, track->id, track->pid,
				       name);
}

static int within_close(void *ctx, struct sonde_track *track, int64_t time_ns,
			const struct sonde_event *event)
{
	struct sonde_view_within *within = ctx;
	const struct sonde_track_span *span = &track->spans[track->depth - 1];
	int64_t origin_ns = within->build->begin_ns;
	const struct sonde_view_piece piece = {
		.begin = span->begin_ns - origin_ns,
		.end = time_ns - origin_ns,
		.state = SONDE_VIEW_SPAN,
		.about = span->user,
	};

	(void)event;
	if (track->kind == SONDE_TRACK_THREAD &&
	    track->depth <= SONDE_VIEW_DEPTH)
		sonde_view_build_add(within->build,
				     SONDE_VIEW_ROW_WITHIN + track->depth - 1,
				     track->id, &piece);
	return 0;
}

static const struct sonde_spans_ops within_ops = {
	.open = within_open,
	.close = within_close,
};

/* Those of sources that have a class of event which begins something. */
static int within_streams(struct sonde_view_within *within)
{
	const struct sonde_trace *trace = within->trace;
	size_t nr = sonde_trace_nr_streams(trace);

	within->streams = calloc(nr + 1, sizeof(*within->streams));
	if (!within->streams)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		struct sonde_stream_info info;

		sonde_stream_get_info(sonde_trace_stream(trace, i), &info);
		within->streams[i] = sonde_pairs_has_begin(&within->spans.pairs,
							   info.source);
	}
	return 0;
}

int sonde_view_within_new(struct sonde_view_build *build,
			  struct sonde_trace *trace,
			  struct sonde_view_within **ret_within)
{
	const struct sonde_pairs_config config = {
		.trace = trace,
		.no_kernel = true,
	};
	struct sonde_view_within *within = calloc(1, sizeof(*within));
	int err = -ENOMEM;

	*ret_within = NULL;
	if (!within)
		return err;
	within->build = build;
	within->trace = trace;
	within->numbers = calloc(SONDE_NAMES_MAX, sizeof(*within->numbers));
	err = sonde_spans_init(&within->spans, &config, &within_ops, within);
	if (!err)
		err = within->numbers ? within_streams(within) : -ENOMEM;
	if (err || !within->spans.pairs.any)
		sonde_view_within_free(within);
	else
		*ret_within = within;
	return err;
}

static int within_feed(void *ctx, const struct sonde_event *event,
		       const struct sonde_spans_who *who)
{
	struct sonde_view_within *within = ctx;

	return sonde_spans_event(&within->spans, event, who);
}

int sonde_view_within_run(struct sonde_view_within *within,
			  const struct sonde_map_options *options)
{
	struct sonde_map_options wanted = *options;
	int err;

	wanted.streams = within->streams;
	err = sonde_export_in_order(within->trace, &wanted, within_feed,
				    within);
	if (!err)
		err = sonde_spans_finish(&within->spans);
	sonde_view_build_flush(within->build);
	return err ? err : within->build->error;
}

void sonde_view_within_free(struct sonde_view_within *within)
{
	if (!within)
		return;
	sonde_spans_fini(&within->spans);
	free(within->streams);
	free(within->numbers);
	free(within);
}
