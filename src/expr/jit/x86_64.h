/* SPDX-License-Identifier: MIT */
/*
 * x86_64.h - what lies between the graph and x86-64 code (private).
 *
 *   graph -> schedule.c and select.c: instructions whose operands are nodes
 *         -> allocate.c: a register for each node that has an instruction
 *         -> x86_64.c: bytes
 */
#ifndef EXPR_JIT_X86_64_H
#define EXPR_JIT_X86_64_H

#include "expr/jit/asm.h"
#include "expr/jit/insn.h"

/* The register in which a node is all the time, or SONDE_ASM_NONE. */
uint8_t sonde_jit_fixed(const struct sonde_jit *jit, uint16_t node);
/* The CPU's number of agent.h's register. */
uint8_t sonde_jit_cpu_register(uint64_t number);

/* 0, -EOPNOTSUPP, -ENOMEM. */
int sonde_jit_select(struct sonde_jit *jit);

#endif /* EXPR_JIT_X86_64_H */
