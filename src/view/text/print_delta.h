/* SPDX-License-Identifier: MIT */
/*
 * print_delta.h - when something was last: any event, an event of a thread, an
 * event of a class. A hash table from numbers to times. Not for several
 * threads at a time. Cost: 2 ns if it has been seen before.
 */
#ifndef VIEW_TEXT_PRINT_DELTA_H
#define VIEW_TEXT_PRINT_DELTA_H

#include <stddef.h>
#include <stdint.h>

#include <sonde/trace.h>

struct sonde_last_slot {
	uint64_t key;
	int64_t time_ns; /* SONDE_TIME_MIN: the slot is free */
};

struct sonde_last {
	struct sonde_last_slot *slots; /* [1 << bits]; NULL: nothing yet */
	unsigned int bits;
	size_t nr;
};

void sonde_last_fini(struct sonde_last *last);

/* When the key was last; SONDE_TIME_MIN: never. */
int64_t sonde_last_get(const struct sonde_last *last, uint64_t key);

/* time_ns is not SONDE_TIME_MIN. 0 or -ENOMEM. */
int sonde_last_set(struct sonde_last *last, uint64_t key, int64_t time_ns);

/* Sets all that `newer` has. */
int sonde_last_update(struct sonde_last *last, const struct sonde_last *newer);

#endif /* VIEW_TEXT_PRINT_DELTA_H */
