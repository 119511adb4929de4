/* SPDX-License-Identifier: MIT */
/*
 * writer.c - appending records to a ring from any context (writer.h).
 *
 * A step is planned from a copy of the commit word and holds only if that word
 * is the same when the step is made. So a plan may be thrown away at any time,
 * and an append is a loop of plans: at most so many for the CPU's ring, then
 * for lanes, then the event is counted as lost.
 */
#include "ring/writer.h"

/* Plans per event before it takes a lane, and lanes' rounds before it is lost.
 * A plan that succeeds may still ask for another: open, switch, context. */
#define PLANS  64
#define ROUNDS 8

/* Bytes of a context record, and of what is before an event's payload. */
#define CONTEXT_MAX (SONDE_HEAD_LARGE_FULL + 8)
#define HEADER_MAX                                   \
	(SONDE_HEAD_LARGE_FULL + SONDE_STACK_BYTES + \
	 SONDE_CONTEXTS * SONDE_CONTEXT_BYTES)

/*
 * Where a step applies, and what was so when it was planned. commit.rseq is
 * null in a lane, whose lock we hold; commit.expect is the ring's commit word.
 */
struct step {
	struct sonde_ring *ring;
	unsigned char *data; /* of this ring */
	uint64_t ts;
	uint32_t offset;
	struct sonde_commit commit; /* gate: null */
};

static uint32_t capacity(const struct sonde_append *a)
{
	return a->slot->subbuf_size - SONDE_SUBBUF_SLACK;
}

static unsigned char *writer_subbuf(const struct sonde_append *a,
				    const struct step *s, uint64_t seq)
{
	uint64_t index = seq & (a->slot->nr_subbufs - 1);

	return s->data + index * a->slot->subbuf_size;
}

/* ---- steps ---- */

/* The reference for sonde_rseq_commit, in C; the caller holds the lock. */
__attribute__((noinline)) static enum sonde_writer_step
sonde_lane_commit(const struct sonde_commit *c)
{
	unsigned char *dst = c->dst;

	if (c->gate)
		sonde_store_relaxed(c->gate, 0);
	for (uint64_t i = 0; i < c->nr_parts; i++) {
		const struct sonde_part *part = &c->parts[i];
		const unsigned char *src = part->data;

		for (uint32_t n = 0; n < part->size; n++) {
			unsigned char byte = sonde_load_relaxed(&src[n]);

			if (!byte && part->flags & SONDE_PART_STRING)
				return SONDE_STEP_CHANGED;
			*dst++ = byte;
		}
		if (part->flags & SONDE_PART_STRING)
			*dst++ = 0;
	}
	SONDE_TESTPOINT(lane_copied);
	/* Pairs with sonde_load_acquire in sonde_ring_peek: a reader that sees
	 * the new position sees the bytes below it. */
	sonde_store_release(c->w, c->next);
	SONDE_TESTPOINT(lane_committed);
	return SONDE_STEP_DONE;
}

static enum sonde_writer_step commit(const struct sonde_commit *c)
{
	return c->rseq ? sonde_rseq_commit(c) : sonde_lane_commit(c);
}

/* *addr = value, if the commit word is still `expect`. */
static enum sonde_writer_step store(const struct sonde_commit *c,
				    uint64_t *addr, uint64_t value)
{
	if (c->rseq)
		return sonde_rseq_store(c, addr, value);
	sonde_store_relaxed(addr, value);
	return SONDE_STEP_DONE;
}

/* ---- headers ---- */

/* So that `bytes`, which is known where it is called, makes one store of it. */
static inline __attribute__((always_inline)) uint32_t
put(unsigned char *dst, uint64_t value, uint32_t bytes)
{
	const unsigned char *from = (const unsigned char *)&value;

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
	from += sizeof(value) - bytes;
#endif
	__builtin_memcpy(dst, from, bytes);
	return bytes;
}

static uint32_t full_header(const struct sonde_append *a, unsigned char *dst,
			    uint32_t id, uint64_t ts)
{
	uint32_t n;

	if (a->slot->header == SONDE_COMPACT)
		n = put(dst, SONDE_COMPACT_ESCAPE, 1);
	else
		n = put(dst, SONDE_LARGE_ESCAPE, 2);
	n += put(dst + n, id, 4);
	return n + put(dst + n, ts, 8);
}

static uint32_t event_header(const struct sonde_append *a, unsigned char *dst,
			     uint64_t ts)
{
	uint32_t n;

	if (a->slot->header == SONDE_COMPACT && a->id < SONDE_COMPACT_ESCAPE)
		return put(dst, (uint32_t)ts << 5 | a->id, SONDE_HEAD_COMPACT);
	if (a->slot->header != SONDE_LARGE || a->id >= SONDE_LARGE_ESCAPE)
		return full_header(a, dst, a->id, ts);
	n = put(dst, a->id, 2);
	return n + put(dst + n, (uint32_t)ts, 4);
}

/* What comes between header and payload. */
static uint32_t contexts(const struct sonde_append *a, unsigned char *dst)
{
	uint32_t n;

	if (!a->has_stack)
		return 0;
	n = put(dst, a->stack, SONDE_STACK_BYTES);
	for (uint32_t i = 0; i < a->nr_contexts; i++)
		n += put(dst + n, a->contexts[i], SONDE_CONTEXT_BYTES);
	return n;
}

static uint32_t contexts_size(const struct sonde_append *a)
{
	return a->has_stack ? SONDE_STACK_BYTES +
				      a->nr_contexts * SONDE_CONTEXT_BYTES :
			      0;
}

/* ---- the slow path's steps ---- */

/* One that ends a context record's time: it closes the gate. */
static struct sonde_commit own_step(const struct step *s,
				    const struct sonde_part *part)
{
	return (struct sonde_commit){
		.rseq = s->commit.rseq,
		.cpu = s->commit.cpu,
		.w = s->commit.w,
		.expect = s->commit.expect,
		.parts = part,
		.nr_parts = 1,
		.gate = &s->ring->key,
	};
}

/* A string of the payload got shorter: measure them all again. */
SONDE_COLD static void measure(struct sonde_append *a)
{
	a->size = 0;
	for (uint32_t i = 1; i < a->nr_parts; i++) {
		struct sonde_part *part = &a->parts[i];
		const char *text = part->data;

		if (part->flags & SONDE_PART_STRING) {
			uint32_t n = 0;

			while (n < part->size && sonde_load_relaxed(&text[n]))
				n++;
			part->size = n;
			a->size++;
		}
		a->size += part->size;
	}
}

/* The largest record that an empty sub-buffer takes after its context. */
static uint64_t largest(const struct sonde_append *a)
{
	return capacity(a) - SONDE_SUBBUF_HEAD - CONTEXT_MAX - 1;
}

/* Says whose records follow and at what time, in full. */
static uint32_t context_record(const struct sonde_append *a,
			       const struct step *s, unsigned char *dst)
{
	uint32_t n = full_header(a, dst, SONDE_CONTEXT_ID, s->ts);

	n += put(dst + n, a->self->tid, 4);
	return n + put(dst + n, a->self->pid, 4);
}

/* For the thread's next records in the sub-buffer, if w is still where the step
 * left it, which closed the gate and ended with a context record of this time. */
SONDE_COLD static enum sonde_writer_step open_gate(const struct sonde_append *a,
						   const struct step *s,
						   struct sonde_commit *c,
						   uint64_t key)
{
	const unsigned char *base = writer_subbuf(a, s, sonde_w_seq(c->next));
	enum sonde_writer_step rc;

	c->expect = c->next;
	rc = store(c, &s->ring->end, (uint64_t)(uintptr_t)(base + capacity(a)));
	SONDE_TESTPOINT(gate_end);
	if (!rc)
		rc = store(c, &s->ring->key, key);
	SONDE_TESTPOINT(gate_key);
	return rc;
}

/* The head of the sub-buffer behind the one in w: it tells the reader where that
 * one ended. */
static struct sonde_subbuf head_of_next(const struct sonde_append *a,
					const struct step *s)
{
	uint64_t w = s->commit.expect;
	struct sonde_subbuf head = {
		.ts_begin = s->ts,
		.discarded = sonde_load_relaxed(&s->ring->discarded_full) +
			     sonde_load_relaxed(&s->ring->discarded_size),
	};

	if (w) {
		const struct sonde_subbuf *old =
			(const void *)writer_subbuf(a, s, sonde_w_seq(w));

		head.seq = old->seq + 1;
		head.events = old->events + sonde_w_count(w);
		head.prev_used = s->offset;
	}
	return head;
}

/* What is before the payload of the first event of a sub-buffer. */
struct opening {
	struct sonde_subbuf head;
	unsigned char records[CONTEXT_MAX + HEADER_MAX];
};

/*
 * Close the current sub-buffer, if there is one, and open the next, with the
 * context record and the event: where that is too large for any sub-buffer,
 * without it, and the next plan says so.
 */
SONDE_COLD static enum sonde_writer_step
sonde_writer_switch(struct sonde_append *a, const struct step *s, uint64_t key)
{
	struct opening opening = { .head = head_of_next(a, s) };
	struct sonde_commit c = own_step(s, a->parts);
	uint32_t n = context_record(a, s, opening.records);
	uint32_t own = event_header(a, opening.records + n, s->ts);
	enum sonde_writer_step rc;
	bool fits;

	own += contexts(a, opening.records + n + own);
	fits = own + a->size <= largest(a);
	/* Pairs with sonde_store_release in sonde_ring_release: the reader has
	 * copied what we are about to overwrite. */
	if (a->slot->mode == SONDE_DISCARD &&
	    opening.head.seq >= sonde_load_acquire(&s->ring->limit)) {
		/* a stale plan says nothing about the ring as it is */
		if (sonde_load_relaxed(&s->ring->w) != c.expect)
			return SONDE_STEP_RETRY;
		sonde_add_relaxed(&s->ring->discarded_full, 1);
		return SONDE_STEP_LOST;
	}
	n += (uint32_t)sizeof(opening.head) + (fits ? own : 0);
	a->parts[0] = (struct sonde_part){ &opening, n, 0 };
	c.nr_parts = fits ? a->nr_parts : 1;
	SONDE_TESTPOINT(switch_planned);
	/* Pairs with sonde_fence_acquire in sonde_ring_verify: whoever sees a
	 * byte of the next sub-buffer sees a w that is one before it. */
	sonde_fence_release();
	c.next = sonde_w_make(n + (fits ? (uint32_t)a->size : 0),
			      a->slot->subbuf_size, opening.head.seq, fits);
	c.dst = writer_subbuf(a, s, opening.head.seq);
	rc = commit(&c);
	SONDE_TESTPOINT(switch_committed);
	if (rc == SONDE_STEP_CHANGED)
		measure(a);
	if (rc)
		return SONDE_STEP_RETRY;
	a->named = !open_gate(a, s, &c, key);
	return fits ? SONDE_STEP_DONE : SONDE_STEP_RETRY;
}

/*
 * Another thread's records follow, or it is too long since the last full time.
 */
SONDE_COLD static enum sonde_writer_step
sonde_writer_context(struct sonde_append *a, const struct step *s, uint64_t key)
{
	unsigned char record[CONTEXT_MAX];
	struct sonde_part part = { record, context_record(a, s, record), 0 };
	struct sonde_commit c = own_step(s, &part);
	enum sonde_writer_step rc;

	if (s->offset + part.size >= capacity(a))
		return sonde_writer_switch(a, s, key);
	c.next = c.expect + ((uint64_t)part.size << SONDE_W_REST_SHIFT);
	c.dst = writer_subbuf(a, s, sonde_w_seq(c.expect)) + s->offset;
	rc = commit(&c);
	SONDE_TESTPOINT(context_committed);
	if (!rc)
		rc = open_gate(a, s, &c, key);
	a->named = !rc;
	return rc ? rc : SONDE_STEP_RETRY;
}

/*
 * Nothing can be done about this event but count it: said before the clock is
 * read, as a program that is faster than its recorder says it often.
 */
static bool is_full(const struct sonde_append *a, const struct step *s)
{
	uint64_t w = s->commit.expect;
	uint64_t size = a->size + contexts_size(a);
	uint64_t most = CONTEXT_MAX + SONDE_HEAD_LARGE + size;
	const struct sonde_subbuf *head;

	if (a->slot->mode != SONDE_DISCARD || !w ||
	    sonde_w_offset(w, a->slot->subbuf_size) + most < capacity(a) ||
	    size > largest(a) - SONDE_HEAD_LARGE_FULL)
		return false;
	head = (const void *)writer_subbuf(a, s, sonde_w_seq(w));
	/* a stale w says nothing about the ring as it is */
	return sonde_load_relaxed(&head->seq) + 1 >=
		       sonde_load_relaxed(&s->ring->limit) &&
	       sonde_load_relaxed(&s->ring->w) == w;
}

/*
 * In a lane, the context record that this append wrote is still the last, and
 * nothing but its time is too old: each step takes long, as a debugger that
 * single-steps makes it. Another one would be too old as well; a full time
 * stamp is as good.
 */
static bool is_late(const struct sonde_append *a, const struct step *s,
		    uint64_t difference)
{
	return a->named && !s->commit.rseq && !(difference >> 32);
}

/* One plan and one step. DONE and LOST end it. */
static enum sonde_writer_step try_once(struct sonde_append *a, struct step *s)
{
	unsigned char header[HEADER_MAX];
	struct sonde_commit *c = &s->commit;
	enum sonde_writer_step rc;
	uint64_t total;
	uint64_t key;
	uint64_t gate;

	c->expect = sonde_load_relaxed(c->w);
	if (is_full(a, s)) {
		sonde_add_relaxed(&s->ring->discarded_full, 1);
		return SONDE_STEP_LOST;
	}
	/* The clock is read after w and before the step: if the step succeeds,
	 * nobody was in between, so position order is time order. */
	sonde_barrier();
	s->ts = a->clock();
	key = a->self->key | (uint32_t)(s->ts >> SONDE_COMPACT_TIME_BITS);
	if (!c->expect)
		return sonde_writer_switch(a, s, key);
	s->offset = sonde_w_offset(c->expect, a->slot->subbuf_size);
	gate = sonde_load_relaxed(&s->ring->key);
	if (gate != key && !is_late(a, s, gate ^ key))
		return sonde_writer_context(a, s, key);
	a->parts[0].data = header;
	a->parts[0].flags = 0;
	a->parts[0].size = gate == key ? event_header(a, header, s->ts) :
					 full_header(a, header, a->id, s->ts);
	a->parts[0].size += contexts(a, header + a->parts[0].size);
	total = a->parts[0].size + a->size;
	if (total > largest(a)) {
		sonde_add_relaxed(&s->ring->discarded_size, 1);
		return SONDE_STEP_LOST;
	}
	if (s->offset + total >= capacity(a))
		return sonde_writer_switch(a, s, key);
	SONDE_TESTPOINT(record_planned);
	c->next = c->expect + (total << SONDE_W_REST_SHIFT) + 1;
	c->dst = writer_subbuf(a, s, sonde_w_seq(c->expect)) + s->offset;
	c->parts = a->parts;
	c->nr_parts = a->nr_parts;
	rc = commit(c);
	if (rc != SONDE_STEP_CHANGED)
		return rc;
	measure(a);
	return SONDE_STEP_RETRY;
}

static void aim(const struct sonde_append *a, uint32_t index, struct step *s)
{
	uint64_t span = (uint64_t)a->slot->subbuf_size * a->slot->nr_subbufs;

	s->ring = (struct sonde_ring *)(void *)a->ctl + index;
	s->data = a->data + index * span;
	s->commit.w = &s->ring->w;
}

/* Where the thread runs now. False: it isn't registered, or there is no ring. */
static bool aim_at_cpu(const struct sonde_append *a, struct step *s)
{
	/* struct rseq: u32 cpu_id_start, u32 cpu_id; negative while the thread
	 * is not registered */
	uint32_t cpu = sonde_load_relaxed((const uint32_t *)s->commit.rseq + 1);

	if (cpu >= a->slot->nr_cpus)
		return false;
	s->commit.cpu = cpu;
	aim(a, cpu, s);
	return true;
}

/* Into the CPU's ring, or into the lane that is locked. */
static bool append_to_ring(struct sonde_append *a, struct step *s)
{
	a->named = false;
	for (int i = 0; i < PLANS; i++) {
		enum sonde_writer_step rc;

		if (s->commit.rseq && !aim_at_cpu(a, s))
			return false;
		rc = try_once(a, s);
		if (rc == SONDE_STEP_DONE || rc == SONDE_STEP_LOST)
			return true;
	}
	return false;
}

/* ---- lanes ---- */

/* Finds one that is free. */
SONDE_COLD static bool sonde_writer_lock(const struct sonde_append *a,
					 struct step *s)
{
	uint32_t nr_lanes = a->slot->nr_lanes;

	for (uint32_t i = 0; i < nr_lanes * ROUNDS; i++) {
		aim(a, a->slot->nr_cpus + (a->self->tid + i) % nr_lanes, s);
		/* Pairs with the unlocking store in sonde_writer_unlock: the
		 * ring is as its last holder left it. */
		if (!sonde_cmpxchg_acquire(&s->ring->lock, 0u, a->self->tid))
			continue;
		/* the holder before may have been on another CPU */
		sonde_fence_counter();
		SONDE_TESTPOINT(lane_locked);
		return true;
	}
	return false;
}

SONDE_COLD static void sonde_writer_unlock(struct step *s, bool is_done)
{
	/* Only a string that changes all the time isn't done with. */
	if (!is_done)
		sonde_add_relaxed(&s->ring->discarded_size, 1);
	/* Pairs with sonde_cmpxchg_acquire in sonde_writer_lock. */
	sonde_store_release(&s->ring->lock, 0u);
}

/* The CPU's ring, if there is one; if that is no use, a lane. */
void sonde_writer_append(struct sonde_append *a)
{
	struct step s;

	s.commit.rseq = a->rseq;
	s.commit.gate = NULL;
	while (s.commit.rseq || sonde_writer_lock(a, &s)) {
		bool is_done = append_to_ring(a, &s);

		if (!s.commit.rseq)
			sonde_writer_unlock(&s, is_done);
		if (is_done || !s.commit.rseq)
			return;
		s.commit.rseq = NULL;
	}
	sonde_add_relaxed(&a->slot->lost_contended, 1);
}
