/* SPDX-License-Identifier: MIT */
/*
 * contexts.c - see contexts.h: one call for the time, and one for all that the kernel
 * counts; none for what the CPU does.
 *
 * By syscall(), as the program may have a getrusage() of its own.
 */
#include "tracer/contexts.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tracer/counters.h"

#define COUNTED                                                               \
	(1u << SONDE_CONTEXT_PAGE_FAULTS | 1u << SONDE_CONTEXT_MAJOR_FAULTS | \
	 1u << SONDE_CONTEXT_SWITCHES)

static void contexts_take_time(uint64_t values[SONDE_CONTEXTS])
{
	struct timespec time;

	if (!syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &time))
		values[SONDE_CONTEXT_CPU_TIME] =
			(uint64_t)time.tv_sec * 1000000000u +
			(uint64_t)time.tv_nsec;
}

static void contexts_take_counts(uint64_t values[SONDE_CONTEXTS])
{
	struct rusage usage;

	if (syscall(SYS_getrusage, RUSAGE_THREAD, &usage))
		return;
	values[SONDE_CONTEXT_PAGE_FAULTS] =
		(uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
	values[SONDE_CONTEXT_MAJOR_FAULTS] = (uint64_t)usage.ru_majflt;
	values[SONDE_CONTEXT_SWITCHES] =
		(uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw;
}

uint32_t sonde_tracer_contexts(uint32_t wanted, uint64_t values[SONDE_CONTEXTS])
{
	uint64_t all[SONDE_CONTEXTS];
	int error = errno;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < SONDE_CONTEXTS; i++)
		all[i] = SONDE_CONTEXT_UNKNOWN;
	if (wanted & 1u << SONDE_CONTEXT_CPU_TIME)
		contexts_take_time(all);
	if (wanted & COUNTED)
		contexts_take_counts(all);
	if (wanted >> SONDE_CONTEXT_CYCLES)
		sonde_tracer_counters(wanted, all);
	errno = error;
	for (uint32_t i = 0; i < SONDE_CONTEXTS; i++)
		if (wanted >> i & 1)
			values[nr++] = all[i];
	return nr;
}
