/* SPDX-License-Identifier: MIT */
/* measure_parts.h - what a thread that measures knows (measure.c), and the ways
 * to measure (loop.c, waits.c). */
#ifndef LATENCY_MEASURE_PARTS_H
#define LATENCY_MEASURE_PARTS_H

#include "latency/measure.h"

struct sonde_latency_thread {
	const struct sonde_latency_config *config;
	struct sonde_latency_cpu *cpu;
	uint64_t freq;
	uint64_t length_ns; /* how long to measure */
	int pipe[2];        /* of WAKEUP */
};

/* Measures for that long, and adds to the thread's gaps. 0 or -errno. */
int sonde_latency_loop(struct sonde_latency_thread *thread);
int sonde_latency_timer(struct sonde_latency_thread *thread);
/* These make a thread of their own, which wakes this one. */
int sonde_latency_wakeup(struct sonde_latency_thread *thread);
int sonde_latency_signal(struct sonde_latency_thread *thread);

/* Pins the calling thread, and gives it the priority. 0 or -errno. */
int sonde_latency_pin(uint32_t cpu);
int sonde_latency_raise(uint32_t priority);

/* A latency that was found. */
void sonde_latency_found(struct sonde_latency_thread *thread, uint64_t ns);

#endif /* LATENCY_MEASURE_PARTS_H */
