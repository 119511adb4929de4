/* SPDX-License-Identifier: MIT */
/*
 * spinner.c - uses the CPU in functions that are known, for samples: spinner
 * WHERE MS. Prints how much of the CPU's time it took, in nanoseconds.
 *
 *	user	most of the time in `heavy`, a third of that in `light`
 *	child	in `light`, in a child that executes nothing
 *	kernel	in system calls, by `calling`
 *	late	in a function of a library that is loaded then
 *	threads	in two threads, which start when a line comes, after one was
 *		printed; prints of each its number and its time
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__
#define CALL __attribute__((noinline)) static
#else
#define CALL __attribute__((noinline, noclone)) static
#endif
/* Leaves have a frame, too. */
#define FRAME() (sink += (unsigned int)(uintptr_t)__builtin_frame_address(0))

volatile unsigned int sink;
static double (*late)(double number);

static unsigned long long cpu_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (unsigned long long)time.tv_sec * 1000000000u +
	       (unsigned long long)time.tv_nsec;
}

/* Both together take a tenth of the time between two samples: where they took as long,
 * each sample would find the same of the two. */
CALL void heavy(void)
{
	FRAME();
	for (int i = 0; i < 30000; i++)
		sink += (unsigned int)i;
}

CALL void light(void)
{
	FRAME();
	for (int i = 0; i < 10000; i++)
		sink += (unsigned int)i;
}

CALL void both(void)
{
	FRAME();
	heavy();
	light();
	sink++;
}

CALL void calling(void)
{
	static char room[1 << 20];
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	FRAME();
	for (int i = 0; i < 20; i++)
		sink += (unsigned int)read(fd, room, sizeof(room));
	close(fd);
}

CALL void in_library(void)
{
	FRAME();
	if (!late)
		late = (double (*)(double))dlsym(dlopen("libm.so.6", RTLD_NOW),
						 "cbrt");
	for (int i = 0; i < 20000; i++)
		sink += (unsigned int)late(i);
	sink++;
}

CALL void spin(void (*function)(void), unsigned long long ns)
{
	unsigned long long end = cpu_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (cpu_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		function();
	sink++;
}

CALL void in_child(unsigned long long ns)
{
	pid_t child = fork();

	if (!child) {
		spin(light, ns);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void *in_thread(void *ns)
{
	spin(both, *(unsigned long long *)ns);
	printf("%d %llu\n", (int)gettid(), cpu_ns(CLOCK_THREAD_CPUTIME_ID));
	return NULL;
}

CALL void in_threads(unsigned long long ns)
{
	pthread_t threads[2];

	printf("ready\n");
	fflush(stdout);
	getchar();
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, in_thread, &ns);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	unsigned long long ns;

	if (argc < 3)
		return 2;
	ns = strtoull(argv[2], NULL, 10) * 1000000u;
	if (!strcmp(argv[1], "user")) {
		spin(both, ns);
	} else if (!strcmp(argv[1], "child")) {
		in_child(ns);
	} else if (!strcmp(argv[1], "kernel")) {
		spin(calling, ns);
	} else if (!strcmp(argv[1], "threads")) {
		in_threads(ns);
	} else {
		spin(both, ns / 2);
		spin(in_library, ns);
	}
	printf("%llu\n", cpu_ns(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}
