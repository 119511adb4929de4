/* SPDX-License-Identifier: MIT */
/*
 * feed.h - the events of a trace while it is written, each once, for those who
 * show them: part by part (reader/follow.h), through a filter.
 *
 * Events of a part come in the order of time; those of the next one may be
 * earlier than some of them. When no earlier one can come any more is said by
 * sonde_feed_due_ns(), by the trace's clock.
 *
 * A filter may name what no event has had so far, and then can't be compiled:
 * events wait in the trace until it can be. If that never is, the end says so.
 *
 * One thread.
 */
#ifndef VIEW_LIVE_FEED_H
#define VIEW_LIVE_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/trace.h>

#include "reader/follow.h"

struct sonde_feed_config {
	struct sonde_follow *follow; /* borrowed */
	const char *filter;          /* borrowed; NULL: all */
	uint64_t hold_ns; /* after so long, no event comes any more */
	bool internal;    /* events of such classes, too, whatever the filter */
	/* Something that the user should hear at once; one line. */
	void (*say)(const char *text);
	/* Of a part. begin: 0, -EINVAL with *error, -ENOMEM; end in any case,
	 * before the trace is closed. event: 0 or -errno. */
	int (*begin)(void *ctx, struct sonde_trace *trace,
		     struct sonde_trace_error *error);
	int (*event)(void *ctx, const struct sonde_event *event);
	void (*end)(void *ctx);
	/* Of what counts as seen before; NULL: it doesn't matter. 0 or -errno. */
	int (*skip)(void *ctx, struct sonde_trace *trace);
	void *ctx;
};

struct sonde_feed {
	struct sonde_feed_config config;
	uint64_t events; /* that were read; internal ones don't count */
	uint64_t filtered;
	struct sonde_trace_error error;
	const char *wrong_option; /* what the error is about; NULL: none */
	/* ---- private ---- */
	struct sonde_follow_losses before; /* when we began to look */
	int64_t ahead_ns; /* the trace's clock, of ours; MIN: not known */
	uint64_t ahead_at_ns;
	bool has_warned; /* that events wait for the filter */
	bool is_ending;
};

void sonde_feed_init(struct sonde_feed *feed,
		     const struct sonde_feed_config *config);

/* All that is in the trace now counts as seen. 0 or -errno, with feed->error. */
int sonde_feed_skip(struct sonde_feed *feed);

/* Reads what there is. 0; -EINVAL: `begin` said so; -errno: the trace can't be
 * read, or `event` said so. */
int sonde_feed_look(struct sonde_feed *feed);

/* The trace is whole: reads the rest. As look; -EINVAL: also of a filter that
 * could never be asked. */
int sonde_feed_end(struct sonde_feed *feed);

/* Up to when, by the trace's clock, nothing will come any more. `read_ns`: all
 * that happened up to then, by CLOCK_MONOTONIC, is in the trace; 0: that isn't
 * known. INT64_MIN: not known yet. */
int64_t sonde_feed_due_ns(const struct sonde_feed *feed, uint64_t read_ns);

/* Since the skip. */
void sonde_feed_lost(const struct sonde_feed *feed,
		     struct sonde_follow_losses *ret_losses);

#endif /* VIEW_LIVE_FEED_H */
