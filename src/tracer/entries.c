/* SPDX-License-Identifier: MIT */
/*
 * entries.c - an event's description becomes one of an arena's entries.
 *
 * Several threads, and several processes that share the arena after a fork,
 * may do so at once. There is no lock to die with: space and entries are
 * reserved by adding to a counter and published by setting the entry's flags.
 * Two that register the same event at the same instant make two entries of it,
 * which is harmless. An entry is found by its name's hash, in one pass over
 * the entries: 16 bytes each, and done once per site.
 */
#include "tracer/entries.h"

#include <string.h>

#include "ring/control.h"
#include "types/desc.h"
#include "types/origins.h"
#include "types/select.h"

static struct sonde_arena *entries_header(unsigned char *arena)
{
	return (struct sonde_arena *)(void *)arena;
}

static struct sonde_entry *entries(unsigned char *arena)
{
	return (struct sonde_entry *)(void *)(arena + SONDE_ENTRIES_OFF);
}

static uint32_t name_hash(const struct sonde_desc *desc)
{
	const char *names[2] = { sonde_desc_provider(desc),
				 sonde_desc_name(desc) };
	uint32_t hash = 2166136261u;

	for (int i = 0; i < 2; i++) {
		for (const char *p = names[i]; *p; p++)
			hash = (hash ^ (unsigned char)*p) * 16777619u;
		hash *= 16777619u;
	}
	return hash >> SONDE_ENTRY_HASH_SHIFT << SONDE_ENTRY_HASH_SHIFT;
}

/* Whether the entry has the names of `desc`, and is of the same version if both
 * were generated: of another, it is another event. Others may have scribbled on the
 * arena (a tool's is shared with the process it looks at), so what the entry
 * says is only looked at where it lies in the arena. */
static bool same_name(const unsigned char *arena,
		      const struct sonde_entry *entry,
		      const struct sonde_desc *desc)
{
	const char *provider = sonde_desc_provider(desc);
	const char *name = sonde_desc_name(desc);
	size_t provider_size = strlen(provider) + 1;
	size_t name_size = strlen(name) + 1;
	size_t all = sizeof(*desc) + provider_size + name_size;
	uint64_t off = sonde_load_relaxed(&entry->desc_off);
	struct sonde_desc known;

	if (off < SONDE_DESCS_OFF || off > SONDE_META_SPAN - all)
		return false;
	memcpy(&known, arena + off, sizeof(known));
	arena += off;
	if (known.provider_size != provider_size ||
	    known.name_size != name_size ||
	    memcmp(arena + sizeof(known), provider, provider_size) != 0 ||
	    memcmp(arena + sizeof(known) + provider_size, name, name_size) != 0)
		return false;
	if (known.nr_fields == SONDE_NR_FIELDS_REFERENCE ||
	    sonde_desc_is_reference(desc))
		return true;
	return known.size >= all && known.size <= SONDE_META_SPAN - off &&
	       sonde_desc_checksum_of(&known, arena) ==
		       sonde_desc_checksum(desc);
}

/* The first published entry of that name that is neither a conflict's nor another
 * form's. */
static bool find(unsigned char *arena, const struct sonde_desc *desc,
		 uint32_t hash, uint32_t *ret_index)
{
	uint32_t nr = sonde_load_relaxed(&entries_header(arena)->nr_reserved);

	for (uint32_t i = 0; i < nr && i < SONDE_EVENTS_MAX; i++) {
		const struct sonde_entry *entry = &entries(arena)[i];
		/* Pairs with sonde_store_release in publish: the description
		 * is complete. */
		uint32_t flags = sonde_load_acquire(&entry->flags);

		if (!flags ||
		    flags & (SONDE_ENTRY_CONFLICT | SONDE_ENTRY_FORM) ||
		    (flags ^ hash) >> SONDE_ENTRY_HASH_SHIFT)
			continue;
		if (same_name(arena, entry, desc)) {
			*ret_index = i;
			return true;
		}
	}
	return false;
}

/* Copies the description into the arena and publishes it as entry `index`. */
static bool publish(unsigned char *arena, const struct sonde_desc *desc,
		    uint32_t index, uint32_t flags)
{
	uint32_t size = sonde_desc_size(desc);
	uint64_t off =
		sonde_add_relaxed(&entries_header(arena)->descs_used, size);
	struct sonde_entry *entry = &entries(arena)[index];

	if (off > SONDE_DESCS_SIZE || size > SONDE_DESCS_SIZE - off) {
		sonde_add_relaxed(&entries_header(arena)->refused, 1);
		return false;
	}
	off += SONDE_DESCS_OFF;
	memcpy(arena + off, desc, size);
	sonde_store_relaxed(&entry->desc_off, off);
	sonde_store_relaxed(&entry->desc_size, size);
	/* Pairs with sonde_load_acquire in find, and in the recorder's copy of
	 * the descriptions. */
	sonde_store_release(&entry->flags, flags);
	return true;
}

static bool add(unsigned char *arena, const struct sonde_desc *desc,
		uint32_t flags, uint32_t *ret_index)
{
	uint32_t index =
		sonde_add_relaxed(&entries_header(arena)->nr_reserved, 1);

	if (index >= SONDE_EVENTS_MAX) {
		sonde_add_relaxed(&entries_header(arena)->refused, 1);
		return false;
	}
	*ret_index = index;
	return publish(arena, desc, index, flags);
}

/* A recorder that attaches may be giving it one, too. */
static void entries_give_id(struct sonde_slot *slot, uint32_t index)
{
	uint32_t id = sonde_add_relaxed(&slot->next_id, 1);

	if (!id || id >= SONDE_LARGE_ESCAPE)
		sonde_add_relaxed(&slot->lost_late, 1);
	else
		/* Pairs with the same in give_id of the session: one of the two
		 * ids is used; and with sonde_load_acquire in
		 * sonde_arena_event_id: the description is there. */
		(void)__atomic_compare_exchange_n(
			&slot->ids[index], &(uint16_t){ 0 }, (uint16_t)id,
			false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* Gives the event an id in each slot whose rules want it. */
static void entries_select_event(unsigned char *arena,
				 const struct sonde_desc *desc, uint32_t index)
{
	struct sonde_arena_control control = sonde_arena_control_view(arena);

	/* The entry was published; a recorder makes its slot active and then
	 * looks at entries: one of us sees the other's. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < SONDE_SLOTS; i++) {
		struct sonde_slot *slot = &control.slots[i];

		/* Pairs with sonde_store_release in sonde_arena_begin: rules
		 * and level are visible. */
		if (sonde_load_acquire(&slot->state) != SONDE_SLOT_ACTIVE)
			continue;
		if (!sonde_select(slot->rules, sizeof(slot->rules),
				  slot->loglevel, sonde_desc_provider(desc),
				  sonde_desc_name(desc),
				  sonde_desc_loglevel(desc)))
			continue;
		entries_give_id(slot, index);
	}
	sonde_arena_control_refresh(&control, index);
}

/*
 * An event of that name is known. Same description: share it. Only asked
 * about so far: it becomes this one, under the state word that was handed out.
 * Another description: refused, and the recorder is told by an entry.
 */
static bool join(unsigned char *arena, const struct sonde_desc *desc,
		 uint32_t hash, uint32_t index)
{
	const struct sonde_desc *known =
		(const void *)(arena +
			       sonde_load_relaxed(
				       &entries(arena)[index].desc_off));
	uint32_t conflict;

	if (sonde_desc_is_reference(desc) || sonde_desc_equal(known, desc))
		return true;
	if (!sonde_desc_is_reference(known)) {
		(void)add(arena, desc, hash | SONDE_ENTRY_CONFLICT, &conflict);
		return false;
	}
	if (!publish(arena, desc, index, hash | SONDE_ENTRY_READY))
		return false;
	entries_select_event(arena, desc, index);
	return true;
}

static bool entries_add_selected(unsigned char *arena,
				 const struct sonde_desc *desc, uint32_t flags,
				 uint32_t *ret_index)
{
	if (!add(arena, desc, flags | SONDE_ENTRY_READY, ret_index))
		return false;
	entries_select_event(arena, desc, *ret_index);
	return true;
}

bool sonde_entries_add_one(unsigned char *arena, const struct sonde_desc *desc,
			   uint32_t *ret_index)
{
	return entries_add_selected(arena, desc, name_hash(desc), ret_index);
}

bool sonde_entries_add(unsigned char *arena, const struct sonde_desc *desc,
		       uint32_t *ret_index)
{
	uint32_t hash = name_hash(desc);

	if (sonde_origins_has(desc))
		return entries_add_selected(arena, desc,
					    hash | SONDE_ENTRY_FORM, ret_index);
	if (find(arena, desc, hash, ret_index))
		return join(arena, desc, hash, *ret_index);
	if (sonde_desc_is_reference(desc))
		return add(arena, desc, hash | SONDE_ENTRY_REFERENCE,
			   ret_index);
	return entries_add_selected(arena, desc, hash, ret_index);
}
