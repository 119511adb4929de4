/* SPDX-License-Identifier: MIT */
/*
 * register.c - makes events known (entries.h) and points their sites to the
 * arena's state words.
 */
#include "tracer/entries.h"
#include "tracer/filters.h"
#include "tracer/self.h"
#include "types/desc.h"

static bool in_arena(const uint32_t *state)
{
	uint64_t off = (uint64_t)((uintptr_t)state - (uintptr_t)sonde_arena);

	return off < SONDE_META_SPAN;
}

/* Sites that wait for their events' conditions. */
struct batch {
	uint32_t nr;
	uint32_t index[SONDE_FILTERS_ASK];
	struct sonde_site *sites[SONDE_FILTERS_ASK];
};

static void enable_all(struct batch *batch)
{
	uint32_t *states = (void *)(sonde_arena + SONDE_STATES_OFF);

	sonde_filters_learn(batch->index, batch->nr);
	for (uint32_t i = 0; i < batch->nr; i++)
		sonde_store_relaxed(&batch->sites[i]->state,
				    &states[batch->index[i]]);
	batch->nr = 0;
}

void sonde_register(struct sonde_site *sites, size_t nr)
{
	struct sonde_arena *header;
	struct batch batch;

	sonde_start();
	if (!sonde_arena || sonde_has_left)
		return;
	header = (void *)sonde_arena;
	batch.nr = 0;
	for (size_t i = 0; i < nr; i++) {
		const struct sonde_desc *desc = sites[i].desc;
		uint32_t index;

		/* Weak symbols that were not linked leave holes. */
		if (!desc || in_arena(sonde_load_relaxed(&sites[i].state)))
			continue;
		if (sonde_desc_check(desc, desc->size, &desc)) {
			sonde_add_relaxed(&header->refused, 1);
			continue;
		}
		if (!sonde_entries_add(sonde_arena, desc, &index))
			continue;
		batch.sites[batch.nr] = &sites[i];
		batch.index[batch.nr++] = index;
		/* Where there are conditions, a site is enabled when its own
		 * is known. */
		if (batch.nr == SONDE_FILTERS_ASK || !sonde_filters_wanted())
			enable_all(&batch);
	}
	enable_all(&batch);
}
