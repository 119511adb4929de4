/* SPDX-License-Identifier: MIT */
/*
 * graph.c - from operations to nodes and blocks (graph.h).
 *
 * A state is an operation and the stack it is met with. The program is run with
 * nodes on its stack, from each state that something leads to, once. States
 * are tried in the order in which they are found.
 */
#include "expr/jit/graph.h"

#include <errno.h>
#include <string.h>

#include "expr/agent.h"

#define NO_NODE SONDE_GRAPH_NO_NODE
#define ALL     64u

struct state {
	uint32_t op;
	uint16_t block, depth;
	uint16_t *stack; /* nodes */
};

struct builder {
	struct sonde_graph *graph;
	const struct sonde_program *program;
	const struct sonde_graph_config *config;
	struct state *states;
	size_t nr_states, states_room;
	uint16_t stack[SONDE_PROGRAM_STACK];
	unsigned int depth;
	uint32_t at; /* the operation */
	uint16_t block;
};

static void fail(struct builder *builder, int err)
{
	if (!builder->graph->err)
		builder->graph->err = err;
}

static void push(struct builder *builder, uint16_t node)
{
	builder->stack[builder->depth++] = node;
}

static uint16_t pop(struct builder *builder)
{
	return builder->stack[--builder->depth];
}

static uint16_t make(struct builder *builder, enum sonde_graph_op op,
		     uint16_t a, uint16_t b)
{
	return sonde_graph_node(builder->graph, op, a, b, 0);
}

static uint16_t graph_number(struct builder *builder, uint64_t value)
{
	return sonde_graph_number(builder->graph, value);
}

/* ---- blocks ---- */

static uint16_t new_block(struct builder *builder, uint32_t order)
{
	struct sonde_graph *graph = builder->graph;
	struct sonde_graph_block *blocks;

	if (graph->nr_blocks == SONDE_GRAPH_BLOCKS_MAX) {
		fail(builder, -EOPNOTSUPP);
		return 0;
	}
	blocks = sonde_pool_grow(&graph->pool, graph->blocks, graph->nr_blocks,
				 &graph->blocks_room, sizeof(*blocks));
	if (!blocks) {
		fail(builder, -ENOMEM);
		return 0;
	}
	graph->blocks = blocks;
	blocks[graph->nr_blocks] = (struct sonde_graph_block){ .order = order };
	return (uint16_t)graph->nr_blocks++;
}

/* The block of a state that has the lowest `depth` slots. */
static uint16_t state_block(struct builder *builder, uint32_t op,
			    unsigned int depth)
{
	size_t bytes = depth * sizeof(builder->stack[0]);
	struct state *state;

	for (size_t i = 0; i < builder->nr_states; i++) {
		state = &builder->states[i];
		if (state->op == op && state->depth == depth &&
		    (bytes == 0 ||
		     memcmp(state->stack, builder->stack, bytes) == 0))
			return state->block;
	}
	state = sonde_pool_grow(&builder->graph->pool, builder->states,
				builder->nr_states, &builder->states_room,
				sizeof(*state));
	if (!state) {
		fail(builder, -ENOMEM);
		return 0;
	}
	builder->states = state;
	state += builder->nr_states;
	state->op = op;
	state->depth = (uint16_t)depth;
	state->block = new_block(builder, 2 * op);
	state->stack = sonde_pool_get(&builder->graph->pool, depth + 1,
				      sizeof(builder->stack[0]));
	if (!state->stack) {
		fail(builder, -ENOMEM);
		return 0;
	}
	memcpy(state->stack, builder->stack, bytes);
	builder->nr_states++;
	return state->block;
}

/* Where control comes to `op` with that many slots: perhaps an end. */
static uint16_t graph_come(struct builder *builder, uint32_t op,
			   unsigned int depth)
{
	const struct sonde_expr_op *ops = builder->program->ops;
	uint64_t value;

	while (ops[op].code == SONDE_EXPR_OP_GO) {
		depth = ops[op].keep;
		op = ops[op].target;
	}
	switch ((int)ops[op].code) {
	case SONDE_EXPR_OP_END_TRUE:
		return SONDE_GRAPH_ACCEPT;
	case SONDE_EXPR_OP_END_FALSE:
	case SONDE_EXPR_OP_END_MISSING:
	case SONDE_EXPR_OP_END_FAULT:
		return SONDE_GRAPH_REJECT;
	case SONDE_EXPR_OP_END_DIVIDED:
		return builder->config->tells_divided ? SONDE_GRAPH_DIVIDED :
							SONDE_GRAPH_REJECT;
	case SONDE_EXPR_OP_END_NUMBER:
		if (builder->program->type != SONDE_EXPR_DOUBLE &&
		    !builder->config->keeps_value &&
		    sonde_graph_is_number(builder->graph, builder->stack[0],
					  &value))
			return value ? SONDE_GRAPH_ACCEPT : SONDE_GRAPH_REJECT;
		return state_block(builder, op, 1);
	default:
		return state_block(builder, op, depth);
	}
}

static void go(struct builder *builder, uint16_t to)
{
	struct sonde_graph_block *block =
		&builder->graph->blocks[builder->block];

	block->to[0] = to;
	block->to[1] = to;
}

/* The block ends: `node` isn't 0, or is. */
static void decide(struct builder *builder, uint16_t node, uint16_t if_true,
		   uint16_t if_false)
{
	struct sonde_graph *graph = builder->graph;
	bool negates = false;
	uint64_t value;
	struct sonde_graph_block *block;
	struct sonde_graph_comparison comparison;

	if (sonde_graph_is_number(graph, node, &value)) {
		go(builder, value ? if_true : if_false);
		return;
	}
	comparison = sonde_graph_compare(graph, node, &negates);
	block = &graph->blocks[builder->block];
	block->decides = true;
	block->comparison = comparison;
	block->to[!negates] = if_true;
	block->to[negates] = if_false;
}

/* An operation that jumps if `node` is as it says, or else goes on without
 * the slots that it takes. */
static void graph_jump_if(struct builder *builder, uint16_t node, bool sense,
			  unsigned int takes)
{
	const struct sonde_expr_op *op = &builder->program->ops[builder->at];
	uint64_t value;
	uint16_t jump = 0;
	uint16_t next = 0;
	bool known = sonde_graph_is_number(builder->graph, node, &value);

	if (!known || (value != 0) == sense)
		jump = graph_come(builder, op->target, op->keep);
	if (!known || (value != 0) != sense)
		next = graph_come(builder, builder->at + 1,
				  builder->depth - takes);
	decide(builder, node, sense ? jump : next, sense ? next : jump);
}

/* ---- operations ---- */

/* Those that are nodes just so. */
static const uint8_t plain[SONDE_EXPR_OP_CODES] = {
	[SONDE_EXPR_OP_NEGATE] = SONDE_GRAPH_NEGATE,
	[SONDE_EXPR_OP_COMPLEMENT] = SONDE_GRAPH_COMPLEMENT,
	[SONDE_EXPR_OP_ADD] = SONDE_GRAPH_ADD,
	[SONDE_EXPR_OP_SUBTRACT] = SONDE_GRAPH_SUBTRACT,
	[SONDE_EXPR_OP_MULTIPLY] = SONDE_GRAPH_MULTIPLY,
	[SONDE_EXPR_OP_AND] = SONDE_GRAPH_AND,
	[SONDE_EXPR_OP_OR] = SONDE_GRAPH_OR,
	[SONDE_EXPR_OP_XOR] = SONDE_GRAPH_XOR,
	[SONDE_EXPR_OP_SHIFT_LEFT] = SONDE_GRAPH_SHIFT_LEFT,
	[SONDE_EXPR_OP_SHIFT_RIGHT_U] = SONDE_GRAPH_SHIFT_RIGHT_U,
	[SONDE_EXPR_OP_SHIFT_RIGHT_S] = SONDE_GRAPH_SHIFT_RIGHT_S,
	[SONDE_EXPR_OP_IS_EQUAL] = SONDE_GRAPH_EQUAL,
	[SONDE_EXPR_OP_IS_LESS_S] = SONDE_GRAPH_LESS_S,
	[SONDE_EXPR_OP_IS_LESS_U] = SONDE_GRAPH_LESS_U,
	[SONDE_EXPR_OP_DIVIDE_U] = SONDE_GRAPH_DIVIDE_U,
	[SONDE_EXPR_OP_DIVIDE_S] = SONDE_GRAPH_DIVIDE_S,
	[SONDE_EXPR_OP_REMAINDER_U] = SONDE_GRAPH_REMAINDER_U,
	[SONDE_EXPR_OP_REMAINDER_S] = SONDE_GRAPH_REMAINDER_S,
};

/* Of a field or memory: how many bits are read. */
static uint8_t bits_read(const struct sonde_expr_op *op)
{
	return (uint8_t)(8 * sonde_expr_op_infos[op->code].bytes);
}

/* `bits` of a base, as they lie there. */
static uint16_t bytes_at(struct builder *builder, unsigned int base,
			 uint32_t offset, uint8_t bits)
{
	uint32_t bytes = base < 2 ? builder->config->bases[base].bytes : 0;
	uint16_t at = sonde_graph_leaf(builder->graph, SONDE_GRAPH_BASE, base);

	if (bits / 8u > bytes || offset > bytes - bits / 8u)
		fail(builder, -EOPNOTSUPP);
	at = make(builder, SONDE_GRAPH_ADD, at, graph_number(builder, offset));
	return sonde_graph_node(builder->graph, SONDE_GRAPH_FIELD, at, NO_NODE,
				bits);
}

static uint16_t graph_field(struct builder *builder,
			    const struct sonde_expr_op *op)
{
	uint16_t how = sonde_expr_op_infos[op->code].operands;
	uint8_t bits = bits_read(op);
	uint16_t node = bytes_at(builder, op->base, op->offset, bits);

	if (how & SONDE_EXPR_OPERAND_SWAP)
		node = sonde_graph_node(builder->graph, SONDE_GRAPH_SWAP, node,
					NO_NODE, bits);
	if (how & SONDE_EXPR_OPERAND_SIGNED)
		node = sonde_graph_node(builder->graph, SONDE_GRAPH_EXTEND_S,
					node, NO_NODE, bits);
	return node;
}

/* The block does it: what a node alone doesn't. */
static void graph_do(struct builder *builder, uint16_t node)
{
	struct sonde_graph *graph = builder->graph;
	struct sonde_graph_block *block = &graph->blocks[builder->block];
	uint16_t *reads;

	if (graph->nr_reads == SONDE_GRAPH_READS_MAX) {
		fail(builder, -EOPNOTSUPP);
		return;
	}
	for (uint16_t i = 0; i < block->nr_reads; i++) {
		if (graph->reads[block->reads + i] == node)
			return;
	}
	reads = sonde_pool_grow(&graph->pool, graph->reads, graph->nr_reads,
				&graph->reads_room, sizeof(*reads));
	if (!reads) {
		fail(builder, -ENOMEM);
		return;
	}
	graph->reads = reads;
	if (block->nr_reads == 0)
		block->reads = (uint16_t)graph->nr_reads;
	reads[graph->nr_reads++] = node;
	block->nr_reads++;
}

static void read_memory(struct builder *builder, const struct sonde_expr_op *op)
{
	uint16_t node;

	if (graph_come(builder, op->target, op->keep) != SONDE_GRAPH_REJECT)
		fail(builder, -EOPNOTSUPP);
	node = sonde_graph_node(builder->graph, SONDE_GRAPH_READ, pop(builder),
				NO_NODE, bits_read(op));
	push(builder, node);
	graph_do(builder, node);
}

/* The program's value: kept, or whether it is true decides. */
static void graph_end(struct builder *builder, uint16_t value)
{
	if (!builder->config->keeps_value) {
		decide(builder, value, SONDE_GRAPH_ACCEPT, SONDE_GRAPH_REJECT);
		return;
	}
	graph_do(builder, sonde_graph_node(builder->graph, SONDE_GRAPH_KEEP,
					   value, NO_NODE, 0));
	go(builder, SONDE_GRAPH_ACCEPT);
}

/* The second half of a comparison of which the first did not decide it. */
static void decide_further(struct builder *builder, uint16_t node,
			   uint16_t if_true, uint16_t if_false)
{
	uint16_t before = builder->block;
	uint16_t after = new_block(builder, 2 * builder->at + 1);

	builder->block = after;
	decide(builder, node, if_true, if_false);
	builder->block = before;
}

/* A signed number and one that isn't: their values are compared. */
static void compare_mixed(struct builder *builder,
			  const struct sonde_expr_op *op)
{
	uint16_t b = builder->stack[builder->depth - 1];
	uint16_t a = builder->stack[builder->depth - 2];
	bool less = op->code != SONDE_EXPR_OP_IF_EQUAL_SU;
	uint16_t sign = op->code == SONDE_EXPR_OP_IF_LESS_US ? b : a;
	bool below_all = op->code == SONDE_EXPR_OP_IF_LESS_SU;
	uint16_t jump = graph_come(builder, op->target, op->keep);
	uint16_t next =
		graph_come(builder, builder->at + 1, builder->depth - 2);
	uint16_t if_true = op->sense ? jump : next;
	uint16_t if_false = op->sense ? next : jump;
	uint16_t further;

	sign = make(builder, SONDE_GRAPH_LESS_S, sign,
		    graph_number(builder, 0));
	further = (uint16_t)builder->graph->nr_blocks;
	decide_further(builder,
		       make(builder,
			    less ? SONDE_GRAPH_LESS_U : SONDE_GRAPH_EQUAL, a,
			    b),
		       if_true, if_false);
	decide(builder, sign, below_all ? if_true : if_false, further);
}

static void extend(struct builder *builder, const struct sonde_expr_op *op)
{
	bool is_signed = op->code == SONDE_EXPR_OP_EXTEND_S;

	push(builder,
	     sonde_graph_node(builder->graph,
			      is_signed ? SONDE_GRAPH_EXTEND_S :
					  SONDE_GRAPH_EXTEND_Z,
			      pop(builder), NO_NODE, (uint8_t)op->number));
}

static void push_variable(struct builder *builder,
			  const struct sonde_expr_op *op)
{
	if (!builder->config->has_variables)
		fail(builder, -EOPNOTSUPP);
	else
		push(builder,
		     sonde_graph_leaf(builder->graph, SONDE_GRAPH_REGISTER,
				      SONDE_GRAPH_VARIABLE_0 + op->number));
}

static void push_register(struct builder *builder,
			  const struct sonde_expr_op *op)
{
	if (op->number == SONDE_AGENT_RIP && builder->config->rip)
		push(builder, graph_number(builder, *builder->config->rip));
	else if (op->number >= builder->config->nr_registers)
		fail(builder, -EOPNOTSUPP);
	else
		push(builder,
		     sonde_graph_leaf(builder->graph, SONDE_GRAPH_REGISTER,
				      op->number));
}

static void shuffle(struct builder *builder, const struct sonde_expr_op *op)
{
	uint16_t *top = &builder->stack[builder->depth];
	uint16_t c = top[-1];

	switch ((int)op->code) {
	case SONDE_EXPR_OP_DUPLICATE:
		push(builder, c);
		break;
	case SONDE_EXPR_OP_PICK:
		push(builder, top[-1 - (int)op->number]);
		break;
	case SONDE_EXPR_OP_POP:
		builder->depth--;
		break;
	case SONDE_EXPR_OP_SWAP:
		top[-1] = top[-2];
		top[-2] = c;
		break;
	default: /* ROTATE */
		top[-1] = top[-2];
		top[-2] = top[-3];
		top[-3] = c;
		break;
	}
}

static void run_plain(struct builder *builder, const struct sonde_expr_op *op)
{
	bool binary = sonde_expr_op_infos[op->code].takes.numbers == 2;
	uint16_t b = binary ? pop(builder) : NO_NODE;
	uint16_t a = pop(builder);

	push(builder, make(builder, plain[op->code], a, b));
}

/* It jumps if the divisor, which is on top, is 0. */
static void divide(struct builder *builder, const struct sonde_expr_op *op)
{
	uint16_t divisor = builder->stack[builder->depth - 1];
	uint64_t value;
	bool known = sonde_graph_is_number(builder->graph, divisor, &value);
	uint16_t jump = 0;
	uint16_t next = 0;

	if (!known || value == 0)
		jump = graph_come(builder, op->target, op->keep);
	if (!known || value != 0) {
		run_plain(builder, op);
		next = graph_come(builder, builder->at + 1, builder->depth);
	}
	decide(builder, divisor, next, jump);
}

/* ---- texts ---- */

static bool place_text(struct builder *builder, uint32_t ref, uint64_t *ret)
{
	const struct sonde_graph_config *config = builder->config;
	uint32_t offset;
	uint32_t size;

	if (!config->text || !config->text(config->ctx, ref, &offset, &size)) {
		fail(builder, -EOPNOTSUPP);
		return false;
	}
	*ret = (uint64_t)size << 32 | offset;
	return true;
}

/* One that can be had is always there. */
static void push_text(struct builder *builder, const struct sonde_expr_op *op)
{
	uint64_t place = 0;
	uint16_t node;

	(void)place_text(builder, op->ref, &place);
	node = sonde_graph_leaf(builder->graph, SONDE_GRAPH_TEXT, place);
	push(builder, node);
	push(builder, node);
}

/* The text on top: where it is in base 0, and how long it may be; one that
 * ends with NUL leaves room for that. */
static uint32_t top_text(struct builder *builder, uint32_t *ret_size,
			 uint32_t *ret_longest)
{
	uint16_t top = builder->stack[builder->depth - 1];
	const struct sonde_graph_node *node = &builder->graph->nodes[top];
	uint32_t offset = (uint32_t)node->number;
	uint32_t bytes = builder->config->bases[0].bytes;

	*ret_size = (uint32_t)(node->number >> 32);
	*ret_longest = *ret_size ? *ret_size : bytes - offset - 1;
	if (node->op != SONDE_GRAPH_TEXT || offset >= bytes ||
	    *ret_size > bytes - offset)
		fail(builder, -EOPNOTSUPP);
	return offset;
}

/* The first byte of the text on top: 0 if it is empty. */
static uint16_t first_byte(struct builder *builder)
{
	uint32_t size;
	uint32_t longest;
	uint32_t offset = top_text(builder, &size, &longest);

	return builder->graph->err ? 0 : bytes_at(builder, 0, offset, 8);
}

/* What a comparison and jump compares; NO_NODE if it isn't one. */
static uint16_t compared(struct builder *builder,
			 const struct sonde_expr_op *op)
{
	uint16_t *top = &builder->stack[builder->depth];
	unsigned int unused;
	uint64_t place;

	switch ((int)op->code) {
	case SONDE_EXPR_OP_IF:
		return top[-1];
	case SONDE_EXPR_OP_IF_TEXT:
		return first_byte(builder);
	case SONDE_EXPR_OP_IF_EQUAL:
		return make(builder, SONDE_GRAPH_EQUAL, top[-2], top[-1]);
	case SONDE_EXPR_OP_IF_LESS_U:
		return make(builder, SONDE_GRAPH_LESS_U, top[-2], top[-1]);
	case SONDE_EXPR_OP_IF_LESS_S:
		return make(builder, SONDE_GRAPH_LESS_S, top[-2], top[-1]);
	case SONDE_EXPR_OP_IF_IS:
		return make(builder, SONDE_GRAPH_EQUAL, top[-1],
			    graph_number(builder, op->number));
	case SONDE_EXPR_OP_IF_BELOW_U:
		return make(builder, SONDE_GRAPH_LESS_U, top[-1],
			    graph_number(builder, op->number));
	case SONDE_EXPR_OP_IF_BELOW_S:
		return make(builder, SONDE_GRAPH_LESS_S, top[-1],
			    graph_number(builder, op->number));
	case SONDE_EXPR_OP_IF_MEM8_IS:
	case SONDE_EXPR_OP_IF_MEM16_IS:
	case SONDE_EXPR_OP_IF_MEM32_IS:
	case SONDE_EXPR_OP_IF_MEM64_IS:
		unused = ALL - bits_read(op);
		return make(
			builder, SONDE_GRAPH_EQUAL, graph_field(builder, op),
			graph_number(builder, op->number << unused >> unused));
	case SONDE_EXPR_OP_IF_DEFINED:
		return op->number == SONDE_EXPR_STRING &&
				       place_text(builder, op->ref, &place) ?
			       graph_number(builder, 1) :
			       NO_NODE;
	default:
		return NO_NODE;
	}
}

/* Operations after which the block goes on; false: it isn't one. */
static bool run_inside(struct builder *builder, const struct sonde_expr_op *op)
{
	const struct sonde_expr_op_info *info = &sonde_expr_op_infos[op->code];

	switch ((int)op->code) {
	case SONDE_EXPR_OP_NUMBER:
		push(builder, graph_number(builder, op->number));
		return true;
	case SONDE_EXPR_OP_REGISTER:
		push_register(builder, op);
		return true;
	case SONDE_EXPR_OP_GET_VARIABLE:
		push_variable(builder, op);
		return true;
	case SONDE_EXPR_OP_EXTEND_S:
	case SONDE_EXPR_OP_EXTEND_Z:
		extend(builder, op);
		return true;
	case SONDE_EXPR_OP_NOT:
		push(builder, make(builder, SONDE_GRAPH_EQUAL, pop(builder),
				   graph_number(builder, 0)));
		return true;
	case SONDE_EXPR_OP_DUPLICATE:
	case SONDE_EXPR_OP_POP:
	case SONDE_EXPR_OP_SWAP:
	case SONDE_EXPR_OP_ROTATE:
	case SONDE_EXPR_OP_PICK:
		shuffle(builder, op);
		return true;
	case SONDE_EXPR_OP_READ_8:
	case SONDE_EXPR_OP_READ_16:
	case SONDE_EXPR_OP_READ_32:
	case SONDE_EXPR_OP_READ_64:
		read_memory(builder, op);
		return true;
	case SONDE_EXPR_OP_CALL_TEXT:
		push_text(builder, op);
		return true;
	default:
		break;
	}
	if (info->operands & SONDE_EXPR_OPERAND_JUMP)
		return false;
	if (info->operands & SONDE_EXPR_OPERAND_DOUBLE)
		return false;
	if (info->operands & SONDE_EXPR_OPERAND_MEM)
		push(builder, graph_field(builder, op));
	else if (plain[op->code])
		run_plain(builder, op);
	else
		return false;
	return true;
}

/* Whether the pattern's bytes from the i-th on match, as a node that isn't 0,
 * and how many bytes that tells of. */
static uint16_t compare_chunk(struct builder *builder,
			      const struct sonde_graph_pattern *pattern,
			      uint32_t at, uint32_t i, uint32_t *bytes)
{
	uint32_t left = 1;
	uint64_t number = 0;
	uint16_t field;

	while (left < 8 && i + left < *bytes && !pattern->any[i + left])
		left++;
	if (pattern->any[i])
		left = 1;
	*bytes = sonde_graph_chunk(builder->config, 0, at + i, left);
	field = bytes_at(builder, 0, at + i, (uint8_t)(8 * *bytes));
	if (pattern->any[i])
		return field;
	memcpy(&number, pattern->bytes + i, *bytes);
	if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
		number >>= 8 * (8 - *bytes);
	return make(builder, SONDE_GRAPH_EQUAL, field,
		    graph_number(builder, number));
}

static void compare_pattern(struct builder *builder,
			    const struct sonde_graph_pattern *pattern,
			    uint32_t at, uint32_t bytes, const uint16_t ways[2])
{
	uint32_t n;

	for (uint32_t i = 0; i < bytes && !builder->graph->err; i += n) {
		uint16_t match;
		uint16_t to;

		n = bytes;
		match = compare_chunk(builder, pattern, at, i, &n);
		to = i + n < bytes ? new_block(builder, 2 * builder->at + 1) :
				     ways[1];
		decide(builder, match, to, ways[0]);
		builder->block = to;
	}
}

static void compare_text(struct builder *builder,
			 const struct sonde_expr_op *op)
{
	struct sonde_graph_pattern pattern;
	uint32_t size;
	uint32_t longest;
	uint32_t at = top_text(builder, &size, &longest);
	int err = sonde_graph_pattern(builder->program, op, &pattern);
	uint32_t bytes = pattern.length;
	bool never = pattern.never || bytes > longest;
	uint16_t ways[2];

	if (err)
		fail(builder, err);
	if (!pattern.is_prefix && (!size || bytes < size))
		bytes++; /* and a NUL */
	if (never || bytes == 0) {
		graph_jump_if(builder, graph_number(builder, !never), op->sense,
			      2);
		return;
	}
	ways[op->sense] = graph_come(builder, op->target, op->keep);
	ways[!op->sense] =
		graph_come(builder, builder->at + 1, builder->depth - 2);
	compare_pattern(builder, &pattern, at, bytes, ways);
}

/* The operation that ends the block. */
static void run_last(struct builder *builder, const struct sonde_expr_op *op)
{
	uint16_t node;

	switch ((int)op->code) {
	case SONDE_EXPR_OP_END_NUMBER:
		if (builder->program->type == SONDE_EXPR_DOUBLE)
			fail(builder, -EOPNOTSUPP);
		graph_end(builder, builder->stack[0]);
		return;
	case SONDE_EXPR_OP_END_TEXT:
		decide(builder, first_byte(builder), SONDE_GRAPH_ACCEPT,
		       SONDE_GRAPH_REJECT);
		return;
	case SONDE_EXPR_OP_IF_TEXT_IS:
	case SONDE_EXPR_OP_IF_GLOB:
		compare_text(builder, op);
		return;
	case SONDE_EXPR_OP_END_TRUE:
	case SONDE_EXPR_OP_END_FALSE:
	case SONDE_EXPR_OP_END_MISSING:
	case SONDE_EXPR_OP_END_FAULT:
	case SONDE_EXPR_OP_END_DIVIDED:
	case SONDE_EXPR_OP_GO:
		go(builder, graph_come(builder, builder->at, builder->depth));
		return;
	case SONDE_EXPR_OP_IF_EQUAL_SU:
	case SONDE_EXPR_OP_IF_LESS_SU:
	case SONDE_EXPR_OP_IF_LESS_US:
		compare_mixed(builder, op);
		return;
	default:
		break;
	}
	if (plain[op->code]) {
		divide(builder, op);
		return;
	}
	node = compared(builder, op);
	if (node == NO_NODE)
		fail(builder, -EOPNOTSUPP);
	else
		graph_jump_if(
			builder, node, op->sense,
			sonde_expr_op_infos[op->code].takes.numbers +
				2u * sonde_expr_op_infos[op->code].takes.texts);
}

static void run_state(struct builder *builder, const struct state *state)
{
	const struct sonde_expr_op *ops = builder->program->ops;

	memcpy(builder->stack, state->stack,
	       state->depth * sizeof(builder->stack[0]));
	builder->depth = state->depth;
	builder->block = state->block;
	builder->at = state->op;
	while (!builder->graph->err && run_inside(builder, &ops[builder->at]))
		builder->at++;
	if (!builder->graph->err)
		run_last(builder, &ops[builder->at]);
}

/* ---- the whole ---- */

static bool is_end(uint16_t block)
{
	return block < SONDE_GRAPH_ENDS;
}

/* Behind blocks that do nothing. */
static uint16_t pass(const struct sonde_graph *graph, uint16_t to)
{
	while (!is_end(to) && !graph->blocks[to].decides &&
	       graph->blocks[to].nr_reads == 0)
		to = graph->blocks[to].to[0];
	return to;
}

/* Sorts by `order`; there are few. */
static void sort(struct sonde_graph *graph)
{
	for (size_t i = 1; i < graph->nr_ordered; i++) {
		uint16_t block = graph->order[i];
		size_t k = i;
		for (; k > 0 && graph->blocks[graph->order[k - 1]].order >
					graph->blocks[block].order;
		     k--)
			graph->order[k] = graph->order[k - 1];
		graph->order[k] = block;
	}
}

/* Counts from how many each is come to, and leaves out what nothing leads to. */
static void count_ways(struct sonde_graph *graph)
{
	size_t nr = 0;

	graph->blocks[graph->begin].nr_from = 1;
	for (size_t i = 0; i < graph->nr_ordered; i++) {
		uint16_t at = graph->order[i];
		const struct sonde_graph_block *block = &graph->blocks[at];
		if (block->nr_from == 0)
			continue;
		graph->order[nr++] = at;
		graph->blocks[block->to[0]].nr_from++;
		if (block->decides)
			graph->blocks[block->to[1]].nr_from++;
	}
	graph->nr_ordered = nr;
}

/* `block` goes on as `next`, which only it leads to. */
static void append(struct sonde_graph *graph, struct sonde_graph_block *block,
		   struct sonde_graph_block *next)
{
	size_t nr = (size_t)block->nr_reads + next->nr_reads;
	uint16_t *reads = sonde_pool_get(&graph->pool, graph->nr_reads + nr,
					 sizeof(*reads));

	if (!reads || graph->nr_reads + nr > SONDE_GRAPH_READS_MAX) {
		graph->err = reads ? -EOPNOTSUPP : -ENOMEM;
		return;
	}
	memcpy(reads, graph->reads, graph->nr_reads * sizeof(*reads));
	memcpy(reads + graph->nr_reads, graph->reads + block->reads,
	       block->nr_reads * sizeof(*reads));
	memcpy(reads + graph->nr_reads + block->nr_reads,
	       graph->reads + next->reads, next->nr_reads * sizeof(*reads));
	graph->reads = reads;
	block->reads = (uint16_t)graph->nr_reads;
	block->nr_reads = (uint16_t)nr;
	graph->nr_reads += nr;
	block->decides = next->decides;
	block->comparison = next->comparison;
	block->to[0] = next->to[0];
	block->to[1] = next->to[1];
	next->nr_from = 0;
}

static void join_chains(struct sonde_graph *graph)
{
	size_t nr = 0;

	for (size_t i = 0; i < graph->nr_ordered && !graph->err; i++) {
		struct sonde_graph_block *block =
			&graph->blocks[graph->order[i]];
		if (block->nr_from == 0)
			continue;
		while (!block->decides && !is_end(block->to[0]) &&
		       graph->blocks[block->to[0]].nr_from == 1 && !graph->err)
			append(graph, block, &graph->blocks[block->to[0]]);
		graph->order[nr++] = graph->order[i];
	}
	graph->nr_ordered = nr;
}

static void arrange(struct sonde_graph *graph)
{
	graph->order = sonde_pool_get(&graph->pool, graph->nr_blocks,
				      sizeof(*graph->order));
	if (!graph->order) {
		graph->err = -ENOMEM;
		return;
	}
	for (size_t i = SONDE_GRAPH_ENDS; i < graph->nr_blocks; i++)
		graph->order[graph->nr_ordered++] = (uint16_t)i;
	sort(graph);
	for (size_t i = graph->nr_ordered; i-- > 0;) {
		struct sonde_graph_block *block =
			&graph->blocks[graph->order[i]];
		block->to[0] = pass(graph, block->to[0]);
		block->to[1] = pass(graph, block->to[1]);
		if (block->to[0] == block->to[1])
			block->decides = false;
	}
	graph->begin = pass(graph, SONDE_GRAPH_ENDS);
	if (is_end(graph->begin)) {
		graph->nr_ordered = 0;
		return;
	}
	count_ways(graph);
	join_chains(graph);
}

int sonde_graph_make(struct sonde_graph *graph,
		     const struct sonde_program *program,
		     const struct sonde_graph_config *config)
{
	struct builder builder = {
		.graph = graph,
		.program = program,
		.config = config,
	};

	*graph = (struct sonde_graph){ .config = config };
	sonde_pool_init(&graph->pool, 0);
	memset(graph->hashes, 0xff, sizeof(graph->hashes));
	(void)sonde_graph_number(graph, 0);
	for (unsigned int i = 0; i < SONDE_GRAPH_ENDS; i++)
		(void)new_block(&builder, i);
	if (!graph->err)
		(void)state_block(&builder, 0, 0);
	for (size_t i = 0; i < builder.nr_states && !graph->err; i++)
		run_state(&builder, &builder.states[i]);
	if (!graph->err)
		arrange(graph);
	if (!graph->err)
		sonde_graph_demand(graph);
	return graph->err;
}

void sonde_graph_fini(struct sonde_graph *graph)
{
	sonde_pool_fini(&graph->pool);
}
