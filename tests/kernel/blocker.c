/* SPDX-License-Identifier: MIT */
/*
 * blocker.c - waits in functions that are known, for call stacks: blocker TIMES.
 * So often it sleeps a millisecond in `naps` and two in `sleeps`; then, with a
 * second word, it waits in `reads` for its input to end. blocker told: it sleeps
 * as each line of input says, and answers when it has. blocker handed TIMES: its
 * child waits in `takes` for what it gives in `gives`, so often.
 *
 * The calls are made here, not by a library that keeps no frame pointers.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__
#define CALL __attribute__((noinline)) static
#else
#define CALL __attribute__((noinline, noclone)) static
#endif

volatile long sink;

#if defined(__x86_64__)
static inline __attribute__((always_inline)) long call(long number, long a,
						       long b, long c)
{
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return ret;
}
#elif defined(__aarch64__)
static inline __attribute__((always_inline)) long call(long number, long a,
						       long b, long c)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2)
			 : "memory");
	return x0;
}
#else
#error "no system calls for this machine"
#endif

CALL void naps(long ns)
{
	struct timespec time = { 0, ns };

	sink += call(SYS_nanosleep, (long)&time, 0, 0);
}

CALL void sleeps(long ns)
{
	naps(ns);
	sink++;
}

CALL void reads(void)
{
	char byte;

	sink += call(SYS_read, 0, (long)&byte, 1);
}

CALL void takes(int from)
{
	char byte;

	sink += call(SYS_read, from, (long)&byte, 1);
}

CALL void gives(int to)
{
	sink += call(SYS_write, to, (long)"1", 1);
}

static int hands(long times)
{
	int pipe_fds[2];
	pid_t child;

	if (pipe2(pipe_fds, O_CLOEXEC))
		return 1;
	child = fork();
	if (child < 0)
		return 1;
	for (long i = 0; i < times; i++) {
		if (!child) {
			takes(pipe_fds[0]);
			continue;
		}
		naps(2000000);
		gives(pipe_fds[1]);
	}
	return child && waitpid(child, NULL, 0) != child;
}

/* So many lines as there are. */
static void obeys(void)
{
	char line[16];

	do {
		(void)puts("1");
		(void)fflush(stdout);
		if (!fgets(line, sizeof(line), stdin))
			return;
		if (!strcmp(line, "naps\n"))
			naps(1000000);
		else
			sleeps(1000000);
	} while (1);
}

int main(int argc, char **argv)
{
	long times = argc > 1 ? strtol(argv[1], NULL, 10) : 1;

	if (argc > 1 && !strcmp(argv[1], "told")) {
		obeys();
		return 0;
	}
	if (argc > 2 && !strcmp(argv[1], "handed"))
		return hands(strtol(argv[2], NULL, 10));
	for (long i = 0; i < times; i++) {
		naps(1000000);
		sleeps(2000000);
	}
	if (argc > 2)
		reads();
	return 0;
}
