/* SPDX-License-Identifier: MIT */
/*
 * lookup.c - a hash table with open addressing: at most three quarters of the
 * slots are taken, and what collides stands in the slots behind.
 */
#include "ctf/schema/lookup.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define FIRST_SLOTS ((size_t)64)

struct sonde_lookup_slot {
	struct sonde_lookup_key key;
	uint64_t hash;
	void *value; /* NULL: free */
};

void sonde_lookup_fini(struct sonde_lookup *table)
{
	free(table->slots);
	*table = (struct sonde_lookup){ 0 };
}

/* Both halves of the product, so that each bit of the input reaches all. */
static uint64_t mix(uint64_t a, uint64_t b)
{
	__extension__ unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t lookup_hash_of(const struct sonde_lookup *table,
			       const struct sonde_lookup_key *key)
{
	const char *bytes = key->bytes;
	uint64_t hash = table->seed ^ (uintptr_t)key->owner;
	size_t left = key->size;

	hash = mix(hash | 1, 0x9e3779b97f4a7c15u);
	for (; left > 0; left -= left < 8 ? left : 8) {
		uint64_t word = 0;

		memcpy(&word, bytes + (key->size - left), left < 8 ? left : 8);
		hash = mix(hash ^ word, table->seed | 1);
	}
	return mix(hash ^ key->size, 0xd6e8feb86659fd93u);
}

static bool same(const struct sonde_lookup_key *a,
		 const struct sonde_lookup_key *b)
{
	return a->owner == b->owner && a->size == b->size &&
	       (a->size == 0 || memcmp(a->bytes, b->bytes, a->size) == 0);
}

/* The key's slot, or the free one where it belongs. */
static struct sonde_lookup_slot *
lookup_slot_of(const struct sonde_lookup *table,
	       const struct sonde_lookup_key *key, uint64_t hash)
{
	size_t mask = table->nr_slots - 1;
	size_t i = hash & mask;

	while (table->slots[i].value && !(table->slots[i].hash == hash &&
					  same(&table->slots[i].key, key)))
		i = (i + 1) & mask;
	return &table->slots[i];
}

static int grow(struct sonde_lookup *table)
{
	struct sonde_lookup bigger = {
		.nr = table->nr,
		.nr_slots = table->nr_slots ? table->nr_slots * 2 : FIRST_SLOTS,
		.seed = table->seed,
	};

	/* Without random numbers it's a table like others: still right. */
	if (table->nr_slots == 0 &&
	    getrandom(&bigger.seed, sizeof(bigger.seed), GRND_NONBLOCK) < 0)
		bigger.seed = 0;
	bigger.slots = calloc(bigger.nr_slots, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < table->nr_slots; i++) {
		const struct sonde_lookup_slot *old = &table->slots[i];

		if (old->value)
			*lookup_slot_of(&bigger, &old->key, old->hash) = *old;
	}
	free(table->slots);
	*table = bigger;
	return 0;
}

int sonde_lookup_add(struct sonde_lookup *table,
		     const struct sonde_lookup_key *key, void *value)
{
	struct sonde_lookup_slot *slot;
	uint64_t hash;

	if (table->nr >= table->nr_slots / 4 * 3 && grow(table))
		return -ENOMEM;
	hash = lookup_hash_of(table, key);
	slot = lookup_slot_of(table, key, hash);
	if (slot->value)
		return -EEXIST;
	*slot = (struct sonde_lookup_slot){
		.key = *key,
		.hash = hash,
		.value = value,
	};
	table->nr++;
	return 0;
}

void *sonde_lookup_find(const struct sonde_lookup *table,
			const struct sonde_lookup_key *key)
{
	if (table->nr == 0)
		return NULL;
	return lookup_slot_of(table, key, lookup_hash_of(table, key))->value;
}
