/* SPDX-License-Identifier: MIT */
/*
 * plan.h - which probes it takes to have the calls of a process's functions as
 * events.
 *
 * A function is the one that the program's calls lead to: the first library in
 * the loader's order that defines the name, as when one is preloaded in front
 * of it. Its ends are found by inject/exits.h, in it and in what it ends with a
 * jump to; one that also begins with such a jump elsewhere is followed there.
 *
 * A function of which something can't be found is left out, and told; without
 * its most common functions an allocator is left out as a whole.
 */
#ifndef PROBE_HOOKS_PLAN_H
#define PROBE_HOOKS_PLAN_H

#include "probe/hooks/events.h"
#include "probe/hooks/modules.h"
#include "probe/inject/probes.h"
#include "probe/inject/process_code.h"

#define SONDE_HOOKS_SPECS_MAX 512
#define SONDE_HOOKS_NOTES_MAX 16
#define SONDE_HOOKS_ENDS_MAX  96

struct sonde_hooks_call {
	const struct sonde_hooks_function *function;
	const struct sonde_hooks_module *module; /* while it is made */
	char library[SONDE_HOOKS_NAME];
	uint64_t address;
	bool is_out;
	size_t nr_ends;
	uint16_t ends[SONDE_HOOKS_ENDS_MAX]; /* in specs[] */
};

struct sonde_hooks_plan {
	size_t nr_calls; /* calls[0] is of what is passed over */
	struct sonde_hooks_call calls[SONDE_AGENT_CALLS_MAX];
	/* but for the events' indexes, which the arena's owner knows */
	struct sonde_agent_call agent_calls[SONDE_AGENT_CALLS_MAX];
	size_t nr_specs;
	struct sonde_probe_spec specs[SONDE_HOOKS_SPECS_MAX];
	/* One line each, of what is left out. */
	size_t nr_notes;
	char notes[SONDE_HOOKS_NOTES_MAX][160];
};

/* `groups`: bits of enum sonde_hooks_group. 0; -ENOENT with *error: nothing is
 * left; -ENOMEM. */
int sonde_hooks_plan_make(struct sonde_process *process, unsigned int groups,
			  const struct sonde_hooks_modules *modules,
			  struct sonde_hooks_plan *ret,
			  struct sonde_process_error *error);

/* A function is left out after all, and told with the reason. */
void sonde_hooks_plan_leave_out(struct sonde_hooks_plan *plan, size_t call,
				const char *reason);

#endif /* PROBE_HOOKS_PLAN_H */
