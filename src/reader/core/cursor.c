/* SPDX-License-Identifier: MIT */
/*
 * cursor.c - lanes merged by time.
 *
 * A binary heap of lanes, by the time of the event that each has next, of which
 * the heap has a copy; equal times by the streams' order, so that the result is
 * always the same. Most often the lane that gave the last event gives the next one, too: `limit`
 * keeps the time below which that is so, and sonde_cursor_next() compares once
 * and is done.
 *
 * Going back is the same with the events before and the order reversed. A heap
 * is valid for one direction; the other one begins by making it anew.
 */
#include "reader/core/cursor.h"

#include <errno.h>
#include <stdlib.h>

#include "reader/core/lane.h"

/* Of files, mapped behind all lanes together, and behind each. */
#define KEEP_ALL_BYTES ((uint64_t)32 << 20)
#define KEEP_MIN_BYTES ((uint64_t)64 << 10)

enum direction {
	NOWHERE,
	FORWARD,
	BACKWARD
};

/* A lane that has an event: what is smaller comes first. */
struct candidate {
	int64_t key;  /* the event's time; backward: its complement */
	int64_t rank; /* the lane's number; backward: its complement */
	struct sonde_lane *lane;
};

struct sonde_cursor {
	struct sonde_trace *trace;
	struct sonde_span span;
	bool unmerged;
	enum direction direction;   /* that the heap is for */
	struct sonde_lane *current; /* gave the last event, forward */
	int64_t limit; /* it gives the next one if that is earlier */
	size_t nr_lanes, nr_heap;
	struct candidate *heap;
	struct sonde_lane *lanes;
	uint64_t all_bytes;
};

void sonde_cursor_options_init(struct sonde_cursor_options *options)
{
	*options = (struct sonde_cursor_options){
		.from_ns = SONDE_TIME_MIN,
		.to_ns = SONDE_TIME_MAX,
	};
}

/* ---- the heap ---- */

static inline bool precedes(const struct candidate *a,
			    const struct candidate *b)
{
	return a->key < b->key || (a->key == b->key && a->rank < b->rank);
}

static struct candidate candidate_of(const struct sonde_cursor *cursor,
				     struct sonde_lane *lane,
				     const struct sonde_event *event)
{
	int64_t reversed = cursor->direction == BACKWARD ? -1 : 0;

	return (struct candidate){
		.key = event->time_ns ^ reversed,
		.rank = (lane - cursor->lanes) ^ reversed,
		.lane = lane,
	};
}

static void sift_down(struct sonde_cursor *cursor, size_t i,
		      struct candidate candidate)
{
	struct candidate *heap = cursor->heap;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= cursor->nr_heap)
			break;
		if (child + 1 < cursor->nr_heap &&
		    precedes(&heap[child + 1], &heap[child]))
			child++;
		if (!precedes(&heap[child], &candidate))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = candidate;
}

static const struct sonde_event *peek(const struct sonde_cursor *cursor,
				      struct sonde_lane *lane)
{
	return cursor->direction == FORWARD ? sonde_lane_after(lane) :
					      sonde_lane_before(lane);
}

static int make_heap(struct sonde_cursor *cursor, enum direction direction)
{
	cursor->direction = direction;
	cursor->current = NULL;
	cursor->nr_heap = 0;
	for (size_t i = 0; i < cursor->nr_lanes; i++) {
		struct sonde_lane *lane = &cursor->lanes[i];
		const struct sonde_event *event = peek(cursor, lane);

		if (event) {
			cursor->heap[cursor->nr_heap++] =
				candidate_of(cursor, lane, event);
		} else if (lane->no_memory) {
			cursor->direction = NOWHERE;
			return -ENOMEM;
		}
	}
	for (size_t i = cursor->nr_heap / 2; i-- > 0;)
		sift_down(cursor, i, cursor->heap[i]);
	return 0;
}

/* The lane on top has moved: puts it where it belongs now. */
static int settle_top(struct sonde_cursor *cursor)
{
	struct sonde_lane *lane = cursor->heap[0].lane;
	const struct sonde_event *event = peek(cursor, lane);

	if (event) {
		sift_down(cursor, 0, candidate_of(cursor, lane, event));
		return 0;
	}
	if (lane->no_memory)
		return -ENOMEM;
	if (--cursor->nr_heap)
		sift_down(cursor, 0, cursor->heap[cursor->nr_heap]);
	return 0;
}

/* ---- forward ---- */

/* Up to which time the lane on top has the next event. */
static int64_t limit_of(const struct sonde_cursor *cursor)
{
	const struct candidate *heap = cursor->heap;
	const struct candidate *second = &heap[1];

	if (cursor->nr_heap < 2)
		return SONDE_TIME_MAX;
	if (cursor->nr_heap > 2 && precedes(&heap[2], second))
		second = &heap[2];
	return second->key < SONDE_TIME_MAX && heap[0].rank < second->rank ?
		       second->key + 1 :
		       second->key;
}

static int next_unmerged(struct sonde_cursor *cursor,
			 const struct sonde_event **ret_event)
{
	while (cursor->nr_heap < cursor->nr_lanes) {
		struct sonde_lane *lane = &cursor->lanes[cursor->nr_heap];
		const struct sonde_event *event = sonde_lane_after(lane);

		if (event) {
			cursor->current = lane;
			cursor->limit = SONDE_TIME_MAX;
			lane->at++;
			*ret_event = event;
			return 1;
		}
		if (lane->no_memory)
			return -ENOMEM;
		cursor->nr_heap++;
	}
	cursor->current = NULL;
	return 0;
}

static int next_slowly(struct sonde_cursor *cursor,
		       const struct sonde_event **ret_event)
{
	struct sonde_lane *lane;
	int err = 0;

	if (cursor->unmerged)
		return next_unmerged(cursor, ret_event);
	if (cursor->direction != FORWARD)
		err = make_heap(cursor, FORWARD);
	else if (cursor->nr_heap)
		err = settle_top(cursor);
	if (err)
		return err;
	cursor->current = NULL;
	if (!cursor->nr_heap)
		return 0;
	lane = cursor->heap[0].lane;
	cursor->current = lane;
	cursor->limit = limit_of(cursor);
	*ret_event = &lane->events[lane->at++];
	return 1;
}

/*
 * Of two lanes, both with events, the other one is next: they change places.
 * Programs often have two threads or CPUs that take turns at every event.
 */
static const struct sonde_event *
swap_two(struct sonde_cursor *cursor, struct sonde_lane *lane, int64_t next_ns)
{
	struct candidate *heap = cursor->heap;
	struct sonde_lane *other = heap[1].lane;

	heap[0] = heap[1];
	heap[1] = (struct candidate){
		.key = next_ns,
		.rank = lane - cursor->lanes,
		.lane = lane,
	};
	cursor->current = other;
	cursor->limit = next_ns + (other < lane);
	return &other->events[other->at++];
}

/* Not inlined, so that sonde_cursor_next() has no registers to save. */
static __attribute__((__noinline__)) int
next_of_another(struct sonde_cursor *cursor,
		const struct sonde_event **ret_event)
{
	struct sonde_lane *lane = cursor->current;
	int64_t next_ns;

	if (!lane || lane->at >= lane->nr || cursor->nr_heap != 2 ||
	    cursor->unmerged)
		return next_slowly(cursor, ret_event);
	next_ns = lane->events[lane->at].time_ns;
	if (next_ns == SONDE_TIME_MAX)
		return next_slowly(cursor, ret_event);
	*ret_event = swap_two(cursor, lane, next_ns);
	return 1;
}

int sonde_cursor_next(struct sonde_cursor *cursor,
		      const struct sonde_event **ret_event)
{
	struct sonde_lane *lane = cursor->current;

	if (lane && lane->at < lane->nr) {
		const struct sonde_event *event = &lane->events[lane->at];

		if (event->time_ns < cursor->limit) {
			lane->at++;
			*ret_event = event;
			return 1;
		}
	}
	return next_of_another(cursor, ret_event);
}

/* ---- backward ---- */

int sonde_cursor_prev(struct sonde_cursor *cursor,
		      const struct sonde_event **ret_event)
{
	struct sonde_lane *lane;
	int err = 0;

	if (cursor->unmerged)
		return -ENOTSUP;
	if (cursor->direction != BACKWARD)
		err = make_heap(cursor, BACKWARD);
	else if (cursor->nr_heap)
		err = settle_top(cursor);
	if (err)
		return err;
	if (!cursor->nr_heap)
		return 0;
	lane = cursor->heap[0].lane;
	*ret_event = &lane->events[--lane->at];
	return 1;
}

/* ---- the rest ---- */

int sonde_cursor_seek(struct sonde_cursor *cursor, int64_t time_ns)
{
	int err = 0;

	cursor->direction = NOWHERE;
	cursor->current = NULL;
	cursor->nr_heap = 0;
	for (size_t i = 0; i < cursor->nr_lanes && !err; i++) {
		if (time_ns == SONDE_TIME_MAX)
			sonde_lane_wind(&cursor->lanes[i]);
		else if (time_ns == SONDE_TIME_MIN)
			sonde_lane_rewind(&cursor->lanes[i]);
		else
			err = sonde_lane_seek(&cursor->lanes[i], time_ns);
	}
	return err;
}

/* From the lane's first packet until this one, in the file: packets that are
 * not in the order of time make this a guess. */
static uint64_t bytes_until(const struct sonde_lane *lane, size_t packet)
{
	const struct sonde_packet *packets = lane->stream->packets;
	uint64_t from = packets[lane->first].offset;
	uint64_t to =
		packet < lane->stream->nr_packets ?
			packets[packet].offset :
			packets[packet - 1].offset + packets[packet - 1].bytes;

	return to > from ? to - from : 0;
}

void sonde_cursor_progress(const struct sonde_cursor *cursor,
			   uint64_t *ret_done, uint64_t *ret_all)
{
	*ret_done = 0;
	*ret_all = cursor->all_bytes;
	for (size_t i = 0; i < cursor->nr_lanes; i++) {
		const struct sonde_lane *lane = &cursor->lanes[i];

		*ret_done += bytes_until(lane, lane->packet);
		if (lane->packet < lane->last)
			*ret_done += lane->state.pos >> 3;
	}
	if (*ret_done > *ret_all)
		*ret_done = *ret_all;
}

static int add_lane(struct sonde_cursor *cursor,
		    const struct sonde_stream *stream)
{
	struct sonde_lane *lane = &cursor->lanes[cursor->nr_lanes];
	int err = sonde_lane_init(lane, stream, &cursor->span);

	if (err == -ENOENT)
		return 0;
	cursor->nr_lanes++;
	if (!err)
		cursor->all_bytes += bytes_until(lane, lane->last);
	return err;
}

/* Of each stream: of many files not much can stay. */
static uint64_t keep_bytes(size_t nr_streams)
{
	uint64_t bytes = nr_streams ? KEEP_ALL_BYTES / nr_streams : 0;

	return bytes < KEEP_MIN_BYTES   ? KEEP_MIN_BYTES :
	       bytes > SONDE_KEEP_BYTES ? SONDE_KEEP_BYTES :
					  bytes;
}

int sonde_cursor_new_slice(struct sonde_trace *trace,
			   const struct sonde_cursor_options *options,
			   int64_t key_from, int64_t key_to,
			   struct sonde_cursor **ret_cursor)
{
	struct sonde_cursor *cursor = calloc(1, sizeof(*cursor));
	int err = 0;

	if (!cursor)
		return -ENOMEM;
	cursor->trace = trace;
	cursor->unmerged = options->unmerged;
	cursor->span = (struct sonde_span){
		.from_ns = options->from_ns,
		.to_ns = options->to_ns,
		.key_from = key_from,
		.key_to = key_to,
		.filter = options->filter,
		.internal = options->internal,
		.timed = options->from_ns != SONDE_TIME_MIN ||
			 options->to_ns != SONDE_TIME_MAX ||
			 key_from != SONDE_TIME_MIN || key_to != SONDE_TIME_MAX,
	};
	cursor->span.checked =
		cursor->span.timed || options->filter || trace->is_part;
	cursor->span.keep_bytes = keep_bytes(trace->nr_streams);
	cursor->lanes = calloc(trace->nr_streams + 1, sizeof(*cursor->lanes));
	cursor->heap = calloc(trace->nr_streams + 1, sizeof(*cursor->heap));
	if (!cursor->lanes || !cursor->heap)
		err = -ENOMEM;
	for (size_t i = 0; i < trace->nr_streams && !err; i++)
		if (trace->streams[i]->nr_packets &&
		    (!options->streams || options->streams[i]))
			err = add_lane(cursor, trace->streams[i]);
	if (err) {
		sonde_cursor_free(cursor);
		return err;
	}
	*ret_cursor = cursor;
	return 0;
}

int sonde_cursor_new(struct sonde_trace *trace,
		     const struct sonde_cursor_options *options,
		     struct sonde_cursor **ret_cursor)
{
	struct sonde_cursor_options all;

	sonde_cursor_options_init(&all);
	return sonde_cursor_new_slice(trace, options ? options : &all,
				      SONDE_TIME_MIN, SONDE_TIME_MAX,
				      ret_cursor);
}

void sonde_cursor_free(struct sonde_cursor *cursor)
{
	if (!cursor)
		return;
	for (size_t i = 0; cursor->lanes && i < cursor->nr_lanes; i++)
		sonde_lane_fini(&cursor->lanes[i]);
	free(cursor->lanes);
	free(cursor->heap);
	free(cursor);
}
