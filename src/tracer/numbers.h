/* SPDX-License-Identifier: MIT */
/*
 * numbers.h - what a condition's program, or one that computes a value or a key,
 * finds in a payload (ring/filters.h); the same in a program with tracepoints and
 * in the agent of probes. Freestanding, async-signal-safe.
 */
#ifndef TRACER_NUMBERS_H
#define TRACER_NUMBERS_H

#include "base/port.h"
#include "expr/expr.h"
#include "expr/operand.h"
#include "ring/filters.h"

/* What a program's calls are answered from: the `ctx` of its environment. */
struct sonde_filter_payload {
	struct sonde_operand_record record;
	const struct sonde_operand_field *fields; /* of the program */
	uint32_t nr_fields;
};

/* The `call` of such an environment. */
SONDE_HIDDEN int sonde_filter_fetch(void *ctx, uint32_t ref,
				    struct sonde_expr_value *ret_value);

/* A value or key of the event that `env` is about; its ctx is a struct
 * sonde_filter_payload. `file` is the answer that has the value. */
SONDE_HIDDEN struct sonde_filter_number
sonde_filter_number_of(const struct sonde_filter_value *value,
		       const unsigned char *file, struct sonde_expr_env *env);

#endif /* TRACER_NUMBERS_H */
