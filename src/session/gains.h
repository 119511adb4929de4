/* SPDX-License-Identifier: MIT */
/*
 * gains.h - what the entries of a slot that counts (ring/layout.h) have gained.
 *
 * Zeros are no entries. For each that the arena has, the sum of its cells and how
 * much of it was told; `of` is whatever the caller keeps for it, NULL at first. What
 * is gained is what was not told, whenever the looks are. Memory follows the number
 * of entries; a look costs a read of 4 KiB for each CPU and 512 events.
 *
 * The process may be hostile (session/arena.h): a sum is any number. One thread.
 */
#ifndef SESSION_GAINS_H
#define SESSION_GAINS_H

#include <stdint.h>

#include "session/arena.h"

struct sonde_gain {
	void *of;
	uint64_t told; /* of the sum */
};

struct sonde_gains {
	uint32_t nr; /* entries in both arrays */
	struct sonde_gain *entries;
	uint64_t *sums;
};

/* A look: 0; -ENOMEM, and the next one has it all. */
int sonde_gains_look(struct sonde_gains *gains,
		     const struct sonde_arena_view *view);

/* The same, of a slot that another recorder may have had: what is there by now is
 * taken for told. */
int sonde_gains_begin(struct sonde_gains *gains,
		      const struct sonde_arena_view *view);

static inline uint64_t sonde_gains_new(const struct sonde_gains *gains,
				       uint32_t index)
{
	return gains->sums[index] - gains->entries[index].told;
}

/* `of` is the caller's to free, before. */
void sonde_gains_fini(struct sonde_gains *gains);

#endif /* SESSION_GAINS_H */
