/* SPDX-License-Identifier: MIT */
/*
 * hit.c - a condition was true: count the hit, make its record.
 *
 * The order: passes; count; arena; items; append. Counting comes before the
 * arena is looked at: agent.h says why. Nothing is held between any two steps,
 * so a signal handler may come in anywhere with a hit of its own.
 *
 * Cost: the record is staged on the stack, as reading memory may fault and what
 * is in a restartable sequence must not. A small stage for small records: the
 * thread's stack may be short.
 */
#include "base/port.h"
#include "probe/agent/append.h"
#include "probe/agent/collect.h"
#include "probe/agent/step.h"
#include "probe/agent/thunk.h"
#include "ring/layout.h"

/* Who stopped all (agent.h). */
#define STOPPED_BY_PASSES 1u
#define NO_REGISTER       255u /* probes.h's, for force_register */

/*
 * One more hit of the probe: on this CPU, in a restartable sequence of one
 * instruction; or in the last row, with a lock.
 */
static inline void count(struct sonde_agent *agent, uint64_t index)
{
	unsigned char *rseq = sonde_agent_rseq();
	uint64_t *row = &agent->hits[0][index];
	uint64_t scratch;

	if (sonde_unlikely(!rseq)) {
		sonde_add_relaxed(&agent->hits[SONDE_AGENT_CPUS_MAX - 1][index],
				  1);
		return;
	}
	/* 64 KiB from row to row */
	_Static_assert(sizeof(agent->hits[0]) == 1u << 16, "shlq below");
	__asm__ volatile("990: leaq 993f(%%rip), %[scratch]\n"
			 "movq %[scratch], 8(%[rseq])\n"
			 "991: movl 4(%[rseq]), %k[scratch]\n"
			 "shlq $16, %[scratch]\n"
			 "incq (%[row], %[scratch])\n"
			 "992:\n"
			 ".pushsection __rseq_cs, \"aw\"\n"
			 ".balign 32\n"
			 "993: .long 0, 0\n"
			 ".quad 991b, 992b - 991b, 994f\n"
			 ".popsection\n"
			 ".pushsection __rseq_failure, \"ax\"\n"
			 ".byte 0x0f, 0xb9, 0x3d\n"
			 ".long 0x53053053\n"
			 "994: jmp 990b\n"
			 ".popsection\n"
			 : [scratch] "=&r"(scratch)
			 : [rseq] "r"(rseq), [row] "r"(row)
			 : "memory", "cc");
}

/* ---- what happens seldom ---- */

/* Whether the hit counts: the last one that does stops all. */
SONDE_COLD static bool passes(struct sonde_agent *agent,
			      struct sonde_agent_probe *probe)
{
	uint64_t nr = sonde_add_relaxed(&probe->passed, 1) + 1;

	if (nr < probe->passes)
		return true;
	if (nr > probe->passes)
		return false;
	agent->stop_probe = (uint32_t)(probe - agent->probes);
	agent->stop_reason = STOPPED_BY_PASSES;
	/* Pairs with sonde_load_acquire in notice_stop (probe/run.c): the reason
	 * is there. */
	sonde_store_release(&agent->running, 0);
	return true;
}

/* The pad could not do it. */
SONDE_COLD static bool condition_holds(struct sonde_agent *agent,
				       struct sonde_agent_probe *probe,
				       struct sonde_agent_registers *registers)
{
	struct sonde_agent_record record;
	struct sonde_expr_value value;

	record.agent = agent;
	record.registers = registers;
	record.size = record.limit = record.room = 0;
	record.as_blocks = false;
	sonde_agent_run(&record, probe->condition, &value);
	if (value.type != SONDE_EXPR_MISSING)
		return value.u;
	if (value.u == SONDE_EXPR_FAULT)
		sonde_add_relaxed(&probe->faults, 1);
	if (value.u == SONDE_EXPR_DIVIDED)
		sonde_add_relaxed(&probe->divisions, 1);
	return false;
}

SONDE_COLD static void miss(struct sonde_agent *agent)
{
	sonde_add_relaxed(&agent->missed, 1);
}

/* ---- the record ---- */

static void append(const struct sonde_agent_record *record, uint32_t state)
{
	uint64_t inc = SONDE_AGENT_INC(record->size);
	uint64_t first;

	if (sonde_unlikely(!record->agent->tid_offset || !sonde_agent_rseq())) {
		sonde_agent_append_block_slow(state, record->bytes, inc);
		return;
	}
	if (record->size > sizeof(first)) {
		sonde_agent_append_block(state, record->bytes, inc);
		return;
	}
	__builtin_memcpy(&first, record->bytes, sizeof(first));
	sonde_agent_append_word(state, first, inc);
}

static inline void make_record(struct sonde_agent_record *record,
			       struct sonde_agent_probe *probe, uint32_t state)
{
	sonde_agent_collect(record,
			    (const void *)(record->agent->plans + probe->items),
			    probe->nr_items);
	if (sonde_unlikely(record->is_cut))
		sonde_add_relaxed(&probe->cut, 1);
	if (sonde_unlikely(record->block_bytes))
		sonde_add_relaxed(&probe->block_bytes, record->block_bytes);
	append(record, state);
}

__attribute__((noinline)) static void
record_small(struct sonde_agent *agent, struct sonde_agent_probe *probe,
	     struct sonde_agent_registers *registers, uint32_t state)
{
	uint8_t stage[SONDE_AGENT_STAGE_SMALL + SONDE_AGENT_RECORD_SLACK];
	struct sonde_agent_record record;

	record.agent = agent;
	record.registers = registers;
	record.bytes = stage;
	record.room = SONDE_AGENT_STAGE_SMALL;
	make_record(&record, probe, state);
}

__attribute__((noinline)) static void
record_large(struct sonde_agent *agent, struct sonde_agent_probe *probe,
	     struct sonde_agent_registers *registers, uint32_t state)
{
	uint8_t stage[SONDE_AGENT_STAGE + SONDE_AGENT_RECORD_SLACK];
	struct sonde_agent_record record;

	record.agent = agent;
	record.registers = registers;
	record.bytes = stage;
	record.room = SONDE_AGENT_STAGE;
	make_record(&record, probe, state);
}

/* The state word of the probe's event; 0: nobody records it. */
static inline uint32_t state_of(const struct sonde_agent *agent,
				const struct sonde_agent_probe *probe)
{
	/* Pairs with the fence of clear_arena (probe/run.c): see agent.h. */
	uint64_t arena = sonde_load_acquire(&agent->arena);
	const uint32_t *states;

	if (sonde_unlikely(!arena))
		return 0;
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): it was one */
	states = (const void *)(uintptr_t)(arena + SONDE_STATES_OFF);
	return sonde_load_relaxed(&states[probe->event]);
}

/* Whether this is the process that the tool knows, no child of fork()'s. */
static inline bool is_parent(const struct sonde_agent *agent)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): it was one */
	return *(const volatile uint32_t *)(uintptr_t)agent->is_parent;
}

void sonde_agent_hit(uint64_t index, struct sonde_agent_registers *registers)
{
	struct sonde_agent *agent = sonde_agent_self;
	struct sonde_agent_probe *probe = &agent->probes[index];
	uint32_t state;

	/* Pairs with the store of running in start_agent (probe/run.c): arena and
	 * events are there. */
	if (!sonde_load_acquire(&agent->running) ||
	    sonde_load_relaxed(&probe->state) != SONDE_AGENT_PROBE_ON ||
	    !is_parent(agent))
		return;
	registers->r[SONDE_AGENT_RIP] = probe->address;
	if (probe->condition && !condition_holds(agent, probe, registers))
		return;
	if (probe->passes && !passes(agent, probe))
		return;
	count(agent, index);
	state = state_of(agent, probe);
	if (sonde_unlikely(!state))
		miss(agent);
	else if (probe->payload_max <= SONDE_AGENT_STAGE_SMALL)
		record_small(agent, probe, registers, state);
	else
		record_large(agent, probe, registers, state);
	if (sonde_unlikely(probe->steps))
		sonde_agent_step_begin(agent, (uint32_t)index, registers);
	if (probe->force_register != NO_REGISTER)
		registers->r[probe->force_register] = probe->force_value;
}
