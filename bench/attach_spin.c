/* SPDX-License-Identifier: MIT */
/*
 * attach_spin.c - what bench/attach_probes attaches to, to see for how long it is
 * stopped: one thread that looks at the clock all the time and, when it is asked
 * by a line, says the longest time between two looks since it was asked last, in
 * nanoseconds: of those in which the scheduler has not taken the CPU away from it
 * (its involuntary switches are as many as before; being stopped is a voluntary
 * one), and of all. It has a mutex and memory, so that there is something to put
 * in.
 */
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
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

static uint64_t longest, longest_kept;

static long nr_preemptions(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nivcsw;
}

static long preemptions; /* known so far */

static void note_gap(uint64_t gap)
{
	long now;

	if (gap <= longest_kept)
		return;
	now = nr_preemptions();
	if (now == preemptions)
		longest_kept = gap;
	preemptions = now;
	longest = gap > longest ? gap : longest;
}

static void look_for_gaps(void)
{
	uint64_t last = now_ns();

	for (int i = 0; i < LOOKS; i++) {
		uint64_t now = now_ns();

		if (now - last > longest_kept) {
			note_gap(now - last);
			now = now_ns();
		}
		last = now;
	}
}

int main(void)
{
	struct pollfd asked = { .fd = STDIN_FILENO, .events = POLLIN };
	char line[64];

	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	for (;;) {
		uint64_t begin;

		preemptions = nr_preemptions();
		look_for_gaps();
		work();
		/* The question itself is no gap, but a stop in it is one. */
		begin = now_ns();
		if (poll(&asked, 1, 0) == 0) {
			note_gap(now_ns() - begin);
			continue;
		}
		if (read(STDIN_FILENO, line, sizeof(line)) <= 0)
			return 0;
		printf("%llu %llu\n", (unsigned long long)longest_kept,
		       (unsigned long long)longest);
		longest = longest_kept = 0;
	}
}
