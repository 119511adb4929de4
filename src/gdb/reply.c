/* SPDX-License-Identifier: MIT */
/*
 * reply.c - an answer in the making (reply.h).
 *
 * bytes[length] is a NUL, and length is at most SONDE_GDB_PACKET_MAX. What
 * doesn't fit turns the answer into E01, which nothing that is appended
 * changes.
 */
#include "gdb/reply.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/hex.h"

void sonde_gdb_reply_clear(struct sonde_gdb_reply *reply)
{
	reply->length = 0;
	reply->overflowed = false;
	reply->bytes[0] = '\0';
}

static void overflow(struct sonde_gdb_reply *reply)
{
	reply->overflowed = true;
	memcpy(reply->bytes, "E01", sizeof("E01"));
	reply->length = sizeof("E01") - 1;
}

static bool reply_has_room(struct sonde_gdb_reply *reply, size_t nr)
{
	if (reply->overflowed)
		return false;
	if (nr <= SONDE_GDB_PACKET_MAX - reply->length)
		return true;
	overflow(reply);
	return false;
}

void sonde_gdb_reply_bytes(struct sonde_gdb_reply *reply, const void *bytes,
			   size_t nr)
{
	if (nr == 0 || !reply_has_room(reply, nr))
		return;
	memcpy(reply->bytes + reply->length, bytes, nr);
	reply->length += nr;
	reply->bytes[reply->length] = '\0';
}

void sonde_gdb_reply_text(struct sonde_gdb_reply *reply, const char *text)
{
	sonde_gdb_reply_bytes(reply, text, strlen(text));
}

void sonde_gdb_reply_format(struct sonde_gdb_reply *reply, const char *format,
			    ...)
{
	size_t room = sizeof(reply->bytes) - reply->length;
	va_list args;
	int nr;

	if (reply->overflowed)
		return;
	va_start(args, format);
	nr = vsnprintf(reply->bytes + reply->length, room, format, args);
	va_end(args);
	if (nr < 0 || (size_t)nr >= room)
		overflow(reply);
	else
		reply->length += (size_t)nr;
}

void sonde_gdb_reply_hex(struct sonde_gdb_reply *reply, const void *bytes,
			 size_t nr)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *from = bytes;

	if (nr > SONDE_GDB_PACKET_MAX / 2 || !reply_has_room(reply, 2 * nr)) {
		if (!reply->overflowed)
			overflow(reply);
		return;
	}
	for (size_t i = 0; i < nr; i++) {
		reply->bytes[reply->length++] = digits[from[i] >> 4];
		reply->bytes[reply->length++] = digits[from[i] & 15];
	}
	reply->bytes[reply->length] = '\0';
}

void sonde_gdb_reply_error(struct sonde_gdb_reply *reply, unsigned int code)
{
	sonde_gdb_reply_clear(reply);
	sonde_gdb_reply_format(reply, "E%02x", code & 0xff);
}

void sonde_gdb_reply_refuse(struct sonde_gdb_reply *reply, const char *text)
{
	sonde_gdb_reply_clear(reply);
	sonde_gdb_reply_text(reply, "E.");
	/* Characters that mean something to the protocol, or to a terminal. */
	for (; *text && reply->length < SONDE_GDB_PACKET_MAX / 2; text++) {
		char c = *text;

		if (c < ' ' || c > '~' || strchr("$#}*", c))
			c = '.';
		sonde_gdb_reply_bytes(reply, &c, 1);
	}
}

void sonde_gdb_reply_part(struct sonde_gdb_reply *reply, const char *rest,
			  const void *bytes, size_t size)
{
	uint64_t offset;
	uint64_t length;

	if (!sonde_hex_take_pair(&rest, &offset, ',', &length) || *rest) {
		sonde_gdb_reply_error(reply, 1);
		return;
	}
	if (offset > size)
		offset = size;
	if (length > SONDE_GDB_PACKET_MAX - 1)
		length = SONDE_GDB_PACKET_MAX - 1;
	if (length >= size - offset) {
		sonde_gdb_reply_text(reply, "l");
		length = size - offset;
	} else {
		sonde_gdb_reply_text(reply, "m");
	}
	sonde_gdb_reply_bytes(reply, (const char *)bytes + offset, length);
}
