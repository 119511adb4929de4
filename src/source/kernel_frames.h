/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * kernel_frames.h - the kernel's half of an event's call stack, as tracers take it:
 * addresses, the innermost first.
 *
 * They begin in the tracer itself: what it is called by, the tracepoint's code. How
 * many those are differs from kernel to kernel. They are left out by what
 * /proc/kallsyms calls them; where this user isn't told addresses, they stay, but then
 * no frame of the kernel has a name.
 *
 * Cost: a search among some thousand ranges for each of the first frames; before, the
 * list is read once.
 */
#ifndef SOURCE_KERNEL_FRAMES_H
#define SOURCE_KERNEL_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/callstacks.h"

/* The kernel's frames of a stack, with the tracer's. */
#define SONDE_CALLSTACKS_KERNEL_MAX 40u

struct sonde_callstacks_range;

/* Where the tracers' own code is. Zeros are nowhere. */
struct sonde_callstacks_own {
	struct sonde_callstacks_range *ranges;
	size_t nr, room;
};

/* Once all that they load is there. 0 or -ENOMEM. */
int sonde_callstacks_own_find(struct sonde_callstacks_own *own);
void sonde_callstacks_own_fini(struct sonde_callstacks_own *own);

/* Adds `nr` words at `at`, which needn't be aligned. `is_exact`: at the first of
 * them is an instruction. False: the chain has ended. */
bool sonde_callstacks_add_frames(struct sonde_callstacks_chain *chain,
				 const void *at, uint32_t nr, bool is_kernel,
				 bool is_exact);
/* The same of the kernel's, without the tracer's: where there are none of these,
 * the first may be exact. False as well, and the chain says so: it is deeper than
 * what is kept. */
bool sonde_callstacks_add_kernel(struct sonde_callstacks_chain *chain,
				 const struct sonde_callstacks_own *own,
				 const void *at, uint32_t nr, bool is_exact);

#endif /* SOURCE_KERNEL_FRAMES_H */
