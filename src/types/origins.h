/* SPDX-License-Identifier: MIT */
/*
 * origins.h - addresses of a process as numbers of 32 bits, for records that are
 * mostly an address: the entries and exits of functions.
 *
 * The upper half of such a number's values counts from one address, the lower half
 * from another: from where the program is, and from below where its libraries are.
 * What lies more than 2 GiB above both has no number, and is recorded whole, by
 * another event of the same name.
 *
 *	0 .. 2^31 - 1		low + number
 *	2^31 .. 2^32 - 1	high + number - 2^31
 *
 * In a description the field is an enumeration of all values, whose labels say what
 * is to be added to a value: "+0x555555554000" is what any reader shows beside the
 * number, and ours (types/type.h) the sum. So a stream class, which is that of one
 * process image, says what its numbers mean, and no event has to be kept for that.
 *
 * Freestanding, but for hosted code's types/type.h. A number costs two
 * subtractions; no table, no lock.
 */
#ifndef TYPES_ORIGINS_H
#define TYPES_ORIGINS_H

#include <stdbool.h>
#include <stdint.h>

#include "types/build.h"

#define SONDE_ORIGIN_BITS 31
#define SONDE_ORIGIN_SPAN (UINT64_C(1) << SONDE_ORIGIN_BITS)

struct sonde_origins {
	uint64_t low, high; /* addresses */
};

/* The number of an address; false: it has none. */
static inline bool sonde_origins_number(const struct sonde_origins *origins,
					uint64_t address, uint32_t *ret_number)
{
	uint64_t from_low = address - origins->low;
	uint64_t from_high = address - origins->high;

	if (from_low < SONDE_ORIGIN_SPAN) {
		*ret_number = (uint32_t)from_low;
		return true;
	}
	*ret_number = (uint32_t)(from_high | SONDE_ORIGIN_SPAN);
	return from_high < SONDE_ORIGIN_SPAN;
}

/* The highest address from which numbers are counted that reach `end`. */
static inline uint64_t sonde_origins_below(uint64_t end)
{
	return end > SONDE_ORIGIN_SPAN ? end - SONDE_ORIGIN_SPAN : 0;
}

/* The next field of a description: such a number. */
void sonde_origins_build(const struct sonde_origins *origins,
			 struct sonde_build *build, const char *name);

/* Whether a checked description's first field is one. */
bool sonde_origins_has(const struct sonde_desc *desc);

/* What a label says is to be added to its values; false: it doesn't. */
bool sonde_origins_read(const char *label, uint64_t *ret_addend);

#endif /* TYPES_ORIGINS_H */
