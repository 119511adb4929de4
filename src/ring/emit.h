/* SPDX-License-Identifier: MIT */
/*
 * emit.h - one event into the rings of all slots that want it: what is behind
 * the fast path of whoever has events (tracer/emit.c, the agent of probes).
 */
#ifndef RING_EMIT_H
#define RING_EMIT_H

#include "ring/cells.h"
#include "ring/stacks.h"
#include "ring/writer.h"

struct sonde_emitter {
	unsigned char *arena; /* its first SONDE_META_SPAN bytes */
	unsigned char *rings; /* what slots' offsets are from */
	uint64_t mapped;      /* bytes from there on */
	/* Makes that `end` at least, or fails. NULL: can't. */
	bool (*reach)(struct sonde_emitter *emitter, uint64_t end);
	uint32_t unwanted;             /* bit i: slot i doesn't want this one */
	struct sonde_stacks_from from; /* pc 0: no call stack */
	/* Of who makes those: sonde_tracer_contexts(). NULL: no slot has contexts. */
	uint32_t (*contexts)(uint32_t wanted, uint64_t values[SONDE_CONTEXTS]);
	uint64_t (*clock_cpu)(void);
	uint64_t (*clock_monotonic)(void);
	/* The caller's: self, rseq, parts, nr_parts, size. The rest is set for
	 * each slot. */
	struct sonde_append append;
};

/* `state` is the event's state word, not 0. As sonde_writer_append() otherwise. */
void sonde_emit_to_slots(struct sonde_emitter *emitter, uint32_t state);

/* Those of a slot that counts, which is mapped; its offsets are from `rings`. */
struct sonde_cells sonde_emit_cells(unsigned char *rings,
				    const struct sonde_slot *slot);

#endif /* RING_EMIT_H */
