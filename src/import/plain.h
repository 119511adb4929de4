/* SPDX-License-Identifier: MIT */
/*
 * plain.h - records of a perf.data in memory of ours, one behind the other:
 * unpacked ones, and those of several files.
 *
 * Zeros are none. `at` is from malloc(). No more than SONDE_PERF_PLAIN_MAX bytes.
 */
#ifndef IMPORT_PLAIN_H
#define IMPORT_PLAIN_H

#include "base/grow.h"

#define SONDE_PERF_PLAIN_MAX (UINT64_C(8) << 30)

struct sonde_import_plain {
	uint8_t *at;
	size_t used, room;
};

/* Room for more: 0, -ENOMEM, or -EFBIG. */
static inline int sonde_import_plain_grow(struct sonde_import_plain *plain)
{
	if (plain->room > SONDE_PERF_PLAIN_MAX / 2)
		return -EFBIG;
	return sonde_grow(&plain->at, sizeof(*plain->at), &plain->room);
}

/* `size` bytes more; the same. */
static inline int sonde_import_plain_add(struct sonde_import_plain *plain,
					 const uint8_t *from, size_t size)
{
	int rc = 0;

	while (!rc && plain->room - plain->used < size)
		rc = sonde_import_plain_grow(plain);
	if (rc || !size)
		return rc;
	memcpy(plain->at + plain->used, from, size);
	plain->used += size;
	return 0;
}

#endif /* IMPORT_PLAIN_H */
