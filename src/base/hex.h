/* SPDX-License-Identifier: MIT */
/*
 * hex.h - reading a packet's text from left to right, and bytes as text.
 *
 * What reads moves *at behind what it took; if it is false, *at is anywhere in the
 * text, and the packet is to be refused.
 */
#ifndef BASE_HEX_H
#define BASE_HEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 0 .. 15; -1. */
int sonde_hex_digit(char c);
/* This character is next. */
static inline bool sonde_hex_take(const char **at, char c)
{
	if (**at != c)
		return false;
	(*at)++;
	return true;
}
/* These are next. */
bool sonde_hex_take_word(const char **at, const char *word);
/* 1 to 16 digits, up to the first that isn't one. */
bool sonde_hex_take_number(const char **at, uint64_t *ret_value);
/* Two of them, with this character between. */
bool sonde_hex_take_pair(const char **at, uint64_t *ret_first, char between,
			 uint64_t *ret_second);
/* Two digits for each byte. */
bool sonde_hex_take_bytes(const char **at, uint8_t *to, size_t nr);
/* All the rest of the text, as bytes and a NUL, for free(); NULL: it isn't
 * hexadecimal, or memory ran out. */
char *sonde_hex_bytes(const char *text, size_t *ret_nr);

/* Two digits for each byte, and a NUL: 2 * nr + 1 bytes. */
void sonde_hex_put(const void *bytes, size_t nr, char *to);

#endif /* BASE_HEX_H */
