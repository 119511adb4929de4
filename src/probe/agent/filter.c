/* SPDX-License-Identifier: MIT */
/* filter.c - see filter.h. */
#include "probe/agent/filter.h"

#include "probe/agent/append.h"
#include "probe/agent/record.h"
#include "ring/filters.h"

struct filtering {
	struct sonde_fetch_record record;
	const struct sonde_fetch_field *fields;
	uint32_t nr_fields;
};

static int agent_fetch(void *ctx, uint32_t ref,
		       struct sonde_expr_value *ret_value)
{
	const struct filtering *filtering = ctx;

	return ref < filtering->nr_fields ?
		       sonde_fetch(&filtering->record, &filtering->fields[ref],
				   ret_value) :
		       -1;
}

bool sonde_agent_test(const struct sonde_agent_test *test, const uint8_t *bytes,
		      uint32_t size, const uint64_t *registers)
{
	const uint32_t whence[2] = { sonde_agent_tid(), sonde_agent_cpu() };
	const struct sonde_part part = { bytes, size, 0 };
	struct filtering filtering = {
		.record = { &part, 1, test->varying },
		.fields = test->fields,
		.nr_fields = test->nr_fields,
	};
	struct sonde_expr_env env;

	if (size < test->needed)
		return false;
	env.bases[0] = bytes;
	env.bases[1] = (const uint8_t *)whence;
	env.call = agent_fetch;
	env.ctx = &filtering;
	env.registers = registers;
	env.machine = 0;
	return sonde_program_test(test->program, &env);
}

SONDE_COLD bool sonde_agent_rule_holds(const struct sonde_agent *agent,
				       uint32_t event, const uint8_t *bytes,
				       uint32_t size)
{
	const struct sonde_agent_rule *place = &agent->rules[event];
	const unsigned char *file = agent->plans + place->file;
	const struct sonde_filters_rule *rule;
	struct sonde_agent_test test;

	if (!place->file)
		return true;
	rule = (const void *)(file + place->rule);
	if (!place->rule || rule->kind != SONDE_FILTER_TEST)
		return place->rule && rule->kind == SONDE_FILTER_ALWAYS;
	test = (struct sonde_agent_test){
		.program = (const void *)(file + rule->program),
		.fields = (const void *)(file + rule->fields),
		.varying = (const void *)(file + rule->varying),
		.nr_fields = rule->nr_fields,
		.needed = rule->needed,
	};
	return sonde_agent_test(&test, bytes, size, NULL);
}

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
