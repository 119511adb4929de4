#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_kernel_snapshot.py - snapshots of a flight recorder that has kernel events:
while it goes on, any number of them, together with the programs' events, and
with an account that comes out.

What happens in the kernel is made by a system call that nobody else makes, with a
number: getpriority() of a user who has no process. It is made on one CPU, so its
numbers are in one stream, where none may be missing between two.
"""

import os
import re
import subprocess
import sys

from home import Home, check_sum
from obedient import Program, program
from sonde import SONDE, check, run, scratch
from harness import check_equal, main
from kernel import KernelTrace, each_source, kernel_test

CALL = "syscalls:getpriority"
FIRST = 1_000_000  # below, users may have processes


def mark(numbers):
    """A call for each."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    for number in numbers:
        try:
            os.getpriority(os.PRIO_USER, FIRST + number)
        except ProcessLookupError:
            pass
    os.sched_setaffinity(0, before)


def marks(trace, tid=None):
    """The numbers, in the trace's order."""
    return [e["who"] - FIRST for e in trace.events("syscall_entry_getpriority")
            if not tid or e.tid == tid]


def start(home, source, *options):
    return home.start("night", "-a", "-k", CALL, "--kernel-source", source,
                      "--mode", "overwrite", *options)


def snapshot(home):
    """The trace, and the account."""
    directory = scratch() / "snapshot"
    account = home.json("snapshot", "night", "-o", directory)["events"]
    shown = run(SONDE, "check", directory)
    check_equal(shown.returncode, 0, f"sonde check: {shown.stdout}")
    return KernelTrace(directory), account


@each_source
def a_snapshot_has_what_the_kernel_did_and_the_session_goes_on(source):
    with Home() as home:
        directory = start(home, source)
        last = 0
        for more in (5, 3, 0, 1):
            mark(range(last + 1, last + more + 1))
            last += more
            trace, account = snapshot(home)
            check_equal(marks(trace), list(range(1, last + 1)), "calls")
            check_equal(account["overwritten"] + account["discarded"], 0,
                        f"missing: {account}")
            check_sum(home.json("status", "night")["events"])
        mark([last + 1])
        home.ok("stop", "night")
        check_equal(marks(KernelTrace(directory)), list(range(1, last + 2)),
                    "calls at the end")


@each_source
def both_have_one_clock(source):
    p = Program(program())
    with Home() as home:
        start(home, source, "-p", p.pid)
        for number in range(1, 21):
            mark([number])
            p.do("emit", 1)
        trace, _ = snapshot(home)
        order = [e["who"] - FIRST if e.name != "attach:step" else
                 -e["number"] for e in trace.events(
                     "attach:step|syscall_entry_getpriority")]
        check_equal(order, [n for i in range(1, 21) for n in (i, -i)],
                    "in the order of time")
    p.end()


@each_source
def a_snapshot_has_the_state_to_read_it_by(source):
    with Home() as home:
        start(home, source)
        mark([1])
        threads = {}
        for _ in range(2):
            trace, _ = snapshot(home)
            threads = {e["tid"]: e["name"] for e in trace.events(
                "lttng_statedump_process_state")}
            with open("/proc/self/comm") as f:
                check_equal(threads.get(os.getpid()), f.read().strip(),
                            "the name of who made the call")
            check(trace.events("lttng_statedump_end"), "the dump's end")


# Each number, until its input ends; then it says how many there were.
LOOP = f"""
import os, select, sys
os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})
number = 0
print(os.getpid(), flush=True)
while number % 100 or not select.select([0], [], [], 0)[0]:
    number += 1
    try:
        os.getpriority(os.PRIO_USER, {FIRST} + number)
    except ProcessLookupError:
        pass
print(number)
"""


def without_a_gap(trace, account, newest):
    """Each call's entry and exit, one after the other, up to now; what is before
    is counted. Returns the last."""
    found = marks(trace)
    check(found, "nothing is in it")
    check_equal(found, list(range(found[0], found[-1] + 1)), "calls")
    check(found[-1] >= newest, f"{found[-1]} after {newest}")
    both = trace.events("syscall_(entry|exit)_getpriority")
    entries = found[-1] * 2 - (both[-1].name == "syscall_entry_getpriority")
    check_equal(len(both) + account["overwritten"] + account["discarded"],
                entries, f"accounted for in {account}")
    return found[-1]


@each_source
def snapshots_at_full_speed_have_no_gap(source):
    with Home() as home:
        start(home, source, "--kernel-memory", "512k")
        loop = subprocess.Popen([sys.executable, "-c", LOOP], text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        loop.stdout.readline()
        newest, overwritten = 0, 0
        for _ in range(6):
            trace, account = snapshot(home)
            last = without_a_gap(trace, account, newest)
            check(last > newest, "nothing newer")
            newest = last
            check(account["overwritten"] >= overwritten, "less than before")
            overwritten = account["overwritten"]
        made = int(loop.communicate("\n")[0])
        ended = home.json("stop", "night")
        check_sum(ended["events"])
        check_equal(ended["events"]["emitted"] - dumped(home), 2 * made,
                    "emitted")


def dumped(home):
    """Events of the state of the system, in the session's own trace."""
    trace = KernelTrace(home.traces / "night")
    return len(trace.events("(lttng|sonde)_statedump_.*"))


@kernel_test
def what_is_left_out_as_it_is_read_is_left_out_of_snapshots():
    """A pattern with a star inside is no program's to test."""
    with Home() as home:
        home.start("night", "-a", "-k",
                   'syscalls:mkdir,syscalls:mkdirat if pathname == "*wan*ted"',
                   "--mode", "overwrite", "--kernel-source", "bpf")
        for name in ("wanted", "other", "want it, ted"):
            os.mkdir(home.dir / name)
        for _ in range(2):
            trace, _ = snapshot(home)
            made = [os.path.basename(e["pathname"]) for e in
                    trace.events("syscall_entry_mkdir(at)?")]
            check_equal([n for n in made if not re.match("sonde|trace", n)],
                        ["wanted", "want it, ted"], "folders")


if __name__ == "__main__":
    main()
