/* SPDX-License-Identifier: MIT */
#include "session/outflow.h"

#include "session/image.h"

/* Events that may be missing between two chunks of a ring. In discard mode
 * every sub-buffer is seen; else, no writer emits one each tick of the clock. */
static uint64_t most_overwritten(const struct sonde_outflow *flow)
{
	if (flow->recording->setup.mode == SONDE_DISCARD)
		return 0;
	return flow->recording->now() - flow->start;
}

bool sonde_outflow_is_plausible(const struct sonde_outflow *flow,
				const struct sonde_ring_chunk *chunk)
{
	uint64_t from = flow->seen;

	if (chunk->first) {
		if (chunk->events_before < from ||
		    chunk->events_before - from > most_overwritten(flow))
			return false;
		from = chunk->events_before;
	}
	return chunk->events >= from &&
	       chunk->events - from <= chunk->size / SONDE_HEAD_COMPACT;
}

void sonde_outflow_count_gap(struct sonde_outflow *flow,
			     const struct sonde_ring_chunk *chunk)
{
	if (!chunk->first || chunk->events_before <= flow->seen)
		return;
	flow->overwritten += chunk->events_before - flow->seen;
	flow->seen = chunk->events_before;
}

int sonde_outflow_append(struct sonde_outflow *flow,
			 const struct sonde_ring_chunk *chunk)
{
	int rc = 0;

	if (chunk->first || !flow->in_packet) {
		rc = sonde_ctf_packet_begin(flow->stream, chunk->ts_begin,
					    chunk->seq - flow->next_seq);
		flow->in_packet = !rc;
	}
	if (!rc)
		rc = sonde_ctf_packet_append(flow->stream, chunk->data,
					     chunk->size);
	return rc;
}

int sonde_outflow_publish(struct sonde_outflow *flow,
			  const struct sonde_ring_chunk *chunk)
{
	uint64_t end = chunk->closed ? chunk->ts_end : flow->recording->now();

	if (end < chunk->ts_begin)
		end = chunk->ts_begin;
	return sonde_ctf_packet_publish(
		flow->stream, end,
		sonde_outflow_missing(flow, chunk->discarded));
}

void sonde_outflow_forget(struct sonde_outflow *flow)
{
	if (flow->stream)
		sonde_ctf_packet_forget(flow->stream);
}

void sonde_outflow_count(struct sonde_outflow *flow,
			 const struct sonde_ring_chunk *chunk, bool recorded)
{
	uint64_t events = chunk->events - flow->seen;

	flow->seen = chunk->events;
	flow->next_seq = chunk->seq + 1;
	if (chunk->closed)
		flow->in_packet = false;
	if (!recorded) {
		flow->lost_disk += events;
		return;
	}
	flow->recorded += events;
	flow->recording->summary->bytes += chunk->size;
}

uint64_t sonde_outflow_missing(const struct sonde_outflow *flow,
			       uint64_t discarded)
{
	return discarded + flow->overwritten + flow->lost_disk;
}

int sonde_outflow_close(struct sonde_outflow *flow, uint64_t missing)
{
	struct sonde_ctf_stream *stream = flow->stream;

	flow->stream = NULL;
	return sonde_ctf_stream_close(stream, flow->recording->now(), missing);
}
