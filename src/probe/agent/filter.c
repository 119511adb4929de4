/* SPDX-License-Identifier: MIT */
/* filter.c - see filter.h. */
#include "probe/agent/filter.h"

#include "probe/agent/self.h"
#include "ring/filters.h"
#include "tracer/numbers.h"

/* A record that is about to be, as programs see it. */
struct seen_record {
	struct sonde_filter_whence whence;
	struct sonde_part part;
	struct sonde_filter_payload payload;
	struct sonde_expr_env env;
};

static void see_record(struct seen_record *e,
		       const struct sonde_operand_varying *varying,
		       const uint8_t *bytes, uint32_t size)
{
	e->whence.tid = sonde_agent_tid();
	e->whence.cpu = sonde_agent_cpu();
	e->part = (struct sonde_part){ bytes, size, 0 };
	e->payload.record =
		(struct sonde_operand_record){ &e->part, 1, varying };
	e->env.bases[0] = bytes;
	e->env.bases[1] = (const uint8_t *)&e->whence;
	e->env.call = sonde_filter_fetch;
	e->env.ctx = &e->payload;
	e->env.registers = 0;
	e->env.machine = 0;
}

bool sonde_agent_test(const struct sonde_agent_test *test, const uint8_t *bytes,
		      uint32_t size, const uint64_t *registers)
{
	struct seen_record e;

	if (size < test->needed)
		return false;
	see_record(&e, test->varying, bytes, size);
	e.payload.fields = test->fields;
	e.payload.nr_fields = test->nr_fields;
	e.env.registers = registers;
	return sonde_program_test(test->program, &e.env);
}

/* The recorder's answer that has the event's rule; NULL: there is no rule. */
static const unsigned char *
answer_of(const struct sonde_agent *agent, uint32_t event,
	  const struct sonde_filters_rule **ret_rule)
{
	const struct sonde_agent_rule *place = &agent->rules[event];
	const unsigned char *file = agent->plans + place->file;

	*ret_rule = place->rule ? (const void *)(file + place->rule) : NULL;
	return place->file ? file : NULL;
}

SONDE_COLD bool sonde_agent_rule_holds(const struct sonde_agent *agent,
				       uint32_t event, const uint8_t *bytes,
				       uint32_t size)
{
	const struct sonde_filters_rule *rule;
	const unsigned char *file = answer_of(agent, event, &rule);
	struct sonde_agent_test test;

	if (!file)
		return true;
	if (!rule || rule->kind != SONDE_FILTER_TEST)
		return rule && rule->kind == SONDE_FILTER_ALWAYS;
	test = (struct sonde_agent_test){
		.program = (const void *)(file + rule->program),
		.fields = (const void *)(file + rule->fields),
		.varying = (const void *)(file + rule->varying),
		.nr_fields = rule->nr_fields,
		.needed = rule->needed,
	};
	return sonde_agent_test(&test, bytes, size, NULL);
}

bool sonde_agent_tally(const struct sonde_agent *agent,
		       const struct sonde_cells_tally *tally, uint32_t event,
		       const uint8_t *bytes, uint32_t size)
{
	struct sonde_filter_number numbers[SONDE_FILTER_VALUES];
	const struct sonde_filter_value *values;
	const struct sonde_filters_rule *rule;
	const unsigned char *file = answer_of(agent, event, &rule);
	struct sonde_cells cells;
	struct seen_record e;
	uint32_t cell;

	if (!file || !rule || !rule->values)
		return false;
	values = (const void *)(file + rule->values);
	see_record(&e, (const void *)(file + rule->varying), bytes, size);
	for (uint32_t i = 0; i < SONDE_FILTER_VALUES; i++)
		numbers[i] = size < rule->needed ?
				     (struct sonde_filter_number){ 0 } :
				     sonde_filter_number_of(&values[i], file,
							    &e.env);
	cell = sonde_cells_tally_count(tally, 0, event, values, numbers);
	if (cell) {
		cells = sonde_cells_tally_cell(tally, cell);
		sonde_cells_tally_finish(
			&cells, tally->rseq, SONDE_CELLS_LEFT_ALL,
			sonde_cells_tally_bin((int64_t)numbers[0].number),
			(int64_t)numbers[0].number);
	}
	return true;
}
