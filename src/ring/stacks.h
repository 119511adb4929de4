/* SPDX-License-Identifier: MIT */
/*
 * stacks.h - call stacks of events: how a process walks its own stack, and
 * where the frames are kept, once for each different stack.
 *
 * A slot with call stacks has, behind its rings, SONDE_STACKS_BYTES of address
 * space at slot.stacks_off (layout.h), sparse as all of the arena:
 *
 *	struct sonde_stacks			the head
 *	u32 bucket[SONDE_STACKS_BUCKETS]	numbers of stacks, by hash; 0: none
 *	u64 cache[SONDE_STACKS_CACHE]		rules of addresses, see below
 *	struct sonde_stacks_memo[SONDE_STACKS_MEMOS]	walks, see memo.c
 *	struct sonde_stacks_entry[SONDE_STACKS_MAX]	each with `depth` frames
 *	SONDE_STACKS_TABLES bytes		tables, which the recorder makes
 *
 * An event of the slot has, between its header and its payload, the number of
 * its stack, 32 bits: i + 1 for stack i; 0 if it was not kept.
 *
 * Writers: a stack that no bucket has gets the next place (adding to nr_used),
 * is written there, published by its `state`, and found by others when a bucket
 * has its number (compare-and-swap). Two threads may publish the same stack at
 * the same time: one place is wasted. A thread that is killed in between leaves
 * a place that is never published. Nothing is changed after that, or freed. When
 * there are no places, or a stack's buckets are full, events have number 0, and
 * nr_lost counts them.
 *
 * Walking: from an event's site outwards, at most `depth` frames. The next frame
 * is found by the table of the file that the address is in (made of the file's
 * .eh_frame, see struct sonde_stacks_row); where that says nothing, by the frame
 * pointer. Every word that is read lies between the thread's stack pointer and
 * the top of its stack, which is mapped as long as the thread runs:
 *
 *  - the first thread's stack ends at `main_top`, which the recorder knows; no
 *    other mapping lies within SONDE_STACKS_MAIN_SPAN below it (the kernel
 *    leaves a gap of 128 MiB there);
 *  - another thread's stack ends at its thread pointer, if the C library's
 *    structure there says that the stack pointer is in it.
 *
 * So a walk can't fault, whatever the stack holds. On any other stack
 * (sigaltstack, coroutines) the first frame is all there is. Bounded: depth
 * frames, some 15 steps each. No system call, no lock, no allocation; async-
 * signal-safe.
 *
 * A frame is the address that a call returns to, or, with SONDE_FRAME_EXACT, the
 * address of the next instruction itself: of an interrupted frame, or of a probe.
 *
 * Most events come from where others came: a walk that reads the same words as
 * one before is recognized by them, and is not made (memo.c).
 *
 * The cache has rules of return addresses: address << 16 | rule in 16 bits: bit 0
 * the CFA's base, bits 1..10 its distance, bits 11..15 where the frame pointer is,
 * 31: lost. The distance is 1 at least: other rules have 0. Any
 * thread may write any word at any time, each is whole. The recorder empties it,
 * and the memos, after it has published other tables.
 *
 * Trust: as in layout.h. The recorder takes all of it for hostile.
 */
#ifndef RING_STACKS_H
#define RING_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/port.h"

#define SONDE_STACKS_DEPTH_MAX     64u
#define SONDE_STACKS_DEPTH_DEFAULT 16u
#define SONDE_STACKS_MAX           (1u << 16)
#define SONDE_STACKS_BUCKETS       (1u << 17)
#define SONDE_STACKS_PROBES        64u
#define SONDE_STACKS_CACHE         4096u
#define SONDE_STACKS_MEMOS         1024u
#define SONDE_STACKS_WORDS         36u /* of a walk that is memorized */
#define SONDE_STACKS_TABLES        (32u << 20)
#define SONDE_STACKS_MAIN_SPAN     (64ull << 20)
/* Of a stack's number, in a record. */
#define SONDE_STACK_BYTES 4u

/* Why a stack has no more frames; 0: the last one has no caller. */
enum sonde_stacks_end {
	SONDE_STACK_WHOLE = 0,
	SONDE_STACK_DEEP = 1,    /* deeper than `depth` */
	SONDE_STACK_BROKEN = 2,  /* the next frame isn't known */
	SONDE_STACK_STRANGE = 3, /* it is not on its thread's stack */
};

#define SONDE_FRAME_EXACT (1ull << 63)
/* Clear in a frame of the kernel's, all of whose upper 16 bits are set, if it is
 * exact. */
#define SONDE_FRAME_KERNEL_EXACT (1ull << 62)

struct sonde_stacks_entry {
	uint32_t state; /* hash | 1, published last; 0: not there */
	uint16_t nr;
	uint16_t end; /* enum sonde_stacks_end */
	uint64_t frames[];
};

/*
 * Where code has rules: `nr` rows at 8 * `rows` from the head, for addresses
 * from begin on, ordered; a row's rule holds up to the next row's.
 */
struct sonde_stacks_range {
	uint64_t begin, end;
	uint32_t rows, nr;
};

/* How to get from a frame to its caller's. CFA: what the stack pointer was
 * before the call; the return address is right below it. */
struct sonde_stacks_row {
	uint32_t pc; /* from the range's begin */
	uint32_t rule;
};

/*
 * A rule:
 *	bits 0..1	kind
 *	bit 2		the CFA is from the frame pointer, or else from the
 *			stack pointer
 *	bits 3..10	the caller's frame pointer is at CFA - 8 * this; 0: it is
 *			the same; 255: it can't be known
 *	bits 11..31	the CFA's distance, in words
 */
enum sonde_stacks_kind {
	SONDE_UNWIND_NONE = 0,   /* not known */
	SONDE_UNWIND_CALL = 1,   /* as above */
	SONDE_UNWIND_SIGNAL = 2, /* the kernel's frame: struct ucontext */
	SONDE_UNWIND_END = 3,    /* there is no caller */
};
#define SONDE_UNWIND_LOST 255u
/* The file has no rule for this code, though it has for other code. */
#define SONDE_UNWIND_GAP 4u
#define SONDE_UNWIND_CALL_RULE(by_fp, fp_words, cfa_words)      \
	((uint32_t)SONDE_UNWIND_CALL | (uint32_t)(by_fp) << 2 | \
	 (uint32_t)(fp_words) << 3 | (uint32_t)(cfa_words) << 11)
#define SONDE_UNWIND_CFA_WORDS_MAX ((1u << 21) - 1)

struct sonde_stacks {
	uint32_t depth;
	uint32_t nr_used; /* may exceed SONDE_STACKS_MAX */
	uint64_t nr_lost;
	uint64_t main_top;     /* 0: not known */
	uint64_t ranges;       /* offset << 16 | number; published last */
	uint32_t block_offset; /* of the C library's structure; 0: not known */
	uint32_t reserved[7];
};

/* Words, and how many words from the stack pointer each is: 16 bits of `at`, of
 * which the highest is 0, the first word's the lowest. */
#define SONDE_STACKS_AT_ONCE 4u
#define SONDE_STACKS_AT_MAX  0x7fffu
struct sonde_stacks_words {
	uint64_t at;
	uint64_t words[SONDE_STACKS_AT_ONCE];
};

/*
 * A walk: where it began, what it read, and which stack it found. Of most, two
 * cache lines are read. They lie an odd number of lines apart: else those that
 * are read of all memos would share a few places of the CPU's cache.
 */
struct sonde_stacks_memo {
	uint32_t version; /* odd: it is being written */
	uint32_t number;
	uint64_t pc, sp; /* SONDE_FRAME_EXACT in pc, if it is */
	uint64_t fp;
	uint32_t fp_mask; /* UINT32_MAX: fp matters; or 0 */
	uint32_t nr;      /* words, a multiple of SONDE_STACKS_AT_ONCE */
	struct sonde_stacks_words
		read[SONDE_STACKS_WORDS / SONDE_STACKS_AT_ONCE];
	uint64_t reserved[6];
};

_Static_assert(SONDE_STACKS_WORDS % SONDE_STACKS_AT_ONCE == 0, "all of them");
_Static_assert(sizeof(struct sonde_stacks_memo) == 7 * 64, "ABI");
_Static_assert(sizeof(struct sonde_stacks) == 64, "ABI");
_Static_assert(sizeof(struct sonde_stacks_entry) == 8, "ABI");
_Static_assert(sizeof(struct sonde_stacks_range) == 24, "ABI");
_Static_assert(sizeof(struct sonde_stacks_row) == 8, "ABI");

#define SONDE_STACKS_BUCKETS_OFF sizeof(struct sonde_stacks)
#define SONDE_STACKS_CACHE_OFF \
	(SONDE_STACKS_BUCKETS_OFF + 4ull * SONDE_STACKS_BUCKETS)
#define SONDE_STACKS_MEMOS_OFF \
	(SONDE_STACKS_CACHE_OFF + 8ull * SONDE_STACKS_CACHE)
#define SONDE_STACKS_PLACES_OFF   \
	(SONDE_STACKS_MEMOS_OFF + \
	 SONDE_STACKS_MEMOS * sizeof(struct sonde_stacks_memo))

static inline uint64_t sonde_stacks_place_bytes(uint32_t depth)
{
	return sizeof(struct sonde_stacks_entry) + 8ull * depth;
}

/* From the head. */
static inline uint64_t sonde_stacks_tables_off(uint32_t depth)
{
	return SONDE_STACKS_PLACES_OFF +
	       SONDE_STACKS_MAX * sonde_stacks_place_bytes(depth);
}

static inline uint64_t sonde_stacks_bytes(uint32_t depth)
{
	return sonde_stacks_tables_off(depth) + SONDE_STACKS_TABLES;
}

static inline struct sonde_stacks_entry *
sonde_stacks_place(struct sonde_stacks *stacks, uint32_t depth, uint32_t i)
{
	unsigned char *places =
		(unsigned char *)stacks + SONDE_STACKS_PLACES_OFF;

	return (void *)(places + i * sonde_stacks_place_bytes(depth));
}

/* What a walk has read of the stack: words, and how many words from its begin.
 * More than SONDE_STACKS_WORDS: not all are here. */
struct sonde_stacks_trail {
	uint32_t nr;
	bool needs_fp; /* and the frame pointer that it began with */
	uint16_t at[SONDE_STACKS_WORDS];
	uint64_t words[SONDE_STACKS_WORDS];
};

/* Where a walk begins. */
struct sonde_stacks_from {
	uint64_t pc; /* where the call of ours returns to; or `is_exact` */
	uint64_t sp; /* after that */
	uint64_t fp;
	bool is_exact;
	/* Which memo is likely its, in one of the process's own; any number.
	 * It is written, too. NULL: nothing is guessed. */
	uint16_t *guess;
};

/*
 * Guesses: programs do what they did before, so a walk that begins where another
 * did, after the same stack in the thread, is likely to find what that one found.
 */
#define SONDE_STACKS_GUESSES 1024u

static inline uint32_t sonde_stacks_guess(const struct sonde_stacks_from *from,
					  uint32_t number_before)
{
	uint64_t hash =
		from->pc ^ from->sp << 16 ^ (uint64_t)number_before << 40;

	return (uint32_t)(hash * UINT64_C(0x9e3779b97f4a7c15) >> 54);
}

/* Of a function's __builtin_frame_address(0): where it was called. */
static inline struct sonde_stacks_from
sonde_stacks_from_frame(const void *frame)
{
	const uint64_t *words = frame;

	return (struct sonde_stacks_from){
		.pc = words[1],
		.sp = (uint64_t)(uintptr_t)(words + 2),
		.fp = words[0],
	};
}

/* Up to `depth` frames, the innermost first; their number. At least one, if
 * depth isn't 0. `trail`: NULL, or to be written. */
uint32_t sonde_stacks_walk(struct sonde_stacks *stacks,
			   const struct sonde_stacks_from *from,
			   uint64_t *frames, uint32_t depth,
			   enum sonde_stacks_end *ret_end,
			   struct sonde_stacks_trail *trail);

/* Where the stack ends that `sp` is on; 0: it isn't known. */
uint64_t sonde_stacks_top(struct sonde_stacks *stacks, uint64_t sp);

/* The number of a stack that was walked from there and is the same; 0: it isn't
 * known. */
uint32_t sonde_stacks_recall(struct sonde_stacks *stacks,
			     const struct sonde_stacks_from *from);
void sonde_stacks_memorize(struct sonde_stacks *stacks,
			   const struct sonde_stacks_from *from,
			   const struct sonde_stacks_trail *trail,
			   uint32_t number);

/* The number of a stack, which is kept if it is new; 0: no room, counted. */
uint32_t sonde_stacks_keep(struct sonde_stacks *stacks, const uint64_t *frames,
			   uint32_t nr, enum sonde_stacks_end end);

/* The same of a walk from there, which is memorized. */
uint32_t sonde_stacks_walk_and_keep(struct sonde_stacks *stacks,
				    const struct sonde_stacks_from *from);

/* Of either. */
static inline uint32_t sonde_stacks_number(struct sonde_stacks *stacks,
					   const struct sonde_stacks_from *from)
{
	uint32_t number = sonde_stacks_recall(stacks, from);

	return number ? number : sonde_stacks_walk_and_keep(stacks, from);
}

#endif /* RING_STACKS_H */
