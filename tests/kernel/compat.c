/* SPDX-License-Identifier: MIT */
/*
 * compat.c - 32-bit system calls, by a 64-bit program: `int 0x80` takes the
 * kernel's other door, with that ABI's numbers.
 *
 *	compat NR
 *
 * NR times 32-bit getppid and as often 64-bit getppid; then one 32-bit openat
 * of /does/not/exist. Status 3 if the kernel has no such door.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__
#define I386_GETPPID 64
#define I386_OPENAT  295

static void no_door(int number)
{
	(void)number;
	_exit(3);
}

static long call(long number, long a, long b, long c)
{
	long result;

	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(number), "b"(a), "c"(b), "d"(c)
			 : "memory", "r8", "r9", "r10", "r11");
	return (int)result;
}

int main(int argc, char **argv)
{
	static const char path[] = "/does/not/exist";
	long nr = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
	char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	if (low == MAP_FAILED)
		return 1;
	(void)signal(SIGSEGV, no_door);
	for (long i = 0; i < nr; i++) {
		if (call(I386_GETPPID, 0, 0, 0) != getppid())
			return 3;
	}
	memcpy(low, path, sizeof(path));
	(void)call(I386_OPENAT, -100, (long)(intptr_t)low, 0);
	return 0;
}
#else
int main(void)
{
	return 3;
}
#endif
