/* SPDX-License-Identifier: MIT */
/* expr_unit.h - what the tests of expressions share. */
#ifndef UNIT_EXPR_UNIT_H
#define UNIT_EXPR_UNIT_H

#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "expr/expr.h"
#include "unit.h"

/* How many bytes the text is. */
static inline size_t from_hex(const char *hex, uint8_t *bytes)
{
	size_t nr = strlen(hex) / 2;

	assert_true(sonde_hex_take_bytes(&hex, bytes, nr));
	return nr;
}

/* It parses and compiles; to be freed. */
static inline struct sonde_program *
compile_in(const char *text, const struct sonde_expr_scope *scope)
{
	struct sonde_expr_error error = { "", 0 };
	struct sonde_program *program = NULL;
	struct sonde_expr *expr = NULL;

	if (sonde_expr_parse(text, &error, &expr) ||
	    sonde_expr_compile(expr, scope, &error, &program))
		fail_msg("%s: column %u: %s", text, error.column, error.text);
	sonde_expr_free(expr);
	return program;
}

/* Its value, which is no string. */
static inline struct sonde_expr_value
value_in(const char *text, const struct sonde_expr_scope *scope,
	 const struct sonde_expr_env *env)
{
	struct sonde_program *program = compile_in(text, scope);
	struct sonde_expr_value value;

	sonde_program_eval(program, env, &value);
	if (sonde_program_test(program, env) != sonde_expr_true(&value))
		fail_msg("%s: its test is not its value's truth", text);
	assert_int_not_equal(value.type, SONDE_EXPR_STRING);
	sonde_program_free(program);
	return value;
}

#endif /* UNIT_EXPR_UNIT_H */
