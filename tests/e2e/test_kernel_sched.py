#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_kernel_sched.py - who ran when: the same as `perf sched timehist` says
of the same time.

Both look at the same switches, each in a probe of its own; so the times differ
by the time between the two probes, some microseconds at most, more if the
machine stops between them. perf shows microseconds, rounded down, of
CLOCK_MONOTONIC; over an interval, that clock and the CPU's counter differ by
the rate that the kernel corrects it with, below 500 parts in a million.

Some kernels don't tell of every switch: where the thread that leaves a CPU is not
the one that came last, one or more are missing, for both tracers or for one. perf
may lose events, too, and then there is nothing to compare with.
"""

import re
import shutil
import statistics
import subprocess

from sonde import Skip, check, install, require, scratch
from harness import PATIENCE, check_equal, main
from kernel import (LIMIT_S, each_source, kernel_test, program,
                    record_kernel)

ROUNDS, WORK_US = 400, 30
MEDIAN_NS = 1_500 * PATIENCE
FAR_NS = 10**12
EDGE = 8  # runs at the begin that one of both may lack

HIST = re.compile(r"^ +(\d+)\.(\d{6}) \[(\d+)\] +(.*?)\[(\d+)(?:/\d+)?\] +"
                  r"([\d.]+) +([\d.]+) +([\d.]+) *$")


def switch_pairs(trace, threads):
    """(thread, CPU, begin, ns) of each run that has both ends."""
    runs, since = [], {}
    for event in trace.events("sched_switch"):
        begun = since.pop(event["prev_tid"], None)
        if event["prev_tid"] in threads and begun is not None:
            runs.append((event["prev_tid"], event.cpu, event.time - begun))
        since[event["next_tid"]] = event.time
    return runs


def gaps(trace):
    """In how many places a CPU's switches don't follow from each other."""
    nr, running = 0, {}
    for event in trace.events("sched_switch"):
        nr += running.get(event.cpu, event["prev_tid"]) != event["prev_tid"]
        running[event.cpu] = event["next_tid"]
    return nr


def refuse_losses(path):
    stats = subprocess.run(["perf", "report", "--stats", "-i", path],
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                           text=True, timeout=LIMIT_S)
    lost = sum(map(int, re.findall(r"LOST\w* events: +(\d+)", stats.stdout)))
    if lost:
        raise Skip(f"perf lost events ({lost} times)")


def perf_runs(path, threads):
    refuse_losses(path)
    done = subprocess.run(["perf", "sched", "timehist", "-i", path],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=LIMIT_S)
    check_equal(done.returncode, 0, done.stderr)
    runs = []
    for line in done.stdout.splitlines():
        m = HIST.match(line)
        if m and int(m[5]) in threads:
            runs.append((int(m[5]), int(m[3]),
                         round(float(m[8]) * 1000) * 1000))
    return runs


def record_both(source):
    """The same pingpong, recorded by perf and below it by us."""
    require("perf")
    data = scratch() / "perf.data"
    probe = subprocess.run(["perf", "sched", "record", "-o", data, "true"],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           text=True)
    if probe.returncode != 0:
        raise Skip(f"perf sched: {probe.stdout.strip().splitlines()[-1]}")
    shutil.rmtree(data, ignore_errors=True)
    perf = ["perf", "sched", "record", "-k", "CLOCK_MONOTONIC", "-m", "4096",
            "-o", data, "--", program("pingpong"), ROUNDS, WORK_US]
    # Of everybody, as perf does: a kernel that filters by process misses a
    # switch from a stranger now and then.
    done = record_kernel(*perf, k="sched_switch", source=source,
                         options=["-a"])
    words = next(line for line in done.out.splitlines()
                 if re.fullmatch(r"\d+ \d+ \d+ \d+", line)).split()
    return done.trace(), data, {int(words[0]), int(words[1])}


@each_source
def runs_agree_with_perf_sched_timehist(source):
    trace, data, threads = record_both(source)
    check_equal(trace.lost, 0, "lost")
    ours, theirs = switch_pairs(trace, threads), perf_runs(data, threads)
    for thread in threads:
        mine = [r[1:] for r in ours if r[0] == thread]
        check(len(mine) >= ROUNDS / 2, f"only {len(mine)} runs")
        compare(mine, [r[1:] for r in theirs if r[0] == thread], gaps(trace))


def compare(mine, other, nr_gaps):
    """Both began to look at different times, before the program was executed;
    and perf counts the time since a thread's first event as a run, however
    long, and leaves out the one that ends with the thread. So they are laid
    beside each other from both ends, where they agree best. Of each gap, a thread
    may lack the run that ended there and the one that began.

    A run is as long as perf says only if the machine did not stop between the
    two probes at its begin or at its end, and no test knows how often it does: so
    it is the median that must agree."""
    check(abs(len(mine) - len(other)) <= EDGE + 2 * nr_gaps,
          f"we have {len(mine)} runs, perf {len(other)}; {nr_gaps} gaps")
    half = len(mine) // 2
    off = distances(mine[:half], other) + distances(mine[half:][::-1],
                                                    other[::-1])
    check(len(off) >= len(mine) - 2 * EDGE - 2 * nr_gaps,
          f"{len(off)} of {len(mine)} were compared")
    check(statistics.median(off) <= MEDIAN_NS,
          f"the median is off by {statistics.median(off)} ns: {sorted(off)}")


def distance(mine, other):
    (cpu, ns), (perfs_cpu, perfs_ns) = mine, other
    return (max(0, abs(ns - perfs_ns) - 1000 - ns // 2000)
            if cpu == perfs_cpu else FAR_NS)


def distances(mine, other):
    """By how much runs differ that should be the same."""
    return min(([distance(*pair) for pair in zip(mine[i:], other[j:])]
                for i in range(EDGE) for j in range(EDGE)),
               key=statistics.median)


@each_source
def switches_are_those_the_kernel_counted(source):
    done = record_kernel(program("pingpong"), 500, 5, source=source,
                         k="sched_switch,syscalls:getrusage")
    first, second, voluntary, other = map(int, done.out.split())
    trace = done.trace()
    check_equal(trace.lost, 0, "lost")
    looks = [e.time for e in trace.events("syscall_(entry|exit)_getrusage")]
    check_equal(len(looks), 4, "entries and exits of two looks at the counts")
    away = [e.time for e in trace.events("sched_switch")
            if e["prev_tid"] in (first, second)]
    # A look is taken some time between its call's entry and its exit.
    least = sum(looks[1] < time < looks[2] for time in away)
    most = sum(looks[0] < time < looks[3] for time in away)
    check(least <= voluntary + other <= most,
          f"{least} to {most} switches in the trace, the kernel counted "
          f"{voluntary} + {other}")


@each_source
def on_each_cpu_one_switch_begins_where_the_last_one_ended(source):
    done = record_kernel(program("pingpong"), 300, 500, k="sched_switch",
                         source=source, options=["-a"])
    trace = done.trace()
    check_equal(trace.lost, 0, "lost")
    # Some machines hide threads of their own: these are seen to come, and
    # never to leave. In the kernel's own buffers some also leave out when idle
    # CPUs get to work (seen with plain tracefs, too).
    seen = {e["prev_tid"] for e in trace.events("sched_switch")}
    if source == "tracefs":
        seen.discard(0)
    running = {}
    for event in trace.events("sched_switch"):
        tid = running.get(event.cpu, event["prev_tid"])
        if tid in seen:
            check_equal(event["prev_tid"], tid, f"who left {event!r}")
        running[event.cpu] = event["next_tid"]


def typical(runs, at_most):
    """The time of all runs, of each at most so much: a machine that stopped
    between the two probes made a run long for one of both."""
    return sum(min(run[2], at_most) for run in runs)


@kernel_test
def our_runs_add_up_to_what_perf_shows():
    trace, data, threads = record_both(None)
    ours, theirs = switch_pairs(trace, threads), perf_runs(data, threads)
    at_most = 4 * statistics.median(run[2] for run in theirs)
    mine, perfs = typical(ours, at_most), typical(theirs, at_most)
    check(abs(mine - perfs) <= perfs / 50 + 2_000_000,
          f"they ran {mine} ns, perf says {perfs} ns; of each run at most "
          f"{at_most} ns")


install()
main()
