/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * packer.h - records of kernel streams (source/source.h) into a piece of
 * memory, one after the other; and their heads read again.
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

struct sonde_packer_record {
	uint16_t id;
	uint32_t tid;
	uint64_t time;
};

/* Reads what that has written, of `room` bytes; `last` is the time of the record
 * before. How many bytes it takes, or 0: it is none, or time goes back. */
static inline size_t sonde_packer_read_head(const uint8_t *at, size_t room,
					    uint64_t last,
					    struct sonde_packer_record *ret)
{
	size_t head = SONDE_HEAD_LARGE;
	uint32_t low;

	if (room < head + 4)
		return 0;
	memcpy(&ret->id, at, 2);
	memcpy(&low, at + 2, 4);
	ret->time = last + (uint32_t)(low - (uint32_t)last);
	if (ret->id == SONDE_LARGE_ESCAPE) {
		head = SONDE_HEAD_LARGE_FULL;
		if (room < head + 4 || low >= SONDE_LARGE_ESCAPE)
			return 0;
		ret->id = (uint16_t)low;
		memcpy(&ret->time, at + 6, 8);
	}
	memcpy(&ret->tid, at + head, 4);
	return ret->time < last ? 0 : head + 4;
}

#endif /* SOURCE_PACKER_H */
