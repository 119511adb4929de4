/* SPDX-License-Identifier: MIT */
/*
 * register.c - makes events known (entries.h) and points their sites to the
 * arena's state words.
 */
#include "tracer/entries.h"
#include "tracer/filters.h"
#include "tracer/self.h"
#include "types/desc.h"

static struct sonde_arena *register_header(void)
{
	return (struct sonde_arena *)(void *)sonde_arena;
}

static uint32_t *state_word(uint32_t index)
{
	return (uint32_t *)(void *)(sonde_arena + SONDE_STATES_OFF) + index;
}

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
	sonde_filters_learn(batch->index, batch->nr);
	for (uint32_t i = 0; i < batch->nr; i++)
		sonde_store_relaxed(&batch->sites[i]->state,
				    state_word(batch->index[i]));
	batch->nr = 0;
}

/* Where there are conditions, a site is enabled when its own is known. */
static void enable(struct batch *batch, struct sonde_site *site, uint32_t index)
{
	batch->sites[batch->nr] = site;
	batch->index[batch->nr++] = index;
	if (batch->nr == SONDE_FILTERS_ASK || !sonde_filters_wanted())
		enable_all(batch);
}

void sonde_register(struct sonde_site *sites, size_t nr)
{
	struct batch batch;

	sonde_start();
	if (!sonde_arena || sonde_has_left)
		return;
	batch.nr = 0;
	for (size_t i = 0; i < nr; i++) {
		const struct sonde_desc *desc = sites[i].desc;
		uint32_t index;

		/* Weak symbols that were not linked leave holes. */
		if (!desc || in_arena(sonde_load_relaxed(&sites[i].state)))
			continue;
		if (sonde_desc_check(desc, desc->size, &desc)) {
			sonde_add_relaxed(&register_header()->refused, 1);
			continue;
		}
		if (sonde_entries_add(sonde_arena, desc, &index))
			enable(&batch, &sites[i], index);
	}
	enable_all(&batch);
}
