#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_gdb_launch.py - programs that a stock GDB starts through Sonde's server.

A stock gdbserver does the run control below it: what GDB does with breakpoints
and steps has to be right while tracepoints are in the same code.
"""

import re

import sonde
from sonde import SONDE, Trace, build, check, run, scratch
from harness import check_equal, main, test

PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>

volatile int total;

__attribute__((noinline)) int work(int n, unsigned char low)
{
	int twice = 2 * n;

	total += twice;                 /* LINE_ADD */
	total ^= low;                   /* LINE_XOR */
	return total;
}

__attribute__((noinline)) void end(void)
{
	__asm__ volatile("");
}

static void *calls(void *unused)
{
	for (int i = 0; i < 1000; i++)
		work(i, (unsigned char)i);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[4];
	int nr = argc - 1;

	for (int i = 0; i < nr; i++)
		pthread_create(&threads[i], NULL, calls, NULL);
	calls(NULL);
	for (int i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	end();
	puts(argv[argc - 1] ? "ended" : "");
	return 3;
}
"""


def line_of(mark):
    return 1 + [mark in line for line in PROGRAM.split("\n")].index(True)


def gdb(path, *lines, words=(), output=None):
    """What GDB says to these lines; the program has not begun."""
    for program in "gdb", "gdbserver":
        sonde.require(program)
    script = scratch() / "script"
    server = [SONDE, "gdbserver", *(["-o", str(output)] if output else []),
              "-", path, *words]
    script.write_text("\n".join([
        "set pagination off", "set confirm off", "set width 0",
        "set sysroot /", f"file {path}",
        "target remote | " + " ".join(server), *lines]) + "\n")
    done = run("gdb", "-nx", "-batch", "-x", script)
    check_equal(done.returncode, 0, f"GDB's status; {done.stdout}\n"
                                    f"{done.stderr}")
    return done.stdout + done.stderr


def printed(text, name):
    return [int(v) for v in re.findall(rf"^{re.escape(name)}=(-?\d+)$", text,
                                       re.M)]


def frames(text):
    told = re.search(r"Collected (\d+) trace frame", text)
    check(told, f"no trace frames: {text}")
    return int(told[1])


LINKED = (["-O0", "-fPIE", "-pie"], ["-O0", "-fno-PIE", "-no-pie"])


@test
def a_conditional_breakpoint_stops_where_it_is_true_and_nowhere_else():
    for flags in LINKED:
        text = gdb(build(PROGRAM, *flags),
                   f"break program.c:{line_of('LINE_ADD')} if n == 700",
                   "continue", r'printf "n=%d\n", n',
                   r'printf "total=%d\n", total', "info breakpoints",
                   "break end", "continue", r'printf "total=%d\n", total')
        check_equal(printed(text, "n"), [700], text)
        check_equal(text.count("Breakpoint 1, "), 1, text)
        check_equal(text.count("Breakpoint 2, "), 1, text)
        total, totals = 0, []
        for i in range(1000):
            if i == 700:
                totals.append(total)
            total = (total + 2 * i) ^ (i & 255)
        check_equal(printed(text, "total"), [*totals, total], text)


@test
def a_condition_that_is_never_true_never_stops():
    for flags in LINKED:
        for condition in "n < 0", "low == 256", "*(int *)0 == 1":
            text = gdb(build(PROGRAM, *flags),
                       f"break program.c:{line_of('LINE_XOR')} "
                       f"if {condition}", "continue")
            check("Breakpoint 1, " not in text, text)
            check("exited with code 03" in text, f"{condition}: {text}")


@test
def a_breakpoint_and_steps_go_through_tracepoints():
    add, xor = line_of("LINE_ADD"), line_of("LINE_XOR")
    for flags in LINKED:
        text = gdb(build(PROGRAM, *flags),
                   f"trace program.c:{add} if n % 2 == 0", "actions",
                   "collect n", "end", "break work if n == 10", "tstart",
                   "continue", "next", "next", r'printf "n=%d\n", n',
                   "info line *$pc", "stepi", "stepi", "next",
                   "delete 2", "break end", "continue", "tstop", "tstatus",
                   "tfind start", "while $trace_frame != -1",
                   r'printf "seen=%d\n", n', "tfind", "end")
        check_equal(printed(text, "n"), [10], text)
        check(re.search(rf"Line {xor} of ", text), text)
        check_equal(frames(text), 500, text)
        check_equal(printed(text, "seen"), list(range(0, 1000, 2)), text)


@test
def hits_of_threads_are_counted_and_kept():
    output = scratch() / "trace"
    for flags in LINKED:
        text = gdb(build(PROGRAM, *flags), "break main", "continue",
                   f"trace program.c:{line_of('LINE_ADD')} if n >= 990",
                   "actions", "collect n, twice", "end", "break end",
                   "tstart", "continue", "tstop", "tstatus",
                   "tfind tracepoint 2", "tdump", words=["a", "b", "c"],
                   output=output)
        check_equal(frames(text), 40, text)
        check(re.search(r"^twice = \d+$", text, re.M), text)
        where = output if flags is LINKED[0] else f"{output}.1"
        events = Trace(where).events()
        check_equal(sorted(e["n"] for e in events),
                    sorted(4 * list(range(990, 1000))), str(events))
        check_equal(len({e.tid for e in events}), 4, str(events))


@test
def steps_follow_a_hit():
    for flags in LINKED:
        text = gdb(build(PROGRAM, *flags),
                   f"trace program.c:{line_of('LINE_ADD')} if n == 5",
                   "actions", "collect n", "while-stepping 4",
                   "collect $rip, n", "end", "end", "break end", "tstart",
                   "continue", r'printf "total=%d\n", total', "tstop",
                   "tstatus", "tfind start", "x/6i $pc",
                   "while $trace_frame != -1", r'printf "rip=%ld\n", $rip',
                   "tfind", "end")
        check_equal(frames(text), 5, text)
        listed = [int(a, 16) for a in re.findall(
            r"^\s*(?:=> )?(0x[0-9a-f]+) <work", text, re.M)]
        check_equal(printed(text, "rip"), listed[:5], text)
        total = 0
        for i in range(1000):
            total = (total + 2 * i) ^ (i & 255)
        check_equal(printed(text, "total"), [total], text)


sonde.install()
main()
