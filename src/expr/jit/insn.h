/* SPDX-License-Identifier: MIT */
/*
 * insn.h - what lies between the graph and code, whatever the target (private).
 *
 *   graph -> schedule.c: instructions in blocks, whose operands are nodes; the
 *            target says which instruction a node becomes
 *         -> allocate.c: a register for each node that has an instruction, or
 *            a place on the stack
 *         -> the target: bytes
 *
 * A node has one place from its first instruction to the last that uses it, in
 * the order of the code: as control only goes forward, that is enough. A node
 * may be computed twice, in blocks of which neither precedes the other.
 */
#ifndef EXPR_JIT_INSN_H
#define EXPR_JIT_INSN_H

#include "expr/jit/graph.h"
#include "expr/jit/jit.h"

enum sonde_jit_insn_code {
	SONDE_JIT_BLOCK,   /* begins here: target */
	SONDE_JIT_SET,     /* dst = number */
	SONDE_JIT_HOME,    /* dst = the program's register, `number` */
	SONDE_JIT_LOAD,    /* dst = memory, `from` bits extended */
	SONDE_JIT_EXTEND,  /* dst = a, `from` bits extended */
	SONDE_JIT_ADDRESS, /* dst = where memory is (lea) */
	SONDE_JIT_ALU,     /* dst = a op (b, memory or number); op: opcode */
	SONDE_JIT_MULTIPLY,
	SONDE_JIT_MULTIPLY_NUMBER, /* dst = (a or memory) * number */
	SONDE_JIT_SHIFT_NUMBER,    /* op: the opcode's extension */
	SONDE_JIT_SHIFT,           /* by b; temp is another register */
	SONDE_JIT_UNARY,           /* op: the opcode's extension */
	SONDE_JIT_SWAP,
	SONDE_JIT_DIVIDE,       /* op: enum sonde_graph_op; in rax, rdx */
	SONDE_JIT_COMPARE,      /* (a or memory) with (b or number), */
	SONDE_JIT_COMPARE_WITH, /* or a with memory */
	SONDE_JIT_TEST,
	SONDE_JIT_READ,  /* dst = what a call reads at a; none but R6.. stays */
	SONDE_JIT_KEEP,  /* a is the program's value */
	SONDE_JIT_TRUTH, /* dst = whether the last comparison gave `op` */
	SONDE_JIT_DECIDE /* the block ends: op, target block */
};

struct sonde_jit_insn {
	uint8_t code, op;
	uint8_t width, from;
	bool is_signed;
	bool is_memory, faults;
	bool has_number;
	bool a_home;    /* a is the program's register, wherever it is */
	bool base_home; /* base, too */
	uint8_t scale;
	uint16_t dst, a, b, temp; /* nodes */
	uint16_t base, index;
	uint16_t target;
	int64_t disp;
	uint64_t number;
};

struct sonde_jit {
	struct sonde_graph graph;
	struct sonde_jit_insn *insns;
	size_t nr_insns, insns_room;
	size_t nr_values; /* nodes, and temporaries behind them */
	uint8_t *regs;    /* by value: which of the scratch registers, or: */
	uint16_t *slots;  /* on the stack, SONDE_JIT_NO_SLOT if it has none */
	unsigned int nr_regs, nr_slots;
	/* x86-64's */
	struct sonde_jit_config config;
	struct sonde_graph_config sees;
	uint16_t reads; /* registers of the program */
	uint16_t homes; /* of these, those that may be elsewhere */
	bool divides;
	uint32_t bytes_max;
};
#define SONDE_JIT_REGS_MAX 8
#define SONDE_JIT_NO_REG   UINT8_MAX
#define SONDE_JIT_IN_SLOT  (UINT8_MAX - 1)
#define SONDE_JIT_NO_SLOT  UINT16_MAX

/* ---- schedule.c ---- */

struct sonde_jit_target;

struct sonde_jit_selector {
	struct sonde_jit *jit;
	struct sonde_graph *graph;
	const struct sonde_jit_target *target;
	/* by node, in this block: */
	bool *there;  /* computed before it */
	bool *wanted; /* an instruction */
	bool *read;   /* has to be read */
	bool *folded; /* is an operand in memory */
	size_t nr_nodes;
	/* by block, a bit by node: it is there when the block begins */
	uint64_t *coming;
	size_t words;
};

struct sonde_jit_target {
	/* Whether a node needs no instruction, wherever it is used. */
	bool (*is_fixed)(const struct sonde_jit *jit, uint16_t node);
	/* Fill in the instruction that computes a node, all but comparisons; one
	 * that compares; one that reads memory only to see whether that can be
	 * done. They come with no operands, twice for each. */
	void (*match)(struct sonde_jit_selector *s, uint16_t node,
		      struct sonde_jit_insn *insn);
	void (*compare)(struct sonde_jit_selector *s,
			struct sonde_jit_insn *insn,
			const struct sonde_graph_comparison *comparison);
	void (*touch)(struct sonde_jit_selector *s, uint16_t node,
		      struct sonde_jit_insn *insn);
};

/* 0, -ENOMEM. */
int sonde_jit_schedule(struct sonde_jit *jit,
		       const struct sonde_jit_target *target);

const struct sonde_graph_node *
sonde_jit_node(const struct sonde_jit_selector *s, uint16_t node);
/* `node` without extensions that don't matter if `bits` are wanted; *ret_single:
 * these are used nowhere else. */
uint16_t sonde_jit_strip(const struct sonde_jit_selector *s, uint16_t node,
			 unsigned int bits, bool *ret_single);
uint16_t sonde_jit_operand(const struct sonde_jit_selector *s, uint16_t node,
			   unsigned int bits);

/* ---- allocate.c ---- */

/*
 * Registers 0 to nr - 1 for values, and places on the stack for those that
 * don't fit in there, or live across a READ. A value that `is_cheap` gets no
 * place: it is computed again where it is used. NULL: all are to be in
 * registers. -EOPNOTSUPP if there aren't enough of them.
 */
struct sonde_jit_places {
	unsigned int nr_regs, nr_slots;
	bool (*is_cheap)(const struct sonde_jit *jit, uint16_t node);
};
int sonde_jit_allocate(struct sonde_jit *jit,
		       const struct sonde_jit_places *places);

#endif /* EXPR_JIT_INSN_H */
