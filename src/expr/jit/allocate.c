/* SPDX-License-Identifier: MIT */
/*
 * allocate.c - a register for each value (x86_64.h).
 *
 * Each instruction has two moments: 2i, when it reads, and 2i + 1, when it
 * writes. What it reads after it has begun to write is read at 2i + 1. A
 * register is free again after the last moment at which its value is read.
 */
#include <errno.h>
#include <string.h>

#include "expr/jit/x86_64.h"

#define NO_NODE SONDE_GRAPH_NO_NODE
#define NEVER   0

struct allocator {
	struct sonde_jit *jit;
	uint32_t *last;                     /* by value: its last moment */
	uint16_t holds[SONDE_JIT_REGS_MAX]; /* a value, or NO_NODE */
};

static void use(struct allocator *allocator, uint16_t value, uint32_t moment)
{
	if (value != NO_NODE && allocator->last[value] < moment)
		allocator->last[value] = moment;
}

/* Whether operands other than a are read after dst is written. */
static bool reads_late(const struct sonde_jit_insn *insn)
{
	return insn->code == SONDE_JIT_ALU ||
	       insn->code == SONDE_JIT_MULTIPLY ||
	       insn->code == SONDE_JIT_SHIFT;
}

static void allocate_find_last(struct allocator *allocator)
{
	const struct sonde_jit *jit = allocator->jit;

	for (size_t i = 0; i < jit->nr_insns; i++) {
		const struct sonde_jit_insn *insn = &jit->insns[i];
		uint32_t reads = 2 * (uint32_t)i + 2;
		uint32_t late = reads + reads_late(insn);

		use(allocator, insn->a,
		    insn->code == SONDE_JIT_SHIFT ? late : reads);
		use(allocator, insn->b, late);
		use(allocator, insn->base, late);
		use(allocator, insn->index, late);
		use(allocator, insn->temp, reads + 1);
		use(allocator, insn->dst, reads + 1);
	}
}

static void release(struct allocator *allocator, uint32_t moment)
{
	for (unsigned int i = 0; i < SONDE_JIT_REGS_MAX; i++) {
		uint16_t value = allocator->holds[i];
		if (value != NO_NODE && allocator->last[value] < moment)
			allocator->holds[i] = NO_NODE;
	}
}

static int take(struct allocator *allocator, uint16_t value, uint8_t preferred)
{
	struct sonde_jit *jit = allocator->jit;
	uint8_t reg = 0;

	if (value == NO_NODE || jit->regs[value] != SONDE_JIT_NO_REG)
		return 0;
	if (preferred != SONDE_JIT_NO_REG &&
	    allocator->holds[preferred] == NO_NODE)
		reg = preferred;
	while (reg < SONDE_JIT_REGS_MAX && allocator->holds[reg] != NO_NODE)
		reg++;
	if (reg == SONDE_JIT_REGS_MAX)
		return -EOPNOTSUPP;
	allocator->holds[reg] = value;
	jit->regs[value] = reg;
	if (jit->nr_regs < reg + 1u)
		jit->nr_regs = reg + 1u;
	return 0;
}

static uint8_t preference(const struct sonde_jit *jit,
			  const struct sonde_jit_insn *insn)
{
	if (insn->a != NO_NODE && jit->regs[insn->a] != SONDE_JIT_NO_REG)
		return jit->regs[insn->a];
	if (insn->base != NO_NODE)
		return jit->regs[insn->base];
	return SONDE_JIT_NO_REG;
}

int sonde_jit_allocate(struct sonde_jit *jit)
{
	struct allocator allocator = { .jit = jit };
	int rc = 0;

	allocator.last = sonde_pool_get(&jit->graph.pool, jit->nr_values + 1,
					sizeof(*allocator.last));
	jit->regs = sonde_pool_get(&jit->graph.pool, jit->nr_values + 1, 1);
	if (!allocator.last || !jit->regs)
		return -ENOMEM;
	memset(jit->regs, SONDE_JIT_NO_REG, jit->nr_values + 1);
	memset(allocator.holds, 0xff, sizeof(allocator.holds));
	allocate_find_last(&allocator);
	for (size_t i = 0; i < jit->nr_insns && !rc; i++) {
		const struct sonde_jit_insn *insn = &jit->insns[i];
		uint32_t reads = 2 * (uint32_t)i + 2;

		release(&allocator, reads);
		rc = take(&allocator, insn->temp, SONDE_JIT_NO_REG);
		release(&allocator, reads + 1);
		if (!rc)
			rc = take(&allocator, insn->dst, preference(jit, insn));
	}
	return rc;
}
