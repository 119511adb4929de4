# SPDX-License-Identifier: MIT
"""obedient.py - a program that does what it is told, line by line, so a test
knows what it has emitted and when."""

import os
import subprocess

from sonde import PATIENCE, build, check
from harness import Skip, check_equal

TIMEOUT = 240 * PATIENCE

PROGRAM = r"""
#define _GNU_SOURCE
#include <sonde/tracepoint.h>
#include <linux/seccomp.h>
#include <linux/filter.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned long total, each;
static int running;
static pthread_t runner;

static void emit(unsigned long n)
{
	while (n--) {
		unsigned long number = __atomic_add_fetch(&total, 1,
							  __ATOMIC_RELAXED);

		sonde_event(attach, step, number);
	}
}

static void *emit_each(void *arg)
{
	emit(each);
	return arg;
}

static void threads(unsigned long k)
{
	pthread_t t[64];

	for (unsigned long i = 0; i < k; i++)
		pthread_create(&t[i], NULL, emit_each, NULL);
	for (unsigned long i = 0; i < k; i++)
		pthread_join(t[i], NULL);
}

static void *run(void *arg)
{
	while (__atomic_load_n(&running, __ATOMIC_RELAXED))
		emit(1);
	return arg;
}

static void on_tick(int number)
{
	emit(number == SIGALRM);
}

/* Events in a signal handler, each so many microseconds; 0: no more. */
static void tick(unsigned long us)
{
	struct itimerval every = { { 0, (long)us }, { 0, (long)us } };

	signal(SIGALRM, on_tick);
	setitimer(ITIMER_REAL, &every, NULL);
}

/* Kills for mremap. */
static void cage(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mremap, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, filter };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void obey(const char *word, unsigned long n)
{
	if (!strcmp(word, "emit"))
		emit(n);
	else if (!strcmp(word, "each"))
		each = n;
	else if (!strcmp(word, "threads"))
		threads(n);
	else if (!strcmp(word, "run")) {
		running = 1;
		pthread_create(&runner, NULL, run, NULL);
	} else if (!strcmp(word, "halt")) {
		__atomic_store_n(&running, 0, __ATOMIC_RELAXED);
		pthread_join(runner, NULL);
	} else if (!strcmp(word, "close"))
		syscall(SYS_close_range, 3, ~0u, 0);
	else if (!strcmp(word, "tick"))
		tick(n);
	else if (!strcmp(word, "cage"))
		cage();
	else if (!strcmp(word, "poor")) {
		struct rlimit limit = { 1 << 20, 1 << 20 };

		setrlimit(RLIMIT_AS, &limit);
	} else if (!strcmp(word, "fork")) { /* goes on in the child */
		int pid = fork();

		if (pid) {
			emit(n);
			waitpid(pid, NULL, 0);
			_exit(0);
		}
	} else if (!strcmp(word, "hide"))
		prctl(PR_SET_DUMPABLE, 0);
	else if (!strcmp(word, "other"))
		sonde_event(attach, other, n);
	else
		_exit(0);
}

int main(void)
{
	char line[64];
	char word[32];

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("%d\n", getpid());
	while (fgets(line, sizeof(line), stdin)) {
		unsigned long n = 0;

		sscanf(line, "%31s %lu", word, &n);
		obey(word, n);
		printf("%lu\n", total);
	}
	return 0;
}
"""


class Program:
    """It runs, and obeys; `pid` is as this test sees it."""

    def __init__(self, path, *before, **more):
        self.process = subprocess.Popen(
            [*before, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, **more)
        self.pid = self.process.pid
        self.own_pid = int(self.process.stdout.readline())

    def do(self, *words):
        """How many events it has emitted, when that is done."""
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        check(answer, f"the program has ended at {words}")
        return int(answer)

    def end(self):
        self.process.stdin.close()
        check_equal(self.process.wait(TIMEOUT), 0, "status of the program")

    def threads(self):
        return len(os.listdir(f"/proc/{self.pid}/task"))

    def descriptors(self):
        return sorted(os.listdir(f"/proc/{self.pid}/fd"))


_built = {}


def program(static=False):
    if static not in _built:
        _built[static] = build(PROGRAM, "-Wno-unused-result", name="emitter",
                               static=static)
    return _built[static]


def need_root(why):
    if os.geteuid() != 0:
        raise Skip(f"{why} needs root")
