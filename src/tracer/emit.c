/* SPDX-License-Identifier: MIT */
/*
 * emit.c - from a tracepoint's arguments to the rings of all who want it.
 *
 * On x86-64 sonde_emit_word and sonde_emit_block are the fast path in
 * emit_x86_64.S, which comes here when the gate is closed, the sub-buffer is
 * full, or the event is not for slot 0 alone. Elsewhere they are what stands
 * here.
 */
#include <string.h>
#include <time.h>

#include <sonde/abi.h>

#include "clock/clock.h"
#include "ring/control.h"
#include "tracer/self.h"

static uint64_t clock_cpu(void)
{
	return sonde_clock_cpu();
}

static uint64_t clock_monotonic(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* can't fail */
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void emit_to_slot(uint32_t slot_index, uint32_t id,
			 struct sonde_append *a)
{
	struct sonde_slot *slots = (void *)(sonde_arena + SONDE_SLOTS_OFF);
	struct sonde_slot *slot = &slots[slot_index];
	const struct sonde_arena *header = (const void *)sonde_arena;

	if (sonde_slot_end(slot) > header->mapped) {
		sonde_add_relaxed(&slot->lost_contended, 1);
		return;
	}
	a->slot = slot;
	a->ctl = sonde_arena + slot->ctl_off;
	a->data = sonde_arena + slot->data_off;
	a->self = &sonde_self;
	a->rseq = sonde_rseq_self();
	a->clock = slot->clock == SONDE_CLOCK_CPU ? clock_cpu : clock_monotonic;
	a->id = id;
	sonde_writer_append(a);
}

/* parts[0] is room for the header. */
__attribute__((noinline)) static void
emit(uint32_t state, struct sonde_part *parts, uint32_t nr_parts, uint64_t size)
{
	const struct sonde_slot *slots;
	struct sonde_append a = {
		.parts = parts,
		.nr_parts = nr_parts,
		.size = size,
	};

	if (!sonde_arena)
		return;
	if (!sonde_self.key)
		sonde_self_learn();
	if (state <= SONDE_STATE_LARGE_MAX) {
		emit_to_slot(0, state, &a);
		return;
	}
	slots = (const void *)(sonde_arena + SONDE_SLOTS_OFF);
	state &= ~SONDE_STATE_GENERIC;
	for (uint32_t i = 0; i < SONDE_SLOTS && state < SONDE_EVENTS_MAX; i++) {
		uint32_t id;

		/* Pairs with sonde_store_release in activate (session): the
		 * slot's configuration is visible. */
		if (sonde_load_acquire(&slots[i].state) != SONDE_SLOT_ACTIVE)
			continue;
		id = sonde_load_relaxed(&slots[i].ids[state]);
		if (id)
			emit_to_slot(i, id, &a);
	}
}

/* What SONDE_INC() was made from. */
static uint32_t payload_size(uint64_t inc)
{
	return (uint32_t)(inc >> SONDE_W_REST_SHIFT) - SONDE_HEAD_COMPACT;
}

/* The low bytes of a word, in memory. */
static const unsigned char *word_bytes(const uint64_t *value, uint64_t inc)
{
	const unsigned char *bytes = (const void *)value;

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	bytes += sizeof(*value) - payload_size(inc);
#else
	(void)inc;
#endif
	return bytes;
}

SONDE_HIDDEN void sonde_emit_block_slow(uint32_t state, const void *data,
					uint64_t inc);
SONDE_HIDDEN void sonde_emit_word_slow(uint32_t state, uint64_t value,
				       uint64_t inc);

void sonde_emit_block_slow(uint32_t state, const void *data, uint64_t inc)
{
	struct sonde_part parts[2] = {
		[1] = { data, payload_size(inc), 0 },
	};

	emit(state, parts, 2, parts[1].size);
}

void sonde_emit_word_slow(uint32_t state, uint64_t value, uint64_t inc)
{
	sonde_emit_block_slow(state, word_bytes(&value, inc), inc);
}

SONDE_HIDDEN void sonde_emit_string_slow(uint32_t state, uint64_t value,
					 uint64_t inc, const char *text);

void sonde_emit_string_slow(uint32_t state, uint64_t value, uint64_t inc,
			    const char *text)
{
	struct sonde_part parts[3] = {
		[1] = { word_bytes(&value, inc), payload_size(inc), 0 },
	};

	if (!text)
		text = "(null)";
	parts[2] = (struct sonde_part){ text, (uint32_t)strlen(text),
					SONDE_PART_STRING };
	emit(state, parts, 3, (uint64_t)parts[1].size + parts[2].size + 1);
}

#ifndef __x86_64__
void sonde_emit_string(uint32_t state, uint64_t value, uint64_t inc,
		       const char *text)
{
	sonde_emit_string_slow(state, value, inc, text);
}

void sonde_emit_block(uint32_t state, const void *data, uint64_t inc)
{
	sonde_emit_block_slow(state, data, inc);
}

void sonde_emit_word(uint32_t state, uint64_t value, uint64_t inc)
{
	sonde_emit_word_slow(state, value, inc);
}
#endif

void sonde_emit_parts(uint32_t state, const struct sonde_part *parts, size_t nr)
{
	struct sonde_part copy[SONDE_PARTS_MAX + 1];
	uint64_t size = 0;

	/* tracepoint.h makes at most 65: a run of fixed fields before, between
	 * and after 32 others */
	if (nr > SONDE_PARTS_MAX)
		nr = SONDE_PARTS_MAX;
	for (size_t i = 0; i < nr; i++) {
		copy[i + 1] = parts[i];
		size += parts[i].size;
		size += parts[i].flags & SONDE_PART_STRING;
	}
	emit(state, copy, (uint32_t)nr + 1, size);
}
