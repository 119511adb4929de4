/* SPDX-License-Identifier: MIT */
/*
 * compile.h - what the compiler's parts share.
 *
 *   compile.c   asks the scope for names, then for each node, children first:
 *   infer.c       its type; its value if that is known
 *   generate.c  then makes operations for the root
 *
 * A node whose operands are constants is folded by compiling it alone and
 * running that: there is no second arithmetic.
 */
#ifndef EXPR_COMPILE_H
#define EXPR_COMPILE_H

#include "expr/code.h"
#include "expr/tree.h"

struct sonde_meaning {
	/* MISSING: it is known to be missing, and constant */
	enum sonde_expr_type type;
	bool constant;
	struct sonde_expr_value value;          /* of a constant */
	const struct sonde_expr_source *source; /* of a name that isn't */
};

struct sonde_compiler {
	const struct sonde_expr *expr;
	const struct sonde_expr_scope *scope;
	struct sonde_expr_error *error;
	struct sonde_pool pool;
	struct sonde_expr_source *sources; /* by name; MISSING constants where
					      there is no such thing */
	struct sonde_meaning *meanings;    /* by node */
};

static inline bool sonde_expr_type_is_integer(enum sonde_expr_type type)
{
	return type == SONDE_EXPR_UINT || type == SONDE_EXPR_INT;
}

/* Whether it is compared with the labels of an enumeration: then
 * *ret_field is that child of `node` and *ret_label the other. */
bool sonde_expr_compares_label(const struct sonde_compiler *compiler,
			       const struct sonde_node *node,
			       uint32_t *ret_field, uint32_t *ret_label);

/* a < b: negative; a == b: 0; as numbers, whether signed or not. */
int sonde_expr_integers_compare(const struct sonde_expr_value *a,
				const struct sonde_expr_value *b);

/* The type that C does arithmetic of the two in; numbers only. */
enum sonde_expr_type sonde_expr_type_common(enum sonde_expr_type a,
					    enum sonde_expr_type b);

/* infer.c: fills in meanings[node], those of its children being known. */
int sonde_expr_infer(struct sonde_compiler *compiler, uint32_t node);

/* generate.c: a whole program for `node`, whose meaning may lack the value. */
void sonde_expr_generate(const struct sonde_compiler *compiler,
			 struct sonde_code *code, uint32_t node);

/* compile.c: asks for all names and infers all nodes. The compiler has its
 * expression, scope, error and an empty pool. */
int sonde_expr_analyse(struct sonde_compiler *compiler);

/* compile.c: that program. */
int sonde_expr_compile_node(struct sonde_compiler *compiler, uint32_t node,
			    struct sonde_program **ret_program);

#endif /* EXPR_COMPILE_H */
