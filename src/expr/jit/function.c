/* SPDX-License-Identifier: MIT */
/*
 * function.c - a program as the bytes of one whole function (jit.h): one that
 * needs nothing of its caller. What could fault or divide by zero has places
 * that the caller would have to complete; such a program is refused.
 */
#include <errno.h>
#include <stdlib.h>

#include "expr/jit/jit.h"

int sonde_jit_function(const struct sonde_program *program,
		       const struct sonde_jit_config *config,
		       uint8_t **ret_bytes, uint32_t *ret_nr)
{
	const struct sonde_jit_place place = { .address = config->address };
	struct sonde_jit_code code = { .nr_bytes = 0 };
	struct sonde_jit_needs needs = { 0 };
	struct sonde_jit *jit;
	int rc = sonde_jit_new(program, config, &jit, &needs);

	if (rc)
		return rc;
	code.bytes = malloc(needs.bytes_max);
	rc = code.bytes ? sonde_jit_emit(jit, &place, &code) : -ENOMEM;
	sonde_jit_free(jit);
	if (!rc && (code.nr_accepts || code.nr_divides || code.nr_faults))
		rc = -EOPNOTSUPP;
	if (rc) {
		free(code.bytes);
		return rc;
	}
	*ret_bytes = code.bytes;
	*ret_nr = code.nr_bytes;
	return 0;
}
