/* SPDX-License-Identifier: MIT */
/*
 * awake.h - a CPU that doesn't sleep while its thread is stopped.
 */
#ifndef PROBE_INJECT_AWAKE_H
#define PROBE_INJECT_AWAKE_H

#include <stdbool.h>
#include <sys/types.h>

/* Pure: whether fewer want to run than there are CPUs, by the line of /proc/loadavg.
 * Else no CPU sleeps. What makes no sense helps. */
bool sonde_inject_awake_helps(const char *loadavg, long nr_cpus);

/* Keeps `cpu` from sleeping until sonde_inject_awake_stop(), for AWAKE_MS at most. The
 * process that does so, or 0: there is none, and nothing else is different. It
 * ends with the caller, whose only thread this is. */
pid_t sonde_inject_awake_begin(unsigned int cpu);

/* Of what sonde_inject_awake_begin() returned, each. */
void sonde_inject_awake_stop(pid_t awake);
/* Waits for its end, which may take long where other programs have come to want the
 * CPU: after what is urgent. */
void sonde_inject_awake_end(pid_t awake);

#endif /* PROBE_INJECT_AWAKE_H */
