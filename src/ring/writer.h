/* SPDX-License-Identifier: MIT */
/*
 * writer.h - appending records to a ring, from any context.
 *
 * Every change of a ring is one *step*: some bytes are copied to where nobody
 * reads yet, then one store publishes them, and the whole happens only if the
 * commit word is what it was when the step was planned. Two mechanisms make a
 * step indivisible for other writers of the ring:
 *
 *	CPU rings	a restartable sequence (commit_<arch>.S): the kernel
 *			sends a preempted, migrated or interrupted thread to
 *			the sequence's abort handler, and the step is planned
 *			anew. A signal handler that traces in the middle
 *			restarts the code it interrupted; nothing waits.
 *	lanes		a try-lock. Whoever does not get it takes the next
 *			lane, so a thread that dies, or a handler that runs,
 *			in the middle takes one lane out of service and stops
 *			nobody. Lanes serve where there are no restartable
 *			sequences, and a thread whose sequences are aborted for
 *			ever (a debugger single-steps it).
 *
 * A process killed between any two instructions leaves nothing to repair:
 * what was published is whole, what was not is invisible.
 *
 * Steps of the slow path, each possibly followed by somebody else's:
 *
 *	open	as switch, from w = 0 to sub-buffer 0
 *	switch	key := 0; the next sub-buffer's head, a context record and the
 *		record; w moves behind them and counts one event
 *	context	key := 0; context record; w moves past it
 *	gate	end := ..., then key := ... if w is still where switch or context
 *		left it
 *	record	header and payload; w moves past it and counts one event
 *
 * key is the gate of the fast path (emit_x86_64.S), which checks nothing but
 * key and room. It is closed by the same step that changes what it stands for
 * (layout.h, invariant 3) and opened by a later one; a step that fails half-way
 * leaves it closed, which costs time and nothing else. To close it in a step of
 * its own would be wrong: another thread of the CPU, whose context record is
 * the last, may open it between that step and the next, since w has not moved.
 *
 * model: models/ring.pml. Test points: see SONDE_TESTPOINT in base/port.h.
 */
#ifndef RING_WRITER_H
#define RING_WRITER_H

#include <stdbool.h>

#include <sonde/abi.h>

#include "base/port.h"
#include "ring/contexts.h"
#include "ring/layout.h"

/* Parts a record is made of, its header not counted. */
#define SONDE_PARTS_MAX 68

/* Who traces: the calling thread. */
struct sonde_self {
	uint64_t key; /* tid << 32; 0 until the thread is known */
	uint32_t tid;
	uint32_t pid;
};

/* One event on its way into one slot's ring. */
struct sonde_append {
	struct sonde_slot *slot;
	unsigned char *ctl;  /* the slot's rings */
	unsigned char *data; /* their sub-buffers */
	const struct sonde_self *self;
	void *rseq; /* the thread's struct rseq; null: lanes only */
	uint64_t (*clock)(void);
	uint32_t id;
	uint32_t nr_parts; /* with parts[0], the header */
	uint64_t size;     /* payload bytes */
	struct sonde_part *parts;
	bool has_stack; /* its number goes before the payload, */
	uint32_t stack;
	uint32_t nr_contexts; /* and these behind it */
	uint64_t contexts[SONDE_CONTEXTS];
	bool named; /* its context record is there (writer.c's own) */
};

/*
 * Append the record, or count its loss. a->parts[0] is filled in here. Async-
 * signal-safe; never blocks; no system call; bounded.
 */
void sonde_writer_append(struct sonde_append *a);

/* Which invariant of layout.h doesn't hold of a ring that nobody writes to, in
 * the process that did; NULL: all do that can be looked at. For tests. */
const char *sonde_ring_check(const struct sonde_slot *slot,
			     const struct sonde_ring *ring,
			     const unsigned char *data);

/* ---- steps: commit_<arch>.S ---- */

struct sonde_commit {
	void *rseq;
	uint64_t cpu;
	uint64_t *w;
	uint64_t expect;
	uint64_t next;
	unsigned char *dst;
	const struct sonde_part *parts;
	uint64_t nr_parts;
	uint64_t *gate; /* null, or the key to close before anything else */
};

enum sonde_writer_step {
	SONDE_STEP_DONE = 0,
	SONDE_STEP_RETRY = 1,   /* aborted, or w is not what was expected */
	SONDE_STEP_CHANGED = 2, /* a string got shorter while it was copied */
	SONDE_STEP_LOST = 3,    /* given up, and counted (C code only) */
};

/*
 * If still on c->cpu and *c->w == c->expect: close the gate if one is given,
 * copy the parts to c->dst, one after the other, then *c->w = c->next
 * (release).
 */
enum sonde_writer_step sonde_rseq_commit(const struct sonde_commit *c);

/*
 * If still on c->cpu and *c->w == c->expect: *addr = value (release).
 */
enum sonde_writer_step sonde_rseq_store(const struct sonde_commit *c,
					uint64_t *addr, uint64_t value);

/* False where there is no commit_<arch>.S: then rseq must be null. */
extern const bool sonde_rseq_supported;

#endif /* RING_WRITER_H */
