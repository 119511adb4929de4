/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * stream.h - one CPU's part of a recording: sub-buffers out of the kernel,
 * packets of records out to the recorder.
 *
 * read() of trace_pipe_raw gives a copy of one sub-buffer's records, also of
 * the one that is being written, as far as it is: so nothing waits for a
 * sub-buffer to fill up, and after the stop reading to the end gets everything.
 * What is read is converted at once into a packet's worth of memory; a packet
 * is closed when a record doesn't fit any more.
 *
 * Reading makes events itself: system calls of ours, which a recording of the
 * whole machine has, too. So a stream is read to its end once in a round of the
 * recorder, not until there is nothing: a sub-buffer that isn't half full was
 * the last one. sonde_tracefs_stream_refresh() starts another round. In overwrite mode
 * one round has to do for a snapshot: there the first page says nothing about that, for
 * it may be what the round before left of one.
 *
 * Accounts. The kernel counts, for each CPU, in per_cpu/cpuN/stats:
 *
 *	entries			records in the buffer, to be read
 *	read events		read or taken by us
 *	overrun			overwritten before they were read
 *	dropped events		not recorded: the buffer was full (discard mode)
 *	commit overrun		not recorded: interrupts filled all of the
 *				buffer while one record was being written
 *
 * Every event that an instance takes up ends in one of these, so
 *
 *	emitted = (entries + read events) + overrun + dropped + commit overrun
 *		= (yet to be read, and read) + overwritten + lost_full
 *
 * in both modes: discard mode has no overrun, overwrite mode no drops. So there
 * is something to read until the kernel counts no entries any more, whatever
 * read() returns meanwhile: it returns 0 as well when it finds no sub-buffer,
 * which after the stop is no reason to be done. What is then missing of entries
 * and read events together was recorded, but isn't given to us (lost_unread).
 *
 * What is read is delivered, unless it isn't wanted (convert.h), or doesn't fit into a
 * packet of its own (lost_size). What was lost was never seen, so it is counted
 * whole, wanted or not; conditions that the kernel tests (filter.h) are tested
 * before. Not counted by any kernel: events inside the writing of an event on
 * the same level of interrupts.
 *
 * Call stacks are records, too, and count as such. Where events wait for theirs
 * (stacks.h) across two sub-buffers, some may have been lost between these: in
 * overwrite mode the second one says so; in discard mode what the kernel counts as
 * dropped has changed since a time before the event.
 *
 * A sub-buffer also says how many were overwritten just before it: so a gap is
 * put where it belongs, between two packets.
 */
#ifndef SOURCE_TRACEFS_STREAM_H
#define SOURCE_TRACEFS_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/source.h"
#include "source/tracefs/convert.h"

struct sonde_tracefs_stream_losses {
	uint64_t entries;
	uint64_t read;
	uint64_t overrun;
	uint64_t commit_overrun;
	uint64_t dropped;
};

/* A page that isn't half full ends a round: what is read may be some rounds old. */
#define SONDE_TRACEFS_ROUNDS 16u

/* So many had been dropped, at a time of the session's clock, or less. */
struct sonde_tracefs_dropped {
	uint64_t at, nr;
};

struct sonde_tracefs_stream {
	uint32_t cpu;
	int pipe;  /* per_cpu/cpuN/trace_pipe_raw */
	int stats; /* per_cpu/cpuN/stats */
	struct sonde_format_page layout;
	uint8_t *raw; /* a sub-buffer; NULL until there is something */
	uint8_t *bytes;
	size_t size; /* of `bytes`, the packet */
	struct sonde_page page;
	bool in_page;
	struct sonde_convert_out out;
	size_t given;        /* bytes of the packet that were advanced over */
	bool is_overwriting; /* before the first peek */
	bool is_open;        /* its first chunk was advanced over */
	bool is_closed; /* to be closed: nothing more fits, or a gap follows */
	uint64_t seq;
	uint64_t gap;         /* overwritten before this packet */
	uint64_t next_gap;    /* and before what comes after it */
	uint64_t first_event; /* out.packer.nr at the packet's start */
	uint64_t delivered;
	struct sonde_tracefs_stream_losses losses;
	/* When the last rounds began; where the next one's goes. */
	struct sonde_tracefs_dropped dropped[SONDE_TRACEFS_ROUNDS];
	uint32_t next_round;
	bool is_counted;     /* `losses` are of this round */
	bool is_drained;     /* read to its end in this round */
	bool has_read;       /* a page, in this round */
	uint32_t nr_refused; /* reads of nothing while there was something */
	bool is_ended;       /* nothing is recorded any more: there is an end */
};

/* `instance` is borrowed for this call. 0 or -errno. */
int sonde_tracefs_stream_open(struct sonde_tracefs_stream *stream, int instance,
			      uint32_t cpu,
			      const struct sonde_format_page *layout,
			      size_t packet_bytes);
/* Closes what it has open; twice is fine. */
void sonde_tracefs_stream_fini(struct sonde_tracefs_stream *stream);

/* A new round, by the session's clock. */
void sonde_tracefs_stream_refresh(struct sonde_tracefs_stream *stream,
				  uint64_t now);

/* As in source/source.h. */
int sonde_tracefs_stream_peek(struct sonde_tracefs_stream *stream,
			      const struct sonde_convert *convert,
			      struct sonde_ring_chunk *ret_chunk);
void sonde_tracefs_stream_advance(struct sonde_tracefs_stream *stream,
				  const struct sonde_ring_chunk *chunk);
/* What comes next begins a packet. */
void sonde_tracefs_stream_part(struct sonde_tracefs_stream *stream,
			       const struct sonde_convert *convert);
void sonde_tracefs_stream_count(struct sonde_tracefs_stream *stream,
				struct sonde_source_counts *ret_counts);

/* What the file `stats` says. 0, or -EINVAL. */
int sonde_tracefs_stream_parse_losses(
	const char *text, struct sonde_tracefs_stream_losses *ret_losses);

#endif /* SOURCE_TRACEFS_STREAM_H */
