/* SPDX-License-Identifier: MIT */
/*
 * nibbles.h - numbers in as many nibbles as they need, wherever they begin; of a byte
 * the lower nibble is first. How many these are is one of eight lengths, which a code
 * beside them says in three bits.
 */
#ifndef VIEW_INDEX_NIBBLES_H
#define VIEW_INDEX_NIBBLES_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* By a length, the lowest first: from 2 to 8, and 14. */
#define SONDE_VIEW_LENGTHS 0xe8765432u
static inline unsigned int sonde_view_nibbles(unsigned int length)
{
	return SONDE_VIEW_LENGTHS >> (length & 7) * 4 & 15;
}

/* The first length that it fits in; below 1 << 56. */
static inline unsigned int sonde_view_length(uint64_t number)
{
	unsigned int length = 0;

	while (number >> sonde_view_nibbles(length) * 4)
		length++;
	return length;
}

/* A number of up to 14 nibbles. Reads eight bytes, of which the last may be behind
 * it. */
static inline uint64_t sonde_view_load_nibbles(const unsigned char *from,
					       size_t at, unsigned int nr)
{
	uint64_t bits;

	memcpy(&bits, from + at / 2, sizeof(bits));
	return le64toh(bits) >> at % 2 * 4 & (((uint64_t)1 << nr * 4) - 1);
}

/* Behind what is there; returns what is behind it. Overwrites up to eight bytes. */
static inline size_t sonde_view_put_nibbles(unsigned char *to, size_t at,
					    uint64_t number, unsigned int nr)
{
	uint64_t bits =
		at % 2 ? (uint64_t)(to[at / 2] & 15) | number << 4 : number;

	bits = htole64(bits);
	memcpy(to + at / 2, &bits, sizeof(bits));
	return at + nr;
}

#endif /* VIEW_INDEX_NIBBLES_H */
