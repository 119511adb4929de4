/* SPDX-License-Identifier: MIT */
/*
 * x86_64.c - bytes for the instructions of x86_64.h.
 *
 * Everything is written twice: the first time, jumps inside are long, and the
 * second time those that then reach with one byte are short, as what lies
 * between can only have become less.
 *
 * A division has rax and rdx for itself. A shift by a register needs its count
 * in cl: for that moment, that register is exchanged with rcx.
 */
#include <errno.h>
#include <stdlib.h>

#include "expr/agent.h"
#include "expr/jit/x86_64.h"

#define NO_NODE  SONDE_GRAPH_NO_NODE
#define INSN_MAX 16u /* bytes, and to spare */

/* A jump inside. */
struct fixup {
	uint32_t at; /* where its displacement is */
	uint16_t to;
	bool is_short;
};

struct emitter {
	const struct sonde_jit *jit;
	const struct sonde_jit_place *place;
	struct sonde_jit_code *code;
	struct sonde_asm to;
	uint32_t *labels; /* by block: where it begins */
	struct fixup *fixups;
	uint32_t *long_ends; /* by fixup: where it ended the first time */
	size_t nr_fixups;
	bool is_final;                        /* the second time */
	uint8_t scratch[SONDE_ASM_REGISTERS]; /* in use, in order */
	unsigned int nr_scratch;
	int rc;
};

static void fail(struct emitter *e, int rc)
{
	if (!e->rc)
		e->rc = rc;
}

static void note(uint32_t *list, uint32_t *nr, uint32_t max, struct emitter *e,
		 uint32_t at)
{
	if (*nr == max)
		fail(e, -ENOSPC);
	else
		list[(*nr)++] = at;
}

/* ---- registers ---- */

static uint8_t register_of(struct emitter *e, uint16_t node)
{
	const struct sonde_jit *jit = e->jit;
	uint8_t fixed;

	if (node == NO_NODE)
		return SONDE_ASM_NONE;
	fixed = sonde_jit_fixed(jit, node);
	if (fixed != SONDE_ASM_NONE)
		return fixed;
	/* one that is where it was */
	if (node < jit->graph.nr_nodes &&
	    jit->graph.nodes[node].op == SONDE_GRAPH_REGISTER &&
	    jit->graph.nodes[node].number != SONDE_AGENT_RSP) {
		uint8_t reg =
			sonde_jit_cpu_register(jit->graph.nodes[node].number);
		if (!(e->place->moved >> reg & 1)) {
			if (e->place->scratch >> reg & 1)
				fail(e, -EOPNOTSUPP);
			return reg;
		}
	}
	if (jit->regs[node] >= e->nr_scratch) {
		fail(e, -EOPNOTSUPP);
		return 0;
	}
	return e->scratch[jit->regs[node]];
}

static struct sonde_asm_operand in_register(uint8_t reg)
{
	return (struct sonde_asm_operand){ .reg = reg };
}

static bool x86_is_rsp(const struct emitter *e, uint16_t node)
{
	const struct sonde_graph_node *is = &e->jit->graph.nodes[node];

	return is->op == SONDE_GRAPH_REGISTER && is->number == SONDE_AGENT_RSP;
}

static struct sonde_asm_operand x86_memory(struct emitter *e,
					   const struct sonde_jit_insn *insn)
{
	struct sonde_asm_operand operand = {
		.is_memory = true,
		.index = register_of(e, insn->index),
		.scale = insn->scale,
		.disp = insn->disp,
	};

	if (insn->faults && e->is_final)
		note(e->code->faults, &e->code->nr_faults, e->code->faults_max,
		     e, e->to.nr);
	if (insn->base != NO_NODE && x86_is_rsp(e, insn->base)) {
		operand.base = SONDE_ASM_RSP;
		operand.disp += e->place->rsp_below;
	} else {
		operand.base = register_of(e, insn->base);
	}
	return operand;
}

/* ---- instructions ---- */

static void put(struct emitter *e, struct sonde_asm_form form,
		struct sonde_asm_operand operand)
{
	sonde_asm_insn(&e->to, &form, &operand);
}

static void x86_number(struct emitter *e, uint64_t value, uint32_t bytes)
{
	sonde_asm_number(&e->to, value, bytes);
}

static void move(struct emitter *e, uint8_t to, uint8_t from, uint8_t width)
{
	if (to != from)
		put(e,
		    (struct sonde_asm_form){
			    .width = width, .opcode = 0x8b, .reg = to },
		    in_register(from));
}

static void x86_set(struct emitter *e, uint8_t reg, uint64_t value)
{
	int64_t distance = (int64_t)(value - (e->to.address + e->to.nr + 7));

	if (value >> 32 == 0) {
		e->to.instructions++;
		if (reg & 8)
			sonde_asm_byte(&e->to, 0x41);
		sonde_asm_byte(&e->to, (uint8_t)(0xb8 | (reg & 7)));
		x86_number(e, value, 4);
	} else if (sonde_asm_is_s32((int64_t)value)) {
		put(e,
		    (struct sonde_asm_form){
			    .width = 64, .opcode = 0xc7, .immediate = 4 },
		    in_register(reg));
		x86_number(e, value, 4);
	} else if (sonde_asm_is_s32(distance)) {
		put(e,
		    (struct sonde_asm_form){
			    .width = 64, .opcode = 0x8d, .reg = reg },
		    (struct sonde_asm_operand){ .is_memory = true,
						.base = SONDE_ASM_NONE,
						.index = SONDE_ASM_NONE,
						.disp = (int64_t)value });
	} else {
		e->to.instructions++;
		sonde_asm_byte(&e->to, reg & 8 ? 0x49 : 0x48);
		sonde_asm_byte(&e->to, (uint8_t)(0xb8 | (reg & 7)));
		x86_number(e, value, 8);
	}
}

/* dst = what a register or memory has of `from` bits, extended. */
static void extend(struct emitter *e, const struct sonde_jit_insn *insn,
		   uint8_t dst, struct sonde_asm_operand operand)
{
	struct sonde_asm_form form = {
		.width = insn->width == 64 ? 64 : 32,
		.reg = dst,
		.byte_operand = insn->from == 8,
	};

	if (insn->from == 64) {
		form.opcode = 0x8b;
	} else if (insn->from == 32) {
		form.opcode = insn->is_signed ? 0x63 : 0x8b;
		if (!insn->is_signed)
			form.width = 32;
	} else {
		form.map = 0x0f;
		form.opcode = (uint8_t)((insn->is_signed ? 0xbe : 0xb6) |
					(insn->from == 16));
		if (!insn->is_signed)
			form.width = 32;
	}
	put(e, form, operand);
}

/* op reg/memory, number. */
static void x86_alu_number(struct emitter *e, uint8_t op, uint8_t width,
			   uint64_t value, struct sonde_asm_operand operand)
{
	bool is_short = sonde_asm_is_s8((int64_t)value);
	uint8_t bytes = width == 8 || is_short ? 1 : width == 16 ? 2 : 4;

	put(e,
	    (struct sonde_asm_form){ .width = width,
				     .opcode = width == 8 ? 0x80 :
					       is_short   ? 0x83 :
							    0x81,
				     .reg = op,
				     .byte_operand = width == 8,
				     .immediate = bytes },
	    operand);
	x86_number(e, value, bytes);
}

static void x86_alu(struct emitter *e, const struct sonde_jit_insn *insn)
{
	uint8_t dst = register_of(e, insn->dst);

	move(e, dst, register_of(e, insn->a), insn->width);
	if (insn->has_number)
		x86_alu_number(e, insn->op, insn->width, insn->number,
			       in_register(dst));
	else
		put(e,
		    (struct sonde_asm_form){
			    .width = insn->width,
			    .opcode = (uint8_t)(insn->op << 3 | 3),
			    .reg = dst },
		    insn->is_memory ? x86_memory(e, insn) :
				      in_register(register_of(e, insn->b)));
}

static void multiply(struct emitter *e, const struct sonde_jit_insn *insn)
{
	uint8_t dst = register_of(e, insn->dst);

	move(e, dst, register_of(e, insn->a), insn->width);
	put(e,
	    (struct sonde_asm_form){ .width = insn->width,
				     .map = 0x0f,
				     .opcode = 0xaf,
				     .reg = dst },
	    insn->is_memory ? x86_memory(e, insn) :
			      in_register(register_of(e, insn->b)));
}

static void multiply_number(struct emitter *e,
			    const struct sonde_jit_insn *insn)
{
	bool is_short = sonde_asm_is_s8((int64_t)insn->number);
	uint8_t bytes = is_short ? 1 : 4;

	put(e,
	    (struct sonde_asm_form){ .width = insn->width,
				     .opcode = is_short ? 0x6b : 0x69,
				     .reg = register_of(e, insn->dst),
				     .immediate = bytes },
	    insn->is_memory ? x86_memory(e, insn) :
			      in_register(register_of(e, insn->a)));
	x86_number(e, insn->number, bytes);
}

static void shift_by(struct emitter *e, uint8_t op, uint8_t width, uint8_t reg,
		     uint8_t count)
{
	put(e,
	    (struct sonde_asm_form){
		    .width = width, .opcode = 0xc1, .reg = op, .immediate = 1 },
	    in_register(reg));
	x86_number(e, count, 1);
}

static void x86_unary(struct emitter *e, uint8_t opcode, uint8_t op,
		      uint8_t reg)
{
	put(e,
	    (struct sonde_asm_form){ .width = 64, .opcode = opcode, .reg = op },
	    in_register(reg));
}

static void binary(struct emitter *e, uint8_t map, uint8_t opcode, uint8_t reg,
		   uint8_t other)
{
	put(e,
	    (struct sonde_asm_form){
		    .width = 64, .map = map, .opcode = opcode, .reg = reg },
	    in_register(other));
}

/* reg is shifted by what `count`, another one, has. */
static void shift_cl(struct emitter *e, uint8_t op, uint8_t reg, uint8_t count)
{
	bool exchanges = count != SONDE_ASM_RCX;

	if (exchanges)
		binary(e, 0, 0x87, SONDE_ASM_RCX, count);
	x86_unary(e, 0xd3, op, exchanges && reg == SONDE_ASM_RCX ? count : reg);
	if (exchanges)
		binary(e, 0, 0x87, SONDE_ASM_RCX, count);
}

/* Counts of 64 and more leave nothing, or the sign. */
static void shift(struct emitter *e, const struct sonde_jit_insn *insn)
{
	uint8_t dst = register_of(e, insn->dst);
	uint8_t count = register_of(e, insn->b);
	uint8_t temp = register_of(e, insn->temp);

	move(e, dst, register_of(e, insn->a), 64);
	if (insn->op == 7) {
		x86_set(e, temp, 63);
		binary(e, 0, 0x3b, count, temp);    /* cmp */
		binary(e, 0x0f, 0x42, temp, count); /* cmovb */
		shift_cl(e, insn->op, dst, temp);
		return;
	}
	shift_cl(e, insn->op, dst, count);
	x86_alu_number(e, 7, 64, 64, in_register(count)); /* cmp */
	binary(e, 0, 0x1b, temp, temp); /* sbb: all ones if it was below */
	binary(e, 0, 0x23, dst, temp);  /* and */
}

static void x86_swap(struct emitter *e, const struct sonde_jit_insn *insn)
{
	uint8_t dst = register_of(e, insn->dst);

	move(e, dst, register_of(e, insn->a), insn->width);
	e->to.instructions++;
	sonde_asm_byte(&e->to, (uint8_t)((insn->width == 64 ? 0x48 : 0x40) |
					 (dst & 8 ? 1 : 0)));
	sonde_asm_byte(&e->to, 0x0f);
	sonde_asm_byte(&e->to, (uint8_t)(0xc8 | (dst & 7)));
	if (insn->from == 16)
		shift_by(e, 5, 32, dst, 16);
}

/* ---- divisions ---- */

static uint32_t jump_ahead(struct emitter *e, uint8_t opcode)
{
	e->to.instructions++;
	sonde_asm_byte(&e->to, opcode);
	sonde_asm_byte(&e->to, 0);
	return e->to.nr;
}

static void land(struct emitter *e, uint32_t from)
{
	if (!e->to.full)
		e->to.bytes[from - 1] = (uint8_t)(e->to.nr - from);
}

/* INT64_MIN / -1 would trap: the quotient wraps around. */
static void x86_divide(struct emitter *e, const struct sonde_jit_insn *insn)
{
	bool is_signed = insn->op == SONDE_GRAPH_DIVIDE_S ||
			 insn->op == SONDE_GRAPH_REMAINDER_S;
	bool rest = insn->op == SONDE_GRAPH_REMAINDER_S ||
		    insn->op == SONDE_GRAPH_REMAINDER_U;
	uint8_t divisor = register_of(e, insn->b);
	bool guards = is_signed && e->jit->graph.nodes[insn->a].sbits == 64 &&
		      e->jit->graph.nodes[insn->b].op != SONDE_GRAPH_NUMBER;
	uint32_t other = 0;
	uint32_t over = 0;

	move(e, SONDE_ASM_RAX, register_of(e, insn->a), 64);
	if (guards) {
		x86_alu_number(e, 7, 64, UINT64_MAX, in_register(divisor));
		other = jump_ahead(e, 0x75);          /* jne */
		x86_unary(e, 0xf7, 3, SONDE_ASM_RAX); /* neg */
		x86_set(e, SONDE_ASM_RDX, 0);
		over = jump_ahead(e, 0xeb);
		land(e, other);
	}
	if (is_signed) {
		e->to.instructions++;
		sonde_asm_number(&e->to, 0x9948, 2); /* cqo */
	} else {
		x86_set(e, SONDE_ASM_RDX, 0);
	}
	x86_unary(e, 0xf7, is_signed ? 7 : 6, divisor);
	if (guards)
		land(e, over);
	move(e, register_of(e, insn->dst), rest ? SONDE_ASM_RDX : SONDE_ASM_RAX,
	     64);
}

/* ---- comparisons ---- */

/* The first operand of a comparison. */
static struct sonde_asm_operand x86_compared(struct emitter *e,
					     const struct sonde_jit_insn *insn)
{
	uint8_t reg;

	if (insn->is_memory)
		return x86_memory(e, insn);
	if (!insn->a_home)
		return in_register(register_of(e, insn->a));
	reg = sonde_jit_cpu_register(e->jit->graph.nodes[insn->a].number);
	if (!(e->place->moved >> reg & 1))
		return in_register(reg);
	return (struct sonde_asm_operand){ .is_memory = true,
					   .base = SONDE_ASM_RSP,
					   .index = SONDE_ASM_NONE,
					   .disp = e->place->moved_at[reg] };
}

/* Opcodes for 8 bits are one less than those for more. */
static void compare_registers(struct emitter *e,
			      const struct sonde_jit_insn *insn, uint8_t opcode,
			      uint8_t reg, struct sonde_asm_operand operand)
{
	bool bytes = insn->width == 8;

	put(e,
	    (struct sonde_asm_form){ .width = insn->width,
				     .opcode = (uint8_t)(opcode - bytes),
				     .reg = reg,
				     .reg_is_byte = bytes,
				     .byte_operand = bytes },
	    operand);
}

static void test_number(struct emitter *e, const struct sonde_jit_insn *insn,
			struct sonde_asm_operand operand)
{
	bool byte = insn->width == 8;
	uint8_t bytes = byte ? 1 : insn->width == 16 ? 2 : 4;

	put(e,
	    (struct sonde_asm_form){ .width = insn->width,
				     .opcode = byte ? 0xf6 : 0xf7,
				     .byte_operand = byte,
				     .immediate = bytes },
	    operand);
	x86_number(e, insn->number, bytes);
}

static void compare(struct emitter *e, const struct sonde_jit_insn *insn)
{
	struct sonde_asm_operand operand = x86_compared(e, insn);
	bool tests = insn->code == SONDE_JIT_TEST;

	if (insn->code == SONDE_JIT_COMPARE_WITH)
		compare_registers(e, insn, 0x3b, register_of(e, insn->a),
				  operand);
	else if (!insn->has_number)
		compare_registers(e, insn, tests ? 0x85 : 0x39,
				  register_of(e, tests && insn->is_memory ?
							 insn->a :
							 insn->b),
				  operand);
	else if (tests)
		test_number(e, insn, operand);
	else if (insn->number == 0 && !operand.is_memory)
		compare_registers(e, insn, 0x85, operand.reg, operand);
	else
		x86_alu_number(e, 7, insn->width, insn->number, operand);
}

static uint8_t condition(uint8_t relation)
{
	static const uint8_t conditions[] = {
		[SONDE_GRAPH_IS_EQUAL] = 0x4,
		[SONDE_GRAPH_IS_UNEQUAL] = 0x5,
		[SONDE_GRAPH_IS_LESS_S] = 0xc,
		[SONDE_GRAPH_IS_AT_LEAST_S] = 0xd,
		[SONDE_GRAPH_IS_MORE_S] = 0xf,
		[SONDE_GRAPH_IS_AT_MOST_S] = 0xe,
		[SONDE_GRAPH_IS_LESS_U] = 0x2,
		[SONDE_GRAPH_IS_AT_LEAST_U] = 0x3,
		[SONDE_GRAPH_IS_MORE_U] = 0x7,
		[SONDE_GRAPH_IS_AT_MOST_U] = 0x6,
	};

	return conditions[relation];
}

static void x86_truth(struct emitter *e, const struct sonde_jit_insn *insn)
{
	uint8_t dst = register_of(e, insn->dst);

	put(e,
	    (struct sonde_asm_form){
		    .map = 0x0f,
		    .opcode = (uint8_t)(0x90 | condition(insn->op)),
		    .byte_operand = true },
	    in_register(dst));
	put(e,
	    (struct sonde_asm_form){ .map = 0x0f,
				     .opcode = 0xb6,
				     .reg = dst,
				     .byte_operand = true },
	    in_register(dst));
}

/* ---- jumps ---- */

static void add_fixup(struct emitter *e, uint16_t to, bool is_short)
{
	e->fixups[e->nr_fixups++] = (struct fixup){ e->to.nr, to, is_short };
}

/* `opcode` as its short form has it: 0xeb, or 0x70 and a condition. */
static void x86_jump(struct emitter *e, uint8_t opcode, uint16_t to)
{
	struct sonde_jit_code *code = e->code;
	/* Out of the code: the caller completes it. */
	bool leaving = e->jit->config.kind == SONDE_JIT_PROBE &&
		       (to == SONDE_GRAPH_ACCEPT || to == SONDE_GRAPH_DIVIDED);

	e->to.instructions++;
	/* the first time's distance, which can only become less */
	if (!leaving && e->is_final &&
	    e->labels[to] - e->long_ends[e->nr_fixups] <= INT8_MAX) {
		sonde_asm_byte(&e->to, opcode);
		add_fixup(e, to, true);
		sonde_asm_byte(&e->to, 0);
		return;
	}
	if (opcode == 0xeb) {
		sonde_asm_byte(&e->to, 0xe9);
	} else {
		sonde_asm_byte(&e->to, 0x0f);
		sonde_asm_byte(&e->to, (uint8_t)(opcode + 0x10));
	}
	if (!leaving)
		add_fixup(e, to, false);
	else if (e->is_final && to == SONDE_GRAPH_ACCEPT)
		note(code->accepts, &code->nr_accepts, code->accepts_max, e,
		     e->to.nr);
	else if (e->is_final)
		note(code->divides, &code->nr_divides, code->divides_max, e,
		     e->to.nr);
	x86_number(e, 0, 4);
	if (!leaving && !e->is_final)
		e->long_ends[e->nr_fixups - 1] = e->to.nr;
}

/* The end of a block; `next` comes behind it. */
static void x86_decide(struct emitter *e, uint16_t at, uint16_t next)
{
	const struct sonde_graph_block *block = &e->jit->graph.blocks[at];
	uint8_t relation = block->comparison.relation;

	if (!block->decides) {
		if (block->to[0] != next)
			x86_jump(e, 0xeb, block->to[0]);
		return;
	}
	if (block->to[1] == next) {
		x86_jump(e,
			 (uint8_t)(0x70 |
				   condition(SONDE_GRAPH_OPPOSITE(relation))),
			 block->to[0]);
		return;
	}
	x86_jump(e, (uint8_t)(0x70 | condition(relation)), block->to[1]);
	if (block->to[0] != next)
		x86_jump(e, 0xeb, block->to[0]);
}

/* ---- the whole ---- */

static void put_home(struct emitter *e, const struct sonde_jit_insn *insn)
{
	unsigned int reg = (unsigned int)insn->number;

	if (!(e->place->moved >> reg & 1))
		return; /* it is where it was */
	put(e,
	    (struct sonde_asm_form){ .width = 64,
				     .opcode = 0x8b,
				     .reg = register_of(e, insn->dst) },
	    (struct sonde_asm_operand){ .is_memory = true,
					.base = SONDE_ASM_RSP,
					.index = SONDE_ASM_NONE,
					.disp = e->place->moved_at[reg] });
}

static void put_address(struct emitter *e, const struct sonde_jit_insn *insn)
{
	put(e,
	    (struct sonde_asm_form){ .width = insn->width,
				     .opcode = 0x8d,
				     .reg = register_of(e, insn->dst) },
	    x86_memory(e, insn));
}

static void shift_number(struct emitter *e, const struct sonde_jit_insn *insn)
{
	uint8_t dst = register_of(e, insn->dst);

	move(e, dst, register_of(e, insn->a), insn->width);
	shift_by(e, insn->op, insn->width, dst, (uint8_t)insn->number);
}

static void put_unary(struct emitter *e, const struct sonde_jit_insn *insn)
{
	uint8_t dst = register_of(e, insn->dst);

	move(e, dst, register_of(e, insn->a), insn->width);
	x86_unary(e, 0xf7, insn->op, dst);
}

static void put_insn(struct emitter *e, const struct sonde_jit_insn *insn)
{
	switch ((int)insn->code) {
	case SONDE_JIT_BLOCK:
		e->labels[insn->target] = e->to.nr;
		break;
	case SONDE_JIT_SET:
		x86_set(e, register_of(e, insn->dst), insn->number);
		break;
	case SONDE_JIT_HOME:
		put_home(e, insn);
		break;
	case SONDE_JIT_LOAD:
		extend(e, insn, register_of(e, insn->dst), x86_memory(e, insn));
		break;
	case SONDE_JIT_EXTEND:
		extend(e, insn, register_of(e, insn->dst),
		       in_register(register_of(e, insn->a)));
		break;
	case SONDE_JIT_ADDRESS:
		put_address(e, insn);
		break;
	case SONDE_JIT_ALU:
		x86_alu(e, insn);
		break;
	case SONDE_JIT_MULTIPLY:
		multiply(e, insn);
		break;
	case SONDE_JIT_MULTIPLY_NUMBER:
		multiply_number(e, insn);
		break;
	case SONDE_JIT_SHIFT_NUMBER:
		shift_number(e, insn);
		break;
	case SONDE_JIT_SHIFT:
		shift(e, insn);
		break;
	case SONDE_JIT_UNARY:
		put_unary(e, insn);
		break;
	case SONDE_JIT_SWAP:
		x86_swap(e, insn);
		break;
	case SONDE_JIT_DIVIDE:
		x86_divide(e, insn);
		break;
	case SONDE_JIT_COMPARE:
	case SONDE_JIT_COMPARE_WITH:
	case SONDE_JIT_TEST:
		compare(e, insn);
		break;
	case SONDE_JIT_TRUTH:
		x86_truth(e, insn);
		break;
	default:
		break; /* DECIDE: x86_put_all(); READ is others' */
	}
}

/* A function ends with ret, other code by falling through. */
static void put_ends(struct emitter *e)
{
	e->labels[SONDE_GRAPH_REJECT] = e->to.nr;
	if (e->jit->config.kind == SONDE_JIT_PROBE)
		return;
	x86_set(e, SONDE_ASM_RAX, 0);
	sonde_asm_byte(&e->to, 0xc3);
	e->labels[SONDE_GRAPH_ACCEPT] = e->to.nr;
	x86_set(e, SONDE_ASM_RAX, 1);
	sonde_asm_byte(&e->to, 0xc3);
	e->to.instructions += 2;
}

static void x86_put_all(struct emitter *e)
{
	const struct sonde_jit *jit = e->jit;

	e->to.nr = 0;
	e->to.instructions = 0;
	e->nr_fixups = 0;
	if (jit->graph.begin == SONDE_GRAPH_ACCEPT ||
	    jit->graph.begin == SONDE_GRAPH_DIVIDED)
		x86_jump(e, 0xeb, jit->graph.begin);
	for (size_t i = 0; i < jit->nr_insns; i++) {
		const struct sonde_jit_insn *insn = &jit->insns[i];
		if (insn->code == SONDE_JIT_DECIDE)
			x86_decide(e, insn->target,
				   i + 1 < jit->nr_insns ? insn[1].target :
							   SONDE_GRAPH_REJECT);
		else
			put_insn(e, insn);
	}
	put_ends(e);
}

static void complete_jumps(struct emitter *e)
{
	for (size_t i = 0; i < e->nr_fixups && !e->to.full; i++) {
		const struct fixup *fixup = &e->fixups[i];
		uint32_t bytes = fixup->is_short ? 1 : 4;
		uint32_t distance = e->labels[fixup->to] - (fixup->at + bytes);
		memcpy(e->to.bytes + fixup->at, &distance, bytes);
	}
}

/* The registers to be used, in order. */
static void find_scratch(struct emitter *e, uint16_t scratch)
{
	unsigned int never = 1u << SONDE_ASM_RSP;

	if (e->jit->divides)
		never |= 1u << SONDE_ASM_RAX | 1u << SONDE_ASM_RDX;
	for (unsigned int reg = 0; reg < SONDE_ASM_REGISTERS; reg++) {
		if (scratch >> reg & 1 && !(never >> reg & 1))
			e->scratch[e->nr_scratch++] = (uint8_t)reg;
	}
	if (e->nr_scratch < e->jit->nr_regs)
		fail(e, -EOPNOTSUPP);
	if (e->place->moved & e->jit->reads & ~e->jit->homes)
		fail(e, -EOPNOTSUPP);
	if (e->jit->divides &&
	    (~scratch & (1u << SONDE_ASM_RAX | 1u << SONDE_ASM_RDX)))
		fail(e, -EOPNOTSUPP);
}

/* Registers that a function need not keep and has no parameter in. */
#define FUNCTION_SCRATCH 0x0f07

static int x86_emit(const struct sonde_jit *jit,
		    const struct sonde_jit_place *place,
		    struct sonde_jit_code *code, uint32_t max,
		    uint32_t *ret_instructions)
{
	struct emitter e = {
		.jit = jit,
		.place = place,
		.code = code,
		.to = { .bytes = code->bytes,
			.max = max,
			.address = place->address },
	};
	/* a block ends by two jumps at most, or what begins is one */
	size_t jumps = 2 * jit->graph.nr_blocks + 1;

	find_scratch(&e, jit->config.kind == SONDE_JIT_FUNCTION ?
				 FUNCTION_SCRATCH :
				 place->scratch);
	if (e.rc)
		return e.rc;
	e.labels = calloc(jit->graph.nr_blocks, sizeof(*e.labels));
	e.fixups = calloc(jumps, sizeof(*e.fixups));
	e.long_ends = calloc(jumps, sizeof(*e.long_ends));
	if (e.labels && e.fixups && e.long_ends) {
		x86_put_all(&e);
		e.is_final = true;
		x86_put_all(&e);
		complete_jumps(&e);
	} else {
		fail(&e, -ENOMEM);
	}
	if (e.to.full)
		fail(&e, -ENOSPC);
	code->nr_bytes = e.to.nr;
	*ret_instructions = e.to.instructions;
	free(e.labels);
	free(e.fixups);
	free(e.long_ends);
	return e.rc;
}

int sonde_jit_emit(const struct sonde_jit *jit,
		   const struct sonde_jit_place *place,
		   struct sonde_jit_code *code)
{
	uint32_t instructions;

	code->nr_accepts = 0;
	code->nr_divides = 0;
	code->nr_faults = 0;
	return x86_emit(jit, place, code, jit->bytes_max, &instructions);
}

/* ---- what it needs ---- */

static void measure(struct sonde_jit *jit, struct sonde_jit_needs *needs)
{
	uint32_t bytes = 4 * INSN_MAX;

	for (size_t i = 0; i < jit->nr_insns; i++) {
		const struct sonde_jit_insn *insn = &jit->insns[i];
		bool is_long = insn->code == SONDE_JIT_DIVIDE ||
			       insn->code == SONDE_JIT_SHIFT;
		bytes += (is_long ? 8u : 2u) * INSN_MAX;
		needs->faults_max += insn->faults;
	}
	jit->bytes_max = bytes;
	needs->reads = jit->reads;
	needs->nr_scratch = (uint8_t)(jit->nr_regs + (jit->divides ? 2 : 0));
	needs->needs_divide = jit->divides;
	needs->can_fault = needs->faults_max != 0;
	needs->bytes_max = bytes;
}

/* Writes it as it may be, to see how many instructions it has. */
static int try_it(const struct sonde_jit *jit, struct sonde_jit_needs *needs)
{
	uint32_t nr = jit->bytes_max / 4 + 1;
	uint32_t *lists = calloc(3 * (size_t)nr, sizeof(*lists));
	struct sonde_jit_code code = {
		.bytes = malloc(jit->bytes_max),
		.accepts = lists,
		.accepts_max = nr,
		.divides = lists + nr,
		.divides_max = nr,
		.faults = lists + 2 * (size_t)nr,
		.faults_max = nr,
	};
	struct sonde_jit_place place = { .address = jit->config.address };
	unsigned int left = needs->nr_scratch;
	int rc = -ENOMEM;

	if (jit->divides) {
		place.scratch = 1u << SONDE_ASM_RAX | 1u << SONDE_ASM_RDX;
		place.moved = place.scratch & jit->reads;
		left -= 2;
	}
	for (unsigned int reg = 0; reg < SONDE_ASM_REGISTERS && left; reg++) {
		if (reg == SONDE_ASM_RSP ||
		    (jit->reads | place.scratch) >> reg & 1)
			continue;
		place.scratch |= (uint16_t)(1u << reg);
		left--;
	}
	if (lists && code.bytes)
		rc = left ? -EOPNOTSUPP :
			    x86_emit(jit, &place, &code, jit->bytes_max,
				     &needs->instructions);
	free(lists);
	free(code.bytes);
	return rc;
}

/* What its kind of code finds. */
static void find_seen(struct sonde_jit *jit)
{
	const struct sonde_jit_config *config = &jit->config;
	struct sonde_graph_config *sees = &jit->sees;

	sees->narrowest = 8;
	if (config->kind == SONDE_JIT_PROBE) {
		sees->nr_registers = SONDE_AGENT_RIP;
		sees->rip = &config->rip;
		sees->tells_divided = true;
		return;
	}
	sees->bases[0].bytes = config->bytes ? config->bytes : UINT32_MAX;
	sees->bases[1].bytes = UINT32_MAX;
	sees->text = config->text;
	sees->ctx = config->ctx;
}

int sonde_jit_new(const struct sonde_program *program,
		  const struct sonde_jit_config *config,
		  struct sonde_jit **ret_jit, struct sonde_jit_needs *ret_needs)
{
	static const struct sonde_jit_places registers = {
		.nr_regs = SONDE_JIT_REGS_MAX,
	};
	struct sonde_jit *jit = calloc(1, sizeof(*jit));
	struct sonde_jit_needs needs = { 0 };
	int rc;

	if (!jit)
		return -ENOMEM;
	jit->config = *config;
	find_seen(jit);
	rc = sonde_graph_make(&jit->graph, program, &jit->sees);
	if (!rc)
		rc = sonde_jit_select(jit);
	if (!rc)
		rc = sonde_jit_allocate(jit, &registers);
	if (!rc) {
		measure(jit, &needs);
		rc = try_it(jit, &needs);
	}
	if (rc) {
		sonde_jit_free(jit);
		return rc;
	}
	*ret_jit = jit;
	*ret_needs = needs;
	return 0;
}

void sonde_jit_free(struct sonde_jit *jit)
{
	if (!jit)
		return;
	sonde_graph_fini(&jit->graph);
	free(jit);
}
