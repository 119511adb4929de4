/* SPDX-License-Identifier: MIT */
/*
 * lane.h - a stream as a cursor goes through it: batches of events, both ways.
 *
 * ## Batches
 *
 * A lane decodes up to SONDE_BATCH events ahead: their headers and lengths, no
 * fields. What the cursor merges are the batches' times; an event that it gives
 * is an entry of a batch. Filters are applied here, so that what doesn't match
 * never gets to the merge. A batch is sorted by time if it isn't, which repairs
 * small disorder; larger disorder is delivered late and counted.
 *
 * ## Going back
 *
 * Events can only be decoded forward. At the start of each batch of the present
 * packet a *mark* keeps the decoder's state; going back decodes the batch
 * before again, from its mark. To enter a packet from behind, all of it is
 * decoded once.
 *
 * ## Position
 *
 * The lane stands between entries `at - 1` and `at` of its batch. At the first
 * packet with batch_nr -1 it stands before everything; with packet == last it
 * stands behind everything.
 */
#ifndef READER_CORE_LANE_H
#define READER_CORE_LANE_H

#include "reader/core/plan.h"
#include "reader/reader.h"

#define SONDE_BATCH 256
/* Bytes. */
#define SONDE_LANE_CONVERTED 65536u

/* The state of decoding between two events. */
struct sonde_mark {
	uint64_t pos; /* bits */
	uint64_t ticks;
	int64_t key_ns;
	uint64_t nr_disorder; /* events earlier than their key, so far */
	int32_t tid, pid;
};

/* What is read of a lane; one for all lanes of a cursor. */
struct sonde_span {
	int64_t from_ns, to_ns;   /* of events' times */
	int64_t key_from, key_to; /* of events' keys, reader.h */
	const struct sonde_filter *filter;
	bool internal;
	bool timed;          /* the times have to be looked at */
	bool checked;        /* any of the above */
	uint64_t keep_bytes; /* of a file, that stay mapped behind its lane */
};

struct sonde_lane {
	const struct sonde_stream *stream;
	const struct sonde_head_plan *head_plan;
	const struct sonde_span *span;

	/* the present packet */
	size_t first,
		last; /* of the packets, those of the span: [first, last) */
	size_t packet;
	const uint8_t *data;
	uint64_t content; /* bits */
	uint64_t context_pos;
	int64_t begin_ns, end_ns;
	struct sonde_mark state;
	bool done; /* decoded to its end, or to damage */

	/* the present batch */
	struct sonde_event *events; /* [SONDE_BATCH] */
	uint32_t nr, at;
	int64_t batch_nr;
	struct sonde_mark *marks;
	size_t nr_marks, marks_capacity;
	bool late; /* some event of the batch is later than its packet's end */
	bool no_memory;

	/* of the event that was located last */
	uint64_t located; /* its pos; UINT64_MAX: none */
	uint64_t *blocks; /* [head_plan->max_blocks] */
	uint64_t regs[SONDE_SCHEMA_REGS];

	uint64_t dropped; /* bytes of the file given back to the kernel */

	/* filter.c: strings that had to be converted, for one evaluation */
	char *converted; /* [SONDE_LANE_CONVERTED], made when needed */
	uint32_t nr_converted;
};

/* -ENOMEM; -ENOENT: no packet can have what the span wants, and there is nothing
 * to be given back. `span` is borrowed. */
int sonde_lane_init(struct sonde_lane *lane, const struct sonde_stream *stream,
		    const struct sonde_span *span);
void sonde_lane_fini(struct sonde_lane *lane);

/* Stands before the first, or behind the last event. */
void sonde_lane_rewind(struct sonde_lane *lane);
void sonde_lane_wind(struct sonde_lane *lane);
/* Stands before the first event at or after time_ns. */
int sonde_lane_seek(struct sonde_lane *lane, int64_t time_ns);

/* The event after, or before, the position, without moving; NULL at the end.
 * lane->no_memory says whether that was why. */
const struct sonde_event *sonde_lane_after(struct sonde_lane *lane);
const struct sonde_event *sonde_lane_before(struct sonde_lane *lane);

/* Fills lane->blocks and lane->regs for an event of its batch. */
void sonde_lane_locate(const struct sonde_event *event);

/* Where a block of an event begins. */
static inline uint64_t sonde_lane_place(const struct sonde_event *event,
					uint32_t block)
{
	if (__builtin_expect(!block, 1))
		return event->pos;
	sonde_lane_locate(event);
	return event->lane->blocks[block];
}

/* filter.c: whether the event that the lane has just located matches. */
bool sonde_filter_passes(const struct sonde_filter *filter,
			 const struct sonde_event *event);

#endif /* READER_CORE_LANE_H */
