/* SPDX-License-Identifier: MIT */
/*
 * contexts.h - what a thread says of itself in each record, besides its call stack:
 * numbers that no-one else knows at that moment, and that cost it a system call, or,
 * of the CPU's counters, some in its first event.
 *
 * A slot's `contexts` has bit i for context i below. A record then has, behind the
 * stack's number, 8 bytes for each bit that is set, in this order, or
 * SONDE_CONTEXT_UNKNOWN, -1 for readers, where the kernel refused to say it.
 *
 * Only who was asked for one by name makes a call: the user did (--context).
 */
#ifndef RING_CONTEXTS_H
#define RING_CONTEXTS_H

#include <stddef.h>
#include <stdint.h>

#define SONDE_CONTEXT_BYTES   8u
#define SONDE_CONTEXT_UNKNOWN UINT64_MAX

enum sonde_ring_context {
	SONDE_CONTEXT_CPU_TIME, /* of the thread, in nanoseconds */
	SONDE_CONTEXT_PAGE_FAULTS,
	SONDE_CONTEXT_MAJOR_FAULTS,
	SONDE_CONTEXT_SWITCHES,
	SONDE_CONTEXT_CYCLES, /* in user mode, since the thread's first event */
	SONDE_CONTEXT_INSTRUCTIONS,
	SONDE_CONTEXT_CACHE_MISSES,
	SONDE_CONTEXT_BRANCH_MISSES,
	SONDE_CONTEXTS,
};
#define SONDE_CONTEXTS_KNOWN ((1u << SONDE_CONTEXTS) - 1)
/* Those before there were counters of the CPU's. */
#define SONDE_CONTEXTS_FIRST ((1u << SONDE_CONTEXT_CYCLES) - 1)

struct sonde_ring_context_name {
	const char *word;  /* as users say it */
	const char *field; /* as traces do */
};

/* NULL: there are no more. Any thread. */
static inline const struct sonde_ring_context_name *
sonde_ring_context_name(size_t i)
{
	static const struct sonde_ring_context_name names[SONDE_CONTEXTS] = {
		[SONDE_CONTEXT_CPU_TIME] = { "cpu_time", "cpu_time" },
		[SONDE_CONTEXT_PAGE_FAULTS] = { "perf:page-faults",
						"perf_thread_page_faults" },
		[SONDE_CONTEXT_MAJOR_FAULTS] = { "perf:major-faults",
						 "perf_thread_major_faults" },
		[SONDE_CONTEXT_SWITCHES] = { "perf:context-switches",
					     "perf_thread_context_switches" },
		[SONDE_CONTEXT_CYCLES] = { "perf:cycles",
					   "perf_thread_cycles" },
		[SONDE_CONTEXT_INSTRUCTIONS] = { "perf:instructions",
						 "perf_thread_instructions" },
		[SONDE_CONTEXT_CACHE_MISSES] = { "perf:cache-misses",
						 "perf_thread_cache_misses" },
		[SONDE_CONTEXT_BRANCH_MISSES] = { "perf:branch-misses",
						  "perf_thread_branch_misses" },
	};

	return i < SONDE_CONTEXTS ? &names[i] : NULL;
}

#endif /* RING_CONTEXTS_H */
