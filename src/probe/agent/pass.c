/* SPDX-License-Identifier: MIT */
/*
 * pass.c - see pass.h: it is counted and missed, and goes to the other slots.
 */
#include "probe/agent/pass.h"

#include "probe/agent/append.h"
#include "probe/agent/record.h"
#include "ring/control.h"

/* Counted, as whoever unmaps the arena waits for that, and missed in the end: it has
 * no record in the recording's rings. */
SONDE_COLD void sonde_agent_pass_by(struct sonde_agent *agent, uint64_t index,
				    uint32_t event, const uint8_t *bytes,
				    uint32_t size)
{
	uint32_t state;

	if (!agent->has_others)
		return;
	sonde_agent_count(agent, index);
	state = sonde_agent_state_of(agent, event);
	if (state & SONDE_STATE_GENERIC)
		sonde_agent_append_beside(state, bytes, SONDE_AGENT_INC(size));
	sonde_agent_miss(agent);
}
