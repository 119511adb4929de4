/* SPDX-License-Identifier: MIT */
/*
 * idle.h - calls that functions begin with and which do nothing.
 *
 * With `-pg -mfentry` a function calls __fentry__ first. Where that is
 * libsonde-preload's, it returns at once, and what a probe has put in the place
 * of such a call need not make it.
 */
#ifndef PROBE_HOOKS_IDLE_H
#define PROBE_HOOKS_IDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/inject/process.h"

/* Whether at `address` there is a call of something that is a mere return, as
 * the process's memory says now: directly, through a word, or by an entry of a
 * linkage table. What isn't understood, or isn't bound yet, is no such call. */
bool sonde_hooks_idle_call(const struct sonde_process *process,
			   uint64_t address);

#endif /* PROBE_HOOKS_IDLE_H */
