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
#include "expr/program.h"
#include "probe/agent/append.h"
#include "probe/agent/collect.h"
#include "probe/agent/filter.h"
#include "probe/agent/pass.h"
#include "probe/agent/record.h"
#include "probe/agent/step.h"
#include "probe/agent/thread.h"
#include "probe/agent/thunk.h"
#include "ring/layout.h"

/* Arguments, of which six may be texts (probe/hooks/arguments.h). */
#define WANTED_STAGE 1024u
/* Who stopped all (agent.h). */
#define STOPPED_BY_PASSES 1u
#define NO_REGISTER       255u /* probes.h's, for force_register */

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

/* ---- the record ---- */

static inline void fill_record(struct sonde_agent_record *record,
			       const struct sonde_agent_probe *probe)
{
	sonde_agent_collect(record,
			    (const void *)(record->agent->plans + probe->items),
			    probe->nr_items);
}

static inline void end_record(struct sonde_agent_record *record,
			      struct sonde_agent_probe *probe, uint32_t state)
{
	const uint64_t *registers = record->registers->r;

	if (sonde_unlikely(record->is_cut))
		sonde_add_relaxed(&probe->cut, 1);
	if (sonde_unlikely(record->block_bytes))
		sonde_add_relaxed(&probe->block_bytes, record->block_bytes);
	sonde_agent_append(record->agent, state, record->bytes, record->size,
			   &(struct sonde_stacks_from){
				   .pc = registers[SONDE_AGENT_RIP],
				   .sp = registers[SONDE_AGENT_RSP],
				   .fp = registers[SONDE_AGENT_RBP],
				   .is_exact = true,
			   });
}

static inline void make_record(struct sonde_agent_record *record,
			       struct sonde_agent_probe *probe, uint32_t state)
{
	fill_record(record, probe);
	end_record(record, probe, state);
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

/* ---- places of whose hits some are wanted ---- */

/* What the program gets is what is recorded. */
static bool filter_holds(const struct sonde_agent_record *record,
			 const struct sonde_agent_probe *probe)
{
	const unsigned char *plans = record->agent->plans;
	const struct sonde_agent_filter *filter =
		(const void *)(plans + probe->filter);
	const struct sonde_agent_test test = {
		.program = (const void *)(plans + filter->program),
		.fields = (const void *)(plans + filter->fields),
		.varying = (const void *)(plans + filter->varying),
		.nr_fields = filter->nr_fields,
		.needed = filter->needed,
	};

	return sonde_agent_test(&test, record->bytes, record->size,
				record->registers->r);
}

/* Whether the call that begins or ends there is; notes which are. */
static bool call_is_wanted(const struct sonde_agent_record *record,
			   const struct sonde_agent_probe *probe)
{
	struct sonde_shadow *shadow = sonde_agent_shadow(record->agent);
	const struct sonde_shadow_hit hit = {
		.function = probe->function,
		.stack = record->registers->r[SONDE_AGENT_RSP] + probe->frame,
	};
	bool was_there = shadow && sonde_shadow_take(shadow, &hit);

	if (probe->role != SONDE_AGENT_ROLE_BEGIN)
		return was_there;
	if (!filter_holds(record, probe))
		return false;
	if (shadow && sonde_shadow_give(shadow, &hit))
		return true;
	sonde_add_relaxed(&record->agent->calls_lost, 1);
	return false;
}

/* Whether this hit is to be recorded. */
static bool hit_is_wanted(const struct sonde_agent_record *record,
			  const struct sonde_agent_probe *probe)
{
	return probe->role == SONDE_AGENT_ROLE_TRACEPOINT ?
		       filter_holds(record, probe) :
		       call_is_wanted(record, probe);
}

__attribute__((noinline)) static void
record_wanted(struct sonde_agent *agent, uint64_t index,
	      struct sonde_agent_probe *probe,
	      struct sonde_agent_registers *registers)
{
	uint8_t stage[WANTED_STAGE + SONDE_AGENT_RECORD_SLACK];
	struct sonde_agent_record record;
	uint32_t state;

	record.agent = agent;
	record.registers = registers;
	record.bytes = stage;
	record.room = WANTED_STAGE;
	fill_record(&record, probe);
	if (probe->is_filtered && !hit_is_wanted(&record, probe))
		return;
	if (!sonde_agent_is_wanted(agent, probe->event, record.bytes,
				   record.size)) {
		sonde_agent_pass_by(agent, index, probe->event, record.bytes,
				    record.size);
		return;
	}
	sonde_agent_count(agent, index);
	state = sonde_agent_state_of(agent, probe->event);
	if (sonde_unlikely(!state))
		sonde_agent_miss(agent);
	else
		end_record(&record, probe, state);
}

void sonde_agent_hit(uint64_t index, struct sonde_agent_registers *registers)
{
	struct sonde_agent *agent = sonde_agent_self;
	struct sonde_agent_probe *probe = &agent->probes[index];
	uint32_t state;

	if (!sonde_agent_is_on(agent, probe))
		return;
	registers->r[SONDE_AGENT_RIP] = probe->address;
	if (sonde_unlikely(probe->is_filtered || agent->has_rules)) {
		record_wanted(agent, index, probe, registers);
		return;
	}
	if (probe->condition && !condition_holds(agent, probe, registers))
		return;
	if (probe->passes && !passes(agent, probe))
		return;
	sonde_agent_count(agent, index);
	state = sonde_agent_state_of(agent, probe->event);
	if (sonde_unlikely(!state))
		sonde_agent_miss(agent);
	else if (probe->payload_max <= SONDE_AGENT_STAGE_SMALL)
		record_small(agent, probe, registers, state);
	else
		record_large(agent, probe, registers, state);
	if (sonde_unlikely(probe->steps))
		sonde_agent_step_begin(agent, (uint32_t)index, registers);
	if (probe->force_register != NO_REGISTER)
		registers->r[probe->force_register] = probe->force_value;
}
