/* SPDX-License-Identifier: MIT */
/*
 * read_body.h - makes the events that bench/read reads, the same for each
 * tracer. Before it is included: EVENT_TINY(i), EVENT_MID(i, s),
 * EVENT_SWITCH(a, b, i).
 *
 *	read_load_TRACER tiny|mid|switch|mixed NR
 *
 * NR events by two threads, half each.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
	"sqlite3", "kworker/1:2-events", "", "a", "Xorg", "systemd-journald",
};
static char comms[4][16] = { "swapper/0", "bash", "redis-server", "nginx" };

static const char *kind;
static long nr_each;

/* The number in an event is one of 1000, so that a filter can ask for one. */
static void one(long i, char which)
{
	int number = (int)(i % 1000);

	if (which == 't')
		EVENT_TINY(number);
	else if (which == 'm')
		EVENT_MID(number, names[(unsigned long)i % 6]);
	else
		EVENT_SWITCH(comms[(unsigned long)i & 3],
			     comms[(unsigned long)(i >> 1) & 3], number);
}

static void *load(void *unused)
{
	const char *which = strcmp(kind, "mixed") ? kind : "tms";
	size_t all = which == kind ? 1 : 3;

	for (long i = 0; i < nr_each; i++)
		one(i, which[(size_t)i % all]);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t other;

	if (argc != 3)
		return 2;
	kind = argv[1];
	nr_each = strtol(argv[2], NULL, 10) / 2;
	if (pthread_create(&other, NULL, load, NULL))
		return 1;
	load(NULL);
	return pthread_join(other, NULL);
}
