/* SPDX-License-Identifier: MIT */
/*
 * agent.h - GDB's agent expressions as programs.
 *
 * An agent expression is a run of bytes for a stack machine of 64-bit values
 * (GDB manual, "Agent Expressions"; operands are big endian). Each operation
 * becomes one of ops.def, so what holds for programs holds for them: jumps go
 * forward, the stack is as deep whichever way was taken.
 *
 * Reading memory and dividing may fail: such an operation jumps to END_FAULT
 * or END_DIVIDED, the last ones of the program.
 */
#ifndef EXPR_AGENT_H
#define EXPR_AGENT_H

#include <stddef.h>
#include <stdint.h>

#include "expr/expr.h"

/* A byte of the expression, more are refused (GDB's packets are smaller). */
#define SONDE_AGENT_BYTES_MAX 8192

/* Registers by GDB's numbers for x86-64. */
enum {
	SONDE_AGENT_RAX,
	SONDE_AGENT_RBX,
	SONDE_AGENT_RCX,
	SONDE_AGENT_RDX,
	SONDE_AGENT_RSI,
	SONDE_AGENT_RDI,
	SONDE_AGENT_RBP,
	SONDE_AGENT_RSP,
	SONDE_AGENT_R8,
	SONDE_AGENT_R15 = 15,
	SONDE_AGENT_RIP = 16,
	SONDE_AGENT_EFLAGS,
	SONDE_AGENT_CS,
	SONDE_AGENT_SS,
	SONDE_AGENT_DS,
	SONDE_AGENT_ES,
	SONDE_AGENT_FS,
	SONDE_AGENT_GS,
	SONDE_AGENT_FS_BASE, /* as our own target description numbers them */
	SONDE_AGENT_GS_BASE,
	SONDE_AGENT_REGISTERS
};
_Static_assert(SONDE_AGENT_REGISTERS == SONDE_EXPR_REGISTERS,
	       "programs know as many");

/*
 * 0; -EINVAL with *error (what, and at which byte), -E2BIG, -ENOMEM. The
 * program is verified; its value, if it has one, is of type INT. It is for
 * sonde_program_free(). Whether it may trace memory (collections) or only
 * compute (conditions) is told by `collects`.
 */
int sonde_agent_decode(const uint8_t *bytes, size_t nr, bool collects,
		       struct sonde_expr_error *error,
		       struct sonde_program **ret_program);

#endif /* EXPR_AGENT_H */
