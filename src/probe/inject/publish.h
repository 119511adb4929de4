/* SPDX-License-Identifier: MIT */
/*
 * publish.h - the tables and plans in the agent's data, as the tool fills them
 * (agent.h says who reads them, and when).
 *
 * The process can scribble on them: nothing is read back but to find a place,
 * and every search is bounded.
 */
#ifndef PROBE_INJECT_PUBLISH_H
#define PROBE_INJECT_PUBLISH_H

#include <stddef.h>
#include <stdint.h>

#include "expr/expr.h"
#include "probe/inject/agent.h"

/* int3 at `address` leads to `to` from now on. 0 or -ENOSPC. */
int sonde_publish_trap(struct sonde_agent *agent, uint64_t address,
		       uint64_t to);
int sonde_publish_fault(struct sonde_agent *agent,
			const struct sonde_agent_fault *fault);

int sonde_publish_copy(struct sonde_agent *agent,
		       const struct sonde_agent_copy *copy);

/* As sonde_condition_copy() gives it, and what it gets by. */
struct sonde_publish_filter {
	struct sonde_program *program;
	struct sonde_operand_field *fields;
	const struct sonde_operand_varying *varying;
	uint32_t nr_fields, nr_varying, needed;
};

/* What a probe is to do, copied into plans[]. */
struct sonde_publish_plan {
	const struct sonde_program *condition; /* for the agent, or NULL */
	const struct sonde_agent_item *items;
	size_t nr_items;
	const struct sonde_agent_item *step_items;
	size_t nr_step_items;
	const struct sonde_program *const *programs;
	size_t nr_programs;
	const struct sonde_publish_filter *filter; /* NULL: none */
};

struct sonde_plans_piece {
	uint64_t hash, at, size; /* at 0: free */
};

/*
 * What the tool has put into plans[]. It stays there; bytes that are there
 * already are used again, so that one plan may be put in any number of times.
 * All zeros: nothing yet.
 */
struct sonde_plans {
	uint64_t used;                    /* bytes */
	struct sonde_plans_piece *pieces; /* a hash table */
	size_t nr, room;                  /* room: 0 or a power of two */
};
void sonde_plans_fini(struct sonde_plans *plans);
/* Where the bytes are in plans[] then; 0: there is no room. */
uint64_t sonde_plans_append(struct sonde_agent *agent,
			    struct sonde_plans *plans, const void *bytes,
			    size_t nr);

/*
 * Fills in the probe's offsets, counts and payload_max. 0; -EINVAL (an item
 * names a program that isn't there), -ENOSPC.
 */
int sonde_publish_plan(struct sonde_agent *agent, struct sonde_plans *plans,
		       const struct sonde_publish_plan *plan,
		       struct sonde_agent_probe *probe);

#endif /* PROBE_INJECT_PUBLISH_H */
