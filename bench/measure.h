/* SPDX-License-Identifier: MIT */
/*
 * measure.h - what the measuring programs share: time per iteration, as CPU
 * time of the thread, so that preemption by neighbours doesn't count; variants
 * interleaved, so that the machine's moods hit all alike; medians.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MEASURE_ROUNDS 41
#define MEASURE_RING   (1u << 20)

struct measure_variant {
	const char *name;
	void (*run)(long nr);
	long nr; /* iterations per round */
	double ns[MEASURE_ROUNDS];
};

static inline double measure_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline uint64_t measure_tsc(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	uint64_t counter;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(counter));
	return counter;
#endif
}

/* The floor: what any tracer must do. Read the counter, store 32 bytes. */
static inline void measure_floor(long nr)
{
	static __thread unsigned char ring[MEASURE_RING]
		__attribute__((aligned(64)));
	static __thread uint64_t pos;

	for (long i = 0; i < nr; i++) {
		uint64_t *p = (void *)(ring + (pos & (MEASURE_RING - 1)));

		p[0] = measure_tsc();
		p[1] = (uint64_t)i;
		p[2] = (uint64_t)i;
		p[3] = (uint64_t)i;
		pos += 32;
		__asm__ volatile("" ::: "memory");
	}
}

static inline void measure_loop(long nr)
{
	for (long i = 0; i < nr; i++)
		__asm__ volatile("" ::: "memory");
}

static inline int measure_compare(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Runs all variants in turn, MEASURE_ROUNDS times. */
static inline void measure_all(struct measure_variant *v, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		v[i].run(v[i].nr); /* warm up */
	for (int round = 0; round < MEASURE_ROUNDS; round++) {
		for (size_t i = 0; i < nr; i++) {
			double start = measure_cpu_ns();

			v[i].run(v[i].nr);
			v[i].ns[round] =
				(measure_cpu_ns() - start) / (double)v[i].nr;
		}
	}
	for (size_t i = 0; i < nr; i++)
		qsort(v[i].ns, MEASURE_ROUNDS, sizeof(v[i].ns[0]),
		      measure_compare);
}

/* One line per variant: name, median, first and ninth decile; ns. */
static inline void measure_print(const char *prefix,
				 const struct measure_variant *v, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		printf("%s%s %.3f %.3f %.3f\n", prefix, v[i].name,
		       v[i].ns[MEASURE_ROUNDS / 2],
		       v[i].ns[MEASURE_ROUNDS / 10],
		       v[i].ns[MEASURE_ROUNDS * 9 / 10]);
}

/* 8 MiB of other memory, read between two events: what a cold cache costs. */
static inline void measure_chill(void)
{
	static unsigned char other[8u << 20];
	static unsigned sum;

	for (size_t i = 0; i < sizeof(other); i += 64)
		sum += other[i]++;
	__asm__ volatile("" ::"r"(sum) : "memory");
}

#endif /* BENCH_MEASURE_H */
