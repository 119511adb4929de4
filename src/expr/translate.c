// SPDX-License-Identifier: MIT
/*
 * translate.c - see translate.h. Freestanding.
 *
 * Slot i of the program's stack is a register, always the same one: the verifier
 * has found how deep the stack is at each operation, whichever way led there. So
 * a jump that drops slots, or keeps them, costs nothing.
 *
 * A number that is pushed for the next operation alone becomes that operation's
 * own, if it is short and nothing jumps between the two.
 *
 * A jump's offset is TO_TARGET until all operations have their places. Jumps within
 * an operation pass over an instruction or two, and are final at once.
 */
#include "expr/translate.h"

#include "expr/program.h"

#define TO_TARGET INT16_MIN
#define IS_TARGET 0x8000u /* in `starts`, besides the place */
#define SCRATCH   BPF_REG_0

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define SWAPPED BPF_TO_BE
#else
#define SWAPPED BPF_TO_LE
#endif

struct translator {
	const struct sonde_program *program;
	const struct sonde_program_state *states;
	const struct sonde_ebpf_frame *frame;
	uint16_t *starts; /* by operation: its first instruction */
	struct bpf_insn *to;
	uint32_t nr, max;
	uint32_t at; /* the operation */
	bool failed;
	/* The topmost slot is this, and in no register. */
	bool has_number;
	int32_t number;
};

/* ---- single instructions ---- */

static void emit_insn(struct translator *to, uint32_t code, uint8_t dst,
		      uint8_t src, int16_t offset, int32_t number)
{
	if (to->nr >= to->max || to->nr >= IS_TARGET) {
		to->failed = true;
		return;
	}
	to->to[to->nr++] = (struct bpf_insn){
		.code = (uint8_t)code,
		.dst_reg = dst & 0xfu,
		.src_reg = src & 0xfu,
		.off = offset,
		.imm = number,
	};
}

static void emit_alu(struct translator *to, uint8_t op, uint8_t a, uint8_t b)
{
	emit_insn(to, BPF_ALU64 | BPF_X | op, a, b, 0, 0);
}

static void emit_alu_number(struct translator *to, uint8_t op, uint8_t a,
			    int32_t number)
{
	emit_insn(to, BPF_ALU64 | BPF_K | op, a, 0, 0, number);
}

static bool is_short_number(uint64_t number)
{
	return (int64_t)number >= INT32_MIN && (int64_t)number <= INT32_MAX;
}

/* The second half of a long number is an instruction of its own. */
static void emit_set(struct translator *to, uint8_t reg, uint64_t number)
{
	if (is_short_number(number)) {
		emit_alu_number(to, BPF_MOV, reg, (int32_t)number);
		return;
	}
	emit_insn(to, BPF_LD | BPF_DW, reg, 0, 0, (int32_t)(uint32_t)number);
	emit_insn(to, 0, 0, 0, 0, (int32_t)(uint32_t)(number >> 32));
}

/* Over the next `nr` instructions if `a` stands so to a number. */
static void emit_skip(struct translator *to, uint8_t op, uint8_t a,
		      int32_t number, int16_t nr)
{
	emit_insn(to, BPF_JMP | BPF_K | op, a, 0, nr, number);
}

static void emit_go(struct translator *to)
{
	emit_insn(to, BPF_JMP | BPF_JA, 0, 0, TO_TARGET, 0);
}

static void emit_go_if(struct translator *to, uint8_t op, uint8_t a,
		       int32_t number)
{
	emit_insn(to, BPF_JMP | BPF_K | op, a, 0, TO_TARGET, number);
}

/* ---- slots ---- */

static uint8_t slot(struct translator *to, uint32_t index)
{
	uint32_t reg = to->frame->first + index;

	if (reg <= to->frame->last)
		return (uint8_t)reg;
	to->failed = true;
	return SCRATCH;
}

/* `below` 0: the topmost; the verifier knows that it is there. */
static uint8_t top(struct translator *to, uint32_t below)
{
	return slot(to, to->states[to->at].depth - 1u - below);
}

/* The one that comes above. */
static uint8_t pushed(struct translator *to)
{
	return slot(to, to->states[to->at].depth);
}

/* ---- fields ---- */

static void emit_load(struct translator *to, uint8_t reg,
		      const struct sonde_expr_op *op)
{
	uint32_t bytes = sonde_expr_op_infos[op->code].bytes;
	uint8_t size = bytes == 8 ? BPF_DW :
		       bytes == 4 ? BPF_W :
		       bytes == 2 ? BPF_H :
				    BPF_B;
	int64_t at;

	if (op->base >= SONDE_TRANSLATE_BASES ||
	    (uint64_t)op->offset + bytes > to->frame->bases[op->base].bytes) {
		to->failed = true;
		return;
	}
	at = (int64_t)op->offset + to->frame->bases[op->base].offset;
	if (at > INT16_MAX)
		to->failed = true;
	emit_insn(to, BPF_LDX | BPF_MEM | size, reg,
		  to->frame->bases[op->base].reg, (int16_t)at, 0);
}

/* To 64 bits, from so many. */
static void emit_extend(struct translator *to, uint8_t reg, uint32_t bits,
			bool is_signed)
{
	if (bits == 64)
		return;
	emit_alu_number(to, BPF_LSH, reg, (int32_t)(64 - bits));
	emit_alu_number(to, is_signed ? BPF_ARSH : BPF_RSH, reg,
			(int32_t)(64 - bits));
}

static void emit_load_field(struct translator *to,
			    const struct sonde_expr_op *op)
{
	const struct sonde_expr_op_info *info = &sonde_expr_op_infos[op->code];
	uint8_t reg = pushed(to);

	emit_load(to, reg, op);
	if (info->operands & SONDE_EXPR_OPERAND_SWAP)
		emit_insn(to, BPF_ALU | BPF_END | SWAPPED, reg, 0, 0,
			  8 * info->bytes);
	if (info->operands & SONDE_EXPR_OPERAND_SIGNED)
		emit_extend(to, reg, 8u * info->bytes, true);
}

/* ---- arithmetic ---- */

static void emit_shift(struct translator *to, uint8_t op)
{
	uint8_t a = top(to, 1);
	uint8_t b;

	if (to->has_number && (uint32_t)to->number < 64) {
		emit_alu_number(to, op, a, to->number);
	} else if (to->has_number) {
		/* all of it goes, but for the sign */
		if (op == BPF_ARSH)
			emit_alu_number(to, op, a, 63);
		else
			emit_set(to, a, 0);
	} else if (op == BPF_ARSH) {
		b = top(to, 0);
		emit_skip(to, BPF_JLT, b, 64, 1);
		emit_set(to, b, 63);
		emit_alu(to, op, a, b);
	} else {
		b = top(to, 0);
		emit_skip(to, BPF_JLT, b, 64, 2);
		emit_set(to, a, 0);
		emit_set(to, b, 0);
		emit_alu(to, op, a, b);
	}
}

/* A register's amount, in itself. */
static void emit_positive(struct translator *to, uint8_t reg)
{
	emit_skip(to, BPF_JSGE, reg, 0, 1);
	emit_alu_number(to, BPF_NEG, reg, 0);
}

/*
 * There is division without sign only: it is done with amounts. Those of numbers
 * of opposite signs have a negative quotient; a remainder has the sign of what was
 * divided. INT64_MIN is its own amount, as without sign it should be.
 */
static void emit_divide_signed(struct translator *to, uint8_t op)
{
	uint8_t a = top(to, 1);
	uint8_t b = top(to, 0);

	emit_alu(to, BPF_MOV, SCRATCH, a);
	if (op == BPF_DIV)
		emit_alu(to, BPF_XOR, SCRATCH, b);
	emit_positive(to, a);
	emit_positive(to, b);
	emit_alu(to, op, a, b);
	emit_skip(to, BPF_JSGE, SCRATCH, 0, 1);
	emit_alu_number(to, BPF_NEG, a, 0);
}

static void emit_divide(struct translator *to, uint8_t op, bool is_signed)
{
	emit_go_if(to, BPF_JEQ, top(to, 0), 0);
	if (is_signed)
		emit_divide_signed(to, op);
	else
		emit_alu(to, op, top(to, 1), top(to, 0));
}

static void emit_binary(struct translator *to, uint8_t op)
{
	if (to->has_number)
		emit_alu_number(to, op, top(to, 1), to->number);
	else
		emit_alu(to, op, top(to, 1), top(to, 0));
}

/* Whether a stands so to b, as a number in a's place. */
static void emit_truth(struct translator *to, uint32_t code, uint8_t a,
		       uint8_t b)
{
	emit_set(to, SCRATCH, 1);
	emit_insn(to, BPF_JMP | code, a, b, 1, 0);
	emit_set(to, SCRATCH, 0);
	emit_alu(to, BPF_MOV, a, SCRATCH);
}

/* ---- comparisons ---- */

static uint8_t inverse(uint8_t op)
{
	switch (op) {
	case BPF_JEQ:
		return BPF_JNE;
	case BPF_JNE:
		return BPF_JEQ;
	case BPF_JLT:
		return BPF_JGE;
	default:
		return BPF_JSGE; /* of BPF_JSLT */
	}
}

/* It jumps if whether a stands so to b is the operation's sense. */
static void emit_compare(struct translator *to, uint8_t op, uint8_t a,
			 uint8_t b)
{
	bool sense = to->program->ops[to->at].sense;

	emit_insn(to, BPF_JMP | BPF_X | (sense ? op : inverse(op)), a, b,
		  TO_TARGET, 0);
}

static void emit_compare_number(struct translator *to, uint8_t op, uint8_t a,
				uint64_t number)
{
	bool sense = to->program->ops[to->at].sense;

	if (is_short_number(number)) {
		emit_go_if(to, sense ? op : inverse(op), a, (int32_t)number);
		return;
	}
	emit_set(to, SCRATCH, number);
	emit_compare(to, op, a, SCRATCH);
}

/* The same, but if `negative` is, whether it so stands is known without. */
static void emit_compare_mixed(struct translator *to, uint8_t op,
			       uint8_t negative, bool then)
{
	bool sense = to->program->ops[to->at].sense;

	if (then == sense)
		emit_go_if(to, BPF_JSLT, negative, 0);
	else
		emit_skip(to, BPF_JSLT, negative, 0, 1);
	emit_compare(to, op, top(to, 1), top(to, 0));
}

/* A field with the bytes of a number; 32 bits and less are compared as such. */
static void emit_compare_field(struct translator *to,
			       const struct sonde_expr_op *op)
{
	uint32_t bits = 8u * sonde_expr_op_infos[op->code].bytes;
	uint8_t reg = pushed(to);

	if (bits == 64) {
		emit_load(to, reg, op);
		emit_compare_number(to, BPF_JEQ, reg, op->number);
		return;
	}
	emit_load(to, SCRATCH, op);
	emit_insn(to, BPF_JMP32 | BPF_K | (op->sense ? BPF_JEQ : BPF_JNE),
		  SCRATCH, 0, TO_TARGET,
		  (int32_t)(uint32_t)(op->number &
				      (UINT64_MAX >> (64 - bits))));
}

/* ---- ends ---- */

static void emit_store(struct translator *to, int16_t at, uint8_t reg)
{
	emit_insn(to, BPF_STX | BPF_MEM | BPF_DW, BPF_REG_10, reg, at, 0);
}

/* Of what is true or false, and of what has no value. */
static void emit_verdict(struct translator *to, uint8_t code)
{
	bool has_value = code == SONDE_EXPR_OP_END_TRUE ||
			 code == SONDE_EXPR_OP_END_FALSE;

	emit_set(to, SCRATCH, code == SONDE_EXPR_OP_END_TRUE);
	if (to->frame->keeps_value && has_value) {
		emit_store(to, to->frame->value_at, SCRATCH);
		emit_set(to, SCRATCH, 1);
	} else if (to->frame->tells_faults && code == SONDE_EXPR_OP_END_FAULT) {
		emit_set(to, SCRATCH, 2);
	}
}

static void emit_end(struct translator *to, uint8_t code)
{
	if (code == SONDE_EXPR_OP_END_NUMBER && to->frame->keeps_value) {
		emit_store(to, to->frame->value_at, slot(to, 0));
		emit_set(to, SCRATCH, 1);
	} else if (code == SONDE_EXPR_OP_END_NUMBER) {
		emit_set(to, SCRATCH, 1);
		emit_go_if(to, BPF_JNE, slot(to, 0), 0);
		emit_set(to, SCRATCH, 0);
	} else {
		emit_verdict(to, code);
	}
	if (to->at + 1 < to->program->nr_ops)
		emit_go(to);
}

/* ---- what agent expressions see ---- */

/* 0: there is no such call. */
static void emit_call(struct translator *to, int32_t number)
{
	if (!number)
		to->failed = true;
	emit_insn(to, BPF_JMP | BPF_CALL, 0, 0, 0, number);
}

static void emit_read(struct translator *to, uint32_t bytes)
{
	uint32_t which = (uint32_t)__builtin_ctz(bytes);
	uint8_t reg = top(to, 0);

	emit_alu(to, BPF_MOV, BPF_REG_1, reg);
	emit_alu(to, BPF_MOV, BPF_REG_2, BPF_REG_10);
	emit_alu_number(to, BPF_ADD, BPF_REG_2, to->frame->calls.at);
	emit_call(to, to->frame->calls.read[which]);
	emit_go_if(to, BPF_JEQ, SCRATCH, 0);
	emit_insn(to, BPF_LDX | BPF_MEM | BPF_DW, reg, BPF_REG_10,
		  to->frame->calls.at, 0);
}

/* False: it is nothing that can be asked for. */
static bool sees(struct translator *to, const struct sonde_expr_op *op)
{
	const struct sonde_expr_op_info *info = &sonde_expr_op_infos[op->code];

	if (info->bytes) {
		emit_read(to, info->bytes);
		return true;
	}
	if (op->code != SONDE_EXPR_OP_REGISTER)
		return false;
	emit_set(to, BPF_REG_1, op->number);
	emit_call(to, to->frame->calls.ask);
	emit_alu(to, BPF_MOV, pushed(to), SCRATCH);
	return true;
}

/* ---- operations ---- */

static void emit_rotate(struct translator *to)
{
	emit_alu(to, BPF_MOV, SCRATCH, top(to, 0));
	emit_alu(to, BPF_MOV, top(to, 0), top(to, 1));
	emit_alu(to, BPF_MOV, top(to, 1), top(to, 2));
	emit_alu(to, BPF_MOV, top(to, 2), SCRATCH);
}

static void emit_exchange(struct translator *to)
{
	emit_alu(to, BPF_MOV, SCRATCH, top(to, 0));
	emit_alu(to, BPF_MOV, top(to, 0), top(to, 1));
	emit_alu(to, BPF_MOV, top(to, 1), SCRATCH);
}

/* What moves values about; false: it is something else. */
static bool moves(struct translator *to, const struct sonde_expr_op *op)
{
	switch ((int)op->code) {
	case SONDE_EXPR_OP_NUMBER:
		emit_set(to, pushed(to), op->number);
		return true;
	case SONDE_EXPR_OP_DUPLICATE:
		emit_alu(to, BPF_MOV, pushed(to), top(to, 0));
		return true;
	case SONDE_EXPR_OP_PICK:
		emit_alu(to, BPF_MOV, pushed(to),
			 top(to, (uint32_t)op->number));
		return true;
	case SONDE_EXPR_OP_POP:
		return true;
	case SONDE_EXPR_OP_SWAP:
		emit_exchange(to);
		return true;
	case SONDE_EXPR_OP_ROTATE:
		emit_rotate(to);
		return true;
	default:
		return false;
	}
}

/* What emit_binary() and emit_shift() do; 0: it is none of those, for BPF_ADD is 0 and no
 * other operation that is looked for here. */
static const uint8_t alu_ops[SONDE_EXPR_OP_CODES] = {
	[SONDE_EXPR_OP_SUBTRACT] = BPF_SUB,
	[SONDE_EXPR_OP_MULTIPLY] = BPF_MUL,
	[SONDE_EXPR_OP_AND] = BPF_AND,
	[SONDE_EXPR_OP_OR] = BPF_OR,
	[SONDE_EXPR_OP_XOR] = BPF_XOR,
	[SONDE_EXPR_OP_SHIFT_LEFT] = BPF_LSH,
	[SONDE_EXPR_OP_SHIFT_RIGHT_U] = BPF_RSH,
	[SONDE_EXPR_OP_SHIFT_RIGHT_S] = BPF_ARSH,
};

static bool takes_number(uint8_t code)
{
	return code == SONDE_EXPR_OP_ADD || alu_ops[code];
}

static bool calculates(struct translator *to, const struct sonde_expr_op *op)
{
	switch ((int)op->code) {
	case SONDE_EXPR_OP_SHIFT_LEFT:
	case SONDE_EXPR_OP_SHIFT_RIGHT_U:
	case SONDE_EXPR_OP_SHIFT_RIGHT_S:
		emit_shift(to, alu_ops[op->code]);
		return true;
	case SONDE_EXPR_OP_NEGATE:
		emit_alu_number(to, BPF_NEG, top(to, 0), 0);
		return true;
	case SONDE_EXPR_OP_COMPLEMENT:
		emit_alu_number(to, BPF_XOR, top(to, 0), -1);
		return true;
	case SONDE_EXPR_OP_DIVIDE_U:
	case SONDE_EXPR_OP_DIVIDE_S:
		emit_divide(to, BPF_DIV, op->code == SONDE_EXPR_OP_DIVIDE_S);
		return true;
	case SONDE_EXPR_OP_REMAINDER_U:
	case SONDE_EXPR_OP_REMAINDER_S:
		emit_divide(to, BPF_MOD, op->code == SONDE_EXPR_OP_REMAINDER_S);
		return true;
	case SONDE_EXPR_OP_EXTEND_S:
	case SONDE_EXPR_OP_EXTEND_Z:
		emit_extend(to, top(to, 0), (uint32_t)op->number,
			    op->code == SONDE_EXPR_OP_EXTEND_S);
		return true;
	default:
		if (takes_number(op->code))
			emit_binary(to, alu_ops[op->code]);
		return takes_number(op->code);
	}
}

/* What gives 0 or 1. */
static bool asks(struct translator *to, const struct sonde_expr_op *op)
{
	switch ((int)op->code) {
	case SONDE_EXPR_OP_NOT:
		emit_truth(to, BPF_JEQ | BPF_K, top(to, 0), 0);
		return true;
	case SONDE_EXPR_OP_IS_EQUAL:
		emit_truth(to, BPF_JEQ | BPF_X, top(to, 1), top(to, 0));
		return true;
	case SONDE_EXPR_OP_IS_LESS_U:
		emit_truth(to, BPF_JLT | BPF_X, top(to, 1), top(to, 0));
		return true;
	case SONDE_EXPR_OP_IS_LESS_S:
		emit_truth(to, BPF_JSLT | BPF_X, top(to, 1), top(to, 0));
		return true;
	default:
		return false;
	}
}

static bool jumps_by_two(struct translator *to, uint8_t code)
{
	switch ((int)code) {
	case SONDE_EXPR_OP_IF_EQUAL:
		emit_compare(to, BPF_JEQ, top(to, 1), top(to, 0));
		return true;
	case SONDE_EXPR_OP_IF_LESS_U:
		emit_compare(to, BPF_JLT, top(to, 1), top(to, 0));
		return true;
	case SONDE_EXPR_OP_IF_LESS_S:
		emit_compare(to, BPF_JSLT, top(to, 1), top(to, 0));
		return true;
	case SONDE_EXPR_OP_IF_EQUAL_SU:
		emit_compare_mixed(to, BPF_JEQ, top(to, 1), false);
		return true;
	case SONDE_EXPR_OP_IF_LESS_SU:
		emit_compare_mixed(to, BPF_JLT, top(to, 1), true);
		return true;
	case SONDE_EXPR_OP_IF_LESS_US:
		emit_compare_mixed(to, BPF_JLT, top(to, 0), false);
		return true;
	default:
		return false;
	}
}

static bool jumps(struct translator *to, const struct sonde_expr_op *op)
{
	switch ((int)op->code) {
	case SONDE_EXPR_OP_GO:
		emit_go(to);
		return true;
	case SONDE_EXPR_OP_IF:
		emit_compare_number(to, BPF_JNE, top(to, 0), 0);
		return true;
	case SONDE_EXPR_OP_IF_IS:
		emit_compare_number(to, BPF_JEQ, top(to, 0), op->number);
		return true;
	case SONDE_EXPR_OP_IF_BELOW_U:
		emit_compare_number(to, BPF_JLT, top(to, 0), op->number);
		return true;
	case SONDE_EXPR_OP_IF_BELOW_S:
		emit_compare_number(to, BPF_JSLT, top(to, 0), op->number);
		return true;
	default:
		return jumps_by_two(to, op->code);
	}
}

#define UNKNOWN                                                \
	(SONDE_EXPR_OPERAND_DOUBLE | SONDE_EXPR_OPERAND_TEXT | \
	 SONDE_EXPR_OPERAND_CALL)

static void emit_op(struct translator *to, const struct sonde_expr_op *op)
{
	const struct sonde_expr_op_info *info = &sonde_expr_op_infos[op->code];

	if (info->operands & UNKNOWN || info->takes.texts)
		to->failed = true;
	else if (info->operands & SONDE_EXPR_OPERAND_MACHINE)
		to->failed |= !sees(to, op);
	else if (info->operands & SONDE_EXPR_OPERAND_END)
		emit_end(to, op->code);
	else if (!(info->operands & SONDE_EXPR_OPERAND_MEM))
		to->failed |= !(jumps(to, op) || calculates(to, op) ||
				moves(to, op) || asks(to, op));
	else if (info->operands & SONDE_EXPR_OPERAND_JUMP)
		emit_compare_field(to, op);
	else
		emit_load_field(to, op);
}

/* ---- all of them ---- */

static void mark_targets(struct translator *to)
{
	for (uint32_t i = 0; i < to->program->nr_ops; i++)
		to->starts[i] = 0;
	for (uint32_t i = 0; i < to->program->nr_ops; i++) {
		const struct sonde_expr_op *op = &to->program->ops[i];

		if (sonde_expr_op_infos[op->code].operands &
		    SONDE_EXPR_OPERAND_JUMP)
			to->starts[op->target] = IS_TARGET;
	}
}

/* Whether it becomes the next operation's own. No program ends with it. */
static bool is_next_ones(const struct translator *to,
			 const struct sonde_expr_op *op)
{
	return op->code == SONDE_EXPR_OP_NUMBER &&
	       is_short_number(op->number) && takes_number(op[1].code) &&
	       !(to->starts[to->at + 1] & IS_TARGET);
}

static uint32_t insn_of_op(const struct translator *to, uint32_t at)
{
	return at < to->program->nr_ops ? to->starts[at] & ~IS_TARGET : to->nr;
}

/* The jumps of one operation; an end's go behind all. */
static void settle_jumps(struct translator *to, uint32_t at)
{
	const struct sonde_expr_op *op = &to->program->ops[at];
	bool ends =
		sonde_expr_op_infos[op->code].operands & SONDE_EXPR_OPERAND_END;
	uint32_t target = ends ? to->nr : insn_of_op(to, op->target);

	for (uint32_t i = insn_of_op(to, at); i < insn_of_op(to, at + 1); i++) {
		uint8_t class = BPF_CLASS(to->to[i].code);

		if ((class != BPF_JMP && class != BPF_JMP32) ||
		    to->to[i].off != TO_TARGET)
			continue;
		if (target - i - 1 > INT16_MAX)
			to->failed = true;
		to->to[i].off = (int16_t)(target - i - 1);
	}
}

/* NOLINTNEXTLINE(readability-function-size): parameters as the .h has them */
bool sonde_ebpf_translate(const struct sonde_program *program,
			  const struct sonde_program_state *states,
			  const struct sonde_ebpf_frame *frame,
			  uint16_t *starts, struct bpf_insn *to, uint32_t max,
			  uint32_t *ret_nr)
{
	struct translator all = {
		.program = program,
		.states = states,
		.frame = frame,
		.starts = starts,
		.to = to,
		.max = max,
	};

	if (program->nr_ops > SONDE_TRANSLATE_OPS ||
	    program->type == SONDE_EXPR_DOUBLE)
		return false;
	mark_targets(&all);
	for (; all.at < program->nr_ops && !all.failed; all.at++) {
		const struct sonde_expr_op *op = &program->ops[all.at];

		all.starts[all.at] |= (uint16_t)all.nr;
		if (is_next_ones(&all, op)) {
			all.has_number = true;
			all.number = (int32_t)op->number;
			continue;
		}
		emit_op(&all, op);
		all.has_number = false;
	}
	for (uint32_t i = 0; i < program->nr_ops && !all.failed; i++)
		settle_jumps(&all, i);
	*ret_nr = all.nr;
	return !all.failed;
}
