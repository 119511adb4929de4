/* SPDX-License-Identifier: MIT */
/*
 * kernel_gdb_calls.c - what bench/kernel_gdb runs below each probe: a call that
 * comes to vfs_read() with nothing to be read, and one that comes to the tracepoint
 * task_rename.
 *
 *	kernel_gdb_calls FILE NAME
 *
 * Adds a line `NAME read VALUE` and one of `rename` to FILE: what the CPU's counter
 * counts for a call, of the cheapest of many batches, so that no interrupt is in it.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#define BATCH  100u
#define ROUNDS 100u

static int zero;
static char buffer[8];

static uint64_t now(void)
{
	uint32_t low, high;

	__asm__ volatile("lfence; rdtsc" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
}

static void do_read(void)
{
	if (read(zero, buffer, 0) != 0)
		exit(1);
}

static void do_rename(void)
{
	if (prctl(PR_SET_NAME, "calls") != 0)
		exit(1);
}

static double cheapest(void (*call)(void))
{
	uint64_t least = UINT64_MAX;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		uint64_t begin = now();
		uint64_t took;

		for (unsigned int k = 0; k < BATCH; k++)
			call();
		took = now() - begin;
		if (took < least)
			least = took;
	}
	return (double)least / BATCH;
}

int main(int argc, char **argv)
{
	FILE *file = argc == 3 ? fopen(argv[1], "ae") : NULL;

	zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	if (!file || zero < 0)
		return 2;
	(void)fprintf(file, "%s read %.1f\n", argv[2], cheapest(do_read));
	(void)fprintf(file, "%s rename %.1f\n", argv[2], cheapest(do_rename));
	return fclose(file) != 0;
}
