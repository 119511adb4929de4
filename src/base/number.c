/* SPDX-License-Identifier: MIT */
/*
 * number.c - sizes and times with a unit behind the number, and sizes to be
 * shown.
 *
 * A product that doesn't fit is refused before it is made, and a result is
 * written only if the whole text was understood. The numbers themselves are
 * read in number.h, which needs no C library.
 */
#include "base/number.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/port.h"

int sonde_number_parse_size(const char *text, uint64_t *ret_bytes)
{
	static const char suffixes[] = "kMGT";
	const char *found;
	uint64_t value;
	unsigned int shift = 0;

	if (!sonde_number_take(&text, 10, UINT64_MAX, &value))
		return sonde_number_digit(*text) < 10 ? -ERANGE : -EINVAL;
	if (*text) {
		found = strchr(suffixes, *text == 'K' ? 'k' : *text);
		if (!found)
			return -EINVAL;
		shift = 10 * (unsigned int)(found - suffixes + 1);
		text++;
	}
	if (*text && strcmp(text, "B") != 0 && strcmp(text, "iB") != 0)
		return -EINVAL;
	if (value > UINT64_MAX >> shift)
		return -ERANGE;
	*ret_bytes = value << shift;
	return 0;
}

int sonde_number_parse_time_us(const char *text, uint64_t *ret_us)
{
	static const struct {
		const char *suffix;
		uint64_t us;
	} units[] = {
		{ "", 1 },        { "us", 1 },         { "ms", 1000 },
		{ "s", 1000000 }, { "min", 60000000 }, { "h", 3600000000 },
	};
	uint64_t value;

	if (!sonde_number_take(&text, 10, UINT64_MAX, &value))
		return -EINVAL;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(units); i++) {
		if (strcmp(text, units[i].suffix) != 0)
			continue;
		if (value > UINT64_MAX / units[i].us)
			return -EINVAL;
		*ret_us = value * units[i].us;
		return 0;
	}
	return -EINVAL;
}

const char *sonde_number_put_size(uint64_t bytes, char *out, size_t out_size)
{
	static const char suffixes[] = "\0kMGT";
	size_t i = 0;

	while (bytes && !(bytes & 1023) && i + 2 < sizeof(suffixes)) {
		bytes >>= 10;
		i++;
	}
	(void)snprintf(out, out_size, "%" PRIu64 "%.1s", bytes, &suffixes[i]);
	return out;
}
