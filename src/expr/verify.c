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

static bool is_number(uint64_t type)
{
	return type == SONDE_EXPR_UINT || type == SONDE_EXPR_INT ||
	       type == SONDE_EXPR_DOUBLE;
}

/* The `width` slots on top are all texts, or all numbers; takes them. */
static bool take(struct sonde_program_state *state, unsigned int width,
		 bool texts)
{
	for (unsigned int i = 0; i < width; i++) {
		if (state->depth == 0)
			return false;
		state->depth--;
		if ((state->texts >> state->depth & 1) != texts)
			return false;
		state->texts &= ~(UINT64_C(1) << state->depth);
	}
	return true;
}

static bool give(struct sonde_program_state *state, unsigned int width,
		 bool texts)
{
	for (unsigned int i = 0; i < width; i++) {
		if (state->depth == SONDE_PROGRAM_STACK)
			return false;
		state->texts |= (uint64_t)texts << state->depth++;
	}
	return true;
}

/* Control comes to operation `to` with that state. */
static bool come(struct verifier *verifier, uint32_t to,
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

	if (op->target <= at || op->keep > kept.depth)
		return false;
	kept.depth = op->keep;
	if (kept.depth < SONDE_PROGRAM_STACK)
		kept.texts &= (UINT64_C(1) << kept.depth) - 1;
	return come(verifier, op->target, &kept);
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
	if (info->operands & SONDE_EXPR_OPERAND_CALL && info->gives.texts)
		return op->number == SONDE_EXPR_STRING;
	if (info->operands & SONDE_EXPR_OPERAND_CALL && info->gives.numbers)
		return is_number(op->number);
	return true;
}

/* The numbers of agent.h's operations. */
static bool check_number(const struct sonde_expr_op *op,
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
		       !(state->texts >> (state->depth - 1 - op->number) & 1);
	default:
		return true;
	}
}

static bool check_end(const struct sonde_program *program, uint8_t code)
{
	if (code == SONDE_EXPR_OP_END_NUMBER)
		return is_number(program->type);
	if (code == SONDE_EXPR_OP_END_TEXT)
		return program->type == SONDE_EXPR_STRING;
	return code == SONDE_EXPR_OP_END_MISSING ||
	       code == SONDE_EXPR_OP_END_FAULT ||
	       code == SONDE_EXPR_OP_END_DIVIDED ||
	       program->type == SONDE_EXPR_INT;
}

/* Operation `at`, and where control goes from it. */
static bool check_op(struct verifier *verifier, uint32_t at)
{
	const struct sonde_program *program = verifier->program;
	const struct sonde_expr_op *op = &program->ops[at];
	const struct sonde_expr_op_info *info;

	if (op->code >= SONDE_EXPR_OP_CODES || !verifier->states[at].reached)
		return false;
	info = &sonde_expr_op_infos[op->code];
	verifier->now = verifier->states[at];
	if (!check_operands(program, op, info) ||
	    !check_number(op, &verifier->now) ||
	    !take(&verifier->now, info->takes.numbers, false) ||
	    !take(&verifier->now, 2u * info->takes.texts, true))
		return false;
	if (info->operands & SONDE_EXPR_OPERAND_JUMP &&
	    !check_jump(verifier, at))
		return false;
	if (info->operands & SONDE_EXPR_OPERAND_END)
		return check_end(program, op->code);
	if (op->code == SONDE_EXPR_OP_GO)
		return true;
	return give(&verifier->now, info->gives.numbers, false) &&
	       give(&verifier->now, 2u * info->gives.texts, true) &&
	       come(verifier, at + 1, &verifier->now);
}

bool sonde_program_verify(const struct sonde_program *program,
			  struct sonde_program_state *states)
{
	struct verifier verifier = { .program = program, .states = states };

	if (program->nr_ops == 0 || program->nr_ops > SONDE_PROGRAM_OPS ||
	    program->texts_bytes > SONDE_PROGRAM_TEXTS)
		return false;
	for (uint32_t i = 0; i < program->nr_ops; i++)
		states[i] = (struct sonde_program_state){ 0 };
	states[0].reached = true;
	for (uint32_t i = 0; i < program->nr_ops; i++) {
		if (!check_op(&verifier, i))
			return false;
	}
	return true;
}
