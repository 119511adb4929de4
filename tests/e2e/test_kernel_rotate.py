#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_kernel_rotate.py - kernel events in chunks: each is read by babeltrace2 alone,
has the state to read it by, and every event is in one of them or counted in one,
whenever one ends.

Calls are made as for snapshots (marks.py): numbered, and on one CPU.
"""

import json
import os
import signal

from home import Home, program_at_home
from marks import CALL, Caller, mark, marks
from sonde import SONDE, check, run
from harness import check_equal, main
from kernel import (KernelTrace, LINE, Running, each_source, kernel_test, read,
                    wait_for)

# After each hundred calls: chunks are read one by one, some dozens are enough.
PAUSE_S = 0.005


def start(home, source, *options):
    return home.start("night", "-a", "-k", CALL, "--kernel-source", source,
                      *options)


def chunks(directory):
    """Of those that can be seen, in order."""
    return [KernelTrace(p) for p in sorted(directory.iterdir())
            if p.name.startswith("chunk-")]


def numbers(traces):
    """Of all calls, none of which is there twice, in the order of chunks."""
    found = [n for trace in traces for n in marks(trace)]
    check_equal(found, sorted(set(found)), "in order, and there once")
    return found


@each_source
def every_event_is_in_one_chunk(source):
    with Home() as home:
        directory = start(home, source, "--rotate", "64k")
        caller = Caller(PAUSE_S)
        for _ in range(5):
            home.ok("rotate", "night")
        made = caller.end()
        ended = home.json("stop", "night")
        traces = chunks(directory)
        check(len(traces) > 5, f"{len(traces)} chunks")
        lost = sum(trace.lost for trace in traces)
        events = sum(len(t.events("syscall_(entry|exit)_getpriority"))
                     for t in traces)
        check_equal(events + lost, 2 * made, f"{events} and {lost} lost")
        check_equal(ended["events"]["discarded"], lost, "said to be lost")
        found = numbers(traces)
        if not lost:
            check_equal(found, list(range(1, made + 1)), "calls")
        whole = run(SONDE, "stat", "--json", directory)
        check_equal(sum(e["count"] for e in
                        json.loads(whole.stdout)["events"]),
                    sum(len(trace.lines) for trace in traces), "as one")
        sound = run(SONDE, "check", directory)
        check_equal(sound.returncode, 0, f"check: {sound.stdout}")


@each_source
def what_was_before_is_in_the_chunk_that_ends(source):
    with Home() as home:
        directory = start(home, source, "--rotate", "hand")
        for number in range(1, 6):
            mark([number])
            home.ok("rotate", "night")
        home.ok("stop", "night")
        check_equal([marks(trace) for trace in chunks(directory)],
                    [[n] for n in range(1, 6)] + [[]], "calls by chunk")


@each_source
def a_chunk_has_the_state_to_read_it_by(source):
    with Home() as home:
        directory = start(home, source, "--rotate", "hand")
        for number in range(1, 4):
            mark([number])
            home.ok("rotate", "night")
        home.ok("stop", "night")
        with open("/proc/self/comm") as f:
            name = f.read().strip()
        for trace in chunks(directory)[:3]:
            threads = {e["tid"]: e["name"] for e in
                       trace.events("lttng_statedump_process_state")}
            check_equal(threads.get(os.getpid()), name, f"in {trace.dir}")
            check(trace.events("lttng_statedump_end"), "the dump's end")


def both_in_order(directory):
    """The names of calls' and the program's events, of plain chunks."""
    wanted = ("attach:step", "syscall_entry_getpriority")
    return [m[3] for m in map(LINE.match, read(directory)[0])
            if m[3] in wanted]


@kernel_test
def both_traces_end_together():
    with program_at_home() as (p, home):
        for name, options in (("some", ("--keep", "3")), ("all", ())):
            home.start(name, "-a", "-k", CALL, "-p", p.pid, "--rotate", "hand",
                       "--compress", *options)
            for number in range(1, 7):
                mark([number])
                p.do("emit", 1)
                home.ok("rotate", name)
            home.ok("stop", name)
        kept = sorted(p.name for p in (home.traces / "some").iterdir())
        check_equal(kept, ["chunk-000005", "chunk-000006", "chunk-000007"],
                    "what is kept")
        for name, nr in (("some", 2), ("all", 6)):
            plain = home.traces / f"{name}-plain"
            done = run(SONDE, "cut", home.traces / name, "-o", plain)
            check_equal(done.returncode, 0, done.stderr)
            check_equal(both_in_order(plain),
                        ["syscall_entry_getpriority", "attach:step"] * nr,
                        "in the order of time")


@kernel_test
def an_event_of_a_programs_ends_a_chunk():
    with program_at_home() as (p, home):
        directory = home.start("night", "-a", "-k", CALL, "-p", p.pid,
                               "--rotate", "hand", "--when", "attach:other",
                               "--do", "rotate")
        mark([1])
        p.do("other", 1)
        wait_for(lambda: (directory / "chunk-000002").exists(), "a chunk")
        mark([2])
        home.ok("stop", "night")
        check_equal(numbers(chunks(directory)), [1, 2], "calls")
        check_equal(marks(chunks(directory)[-1])[-1:], [2], "in the last")


@kernel_test
def the_chunks_of_a_killed_recorder_can_be_read():
    running = Running(k=CALL, options=["-a", "--rotate", "64k"])
    wait_for(lambda: (running.dir / "chunk-000001/kernel/metadata").exists(),
             "a trace")
    caller = Caller(PAUSE_S)
    wait_for(lambda: (running.dir / "chunk-000003").exists(), "chunks")
    os.kill(running.recorder(), signal.SIGKILL)
    status, _, err = running.end()
    caller.end()
    check_equal(status, 1, err)
    check("killed" in err, err)
    numbers(chunks(running.dir))


if __name__ == "__main__":
    main()
