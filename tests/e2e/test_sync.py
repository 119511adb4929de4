#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_sync.py - `sonde sync` on clocks that are simulated: the truth is within the
bound, and what can't be known isn't said."""

import json
import random
from fractions import Fraction
from math import floor

from sonde import SONDE, install, run, scratch
from harness import check, check_equal, main, test

S = 10**9


class Clock:
    """Shows whole nanoseconds; `ppm` faster than the true one."""

    def __init__(self, offset, ppm):
        self.offset, self.rate = offset, 1 + Fraction(ppm, 10**6)

    def at(self, true_ns):
        return floor(self.offset + true_ns * self.rate)

    def true(self, shown):
        return (shown - self.offset) / self.rate


def sync(text, *options, status=0):
    path = scratch() / "messages"
    path.write_text(text)
    done = run(SONDE, "sync", "--json", *options, path)
    check_equal(done.returncode, status, f"status: {done.stderr}")
    return json.loads(done.stdout)["windows"] if status == 0 else done.stderr


def messages(rng, clocks, seconds, each, jitter):
    """`each` a second from every host to every other one, queued unevenly."""
    lines = ["# messages"]
    names = sorted(clocks)
    for _ in range(seconds * each):
        for a in names:
            for b in names:
                if a == b:
                    continue
                sent = rng.randrange(seconds * S)
                slow = 5 if a < b else 1
                took = 2000 + slow * int(rng.expovariate(1 / jitter))
                lines.append(f"{a} {b} {clocks[a].at(sent)} "
                             f"{clocks[b].at(sent + took)}")
    rng.shuffle(lines)
    return "\n".join(lines) + "\n"


@test
def the_truth_is_within_the_bound_of_every_window():
    rng = random.Random(5)
    clocks = {"db": Clock(3 * S, 100), "web": Clock(-7 * S, -60),
              "x.1": Clock(1700000000 * S, 13)}
    windows = sync(messages(rng, clocks, 150, 12, 20000))
    check(len(windows) >= 9, f"{len(windows)} windows")
    for w in windows:
        check_equal(w["state"], "bounded", f"state of {w}")
        a, b = clocks[w["a"]], clocks[w["b"]]
        middle = w["begin_ns"] + (w["end_ns"] - w["begin_ns"]) // 2
        truth = b.offset + a.true(middle) * b.rate - middle
        check(abs(truth - w["offset_ns"]) <= w["bound_ns"] + 1,
              f"{float(truth)} isn't in {w}")
        check(w["bound_ns"] < 20000, f"bound: {w}")
        drift = (b.rate / a.rate - 1) * S
        check(abs(drift - w["drift_ppb"]) < 2000, f"drift {float(drift)}: {w}")


@test
def windows_are_as_long_as_asked_for():
    text = messages(random.Random(2), {"a": Clock(0, 0), "b": Clock(5, 9)}, 40,
                    20, 100)
    for length, nr in ("10s", 4), ("20s", 2), ("1h", 1):
        windows = sync(text, "--window", length)
        check_equal(len(windows), nr, f"windows of {length}")
        check_equal(sum(w["there"] + w["back"] for w in windows), 1600,
                    "messages")


@test
def a_clock_that_jumps_ends_a_window():
    rng = random.Random(3)
    first = messages(rng, {"a": Clock(0, 0), "b": Clock(0, 0)}, 32, 40, 100)
    late = messages(rng, {"a": Clock(32 * S, 0), "b": Clock(33 * S, 0)}, 32, 40,
                    100)
    windows = sync(first + late, "--window", "64s")
    good = [w for w in windows if w["state"] == "bounded"]
    check(len(good) > 1, f"windows: {windows}")
    for w in good:
        expected = 0 if w["end_ns"] < 32 * S + 20000 else S
        check(abs(w["offset_ns"] - expected) <= w["bound_ns"], f"offset: {w}")


@test
def what_cannot_be_known_is_not_said():
    (w,) = sync("a b 1 2\na b 5 9\n")
    check_equal((w["state"], w["offset_ns"], w["bound_ns"]),
                ("too few messages", None, None), "one direction")
    (w,) = sync("a b 100 50\nb a 100 50\na b 200 150\nb a 200 150\n")
    check_equal((w["state"], w["offset_ns"]), ("impossible", None), "effects "
                "before causes")


@test
def mistakes_are_told_by_line():
    for text in ["a b 1\n", "a b 1 2 3\n", "a a 1 2\n", "a b x 2\n",
                 f"a b {2**62} 2\n", "a b 1.5 2\n"]:
        check(":2: not a message" in sync("\n" + text, status=1), text)
    done = run(SONDE, "sync")
    check_equal(done.returncode, 2, "status without a file")
    check("1s to 24h" in sync("", "--window", "1ms", status=2), "window")
    check_equal(sync(""), [], "windows of nothing")


install()
main()
