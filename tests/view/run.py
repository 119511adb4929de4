#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run.py FILE.mjs [WORD...] - tests of sonde view's page in a browser, or of what it
tells other front ends (tsp.mjs): makes the traces that they look at, and runs them by
node. Says `skip` and why where node, its packages (npm ci in this folder) or Chromium
are missing."""

import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "e2e"), str(HERE.parent)]
from harness import scratch  # noqa: E402
SKIPPED = 77


def skip(why):
    print(f"skip {sys.argv[1]}: {why}")
    sys.exit(SKIPPED)


def chromium():
    for name in "chromium", "chromium-browser", "google-chrome":
        if shutil.which(name):
            return shutil.which(name)
    return skip("no Chromium")


NAMES = {0: "swapper", 11: "one", 21: "two"}


def switch(before, after):
    return "sched_switch", {"prev_comm": NAMES[before], "prev_tid": before,
                            "prev_state": int(before > 0),
                            "next_comm": NAMES[after], "next_tid": after}


# By CPU, at which microsecond of each millisecond: `one` blocks at 30 until `two`
# wakes it at 50; it gets its CPU at 55.
STORY = {0: {0: switch(0, 11), 30: switch(11, 0), 55: switch(0, 11),
             80: switch(11, 0)},
         1: {0: switch(0, 21), 60: switch(21, 0),
             50: ("sched_waking", {"comm": "one", "tid": 11, "target_cpu": 0})}}


def kernel_and_user(packets=10):
    """STORY ten times, with a program's events; CPU 1 loses 7 events half-way."""
    from handmade import Handmade, Layout  # pylint: disable=C0415
    trace = Handmade(Layout(
        header=[("id", 16, 8), ("time", 64, 8)],
        events={"sched_switch": [("prev_comm", "string", 8), ("prev_tid", 32, 8),
                                 ("prev_state", 64, 8),
                                 ("next_comm", "string", 8), ("next_tid", 32, 8)],
                "sched_waking": [("comm", "string", 8), ("tid", 32, 8),
                                 ("target_cpu", 32, 8)],
                "app:step": [("n", 32, 8)], "app:big": [("big", 64, 8)]}))
    for cpu in 0, 1:
        with trace.stream(f"cpu{cpu}", cpu=cpu) as stream:
            for packet in range(packets):
                begin = 1000000 * packet
                with stream.packet(begin, begin + 999999,
                                   discarded=7 * cpu * (packet > 4)):
                    for n in range(90):
                        time = begin + n * 1000 + cpu
                        name, fields = STORY[cpu].get(
                            n, ("app:step", {"n": n * 2}))
                        stream.event(name, time, **fields)
                    if (cpu, packet) == (1, 9):
                        stream.event("app:big", begin + 99000,
                                     big=18446744072105534430)
    return trace.dir


def program():
    """Thread 31 parses within a request that takes 100 ms, twice; nothing is known
    of a kernel."""
    from handmade import Handmade, Layout  # pylint: disable=C0415
    trace = Handmade(Layout(
        header=[("id", 16, 8), ("time", 64, 8)],
        context=[("tid", 32, 8), ("pid", 32, 8)],
        events={"app:request_begin": [], "app:request_end": [],
                "app:parse_begin": [], "app:parse_end": []}))
    with trace.stream("program", cpu=0) as stream:
        with stream.packet(0, 200000000, discarded=0):
            for begin in 0, 100000000:
                for name, at in (("request_begin", 0), ("parse_begin", 20),
                                 ("parse_end", 50), ("request_end", 90)):
                    stream.event("app:" + name, begin + at * 1000000,
                                 {"tid": 31, "pid": 31})
    return trace.dir


def locking():
    """Thread 41 waits for a mutex from 5 ms on and holds it from 10 to 90 ms; 42 waits
    for it from 30 ms on, and has it until 120 ms."""
    from handmade import Handmade, Layout  # pylint: disable=C0415
    mutex = [("mutex", 64, 8), ("caller", 64, 8)]
    trace = Handmade(Layout(
        header=[("id", 16, 8), ("time", 64, 8)],
        context=[("tid", 32, 8), ("pid", 32, 8)],
        events={"lock:mutex_wait": mutex, "lock:mutex_unlock": mutex,
                "lock:mutex_lock": mutex + [("result", 32, 8)]}))
    with trace.stream("program", cpu=0) as stream:
        with stream.packet(0, 200000000, discarded=0):
            for at, tid, what in ((5, 41, "wait"), (10, 41, "lock"),
                                  (30, 42, "wait"), (90, 41, "unlock"),
                                  (90, 42, "lock"), (120, 42, "unlock")):
                stream.event("lock:mutex_" + what, at * 1000000,
                             {"tid": tid, "pid": 41}, mutex=0x4711, caller=1,
                             **({"result": 0} if what == "lock" else {}))
    return trace.dir


def traces(folder):
    with tarfile.open(HERE.parent / "e2e/traces/picotrace.tar.xz") as archive:
        archive.extractall(folder)
    rules = folder / "rules"
    rules.write_text('row thread\nper tid\nbegin event == "app:parse_begin"\n'
                     'end event == "app:parse_end"\n')
    counters = folder / "counters"
    counters.write_text('counter step\nunit steps\nwhen event == "app:step"\nvalue n\n')
    return {"FOREIGN": str(folder / "picotrace"),
            "KERNEL_USER": str(kernel_and_user()),
            "GROWING": str(kernel_and_user(4)),
            "PROGRAM": str(program()), "LOCKING": str(locking()),
            "RULES": str(rules), "COUNTERS": str(counters)}


def main():
    if not shutil.which("node"):
        skip("no node")
    if not (HERE / "node_modules/playwright-core").is_dir():
        skip("no npm packages: `npm ci` in tests/view")
    build = os.environ["SONDE_BUILD"]
    with scratch() as folder:
        env = {**os.environ,
               "CHROMIUM": "" if sys.argv[1] == "tsp.mjs" else chromium(),
               "XDG_CACHE_HOME": folder, "XDG_CONFIG_HOME": folder,
               "SONDE": f"{build}/src/cmd/sonde"}
        if sys.argv[1] in ("real.mjs", "tsp.mjs"):
            env.update(traces(pathlib.Path(folder)))
        return subprocess.call(["node", *sys.argv[1:]], env=env, cwd=HERE)


sys.exit(main())
