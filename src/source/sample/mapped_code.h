/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * mapped_code.h - which code processes have mapped where and when, and by it the call stacks
 * of samples and of the kernel's events: a walk (ring/walk.h) over the copy of the
 * stack that each has.
 *
 * What processes map is told by the records that samples come with, in the order of
 * their times: a process that begins by a fork has what its parent has, one that
 * executes a program has nothing yet, what is mapped hides what was there. Of a
 * process that began before there were records, /proc/PID/maps is read when it is
 * first asked for.
 *
 * Events are read later than they happened, and CPU by CPU: so a walk is of a time. It
 * may be earlier than the last record's, and not later than that of the last
 * catch_up(). What a process had mapped before is kept, up to a thousand ranges; so is
 * a process that has ended, until so many others have.
 *
 * If only a tree of processes is told of, stacks may be of others: of who woke a thread
 * of the tree, or of whatever an interrupt came upon that did. What such a process
 * has mapped is looked for once a program (program.h), when the first of its stacks is
 * walked; if it has ended or executes another program by then, it isn't known. What
 * it maps after that look is not seen.
 *
 * A stack is of the program's half: the frame that was interrupted, then callers.
 * Code without rules (made at run time, or without .eh_frame) is walked by frame
 * pointers. A copy that ends before the stack does makes a stack that ends `deep`. Of a
 * process of which it isn't known what it had mapped, a stack is its first frame.
 *
 * Of a process whose stack begins in no file, it is found out at once, while it lives,
 * where it would say what code it has made (perf_map.h).
 *
 * Cost: a search among the process's mappings for each frame, and what images.h says.
 * One thread.
 */
#ifndef SOURCE_SAMPLE_MAPPED_CODE_H
#define SOURCE_SAMPLE_MAPPED_CODE_H

#include "base/hash.h"
#include "source/callstacks.h"
#include "source/perf_map.h"
#include "source/sample/images.h"
#include "source/sample/perf.h"
#include "source/statedump/buildid.h"

#define SONDE_PERF_PROCESSES_MAX (1u << 16)
#define SONDE_PERF_RANGES_MAX    (1u << 14) /* of a process */
#define SONDE_PERF_ENDED_MAX     4096u
#define SONDE_PERF_LOOKS_MAX     4096u
/* Processes that make code at run time: each costs a descriptor. */
#define SONDE_PERF_MAKERS_MAX 256u

/* A process of which a stack was in no file: what it says of such code is where
 * perf_map.h knows. */
struct sonde_perf_maker {
	int32_t pid;
	struct sonde_source_code_place place;
};

/* A look at a program that nobody tells of. */
struct sonde_perf_look {
	struct sonde_key key; /* of `programs` */
	uint64_t since;       /* its first stack's time */
	uint32_t nr;          /* mappings; 0: it was gone */
};

struct sonde_perf_code {
	struct sonde_hash processes; /* by number */
	struct sonde_hash programs;  /* of those nobody tells of */
	struct sonde_perf_images images;
	void (*catch_up)(void *ctx); /* NULL: nobody tells of processes */
	void *ctx;
	uint32_t nr_makers;
	struct sonde_perf_maker *makers;
	uint32_t round;    /* of catch_up() */
	uint32_t nr_ended; /* ever: where the next one goes */
	int32_t ended[SONDE_PERF_ENDED_MAX];
	struct sonde_build_ids build_ids; /* of what was looked for */
	uint32_t nr_looks;                /* ever; the oldest are forgotten */
	struct sonde_key looks[SONDE_PERF_LOOKS_MAX];
};

/* NULL: no memory. */
struct sonde_perf_code *sonde_perf_code_new(void);
/* NULL is fine. */
void sonde_perf_code_free(struct sonde_perf_code *code);

/* A record that isn't a sample: what it says of processes and their mappings, at
 * that time of the session's clock. What there is no memory for is walked by frame
 * pointers. */
void sonde_perf_code_heed(struct sonde_perf_code *code,
			  const struct sonde_perf_record *record,
			  const char *build_id, uint64_t at);

/* Who has the records lets all be heeded that there are when catch_up() is called;
 * NULL: there are no more. */
void sonde_perf_code_follow(struct sonde_perf_code *code,
			    void (*catch_up)(void *ctx), void *ctx);
/* Before walks of what was just read from elsewhere. */
void sonde_perf_code_catch_up(struct sonde_perf_code *code);

struct sonde_stacks_position; /* ring/walk.h */

/* Where the walk of a copied stack begins. */
void sonde_perf_code_begin(const struct sonde_perf_user *user,
			   struct sonde_stacks_position *ret_at);

/* Adds the program's half of a stack to the chain, which has the kernel's. */
void sonde_perf_code_walk(struct sonde_perf_code *code,
			  const struct sonde_perf_user *user,
			  struct sonde_callstacks_chain *chain);

/* The i-th look, if it is among the last LOOKS_MAX and no later one told the same.
 * A program may be looked at again, with an earlier `since`. */
bool sonde_perf_code_looked(const struct sonde_perf_code *code, uint32_t i,
			    struct sonde_perf_look *ret_look);
/* What the program had mapped, `k` < nr: code; returns its file's build-id. NULL: it
 * is not known which file. */
const char *
sonde_perf_code_looked_mapping(const struct sonde_perf_code *code,
			       const struct sonde_perf_look *look, uint32_t k,
			       struct sonde_statedump_mapping *ret_mapping);

/* Adds frames that the kernel found by frame pointers, the innermost first, of which
 * there were no more than `most`: as far as they lead from a frame to its caller. So
 * they do where the code's rules say that it keeps a frame pointer, or it has none.
 * Of `user` nothing counts but at, pid and depth. */
void sonde_perf_code_believe(struct sonde_perf_code *code,
			     const struct sonde_perf_user *user,
			     const uint64_t *frames, uint32_t nr, uint32_t most,
			     struct sonde_callstacks_chain *chain);

#endif /* SOURCE_SAMPLE_MAPPED_CODE_H */
