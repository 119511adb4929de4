/* SPDX-License-Identifier: MIT */
/*
 * local.c - the ring of local.h: what is not usual, and the reader.
 *
 * Not a part of a library: it is compiled with its user's SONDE_LOCAL_NOW, so a
 * test includes it, and the module's build has its header included first.
 *
 * Layout, invariants and who may write what: local.h, whose numbers the
 * comments use. Functions of writers are called by any context of the ring's
 * CPU with preemption off, and are interrupted by themselves; those of the
 * reader by one thread at a time, on any CPU. Nothing waits: a writer starts
 * again only if another has got on meanwhile, a reader that meets a writer's
 * unfinished work comes back later.
 *
 * Orders, for CPUs that have no strong one of their own:
 *
 *	writer				reader
 *	record, fields; commit	->	commit (acquire); fields, records
 *	all of it; fence; w = 0	->	ref (acquire); fields
 *	all that will be; over	->	over (acquire); commit, ref, fields
 *	ref = lap L; fence; fields,	fields; fence; swap of ref fails
 *		pos		->	pos (acquire); ref
 *	consumed (acquire); records  <-	reads; consumed (release)
 */
#include "ring/local.h"

#ifndef SONDE_LOCAL_NOW
#error "the file that includes ring/local.c says what time it is"
#endif
#if !defined(SONDE_LOCAL_IS_ALONE) || !defined(SONDE_LOCAL_EPOCH)
#error "... and who interrupts whom"
#endif

#define LAP_MASK (~0ull >> SONDE_LOCAL_LAP_SHIFT)

enum outcome {
	AGAIN, /* somebody was faster: look anew */
	DONE,
	LOST,
	BUSY, /* the reader: not yet */
	GONE, /* the reader: never again */
};

/* What a writer asks for, and what it found when it looked. */
struct attempt {
	struct sonde_local_ring *ring;
	uint32_t id;
	uint32_t tid;
	uint32_t size;
	uint64_t pos;
	uint64_t last;
	uint64_t now;
	struct sonde_local_reserved reserved;
};

/*
 * As sonde_local_swap, but atomic with respect to all CPUs, and a full barrier
 * for what it says: true: what was before is before. The only LOCK there is.
 */
static int swap_shared(uint64_t *p, uint64_t old, uint64_t new)
{
#if defined(__aarch64__) && !defined(SONDE_LOCAL_PORTABLE)
	SONDE_LOCAL_SWAP_("ldaxr", "stlxr");
#else
	return __atomic_compare_exchange_n(p, &old, new, 0, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
#endif
}

static uint64_t offset_of(const struct sonde_local_ring *ring, uint64_t pos)
{
	return pos & ring->offset_mask;
}

/* The first sub-buffer that begins at `pos` or later. */
static uint64_t next_of(const struct sonde_local_ring *ring, uint64_t pos)
{
	return (pos + ring->offset_mask) >> ring->shift;
}

static uint64_t lap_of(const struct sonde_local_ring *ring, uint64_t n)
{
	return (n >> ring->laps) & LAP_MASK;
}

/* Invariant 1: `bytes` of sub-buffer n are committed, and so are all the laps
 * before. */
static int is_committed(const struct sonde_local_ring *ring, uint64_t n,
			uint64_t commit, uint64_t bytes)
{
	uint64_t want = ((n >> ring->laps) << ring->shift) + bytes;

#ifdef SONDE_LOCAL_BUG_WRAP
	return (commit & SONDE_LOCAL_BYTES_MASK) == want;
#else
	return !((commit - want) & SONDE_LOCAL_BYTES_MASK);
#endif
}

uint64_t sonde_local_discarded(const struct sonde_local_ring *ring)
{
	return sonde_load_relaxed(&ring->lost_full) +
	       sonde_load_relaxed(&ring->lost_size) +
	       sonde_load_relaxed(&ring->lost_busy);
}

void sonde_local_init(struct sonde_local_ring *ring, void *data,
		      struct sonde_local_subbuf *subbufs, uint32_t subbuf_size,
		      uint32_t nr_subbufs, enum sonde_ring_mode mode,
		      uint64_t start)
{
	*ring = (struct sonde_local_ring){
		.pos = start,
		.data = data,
		.subbufs = subbufs,
		.offset_mask = subbuf_size - 1,
		.mask = nr_subbufs - 1,
		.shift = (uint32_t)__builtin_ctz(subbuf_size),
		.mode = mode,
		.laps = (uint32_t)__builtin_ctz(nr_subbufs),
		.over = start,
		.seen_pos = start,
		.consumed = start,
		.read_pos = start,
		.spare = nr_subbufs,
	};
	for (uint32_t i = 0; i < nr_subbufs; i++) {
		uint64_t lap = start >> ring->shift >> ring->laps;
		uint64_t commit = (lap << ring->shift) & SONDE_LOCAL_BYTES_MASK;

		/* As if the laps before had been written and read. */
		subbufs[i] = (struct sonde_local_subbuf){
			.commit = commit,
			.begin = commit - subbuf_size,
			.ref = (lap - 1) << SONDE_LOCAL_LAP_SHIFT |
			       (uint64_t)i << SONDE_LOCAL_MEM_SHIFT,
		};
	}
}

/* ---- writers ---- */

/* A nested writer may have come round and entered the next lap: then the word
 * is his. */
void sonde_local_whole(struct sonde_local_ring *ring, uint64_t n)
{
	uint64_t *p = &sonde_local_at(ring, n << ring->shift)->ref;
	uint64_t ref = sonde_load_relaxed(p);

	if (ring->mode != SONDE_OVERWRITE ||
	    ref >> SONDE_LOCAL_LAP_SHIFT != lap_of(ring, n))
		return;
	SONDE_LOCAL_TESTPOINT(before_leave);
	/* Pairs with sonde_load_acquire of ref in take: the commits are visible
	 * to who sees w clear. The reader leaves the word alone while w is set,
	 * so a swap among writers will do. */
	sonde_fence_release();
	(void)sonde_local_swap(p, ref, ref & ~SONDE_LOCAL_WRITER);
}

/*
 * Ends the sub-buffer of `pos` there. The caller's swap has moved pos from
 * there to the sub-buffer's end or further, so the rest is his.
 */
static void leave(struct sonde_local_ring *ring, uint64_t pos, uint64_t now,
		  uint64_t discarded)
{
	struct sonde_local_subbuf *subbuf = sonde_local_at(ring, pos);
	uint64_t used = offset_of(ring, pos);
	uint64_t sum;

	SONDE_LOCAL_TESTPOINT(before_end);
	sonde_store_relaxed(&subbuf->ts_end, now);
	sonde_store_relaxed(&subbuf->discarded, discarded);
	/* Who finds this of this lap finds the two: if we die here, too. */
	sonde_barrier();
	sonde_store_relaxed(&subbuf->used, pos);
	SONDE_LOCAL_TESTPOINT(before_rest);
	/* Pairs with sonde_load_acquire of commit in get_discard and take: the
	 * three fields are visible to who sees the sub-buffer whole. */
	sum = sonde_local_add_release(&subbuf->commit,
				      1ull + ring->offset_mask - used);
	SONDE_LOCAL_TESTPOINT(after_rest);
	if (!offset_of(ring, sum))
		sonde_local_whole(ring, pos >> ring->shift);
}

/*
 * Overwrite mode: sub-buffer n is about to be entered, and `commit` says that
 * the lap before is whole. From here on no reader takes that one (6). Does
 * nothing if a nested writer has been here, or far beyond.
 */
static __attribute__((__noinline__)) void prepare(struct sonde_local_ring *ring,
						  uint64_t n, uint64_t commit)
{
	struct sonde_local_subbuf *subbuf =
		sonde_local_at(ring, n << ring->shift);
	uint64_t lap = lap_of(ring, n);
	uint64_t ref;
	uint64_t new;
	uint64_t events;

	do {
		/* Pairs with swap_shared in take: the reader has done with the
		 * memory that it hands over. */
		ref = sonde_load_acquire(&subbuf->ref);
		if (ref >> SONDE_LOCAL_LAP_SHIFT != ((lap - 1) & LAP_MASK))
			return;
		SONDE_LOCAL_TESTPOINT(before_exchange);
		/* Right if the swap succeeds: the word was at lap - 1 all the
		 * time, so nobody entered, and nothing was committed. */
		events = (commit - sonde_load_relaxed(&subbuf->begin)) >>
			 SONDE_LOCAL_COMMIT_BITS;
		new = lap << SONDE_LOCAL_LAP_SHIFT |
		      (ref & SONDE_LOCAL_MEM_MASK << SONDE_LOCAL_MEM_SHIFT) |
		      SONDE_LOCAL_UNREAD | SONDE_LOCAL_WRITER;
	} while (!swap_shared(&subbuf->ref, ref, new));
	SONDE_LOCAL_TESTPOINT(after_exchange);
	if (ref & SONDE_LOCAL_UNREAD) {
		(void)sonde_local_add_release(&ring->overwritten, events);
		if (!is_committed(ring, n, commit, 0))
			(void)sonde_local_add_release(&ring->abandoned, 1);
	}
	/* Pairs with sonde_fence_acquire in take and sonde_load_acquire of pos
	 * in get_overwrite: who sees a field of this lap, or pos in it, sees
	 * the word, too. */
	sonde_fence_release();
}

/*
 * Sub-buffer n will be entered by us or by who interrupts us: its `begin` is
 * `commit`. Done by who finds that of the lap before; if another has been here,
 * or far beyond, it isn't.
 */
static void prepare_begin(struct sonde_local_ring *ring, uint64_t n,
			  uint64_t commit)
{
	struct sonde_local_subbuf *subbuf =
		sonde_local_at(ring, n << ring->shift);
	uint64_t begin = sonde_load_relaxed(&subbuf->begin);

	SONDE_LOCAL_TESTPOINT(before_begin);
	if (is_committed(ring, n, begin, 0ull - 1 - ring->offset_mask))
		(void)sonde_local_swap(&subbuf->begin, begin, commit);
}

/* ---- writers that died ---- */

/* A writer that has read `pos` is here: what it knows (9). */
static void note_over(struct sonde_local_ring *ring, uint64_t pos)
{
	uint64_t seen;
	uint64_t epoch;

	if (SONDE_LOCAL_IS_ALONE(ring)) {
		/* Pairs with sonde_load_acquire in is_over: all that will ever
		 * be committed below is visible. */
		sonde_store_release(&ring->over, pos);
		return;
	}
	epoch = SONDE_LOCAL_EPOCH(ring);
	seen = sonde_load_relaxed(&ring->seen_pos);
	SONDE_LOCAL_TESTPOINT(seen_read);
	sonde_barrier();
	if (sonde_load_relaxed(&ring->seen_epoch) == epoch)
		return;
	SONDE_LOCAL_TESTPOINT(before_over);
	/* Pairs with sonde_load_acquire in is_over, likewise. */
	sonde_store_release(&ring->over, seen);
	sonde_store_relaxed(&ring->seen_epoch, epoch);
	SONDE_LOCAL_TESTPOINT(before_seen);
	sonde_barrier();
	sonde_store_relaxed(&ring->seen_pos, pos);
}

/* Whether all who reserved in sub-buffer n have ended or are dead. */
static int is_over(const struct sonde_local_ring *ring, uint64_t n)
{
#if defined(SONDE_LOCAL_BUG_STUCK)
	(void)ring;
	(void)n;
	return 0;
#elif defined(SONDE_LOCAL_BUG_HASTE)
	return (int64_t)(sonde_load_relaxed(&ring->pos) -
			 ((n + 1) << ring->shift)) >= 0;
#else
	/* Pairs with sonde_store_release in note_over and sonde_local_quiet:
	 * what a commit word doesn't have then, it will never have. */
	return (int64_t)(sonde_load_acquire(&ring->over) -
			 ((n + 1) << ring->shift)) >= 0;
#endif
}

/*
 * A writer wants to enter sub-buffer n, and the lap before is not whole by
 * `commit`. If a dead one is why, commits in his place (11). True: look anew.
 */
static int revive(struct sonde_local_ring *ring, uint64_t n, uint64_t commit)
{
	struct sonde_local_subbuf *subbuf =
		sonde_local_at(ring, n << ring->shift);
	uint64_t want = (n >> ring->laps) << ring->shift;
	uint64_t missing = (want - commit) & SONDE_LOCAL_BYTES_MASK;

	if (!is_over(ring, n - ring->mask - 1) ||
	    missing > 1ull + ring->offset_mask)
		return 0;
#ifndef SONDE_LOCAL_BUG_RESYNC
	if (ring->mode == SONDE_OVERWRITE)
		prepare(ring, n, commit);
#endif
	SONDE_LOCAL_TESTPOINT(before_revive);
	(void)sonde_local_swap(&subbuf->commit, commit, commit + missing);
	SONDE_LOCAL_TESTPOINT(after_revive);
	return 1;
}

/* What keeps a writer out of sub-buffer n: the counter of it, or NULL. */
static uint64_t *obstacle(struct sonde_local_ring *ring, uint64_t n,
			  uint64_t commit, uint64_t bytes)
{
	uint64_t begin = n << ring->shift;

	if (bytes > ring->offset_mask)
		return &ring->lost_size;
	/* Pairs with sonde_store_release in sonde_local_put: the reader has
	 * read what is written over. */
	if (ring->mode == SONDE_DISCARD &&
	    begin - sonde_load_acquire(&ring->consumed) >= 1ull << ring->shift
								<< ring->laps)
		return &ring->lost_full;
	if (!is_committed(ring, n, commit, 0))
		return &ring->lost_busy;
	return NULL;
}

static int swap_pos(struct sonde_local_ring *ring, uint64_t pos, uint64_t end)
{
	SONDE_LOCAL_TESTPOINT(slow_before_swap);
	if (!sonde_local_swap(&ring->pos, pos, end)) {
		(void)sonde_local_add_release(&ring->retries, 1);
		return 0;
	}
	SONDE_LOCAL_TESTPOINT(slow_after_swap);
	return 1;
}

/* The caller has reserved `bytes` at `pos`. */
static void write_head(struct attempt *a, uint64_t pos, uint64_t bytes)
{
	struct sonde_local_subbuf *subbuf = sonde_local_at(a->ring, pos);
	unsigned char *at = sonde_local_address(a->ring, subbuf, pos);
	uint16_t short_id = (uint16_t)a->id;
	uint32_t time = (uint32_t)a->now;

	if (bytes == (uint64_t)a->size + SONDE_LOCAL_HEAD) {
		__builtin_memcpy(at, &short_id, 2);
		__builtin_memcpy(at + 2, &time, 4);
	} else {
		short_id = SONDE_LARGE_ESCAPE;
		__builtin_memcpy(at, &short_id, 2);
		__builtin_memcpy(at + 2, &a->id, 4);
		__builtin_memcpy(at + 6, &a->now, 8);
#ifndef SONDE_LOCAL_BUG_COMMIT
		/* The reservation's owner commits a short one. This can't be
		 * the last of a sub-buffer: he is yet to come. */
		(void)sonde_local_add_release(&subbuf->commit,
					      SONDE_LOCAL_HEAD_FULL -
						      SONDE_LOCAL_HEAD);
#endif
	}
	a->reserved.payload = at + (bytes - a->size);
	a->reserved.pos = pos + bytes;
	__builtin_memcpy(a->reserved.payload - 4, &a->tid, 4);
}

/* A record of `bytes` bytes where the ring stands. */
static enum outcome reserve_here(struct attempt *a, uint64_t bytes)
{
	struct sonde_local_ring *ring = a->ring;

	if (!swap_pos(ring, a->pos, a->pos + bytes))
		return AGAIN;
	sonde_store_relaxed(&ring->last, a->now);
	write_head(a, a->pos, bytes);
	return DONE;
}

/* The first record of the next sub-buffer. */
static enum outcome reserve_next(struct attempt *a)
{
	struct sonde_local_ring *ring = a->ring;
	uint64_t bytes = (uint64_t)a->size + SONDE_LOCAL_HEAD;
	uint64_t n = next_of(ring, a->pos);
	uint64_t begin = n << ring->shift;
	struct sonde_local_subbuf *subbuf = sonde_local_at(ring, begin);
	uint64_t commit = sonde_load_relaxed(&subbuf->commit);
	uint64_t discarded = sonde_local_discarded(ring);
	uint64_t *lost;

	note_over(ring, a->pos);
	lost = obstacle(ring, n, commit, bytes);
	if (lost == &ring->lost_busy && revive(ring, n, commit))
		return AGAIN;
	if (lost) {
		SONDE_LOCAL_TESTPOINT(before_lost);
#ifndef SONDE_LOCAL_BUG_RECHECK
		if (sonde_load_relaxed(&ring->pos) != a->pos)
			return AGAIN;
#endif
		(void)sonde_local_add_release(lost, 1);
		return LOST;
	}
	if (ring->mode == SONDE_OVERWRITE)
		prepare(ring, n, commit);
	prepare_begin(ring, n, commit);
	if (!swap_pos(ring, a->pos, begin + bytes))
		return AGAIN;
	sonde_store_relaxed(&ring->last, a->now);
	if (offset_of(ring, a->pos))
		leave(ring, a->pos, a->now, discarded);
	sonde_store_relaxed(&subbuf->ts_begin, a->now);
	write_head(a, begin, bytes);
	return DONE;
}

static enum outcome reserve_once(struct attempt *a)
{
	struct sonde_local_ring *ring = a->ring;
	uint64_t offset;
	uint64_t bytes = a->size;

	a->pos = sonde_load_relaxed(&ring->pos);
	SONDE_LOCAL_TESTPOINT(slow_read);
	a->last = sonde_load_relaxed(&ring->last);
	/* As in sonde_local_reserve: the clock is read behind pos. */
	sonde_barrier();
#ifndef SONDE_LOCAL_BUG_CLOCK
	a->now = SONDE_LOCAL_NOW(ring);
#endif
	SONDE_LOCAL_TESTPOINT(slow_clock);
	offset = offset_of(ring, a->pos);
	bytes += (a->now - a->last) >> 32 ? SONDE_LOCAL_HEAD_FULL :
					    SONDE_LOCAL_HEAD;
	if (offset && offset + bytes <= ring->offset_mask)
		return reserve_here(a, bytes);
	return reserve_next(a);
}

SONDE_COLD struct sonde_local_reserved
sonde_local_reserve_slow(struct sonde_local_ring *ring, uint32_t id,
			 uint32_t tid, uint32_t size)
{
	struct attempt a = {
		.ring = ring,
		.id = id,
		.tid = tid,
		.size = size,
	};
	enum outcome outcome;

#ifdef SONDE_LOCAL_BUG_CLOCK
	a.now = SONDE_LOCAL_NOW(ring);
#endif
	do
		outcome = reserve_once(&a);
	while (outcome == AGAIN);
	return a.reserved;
}

void sonde_local_flush(struct sonde_local_ring *ring)
{
	uint64_t pos;
	uint64_t now;
	uint64_t discarded;

	do {
		pos = sonde_load_relaxed(&ring->pos);
		if (!offset_of(ring, pos))
			return;
		SONDE_LOCAL_TESTPOINT(flush_read);
		/* Behind pos, as a writer's: no record is later. */
		sonde_barrier();
		now = SONDE_LOCAL_NOW(ring);
		discarded = sonde_local_discarded(ring);
	} while (!swap_pos(ring, pos, next_of(ring, pos) << ring->shift));
	leave(ring, pos, now, discarded);
}

void sonde_local_quiet(struct sonde_local_ring *ring)
{
	uint64_t pos = sonde_load_relaxed(&ring->pos);
	uint64_t commit =
		sonde_load_relaxed(&sonde_local_at(ring, pos)->commit);

	if (offset_of(ring, pos) && !is_committed(ring, pos >> ring->shift,
						  commit, offset_of(ring, pos)))
		sonde_local_flush(ring);
	/* Pairs with sonde_load_acquire in is_over: all that was committed. */
	sonde_store_release(&ring->over, sonde_load_relaxed(&ring->pos));
}

/* ---- the reader ---- */

/* What is known of sub-buffer n once all of it that counts is committed. */
static void describe(const struct sonde_local_ring *ring, uint64_t n,
		     uint64_t commit, struct sonde_local_chunk *chunk)
{
	const struct sonde_local_subbuf *subbuf =
		sonde_local_at(ring, n << ring->shift);
	uint64_t ref = sonde_load_relaxed(&subbuf->ref);
	uint64_t begin = sonde_load_relaxed(&subbuf->begin);
	uint64_t events = (commit - begin) >> SONDE_LOCAL_COMMIT_BITS;

	*chunk = (struct sonde_local_chunk){
		.memory = (uint32_t)(ref >> SONDE_LOCAL_MEM_SHIFT &
				     SONDE_LOCAL_MEM_MASK),
		.offset = (uint32_t)offset_of(ring, ring->read_pos),
		.first = !offset_of(ring, ring->read_pos),
		.seq = n,
		.ts_begin = sonde_load_relaxed(&subbuf->ts_begin),
		.events = events - ring->read_events,
	};
}

/* What is lost by now, by writers and with them. */
static uint64_t lost_in_all(const struct sonde_local_ring *ring,
			    uint64_t discarded)
{
	return discarded + ring->lost_damaged + ring->damaged;
}

static void describe_end(const struct sonde_local_ring *ring,
			 struct sonde_local_chunk *chunk)
{
	const struct sonde_local_subbuf *subbuf =
		sonde_local_at(ring, chunk->seq << ring->shift);

	chunk->closed = 1;
	chunk->size =
		(uint32_t)offset_of(ring, sonde_load_relaxed(&subbuf->used)) -
		chunk->offset;
	chunk->ts_end = sonde_load_relaxed(&subbuf->ts_end);
	chunk->discarded =
		lost_in_all(ring, sonde_load_relaxed(&subbuf->discarded));
}

/* The reader has done with what is below `pos`, which may end a sub-buffer. */
static void move_on(struct sonde_local_ring *ring, uint64_t pos, int is_closed)
{
	ring->read_pos = pos;
	/* Pairs with sonde_load_acquire in obstacle: we have read all of it. */
	if (is_closed)
		sonde_store_release(&ring->consumed, pos);
}

static void count_damaged(struct sonde_local_ring *ring, uint64_t events)
{
	sonde_store_relaxed(&ring->lost_damaged, ring->lost_damaged + events);
	sonde_store_relaxed(&ring->damaged, ring->damaged + 1);
}

/* The end of sub-buffer n, whose beginning was delivered. */
static void describe_damaged(const struct sonde_local_ring *ring, uint64_t n,
			     struct sonde_local_chunk *chunk)
{
	const struct sonde_local_subbuf *subbuf =
		sonde_local_at(ring, n << ring->shift);
	int was_left = sonde_load_relaxed(&subbuf->used) >> ring->shift == n;

	chunk->closed = 1;
	chunk->events = 0;
	chunk->ts_end =
		sonde_load_relaxed(was_left ? &subbuf->ts_end : &ring->last);
	chunk->discarded = lost_in_all(ring, sonde_local_discarded(ring));
}

/* Passes damaged sub-buffer n (10). */
static enum outcome pass_discard(struct sonde_local_ring *ring, uint64_t n,
				 uint64_t commit)
{
	struct sonde_local_chunk chunk;

	describe(ring, n, commit, &chunk);
	count_damaged(ring, chunk.events);
	if (chunk.first) {
		move_on(ring, (n + 1) << ring->shift, 1);
		return AGAIN;
	}
	describe_damaged(ring, n, &chunk);
	ring->given = chunk;
	return DONE;
}

static enum outcome look_discard(struct sonde_local_ring *ring)
{
	uint64_t n = ring->read_pos >> ring->shift;
	struct sonde_local_subbuf *subbuf =
		sonde_local_at(ring, ring->read_pos);
	int is_final = is_over(ring, n); /* before commit is read (12) */
	/* Pairs with sonde_local_add_release in sonde_local_commit and leave:
	 * records and fields that it counts are visible, and pos is not older
	 * than they are. */
	uint64_t commit = sonde_load_acquire(&subbuf->commit);
	uint64_t pos;

	SONDE_LOCAL_TESTPOINT(reader_commit);
	pos = sonde_load_relaxed(&ring->pos);
	if (is_committed(ring, n, commit, 1ull + ring->offset_mask)) {
		describe(ring, n, commit, &ring->given);
		describe_end(ring, &ring->given);
		return DONE;
	}
	if (is_final && !ring->is_given)
		return pass_discard(ring, n, commit);
	/* Nothing more than what was given, if it was. */
	if (pos >> ring->shift != n || pos == ring->read_pos ||
	    !is_committed(ring, n, commit, offset_of(ring, pos)))
		return ring->is_given ? DONE : BUSY;
	describe(ring, n, commit, &ring->given);
	ring->given.size = (uint32_t)(pos - ring->read_pos);
	ring->given.discarded = lost_in_all(ring, sonde_local_discarded(ring));
	return DONE;
}

static int get_discard(struct sonde_local_ring *ring)
{
	enum outcome outcome;

	/* Each time a sub-buffer on, so no more than there are. */
	do
		outcome = look_discard(ring);
	while (outcome == AGAIN);
	return outcome == DONE;
}

/* Takes sub-buffer n, which has been entered, for the spare. GONE if there is
 * nothing to be had of it. */
static enum outcome take(struct sonde_local_ring *ring, uint64_t n)
{
	struct sonde_local_subbuf *subbuf =
		sonde_local_at(ring, n << ring->shift);
	int is_final = is_over(ring, n); /* before all else is read (12) */
	/* Pairs with sonde_fence_release in sonde_local_whole. */
	uint64_t ref = sonde_load_acquire(&subbuf->ref);
	uint64_t spare = (uint64_t)ring->spare << SONDE_LOCAL_MEM_SHIFT;
	uint64_t lap = lap_of(ring, n);
	uint64_t commit;
	struct sonde_local_chunk chunk;

	if (ref >> SONDE_LOCAL_LAP_SHIFT != lap)
		return GONE;
#ifndef SONDE_LOCAL_BUG_BUSY
	if (ref & SONDE_LOCAL_WRITER && !is_final)
		return BUSY;
#endif
	/* Pairs with sonde_local_add_release in sonde_local_commit and leave:
	 * the records are visible. */
	commit = sonde_load_acquire(&subbuf->commit);
	describe(ring, n, commit, &chunk);
	describe_end(ring, &chunk);
	SONDE_LOCAL_TESTPOINT(reader_before_take);
	/* Pairs with sonde_fence_release in prepare: if a field was another
	 * lap's, the swap fails. */
	sonde_fence_acquire();
	if (!swap_shared(&subbuf->ref, ref,
			 lap << SONDE_LOCAL_LAP_SHIFT | spare))
		return AGAIN;
	chunk.memory =
		(uint32_t)(ref >> SONDE_LOCAL_MEM_SHIFT & SONDE_LOCAL_MEM_MASK);
	ring->spare = chunk.memory;
	if (is_final &&
	    !is_committed(ring, n, commit, 1ull + ring->offset_mask)) {
		count_damaged(ring, chunk.events);
		return GONE;
	}
	ring->given = chunk;
	return DONE;
}

static int get_overwrite(struct sonde_local_ring *ring)
{
	uint64_t nr = (uint64_t)ring->mask + 1;

	if (ring->is_given)
		return 1;
	/* Writers may be faster than we are for ever; enough is enough. */
	for (uint64_t tries = 2 * nr; tries; tries--) {
		/* Pairs with sonde_fence_release in prepare: a word of the
		 * table is not older than pos. */
		uint64_t pos = sonde_load_acquire(&ring->pos);
		uint64_t end = next_of(ring, pos);
		uint64_t n = ring->read_pos >> ring->shift;
		enum outcome outcome;

		if (end - n > nr)
			n = end - nr;
		ring->read_pos = n << ring->shift;
		SONDE_LOCAL_TESTPOINT(reader_pos);
		if (n == end)
			return 0;
		outcome = take(ring, n);
		if (outcome == DONE || outcome == BUSY)
			return outcome == DONE;
		if (outcome == GONE)
			ring->read_pos = (n + 1) << ring->shift;
	}
	return 0;
}

int sonde_local_get(struct sonde_local_ring *ring,
		    struct sonde_local_chunk *ret_chunk)
{
	int is_some = ring->mode == SONDE_DISCARD ? get_discard(ring) :
						    get_overwrite(ring);

	if (!is_some)
		return 0;
	/* Who closes a sub-buffer looks at the counters before he does; we may
	 * have seen more by then, and don't take it back. */
	if (ring->given.discarded < ring->read_discarded)
		ring->given.discarded = ring->read_discarded;
	ring->read_discarded = ring->given.discarded;
	ring->is_given = 1;
	*ret_chunk = ring->given;
	return 1;
}

int sonde_local_put(struct sonde_local_ring *ring,
		    const struct sonde_local_chunk *chunk)
{
	const struct sonde_local_chunk *given = &ring->given;

	if (!ring->is_given || chunk->seq != given->seq ||
	    chunk->offset != given->offset || chunk->size != given->size)
		return 0;
	ring->is_given = 0;
	sonde_store_relaxed(&ring->delivered, ring->delivered + given->events);
	ring->read_events =
		given->closed ? 0 : ring->read_events + given->events;
	move_on(ring,
		given->closed ? (given->seq + 1) << ring->shift :
				ring->read_pos + given->size,
		given->closed);
	return 1;
}
