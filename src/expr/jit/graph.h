/* SPDX-License-Identifier: MIT */
/*
 * graph.h - a program as values and decisions, which no longer has a stack: what
 * all generators of code begin with.
 *
 * Values are nodes; each is there once, whoever needs it (what a register has,
 * what an address holds, is the same throughout one evaluation). A node's
 * operands come before it. Blocks are runs of reading that end in a decision;
 * a block comes for each operation that is jumped to *and each stack it is
 * met with*: so where the stack differs, the code is there twice, and nothing
 * has to be chosen among values; where it holds constants, as behind && and
 * ||, the decision that follows is gone. Blocks are in an order in which
 * control only goes forward.
 *
 * A text is where it is; comparing it with a constant is decisions over its
 * bytes, several at a time, which are fields (text.c).
 *
 * Reading memory (READ) may fault, so each block says which it does, and so it
 * says which value it keeps (KEEP); all other nodes have no effect and are
 * computed where they are needed. A division
 * stands behind the decision that its divisor isn't 0.
 *
 * What is known of a node: `sbits`, it equals its lowest so many bits extended
 * with their sign; `zbits`, with zeros. What is wanted of it: `demand`, how
 * many of its lowest bits (8, 16, 32, 64); 0: nobody needs it.
 */
#ifndef EXPR_JIT_GRAPH_H
#define EXPR_JIT_GRAPH_H

#include "base/pool.h"
#include "expr/program.h"

/* What there is where the code will run. */
struct sonde_graph_config {
	uint32_t
		nr_registers; /* those with lower numbers (agent.h) are there */
	const uint64_t *rip;  /* or NULL: it is one of these, or not there */
	bool has_variables;   /* they are registers, from VARIABLE_0 on */
	bool tells_divided;   /* division by zero is DIVIDED, else REJECT */
	bool keeps_value;     /* it is wanted, not whether it is true: KEEP */
	uint8_t narrowest;    /* bits that can be compared: 8 or 32 */
	/* The bases: how many bytes of each may be read, where they begin, and
	 * whether reads are to be aligned, as seen from there. */
	struct {
		uint32_t bytes;
		int32_t offset;
		bool aligned;
	} bases[2];
	/* As in expr/ebpf.h; or NULL. */
	bool (*text)(void *ctx, uint32_t ref, uint32_t *ret_offset,
		     uint32_t *ret_size);
	void *ctx;
};

enum sonde_graph_op {
	SONDE_GRAPH_NONE,
	SONDE_GRAPH_NUMBER,
	SONDE_GRAPH_REGISTER, /* number: as agent.h numbers them */
	SONDE_GRAPH_BASE,     /* number: which */
	SONDE_GRAPH_READ,     /* bits at address a; may fault */
	SONDE_GRAPH_FIELD,    /* the same, but can't */
	SONDE_GRAPH_KEEP,     /* a is the program's value */
	SONDE_GRAPH_TEXT,     /* number: its size << 32 | offset in base 0 */
	SONDE_GRAPH_ADD,
	SONDE_GRAPH_SUBTRACT,
	SONDE_GRAPH_MULTIPLY,
	SONDE_GRAPH_AND,
	SONDE_GRAPH_OR,
	SONDE_GRAPH_XOR,
	SONDE_GRAPH_SHIFT_LEFT,
	SONDE_GRAPH_SHIFT_RIGHT_U,
	SONDE_GRAPH_SHIFT_RIGHT_S,
	SONDE_GRAPH_DIVIDE_U, /* b isn't 0 */
	SONDE_GRAPH_DIVIDE_S,
	SONDE_GRAPH_REMAINDER_U,
	SONDE_GRAPH_REMAINDER_S,
	SONDE_GRAPH_NEGATE,
	SONDE_GRAPH_COMPLEMENT,
	SONDE_GRAPH_EXTEND_S, /* the lowest `bits` of a */
	SONDE_GRAPH_EXTEND_Z, /* 8, 16 or 32 */
	SONDE_GRAPH_SWAP,     /* bytes of the lowest `bits`: 16, 32 or 64 */
	SONDE_GRAPH_EQUAL,    /* 0 or 1 */
	SONDE_GRAPH_LESS_S,
	SONDE_GRAPH_LESS_U,
};

/* A trace state variable's value, which is the same throughout one evaluation,
 * as a REGISTER. */
#define SONDE_GRAPH_VARIABLE_0 (UINT64_C(1) << 31)

struct sonde_graph_node {
	uint8_t op;
	uint8_t bits;
	uint8_t sbits, zbits;
	uint8_t demand;
	uint16_t a, b; /* nodes; SONDE_GRAPH_NO_NODE */
	uint16_t uses; /* by nodes in demand, and by decisions */
	uint16_t next; /* of the same hash */
	uint64_t number;
};
#define SONDE_GRAPH_NO_NODE   UINT16_MAX
#define SONDE_GRAPH_NODES_MAX 16384
#define SONDE_GRAPH_HASHES    256

/* Pairs of opposites. */
enum sonde_graph_relation {
	SONDE_GRAPH_IS_EQUAL,
	SONDE_GRAPH_IS_UNEQUAL,
	SONDE_GRAPH_IS_LESS_S,
	SONDE_GRAPH_IS_AT_LEAST_S,
	SONDE_GRAPH_IS_MORE_S,
	SONDE_GRAPH_IS_AT_MOST_S,
	SONDE_GRAPH_IS_LESS_U,
	SONDE_GRAPH_IS_AT_LEAST_U,
	SONDE_GRAPH_IS_MORE_U,
	SONDE_GRAPH_IS_AT_MOST_U,
};
#define SONDE_GRAPH_OPPOSITE(relation) ((relation) ^ 1u)

struct sonde_graph_comparison {
	uint8_t relation;
	uint8_t width; /* bits in which it gives the same: 8, 16, 32, 64, but
			  none below config->narrowest */
	uint16_t a, b; /* a number is b */
};

/* The first blocks are ways to end. */
enum sonde_graph_end {
	SONDE_GRAPH_REJECT,
	SONDE_GRAPH_ACCEPT,
	SONDE_GRAPH_DIVIDED,
	SONDE_GRAPH_ENDS,
};

struct sonde_graph_block {
	uint16_t reads, nr_reads; /* of graph->reads */
	bool decides;
	struct sonde_graph_comparison comparison;
	uint16_t to[2]; /* [1]: if it is so. Not deciding: both are the same */
	uint16_t nr_from;
	uint32_t order; /* later ones have more */
};
#define SONDE_GRAPH_BLOCKS_MAX 8192
#define SONDE_GRAPH_READS_MAX  4096

struct sonde_graph {
	struct sonde_pool pool;
	const struct sonde_graph_config *config; /* borrowed */
	struct sonde_graph_node *nodes;
	size_t nr_nodes, nodes_room;
	struct sonde_graph_block *blocks;
	size_t nr_blocks, blocks_room;
	uint16_t *reads; /* nodes, in the order in which they were met */
	size_t nr_reads, reads_room;
	uint16_t begin;    /* where it begins; may be an end */
	uint16_t *order;   /* blocks that are come to, ends excepted */
	size_t nr_ordered; /* how many */
	uint16_t hashes[SONDE_GRAPH_HASHES];
	int err;
};

/* 0, -EOPNOTSUPP, -ENOMEM; to be finished in any case. */
int sonde_graph_make(struct sonde_graph *graph,
		     const struct sonde_program *program,
		     const struct sonde_graph_config *config);
void sonde_graph_fini(struct sonde_graph *graph);

/* Which of its invariants (check.c) doesn't hold of one that was made; NULL: all
 * do. For tests. */
const char *sonde_graph_check(const struct sonde_graph *graph);

/* The node that computes that, simplified (fold.c). `bits` is 0 but for those
 * that have it. */
uint16_t sonde_graph_node(struct sonde_graph *graph, enum sonde_graph_op op,
			  uint16_t a, uint16_t b, uint8_t bits);
uint16_t sonde_graph_number(struct sonde_graph *graph, uint64_t number);
/* A REGISTER or a BASE. */
uint16_t sonde_graph_leaf(struct sonde_graph *graph, enum sonde_graph_op op,
			  uint64_t number);
bool sonde_graph_is_number(const struct sonde_graph *graph, uint16_t node,
			   uint64_t *ret_number);

/* Whether `node` isn't 0, as a comparison; *negates is flipped if it is the
 * opposite that is told. */
struct sonde_graph_comparison sonde_graph_compare(struct sonde_graph *graph,
						  uint16_t node, bool *negates);

/* `bits` rounded up to a width that can be had. */
unsigned int sonde_graph_width(const struct sonde_graph *graph,
			       unsigned int bits);

/* Fills in demand and uses, which blocks tell. */
void sonde_graph_demand(struct sonde_graph *graph);

/* How many of `left` bytes from `at` in a base on can be read at once. */
uint32_t sonde_graph_chunk(const struct sonde_graph_config *config,
			   unsigned int base, uint32_t at, uint32_t left);

/* What a text is compared with: bytes, of which some may be any but NUL. Behind
 * the last one is a NUL. */
#define SONDE_GRAPH_PATTERN_MAX 256
struct sonde_graph_pattern {
	uint32_t length;
	bool is_prefix; /* anything may follow */
	bool never;     /* no text is so */
	bool any[SONDE_GRAPH_PATTERN_MAX + 1];
	char bytes[SONDE_GRAPH_PATTERN_MAX + 8];
};

/* That of IF_TEXT_IS or IF_GLOB. 0; -EOPNOTSUPP: not by looking at bytes from
 * the first to the last (a star that isn't at the end, sets), or too long. */
int sonde_graph_pattern(const struct sonde_program *program,
			const struct sonde_expr_op *op,
			struct sonde_graph_pattern *ret_pattern);

#endif /* EXPR_JIT_GRAPH_H */
