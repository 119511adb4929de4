/* SPDX-License-Identifier: MIT */
/*
 * hot_body.h - the measuring program, the same for each tracer. Before it is
 * included: EVENT_INT(i), EVENT_FOUR(i), EVENT_STRING(i, s), EVENT_OFF(i), and
 * TRACER, a string.
 *
 *	hot_TRACER		all variants, one thread
 *	hot_TRACER cold		events with 8 MiB touched in between
 *	hot_TRACER hits NR	int events one by one: "TRACER NAME MIN MEAN MAX
 *				DEVIATION P50 P99.99 EVENTS", cycles; of "reads"
 *				nothing is between two reads of the counter, of
 *				"call" a system call
 *	hot_TRACER hits NR cold	the same, with 8 MiB touched in between
 *	hot_TRACER turns NR	the turns of a loop with an int event in each
 *	hot_TRACER paced NR RATE  NR int events, so many a second, or as fast as
 *				it goes: "TRACER paced RATE", that was reached
 *	hot_TRACER threads N [M]	one int event, N threads at once; M times
 *				as many as without (10)
 *	hot_TRACER at-once N NR	NR int events by each of N threads at once, each on
 *				a CPU: "TRACER at-onceN TICKS", of the counter from
 *				the first's begin to the last's end, by all events
 *	hot_TRACER emit N	N int events and nothing else
 *	hot_TRACER wait		all variants, once a line can be read
 */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "measure.h"

static void run_int(long nr)
{
	for (long i = 0; i < nr; i++)
		EVENT_INT((int)i);
}

static void run_four(long nr)
{
	for (long i = 0; i < nr; i++)
		EVENT_FOUR(i);
}

static const char *volatile text = "eighteen character";

static void run_string(long nr)
{
	for (long i = 0; i < nr; i++)
		EVENT_STRING((int)i, text);
}

static void run_off(long nr)
{
	for (long i = 0; i < nr; i++) {
		EVENT_OFF((int)i);
		__asm__ volatile("" ::: "memory");
	}
}

static struct measure_variant variants[] = {
	{ .name = "loop", .run = measure_loop, .nr = 200000 },
	{ .name = "floor", .run = measure_floor, .nr = 200000 },
	{ .name = "int", .run = run_int, .nr = 200000 },
	{ .name = "four", .run = run_four, .nr = 200000 },
	{ .name = "string", .run = run_string, .nr = 200000 },
	{ .name = "disabled", .run = run_off, .nr = 200000 },
};

/* Per event, what an int event adds between two reads of the counter. */
static void cold(void)
{
	enum {
		NR = 400
	};
	static double ns[NR];
	static double bare[NR];

	for (int i = 0; i < NR; i++) {
		uint64_t start;

		measure_chill();
		start = measure_tsc();
		EVENT_INT(i);
		ns[i] = (double)(measure_tsc() - start);
		measure_chill();
		start = measure_tsc();
		__asm__ volatile("" ::: "memory");
		bare[i] = (double)(measure_tsc() - start);
	}
	qsort(ns, NR, sizeof(ns[0]), measure_compare);
	qsort(bare, NR, sizeof(bare[0]), measure_compare);
	printf(TRACER " cold-cycles %.1f %.1f %.1f\n",
	       ns[NR / 2] - bare[NR / 2], ns[NR / 10] - bare[NR / 2],
	       ns[NR * 9 / 10] - bare[NR / 2]);
}

/* ---- one by one ---- */

static void hit_nothing(int i)
{
	(void)i;
	__asm__ volatile("" ::: "memory");
}

static void hit_int(int i)
{
	EVENT_INT(i);
}

static void hit_off(int i)
{
	EVENT_OFF(i);
	__asm__ volatile("" ::: "memory");
}

/* Two events of the kernel, if its calls are recorded. */
static void hit_call(int i)
{
	(void)i;
	(void)syscall(SYS_getppid);
}

/* The counter, read neither before nor behind where it stands. */
static inline uint64_t fenced_tsc(void)
{
#ifdef __x86_64__
	uint64_t ticks;

	__builtin_ia32_lfence();
	ticks = measure_tsc();
	__builtin_ia32_lfence();
	return ticks;
#else
	__asm__ volatile("isb" ::: "memory");
	return measure_tsc();
#endif
}

/* Room for each of so many, touched and locked as far as it may be. */
static double *cycles_new(long nr)
{
	double *cycles = calloc((size_t)nr, sizeof(*cycles));

	if (!cycles)
		exit(1);
	memset(cycles, 1, (size_t)nr * sizeof(*cycles));
	(void)mlockall(MCL_CURRENT | MCL_FUTURE);
	return cycles;
}

static void cycles_print(const char *name, double *cycles, long nr)
{
	double sum = 0;
	double squares = 0;

	for (long i = 0; i < nr; i++)
		sum += cycles[i];
	sum /= (double)nr;
	for (long i = 0; i < nr; i++)
		squares += (cycles[i] - sum) * (cycles[i] - sum);
	qsort(cycles, (size_t)nr, sizeof(*cycles), measure_compare);
	printf(TRACER " %s %.0f %.2f %.0f %.2f %.0f %.0f %ld\n", name,
	       cycles[0], sum, cycles[nr - 1], sqrt(squares / (double)nr),
	       cycles[nr / 2], cycles[nr - 1 - nr / 10000], nr);
}

static void hits(const char *name, void (*volatile hit)(int), long nr,
		 int is_cold)
{
	double *cycles = cycles_new(nr);

	for (int i = 0; i < 1000; i++)
		hit(i); /* warm up */
	for (long i = 0; i < nr; i++) {
		uint64_t start;

		if (is_cold)
			measure_chill();
		start = fenced_tsc();
		hit((int)i);
		cycles[i] = (double)(fenced_tsc() - start);
	}
	cycles_print(name, cycles, nr);
	free(cycles);
}

static void all_hits(long nr, int is_cold)
{
	hits("reads", hit_nothing, nr, is_cold);
	hits("off", hit_off, nr, is_cold);
	hits("int", hit_int, nr, is_cold);
	hits("call", hit_call, nr, is_cold);
}

/* From the begin of a turn to that of the next. */
static void turns(long nr)
{
	double *cycles = cycles_new(nr);
	uint64_t last;

	for (int i = 0; i < 1000; i++)
		hit_int(i); /* warm up */
	last = measure_tsc();
	for (long i = 0; i < nr; i++) {
		uint64_t now;

		EVENT_INT((int)i);
		now = measure_tsc();
		cycles[i] = (double)(now - last);
		last = now;
	}
	cycles_print("turns", cycles, nr);
	free(cycles);
}

static double wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void paced(long nr, double rate)
{
	double begin_ns = wall_ns();
	uint64_t begin = measure_tsc();
	double per_event;

	while (wall_ns() - begin_ns < 20e6)
		; /* how fast is the counter? */
	per_event = (double)(measure_tsc() - begin) / (wall_ns() - begin_ns) *
		    1e9 / rate;
	begin_ns = wall_ns();
	begin = measure_tsc();
	for (long i = 0; i < nr; i++) {
		while ((double)(measure_tsc() - begin) < (double)i * per_event)
			;
		EVENT_INT((int)i);
	}
	printf(TRACER " paced %.0f\n",
	       (double)nr * 1e9 / (wall_ns() - begin_ns));
}

static void *one_thread(void *arg)
{
	struct measure_variant *v = arg;

	measure_all(v, 1);
	return NULL;
}

static void threads(int nr, long factor)
{
	struct measure_variant v[64];
	pthread_t thread[64];
	char prefix[64];

	for (int i = 0; i < nr && i < 64; i++) {
		v[i] = variants[2];
		v[i].nr *= factor;
		if (pthread_create(&thread[i], NULL, one_thread, &v[i]))
			exit(1);
	}
	for (int i = 0; i < nr && i < 64; i++) {
		(void)pthread_join(thread[i], NULL);
		(void)snprintf(prefix, sizeof(prefix), TRACER " threads%d-",
			       nr);
		measure_print(prefix, &v[i], 1);
	}
}

/* ---- at once, by the counter ---- */

struct at_once {
	pthread_barrier_t *barrier;
	long nr;
	int cpu;
	uint64_t begin;
	uint64_t end;
};

static void *emit_at_once(void *arg)
{
	struct at_once *me = arg;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(me->cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		exit(1);
	run_int(1000); /* warm up */
	(void)pthread_barrier_wait(me->barrier);
	me->begin = measure_tsc();
	run_int(me->nr);
	me->end = measure_tsc();
	return NULL;
}

static void at_once(int nr, long events)
{
	struct at_once all[64] = { 0 };
	pthread_t thread[64];
	pthread_barrier_t barrier;
	uint64_t begin = UINT64_MAX;
	uint64_t end = 0;

	if (nr < 1 || nr > 64 || pthread_barrier_init(&barrier, NULL, nr))
		exit(1);
	for (int i = 0; i < nr; i++) {
		all[i] = (struct at_once){ &barrier, events, i, 0, 0 };
		if (pthread_create(&thread[i], NULL, emit_at_once, &all[i]))
			exit(1);
	}
	for (int i = 0; i < nr; i++) {
		(void)pthread_join(thread[i], NULL);
		if (all[i].begin < begin)
			begin = all[i].begin;
		if (all[i].end > end)
			end = all[i].end;
	}
	printf(TRACER " at-once%d %.2f\n", nr,
	       (double)(end - begin) / ((double)events * nr));
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "cold")) {
		cold();
	} else if (argc > 2 && !strcmp(argv[1], "hits")) {
		all_hits(atol(argv[2]), argc > 3);
	} else if (argc > 2 && !strcmp(argv[1], "turns")) {
		turns(atol(argv[2]));
	} else if (argc > 3 && !strcmp(argv[1], "paced")) {
		paced(atol(argv[2]), atof(argv[3]));
	} else if (argc > 2 && !strcmp(argv[1], "threads")) {
		threads(atoi(argv[2]), argc > 3 ? atol(argv[3]) : 10);
	} else if (argc > 3 && !strcmp(argv[1], "at-once")) {
		at_once(atoi(argv[2]), atol(argv[3]));
	} else if (argc > 2 && !strcmp(argv[1], "emit")) {
		run_int(atol(argv[2]));
	} else {
		if (argc > 1 && !strcmp(argv[1], "wait"))
			getchar();
		measure_all(variants, sizeof(variants) / sizeof(variants[0]));
		measure_print(TRACER " ", variants,
			      sizeof(variants) / sizeof(variants[0]));
	}
	return 0;
}
