/* SPDX-License-Identifier: MIT */
/*
 * hex.c - hexadecimal numbers and bytes, out of the text of a packet, and bytes
 * as text.
 *
 * *at is behind what was taken if that was understood; bytes are pairs of
 * digits. Time is linear in the text.
 */
#include "base/hex.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"

int sonde_hex_digit(char c)
{
	uint32_t digit = sonde_number_digit(c);

	return digit < 16 ? (int)digit : -1;
}

bool sonde_hex_take_word(const char **at, const char *word)
{
	size_t length = strlen(word);

	if (strncmp(*at, word, length) != 0)
		return false;
	*at += length;
	return true;
}

bool sonde_hex_take_number(const char **at, uint64_t *ret_value)
{
	return sonde_number_take(at, 16, UINT64_MAX, ret_value);
}

bool sonde_hex_take_pair(const char **at, uint64_t *ret_first, char between,
			 uint64_t *ret_second)
{
	return sonde_hex_take_number(at, ret_first) &&
	       sonde_hex_take(at, between) &&
	       sonde_hex_take_number(at, ret_second);
}

bool sonde_hex_take_bytes(const char **at, uint8_t *to, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		int high = sonde_hex_digit((*at)[0]);
		int low = high < 0 ? -1 : sonde_hex_digit((*at)[1]);

		if (low < 0)
			return false;
		to[i] = (uint8_t)(high << 4 | low);
		*at += 2;
	}
	return true;
}

char *sonde_hex_bytes(const char *text, size_t *ret_nr)
{
	size_t nr = strlen(text) / 2;
	char *bytes = malloc(nr + 1);

	if (!bytes)
		return NULL;
	if (strlen(text) % 2 != 0 ||
	    !sonde_hex_take_bytes(&text, (uint8_t *)bytes, nr)) {
		free(bytes);
		return NULL;
	}
	bytes[nr] = '\0';
	if (ret_nr)
		*ret_nr = nr;
	return bytes;
}

void sonde_hex_put(const void *bytes, size_t nr, char *to)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *from = bytes;

	for (size_t i = 0; i < nr; i++) {
		*to++ = digits[from[i] >> 4];
		*to++ = digits[from[i] & 15];
	}
	*to = '\0';
}
