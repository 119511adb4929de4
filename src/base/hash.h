/* SPDX-License-Identifier: MIT */
/*
 * hash.h - a hash table whose keys are numbers or texts.
 *
 * Open addressing with linear probing, in one array of entries of equal size, a
 * power of two long and at most 7/8 full; removing moves what follows back, so
 * there are no graves. An entry is a structure of its user's that begins with
 * its key; a free place has the key kind SONDE_KEY_NONE. All bytes behind the
 * key are zero when an entry is made. Where a key goes depends on a number that
 * each process chooses at random, so a trace can't choose keys that collide. Hosted.
 *
 * put and remove may move entries: pointers to them are good until then. The
 * order of entries means nothing, so those who show them sort them.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sonde_key_kind {
	SONDE_KEY_NONE,
	SONDE_KEY_UINT,
	SONDE_KEY_HEX,
	SONDE_KEY_INT,
	SONDE_KEY_DOUBLE,
	SONDE_KEY_TEXT,
};

/*
 * Numbers are equal if their 64 bits and their spaces are, whatever their
 * kinds: -1 of a signed field is the same as 2^64 - 1 of an unsigned one.
 */
struct sonde_key {
	uint64_t number;  /* of a text its hash, of a double its bits */
	const char *text; /* of a text; not terminated */
	uint32_t space;   /* of a text its bytes; else what the number belongs
			 * to, such as the process of an address */
	uint8_t kind;
};

/* A number in a space. */
struct sonde_key sonde_key_make(enum sonde_key_kind kind, uint64_t number,
				uint32_t space);
/* A text, which is borrowed; bytes beyond the 4,096th don't count. */
struct sonde_key sonde_key_of_text(const char *text, size_t length);
/* Bytes that belong to an object, below 4 GiB: the same bytes of another owner
 * are another key. No text to be shown. */
struct sonde_key sonde_key_of_bytes(const void *owner, const void *bytes,
				    size_t size);
/* As text, cut to fit; returns `to`. */
char *sonde_key_text(const struct sonde_key *key, char *to, size_t size);
/* A total order: numbers by value, then texts by bytes. */
int sonde_key_compare(const struct sonde_key *a, const struct sonde_key *b);

struct sonde_hash {
	size_t entry_bytes; /* a multiple of 16: entries are aligned so */
	size_t limit;       /* of entries */
	size_t nr_entries;
	/* Set after init: keys' texts live as long as the table, and are not
	 * copied. */
	bool borrows;
	/* ---- private ---- */
	size_t capacity; /* 0 or a power of two */
	unsigned char *entries;
};

void sonde_hash_init(struct sonde_hash *hash, size_t entry_bytes, size_t limit);
/* Frees the table and its keys' texts, not what entries point to. Of zeros,
 * does nothing. */
void sonde_hash_fini(struct sonde_hash *hash);

/* The entry with this key, or NULL. */
void *sonde_hash_get(const struct sonde_hash *hash,
		     const struct sonde_key *key);
/* That, or a new one; the key's text is copied. NULL if there is no memory or
 * the limit is reached. */
void *sonde_hash_put(struct sonde_hash *hash, const struct sonde_key *key);
void sonde_hash_remove(struct sonde_hash *hash, void *entry);

/* For who asks for the same few numbers again and again: the place of an entry, and
 * the entry of a number of space 0, if it is there still; NULL: look for it. */
static inline uint32_t sonde_hash_place(const struct sonde_hash *hash,
					const void *entry)
{
	return (uint32_t)((size_t)((const unsigned char *)entry -
				   hash->entries) /
			  hash->entry_bytes);
}

static inline void *sonde_hash_at(const struct sonde_hash *hash, uint32_t place,
				  uint64_t number)
{
	struct sonde_key *key;

	if (place >= hash->capacity)
		return NULL;
	key = (struct sonde_key *)(void *)(hash->entries +
					   place * hash->entry_bytes);
	return key->number == number && !key->space &&
			       key->kind != SONDE_KEY_NONE &&
			       key->kind != SONDE_KEY_TEXT ?
		       key :
		       NULL;
}

/* What went wrong if put gave NULL: -E2BIG at the limit, else -ENOMEM. */
int sonde_hash_error(const struct sonde_hash *hash);

/* The entry behind `entry` (NULL: the first), or NULL. */
void *sonde_hash_next(const struct sonde_hash *hash, const void *entry);

/*
 * All entries in an order; equal ones by their keys, so that the result does
 * not depend on how the table came about. An array of nr_entries pointers for
 * free(), or NULL without memory (or entries).
 */
const void **sonde_hash_sorted(const struct sonde_hash *hash,
			       int (*compare)(const void *a, const void *b,
					      void *ctx),
			       void *ctx);

#endif /* BASE_HASH_H */
