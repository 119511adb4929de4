/* SPDX-License-Identifier: MIT */
/*
 * buffer.h - text that grows at its end, made for millions of short lines.
 *
 * The functions here write without a check; who calls them has asked
 * sonde_buffer_room() for enough before, at most SONDE_BUFFER_STEP bytes at a
 * time. Some write a little beyond what they add, so ask for SONDE_BUFFER_SLACK
 * more than that. If there is no memory, the text so far is dropped, `failed`
 * is set, and writing goes on harmlessly.
 *
 * Cost: an integer about 3 ns, nine digits of a time 3 ns.
 */
#ifndef VIEW_TEXT_BUFFER_H
#define VIEW_TEXT_BUFFER_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SONDE_BUFFER_STEP  ((size_t)16384)
#define SONDE_BUFFER_SLACK ((size_t)64)

struct sonde_buffer {
	char *text;
	size_t used, size;
	bool failed;
};

/* 0 or -ENOMEM. */
int sonde_buffer_init(struct sonde_buffer *buffer);
void sonde_buffer_fini(struct sonde_buffer *buffer);
/* For sonde_buffer_room(). */
void sonde_buffer_grow(struct sonde_buffer *buffer);
/* Any length; asks for room itself. */
void sonde_buffer_text(struct sonde_buffer *buffer, const char *text,
		       size_t length);

/* Text of a trace, of any length, as sonde_escape_safe() makes it harmless;
 * asks for room itself. */
void sonde_buffer_safe(struct sonde_buffer *buffer, const char *text);

/* "00" to "99". */
extern const char sonde_digit_pairs[201];
extern const uint64_t sonde_powers_of_ten[20];

/* Room for `bytes` and the slack; bytes + SONDE_BUFFER_SLACK is at most
 * SONDE_BUFFER_STEP. */
static inline void sonde_buffer_room(struct sonde_buffer *buffer, size_t bytes)
{
	if (__builtin_expect(buffer->size - buffer->used <
				     bytes + SONDE_BUFFER_SLACK,
			     0))
		sonde_buffer_grow(buffer);
}

static inline void sonde_put_char(struct sonde_buffer *buffer, char c)
{
	buffer->text[buffer->used++] = c;
}

/* A literal; copies 16 bytes, for that is one instruction. */
#define SONDE_PUT(buffer, literal)                                        \
	sonde_put_bytes(buffer, literal "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", \
			sizeof(literal) - 1)

/* At most 16 bytes, of 16 that can be read. */
static inline void sonde_put_bytes(struct sonde_buffer *buffer,
				   const char *bytes, size_t length)
{
	memcpy(buffer->text + buffer->used, bytes, 16);
	buffer->used += length;
}

/* Text that can be read up to the next multiple of 16 of its length. */
static inline void sonde_put_padded(struct sonde_buffer *buffer,
				    const char *text, size_t length)
{
	char *to = buffer->text + buffer->used;

	for (size_t i = 0; i < length; i += 16)
		memcpy(to + i, text + i, 16);
	buffer->used += length;
}

/* The same of any length; asks for room itself, and for 128 bytes more. */
static inline void sonde_put_ready(struct sonde_buffer *buffer,
				   const char *text, size_t length)
{
	if (__builtin_expect(length > 512, 0)) {
		sonde_buffer_text(buffer, text, length);
		sonde_buffer_room(buffer, 128);
	} else {
		sonde_buffer_room(buffer, 512 + 128);
		sonde_put_padded(buffer, text, length);
	}
}

static inline unsigned int sonde_count_digits(uint64_t value)
{
	/* 1233 / 4096 is a little more than log10(2) */
	unsigned int bits = 64 - (unsigned int)__builtin_clzll(value | 1);
	unsigned int digits = bits * 1233 >> 12;

	return digits + (digits == 0 || value >= sonde_powers_of_ten[digits]);
}

static inline void sonde_put_uint(struct sonde_buffer *buffer, uint64_t value)
{
	unsigned int digits = sonde_count_digits(value);
	char *to = buffer->text + buffer->used + digits;

	buffer->used += digits;
	while (value >= 100) {
		to -= 2;
		memcpy(to, &sonde_digit_pairs[value % 100 * 2], 2);
		value /= 100;
	}
	if (value >= 10)
		memcpy(to - 2, &sonde_digit_pairs[value * 2], 2);
	else
		to[-1] = (char)('0' + value);
}

static inline void sonde_put_int(struct sonde_buffer *buffer, int64_t value)
{
	if (value < 0) {
		sonde_put_char(buffer, '-');
		sonde_put_uint(buffer, 0 - (uint64_t)value);
	} else {
		sonde_put_uint(buffer, (uint64_t)value);
	}
}

/* What comes between '9' and the first letter. */
#define SONDE_HEX_LOWER ('a' - '9' - 1)
#define SONDE_HEX_UPPER ('A' - '9' - 1)

/* Eight hexadecimal digits; all at once, for each is a byte of one word. */
static inline void sonde_hex_digits(char *to, uint32_t value, uint64_t letters)
{
	const uint64_t ones = 0x0101010101010101;
	uint64_t word = value;

	word = (word | word << 16) & 0x0000ffff0000ffff;
	word = (word | word << 8) & 0x00ff00ff00ff00ff;
	word = (word | word << 4) & 0x0f0f0f0f0f0f0f0f;
	/* 1 in each byte that is above 9 */
	letters *= (word + 6 * ones) >> 4 & ones;
	word = htobe64(word + '0' * ones + letters);
	memcpy(to, &word, 8);
}

/* Without leading zeros. */
static inline void sonde_put_hex(struct sonde_buffer *buffer, uint64_t value,
				 uint64_t letters)
{
	unsigned int digits =
		(67 - (unsigned int)__builtin_clzll(value | 1)) / 4;
	char *to = buffer->text + buffer->used;

	buffer->used += digits;
	if (digits > 8) {
		/* the lower eight overwrite what is too much of the upper */
		sonde_hex_digits(to,
				 (uint32_t)(value >> 32 << 4 * (16 - digits)),
				 letters);
		sonde_hex_digits(to + digits - 8, (uint32_t)value, letters);
	} else {
		sonde_hex_digits(to, (uint32_t)value << 4 * (8 - digits),
				 letters);
	}
}

/* Nine digits, with leading zeros; value < 10^9. */
static inline void sonde_put_nanos(struct sonde_buffer *buffer, uint32_t value)
{
	char *to = buffer->text + buffer->used;
	uint32_t high = value / 10000; /* five digits */
	uint32_t low = value % 10000;

	to[0] = (char)('0' + high / 10000);
	high %= 10000;
	memcpy(to + 1, &sonde_digit_pairs[high / 100 * 2], 2);
	memcpy(to + 3, &sonde_digit_pairs[high % 100 * 2], 2);
	memcpy(to + 5, &sonde_digit_pairs[low / 100 * 2], 2);
	memcpy(to + 7, &sonde_digit_pairs[low % 100 * 2], 2);
	buffer->used += 9;
}

/* The shortest digits that read back as the same number, of 32 or 64 bits. */
void sonde_put_double(struct sonde_buffer *buffer, double value,
		      unsigned int bits);

#endif /* VIEW_TEXT_BUFFER_H */
