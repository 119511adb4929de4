# SPDX-License-Identifier: MIT
"""calling.py - a program for probes: it waits for a number on one pipe, calls its
functions so many times, and says so on another, so what is to be hit, and when,
is known exactly."""

import os
import subprocess

import sonde
from sonde import SONDE, run, scratch
from harness import check_equal

LIBRARY = r"""
int lib_count;
__attribute__((noinline)) int lib_work(int n, const char *text)
{
	int twice = 2 * n;

	lib_count += twice + text[0];
	return lib_count;
}
"""

PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sonde/tracepoint.h>

struct node { int key; struct node *next; };
int counter1, counter2 = 3;
extern int lib_work(int n, const char *text);

__attribute__((noinline)) int work(int n, unsigned char uc, struct node *p)
{
	int local = 2 * n;
	short s = (short)n;

	counter1 = local + s;           /* LINE_LOCAL */
	if (p && p->next && p->next->key == 7)
		counter2++;             /* LINE_SEVEN */
	sonde_event(gdbtest, tick, n, local);
	return local + uc;              /* LINE_RETURN */
}

static long nr;

static void *calls(void *unused)
{
	struct node last = { 0, 0 }, first = { 1, &last };

	for (int i = 0; i < nr; i++) {
		last.key = i % 10;
		work(i, (unsigned char)i, i % 2 ? &first : &last);
		lib_work(i, "text");
#ifdef SECOND_SITE
		int n = i, local = 3 * i, here = 1;
		sonde_event(gdbtest, tick, n, local);
		counter1 += here;
#endif
	}
	return unused;
}

int main(int argc, char **argv)
{
	FILE *in = fopen(argv[1], "r+");
	int nr_threads = argc > 3 ? atoi(argv[3]) : 1;
	pthread_t threads[8];
	char line[32];

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), in)) {
		nr = atol(line);
		for (int i = 0; i < nr_threads; i++)
			pthread_create(&threads[i], 0, calls, 0);
		for (int i = 0; i < nr_threads; i++)
			pthread_join(threads[i], 0);
		FILE *out = fopen(argv[2], "w");
		fprintf(out, "%d %d\n", counter1, counter2);
		fclose(out);
		if (nr == 0)
			return 0;
	}
	return 1;
}
"""


def line_of(mark):
    return 1 + PROGRAM.split("\n").index(
        next(line for line in PROGRAM.split("\n") if mark in line))


class Program:
    """A running one; `call` is the shell command that makes it call work()
    so many times."""

    def __init__(self, *flags, threads=1):
        self.dir = scratch()
        (self.dir / "lib.c").write_text(LIBRARY)
        lib = self.dir / "libwork.so"
        subprocess.run(["gcc", "-g", "-O1", "-shared", "-fPIC", "-o", lib,
                        self.dir / "lib.c"], check=True)
        self.path = sonde.build(PROGRAM, *flags, str(lib),
                                f"-Wl,-rpath,{self.dir}")
        self.pipes = [str(self.dir / "in"), str(self.dir / "out")]
        for pipe in self.pipes:
            os.mkfifo(pipe)
        self.process = subprocess.Popen(
            [self.path, *self.pipes, str(threads)], stdout=subprocess.PIPE,
            text=True)
        check_equal(self.process.stdout.readline(), "ready\n", "program")
        self.pid = self.process.pid

    def call(self, times):
        return (f"shell echo {times} > {self.pipes[0]}; "
                f"cat {self.pipes[1]} > {self.dir}/said")

    def call_now(self, times):
        subprocess.run(self.call(times)[6:], shell=True, check=True)

    def said(self):
        return (self.dir / "said").read_text()

    def end(self):
        """It still works, and ends by itself."""
        self.call_now(0)
        check_equal(self.process.wait(), 0, "program's status")

    def gdb(self, *lines, output=None, expect=0):
        """What GDB says to these lines, connected to the program."""
        script = self.dir / "script"
        script.write_text("\n".join(["set pagination off", "set confirm off",
                                     "set width 0", *lines, "detach"]) + "\n")
        out = ["-o", output] if output else []
        done = run(SONDE, "gdb", *out, self.pid, "-nx", "-batch", "-x", script)
        check_equal(done.returncode, expect,
                    f"GDB's status; it said {done.stdout}\n{done.stderr}")
        return done.stdout + done.stderr
