/* SPDX-License-Identifier: MIT */
/*
 * plan.h - how to pass over an event's bytes, and where its fields are.
 *
 * An event is a header (head plan: one per stream class) and a body: common
 * context, event context, payload (plan: one per event class). Made once, when
 * a trace is opened, so that reading an event is a few loads and additions.
 *
 * ## Body
 *
 * A body is a chain of *blocks*. Inside a block everything is at a fixed
 * distance from its beginning; a block ends where something's length depends on
 * the event, or where something needs a larger alignment than the block has. So
 * a field's place is (block, offset), kept in its class (`placed`), and a body
 * without anything of variable length is one block of fixed size: passing over
 * it is one addition.
 *
 * The rest is a short program of `struct sonde_op`, run by sonde_lane: it moves
 * from block to block, notes where they begin, saves lengths and tags in
 * registers, and loops over elements whose size varies. What is inside of such
 * loops, variants and optionals has no place; it is reached by a walk.
 *
 * A number may be referred to that an event doesn't have, in an option that was
 * not chosen: it counts as 0 then, or in a loop as what it was in the round
 * before. So the registers of an event's scopes are cleared before each event,
 * and an event always means the same.
 *
 * Every operation first skips `skip` bits: the fixed part since the last one.
 * The position is checked against the packet's content after each move, loads
 * before they are made, and a program runs at most as many rounds of loops as
 * the packet has bits (and 65,536), so it ends.
 *
 * ## Header
 *
 * Nearly every trace has one of two: fixed fields with an id, a time, or both;
 * or LTTng's, a small id with a special value that says that a long id and time
 * follow. Anything else is walked.
 */
#ifndef READER_CORE_PLAN_H
#define READER_CORE_PLAN_H

#include "base/search.h"
#include "reader/core/load.h"
#include "reader/reader.h"

enum sonde_op_code {
	SONDE_OP_END,      /* the body ends */
	SONDE_OP_BLOCK,    /* align; block `index` begins here */
	SONDE_OP_SAVE,     /* regs[index] = a number, `skip` bits on; no move */
	SONDE_OP_LEB128,   /* pass one; regs[index] if index >= 0 */
	SONDE_OP_STRING,   /* pass one that ends with a zero of `size` bytes */
	SONDE_OP_ELEMENTS, /* pass regs[index] of `size` bits, each aligned */
	SONDE_OP_LOOP,     /* regs[index] or `size` rounds up to SONDE_OP_NEXT,
			* which is at `target`; no round: behind it */
	SONDE_OP_NEXT,     /* another round from `target`, or go on */
	SONDE_OP_CHOOSE,   /* of cls's options; a table of JUMPs follows */
	SONDE_OP_JUMP,     /* to `target` */
};

struct sonde_op {
	uint8_t code;
	struct sonde_load load; /* SAVE; LEB128: is_signed */
	int16_t index;
	uint32_t align; /* of the place after `skip` */
	uint64_t skip;  /* bits */
	uint64_t size;
	uint32_t target;
	const struct sonde_class *cls;
};

struct sonde_plan_place {
	uint32_t block, offset;
};

struct sonde_plan {
	const struct sonde_event_class *cls;
	uint32_t align;    /* of the body */
	bool fixed;        /* the body is one block of `fixed_bits` */
	bool ends_in_text; /* or that, and then one string of bytes */
	bool is_internal;  /* as its class's info */
	bool is_context;   /* of these: it says whose events come next */
	/* Not internal, nor one with more than `fixed_bits` and a text; and with
	 * the first or the second quick header it is at, and ends, so many bits
	 * behind the header's begin (the text comes later). */
	bool is_plain;
	uint32_t plain_pos[2];
	uint64_t plain_end[2];
	uint64_t fixed_bits;
	struct sonde_op *ops; /* NULL if fixed */
	uint32_t nr_ops, nr_blocks;
	uint32_t nr_regs; /* with those of the scopes around; 0: none needed */
	/* of them, those that scopes before each one set */
	uint8_t first_regs[SONDE_NR_SCOPES];
	struct sonde_plan_place scopes[SONDE_NR_SCOPES];
	/* bit b: block b surely begins at a byte; of the first 16 */
	uint32_t byte_blocks;
	struct sonde_field tid, pid, procname; /* .owner NULL: has none */
};

/* A part of a header at a fixed place. bits 0: it isn't there. */
struct sonde_head_part {
	struct sonde_load load;
	uint32_t offset;
};

struct sonde_head_layout {
	uint32_t align, bits;
	struct sonde_head_part id, time;
};

/* A number that one load finds: little endian, so many bytes on. */
struct sonde_quick_part {
	uint8_t byte, shift;
	uint8_t bits; /* 0: it isn't there */
	uint64_t mask;
};

/* A header that begins at a byte, with an id and a time such as these. */
struct sonde_quick {
	bool is;
	struct sonde_quick_part id, time;
	uint32_t bits;
	uint64_t ids; /* ids below it are so, and in `dense`; or 0 */
};

struct sonde_head_plan {
	const struct sonde_stream_class *cls;
	/* Headers that don't escape, and those that do. */
	struct sonde_quick quick[2];
	bool walked;  /* neither of the two forms below, or bodies depend on
		      * what is in the header */
	bool escapes; /* the second form */
	uint32_t align;
	struct sonde_head_layout normal; /* escapes: bits of the tag only */
	/* LTTng's: ids from escape_low to escape_high choose `longer`, others
	 * `shorter`; both begin where the tag ends. The first form, if it is
	 * quick: the highest number */
	uint64_t escape_low, escape_high;
	struct sonde_head_layout shorter, longer;
	/* event classes by id: dense below nr_dense, sorted behind */
	struct sonde_plan **dense;
	size_t nr_dense, nr_sparse;
	struct sonde_plan **sparse;
	struct sonde_plan *only; /* no id in the header */
	struct sonde_plan *any;  /* of ids that no event class has */
	uint32_t max_blocks;
	uint32_t first_reg; /* that headers may set; those before: heads */
};

/* The event class with this id, or NULL. */
static inline struct sonde_plan *
sonde_head_plan_find(const struct sonde_head_plan *plan, uint64_t id)
{
	size_t i;

	if (__builtin_expect(id < plan->nr_dense, 1))
		return plan->dense[id];
	SONDE_SEARCH(i, plan->nr_sparse, plan->sparse[i]->cls->info.id < id);
	return i < plan->nr_sparse && plan->sparse[i]->cls->info.id == id ?
		       plan->sparse[i] :
		       NULL;
}

#endif /* READER_CORE_PLAN_H */
