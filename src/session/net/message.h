/* SPDX-License-Identifier: MIT */
/*
 * message.h - what goes from a machine to another: a head, which is a line of
 * text, and a body, which is bytes of a trace as they are.
 *
 *	sonde1 packet trace=HEX number=N offset=N bytes=N body=N [packed=N] sum=HEX
 *		begin=NS end=NS host=TEXT recording=TEXT path=TEXT file=TEXT
 *		check=HEX			(all in one line)
 *
 * A message is known by its trace, file and number; whoever gets it twice has
 * the same bytes twice. Each kind is a statement about a file of a trace:
 *
 *	packet		a packet, the file's piece `number` (from 0 on), is at
 *			`offset` and has `bytes` bytes
 *	rest		the same of bytes that no packet has, or a part of a
 *			packet that was too large for one message
 *	document	the file is the body: version `number` of it, from 1 on
 *	end		all has been said, for the `number`th time: the body has
 *			a line "PIECES BYTES FILE" for each file of pieces
 *
 * The zeros at the end of a piece aren't in its body: `body` <= `bytes`. If there
 * is `packed`, the body goes as a frame of zstd (RFC 8878) of so many bytes. The
 * pieces of a file cover it, in order and without gaps.
 *
 * A head that was parsed is checked: its names can be those of files in a
 * directory, and nothing in it overflows. What it says may still be a lie.
 */
#ifndef SESSION_NET_MESSAGE_H
#define SESSION_NET_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sonde_net_kind {
	SONDE_NET_PACKET,
	SONDE_NET_REST,
	SONDE_NET_DOCUMENT,
	SONDE_NET_END,
};

#define SONDE_NET_NAME_MAX       200u /* bytes of a host's and a directory's name */
#define SONDE_NET_FILE_MAX       220u  /* of a file's, with its directory */
#define SONDE_NET_PATH_MAX       1200u /* of several directories' */
#define SONDE_NET_HEAD_MAX       8192u
#define SONDE_NET_BODY_MAX       ((uint64_t)64 << 20)
#define SONDE_NET_BYTES_MAX      ((uint64_t)1 << 40) /* of a piece */
#define SONDE_NET_FILE_BYTES_MAX ((uint64_t)1 << 50)

/* A document that a trace may have, besides metadata and indexes: how its clock is to
 * another machine's (reader/core/clock_offset.h has its name, too). */
#define SONDE_NET_CLOCK ".clock"

struct sonde_net_head {
	enum sonde_net_kind kind;
	uint8_t trace[16]; /* its UUID */
	uint64_t number, offset, bytes, body;
	uint64_t packed; /* bytes of the body compressed; 0: it isn't */
	uint64_t sum;    /* of the body, uncompressed */
	int64_t begin_ns, end_ns; /* of a packet; else 0 */
	char host[SONDE_NET_NAME_MAX + 1];
	char recording[SONDE_NET_NAME_MAX + 1];
	/* Of the trace's directory, in the recording's; "": that itself. */
	char path[SONDE_NET_PATH_MAX + 1];
	char file[SONDE_NET_FILE_MAX + 1]; /* "" of an end */
};

/* Bytes that go behind the head. */
static inline uint64_t sonde_net_size(const struct sonde_net_head *head)
{
	return head->packed ? head->packed : head->body;
}

/* Whether it can be the name of one directory that we make. */
bool sonde_net_is_name(const char *name);
/* Of several, one in the other, or of none. */
bool sonde_net_is_path(const char *path);
/* Whether a file of pieces may be called so, or one that is a document. */
bool sonde_net_is_file(enum sonde_net_kind kind, const char *file);

/* The line, with its newline and a NUL behind that; its bytes. */
size_t sonde_net_head_put(const struct sonde_net_head *head,
			  char to[SONDE_NET_HEAD_MAX]);

/* Reads one at the start of `bytes`. How many bytes it has, or -EINVAL; then
 * `ret_head` may have been written to. */
int sonde_net_head_parse(const char *bytes, size_t size,
			 struct sonde_net_head *ret_head);

/* Whether these are the bytes that the head is about. */
bool sonde_net_is_body(const struct sonde_net_head *head, const void *body,
		       size_t size);

#endif /* SESSION_NET_MESSAGE_H */
