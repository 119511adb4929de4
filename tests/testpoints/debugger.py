# SPDX-License-Identifier: MIT
"""debugger.py - what gdb does to producer.c; gdb runs this.

SONDE_TESTPOINTS in the environment is JSON: `do`, one of the functions at the
end, its arguments, `points`, the link-time addresses of each test point, and
`out`, where the outcome goes, as JSON.

A breakpoint inside a restartable sequence makes the kernel abort it, each time
it is hit. So breakpoints are there only while we wait for the first hit."""

import json
import os

import gdb

# Calls of many() within which a thread comes to any point there is, or never.
PATIENCE = 12


def read(expression):
    return int(gdb.parse_and_eval(f"(unsigned long)({expression})"))


def alive():
    return gdb.selected_inferior().pid != 0


def bias():
    """Of libsonde, between where it was linked to be and where it is."""
    with open(f"/proc/{gdb.selected_inferior().pid}/maps") as maps:
        for line in maps:
            if "/libsonde.so" in line:
                return int(line.partition("-")[0], 16)
    raise gdb.GdbError("no libsonde in the program")


def run_to(places, patience=PATIENCE):
    """Continue to one of the places or, at last, many(). True for the
    former."""
    breakpoints = [gdb.Breakpoint(f"*{place}") for place in places]
    breakpoints.append(gdb.Breakpoint("many"))
    breakpoints[-1].ignore_count = patience - 1
    gdb.execute("continue", to_string=True)
    for breakpoint in breakpoints:
        breakpoint.delete()
    return alive() and read("$pc") in places


def start():
    """To where a thread has emitted many events, the other any number."""
    gdb.execute("tbreak many")
    gdb.execute("run", to_string=True)
    if not alive():
        raise gdb.GdbError("the program ended")


def take_turns():
    """The threads that trace, with only the selected one running."""
    threads = sorted(gdb.selected_inferior().threads(), key=lambda t: t.num)
    gdb.execute("set scheduler-locking on")
    return threads[1:]


def kill_at(place_of, point, rounds):
    """Come to the point `rounds` times, then kill the program there."""
    start()
    places = place_of[point]
    reached = True
    for _ in range(rounds):
        reached = reached and run_to(places) and not run_to([], 1)
    reached = reached and run_to(places)
    gdb.execute("kill")
    return reached


def stop_at(place_of, points):
    """One thread stops at a point, the other emits many events; so the first, on
    its way to the next point, finds the other's records behind its own."""
    start()
    mine, other = take_turns()
    reached = []
    for point in points:
        mine.switch()
        if run_to(place_of[point]):
            reached.append(point)
        other.switch()
        run_to([], 3)
    gdb.execute("set var stop = 1")
    gdb.execute("set scheduler-locking off")
    gdb.execute("continue", to_string=True)
    return reached


def step(place_of, events, limit):
    """Single-step through that many events. The numbers of those that
    ended."""
    start()
    take_turns()[0].switch()
    ended = []
    for _ in range(events):
        emit = gdb.Breakpoint("emit")
        gdb.execute("continue", to_string=True)
        emit.delete()
        number = read("n")
        back = gdb.newest_frame().older().pc()
        end = gdb.Breakpoint(f"*{back}")
        gdb.execute(f"stepi {limit}", to_string=True)
        end.delete()
        if read("$pc") != back:
            break
        ended.append(number)
    gdb.execute("set var stop = 1")
    gdb.execute("set scheduler-locking off")
    gdb.execute("continue", to_string=True)
    return ended


class Places(dict):
    """Where the points are in the program that runs, as soon as it does."""

    def __missing__(self, point):
        base = bias()
        self[point] = [base + address for address in TASK["points"][point]]
        return self[point]


TASK = json.loads(os.environ["SONDE_TESTPOINTS"])
for setting in ("pagination off", "confirm off", "auto-solib-add off",
                "startup-with-shell off", "breakpoint pending off",
                "debuginfod enabled off"):
    gdb.execute("set " + setting)
OUTCOME = {f.__name__: f for f in (kill_at, stop_at, step)}[TASK["do"]](
    Places(), *TASK["arguments"])
with open(TASK["out"], "w") as out:
    json.dump(OUTCOME, out)
