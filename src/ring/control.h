/* SPDX-License-Identifier: MIT */
/*
 * control.h - trace control: from slots and ids to state words.
 *
 * The state word of an event (sonde/abi.h) is derived from the slots' states
 * and the event's ids in them. Whoever changes one of those refreshes the word
 * afterwards. Two may do so at once: a process that registers an event, and a
 * recorder that starts or stops a slot. Each stores what it derived, then
 * derives again and repeats until nothing has changed; as both order their
 * change, their store and their second look, the last store is right.
 *
 * Nothing is ever freed, so a probe that read the old word does no harm: it
 * finds the slot as it is now.
 */
#ifndef RING_CONTROL_H
#define RING_CONTROL_H

#include "base/port.h"
#include "ring/layout.h"

#define SONDE_STATE_GENERIC 0x80000000u
#define SONDE_STATE_GUEST   0x40000000u /* besides: in a tool's arena */
#define SONDE_STATE_ALONE   0x20000000u /* besides: slot 0's, filtered */
#define SONDE_STATE_COUNTED 0x10000000u /* besides: no condition is left */
#define SONDE_STATE_STACKED 0x08000000u /* besides: slot 0's, with stacks */
#define SONDE_STATE_COUNT \
	(SONDE_STATE_GENERIC | SONDE_STATE_ALONE | SONDE_STATE_COUNTED)
/* Besides: the slots that record the event, if each takes what a fast path makes;
 * no bits: all slots are to be looked at. */
#define SONDE_STATE_SLOTS_SHIFT 14
#define SONDE_STATE_SLOTS       (((1u << SONDE_SLOTS) - 1) << SONDE_STATE_SLOTS_SHIFT)
/* What is in the word besides the index, where it has one. */
#define SONDE_STATE_FLAGS                                              \
	(SONDE_STATE_COUNT | SONDE_STATE_GUEST | SONDE_STATE_STACKED | \
	 SONDE_STATE_SLOTS)
#define SONDE_STATE_COMPACT_MAX 30u
#define SONDE_STATE_LARGE_MAX   65534u

_Static_assert(1u << SONDE_STATE_SLOTS_SHIFT == SONDE_EVENTS_MAX &&
		       SONDE_STATE_SLOTS < SONDE_STATE_STACKED,
	       "a word has room for both");

/* Bit i: slot i is named. */
static inline uint32_t sonde_state_slots(uint32_t state)
{
	return state & SONDE_STATE_GENERIC ?
		       (state & SONDE_STATE_SLOTS) >> SONDE_STATE_SLOTS_SHIFT :
		       0;
}

/* The arena's parts, at addresses of the caller. Borrowed. */
struct sonde_arena_control {
	uint32_t *states;
	struct sonde_entry *entries;
	struct sonde_slot *slots;
	uint32_t writer;    /* enum sonde_writer_kind */
	uint64_t mapped;    /* as in struct sonde_arena */
	uint32_t abilities; /* likewise */
};

/* Makes a view of the arena mapped at `arena`. */
struct sonde_arena_control sonde_arena_control_view(void *arena);

/* Bring the state word of event `index` (< SONDE_EVENTS_MAX) up to date. */
void sonde_arena_control_refresh(const struct sonde_arena_control *control,
				 uint32_t index);

#endif /* RING_CONTROL_H */
