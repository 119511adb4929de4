/* SPDX-License-Identifier: MIT */
/*
 * record.h - what every hit does around its record: is it one, count it, is its
 * event recorded, append it.
 *
 * The order matters: counting comes before the arena is looked at (agent.h says
 * why).
 */
#ifndef PROBE_AGENT_RECORD_H
#define PROBE_AGENT_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/port.h"
#include "probe/agent/append.h"
#include "probe/agent/hits.h"
#include "probe/agent/thunk.h"
#include "ring/control.h"
#include "ring/layout.h"

/* Whether this is the process that the tool knows, no child of fork()'s. */
static inline bool sonde_agent_is_parent(const struct sonde_agent *agent)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): it was one */
	return *(const volatile uint32_t *)(uintptr_t)agent->is_parent;
}

/* A hit of such a child. */
static inline void sonde_agent_count_forked(struct sonde_agent *agent)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): it was one */
	uint32_t *is_counted = (uint32_t *)(uintptr_t)agent->is_parent + 1;

	if (sonde_load_relaxed(is_counted) == 0 &&
	    sonde_add_relaxed(is_counted, 1) == 0)
		sonde_add_relaxed(&agent->nr_forked, 1);
	sonde_agent_count(agent, SONDE_AGENT_FORKED);
}

static inline bool sonde_agent_is_on(struct sonde_agent *agent,
				     const struct sonde_agent_probe *probe)
{
	/* Pairs with the store of running in sonde_probe_switch_on
	 * (probe/switch.c): arena and events are there. */
	if (!sonde_load_acquire(&agent->running) ||
	    sonde_load_relaxed(&probe->state) != SONDE_AGENT_PROBE_ON)
		return false;
	if (sonde_unlikely(!sonde_agent_is_parent(agent))) {
		sonde_agent_count_forked(agent);
		return false;
	}
	return true;
}

/* The state word of an event; 0: nobody records it. */
static inline uint32_t sonde_agent_state_of(const struct sonde_agent *agent,
					    uint32_t event)
{
	/* Pairs with sonde_probe_switch_off (probe/switch.c): see agent.h. */
	uint64_t arena = sonde_load_acquire(&agent->arena);
	const uint32_t *states;

	if (sonde_unlikely(!arena))
		return 0;
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): it was one */
	states = (const void *)(uintptr_t)(arena + SONDE_STATES_OFF);
	return sonde_load_relaxed(&states[event]);
}

static inline void sonde_agent_miss(struct sonde_agent *agent)
{
	sonde_add_relaxed(&agent->missed, 1);
}

/* Whether a record for this state word can be made by the functions in
 * append_x86_64.S. */
static inline bool sonde_agent_is_fast(const struct sonde_agent *agent,
				       uint32_t state)
{
	return !(state & SONDE_STATE_GENERIC) && agent->tid_offset &&
	       sonde_agent_rseq();
}

/* `bytes` has SONDE_AGENT_APPEND_SLACK more that may be read; `from`: where the
 * hit was, for its call stack. */
static inline void sonde_agent_append(const struct sonde_agent *agent,
				      uint32_t state, const uint8_t *bytes,
				      uint32_t size,
				      const struct sonde_stacks_from *from)
{
	uint64_t inc = SONDE_AGENT_INC(size);
	uint64_t first;

	if (sonde_unlikely(!sonde_agent_is_fast(agent, state))) {
		sonde_agent_append_from(state, bytes, inc, from);
		return;
	}
	if (size > sizeof(first)) {
		sonde_agent_append_block(state, bytes, inc);
		return;
	}
	__builtin_memcpy(&first, bytes, sizeof(first));
	sonde_agent_append_word(state, first, inc);
}

#endif /* PROBE_AGENT_RECORD_H */
