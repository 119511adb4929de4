/* SPDX-License-Identifier: MIT */
/* utf8.h - what is a character in UTF-8, and what isn't. Freestanding. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many bytes the first one announces; 0: it can't be the first. */
static inline size_t sonde_utf8_announced(uint8_t first)
{
	if (first < 0x80)
		return 1;
	if (first < 0xc0 || first >= 0xf8)
		return 0;
	return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/*
 * Bytes of the character at text[0], and which it is; 0 if there is none: cut,
 * overlong, a surrogate, beyond U+10FFFF.
 */
static inline size_t sonde_utf8_decode(const char *text, size_t length,
				       uint32_t *ret_code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t bytes = length ? sonde_utf8_announced((uint8_t)text[0]) : 0;
	uint32_t code;

	if (!bytes || bytes > length)
		return 0;
	code = (uint8_t)text[0] & (bytes > 1 ? 0x7fu >> bytes : 0x7fu);
	for (size_t i = 1; i < bytes; i++) {
		if (((uint8_t)text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | ((uint8_t)text[i] & 0x3f);
	}
	if (code < least[bytes] || code > 0x10ffff ||
	    (code >= 0xd800 && code < 0xe000))
		return 0;
	*ret_code = code;
	return bytes;
}

/* Whether the text is characters, whole ones, and nothing else. */
static inline bool sonde_utf8_is_valid(const char *text, size_t length)
{
	uint32_t code;

	for (size_t i = 0; i < length;) {
		size_t bytes = sonde_utf8_decode(text + i, length - i, &code);

		if (!bytes)
			return false;
		i += bytes;
	}
	return true;
}

#endif /* BASE_UTF8_H */
