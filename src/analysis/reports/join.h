/* SPDX-License-Identifier: MIT */
/*
 * join.h - begins and ends with the same key, joined to durations.
 *
 * At any time a key is open or closed. A begin opens it; if it was open, the
 * earlier begin has no end ("unended"). An end closes it and gives a duration;
 * if it was closed, it has no begin ("unbegun"). So after a lost event the very
 * next pair is right again. What nests, such as calls, needs a key for each
 * depth.
 *
 * A pair with lost events between is no span: the end of the begin that is
 * there, or the begin of the end, may be among them. It is counted ("across").
 *
 * A part that doesn't start at the trace's begin can't know whether a key was
 * open before. Only the first begin or end of the key depends on it, so the
 * part keeps that one, and its neighbour's last state answers it when the two
 * are merged:
 *
 *	the right one's first event	left open	left closed
 *	begin				left's unended	nothing
 *	end				a duration	unbegun
 *
 * and if the left one doesn't know either, it becomes the first event of both.
 * A part that does start at the begin knows that all keys were closed, and
 * forgets a key when it is closed.
 *
 * Memory: some 100 bytes for each key that is open, and in a part, each key it
 * has met. At most SONDE_JOIN_LIMIT keys, then -E2BIG.
 */
#ifndef ANALYSIS_REPORTS_JOIN_H
#define ANALYSIS_REPORTS_JOIN_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/reports/histogram.h"
#include "analysis/reports/longest.h"
#include "analysis/reports/lost.h"
#include "analysis/reports/scatter.h"
#include "base/hash.h"

#define SONDE_JOIN_LIMIT ((size_t)7 << 19) /* 7/8 of 4 Mi */

#define SONDE_JOIN_KEPT  ((size_t)1 << 20)

struct sonde_join_span {
	int64_t begin_ns, end_ns;
	int32_t tid; /* whose the begin is; -1 unknown */
};

struct sonde_join {
	/* Set after init. Spans of this length and longer are kept; 0: none. */
	int64_t keep_ns;
	const struct sonde_lost *lost; /* borrowed; NULL: nothing was lost */
	struct sonde_join_span *kept;  /* by no order */
	size_t nr_kept;
	uint64_t not_kept;            /* there was no room for */
	struct sonde_scatter scatter; /* its config: set after init, or NULL */
	struct sonde_histogram durations;
	struct sonde_longest worst; /* other_tid: whose the end is */
	uint64_t unended, unbegun;  /* as far as known */
	uint64_t across;            /* pairs, with lost events between */
	uint64_t keyless; /* events that had none, as the user counts them */
	/* ---- private ---- */
	struct sonde_hash keys;
	size_t kept_capacity;
	bool first;
};

/* `first`: nothing comes before. */
void sonde_join_init(struct sonde_join *join, bool first);
/* Does nothing to zeros. */
void sonde_join_fini(struct sonde_join *join);

/* 0, -ENOMEM, -E2BIG. */
int sonde_join_begin(struct sonde_join *join, const struct sonde_key *key,
		     int64_t time_ns, int32_t tid);
int sonde_join_end(struct sonde_join *join, const struct sonde_key *key,
		   int64_t time_ns, int32_t tid);
/* One that is known as a whole: no key is opened or closed. */
int sonde_join_span(struct sonde_join *join, const struct sonde_key *key,
		    const struct sonde_join_span *span);
/* `right` is what follows immediately; it is left without meaning, to be
 * finished. */
int sonde_join_merge(struct sonde_join *left, struct sonde_join *right);

/* Nothing follows: what is open stays without end. */
void sonde_join_close(struct sonde_join *join);

#endif /* ANALYSIS_REPORTS_JOIN_H */
