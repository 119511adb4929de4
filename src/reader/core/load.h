/* SPDX-License-Identifier: MIT */
/*
 * load.h - numbers out of bits.
 *
 * A number of n bits at position p takes the bits p .. p + n - 1. In little
 * endian the first of them is its lowest bit and a byte's bits count from its
 * lowest; in big endian the first is its highest, and they count from the
 * highest. With the *other bit order* (CTF 2) the same bits make the number the
 * other way round.
 *
 * Every load looks at nine bytes at most, from the byte that p is in: callers
 * have so many, see reader.h, and check against their limit.
 */
#ifndef READER_CORE_LOAD_H
#define READER_CORE_LOAD_H

#include <stdint.h>
#include <string.h>

#include "ctf/schema/schema.h"

static inline uint64_t sonde_load_word(const uint8_t *from)
{
	uint64_t word;

	memcpy(&word, from, sizeof(word));
	return word;
}

static inline uint64_t sonde_load_le(const uint8_t *data, uint64_t pos,
				     unsigned int bits)
{
	const uint8_t *from = data + (pos >> 3);
	unsigned int shift = pos & 7;
	uint64_t word = sonde_load_word(from);

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	word >>= shift;
	if (__builtin_expect(bits + shift > 64, 0))
		word |= (uint64_t)from[8] << (64 - shift);
	return word & (UINT64_MAX >> (64 - bits));
}

static inline uint64_t sonde_load_be(const uint8_t *data, uint64_t pos,
				     unsigned int bits)
{
	const uint8_t *from = data + (pos >> 3);
	unsigned int shift = pos & 7;
	uint64_t word = sonde_load_word(from);

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	word <<= shift;
	if (__builtin_expect(bits + shift > 64, 0))
		word |= (uint64_t)from[8] >> (8 - shift);
	return word >> (64 - bits);
}

static inline uint64_t sonde_reverse_bits(uint64_t value, unsigned int bits)
{
	uint64_t result = 0;

	for (unsigned int i = 0; i < bits; i++)
		result |= (value >> i & 1) << (bits - 1 - i);
	return result;
}

/* How to load a number: what is needed of its class, packed. */
struct sonde_load {
	uint8_t bits; /* 1 .. 64 */
	bool big_endian, reversed, is_signed;
};

static inline struct sonde_load sonde_load_of(const struct sonde_class *cls)
{
	return (struct sonde_load){
		.bits = cls->bits,
		.big_endian = cls->big_endian,
		.reversed = cls->last_bit_first,
		.is_signed = cls->kind == SONDE_KIND_INT,
	};
}

static inline uint64_t sonde_load(const uint8_t *data, uint64_t pos,
				  struct sonde_load load)
{
	uint64_t value = load.big_endian ? sonde_load_be(data, pos, load.bits) :
					   sonde_load_le(data, pos, load.bits);
	/* A field has 1 to 64 bits. */
	uint32_t spare = (64u - load.bits) & 63;

	if (__builtin_expect(load.reversed, 0))
		value = sonde_reverse_bits(value, load.bits);
	if (load.is_signed)
		value = (uint64_t)((int64_t)(value << spare) >> spare);
	return value;
}

/* Whether the machine's own loads are in this byte order. */
static inline bool sonde_is_native(bool big_endian)
{
	return big_endian == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

/*
 * A number at a byte, in the machine's order: `mask` has its bits, `sign` that
 * of its sign, or none.
 */
static inline uint64_t sonde_load_native(const uint8_t *from, unsigned int bits,
					 uint64_t mask, uint64_t sign)
{
	uint64_t word = sonde_load_word(from);

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	word >>= 64 - bits;
#else
	(void)bits;
#endif
	return ((word & mask) ^ sign) - sign;
}

static inline uint64_t sonde_align(uint64_t pos, uint32_t align)
{
	return (pos + align - 1) & ~((uint64_t)align - 1);
}

/*
 * A number in LEB128 at a byte boundary: seven bits in each byte, lowest first.
 * Returns its bytes, or 0 if it isn't whole before `limit` (bits) or doesn't
 * fit 64 bits.
 */
static inline unsigned int sonde_load_leb128(const uint8_t *data, uint64_t pos,
					     uint64_t limit, bool is_signed,
					     uint64_t *ret_value)
{
	const uint8_t *from = data + (pos >> 3);
	uint64_t value = 0;
	unsigned int n = 0;
	unsigned int shift = 0;

	do {
		if (pos + 8 > limit || shift > 63)
			return 0;
		/* of the tenth byte, only the 64th bit and its copies */
		if (shift == 63 && (from[n] & 0x7f) > 1 &&
		    !(is_signed && (from[n] & 0x7f) == 0x7f))
			return 0;
		value |= (uint64_t)(from[n] & 0x7f) << shift;
		shift += 7;
		pos += 8;
	} while (from[n++] & 0x80);
	if (is_signed && shift < 64 && (from[n - 1] & 0x40))
		value |= UINT64_MAX << shift;
	*ret_value = value;
	return n;
}

/* Where the lowest zero byte of a word is: its bit 7, and perhaps bits of bytes
 * above it; 0: there is none. */
static inline uint64_t sonde_load_zero(const uint8_t *from)
{
	const uint64_t ones = 0x0101010101010101;
	const uint64_t highs = 0x8080808080808080;
	uint64_t word = sonde_load_word(from);

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	return (word - ones) & ~word & highs;
}

/* The bytes before the first zero, or all of them. Looks at 7 bytes more. */
static inline uint64_t sonde_load_strnlen(const uint8_t *from, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes; i += 8) {
		uint64_t zero = sonde_load_zero(from + i);

		if (zero) {
			i += (uint64_t)__builtin_ctzll(zero) >> 3;
			return i < bytes ? i : bytes;
		}
	}
	return bytes;
}

/*
 * The bytes of a string that ends with a zero unit of `unit` bytes, without
 * it; UINT64_MAX if there is none in `bytes`. Looks at 7 bytes more.
 */
static inline uint64_t sonde_load_strlen(const uint8_t *from, uint64_t bytes,
					 unsigned int unit)
{
	if (unit == 1) {
		uint64_t length = sonde_load_strnlen(from, bytes);

		return length < bytes ? length : UINT64_MAX;
	}
	for (uint64_t i = 0; i + unit <= bytes; i += unit) {
		unsigned int set = 0;

		for (unsigned int j = 0; j < unit; j++)
			set |= from[i + j];
		if (!set)
			return i;
	}
	return UINT64_MAX;
}

#endif /* READER_CORE_LOAD_H */
