/* SPDX-License-Identifier: MIT */
/*
 * spans.h - what goes on in each thread: stacks of what has begun and not yet
 * ended. The one place where begins meet ends; flame graphs and timelines are
 * made of its calls.
 *
 * Events are given in the order of time. Each belongs to a *track*: a thread,
 * a CPU (interrupts), or a stream, if the trace doesn't know threads. A begin
 * opens a *span* on its track's stack. An end closes the innermost span of its
 * kind (see pairs.h), after those above it: spans on a track nest, whatever the
 * trace says, because what shows them takes nothing else.
 *
 *   unmatched end	ignored and counted
 *   events were lost	nobody knows what ended meanwhile: all spans of the
 *			tracks of that machine are closed, at the time of their
 *			track's last event, when the next event comes
 *   end of the thread	all its spans are closed
 *   end of the trace	the rest is closed at the last event's time
 *   deeper than SONDE_SPANS_DEPTH	counted, so that ends meet their begins
 *
 * Memory: SONDE_SPANS_TRACKS tracks and SONDE_SPANS_OPEN open spans at most;
 * events of further tracks are counted and passed over.
 */
#ifndef VIEW_EXPORT_SPANS_H
#define VIEW_EXPORT_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/trace.h>

#include "base/hash.h"
#include "view/export/names.h"
#include "view/export/pairs.h"

#define SONDE_SPANS_DEPTH  512u
#define SONDE_SPANS_TRACKS (1u << 17)
#define SONDE_SPANS_OPEN   (1u << 21)

enum sonde_track_kind {
	SONDE_TRACK_THREAD, /* id is its tid */
	SONDE_TRACK_CPU,    /* id is the CPU */
	SONDE_TRACK_STREAM, /* id is the stream's index */
};

struct sonde_track_span {
	int64_t begin_ns;
	uint32_t name, kind;
	uint32_t user; /* of the caller, as is */
	char *text;    /* which is not freed here */
};

struct sonde_track {
	struct sonde_key key; /* machine, kind and id */
	enum sonde_track_kind kind;
	uint32_t machine;
	int32_t id;
	int32_t pid;    /* -1 unknown */
	uint32_t index; /* from 0, in the order of appearance */
	uint32_t depth, room;
	struct sonde_track_span *spans; /* [depth], the innermost last */
	uint32_t too_deep;              /* begins that got no span */
	uint32_t losses;    /* how many the machine had at the last event */
	int64_t changed_ns; /* when a span last began or ended */
	int64_t last_ns;    /* the last event */
	uint64_t user;      /* of the caller; zero at first */
};

struct sonde_spans_counts {
	uint64_t events, spans;
	uint64_t unmatched; /* ends without a begin */
	uint64_t forced;    /* closed because what is below them ended */
	uint64_t ended;     /* closed because their thread ended */
	uint64_t lost;      /* closed because events were lost */
	uint64_t open;      /* at the end */
	uint64_t too_deep;
	uint64_t late;       /* begins that were told after something in them */
	uint64_t threadless; /* events that should have had a thread */
	uint64_t untimed;    /* events without a time */
	uint64_t trackless;  /* events for which there was no track left */
};

/* Each returns 0, or what ends everything. Tracks are valid for the call. */
struct sonde_spans_ops {
	/* It is track->spans[depth - 1]. */
	int (*open)(void *ctx, struct sonde_track *track,
		    const struct sonde_event *event);
	/* The last span is about to be closed; event NULL: not by its end. */
	int (*close)(void *ctx, struct sonde_track *track, int64_t time_ns,
		     const struct sonde_event *event);
	/* Neither begin nor end. NULL: they are of no interest. */
	int (*other)(void *ctx, struct sonde_track *track,
		     const struct sonde_event *event);
};

struct sonde_spans {
	struct sonde_export_names names;
	struct sonde_pairs pairs;
	struct sonde_spans_counts counts;
	/* ---- private ---- */
	const struct sonde_spans_ops *ops;
	void *ctx;
	struct sonde_machine *machines;
	size_t nr_machines;
	struct sonde_hash tracks; /* of struct sonde_track */
	uint32_t nr_open;
	int64_t end_ns;
	/* of the last event's stream */
	const struct sonde_stream *stream;
	int32_t stream_index;
	uint32_t machine;
};

int sonde_spans_init(struct sonde_spans *spans,
		     const struct sonde_pairs_config *config,
		     const struct sonde_spans_ops *ops, void *ctx);
void sonde_spans_fini(struct sonde_spans *spans);

/* Whose event it is; -1: not known. */
struct sonde_spans_who {
	int32_t tid, pid;
};

int sonde_spans_event(struct sonde_spans *spans,
		      const struct sonde_event *event,
		      const struct sonde_spans_who *who);
/* Closes what is open. */
int sonde_spans_finish(struct sonde_spans *spans);

/* What went wrong, in words: the i-th line, in `to`; false beyond the last. */
bool sonde_spans_note(const struct sonde_spans *spans, size_t i, char *to,
		      size_t size);

#endif /* VIEW_EXPORT_SPANS_H */
