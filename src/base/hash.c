/* SPDX-License-Identifier: MIT */
/*
 * hash.c - the hash table (hash.h), and the order of its keys.
 *
 * From an entry's home to its place no place is free; removing keeps that by
 * moving back what follows. The seed is chosen once for each process. get, put
 * and remove cost one hash and a few comparisons; growing moves all.
 */
#include "base/hash.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define FIRST_CAPACITY 16
#define TEXT_MAX       4096 /* bytes of a key that count */

/*
 * Where a key's place is depends on it: else the values of a hostile trace
 * could be chosen so that all have the same place, and each search takes as
 * long as there are keys. Nothing that is shown depends on it.
 */
static uint64_t seed;

__attribute__((constructor)) static void choose_seed(void)
{
	/* without one all works as well, but for such a trace */
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) !=
	    (ssize_t)sizeof(seed))
		seed = (uint64_t)(uintptr_t)&seed;
}

/* ---- keys ---- */

static uint64_t hash_mix(uint64_t x)
{
	x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
	x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
	return x ^ (x >> 32);
}

struct sonde_key sonde_key_make(enum sonde_key_kind kind, uint64_t number,
				uint32_t space)
{
	return (struct sonde_key){
		.number = number,
		.space = space,
		.kind = (uint8_t)kind,
	};
}

/* Each step of the hash is one-to-one for a given word: so for the same bytes,
 * owners that differ give hashes that do. */
struct sonde_key sonde_key_of_bytes(const void *owner, const void *bytes,
				    size_t size)
{
	uint64_t hash = (seed ^ size) + (uintptr_t)owner;
	struct sonde_key key;

	for (size_t at = 0; at < size; at += 8) {
		uint64_t word = 0;

		memcpy(&word, (const char *)bytes + at,
		       size - at < 8 ? size - at : 8);
		hash = hash_mix(hash ^ word) + at;
	}
	key = sonde_key_make(SONDE_KEY_TEXT, hash, (uint32_t)size);
	key.text = bytes;
	return key;
}

struct sonde_key sonde_key_of_text(const char *text, size_t length)
{
	return sonde_key_of_bytes(NULL, text,
				  length < TEXT_MAX ? length : TEXT_MAX);
}

char *sonde_key_text(const struct sonde_key *key, char *to, size_t size)
{
	double real;

	switch ((enum sonde_key_kind)key->kind) {
	case SONDE_KEY_UINT:
		(void)snprintf(to, size, "%" PRIu64, key->number);
		return to;
	case SONDE_KEY_HEX:
		(void)snprintf(to, size, "0x%" PRIx64, key->number);
		return to;
	case SONDE_KEY_INT:
		(void)snprintf(to, size, "%" PRId64, (int64_t)key->number);
		return to;
	case SONDE_KEY_DOUBLE:
		memcpy(&real, &key->number, sizeof(real));
		(void)snprintf(to, size, "%g", real);
		return to;
	case SONDE_KEY_TEXT:
		(void)snprintf(to, size, "%.*s", (int)key->space, key->text);
		return to;
	case SONDE_KEY_NONE:
		break;
	}
	to[0] = 0;
	return to;
}

static int hash_compare_numbers(const struct sonde_key *a,
				const struct sonde_key *b)
{
	if (a->kind == SONDE_KEY_INT && b->kind == SONDE_KEY_INT)
		return ((int64_t)a->number > (int64_t)b->number) -
		       ((int64_t)a->number < (int64_t)b->number);
	return (a->number > b->number) - (a->number < b->number);
}

int sonde_key_compare(const struct sonde_key *a, const struct sonde_key *b)
{
	bool text = a->kind == SONDE_KEY_TEXT;
	int order;

	if (text != (b->kind == SONDE_KEY_TEXT))
		return text ? 1 : -1;
	if (text) {
		uint32_t both = a->space < b->space ? a->space : b->space;

		order = both ? memcmp(a->text, b->text, both) : 0;
	} else {
		order = hash_compare_numbers(a, b);
	}
	return order ? order : (a->space > b->space) - (a->space < b->space);
}

static bool hash_same(const struct sonde_key *a, const struct sonde_key *b)
{
	bool text = a->kind == SONDE_KEY_TEXT;

	return a->number == b->number && a->space == b->space &&
	       text == (b->kind == SONDE_KEY_TEXT) &&
	       (!text || !a->space || !memcmp(a->text, b->text, a->space));
}

/* ---- the table ---- */

static struct sonde_key *entry_at(const struct sonde_hash *hash, size_t i)
{
	return (struct sonde_key *)(void *)(hash->entries +
					    i * hash->entry_bytes);
}

/* Where the search for a key begins. */
static size_t home_of(const struct sonde_hash *hash,
		      const struct sonde_key *key)
{
	return hash_mix((key->number ^ seed) + key->space) &
	       (hash->capacity - 1);
}

void sonde_hash_init(struct sonde_hash *hash, size_t entry_bytes, size_t limit)
{
	*hash = (struct sonde_hash){
		.entry_bytes = (entry_bytes + 15) & ~(size_t)15,
		.limit = limit,
	};
}

/* An entry's text is its own, though keys in general only point to one. */
static void free_text(const struct sonde_hash *hash, struct sonde_key *entry)
{
	void *text;

	memcpy(&text, &entry->text, sizeof(text));
	if (!hash->borrows)
		free(text);
}

void sonde_hash_fini(struct sonde_hash *hash)
{
	struct sonde_key *key = NULL;

	while ((key = sonde_hash_next(hash, key)))
		free_text(hash, key);
	free(hash->entries);
	*hash = (struct sonde_hash){ 0 };
}

/* The place of the key, or the free one where it would go. */
static size_t find(const struct sonde_hash *hash, const struct sonde_key *key)
{
	size_t i = home_of(hash, key);

	while (entry_at(hash, i)->kind != SONDE_KEY_NONE &&
	       !hash_same(entry_at(hash, i), key))
		i = (i + 1) & (hash->capacity - 1);
	return i;
}

void *sonde_hash_get(const struct sonde_hash *hash, const struct sonde_key *key)
{
	struct sonde_key *entry;

	if (!hash->nr_entries)
		return NULL;
	entry = entry_at(hash, find(hash, key));
	return entry->kind == SONDE_KEY_NONE ? NULL : entry;
}

static int grow(struct sonde_hash *hash)
{
	struct sonde_hash bigger = *hash;
	struct sonde_key *entry = NULL;

	bigger.capacity = hash->capacity ? hash->capacity * 2 : FIRST_CAPACITY;
	bigger.entries = calloc(bigger.capacity, hash->entry_bytes);
	if (!bigger.entries)
		return -ENOMEM;
	while ((entry = sonde_hash_next(hash, entry)))
		memcpy(entry_at(&bigger, find(&bigger, entry)), entry,
		       hash->entry_bytes);
	free(hash->entries);
	*hash = bigger;
	return 0;
}

static int set_key(const struct sonde_hash *hash, struct sonde_key *entry,
		   const struct sonde_key *key)
{
	char *text = NULL;

	*entry = *key;
	if (key->kind == SONDE_KEY_TEXT && hash->borrows)
		return 0;
	if (key->kind == SONDE_KEY_TEXT) {
		text = malloc((size_t)key->space + 1);
		if (!text) {
			memset(entry, 0, sizeof(*entry));
			return -ENOMEM;
		}
		memcpy(text, key->text, key->space);
		text[key->space] = 0;
	}
	entry->text = text;
	return 0;
}

void *sonde_hash_put(struct sonde_hash *hash, const struct sonde_key *key)
{
	struct sonde_key *entry = sonde_hash_get(hash, key);

	if (entry)
		return entry;
	if (hash->nr_entries >= hash->limit)
		return NULL;
	if (hash->nr_entries >= hash->capacity / 8 * 7 && grow(hash))
		return NULL;
	entry = entry_at(hash, find(hash, key));
	if (set_key(hash, entry, key))
		return NULL;
	hash->nr_entries++;
	return entry;
}

int sonde_hash_error(const struct sonde_hash *hash)
{
	return hash->nr_entries >= hash->limit ? -E2BIG : -ENOMEM;
}

void sonde_hash_remove(struct sonde_hash *hash, void *entry)
{
	size_t mask = hash->capacity - 1;
	size_t hole = (size_t)((unsigned char *)entry - hash->entries) /
		      hash->entry_bytes;

	free_text(hash, entry_at(hash, hole));
	/* What follows moves into the hole, unless its home is behind it. */
	for (size_t i = (hole + 1) & mask;
	     entry_at(hash, i)->kind != SONDE_KEY_NONE; i = (i + 1) & mask) {
		size_t home = home_of(hash, entry_at(hash, i));

		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		memcpy(entry_at(hash, hole), entry_at(hash, i),
		       hash->entry_bytes);
		hole = i;
	}
	memset(entry_at(hash, hole), 0, hash->entry_bytes);
	hash->nr_entries--;
}

void *sonde_hash_next(const struct sonde_hash *hash, const void *entry)
{
	size_t i = 0;

	if (entry)
		i = (size_t)((const unsigned char *)entry - hash->entries) /
			    hash->entry_bytes +
		    1;
	for (; i < hash->capacity; i++)
		if (entry_at(hash, i)->kind != SONDE_KEY_NONE)
			return entry_at(hash, i);
	return NULL;
}

struct order {
	int (*compare)(const void *a, const void *b, void *ctx);
	void *ctx;
};

static int compare_entries(const void *a, const void *b, void *ctx)
{
	const struct order *order = ctx;
	const void *entry_a = *(const void *const *)a;
	const void *entry_b = *(const void *const *)b;
	int result = order->compare(entry_a, entry_b, order->ctx);

	return result ? result : sonde_key_compare(entry_a, entry_b);
}

const void **sonde_hash_sorted(const struct sonde_hash *hash,
			       int (*compare)(const void *a, const void *b,
					      void *ctx),
			       void *ctx)
{
	struct order order = { compare, ctx };
	const void **sorted;
	const void *entry = NULL;
	size_t nr = 0;

	if (!hash->nr_entries)
		return NULL;
	sorted = malloc(hash->nr_entries * sizeof(const void *));
	if (!sorted)
		return NULL;
	while ((entry = sonde_hash_next(hash, entry)))
		sorted[nr++] = entry;
	qsort_r(sorted, nr, sizeof(const void *), compare_entries, &order);
	return sorted;
}
