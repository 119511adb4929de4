/* SPDX-License-Identifier: MIT */
/*
 * timeline.h - a trace as tracks with spans, instants and counters: what files
 * for timeline viewers are made of. Each kind of file is a set of calls
 * (perfetto.c, chrome.c); everything they share is here: whose an event is,
 * what is called how, what counts.
 *
 * One pass in the order of time. Memory is that of spans.h and of the kernel's
 * state.
 */
#ifndef VIEW_EXPORT_TIMELINE_H
#define VIEW_EXPORT_TIMELINE_H

#include <stdint.h>

#include "reader/map.h"
#include "view/export/spans.h"

struct sonde_timeline_counter {
	const char *name;
	struct sonde_filter *value; /* borrowed */
};

struct sonde_timeline_config {
	const struct sonde_map_options *options; /* span, filter, progress */
	struct sonde_pairs_config pairs;
	const struct sonde_timeline_counter *counters;
	size_t nr_counters;
};

/* How to call a track. Texts are "" if nothing is known. */
struct sonde_timeline_name {
	const char *track; /* a thread's name, or "CPU 3" */
	const char *process;
	int32_t pid; /* of a thread; its tid if unknown; 0 of other tracks */
};

/* Each returns 0, or what ends everything. */
struct sonde_timeline_ops {
	/* Before the track's first use. */
	int (*track)(void *ctx, const struct sonde_track *track,
		     const struct sonde_timeline_name *name);
	int (*open)(void *ctx, const struct sonde_track *track,
		    const struct sonde_event *event);
	/* event: NULL if it is not its end that closes it. */
	int (*close)(void *ctx, const struct sonde_track *track,
		     int64_t time_ns, const struct sonde_event *event);
	int (*instant)(void *ctx, const struct sonde_track *track,
		       const struct sonde_event *event);
	/* The i-th counter; value is a UINT, INT or FLOAT. */
	int (*counter)(void *ctx, size_t i, int64_t time_ns,
		       const struct sonde_value *value);
};

/*
 * Runs through the trace. `names` is valid in calls: the texts of the spans'
 * names. *ret_spans is for sonde_spans_note() and sonde_spans_fini(), whatever
 * is returned.
 */
int sonde_timeline_run(const struct sonde_timeline_config *config,
		       const struct sonde_timeline_ops *ops, void *ctx,
		       struct sonde_spans *ret_spans);

#endif /* VIEW_EXPORT_TIMELINE_H */
