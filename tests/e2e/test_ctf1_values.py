#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_ctf1_values.py - all of TSDL, in every combination that chance brings:
what ctf1.py wrote is what `sonde print --json` shows, as whole events and field
by field, also when converted to CTF 2; and `--format babeltrace` says the same,
byte for byte, as babeltrace2 of those traces that it can read.

SONDE_TEST_SEED chooses other traces.
"""

import json
import math
import os
import random

from ctf1_random import Trace
from sonde import (SONDE, as_babeltrace2_1, install, require, run, scratch)
from harness import check, check_equal, main, test

SEED = os.environ.get("SONDE_TEST_SEED", "1")
NR_TRACES = 20  # in each test
UTC = {**os.environ, "TZ": "UTC"}


def sonde_print(directory, *words):
    done = run(SONDE, "print", "-q", *words, directory, env=UTC)
    check_equal((done.returncode, done.stderr), (0, ""), "sonde print")
    return done.stdout


def same_values(trace, directory, what):
    shown = [json.loads(x) for x in
             sonde_print(directory, "--json").splitlines()]
    for i, (got, expected) in enumerate(zip(shown, trace.expected)):
        for key, value in expected.items():
            check(got[key] == value, f"{what}, event {i} {got['event']}, "
                  f"{key}: {got[key]!r}, expected {value!r}")
    check_equal(len(shown), len(trace.expected), f"{what}, events")


def batch(for_babeltrace):
    print(f"SONDE_TEST_SEED={SEED}")
    for number in range(NR_TRACES):
        directory = scratch() / "trace"
        rng = random.Random(f"{SEED} {for_babeltrace} {number}")
        trace = Trace(rng, for_babeltrace, directory)
        yield trace, directory, f"trace {number}"


@test
def any_types_are_read_as_they_were_written():
    for trace, directory, what in batch(False):
        same_values(trace, directory, what)
        done = run(SONDE, "check", directory)
        check_equal(done.returncode, 0, f"{what}: {done.stdout}")


@test
def converted_to_ctf_2_they_say_the_same():
    for trace, directory, what in batch(False):
        done = run(SONDE, "convert", directory)
        check_equal((done.returncode, done.stderr), (0, ""), what)
        same_values(trace, done.stdout.strip(), what)


def leaves(value, path=""):
    """Paths to the values of an event, and these; of an enumeration, its
    number."""
    if isinstance(value, dict) and set(value) == {"value", "label"}:
        yield path, value["value"]
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from leaves(inner, f"{path}[{i}]")
    else:
        yield path, value


def near(got, expected):
    """An expression shows a float of 32 bits as the double that it is."""
    if isinstance(expected, float) and got is not None:
        return math.isclose(got, expected, rel_tol=1e-6)
    return got == expected


@test
def fields_by_their_paths_are_what_all_of_them_show():
    """As columns, and in filters: both go to a field without the others."""
    for trace, directory, what in batch(False):
        events = [dict([*leaves(e["payload"]), *leaves(e["context"])])
                  for e in trace.expected]
        pairs = sorted({(p, v) for e in events for p, v in e.items()
                        if isinstance(v, int) and v > -1 << 63})  # as in C
        paths = sorted({p for e in events for p in e})
        trace.rng.shuffle(paths)
        paths = paths[:30]
        shown = [json.loads(line) for line in sonde_print(
            directory, "--json", "--fields", ",".join(["event", *paths]))
            .splitlines()]
        for i, (got, event) in enumerate(zip(shown, events)):
            for path in paths:
                check(near(got[path], event.get(path)),
                      f"{what}, event {i}, {path}: {got[path]!r}, expected "
                      f"{event.get(path)!r}")
        trace.rng.shuffle(pairs)
        wanted = pairs[:5]
        if wanted:
            found = sonde_print(directory, "--json", "-f", " || ".join(
                f"{p} == {v}" for p, v in wanted)).splitlines()
            check_equal([json.loads(e)["payload"] for e in found],
                        [t["payload"] for t, e in zip(trace.expected, events)
                         if any(e.get(p) == v for p, v in wanted)],
                        f"{what}, {wanted}")


@test
def babeltrace2_shows_the_same():
    require("babeltrace2")
    for trace, directory, what in batch(True):
        same_values(trace, directory, what)
        done = run("babeltrace2", directory, env=UTC)
        check_equal(done.returncode, 0, f"{what}: {done.stderr[-600:]}")
        theirs = as_babeltrace2_1(done.stdout).splitlines()
        ours = sonde_print(directory, "--format", "babeltrace").splitlines()
        if trace.clockless:
            theirs.sort()
            ours.sort()
        for i, pair in enumerate(zip(ours, theirs)):
            check_equal(*pair, f"{what}, line {i}")
        check_equal(len(ours), len(theirs), f"{what}, lines")


install()
main()
