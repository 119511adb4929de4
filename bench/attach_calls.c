/* SPDX-License-Identifier: MIT */
/*
 * attach_calls.c - what bench/attach_probes attaches to: knows nothing of Sonde,
 * and says what a pair of calls costs, in nanoseconds of its CPU time, each time
 * it is asked: "malloc" for malloc and free, "lock" for a mutex.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 2000000

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void allocate(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		void *block = malloc(32);

		__asm__ volatile("" : "+r"(block) : : "memory");
		free(block);
	}
}

static void lock(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
}

int main(void)
{
	char line[64];

	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	while (fgets(line, sizeof(line), stdin)) {
		double begin = cpu_ns();

		if (line[0] == 'm')
			allocate();
		else
			lock();
		printf("%.3f\n", (cpu_ns() - begin) / ROUNDS);
	}
	return 0;
}
