/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * events.h - the events of a sampled recording: what --sample writes, and who
 * turns another tracer's samples into ours.
 *
 * Their ids begin where the writer's do, in this order. Payloads, packed:
 *
 *	sonde:sample		pid, number of the stack, period in ns; 32 bits each
 *	sonde:stack, sonde:stacks_lost	callstacks.h
 *	sonde:began		pid, parent's; 32 bits each
 *	sonde:mapping		statedump/events.h
 *	sonde:code		pid, 32 bits; begin, size, 64 bits each; name
 *	sonde:code_lost		pid, 32 bits; how many, 64 bits
 *	sonde:looked		pid, nr, 32 bits each; age, 64 bits
 */
#ifndef SOURCE_SAMPLE_EVENTS_H
#define SOURCE_SAMPLE_EVENTS_H

#include <stdint.h>

#include "source/statedump/events.h"
#include "types/desc.h"

#define SONDE_SAMPLE_BYTES        12u
#define SONDE_SAMPLE_BEGAN_BYTES  8u
#define SONDE_SAMPLE_LOOKED_BYTES 16u

enum sonde_sample_event {
	SONDE_SAMPLE,
	SONDE_SAMPLE_STACK,
	SONDE_SAMPLE_STACKS_LOST,
	SONDE_SAMPLE_BEGAN,
	SONDE_SAMPLE_MAPPING,
	SONDE_SAMPLE_CODE,
	SONDE_SAMPLE_CODE_LOST,
	SONDE_SAMPLE_LOOKED,
	SONDE_SAMPLE_NR_EVENTS,
};

/* statedump/events.h emits a mapping under this id. */
_Static_assert((int)SONDE_SAMPLE_MAPPING == (int)SONDE_STATEDUMP_MAPPING,
	       "one emitter");

/* The event's description, made in `room` (a struct sonde_desc). 0 or -errno. Any
 * thread. */
int sonde_sample_describe(enum sonde_sample_event event,
			  uint64_t room[SONDE_DESC_MAX / 8]);

#endif /* SOURCE_SAMPLE_EVENTS_H */
