/* SPDX-License-Identifier: MIT */
/* meaning.c - see meaning.h: what is asked of nodes both while their types are
 * found and when operations are made of them. */
#include "expr/meaning.h"

enum sonde_expr_type sonde_expr_type_common(enum sonde_expr_type a,
					    enum sonde_expr_type b)
{
	if (a == SONDE_EXPR_DOUBLE || b == SONDE_EXPR_DOUBLE)
		return SONDE_EXPR_DOUBLE;
	return a == SONDE_EXPR_UINT ? a : b;
}

static bool has_labels(const struct sonde_compiler *compiler, uint32_t node)
{
	const struct sonde_node *of = &compiler->expr->nodes[node];
	const struct sonde_expr_source *source;

	if (of->kind != SONDE_NODE_NAME)
		return false;
	source = &compiler->sources[of->name];
	return source->labels && sonde_expr_type_is_integer(source->type);
}

bool sonde_expr_compares_label(const struct sonde_compiler *compiler,
			       const struct sonde_node *node,
			       uint32_t *ret_field, uint32_t *ret_label)
{
	for (unsigned int i = 0; i < 2; i++) {
		uint32_t field = node->child[i];
		uint32_t label = node->child[1 - i];

		if (compiler->meanings[label].type == SONDE_EXPR_STRING &&
		    has_labels(compiler, field)) {
			*ret_field = field;
			*ret_label = label;
			return true;
		}
	}
	return false;
}
