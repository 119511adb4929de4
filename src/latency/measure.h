/* SPDX-License-Identifier: MIT */
/*
 * measure.h - how long CPUs are taken away from threads that want them: a loop
 * that reads the counter, a thread that sleeps until a time, one that another
 * wakes.
 *
 * A thread per CPU, pinned there, at a real-time priority if that is permitted;
 * all memory locked, if that is; whatever it will touch has been touched in the
 * warm-up, which isn't counted. All begin at the same time. While it is
 * measured, a thread makes no system call but those that are measured (a loop:
 * none), allocates nothing and takes no lock.
 *
 * What can't be had (priority, locked memory) doesn't stop it: the result says
 * so, for the caller to tell.
 */
#ifndef LATENCY_MEASURE_H
#define LATENCY_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "latency/gaps.h"

enum sonde_latency_kind {
	SONDE_LATENCY_LOOP,   /* between two readings of the counter */
	SONDE_LATENCY_TIMER,  /* from the time to wake up until it is awake */
	SONDE_LATENCY_WAKEUP, /* from a write to a pipe until it was read */
	SONDE_LATENCY_SIGNAL, /* from a signal that is sent until it is taken */
};

#define SONDE_LATENCY_CPUS 64u

struct sonde_latency_config {
	enum sonde_latency_kind kind;
	uint32_t nr_cpus;
	uint32_t cpus[SONDE_LATENCY_CPUS];
	uint64_t duration_ns, warmup_ns;
	uint64_t interval_ns; /* of all but the loop */
	uint32_t priority;    /* of SCHED_FIFO; 0: an ordinary thread */
	uint64_t over_ns; /* what is longer is counted as such; 0: nothing */
	/* Called in the loop, so often a second (0: in each turn); NULL. */
	void (*tick)(uint64_t nr);
	uint64_t rate;
	uint32_t burst; /* so many of those due in a turn, at most; 0: 1 */
	/* Called after what was longer than over_ns; NULL. */
	void (*over)(uint64_t ns);
};

/* What one thread found. */
struct sonde_latency_cpu {
	uint32_t cpu;
	uint32_t from;      /* of WAKEUP, SIGNAL: who woke it ran there */
	int priority_error; /* 0, or -errno: it ran as an ordinary thread */
	int error;          /* 0, or -errno: nothing was measured */
	uint64_t nr_over, nr_ticks;
	uint64_t preempted, faults; /* of the thread, meanwhile */
	int64_t stolen_ns;          /* of the CPU; -1 unknown */
	struct sonde_latency_gaps gaps;
};

struct sonde_latency_result {
	uint64_t freq;  /* of the ticks */
	int lock_error; /* 0, or -errno: memory was not locked */
	struct sonde_latency_cpu *cpus; /* config->nr_cpus */
};

/* 0, and the result for _fini(); or a negative errno: -ENOTSUP if there is no
 * counter to read, -EINVAL if a CPU is not one of ours. */
int sonde_latency_measure(const struct sonde_latency_config *config,
			  struct sonde_latency_result *ret_result);
void sonde_latency_result_fini(struct sonde_latency_result *result);

/* The CPUs that this process may run on, in order; how many. */
uint32_t sonde_latency_own_cpus(uint32_t cpus[SONDE_LATENCY_CPUS]);

/* How often a second the counter can be read by who does nothing else: what reads it
 * once can't be more often. Takes some milliseconds. */
double sonde_latency_clock_rate(void);

bool sonde_latency_has_cpu(const struct sonde_latency_config *config,
			   uint32_t cpu);

static inline uint64_t
sonde_latency_ns(const struct sonde_latency_result *result, uint64_t ticks)
{
	return (uint64_t)((sonde_latency_wide)ticks * 1000000000u /
			  result->freq);
}

#endif /* LATENCY_MEASURE_H */
