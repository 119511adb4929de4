/* SPDX-License-Identifier: MIT */
/*
 * kept.c - see kept.h. Packets are a list, and each is delivered as one chunk. If
 * there is no memory for a packet's bytes, that packet and all before it are dropped,
 * and so is the rest of it, until the next packet begins.
 */
#include "session/kept.h"

#include <stdlib.h>
#include <string.h>

#include "source/callstacks.h"

struct kept_packet {
	struct kept_packet *next;
	struct sonde_ring_chunk chunk; /* all of it */
	unsigned char *bytes;
	struct sonde_callstacks_places places;
};

struct sonde_kept {
	struct kept_packet *first, *last;
	uint64_t bytes, bytes_max;
	uint64_t seen;          /* where the last chunk added ends */
	uint64_t added, held;   /* events */
	struct kept_packet *at; /* the cursor; NULL: all was delivered */
};

struct sonde_kept *sonde_kept_new(uint64_t bytes_max)
{
	struct sonde_kept *kept = calloc(1, sizeof(*kept));

	if (kept)
		kept->bytes_max = bytes_max;
	return kept;
}

static void drop_oldest(struct sonde_kept *kept)
{
	struct kept_packet *packet = kept->first;

	kept->first = packet->next;
	if (!kept->first)
		kept->last = NULL;
	kept->bytes -= packet->chunk.size;
	kept->held -= packet->chunk.events - packet->chunk.events_before;
	sonde_callstacks_places_fini(&packet->places);
	free(packet->bytes);
	free(packet);
}

static void drop_all(struct sonde_kept *kept)
{
	while (kept->first)
		drop_oldest(kept);
}

/* A packet that has nothing yet. */
static struct kept_packet *kept_begin(struct sonde_kept *kept,
				      const struct sonde_ring_chunk *chunk)
{
	struct kept_packet *packet = calloc(1, sizeof(*packet));

	if (!packet)
		return NULL;
	packet->chunk = *chunk;
	packet->chunk.size = 0;
	packet->chunk.events = chunk->events_before;
	if (kept->last)
		kept->last->next = packet;
	else
		kept->first = packet;
	return kept->last = packet;
}

static bool kept_add_places(struct kept_packet *packet,
			    const struct sonde_callstacks_places *places)
{
	for (size_t i = 0; places && i < places->nr; i++)
		if (sonde_callstacks_places_add(&packet->places,
						packet->chunk.size +
							places->at[i]))
			return false;
	return true;
}

static bool kept_grow(struct kept_packet *packet,
		      const struct sonde_ring_chunk *chunk)
{
	uint32_t size = packet->chunk.size + chunk->size;
	unsigned char *bytes =
		size ? realloc(packet->bytes, size) : packet->bytes;

	if (size && !bytes)
		return false;
	packet->bytes = bytes;
	if (chunk->size)
		memcpy(bytes + packet->chunk.size, chunk->data, chunk->size);
	packet->chunk.data = bytes;
	packet->chunk.size = size;
	packet->chunk.closed = chunk->closed;
	packet->chunk.ts_end = chunk->ts_end;
	packet->chunk.events = chunk->events;
	packet->chunk.discarded = chunk->discarded;
	return true;
}

void sonde_kept_add(struct sonde_kept *kept,
		    const struct sonde_ring_chunk *chunk,
		    const struct sonde_callstacks_places *places)
{
	uint64_t from = chunk->first ? chunk->events_before : kept->seen;
	struct kept_packet *packet;

	if (from != kept->seen)
		drop_all(kept);
	packet = chunk->first ? kept_begin(kept, chunk) : kept->last;
	kept->added += chunk->events - from;
	kept->seen = chunk->events;
	if (packet && kept_add_places(packet, places) &&
	    kept_grow(packet, chunk)) {
		kept->held += chunk->events - from;
		kept->bytes += chunk->size;
		/* The newest stays, whatever it takes. */
		while (kept->bytes > kept->bytes_max &&
		       kept->first != kept->last)
			drop_oldest(kept);
	} else {
		drop_all(kept);
	}
}

void sonde_kept_renumber(struct sonde_kept *kept,
			 uint32_t (*renew)(void *ctx, uint32_t number),
			 void *ctx)
{
	for (struct kept_packet *packet = kept->first; packet;
	     packet = packet->next)
		for (size_t i = 0; i < packet->places.nr; i++) {
			unsigned char *at =
				packet->bytes + packet->places.at[i];
			uint32_t number;

			memcpy(&number, at, sizeof(number));
			number = renew(ctx, number);
			memcpy(at, &number, sizeof(number));
		}
}

void sonde_kept_rewind(struct sonde_kept *kept)
{
	kept->at = kept->first;
}

int sonde_kept_peek(const struct sonde_kept *kept,
		    struct sonde_ring_chunk *ret_chunk)
{
	if (!kept->at)
		return 0;
	*ret_chunk = kept->at->chunk;
	return 1;
}

void sonde_kept_advance(struct sonde_kept *kept)
{
	kept->at = kept->at->next;
}

uint64_t sonde_kept_dropped(const struct sonde_kept *kept)
{
	return kept->added - kept->held;
}

void sonde_kept_free(struct sonde_kept *kept)
{
	if (!kept)
		return;
	drop_all(kept);
	free(kept);
}
