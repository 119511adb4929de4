#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_crash.py - however a recording ends, the trace is valid and holds all
that was committed before."""

import mmap
import os
import random
import signal
import struct
import subprocess
import time

from sonde import (SONDE, Skip, Trace, build, check, install, record, run,
                   scratch, skip_if_sanitized)
from kills import children_of, session_of
from harness import check_equal, long_test, main, test

KILLS = int(os.environ.get("SONDE_KILLS", "5"))

# Counts without end; in each line of memory shared with us, how far it is:
# the number is stored after the event was committed.
COUNTER = r"""
#define _GNU_SOURCE
#include <sonde/tracepoint.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define THREADS 2
static volatile uint64_t *progress;
static long pause_us;

static void *count(void *arg)
{
	long thread = (long)arg;

	for (uint64_t n = 1;; n++) {
		sonde_event(count, number, thread, n);
		progress[thread * 8] = n;
		if (pause_us && n % 64 == 0)
			usleep((unsigned)pause_us);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDWR);
	pthread_t thread;

	pause_us = argc > 2 ? atol(argv[2]) : 0;
	progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	pthread_create(&thread, NULL, count, (void *)1);
	count((void *)0);
	return 0;
}
"""


class Counter:
    """A counting program under `sonde record`, running."""

    def __init__(self, program, pause_us, *options):
        directory = scratch()
        self.dir = directory / "trace"
        with open(directory / "progress", "wb") as f:
            f.truncate(4096)
        with open(directory / "progress", "r+b") as f:
            self.memory = mmap.mmap(f.fileno(), 4096)
        self.front = subprocess.Popen(
            [SONDE, "record", *options, "-o", str(self.dir), "--", program,
             directory / "progress", str(pause_us)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.program = program
        while min(self.progress()) == 0:
            check(self.front.poll() is None,
                  self.front.stderr.read() if self.front.poll() else "ended")

    def progress(self):
        return [struct.unpack_from("<Q", self.memory, thread * 64)[0]
                for thread in (0, 1)]

    def pid(self):
        """The program's, which is the child that runs it."""
        for task in children_of(self.front.pid):
            try:
                if os.readlink(f"/proc/{task}/exe") == self.program:
                    return task
            except OSError:
                pass
        raise AssertionError("the program isn't there")

    def kill_program(self):
        os.kill(self.pid(), signal.SIGKILL)

    def end(self):
        out, err = self.front.communicate(timeout=120)
        return self.front.returncode, out, err


def wait_until_gone(session):
    """Until every process of the session that `session` led has ended."""
    while True:
        alive = [p for p in os.listdir("/proc") if p.isdigit() and
                 session_of(p) == session]
        if not alive:
            return
        time.sleep(0.005)


def check_complete(trace, progress):
    """All that each thread counted is there, or was counted as lost."""
    seen = {0: [], 1: []}
    for event in trace.events("count:number"):
        seen[event["thread"]].append(event["n"])
    for thread, numbers in seen.items():
        check_equal(numbers, sorted(set(numbers)), "order of numbers")
    lost = sum(progress) - sum(map(len, seen.values()))
    if trace.discarded() == 0:
        for thread, numbers in seen.items():
            check_equal(numbers, list(range(1, len(numbers) + 1)), "numbers")
            check(len(numbers) >= progress[thread],
                  f"{len(numbers)} of {progress[thread]} events are there")
    else:
        check(lost <= trace.discarded(),
              f"{lost} lost, {trace.discarded()} said to be")


@test
def a_program_that_crashes_leaves_its_last_event():
    skip_if_sanitized("the sanitizer takes the fault")
    program = build(r"""
#include <sonde/tracepoint.h>
int main(int argc, char **argv)
{
	(void)argv;
	for (int i = 0; i < 1000; i++)
		sonde_event(crash, before, i);
	*(volatile int *)(long)(argc - 1) = 0;
	return 0;
}
""")
    recording = record(program)
    check_equal(recording.status, 128 + signal.SIGSEGV, "status")
    check_equal([e["i"] for e in recording.trace().events("crash:before")],
                list(range(1000)), "events")


@test
def a_program_that_calls_abort_leaves_its_last_event():
    program = build(r"""
#include <sonde/tracepoint.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	(void)argv;
	sonde_event(crash, before, argc);
	abort();
}
""")
    recording = record(program)
    check_equal(recording.status, 128 + signal.SIGABRT, "status")
    check_equal(len(recording.trace().events("crash:before")), 1, "events")


@test
def interrupting_the_recording_ends_both_with_a_complete_trace():
    for number in (signal.SIGINT, signal.SIGTERM):
        counter = Counter(build(COUNTER), 1000)
        os.kill(counter.front.pid, number)
        status, _, err = counter.end()
        check_equal(status, 128 + number, err)
        check_complete(Trace(counter.dir), counter.progress())


@test
def control_c_ends_both_with_a_complete_trace():
    counter = Counter(build(COUNTER), 1000)
    os.killpg(counter.front.pid, signal.SIGINT)
    status, _, err = counter.end()
    check_equal(status, 128 + signal.SIGINT, err)
    check_complete(Trace(counter.dir), counter.progress())


@test
def the_trace_is_readable_while_it_is_recorded():
    counter = Counter(build(COUNTER), 5000)
    for _ in range(3):
        while not (counter.dir / "metadata").exists():
            pass
        before = len(Trace(counter.dir).text())
        start = counter.progress()
        while counter.progress()[0] < start[0] + 500:
            pass
    counter.kill_program()
    counter.end()
    check(len(Trace(counter.dir).text()) > before, "nothing came after")


@long_test
def killing_the_program_at_any_instant_loses_nothing():
    program = build(COUNTER)
    rng = random.Random(1)
    for _ in range(KILLS):
        counter = Counter(program, 500)
        time.sleep(rng.random() * 0.03)
        counter.kill_program()
        status, _, err = counter.end()
        check_equal(status, 128 + signal.SIGKILL, err)
        check_complete(Trace(counter.dir), counter.progress())


@long_test
def killing_sonde_at_any_instant_leaves_a_valid_trace():
    program = build(COUNTER)
    rng = random.Random(2)
    for turn in range(KILLS):
        counter = Counter(program, 500)
        sondes = [p for p in [counter.front.pid,
                              *children_of(counter.front.pid)]
                  if os.readlink(f"/proc/{p}/exe") == os.path.realpath(SONDE)]
        check_equal(len(sondes), 2, "processes of sonde")
        pid = counter.pid()
        time.sleep(rng.random() * 0.03)
        before = counter.progress()
        victim = sondes[turn % 2]
        os.kill(victim, signal.SIGKILL)
        os.kill(pid, signal.SIGKILL)  # it runs on, whoever was killed
        counter.end()
        wait_until_gone(counter.front.pid)
        trace = Trace(counter.dir)
        if victim == counter.front.pid:
            check_complete(trace, before)
        else:
            trace.text()


@test
def a_full_disk_is_said_and_leaves_a_valid_trace():
    if os.geteuid() != 0:
        raise Skip("mounting a small disk needs root")
    disk = scratch()
    done = run("mount", "-t", "tmpfs", "-o", "size=1M", "tmpfs", disk)
    if done.returncode != 0:
        raise Skip("can't mount a small disk here")
    try:
        program = build(r"""
#include <sonde/tracepoint.h>
int main(void)
{
	for (long i = 0; i < 1000000; i++)
		sonde_event(full, disk, i);
	return 0;
}
""")
        done = run(SONDE, "record", "-o", disk / "trace", "--", program)
        check("space" in done.stderr, done.stderr)
        numbers = [e["i"] for e in Trace(disk / "trace").events("full:disk")]
        check_equal(numbers, sorted(set(numbers)), "order")
        check(len(numbers) > 10000, f"{len(numbers)} events")
    finally:
        run("umount", disk)


install()
main()
