/* SPDX-License-Identifier: MIT */
/*
 * verify.c - see program.h. Freestanding.
 *
 * One pass: since jumps go forward, all ways to an operation have been seen
 * when it is met.
 */
#include "expr/program.h"

struct verifier {
	const struct sonde_program *program;
	struct sonde_program_state *states;
	struct sonde_program_state now;
};

static bool verify_is_number(uint64_t type)
{
	return type == SONDE_EXPR_UINT || type == SONDE_EXPR_INT ||
	       type == SONDE_EXPR_DOUBLE;
}

/* ---- the stack ---- */

enum cell {
	CELL_NUMBER,
	CELL_ADDRESS, /* of a text, whose length is the next */
	CELL_LENGTH,
};

/* Of a slot that is in use. */
static enum cell cell_at(const struct sonde_program_state *state, uint64_t slot)
{
	if (state->texts >> slot & 1)
		return CELL_ADDRESS;
	return slot && state->texts >> (slot - 1) & 1 ? CELL_LENGTH :
							CELL_NUMBER;
}

/* Leaves the lowest `depth` slots, with all of each text or nothing of it. */
static bool verify_cut(struct sonde_program_state *state, uint8_t depth)
{
	if (depth > state->depth)
		return false;
	if (depth == state->depth)
		return true;
	if (cell_at(state, depth) == CELL_LENGTH)
		return false;
	state->depth = depth;
	state->texts &= (UINT64_C(1) << depth) - 1;
	return true;
}

static bool take(struct sonde_program_state *state,
		 struct sonde_expr_op_shape shape)
{
	for (unsigned int i = 0; i < shape.numbers; i++) {
		/* Of a text, it would be a half. */
		if (state->depth < 1 || !verify_cut(state, state->depth - 1))
			return false;
	}
	for (unsigned int i = 0; i < shape.texts; i++) {
		if (state->depth < 2 ||
		    cell_at(state, state->depth - 1u) != CELL_LENGTH ||
		    !verify_cut(state, state->depth - 2))
			return false;
	}
	return true;
}

static bool give(struct sonde_program_state *state,
		 struct sonde_expr_op_shape shape)
{
	if (state->depth + shape.numbers + 2u * shape.texts >
	    SONDE_PROGRAM_STACK)
		return false;
	state->depth += shape.numbers;
	for (unsigned int i = 0; i < shape.texts; i++) {
		state->texts |= UINT64_C(1) << state->depth;
		state->depth += 2;
	}
	return true;
}

/* ---- operations ---- */

/* Control comes to operation `to` with that state. */
static bool verify_come(struct verifier *verifier, uint32_t to,
			const struct sonde_program_state *from)
{
	struct sonde_program_state *state;

	if (to >= verifier->program->nr_ops)
		return false;
	state = &verifier->states[to];
	if (state->reached)
		return state->depth == from->depth &&
		       state->texts == from->texts;
	*state = *from;
	state->reached = true;
	return true;
}

static bool check_jump(struct verifier *verifier, uint32_t at)
{
	const struct sonde_expr_op *op = &verifier->program->ops[at];
	struct sonde_program_state kept = verifier->now;

	return op->target > at && verify_cut(&kept, op->keep) &&
	       verify_come(verifier, op->target, &kept);
}

static bool check_text(const struct sonde_program *program,
		       const struct sonde_expr_op *op)
{
	return op->offset < program->texts_bytes &&
	       op->length < program->texts_bytes - op->offset &&
	       sonde_program_texts(program)[op->offset + op->length] == 0;
}

static bool check_operands(const struct sonde_program *program,
			   const struct sonde_expr_op *op,
			   const struct sonde_expr_op_info *info)
{
	if (info->operands & (SONDE_EXPR_OPERAND_MEM | SONDE_EXPR_OPERAND_CALL |
			      SONDE_EXPR_OPERAND_MACHINE) &&
	    program->constant)
		return false;
	if (info->operands & SONDE_EXPR_OPERAND_MEM &&
	    (op->base >= SONDE_EXPR_BASES || !(program->bases >> op->base & 1)))
		return false;
	if (info->operands & SONDE_EXPR_OPERAND_TEXT &&
	    !check_text(program, op))
		return false;
	if (info->operands & SONDE_EXPR_OPERAND_SENSE && op->sense > 1)
		return false;
	if (info->operands & SONDE_EXPR_OPERAND_CALL && info->gives.texts)
		return op->number == SONDE_EXPR_STRING;
	if (info->operands & SONDE_EXPR_OPERAND_CALL && info->gives.numbers)
		return verify_is_number(op->number);
	return true;
}

/* The numbers of agent.h's operations. */
static bool verify_check_number(const struct sonde_expr_op *op,
				const struct sonde_program_state *state)
{
	switch ((int)op->code) {
	case SONDE_EXPR_OP_REGISTER:
		return op->number < SONDE_EXPR_REGISTERS;
	case SONDE_EXPR_OP_GET_VARIABLE:
	case SONDE_EXPR_OP_SET_VARIABLE:
	case SONDE_EXPR_OP_TRACE_VARIABLE:
		return op->number >> 32 == 0;
	case SONDE_EXPR_OP_EXTEND_S:
	case SONDE_EXPR_OP_EXTEND_Z:
		return op->number >= 1 && op->number <= 64;
	case SONDE_EXPR_OP_PICK:
		return op->number < state->depth &&
		       cell_at(state, state->depth - 1 - op->number) ==
			       CELL_NUMBER;
	default:
		return true;
	}
}

/* What it ends with is at the stack's bottom. */
static bool check_end(const struct sonde_program *program,
		      const struct sonde_expr_op_info *info,
		      const struct sonde_program_state *below, uint8_t code)
{
	if ((info->takes.numbers || info->takes.texts) && below->depth)
		return false;
	if (code == SONDE_EXPR_OP_END_NUMBER)
		return verify_is_number(program->type);
	if (code == SONDE_EXPR_OP_END_TEXT)
		return program->type == SONDE_EXPR_STRING;
	return code == SONDE_EXPR_OP_END_MISSING ||
	       code == SONDE_EXPR_OP_END_FAULT ||
	       code == SONDE_EXPR_OP_END_DIVIDED ||
	       program->type == SONDE_EXPR_INT;
}

/* Operation `at`, and where control goes from it. */
static bool verify_check_op(struct verifier *verifier, uint32_t at)
{
	const struct sonde_program *program = verifier->program;
	const struct sonde_expr_op *op = &program->ops[at];
	const struct sonde_expr_op_info *info;

	if (op->code >= SONDE_EXPR_OP_CODES || !verifier->states[at].reached)
		return false;
	info = &sonde_expr_op_infos[op->code];
	verifier->now = verifier->states[at];
	if (!check_operands(program, op, info) ||
	    !verify_check_number(op, &verifier->now) ||
	    !take(&verifier->now, info->takes))
		return false;
	if (info->operands & SONDE_EXPR_OPERAND_JUMP &&
	    !check_jump(verifier, at))
		return false;
	if (info->operands & SONDE_EXPR_OPERAND_END)
		return check_end(program, info, &verifier->now, op->code);
	if (op->code == SONDE_EXPR_OP_GO)
		return true;
	return give(&verifier->now, info->gives) &&
	       verify_come(verifier, at + 1, &verifier->now);
}

uint32_t sonde_program_sound_ops(const struct sonde_program *program,
				 struct sonde_program_state *states)
{
	struct verifier verifier = { .program = program, .states = states };
	uint32_t nr = 0;

	if (program->nr_ops == 0 || program->nr_ops > SONDE_PROGRAM_OPS ||
	    program->texts_bytes > SONDE_PROGRAM_TEXTS ||
	    program->type > SONDE_EXPR_STRING || program->constant > 1)
		return 0;
	for (uint32_t i = 0; i < program->nr_ops; i++)
		states[i] = (struct sonde_program_state){ 0 };
	states[0].reached = true;
	while (nr < program->nr_ops && verify_check_op(&verifier, nr))
		nr++;
	return nr;
}

bool sonde_program_verify(const struct sonde_program *program,
			  struct sonde_program_state *states)
{
	uint32_t nr = sonde_program_sound_ops(program, states);

	return nr && nr == program->nr_ops;
}
