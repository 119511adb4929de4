/* SPDX-License-Identifier: MIT */
/*
 * proto.h - writes messages in Protocol Buffers' wire format.
 *
 * A message is a run of fields. Each begins with a number, 8 times the field's
 * number plus how it is written: 0 a varint, 1 eight bytes, 2 a length and so
 * many bytes. A varint has seven bits in each byte, the lowest first; all but
 * the last byte have bit 7 set.
 *
 * A message inside a message is written in place: open() leaves one byte for
 * its length, and close() moves it up if the length takes more. Most take one.
 *
 * Running out of memory sets `failed`; then the bytes mean nothing.
 */
#ifndef VIEW_EXPORT_PROTO_H
#define VIEW_EXPORT_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Messages open at a time; deeper ones set `failed`. */
#define SONDE_PROTO_DEPTH 48

struct sonde_proto {
	uint8_t *bytes;
	size_t used, room;
	bool failed;
	unsigned int depth;
	size_t starts[SONDE_PROTO_DEPTH]; /* of open messages' contents */
};

void sonde_proto_fini(struct sonde_proto *proto);
/* Empty again, for the next message. */
void sonde_proto_reset(struct sonde_proto *proto);

void sonde_proto_uint(struct sonde_proto *proto, uint32_t field,
		      uint64_t value);
/* Of the types int32 and int64. */
void sonde_proto_int(struct sonde_proto *proto, uint32_t field, int64_t value);
void sonde_proto_double(struct sonde_proto *proto, uint32_t field,
			double value);
/* Text, bytes, or a message that was written elsewhere. */
void sonde_proto_bytes(struct sonde_proto *proto, uint32_t field,
		       const void *bytes, size_t length);
void sonde_proto_text(struct sonde_proto *proto, uint32_t field,
		      const char *text);
void sonde_proto_open(struct sonde_proto *proto, uint32_t field);
void sonde_proto_close(struct sonde_proto *proto);

#endif /* VIEW_EXPORT_PROTO_H */
