/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * packer.h - records of kernel streams (source/source.h) into a piece of
 * memory, one after the other.
 *
 * A packer belongs to one stream. sonde_packer_open() starts a packet's worth:
 * its ts_begin is what the first record extends. Freestanding, one thread.
 */
#ifndef SOURCE_PACKER_H
#define SOURCE_PACKER_H

#include <stdbool.h>
#include <string.h>

#include "ring/layout.h"

/* Header of either kind, and tid. */
#define SONDE_PACKER_HEAD_MAX (SONDE_HEAD_LARGE_FULL + 4u)

struct sonde_packer {
	uint8_t *at;
	uint8_t *end;
	uint64_t last; /* time of the record before, or ts_begin */
	uint64_t nr;   /* records since the packer was zeroed */
};

/* The time of what comes first isn't before `ts_begin`. */
static inline void sonde_packer_open(struct sonde_packer *packer,
				     uint64_t ts_begin)
{
	packer->last = ts_begin;
}

/* Whether a record with `size` bytes of payload is sure to fit. */
static inline bool sonde_packer_fits(const struct sonde_packer *packer,
				     size_t size)
{
	return (size_t)(packer->end - packer->at) >=
	       SONDE_PACKER_HEAD_MAX + size;
}

/*
 * Writes a record's header and tid; it must fit. The payload goes to what is
 * returned; packer->at is to be moved past it. A time before the last one
 * becomes that one.
 */
static inline uint8_t *sonde_packer_head(struct sonde_packer *packer,
					 uint16_t id, uint64_t ts, uint32_t tid)
{
	uint8_t *at = packer->at;
	uint32_t low;

	if (ts < packer->last)
		ts = packer->last;
	low = (uint32_t)ts;
	if (ts - packer->last < (UINT64_C(1) << 32)) {
		memcpy(at, &id, 2);
		memcpy(at + 2, &low, 4);
		at += SONDE_HEAD_LARGE;
	} else {
		uint16_t escape = SONDE_LARGE_ESCAPE;
		uint32_t wide = id;

		memcpy(at, &escape, 2);
		memcpy(at + 2, &wide, 4);
		memcpy(at + 6, &ts, 8);
		at += SONDE_HEAD_LARGE_FULL;
	}
	packer->last = ts;
	packer->nr++;
	memcpy(at, &tid, 4);
	return packer->at = at + 4;
}

#endif /* SOURCE_PACKER_H */
