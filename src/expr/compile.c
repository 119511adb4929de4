/* SPDX-License-Identifier: MIT */
/* compile.c - see compile.h. */
#include "expr/compile.h"

#include <errno.h>

static bool number_fits(const struct sonde_expr_source *source)
{
	if (source->base >= SONDE_EXPR_BASES)
		return false;
	if (source->type == SONDE_EXPR_DOUBLE)
		return source->bytes == 4 || source->bytes == 8;
	return sonde_expr_type_is_integer(source->type) &&
	       (source->bytes == 1 || source->bytes == 2 ||
		source->bytes == 4 || source->bytes == 8);
}

/* Whether it is as expr.h says; a CONSTANT gets its value's type. */
static bool source_is_sound(struct sonde_expr_source *source)
{
	switch (source->how) {
	case SONDE_EXPR_CONSTANT:
		source->type = source->value.type;
		return source->type <= SONDE_EXPR_STRING;
	case SONDE_EXPR_MEMORY:
		return number_fits(source);
	case SONDE_EXPR_CALL:
		return source->type > SONDE_EXPR_MISSING &&
		       source->type <= SONDE_EXPR_STRING;
	default:
		return false;
	}
}

static int find_name(struct sonde_compiler *compiler, size_t i)
{
	const struct sonde_expr_name *name = &compiler->expr->names[i];
	const struct sonde_expr_scope *scope = compiler->scope;
	struct sonde_expr_source source = { 0 };
	int err = scope->find(scope->ctx, name->path, name->length, &source);

	if (err == -ENOENT) {
		source = (struct sonde_expr_source){ 0 };
		if (name->begin) {
			source.value.type = SONDE_EXPR_INT;
			source.value.i = scope->begin_ns;
		}
		err = 0;
	}
	if (err && err != -EINVAL)
		return err;
	if (err || !source_is_sound(&source))
		return sonde_expr_fail(compiler->error, compiler->expr->text,
				       name->offset,
				       "%.*s does not fit the record's fields",
				       (int)name->length, name->path);
	compiler->sources[i] = source;
	return 0;
}

int sonde_expr_analyse(struct sonde_compiler *compiler)
{
	const struct sonde_expr *expr = compiler->expr;
	int err = 0;

	compiler->sources = sonde_pool_get(&compiler->pool, expr->nr_names + 1,
					   sizeof(*compiler->sources));
	compiler->meanings = sonde_pool_get(&compiler->pool, expr->nr_nodes,
					    sizeof(*compiler->meanings));
	if (!compiler->sources || !compiler->meanings)
		return -ENOMEM;
	for (size_t i = 0; !err && i < expr->nr_names; i++)
		err = find_name(compiler, i);
	for (uint32_t i = 0; !err && i < expr->nr_nodes; i++)
		err = sonde_expr_infer(compiler, i);
	return err;
}

int sonde_expr_compile(const struct sonde_expr *expr,
		       const struct sonde_expr_scope *scope,
		       struct sonde_expr_error *error,
		       struct sonde_program **ret_program)
{
	struct sonde_compiler compiler = {
		.expr = expr,
		.scope = scope,
		.error = error,
	};
	int err;

	sonde_pool_init(&compiler.pool, 0);
	err = sonde_expr_analyse(&compiler);
	if (!err)
		err = sonde_expr_generate(&compiler, expr->root, ret_program);
	sonde_pool_fini(&compiler.pool);
	return err;
}
