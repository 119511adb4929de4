/* SPDX-License-Identifier: MIT */
/*
 * in_order.c - events in the order of time with the threads they are of (in_order.h).
 *
 * An event's own context is believed before what the trace says elsewhere of
 * its thread. The user may stop the run at a look at the progress.
 */
#include "view/export/in_order.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analysis/model/attribution.h"
#include "reader/reader.h"

/* Events between two looks at the progress. */
#define PROGRESS_EVENTS 4096u

void sonde_export_thread_name(const struct sonde_event *event, bool is_its,
			      int32_t tid, char *to, size_t size)
{
	const struct sonde_attribution *attribution;
	struct sonde_value value;
	const char *name;

	if (tid == 0) {
		(void)snprintf(to, size, "idle");
		return;
	}
	memset(to, 0, size);
	/* what a context says */
	if (is_its && !sonde_event_procname(event, &value) && value.cls) {
		(void)sonde_value_utf8(&value, to, size - 1);
		return;
	}
	attribution = sonde_trace_attribution(event->stream->trace,
					      event->stream->source->machine);
	name = sonde_attribution_last_name(attribution, tid);
	(void)snprintf(to, size, "%s", name ? name : "");
}

/* Where the cursor is, for the user; not 0: stop. */
static int who_tell_progress(const struct sonde_map_options *options,
			     const struct sonde_cursor *cursor)
{
	uint64_t done;
	uint64_t all;

	if (!options->progress)
		return 0;
	sonde_cursor_progress(cursor, &done, &all);
	return options->progress(options->progress_ctx, done, all) ? -EINTR : 0;
}

int sonde_export_in_order(struct sonde_trace *trace,
			  const struct sonde_map_options *options,
			  int (*feed)(void *ctx,
				      const struct sonde_event *event,
				      const struct sonde_spans_who *who),
			  void *ctx)
{
	struct sonde_cursor_options wanted;
	struct sonde_cursor *cursor;
	const struct sonde_event *event;
	int err;

	sonde_cursor_options_init(&wanted);
	wanted.from_ns = options->from_ns;
	wanted.to_ns = options->to_ns;
	wanted.filter = options->filter;
	wanted.streams = options->streams;
	err = sonde_cursor_new(trace, &wanted, &cursor);
	if (err != 0)
		return err;
	for (uint64_t n = 1; (err = sonde_cursor_next(cursor, &event)) == 1;
	     n++) {
		const struct sonde_spans_who is = {
			.tid = sonde_event_tid(event),
			.pid = sonde_event_pid(event),
		};

		err = n % PROGRESS_EVENTS ? 0 :
					    who_tell_progress(options, cursor);
		if (err == 0)
			err = feed(ctx, event, &is);
		if (err != 0)
			break;
	}
	if (err == 0)
		err = who_tell_progress(options, cursor);
	sonde_cursor_free(cursor);
	return err;
}
