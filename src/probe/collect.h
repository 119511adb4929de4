/* SPDX-License-Identifier: MIT */
/*
 * collect.h - what a collecting program does, and programs made out of it.
 *
 * GDB compiles each collected expression into a program that records what is
 * read on the way to its value, and then that. The plan (plan.h) wants fields
 * of fixed size, and values: it takes such a program apart.
 */
#ifndef PROBE_COLLECT_H
#define PROBE_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "expr/program.h"

#define SONDE_PROBE_READS_MAX 16u

struct sonde_probe_shape {
	bool straight; /* no branches */
	bool sets;     /* trace variables */
	bool is_value; /* straight, and ends by dropping what it computed */
	/* straight, and all it records is `reads` of known size; then a string
	 * if that isn't 0 */
	bool fixed;
	uint32_t nr_reads;
	uint32_t reads[SONDE_PROBE_READS_MAX];
	uint32_t string_max;
	uint32_t nr_variables; /* that are recorded */
	uint32_t variable;     /* the last one of them */
};

void sonde_probe_shape(const struct sonde_program *program,
		       struct sonde_probe_shape *ret_shape);

enum sonde_probe_part {
	SONDE_PROBE_PART_READS,  /* records, but no string */
	SONDE_PROBE_PART_VALUE,  /* its value (is_value); records nothing */
	SONDE_PROBE_PART_STRING, /* its value is where the string is */
	SONDE_PROBE_PART_READ,   /* where one of what it records is */
	SONDE_PROBE_PART_ASSIGN, /* what it assigns first */
};

/* Of a straight program. `k` is which READ. 0, -EINVAL (it has no such part),
 * -ENOMEM. */
int sonde_probe_take_part(const struct sonde_program *program,
			  enum sonde_probe_part part, uint32_t k,
			  struct sonde_program **ret_program);

/* One program that does what all of them do; what fails in one doesn't stop
 * the others. 0, -E2BIG, -ENOMEM. */
int sonde_probe_join(struct sonde_program *const *programs, size_t nr,
		     struct sonde_program **ret_program);

/* Records `length` bytes at a register (-1: none) plus an offset. */
int sonde_probe_range(int32_t reg, int64_t offset, uint64_t length,
		      struct sonde_program **ret_program);

/* A number, whatever the program does. */
int sonde_probe_constant(uint64_t number, struct sonde_program **ret_program);

/* That of a trace state variable. */
int sonde_probe_variable_value(uint32_t number,
			       struct sonde_program **ret_program);

/* The value of a register's lower bits. */
int sonde_probe_register_value(uint8_t reg, uint32_t bits, bool is_signed,
			       struct sonde_program **ret_program);

/* Whether the first that the (fixed) program reads is at a register (-1: none)
 * plus an offset, whatever the registers hold. */
bool sonde_probe_reads_at(const struct sonde_program *program, int32_t *ret_reg,
			  int64_t *ret_offset);

#endif /* PROBE_COLLECT_H */
