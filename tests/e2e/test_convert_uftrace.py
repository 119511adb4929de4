#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_convert_uftrace.py - `sonde convert` of uftrace's data directories: the calls
that uftrace itself shows, of the same names, threads and times; and of one that is
made here, byte by byte, losses and damage."""

import json
import re
import shutil
import struct

from sonde import SONDE, Trace, build, check, install, run, scratch
from harness import Skip, check_equal, main, test

WORK = r"""
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
__attribute__((noinline)) int work(int n)
{
	volatile int sum = 0;

	for (int i = 0; i < n; i++)
		sum += fib(5);
	return sum;
}
static void *thread(void *argument)
{
	work(2);
	return argument;
}
int main(void)
{
	pthread_t t;

	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	if (!fork()) {
		work(1);
		_exit(0);
	}
	wait(NULL);
	return work(3) == 0;
}
"""


def convert(path, expect=0):
    to = scratch() / "trace"
    done = run(SONDE, "convert", path, "-o", to)
    check_equal(done.returncode, expect, done.stderr)
    return to, done.stderr


def calls(trace):
    """Entries and exits, by thread: time, which, address."""
    found = {}
    for line in run(SONDE, "print", "--json", trace).stdout.splitlines():
        event = json.loads(line)
        which = event.get("event", "").removeprefix("function:")
        if which in ("entry", "exit"):
            found.setdefault(event["tid"], []).append(
                (event["time_ns"], which, event["payload"]["addr"]))
    return found


def recorded(*words, flags=()):
    if not shutil.which("uftrace"):
        raise Skip("no uftrace")
    path = scratch() / "uftrace.data"
    done = run("uftrace", "record", "-d", path, "--no-event", *words,
               build(WORK, "-pg", "-O0", "-pthread", *flags, name="calls"),
               env={"GMON_OUT_PREFIX": str(scratch() / "gmon")})
    if done.returncode:
        raise Skip(f"uftrace: {done.stderr[-200:]}")
    return path


@test
def calls_are_those_that_uftrace_shows():
    for flags in ((), ("-no-pie",)):
        path = recorded(flags=flags)
        theirs, names = {}, {}
        for line in run("uftrace", "dump", "-d", path, "--no-pager",
                        ).stdout.splitlines():
            one = re.match(r"\s*(\d+)\.(\d{9})\s+(\d+): \[(entry|exit) *\] "
                           r"(.+)\((\w+)\) depth", line)
            if one:
                address = int(one[6], 16)
                theirs.setdefault(int(one[3]), []).append(
                    (int(one[1] + one[2]), one[4], address))
                names.setdefault(address, one[5])
        check_equal(len(theirs), 3, "threads that uftrace knows")
        trace, _ = convert(path)
        check_equal(calls(trace), theirs, "calls")
        done = run(SONDE, "report", "functions", "--json", "--limit", "1000",
                   trace)
        rows = json.loads(done.stdout)["functions"]
        ours = {int(str(row["addr"]), 0): row["function"] for row in rows}
        check_equal(ours, {address: name for address, name in names.items()
                           if address in ours}, "names")
        check("fib" in ours.values(), str(ours))


@test
def arguments_are_refused_and_nothing_is_left():
    path = recorded("-A", "fib@arg1")
    to, words = convert(path, expect=1)
    check("without -A" in words, words)
    check(not to.exists(), "something is left")


# ---- one made by hand ----

ENTRY, EXIT, LOST = 0, 1, 2


def record(ns, kind, address, more=0, magic=5):
    return struct.pack("<QQ", ns, kind | more << 2 | magic << 3 | address << 16)


def handmade(records, version=4, tasks=None):
    path = scratch() / "made"
    path.mkdir()
    (path / "info").write_bytes(
        b"Ftrace!\0" + struct.pack("<IHBBQQHHI", version, 40, 1, 2, 1 << 5, 0,
                                   64, 0, 0))
    (path / "task.txt").write_text(tasks or (
        'SESS timestamp=0.000001000 pid=7 sid=0123456789abcdef exename="/x/p"\n'
        "TASK timestamp=0.000001000 tid=7 pid=7\n"))
    (path / "sid-0123456789abcdef.map").write_text(
        "00400000-00405000 r-xp 00000000 00:00 0     /x/p build-id:00\n")
    (path / "p.sym").write_text(
        "# symbols: 2\n0000000000001000 T one\n0000000000001100 ? __end\n")
    (path / "7.dat").write_bytes(b"".join(records))
    return path


ONE = 0x401010


@test
def losses_and_damage_are_counted_where_they_are():
    trace, words = convert(handmade([
        record(2000, ENTRY, ONE), record(3000, EXIT, ONE),
        record(3500, LOST, 12), record(4000, ENTRY, ONE),
        record(5000, EXIT, ONE), record(6000, ENTRY, 0x401200), b"torn"]))
    check("5 events; 12 lost" in words and "1 records" in words, words)
    check_equal(Trace(trace).discarded(), 12, "lost")
    check_equal(calls(trace), {7: [
        (2000, "entry", ONE), (3000, "exit", ONE), (4000, "entry", ONE),
        (5000, "exit", ONE), (6000, "entry", 0x401200)]}, "calls")
    shown = run(SONDE, "print", "--tree", trace).stdout
    check("one()" in shown and "unknown" in shown, shown)
    _, words = convert(handmade([record(2000, ENTRY, ONE), bytes(16),
                                 record(3000, EXIT, ONE)]))
    check("1 events" in words and "2 records" in words, words)


@test
def what_is_of_no_program_is_told():
    _, words = convert(handmade([record(2000, ENTRY, ONE)],
                                tasks="TASK timestamp=0.000001000 tid=7 pid=7\n"))
    check("1 records are left out: of no program" in words, words)
    _, words = convert(handmade([], version=3), expect=1)
    check("version 3" in words, words)


install()
main()
