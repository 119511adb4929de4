/* SPDX-License-Identifier: MIT */
/*
 * kernel_timed.c - a program's wall time, as seen from beside it, below a
 * tracer whose own start and end are to be left out.
 *
 *	kernel_timed FILE PROGRAM [ARGUMENT]...
 *
 * Nanoseconds from fork to end, to FILE; the program's output goes to
 * /dev/null, and its status is ours.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* it is always there */
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void run(char **argv)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (null < 0 || dup2(null, STDOUT_FILENO) < 0)
		_exit(126);
	execvp(argv[0], argv);
	perror(argv[0]);
	_exit(127);
}

int main(int argc, char **argv)
{
	double start;
	FILE *file;
	int status;
	pid_t pid;

	if (argc < 3) {
		fprintf(stderr, "usage: kernel_timed FILE PROGRAM ...\n");
		return 2;
	}
	file = fopen(argv[1], "we");
	if (!file) {
		perror(argv[1]);
		return 1;
	}
	start = now_ns();
	pid = fork();
	if (pid == 0)
		run(argv + 2);
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("kernel_timed");
		return 1;
	}
	fprintf(file, "%.0f\n", now_ns() - start);
	if (fclose(file)) {
		perror(argv[1]);
		return 1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
