/* SPDX-License-Identifier: MIT */
/* stacks_cache.h - where the cache of rules (stacks.h) has a return address's. */
#ifndef RING_STACKS_CACHE_H
#define RING_STACKS_CACHE_H

#include "ring/stacks.h"

/* Its rule, if the word is of this address. */
static inline uint64_t *sonde_stacks_cached(struct sonde_stacks *stacks,
					    uint64_t pc)
{
	unsigned char *bytes = (unsigned char *)stacks;
	uint64_t *cache = (void *)(bytes + SONDE_STACKS_CACHE_OFF);

	return &cache[pc * UINT64_C(0x9e3779b97f4a7c15) >> 52];
}

_Static_assert(SONDE_STACKS_CACHE == 1u << 12, "a hash's upper 12 bits");

#endif /* RING_STACKS_CACHE_H */
