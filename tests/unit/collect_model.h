/* SPDX-License-Identifier: MIT */
/*
 * collect_model.h - what the agent does at a hit (probe/inject/agent.h, "What
 * a probe collects"), done slowly, on a small memory.
 */
#ifndef UNIT_COLLECT_MODEL_H
#define UNIT_COLLECT_MODEL_H

#include "probe/plan.h"

#define COLLECT_MEMORY 4096u
#define COLLECT_BASE   0x7fff0000ull

struct collect_world {
	uint64_t registers[SONDE_AGENT_REGISTERS];
	uint8_t memory[COLLECT_MEMORY]; /* at COLLECT_BASE */
	int64_t variables[16];
};

/* The payload's length. */
size_t collect_hit(struct collect_world *world,
		   const struct sonde_probe_plan *plan,
		   const struct sonde_probe_plan_part *part,
		   uint8_t payload[SONDE_AGENT_STAGE]);

/* What a probe in the kernel does at a hit (source/probes.h). */
struct sonde_source_probe;
size_t collect_kernel_hit(struct collect_world *world,
			  const struct sonde_source_probe *probe,
			  uint8_t payload[SONDE_AGENT_STAGE]);

/* Packets of GDB's, up to NULL, as points. */
void collect_define(struct sonde_probe_points *points,
		    const char *const *packets);

#endif /* UNIT_COLLECT_MODEL_H */
