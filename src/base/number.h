/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * number.h - numbers in text.
 *
 * A number is digits, and there is one at least: no blanks, no prefix, and no
 * sign but where the name says so. Its greatest value is the caller's to name,
 * so that what is read fits what it is stored in. What fails has changed
 * nothing, neither the result nor errno.
 *
 * _take moves *at behind what it took; _parse wants nothing behind it.
 */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a digit stands for; 99 if it is none in any base up to 16. */
static inline uint32_t sonde_number_digit(char c)
{
	if (c >= '0' && c <= '9')
		return (uint32_t)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (uint32_t)(c - 'a' + 10);
	if (c >= 'A' && c <= 'F')
		return (uint32_t)(c - 'A' + 10);
	return 99;
}

/* All digits of `base` (2 to 16) that follow. */
static inline bool sonde_number_take(const char **at, uint32_t base,
				     uint64_t max, uint64_t *ret_number)
{
	const char *p = *at;
	uint64_t number = 0;
	uint32_t digit;

	for (; (digit = sonde_number_digit(*p)) < base; p++) {
		if (digit > max || number > (max - digit) / base)
			return false;
		number = number * base + digit;
	}
	if (p == *at)
		return false;
	*at = p;
	*ret_number = number;
	return true;
}

/* Decimal, after a '-' maybe. */
static inline bool sonde_number_take_signed(const char **at,
					    int64_t *ret_number)
{
	bool is_negative = **at == '-';
	const char *p = *at + is_negative;
	uint64_t size;

	if (!sonde_number_take(&p, 10, (uint64_t)INT64_MAX + is_negative,
			       &size))
		return false;
	*at = p;
	*ret_number = (int64_t)(is_negative ? -size : size);
	return true;
}

/* Hexadecimal after "0x", else decimal. */
static inline bool sonde_number_take_prefixed(const char **at, uint64_t max,
					      uint64_t *ret_number)
{
	bool is_hex = (*at)[0] == '0' && (*at)[1] == 'x';
	const char *p = *at + (is_hex ? 2 : 0);

	if (!sonde_number_take(&p, is_hex ? 16 : 10, max, ret_number))
		return false;
	*at = p;
	return true;
}

/* Decimal. */
static inline bool sonde_number_parse(const char *text, uint64_t max,
				      uint64_t *ret_number)
{
	uint64_t number;

	if (!sonde_number_take(&text, 10, max, &number) || *text)
		return false;
	*ret_number = number;
	return true;
}

/* "4096", "64k", "64KiB", "2G": 0, -EINVAL, or -ERANGE. */
int sonde_number_parse_size(const char *text, uint64_t *ret_bytes);

/* "100" or "100us", "20ms", "1s", "5min", "1h", in microseconds: 0 or -EINVAL. */
int sonde_number_parse_time_us(const char *text, uint64_t *ret_us);

/* A size as sonde_number_parse_size() takes it: the largest unit that divides
 * it. Returns `out`. */
const char *sonde_number_put_size(uint64_t bytes, char *out, size_t out_size);

#endif /* BASE_NUMBER_H */
