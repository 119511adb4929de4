/* SPDX-License-Identifier: MIT */
/*
 * local.h - the ring of writers that can't be restarted: the kernel's.
 *
 * One ring belongs to one CPU. Its writers run on that CPU, with preemption
 * off, and may interrupt one another: thread, softirq, interrupt, NMI. They
 * nest like parentheses, which is all that is needed: atomicity with respect to
 * one's own CPU (no LOCK prefix), no interrupt disabled, no lock.
 *
 * ## Positions
 *
 * `pos` counts bytes that were reserved since the ring began (plus a start value
 * that tests choose). It only grows, by compare-and-swap, and never wraps within
 * 64 bits; what is derived from it is masked. Sub-buffer number n (from 0)
 * takes [n * size, (n + 1) * size) of it; it is number `index` = n modulo
 * nr_subbufs of the table, in lap n / nr_subbufs. Records never cross a
 * sub-buffer, and leave at least its last byte: what is left at its end is
 * committed by who closes it, so there is always something for him to commit.
 *
 * ## Reserve, write, commit
 *
 * A writer reads `pos`, then `last`, then the clock, and swaps `pos` for the
 * end of its record; if the swap fails, somebody nested has been here: again,
 * the clock included. So the order of times is the order of positions. It
 * writes, then adds what it reserved to the sub-buffer's `commit`:
 *
 *	63      40 39                0
 *	+---------+------------------+
 *	| events  | bytes            |	both since the ring began
 *	+---------+------------------+
 *
 * so one addition commits bytes and counts the event. Bytes are exact modulo
 * 2^40. They carry into events, so events are exact only in the difference of
 * two such words as a whole: (commit - begin) >> 40 is the number of events in
 * a sub-buffer, whatever overflowed between. Invariants:
 *
 *  1. All that was reserved in sub-buffer n is committed if commit's bytes
 *     equal lap * size + (pos - n * size), both modulo 2^40, where commit is
 *     read (acquire) before pos, and pos lies in n; and it is full and whole
 *     if they equal (lap + 1) * size.
 *  2. Before 'full' or 'busy' is said, pos is read again and must be what it
 *     was: else somebody nested has moved on, and what was found out is stale.
 *  3. A writer enters sub-buffer n only if commit of its index says that the
 *     one a lap before is whole. Else a writer that this one interrupts may
 *     still have a record there: the event is lost, and counted (lost_busy);
 *     or a writer died there, see below.
 *  4. `last` is the time of the last record, or earlier: it is stored after the
 *     swap, so a store may come late, never early. A record that is 2^32 ticks
 *     or more after it has a long header, so times never decode wrongly. The
 *     first record of a sub-buffer is short: its time is ts_begin.
 *  5. emitted = committed + lost_full + lost_size + lost_busy + unfinished;
 *     and, when no writer runs, committed = delivered + overwritten +
 *     lost_damaged + yet to be read. Unfinished are the events whose writers
 *     died in them. `damaged` and `abandoned` count sub-buffers with, as a
 *     rule, one each: so unfinished is said to be their sum.
 *
 * ## A new sub-buffer
 *
 * One swap of `pos` ends sub-buffer n, enters n + 1 and reserves the first
 * record there. Whose swap it was owns two things that nobody else commits: the
 * rest of n, and that record. So it alone writes, after the swap, ts_end,
 * discarded and used of n, and then commits the rest; and ts_begin of n + 1,
 * and then commits the record. No reader looks at them before those commits,
 * and no writer can come round to n or n + 1 before them (3).
 * `begin` of n + 1 is the commit word that (3) looked at: nested writers may
 * commit there as soon as it is entered. It is there before the swap of pos:
 * whoever is about to enter exchanges that of the lap before, which its bytes
 * tell from any other, for the new one.
 *
 * Where a writer stands with an offset of 0 (start, flush), the next one is
 * entered the same way, and there is nothing to end.
 *
 * ## Discard and overwrite
 *
 * Discard: `consumed` (a position, moved by the reader) bounds the writers:
 * sub-buffer n is entered only if n * size - consumed < size * nr_subbufs. Index
 * i has memory i for ever.
 *
 * Overwrite: writers go round; whoever enters a sub-buffer decides that what is
 * in it is lost, or finds that the reader has taken it. The word `ref` of each
 * index says which memory it has, and there is one memory more, the spare,
 * which the reader owns:
 *
 *	63                13 12       2 1 0
 *	+-------------------+----------+-+-+	w: a writer is inside
 *	| lap, modulo 2^51  | memory   |u|w|	u: the reader did not take it
 *	+-------------------+----------+-+-+
 *
 *	enter lap L		(L - 1, m, u, w) -> (L, m, 1, 1)	a writer
 *	commit the last byte	(L, m, 1, 1) -> (L, m, 1, 0)		a writer
 *	take			(L, m, 1, 0) -> (L, spare, 0, 0)	the reader
 *
 *  6. The first is done, by whoever comes first, before the swap of pos that
 *     enters lap L; it is the only one of the writers' steps that another CPU
 *     competes for, so the only LOCKed one (once per sub-buffer, overwrite mode
 *     only). If u was set, what is overwritten is counted by who did it: so
 *     each sub-buffer's events are either delivered or overwritten, once.
 *  7. While a record of lap L is not committed, w is set and m stays: a writer
 *     that has reserved finds its memory in the word.
 *  8. The fields of an index belong to lap L from the commits that publish them
 *     until the word is no longer at L: what the reader has read before it
 *     takes a sub-buffer is right if the swap succeeds, else forgotten.
 *
 * So a reader is never waited for and never pushed by hand: it finds that the
 * lap is another, and goes on to the oldest sub-buffer that there is. A writer
 * that prepares (6) and then finds room where it was costs nobody more than
 * the sub-buffer that would have been next.
 *
 * ## Writers that die
 *
 * A thread that oopses in what it records never commits: its sub-buffer will
 * never be whole. An interrupted one will; how the two are told apart:
 *
 *  9. `over` is a position. Whoever reserved below it has ended or is dead: what
 *     is not committed there never will be, and nothing is stored there.
 *
 * It is moved where a sub-buffer ends, and where an event is lost, by a writer
 * that knows it for one of two reasons:
 *
 *	it is alone: it interrupts no writer, so all that reserved before the
 *	position that it read are over;
 *	the epoch is another than at an earlier visit: the CPU has changed from
 *	one task to another since then, and no writer lives through that. So
 *	over is where that visit stood. (seen_pos, seen_epoch) is what it left:
 *	written epoch first and read pos first, so that who is interrupted
 *	within, or dies there, can but leave or find a pos that is too low.
 *
 * And by sonde_local_quiet(), when no writer runs.
 *
 * A sub-buffer that ends at or below over and is not whole is damaged. Nobody
 * knows where in it the hole is, so nothing more of it is read than was:
 *
 * 10. The reader passes a damaged sub-buffer: it takes it as it would take a
 *     whole one, but delivers nothing, and counts the events that were committed
 *     in it and not delivered (lost_damaged), and it (damaged). In discard mode,
 *     if it has delivered a beginning, it ends it with an empty chunk.
 * 11. A writer that comes round to a damaged sub-buffer commits what is missing
 *     in the dead one's place, as bytes without an event, by a swap, so that it
 *     is done once; and enters. In overwrite mode it makes the exchange (6)
 *     before that: a reader never sees the bytes made up while the word is at
 *     that lap.
 * 12. The reader reads over before it reads commit: what it misses then is
 *     missing for good.
 *
 * What remains: events are lost (lost_busy) from when the ring has come round
 * until a writer is alone or the CPU has changed tasks. A writer that dies
 * between an exchange (6) and its count leaves that sub-buffer's events
 * uncounted; one that dies in leave() may leave a packet without a good end
 * time (its end is the time of the last record then). Neither touches anything
 * but the ring itself.
 *
 * ## Cost
 *
 * Reserve and commit are forty-odd instructions, inline, no locked one; what is
 * not usual (a new sub-buffer, a long time, a lost swap, a loss) is one function
 * out of line. The kernel's figures: docs/kernel.md.
 *
 * Freestanding: the kernel's module, the unit tests and the models' authors read
 * the same file. The includer of the writer's half defines, before it includes
 * this file,
 *
 *	SONDE_LOCAL_NOW(ring)		the time, a uint64_t that never goes back
 *					on a CPU; read where it stands
 *	SONDE_LOCAL_IS_ALONE(ring)	true only if the caller, a writer,
 *					interrupts no other writer of this CPU
 *	SONDE_LOCAL_EPOCH(ring)		a uint64_t that is the same for all that
 *					interrupt one another, and another one
 *					after the CPU changed tasks (or the
 *					same: then it's no proof)
 *	SONDE_LOCAL_TESTPOINT(name)	if wanted: runs at each structural step
 *
 * and ring/local.c is compiled with the same definitions: the module's build
 * has the compiler include them first, a test includes it. Switches
 * SONDE_LOCAL_BUG_... break one thing each, so that tests can be seen to fail:
 *
 *	STORE	a plain store for the compare-and-swap
 *	RECHECK	'full' and 'busy' are said of what may be stale (2)
 *	COMMIT	a long header is reserved, but not committed
 *	BUSY	the reader takes what a writer is in
 *	WRAP	commit's bytes are thought not to wrap
 *	CLOCK	a writer that starts again keeps its time
 *	STUCK	nobody is ever taken for dead
 *	HASTE	who is not done is taken for dead
 *	RESYNC	a damaged sub-buffer is made whole before the exchange (11)
 *	BARRIER	a commit does not come after the record (weakly ordered CPUs;
 *		on others TSan and the models see it)
 *
 * Source of the algorithm: M. Desnoyers, "Low-Impact Operating System Tracing"
 * (2009), chapters 5 and 6; ours differs in that one counter holds bytes and
 * events, and that prefixes of a sub-buffer are readable.
 */
#ifndef RING_LOCAL_H
#define RING_LOCAL_H

#include "base/port.h"
#include "ring/layout.h"

#define SONDE_LOCAL_COMMIT_BITS 40
#define SONDE_LOCAL_EVENT       (1ull << SONDE_LOCAL_COMMIT_BITS)
#define SONDE_LOCAL_BYTES_MASK  (SONDE_LOCAL_EVENT - 1)
#define SONDE_LOCAL_SUBBUFS_MAX 1024u

#define SONDE_LOCAL_WRITER      1ull /* w */
#define SONDE_LOCAL_UNREAD      2ull /* u */
#define SONDE_LOCAL_MEM_SHIFT   2
#define SONDE_LOCAL_MEM_MASK    0x7ffull
#define SONDE_LOCAL_LAP_SHIFT   13

/* The head of a record: layout.h's, and the context `tid`. */
#define SONDE_LOCAL_HEAD      (SONDE_HEAD_LARGE + 4u)
#define SONDE_LOCAL_HEAD_FULL (SONDE_HEAD_LARGE_FULL + 4u)

/* Where nothing else is wanted: a place that a debugger finds (port.h), but not
 * in the kernel, whose tools don't know the section. */
#ifndef SONDE_LOCAL_TESTPOINT
#ifdef __KERNEL__
#define SONDE_LOCAL_TESTPOINT(name) ((void)0)
#else
#define SONDE_LOCAL_TESTPOINT(name) SONDE_TESTPOINT(local_##name)
#endif
#endif

/* A word of the table and its commit counter, on one line. */
struct sonde_local_subbuf {
	uint64_t commit;
	uint64_t ref;
	uint64_t begin; /* `commit`, when it was entered; written before */
	/* Written by who entered it, before its first commit: */
	uint64_t ts_begin; /* time of its first record */
	uint64_t reserved;
	/* Written by who left it, before the commit of the rest: */
	uint64_t ts_end;    /* at or after its last record */
	uint64_t discarded; /* in the ring, when it was left */
	uint64_t used;      /* where records end, a position; the last */
} __attribute__((aligned(64)));

/* What the reader gets. */
struct sonde_local_chunk {
	uint32_t memory; /* the sub-buffer's place in `data`, in sub-buffers */
	uint32_t offset; /* of the bytes in it */
	uint32_t size;   /* may be 0 if `closed` */
	uint8_t first;   /* starts its sub-buffer */
	uint8_t closed;  /* ends it */
	uint16_t reserved;
	uint64_t seq; /* number of the sub-buffer */
	uint64_t ts_begin;
	uint64_t ts_end;    /* closed: else 0 */
	uint64_t events;    /* in this chunk */
	uint64_t discarded; /* so far, at least up to its last event */
};

struct sonde_local_ring {
	/* the writers' line; below `last` all is constant */
	uint64_t pos;
	uint64_t last;
	unsigned char *data; /* nr_subbufs memories, and the spare */
	struct sonde_local_subbuf *subbufs;
	uint32_t offset_mask; /* size of a sub-buffer - 1 */
	uint32_t mask;        /* nr_subbufs - 1 */
	uint32_t shift;       /* log2(size) */
	uint32_t laps;        /* log2(nr_subbufs) */
	uint32_t mode;        /* enum sonde_ring_mode */
	uint32_t clock;       /* for SONDE_LOCAL_NOW */
	uint64_t abandoned;   /* damaged sub-buffers that were overwritten */
	/* the slow path's line: writers write, anyone reads */
	uint64_t lost_full;
	uint64_t lost_size;
	uint64_t lost_busy;
	uint64_t overwritten; /* events that no reader got */
	uint64_t retries;     /* compare-and-swaps that failed */
	uint64_t over;        /* a position (9) */
	uint64_t seen_pos;
	uint64_t seen_epoch;
	/* the reader's; only it writes these */
	uint64_t consumed; /* discard mode: writers may write up to a lap on */
	uint64_t read_pos; /* where it reads */
	uint64_t read_events;    /* that it has had of this sub-buffer */
	uint64_t read_discarded; /* the most it has said so far */
	uint64_t delivered;      /* events, by put */
	uint64_t lost_damaged;   /* events that were committed for nothing */
	uint64_t damaged;        /* sub-buffers that the reader passed */
	uint32_t spare;          /* which memory it owns */
	uint32_t is_given;       /* `given` waits to be put */
	struct sonde_local_chunk given;
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct sonde_local_subbuf) == 64, "one line");

/* What a writer holds between reserve and commit. */
struct sonde_local_place {
	uint64_t *commit;
	uint64_t add; /* to *commit: bytes and one event */
	uint64_t pos; /* of the record's end */
};

/*
 * `data` has room for nr_subbufs + 1 sub-buffers, `subbufs` for nr_subbufs;
 * both are borrowed, and everything in *ring is set; `clock` to 0. Powers of two
 * within layout.h's limits, nr_subbufs <= SONDE_LOCAL_SUBBUFS_MAX. `start` is a
 * multiple of size * nr_subbufs: where pos starts.
 */
void sonde_local_init(struct sonde_local_ring *ring, void *data,
		      struct sonde_local_subbuf *subbufs, uint32_t subbuf_size,
		      uint32_t nr_subbufs, enum sonde_ring_mode mode,
		      uint64_t start);

/*
 * Closes the current sub-buffer if it has records, so that a reader in
 * overwrite mode can take it. On the ring's CPU, preemption off, interrupting
 * whom it may; or anywhere if no writer runs.
 */
void sonde_local_flush(struct sonde_local_ring *ring);

/*
 * No writer runs, and none comes before this has returned: whoever has not
 * committed by now is dead. So all that is whole can be read.
 */
void sonde_local_quiet(struct sonde_local_ring *ring);

/* ---- the reader: one at a time, any CPU ---- */

/*
 * Discard mode: what is committed and was not read, whole sub-buffers and the
 * finished part of the current one. Overwrite mode: the oldest whole
 * sub-buffer, exchanged for the spare; the current one only after a flush. 1
 * and a chunk, or 0. Asked again without put in between, it gives the same
 * chunk or, in discard mode, a longer one.
 */
int sonde_local_get(struct sonde_local_ring *ring,
		    struct sonde_local_chunk *ret_chunk);
/*
 * Done with it: in discard mode writers may have what was read to its end. 1;
 * or 0, and nothing has happened, if seq, offset and size aren't those of the
 * last chunk given: so a chunk that was in a stranger's hands may be passed.
 */
int sonde_local_put(struct sonde_local_ring *ring,
		    const struct sonde_local_chunk *chunk);

/* Events lost so far that writers count, all causes; what was overwritten is not
 * among them. A chunk's `discarded` has lost_damaged and damaged, too. */
uint64_t sonde_local_discarded(const struct sonde_local_ring *ring);

/* ---- private: what reserve and commit are made of ---- */

/* clang and gcc each say in their way that they build for TSan, which can't see
 * into assembly. */
#if defined(__SANITIZE_THREAD__)
#define SONDE_LOCAL_PORTABLE 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SONDE_LOCAL_PORTABLE 1
#endif
#endif

#if defined(__aarch64__)
/* The body of a compare-and-swap by exclusive loads and stores; whether they
 * order anything is in their names. */
#define SONDE_LOCAL_SWAP_(load, store)                                       \
	uint64_t seen;                                                       \
	uint32_t failed;                                                     \
                                                                             \
	__asm__ volatile(                                                    \
		"1: " load " %[seen], %[mem]\n"                              \
		"   cmp %[seen], %[old]\n"                                   \
		"   b.ne 2f\n"                                               \
		"   " store " %w[failed], %[new], %[mem]\n"                  \
		"   cbnz %w[failed], 1b\n"                                   \
		"2:"                                                         \
		: [seen] "=&r"(seen), [failed] "=&r"(failed), [mem] "+Q"(*p) \
		: [old] "r"(old), [new] "r"(new)                             \
		: "cc", "memory");                                           \
	return seen == old
#endif

/*
 * Atomic with respect to this CPU: true if *p was `old` and is now `new`.
 * Writes before it are not kept before it, unless the name says release.
 */
static inline int sonde_local_swap(uint64_t *p, uint64_t old, uint64_t new)
{
#if defined(SONDE_LOCAL_BUG_STORE)
	if (sonde_load_relaxed(p) != old)
		return 0;
	SONDE_LOCAL_TESTPOINT(torn);
	sonde_store_relaxed(p, new);
	return 1;
#elif defined(__x86_64__) && !defined(SONDE_LOCAL_PORTABLE)
	int is_done;

	__asm__ volatile("cmpxchgq %[new], %[mem]"
			 : "=@ccz"(is_done), [mem] "+m"(*p), "+a"(old)
			 : [new] "r"(new)
			 : "memory");
	return is_done;
#elif defined(__aarch64__) && !defined(SONDE_LOCAL_PORTABLE)
	SONDE_LOCAL_SWAP_("ldxr", "stxr");
#else
	return __atomic_compare_exchange_n(p, &old, new, 0, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
#endif
}

/*
 * Atomic with respect to this CPU: adds, and returns the sum. Release: what was
 * written before is seen by who sees the sum.
 */
static inline uint64_t sonde_local_add_release(uint64_t *p, uint64_t add)
{
#if defined(SONDE_LOCAL_BUG_BARRIER)
	return __atomic_add_fetch(p, add, __ATOMIC_RELAXED);
#elif defined(__x86_64__) && !defined(SONDE_LOCAL_PORTABLE)
	uint64_t was = add;

	/* Stores are seen in their order; the clobber tells the compiler. */
	__asm__ volatile("xaddq %[was], %[mem]"
			 : [was] "+r"(was), [mem] "+m"(*p)
			 :
			 : "cc", "memory");
	return was + add;
#elif defined(__aarch64__) && !defined(SONDE_LOCAL_PORTABLE)
	uint64_t sum;
	uint32_t failed;

	__asm__ volatile(
		"1: ldxr %[sum], %[mem]\n"
		"   add %[sum], %[sum], %[add]\n"
		"   stlxr %w[failed], %[sum], %[mem]\n"
		"   cbnz %w[failed], 1b"
		: [sum] "=&r"(sum), [failed] "=&r"(failed), [mem] "+Q"(*p)
		: [add] "r"(add)
		: "memory");
	return sum;
#else
	return __atomic_add_fetch(p, add, __ATOMIC_RELEASE);
#endif
}

/* What the slow path has reserved, in two registers; the commit of a record is
 * always that of a short one. payload NULL: lost. */
struct sonde_local_reserved {
	unsigned char *payload;
	uint64_t pos; /* of the record's end */
};

/* As reserve, for whatever is not usual. */
struct sonde_local_reserved
sonde_local_reserve_slow(struct sonde_local_ring *ring, uint32_t id,
			 uint32_t tid, uint32_t size);
/* The last byte of sub-buffer n has been committed. */
void sonde_local_whole(struct sonde_local_ring *ring, uint64_t n);

static inline struct sonde_local_subbuf *
sonde_local_at(const struct sonde_local_ring *ring, uint64_t pos)
{
	return &ring->subbufs[(pos >> ring->shift) & ring->mask];
}

/*
 * The address of a position that the caller has reserved, and not committed:
 * so the memory stays (invariant 7).
 */
static inline unsigned char *
sonde_local_address(const struct sonde_local_ring *ring,
		    const struct sonde_local_subbuf *subbuf, uint64_t pos)
{
	uint64_t memory =
		sonde_load_relaxed(&subbuf->ref) >> SONDE_LOCAL_MEM_SHIFT &
		SONDE_LOCAL_MEM_MASK;

	return ring->data + (memory << ring->shift) + (pos & ring->offset_mask);
}

#ifdef SONDE_LOCAL_NOW
/*
 * Reserves a record and writes its header (layout.h, large stream) and the
 * context `tid`. The payload, `size` bytes, goes to what is returned, at any
 * alignment; then commit. NULL: the event is lost, and counted. Any context,
 * preemption off, on the ring's CPU. `id` < SONDE_LARGE_ESCAPE.
 */
static inline __attribute__((always_inline)) unsigned char *
sonde_local_reserve(struct sonde_local_ring *ring, uint32_t id, uint32_t tid,
		    uint32_t size, struct sonde_local_place *ret_place)
{
	uint64_t bytes = (uint64_t)size + SONDE_LOCAL_HEAD;
	uint64_t pos = sonde_load_relaxed(&ring->pos);
	uint64_t end = pos + bytes;
	uint64_t last;
	uint64_t now;
	struct sonde_local_subbuf *subbuf;
	unsigned char *at;
	uint16_t short_id = (uint16_t)id;
	uint32_t time;
	struct sonde_local_reserved slow;

	SONDE_LOCAL_TESTPOINT(read);
	last = sonde_load_relaxed(&ring->last);
	/* Keeps the clock behind pos: the swap proves that no one was here. */
	sonde_barrier();
	now = SONDE_LOCAL_NOW(ring);
	/* Offset 0 has its predecessor in another sub-buffer. */
	if (sonde_unlikely(((pos - 1) ^ end) > ring->offset_mask ||
			   (now - last) >> 32))
		goto slow;
	SONDE_LOCAL_TESTPOINT(before_swap);
	if (sonde_unlikely(!sonde_local_swap(&ring->pos, pos, end))) {
		(void)sonde_local_add_release(&ring->retries, 1);
		goto slow;
	}
	SONDE_LOCAL_TESTPOINT(after_swap);
	sonde_store_relaxed(&ring->last, now);
	subbuf = sonde_local_at(ring, pos);
	at = sonde_local_address(ring, subbuf, pos);
	time = (uint32_t)now;
	__builtin_memcpy(at, &short_id, 2);
	__builtin_memcpy(at + 2, &time, 4);
	__builtin_memcpy(at + 6, &tid, 4);
	at += SONDE_LOCAL_HEAD;
	/* Nobody needs to ask whether that is NULL. */
	if (!at)
		__builtin_unreachable();
	goto out;
slow:
	/* Nothing's address is taken: all this lives in registers. */
	slow = sonde_local_reserve_slow(ring, id, tid, size);
	at = slow.payload;
	end = slow.pos;
	subbuf = sonde_local_at(ring, end);
out:
	ret_place->commit = &subbuf->commit;
	ret_place->add = bytes + SONDE_LOCAL_EVENT;
	ret_place->pos = end;
	return at;
}

static inline __attribute__((always_inline)) void
sonde_local_commit(struct sonde_local_ring *ring,
		   const struct sonde_local_place *place)
{
	uint64_t sum;

	SONDE_LOCAL_TESTPOINT(before_commit);
	/* Pairs with sonde_load_acquire in get_discard and with that of `ref`
	 * in take: the record is visible to who sees it committed. */
	sum = sonde_local_add_release(place->commit, place->add);
	SONDE_LOCAL_TESTPOINT(after_commit);
	if (sonde_unlikely(!(sum & ring->offset_mask)))
		sonde_local_whole(ring, place->pos >> ring->shift);
}
#endif /* SONDE_LOCAL_NOW */

#endif /* RING_LOCAL_H */
