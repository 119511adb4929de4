#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_count_attached.py - `sonde count` and `sonde hist` of the calls of programs
that run already and know nothing of Sonde: what is put into them counts, by
conditions, keys and values, what a recording of the same has; the program's text is
what it was afterwards."""

import collections
import collections
import json
import pathlib
import re
import signal
import subprocess

from sonde import PATIENCE, SONDE, install, run, scratch
from attached import Attached, Told
from harness import Skip, check, check_equal, main, test

PROGRAM = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#else
#define DTRACE_PROBE1(...)
#endif

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* The compiler must not know what becomes of it. */
#define USED(x) __asm__ volatile("" : "+r"(x) : : "memory")

__attribute__((noinline)) int weigh(int n)
{
	USED(n);
	return n * 3 - 20;
}

static void *work(void *n)
{
	for (unsigned long i = 0; i < (unsigned long)n; i++) {
		void *block = malloc(1 + i % 100);

		USED(block);
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		free(block);
		weigh((int)(i % 10));
		DTRACE_PROBE1(shop, sale, i % 10);
	}
	return NULL;
}

static void obey(const char *word, unsigned long n)
{
	pthread_t t[4];

	if (!strcmp(word, "threads")) {
		for (int i = 0; i < 4; i++)
			pthread_create(&t[i], NULL, work, (void *)n);
		for (int i = 0; i < 4; i++)
			pthread_join(t[i], NULL);
	} else if (!strcmp(word, "fork")) {
		if (!fork()) {
			work((void *)n);
			_exit(0);
		}
		wait(NULL);
	} else {
		work((void *)n);
	}
}

int main(void)
{
	static char out[64], in[64], line[64];
	char word[32];

	setvbuf(stdout, out, _IOLBF, sizeof(out));
	setvbuf(stdin, in, _IOFBF, sizeof(in));
	puts("0");
	while (fgets(line, sizeof(line), stdin)) {
		unsigned long n = 0;

		sscanf(line, "%31s %lu", word, &n);
		obey(word, n);
		puts("0");
	}
	return 0;
}
"""

_built = []


def program():
    """Not linked with Sonde."""
    if not _built:
        directory = scratch()
        source = directory / "plain.c"
        source.write_text(PROGRAM)
        out = directory / "plain"
        done = run("gcc", "-O2", "-g", "-Wall", source, "-o", out, "-pthread")
        check_equal(done.returncode, 0, f"gcc: {done.stderr}")
        _built.append(str(out))
    return _built[0]


class Counter:
    """`sonde count` of what runs, or `sonde hist`; it counts when this is made."""

    def __init__(self, *words, command="count"):
        self.out = scratch() / "counts"
        self.said = []
        self.p = subprocess.Popen(
            [SONDE, command, *map(str, words), "--json", "-o", self.out],
            text=True, stderr=subprocess.PIPE)
        while not any("Ctrl-C" in line for line in self.said):
            line = self.p.stderr.readline()
            check(line, f"it has ended: {''.join(self.said)}")
            self.said.append(line)

    def end(self, number=signal.SIGINT):
        """The rows."""
        if number:
            self.p.send_signal(number)
        self.said += self.p.communicate(
            timeout=240 * PATIENCE)[1].splitlines(True)
        check_equal(self.p.returncode, 0, "".join(self.said))
        return json.loads(self.out.read_text())["events"]


def numbers(rows):
    return {row["event"]: row["count"] for row in rows}


def counted(*words, do=("threads", 1000)):
    """The rows for a program that does that."""
    p = Told(program())
    counter = Counter("-p", p.pid, *words)
    p.do(*do)
    rows = counter.end()
    check_equal([line for line in open(f"/proc/{p.pid}/maps")
                 if "/memfd:sonde-arena (" in line], [], "its arena is mapped")
    p.do("work", 1)  # its text is its own again
    p.end()
    return rows, counter


@test
def calls_are_counted_exactly_in_threads():
    rows, _ = counted("--malloc", "--locks", "-e", "malloc:free",
                      "-e", "lock:mutex*", do=("threads", 20000))
    got = numbers(rows)
    # Threads begin and end with calls of their own.
    check_equal({name: got[name] for name in ("lock:mutex_lock",
                                              "lock:mutex_unlock")},
                {"lock:mutex_lock": 80000,
                 "lock:mutex_unlock": 80000}, "counts")
    check(80000 <= got["malloc:free"] < 80100, got)


@test
def conditions_are_tested_where_the_call_is():
    rows, _ = counted("--malloc", "--locks",
                      "-e", "malloc:malloc if size > 40 && size <= 70",
                      "-e", "lock:mutex_unlock if mutex == 0",
                      do=("work", 1000))
    check_equal(numbers(rows), {"malloc:malloc": 300}, "counts")


@test
def a_filter_is_of_all_events():
    rows, _ = counted("--malloc", "--filter", "size == 7", do=("work", 1000))
    check_equal(numbers(rows), {"malloc:malloc": 10}, "counts")


@test
def keys_are_those_of_the_calls():
    rows, _ = counted("--malloc", "--by", "size", "-e", "malloc:malloc",
                      do=("work", 1000))
    check_equal({row["size"]: row["count"] for row in rows
                 if row["count"] == 10},
                {size: 10 for size in range(1, 101)}, "counts")


@test
def values_are_spread_as_they_were():
    rows, _ = counted("--malloc", "-e", "malloc:malloc if size <= 100",
                      do=("work", 1000))
    p = Told(program())
    counter = Counter("size", "-p", p.pid, "--malloc",
                      "-e", "malloc:malloc if size <= 100", command="hist")
    p.do("work", 1000)
    row, = counter.end()
    p.end()
    check_equal(numbers(rows)["malloc:malloc"], 1000, "counted")
    check_equal((row["count"], row["min"], row["max"], row["mean"]),
                (1000, 1, 100, 50.5), f"{row}")


@test
def a_value_is_computed_of_what_the_call_has():
    p = Told(program())
    counter = Counter("size * 2 - 1", "by", "size % 2", "-p", p.pid,
                      "--malloc", "-e", "malloc:malloc if size <= 100",
                      command="hist")
    p.do("threads", 500)
    rows = counter.end()
    p.end()
    check_equal(sorted((row["count"], row["min"], row["max"]) for row in rows),
                [(1000, 1, 197), (1000, 3, 199)], f"{rows}")


@test
def functions_are_counted_by_their_arguments():
    rows, _ = counted("--functions=weigh", "--args", "--by", "n",
                      "-e", "function:entry", do=("work", 1000))
    check_equal({row["n"]: row["count"] for row in rows},
                {n: 100 for n in range(10)}, f"{rows}")


@test
def a_condition_of_a_function_is_tested_there():
    rows, _ = counted("--functions=weigh if n > 6", "--args",
                      do=("threads", 1000))
    check_equal(numbers(rows), {"function:entry": 1200, "function:exit": 1200},
                "counts")


@test
def a_condition_of_a_probe_of_sdt_is_tested_there():
    if not pathlib.Path("/usr/include/sys/sdt.h").exists() and \
       not list(pathlib.Path("/usr/include").glob("*/sys/sdt.h")):
        raise Skip("no <sys/sdt.h> (Debian: systemtap-sdt-dev)")
    rows, _ = counted("-e", "sdt:shop:sale if arg1 > 6",
                      do=("threads", 1000))
    check_equal(numbers(rows), {"sdt:shop:sale": 1200}, "counts")


@test
def the_same_as_what_is_recorded():
    rows, _ = counted("--malloc", "--locks", do=("work", 500))
    p = Told(program())
    a = Attached("-p", p.pid, "--malloc", "--locks")
    p.do("work", 500)
    a.end()
    p.end()
    witness = run("babeltrace2", a.dir)
    recorded = collections.Counter(
        m[1] for m in re.finditer(r" (\w+:\w+): \{", witness.stdout))
    check_equal(numbers(rows), {name: n for name, n in recorded.items()
                                if not name.startswith("sonde:")}, "counts")


@test
def children_of_fork_are_told_and_not_counted():
    p = Told(program())
    counter = Counter("-p", p.pid, "--malloc", "-e", "malloc:malloc")
    p.do("fork", 300)
    p.do("work", 200)
    rows = counter.end()
    p.end()
    check(200 <= numbers(rows)["malloc:malloc"] < 220, rows)
    check(any("1 process that it forked came upon its probes" in line
              for line in counter.said), counter.said)


@test
def a_second_count_begins_at_nothing():
    p = Told(program())
    for n in (300, 20):
        counter = Counter("-p", p.pid, "--locks", "-e", "lock:mutex_unlock")
        p.do("work", n)
        check_equal(numbers(counter.end()), {"lock:mutex_unlock": n}, "counts")
    p.end()


@test
def it_ends_with_the_program():
    p = Told(program())
    counter = Counter("-p", p.pid, "--locks", "-e", "lock:mutex_unlock")
    p.do("threads", 1000)
    p.end()
    check_equal(numbers(counter.end(None)), {"lock:mutex_unlock": 4000},
                "counts")


@test
def what_cannot_be_is_said():
    p = run(SONDE, "count", "-p", "1", "-e", "a:b if c > 1")
    check_equal(p.returncode, 2, p.stderr)
    check("what --malloc, --locks, --io and --functions put into others" in
          p.stderr, p.stderr)


install()
main()
