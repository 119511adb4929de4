/* SPDX-License-Identifier: MIT */
/*
 * kernel_loop.c - what bench/kernel runs beside and below each tracer.
 *
 *	kernel_loop getppid NR ROUNDS	a system call, NR times
 *	kernel_loop switch NR ROUNDS	two processes that hand a byte to each
 *					other, on one CPU: NR switches
 *
 * Prints, in nanoseconds per call or switch, over the rounds:
 *
 *	NAME CPU_MEDIAN CPU_LEAST WALL_MEDIAN WALL_LEAST SWITCHES
 *
 * CPU is time of the CPU that all of the program's own processes took, so what
 * neighbours take doesn't count; tracers that stop the program show in wall
 * time only. SWITCHES is how many the kernel counted per round.
 */
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"

#define ROUNDS_MAX 1001

static int there[2];
static int back[2];
static double switches; /* per round */

static double wall_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* it is always there */
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double usage_ns(int who)
{
	struct rusage usage;

	if (getrusage(who, &usage))
		exit(1);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e9 +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e3;
}

static long switched(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage))
		exit(1);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

static void run_getppid(long nr)
{
	for (long i = 0; i < nr; i++)
		(void)syscall(SYS_getppid);
}

static void hand_over(int to, int from)
{
	char byte = 'x';

	if (write(to, &byte, 1) != 1 || read(from, &byte, 1) != 1)
		exit(1);
}

/* The other process, for one round. Its time is known once it was waited for,
 * so it is forked anew for each; that is outside of what is measured. */
static pid_t start_other(long nr)
{
	char byte;
	pid_t pid = fork();

	if (pid < 0)
		exit(1);
	if (pid > 0)
		return pid;
	for (long i = 0; i < nr; i++)
		if (read(there[0], &byte, 1) != 1 ||
		    write(back[1], &byte, 1) != 1)
			_exit(1);
	_exit(0);
}

static void measure_getppid(long nr, double *ret_cpu, double *ret_wall)
{
	double cpu = measure_cpu_ns();
	double wall = wall_ns();

	run_getppid(nr);
	*ret_wall = (wall_ns() - wall) / (double)nr;
	*ret_cpu = (measure_cpu_ns() - cpu) / (double)nr;
}

/* A hand-over and the answer are two switches. The first is not counted: it
 * waits until the other has been made. */
static void measure_switch(long nr, double *ret_cpu, double *ret_wall)
{
	pid_t other = start_other(nr / 2 + 1);
	double others = usage_ns(RUSAGE_CHILDREN);
	double cpu;
	double wall;
	long before;
	int status;

	hand_over(there[1], back[0]);
	before = switched();
	cpu = measure_cpu_ns();
	wall = wall_ns();
	for (long i = 0; i < nr / 2; i++)
		hand_over(there[1], back[0]);
	*ret_wall = (wall_ns() - wall) / (double)nr;
	cpu = measure_cpu_ns() - cpu;
	switches = 2 * (double)(switched() - before);
	if (waitpid(other, &status, 0) != other || status)
		exit(1);
	*ret_cpu = (cpu + usage_ns(RUSAGE_CHILDREN) - others) / (double)nr;
}

static void one_cpu(void)
{
	int cpu = sched_getcpu();
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (cpu < 0 || sched_setaffinity(0, sizeof(set), &set) ||
	    pipe2(there, O_CLOEXEC) || pipe2(back, O_CLOEXEC)) {
		perror("kernel_loop");
		exit(1);
	}
}

int main(int argc, char **argv)
{
	static double cpu[ROUNDS_MAX];
	static double wall[ROUNDS_MAX];
	void (*measure)(long nr, double *ret_cpu, double *ret_wall);
	long nr = argc == 4 ? atol(argv[2]) : 0;
	int rounds = argc == 4 ? atoi(argv[3]) : 0;

	if (nr < 2 || rounds < 1 || rounds > ROUNDS_MAX ||
	    (strcmp(argv[1], "getppid") != 0 &&
	     strcmp(argv[1], "switch") != 0)) {
		fprintf(stderr,
			"usage: kernel_loop getppid|switch NR ROUNDS\n");
		return 2;
	}
	measure = argv[1][0] == 'g' ? measure_getppid : measure_switch;
	one_cpu();
	measure(nr, &cpu[0], &wall[0]); /* warm up */
	for (int i = 0; i < rounds; i++)
		measure(nr, &cpu[i], &wall[i]);
	qsort(cpu, (size_t)rounds, sizeof(cpu[0]), measure_compare);
	qsort(wall, (size_t)rounds, sizeof(wall[0]), measure_compare);
	printf("%s %.2f %.2f %.2f %.2f %.0f\n", argv[1], cpu[rounds / 2],
	       cpu[0], wall[rounds / 2], wall[0], switches);
	return 0;
}
