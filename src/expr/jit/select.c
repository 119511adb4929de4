/* SPDX-License-Identifier: MIT */
/*
 * select.c - x86-64's instruction for a node (insn.h).
 *
 * A node that one other uses, and in the width in which it lies in memory,
 * becomes that one's memory operand.
 */
#include <errno.h>
#include <string.h>

#include "expr/agent.h"
#include "expr/jit/x86_64.h"

#define NO_NODE SONDE_GRAPH_NO_NODE
#define ALL     64u

/* Of instructions with a number or two operands: as they extend opcode 0x81,
 * or shifted by 3 are opcodes themselves. */
enum {
	ALU_ADD,
	ALU_OR,
	ALU_AND = 4,
	ALU_SUBTRACT,
	ALU_XOR,
};
enum {
	SHIFT_LEFT = 4,
	SHIFT_RIGHT_U,
	SHIFT_RIGHT_S = 7,
};
enum {
	UNARY_COMPLEMENT = 2,
	UNARY_NEGATE,
};

uint8_t sonde_jit_cpu_register(uint64_t number)
{
	static const uint8_t registers[] = {
		[SONDE_AGENT_RAX] = SONDE_ASM_RAX,
		[SONDE_AGENT_RBX] = SONDE_ASM_RBX,
		[SONDE_AGENT_RCX] = SONDE_ASM_RCX,
		[SONDE_AGENT_RDX] = SONDE_ASM_RDX,
		[SONDE_AGENT_RSI] = SONDE_ASM_RSI,
		[SONDE_AGENT_RDI] = SONDE_ASM_RDI,
		[SONDE_AGENT_RBP] = SONDE_ASM_RBP,
		[SONDE_AGENT_RSP] = SONDE_ASM_RSP,
	};

	return number < SONDE_AGENT_R8 ? registers[number] : (uint8_t)number;
}

uint8_t sonde_jit_fixed(const struct sonde_jit *jit, uint16_t node)
{
	const struct sonde_graph_node *is;
	uint8_t reg;

	if (node >= jit->graph.nr_nodes)
		return SONDE_ASM_NONE;
	is = &jit->graph.nodes[node];
	if (is->op == SONDE_GRAPH_BASE)
		return is->number ? SONDE_ASM_RSI : SONDE_ASM_RDI;
	if (is->op != SONDE_GRAPH_REGISTER)
		return SONDE_ASM_NONE;
	reg = sonde_jit_cpu_register(is->number);
	return jit->homes >> reg & 1 || reg == SONDE_ASM_RSP ? SONDE_ASM_NONE :
							       reg;
}

/* ---- operands ---- */

static bool select_is_number(const struct sonde_jit_selector *s, uint16_t node,
			     uint64_t *ret)
{
	return sonde_graph_is_number(s->graph, node, ret);
}

static bool is_rsp(const struct sonde_jit_selector *s, uint16_t node)
{
	return sonde_jit_node(s, node)->op == SONDE_GRAPH_REGISTER &&
	       sonde_jit_node(s, node)->number == SONDE_AGENT_RSP;
}

/* Whether that can be reached from where the code will be, or is low. */
static bool is_near(const struct sonde_jit_selector *s, uint64_t address)
{
	int64_t distance = (int64_t)(address - s->jit->config.address);
	int64_t most = INT32_MAX - (int64_t)SONDE_JIT_NEAR;

	return sonde_asm_is_s32((int64_t)address) ||
	       (distance < most && distance > -most);
}

static bool is_scaled(const struct sonde_jit_selector *s, uint16_t node)
{
	const struct sonde_graph_node *is = sonde_jit_node(s, node);
	uint64_t count;

	return is->op == SONDE_GRAPH_SHIFT_LEFT && !s->there[node] &&
	       select_is_number(s, is->b, &count) && count <= 3;
}

static void take_index(const struct sonde_jit_selector *s,
		       struct sonde_jit_insn *insn, uint16_t node,
		       unsigned int width)
{
	const struct sonde_graph_node *is = sonde_jit_node(s, node);

	insn->index = node;
	if (!is_scaled(s, node))
		return;
	insn->index = sonde_jit_operand(s, is->a, width);
	insn->scale = (uint8_t)sonde_jit_node(s, is->b)->number;
}

static void take_base(const struct sonde_jit_selector *s,
		      struct sonde_jit_insn *insn, uint16_t node)
{
	insn->base = node;
	insn->base_home = is_rsp(s, node);
}

/* `node` as base + index << scale + disp. */
static void address(const struct sonde_jit_selector *s,
		    struct sonde_jit_insn *insn, uint16_t node,
		    unsigned int width)
{
	const struct sonde_graph_node *is = sonde_jit_node(s, node);
	uint64_t number;
	uint16_t a;
	uint16_t b;

	insn->is_memory = true;
	if (select_is_number(s, node, &number) && is_near(s, number)) {
		insn->disp = (int64_t)number;
		return;
	}
	if (is->op == SONDE_GRAPH_ADD && !s->there[node] &&
	    select_is_number(s, is->b, &number) &&
	    sonde_asm_is_s32((int64_t)number)) {
		insn->disp = (int64_t)number;
		node = sonde_jit_operand(s, is->a, width);
		is = sonde_jit_node(s, node);
	}
	if (is_scaled(s, node)) {
		take_index(s, insn, node, width);
		return;
	}
	take_base(s, insn, node);
	if (is->op != SONDE_GRAPH_ADD || s->there[node])
		return;
	a = sonde_jit_operand(s, is->a, width);
	b = sonde_jit_operand(s, is->b, width);
	if (is_scaled(s, a) || is_rsp(s, b)) {
		take_base(s, insn, b);
		b = a;
	} else {
		take_base(s, insn, a);
	}
	take_index(s, insn, b, width);
}

/* Makes `node`, of which so many bits are wanted, the memory operand, if it can
 * be: it is used here only, and as wide in memory. */
static bool select_fold(struct sonde_jit_selector *s,
			struct sonde_jit_insn *insn, uint16_t node,
			unsigned int bits)
{
	const struct sonde_graph_node *is;
	bool single;

	if (insn->is_memory)
		return false;
	node = sonde_jit_strip(s, node, bits, &single);
	is = sonde_jit_node(s, node);
	if ((is->op != SONDE_GRAPH_READ && is->op != SONDE_GRAPH_FIELD) ||
	    !single || is->uses != 1 || s->there[node])
		return false;
	if (is->op == SONDE_GRAPH_READ ? is->bits != bits : is->bits < bits)
		return false;
	address(s, insn, is->a, ALL);
	insn->faults = is->op == SONDE_GRAPH_READ;
	s->folded[node] = true;
	return true;
}

/* A number that fits in an instruction. */
static bool take_number(const struct sonde_jit_selector *s,
			struct sonde_jit_insn *insn, uint16_t node)
{
	unsigned int unused = ALL - insn->width;
	uint64_t number;

	if (!select_is_number(s, node, &number))
		return false;
	number = (uint64_t)((int64_t)(number << unused) >> unused);
	if (!sonde_asm_is_s32((int64_t)number))
		return false;
	insn->number = number;
	insn->has_number = true;
	return true;
}

/* ---- comparisons ---- */

static bool is_home(const struct sonde_jit_selector *s, uint16_t node)
{
	return sonde_jit_node(s, node)->op == SONDE_GRAPH_REGISTER &&
	       !is_rsp(s, node) &&
	       sonde_jit_fixed(s->jit, node) == SONDE_ASM_NONE &&
	       !s->there[node];
}

static void compare_with_number(struct sonde_jit_selector *s,
				struct sonde_jit_insn *insn, uint16_t a)
{
	if (select_fold(s, insn, a, insn->width))
		return;
	insn->a = sonde_jit_operand(s, a, insn->width);
	insn->a_home = is_home(s, insn->a);
}

/* a & b with 0. */
static void match_test(struct sonde_jit_selector *s,
		       struct sonde_jit_insn *insn,
		       const struct sonde_graph_node *both)
{
	bool single;
	uint16_t a = sonde_jit_strip(s, both->a, insn->width, &single);
	const struct sonde_graph_node *is = sonde_jit_node(s, a);
	uint64_t mask;

	insn->code = SONDE_JIT_TEST;
	/* a number masks what is beyond the comparison's width anyway */
	if (is->op == SONDE_GRAPH_READ && is->bits > insn->width &&
	    select_is_number(s, both->b, &mask) && mask >> 31 == 0)
		insn->width = is->bits;
	if (take_number(s, insn, both->b)) {
		compare_with_number(s, insn, both->a);
		return;
	}
	if (select_fold(s, insn, both->a, insn->width)) {
		insn->a = sonde_jit_operand(s, both->b, insn->width);
		return;
	}
	insn->a = sonde_jit_operand(s, both->a, insn->width);
	insn->b = sonde_jit_operand(s, both->b, insn->width);
}

static void match_comparison(struct sonde_jit_selector *s,
			     struct sonde_jit_insn *insn,
			     const struct sonde_graph_comparison *comparison)
{
	const struct sonde_graph_node *a = sonde_jit_node(s, comparison->a);
	uint64_t number;

	insn->width = comparison->width;
	insn->code = SONDE_JIT_COMPARE;
	if (comparison->relation <= SONDE_GRAPH_IS_UNEQUAL &&
	    a->op == SONDE_GRAPH_AND && a->uses == 1 &&
	    !s->there[comparison->a] &&
	    select_is_number(s, comparison->b, &number) && number == 0) {
		match_test(s, insn, a);
		return;
	}
	if (take_number(s, insn, comparison->b)) {
		compare_with_number(s, insn, comparison->a);
		return;
	}
	if (select_fold(s, insn, comparison->a, insn->width)) {
		insn->b = sonde_jit_operand(s, comparison->b, insn->width);
		return;
	}
	insn->a = sonde_jit_operand(s, comparison->a, insn->width);
	if (select_fold(s, insn, comparison->b, insn->width))
		insn->code = SONDE_JIT_COMPARE_WITH;
	else
		insn->b = sonde_jit_operand(s, comparison->b, insn->width);
}

/* ---- nodes ---- */

static void match_extension(struct sonde_jit_selector *s,
			    struct sonde_jit_insn *insn,
			    const struct sonde_graph_node *node)
{
	insn->from = node->bits;
	insn->is_signed = node->op == SONDE_GRAPH_EXTEND_S;
	insn->code = SONDE_JIT_LOAD;
	if (select_fold(s, insn, node->a, node->bits))
		return;
	insn->code = SONDE_JIT_EXTEND;
	insn->a = sonde_jit_operand(s, node->a, node->bits);
}

/* dst = a op b, in any of the ways there are. */
static void match_operands(struct sonde_jit_selector *s,
			   struct sonde_jit_insn *insn,
			   const struct sonde_graph_node *node, bool commutes)
{
	unsigned int width = insn->width;

	if (insn->code == SONDE_JIT_ALU && take_number(s, insn, node->b)) {
		insn->a = sonde_jit_operand(s, node->a, width);
		return;
	}
	if (select_fold(s, insn, node->b, width)) {
		insn->a = sonde_jit_operand(s, node->a, width);
		return;
	}
	if (commutes && select_fold(s, insn, node->a, width)) {
		insn->a = sonde_jit_operand(s, node->b, width);
		return;
	}
	insn->a = sonde_jit_operand(s, node->a, width);
	insn->b = sonde_jit_operand(s, node->b, width);
}

static bool could_fold(struct sonde_jit_selector *s, uint16_t node,
		       unsigned int width)
{
	struct sonde_jit_insn trial = { 0 };
	bool single;
	uint16_t inner = sonde_jit_strip(s, node, width, &single);
	bool before = s->folded[inner];
	bool can = select_fold(s, &trial, node, width);

	s->folded[inner] = before;
	return can;
}

static void match_add(struct sonde_jit_selector *s, struct sonde_jit_insn *insn,
		      const struct sonde_graph_node *node, uint16_t i)
{
	uint64_t number;
	bool has_number = select_is_number(s, node->b, &number);

	if ((has_number && !sonde_asm_is_s32((int64_t)number)) ||
	    could_fold(s, node->b, insn->width) ||
	    (!has_number && could_fold(s, node->a, insn->width))) {
		insn->code = SONDE_JIT_ALU;
		insn->op = ALU_ADD;
		match_operands(s, insn, node, true);
		return;
	}
	insn->code = SONDE_JIT_ADDRESS;
	address(s, insn, i, insn->width);
}

static void match_multiply(struct sonde_jit_selector *s,
			   struct sonde_jit_insn *insn,
			   const struct sonde_graph_node *node)
{
	uint64_t number;

	if (select_is_number(s, node->b, &number) &&
	    (number == 3 || number == 5 || number == 9)) {
		insn->code = SONDE_JIT_ADDRESS;
		insn->is_memory = true;
		take_base(s, insn, sonde_jit_operand(s, node->a, insn->width));
		insn->index = insn->base;
		insn->scale = (uint8_t)__builtin_ctzll(number - 1);
		return;
	}
	if (take_number(s, insn, node->b)) {
		insn->code = SONDE_JIT_MULTIPLY_NUMBER;
		if (!select_fold(s, insn, node->a, insn->width))
			insn->a = sonde_jit_operand(s, node->a, insn->width);
		return;
	}
	insn->code = SONDE_JIT_MULTIPLY;
	match_operands(s, insn, node, true);
}

static void match_shift(struct sonde_jit_selector *s,
			struct sonde_jit_insn *insn,
			const struct sonde_graph_node *node, uint16_t i)
{
	uint64_t count;

	insn->op = node->op == SONDE_GRAPH_SHIFT_LEFT    ? SHIFT_LEFT :
		   node->op == SONDE_GRAPH_SHIFT_RIGHT_U ? SHIFT_RIGHT_U :
							   SHIFT_RIGHT_S;
	if (select_is_number(s, node->b, &count)) {
		unsigned int known = node->op == SONDE_GRAPH_SHIFT_RIGHT_S ?
					     sonde_jit_node(s, node->a)->sbits :
					     sonde_jit_node(s, node->a)->zbits;
		if (node->op == SONDE_GRAPH_SHIFT_RIGHT_U)
			insn->width = known <= 32 && count < 32 ? 32 : ALL;
		else if (node->op == SONDE_GRAPH_SHIFT_RIGHT_S)
			insn->width = known <= 32 && count < 32 &&
						      node->demand <= 32 ?
					      32 :
					      ALL;
		insn->code = SONDE_JIT_SHIFT_NUMBER;
		insn->number = count;
		if (count >=
		    insn->width) { /* of 32 wanted bits, none is left */
			insn->code = SONDE_JIT_SET;
			insn->number = 0;
			return;
		}
		insn->a = sonde_jit_operand(s, node->a, insn->width);
		return;
	}
	insn->code = SONDE_JIT_SHIFT;
	insn->width = ALL;
	insn->a = sonde_jit_operand(s, node->a, ALL);
	insn->b = sonde_jit_operand(s, node->b, ALL);
	insn->temp = (uint16_t)(s->nr_nodes + i);
}

static void match_alu(struct sonde_jit_selector *s, struct sonde_jit_insn *insn,
		      const struct sonde_graph_node *node, uint8_t op)
{
	insn->code = SONDE_JIT_ALU;
	insn->op = op;
	match_operands(s, insn, node, op != ALU_SUBTRACT);
}

static void match_unary(struct sonde_jit_selector *s,
			struct sonde_jit_insn *insn,
			const struct sonde_graph_node *node)
{
	insn->code = SONDE_JIT_UNARY;
	insn->op = node->op == SONDE_GRAPH_NEGATE ? UNARY_NEGATE :
						    UNARY_COMPLEMENT;
	insn->a = sonde_jit_operand(s, node->a, insn->width);
}

static void match_leaf(struct sonde_jit_selector *s,
		       struct sonde_jit_insn *insn,
		       const struct sonde_graph_node *node, uint16_t i)
{
	insn->number = node->number;
	if (node->op == SONDE_GRAPH_NUMBER) {
		insn->code = SONDE_JIT_SET;
		if (insn->width == 32)
			insn->number = (uint32_t)node->number;
	} else if (is_rsp(s, i)) {
		insn->code = SONDE_JIT_ADDRESS;
		insn->width = ALL;
		insn->is_memory = true;
		take_base(s, insn, i);
	} else {
		insn->code = SONDE_JIT_HOME;
		insn->number = sonde_jit_cpu_register(node->number);
	}
}

static void match_others(struct sonde_jit_selector *s,
			 struct sonde_jit_insn *insn,
			 const struct sonde_graph_node *node, uint16_t i)
{
	switch ((int)node->op) {
	case SONDE_GRAPH_READ:
	case SONDE_GRAPH_FIELD:
		insn->code = SONDE_JIT_LOAD;
		insn->from = node->bits;
		address(s, insn, node->a, ALL);
		insn->faults = node->op == SONDE_GRAPH_READ;
		break;
	case SONDE_GRAPH_SWAP:
		insn->code = SONDE_JIT_SWAP;
		insn->from = node->bits;
		insn->width = node->bits == 64 ? 64 : 32;
		insn->a = sonde_jit_operand(s, node->a, node->bits);
		break;
	case SONDE_GRAPH_DIVIDE_U:
	case SONDE_GRAPH_DIVIDE_S:
	case SONDE_GRAPH_REMAINDER_U:
	case SONDE_GRAPH_REMAINDER_S:
		insn->code = SONDE_JIT_DIVIDE;
		insn->op = node->op;
		insn->width = ALL;
		insn->a = sonde_jit_operand(s, node->a, ALL);
		insn->b = sonde_jit_operand(s, node->b, ALL);
		break;
	case SONDE_GRAPH_SHIFT_LEFT:
	case SONDE_GRAPH_SHIFT_RIGHT_U:
	case SONDE_GRAPH_SHIFT_RIGHT_S:
		match_shift(s, insn, node, i);
		break;
	default:
		match_leaf(s, insn, node, i);
		break;
	}
}

/* The instruction that computes node i; all but comparisons. */
static void match(struct sonde_jit_selector *s, uint16_t i,
		  struct sonde_jit_insn *insn)
{
	const struct sonde_graph_node *node = sonde_jit_node(s, i);

	insn->dst = i;
	insn->width = node->demand > 32 ? ALL : 32;
	switch ((int)node->op) {
	case SONDE_GRAPH_EXTEND_S:
	case SONDE_GRAPH_EXTEND_Z:
		match_extension(s, insn, node);
		break;
	case SONDE_GRAPH_ADD:
		match_add(s, insn, node, i);
		break;
	case SONDE_GRAPH_SUBTRACT:
		match_alu(s, insn, node, ALU_SUBTRACT);
		break;
	case SONDE_GRAPH_AND:
		match_alu(s, insn, node, ALU_AND);
		break;
	case SONDE_GRAPH_OR:
		match_alu(s, insn, node, ALU_OR);
		break;
	case SONDE_GRAPH_XOR:
		match_alu(s, insn, node, ALU_XOR);
		break;
	case SONDE_GRAPH_MULTIPLY:
		match_multiply(s, insn, node);
		break;
	case SONDE_GRAPH_NEGATE:
	case SONDE_GRAPH_COMPLEMENT:
		match_unary(s, insn, node);
		break;
	default:
		match_others(s, insn, node, i);
		break;
	}
}

/* Registers of the program; which of them may be moved away from. */
static void find_registers(struct sonde_jit *jit)
{
	const struct sonde_graph *graph = &jit->graph;

	for (size_t i = 0; i < graph->nr_nodes; i++) {
		const struct sonde_graph_node *node = &graph->nodes[i];
		if (!node->demand)
			continue;
		if (node->op == SONDE_GRAPH_REGISTER)
			jit->reads |= (uint16_t)(1u << sonde_jit_cpu_register(
							 node->number));
		if (node->op >= SONDE_GRAPH_DIVIDE_U &&
		    node->op <= SONDE_GRAPH_REMAINDER_S)
			jit->divides = true;
	}
	for (size_t i = 0; i < graph->nr_ordered; i++) {
		const struct sonde_graph_block *block =
			&graph->blocks[graph->order[i]];
		if (block->to[0] == SONDE_GRAPH_DIVIDED ||
		    block->to[1] == SONDE_GRAPH_DIVIDED)
			jit->divides = true;
	}
	if (graph->begin == SONDE_GRAPH_DIVIDED)
		jit->divides = true;
	jit->homes = 1u << SONDE_ASM_RAX;
	if (jit->divides)
		jit->homes |= 1u << SONDE_ASM_RDX;
}

static bool is_fixed(const struct sonde_jit *jit, uint16_t node)
{
	return sonde_jit_fixed(jit, node) != SONDE_ASM_NONE;
}

/* Read for nothing but whether it can be. */
static void match_touch(struct sonde_jit_selector *s, uint16_t i,
			struct sonde_jit_insn *insn)
{
	insn->code = SONDE_JIT_COMPARE;
	insn->width = sonde_jit_node(s, i)->bits;
	insn->has_number = true;
	insn->faults = true;
	address(s, insn, sonde_jit_node(s, i)->a, ALL);
}

int sonde_jit_select(struct sonde_jit *jit)
{
	static const struct sonde_jit_target target = {
		.is_fixed = is_fixed,
		.match = match,
		.compare = match_comparison,
		.touch = match_touch,
	};

	find_registers(jit);
	return sonde_jit_schedule(jit, &target);
}
