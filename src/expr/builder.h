/* SPDX-License-Identifier: MIT */
/*
 * builder.h - a program in the making.
 *
 * Operations are appended; a jump goes to a label, which is bound to a place
 * later, so that jumps go forward. Code that can't be reached (behind a jump,
 * until a label that something jumps to is bound) is left out, so whoever
 * generates need not care.
 *
 * Errors stick: only sonde_builder_finish() tells of them.
 */
#ifndef EXPR_BUILDER_H
#define EXPR_BUILDER_H

#include "base/pool.h"
#include "expr/program.h"

#define SONDE_BUILDER_NONE UINT32_MAX

struct sonde_builder {
	struct sonde_pool *pool;
	struct sonde_expr_op *ops;
	size_t nr_ops, ops_capacity;
	char *texts;
	size_t texts_bytes, texts_capacity;
	unsigned int depth; /* of the stack, here */
	uint16_t bases;
	bool varies; /* something but constants is read */
	bool dead;   /* nothing comes here */
	int err;
};

/* Before it is bound, the jumps to it are a list: each one's target is the one
 * before. */
struct sonde_builder_label {
	uint32_t last_jump;
	unsigned int depth; /* of the stack, there */
};

/* A label where the stack is as it is here, plus `slots`. */
struct sonde_builder_label
sonde_builder_label(const struct sonde_builder *builder, unsigned int slots);
void sonde_builder_add(struct sonde_builder *builder, struct sonde_expr_op op);
void sonde_builder_jump(struct sonde_builder *builder, struct sonde_expr_op op,
			struct sonde_builder_label *label);
void sonde_builder_bind(struct sonde_builder *builder,
			struct sonde_builder_label *label);

/* The offset of a copy of that text. */
uint32_t sonde_builder_text(struct sonde_builder *builder, const char *text,
			    uint32_t length);

/* 0; -E2BIG: a program can't be so large; -ENOMEM. */
int sonde_builder_finish(const struct sonde_builder *builder,
			 enum sonde_expr_type type,
			 struct sonde_program **ret_program);

#endif /* EXPR_BUILDER_H */
