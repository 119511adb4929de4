/* SPDX-License-Identifier: MIT */
/*
 * counter.h - a thread's own counters of the CPU's (a PMU): opened by the thread, and
 * read by it without a system call, from the page that the kernel keeps for that.
 *
 * They count in user mode alone, since that needs no right but the default's
 * (perf_event_paranoid 2). What can't be told is unknown: a counter that had to make
 * room for another one at any time has missed something, and is unknown from then on.
 *
 * Async-signal-safe.
 */
#ifndef SYS_COUNTER_H
#define SYS_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/port.h"

enum sonde_counter {
	SONDE_COUNTER_CYCLES,
	SONDE_COUNTER_INSTRUCTIONS,
	SONDE_COUNTER_CACHE_MISSES,
	SONDE_COUNTER_BRANCH_MISSES,
	SONDE_COUNTERS,
};

#define SONDE_COUNTER_UNKNOWN UINT64_MAX

struct perf_event_mmap_page;

/* Reads the CPU's counter of that number; false: there is none that it knows. */
typedef bool sonde_counter_reader(uint32_t number, uint64_t *ret_bits);

/* A counter of the calling thread's: a descriptor, closed by exec; -errno. */
SONDE_HIDDEN int sonde_counter_open(enum sonde_counter which);

/* Its page, which keeps the counter when `fd` is closed; NULL, with errno. Children
 * of fork don't have it. */
SONDE_HIDDEN const struct perf_event_mmap_page *sonde_counter_map(int fd);
SONDE_HIDDEN void sonde_counter_unmap(const struct perf_event_mmap_page *page);

/* Of a page that was mapped just now: whether its thread can read the CPU's counter. On
 * Arm, the kernel tells who mayn't that it isn't on the CPU, and never will be. */
SONDE_HIDDEN bool
sonde_counter_is_readable(const struct perf_event_mmap_page *page);

/*
 * What the page and the CPU's counter say together. Of the calling thread's page: a
 * value of another's would be wrong.
 */
SONDE_HIDDEN uint64_t
sonde_counter_value(const struct perf_event_mmap_page *page,
		    sonde_counter_reader *read_cpu);

#endif /* SYS_COUNTER_H */
