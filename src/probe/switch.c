/* SPDX-License-Identifier: MIT */
/*
 * switch.c - the agent's words are written in the order that switch.h says:
 * off is seen by all threads (membarrier) before anything is taken away.
 */
#include "probe/switch.h"

#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/port.h"
#include "sys/cpus.h"

#define QUIET_MS 200
#define PAUSE_NS 100000L

/* ---- counting ---- */

static struct sonde_agent *agent_of(const struct sonde_probe_switch *flow)
{
	return sonde_process_agent(flow->process);
}

uint64_t sonde_probe_switch_hits(const struct sonde_probe_switch *flow,
				 uint32_t probe)
{
	const struct sonde_agent *agent = agent_of(flow);
	uint64_t nr = sonde_load_relaxed(
		&agent->hits[SONDE_AGENT_CPUS_MAX - 1][probe]);

	for (uint32_t i = 0; i < flow->nr_rows; i++)
		nr += sonde_load_relaxed(&agent->hits[i][probe]);
	return nr;
}

uint64_t sonde_probe_switch_steps(const struct sonde_probe_switch *flow)
{
	return sonde_load_relaxed(&agent_of(flow)->stepped) - flow->stepped;
}

/* And steps. */
static uint64_t all_hits(const struct sonde_probe_switch *flow)
{
	uint64_t nr = sonde_probe_switch_steps(flow);

	for (uint32_t i = 0; i < flow->nr_probes; i++)
		nr += sonde_probe_switch_hits(flow, flow->probes[i]);
	return nr;
}

/* Whether each hit that was counted has its record, or never will. */
static bool is_quiet(const struct sonde_probe_switch *flow)
{
	uint64_t records;
	uint64_t discarded;
	uint64_t missed =
		sonde_load_relaxed(&agent_of(flow)->missed) - flow->missed;
	uint64_t counted = sonde_probe_switch_hits(flow, SONDE_AGENT_COUNTED) -
			   flow->counted;

	sonde_probe_arena_count(flow->arena, &records, &discarded);
	return records + discarded + missed + counted >= all_hits(flow);
}

/* Every thread of the process has passed a barrier when it returns. */
static void barrier(const struct sonde_probe_switch *flow)
{
	struct sonde_remote_call calls[] = {
		{ .number = SYS_membarrier,
		  .go_on = 1,
		  .args = { MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED } },
		{ .number = SYS_membarrier,
		  .args = { MEMBARRIER_CMD_PRIVATE_EXPEDITED } },
	};

	/* If it can't be done the process has gone, or the wait sees a little
	 * less than it could. */
	(void)sonde_process_call(flow->process, calls, 2);
}

bool sonde_probe_switch_wait(const struct sonde_probe_switch *flow)
{
	struct timespec pause = { .tv_nsec = PAUSE_NS };

	barrier(flow);
	for (long i = 0; i < QUIET_MS * 1000000L / PAUSE_NS; i++) {
		if (is_quiet(flow))
			return true;
		(void)nanosleep(&pause, NULL);
	}
	return false;
}

/* ---- on and off ---- */

void sonde_probe_switch_init(struct sonde_probe_switch *flow,
			     struct sonde_process *process,
			     const struct sonde_probe_arena *arena)
{
	flow->process = process;
	flow->arena = arena;
	flow->nr_probes = 0;
	flow->nr_rows = sonde_cpus_possible();
	if (flow->nr_rows > SONDE_AGENT_CPUS_MAX - 1)
		flow->nr_rows = SONDE_AGENT_CPUS_MAX - 1;
}

void sonde_probe_switch_arena(struct sonde_probe_switch *flow)
{
	struct sonde_agent *agent = agent_of(flow);

	flow->nr_probes = 0;
	memset(flow->is_counted, 0, sizeof(flow->is_counted));
	flow->missed = sonde_load_relaxed(&agent->missed);
	flow->stepped = sonde_load_relaxed(&agent->stepped);
	flow->counted = sonde_probe_switch_hits(flow, SONDE_AGENT_COUNTED);
	agent->stop_reason = 0;
	agent->rings = flow->arena->there + SONDE_META_SPAN;
	/* Pairs with the load of arena in sonde_agent_state_of
	 * (agent/record.h). */
	sonde_store_release(&agent->arena, flow->arena->there);
}

void sonde_probe_switch_count(struct sonde_probe_switch *flow, uint32_t probe)
{
	if (probe >= SONDE_AGENT_PROBES_MAX || flow->is_counted[probe])
		return;
	flow->is_counted[probe] = true;
	flow->probes[flow->nr_probes++] = probe;
}

void sonde_probe_switch_on(struct sonde_probe_switch *flow)
{
	/* Pairs with the load of running in sonde_agent_is_on
	 * (agent/record.h): the arena and the probes' events are there. */
	sonde_store_release(&agent_of(flow)->running, 1);
}

void sonde_probe_switch_off(struct sonde_probe_switch *flow)
{
	struct sonde_agent *agent = agent_of(flow);

	/* Pairs with sonde_load_acquire in sonde_agent_is_on: nothing is
	 * counted any more. */
	sonde_store_release(&agent->running, 0);
	/* Pairs with sonde_load_acquire in sonde_agent_state_of: whoever was
	 * counted finds no arena, or its record is waited for. */
	sonde_store_release(&agent->arena, 0);
}
