/* SPDX-License-Identifier: MIT */
/*
 * attach_spin.c - what bench/attach_probes attaches to, to see for how long it is
 * stopped: one thread that looks at the clock all the time and, when it is asked
 * by a line, says the longest time between two looks since it was asked last, in
 * nanoseconds. It has a mutex and memory, so that there is something to put in.
 */
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define LOOKS 4096 /* between two questions whether there is one */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void work(void)
{
	void *block = malloc(32);

	__asm__ volatile("" : "+r"(block) : : "memory");
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	free(block);
}

static uint64_t longest_gap_ns(void)
{
	uint64_t longest = 0;
	uint64_t last = now_ns();

	for (int i = 0; i < LOOKS; i++) {
		uint64_t now = now_ns();

		if (now - last > longest)
			longest = now - last;
		last = now;
	}
	return longest;
}

int main(void)
{
	struct pollfd asked = { .fd = STDIN_FILENO, .events = POLLIN };
	uint64_t longest = 0;
	char line[64];

	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	for (;;) {
		uint64_t gap = longest_gap_ns();
		uint64_t begin;

		work();
		if (gap > longest)
			longest = gap;
		/* The question itself is no gap, but a stop in it is one. */
		begin = now_ns();
		if (poll(&asked, 1, 0) == 0) {
			gap = now_ns() - begin;
			longest = gap > longest ? gap : longest;
			continue;
		}
		if (read(STDIN_FILENO, line, sizeof(line)) <= 0)
			return 0;
		printf("%llu\n", (unsigned long long)longest);
		longest = 0;
	}
}
