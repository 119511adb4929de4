/* SPDX-License-Identifier: MIT */
/*
 * rules.h - the conditions of a recording on events (-e 'io:read if size > 4096',
 * --filter), asked of the recorder on a process's behalf, for its agent to test
 * (agent/filter.h).
 */
#ifndef PROBE_HOOKS_RULES_H
#define PROBE_HOOKS_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/arena.h"
#include "probe/inject/probes.h"

/* Whether the recording has any. */
bool sonde_hooks_rules_are_there(const struct sonde_probe_arena *arena);

/* When all events are in the arena, and before any is recorded. 0 and how many
 * events can't be told by their conditions, as those are about fractions, which the
 * agent has none of: none of these is recorded. Or -errno. */
int sonde_hooks_rules_learn(const struct sonde_probe_arena *arena,
			    struct sonde_probes *probes,
			    struct sonde_agent *agent,
			    const struct sonde_child *child,
			    uint32_t *ret_nr_unfit);

#endif /* PROBE_HOOKS_RULES_H */
