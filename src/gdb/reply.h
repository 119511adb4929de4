/* SPDX-License-Identifier: MIT */
/*
 * reply.h - an answer in the making: text and hexadecimal, of any length up to
 * what a packet takes. Errors stick; one that is too long becomes E01.
 */
#ifndef GDB_REPLY_H
#define GDB_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SONDE_GDB_PACKET_MAX 0x4000

struct sonde_gdb_reply {
	char bytes[SONDE_GDB_PACKET_MAX + 1]; /* not yet escaped */
	size_t length;
	bool overflowed;
};

void sonde_gdb_reply_clear(struct sonde_gdb_reply *reply);
void sonde_gdb_reply_text(struct sonde_gdb_reply *reply, const char *text);
void sonde_gdb_reply_format(struct sonde_gdb_reply *reply, const char *format,
			    ...) __attribute__((format(printf, 2, 3)));
void sonde_gdb_reply_hex(struct sonde_gdb_reply *reply, const void *bytes,
			 size_t nr);
/* Raw bytes (qXfer's 'm' and 'l' replies); escaped when sent. */
void sonde_gdb_reply_bytes(struct sonde_gdb_reply *reply, const void *bytes,
			   size_t nr);
void sonde_gdb_reply_error(struct sonde_gdb_reply *reply, unsigned int code);
/* "E.text", which GDB shows; characters that can't be sent become dots. */
void sonde_gdb_reply_refuse(struct sonde_gdb_reply *reply, const char *text);

/* The part "offset,length" of a long answer (qXfer) of `size` bytes. */
void sonde_gdb_reply_part(struct sonde_gdb_reply *reply, const char *rest,
			  const void *bytes, size_t size);

#endif /* GDB_REPLY_H */
