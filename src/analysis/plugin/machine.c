/* SPDX-License-Identifier: MIT */
/*
 * machine.c - playing a state machine (machine.h). Which state a row is in is the
 * run's to know: after events were lost it is in none.
 */
#include "analysis/plugin/machine.h"

#include <errno.h>

#include "analysis/plugin/run.h"

struct machine_state {
	const struct sonde_plugin_machine *machine;
	struct sonde_filter *per; /* NULL: none */
	struct sonde_filter *when[SONDE_PLUGIN_STEPS];
	int numbers[SONDE_PLUGIN_STATES]; /* 1 + the run's; 0: not asked yet */
};

static int machine_compile(struct sonde_plugin_run *run, const char *expression,
			   struct sonde_filter **ret_filter)
{
	struct sonde_trace_error error = { .column = 0 };
	int err = sonde_filter_new(sonde_plugin_trace(run), expression, &error,
				   ret_filter);

	return err == -EINVAL ? sonde_plugin_fail(run, "'%.80s': %.150s",
						  expression, error.text) :
				err;
}

/* The run's number of a state. */
static int machine_number(struct machine_state *state,
			  struct sonde_plugin_run *run, int to)
{
	const struct sonde_plugin_state *of;
	int number;

	if (to == SONDE_PLUGIN_NONE)
		return to;
	if (to < 0 || (size_t)to >= state->machine->nr_states)
		return -EINVAL;
	if (state->numbers[to])
		return state->numbers[to] - 1;
	of = &state->machine->states[to];
	number = sonde_plugin_state_number(run, of->name, of->colour);
	if (number >= 0)
		state->numbers[to] = number + 1;
	return number;
}

/* Which of the machine's states has that number. */
static int machine_state_of(const struct machine_state *state, int number)
{
	for (int i = 0; number >= 0 && (size_t)i < state->machine->nr_states;
	     i++)
		if (state->numbers[i] == number + 1)
			return i;
	return SONDE_PLUGIN_NONE;
}

/* Steps that the event may be: bits. */
static uint64_t machine_steps(const struct machine_state *state,
			      const struct sonde_event *event)
{
	uint64_t steps = 0;

	for (size_t i = 0; i < state->machine->nr_steps; i++)
		if (sonde_filter_match(state->when[i], event))
			steps |= UINT64_C(1) << i;
	return steps;
}

/* What the row becomes; SONDE_PLUGIN_SAME: there is no such step from there. */
static int machine_step(const struct machine_state *state,
			const struct sonde_event *event, uint64_t steps,
			int from)
{
	uint64_t bit =
		from < 0 ? SONDE_PLUGIN_FROM_NONE : SONDE_PLUGIN_FROM(from);
	int to = SONDE_PLUGIN_SAME;

	for (; to == SONDE_PLUGIN_SAME && steps; steps &= steps - 1) {
		const struct sonde_plugin_step *step =
			&state->machine->steps[__builtin_ctzll(steps)];

		if (step->from & bit)
			to = step->choose ? step->choose(event, from) :
					    step->to;
	}
	return to;
}

static int machine_hook(void *memory, struct sonde_plugin_run *run,
			const struct sonde_event *event, const void *data)
{
	struct machine_state *state = memory;
	uint64_t steps = machine_steps(state, event);
	int from;
	int row;
	int to;

	(void)data;
	if (!steps)
		return 0;
	row = sonde_plugin_row_per(run, state->machine->name, NULL, state->per,
				   event);
	if (row < 0)
		return row == -ENOENT || row == -E2BIG ? 0 : row;
	from = machine_state_of(state, sonde_plugin_row_state(run, row,
							      event->time_ns));
	to = machine_step(state, event, steps, from);
	if (to == SONDE_PLUGIN_SAME)
		return 0;
	to = machine_number(state, run, to);
	return sonde_plugin_enter(run, row, event->time_ns, to);
}

static int machine_begin(void *memory, const void *config,
			 struct sonde_plugin_run *run)
{
	const struct sonde_plugin_machine *machine = config;
	struct sonde_trace *trace = sonde_plugin_trace(run);
	struct machine_state *state = memory;
	int err = 0;

	state->machine = machine;
	if (machine->per)
		err = machine_compile(run, machine->per, &state->per);
	for (size_t i = 0; !err && i < machine->nr_steps; i++)
		err = machine_compile(run, machine->steps[i].when,
				      &state->when[i]);
	for (size_t i = 0; !err && i < sonde_trace_nr_event_classes(trace);
	     i++) {
		const struct sonde_event_class *cls =
			sonde_trace_event_class(trace, i);
		bool wanted = false;

		for (size_t k = 0; k < machine->nr_steps; k++)
			wanted = wanted ||
				 sonde_filter_wants(state->when[k], cls);
		if (wanted)
			err = sonde_plugin_on_class(run, cls, machine_hook,
						    NULL);
	}
	return err;
}

static void machine_fini(void *memory)
{
	struct machine_state *state = memory;

	sonde_filter_free(state->per);
	for (size_t i = 0; i < SONDE_PLUGIN_STEPS; i++)
		sonde_filter_free(state->when[i]);
}

struct sonde_plugin_rows
sonde_plugin_machine_rows(const struct sonde_plugin_machine *machine)
{
	return (struct sonde_plugin_rows){
		.size = sizeof(struct sonde_plugin_rows),
		.name = machine->name,
		.summary = machine->summary,
		.config = machine,
		.state_bytes = sizeof(struct machine_state),
		.begin = machine_begin,
		.fini = machine_fini,
	};
}
