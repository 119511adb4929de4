/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * packets.c - events of a dump in memory, as packets (packets.h).
 *
 * Blocks are in the order of time, and only the last one is written to; one is
 * freed when it was delivered. All together are bounded, and an event beyond
 * that is counted, or the oldest block's are.
 *
 * With `keeps_newest` delivered blocks stay, and `at_block` is the next that is
 * delivered: all before it were, since the last rewind. The one that is written to
 * is delivered as far as it goes, and goes on; so looks that come often take no
 * more memory than others.
 */
#include "source/statedump/packets.h"

#include <stdlib.h>

struct sonde_out_block {
	struct sonde_out_block *next;
	uint64_t seq;
	uint64_t ts_begin;
	uint64_t ts_end; /* 0: still written to */
	uint64_t events_before;
	uint64_t events;
	uint64_t lost; /* so far, when it was ended */
	uint32_t size;
	uint8_t bytes[SONDE_OUT_BLOCK_BYTES];
};

void sonde_out_init(struct sonde_out *out, uint64_t (*now)(void), uint32_t tid,
		    uint64_t bytes_max)
{
	*out = (struct sonde_out){
		.now = now,
		.tid = tid,
		.bytes_max = bytes_max,
	};
}

/* More than a nanosecond of any clock: readers, who count in those, and find
 * packets by them, must be able to tell two packets apart. */
#define OUT_STEP 8u

static uint64_t out_time(const struct sonde_out *out)
{
	return out->at ? out->at : out->now();
}

static bool is_open(const struct sonde_out *out)
{
	return out->last && !out->last->ts_end;
}

void sonde_out_flush(struct sonde_out *out)
{
	struct sonde_out_block *block = out->last;

	if (!is_open(out))
		return;
	block->size = (uint32_t)(out->packer.at - block->bytes);
	block->events = out->events - block->events_before;
	block->lost = out->lost;
	block->ts_end = out->at ? out->packer.last : out->now();
	if (block->ts_end < out->packer.last)
		block->ts_end = out->packer.last;
}

static void out_drop_first(struct sonde_out *out)
{
	struct sonde_out_block *block = out->first;

	out->first = block->next;
	if (!out->first)
		out->last = NULL;
	if (out->at_block == block)
		out->at_block = block->next;
	out->bytes -= sizeof(*block);
	free(block);
}

/* How many of its events were not delivered so far. */
static uint64_t out_undelivered(const struct sonde_out *out,
				const struct sonde_out_block *block)
{
	uint64_t end = block->events_before + block->events;
	uint64_t from = out->seen > block->events_before ? out->seen :
							   block->events_before;

	return end > from ? end - from : 0;
}

static bool dump_packets_add_block(struct sonde_out *out)
{
	struct sonde_out_block *block;

	if (out->keeps_newest && out->first &&
	    out->bytes + sizeof(*block) > out->bytes_max) {
		out->overwritten += out_undelivered(out, out->first);
		out_drop_first(out);
	}
	if (out->bytes + sizeof(*block) > out->bytes_max)
		return false;
	block = malloc(sizeof(*block));
	if (!block) {
		out->is_out_of_memory = true;
		return false;
	}
	block->next = NULL;
	block->seq = out->seq++;
	block->ts_begin = out_time(out);
	/* Of an earlier time there is a packet already. */
	if (block->ts_begin < out->packer.last)
		block->ts_begin = out->packer.last;
	if (block->ts_begin < out->ts_next)
		block->ts_begin = out->ts_next;
	out->ts_next = block->ts_begin + OUT_STEP;
	block->ts_end = 0;
	block->events_before = out->events;
	block->events = 0;
	block->lost = out->lost;
	block->size = 0;
	if (out->last)
		out->last->next = block;
	else
		out->first = block;
	out->last = block;
	out->bytes += sizeof(*block);
	out->packer.at = block->bytes;
	out->packer.end = block->bytes + sizeof(block->bytes);
	sonde_packer_open(&out->packer, block->ts_begin);
	return true;
}

/* A record, in a block that has room for it and `more`. */
static uint8_t *out_record(struct sonde_out *out, uint16_t id, size_t size,
			   size_t more)
{
	uint8_t *at;

	more += size;
	if (is_open(out) && !sonde_packer_fits(&out->packer, more))
		sonde_out_flush(out);
	if (more > SONDE_OUT_BLOCK_BYTES - SONDE_PACKER_HEAD_MAX ||
	    (!is_open(out) && !dump_packets_add_block(out))) {
		out->lost++;
		return NULL;
	}
	at = sonde_packer_head(&out->packer, id, out_time(out), out->tid);
	if (out->has_no_context)
		at -= sizeof(out->tid);
	out->packer.at = at + size;
	return at;
}

uint8_t *sonde_out_event(struct sonde_out *out, uint16_t id, size_t size)
{
	uint8_t *at = out_record(out, id, size, 0);

	out->events += at != NULL;
	return at;
}

uint8_t *sonde_out_context(struct sonde_out *out, uint16_t id, size_t size,
			   size_t next)
{
	return out_record(out, id, size, SONDE_PACKER_HEAD_MAX + next);
}

void sonde_out_lose(struct sonde_out *out, uint64_t nr)
{
	out->lost += nr;
	out->lost_before += nr;
}

/* As far as it goes. */
static void out_show(const struct sonde_out *out,
		     const struct sonde_out_block *block,
		     struct sonde_ring_chunk *ret_chunk)
{
	bool is_written = !block->ts_end;
	uint64_t now = out->at ? out->packer.last : out->now();

	*ret_chunk = (struct sonde_ring_chunk){
		.data = block->bytes,
		.size = is_written ? (uint32_t)(out->packer.at - block->bytes) :
				     block->size,
		.first = true,
		.closed = true,
		.seq = block->seq,
		.ts_begin = block->ts_begin,
		.ts_end = is_written ? now : block->ts_end,
		.events_before = block->events_before,
		.events = is_written ? out->events :
				       block->events_before + block->events,
		.discarded = is_written ? out->lost : block->lost,
	};
}

int sonde_out_peek(struct sonde_out *out, struct sonde_ring_chunk *ret_chunk)
{
	const struct sonde_out_block *block =
		out->keeps_newest ? out->at_block : out->first;

	if (!block || (!block->ts_end && !out->keeps_newest))
		return 0;
	out_show(out, block, ret_chunk);
	return 1;
}

void sonde_out_rewind(struct sonde_out *out)
{
	out->at_block = out->first;
}

static void out_advance_kept(struct sonde_out *out)
{
	struct sonde_ring_chunk chunk;

	if (!sonde_out_peek(out, &chunk))
		return;
	if (chunk.events > out->seen) {
		out->delivered +=
			chunk.events - (out->seen > chunk.events_before ?
						out->seen :
						chunk.events_before);
		out->seen = chunk.events;
	}
	out->at_block = out->at_block->next;
}

void sonde_out_advance(struct sonde_out *out)
{
	if (out->keeps_newest) {
		out_advance_kept(out);
	} else if (out->first && out->first->ts_end) {
		out->delivered += out->first->events;
		out_drop_first(out);
	}
}

void sonde_out_clear(struct sonde_out *out)
{
	while (out->first)
		out_drop_first(out);
	out->seen = out->events;
}

static void out_each_of(struct sonde_out *out, struct sonde_out_block *block,
			size_t size, void (*visit)(void *ctx, uint8_t *payload),
			void *ctx)
{
	const uint8_t *end =
		block->ts_end ? block->bytes + block->size : out->packer.at;
	size_t tid = out->has_no_context ? 0 : sizeof(out->tid);

	for (uint8_t *at = block->bytes; at < end;) {
		uint16_t id;

		memcpy(&id, at, sizeof(id));
		at += tid + (id == SONDE_LARGE_ESCAPE ? SONDE_HEAD_LARGE_FULL :
							SONDE_HEAD_LARGE);
		visit(ctx, at);
		at += size;
	}
}

void sonde_out_each(struct sonde_out *out, size_t size,
		    void (*visit)(void *ctx, uint8_t *payload), void *ctx)
{
	for (struct sonde_out_block *block = out->first; block;
	     block = block->next)
		out_each_of(out, block, size, visit, ctx);
}

void sonde_out_fini(struct sonde_out *out)
{
	while (out->first)
		out_drop_first(out);
}
