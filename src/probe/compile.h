/* SPDX-License-Identifier: MIT */
/*
 * compile.h - an expression of C, with what is visible at a place of a process,
 * as an agent expression: what GDB makes of `collect` and `if`.
 */
#ifndef PROBE_COMPILE_H
#define PROBE_COMPILE_H

#include "probe/bytecode.h"
#include "probe/c_type.h"
#include "probe/points.h"

struct sonde_probe_scope {
	struct sonde_probe_dwarf
		*dwarf; /* at the place; its own if has_dwarf */
	bool has_dwarf; /* without: registers and numbers only */
	const struct sonde_probe_points *points; /* trace variables */
};

/* How a thing is collected. */
enum sonde_probe_collected {
	SONDE_PROBE_COLLECTED_CODE,     /* by the code */
	SONDE_PROBE_COLLECTED_RANGE,    /* memory that is where it always is */
	SONDE_PROBE_COLLECTED_REGISTER, /* code->registers */
};

struct sonde_probe_wanted {
	const char *text;    /* the expression */
	uint64_t times;      /* of `*p@4`; 1 */
	bool is_string;      /* collect/s */
	uint64_t string_max; /* 0: the default */
};

struct sonde_probe_thing {
	enum sonde_probe_collected how;
	int64_t address; /* RANGE */
	uint64_t length;
};

/* 0; -EINVAL with *error. The code ends. */
int sonde_probe_compile_condition(const struct sonde_probe_scope *scope,
				  const char *text,
				  struct sonde_probe_bytecode *code,
				  struct sonde_expr_error *error);
int sonde_probe_compile_wanted(const struct sonde_probe_scope *scope,
			       const struct sonde_probe_wanted *wanted,
			       struct sonde_probe_bytecode *code,
			       struct sonde_probe_thing *ret_thing,
			       struct sonde_expr_error *error);

/* Its value: a number or a pointer; or, of an array or a structure in memory, of
 * that type, where it is. */
struct sonde_probe_valued {
	bool is_address;
	bool is_register; /* nothing is computed */
	struct sonde_probe_ctype type;
};
int sonde_probe_compile_value(const struct sonde_probe_scope *scope,
			      const char *text,
			      struct sonde_probe_bytecode *code,
			      struct sonde_probe_valued *ret_value,
			      struct sonde_expr_error *error);

#endif /* PROBE_COMPILE_H */
