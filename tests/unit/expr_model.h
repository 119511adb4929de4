/* SPDX-License-Identifier: MIT */
/*
 * expr_model.h - what expressions should give, as plainly as it can be put.
 *
 * A record with fields of all kinds, a scope that describes it, an evaluator
 * that walks the tree with no thought of speed, and a writer of random
 * expressions over those fields. The unit tests and the fuzz target hold
 * compiled programs against it.
 *
 * The evaluator takes a field's value from `values`, not from the bytes, and
 * reckons with 128 bits, so it shares no step with what it is held against. It
 * has the parser's tree in common with it, and sonde_glob_match_text(), which
 * has a model of its own (fuzz/select.c).
 */
#ifndef UNIT_EXPR_MODEL_H
#define UNIT_EXPR_MODEL_H

#include "expr/tree.h"

#define MODEL_FIELDS 40
#define MODEL_BASES  4
#define MODEL_BYTES  64

struct model_record {
	struct sonde_expr_value values[MODEL_FIELDS]; /* of the fields */
	uint8_t bytes[MODEL_BASES][MODEL_BYTES];
};

/* Where random numbers come from. */
struct model_random {
	uint64_t (*next)(void *ctx);
	void *ctx;
};

/* The constants' values are the same in all records. */
void model_record_fill(struct model_record *record,
		       const struct model_random *random);

/* Their find(), and the env for a record, which is borrowed. */
extern const struct sonde_expr_scope model_scope;
void model_env_init(struct sonde_expr_env *env, struct model_record *record);

/* A random expression. Most of them compile. */
void model_write(char *to, size_t size, const struct model_random *random);

/* For an expression that compiles; otherwise it may abort. */
struct sonde_expr_value model_eval(const struct sonde_expr *expr,
				   const struct model_record *record);

/* Of the same type, and the same. NaNs are, whatever their bits. */
bool model_same(const struct sonde_expr_value *a,
		const struct sonde_expr_value *b);

/* One operation per line; returns the length it has or would have. */
size_t model_disassemble(const struct sonde_program *program, char *to,
			 size_t size);

#endif /* UNIT_EXPR_MODEL_H */
