/* SPDX-License-Identifier: MIT */
/*
 * stacks.h - call stacks in traces of programs: of the number that an event has
 * as its context `stack`, the frames that sonde:stack says (docs/trace-format.md).
 *
 * All are read before the first question. Memory: 64 bytes and 8 for each frame
 * of each different stack.
 */
#ifndef READER_NAMES_STACKS_H
#define READER_NAMES_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/trace.h>

#include "base/hash.h"
#include "base/pool.h"

/* Why a stack has no more frames; as ring/stacks.h has it. */
enum sonde_names_end {
	SONDE_NAMES_WHOLE = 0,
	SONDE_NAMES_DEEPER = 1,
	SONDE_NAMES_UNKNOWN = 2,
	SONDE_NAMES_OTHER = 3,
};

/* Frames are the innermost first. */
struct sonde_names_stack {
	uint32_t number;
	uint32_t nr;
	enum sonde_names_end end;
	const uint64_t *frames;
};

#define SONDE_NAMES_EXACT (UINT64_C(1) << 63)
/* Clear, of a frame of the kernel's, if that is exact. */
#define SONDE_NAMES_KERNEL_EXACT (UINT64_C(1) << 62)

/* Where a frame is, and whether a call returns there. */
uint64_t sonde_names_frame_address(uint64_t frame, bool *ret_is_return);

/* Samples are a kernel's events, but their stacks are of processes: an image of
 * a kernel's trace with this bit is the process of the number below it. */
#define SONDE_NAMES_PROCESS (UINT64_C(1) << 31)

bool sonde_names_is_stack(const struct sonde_event_class *cls);
/* Of samples, which tell their process and their stack in their payload. */
bool sonde_names_is_sample(const struct sonde_event_class *cls);
/* Which field says what stack such events have; without owner: none does. */
void sonde_names_stack_field(const struct sonde_event_class *cls,
			     struct sonde_field *ret_field);

struct sonde_names_stacks {
	bool has_any;
	struct sonde_pool pool;
	struct sonde_hash stacks;   /* by image and number */
	struct sonde_field *fields; /* by event class; without owner: none */
};

void sonde_names_stacks_init(struct sonde_names_stacks *stacks);
/* Of which trace's events the questions will be. 0 or -ENOMEM. */
int sonde_names_stacks_aim(struct sonde_names_stacks *stacks,
			   const struct sonde_trace *trace);
void sonde_names_stacks_fini(struct sonde_names_stacks *stacks);

/* An event sonde:stack, of which `image` is known by the caller. -ENOMEM. */
int sonde_names_stacks_take(struct sonde_names_stacks *stacks, uint64_t image,
			    const struct sonde_event *event);

/* NULL: there is none with that number. */
const struct sonde_names_stack *
sonde_names_stacks_get(const struct sonde_names_stacks *stacks, uint64_t image,
		       uint32_t number);

/* NULL: the event has none, or the trace doesn't say which. */
const struct sonde_names_stack *
sonde_names_stacks_of(const struct sonde_names_stacks *stacks, uint64_t image,
		      const struct sonde_event *event);

#endif /* READER_NAMES_STACKS_H */
