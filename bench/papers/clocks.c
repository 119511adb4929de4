/* SPDX-License-Identifier: MIT */
/*
 * clocks.c - what reading a clock costs, what making 64 bits of a narrow counter
 * adds (src/clock/narrow.h), and how far both are off.
 *
 *	clocks		cost: lines as measure.h prints them, ns; and "mhz" of
 *			the counter
 *	clocks mhz	that alone
 *	clocks narrow S	for S seconds the counter's low 28 bits, which wrap
 *			some ten times a second, extended, each reading between
 *			two of the whole counter; a timer's signal updates every
 *			10 ms, on top of readers: "narrow READINGS WRAPS WRONG"
 *	clocks timer S	a timer of 4 ms for S seconds, each expiry stamped in
 *			its signal's handler by the counter: "timer COUNT MIN
 *			MEAN MAX DEVIATION", of the intervals, ns
 */
#include <math.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "../measure.h"

static uint64_t monotonic_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* it is always there */
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#define SONDE_NARROW_COUNTER()   measure_tsc()
#define SONDE_NARROW_OTHER()     monotonic_ns()
#define SONDE_NARROW_TICKS(span) ((uint64_t)((double)(span)*ticks_per_ns))
static double ticks_per_ns;
#include "clock/narrow.h"

#define NARROW_BITS 28u

static struct sonde_narrow narrow;

/* ---- what a reading costs ---- */

#define READING(name, expression)                                      \
	static void run_##name(long nr)                                \
	{                                                              \
		uint64_t sum = 0;                                      \
                                                                       \
		for (long i = 0; i < nr; i++) {                        \
			sum += (uint64_t)(expression);                 \
			__asm__ volatile("" : "+r"(sum) : : "memory"); \
		}                                                      \
	}

static inline void fence(void)
{
#ifdef __x86_64__
	__builtin_ia32_lfence();
#else
	__asm__ volatile("isb" : : : "memory");
#endif
}

/* Neither before what stands before it, nor behind what stands behind it. */
static inline uint64_t fenced(void)
{
	uint64_t ticks;

	fence();
	ticks = measure_tsc();
	fence();
	return ticks;
}

static uint64_t by_syscall(void)
{
	struct timespec t;

	(void)syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_nsec;
}

static uint64_t far_time(void)
{
	uint64_t other;

	return sonde_narrow_far(&narrow, &other);
}

READING(nothing, i)
READING(counter, measure_tsc())
READING(fenced, fenced())
READING(narrow, sonde_narrow_now(&narrow))
READING(far, far_time())
READING(monotonic, monotonic_ns())
READING(syscall, by_syscall())

static struct measure_variant variants[] = {
	{ .name = "nothing", .run = run_nothing, .nr = 200000 },
	{ .name = "counter", .run = run_counter, .nr = 200000 },
	{ .name = "fenced", .run = run_fenced, .nr = 200000 },
	{ .name = "narrow", .run = run_narrow, .nr = 200000 },
	{ .name = "far", .run = run_far, .nr = 100000 },
	{ .name = "monotonic", .run = run_monotonic, .nr = 100000 },
	{ .name = "syscall", .run = run_syscall, .nr = 20000 },
};

/* ---- errors ---- */

static void calibrate(void)
{
	uint64_t ns = monotonic_ns();
	uint64_t ticks = measure_tsc();

	while (monotonic_ns() - ns < 50000000u)
		;
	ticks_per_ns =
		(double)(measure_tsc() - ticks) / (double)(monotonic_ns() - ns);
	sonde_narrow_init(&narrow, NARROW_BITS, measure_tsc(), monotonic_ns());
}

static void every(long us, void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler,
				    .sa_flags = SA_RESTART };
	struct itimerval timer = { .it_interval = { 0, us },
				   .it_value = { 0, us } };

	if (sigaction(SIGALRM, &action, NULL) ||
	    setitimer(ITIMER_REAL, &timer, NULL)) {
		perror("clocks: a timer");
		exit(1);
	}
}

static void on_update(int signal)
{
	(void)signal;
	sonde_narrow_update(&narrow);
}

static int check_narrow(uint64_t ns)
{
	uint64_t until = monotonic_ns() + ns;
	uint64_t nr = 0;
	uint64_t wrong = 0;
	uint64_t first = measure_tsc();
	uint64_t before;

	every(10000, on_update);
	do {
		uint64_t time;

		before = fenced();
		time = sonde_narrow_now(&narrow);
		wrong += time < before || time > fenced();
	} while (++nr % 1024 || monotonic_ns() < until);
	printf("narrow %llu %llu %llu\n", (unsigned long long)nr,
	       (unsigned long long)((before >> NARROW_BITS) -
				    (first >> NARROW_BITS)),
	       (unsigned long long)wrong);
	return 0;
}

enum {
	NR_STAMPS = 100000
};
static uint64_t stamps[NR_STAMPS];
static volatile uint32_t nr_stamps;

static void on_stamp(int signal)
{
	uint32_t nr = nr_stamps;

	(void)signal;
	if (nr < NR_STAMPS) {
		stamps[nr] = measure_tsc();
		nr_stamps = nr + 1;
	}
}

static int check_timer(uint64_t ns)
{
	uint64_t until = monotonic_ns() + ns;
	double min = HUGE_VAL;
	double max = 0;
	double sum = 0;
	double squares = 0;
	uint32_t nr;

	every(4000, on_stamp);
	while (monotonic_ns() < until)
		(void)pause();
	nr = nr_stamps;
	if (nr < 3)
		return 1;
	for (uint32_t i = 1; i < nr; i++) {
		double gap = (double)(stamps[i] - stamps[i - 1]) / ticks_per_ns;

		min = fmin(min, gap);
		max = fmax(max, gap);
		sum += gap;
		squares += (gap - 4e6) * (gap - 4e6);
	}
	sum /= nr - 1;
	printf("timer %u %.0f %.0f %.0f %.0f\n", nr - 1, min, sum, max,
	       sqrt(fmax(squares / (nr - 1) - (sum - 4e6) * (sum - 4e6), 0)));
	return 0;
}

int main(int argc, char **argv)
{
	size_t nr = sizeof(variants) / sizeof(variants[0]);
	uint64_t ns = argc > 2 ? (uint64_t)(atof(argv[2]) * 1e9) : 0;

	calibrate();
	if (argc < 3)
		printf("mhz %.2f\n", ticks_per_ns * 1e3);
	if (argc == 2)
		return 0;
	if (argc > 2 && !strcmp(argv[1], "narrow"))
		return check_narrow(ns);
	if (argc > 2 && !strcmp(argv[1], "timer"))
		return check_timer(ns);
	measure_all(variants, nr);
	measure_print("", variants, nr);
	return 0;
}
