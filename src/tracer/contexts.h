/* SPDX-License-Identifier: MIT */
/*
 * contexts.h - what the calling thread says of itself in its records
 * (ring/contexts.h).
 *
 * The only system calls that an event makes but for a thread's first (counters.h),
 * and only for a recording that asked for them by name. Async-signal-safe; errno stays.
 */
#ifndef TRACER_CONTEXTS_H
#define TRACER_CONTEXTS_H

#include <stdint.h>

#include "base/port.h"
#include "ring/contexts.h"

/* Those in `wanted`, one after the other. Returns how many. */
SONDE_HIDDEN uint32_t sonde_tracer_contexts(uint32_t wanted,
					    uint64_t values[SONDE_CONTEXTS]);

#endif /* TRACER_CONTEXTS_H */
