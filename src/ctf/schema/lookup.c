/* SPDX-License-Identifier: MIT */
/*
 * lookup.c - what has which name: a table of base/hash.h (lookup.h).
 */
#include "ctf/schema/lookup.h"

#include <errno.h>

struct named {
	struct sonde_key key;
	void *value;
};

static struct sonde_key lookup_key(const struct sonde_lookup_key *key)
{
	return sonde_key_of_bytes(key->owner, key->bytes, key->size);
}

void sonde_lookup_fini(struct sonde_lookup *table)
{
	sonde_hash_fini(&table->names);
}

int sonde_lookup_add(struct sonde_lookup *table,
		     const struct sonde_lookup_key *key, void *value)
{
	const struct sonde_key name = lookup_key(key);
	struct named *named;

	if (!table->names.entry_bytes)
		sonde_hash_init(&table->names, sizeof(*named), SIZE_MAX);
	table->names.borrows = true;
	if (sonde_hash_get(&table->names, &name))
		return -EEXIST;
	named = sonde_hash_put(&table->names, &name);
	if (!named)
		return -ENOMEM;
	named->value = value;
	return 0;
}

void *sonde_lookup_find(const struct sonde_lookup *table,
			const struct sonde_lookup_key *key)
{
	const struct sonde_key name = lookup_key(key);
	const struct named *named = sonde_hash_get(&table->names, &name);

	return named ? named->value : NULL;
}
