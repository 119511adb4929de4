/* SPDX-License-Identifier: MIT */
/*
 * kept.h - the newest packets of a stream that gives each of its events once.
 *
 * A flight recorder is read for each snapshot, and its last events are wanted in
 * each. Some sources have them for us to look at as often as we like; others hand
 * them out and forget them (`is_read_once` in source/source.h). What these have
 * given is kept here, as the packets that it came in, oldest first. It is of one piece:
 * the oldest go when there are more bytes than wanted, and what lies before events
 * that were overwritten goes with them.
 *
 *	add, add, ...	what the source gives; a packet that isn't closed goes on
 *	rewind		to the oldest
 *	peek, advance	packet by packet
 *
 * After add, the first thing is rewind.
 *
 * One thread. Costs a copy of what is added, no more than the wanted bytes and a
 * packet of memory, and nothing before the first snapshot.
 */
#ifndef SESSION_KEPT_H
#define SESSION_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ring/reader.h"

struct sonde_callstacks_places;
struct sonde_kept;

/* NULL: no memory left. */
struct sonde_kept *sonde_kept_new(uint64_t bytes_max);

/* Without memory for it, nothing up to its packet's end is kept; it is dropped.
 * `places`: where numbers of call stacks are in it; or NULL. */
void sonde_kept_add(struct sonde_kept *kept,
		    const struct sonde_ring_chunk *chunk,
		    const struct sonde_callstacks_places *places);

/* All those numbers: what is returned takes the place of what is there. */
void sonde_kept_renumber(struct sonde_kept *kept,
			 uint32_t (*renew)(void *ctx, uint32_t number),
			 void *ctx);

void sonde_kept_rewind(struct sonde_kept *kept);
/* 1 and all of a packet, as far as it was added; or 0. */
int sonde_kept_peek(const struct sonde_kept *kept,
		    struct sonde_ring_chunk *ret_chunk);
void sonde_kept_advance(struct sonde_kept *kept);

/* Events that were added, and are no more. */
uint64_t sonde_kept_dropped(const struct sonde_kept *kept);

/* NULL is fine. */
void sonde_kept_free(struct sonde_kept *kept);

#endif /* SESSION_KEPT_H */
