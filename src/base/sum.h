/* SPDX-License-Identifier: MIT */
/*
 * sum.h - a checksum of bytes, the same on every machine: it finds what was
 * damaged by accident, and nothing that was meant.
 *
 * Eight bytes at a time, each mixed in by a multiplication with an odd number,
 * which loses nothing: so two texts of equal length that differ in one word
 * have different sums.
 */
#ifndef BASE_SUM_H
#define BASE_SUM_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t sonde_sum_mix(uint64_t sum, uint64_t word)
{
	sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
	return sum ^ sum >> 29;
}

/* Up to eight bytes as a number, the first lowest. */
static inline uint64_t sonde_sum_word(const unsigned char *bytes, size_t size)
{
	uint64_t word = 0;

	for (size_t i = 0; i < size; i++)
		word |= (uint64_t)bytes[i] << 8 * i;
	return word;
}

static inline uint64_t sonde_sum(const void *bytes, size_t size)
{
	const unsigned char *at = bytes;
	uint64_t sum = sonde_sum_mix(0, size);

	for (; size >= 8; at += 8, size -= 8)
		sum = sonde_sum_mix(sum, sonde_sum_word(at, 8));
	return sonde_sum_mix(sum, sonde_sum_word(at, size));
}

#endif /* BASE_SUM_H */
