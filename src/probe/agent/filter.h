/* SPDX-License-Identifier: MIT */
/*
 * filter.h - conditions over a payload that is about to be a record.
 *
 * A function may have one of its own (--functions='f if n > 5'), and an event one
 * of its recording's (-e 'io:read if size > 4096'): that is a rule of what the
 * recorder has answered (ring/filters.h), copied into plans[]. All are evaluated, not
 * compiled: that memory can't be executed.
 */
#ifndef PROBE_AGENT_FILTER_H
#define PROBE_AGENT_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/port.h"
#include "expr/operand.h"
#include "expr/program.h"
#include "probe/inject/agent.h"
#include "ring/tally.h"

struct sonde_agent_test {
	const struct sonde_program *program;
	const struct sonde_operand_field *fields;
	const struct sonde_operand_varying *varying;
	uint32_t nr_fields;
	uint32_t needed; /* bytes that the program reads as memory */
};

/* `registers` may be NULL: only a function's own condition can name any. */
SONDE_HIDDEN bool sonde_agent_test(const struct sonde_agent_test *test,
				   const uint8_t *bytes, uint32_t size,
				   const uint64_t *registers);

/* By the recording's condition on the event, if there is one. */
SONDE_HIDDEN bool sonde_agent_rule_holds(const struct sonde_agent *agent,
					 uint32_t event, const uint8_t *bytes,
					 uint32_t size);

/* What a recording that tallies wants of the event, into the cells of its slot.
 * Whether there are any. */
SONDE_HIDDEN bool sonde_agent_tally(const struct sonde_agent *agent,
				    const struct sonde_cells_tally *tally,
				    uint32_t event, const uint8_t *bytes,
				    uint32_t size);

static inline bool sonde_agent_is_wanted(const struct sonde_agent *agent,
					 uint32_t event, const uint8_t *bytes,
					 uint32_t size)
{
	return !sonde_unlikely(agent->has_rules) ||
	       sonde_agent_rule_holds(agent, event, bytes, size);
}

#endif /* PROBE_AGENT_FILTER_H */
