#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_probes.py - probes in a running process, put in without a GDB: all hits
are accounted for, say what was true, and survive whoever dies."""

import os
import pathlib
import select
import signal
import subprocess

from sonde import BUILD, Trace, check, run, scratch
from harness import check_equal, main, test

PUT = BUILD.resolve() / "bench" / "probe_put"

PROGRAM = r"""
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4 };
long value = 0x1122334455667788;
static long each, handled;

__attribute__((noinline)) void hit(int n, long key)
{
	__asm__ volatile(".globl hit_site\nhit_site: movl $7, %%eax\n"
			 :: "D"(n), "S"(key) : "eax", "memory");
}

static void handler(int number)
{
	(void)number;
	hit(-1, 5);
	__atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
}

static void *work(void *own)
{
	for (int i = 0; i < each; i++)
		hit(i, (long)own);
	return 0;
}

int main(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL,
				  .sigev_signo = SIGUSR1 };
	struct itimerspec often = { { 0, 50000 }, { 0, 50000 } };
	pthread_t threads[THREADS];
	char line[32];
	timer_t timer;

	signal(SIGUSR1, handler);
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		each = atol(line);
		handled = 0;
		timer_settime(timer, 0, &often, 0);
		for (long i = 0; i < THREADS; i++)
			pthread_create(&threads[i], 0, work, (void *)(i + 10));
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], 0);
		timer_settime(timer, 0, &(struct itimerspec){ 0 }, 0);
		printf("%ld\n", THREADS * each + handled);
		fflush(stdout);
	}
	return 0;
}
"""


def compile_program():
    """Nothing of ours is in it."""
    source = scratch() / "program.c"
    source.write_text(PROGRAM)
    out = str(source.with_suffix(""))
    done = run("gcc", "-g", "-O2", "-Wall", source, "-o", out, "-pthread")
    check_equal(done.returncode, 0, done.stderr)
    return out


class Program:
    path = None

    def __init__(self):
        if not Program.path:
            Program.path = compile_program()
        self.process = subprocess.Popen(
            [Program.path], text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE)
        self.pid = int(self.process.stdout.readline())
        symbols = run("nm", Program.path).stdout.split("\n")
        with open(f"/proc/{self.pid}/maps") as maps:
            base = int(maps.readline().split("-")[0], 16)
        self.at = {line.split()[2]: base + int(line.split()[0], 16)
                   for line in symbols if len(line.split()) == 3}

    def start(self, each):
        self.process.stdin.write(f"{each}\n")
        self.process.stdin.flush()

    def hits(self):
        return int(self.process.stdout.readline())

    def hit(self, each):
        self.start(each)
        return self.hits()


class Put:
    """A run of tracepoints, as GDB would define them."""

    def __init__(self, program, *packets, mode="discard"):
        self.dir = scratch() / "trace"
        self.process = subprocess.Popen(
            [PUT, str(program.pid), str(self.dir), mode], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        self.process.stdin.write("\n".join(packets) + "\n\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        check(line == "started\n",
              f"{line!r} {self.process.stderr.read() if not line else ''}")

    def stop(self):
        """(frames, lost), as told."""
        out, err = self.process.communicate("stop\n", timeout=240)
        check_equal(self.process.returncode, 0, err)
        words = out.strip().split("\n")[-1].split()
        return int(words[1]), int(words[3])

    def recorders(self):
        pid = self.process.pid
        path = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
        children = path.read_text().split()
        return [int(c) for c in children if "recorder" in
                pathlib.Path(f"/proc/{c}/comm").read_text()]

    def trace(self):
        return Trace(self.dir)


def tracepoint(program, *actions, condition=""):
    at = program.at["hit_site"]
    code = f":X{len(condition) // 2:x},{condition}" if condition else ""
    return [f"QTDP:1:{at:x}:E:0:0{code}" + ("-" if actions else ""),
            *[f"QTDP:-1:{at:x}:{action}" +
              ("-" if i + 1 < len(actions) else "")
              for i, action in enumerate(actions)]]


@test
def hits_of_threads_and_handlers_are_all_recorded_or_counted_as_lost():
    program = Program()
    for mode in ("discard", "overwrite"):
        put = Put(program, *tracepoint(program), mode=mode)
        want = program.hit(50000)
        frames, lost = put.stop()
        check_equal(frames, want, f"{mode}: hits")
        check_equal(put.trace().count("gdb:tp1") + lost, want,
                    f"{mode}: recorded and lost")


@test
def what_is_collected_is_what_was_true():
    program = Program()
    at = program.at["value"]
    put = Put(program, *tracepoint(program, f"M-1,{at:x},8", "R30"))
    program.hit(1000)
    put.stop()
    events = put.trace().events("gdb:tp1")
    numbers = {}
    for event in events:
        regs = event["regs"]
        numbers.setdefault(regs["rsi"], []).append(regs["rdi"] & 0xffffffff)
        check_equal(event["value"], 0x1122334455667788, "value")
    for key in range(10, 14):
        check_equal(numbers.pop(key), list(range(1000)), f"thread {key}")
    for key, values in numbers.items():
        check_equal((key, set(values)), (5, {0xffffffff}), "of the handler")


@test
def a_condition_lets_through_what_it_says():
    program = Program()
    # $rdi % 100 == 7, and $rsi == 11
    put = Put(program, *tracepoint(
        program, "R20", condition="26000522640" "8" "22071326000422" "0b130f27"))
    program.hit(1000)
    frames, _lost = put.stop()
    check_equal(frames, 10, "hits")
    check_equal([e["regs"]["rdi"] for e in put.trace().events("gdb:tp1")],
                list(range(7, 1000, 100)), "rdi")


@test
def the_program_killed_leaves_a_trace():
    program = Program()
    put = Put(program, *tracepoint(program))
    program.hit(1000)
    program.start(1000000000)
    program.process.kill()
    program.process.wait()
    frames, lost = put.stop()
    check(frames >= 4000, f"{frames} hits")
    # each thread, and a handler in it, may have been between the two
    in_flight = frames - put.trace().count("gdb:tp1") - lost
    check(0 <= in_flight <= 8, f"{in_flight} hits have gone")


@test
def the_tool_killed_leaves_a_trace_and_a_program_that_runs():
    program = Program()
    put = Put(program, *tracepoint(program))
    want = program.hit(1000)
    ends = [os.pidfd_open(pid) for pid in put.recorders()]
    check(ends, "no recorder")
    put.process.kill()
    put.process.wait()
    for end in ends:
        select.select([end], [], [])
    check_equal(put.trace().count("gdb:tp1"), want, "recorded")
    program.hit(1000)


@test
def the_recorder_killed_leaves_a_trace_and_a_program_that_runs():
    program = Program()
    put = Put(program, *tracepoint(program))
    want = program.hit(100000)
    recorders = put.recorders()
    check(recorders, "no recorder")
    for pid in recorders:
        os.kill(pid, signal.SIGKILL)
    frames, _lost = put.stop()
    check_equal(frames, want, "hits")
    check(put.trace().count("gdb:tp1") <= want, "more than there were")
    program.hit(1000)


@test
def a_tool_that_is_killed_while_it_attaches_changes_nothing():
    program = Program()
    program.start(50000000)
    for i in range(40):
        tool = subprocess.Popen([PUT, str(program.pid),
                                 str(scratch() / f"none{i}"), "discard"],
                                stdin=subprocess.PIPE,
                                stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
        try:
            tool.wait(i % 20 / 2000)
        except subprocess.TimeoutExpired:
            tool.kill()
        tool.communicate()
        check_equal(program.process.poll(), None, f"status, kill {i}")
    check(program.hits() >= 4 * 50000000, "it has lost its way")


if __name__ == "__main__":
    main()
