/* SPDX-License-Identifier: MIT */
/*
 * ebpf.c - eBPF for the nodes of each block (expr/ebpf.h, insn.h).
 *
 * Values are in R1 to R3, which are all that most conditions need, and on the
 * machine's stack; R4 and R5 are scratch: for the first and second operand, if
 * these are on the stack. A value that is a constant, a register or one load of
 * a field is computed again where it is used, if there is no register for it. R0
 * is 0 from the first instruction on, and 1 is put there by the last; but
 * where memory is read, which the call's result is in R0 for, each end sets it.
 *
 * Comparisons are of 64 bits or of 32, and all else is of 64 bits but shifts to
 * the right: of a value of which 32 bits are wanted, the others may be anything.
 *
 * A jump's target is a block until all is known. Blocks that nothing leads to
 * aren't there, as the verifier wants.
 *
 * Cost: `field == constant` is a load, a comparison, and one instruction for
 * each way to end.
 */
#include "expr/ebpf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/port.h"
#include "expr/jit/insn.h"

#define NO_NODE   SONDE_GRAPH_NO_NODE
#define ALL       64u
#define REGISTERS 3u
#define FIRST     BPF_REG_1
#define SCRATCH_A BPF_REG_4
#define SCRATCH_B BPF_REG_5

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BPF_SWAP BPF_TO_BE
#else
#define BPF_SWAP BPF_TO_LE
#endif

/* A comparison whose operands are in registers, or the second is a number. */
struct compared {
	uint8_t a, b;
	bool has_number;
	bool tests;   /* whether a & b is 0 */
	bool is_wide; /* 64 bits */
	int32_t number;
};

struct generator {
	struct sonde_jit jit;
	const struct sonde_ebpf_config *config;
	struct bpf_insn *to;
	size_t nr, max;
	uint16_t *targets; /* by instruction: a block; NO_TARGET */
	size_t *starts;    /* by block: its first instruction */
	struct compared compared;
	bool reads; /* memory */
	int err;
};
#define NO_TARGET UINT16_MAX
_Static_assert(SONDE_EBPF_VARIABLE_0 == SONDE_GRAPH_VARIABLE_0, "one number");
/* What the graph doesn't know as an end of its own. */
#define FAULTED SONDE_GRAPH_DIVIDED

/* ---- single instructions ---- */

static void fail(struct generator *to, int err)
{
	if (!to->err)
		to->err = err;
}

static struct bpf_insn make(uint32_t code, uint8_t dst, uint8_t src,
			    int32_t number)
{
	return (struct bpf_insn){
		.code = (uint8_t)code,
		.dst_reg = dst & 0xfu,
		.src_reg = src & 0xfu,
		.imm = number,
	};
}

static void add(struct generator *to, struct bpf_insn insn)
{
	if (to->err)
		return;
	if (to->nr == to->max) {
		fail(to, -E2BIG);
		return;
	}
	to->targets[to->nr] = NO_TARGET;
	to->to[to->nr++] = insn;
}

static void add_at(struct generator *to, struct bpf_insn insn, int32_t offset)
{
	insn.off = (int16_t)offset;
	add(to, insn);
}

static void alu(struct generator *to, uint8_t op, uint8_t a, uint8_t b)
{
	add(to, make(BPF_ALU64 | BPF_X | op, a, b, 0));
}

static void alu_number(struct generator *to, uint8_t op, uint8_t a,
		       int32_t number)
{
	add(to, make(BPF_ALU64 | BPF_K | op, a, 0, number));
}

static void ebpf_move(struct generator *to, uint8_t dst, uint8_t src)
{
	if (dst != src)
		alu(to, BPF_MOV, dst, src);
}

static bool is_short(uint64_t number)
{
	return (int64_t)number >= INT32_MIN && (int64_t)number <= INT32_MAX;
}

/* The second half of a long number is an instruction of its own. */
static void ebpf_set(struct generator *to, uint8_t reg, uint64_t number)
{
	if (is_short(number)) {
		alu_number(to, BPF_MOV, reg, (int32_t)number);
		return;
	}
	add(to, make(BPF_LD | BPF_DW, reg, 0, (int32_t)(uint32_t)number));
	add(to, make(0, 0, 0, (int32_t)(uint32_t)(number >> 32)));
}

/* Over the next `nr` instructions if `a` stands so to a number. */
static void skip_if(struct generator *to, uint8_t op, uint8_t a, int32_t number,
		    int16_t nr)
{
	add_at(to, make(BPF_JMP | BPF_K | op, a, 0, number), nr);
}

static void ebpf_jump(struct generator *to, struct bpf_insn insn,
		      uint16_t target)
{
	add(to, insn);
	if (to->err)
		return;
	to->targets[to->nr - 1] = target;
}

/* ---- memory ---- */

static uint8_t size_code(uint32_t bytes)
{
	return bytes == 8 ? BPF_DW :
	       bytes == 4 ? BPF_W :
	       bytes == 2 ? BPF_H :
			    BPF_B;
}

static void load(struct generator *to, uint8_t reg, uint8_t from, int32_t at,
		 uint32_t bytes)
{
	if (at > INT16_MAX)
		fail(to, -EOPNOTSUPP);
	add_at(to, make(BPF_LDX | BPF_MEM | size_code(bytes), reg, from, 0),
	       at);
}

/* A field's place: its base; the offset there. */
static uint32_t field_base(const struct sonde_graph *graph, uint16_t node,
			   uint32_t *ret_offset)
{
	const struct sonde_graph_node *at = &graph->nodes[graph->nodes[node].a];

	*ret_offset = 0;
	if (at->op == SONDE_GRAPH_ADD) {
		*ret_offset = (uint32_t)graph->nodes[at->b].number;
		at = &graph->nodes[at->a];
	}
	return (uint32_t)at->number;
}

/* In the machine's order, widened by zeros; uses SCRATCH_B where the bytes don't
 * lie aligned. */
static void load_field(struct generator *to, uint8_t reg, uint16_t node)
{
	const bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	const struct sonde_graph *graph = &to->jit.graph;
	uint32_t bytes = graph->nodes[node].bits / 8u;
	uint32_t offset;
	uint32_t base = field_base(graph, node, &offset);
	uint32_t done = 0;

	while (done < bytes) {
		uint32_t n = sonde_graph_chunk(graph->config, base,
					       offset + done, bytes - done);
		uint8_t part = done ? SCRATCH_B : reg;
		uint32_t shift = 8 * (big ? bytes - done - n : done);

		load(to, part, to->config->bases[base].reg,
		     to->config->bases[base].offset + (int32_t)(offset + done),
		     n);
		if (shift)
			alu_number(to, BPF_LSH, part, (int32_t)shift);
		if (done)
			alu(to, BPF_OR, reg, part);
		done += n;
	}
}

static void load_register(struct generator *to, uint8_t reg, uint64_t number)
{
	const struct sonde_ebpf_config *config = to->config;
	int16_t offset = 0;
	uint8_t base = 0;

	if (!config->registers(config->ctx, (uint32_t)number, &base, &offset))
		fail(to, -EOPNOTSUPP);
	load(to, reg, base, offset, 8);
}

/* ---- values ---- */

/* Whether it is as well computed again: one instruction, mostly. */
static bool is_cheap(const struct sonde_jit *jit, uint16_t value)
{
	const struct sonde_graph *graph = &jit->graph;
	const struct sonde_graph_node *node = &graph->nodes[value];
	uint32_t bytes = node->bits / 8u;
	uint32_t offset;
	uint32_t base;

	if (node->op != SONDE_GRAPH_FIELD)
		return node->op == SONDE_GRAPH_NUMBER ||
		       node->op == SONDE_GRAPH_REGISTER;
	base = field_base(graph, value, &offset);
	return sonde_graph_chunk(graph->config, base, offset, bytes) == bytes;
}

static bool is_in_slot(const struct generator *to, uint16_t value)
{
	return to->jit.regs[value] == SONDE_JIT_IN_SLOT;
}

/* What is cheap. */
static void compute_cheap(struct generator *to, uint8_t reg, uint16_t value)
{
	const struct sonde_graph_node *node = &to->jit.graph.nodes[value];

	if (node->op == SONDE_GRAPH_NUMBER)
		ebpf_set(to, reg, node->number);
	else if (node->op == SONDE_GRAPH_REGISTER)
		load_register(to, reg, node->number);
	else
		load_field(to, reg, value);
}

/* From above: so no more of the stack is used than is needed. */
static int32_t slot_place(const struct generator *to, uint32_t slot)
{
	int32_t top = to->config->stack + to->config->room / 8 * 8;

	return top - 8 * ((int32_t)slot + 1);
}

/* The register that has the value, which is `scratch` if it has none. */
static uint8_t get(struct generator *to, uint16_t value, uint8_t scratch)
{
	if (!is_in_slot(to, value))
		return (uint8_t)(FIRST + to->jit.regs[value]);
	if (is_cheap(&to->jit, value))
		compute_cheap(to, scratch, value);
	else
		load(to, scratch, BPF_REG_10,
		     slot_place(to, to->jit.slots[value]), 8);
	return scratch;
}

static void get_into(struct generator *to, uint16_t value, uint8_t reg)
{
	ebpf_move(to, reg, get(to, value, reg));
}

/* The register to make a value in, and what is to be done then. */
static uint8_t home(const struct generator *to, uint16_t value)
{
	return is_in_slot(to, value) ? SCRATCH_A :
				       (uint8_t)(FIRST + to->jit.regs[value]);
}

static void put(struct generator *to, uint16_t value, uint8_t reg)
{
	if (is_in_slot(to, value))
		add_at(to, make(BPF_STX | BPF_MEM | BPF_DW, BPF_REG_10, reg, 0),
		       slot_place(to, to->jit.slots[value]));
}

/* ---- arithmetic ---- */

static void with_number(struct generator *to, uint8_t op, uint8_t reg,
			uint64_t number)
{
	if (is_short(number)) {
		alu_number(to, op, reg, (int32_t)number);
		return;
	}
	ebpf_set(to, SCRATCH_B, number);
	alu(to, op, reg, SCRATCH_B);
}

/* The machine shifts by less than 64 only. */
static void ebpf_shift(struct generator *to, const struct sonde_jit_insn *insn,
		       uint8_t dst)
{
	bool left = insn->op == SONDE_GRAPH_SHIFT_LEFT;
	uint8_t b = get(to, insn->b, SCRATCH_B);

	get_into(to, insn->a, dst);
	if (insn->op == SONDE_GRAPH_SHIFT_RIGHT_S) {
		ebpf_move(to, SCRATCH_B, b);
		skip_if(to, BPF_JLT, SCRATCH_B, 64, 1);
		alu_number(to, BPF_MOV, SCRATCH_B, 63);
		alu(to, BPF_ARSH, dst, SCRATCH_B);
		return;
	}
	skip_if(to, BPF_JLT, b, 64, 2);
	alu_number(to, BPF_MOV, dst, 0);
	skip_if(to, BPF_JA, 0, 0, 1);
	alu(to, left ? BPF_LSH : BPF_RSH, dst, b);
}

static void ebpf_shift_number(struct generator *to,
			      const struct sonde_jit_insn *insn, uint8_t dst)
{
	static const uint8_t ops[] = {
		[SONDE_GRAPH_SHIFT_LEFT] = BPF_LSH,
		[SONDE_GRAPH_SHIFT_RIGHT_U] = BPF_RSH,
		[SONDE_GRAPH_SHIFT_RIGHT_S] = BPF_ARSH,
	};
	uint32_t class = insn->width == 32 ? BPF_ALU : BPF_ALU64;

	get_into(to, insn->a, dst);
	add(to,
	    make(class | BPF_K | ops[insn->op], dst, 0, (int32_t)insn->number));
}

/* A register's amount, in itself. */
static void make_positive(struct generator *to, uint8_t reg)
{
	skip_if(to, BPF_JSGE, reg, 0, 1);
	alu_number(to, BPF_NEG, reg, 0);
}

/* By a number: `dst` is an amount; `sign` becomes that of a quotient. */
static void divide_by_number(struct generator *to, bool quotient, uint8_t dst,
			     uint8_t sign, uint64_t number)
{
	bool negative = (int64_t)number < 0;

	if (quotient && negative)
		alu_number(to, BPF_XOR, sign, -1);
	with_number(to, quotient ? BPF_DIV : BPF_MOD, dst,
		    negative ? 0 - number : number);
}

static void divide_by_value(struct generator *to, bool quotient, uint8_t dst,
			    uint8_t sign, uint16_t value)
{
	get_into(to, value, SCRATCH_B);
	if (quotient)
		alu(to, BPF_XOR, sign, SCRATCH_B);
	make_positive(to, SCRATCH_B);
	alu(to, quotient ? BPF_DIV : BPF_MOD, dst, SCRATCH_B);
}

/*
 * There is division without sign only: it is done with amounts. Those of
 * numbers of opposite signs have a negative quotient; a remainder has the sign
 * of what was divided. INT64_MIN is its own amount, as without sign it should
 * be.
 */
static void divide_signed(struct generator *to,
			  const struct sonde_jit_insn *insn, uint8_t dst)
{
	bool quotient = insn->op == SONDE_GRAPH_DIVIDE_S;
	uint8_t sign = (uint8_t)(FIRST + to->jit.regs[insn->temp]);

	get_into(to, insn->a, sign);
	ebpf_move(to, dst, sign);
	make_positive(to, dst);
	if (insn->has_number)
		divide_by_number(to, quotient, dst, sign, insn->number);
	else
		divide_by_value(to, quotient, dst, sign, insn->b);
	skip_if(to, BPF_JSGE, sign, 0, 1);
	alu_number(to, BPF_NEG, dst, 0);
}

static void ebpf_alu(struct generator *to, const struct sonde_jit_insn *insn)
{
	static const uint8_t ops[] = {
		[SONDE_GRAPH_ADD] = BPF_ADD,
		[SONDE_GRAPH_SUBTRACT] = BPF_SUB,
		[SONDE_GRAPH_MULTIPLY] = BPF_MUL,
		[SONDE_GRAPH_AND] = BPF_AND,
		[SONDE_GRAPH_OR] = BPF_OR,
		[SONDE_GRAPH_XOR] = BPF_XOR,
		[SONDE_GRAPH_DIVIDE_U] = BPF_DIV,
		[SONDE_GRAPH_REMAINDER_U] = BPF_MOD,
	};
	uint8_t dst = home(to, insn->dst);

	switch ((int)insn->op) {
	case SONDE_GRAPH_DIVIDE_S:
	case SONDE_GRAPH_REMAINDER_S:
		divide_signed(to, insn, dst);
		break;
	case SONDE_GRAPH_SHIFT_LEFT:
	case SONDE_GRAPH_SHIFT_RIGHT_U:
	case SONDE_GRAPH_SHIFT_RIGHT_S:
		if (insn->has_number)
			ebpf_shift_number(to, insn, dst);
		else
			ebpf_shift(to, insn, dst);
		break;
	default:
		get_into(to, insn->a, dst);
		if (insn->has_number)
			with_number(to, ops[insn->op], dst, insn->number);
		else
			alu(to, ops[insn->op], dst,
			    get(to, insn->b, SCRATCH_B));
		break;
	}
	put(to, insn->dst, dst);
}

static void ebpf_extend(struct generator *to, const struct sonde_jit_insn *insn)
{
	int32_t unused = 64 - insn->from;
	uint8_t dst = home(to, insn->dst);
	uint8_t a;

	if (insn->from == 32 && !insn->is_signed) {
		a = get(to, insn->a, dst);
		add(to, make(BPF_ALU | BPF_X | BPF_MOV, dst, a, 0));
	} else if (!insn->is_signed) {
		get_into(to, insn->a, dst);
		alu_number(to, BPF_AND, dst, (1 << insn->from) - 1);
	} else {
		get_into(to, insn->a, dst);
		alu_number(to, BPF_LSH, dst, unused);
		alu_number(to, BPF_ARSH, dst, unused);
	}
	put(to, insn->dst, dst);
}

static void ebpf_unary(struct generator *to, const struct sonde_jit_insn *insn)
{
	uint8_t dst = home(to, insn->dst);

	get_into(to, insn->a, dst);
	if (insn->code == SONDE_JIT_SWAP)
		add(to, make(BPF_ALU | BPF_END | BPF_SWAP, dst, 0, insn->from));
	else if (insn->op == SONDE_GRAPH_NEGATE)
		alu_number(to, BPF_NEG, dst, 0);
	else
		alu_number(to, BPF_XOR, dst, -1);
	put(to, insn->dst, dst);
}

/* The call leaves R6 to R9 only; what is read comes to behind the slots. */
static void ebpf_read(struct generator *to, const struct sonde_jit_insn *insn)
{
	int32_t at = slot_place(to, to->jit.nr_slots);
	int32_t bytes = insn->from / 8;
	uint8_t dst;

	get_into(to, insn->a, BPF_REG_3);
	alu_number(to, BPF_MOV, BPF_REG_2, bytes);
	alu(to, BPF_MOV, BPF_REG_1, BPF_REG_10);
	alu_number(to, BPF_ADD, BPF_REG_1, at);
	add(to, make(BPF_JMP | BPF_CALL, 0, 0, to->config->read_helper));
	ebpf_jump(to, make(BPF_JMP | BPF_K | BPF_JNE, BPF_REG_0, 0, 0),
		  FAULTED);
	if (insn->dst == NO_NODE)
		return;
	dst = home(to, insn->dst);
	load(to, dst, BPF_REG_10, at, (uint32_t)bytes);
	put(to, insn->dst, dst);
}

static void ebpf_keep(struct generator *to, const struct sonde_jit_insn *insn)
{
	add_at(to,
	       make(BPF_STX | BPF_MEM | BPF_DW, BPF_REG_10,
		    get(to, insn->a, SCRATCH_A), 0),
	       to->config->value_at);
}

/* ---- comparisons ---- */

static void ebpf_compare(struct generator *to,
			 const struct sonde_jit_insn *insn)
{
	struct compared *compared = &to->compared;

	*compared = (struct compared){
		.a = get(to, insn->a, SCRATCH_A),
		.has_number = insn->has_number,
		.tests = insn->code == SONDE_JIT_TEST,
		.is_wide = insn->width > 32,
		.number = (int32_t)(uint32_t)insn->number,
	};
	if (insn->has_number && compared->is_wide && !is_short(insn->number)) {
		ebpf_set(to, SCRATCH_B, insn->number);
		compared->has_number = false;
		compared->b = SCRATCH_B;
	} else if (!insn->has_number) {
		compared->b = get(to, insn->b, SCRATCH_B);
	}
}

/* A jump if the last comparison gave that. A test can only be asked whether the
 * result isn't 0. */
static struct bpf_insn jump_if(const struct generator *to, uint8_t relation)
{
	static const uint8_t ops[] = {
		[SONDE_GRAPH_IS_EQUAL] = BPF_JEQ,
		[SONDE_GRAPH_IS_UNEQUAL] = BPF_JNE,
		[SONDE_GRAPH_IS_LESS_S] = BPF_JSLT,
		[SONDE_GRAPH_IS_AT_LEAST_S] = BPF_JSGE,
		[SONDE_GRAPH_IS_MORE_S] = BPF_JSGT,
		[SONDE_GRAPH_IS_AT_MOST_S] = BPF_JSLE,
		[SONDE_GRAPH_IS_LESS_U] = BPF_JLT,
		[SONDE_GRAPH_IS_AT_LEAST_U] = BPF_JGE,
		[SONDE_GRAPH_IS_MORE_U] = BPF_JGT,
		[SONDE_GRAPH_IS_AT_MOST_U] = BPF_JLE,
	};
	const struct compared *compared = &to->compared;
	uint32_t class = compared->is_wide ? BPF_JMP : BPF_JMP32;
	uint8_t op = compared->tests ? BPF_JSET : ops[relation];

	return compared->has_number ?
		       make(class | BPF_K | op, compared->a, 0,
			    compared->number) :
		       make(class | BPF_X | op, compared->a, compared->b, 0);
}

/* 1 or 0; the operands may be in the register where that comes to. */
static void ebpf_truth(struct generator *to, const struct sonde_jit_insn *insn)
{
	bool inverted = to->compared.tests && insn->op == SONDE_GRAPH_IS_EQUAL;
	uint8_t dst = home(to, insn->dst);

	add_at(to, jump_if(to, insn->op), 2);
	alu_number(to, BPF_MOV, dst, inverted);
	skip_if(to, BPF_JA, 0, 0, 1);
	alu_number(to, BPF_MOV, dst, !inverted);
	put(to, insn->dst, dst);
}

/* The end of a block; `next` comes behind it. */
static void ebpf_decide(struct generator *to, uint16_t at, uint16_t next)
{
	const struct sonde_graph_block *block = &to->jit.graph.blocks[at];
	uint8_t relation = block->comparison.relation;
	uint16_t if_so = block->to[1];
	uint16_t if_not = block->to[0];

	if (block->decides && to->compared.tests &&
	    relation == SONDE_GRAPH_IS_EQUAL) {
		relation = SONDE_GRAPH_IS_UNEQUAL;
		if_so = block->to[0];
		if_not = block->to[1];
	}
	if (block->decides && if_so == next && !to->compared.tests) {
		relation = SONDE_GRAPH_OPPOSITE(relation);
		if_so = if_not;
		if_not = next;
	}
	if (block->decides && if_so == next)
		add_at(to, jump_if(to, relation), 1);
	else if (block->decides)
		ebpf_jump(to, jump_if(to, relation), if_so);
	if (if_not != next)
		ebpf_jump(to, make(BPF_JMP | BPF_JA, 0, 0, 0), if_not);
}

/* ---- the whole ---- */

static void ebpf_put_insn(struct generator *to,
			  const struct sonde_jit_insn *insn)
{
	if (insn->dst != NO_NODE && is_in_slot(to, insn->dst) &&
	    is_cheap(&to->jit, insn->dst))
		return; /* where it is used */
	switch ((int)insn->code) {
	case SONDE_JIT_BLOCK:
		to->starts[insn->target] = to->nr;
		break;
	case SONDE_JIT_LOAD: /* what is cheap, or a field that isn't */
		compute_cheap(to, home(to, insn->dst), insn->dst);
		put(to, insn->dst, home(to, insn->dst));
		break;
	case SONDE_JIT_ALU:
		ebpf_alu(to, insn);
		break;
	case SONDE_JIT_EXTEND:
		ebpf_extend(to, insn);
		break;
	case SONDE_JIT_UNARY:
	case SONDE_JIT_SWAP:
		ebpf_unary(to, insn);
		break;
	case SONDE_JIT_READ:
		ebpf_read(to, insn);
		break;
	case SONDE_JIT_KEEP:
		ebpf_keep(to, insn);
		break;
	case SONDE_JIT_COMPARE:
	case SONDE_JIT_TEST:
		ebpf_compare(to, insn);
		break;
	case SONDE_JIT_TRUTH:
		ebpf_truth(to, insn);
		break;
	default:
		fail(to, -EOPNOTSUPP);
		break;
	}
}

/*
 * Behind the last block, which goes on to ACCEPT if that is next. Each end but
 * the last skips those behind it: there are three at most, of an instruction
 * each.
 */
static void ebpf_put_ends(struct generator *to)
{
	const struct sonde_graph_block *blocks = to->jit.graph.blocks;
	bool tells = to->reads && to->config->tells_faults;
	size_t skips[SONDE_GRAPH_ENDS];
	size_t nr = 0;
	const struct {
		uint16_t end;
		bool is_reached;
		int32_t result;
	} ends[] = {
		{ SONDE_GRAPH_ACCEPT, blocks[SONDE_GRAPH_ACCEPT].nr_from, 1 },
		{ SONDE_GRAPH_REJECT,
		  to->reads && (!tells || blocks[SONDE_GRAPH_REJECT].nr_from),
		  0 },
		{ FAULTED, tells, 2 },
	};

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(ends) && !to->err; i++) {
		if (ends[i].is_reached && nr)
			skip_if(to, BPF_JA, 0, 0, 0);
		to->starts[ends[i].end] = to->nr;
		if (!ends[i].is_reached)
			continue;
		alu_number(to, BPF_MOV, BPF_REG_0, ends[i].result);
		skips[nr++] = to->nr; /* the one that is put next, if any */
	}
	/* all but the last */
	for (size_t i = 0; i + 1 < nr && !to->err; i++)
		to->to[skips[i]].off = (int16_t)(to->nr - skips[i] - 1);
	if (!tells)
		to->starts[FAULTED] = to->starts[SONDE_GRAPH_REJECT];
}

static void ebpf_put_all(struct generator *to)
{
	const struct sonde_jit *jit = &to->jit;
	uint16_t begin = jit->graph.begin;

	if (begin <= SONDE_GRAPH_ACCEPT || !to->reads)
		alu_number(to, BPF_MOV, BPF_REG_0, begin == SONDE_GRAPH_ACCEPT);
	for (size_t i = 0; i < jit->nr_insns; i++) {
		const struct sonde_jit_insn *insn = &jit->insns[i];

		if (insn->code == SONDE_JIT_DECIDE)
			ebpf_decide(to, insn->target,
				    i + 1 < jit->nr_insns ? insn[1].target :
							    SONDE_GRAPH_ACCEPT);
		else
			ebpf_put_insn(to, insn);
	}
	if (begin > SONDE_GRAPH_ACCEPT)
		ebpf_put_ends(to);
}

static void resolve_jumps(struct generator *to)
{
	for (size_t i = 0; i < to->nr && !to->err; i++) {
		size_t offset;

		if (to->targets[i] == NO_TARGET)
			continue;
		offset = to->starts[to->targets[i]] - i - 1;
		if (offset > INT16_MAX)
			fail(to, -E2BIG);
		to->to[i].off = (int16_t)offset;
	}
}

/* ---- instructions for nodes ---- */

static bool ebpf_is_fixed(const struct sonde_jit *jit, uint16_t node)
{
	return jit->graph.nodes[node].op == SONDE_GRAPH_BASE;
}

/* b: a number, or a value of which so many bits count. */
static void match_b(struct sonde_jit_selector *s, struct sonde_jit_insn *insn,
		    uint16_t b, unsigned int bits)
{
	insn->has_number = sonde_graph_is_number(s->graph, b, &insn->number);
	if (!insn->has_number)
		insn->b = sonde_jit_operand(s, b, bits);
	else if (bits == 32)
		insn->number = (uint64_t)(int32_t)(uint32_t)insn->number;
}

/* Bits that count of the operands, and in which it is done. */
static uint8_t binary_width(const struct sonde_jit_selector *s,
			    const struct sonde_graph_node *node)
{
	const struct sonde_graph_node *a = sonde_jit_node(s, node->a);
	uint64_t count = ALL;
	bool known = sonde_graph_is_number(s->graph, node->b, &count);

	switch ((int)node->op) {
	case SONDE_GRAPH_SHIFT_LEFT:
		return known && node->demand <= 32 ? 32 : ALL;
	case SONDE_GRAPH_SHIFT_RIGHT_U:
		return count < 32 && a->zbits <= 32 ? 32 : ALL;
	case SONDE_GRAPH_SHIFT_RIGHT_S:
		return count < 32 && a->sbits <= 32 && node->demand <= 32 ? 32 :
									    ALL;
	case SONDE_GRAPH_DIVIDE_U:
	case SONDE_GRAPH_DIVIDE_S:
	case SONDE_GRAPH_REMAINDER_U:
	case SONDE_GRAPH_REMAINDER_S:
		return ALL;
	default:
		return node->demand <= 32 ? 32 : ALL;
	}
}

static void match_binary(struct sonde_jit_selector *s, uint16_t i,
			 const struct sonde_graph_node *node,
			 struct sonde_jit_insn *insn)
{
	insn->code = SONDE_JIT_ALU;
	insn->op = node->op;
	insn->width = binary_width(s, node);
	insn->a = sonde_jit_operand(s, node->a, insn->width);
	match_b(s, insn, node->b, insn->width);
	if (node->op == SONDE_GRAPH_SHIFT_LEFT)
		insn->width = ALL; /* which may be by 32 and more */
	if (node->op == SONDE_GRAPH_DIVIDE_S ||
	    node->op == SONDE_GRAPH_REMAINDER_S)
		insn->temp = (uint16_t)(s->nr_nodes + i);
}

/* What is done, not computed: reading, or keeping the value. */
static void match_read(struct sonde_jit_selector *s, uint16_t i,
		       struct sonde_jit_insn *insn)
{
	insn->code = sonde_jit_node(s, i)->op == SONDE_GRAPH_KEEP ?
			     SONDE_JIT_KEEP :
			     SONDE_JIT_READ;
	insn->from = sonde_jit_node(s, i)->bits;
	insn->a = sonde_jit_operand(s, sonde_jit_node(s, i)->a, ALL);
}

static void ebpf_match(struct sonde_jit_selector *s, uint16_t i,
		       struct sonde_jit_insn *insn)
{
	const struct sonde_graph_node *node = sonde_jit_node(s, i);

	insn->dst = i;
	insn->op = node->op;
	insn->from = node->bits;
	switch ((int)node->op) {
	case SONDE_GRAPH_NUMBER:
	case SONDE_GRAPH_REGISTER:
	case SONDE_GRAPH_FIELD:
		insn->code = SONDE_JIT_LOAD;
		break;
	case SONDE_GRAPH_READ:
		match_read(s, i, insn);
		break;
	case SONDE_GRAPH_EXTEND_S:
	case SONDE_GRAPH_EXTEND_Z:
		insn->code = SONDE_JIT_EXTEND;
		insn->is_signed = node->op == SONDE_GRAPH_EXTEND_S;
		insn->a = sonde_jit_operand(s, node->a, node->bits);
		break;
	case SONDE_GRAPH_SWAP:
		insn->code = SONDE_JIT_SWAP;
		insn->a = sonde_jit_operand(s, node->a, node->bits);
		break;
	case SONDE_GRAPH_NEGATE:
	case SONDE_GRAPH_COMPLEMENT:
		insn->code = SONDE_JIT_UNARY;
		insn->a = sonde_jit_operand(s, node->a,
					    node->demand <= 32 ? 32 : ALL);
		break;
	default:
		match_binary(s, i, node, insn);
		break;
	}
}

static void
ebpf_match_comparison(struct sonde_jit_selector *s, struct sonde_jit_insn *insn,
		      const struct sonde_graph_comparison *comparison)
{
	const struct sonde_graph_node *a = sonde_jit_node(s, comparison->a);
	uint64_t number;

	insn->code = SONDE_JIT_COMPARE;
	insn->width = comparison->width;
	if (comparison->relation <= SONDE_GRAPH_IS_UNEQUAL &&
	    a->op == SONDE_GRAPH_AND && a->uses == 1 &&
	    !s->there[comparison->a] &&
	    sonde_graph_is_number(s->graph, comparison->b, &number) &&
	    number == 0) {
		insn->code = SONDE_JIT_TEST;
		insn->a = sonde_jit_operand(s, a->a, insn->width);
		match_b(s, insn, a->b, insn->width);
		return;
	}
	insn->a = sonde_jit_operand(s, comparison->a, insn->width);
	match_b(s, insn, comparison->b, insn->width);
}

/* ---- from a program ---- */

static bool has_reads(const struct sonde_jit *jit)
{
	for (size_t i = 0; i < jit->nr_insns; i++) {
		if (jit->insns[i].code == SONDE_JIT_READ)
			return true;
	}
	return false;
}

/* A place for each value. */
static int allocate(struct generator *to)
{
	const struct sonde_ebpf_config *config = to->config;
	struct sonde_jit_places places = {
		.nr_regs = REGISTERS,
		.nr_slots = config->room / 8u,
		.is_cheap = is_cheap,
	};

	to->reads = has_reads(&to->jit);
	if (to->reads && (!config->read_helper || !places.nr_slots))
		return -EOPNOTSUPP;
	places.nr_slots -= to->reads;
	return sonde_jit_allocate(&to->jit, &places);
}

static int write_code(struct generator *to)
{
	to->targets = calloc(to->max + 1, sizeof(*to->targets));
	to->starts = calloc(to->jit.graph.nr_blocks, sizeof(*to->starts));
	if (to->targets && to->starts) {
		ebpf_put_all(to);
		resolve_jumps(to);
	} else {
		fail(to, -ENOMEM);
	}
	free(to->targets);
	free(to->starts);
	return to->err;
}

int sonde_ebpf_generate(const struct sonde_program *program,
			const struct sonde_ebpf_config *config,
			struct bpf_insn *to, size_t max, size_t *ret_nr)
{
	static const struct sonde_jit_target target = {
		.is_fixed = ebpf_is_fixed,
		.match = ebpf_match,
		.compare = ebpf_match_comparison,
		.touch = match_read,
	};
	struct sonde_graph_config sees = {
		.nr_registers = config->registers ? SONDE_EXPR_REGISTERS : 0,
		.has_variables = config->registers,
		.keeps_value = config->keeps_value,
		.narrowest = 32,
		.text = config->text,
		.ctx = config->ctx,
	};
	struct generator generator = { .config = config, .to = to, .max = max };
	int err;

	for (unsigned int i = 0; i < 2; i++) {
		sees.bases[i].bytes = config->bases[i].bytes;
		sees.bases[i].offset = config->bases[i].offset;
		sees.bases[i].aligned = !config->bases[i].unaligned;
	}
	err = sonde_graph_make(&generator.jit.graph, program, &sees);
	if (!err)
		err = sonde_jit_schedule(&generator.jit, &target);
	if (!err)
		err = allocate(&generator);
	if (!err)
		err = write_code(&generator);
	if (!err)
		*ret_nr = generator.nr;
	sonde_graph_fini(&generator.jit.graph);
	return err;
}
