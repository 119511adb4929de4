/* SPDX-License-Identifier: MIT */
/*
 * reader.h - the recorder's side of a ring.
 *
 * A reader is a private cursor over one ring that lies in memory its owner may
 * scribble on. It keeps its own copy of what the recorder configured, checks
 * each value it takes from the ring once, after copying it, and never lets a
 * pointer leave the ring's data. What the bytes of the records say is not its
 * business.
 *
 * One reader per ring; a reader is used by one thread at a time. Nothing here
 * blocks, allocates or writes to the ring, but for sonde_ring_release(), narrow,
 * restart, seal and part.
 *
 * Life: init; then, as often as one likes, peek -> use the bytes -> (overwrite
 * mode: verify) -> advance. In discard mode, sonde_ring_release() hands the
 * sub-buffers that were read to the writer. In overwrite mode, start with
 * sonde_ring_rewind() and call it again after -ESTALE.
 */
#ifndef RING_READER_H
#define RING_READER_H

#include <stdbool.h>

#include "base/port.h"
#include "ring/layout.h"

struct sonde_ring_reader {
	struct sonde_ring *ring;
	const unsigned char *data;
	uint32_t subbuf_size;
	uint32_t nr_subbufs;
	/* Discard mode, in which nothing is released: what was written stays, and
	 * can be rewound to. */
	bool keeps;
	uint64_t first;  /* the sub-buffer that was first, or will be */
	uint64_t before; /* commit word of a ring restarted, or sealed, and not
			  * used since */
	uint64_t seq;    /* the sub-buffer being read */
	uint32_t offset; /* of the next byte in it; 0: head not read yet */
};

struct sonde_ring_chunk {
	const unsigned char *data; /* in the ring; copy it once */
	uint32_t size;             /* may be 0 if `closed` */
	bool first;                /* starts its sub-buffer: begin a packet */
	bool closed; /* ends its sub-buffer: nothing will be added */
	uint64_t seq;
	uint64_t ts_begin; /* of the sub-buffer */
	uint64_t ts_end;   /* closed: when the next one was opened; else 0 */
	uint64_t events_before; /* committed before this sub-buffer */
	uint64_t events;        /* committed up to the end of this chunk */
	uint64_t discarded;     /* so far: closed: when the next was opened */
};

struct sonde_ring_totals {
	uint64_t committed; /* events, overwritten ones included */
	uint64_t discarded_full;
	uint64_t discarded_size;
};

/*
 * `ring` and `data` are borrowed until the reader is no longer used; `data`
 * has subbuf_size * nr_subbufs bytes, both powers of two within layout.h's
 * limits.
 */
void sonde_ring_reader_init(struct sonde_ring_reader *reader,
			    struct sonde_ring *ring, const void *data,
			    uint32_t subbuf_size, uint32_t nr_subbufs);

/*
 * Instead of the rings' zeros: the ring was another reader's, and will be used
 * again. Records go on in a sub-buffer that has a number none has had, whose
 * index is 0; counters start at 0. Nothing may be enabled to write to it, but
 * a writer that was stopped in the middle of a record may still go on: its plan
 * fails, as the commit word is none it can have seen. `ring` and `data` are the
 * reader's, writable.
 */
void sonde_ring_restart(struct sonde_ring_reader *reader,
			struct sonde_ring *ring, unsigned char *data);

/*
 * The same for a ring whose reader has gone, while it is being written: reading
 * begins with the oldest sub-buffer that it holds; in discard mode (what keeps),
 * with the oldest that was not released. Counters go on.
 */
void sonde_ring_inherit(struct sonde_ring_reader *reader);

/*
 * Drops what the ring holds, while it is being written: reading begins with the
 * next sub-buffer, which the next record opens, as the current one is sealed: its
 * commit word says that it is full but for a byte. Its count stays, so the heads
 * of later sub-buffers count as if nothing had happened.
 *
 * A writer that has planned a record by the word before undoes that by its commit.
 * Nothing is lost by it: the record is one of those that are dropped, and counted
 * by the next head. So call it again when such writers have finished.
 *
 * Returns 1, or 0 if nothing was ever written, and how many events were committed
 * before; -EPROTO; -EBUSY if writers were faster each time. `data` is the reader's,
 * writable. Overwrite mode.
 */
int sonde_ring_seal(struct sonde_ring_reader *reader, unsigned char *data,
		    uint64_t *ret_committed);

/* Whether a writer has undone that. */
bool sonde_ring_is_unsealed(const struct sonde_ring_reader *reader);

/*
 * What can be read at the cursor now.
 *
 * Returns 1 and a chunk; 0 if there is nothing new; -ESTALE if the writer has
 * come round (overwrite mode: rewind); -EPROTO if the ring contradicts itself
 * (give it up: its owner has scribbled on it).
 */
int sonde_ring_peek(struct sonde_ring_reader *reader,
		    struct sonde_ring_chunk *ret_chunk);

/* Moves the cursor past the chunk. */
void sonde_ring_advance(struct sonde_ring_reader *reader,
			const struct sonde_ring_chunk *chunk);

/*
 * Overwrite mode, after the bytes of `chunk` have been copied: true if the
 * writer can't have touched them meanwhile.
 */
bool sonde_ring_verify(const struct sonde_ring_reader *reader,
		       const struct sonde_ring_chunk *chunk);

/*
 * Overwrite mode, or what keeps: puts the cursor on the oldest sub-buffer that is
 * whole and not about to be overwritten. Returns 1, 0 if nothing was ever written, or
 * -EPROTO.
 */
int sonde_ring_rewind(struct sonde_ring_reader *reader);

/*
 * Discard mode: lets the writer use all sub-buffers but those not yet read to
 * their end.
 */
void sonde_ring_release(struct sonde_ring_reader *reader);

/*
 * Discard mode, from then on until sonde_ring_release(): no writer is, or comes, in
 * another sub-buffer than the one that is being read and the `nr - 1` (3 or more)
 * behind it. So the memory of all others can be taken away. Events that these
 * don't take meanwhile are counted as lost: do it to a ring that hardly anybody
 * writes to, and only for an instant.
 *
 * False, and nothing has changed: there is more to be read.
 */
bool sonde_ring_narrow(struct sonde_ring_reader *reader, uint32_t nr);

/*
 * Asks for a record that can be read without those before it: the gate is closed,
 * so the next writer says whose records follow, and when. One that has passed the
 * gate already adds its record without.
 */
void sonde_ring_part(struct sonde_ring_reader *reader);

/* The cursor is within the sub-buffer that is being written. */
bool sonde_ring_is_within(const struct sonde_ring_reader *reader);

/* Nothing is left to be read, and what comes next begins anew, unless a writer
 * had passed the gate before it was closed, and is about to commit. */
bool sonde_ring_is_parted(const struct sonde_ring_reader *reader);

/* Whether a chunk of records with such headers can be read without those before
 * it, and the time at which it begins: of its sub-buffer, or of the context
 * record that is its first. The bytes are looked at once, and may be anything. */
bool sonde_ring_begins_anew(const struct sonde_ring_chunk *chunk,
			    enum sonde_header_kind kind, uint64_t *ret_time);

/*
 * Counters of the ring, as its owner left them. Exact when no writer runs.
 * Returns 0, or -EPROTO if the ring contradicts itself (`committed` is then
 * 0).
 */
int sonde_ring_count(const struct sonde_ring_reader *reader,
		     struct sonde_ring_totals *ret_totals);

#endif /* RING_READER_H */
