/* SPDX-License-Identifier: MIT */
/*
 * key_values.h - what heads of messages (message.h), heartbeats (beat.h) and the words of
 * those who work (fleet/job_protocol.h) are: a line of KEY=VALUE, with blanks between,
 * whose last one is a sum of all before it.
 *
 * A line is a list of fields, each with its place in the structure that it is read
 * into and written from. They are all there, in this order, and each value has one
 * text, so what was read is written again, and taken if these are the same bytes:
 * then the sum is right, too. In texts, bytes other than letters, digits and a few
 * signs are %XX.
 */
#ifndef SESSION_NET_KEY_VALUES_H
#define SESSION_NET_KEY_VALUES_H

#include <stddef.h>
#include <stdint.h>

#include "session/net/message.h"

enum sonde_net_field_kind {
	SONDE_NET_COUNT, /* uint64_t, up to `max` */
	SONDE_NET_SOME,  /* the same, but left out if it is 0 */
	SONDE_NET_TIME,  /* int64_t */
	SONDE_NET_SUM,   /* uint64_t, as 16 digits */
	SONDE_NET_ID,    /* 16 bytes */
	SONDE_NET_TEXT,  /* char[max], with a NUL */
	SONDE_NET_WORD,  /* an enumeration of `max`: one of `words` */
};

struct sonde_net_field {
	const char
		*key; /* with what is before the value: " host="; NULL: end */
	enum sonde_net_field_kind kind;
	size_t place;
	uint64_t max;
	const char *const *words;
};

/* Behind the member: `max`, and `words`. */
#define SONDE_NET_FIELD(of_kind, of_key, type, member, ...)         \
	{                                                           \
		.key = (of_key), .kind = SONDE_NET_##of_kind,       \
		.place = offsetof(type, member), .max = __VA_ARGS__ \
	}
#define SONDE_NET_FIELD_TEXT(key, type, member) \
	SONDE_NET_FIELD(TEXT, key, type, member, sizeof(((type *)NULL)->member))

/* The line that begins with `first`, its newline and a NUL behind that; its bytes,
 * or 0: they would be more than SONDE_NET_HEAD_MAX - 1. */
size_t sonde_net_values_put(const char *first,
			    const struct sonde_net_field *fields,
			    const void *from, char to[SONDE_NET_HEAD_MAX]);

/* Reads such a line at the start of `bytes`; its bytes, or 0: there is none, and
 * `to` may have been written to. */
size_t sonde_net_values_take(const char *first,
			     const struct sonde_net_field *fields,
			     const void *bytes, size_t size, void *to);

#endif /* SESSION_NET_KEY_VALUES_H */
