/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * packets.h - events of a dump in memory, until the recorder has taken them.
 *
 * A list of blocks, each a packet of the stream: it starts with a time, holds
 * whole records (source/packer.h), and is delivered as one chunk that is the
 * first and last of its packet. Blocks are taken when events come and given
 * back when they were delivered; together they are bounded. Each begins later
 * than the one before, even if all events have one time. An event that finds
 * no room is counted. One thread.
 *
 * With `keeps_newest` an event that finds no room takes that of the oldest block,
 * whose events are counted. What was delivered stays until then, and comes again
 * after a rewind, which is before the first peek, too; the last block is delivered
 * as far as it was written. `delivered` has an event once.
 */
#ifndef SOURCE_STATEDUMP_PACKETS_H
#define SOURCE_STATEDUMP_PACKETS_H

#include <stdbool.h>

#include "source/packer.h"
#include "source/source.h"

#define SONDE_OUT_BLOCK_BYTES (256u << 10)

struct sonde_out_block;

struct sonde_out {
	uint64_t (*now)(void);
	/* When what comes next was; 0: now. Packets end with their last event
	 * then, as what is recorded later may be of an earlier time than now. */
	uint64_t at;
	uint64_t bytes_max;
	uint64_t bytes; /* of all blocks */
	struct sonde_out_block *first;
	struct sonde_out_block *last;
	struct sonde_packer packer; /* in `last` */
	uint64_t seq;               /* of the next block */
	uint64_t ts_next;           /* no block begins before it */
	uint64_t events;            /* in all blocks ever */
	uint64_t delivered;
	uint64_t lost;
	uint64_t lost_before; /* of them: others', before they came here */
	uint64_t overwritten;
	/* With keeps_newest: those before were delivered or overwritten; and the
	 * block that is delivered next. */
	uint64_t seen;
	struct sonde_out_block *at_block;
	uint32_t tid;        /* whose context events have */
	bool has_no_context; /* as in traces of programs */
	bool keeps_newest;
	bool is_out_of_memory; /* an event was lost on account of it */
};

void sonde_out_init(struct sonde_out *out, uint64_t (*now)(void), uint32_t tid,
		    uint64_t bytes_max);
void sonde_out_fini(struct sonde_out *out);

/*
 * Starts an event of `size` bytes of payload, which go to what is returned, all
 * of them. NULL: no room, and counted.
 */
uint8_t *sonde_out_event(struct sonde_out *out, uint16_t id, size_t size);

/* Likewise a record without tid that is no event, and isn't counted (ring/layout.h: it
 * says whose the next one is), with room for an event of `next` bytes behind it. NULL:
 * as if that event had found no room. */
uint8_t *sonde_out_context(struct sonde_out *out, uint16_t id, size_t size,
			   size_t next);

/* So many that never came here. */
void sonde_out_lose(struct sonde_out *out, uint64_t nr);

/* What was written so far may be delivered: ends the packet. */
void sonde_out_flush(struct sonde_out *out);

/* As struct sonde_source_ops has them. */
int sonde_out_peek(struct sonde_out *out, struct sonde_ring_chunk *ret_chunk);
void sonde_out_advance(struct sonde_out *out);
/* With keeps_newest: to the oldest. */
void sonde_out_rewind(struct sonde_out *out);
/* Drops all blocks: what comes next is as if what was in them had been delivered. */
void sonde_out_clear(struct sonde_out *out);

/* The payload of each event that is there, oldest first. All are of `size` bytes,
 * and may be written to. */
void sonde_out_each(struct sonde_out *out, size_t size,
		    void (*visit)(void *ctx, uint8_t *payload), void *ctx);

#endif /* SOURCE_STATEDUMP_PACKETS_H */
