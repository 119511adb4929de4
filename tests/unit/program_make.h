/* SPDX-License-Identifier: MIT */
/*
 * program_make.h - programs that no compiler made and that the verifier takes:
 * all of a length, or any. An operation is put where the verifier takes it
 * behind those before it (sonde_program_sound_ops()); so what it should refuse
 * and doesn't is among them.
 *
 * Operands are few: what they may be is an alphabet. Jumps go to any later
 * operation.
 *
 * Needs nothing but expr/program.h, so that a guest's programs can use it.
 */
#ifndef UNIT_PROGRAM_MAKE_H
#define UNIT_PROGRAM_MAKE_H

#include <string.h>

#include "expr/program.h"

#define MADE_OPS       72
#define MADE_TEXTS     4
#define MADE_TEXT      "a*" /* at 0; behind it, an empty one */
#define MADE_BASES     2u
#define MADE_BASE_SIZE 8u

union made {
	struct sonde_program program;
	uint8_t bytes[sizeof(struct sonde_program) +
		      MADE_OPS * sizeof(struct sonde_expr_op) + MADE_TEXTS];
};

/* How many values an operand has: at least 1. */
struct made_alphabet {
	uint8_t numbers, texts, senses;
	uint8_t keeps;      /* from keep_first on */
	uint8_t keep_first; /* as many NUMBERs come first */
	uint8_t type;       /* of the programs */
	bool is_constant;
	bool (*has)(uint8_t code); /* NULL: all operations */
};

static inline void made_begin(union made *made,
			      const struct made_alphabet *alphabet,
			      uint32_t nr_ops)
{
	struct sonde_program *program = &made->program;

	memset(made, 0, sizeof(*made));
	program->nr_ops = nr_ops;
	program->texts_bytes = sizeof(MADE_TEXT);
	program->bases = (1u << MADE_BASES) - 1;
	program->type = alphabet->type;
	program->constant = alphabet->is_constant;
	memcpy(&program->ops[nr_ops], MADE_TEXT, sizeof(MADE_TEXT));
}

static inline size_t made_size(const union made *made)
{
	return sonde_program_bytes(&made->program);
}

static inline uint32_t made_digit(uint32_t *variant, uint32_t radix)
{
	uint32_t digit = *variant % radix;

	*variant /= radix;
	return digit;
}

static inline uint64_t made_number(uint8_t code, uint32_t which)
{
	static const uint64_t types[] = { SONDE_EXPR_STRING, SONDE_EXPR_UINT,
					  SONDE_EXPR_MISSING };
	static const uint64_t numbers[] = { 1, 0, 2, 3, 64, UINT64_MAX };

	if (sonde_expr_op_infos[code].operands & SONDE_EXPR_OPERAND_CALL)
		return types[which % 3];
	return numbers[which % 6];
}

/* The operation of that code and of these operands: variants count from 0;
 * false: there is none. */
static inline bool made_op(const struct made_alphabet *alphabet, uint32_t at,
			   uint32_t nr_ops, uint8_t code, uint32_t variant,
			   struct sonde_expr_op *ret_op)
{
	unsigned int operands = sonde_expr_op_infos[code].operands;
	struct sonde_expr_op op = { .code = code };

	if (operands & SONDE_EXPR_OPERAND_JUMP) {
		if (at + 1 >= nr_ops)
			return false;
		op.target = at + 1 + made_digit(&variant, nr_ops - at - 1);
		op.keep = (uint8_t)(alphabet->keep_first +
				    made_digit(&variant, alphabet->keeps));
	}
	if (operands & SONDE_EXPR_OPERAND_CALL)
		op.number = made_number(code, made_digit(&variant, 3));
	else if (operands & SONDE_EXPR_OPERAND_NUMBER)
		op.number = made_number(code, made_digit(&variant,
							 alphabet->numbers));
	if (operands & SONDE_EXPR_OPERAND_TEXT &&
	    made_digit(&variant, alphabet->texts))
		op.offset = sizeof(MADE_TEXT) - 1;
	else if (operands & SONDE_EXPR_OPERAND_TEXT)
		op.length = sizeof(MADE_TEXT) - 1;
	if (operands & SONDE_EXPR_OPERAND_SENSE)
		op.sense = (uint8_t)!made_digit(&variant, alphabet->senses);
	*ret_op = op;
	return variant == 0;
}

/* Whether the operations up to `at` hold, and one that follows is come to. */
static inline bool made_holds(const union made *made, uint32_t at)
{
	struct sonde_program_state states[MADE_OPS];

	return sonde_program_sound_ops(&made->program, states) > at &&
	       (at + 1 == made->program.nr_ops || states[at + 1].reached);
}

/* ---- all of a length ---- */

/* What it stands at is of nobody's concern. */
struct made_walk {
	const struct made_alphabet *alphabet;
	union made *made;
	uint32_t variant[MADE_OPS];
	uint32_t code[MADE_OPS];
	uint32_t at;
	bool is_begun;
};

/* Each of that many operations, in `made`, which is borrowed. */
static inline void made_walk(struct made_walk *walk,
			     const struct made_alphabet *alphabet,
			     uint32_t nr_ops, union made *made)
{
	memset(walk, 0, sizeof(*walk));
	walk->alphabet = alphabet;
	walk->made = made;
	walk->at = alphabet->keep_first;
	made_begin(made, alphabet, alphabet->keep_first + nr_ops);
}

/* The next choice for walk->at is put there; false: there is none. */
static inline bool made_choose(struct made_walk *walk)
{
	struct sonde_program *program = &walk->made->program;
	uint32_t at = walk->at;

	while (walk->code[at] < SONDE_EXPR_OP_CODES) {
		uint8_t code = (uint8_t)walk->code[at];
		bool (*has)(uint8_t) = walk->alphabet->has;

		if ((!has || has(code)) &&
		    made_op(walk->alphabet, at, program->nr_ops, code,
			    walk->variant[at]++, &program->ops[at]))
			return true;
		walk->variant[at] = 0;
		walk->code[at]++;
	}
	walk->code[at] = 0;
	memset(&program->ops[at], 0, sizeof(program->ops[at]));
	return false;
}

/* The next sound program is in walk->made; false: those were all. */
static inline bool made_next(struct made_walk *walk)
{
	for (;;) {
		if (!made_choose(walk)) {
			if (walk->at == walk->alphabet->keep_first)
				return false;
			walk->at--;
		} else if (made_holds(walk->made, walk->at)) {
			if (walk->at + 1 == walk->made->program.nr_ops)
				return true;
			walk->at++;
		}
	}
}

/* ---- any ---- */

#define MADE_TRIES 2000

/* A program of that many operations or fewer; next() gives random numbers. */
static inline bool made_any(union made *made,
			    const struct made_alphabet *alphabet,
			    uint32_t nr_ops, uint64_t (*next)(void *ctx),
			    void *ctx)
{
	uint32_t at = 0;

	made_begin(made, alphabet, nr_ops);
	for (uint32_t tries = 0; tries < MADE_TRIES; tries++) {
		uint8_t code = (uint8_t)(next(ctx) % SONDE_EXPR_OP_CODES);
		uint32_t variant = (uint32_t)next(ctx);

		if (alphabet->has && !alphabet->has(code))
			continue;
		/* What is beyond the last variant is wanted here, too. */
		(void)made_op(alphabet, at, nr_ops, code, variant,
			      &made->program.ops[at]);
		if (made_holds(made, at) && ++at == nr_ops)
			return true;
	}
	return false;
}

/* Some operands become others nearby, which may not be sound. */
static inline void made_bend(union made *made, uint64_t (*next)(void *ctx),
			     void *ctx)
{
	struct sonde_program *program = &made->program;

	for (uint64_t i = next(ctx) % 4; i > 0; i--) {
		struct sonde_expr_op *op =
			&program->ops[next(ctx) % program->nr_ops];
		uint32_t what = (uint32_t)(next(ctx) % 9);
		uint32_t by = (uint32_t)(next(ctx) % 5) - 2;

		if (what == 0)
			op->keep = (uint8_t)(op->keep + by);
		else if (what == 1)
			op->target += by;
		else if (what == 2)
			op->code = (uint8_t)(op->code + by);
		else if (what == 3)
			op->number += (uint64_t)(int32_t)by;
		else if (what == 4)
			op->offset += by;
		else if (what == 5)
			op->length += by;
		else if (what == 6)
			op->base = (uint8_t)(op->base + by);
		else if (what == 7)
			op->sense = (uint8_t)(op->sense + by);
		else
			program->ops[next(ctx) % program->nr_ops] = *op;
	}
}

#endif /* UNIT_PROGRAM_MAKE_H */
