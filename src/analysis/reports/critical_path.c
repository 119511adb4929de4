/* SPDX-License-Identifier: MIT */
/*
 * critical_path.c - the way back is a walk with a time that never grows: each
 * step appends a segment and goes to its begin, or goes over to a waker at the
 * same time, or back to a thread whose wait is explained. Steps of the last two
 * kinds are limited between two of the first, so the walk ends.
 */
#include "analysis/reports/critical_path.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"

/* A wait that is being explained: on that thread, back to that time. */
struct level {
	int32_t tid;
	int64_t floor_ns;
};

struct walk {
	struct sonde_path *path;
	const struct sonde_history *history;
	int32_t begin_tid;
	bool home; /* it has come to the thread that began */
	int64_t now_ns;
	size_t depth; /* the level it is on */
	struct level levels[SONDE_PATH_DEPTH];
	unsigned int hops; /* to wakers, since it last went back in time */
};

static int append(struct sonde_path *path,
		  const struct sonde_path_segment *segment)
{
	if (segment->begin_ns >= segment->end_ns)
		return 0;
	if (SONDE_GROW(path->segments, path->nr_segments, path->capacity))
		return -ENOMEM;
	path->segments[path->nr_segments++] = *segment;
	return 0;
}

/* Whether the wait, at whose end the walk is, was ended by a thread that can be
 * followed. */
static bool is_by_thread(const struct walk *walk,
			 const struct sonde_history_state *state)
{
	const struct sonde_waker *waker = &state->waker;

	if (state->kind != SONDE_STATE_BLOCKED ||
	    state->end_ns != walk->now_ns || waker->tid <= 0 ||
	    waker->tid == state->tid || walk->hops == SONDE_PATH_DEPTH)
		return false;
	return waker->kind == SONDE_WAKER_THREAD ||
	       (waker->kind == SONDE_WAKER_SENDER &&
		waker->sent_ns > state->begin_ns &&
		waker->sent_ns > walk->levels[walk->depth].floor_ns);
}

/* What was the network's of a wait for bytes. */
static int pass_network(struct walk *walk,
			const struct sonde_history_state *state)
{
	const struct sonde_path_segment segment = {
		.tid = state->tid,
		.kind = SONDE_STATE_NETWORK,
		.begin_ns = state->waker.sent_ns,
		.end_ns = walk->now_ns,
		.cause = state->cause,
		.waker = state->waker,
	};

	if (state->waker.kind != SONDE_WAKER_SENDER ||
	    segment.begin_ns >= walk->now_ns)
		return 0;
	walk->now_ns = segment.begin_ns;
	walk->hops = 0;
	return append(walk->path, &segment);
}

/* Goes over to who ended this wait, if it is a thread. */
static bool follow(struct walk *walk, const struct sonde_history_state *state)
{
	struct level *level = &walk->levels[walk->depth];
	int64_t floor_ns = level->floor_ns;

	if (!is_by_thread(walk, state))
		return false;
	if (walk->home) {
		if (walk->depth + 1 == SONDE_PATH_DEPTH)
			return false;
		if (state->begin_ns > floor_ns)
			floor_ns = state->begin_ns;
		level = &walk->levels[++walk->depth];
	}
	level->tid = state->waker.tid;
	level->floor_ns = floor_ns;
	walk->hops++;
	return true;
}

struct longest {
	const struct sonde_cause *cause;
	int64_t ns, all_ns;
};

static void look_for_longest(void *ctx, const struct sonde_history_piece *piece)
{
	struct longest *longest = ctx;
	int64_t ns = piece->end_ns - piece->begin_ns;

	longest->all_ns += ns;
	if (!piece->cause || ns <= longest->ns)
		return;
	longest->ns = ns;
	longest->cause = piece->cause;
}

/* What a run was for: the call that it was in for more than half of it. */
static void find_call(const struct walk *walk,
		      struct sonde_path_segment *segment)
{
	struct longest longest = { 0 };

	sonde_history_pieces(walk->history, segment->tid, segment->begin_ns,
			     segment->end_ns, look_for_longest, &longest);
	if (longest.cause && longest.ns > longest.all_ns / 2)
		segment->cause = *longest.cause;
}

/* One step back: to the begin of a state, or of what is not known. */
static int path_step(struct walk *walk, const struct sonde_history_state *state)
{
	const struct level *level = &walk->levels[walk->depth];
	struct sonde_path_segment segment = {
		.tid = level->tid,
		.kind = SONDE_STATE_UNKNOWN,
		.begin_ns = level->floor_ns,
		.end_ns = walk->now_ns,
	};

	if (state && state->end_ns < walk->now_ns) {
		if (state->end_ns > segment.begin_ns)
			segment.begin_ns = state->end_ns;
	} else if (state) {
		if (state->begin_ns > segment.begin_ns)
			segment.begin_ns = state->begin_ns;
		segment.kind = (enum sonde_state_kind)state->kind;
		segment.cause = state->cause;
		if (state->end_ns == walk->now_ns)
			segment.waker = state->waker;
		if (state->kind == SONDE_STATE_RUN)
			find_call(walk, &segment);
		if (segment.waker.kind == SONDE_WAKER_SENDER &&
		    segment.waker.sent_ns <= segment.begin_ns)
			segment.kind = SONDE_STATE_NETWORK;
	}
	walk->now_ns = segment.begin_ns;
	walk->hops = 0;
	return append(walk->path, &segment);
}

/* They were found from the last to the first. */
static void reverse(struct sonde_path *path)
{
	for (size_t i = 0; i < path->nr_segments / 2; i++) {
		size_t other = path->nr_segments - 1 - i;
		struct sonde_path_segment kept = path->segments[i];

		path->segments[i] = path->segments[other];
		path->segments[other] = kept;
	}
}

int sonde_path_find(struct sonde_path *path,
		    const struct sonde_history *history,
		    const struct sonde_path_ends *ends)
{
	struct walk walk = {
		.path = path,
		.history = history,
		.begin_tid = ends->begin_tid,
		.now_ns = ends->end_ns,
		.levels[0] = { ends->end_tid, ends->begin_ns },
	};
	int error = 0;

	*path = (struct sonde_path){ 0 };
	while (walk.now_ns > ends->begin_ns && !error) {
		const struct level *level = &walk.levels[walk.depth];
		const struct sonde_history_state *state;

		if (walk.depth && walk.now_ns <= level->floor_ns) {
			walk.depth--;
			continue;
		}
		walk.home = walk.home || level->tid == walk.begin_tid;
		state = sonde_history_before(history, level->tid, walk.now_ns);
		if (state && follow(&walk, state))
			error = pass_network(&walk, state);
		else
			error = path_step(&walk, state);
	}
	reverse(path);
	return error;
}

void sonde_path_fini(struct sonde_path *path)
{
	free(path->segments);
}
