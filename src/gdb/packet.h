/* SPDX-License-Identifier: MIT */
/*
 * packet.h - the remote protocol's frames: $body#checksum.
 *
 * Bytes in, events out; no descriptor is known here. A body has at most
 * SONDE_GDB_PACKET_MAX bytes; one that is longer is swallowed to its end and
 * told as such. In a body, '}' escapes the next byte; a '$' begins anew, as
 * the sender must have lost its place.
 */
#ifndef GDB_PACKET_H
#define GDB_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gdb/reply.h"

enum sonde_gdb_heard {
	SONDE_GDB_HEARD_NOTHING, /* yet */
	SONDE_GDB_HEARD_PACKET,
	SONDE_GDB_HEARD_TOO_LONG,
	SONDE_GDB_HEARD_BROKEN, /* its checksum is wrong */
	SONDE_GDB_HEARD_ACK,
	SONDE_GDB_HEARD_NACK,
	SONDE_GDB_HEARD_INTERRUPT, /* ^C */
};

struct sonde_gdb_packets {
	char body[SONDE_GDB_PACKET_MAX + 1]; /* ends with a NUL */
	size_t length;
	bool expands;       /* run lengths are expanded: set by the owner */
	bool ignores_sums;  /* in no-ack mode they need not be right */
	bool notifications; /* '%' begins a packet as well; is_notification */
	bool is_notification;
	/* private */
	uint8_t state, sum, said;
	bool too_long;
};

void sonde_gdb_packets_init(struct sonde_gdb_packets *packets);

/* One byte. After HEARD_PACKET, `body` and `length` are valid until the next
 * call. */
enum sonde_gdb_heard sonde_gdb_packets_hear(struct sonde_gdb_packets *packets,
					    uint8_t byte);

/* A frame's room: every byte escaped. */
#define SONDE_GDB_FRAME_MAX (2 * SONDE_GDB_PACKET_MAX + 4)

/* The frame of a body; its length. */
size_t sonde_gdb_packet_frame(const char *body, size_t length,
			      char to[SONDE_GDB_FRAME_MAX]);

#endif /* GDB_PACKET_H */
