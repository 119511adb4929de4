/* SPDX-License-Identifier: MIT */
/*
 * line.c - lines of KEY=VALUE (line.h).
 */
#include "session/net/line.h"

#include <inttypes.h>
#include <string.h>

#include "base/hex.h"
#include "base/number.h"
#include "base/sum.h"

static bool net_is_plain(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	       (c >= 'a' && c <= 'z') || (c && strchr("._:+@/-", c));
}

void sonde_net_put_text(struct sonde_text *to, const char *key,
			const char *value)
{
	sonde_text_add(to, " %s=", key);
	for (; *value; value++)
		sonde_text_add(to, net_is_plain(*value) ? "%c" : "%%%02x",
			       (unsigned char)*value);
}

void sonde_net_put_check(struct sonde_text *to)
{
	sonde_text_add(to, " check=%016" PRIx64 "\n",
		       sonde_sum(to->to, to->length));
}

bool sonde_net_take_count(const char **at, const char *key, uint64_t max,
			  uint64_t *ret_value)
{
	return sonde_hex_take_word(at, key) &&
	       sonde_number_take(at, 10, max, ret_value);
}

bool sonde_net_take_time(const char **at, const char *key, int64_t *ret_ns)
{
	return sonde_hex_take_word(at, key) &&
	       sonde_number_take_signed(at, ret_ns);
}

bool sonde_net_take_text(const char **at, const char *key, char *to,
			 size_t size)
{
	size_t n = 0;

	if (!sonde_hex_take_word(at, key))
		return false;
	while (**at && **at != ' ') {
		uint8_t byte = (uint8_t) * *at;

		if (n + 1 == size)
			return false;
		if (net_is_plain((char)byte))
			++*at;
		else if (!sonde_hex_take(at, '%') ||
			 !sonde_hex_take_bytes(at, &byte, 1) || !byte ||
			 net_is_plain((char)byte))
			return false;
		to[n++] = (char)byte;
	}
	to[n] = 0;
	return true;
}

size_t sonde_net_copy_line(const char *bytes, size_t size,
			   char to[SONDE_NET_HEAD_MAX])
{
	const char *end;

	if (size >= SONDE_NET_HEAD_MAX)
		size = SONDE_NET_HEAD_MAX - 1;
	end = memchr(bytes, '\n', size);
	if (!end)
		return 0;
	size = (size_t)(end + 1 - bytes);
	memcpy(to, bytes, size);
	to[size] = 0;
	return size;
}
