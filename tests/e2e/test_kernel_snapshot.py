#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_kernel_snapshot.py - snapshots of a flight recorder that has kernel events:
while it goes on, any number of them, together with the programs' events, and
with an account that comes out.

Calls are made as marks.py has them: numbered, and on one CPU.
"""

import os
import re

from home import Home, check_sum, program_at_home
from marks import CALL, FIRST, Caller, mark, marks
from sonde import SONDE, check, run, scratch
from harness import check_equal, main
from kernel import KernelTrace, each_source, kernel_test, wait_for


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
    with program_at_home() as (p, home):
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


def check_account(trace, account, newest):
    """Each call's entry and exit is in it, up to now, or counted: what was
    overwritten before, and while it was read. Returns the last."""
    found = marks(trace)
    check(found, "nothing is in it")
    check_equal(found, sorted(set(found)), "in order, and there once")
    check(found[-1] >= newest, f"{found[-1]} after {newest}")
    both = trace.events("syscall_(entry|exit)_getpriority")
    entries = found[-1] * 2 - (both[-1].name == "syscall_entry_getpriority")
    check_equal(len(both) + account["overwritten"] + account["discarded"],
                entries, f"accounted for in {account}")
    return found[-1]


@each_source
def at_full_speed_all_is_in_a_snapshot_or_counted(source):
    with Home() as home:
        start(home, source, "--kernel-memory", "512k")
        caller = Caller()
        newest, overwritten = 0, 0
        for _ in range(6):
            trace, account = snapshot(home)
            last = check_account(trace, account, newest)
            check(last > newest, "nothing newer")
            newest = last
            check(account["overwritten"] >= overwritten, "less than before")
            overwritten = account["overwritten"]
        made = caller.end()
        ended = home.json("stop", "night")
        check_sum(ended["events"])
        check_equal(ended["events"]["emitted"] - dumped(home), 2 * made,
                    "emitted")


def dumped(home):
    """Events of the state of the system, in the session's own trace."""
    trace = KernelTrace(home.traces / "night")
    return len(trace.events("(lttng|sonde)_statedump_.*"))


@kernel_test
def an_event_of_a_programs_has_one_made():
    with program_at_home() as (p, home):
        directory = home.start("night", "-a", "-k", CALL, "-p", p.pid, "--mode",
                               "overwrite", "--when", "attach:other")
        mark([1, 2])
        p.do("other", 1)
        wait_for(lambda: home.json("status", "night")["nr_snapshots"],
                 "the snapshot")
        trace = KernelTrace(f"{directory}-other-1")
        check_equal(marks(trace), [1, 2], "calls")
        check_equal(len(trace.events("attach:other")), 1, "of the program")
        home.ok("stop", "night")
        check_equal(marks(KernelTrace(directory)), [1, 2], "at the end")


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
