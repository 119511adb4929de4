/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * code.h - which code sampled processes have mapped where, and by it the call stacks
 * of samples: a walk (ring/walk.h) over the copy of the stack that each has.
 *
 * What processes map is told by the records that samples come with, in the order of
 * their times: a process that begins by a fork has what its parent has, one that
 * executes a program has nothing yet, what is mapped hides what was there. Of a
 * process that began before there were records, /proc/PID/maps is read when it is
 * first sampled.
 *
 * A stack is of the program's half: the frame that was interrupted, then callers.
 * Code without rules (made at run time, or without .eh_frame) is walked by frame
 * pointers. A copy that ends before the stack does makes a stack that ends `deep`.
 *
 * Cost: a search among the process's mappings for each frame, and what images.h says.
 * One thread.
 */
#ifndef SOURCE_SAMPLE_CODE_H
#define SOURCE_SAMPLE_CODE_H

#include "base/hash.h"
#include "source/callstacks.h"
#include "source/sample/images.h"
#include "source/sample/perf.h"

#define SONDE_PERF_PROCESSES_MAX (1u << 16)
#define SONDE_PERF_RANGES_MAX    (1u << 14) /* of a process */

struct sonde_perf_code {
	struct sonde_hash processes; /* by number */
	struct sonde_perf_images images;
};

/* 0 or -ENOMEM. Zeros are none, for fini alone. */
int sonde_perf_code_init(struct sonde_perf_code *code);
void sonde_perf_code_fini(struct sonde_perf_code *code);

/* A record that isn't a sample: what it says of processes and their mappings. What
 * there is no memory for is walked by frame pointers. */
void sonde_perf_code_heed(struct sonde_perf_code *code,
			  const struct sonde_perf_record *record,
			  const char *build_id);

struct sonde_stacks_position; /* ring/walk.h */

/* Where the walk of a copied stack begins. */
void sonde_perf_code_begin(const struct sonde_perf_user *user,
			   struct sonde_stacks_position *ret_at);

/* Adds the program's half of a sample's stack to the chain, which has the kernel's. */
void sonde_perf_code_walk(struct sonde_perf_code *code, int32_t pid,
			  const struct sonde_perf_user *user,
			  struct sonde_callstacks_chain *chain);

#endif /* SOURCE_SAMPLE_CODE_H */
