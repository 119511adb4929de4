/* SPDX-License-Identifier: MIT */
/*
 * outflow.h - one stream of a recording: chunks of a ring in, packets of the
 * trace out, and the accounts between the two.
 *
 * `seen` is the number of events committed up to where the ring has been read.
 * Each step from one value of it to the next is either recorded, overwritten,
 * or lost on disk. What the ring discarded is its own count. The sum of all is
 * what was emitted.
 *
 * The stream is opened by the owner, who knows its name, before the first
 * append. One thread.
 */
#ifndef SESSION_OUTFLOW_H
#define SESSION_OUTFLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "ctf/trace.h"
#include "ring/reader.h"

struct sonde_recording;

struct sonde_outflow {
	struct sonde_recording *recording; /* borrowed */
	struct sonde_ctf_stream *stream;   /* NULL: not opened */
	uint64_t start;    /* clock value: nothing was written before */
	uint64_t next_seq; /* of the sub-buffer after the last one begun */
	uint64_t seen;
	uint64_t recorded;
	uint64_t overwritten;
	uint64_t lost_disk;
	bool in_packet;
};

/* False if the chunk's numbers can't be true: time to give its ring up before
 * they get into any sum. */
bool sonde_outflow_is_plausible(const struct sonde_outflow *flow,
				const struct sonde_ring_chunk *chunk);

/* Events that were overwritten before the chunk. */
void sonde_outflow_count_gap(struct sonde_outflow *flow,
			     const struct sonde_ring_chunk *chunk);

/* Copies a chunk to the trace; nobody sees it before publish. 0 or -errno. */
int sonde_outflow_append(struct sonde_outflow *flow,
			 const struct sonde_ring_chunk *chunk);
int sonde_outflow_publish(struct sonde_outflow *flow,
			  const struct sonde_ring_chunk *chunk);
/* What was appended since the last publish is not wanted. */
void sonde_outflow_forget(struct sonde_outflow *flow);

/* The chunk is dealt with: its events are recorded, or lost on disk. */
void sonde_outflow_count(struct sonde_outflow *flow,
			 const struct sonde_ring_chunk *chunk, bool recorded);

/* Events of the stream that are not in it, as the trace counts them;
 * `discarded` by the ring. */
uint64_t sonde_outflow_missing(const struct sonde_outflow *flow,
			       uint64_t discarded);

/* Ends the stream, which may not be open. 0 or -errno. */
int sonde_outflow_close(struct sonde_outflow *flow, uint64_t missing);

#endif /* SESSION_OUTFLOW_H */
