/* SPDX-License-Identifier: MIT */
/*
 * agent_model.h - what an agent expression does, as plainly as GDB's manual says
 * it: an interpreter of the bytes themselves, with a stack and a switch, which
 * shares nothing with the decoder or the evaluator. And random expressions.
 *
 * Where the manual is silent, what Sonde says: shifts of 64 and more leave
 * nothing (or the sign), extending 64 bits and more changes nothing and none is
 * wrong, a stack has 64 values.
 */
#ifndef UNIT_AGENT_MODEL_H
#define UNIT_AGENT_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "expr/expr.h"
#include "expr_model.h"

#define AGENT_STACK     64
#define AGENT_RECORDS   256
#define AGENT_VARIABLES 8
#define AGENT_REGS      26

enum agent_result {
	AGENT_VALUE,
	AGENT_NO_VALUE,
	AGENT_FAULT,
	AGENT_DIVIDED,
	AGENT_BROKEN, /* not an expression */
};

struct agent_record {
	char kind; /* 'M'emory, 'S'tring, 'V'ariable */
	uint64_t address, length;
};

/* What an expression sees, and leaves. */
struct agent_world {
	uint64_t registers[AGENT_REGS];
	/* one byte; false: there is none. NULL: each has one, but for some */
	bool (*byte)(void *ctx, uint64_t address, uint8_t *ret_byte);
	void *ctx;
	uint64_t variables[AGENT_VARIABLES]; /* others are 0 and stay so */
	struct agent_record records[AGENT_RECORDS];
	size_t nr_records; /* those beyond the room count, too */
};

/* Whether it is an expression at all, whichever way it goes. */
bool agent_model_is_sound(const uint8_t *bytes, size_t nr, bool collects);

/* One that is sound. */
enum agent_result agent_model_run(const uint8_t *bytes, size_t nr,
				  struct agent_world *world,
				  uint64_t *ret_value);

/* For programs: its ctx is a struct agent_world. */
extern const struct sonde_expr_machine agent_machine;

/* The program's way: what the evaluator makes of it. */
enum agent_result agent_evaluate(const struct sonde_program *program,
				 struct agent_world *world,
				 uint64_t *ret_value);

/* A random expression that is sound, or nearly if `broken`. Returns its
 * length. */
size_t agent_write(uint8_t *to, size_t size, bool collects, bool broken,
		   const struct model_random *random);
void agent_world_fill(struct agent_world *world,
		      const struct model_random *random);

#endif /* UNIT_AGENT_MODEL_H */
