/* SPDX-License-Identifier: MIT */
/*
 * check.c - whether a ring is as layout.h says, for tests: while nobody writes
 * to it, in the process that does.
 *
 * What records are made of is their events' business: of those of a sub-buffer
 * only the first is looked at. Sub-buffers are gone through from the current one
 * back, up to the first that the ring was opened with, or to where the writer
 * may have begun to overwrite.
 */
#include <string.h>

#include "ring/writer.h"

/* The sub-buffers of a ring. */
struct place {
	const struct sonde_slot *slot;
	const unsigned char *data;
};

static const unsigned char *subbuf_of(const struct place *place, uint64_t seq)
{
	return place->data +
	       (seq & (place->slot->nr_subbufs - 1)) * place->slot->subbuf_size;
}

/* Invariant 4, of a sub-buffer that has records. */
static bool begins_with_context(const struct place *place, uint64_t seq)
{
	const unsigned char *at = subbuf_of(place, seq) + SONDE_SUBBUF_HEAD;
	uint16_t escape = *at;
	uint32_t id;

	if (place->slot->header == SONDE_COMPACT) {
		at++;
		if (escape != SONDE_COMPACT_ESCAPE)
			return false;
	} else {
		memcpy(&escape, at, sizeof(escape));
		at += sizeof(escape);
		if (escape != SONDE_LARGE_ESCAPE)
			return false;
	}
	memcpy(&id, at, sizeof(id));
	return id == SONDE_CONTEXT_ID;
}

/* The head of a sub-buffer, and of the one before. */
static const char *check_pair(const struct place *place,
			      const struct sonde_subbuf *old,
			      const struct sonde_subbuf *head)
{
	if (head->events < old->events ||
	    head->events - old->events > SONDE_W_COUNT_MASK ||
	    head->discarded < old->discarded)
		return "events get fewer from a sub-buffer to the next";
	if (head->ts_begin < old->ts_begin)
		return "1: time goes back";
	if (head->prev_used < SONDE_SUBBUF_HEAD ||
	    head->prev_used >= place->slot->subbuf_size - SONDE_SUBBUF_SLACK)
		return "1: a sub-buffer ends outside of itself";
	if (head->prev_used > SONDE_SUBBUF_HEAD &&
	    !begins_with_context(place, old->seq))
		return "4: a sub-buffer doesn't begin with a context record";
	return NULL;
}

static const char *check_heads(const struct place *place, uint64_t seq)
{
	const struct sonde_subbuf *head = (const void *)subbuf_of(place, seq);
	const char *wrong = NULL;

	for (uint32_t i = 2; !wrong && i < place->slot->nr_subbufs; i++) {
		const struct sonde_subbuf *old;

		if (!seq--)
			break;
		old = (const void *)subbuf_of(place, seq);
		if (old->seq < seq)
			break; /* of an earlier life of the ring, or of none */
		wrong = old->seq > seq ? "a sub-buffer is at another's place" :
					 check_pair(place, old, head);
		head = old;
	}
	return wrong;
}

/* Invariant 3, as far as it is about the ring. */
static const char *check_gate(const struct sonde_ring *ring,
			      const struct place *place, uint32_t offset)
{
	const unsigned char *end = subbuf_of(place, sonde_w_seq(ring->w)) +
				   place->slot->subbuf_size -
				   SONDE_SUBBUF_SLACK;

	if (!ring->key)
		return NULL;
	if (ring->end != (uintptr_t)end)
		return "3: the gate is open for another sub-buffer";
	return ring->key >> 32 && offset > SONDE_SUBBUF_HEAD ?
		       NULL :
		       "3: the gate is open, and no record says for whom";
}

const char *sonde_ring_check(const struct sonde_slot *slot,
			     const struct sonde_ring *ring,
			     const unsigned char *data)
{
	const struct place place = { slot, data };
	uint32_t offset = sonde_w_offset(ring->w, slot->subbuf_size);
	const struct sonde_subbuf *head;
	const char *wrong;

	if (!ring->w)
		return ring->key ? "3: the gate of a ring not opened is open" :
				   NULL;
	head = (const void *)subbuf_of(&place, sonde_w_seq(ring->w));
	if (offset < SONDE_SUBBUF_HEAD ||
	    offset >= slot->subbuf_size - SONDE_SUBBUF_SLACK)
		return "1: the commit word leads outside of its sub-buffer";
	if ((head->seq & SONDE_W_SEQ_MASK) != sonde_w_seq(ring->w))
		return "the commit word is of another sub-buffer";
	if (sonde_w_count(ring->w) >
	    (offset - SONDE_SUBBUF_HEAD) / SONDE_HEAD_COMPACT)
		return "more events than there is room for";
	if (slot->mode == SONDE_DISCARD && head->seq >= ring->limit)
		return "5: a sub-buffer is written that was not released";
	if (offset > SONDE_SUBBUF_HEAD &&
	    !begins_with_context(&place, head->seq))
		return "4: a sub-buffer doesn't begin with a context record";
	wrong = check_heads(&place, head->seq);
	return wrong ? wrong : check_gate(ring, &place, offset);
}
