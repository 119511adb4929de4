/* SPDX-License-Identifier: MIT */
/*
 * records.h - walks the records of a stream, written anew from layout.h's
 * description, so that the tests do not lean on the code they test.
 */
#ifndef UNIT_RECORDS_H
#define UNIT_RECORDS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "ring/layout.h"

struct record {
	uint32_t id;
	uint64_t time;
	const unsigned char *payload;
};

static inline uint64_t record_uint(const unsigned char *p, unsigned bytes)
{
	uint64_t value = 0;

	memcpy(&value, p, bytes); /* little endian machines only */
	return value;
}

/* Extends `low` of `bits` bits from the time before it: one wrap at most. */
static inline uint64_t record_time(uint64_t before, uint64_t low, unsigned bits)
{
	uint64_t span = 1ull << bits;
	uint64_t time = (before & ~(span - 1)) | low;

	return time < before ? time + span : time;
}

/* Reads the header at `p`; `before` is the time of the record before it. */
static inline struct record record_read(const unsigned char *p, uint32_t header,
					uint64_t before)
{
	struct record r;
	uint32_t word = (uint32_t)record_uint(p, 4);

	if (header == SONDE_COMPACT && (word & 31) != SONDE_COMPACT_ESCAPE) {
		r.id = word & 31;
		r.time = record_time(before, word >> 5, 27);
		r.payload = p + 4;
		return r;
	}
	if (header == SONDE_LARGE && (word & 0xffff) != SONDE_LARGE_ESCAPE) {
		r.id = word & 0xffff;
		r.time = record_time(before, record_uint(p + 2, 4), 32);
		r.payload = p + 6;
		return r;
	}
	p += header == SONDE_COMPACT ? 1 : 2;
	r.id = (uint32_t)record_uint(p, 4);
	r.time = record_uint(p + 4, 8);
	r.payload = p + 12;
	return r;
}

#endif /* UNIT_RECORDS_H */
