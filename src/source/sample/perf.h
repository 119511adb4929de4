/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * perf.h - a CPU's samples, as the kernel's perf events deliver them: an event
 * on the CPU's clock, and the ring that it writes to; and what a record of it
 * says.
 *
 * Besides samples the ring has what is needed to name addresses: processes that
 * begin, by a fork or by executing a program, and the files with code that they
 * map. Times are CLOCK_MONOTONIC's.
 *
 * A ring that is full loses records, and says how many in a record of its own.
 * Parsing is pure, and takes nothing of a record for granted.
 */
#ifndef SOURCE_SAMPLE_PERF_H
#define SOURCE_SAMPLE_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "source/callstacks.h"
#include "source/statedump/model.h"

/* A ring's data: with the page before it, what a user may lock for each CPU
 * where nobody has changed kernel.perf_event_mlock_kb. */
#define SONDE_PERF_RING_BYTES (512u << 10)
/* What is tried first, of all CPUs together; no ring has more than the second. */
#define SONDE_PERF_RINGS_BYTES    (64u << 20)
#define SONDE_PERF_RING_BYTES_MAX (8u << 20)
#define SONDE_PERF_RECORD_MAX     (64u << 10)
/* What is copied of a stack. Less than that many frames of most programs need; the
 * ring has room for 60 of them. */
#ifdef __x86_64__
#define SONDE_PERF_STACK_BYTES 8192u
#else
#define SONDE_PERF_STACK_BYTES 0u
#endif
#define SONDE_PERF_BUILD_ID_MAX 20u

struct sonde_perf_config {
	uint32_t cpu;
	uint32_t nr_cpus; /* that have rings; 0: one */
	pid_t pid;      /* it, and what it starts from then on; -1: everybody */
	uint32_t hz;    /* 0: no samples, only what names need */
	bool no_kernel; /* not while a thread is in the kernel */
	/* Of a program's stack, copied with each sample, as on this CPU rules of
	 * unwinding are known (SONDE_PERF_STACK_BYTES); 0: nothing. */
	uint32_t stack_bytes;
	bool has_ids; /* records say whose they are: sonde_perf_take_id() */
};

struct sonde_perf_ring {
	int fd;         /* -1: closed */
	void *map;      /* NULL: there is none */
	uint32_t bytes; /* of its data, a power of two */
	uint64_t tail;
	uint8_t room[SONDE_PERF_RECORD_MAX]; /* of a record */
};

/* Nothing is counted before sonde_perf_switch(). 0 or -errno. */
int sonde_perf_open(struct sonde_perf_ring *ring,
		    const struct sonde_perf_config *config);
/* Of one that was opened, or is all zeros but for fd -1. */
void sonde_perf_close(struct sonde_perf_ring *ring);
void sonde_perf_switch(struct sonde_perf_ring *ring, bool on);

/* An event without a ring of its own: its records go to that one, of the same CPU.
 * Off; a descriptor for close(), or -errno. */
int sonde_perf_add(const struct sonde_perf_ring *ring,
		   const struct sonde_perf_config *config, uint64_t *ret_id);
void sonde_perf_switch_event(int fd, bool on);

/* Whether this user may have such an event at all. 0 or -errno. */
int sonde_perf_try(const struct sonde_perf_config *config);

/* The next record, a copy, until the next call; NULL: there is none by now. */
void *sonde_perf_next(struct sonde_perf_ring *ring, size_t *ret_size);

/* ---- records ---- */

enum sonde_perf_kind {
	SONDE_PERF_OTHER,
	SONDE_PERF_SAMPLE,
	SONDE_PERF_MAPPED,
	SONDE_PERF_BEGAN, /* a process, by a fork or an exec */
	SONDE_PERF_ENDED, /* a process's first thread */
	SONDE_PERF_LOST,
};

struct sonde_perf_record {
	enum sonde_perf_kind kind;
	uint64_t ns;
	int32_t pid, tid;
	int32_t parent; /* of one that BEGAN; 0: it executed a program */
	uint64_t lost;
	uint32_t nr_kernel; /* frames of the chain, which come first */
	struct sonde_callstacks_chain chain; /* of a SAMPLE */
	/* Of what was MAPPED; the path is in the record. */
	struct sonde_statedump_mapping mapping;
	uint8_t build_id[SONDE_PERF_BUILD_ID_MAX];
	uint32_t build_id_bytes; /* 0: it has none */
};

/* Of a record of an event with ids, the event's; of an event that was inherited, that
 * of the one it comes from. *size bytes are left at `record`, as of one without ids.
 * False: there is none. */
bool sonde_perf_take_id(void *record, size_t *size, uint64_t *ret_id);

/* Where a program was, of a sample of an event with stack_bytes; `at`, `pid` and
 * `depth` are set by who has it walked (mapped_code.h). */
struct sonde_perf_user {
	uint64_t at; /* the session's time */
	int32_t pid;
	uint32_t depth; /* SONDE_STACKS_DEPTH_MAX at most */
	uint64_t pc, sp, fp;
	/* The process's program (program.h): if nobody tells what that has mapped, it
	 * is looked for; 0: all is told. */
	uint64_t program;
	const uint8_t *stack; /* from sp on; in the record, maybe unaligned */
	uint32_t bytes;
	bool is_cut; /* there may be more of the stack than this */
};

/* False: it has none: the thread was the kernel's own, or of another kind of code
 * than ours (32 bits), or the record makes no sense. */
bool sonde_perf_parse_user(const void *record, size_t size,
			   struct sonde_perf_user *ret_user);

/* False: it makes no sense. */
bool sonde_perf_parse(const void *record, size_t size,
		      struct sonde_perf_record *ret_record);

#endif /* SOURCE_SAMPLE_PERF_H */
