/* SPDX-License-Identifier: MIT */
/*
 * recorder_state.c - see recorder_parts.h: what a trace is told besides events, so
 * that it can be read by itself. It costs a look at each process that runs.
 */
#include "session/recorder_parts.h"

void sonde_recorder_tell_code(struct sonde_recorder_state *state,
			      const struct sonde_arena_source *source)
{
	sonde_mappings_stacks(state->mappings, source);
	sonde_mappings_code(state->mappings, source);
}

void sonde_recorder_look_at(struct sonde_roster *roster,
			    const struct sonde_recorder_program *program)
{
	sonde_roster_look(roster, program->source);
	if (program->pin_source)
		sonde_roster_look(roster, program->pin_source);
}

void sonde_recorder_close_state(struct sonde_recorder_state *state)
{
	sonde_roster_close(state->roster);
	sonde_mappings_close(state->mappings);
	*state = (struct sonde_recorder_state){ 0 };
}

void sonde_recorder_copy_state(struct sonde_recorder *r,
			       struct sonde_session *to,
			       struct sonde_recorder_state *ret_state)
{
	struct sonde_recorder_state state = {
		.mappings = sonde_mappings_new(to),
	};

	if (r->state.roster)
		state.roster = sonde_roster_new(
			sonde_session_output(to, SONDE_CTF_PROGRAMS),
			sonde_session_take_class(to, SONDE_CTF_PROGRAMS),
			r->last_header);
	for (uint32_t i = 0; i < SONDE_RECORDER_PROGRAMS_MAX; i++) {
		const struct sonde_arena_source *source = r->programs[i].source;

		if (!source || r->programs[i].pidfd < 0)
			continue;
		sonde_recorder_look_at(r->state.roster, &r->programs[i]);
		sonde_mappings_look(state.mappings, source, true);
		sonde_recorder_tell_code(&state, source);
	}
	sonde_roster_copy(r->state.roster, state.roster);
	*ret_state = state;
}
