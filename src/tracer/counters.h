/* SPDX-License-Identifier: MIT */
/*
 * counters.h - what the calling thread's counters of the CPU's say (sys/counter.h).
 *
 * A thread's first event that is to have a counter opens it: perf_event_open, mmap
 * and close, with getpid and gettid before them, and once in a process a page more.
 * No later event makes a call. The thread's end unmaps it. What can't be opened is
 * not tried again in that thread, and told in the arena's header.
 */
#ifndef TRACER_COUNTERS_H
#define TRACER_COUNTERS_H

#include <stdint.h>

#include "base/port.h"
#include "ring/contexts.h"

/* Of those contexts in `wanted` that are counters, the values that are known; the
 * others are left as they are. Async-signal-safe. */
SONDE_HIDDEN void sonde_tracer_counters(uint32_t wanted,
					uint64_t values[SONDE_CONTEXTS]);

#endif /* TRACER_COUNTERS_H */
