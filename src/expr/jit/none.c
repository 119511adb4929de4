/* SPDX-License-Identifier: MIT */
/* none.c - jit.h where there is no generator for the CPU. */
#include <errno.h>

#include "expr/jit/jit.h"

int sonde_jit_new(const struct sonde_program *program,
		  const struct sonde_jit_config *config,
		  struct sonde_jit **ret_jit, struct sonde_jit_needs *ret_needs)
{
	(void)program;
	(void)config;
	(void)ret_jit;
	(void)ret_needs;
	return -EOPNOTSUPP;
}

int sonde_jit_emit(const struct sonde_jit *jit,
		   const struct sonde_jit_place *place,
		   struct sonde_jit_code *code)
{
	(void)jit;
	(void)place;
	(void)code;
	return -EOPNOTSUPP;
}

void sonde_jit_free(struct sonde_jit *jit)
{
	(void)jit;
}
