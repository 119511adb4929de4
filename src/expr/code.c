/* SPDX-License-Identifier: MIT */
/* code.c - see code.h. */
#include "expr/code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sonde_code_label sonde_code_label(const struct sonde_code *code,
					 unsigned int slots)
{
	return (struct sonde_code_label){ SONDE_CODE_NONE,
					  code->depth + slots };
}

static unsigned int slots_of(struct sonde_expr_op_shape shape)
{
	return shape.numbers + 2u * shape.texts;
}

void sonde_code_add(struct sonde_code *code, struct sonde_expr_op op)
{
	const struct sonde_expr_op_info *info = &sonde_expr_op_infos[op.code];
	struct sonde_expr_op *ops;

	if (code->err || code->dead)
		return;
	if (code->nr_ops == SONDE_PROGRAM_OPS ||
	    code->depth + slots_of(info->gives) >
		    SONDE_PROGRAM_STACK + slots_of(info->takes)) {
		code->err = -E2BIG;
		return;
	}
	ops = sonde_pool_grow(code->pool, code->ops, code->nr_ops,
			      &code->ops_capacity, sizeof(*ops));
	if (!ops) {
		code->err = -ENOMEM;
		return;
	}
	code->ops = ops;
	ops[code->nr_ops++] = op;
	code->depth += slots_of(info->gives) - slots_of(info->takes);
	if (info->operands & SONDE_EXPR_OPERAND_MEM)
		code->bases |= (uint16_t)(1u << op.base);
	if (info->operands & (SONDE_EXPR_OPERAND_MEM | SONDE_EXPR_OPERAND_CALL |
			      SONDE_EXPR_OPERAND_MACHINE))
		code->varies = true;
	if (op.code == SONDE_EXPR_OP_GO ||
	    info->operands & SONDE_EXPR_OPERAND_END)
		code->dead = true;
}

void sonde_code_jump(struct sonde_code *code, struct sonde_expr_op op,
		     struct sonde_code_label *label)
{
	size_t before = code->nr_ops;

	op.keep = (uint8_t)label->depth;
	op.target = label->last_jump;
	sonde_code_add(code, op);
	if (code->nr_ops > before)
		label->last_jump = (uint32_t)before;
}

void sonde_code_bind(struct sonde_code *code, struct sonde_code_label *label)
{
	uint32_t jump = label->last_jump;

	if (jump != SONDE_CODE_NONE)
		code->dead = false;
	while (jump != SONDE_CODE_NONE) {
		uint32_t before = code->ops[jump].target;

		code->ops[jump].target = (uint32_t)code->nr_ops;
		jump = before;
	}
	label->last_jump = SONDE_CODE_NONE;
	code->depth = label->depth;
}

uint32_t sonde_code_text(struct sonde_code *code, const char *text,
			 uint32_t length)
{
	uint32_t offset = (uint32_t)code->texts_bytes;

	if (code->err || code->dead)
		return 0;
	if (length >= SONDE_PROGRAM_TEXTS - code->texts_bytes) {
		code->err = -E2BIG;
		return 0;
	}
	while (code->texts_capacity <= code->texts_bytes + length) {
		char *texts = sonde_pool_grow(code->pool, code->texts,
					      code->texts_capacity,
					      &code->texts_capacity, 1);

		if (!texts) {
			code->err = -ENOMEM;
			return 0;
		}
		code->texts = texts;
	}
	memcpy(code->texts + offset, text, length);
	code->texts[offset + length] = 0;
	code->texts_bytes += length + 1u;
	return offset;
}

static int code_verify(const struct sonde_program *program)
{
	struct sonde_program_state *states =
		calloc(program->nr_ops, sizeof(*states));
	bool sound = states && sonde_program_verify(program, states);

	if (!states)
		return -ENOMEM;
	free(states);
	/* There is no such expression, or the compiler is wrong. */
	return sound ? 0 : -ENOTRECOVERABLE;
}

int sonde_code_finish(const struct sonde_code *code, enum sonde_expr_type type,
		      struct sonde_program **ret_program)
{
	size_t ops_bytes = code->nr_ops * sizeof(code->ops[0]);
	struct sonde_program *program;
	int err;

	if (code->err)
		return code->err;
	program = calloc(1, sizeof(*program) + ops_bytes + code->texts_bytes);
	if (!program)
		return -ENOMEM;
	program->nr_ops = (uint32_t)code->nr_ops;
	program->texts_bytes = (uint32_t)code->texts_bytes;
	program->bases = code->bases;
	program->type = (uint8_t)type;
	program->constant = !code->varies;
	memcpy(program->ops, code->ops, ops_bytes);
	if (code->texts_bytes)
		memcpy(&program->ops[code->nr_ops], code->texts,
		       code->texts_bytes);
	err = code_verify(program);
	if (err)
		free(program);
	else
		*ret_program = program;
	return err;
}

struct sonde_program *sonde_program_copy(const struct sonde_program *program)
{
	size_t bytes = sonde_program_bytes(program);
	struct sonde_program *copy = malloc(bytes);

	if (copy)
		memcpy(copy, program, bytes);
	return copy;
}

void sonde_program_free(struct sonde_program *program)
{
	free(program);
}
