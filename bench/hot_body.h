/* SPDX-License-Identifier: MIT */
/*
 * hot_body.h - the measuring program, the same for each tracer. Before it is
 * included: EVENT_INT(i), EVENT_FOUR(i), EVENT_STRING(i, s), EVENT_OFF(i), and
 * TRACER, a string.
 *
 *	hot_TRACER		all variants, one thread
 *	hot_TRACER cold		events with 8 MiB touched in between
 *	hot_TRACER threads N	one int event, N threads at once
 *	hot_TRACER emit N	N int events and nothing else
 */
#include <pthread.h>

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

static void *one_thread(void *arg)
{
	struct measure_variant *v = arg;

	measure_all(v, 1);
	return NULL;
}

static void threads(int nr)
{
	struct measure_variant v[64];
	pthread_t thread[64];
	char prefix[64];

	for (int i = 0; i < nr && i < 64; i++) {
		v[i] = variants[2];
		v[i].nr *= 10;
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

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "cold")) {
		cold();
	} else if (argc > 2 && !strcmp(argv[1], "threads")) {
		threads(atoi(argv[2]));
	} else if (argc > 2 && !strcmp(argv[1], "emit")) {
		run_int(atol(argv[2]));
	} else {
		measure_all(variants, sizeof(variants) / sizeof(variants[0]));
		measure_print(TRACER " ", variants,
			      sizeof(variants) / sizeof(variants[0]));
	}
	return 0;
}
