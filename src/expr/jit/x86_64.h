/* SPDX-License-Identifier: MIT */
/*
 * x86_64.h - what lies between the graph and x86-64 code (private).
 *
 *   graph -> select.c: instructions whose operands are nodes
 *         -> allocate.c: a register for each node that has an instruction
 *         -> x86_64.c: bytes
 *
 * A node has one register from its first instruction to the last that uses it,
 * in the order of the code: as control only goes forward, that is enough. A
 * node may be computed twice, in blocks of which neither precedes the other.
 */
#ifndef EXPR_JIT_X86_64_H
#define EXPR_JIT_X86_64_H

#include "expr/jit/asm.h"
#include "expr/jit/graph.h"

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
	SONDE_JIT_TRUTH, /* dst = whether the last comparison gave `op` */
	SONDE_JIT_DECIDE /* the block ends: op, target block */
};

struct sonde_jit_insn {
	uint8_t code, op;
	uint8_t width, from;
	bool is_signed;
	bool is_memory, faults;
	bool has_number;
	bool a_home; /* a is the program's register, wherever it is */
	uint8_t scale;
	uint16_t dst, a, b, temp; /* nodes */
	uint16_t base, index;
	uint16_t target;
	int64_t disp;
	uint64_t number;
};

struct sonde_jit {
	struct sonde_jit_config config;
	struct sonde_graph graph;
	struct sonde_jit_insn *insns;
	size_t nr_insns, insns_room;
	size_t nr_values; /* nodes, and temporaries behind them */
	uint8_t *regs;    /* by value: which of the scratch registers */
	uint16_t reads;   /* registers of the program */
	uint16_t homes;   /* of these, those that may be elsewhere */
	bool divides;
	unsigned int nr_regs;
	uint32_t bytes_max;
};
#define SONDE_JIT_REGS_MAX 8

#define SONDE_JIT_NO_REG   UINT8_MAX

/* The register in which a node is all the time, or SONDE_ASM_NONE. */
uint8_t sonde_jit_fixed(const struct sonde_jit *jit, uint16_t node);
/* The CPU's number of agent.h's register. */
uint8_t sonde_jit_cpu_register(uint64_t number);

/* 0, -EOPNOTSUPP, -ENOMEM. */
int sonde_jit_select(struct sonde_jit *jit);
int sonde_jit_allocate(struct sonde_jit *jit);

#endif /* EXPR_JIT_X86_64_H */
