/* SPDX-License-Identifier: MIT */
/*
 * snapshot_work.c - what bench/snapshot records: as many threads as it is told, each
 * of which emits events as fast as it can. For each line that it reads, it tells how
 * many events there were so far, and the CPU time of the threads and the time so
 * far, in nanoseconds. Before that, it says that it runs.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <sonde/tracepoint.h>

#define WRITERS_MAX 64

struct writer {
	_Alignas(128) uint64_t nr; /* events so far */
	clockid_t clock;           /* its CPU time */
};

static struct writer writers[WRITERS_MAX];

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now = { 0, 0 };

	(void)clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void *emit(void *arg)
{
	struct writer *writer = arg;

	for (uint64_t i = 1;; i++) {
		sonde_event(snapshot_bench, number, i);
		__atomic_store_n(&writer->nr, i, __ATOMIC_RELAXED);
	}
	return NULL;
}

static int start(struct writer *writer)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, emit, writer) ||
	       pthread_getcpuclockid(thread, &writer->clock);
}

static void tell(int nr_writers)
{
	uint64_t nr = 0;
	uint64_t cpu_ns = 0;

	for (int i = 0; i < nr_writers; i++) {
		nr += __atomic_load_n(&writers[i].nr, __ATOMIC_RELAXED);
		cpu_ns += now_ns(writers[i].clock);
	}
	(void)printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", nr, cpu_ns,
		     now_ns(CLOCK_MONOTONIC));
	(void)fflush(stdout);
}

int main(int argc, char **argv)
{
	int nr_writers = argc > 1 ? atoi(argv[1]) : 0;
	char line[16];

	if (nr_writers < 1 || nr_writers > WRITERS_MAX)
		return 2;
	for (int i = 0; i < nr_writers; i++)
		if (start(&writers[i]))
			return 1;
	tell(nr_writers);
	while (fgets(line, sizeof(line), stdin))
		tell(nr_writers);
	return 0;
}
