/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * stacks.h - call stacks of the module's events. They lie before the payload (struct
 * sonde_kmod_stack); as a chunk is read it is copied, with the number of a stack in
 * their place, and the process. Such a copy is shorter than what it is made from, and
 * no record's time changes.
 *
 * Of the program the module gives where it was: one frame.
 *
 * Nothing is believed: what contradicts itself is -EPROTO.
 */
#ifndef SOURCE_MODULE_STACKS_H
#define SOURCE_MODULE_STACKS_H

#include <stdint.h>

#include "ring/reader.h"
#include "source/kernel_frames.h"

struct sonde_perf_code;
struct sonde_source_config;

struct module_stacks {
	struct sonde_callstacks_store *store;
	struct sonde_perf_code *code;
	struct sonde_callstacks_own own;
	uint32_t depth;
};

/* Of a stream. Zeros are at its begin. */
struct module_stacks_copy {
	unsigned char *bytes; /* a sub-buffer's */
	uint64_t last;        /* time of the record before the chunk, */
	uint64_t ahead;       /* and of its last one */
	/* Where in it the numbers are, if it may be kept, and get others. */
	bool has_places;
	struct sonde_callstacks_places places;
};

/* 0 or -ENOMEM; to be finished in any case. */
int module_stacks_init(struct module_stacks *stacks,
		       const struct sonde_source_config *config);
void module_stacks_fini(struct module_stacks *stacks);

void module_stacks_copy_fini(struct module_stacks_copy *copy);

/* The chunk becomes a copy, until the next call. 1, -EPROTO or -ENOMEM. */
int module_stacks_convert(const struct module_stacks *stacks,
			  struct module_stacks_copy *copy,
			  uint32_t subbuf_bytes,
			  struct sonde_ring_chunk *chunk);

#endif /* SOURCE_MODULE_STACKS_H */
