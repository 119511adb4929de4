/* SPDX-License-Identifier: MIT */
/*
 * print_delta.h - when something was last: any event, an event of a thread, an
 * event of a class. Not for several threads at a time.
 */
#ifndef VIEW_TEXT_PRINT_DELTA_H
#define VIEW_TEXT_PRINT_DELTA_H

#include <stdint.h>

#include <sonde/trace.h>

#include "base/hash.h"

/* Zeros are an empty one. */
struct sonde_last {
	struct sonde_hash times;
};

void sonde_last_fini(struct sonde_last *last);

/* When the key was last; SONDE_TIME_MIN: never. */
int64_t sonde_last_get(const struct sonde_last *last, uint64_t key);

/* time_ns is not SONDE_TIME_MIN. 0 or -ENOMEM. */
int sonde_last_set(struct sonde_last *last, uint64_t key, int64_t time_ns);

/* Sets all that `newer` has. */
int sonde_last_update(struct sonde_last *last, const struct sonde_last *newer);

#endif /* VIEW_TEXT_PRINT_DELTA_H */
