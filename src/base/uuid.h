/* SPDX-License-Identifier: MIT */
/* uuid.h - reads a UUID as text: hexadecimal digits, dashes between bytes. */
#ifndef BASE_UUID_H
#define BASE_UUID_H

#include <stddef.h>
#include <stdint.h>

#include "base/number.h"

/*
 * Reads one at the start of `text`, which ends with a NUL or another character
 * that is no digit. Returns what follows it, or NULL; `ret_uuid` may have been
 * written to then.
 */
static inline const char *sonde_uuid_parse(const char *text,
					   uint8_t ret_uuid[16])
{
	for (uint32_t i = 0; i < 16; i++) {
		uint32_t high;
		uint32_t low;

		text += *text == '-';
		high = sonde_number_digit(text[0]);
		low = high < 16 ? sonde_number_digit(text[1]) : 99;
		if (low >= 16)
			return NULL;
		ret_uuid[i] = (uint8_t)(high << 4 | low);
		text += 2;
	}
	return text;
}

#endif /* BASE_UUID_H */
