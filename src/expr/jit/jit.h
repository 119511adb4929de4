/* SPDX-License-Identifier: MIT */
/*
 * jit.h - a verified program as native code.
 *
 *   program -> graph of values, optimised (graph.h) -> x86-64 (x86_64.c)
 *
 * sonde_jit_new() does all that does not depend on which registers there are
 * and tells what it needs; sonde_jit_emit() then writes the code. Code is one run
 * of instructions without calls, without a stack of its own and without
 * spills; jumps inside it go forward.
 *
 * Two places where it may run:
 *
 *   PROBE	in the middle of a program, with that program's registers live.
 *		REGISTER reads the register itself. It may write only those
 *		registers in `scratch` and the flags. It ends by *falling
 *		through* its end if the condition is false, and by jumping to
 *		`accept` if it is true; a read of memory that faults, and a
 *		division by zero, are the caller's to deal with (faults, divides below).
 *	FUNCTION	a C function: bool f(const uint8_t *base0, const
 *		uint8_t *base1), System V; fields are read from there. It
 *		ends with ret.
 *
 * Not all programs can be had: -EOPNOTSUPP (doubles, texts but those at
 * fixed places that are compared with constants, calls, variables, collecting; more live values than there
 * are registers; a CPU without a generator); the evaluator runs those.
 */
#ifndef EXPR_JIT_H
#define EXPR_JIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "expr/expr.h"

enum sonde_jit_kind {
	SONDE_JIT_PROBE,
	SONDE_JIT_FUNCTION
};

struct sonde_jit_config {
	enum sonde_jit_kind kind;
	/* About where it will run: so that it is known what can be reached from
	 * there (within SONDE_JIT_NEAR bytes). */
	uint64_t address;
	uint64_t rip; /* PROBE: the program's */
	/* FUNCTION: how much of base 0 may be read, 0: whatever the program
	 * says; and which texts are at fixed places there, and their size: NULL:
	 * none is (as in expr/ebpf.h). */
	uint32_t bytes;
	bool (*text)(void *ctx, uint32_t ref, uint32_t *ret_offset,
		     uint32_t *ret_size);
	void *ctx;
};
#define SONDE_JIT_NEAR ((uint64_t)1 << 20)

/* Masks of registers have bit n for the CPU's register n (x86-64: rax 0,
 * rcx 1, rdx 2, rbx 3, rsp 4, rbp 5, rsi 6, rdi 7, r8..r15). */
struct sonde_jit_needs {
	uint16_t reads;     /* registers whose program value it reads */
	uint8_t nr_scratch; /* how many it has to write; 0 is usual */
	bool needs_divide;  /* scratch must contain rax and rdx, and neither may
			      be in `reads` (then they are to be passed by
			      `moved`, below) */
	bool can_fault;
	uint32_t bytes_max; /* of code, at most */
	uint32_t faults_max;
	uint32_t instructions; /* as counted, without the pad's own */
};

struct sonde_jit_place {
	uint64_t address;  /* where the first byte will run */
	int32_t rsp_below; /* PROBE: what rsp is less than the program's was */
	uint16_t scratch;
	/* Registers of `reads` that no longer hold the program's value (they
	 * are in scratch, or were saved): bit n, and where the value is: at
	 * rsp + moved_at[n]. */
	uint16_t moved;
	int32_t moved_at[16];
};

/* What came out. Displacements are for the caller to complete: 4 bytes,
 * relative to their own end. */

struct sonde_jit_code {
	uint8_t *bytes; /* the caller's, needs.bytes_max of them */
	uint32_t nr_bytes;
	uint32_t *accepts; /* offsets of 32-bit displacements that have to
			      lead to where the condition is true */
	uint32_t nr_accepts, accepts_max;
	uint32_t *divides; /* the same, for division by zero */
	uint32_t nr_divides, divides_max;
	uint32_t *faults; /* offsets of instructions that may fault */
	uint32_t nr_faults, faults_max;
};

struct sonde_jit;

/* 0; -EOPNOTSUPP; -ENOMEM. */
int sonde_jit_new(const struct sonde_program *program,
		  const struct sonde_jit_config *config,
		  struct sonde_jit **ret_jit,
		  struct sonde_jit_needs *ret_needs);

/* 0; -EOPNOTSUPP if scratch doesn't suffice, or something else than rax, or rdx
 * where it divides, was moved; -ENOSPC if room doesn't. */
int sonde_jit_emit(const struct sonde_jit *jit,
		   const struct sonde_jit_place *place,
		   struct sonde_jit_code *code);
void sonde_jit_free(struct sonde_jit *jit);

/* Both for a FUNCTION that needs nothing of its caller, at any address if
 * config->address is 0: 0, and *ret_bytes is for free(); -EOPNOTSUPP; -ENOMEM. */
int sonde_jit_function(const struct sonde_program *program,
		       const struct sonde_jit_config *config,
		       uint8_t **ret_bytes, uint32_t *ret_nr);

#endif /* EXPR_JIT_H */
