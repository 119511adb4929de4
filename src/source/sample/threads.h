/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * threads.h - samples of threads that ran already: an event for each thread and
 * CPU, whose records go to the CPU's ring (perf.h).
 *
 * What such a thread starts from then on inherits its events: threads, and
 * processes. So a process is joined by events for the threads it has, until a look
 * finds no other; one that a thread without events starts meanwhile is found by the
 * next look.
 *
 * A thread that was started between an event's opening and the look has inherited
 * events, and gets others by the look: it would be sampled twice. Its samples tell:
 * each has the id of the event that it comes from, which is another thread's. Then
 * its own are closed, and with them what others have inherited of those alone.
 * So at most the first sample of such a thread is one too many.
 *
 * Events of threads that have ended stay open, for those that inherit from them
 * would lose theirs: a descriptor for each CPU and each thread that was there.
 *
 * In the process: nothing. Neither is it stopped. One thread.
 */
#ifndef SOURCE_SAMPLE_THREADS_H
#define SOURCE_SAMPLE_THREADS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/hash.h"
#include "source/sample/perf.h"

#define SONDE_PERF_THREADS_MAX (1u << 16)

struct sonde_perf_threads {
	struct sonde_perf_config
		config; /* of each event, but for CPU and thread */
	uint32_t nr_cpus;
	bool is_on;
	struct sonde_hash threads; /* by number */
	struct sonde_hash events;  /* by id */
};

/* Zeros are none, for fini alone. */
void sonde_perf_threads_init(struct sonde_perf_threads *threads,
			     const struct sonde_perf_config *config,
			     uint32_t nr_cpus);
void sonde_perf_threads_fini(struct sonde_perf_threads *threads);

/* All threads of the process; rings[i] is CPU i's, `stride` bytes from one to the
 * next, those that aren't open are left out. 0, or -errno, and then none of those
 * that were to come; -ESRCH: it has ended. Again: those that are new. */
int sonde_perf_threads_join(struct sonde_perf_threads *threads, pid_t pid,
			    const struct sonde_perf_ring *rings, size_t stride);

/* On, or off, and so are those that join later. */
void sonde_perf_threads_switch(struct sonde_perf_threads *threads, bool on);

/* A thread was sampled by the event with this id. */
void sonde_perf_threads_saw(struct sonde_perf_threads *threads, int32_t tid,
			    uint64_t id);

#endif /* SOURCE_SAMPLE_THREADS_H */
