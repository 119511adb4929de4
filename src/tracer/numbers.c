/* SPDX-License-Identifier: MIT */
/*
 * numbers.c - see numbers.h: a number at a fixed place is a load, all else a
 * program for the evaluator.
 */
#include "tracer/numbers.h"

#include "expr/program.h"

int sonde_filter_fetch(void *ctx, uint32_t ref,
		       struct sonde_expr_value *ret_value)
{
	const struct sonde_filter_payload *payload = ctx;

	return ref < payload->nr_fields ?
		       sonde_operand_read(&payload->record,
					  &payload->fields[ref], ret_value) :
		       -1;
}

static struct sonde_filter_number
fixed_number(const struct sonde_filter_value *value, const uint8_t *base)
{
	return (struct sonde_filter_number){
		.number = sonde_filter_load(value, base + value->offset),
		.is_there = true,
		.is_signed = value->is_signed,
	};
}

struct sonde_filter_number
sonde_filter_number_of(const struct sonde_filter_value *value,
		       const unsigned char *file, struct sonde_expr_env *env)
{
	struct sonde_filter_payload *payload = env->ctx;
	struct sonde_expr_value found;

	switch (value->kind) {
	case SONDE_FILTER_VALUE_FIELD:
		return fixed_number(value, env->bases[0]);
	case SONDE_FILTER_VALUE_WHENCE:
		return fixed_number(value, env->bases[1]);
	case SONDE_FILTER_VALUE_PROGRAM:
		payload->fields = (const void *)(file + value->fields);
		payload->nr_fields = value->nr_fields;
		sonde_program_eval((const void *)(file + value->program), env,
				   &found);
		return (struct sonde_filter_number){
			.number = found.u,
			.is_there = found.type == SONDE_EXPR_INT ||
				    found.type == SONDE_EXPR_UINT,
			.is_signed = found.type == SONDE_EXPR_INT,
		};
	default:
		return (struct sonde_filter_number){ .number = 0 };
	}
}
