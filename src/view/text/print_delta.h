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

struct sonde_last_moment {
	int64_t time_ns; /* SONDE_TIME_MIN: never */
	/* Whose time it is, borrowed, where there are several machines; else
	 * NULL. */
	const struct sonde_source *source;
};

/* Zeros are an empty one. */
struct sonde_last {
	struct sonde_hash times;
};

void sonde_last_fini(struct sonde_last *last);

/* When the key was last. */
struct sonde_last_moment sonde_last_get(const struct sonde_last *last,
					uint64_t key);

/* It was then. 0 or -ENOMEM. */
int sonde_last_set(struct sonde_last *last, uint64_t key,
		   const struct sonde_last_moment *moment);

/* Sets all that `newer` has. */
int sonde_last_update(struct sonde_last *last, const struct sonde_last *newer);

#endif /* VIEW_TEXT_PRINT_DELTA_H */
