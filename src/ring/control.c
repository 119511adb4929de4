/* SPDX-License-Identifier: MIT */
/*
 * control.c - from slots and ids to an event's state word (control.h).
 *
 * What is derived is stored, then derived again until nothing has changed, so
 * of two that store at once the last store is right. A derivation looks at each
 * slot once.
 */
#include "ring/control.h"

#include <stdbool.h>

struct sonde_arena_control sonde_arena_control_view(void *arena)
{
	unsigned char *bytes = arena;
	const struct sonde_arena *header = arena;

	return (struct sonde_arena_control){
		.states = (void *)(bytes + SONDE_STATES_OFF),
		.entries = (void *)(bytes + SONDE_ENTRIES_OFF),
		.slots = (void *)(bytes + SONDE_SLOTS_OFF),
		.writer = sonde_load_relaxed(&header->writer),
		.mapped = sonde_load_relaxed(&header->mapped),
		.abilities = sonde_load_relaxed(&header->abilities),
	};
}

/* Whether the fast path finds the slot's rings, or closed ones. */
static bool is_reachable(const struct sonde_arena_control *control,
			 const struct sonde_slot *slot)
{
	if (sonde_slot_end(slot) <= control->mapped)
		return true;
	return control->abilities & SONDE_ARENA_CAN_REACH &&
	       slot->nr_cpus <= SONDE_CLOSED_RINGS;
}

/* Slot 0 has no rings: what else there must be is no matter. */
static bool is_counting(const struct sonde_arena_control *control)
{
	return control->slots[0].mode >= SONDE_COUNT &&
	       control->writer == SONDE_WRITER_RSEQ;
}

/* Whether the slot's record of the event is what a fast path makes. */
static bool is_fast(const struct sonde_arena_control *control,
		    const struct sonde_slot *slot, uint32_t id)
{
	bool fits = slot->header == SONDE_COMPACT ?
			    id <= SONDE_STATE_COMPACT_MAX :
			    id >= SONDE_LARGE_FIRST_ID &&
				    id <= SONDE_STATE_LARGE_MAX;

	return fits && slot->clock == SONDE_CLOCK_CPU &&
	       control->writer == SONDE_WRITER_RSEQ;
}

/* Slot 0 alone may have the fast path, if its records are what it makes. */
static uint32_t fast_word(const struct sonde_arena_control *control,
			  uint32_t id)
{
	const struct sonde_slot *slot = &control->slots[0];

	if (is_counting(control))
		return id;
	return is_reachable(control, slot) && is_fast(control, slot, id) ? id :
									   0;
}

/* The slot's bit of SONDE_STATE_SLOTS; 0: it wants what those don't make. */
static uint32_t slot_bit(const struct sonde_arena_control *control, uint32_t i,
			 uint32_t index, uint32_t id)
{
	const struct sonde_slot *slot = &control->slots[i];

	if (!(control->abilities & SONDE_ARENA_CAN_SEVERAL) ||
	    slot->mode >= SONDE_COUNT || slot->stacks_off ||
	    !is_fast(control, slot, id) ||
	    sonde_load_relaxed(&control->entries[index].flags) &
		    SONDE_ENTRY_FILTERED)
		return 0;
	return 1u << SONDE_STATE_SLOTS_SHIFT << i;
}

/* Of one that slot 0 alone records, by the fast path. */
static uint32_t alone_word(const struct sonde_arena_control *control,
			   uint32_t index, uint32_t fast)
{
	const struct sonde_slot *slot = &control->slots[0];
	bool is_filtered = sonde_load_relaxed(&control->entries[index].flags) &
			   SONDE_ENTRY_FILTERED;

	if (slot->stacks_off)
		return is_filtered || !(control->abilities &
					SONDE_ARENA_CAN_STACK_FAST) ?
			       SONDE_STATE_GENERIC | index :
			       SONDE_STATE_GENERIC | SONDE_STATE_STACKED |
				       index;
	if (is_filtered)
		return SONDE_STATE_GENERIC | SONDE_STATE_ALONE | index;
	if (slot->mode == SONDE_TALLY)
		return SONDE_STATE_GENERIC | index;
	return is_counting(control) ? SONDE_STATE_COUNT | index : fast;
}

static uint32_t derive(const struct sonde_arena_control *control,
		       uint32_t index)
{
	uint32_t nr_active = 0;
	uint32_t named = 0;
	bool all_named = true;
	uint32_t fast = 0;

	for (uint32_t i = 0; i < SONDE_SLOTS; i++) {
		const struct sonde_slot *slot = &control->slots[i];
		uint32_t bit;
		uint32_t id;

		/* Pairs with sonde_store_release in sonde_arena_begin: the
		 * slot's configuration is visible. */
		if (sonde_load_acquire(&slot->state) != SONDE_SLOT_ACTIVE)
			continue;
		id = sonde_load_relaxed(&slot->ids[index]);
		if (!id)
			continue;
		nr_active++;
		bit = slot_bit(control, i, index, id);
		all_named &= bit != 0;
		named |= bit;
		if (i == 0)
			fast = fast_word(control, id);
	}
	if (nr_active == 1 && fast)
		return alone_word(control, index, fast);
	if (!nr_active)
		return 0;
	return SONDE_STATE_GENERIC | (all_named ? named : 0) | index;
}

void sonde_arena_control_refresh(const struct sonde_arena_control *control,
				 uint32_t index)
{
	uint32_t word = derive(control, index);

	for (int i = 0; i < 1000; i++) {
		uint32_t again;

		/* Pairs with SONDE_STATE_ in sonde/tracepoint.h, and the branch
		 * on it: what it commits comes after the id behind the word. */
		sonde_store_release(&control->states[index], word);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		again = derive(control, index);
		if (again == word)
			return;
		word = again;
	}
}
