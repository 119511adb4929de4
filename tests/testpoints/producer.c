/* SPDX-License-Identifier: MIT */
/*
 * producer.c - two threads that trace, for a debugger to stop and to kill.
 *
 *	producer PROGRESS PINNED EVENTS
 *
 * Every event says which thread emitted it and how many it had emitted before.
 * By turns it is a word, a block, a block of more than 32 bytes, a string, and
 * parts that are too long to be staged. After each, the thread stores in PROGRESS, a file it shares with the
 * test, how many it has emitted. If PINNED is 1, both threads share a CPU, so
 * that each finds the other's records before its own.
 *
 * The debugger counts by many(), which is called now and then, sets `stop` to
 * end the program, and finds each event between the call of emit() and its
 * return.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sonde/tracepoint.h>

#define THREADS 2
#define TURN    8
#define MANY    128

struct progress {
	uint64_t tid;
	uint64_t emitted;
	uint64_t reserved[6];
};

extern volatile int stop;
volatile int stop;
static volatile int go;
static volatile struct progress *progress;
static uint32_t nr_events;
static char text[301];

void many(void);
void emit(uint32_t thread, uint32_t n);

__attribute__((noinline)) void many(void)
{
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void emit(uint32_t thread, uint32_t n)
{
	uint64_t more[4] = { n, n, n, n };

	if (n % 5 == 0)
		sonde_event(points, word, thread, n);
	else if (n % 5 == 1)
		sonde_event(points, block, thread, n, more[0], more[1]);
	else if (n % 5 == 2)
		sonde_event(points, longer, thread, n, more[0], more[1],
			    more[2], more[3]);
	else if (n % 5 == 3)
		sonde_event(points, string, thread, n,
			    sonde_field(s, &text[1]));
	else
		sonde_event(points, parts, thread, n, sonde_field(a, text),
			    sonde_field(b, &text[280]),
			    sonde_field(c, &text[200]));
}

static void *run(void *arg)
{
	volatile struct progress *mine = arg;
	uint32_t thread = (uint32_t)gettid();

	mine->tid = thread;
	while (!go)
		sched_yield();
	for (uint32_t n = 0; n < nr_events && !stop; n++) {
		emit(thread, n);
		mine->emitted = n + 1;
		if (n % TURN == TURN - 1)
			sched_yield();
		if (n % MANY == MANY - 1)
			many();
	}
	return NULL;
}

/* To the first CPU it may use; threads inherit that. */
static void pin(void)
{
	cpu_set_t cpus;
	cpu_set_t one;
	int cpu = 0;

	sched_getaffinity(0, sizeof(cpus), &cpus);
	while (!CPU_ISSET(cpu, &cpus))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int fd;

	if (argc != 4)
		return 2;
	fd = open(argv[1], O_RDWR);
	progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd < 0 || progress == MAP_FAILED)
		return 2;
	memset(text, 'x', sizeof(text) - 1);
	nr_events = (uint32_t)strtoul(argv[3], NULL, 10);
	if (*argv[2] == '1')
		pin();
	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&threads[i], NULL, run,
				   (void *)(uintptr_t)&progress[i]))
			return 2;
	}
	while (!progress[0].tid || !progress[1].tid)
		sched_yield();
	go = 1;
	for (int i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], NULL);
	return 0;
}
