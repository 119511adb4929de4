/* SPDX-License-Identifier: MIT */
/*
 * line.h - what heads of messages (message.h) and heartbeats (beat.h) are: a line
 * of KEY=VALUE, with blanks between, whose last one is a sum of all before it.
 *
 * In names, bytes other than letters, digits and a few signs are %XX. A line has
 * one order and one text for each value, so who reads one writes it again, and
 * takes it if these are the same bytes: then the sum is right, too.
 *
 * What reads moves *at behind what it took, as base/hex.h does; the key has the
 * blank before it: " host=".
 */
#ifndef SESSION_NET_LINE_H
#define SESSION_NET_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "session/net/message.h"

/* " KEY=" and the value. */
void sonde_net_put_text(struct sonde_text *to, const char *key,
			const char *value);
/* The sum of what was put until now, and the newline. */
void sonde_net_put_check(struct sonde_text *to);

bool sonde_net_take_count(const char **at, const char *key, uint64_t max,
			  uint64_t *ret_value);
bool sonde_net_take_time(const char **at, const char *key, int64_t *ret_ns);
/* `size`: with a NUL. */
bool sonde_net_take_text(const char **at, const char *key, char *to,
			 size_t size);

/* The first line of these bytes, with its newline and a NUL behind that; its
 * bytes, or 0: there is none. */
size_t sonde_net_copy_line(const char *bytes, size_t size,
			   char to[SONDE_NET_HEAD_MAX]);

#endif /* SESSION_NET_LINE_H */
