/* SPDX-License-Identifier: MIT */
/*
 * print_delta.c - when something was last, in a hash table from numbers to
 * times.
 *
 * A free slot has SONDE_TIME_MIN as its time, and there always is one. A look
 * costs a multiplication and, mostly, one load.
 */
#include "view/text/print_delta.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_BITS 4

void sonde_last_fini(struct sonde_last *last)
{
	free(last->slots);
	*last = (struct sonde_last){ .slots = NULL };
}

/* The key's slot, or the free one where it belongs; there always is a free
 * one. */
static struct sonde_last_slot *find(const struct sonde_last *last, uint64_t key)
{
	size_t mask = ((size_t)1 << last->bits) - 1;
	/* 2^64 over the golden ratio spreads neighbours widely */
	size_t at = key * 0x9e3779b97f4a7c15u >> (64 - last->bits);

	while (last->slots[at].time_ns != SONDE_TIME_MIN &&
	       last->slots[at].key != key)
		at = (at + 1) & mask;
	return &last->slots[at];
}

int64_t sonde_last_get(const struct sonde_last *last, uint64_t key)
{
	return last->slots ? find(last, key)->time_ns : SONDE_TIME_MIN;
}

static int grow(struct sonde_last *last)
{
	struct sonde_last bigger = { .bits = last->slots ? last->bits + 1 :
							   FIRST_BITS };
	size_t size = (size_t)1 << bigger.bits;

	bigger.slots = calloc(size, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < size; i++)
		bigger.slots[i].time_ns = SONDE_TIME_MIN;
	bigger.nr = last->nr;
	for (size_t i = 0; last->slots && i < size / 2; i++)
		if (last->slots[i].time_ns != SONDE_TIME_MIN)
			*find(&bigger, last->slots[i].key) = last->slots[i];
	free(last->slots);
	*last = bigger;
	return 0;
}

int sonde_last_set(struct sonde_last *last, uint64_t key, int64_t time_ns)
{
	struct sonde_last_slot *slot = last->slots ? find(last, key) : NULL;

	if (!slot || slot->time_ns == SONDE_TIME_MIN) {
		if (!slot || last->nr * 2 >= (size_t)1 << last->bits) {
			int err = grow(last);

			if (err)
				return err;
			slot = find(last, key);
		}
		last->nr++;
	}
	*slot = (struct sonde_last_slot){ .key = key, .time_ns = time_ns };
	return 0;
}

int sonde_last_update(struct sonde_last *last, const struct sonde_last *newer)
{
	size_t size = newer->slots ? (size_t)1 << newer->bits : 0;
	int err = 0;

	for (size_t i = 0; !err && i < size; i++)
		if (newer->slots[i].time_ns != SONDE_TIME_MIN)
			err = sonde_last_set(last, newer->slots[i].key,
					     newer->slots[i].time_ns);
	return err;
}
