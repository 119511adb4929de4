/* SPDX-License-Identifier: MIT */
/* escape.c - which characters are escaped, and how (escape.h). */
#include "base/escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/port.h"
#include "base/utf8.h"

static const char hex_digits[] = "0123456789abcdef";

size_t sonde_utf8_char(const char *text, size_t length)
{
	uint32_t code;

	return sonde_utf8_decode(text, length, &code);
}

/* Characters that take no column or two, in order; all others take one. The
 * blocks as a whole, for tables need no more: what combines with the letter
 * before it, and the wide ones of East Asia and of pictures. */
static const struct {
	uint32_t first, last, columns;
} unusual[] = {
	{ 0x0300, 0x036f, 0 },   { 0x1100, 0x115f, 2 },
	{ 0x1ab0, 0x1aff, 0 },   { 0x1dc0, 0x1dff, 0 },
	{ 0x200b, 0x200d, 0 },   { 0x20d0, 0x20ff, 0 },
	{ 0x2e80, 0x303e, 2 },   { 0x3041, 0xa4cf, 2 },
	{ 0xac00, 0xd7a3, 2 },   { 0xf900, 0xfaff, 2 },
	{ 0xfe00, 0xfe0f, 0 },   { 0xfe20, 0xfe2f, 0 },
	{ 0xfe30, 0xfe6f, 2 },   { 0xff00, 0xff60, 2 },
	{ 0xffe0, 0xffe6, 2 },   { 0x1f300, 0x1f64f, 2 },
	{ 0x1f680, 0x1f6ff, 2 }, { 0x1f900, 0x1f9ff, 2 },
	{ 0x20000, 0x3fffd, 2 },
};

size_t sonde_utf8_columns(const char *text, size_t length, size_t *ret_bytes)
{
	uint32_t code = 0;
	size_t bytes = sonde_utf8_decode(text, length, &code);

	*ret_bytes = bytes ? bytes : 1;
	for (size_t i = 0;
	     i < SONDE_ARRAY_SIZE(unusual) && unusual[i].first <= code; i++)
		if (code <= unusual[i].last)
			return unusual[i].columns;
	return 1;
}

/* The letter after the backslash in C and in JSON; 0 if there is none. */
static char letter_of(char c)
{
	switch (c) {
	case '\n':
		return 'n';
	case '\t':
		return 't';
	case '\r':
		return 'r';
	case '\b':
		return 'b';
	case '\f':
		return 'f';
	default:
		return 0;
	}
}

/* What a terminal obeys instead of showing it, what ends a line, or what
 * changes the order in which other characters are shown. */
static bool is_unsafe(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c ||
	       code == 0x200e || code == 0x200f ||
	       (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2066 && code <= 0x2069);
}

size_t sonde_escape_json(const char *text, size_t length, char *to,
			 size_t *ret_used)
{
	uint32_t code = 0;
	size_t bytes = sonde_utf8_decode(text, length, &code);
	char letter = letter_of(text[0]);

	if (text[0] == '"' || text[0] == '\\')
		letter = text[0];
	*ret_used = bytes ? bytes : 1;
	if (!bytes) {
		(void)stpcpy(to, "\xef\xbf\xbd");
		return 3;
	}
	if (letter) {
		to[0] = '\\';
		to[1] = letter;
		return 2;
	}
	if (is_unsafe(code)) {
		(void)stpcpy(to, "\\u");
		for (int i = 0; i < 4; i++)
			to[2 + i] = hex_digits[code >> (12 - 4 * i) & 15];
		return 6;
	}
	memcpy(to, text, bytes);
	return bytes;
}

size_t sonde_escape_safe(const char *text, size_t length, char *to,
			 size_t *ret_used)
{
	uint32_t code = 0;
	size_t bytes = sonde_utf8_decode(text, length, &code);
	size_t n = 0;

	*ret_used = bytes ? bytes : 1;
	if (bytes && !is_unsafe(code)) {
		memcpy(to, text, bytes);
		return bytes;
	}
	if (letter_of(text[0])) {
		to[0] = '\\';
		to[1] = letter_of(text[0]);
		return 2;
	}
	for (size_t i = 0; i < *ret_used; i++) {
		uint8_t byte = (uint8_t)text[i];

		to[n++] = '\\';
		to[n++] = 'x';
		to[n++] = hex_digits[byte >> 4];
		to[n++] = hex_digits[byte & 15];
	}
	return n;
}
