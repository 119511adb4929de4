/* SPDX-License-Identifier: MIT */
/*
 * sdt_work.c - two loops, in turn: one that does nothing, and one that comes to a
 * probe of <sys/sdt.h> with an int. Prints, for each of so many turns, CPU time of
 * a round of each, in nanoseconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/sdt.h>
#include <time.h>

#define ROUNDS 1000000

static double now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double time_nothing(void)
{
	double begin = now_ns();

	for (int i = 0; i < ROUNDS; i++)
		__asm__ volatile("nop; nop" : : "r"(i));
	return (now_ns() - begin) / ROUNDS;
}

static double time_probe(void)
{
	double begin = now_ns();

	for (int i = 0; i < ROUNDS; i++) {
		DTRACE_PROBE1(work, round, i);
		__asm__ volatile("nop" : : "r"(i));
	}
	return (now_ns() - begin) / ROUNDS;
}

int main(int argc, char **argv)
{
	int turns = argc > 1 ? atoi(argv[1]) : 1;

	for (int i = 0; i < turns; i++) {
		double nothing = time_nothing();

		printf("%.2f %.2f\n", nothing, time_probe());
	}
	return 0;
}
