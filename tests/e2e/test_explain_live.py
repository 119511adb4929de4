#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_explain_live.py - who made my loop late? The example of docs/realtime.md,
as a test: one recording of a program that is disturbed on purpose, one report,
and the answer names the disturber. The same of `sonde latency loop`."""

import json
import os

from sonde import BUILD, SONDE, Skip, check, install, run
from harness import check_equal, main
from kernel import kernel_test, record_kernel


def controlloop():
    path = BUILD.resolve() / "examples/controlloop"
    if not path.exists():
        raise Skip("examples/controlloop is not built")
    return str(path)


def explain(done, *words):
    report = run(SONDE, "report", "latency", "--explain", "--json", *words,
                 done.dir)
    check_equal(report.returncode, 0, report.stderr)
    return json.loads(report.stdout)


def check_disturber_is_named(*options):
    done = record_kernel(controlloop(), "--turns", "400", "--disturb",
                         k="sched,irq,timer", options=options)
    got = explain(done, "--end", '$event == "loop:turn_begin"', "--value",
                  "late_ns")
    named = [row for row in got["reasons"] if "`disturber`" in row["why"]]
    check(named, f"{got['reasons']}")
    # whether it is a span's main reason depends on who else is busy there
    check(sum(row["time_ns"] for row in named) > 0, f"{named}")
    check("had the CPU" in named[0]["why"], f"{named}")
    check_equal(got["unbegun"], 0, "turns without a length")


@kernel_test
def the_disturber_of_a_loop_is_named():
    check_disturber_is_named()


@kernel_test
def so_it_is_in_a_recording_for_real_time():
    check_disturber_is_named("--realtime", "--recorder-cpus",
                             str(min(os.sched_getaffinity(0))))


@kernel_test
def all_time_of_a_span_has_a_reason():
    done = record_kernel(controlloop(), "--turns", "200", "--disturb",
                         k="sched,irq,timer")
    got = explain(done, "--begin", '$event == "loop:turn_begin"', "--end",
                  '$event == "loop:turn_end"', "--key", "turn")
    check_equal(sum(row["time_ns"] for row in got["reasons"]),
                sum(row["duration_ns"] for row in got["spans"]), f"{got}")
    check_equal(got["explained"] + got["itself"] + got["untold"],
                len(got["spans"]), "spans")


@kernel_test
def gaps_of_our_loop_are_explained():
    done = record_kernel(SONDE, "latency", "loop", "--duration", "300ms",
                         "--event", "--rate", "1", "--threshold", "1us",
                         "--priority", "0", k="sched,irq,timer")
    got = explain(done, "--end", '$event == "latency:over"', "--value", "ns",
                  "--threshold", "1us")
    check(got["explained"] + got["itself"] + got["untold"] > 0, f"{got}")
    check(any(row["why"] != "itself: it had the CPU" for row in
              got["reasons"]), "300 ms without an interrupt: "
          f"{got['reasons']}")


install()
main()
