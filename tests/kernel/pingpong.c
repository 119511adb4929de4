/* SPDX-License-Identifier: MIT */
/*
 * pingpong.c - two threads on one CPU that hand a byte to each other, so each
 * hand-over is a switch between them.
 *
 *	pingpong ROUNDS [WORK_US]
 *
 * Before it hands over, a thread works for one to five times WORK_US
 * microseconds, in turn. Prints the two thread ids, and the switches of both that
 * the kernel counted between the first one's two calls of getrusage():
 * `TID TID VOLUNTARY OTHER`. Neither has ended by the second: what a thread does
 * while it ends is counted nowhere.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static long nr_rounds;
static uint64_t work_ns;
static int there[2];
static int back[2];
static int other_tid;

__attribute__((noreturn)) static void die(const char *what)
{
	perror(what);
	_exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* it is always there */
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Rounds differ, so that no run is taken for its neighbour. */
static void work(long round)
{
	uint64_t until = now_ns() + work_ns * (1 + (uint64_t)round % 5);

	while (work_ns && now_ns() < until)
		;
}

static void take(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		die("read");
}

static void give(int fd)
{
	if (write(fd, "x", 1) != 1)
		die("write");
}

static void *answer(void *unused)
{
	(void)unused;
	other_tid = gettid();
	for (long i = 0; i < nr_rounds; i++) {
		take(there[0]);
		work(i);
		give(back[1]);
	}
	take(there[0]); /* until all is counted */
	return NULL;
}

static struct rusage usage(void)
{
	struct rusage all;

	if (getrusage(RUSAGE_SELF, &all))
		die("getrusage");
	return all;
}

int main(int argc, char **argv)
{
	int cpu = sched_getcpu();
	struct rusage before;
	struct rusage after;
	pthread_t thread;
	cpu_set_t set;

	if (argc < 2) {
		fprintf(stderr, "usage: pingpong ROUNDS [WORK_US]\n");
		return 2;
	}
	nr_rounds = strtol(argv[1], NULL, 10);
	work_ns = argc > 2 ? strtoull(argv[2], NULL, 10) * 1000 : 0;
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (cpu < 0 || sched_setaffinity(0, sizeof(set), &set) ||
	    pipe2(there, O_CLOEXEC) || pipe2(back, O_CLOEXEC))
		die("pingpong");
	before = usage();
	if (pthread_create(&thread, NULL, answer, NULL))
		die("pingpong");
	for (long i = 0; i < nr_rounds; i++) {
		work(i);
		give(there[1]);
		take(back[0]);
	}
	after = usage();
	give(there[1]);
	(void)pthread_join(thread, NULL);
	printf("%d %d %ld %ld\n", gettid(), other_tid,
	       after.ru_nvcsw - before.ru_nvcsw,
	       after.ru_nivcsw - before.ru_nivcsw);
	return 0;
}
