/* SPDX-License-Identifier: MIT */
/*
 * awake.h - a CPU that doesn't sleep while its thread is stopped.
 */
#ifndef PROBE_INJECT_AWAKE_H
#define PROBE_INJECT_AWAKE_H

#include <sys/types.h>

/* Keeps `cpu` from sleeping until sonde_inject_awake_end(), for AWAKE_MS at most. The
 * process that does so, or 0: there is none, and nothing else is different. It
 * ends with the caller, whose only thread this is. */
pid_t sonde_inject_awake_begin(unsigned int cpu);

/* Of what sonde_inject_awake_begin() returned. */
void sonde_inject_awake_end(pid_t awake);

#endif /* PROBE_INJECT_AWAKE_H */
