/* SPDX-License-Identifier: MIT */
/*
 * arena_select.c - which events of an arena are recorded in our slot: from its
 * beginning, and from a change on (arena.h).
 *
 * The rules are in the slot, for the process selects what it registers later. It
 * may be reading them while they are written: it has published the event before,
 * so we find the event and select it ourselves. What the process selects by rules
 * that are no more is found when its id is (session/arena_source.c).
 *
 *  1. The rules are written before any event is looked at.
 *  2. An event's id is in past[] before it is taken from it: whoever reads the
 *     rings, now or after us, knows what its records are.
 *  3. An event has one id for ever, unless the process gives it another.
 *
 * Each event's description is copied and held against the rules once: about a
 * microsecond.
 */
#include <errno.h>
#include <string.h>

#include "base/port.h"
#include "ring/control.h"
#include "session/arena.h"
#include "types/desc.h"
#include "types/select.h"

static uint32_t *past_of(const struct sonde_arena_view *view)
{
	return (uint32_t *)(void *)(view->meta + SONDE_PAST_OFF);
}

bool sonde_arena_past(const struct sonde_arena_view *view, uint32_t *at,
		      uint32_t *ret_index, uint32_t *ret_id)
{
	while (*at < SONDE_PAST_MAX) {
		uint32_t word = sonde_load_relaxed(&past_of(view)[(*at)++]);

		if (!word)
			return false;
		if (word >> 30 != view->slot_index)
			continue;
		*ret_index = word >> 16 & (SONDE_EVENTS_MAX - 1);
		*ret_id = word & 0xffff;
		return true;
	}
	return false;
}

/* 0: it had none. */
static uint32_t past_id(const struct sonde_arena_view *view, uint32_t index)
{
	uint32_t at = 0;
	uint32_t other;
	uint32_t id;

	while (sonde_arena_past(view, &at, &other, &id))
		if (other == index)
			return id;
	return 0;
}

/* Other recorders do so for their slots. False: there is no room. */
static bool keep_past(const struct sonde_arena_view *view, uint32_t index,
		      uint32_t id)
{
	uint32_t key = view->slot_index << 14 | index;
	uint32_t word = key << 16 | id;

	for (uint32_t i = 0; i < SONDE_PAST_MAX; i++) {
		uint32_t *at = &past_of(view)[i];

		/* Pairs with the same of another recorder: each word is one's. */
		if (sonde_load_relaxed(at) == word ||
		    sonde_cmpxchg_acquire(at, 0u, word))
			return true;
	}
	return false;
}

/* An id for an event that was there before; the process may be giving it one,
 * too. */
static void give_id(const struct sonde_arena_view *view, uint32_t index)
{
	struct sonde_slot *slot = view->slot;
	uint32_t id = past_id(view, index);

	if (!id)
		id = sonde_add_relaxed(&slot->next_id, 1);
	if (!id || id >= SONDE_LARGE_ESCAPE)
		sonde_add_relaxed(&slot->lost_late, 1);
	else
		/* Pairs with the same in entries_give_id of the process: one of
		 * the two ids is used. */
		(void)sonde_cmpxchg_acquire(&slot->ids[index], (uint16_t)0,
					    (uint16_t)id);
}

bool sonde_arena_select(struct sonde_arena_view *view,
			const struct sonde_arena_setup *setup, uint32_t index,
			const struct sonde_desc *desc)
{
	struct sonde_arena_control control =
		sonde_arena_control_view(view->meta);
	uint32_t id = sonde_arena_event_id(view, index);
	bool wanted =
		sonde_select(setup->rules, setup->rules_size, setup->loglevel,
			     sonde_desc_provider(desc), sonde_desc_name(desc),
			     sonde_desc_loglevel(desc));

	if (wanted && !id)
		give_id(view, index);
	if (!wanted && id) {
		if (!keep_past(view, index, id))
			return false;
		sonde_store_relaxed(&view->slot->ids[index], (uint16_t)0);
	}
	sonde_arena_control_refresh(&control, index);
	return true;
}

/* Who reads them meanwhile finds none, or some, of the old or the new ones. */
static void write_rules(struct sonde_slot *slot,
			const struct sonde_arena_setup *setup)
{
	if (sonde_load_relaxed(&slot->loglevel) == setup->loglevel &&
	    !memcmp(slot->rules, setup->rules, setup->rules_size))
		return;
	sonde_store_relaxed(&slot->loglevel, setup->loglevel);
	for (size_t i = 0; i < setup->rules_size; i++)
		sonde_store_relaxed(&slot->rules[i], setup->rules[i]);
}

/* -ENOSPC: of some that are not wanted, records are still made. */
static int select_events(struct sonde_arena_view *view,
			 const struct sonde_arena_setup *setup, void *room)
{
	uint32_t nr = sonde_arena_nr_entries(view);
	const struct sonde_desc *desc;
	int rc = 0;

	for (uint32_t i = 0; i < nr; i++)
		if (sonde_arena_is_event(view, i) &&
		    !sonde_arena_copy_desc(view, i, room, &desc) &&
		    !sonde_arena_select(view, setup, i, desc))
			rc = -ENOSPC;
	return rc;
}

void sonde_arena_begin(struct sonde_arena_view *view,
		       const struct sonde_arena_setup *setup, void *room)
{
	write_rules(view->slot, setup);
	/* Pairs with the load of slot.state in entries_select_event: a process
	 * that sees the slot active sees how it is configured. */
	sonde_store_release(&view->slot->state, SONDE_SLOT_ACTIVE);
	/* Whoever publishes an entry looks at slots afterwards; we look at
	 * entries now: one of us sees the other's. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	(void)select_events(view, setup,
			    room); /* an event too much is no loss */
}

int sonde_arena_change(struct sonde_arena_view *view,
		       const struct sonde_arena_setup *setup, void *room)
{
	int rc;

	write_rules(view->slot, setup);
	/* As in sonde_arena_begin: an entry that was published before is seen
	 * here, one that is published later is selected by these rules. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	sonde_arena_restart_descs(view);
	rc = select_events(view, setup, room);
	sonde_arena_restart_descs(view);
	return rc;
}
