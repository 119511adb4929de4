/* SPDX-License-Identifier: MIT */
/*
 * bounded.c - system calls, each between two reads of the clock: an event of
 * the call has a time that is right only if it lies between them.
 *
 *	bounded counter|monotonic NR FILE
 *
 * The pairs go to FILE (bounded.h). The counter is read behind all that came
 * before it, and before all that follows.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bounded.h"

static inline uint64_t counter(void)
{
#ifdef __x86_64__
	uint64_t value;

	__builtin_ia32_lfence();
	value = __builtin_ia32_rdtsc();
	__builtin_ia32_lfence();
	return value;
#else
	uint64_t value;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb"
			 : "=r"(value)::"memory");
	return value;
#endif
}

static inline uint64_t monotonic(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* it is always there */
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void run_counter(struct bounded_pair *pairs, uint64_t nr)
{
	for (uint64_t i = 0; i < nr; i++) {
		pairs[i].before = counter();
		(void)syscall(SYS_getppid);
		pairs[i].after = counter();
	}
}

static void run_monotonic(struct bounded_pair *pairs, uint64_t nr)
{
	for (uint64_t i = 0; i < nr; i++) {
		pairs[i].before = monotonic();
		(void)syscall(SYS_getppid);
		pairs[i].after = monotonic();
	}
}

static int save(const char *path, const struct bounded_head *head,
		const struct bounded_pair *pairs)
{
	FILE *file = fopen(path, "we");
	int failed;

	if (!file)
		return -1;
	failed = fwrite(head, sizeof(*head), 1, file) != 1 ||
		 fwrite(pairs, sizeof(*pairs), head->nr, file) != head->nr;
	return fclose(file) || failed ? -1 : 0;
}

int main(int argc, char **argv)
{
	struct bounded_head head = { .magic = BOUNDED_MAGIC,
				     .tid = (uint32_t)getpid() };
	struct bounded_pair *pairs;

	if (argc != 4 || (strcmp(argv[1], "counter") != 0 &&
			  strcmp(argv[1], "monotonic") != 0)) {
		fprintf(stderr, "usage: bounded counter|monotonic NR FILE\n");
		return 2;
	}
	head.nr = strtoull(argv[2], NULL, 10);
	head.clock = argv[1][0] == 'c' ? BOUNDED_COUNTER : BOUNDED_MONOTONIC;
	pairs = calloc(head.nr + 1, sizeof(*pairs));
	if (!pairs) {
		perror("bounded");
		return 1;
	}
	/* Touched first: faults would be between the reads. */
	memset(pairs, 0xff, head.nr * sizeof(*pairs));
	if (head.clock == BOUNDED_COUNTER)
		run_counter(pairs, head.nr);
	else
		run_monotonic(pairs, head.nr);
	if (save(argv[3], &head, pairs)) {
		perror(argv[3]);
		free(pairs);
		return 1;
	}
	free(pairs);
	return 0;
}
