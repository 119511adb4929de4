/* SPDX-License-Identifier: MIT */
/*
 * key_values.c - lines of KEY=VALUE (key_values.h).
 *
 * A field's kind says how its value is written and read; what is in a structure is
 * copied, as it may be of any alignment. Reading moves a place in a copy of the
 * line, which ends with a NUL: it never goes beyond.
 */
#include "session/net/key_values.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/hex.h"
#include "base/number.h"
#include "base/sum.h"
#include "base/text.h"

#define ID_BYTES    16u
#define CHECK_BYTES sizeof(" check=0123456789abcdef\n")

static bool net_is_plain(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	       (c >= 'a' && c <= 'z') || (c && strchr("._:+@/-", c));
}

/* ---- writing ---- */

static void net_put_value(struct sonde_text *to,
			  const struct sonde_net_field *field,
			  const char *place)
{
	char id[2 * ID_BYTES + 1];
	uint32_t word = 0;
	uint64_t number = 0;

	switch (field->kind) {
	case SONDE_NET_TEXT:
		for (; *place; place++)
			sonde_text_add(to,
				       net_is_plain(*place) ? "%c" : "%%%02x",
				       (unsigned char)*place);
		break;
	case SONDE_NET_ID:
		sonde_hex_put(place, ID_BYTES, id);
		sonde_text_add(to, "%s", id);
		break;
	case SONDE_NET_WORD:
		memcpy(&word, place, sizeof(word));
		sonde_text_add(to, "%s", field->words[word]);
		break;
	case SONDE_NET_COUNT:
	case SONDE_NET_SOME:
	case SONDE_NET_TIME:
	case SONDE_NET_SUM:
		memcpy(&number, place, sizeof(number));
		if (field->kind == SONDE_NET_TIME)
			sonde_text_add(to, "%" PRId64, (int64_t)number);
		else if (field->kind == SONDE_NET_SUM)
			sonde_text_add(to, "%016" PRIx64, number);
		else
			sonde_text_add(to, "%" PRIu64, number);
	}
}

static bool net_is_left_out(const struct sonde_net_field *field,
			    const char *place)
{
	static const uint64_t nothing;

	return field->kind == SONDE_NET_SOME &&
	       !memcmp(place, &nothing, sizeof(nothing));
}

size_t sonde_net_values_put(const char *first,
			    const struct sonde_net_field *fields,
			    const void *from, char to[SONDE_NET_HEAD_MAX])
{
	struct sonde_text text = { .to = to, .size = SONDE_NET_HEAD_MAX };

	sonde_text_add(&text, "%s", first);
	for (; fields->key; fields++) {
		const char *place = (const char *)from + fields->place;

		if (net_is_left_out(fields, place))
			continue;
		sonde_text_add(&text, "%s", fields->key);
		net_put_value(&text, fields, place);
	}
	if (text.length > SONDE_NET_HEAD_MAX - CHECK_BYTES)
		return 0;
	sonde_text_add(&text, " check=%016" PRIx64 "\n",
		       sonde_sum(to, text.length));
	return text.length;
}

/* ---- reading ---- */

static bool net_take_text(const char **at, char *to, uint64_t size)
{
	size_t n = 0;

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

static bool net_take_word(const char **at, const struct sonde_net_field *field,
			  void *place)
{
	for (uint32_t i = 0; i < field->max; i++) {
		size_t length = strlen(field->words[i]);

		if (strncmp(*at, field->words[i], length) != 0 ||
		    (*at)[length] != ' ')
			continue;
		*at += length;
		memcpy(place, &i, sizeof(i));
		return true;
	}
	return false;
}

static bool net_take_value(const char **at, const struct sonde_net_field *field,
			   void *place)
{
	uint64_t number = 0;
	int64_t time = 0;
	bool is_taken = false;

	switch (field->kind) {
	case SONDE_NET_TEXT:
		return net_take_text(at, place, field->max);
	case SONDE_NET_ID:
		return sonde_hex_take_bytes(at, place, ID_BYTES);
	case SONDE_NET_WORD:
		return net_take_word(at, field, place);
	case SONDE_NET_TIME:
		is_taken = sonde_number_take_signed(at, &time);
		number = (uint64_t)time;
		break;
	case SONDE_NET_SUM:
		is_taken = sonde_hex_take_number(at, &number);
		break;
	case SONDE_NET_COUNT:
	case SONDE_NET_SOME:
		is_taken = sonde_number_take(at, 10, field->max, &number);
		break;
	}
	memcpy(place, &number, sizeof(number));
	return is_taken;
}

/* The first line of these bytes, with its newline and a NUL behind that; its
 * bytes, or 0: there is none. */
static size_t net_copy_line(const char *bytes, size_t size,
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

size_t sonde_net_values_take(const char *first,
			     const struct sonde_net_field *fields,
			     const void *bytes, size_t size, void *to)
{
	const struct sonde_net_field *field = fields;
	char line[SONDE_NET_HEAD_MAX];
	char again[SONDE_NET_HEAD_MAX];
	const char *at = line;

	size = net_copy_line(bytes, size, line);
	if (!size || !sonde_hex_take_word(&at, first))
		return 0;
	for (; field->key; field++) {
		char *place = (char *)to + field->place;

		if (field->kind == SONDE_NET_SOME)
			memset(place, 0, sizeof(uint64_t));
		if (sonde_hex_take_word(&at, field->key) ?
			    !net_take_value(&at, field, place) :
			    field->kind != SONDE_NET_SOME)
			return 0;
	}
	return sonde_net_values_put(first, fields, to, again) == size &&
			       !memcmp(again, line, size) ?
		       size :
		       0;
}
