#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_count.py - `sonde count`: what it says is what happened, to the event,
whoever counts and whatever interrupts; nothing is recorded."""

import json
import os
import random
import signal
import struct
import subprocess
import time

from sonde import SONDE, build, install, record, run, scratch
from harness import PATIENCE, check, check_equal, main, test

PROGRAM = r"""
#include <sonde/tracepoint.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int nr_signals;

/* Events begun and ended, of each process. */
struct progress { volatile unsigned long begun, ended; };

static void on_signal(int number)
{
	sonde_event(c, in_handler, number);
	nr_signals++;
}

static void events(int n)
{
	for (int i = 0; i < n; i++) {
		sonde_event(c, word, i);
		sonde_event(c, block, i, sonde_field(square, (long)i * i));
		sonde_event(c, string, i, sonde_string(s, "text"));
		sonde_event(c, nothing);
		if (i % 2)
			sonde_event(c, parts, sonde_string(a, "a"), i,
				    sonde_string(b, "b"));
	}
}

static void *thread(void *n)
{
	events(*(int *)n);
	return NULL;
}

static void threads(int n)
{
	pthread_t list[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&list[i], NULL, thread, &n);
	for (int i = 0; i < 4; i++)
		pthread_join(list[i], NULL);
}

static void forks(int n)
{
	for (int i = 0; i < 5; i++)
		if (!fork()) {
			events(n);
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
}

static void signals(int n)
{
	struct itimerval t = { { 0, 50 }, { 0, 50 } };

	signal(SIGALRM, on_signal);
	setitimer(ITIMER_REAL, &t, NULL);
	events(n);
	memset(&t, 0, sizeof(t));
	setitimer(ITIMER_REAL, &t, NULL);
	signal(SIGALRM, SIG_IGN);
	printf("%d\n", nr_signals);
}

static void endless(const char *path)
{
	int fd = open(path, O_RDWR);
	struct progress *p =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	for (;;) {
		p->begun++;
		sonde_event(c, endless, sonde_field(n, p->begun));
		p->ended++;
	}
}

int main(int argc, char **argv)
{
	int n = atoi(argv[2]);

	if (!strcmp(argv[1], "threads"))
		threads(n);
	else if (!strcmp(argv[1], "forks"))
		forks(n);
	else if (!strcmp(argv[1], "signals"))
		signals(n);
	else if (!strcmp(argv[1], "endless"))
		endless(argv[3]);
	else if (!strcmp(argv[1], "waits")) {
		events(n);
		puts("ready");
		fflush(stdout);
		(void)getchar();
		threads(n);
		forks(n);
		puts("done");
		fflush(stdout);
		(void)getchar();
	}
	return argc > 4 ? atoi(argv[4]) : 0;
}
"""


def program(cache=[]):
    if not cache:
        cache.append(build(PROGRAM))
    return cache[0]


def parse(text):
    """The table as a dictionary of counts."""
    rows = json.loads(text)["events"]
    return {row["event"]: row["count"] for row in rows}


def tables(text):
    """Of --live: one after the other."""
    out = []
    while text.strip():
        table, end = json.JSONDecoder().raw_decode(text.lstrip())
        text = text.lstrip()[end:]
        out.append({row["event"]: row["count"] for row in table["events"]})
    return out


def count(*command, options=(), env=None):
    """The counts of a run, which must succeed, and what it printed."""
    out = scratch() / "counts"
    p = run(SONDE, "count", "--json", "-o", out, *options, "--", *command,
            env={**os.environ, **(env or {})})
    check_equal(p.returncode, 0, p.stderr)
    return parse(out.read_text()), p


def expected(n, times):
    return {"c:word": n * times, "c:block": n * times,
            "c:string": n * times, "c:nothing": n * times,
            "c:parts": n // 2 * times}


@test
def threads_are_counted_exactly():
    got, _ = count(program(), "threads", 50000)
    check_equal(got, expected(50000, 4), "counts")


@test
def forked_children_are_counted_exactly():
    got, _ = count(program(), "forks", 20000)
    check_equal(got, expected(20000, 5), "counts")


@test
def signal_handlers_in_the_middle_lose_nothing():
    got, p = count(program(), "signals", 300000)
    in_handler = got.pop("c:in_handler", 0)
    check_equal(got, expected(300000, 1), "counts")
    check_equal(in_handler, int(p.stdout), "events of the handler")
    check(in_handler > 0, "no signal came")


@test
def without_restartable_sequences_it_is_exact_too():
    got, _ = count(program(), "threads", 20000,
                   env={"GLIBC_TUNABLES": "glibc.pthread.rseq=0"})
    check_equal(got, expected(20000, 4), "counts")


@test
def only_what_is_selected_and_not_excluded_is_counted():
    got, _ = count(program(), "threads", 1000,
                   options=["-e", "c:*o*", "--exclude", "c:nothing"])
    check_equal(got, {"c:word": 4000, "c:block": 4000}, "counts")


@test
def conditions_are_tested_before_counting():
    got, _ = count(program(), "threads", 1000,
                   options=["-e", "c:word if i < 100",
                            "-e", "c:block if square >= 250000",
                            "-e", "c:string if s == \"text\" && i == 7",
                            "-e", "c:parts if b == \"b\" && i < 10",
                            "-e", "c:nothing if 0"])
    check_equal(got, {"c:word": 400, "c:block": 2000, "c:string": 4,
                      "c:parts": 20}, "counts")


@test
def the_same_as_what_is_recorded():
    got, _ = count(program(), "forks", 500, options=["--filter", "i > 250"])
    trace = record(program(), "forks", "500",
                   options=["--filter", "i > 250"]).trace()
    recorded = {}
    for event in trace.events():
        recorded[event.name] = recorded.get(event.name, 0) + 1
    check_equal(got, recorded, "counts")


@test
def nothing_is_written():
    directory = scratch()
    p = run(SONDE, "count", "--", program(), "threads", 10, cwd=directory)
    check_equal(p.returncode, 0, p.stderr)
    check("c:word" in p.stdout and "40" in p.stdout, p.stdout)
    check_equal(list(directory.iterdir()), [], "files")


@test
def the_exit_status_is_the_programs():
    p = run(SONDE, "count", "--", program(), "forks", 1, "x", 7)
    check_equal(p.returncode, 7, p.stderr)


@test
def each_program_has_a_line_of_its_own_by_process():
    out = scratch() / "counts"
    p = run(SONDE, "count", "--json", "--by-process", "-e", "c:word", "-o",
            out, "--", "/bin/sh", "-c",
            f"{program()} threads 10; {program()} forks 10; true")
    check_equal(p.returncode, 0, p.stderr)
    rows = json.loads(out.read_text())["events"]
    check_equal(sorted(row["count"] for row in rows), [40, 50], rows)
    check_equal(len({row["pid"] for row in rows}), 2, rows)
    check_equal({row["process"] for row in rows}, {"program"}, rows)


class Waiting:
    """A program that is told to go on."""

    def __init__(self, n):
        self.p = subprocess.Popen([program(), "waits", str(n)], text=True,
                                  stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE)
        self.hear("ready")

    def hear(self, word):
        check_equal(self.p.stdout.readline(), word + "\n", "the program")

    def go_on(self):
        self.p.stdin.write("\n")
        self.p.stdin.flush()


class Counter:
    """`sonde count` of what runs; ready when it says so."""

    def __init__(self, *options):
        self.out = scratch() / "counts"
        self.p = subprocess.Popen([SONDE, "count", "--json", "-o", self.out,
                                   *map(str, options)], text=True,
                                  stderr=subprocess.PIPE)
        line = self.p.stderr.readline()
        check("counting 1 process" in line, line + self.p.stderr.read()
              if self.p.poll() else line)

    def end(self):
        self.p.send_signal(signal.SIGINT)
        err = self.p.communicate(timeout=60 * PATIENCE)[1]
        check_equal(self.p.returncode, 0, err)
        return parse(self.out.read_text())


@test
def a_program_that_runs_is_counted_from_then_on():
    n = 3000
    waiting = Waiting(n)
    counter = Counter("-p", waiting.p.pid)
    waiting.go_on()
    waiting.hear("done")
    check_equal(counter.end(), expected(n, 4 + 5), "counts")
    # Not a second time, and the slot is used again.
    counter = Counter("-p", waiting.p.pid)
    waiting.go_on()
    check_equal(waiting.p.wait(), 0, "status")
    check_equal(counter.end(), {}, "counts")


@test
def two_count_at_once_and_a_third_records():
    n = 2000
    waiting = Waiting(n)
    first = Counter("-p", waiting.p.pid)
    second = Counter("-p", waiting.p.pid, "-e", "c:word")
    trace = scratch() / "trace"
    third = subprocess.Popen([SONDE, "record", "-p", str(waiting.p.pid), "-o",
                              trace], text=True, stderr=subprocess.PIPE)
    check("recording 1 process" in third.stderr.readline(), "the recorder")
    waiting.go_on()
    waiting.hear("done")
    check_equal(first.end(), expected(n, 9), "counts")
    check_equal(second.end(), {"c:word": 9 * n}, "counts")
    third.send_signal(signal.SIGINT)
    third.communicate(timeout=60 * PATIENCE)
    p = run("babeltrace2", trace)
    check_equal(sum("c:word" in line for line in p.stdout.splitlines()),
                9 * n, "recorded")
    waiting.go_on()
    check_equal(waiting.p.wait(), 0, "status")


@test
def a_program_that_is_killed_leaves_exact_counts():
    for seed in range(20):
        chance = random.Random(seed)
        progress = scratch() / "progress"
        progress.write_bytes(bytes(4096))
        out = scratch() / "counts"
        p = subprocess.Popen([SONDE, "count", "--json", "-o", out, "--",
                              program(), "endless", "0", progress],
                             stderr=subprocess.PIPE, text=True)

        def numbers():
            return struct.unpack("<QQ", progress.read_bytes()[:16])

        enough = chance.randrange(1, 2000000)
        while numbers()[1] < enough:
            time.sleep(0)
        with open(f"/proc/{p.pid}/task/{p.pid}/children") as f:
            children = f.read().split()
        victims = [int(c) for c in children if
                   "program" in open(f"/proc/{c}/comm").read()]
        check_equal(len(victims), 1, children)
        os.kill(victims[0], signal.SIGKILL)
        err = p.communicate(timeout=60 * PATIENCE)[1]
        check_equal(p.returncode, 128 + 9, err)
        begun, ended = numbers()
        got = parse(out.read_text())["c:endless"]
        check(ended <= got <= begun, f"seed {seed}: {got} of {ended}..{begun}")


@test
def live_tables_follow_one_another_and_the_last_is_exact():
    out = scratch() / "counts"
    waiting = Waiting(2)
    p = subprocess.Popen([SONDE, "count", "--live", "--interval", "50ms",
                          "--json", "-o", out, "-p", str(waiting.p.pid)],
                         stderr=subprocess.PIPE, text=True)
    p.stderr.readline()
    waiting.go_on()
    waiting.hear("done")
    while '"c:word"' not in out.read_text():
        time.sleep(0.01)
    size = len(out.read_text())
    while len(out.read_text()) == size:
        time.sleep(0.01)
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=60 * PATIENCE)
    got = tables(out.read_text())
    check(len(got) > 2, got)
    check_equal(got[-1], expected(2, 9), "counts")
    waiting.go_on()


@test
def what_cannot_be_is_said():
    for words, what in (
            (["-p", "1", "-e", "a:b if c > 1"], "programs that sonde has started"),
            ([], "which program? Try: sonde count"),
            (["--mode", "discard"], "unknown option '--mode'"),
            (["--interval", "3", "--", "true"], "--interval 3: give a time")):
        p = run(SONDE, "count", *words)
        check_equal(p.returncode, 2, p.stderr)
        check(what in p.stderr, p.stderr)


install()
main()
