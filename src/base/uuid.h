/* SPDX-License-Identifier: MIT */
/* uuid.h - reads a UUID as text: hexadecimal digits, dashes between bytes. */
#ifndef BASE_UUID_H
#define BASE_UUID_H

#include <stddef.h>
#include <stdint.h>

static inline int sonde_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/*
 * Reads one at the start of `text`, which ends with a NUL or another character
 * that is no digit. Returns what follows it, or NULL; `ret_uuid` may have been
 * written to then.
 */
static inline const char *sonde_uuid_parse(const char *text,
					   uint8_t ret_uuid[16])
{
	for (uint32_t i = 0; i < 16; i++) {
		int high;
		int low;

		text += *text == '-';
		high = sonde_hex_digit(text[0]);
		low = high < 0 ? -1 : sonde_hex_digit(text[1]);
		if (low < 0)
			return NULL;
		ret_uuid[i] = (uint8_t)(high << 4 | low);
		text += 2;
	}
	return text;
}

#endif /* BASE_UUID_H */
