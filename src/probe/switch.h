/* SPDX-License-Identifier: MIT */
/*
 * switch.h - the agent of a process, on and off, and when nobody uses its arena
 * any more.
 *
 *	init		a process with its agent, and where its arena will be
 *	arena		the agent gets the arena, in which the events are
 *	count		this probe's hits are this recording's
 *	on		hits are recorded
 *	off		no hit is counted any more; the agent has no arena
 *	wait		all that was counted has its record, or never will
 *
 * ## The end
 *
 * 1. running := 0: no hit is counted any more. arena := 0: whoever has been
 *    counted finds that and misses, or has found the arena before.
 * 2. The probes are taken out. membarrier: what was counted before is seen.
 * 3. Wait until as many records (and discarded, missed, and merely counted
 *    ones) are there as hits were counted: then nobody uses the arena. A thread that was killed
 *    in between, or doesn't run at all, would keep us waiting: not for longer
 *    than some 200 ms, and then the arena stays mapped in the process for ever.
 */
#ifndef PROBE_SWITCH_H
#define PROBE_SWITCH_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/arena.h"

struct sonde_probe_switch {
	struct sonde_process *process; /* borrowed, as is arena */
	const struct sonde_probe_arena *arena;
	/* the agent's, when it was switched on */
	uint64_t missed, stepped, counted;
	uint32_t nr_rows; /* of agent->hits in use, but for the last */
	uint32_t nr_probes;
	uint32_t probes[SONDE_AGENT_PROBES_MAX];
	bool is_counted[SONDE_AGENT_PROBES_MAX];
};

void sonde_probe_switch_init(struct sonde_probe_switch *flow,
			     struct sonde_process *process,
			     const struct sonde_probe_arena *arena);
/* Forgets the probes of the one before. */
void sonde_probe_switch_arena(struct sonde_probe_switch *flow);
/* Once is enough, and counts for as long as the arena is there. */
void sonde_probe_switch_count(struct sonde_probe_switch *flow, uint32_t probe);
void sonde_probe_switch_on(struct sonde_probe_switch *flow);
void sonde_probe_switch_off(struct sonde_probe_switch *flow);
/* With a barrier first. False: somebody may still be using the arena. */
bool sonde_probe_switch_wait(const struct sonde_probe_switch *flow);

/* A probe's hits, and all steps since the arena was given. */
uint64_t sonde_probe_switch_hits(const struct sonde_probe_switch *flow,
				 uint32_t probe);
uint64_t sonde_probe_switch_steps(const struct sonde_probe_switch *flow);

#endif /* PROBE_SWITCH_H */
