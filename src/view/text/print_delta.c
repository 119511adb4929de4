/* SPDX-License-Identifier: MIT */
/*
 * print_delta.c - when something was last: a table of base/hash.h from numbers
 * to times.
 */
#include "view/text/print_delta.h"

#include <errno.h>

struct time {
	struct sonde_key key;
	struct sonde_last_moment moment;
};

void sonde_last_fini(struct sonde_last *last)
{
	sonde_hash_fini(&last->times);
}

struct sonde_last_moment sonde_last_get(const struct sonde_last *last,
					uint64_t key)
{
	const struct sonde_key number = sonde_key_make(SONDE_KEY_UINT, key, 0);
	const struct time *time = sonde_hash_get(&last->times, &number);

	return time ? time->moment :
		      (struct sonde_last_moment){ .time_ns = SONDE_TIME_MIN };
}

int sonde_last_set(struct sonde_last *last, uint64_t key,
		   const struct sonde_last_moment *moment)
{
	const struct sonde_key number = sonde_key_make(SONDE_KEY_UINT, key, 0);
	struct time *time;

	if (!last->times.entry_bytes)
		sonde_hash_init(&last->times, sizeof(*time), SIZE_MAX);
	time = sonde_hash_put(&last->times, &number);
	if (!time)
		return -ENOMEM;
	time->moment = *moment;
	return 0;
}

int sonde_last_update(struct sonde_last *last, const struct sonde_last *newer)
{
	const struct time *time = NULL;
	int err = 0;

	while (!err && (time = sonde_hash_next(&newer->times, time)))
		err = sonde_last_set(last, time->key.number, &time->moment);
	return err;
}
