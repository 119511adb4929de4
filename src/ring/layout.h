/* SPDX-License-Identifier: MIT */
/*
 * layout.h - the memory a traced process shares with its recorders, byte by
 * byte. Tracer and session meet here and nowhere else.
 *
 * The arena
 * ---------
 * A process owns one sparse memory file, the arena:
 *
 *	0			struct sonde_arena
 *	SONDE_STATES_OFF	u32 state[SONDE_EVENTS_MAX] (sonde/abi.h)
 *	SONDE_ENTRIES_OFF	struct sonde_entry entry[SONDE_EVENTS_MAX]
 *	SONDE_PAST_OFF		u32 past[SONDE_PAST_MAX]: below
 *	SONDE_SLOTS_OFF		struct sonde_slot slot[SONDE_SLOTS]
 *	SONDE_DESCS_OFF		descriptions, each at a multiple of 8
 *	SONDE_META_SPAN		the slots' rings, SONDE_SLOT_SPAN bytes of
 *				address space for each slot
 *
 * The file ends at SONDE_META_SPAN until a recorder makes it longer; the
 * process maps what is there when its recorder has answered (tracer/arena.c),
 * or at its first event for a recorder that came later (tracer/reach.h), and
 * touches nothing beyond SONDE_META_SPAN unless a slot is active. The file
 * is sealed against shrinking, so nobody can make the process fault. Children
 * of fork share the arena with their parent.
 *
 * Who has it: the open file that the process made, and its children share,
 * holds a lock (F_OFD_SETLK) on byte SONDE_LOCK_PROCESS; so does the recorder
 * of slot i, of an open file of its own, on byte SONDE_LOCK_SLOT + i. The
 * kernel drops them with the last reference.
 *
 * Events: a process reserves an entry by adding to nr_reserved, copies the
 * description, and publishes by setting entry.flags (release). A reserved
 * entry that is never published is dead; nobody emits it. nr_reserved may
 * exceed SONDE_EVENTS_MAX: the surplus was refused.
 *
 * A slot whose stacks_off isn't 0 has call stacks there, behind its rings; each
 * record then has a stack's number (u32) between header and payload, and behind that
 * what `contexts` says (contexts.h).
 *
 * A slot is claimed and configured by a recorder (state FREE -> CLAIMED ->
 * ACTIVE -> STOPPED, and from there to ACTIVE again: session/arena.h). ids[] says which event has which id in the slot's
 * streams: 0 if it isn't selected. Ids are handed out by whoever selects, from
 * next_id on (atomically), so an id is unique in its slot for ever. The recorder
 * starts next_id at 1 in compact and at SONDE_LARGE_FIRST_ID in large streams:
 * so the id alone tells the fast path which header to write. Id 0 is the
 * context record. An event that is selected no more has an entry in past[], by
 * which recorders know what older records with its id are: the slot in bits
 * 30..31, the event's index in 16..29, the id in 0..15; 0 ends the list. If it is
 * selected again, it has the same id.
 *
 * A ring
 * ------
 * Slot s has its part of the address space at SONDE_META_SPAN + s *
 * SONDE_SLOT_SPAN, which is also its ctl_off (the fast path counts on that).
 * Ring i of a slot: struct sonde_ring at slot.ctl_off + i * sizeof, and
 * nr_subbufs sub-buffers of subbuf_size bytes at slot.data_off + i *
 * nr_subbufs * subbuf_size. Rings 0 .. nr_cpus-1 belong to CPUs and are
 * written in restartable sequences; the nr_lanes rings after them are written
 * under `lock`.
 *
 * The commit word `w` says all there is to know, and one store of it commits
 * a record:
 *
 *	63      40 39      20 19       0
 *	+---------+----------+----------+
 *	|  rest   |   seq    |  count   |
 *	+---------+----------+----------+
 *
 *	rest	offset in the sub-buffer minus the sub-buffer's capacity, modulo
 *		2^24: negative while there is room, so that adding a record's
 *		size carries out of the word when it does not fit
 *	seq	sequence number of the sub-buffer, modulo 2^20
 *	count	events in the sub-buffer (context records don't count)
 *
 * w is 0 until the ring is opened. Sub-buffer seq lies at index seq modulo
 * nr_subbufs. Capacity is subbuf_size - SONDE_SUBBUF_SLACK.
 *
 * Invariants
 *  1. Bytes of the current sub-buffer below the offset in w are complete
 *     records in time order, and stay as they are until the ring has come
 *     round. So do the bytes below `prev_used` of the sub-buffer before.
 *  2. What lies beyond the offset is dirty: up to the end of the sub-buffer,
 *     and of the next one the head and its first two records.
 *  3. key != 0 implies: `end` belongs to the sub-buffer in w, in the mapping
 *     whose number is in key's bits 54..63; the last context record of the
 *     stream names the thread in its bits 32..53; and that record, or one
 *     after it, has a full time stamp whose bits 27..58 are key's lower half.
 *  4. A stream's first record in each sub-buffer is a context record.
 *  5. In discard mode, seq < the greatest limit so far, for all that were opened.
 *
 * Records (all streams): a header, then the packed payload.
 *
 *	compact stream	u32: id in bits 0..4 (0..30), time in bits 5..31; or
 *			u8 31, u32 id, u64 time
 *	large stream	u16 id (0..65534), u32 time; or u16 65535, u32 id,
 *			u64 time
 *
 * Short times are the low bits of the clock. The context record has id 0, a
 * full time stamp, and the payload u32 tid, u32 pid.
 *
 * Counting
 * --------
 * A slot whose mode is SONDE_COUNT has no rings and no control blocks. Where the
 * sub-buffers of ring i would be lies row i: one u64 for each entry, the event's
 * cell. Rows 0 .. nr_cpus-1 are added to on their CPU, in restartable sequences;
 * the row after them atomically, where that can't be. An event's count is the
 * sum of its cells, modulo 2^64. A cell never decreases, whoever records.
 *
 * Tallying
 * --------
 * A slot whose mode is SONDE_TALLY counts by keys, and how values are spread. Its
 * rows are divided into nr_subbufs cells of subbuf_size bytes, of u64 each
 * (`enum sonde_cells_word`); cell k is of the key in entry k of the directory,
 * which is in the row behind the atomic one. Cell 0 is of no key. What is to be
 * computed of an event comes with its condition (filters.h).
 *
 * A key is the event's entry and up to two numbers. A thread that meets a new one
 * takes a free entry (compare-and-swap), writes the key and publishes it
 * (release). Whoever meets an entry that is taken and not published passes over
 * it, so a key may have several entries: its count is the sum of them. One that is
 * never published has nothing in its cell. Where SONDE_TALLY_PROBES entries are
 * others', the event goes into cell 0.
 *
 * Trust: a recorder takes every value below for hostile (ring/reader.h). A
 * process trusts its own arena and whoever could attach to it.
 */
#ifndef RING_LAYOUT_H
#define RING_LAYOUT_H

#include <stdint.h>

#include "ring/stacks.h"

/* What its file is called in a directory, before a number (hello.h). */
#define SONDE_ARENA_FILE    "sonde-arena."
#define SONDE_ARENA_MAGIC   0x616e657261444e53ull /* "SNDarena" */
#define SONDE_ARENA_VERSION 1u

#define SONDE_LOCK_PROCESS  0
#define SONDE_LOCK_SLOT     1

#define SONDE_EVENTS_MAX    16384u
#define SONDE_SLOTS         4u
#define SONDE_RULES_MAX     3056u

/* Address space, not memory. */
#define SONDE_META_SPAN (2ull << 20)
#define SONDE_SLOT_SPAN (512ull << 20)
/* Where things lie in the first SONDE_META_SPAN bytes. A process may trust the
 * offsets in its own struct sonde_arena; a recorder uses these. */
#define SONDE_STATES_OFF  4096ull
#define SONDE_ENTRIES_OFF (SONDE_STATES_OFF + 4ull * SONDE_EVENTS_MAX)
#define SONDE_PAST_OFF    (SONDE_ENTRIES_OFF + 16ull * SONDE_EVENTS_MAX)
#define SONDE_PAST_MAX    3072u
#define SONDE_SLOTS_OFF   (336ull << 10)
#define SONDE_DESCS_OFF   (480ull << 10)
#define SONDE_DESCS_SIZE  (SONDE_META_SPAN - SONDE_DESCS_OFF)
#define SONDE_ARENA_SPAN  (SONDE_META_SPAN + SONDE_SLOTS * SONDE_SLOT_SPAN)

#define SONDE_SUBBUF_MIN  4096u
#define SONDE_SUBBUF_MAX  (4u << 20)
#define SONDE_SUBBUFS_MIN 2u
#define SONDE_SUBBUFS_MAX 4096u

/* Bytes of a sub-buffer's head, and bytes kept free at its end so that the
 * fast path may store whole blocks. */
#define SONDE_SUBBUF_HEAD       64u
#define SONDE_SUBBUF_SLACK      64u

#define SONDE_W_REST_SHIFT      40
#define SONDE_W_SEQ_SHIFT       20
#define SONDE_W_SEQ_MASK        0xfffffull
#define SONDE_W_COUNT_MASK      0xfffffull

#define SONDE_COMPACT_TIME_BITS 27
#define SONDE_COMPACT_ESCAPE    31u
#define SONDE_LARGE_ESCAPE      65535u
#define SONDE_CONTEXT_ID        0u
#define SONDE_LARGE_FIRST_ID    32u

/* Sizes of record headers. */
#define SONDE_HEAD_COMPACT      4u
#define SONDE_HEAD_COMPACT_FULL 13u
#define SONDE_HEAD_LARGE        6u
#define SONDE_HEAD_LARGE_FULL   14u

/* Why a process that shares the arena is not recorded from here on. */
enum sonde_leave_why {
	SONDE_LEAVE_NONE = 0,        /* not published, or it stayed */
	SONDE_LEAVE_CLOCK = 1,       /* it turns the time stamp counter off */
	SONDE_LEAVE_STRICT = 2,      /* so does seccomp's strict mode */
	SONDE_LEAVE_MACHINE = 3,     /* becomes a program of another class */
	SONDE_LEAVE_LIBC = 4,        /* ... of another C library */
	SONDE_LEAVE_SANITIZER = 5,   /* ... whose runtime must come first */
	SONDE_LEAVE_ENVIRONMENT = 6, /* starts one without our variables */
};

struct sonde_leave {
	uint32_t pid;
	uint32_t why;  /* enum sonde_leave_why; published last */
	char name[24]; /* of what it becomes, or empty; NUL at its end */
};

#define SONDE_LEAVES  64u
#define SONDE_REACHES 128u

struct sonde_arena {
	uint64_t magic;
	uint32_t version;
	uint32_t pid; /* who created it */
	uint32_t nr_reserved;
	uint32_t writer;     /* enum sonde_writer_kind */
	uint64_t descs_used; /* bytes reserved; may exceed SONDE_DESCS_SIZE */
	uint64_t mapped;     /* bytes of the file that the process can reach */
	uint64_t refused;   /* sites that did not fit or had bad descriptions */
	uint32_t nr_leaves; /* may exceed SONDE_LEAVES: those are not told */
	uint32_t abilities; /* SONDE_ARENA_CAN_*; 0 in older arenas */
	struct sonde_leave leaves[SONDE_LEAVES];
	/* Mappings of rings made late (tracer/reach.h): those that have no
	 * place in `reaches`, and processes that tried, and could not. */
	uint32_t nr_reaches;
	uint32_t nr_unreached;
	uint64_t reaches[SONDE_REACHES]; /* address and size; 0: free */
	char name[32]; /* of the program, when it began; maybe without NUL */
	/* Of a file that outlives its processes: the boot whose clock its times
	 * are of, written by recorders. */
	uint8_t boot[16];
	/* Threads without a counter that was asked for (tracer/counters.h). */
	uint32_t nr_uncounted;
	uint32_t reserved;
};

/* Each process that shares the arena maps the rings when its first event finds
 * that it hasn't, and its fast path knows of none until then. */
#define SONDE_ARENA_CAN_REACH 1u
/* Nor is it the process's own: a tool made it, for the events of its probes, and
 * it is of no use to any recording but the one that it was made for. */
#define SONDE_ARENA_IS_ONCE 2u
/* Events may have call stacks (stacks.h). */
#define SONDE_ARENA_CAN_STACK 4u
/* It knows slots that count. */
#define SONDE_ARENA_CAN_COUNT 8u
/* It knows SONDE_STATE_STACKED (control.h). */
#define SONDE_ARENA_CAN_STACK_FAST 16u
/* It knows slot.contexts. */
#define SONDE_ARENA_CAN_CONTEXT 32u
/* It knows SONDE_STATE_SLOTS (control.h). */
#define SONDE_ARENA_CAN_SEVERAL 64u
/* Among contexts, it knows counters of the CPU's. */
#define SONDE_ARENA_CAN_COUNTER 128u
/* For as many CPUs. */
#define SONDE_CLOSED_RINGS 1024u

_Static_assert(sizeof(struct sonde_arena) <= SONDE_STATES_OFF,
	       "the header has one page");

enum sonde_writer_kind {
	SONDE_WRITER_RSEQ =
		1, /* per-CPU rings, lanes when a range is starved */
	SONDE_WRITER_LANES = 2, /* lanes only */
	SONDE_WRITER_NONE = 3,  /* it can't read the clock: no events */
};

/* One event. `flags` is 0 until the entry is published. */
struct sonde_entry {
	uint64_t desc_off; /* from the start of the arena */
	uint32_t desc_size;
	uint32_t flags; /* SONDE_ENTRY_* */
};
#define SONDE_ENTRY_READY 1u
/* Another description has this name: the event is refused, and the entry is
 * there so that a recorder can say so. */
#define SONDE_ENTRY_CONFLICT 2u
/* Only a name somebody asks about (sonde_event_enabled); not an event. */
#define SONDE_ENTRY_REFERENCE 4u
/* Slot 0 has a condition for it, which the fast path doesn't know; set by the
 * process when it has the condition (tracer/filters.c). */
#define SONDE_ENTRY_FILTERED 8u
/* Another form of the event that has its name and isn't one of these: with an
 * address as a number (types/origins.h). */
#define SONDE_ENTRY_FORM       16u
#define SONDE_ENTRY_HASH_SHIFT 8 /* bits 8..31: hash of the names */

enum sonde_slot_state {
	SONDE_SLOT_FREE = 0,
	SONDE_SLOT_CLAIMED = 1,
	SONDE_SLOT_ACTIVE = 2,
	SONDE_SLOT_STOPPED = 3,
};

/* A slot that is active and has no recorder waits for one that goes on with its
 * session: it isn't another's while there is a free one. */
#define SONDE_SLOT_KEEP 1u
/* Its events are only listened to; another slot of the session records them. */
#define SONDE_SLOT_LISTENS 2u
/* It is stopped, and its recorder has read it to its end. */
#define SONDE_SLOT_READ      3u

#define SONDE_RESIDENT_RINGS 0xffffffu
#define SONDE_RESIDENT_SHIFT 24
enum sonde_slot_resident {
	SONDE_RESIDENT_ASKED = 0, /* or nobody asks, for 0 rings */
	SONDE_RESIDENT_LOCKED = 1,
	SONDE_RESIDENT_THERE = 2, /* all pages are; they may not be locked */
	SONDE_RESIDENT_REFUSED = 3,
};

enum sonde_ring_mode {
	SONDE_DISCARD = 0,
	SONDE_OVERWRITE = 1,
	SONDE_COUNT = 2, /* no rings: events are counted */
	SONDE_TALLY = 3, /* the same, by keys and values */
};

/* Bytes of a row of cells, and its share of a slot's geometry. */
#define SONDE_CELLS_ROW         (8u * SONDE_EVENTS_MAX)
#define SONDE_CELLS_ROW_SUBBUFS (SONDE_CELLS_ROW / SONDE_SUBBUF_MIN)

#define SONDE_TALLY_KEYS        2u
#define SONDE_TALLY_PROBES      16u
#define SONDE_TALLY_CELLS_MIN   4u
#define SONDE_TALLY_CELLS_MAX   65536u
/* Bytes of a cell, a power of two; the second has room for all bins. */
#define SONDE_TALLY_CELL        64u
#define SONDE_TALLY_CELL_VALUES 16384u

/* Words of a cell. Without a value a cell has the first of them. */
enum sonde_cells_word {
	SONDE_TALLY_COUNT = 0, /* without a value; in cell 0: no room */
	SONDE_TALLY_SUM = 1,   /* modulo 2^64; in cell 0: events without it */
	/* The greatest of the values and of their complements, as unsigned
	 * numbers with the sign's bit flipped; 0 is INT64_MIN, and is none. */
	SONDE_TALLY_GREATEST = 2,
	SONDE_TALLY_LEAST = 3,
	SONDE_TALLY_WORDS = 8, /* the bins begin (base/bins.h) */
};

struct sonde_cells_entry {
	uint32_t state; /* enum sonde_cells_state */
	uint32_t index; /* of the event's entry */
	uint64_t keys[SONDE_TALLY_KEYS];
	uint64_t reserved;
};

enum sonde_cells_state {
	SONDE_TALLY_FREE = 0,
	SONDE_TALLY_TAKEN = 1,
	SONDE_TALLY_READY = 2,
};

enum sonde_header_kind {
	SONDE_COMPACT = 0,
	SONDE_LARGE = 1,
};

enum sonde_clock_kind {
	SONDE_CLOCK_CPU = 0,       /* TSC, CNTVCT */
	SONDE_CLOCK_MONOTONIC = 1, /* CLOCK_MONOTONIC in ns */
};

/*
 * A session's slot. The recorder writes all but next_id, ids[] and the lost_
 * counters before it sets state to ACTIVE (release).
 *
 * rules: NUL-terminated strings one after the other, an empty one at the end;
 * each '+' or '-' and a glob over "provider:event". An event is selected if
 * its level is <= loglevel, some '+' rule matches it and no '-' rule does.
 */
struct sonde_slot {
	uint32_t state;  /* enum sonde_slot_state */
	uint32_t mode;   /* enum sonde_ring_mode */
	uint32_t header; /* enum sonde_header_kind */
	uint32_t clock;  /* enum sonde_clock_kind */
	uint32_t nr_cpus;
	uint32_t nr_lanes;
	uint32_t subbuf_size;
	uint32_t nr_subbufs;
	uint64_t ctl_off;  /* from the start of the arena */
	uint64_t data_off; /* from the start of the arena */
	uint64_t session;  /* the recorder's name for the session */
	uint32_t next_id;
	uint32_t loglevel;
	uint64_t lost_contended; /* events: every ring was busy */
	uint64_t lost_late;      /* events: more ids than a stream can have */
	uint64_t filters; /* 0: no conditions; else for who asks (filters.h) */
	uint64_t keep;    /* SONDE_SLOT_KEEP, _LISTENS, _READ or 0 */
	char rules[SONDE_RULES_MAX];
	uint64_t stacks_off; /* 0: no call stacks (stacks.h) */
	uint16_t stacks_depth;
	uint16_t
		contexts; /* with call stacks: bits of enum sonde_ring_context */
	/* Rings, from the first on, that the process is to make resident when it
	 * maps them at its start: SONDE_RESIDENT_RINGS. Above that the process
	 * says what became of it: enum sonde_slot_resident. */
	uint32_t resident;
	uint16_t ids[SONDE_EVENTS_MAX];
};

struct sonde_ring {
	/* the writer's line */
	uint64_t w;
	uint64_t key;
	uint64_t end; /* address, in the process, of the capacity's end */
	uint64_t reserved0[5];
	/* the slow path's and the reader's line */
	uint64_t limit;          /* written by the recorder, see invariant 5 */
	uint64_t discarded_full; /* events: no free sub-buffer */
	uint64_t discarded_size; /* events: larger than a sub-buffer takes */
	uint64_t reserved1;
	uint32_t lock; /* lanes: tid of the holder */
	uint32_t reserved2[7];
};

struct sonde_subbuf {
	uint64_t seq;       /* whole */
	uint64_t ts_begin;  /* clock when it was opened */
	uint64_t events;    /* in all sub-buffers before this one */
	uint64_t discarded; /* full + size, when it was opened */
	uint64_t prev_used; /* content end of the one before, an offset */
	uint64_t reserved[3];
};

_Static_assert(SONDE_PAST_OFF + 4ull * SONDE_PAST_MAX <= SONDE_SLOTS_OFF,
	       "ABI");
_Static_assert(SONDE_SLOTS_OFF + SONDE_SLOTS * sizeof(struct sonde_slot) <=
		       SONDE_DESCS_OFF,
	       "ABI");
_Static_assert(sizeof(struct sonde_ring) == 128, "ABI");
_Static_assert(sizeof(struct sonde_subbuf) == SONDE_SUBBUF_HEAD, "ABI");
_Static_assert(sizeof(struct sonde_entry) == 16, "ABI");

/* Where a slot's memory ends in the arena; the caller trusts the slot. */
static inline uint64_t sonde_slot_end(const struct sonde_slot *slot)
{
	if (slot->stacks_off)
		return slot->stacks_off +
		       sonde_stacks_bytes(slot->stacks_depth);
	return slot->data_off + ((uint64_t)slot->nr_cpus + slot->nr_lanes) *
					slot->subbuf_size * slot->nr_subbufs;
}

/* Offset in its sub-buffer at which the next record goes. */
static inline uint32_t sonde_w_offset(uint64_t w, uint32_t subbuf_size)
{
	uint32_t rest = (uint32_t)(w >> SONDE_W_REST_SHIFT);

	return (rest + subbuf_size - SONDE_SUBBUF_SLACK) & 0xffffffu;
}

static inline uint32_t sonde_w_seq(uint64_t w)
{
	return (uint32_t)(w >> SONDE_W_SEQ_SHIFT) & SONDE_W_SEQ_MASK;
}

static inline uint32_t sonde_w_count(uint64_t w)
{
	return (uint32_t)(w & SONDE_W_COUNT_MASK);
}

static inline uint64_t sonde_w_make(uint32_t offset, uint32_t subbuf_size,
				    uint64_t seq, uint32_t count)
{
	uint64_t rest = (uint64_t)offset + SONDE_SUBBUF_SLACK - subbuf_size;

	return rest << SONDE_W_REST_SHIFT |
	       (seq & SONDE_W_SEQ_MASK) << SONDE_W_SEQ_SHIFT | count;
}

#endif /* RING_LAYOUT_H */
