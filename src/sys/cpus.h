/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * cpus.h - lists of CPUs as the kernel writes them: "0-3,8\n"; how many CPUs there
 * are; and whether CPUs count for programs.
 */
#ifndef SYS_CPUS_H
#define SYS_CPUS_H

#include <stdbool.h>
#include <stdint.h>

/* The next part of a list, from `first` to `last`; *at is moved behind it, and
 * its comma. False at its end, and where it is no list: *at then isn't at the
 * end. */
bool sonde_cpus_take(const char **at, uint32_t *ret_first, uint32_t *ret_last);

/* 1 + the highest number of a list, which is in order; 0 if it isn't a list, or
 * that is more than `max`. */
uint32_t sonde_cpus_span(const char *list, uint32_t max);

/* The most CPUs that a machine is believed to have. */
#define SONDE_CPUS_MAX 4096u

/* CPUs that may ever be there (highest number + 1), and that are there now; at least
 * 1, and SONDE_CPUS_MAX at most. A read of /sys. */
uint32_t sonde_cpus_possible(void);
uint32_t sonde_cpus_online(void);

/* How many sorts of CPUs with counters (a PMU) the kernel has found among its devices,
 * the folder SONDE_CPUS_DEVICES but for tests. */
uint32_t sonde_cpus_counters(const char *devices);
#define SONDE_CPUS_DEVICES "/sys/bus/event_source/devices"

#endif /* SYS_CPUS_H */
