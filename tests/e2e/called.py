# SPDX-License-Identifier: MIT
"""called.py - what the tests of recorded functions share: programs whose functions
are recorded by probes, and how often others say that they are called."""

import gzip
import json
import pathlib
import subprocess

from sonde import SONDE, record, require, run, scratch
from attached import Attached
from harness import check_equal
from obedient import TIMEOUT

THROWS = r"""
#include <cstdio>
#define APART __attribute__((noinline, noclone, noipa))
struct Guard { int *n; ~Guard() { ++*n; } };
APART int dive(int n, int *left)
{
	Guard guard = { left };
	if (!n)
		throw 42;
	return dive(n - 1, left) + n;
}
APART int attempt(int n, int *left)
{
	try {
		return dive(n, left);
	} catch (int thrown) {
		return thrown;
	}
}
int main()
{
	char line[80];
	int left = 0, sum = 0;
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (int i = 0; i < 10; i++)
		sum += attempt(30, &left);
	printf("%d %d\n", sum, left);
}
"""

JUMPS = r"""
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#define APART __attribute__((noinline, noclone, noipa))
static jmp_buf back;
static ucontext_t here, there;
static volatile int handled;
APART int leaf(int n) { return n + 1; }
APART void dive(int n) { if (!n) longjmp(back, 1); dive(n - 1); leaf(n); }
APART int pool(void) { if (!setjmp(back)) dive(4); return leaf(1); }
APART void other(void) { leaf(1); swapcontext(&there, &here); leaf(2); }
APART void handler(int number) { (void)number; handled = leaf(handled); }
APART void *work(void *arg)
{
	int s = 0;
	for (int i = 0; i < 100; i++)
		s = leaf(s);
	raise(SIGUSR1);
	return arg;
}
int main(void)
{
	static char stack[65536];
	pthread_t threads[200];
	char line[80];
	int status = 1;

	if (!fgets(line, sizeof(line), stdin))
		return 1;
	signal(SIGUSR1, handler);
	for (int i = 0; i < 3; i++)
		pool();
	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	there.uc_link = &here;
	makecontext(&there, other, 0);
	swapcontext(&here, &there);
	swapcontext(&here, &there);
	for (int i = 0; i < 200; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < 200; i++)
		pthread_join(threads[i], NULL);
	if (!fork()) {
		leaf(1);
		_exit(0);
	}
	wait(&status);
	printf("%d\n", status);
	return 0;
}
"""


class Waiting:
    """A program that waits for input, recorded when that comes."""

    def __init__(self, program, *options, text="go\n"):
        words = [str(word) for word in program]
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        recording = Attached("-p", self.process.pid, "--memory", "256M",
                             *options)
        self.out, self.err = self.process.communicate(text, timeout=TIMEOUT)
        self.summary = recording.end(number=None)
        self.said = "".join(recording.said)
        self.dir = recording.dir
        check_equal(self.summary["events_lost"], 0, self.said)
        plain = subprocess.run(words, input=text, text=True, check=False,
                               capture_output=True, timeout=TIMEOUT)
        check_equal((self.out, self.err, self.process.returncode),
                    (plain.stdout, plain.stderr, plain.returncode), "output")

    def report(self):
        done = run(SONDE, "report", "functions", "--json", "--limit", "9999",
                   self.dir)
        check_equal(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        return report, {row.get("function"): row["calls"]
                        for row in report["functions"] if row["calls"]}


def paired(report, begun_before=0):
    check_equal([report[key] for key in ("left", "open", "unbegun")],
                [0, 0, begun_before], "not paired")


def whole(addr):
    """What babeltrace2 shows of an address: a label and a number, or all."""
    if not isinstance(addr, tuple):
        return addr
    label, number = addr
    return (int(label, 16) + number) % 2**64


def launched(program, *options, words=(), status=0, **more):
    """What it records of a program from its entry point on."""
    recording = record(program, *words,
                       options=["--memory", "256M", *options], **more)
    check_equal(recording.status, status, recording.err)
    done = run(SONDE, "report", "functions", "--json", "--limit", "9999",
               recording.dir)
    check_equal(done.returncode, 0, done.stderr)
    report = json.loads(done.stdout)
    return recording, report, {row.get("function"): row["calls"]
                               for row in report["functions"]}


def gcov_counts(source, text=""):
    """How often each function of the program is called that reads that text, says
    gcov."""
    require("gcov")
    directory = scratch()
    (directory / "counted.c").write_text(source)
    subprocess.run(["gcc", "-O0", "--coverage", "counted.c", "-o", "counted"],
                   cwd=directory, check=True)
    subprocess.run(["./counted"], cwd=directory, check=True, input=text,
                   text=True, stdout=subprocess.DEVNULL)
    notes, = pathlib.Path(directory).glob("*.gcda")
    subprocess.run(["gcov", "--json-format", notes.name], cwd=directory,
                   check=True, stdout=subprocess.DEVNULL)
    packed, = pathlib.Path(directory).glob("*.gcov.json.gz")
    files = json.loads(gzip.decompress(packed.read_bytes()))["files"]
    return {function["name"]: function["execution_count"]
            for file in files for function in file["functions"]
            if function["execution_count"]}
