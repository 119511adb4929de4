/* SPDX-License-Identifier: MIT */
/*
 * bins.h - which bin of a histogram a value is in, the same in a program that
 * counts, in a recorder and in a reader.
 *
 * Each power of two is divided into 16 bins of equal width, and values below 32
 * have a bin each; negative values are the mirror image of positive ones. So a
 * bin is at most a 16th as wide as the values in it are large.
 *
 * Bins are numbered so that their order is that of their values: 0 holds the
 * value 0, bin i begins at sonde_bins_lower(i), and sonde_bins_lower(-i) is
 * -sonde_bins_lower(i). Pure; a shift and an addition.
 */
#ifndef BASE_BINS_H
#define BASE_BINS_H

#include <stdint.h>

#define SONDE_BINS_PART_BITS 4
#define SONDE_BINS_PARTS     (1 << SONDE_BINS_PART_BITS) /* of a power of two */
/* Those of values from 0 on: 63 bits; and as many below. */
#define SONDE_BINS_HALF (60 * SONDE_BINS_PARTS)

static inline int sonde_bins_of_magnitude(uint64_t value)
{
	/* One instruction, where `-` is two. */
	int power = 63 ^ __builtin_clzll(value | SONDE_BINS_PARTS);
	int below = power - SONDE_BINS_PART_BITS; /* bits of a bin's width */

	/* Shifted by those, a value of 16 or more is 16 to 31. */
	return below * SONDE_BINS_PARTS + (int)(value >> below);
}

static inline int sonde_bins_of(int64_t value)
{
	/* ~x mirrors -1, -2 ... to 0, 1 ... and back. */
	return value >= 0 ? sonde_bins_of_magnitude((uint64_t)value) :
			    ~sonde_bins_of_magnitude((uint64_t)~value);
}

/* Where a bin begins. The one behind the last begins at INT64_MAX: that is the
 * best one can say in an int64_t. */
static inline int64_t sonde_bins_lower(int bin)
{
	int magnitude = bin < 0 ? -bin : bin;
	int power = magnitude / SONDE_BINS_PARTS - 1;
	uint64_t value = (uint64_t)magnitude;

	if (power >= 63 - SONDE_BINS_PART_BITS)
		return bin < 0 ? INT64_MIN : INT64_MAX;
	if (power > 0)
		value = (uint64_t)(SONDE_BINS_PARTS +
				   magnitude % SONDE_BINS_PARTS)
			<< power;
	return bin < 0 ? -(int64_t)value : (int64_t)value;
}

#endif /* BASE_BINS_H */
