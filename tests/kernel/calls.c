/* SPDX-License-Identifier: MIT */
/*
 * calls.c - makes a known number of system calls, in its own thread, in
 * threads, and in forked children, one of which executes the program anew.
 *
 *	calls [SCALE [alone]]
 *
 * Prints one line per kind of call, `NAME COUNT FAILED`: how often it was made
 * by all of them together, and how many of those returned an error. With `alone`
 * the first thread is the only one. Only these kinds are ours alone; the C
 * library makes others, always as many. Threads are waited for through a pipe, so
 * that how many futex calls the library makes is the only thing that depends on
 * the order in which they run.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NR_THREADS  4
#define NR_CHILDREN 3
/* Each child works as one thread, and the last one's image does so again. */
#define NR_WORKERS (1 + NR_THREADS + NR_CHILDREN + 1)

static const struct kind {
	const char *name;
	long number;
	unsigned times; /* per worker and unit of scale */
	int fails;
} kinds[] = {
	{ "getppid", SYS_getppid, 100, 0 },
	{ "getuid", SYS_getuid, 50, 0 },
	{ "getsid", SYS_getsid, 20, 0 },
	{ "dup", SYS_dup, 10, 1 },
	{ "fchdir", SYS_fchdir, 5, 1 },
	{ "umask", SYS_umask, 7, 0 },
	{ "sched_yield", SYS_sched_yield, 3, 0 },
	{ "chroot", SYS_chroot, 2, 1 },
};
#define NR_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static unsigned scale = 1;
static int done[2]; /* a byte of each thread that is about to end */

__attribute__((noreturn)) static void die(const char *what)
{
	perror(what);
	_exit(1);
}

/* The argument is chosen so that the calls do nothing: getsid(0) and umask(0)
 * can't fail, the others get a bad descriptor or address. */
static long argument(const struct kind *kind)
{
	if (kind->number == SYS_dup || kind->number == SYS_fchdir)
		return -1;
	return 0;
}

static void work(void)
{
	for (size_t i = 0; i < NR_KINDS; i++) {
		const struct kind *kind = &kinds[i];

		for (unsigned n = 0; n < kind->times * scale; n++)
			(void)syscall(kind->number, argument(kind));
	}
}

static void *thread(void *unused)
{
	(void)unused;
	work();
	if (write(done[1], "x", 1) != 1)
		die("write");
	return NULL;
}

static void run_threads(void)
{
	pthread_t threads[NR_THREADS];
	char byte;

	if (pipe2(done, O_CLOEXEC))
		die("pipe2");
	for (int i = 0; i < NR_THREADS; i++)
		if (pthread_create(&threads[i], NULL, thread, NULL))
			die("pthread_create");
	for (int i = 0; i < NR_THREADS; i++)
		if (read(done[0], &byte, 1) != 1)
			die("read");
	for (int i = 0; i < NR_THREADS; i++)
		(void)pthread_join(threads[i], NULL);
}

static void run_child(char **argv, int is_last)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid == 0) {
		char number[16];
		char leaf[] = "leaf";

		work();
		if (!is_last)
			_exit(0);
		(void)snprintf(number, sizeof(number), "%u", scale);
		execv("/proc/self/exe",
		      (char *[]){ argv[0], number, leaf, NULL });
		_exit(1);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		die("child");
}

/* How often each call was made by so many threads, and how often it failed. */
static void tell(unsigned workers)
{
	for (size_t i = 0; i < NR_KINDS; i++) {
		unsigned all = workers * kinds[i].times * scale;

		printf("%s %u %u\n", kinds[i].name, all,
		       kinds[i].fails ? all : 0);
	}
}

int main(int argc, char **argv)
{
	if (argc > 1)
		scale = (unsigned)strtoul(argv[1], NULL, 10);
	work();
	if (argc > 2) {
		if (strcmp(argv[2], "alone") == 0)
			tell(1);
		return 0;
	}
	run_threads();
	for (int i = 0; i < NR_CHILDREN; i++)
		run_child(argv, i == NR_CHILDREN - 1);
	tell(NR_WORKERS);
	return 0;
}
