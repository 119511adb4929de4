/* SPDX-License-Identifier: MIT */
/* builder.c - see builder.h. */
#include "expr/builder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sonde_builder_label
sonde_builder_label(const struct sonde_builder *builder, unsigned int slots)
{
	return (struct sonde_builder_label){ SONDE_BUILDER_NONE,
					     builder->depth + slots };
}

static unsigned int slots_of(struct sonde_expr_op_shape shape)
{
	return shape.numbers + 2u * shape.texts;
}

void sonde_builder_add(struct sonde_builder *builder, struct sonde_expr_op op)
{
	const struct sonde_expr_op_info *info = &sonde_expr_op_infos[op.code];
	struct sonde_expr_op *ops;

	if (builder->err || builder->dead)
		return;
	if (builder->nr_ops == SONDE_PROGRAM_OPS ||
	    builder->depth + slots_of(info->gives) >
		    SONDE_PROGRAM_STACK + slots_of(info->takes)) {
		builder->err = -E2BIG;
		return;
	}
	ops = sonde_pool_grow(builder->pool, builder->ops, builder->nr_ops,
			      &builder->ops_capacity, sizeof(*ops));
	if (!ops) {
		builder->err = -ENOMEM;
		return;
	}
	builder->ops = ops;
	ops[builder->nr_ops++] = op;
	builder->depth += slots_of(info->gives) - slots_of(info->takes);
	if (info->operands & SONDE_EXPR_OPERAND_MEM)
		builder->bases |= (uint16_t)(1u << op.base);
	if (info->operands & (SONDE_EXPR_OPERAND_MEM | SONDE_EXPR_OPERAND_CALL |
			      SONDE_EXPR_OPERAND_MACHINE))
		builder->varies = true;
	if (op.code == SONDE_EXPR_OP_GO ||
	    info->operands & SONDE_EXPR_OPERAND_END)
		builder->dead = true;
}

void sonde_builder_jump(struct sonde_builder *builder, struct sonde_expr_op op,
			struct sonde_builder_label *label)
{
	size_t before = builder->nr_ops;

	op.keep = (uint8_t)label->depth;
	op.target = label->last_jump;
	sonde_builder_add(builder, op);
	if (builder->nr_ops > before)
		label->last_jump = (uint32_t)before;
}

void sonde_builder_bind(struct sonde_builder *builder,
			struct sonde_builder_label *label)
{
	uint32_t jump = label->last_jump;

	if (jump != SONDE_BUILDER_NONE)
		builder->dead = false;
	while (jump != SONDE_BUILDER_NONE) {
		uint32_t before = builder->ops[jump].target;

		builder->ops[jump].target = (uint32_t)builder->nr_ops;
		jump = before;
	}
	label->last_jump = SONDE_BUILDER_NONE;
	builder->depth = label->depth;
}

uint32_t sonde_builder_text(struct sonde_builder *builder, const char *text,
			    uint32_t length)
{
	uint32_t offset = (uint32_t)builder->texts_bytes;

	if (builder->err || builder->dead)
		return 0;
	if (length >= SONDE_PROGRAM_TEXTS - builder->texts_bytes) {
		builder->err = -E2BIG;
		return 0;
	}
	while (builder->texts_capacity <= builder->texts_bytes + length) {
		char *texts = sonde_pool_grow(builder->pool, builder->texts,
					      builder->texts_capacity,
					      &builder->texts_capacity, 1);

		if (!texts) {
			builder->err = -ENOMEM;
			return 0;
		}
		builder->texts = texts;
	}
	memcpy(builder->texts + offset, text, length);
	builder->texts[offset + length] = 0;
	builder->texts_bytes += length + 1u;
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

int sonde_builder_finish(const struct sonde_builder *builder,
			 enum sonde_expr_type type,
			 struct sonde_program **ret_program)
{
	size_t ops_bytes = builder->nr_ops * sizeof(builder->ops[0]);
	struct sonde_program *program;
	int err;

	if (builder->err)
		return builder->err;
	program =
		calloc(1, sizeof(*program) + ops_bytes + builder->texts_bytes);
	if (!program)
		return -ENOMEM;
	program->nr_ops = (uint32_t)builder->nr_ops;
	program->texts_bytes = (uint32_t)builder->texts_bytes;
	program->bases = builder->bases;
	program->type = (uint8_t)type;
	program->constant = !builder->varies;
	memcpy(program->ops, builder->ops, ops_bytes);
	if (builder->texts_bytes)
		memcpy(&program->ops[builder->nr_ops], builder->texts,
		       builder->texts_bytes);
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
