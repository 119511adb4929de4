/* SPDX-License-Identifier: MIT */
/*
 * stacks_event.c - events below 13 calls of one function, so that their stacks
 * have 16 frames with the C library's and the start of the program. Prints CPU
 * time per event in nanoseconds, a line for each of so many turns.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <sonde/tracepoint.h>

#define CALLS  12
#define EVENTS 1000000

static volatile int sink;

static double now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double emit(void)
{
	double begin = now_ns();

	for (int i = 0; i < EVENTS; i++)
		sonde_event(bench, deep, i);
	return (now_ns() - begin) / EVENTS;
}

#ifdef __clang__ /* makes no copies of functions */
#define ALONE __attribute__((noinline))
#else
#define ALONE __attribute__((noinline, noclone))
#endif

/* NOLINTNEXTLINE(misc-no-recursion): that is what is measured */
ALONE static double below(int calls)
{
	double ns = calls ? below(calls - 1) : emit();

	sink++;
	return ns;
}

int main(int argc, char **argv)
{
	int turns = argc > 1 ? atoi(argv[1]) : 1;

	for (int i = 0; i < turns; i++)
		printf("%.2f\n", below(CALLS));
	return 0;
}
