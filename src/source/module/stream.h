/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * stream.h - one CPU's ring in the module, read.
 *
 * GET hands out a piece of a sub-buffer, in the mapping; it stays as it is until
 * PUT. So a peek is GET, once for each piece, and an advance is PUT.
 *
 * The pieces of a stream must follow one another; anything else is -EPROTO, and
 * the stream is given up:
 *
 *  1. a piece lies within one sub-buffer of the mapping, and is not empty
 *     unless it ends its sub-buffer;
 *  2. a first piece follows a closed one (or none), of a higher number (what
 *     was overwritten or damaged is left out);
 *  3. a later piece has its sub-buffer's number and time, and begins where the
 *     one before ended;
 *  4. it has no more events than records of the smallest size fit into it;
 *  5. it ends no earlier than it begins.
 *
 * Accounts. `events_before` of a chunk is what was delivered and overwritten
 * before its sub-buffer. What was overwritten is asked for at a first piece in
 * overwrite mode, and counts only grow.
 *
 * One thread. Nothing blocks.
 */
#ifndef SOURCE_MODULE_STREAM_H
#define SOURCE_MODULE_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "source/module/device.h"
#include "source/module/stacks.h"

struct module_stream {
	const struct module_system *system; /* borrowed */
	int fd;                             /* -1: not open */
	unsigned char *data;                /* our mapping, read-only */
	uint64_t map_bytes;
	uint32_t subbuf_bytes;
	bool is_overwriting;

	const struct module_stacks *stacks; /* of its events; or NULL */
	struct module_stacks_copy copy;     /* of the chunk, with them */

	struct sonde_kmod_chunk chunk; /* the last one, until PUT */
	bool has_begun;                /* a sub-buffer that is not closed yet */
	bool has_seq;                  /* `seq` is of the sub-buffer before */
	uint64_t seq;                  /* of the sub-buffer */
	uint64_t ts_begin;             /* likewise */
	uint64_t next;                 /* where its next piece begins */
	uint64_t events_before;
	uint64_t delivered;
	uint64_t overwritten;
};

/* *stream is for module_stream_close() in any case. */
int module_stream_open(struct module_stream *stream,
		       const struct module_system *system, int channel,
		       const struct module_geometry *geometry, uint32_t cpu,
		       bool is_overwriting);
void module_stream_close(struct module_stream *stream);

/* As sonde_source_ops has them. */
int module_stream_peek(struct module_stream *stream,
		       struct sonde_ring_chunk *ret_chunk);
void module_stream_advance(struct module_stream *stream);
int module_stream_rewind(struct module_stream *stream);
void module_stream_part(struct module_stream *stream);
void module_stream_counts(struct module_stream *stream,
			  struct sonde_source_counts *ret_counts);

#endif /* SOURCE_MODULE_STREAM_H */
