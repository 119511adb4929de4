/* SPDX-License-Identifier: MIT */
/*
 * program.c - calls each tracepoint of every.h, `rounds` times. Its first
 * argument is the library with the probes, if they are in one.
 *
 * Values are such that no two fields have the same by accident.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "every.h"

static int evaluated;

static int count(int value)
{
	evaluated++;
	return value;
}

static void trace(struct thing *t)
{
	int ints[] = { 5, -6, 7, 8 };

	lttng_ust_tracepoint(every, integers, -3, 0x8123456789abcdefULL, t);
	lttng_ust_tracepoint(every, pointers, (const void *)0x1234,
			     (char *)0x5678);
	lttng_ust_tracepoint(every, floats, -2.5, 0.25f);
	lttng_ust_tracepoint(every, strings, "seven words", NULL, 5);
	lttng_ust_tracepoint(every, arrays, ints, t);
	lttng_ust_tracepoint(every, sequences, ints, 4, t);
	for (int colour = 0; colour < 4; colour++)
		lttng_ust_tracepoint(every, enums, colour, -50);
	lttng_ust_tracepoint(every, enums, 20, 70000);
	lttng_ust_tracepoint(every, nothing);
	lttng_ust_tracepoint(every, nothing_at_all);
	lttng_ust_tracepoint(every, ten, 1, 2, 3, 4, 5, 6, 7, 8, 9, count(10));
	lttng_ust_tracepoint(every, put, -1, "minus one");
	lttng_ust_tracepoint(LTTNG_UST_TRACEPOINT_PROVIDER, take, 70000,
			     "high");
	if (lttng_ust_tracepoint_enabled(every, put))
		lttng_ust_do_tracepoint(every, put, count(0), "do");
}

int main(int argc, char **argv)
{
	struct thing t = { KIND_OTHER,         -77,      0,       0,
			   { 1, 2, 250, 251 }, { 0, 0 }, "thing", { -1, 9 } };

	if (argc > 1 && !dlopen(argv[1], RTLD_NOW)) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	t.net16 = htons(0x0102);
	t.net32 = htonl(0x01020304);
	t.nets[0] = htons(1);
	t.nets[1] = htons(0xfffe);
	trace(&t);
	printf("%d arguments evaluated\n", evaluated);
	return 0;
}
