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

#include "expr/builder.h"
#include "expr/meaning.h"

/* infer.c: fills in meanings[node], those of its children being known. */
int sonde_expr_infer(struct sonde_compiler *compiler, uint32_t node);

/* generate.c: a whole program for `node`, whose meaning may lack the value. */
int sonde_expr_generate(struct sonde_compiler *compiler, uint32_t node,
			struct sonde_program **ret_program);

/* compile.c: asks for all names and infers all nodes. The compiler has its
 * expression, scope, error and an empty pool. */
int sonde_expr_analyse(struct sonde_compiler *compiler);

#endif /* EXPR_COMPILE_H */
