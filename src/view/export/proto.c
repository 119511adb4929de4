/* SPDX-License-Identifier: MIT */
/*
 * proto.c - Protocol Buffers' wire format (proto.h).
 *
 * The lengths of open messages are one byte until they are closed; closing
 * moves a message up if its length takes more, so each byte is moved once for
 * each level that is longer than 127 bytes. Errors stick in `failed`.
 */
#include "view/export/proto.h"

#include <stdlib.h>
#include <string.h>

#define VARINT_MAX 10

enum wire {
	WIRE_VARINT = 0,
	WIRE_EIGHT_BYTES = 1,
	WIRE_BYTES = 2
};

void sonde_proto_fini(struct sonde_proto *proto)
{
	free(proto->bytes);
	*proto = (struct sonde_proto){ 0 };
}

void sonde_proto_reset(struct sonde_proto *proto)
{
	proto->used = 0;
	proto->depth = 0;
	proto->failed = false;
}

/* Room for more bytes; NULL without memory. */
static uint8_t *proto_reserve(struct sonde_proto *proto, size_t more)
{
	if (proto->room - proto->used < more) {
		size_t room = proto->room ? proto->room : 512;
		uint8_t *bytes;

		while (room - proto->used < more)
			room *= 2;
		bytes = realloc(proto->bytes, room);
		if (!bytes) {
			proto->failed = true;
			return NULL;
		}
		proto->bytes = bytes;
		proto->room = room;
	}
	return proto->bytes + proto->used;
}

static size_t put_varint(uint8_t *to, uint64_t value)
{
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		to[n++] = (uint8_t)(value | 0x80);
	to[n++] = (uint8_t)value;
	return n;
}

static void varint(struct sonde_proto *proto, uint64_t value)
{
	uint8_t *to = proto_reserve(proto, VARINT_MAX);

	if (to)
		proto->used += put_varint(to, value);
}

static void tag(struct sonde_proto *proto, uint32_t field, enum wire wire)
{
	varint(proto, (uint64_t)field << 3 | wire);
}

void sonde_proto_uint(struct sonde_proto *proto, uint32_t field, uint64_t value)
{
	tag(proto, field, WIRE_VARINT);
	varint(proto, value);
}

void sonde_proto_int(struct sonde_proto *proto, uint32_t field, int64_t value)
{
	sonde_proto_uint(proto, field, (uint64_t)value);
}

void sonde_proto_double(struct sonde_proto *proto, uint32_t field, double value)
{
	uint64_t bits;
	uint8_t *to;

	memcpy(&bits, &value, sizeof(bits));
	tag(proto, field, WIRE_EIGHT_BYTES);
	to = proto_reserve(proto, sizeof(bits));
	if (!to)
		return;
	for (size_t i = 0; i < sizeof(bits); i++)
		to[i] = (uint8_t)(bits >> 8 * i);
	proto->used += sizeof(bits);
}

void sonde_proto_bytes(struct sonde_proto *proto, uint32_t field,
		       const void *bytes, size_t length)
{
	uint8_t *to;

	tag(proto, field, WIRE_BYTES);
	varint(proto, length);
	to = proto_reserve(proto, length);
	if (!to || length == 0)
		return;
	memcpy(to, bytes, length);
	proto->used += length;
}

void sonde_proto_text(struct sonde_proto *proto, uint32_t field,
		      const char *text)
{
	sonde_proto_bytes(proto, field, text, strlen(text));
}

void sonde_proto_open(struct sonde_proto *proto, uint32_t field)
{
	tag(proto, field, WIRE_BYTES);
	if (proto->depth == SONDE_PROTO_DEPTH || !proto_reserve(proto, 1)) {
		proto->failed = true;
		return;
	}
	proto->used++;
	proto->starts[proto->depth++] = proto->used;
}

void sonde_proto_close(struct sonde_proto *proto)
{
	uint8_t length[VARINT_MAX];
	size_t start;
	size_t size;
	size_t n;

	if (proto->failed || proto->depth == 0)
		return;
	start = proto->starts[--proto->depth];
	size = proto->used - start;
	n = put_varint(length, size);
	if (!proto_reserve(proto, VARINT_MAX))
		return;
	/* One byte is there already. */
	if (n > 1)
		memmove(proto->bytes + start - 1 + n, proto->bytes + start,
			size);
	memcpy(proto->bytes + start - 1, length, n);
	proto->used += n - 1;
}
