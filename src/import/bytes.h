/* SPDX-License-Identifier: MIT */
/*
 * bytes.h - a piece of somebody's file, which is taken from its beginning.
 *
 * What is taken is there, or nothing is, and `failed` sticks: so that a parser
 * may take several things and look once. Numbers are in the machine's byte order
 * and of any alignment. The bytes are borrowed.
 */
#ifndef IMPORT_BYTES_H
#define IMPORT_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct sonde_import_bytes {
	const uint8_t *at;
	size_t left;
	bool failed; /* more was wanted than there is */
};

/* The next `size` bytes; NULL: there are not so many. */
static inline const uint8_t *
sonde_import_bytes_take(struct sonde_import_bytes *bytes, uint64_t size)
{
	const uint8_t *at = bytes->at;

	if (bytes->failed || size > bytes->left) {
		bytes->failed = true;
		return NULL;
	}
	bytes->at += size;
	bytes->left -= (size_t)size;
	return at;
}

/* Copies the next `size` bytes; leaves `to` as it is if there are not so many. */
static inline void sonde_import_bytes_copy(struct sonde_import_bytes *bytes,
					   void *to, size_t size)
{
	const uint8_t *at = sonde_import_bytes_take(bytes, size);

	if (at)
		memcpy(to, at, size);
}

/* 0 if it isn't there. */
static inline uint16_t sonde_import_bytes_u16(struct sonde_import_bytes *bytes)
{
	uint16_t value = 0;

	sonde_import_bytes_copy(bytes, &value, sizeof(value));
	return value;
}

static inline uint32_t sonde_import_bytes_u32(struct sonde_import_bytes *bytes)
{
	uint32_t value = 0;

	sonde_import_bytes_copy(bytes, &value, sizeof(value));
	return value;
}

static inline uint64_t sonde_import_bytes_u64(struct sonde_import_bytes *bytes)
{
	uint64_t value = 0;

	sonde_import_bytes_copy(bytes, &value, sizeof(value));
	return value;
}

/* So many bytes, by a u64 before them; none if they aren't there. */
static inline struct sonde_import_bytes
sonde_import_bytes_piece(struct sonde_import_bytes *bytes)
{
	uint64_t size = sonde_import_bytes_u64(bytes);
	const uint8_t *at = sonde_import_bytes_take(bytes, size);

	return (struct sonde_import_bytes){ .at = at,
					    .left = at ? (size_t)size : 0 };
}

/* A text with its NUL; "" if there is none. */
static inline const char *
sonde_import_bytes_text(struct sonde_import_bytes *bytes)
{
	const void *end =
		bytes->left ? memchr(bytes->at, 0, bytes->left) : NULL;
	const uint8_t *at;

	if (!end) {
		bytes->failed = true;
		return "";
	}
	at = sonde_import_bytes_take(
		bytes, (size_t)((const uint8_t *)end - bytes->at) + 1);
	return at ? (const char *)at : "";
}

/* `size` bytes from `offset` on; false: they aren't all there. */
static inline bool
sonde_import_bytes_part(const struct sonde_import_bytes *whole, uint64_t offset,
			uint64_t size, struct sonde_import_bytes *ret_part)
{
	if (offset > whole->left || size > whole->left - offset)
		return false;
	*ret_part = (struct sonde_import_bytes){ .at = whole->at + offset,
						 .left = (size_t)size };
	return true;
}

#endif /* IMPORT_BYTES_H */
