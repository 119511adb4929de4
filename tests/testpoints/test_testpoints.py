#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_testpoints.py - a producer may be stopped or killed at any step.

The steps with a visible effect are named in the code (SONDE_TESTPOINT in
base/port.h); their addresses are in a section of libsonde that isn't loaded.
Here gdb stops producer.c at each of them, and babeltrace2 says what is in the
trace: see debugger.py for what happens to the program.

A point that nothing reaches is a failure too, so that none is forgotten."""

import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "e2e")]
from harness import Skip, check, check_equal, long_test, main  # noqa: E402
from sonde import (LIB, build, install, record, require, scratch,  # noqa: E402
                   skip_if_sanitized)

RECORD_SIZE = 64
EVENTS = 4000
# Events to step through, instructions of one at most.
STEPPED = 4
STEPS = 500000
# Many small sub-buffers: a switch every forty events or so.
GEOMETRY = ["--subbuf", "4K", "--memory", "1M", "--read-timer", "1ms"]
# Another slot's, which has a part of the memory.
PINNED = ["--pin", "points:*", "--memory", "16M"]


class Scenario:
    def __init__(self, *options, rseq=True, pinned=True):
        self.options = [*GEOMETRY, *options]
        self.rseq = rseq
        self.pinned = pinned

    def reaches(self, point):
        """Whether to look for it here."""
        if point.startswith("lane_"):
            return not self.rseq
        if point.startswith("several_"):
            return self.rseq and self.several()
        if not re.match("(large_)?(word|block|long_block|string)_", point):
            return self.rseq or not re.match("commit_|store_", point)
        return (self.rseq and not self.several() and
                self.large() == point.startswith("large_"))

    def __str__(self):
        return " ".join(self.options[len(GEOMETRY):] +
                        ([] if self.rseq else ["without rseq"]))

    def large(self):
        return "large" in self.options

    def several(self):
        """Whether the events are in another slot's rings than the first's."""
        return "--pin" in self.options


def points():
    """The link-time addresses of each test point of libsonde."""
    if not (LIB / "libsonde.so").exists():
        raise Skip("no shared library was built")
    copy = scratch() / "points"
    subprocess.run(
        ["objcopy", "-O", "binary", "--only-section=.sonde_testpoints",
         "--set-section-flags", ".sonde_testpoints=alloc",
         LIB / "libsonde.so", copy], check=True)
    data = copy.read_bytes()
    check_equal(len(data) % RECORD_SIZE, 0, "odd bytes in the section")
    out = collections.defaultdict(list)
    for address, name in struct.iter_unpack("<Q56s", data):
        out[name.rstrip(b"\0").decode()].append(address)
    check(len(out) > 0, "there is no test point")
    return out


class Debugged:
    """A recording of producer.c, by gdb, and what came of it."""

    def __init__(self, scenario, do, *arguments, where):
        directory = scratch()
        out = directory / "outcome"
        self.progress_file = directory / "progress"
        self.progress_file.write_bytes(bytes(4096))
        task = {"do": do, "arguments": arguments, "points": where,
                "out": str(out)}
        command = ["gdb", "-nx", "-batch", "-x", HERE / "debugger.py", "--args",
                   PROGRAMS["producer"], self.progress_file,
                   int(scenario.pinned),
                   EVENTS if do == "kill_at" else 10 ** 9]
        env = {"SONDE_TESTPOINTS": json.dumps(task)}
        if not scenario.rseq:
            command.insert(0, PROGRAMS["no_rseq"])
            env["GLIBC_TUNABLES"] = "glibc.pthread.rseq=0"
            env["SONDE_SECCOMP"] = "allow"  # that is how rseq is denied
        self.recording = record(*command, options=scenario.options,
                                env=env)
        check(out.exists(), f"gdb: {self.recording.out[-500:]} "
                            f"{self.recording.err[-1500:]}")
        self.outcome = json.loads(out.read_text())
        self.trace = self.recording.trace()

    def progress(self):
        """Events whose emission returned, by thread."""
        data = self.progress_file.read_bytes()
        return dict(struct.unpack_from("<QQ", data, 64 * i) for i in (0, 1))

    def recorded(self):
        """The numbers of each thread's events, as babeltrace2 has them; each
        event must be under its own thread's context record."""
        out = {tid: [] for tid in self.progress()}
        for event in self.trace.events():
            check_equal(event.tid, event["thread"],
                        f"{event.name} {event['n']}: thread of the context")
            check(event["thread"] in out, f"event of thread {event['thread']}")
            check_equal(event.name, KINDS[event["n"] % 5], "kind")
            out[event["thread"]].append(event["n"])
        for tid, numbers in out.items():
            for before, after in zip(numbers, numbers[1:]):
                check(before < after, f"thread {tid}: {after} after {before}")
        return out

    def check_sums(self, in_flight):
        """recorded + discarded = emitted, but for `in_flight` events that had
        been begun: they are there or they aren't."""
        emitted = self.progress()
        recorded = self.recorded()
        for tid, numbers in recorded.items():
            check(not numbers or numbers[-1] < emitted[tid] + bool(in_flight),
                  f"thread {tid} emitted {emitted[tid]}, has {numbers[-1:]}")
        there = sum(map(len, recorded.values()))
        total = there + self.trace.discarded()
        least = sum(emitted.values())
        check(least <= total <= least + in_flight,
              f"{there} recorded + {self.trace.discarded()} discarded of "
              f"{least}..{least + in_flight}")


KINDS = ["points:" + kind for kind in ("word", "block", "longer", "string",
                                     "parts")]
PROGRAMS = {}


def prepare():
    skip_if_sanitized("the steps are the same")
    require("gdb")
    for name in ("producer", "no_rseq"):
        source = (HERE / f"{name}.c").read_text()
        PROGRAMS[name] = build(source, "-D_GNU_SOURCE", name=name)
    return points()


def kill_at(scenario, point, where):
    """Whether the point was reached; a failure names it."""
    rounds = sum(point.encode()) % 4
    try:
        killed = Debugged(scenario, "kill_at", point, rounds, where=where)
        killed.check_sums(2)
    except AssertionError as why:
        raise AssertionError(f"killed at {point}, {scenario}: {why}") from why
    return killed.outcome


def kill_at_all(scenarios):
    where = prepare()
    runs = {}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for scenario in scenarios:
            for point in filter(scenario.reaches, where):
                runs[point, scenario] = pool.submit(kill_at, scenario, point,
                                                    where)
    reached = {point for (point, _), run in runs.items() if run.result()}
    check_equal(sorted({point for point, _ in runs} - reached), [],
                "points never reached")


@long_test
def every_point_can_be_a_producer_s_last():
    kill_at_all([Scenario("--headers", "compact"),
                 Scenario("--headers", "large", pinned=False),
                 Scenario(*PINNED, "--headers", "large"),
                 Scenario(rseq=False)])


@long_test
def every_point_can_be_the_last_in_overwrite_mode():
    kill_at_all([Scenario("--mode", "overwrite", "--headers", "compact"),
                 Scenario("--mode", "overwrite", "--headers", "large"),
                 Scenario("--mode", "overwrite", rseq=False)])


@long_test
def stopping_one_thread_at_any_point_harms_no_other():
    where = prepare()
    reached = set()
    for options in (["--headers", "compact"], ["--headers", "large"],
                    ["--mode", "overwrite", "--headers", "compact"],
                    PINNED):
        for rseq in (True, False):
            scenario = Scenario(*options, rseq=rseq)
            stopped = Debugged(scenario, "stop_at",
                               list(filter(scenario.reaches, where)),
                               where=where)
            check_equal(stopped.recording.status, 0, stopped.recording.err)
            stopped.check_sums(0)
            reached |= set(stopped.outcome)
    check_equal(sorted(set(where) - reached), [], "points never reached")


@long_test
def single_stepping_an_event_ends():
    """Each step aborts a restartable sequence: after so many, the event goes to
    a lane, where nobody disturbs it."""
    stepped = Debugged(Scenario("--headers", "compact"), "step", STEPPED,
                       STEPS, where=prepare())
    check_equal(stepped.recording.status, 0, stepped.recording.err)
    check_equal(len(stepped.outcome), STEPPED, "events that ended")
    stepped.check_sums(0)
    cpu = min(os.sched_getaffinity(0))  # that of pin() in producer.c
    in_lanes = [e["n"] for e in stepped.trace.events() if e.cpu != cpu]
    check_equal(in_lanes, stepped.outcome, "events in lanes "
                f"({stepped.trace.discarded()} were discarded)")


install()
main()
