/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * writer.h - records into rings, by BPF programs.
 *
 *	if (!enter(&place, cpu, max))		a ring, the clock, and room
 *		return 0;
 *	to = head(&place, id, tid);		header and tid
 *	... at most `max` bytes of payload at `to` ...
 *	commit(&place, bytes);			visible, and done
 *
 * or, with a condition, which is tested before the clock is read, and with a
 * long header always, so that it is known where the payload goes:
 *
 *	if (!enter_staged(&place, cpu, max))
 *		return 0;
 *	to = staged(&place);
 *	... payload at `to` ...
 *	if (test(...)) finish(&place, id, tid, bytes); else leave(&place);
 *
 * What is written beyond the position in `w` is nobody's until `w` is stored
 * (ring/layout.h, invariant 2): staging costs no copy. Where the ring is full,
 * it is staged in a sub-buffer that is never read, so that only events that
 * pass are counted as lost.
 *
 * Order of stores: x86 CPUs keep stores in order, so a store of `w` that the
 * compiler doesn't move is a release; elsewhere (SONDE_WEAK_ORDER) `w` is
 * exchanged atomically, which is a full barrier. Pairs with sonde_load_acquire
 * in sonde_ring_peek.
 *
 * Cost above the hook: about 45 ns, 30 of it bpf_ktime_get_ns().
 */
#ifndef SOURCE_BPF_WRITER_H
#define SOURCE_BPF_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "source/bpf/shared.h"
#include "source/bpf/types.h"

#define INLINE      static __attribute__((always_inline)) inline
#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define READ(x)     (*(volatile typeof(x) *)&(x))
#define WRITE(x, v) (*(volatile typeof(x) *)&(x) = (v))

/*
 * A function that the verifier looks at by itself, for any arguments, instead of
 * once for each state that a program may be in where it calls it. Pointers may
 * be NULL there, and only point to memory.
 */
#ifndef VERIFIED_ONCE
#define VERIFIED_ONCE __attribute__((noinline))
#endif

/* What was found out about `x` is true of its further uses: the compiler may
 * not take a copy from before the check. */
#define KEEP(x) __asm__ volatile("" : "+r"(x))

/* Unaligned stores; BPF on these machines has them, the compiler doesn't
 * think so. */
#define PUT16(at, v) (*(uint16_t *)(void *)(at) = (uint16_t)(v))
#define PUT32(at, v) (*(uint32_t *)(void *)(at) = (uint32_t)(v))
#define PUT64(at, v) (*(uint64_t *)(void *)(at) = (uint64_t)(v))

#define CAPACITY     (CONST(SUBBUF_BYTES) - SONDE_SUBBUF_SLACK)

/* A constant of shared.h, by the rest of its name. */
#define CONST(name)                                                        \
	({                                                                 \
		uint64_t const_;                                           \
		__asm__("%0 = %1"                                          \
			: "=r"(const_)                                     \
			: "i"(SONDE_BPF_CONST_MARK + (SONDE_BPF_##name))); \
		const_;                                                    \
	})

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set before load */
	__type(key, uint32_t);
	__type(value, struct sonde_bpf_cpu);
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set before load */
	__uint(key_size, 4);
	__uint(value_size, 4096); /* set before load */
} data SEC(".maps");

struct sonde_bpf_clock clocks SEC(".data.clocks");

/* Where a program is: on which CPU, in which ring, at which byte. */
struct place {
	struct sonde_bpf_cpu *cpu;
	struct sonde_ring *ring;
	uint8_t *at; /* of the record */
	uint64_t w;
	uint64_t ts;
	uint64_t last; /* the record before's, or earlier */
	uint32_t level;
	bool is_full; /* `at` is a place that is never read */
#ifdef SONDE_BPF_STACKS
	void *ctx; /* NULL: no frames of the kernel */
	uint8_t *stack_head;
#endif
};

/* A function of the kernel's, without arguments; as helpers are called. */
#define KERNEL_FUNCTION(name) \
	((void (*)(void))(SONDE_BPF_BTF_MARK + (SONDE_BPF_##name)))

/*
 * Kernels whose tracepoints may be preempted have these two (6.10); the guard
 * comes before anything else is touched.
 */
#define bpf_preempt_disable KERNEL_FUNCTION(PREEMPT_DISABLE)
#define bpf_preempt_enable  KERNEL_FUNCTION(PREEMPT_ENABLE)

INLINE void guard(void)
{
	if (CONST(MUST_GUARD))
		bpf_preempt_disable();
}

INLINE void unguard(void)
{
	if (CONST(MUST_GUARD))
		bpf_preempt_enable();
}

/*
 * The task, to follow its pointers. For each way to a pointer's load through one
 * that it trusts, the verifier looks three times through the names of all the
 * kernel's types (6.4 and later): a third of a recording's start. One that is
 * cast (6.2) it doesn't trust. Not a call: the kernel makes it a move.
 */
INLINE struct task_struct *far(struct task_struct *task)
{
	if (!CONST(TASK_TYPE))
		return task;
	return ((struct task_struct * (*)(const void *, uint64_t))(
		SONDE_BPF_BTF_MARK + SONDE_BPF_RDONLY_CAST))(task,
							     CONST(TASK_TYPE));
}

/* A program stays on its CPU, on any kernel. */
INLINE struct sonde_bpf_cpu *this_cpu(void)
{
	uint32_t key = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&cpus, &key);
}

/* ---- time ---- */

/* The product has 96 bits: by halves, no distance overflows. */
INLINE uint64_t scale(uint64_t ns, uint64_t mult)
{
	return ((ns >> 32) * mult << (32 - CONST(SHIFT))) +
	       ((ns & 0xffffffffu) * mult >> CONST(SHIFT));
}

/*
 * The session's clock. The slot is read before the time: so its base isn't
 * after it. A virtual machine may stand still between the two for longer than
 * it takes the recorder to come round to the slot: then once more.
 */
INLINE uint64_t now(void)
{
	struct sonde_bpf_slot s;
	uint64_t gen;
	uint64_t ns;

	if (CONST(IS_IDENTITY))
		return bpf_ktime_get_ns();
	gen = READ(clocks.gen);
	s.base_ns = READ(clocks.slot[gen & (SONDE_BPF_SLOTS - 1)].base_ns);
	s.base_counter =
		READ(clocks.slot[gen & (SONDE_BPF_SLOTS - 1)].base_counter);
	s.mult = READ(clocks.slot[gen & (SONDE_BPF_SLOTS - 1)].mult);
	if (unlikely(READ(clocks.gen) - gen > SONDE_BPF_SLOTS / 2)) {
		gen = READ(clocks.gen);
		s.base_ns =
			READ(clocks.slot[gen & (SONDE_BPF_SLOTS - 1)].base_ns);
		s.base_counter = READ(
			clocks.slot[gen & (SONDE_BPF_SLOTS - 1)].base_counter);
		s.mult = READ(clocks.slot[gen & (SONDE_BPF_SLOTS - 1)].mult);
	}
	ns = bpf_ktime_get_ns() - s.base_ns;
	ns &= ~(uint64_t)((int64_t)ns >> 63); /* not before it: 0 */
	return s.base_counter + scale(ns, s.mult);
}

/* Times in a ring never go back. */
INLINE uint64_t ring_now(struct sonde_ring *ring)
{
	uint64_t ts = now();
	uint64_t last = ring->reserved0[SONDE_BPF_RING_LAST];

	return ts < last ? last : ts;
}

/* ---- sub-buffers ---- */

INLINE uint8_t *subbuf(struct sonde_ring *ring, uint64_t seq)
{
	uint32_t key = (uint32_t)ring->reserved0[SONDE_BPF_RING_FIRST] +
		       ((uint32_t)seq &
			(uint32_t)ring->reserved0[SONDE_BPF_RING_MASK]);

	return bpf_map_lookup_elem(&data, &key);
}

INLINE void set_w(struct sonde_ring *ring, uint64_t w)
{
	barrier();
#ifdef SONDE_WEAK_ORDER
	(void)__sync_lock_test_and_set(&ring->w, w);
#else
	WRITE(ring->w, w);
#endif
}

/* Before what a reader may still look at is overwritten. */
INLINE void order_stores(struct sonde_ring *ring)
{
#ifdef SONDE_WEAK_ORDER
	(void)__sync_fetch_and_add(&ring->reserved0[SONDE_BPF_RING_FENCE], 1);
#else
	(void)ring;
#endif
	barrier();
}

/*
 * Close the current sub-buffer, if there is one, and open the next, whose head
 * says where the one before ended. False if there is none that is free. `ts` is
 * the time of what comes first in it, or 0 if that isn't known yet.
 *
 * Pairs with sonde_fence_acquire in sonde_ring_verify: whoever sees a byte of
 * the next sub-buffer sees a w that is one before it; and with
 * sonde_store_release in sonde_ring_release: what `limit` gives back has been
 * copied (the stores below depend on it).
 */
VERIFIED_ONCE bool open_next(struct sonde_ring *ring, uint64_t ts)
{
	struct sonde_subbuf *head;
	struct sonde_subbuf *old;
	uint64_t w;
	uint64_t seq = 0;
	uint64_t events = 0;
	uint64_t used = 0;

	if (!ring)
		return false;
	w = ring->w;
	if (ring->reserved0[SONDE_BPF_RING_FIRST] == SONDE_BPF_NO_RING)
		return false;
	if (w) {
		old = (void *)subbuf(ring,
				     w >> SONDE_W_SEQ_SHIFT & SONDE_W_SEQ_MASK);
		if (!old)
			return false;
		seq = old->seq + 1;
		events = old->events + (w & SONDE_W_COUNT_MASK);
		used = ((w >> SONDE_W_REST_SHIFT) + CAPACITY) & 0xffffffu;
	}
	if (!CONST(IS_OVERWRITE) && seq >= READ(ring->limit))
		return false;
	head = (void *)subbuf(ring, seq);
	if (!head)
		return false;
	if (!ts)
		ts = ring_now(ring);
	order_stores(ring);
	head->seq = seq;
	head->ts_begin = ts;
	head->events = events;
	head->discarded = ring->discarded_full + ring->discarded_size;
	head->prev_used = used;
	ring->reserved0[SONDE_BPF_RING_LAST] = ts;
	set_w(ring,
	      ((SONDE_SUBBUF_HEAD - (uint64_t)CAPACITY) << SONDE_W_REST_SHIFT) |
		      (seq & SONDE_W_SEQ_MASK) << SONDE_W_SEQ_SHIFT);
	return true;
}

/* ---- records ---- */

#include "source/bpf/stacks.bpf.h"

/* What is before the payload, at most. */
#define HEAD_MAX (SONDE_BPF_HEAD_MAX + STACK_HEAD)

/* Done, whether or not anything was committed. */
INLINE void leave(struct place *p)
{
	barrier();
	WRITE(p->cpu->nest, p->level);
	unguard();
}

/*
 * A ring that is ours until leave(). `on` is looked at after `nest` has been
 * counted up: whoever sets it to 0, makes every CPU take an interrupt, and then
 * waits until `nest` is 0, knows that nothing is written any more.
 */
INLINE bool choose(struct place *p, struct sonde_bpf_cpu *cpu)
{
	guard();
	p->cpu = cpu;
	keep_ctx(p, 0);
	p->level = READ(cpu->nest);
	if (unlikely(p->level >= SONDE_BPF_LEVELS)) {
		if (READ(cpu->on))
			__sync_fetch_and_add(&cpu->lost_deep, 1);
		unguard();
		return false;
	}
	WRITE(cpu->nest, p->level + 1);
	barrier();
	if (unlikely(!READ(cpu->on))) {
		leave(p);
		return false;
	}
	p->ring = &cpu->ring[p->level & (SONDE_BPF_LEVELS - 1)];
	return true;
}

/*
 * Where a record of `max` bytes and its header go. The offset is looked at
 * once more after a sub-buffer was opened; the verifier needs the second look,
 * too.
 */
INLINE uint8_t *find(struct place *p, uint32_t max)
{
	uint64_t least = SONDE_SUBBUF_SLACK + HEAD_MAX + max + STACK_ROOM;
	struct sonde_ring *ring = p->ring;
	uint64_t offset;
	uint8_t *base;

	p->w = ring->w;
	offset = ((p->w >> SONDE_W_REST_SHIFT) + CAPACITY) & 0xffffffu;
	if (unlikely(offset > CONST(SUBBUF_BYTES) - least)) {
		if (!open_next(ring, p->ts))
			return 0;
		p->w = ring->w;
		offset = SONDE_SUBBUF_HEAD;
	}
	base = subbuf(ring, p->w >> SONDE_W_SEQ_SHIFT & SONDE_W_SEQ_MASK);
	return base ? base + offset : 0;
}

/* Nothing else writes to this ring: plain additions do. */
INLINE void lose(struct place *p)
{
	p->ring->discarded_full++;
}

/*
 * The clock comes first: the kernel waits for all that is before it, while what
 * comes after is done as the helper returns.
 */
INLINE bool enter(struct place *p, struct sonde_bpf_cpu *cpu, uint32_t max)
{
	if (!choose(p, cpu))
		return false;
	p->last = p->ring->reserved0[SONDE_BPF_RING_LAST];
	p->ts = now();
	if (unlikely(p->ts < p->last))
		p->ts = p->last;
	p->at = find(p, max);
	if (likely(p->at))
		return true;
	lose(p);
	leave(p);
	return false;
}

INLINE bool enter_staged(struct place *p, struct sonde_bpf_cpu *cpu,
			 uint32_t max)
{
	uint32_t key;

	if (!choose(p, cpu))
		return false;
	p->ts = 0;
	p->at = find(p, max);
	p->is_full = !p->at;
	if (likely(p->at))
		return true;
	key = CONST(SPARE) + bpf_get_smp_processor_id() * SONDE_BPF_LEVELS +
	      p->level;
	p->at = bpf_map_lookup_elem(&data, &key);
	if (p->at)
		return true;
	lose(p);
	leave(p);
	return false;
}

/* Header and tid; where the payload goes. `size` is of all before that. */
INLINE uint8_t *head(struct place *p, uint16_t id, uint32_t tid,
		     uint32_t *ret_size)
{
	uint64_t ts = p->ts;

	p->ring->reserved0[SONDE_BPF_RING_LAST] = ts;
	if (unlikely((ts - p->last) >> 32)) {
		PUT16(p->at, SONDE_LARGE_ESCAPE);
		PUT32(p->at + 2, id);
		PUT64(p->at + 6, ts);
		PUT32(p->at + 14, tid);
		keep_stack_head(p, p->at + SONDE_BPF_HEAD_MAX);
		*ret_size = HEAD_MAX;
		return p->at + HEAD_MAX;
	}
	PUT64(p->at, id | ts << 16);
	PUT32(p->at + 6, tid);
	keep_stack_head(p, p->at + SONDE_HEAD_LARGE + 4);
	*ret_size = SONDE_HEAD_LARGE + 4 + STACK_HEAD;
	return p->at + SONDE_HEAD_LARGE + 4 + STACK_HEAD;
}

INLINE void commit(struct place *p, uint32_t size)
{
	size += put_stack(p, size);
	set_w(p->ring, p->w + ((uint64_t)size << SONDE_W_REST_SHIFT) + 1);
	leave(p);
}

/*
 * For large records: look where the next one will end, so that the line is in
 * the cache when it is written to (10 to 20 ns less). It lies before the
 * sub-buffer's end: `least` in find() has room for it.
 */
INLINE void look_ahead(const struct place *p, uint32_t size)
{
	(void)READ(*(p->at + size + SONDE_SUBBUF_SLACK - 1));
}

INLINE uint8_t *staged(struct place *p)
{
	return p->at + HEAD_MAX;
}

INLINE void finish(struct place *p, uint16_t id, uint32_t tid, uint32_t bytes)
{
	uint64_t ts;

	if (unlikely(p->is_full)) {
		lose(p);
		leave(p);
		return;
	}
	ts = ring_now(p->ring);
	p->ring->reserved0[SONDE_BPF_RING_LAST] = ts;
	PUT16(p->at, SONDE_LARGE_ESCAPE);
	PUT32(p->at + 2, id);
	PUT64(p->at + 6, ts);
	PUT32(p->at + 14, tid);
	keep_stack_head(p, p->at + SONDE_BPF_HEAD_MAX);
	commit(p, HEAD_MAX + bytes);
}

#endif /* SOURCE_BPF_WRITER_H */
