/* SPDX-License-Identifier: MIT */
/*
 * lookup.h - what has which name, for those who read metadata.
 *
 * Keys are (owner, bytes): a structure and a member's name, a scope and a
 * type's name, a stream class and an id. Finding and adding cost the length of
 * the key. Keys are borrowed: they live at least as long as the table. Zeroed
 * memory is an empty table.
 */
#ifndef CTF_SCHEMA_LOOKUP_H
#define CTF_SCHEMA_LOOKUP_H

#include <stddef.h>

#include "base/hash.h"

struct sonde_lookup_key {
	const void *owner;
	const void *bytes;
	size_t size;
};

struct sonde_lookup {
	struct sonde_hash names;
};

void sonde_lookup_fini(struct sonde_lookup *table);

/* 0; -EEXIST if the key is there already; -ENOMEM. `value` is not NULL. */
int sonde_lookup_add(struct sonde_lookup *table,
		     const struct sonde_lookup_key *key, void *value);
/* Its value, or NULL. */
void *sonde_lookup_find(const struct sonde_lookup *table,
			const struct sonde_lookup_key *key);

#endif /* CTF_SCHEMA_LOOKUP_H */
