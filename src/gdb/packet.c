/* SPDX-License-Identifier: MIT */
/*
 * packet.c - the frames of GDB's remote protocol, byte by byte.
 *
 * One of six states: outside, in a body, after an escape, at a run length, at
 * one of two digits of the checksum. A body never grows beyond
 * SONDE_GDB_PACKET_MAX; one that would is read to its end and told as too long.
 * Constant work for each byte.
 */
#include "gdb/packet.h"

#include <string.h>

#include "base/hex.h"

enum {
	STATE_OUTSIDE,
	STATE_BODY,
	STATE_ESCAPED,
	STATE_RUN,
	STATE_SUM_HIGH,
	STATE_SUM_LOW,
};

enum {
	INTERRUPT = 0x03,
	ESCAPE = '}',
	ESCAPE_BIT = 0x20,
	RUN_BIAS = 29,
};

void sonde_gdb_packets_init(struct sonde_gdb_packets *packets)
{
	memset(packets, 0, sizeof(*packets));
}

static void begin(struct sonde_gdb_packets *packets, uint8_t byte)
{
	packets->state = STATE_BODY;
	packets->length = 0;
	packets->sum = 0;
	packets->too_long = false;
	packets->is_notification = byte == '%';
}

static void append(struct sonde_gdb_packets *packets, char c, size_t times)
{
	if (times > SONDE_GDB_PACKET_MAX - packets->length) {
		packets->too_long = true;
		return;
	}
	memset(packets->body + packets->length, c, times);
	packets->length += times;
}

static enum sonde_gdb_heard outside(struct sonde_gdb_packets *packets,
				    uint8_t byte)
{
	switch (byte) {
	case '%':
		if (packets->notifications)
			begin(packets, byte);
		return SONDE_GDB_HEARD_NOTHING;
	case '$':
		begin(packets, byte);
		return SONDE_GDB_HEARD_NOTHING;
	case '+':
		return SONDE_GDB_HEARD_ACK;
	case '-':
		return SONDE_GDB_HEARD_NACK;
	case INTERRUPT:
		return SONDE_GDB_HEARD_INTERRUPT;
	default:
		return SONDE_GDB_HEARD_NOTHING;
	}
}

static void in_body(struct sonde_gdb_packets *packets, uint8_t byte)
{
	if (byte == '#') {
		packets->state = STATE_SUM_HIGH;
		return;
	}
	if (byte == '$') {
		begin(packets, byte);
		return;
	}
	packets->sum = (uint8_t)(packets->sum + byte);
	if (packets->state == STATE_ESCAPED) {
		packets->state = STATE_BODY;
		append(packets, (char)(byte ^ ESCAPE_BIT), 1);
	} else if (packets->state == STATE_RUN) {
		packets->state = STATE_BODY;
		if (packets->length > 0 && byte > RUN_BIAS)
			append(packets, packets->body[packets->length - 1],
			       (size_t)(byte - RUN_BIAS));
	} else if (byte == ESCAPE) {
		packets->state = STATE_ESCAPED;
	} else if (byte == '*' && packets->expands) {
		packets->state = STATE_RUN;
	} else {
		append(packets, (char)byte, 1);
	}
}

static enum sonde_gdb_heard finish(struct sonde_gdb_packets *packets,
				   uint8_t byte)
{
	int low = sonde_hex_digit((char)byte);
	int high = sonde_hex_digit((char)packets->said);

	packets->state = STATE_OUTSIDE;
	packets->body[packets->length] = '\0';
	if (!packets->ignores_sums &&
	    (low < 0 || high < 0 || (high << 4 | low) != packets->sum))
		return SONDE_GDB_HEARD_BROKEN;
	return packets->too_long ? SONDE_GDB_HEARD_TOO_LONG :
				   SONDE_GDB_HEARD_PACKET;
}

enum sonde_gdb_heard sonde_gdb_packets_hear(struct sonde_gdb_packets *packets,
					    uint8_t byte)
{
	switch (packets->state) {
	case STATE_OUTSIDE:
		return outside(packets, byte);
	case STATE_SUM_HIGH:
		packets->said = byte;
		packets->state = STATE_SUM_LOW;
		return SONDE_GDB_HEARD_NOTHING;
	case STATE_SUM_LOW:
		return finish(packets, byte);
	default:
		in_body(packets, byte);
		return SONDE_GDB_HEARD_NOTHING;
	}
}

size_t sonde_gdb_packet_frame(const char *body, size_t length,
			      char to[SONDE_GDB_FRAME_MAX])
{
	static const char digits[] = "0123456789abcdef";
	uint8_t sum = 0;
	size_t used = 0;

	if (length > SONDE_GDB_PACKET_MAX)
		length = SONDE_GDB_PACKET_MAX;
	to[used++] = '$';
	for (size_t i = 0; i < length; i++) {
		char c = body[i];

		if (c == '$' || c == '#' || c == ESCAPE || c == '*') {
			to[used++] = ESCAPE;
			sum = (uint8_t)(sum + ESCAPE);
			c = (char)(c ^ ESCAPE_BIT);
		}
		to[used++] = c;
		sum = (uint8_t)(sum + (uint8_t)c);
	}
	to[used++] = '#';
	to[used++] = digits[sum >> 4];
	to[used++] = digits[sum & 15];
	return used;
}
