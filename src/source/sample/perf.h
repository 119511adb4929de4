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
#define SONDE_PERF_RING_BYTES   (512u << 10)
#define SONDE_PERF_RECORD_MAX   (64u << 10)
#define SONDE_PERF_BUILD_ID_MAX 20u

struct sonde_perf_config {
	uint32_t cpu;
	pid_t pid;      /* it, and what it starts from then on; -1: everybody */
	uint32_t hz;    /* 0: no samples, only what names need */
	bool no_kernel; /* not while a thread is in the kernel */
	bool has_ids;   /* records say whose they are: sonde_perf_take_id() */
};

struct sonde_perf_ring {
	int fd;    /* -1: closed */
	void *map; /* NULL: there is none */
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
	SONDE_PERF_LOST,
};

struct sonde_perf_record {
	enum sonde_perf_kind kind;
	uint64_t ns;
	int32_t pid, tid;
	int32_t parent; /* of one that BEGAN; 0: it executed a program */
	uint64_t lost;
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

/* False: it makes no sense. */
bool sonde_perf_parse(const void *record, size_t size,
		      struct sonde_perf_record *ret_record);

#endif /* SOURCE_SAMPLE_PERF_H */
