/* SPDX-License-Identifier: MIT */
/*
 * probe_work.c - the program that bench/probe puts probes into: functions that
 * are all the same, each for one kind of probe.
 *
 *	probe_work		waits for a line, then measures each function
 *	probe_work threads N	the same in N threads at once
 *	probe_work busy N	N threads that call one of them, until killed
 *
 * It says "ready" when it can be probed. The probed instruction is at
 * NAME_site: ten bytes, so that gdbserver's fast tracepoints fit.
 */
#include <pthread.h>
#include <unistd.h>

#include "measure.h"

struct link {
	struct link *next;
	int key;
};

int c1 = 5;
int c2 = -9;
int value = 42;
int sink;
static struct link last = { NULL, 3 };
static struct link first = { &last, 2 };
struct link *chain = &first;

#define WORK(name)                                                  \
	__attribute__((noinline)) void work_##name(void);           \
	void work_##name(void)                                      \
	{                                                           \
		__asm__ volatile(".globl " #name "_site\n" #name    \
				 "_site: movl $1, sink(%%rip)\n" :: \
					 : "memory");               \
	}                                                           \
	static void run_##name(long nr)                             \
	{                                                           \
		for (long i = 0; i < nr; i++)                       \
			work_##name();                              \
	}

#define KINDS(X) \
	X(bare)  \
	X(simple) X(paper) X(deref) X(integer) X(regs)

KINDS(WORK)

/* Where only an int3 fits, in a program at a fixed low address: short
 * instructions, and a jump to somewhere. */
__attribute__((noinline)) void work_trap(void);
void work_trap(void)
{
	__asm__ volatile(".globl trap_site\n"
			 "lea 1f(%%rip), %%rax\n"
			 "jmp *%%rax\n"
			 "trap_site:\n"
			 "1: nop\n"
			 "nop\n"
			 "nop\n"
			 "nop\n"
			 "jmp 2f\n"
			 "2:\n" ::
				 : "rax", "memory");
}

static void run_trap(long nr)
{
	for (long i = 0; i < nr; i++)
		work_trap();
}

/* A disabled static tracepoint: a five-byte nop. */
__attribute__((noinline)) void work_nop(void);
void work_nop(void)
{
	__asm__ volatile(".globl nop_site\n"
			 "nop_site: .byte 0x0f, 0x1f, 0x44, 0, 0\n"
			 "movl $1, sink(%%rip)\n" ::
				 : "memory");
}

static void run_nop(long nr)
{
	for (long i = 0; i < nr; i++)
		work_nop();
}

#define VARIANT(kind) { .name = #kind, .run = run_##kind, .nr = 100000 },

static const struct measure_variant variants[] = {
	KINDS(VARIANT) VARIANT(
		nop){ .name = "counter", .run = measure_floor, .nr = 100000 },
	{ .name = "trap", .run = run_trap, .nr = 1000 },
};

#define NR_VARIANTS (sizeof(variants) / sizeof(variants[0]))
#define NR_THREADS  64

static void *measure_in_thread(void *own)
{
	measure_all(own, NR_VARIANTS);
	return NULL;
}

static void measure(int nr, int calls)
{
	static struct measure_variant own[NR_THREADS][NR_VARIANTS];
	pthread_t thread[NR_THREADS];
	char prefix[32];

	for (int i = 0; i < nr; i++) {
		memcpy(own[i], variants, sizeof(variants));
		for (size_t k = 0; calls && k < NR_VARIANTS; k++)
			own[i][k].nr = calls;
		if (pthread_create(&thread[i], NULL, measure_in_thread, own[i]))
			exit(1);
	}
	for (int i = 0; i < nr; i++) {
		(void)pthread_join(thread[i], NULL);
		(void)snprintf(prefix, sizeof(prefix), "%d ", nr);
		measure_print(prefix, own[i], NR_VARIANTS);
	}
}

static void *be_busy(void *unused)
{
	(void)unused;
	for (;;)
		run_simple(1000000);
	return NULL;
}

static int at_most(const char *number, int most)
{
	int nr = atoi(number);

	return nr < most ? nr : most;
}

int main(int argc, char **argv)
{
	int nr = argc > 2 ? at_most(argv[2], NR_THREADS) : 1;
	pthread_t thread;
	char line[16];

	printf("ready %d\n", (int)getpid());
	(void)fflush(stdout);
	if (argc > 2 && !strcmp(argv[1], "busy")) {
		for (int i = 0; i < nr; i++)
			if (pthread_create(&thread, NULL, be_busy, NULL))
				return 1;
		(void)pause();
	}
	/* each line: measure, with so many calls a round if it is a number */
	while (fgets(line, sizeof(line), stdin)) {
		measure(nr, at_most(line, 100000));
		printf("end\n");
		(void)fflush(stdout);
	}
	return 0;
}
