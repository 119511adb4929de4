/* SPDX-License-Identifier: MIT */
/* meaning.h - what the compiler (compile.h) knows of the nodes of a tree. */
#ifndef EXPR_MEANING_H
#define EXPR_MEANING_H

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

/* The type that C does arithmetic of the two in; numbers only. */
enum sonde_expr_type sonde_expr_type_common(enum sonde_expr_type a,
					    enum sonde_expr_type b);

/* Whether it is compared with the labels of an enumeration: then
 * *ret_field is that child of `node` and *ret_label the other. */
bool sonde_expr_compares_label(const struct sonde_compiler *compiler,
			       const struct sonde_node *node,
			       uint32_t *ret_field, uint32_t *ret_label);

#endif /* EXPR_MEANING_H */
