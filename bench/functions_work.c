/* SPDX-License-Identifier: MIT */
/*
 * functions_work.c - a function that calls itself and does nothing else. Prints,
 * for each of so many turns, CPU time per call in nanoseconds, and what a reading
 * of the clock takes.
 *
 * Built bare, for gprof and uftrace (-pg), with -finstrument-functions, with room
 * for a probe (-fpatchable-function-entry=5), and with -pg -mfentry.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#define UNTOUCHED __attribute__((no_instrument_function))
#define N         27
#define CALLS     635621 /* that fib(27) makes, itself among them */
#define READINGS  1000000

static volatile unsigned long sink;

UNTOUCHED static double now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

#ifdef __clang__ /* makes no copies of functions */
#define ALONE __attribute__((noinline))
#else
#define ALONE __attribute__((noinline, noclone))
#endif

/* NOLINTNEXTLINE(misc-no-recursion): that is what is measured */
ALONE static int fib(int n)
{
	return n < 2 ? 1 : fib(n - 1) + fib(n - 2);
}

UNTOUCHED static double time_readings(void)
{
	double begin = now_ns();

	for (int i = 0; i < READINGS; i++)
#if defined(__x86_64__)
		sink += __rdtsc();
#else
		sink += (unsigned long)now_ns();
#endif
	return (now_ns() - begin) / READINGS;
}

UNTOUCHED static double time_calls(void)
{
	double begin = now_ns();

	sink += (unsigned long)fib(N);
	return (now_ns() - begin) / CALLS;
}

UNTOUCHED int main(int argc, char **argv)
{
	int turns = argc > 1 ? atoi(argv[1]) : 1;

	for (int i = 0; i < turns; i++) {
		double calls = time_calls();

		printf("%.2f %.2f\n", calls, time_readings());
	}
	return 0;
}
