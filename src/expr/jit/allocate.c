/* SPDX-License-Identifier: MIT */
/*
 * allocate.c - a register for each value, or a place on the stack (insn.h).
 *
 * Each instruction has two moments: 2i, when it reads, and 2i + 1, when it
 * writes. What it reads after it has begun to write is read at 2i + 1. A
 * register is free again after the last moment at which its value is read.
 *
 * Where registers don't suffice, the value that is needed longest goes to the
 * stack, for all of its time; so do those that live across a call. Slots of the
 * stack are given out when it is known which values need one.
 */
#include <errno.h>
#include <string.h>

#include "expr/jit/insn.h"

#define NO_NODE SONDE_GRAPH_NO_NODE

struct allocator {
	struct sonde_jit *jit;
	const struct sonde_jit_places *places;
	uint32_t *last;  /* by value: its last moment */
	uint16_t *holds; /* by register, then by slot: a value, or NO_NODE */
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

static void release(struct allocator *allocator, unsigned int nr,
		    uint32_t moment)
{
	for (unsigned int i = 0; i < nr; i++) {
		uint16_t value = allocator->holds[i];
		if (value != NO_NODE && allocator->last[value] < moment)
			allocator->holds[i] = NO_NODE;
	}
}

static unsigned int first_free(const struct allocator *allocator,
			       unsigned int nr)
{
	unsigned int i = 0;

	while (i < nr && allocator->holds[i] != NO_NODE)
		i++;
	return i;
}

/* ---- registers ---- */

/* No longer, and never was, in that register. */
static void move_out(struct allocator *allocator, unsigned int reg)
{
	allocator->jit->regs[allocator->holds[reg]] = SONDE_JIT_IN_SLOT;
	allocator->holds[reg] = NO_NODE;
}

/* Makes a register free, unless `value` itself is better not in one; nr_regs if
 * there is none. Temporaries, which aren't nodes, stay where they are. */
static unsigned int free_register(struct allocator *allocator, uint16_t value)
{
	const struct sonde_jit *jit = allocator->jit;
	unsigned int nr = allocator->places->nr_regs;
	bool is_node = value < jit->graph.nr_nodes;
	uint32_t latest = is_node ? allocator->last[value] : 0;
	unsigned int found = nr;

	if (!allocator->places->is_cheap)
		return nr;
	for (unsigned int i = 0; i < nr; i++) {
		uint16_t held = allocator->holds[i];
		if (held >= jit->graph.nr_nodes ||
		    allocator->last[held] <= latest)
			continue;
		latest = allocator->last[held];
		found = i;
	}
	if (found < nr)
		move_out(allocator, found);
	return found;
}

static int take(struct allocator *allocator, uint16_t value, uint8_t preferred)
{
	struct sonde_jit *jit = allocator->jit;
	unsigned int nr = allocator->places->nr_regs;
	unsigned int reg;

	if (value == NO_NODE || jit->regs[value] != SONDE_JIT_NO_REG)
		return 0;
	reg = preferred < nr && allocator->holds[preferred] == NO_NODE ?
		      preferred :
		      first_free(allocator, nr);
	if (reg == nr)
		reg = free_register(allocator, value);
	if (reg == nr &&
	    (!allocator->places->is_cheap || value >= jit->graph.nr_nodes))
		return -EOPNOTSUPP;
	if (reg == nr) {
		jit->regs[value] = SONDE_JIT_IN_SLOT;
		return 0;
	}
	allocator->holds[reg] = value;
	jit->regs[value] = (uint8_t)reg;
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

static int take_registers(struct allocator *allocator)
{
	struct sonde_jit *jit = allocator->jit;
	unsigned int nr = allocator->places->nr_regs;
	int rc = 0;

	for (size_t i = 0; i < jit->nr_insns && !rc; i++) {
		const struct sonde_jit_insn *insn = &jit->insns[i];
		uint32_t reads = 2 * (uint32_t)i + 2;

		release(allocator, nr, reads);
		rc = take(allocator, insn->temp, SONDE_JIT_NO_REG);
		release(allocator, nr, reads + 1);
		/* A call leaves no register as it is: what lives on lives on
		 * the stack. A temporary doesn't, though the same node may need
		 * it again. */
		for (unsigned int reg = 0;
		     insn->code == SONDE_JIT_READ && reg < nr; reg++)
			if (allocator->holds[reg] < jit->graph.nr_nodes)
				move_out(allocator, reg);
		if (!rc)
			rc = take(allocator, insn->dst, preference(jit, insn));
	}
	return rc;
}

/* ---- slots ---- */

static int take_slots(struct allocator *allocator)
{
	struct sonde_jit *jit = allocator->jit;
	unsigned int nr = allocator->places->nr_slots;

	memset(allocator->holds, 0xff, nr * sizeof(*allocator->holds));
	for (size_t i = 0; i < jit->nr_insns; i++) {
		uint16_t value = jit->insns[i].dst;
		unsigned int slot;

		if (value == NO_NODE || jit->regs[value] != SONDE_JIT_IN_SLOT ||
		    jit->slots[value] != SONDE_JIT_NO_SLOT ||
		    allocator->places->is_cheap(jit, value))
			continue;
		release(allocator, nr, 2 * (uint32_t)i + 2);
		slot = first_free(allocator, nr);
		if (slot == nr)
			return -EOPNOTSUPP;
		allocator->holds[slot] = value;
		jit->slots[value] = (uint16_t)slot;
		if (jit->nr_slots < slot + 1u)
			jit->nr_slots = slot + 1u;
	}
	return 0;
}

int sonde_jit_allocate(struct sonde_jit *jit,
		       const struct sonde_jit_places *places)
{
	struct allocator allocator = { .jit = jit, .places = places };
	struct sonde_pool *pool = &jit->graph.pool;
	size_t nr = jit->nr_values + 1;
	size_t held = places->nr_regs + places->nr_slots;
	int rc;

	allocator.last = sonde_pool_get(pool, nr, sizeof(*allocator.last));
	allocator.holds = sonde_pool_get(pool, held, sizeof(*allocator.holds));
	jit->regs = sonde_pool_get(pool, nr, 1);
	jit->slots = sonde_pool_get(pool, nr, sizeof(*jit->slots));
	if (!allocator.last || !allocator.holds || !jit->regs || !jit->slots)
		return -ENOMEM;
	memset(jit->regs, SONDE_JIT_NO_REG, nr);
	memset(jit->slots, 0xff, nr * sizeof(*jit->slots));
	memset(allocator.holds, 0xff, held * sizeof(*allocator.holds));
	allocate_find_last(&allocator);
	rc = take_registers(&allocator);
	return rc ? rc : take_slots(&allocator);
}
