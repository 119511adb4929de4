#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_python_monitor.py - sonde.Monitor and `python3 -m sonde`: what Python's
functions do is recorded, as sys.setprofile and sys.settrace of the same interpreter see
it, and the program does what it does without.

Takes Python 3.12 or later: SONDE_PYTHON, or one of python3, python3.12 and on."""

import functools
import json
import os
import subprocess
import sys

from scripted import whole_environment
from sonde import SONDE, PATIENCE, Skip, Trace, check, install, require, run, scratch
from harness import check_equal, main, test

NAMES = (os.environ.get("SONDE_PYTHON"), sys.executable, "python3",
         *(f"python3.{minor}" for minor in range(12, 20)))
HAS = "import sys; print(sys.executable if hasattr(sys, 'monitoring') else '')"


@functools.cache
def python():
    for name in filter(None, NAMES):
        try:
            done = subprocess.run([name, "-c", HAS], text=True, timeout=60 * PATIENCE,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        except OSError:
            continue
        if done.stdout.strip():
            return done.stdout.strip()
    raise Skip("no Python with sys.monitoring (3.12): SONDE_PYTHON names one")


def write(text):
    path = scratch() / "job.py"
    path.write_text(text)
    return path


def recorded(*words):
    """The trace of a Python, and what it said."""
    directory = scratch() / "trace"
    done = run(SONDE, "record", "-q", "-o", directory, "--", python(), *words,
               env=whole_environment())
    check_equal(done.returncode, 0, done.stdout + done.stderr)
    return Trace(directory), done.stdout


def steps(trace):
    """(event, function, how) of each."""
    return [(e.name.removeprefix("python_code:"), e["function"], e["how"][0])
            for e in trace.events() if "how" in e]


WORK = """
import sys

class Shop:
    def sell(self, n):
        if n > 2:
            raise ValueError("too many")
        sold = []
        for x in self.count(n):
            sold.append(x)
        return sold

    def count(self, n):
        for i in range(n):
            yield i

    @staticmethod
    def closed(n):
        return (lambda: n and Shop.closed(n - 1))()

def caught():
    it = Shop().count(5)
    next(it)
    try:
        it.throw(KeyError("thrown"))
    except KeyError:
        pass

def work():
    shop = Shop()
    shop.sell(2)
    for n in 3, 4:
        try:
            shop.sell(n)
        except ValueError:
            pass
    Shop.closed(3)
    caught()
"""

# What the interpreter tells profilers of the same calls.
PROFILED = WORK + """
import json
seen = []
def profile(frame, what, argument):
    if what in ("call", "return") and frame.f_code.co_filename == __file__:
        seen.append((what, frame.f_code.co_qualname))
sys.setprofile(profile)
work()
sys.setprofile(None)
print(json.dumps(seen))
"""


@test
def each_call_is_entered_and_left_as_a_profiler_sees_it():
    trace, _ = recorded("-m", "sonde", "--files", "*/job.py", write(WORK + "work()\n"))
    ours = [(what, function) for what, function, _ in steps(trace)
            if function not in ("<module>", "Shop")]
    done = run(python(), write(PROFILED))
    theirs = [({"call": "entry", "return": "exit"}[what], function)
              for what, function in json.loads(done.stdout)]
    check_equal(len(theirs), 36, theirs)
    check_equal(ours, theirs, "calls")


@test
def how_a_function_is_entered_and_left_is_said():
    trace, _ = recorded("-m", "sonde", "--functions", "[cS]*[udl]?[nt]*",
                        write(WORK + "Shop().sell(1)\ncaught()\n"))
    check_equal([s for s in steps(trace) if s[1] == "Shop.count"],
                [("entry", "Shop.count", "CALLED"), ("exit", "Shop.count", "YIELDED"),
                 ("entry", "Shop.count", "RESUMED"), ("exit", "Shop.count", "RETURNED"),
                 ("entry", "Shop.count", "CALLED"), ("exit", "Shop.count", "YIELDED"),
                 ("entry", "Shop.count", "THROWN"), ("exit", "Shop.count", "UNWOUND")],
                "steps")


TRACED = WORK + """
import json
seen = []
def trace(frame, what, argument):
    if frame.f_code.co_filename == __file__ and what == "line":
        seen.append((frame.f_code.co_qualname, frame.f_lineno))
    return trace
sys.settrace(trace)
work()
sys.settrace(None)
print(json.dumps(seen))
"""


@test
def lines_are_those_that_a_debugger_sees():
    trace, _ = recorded("-m", "sonde", "--files", "*/job.py", "--lines",
                        write(WORK + "work()\n"))
    ours = [(e["function"], e["line"]) for e in trace.events("python_code:line")
            if e["function"] not in ("<module>", "Shop")]
    theirs = [tuple(pair) for pair in json.loads(run(python(), write(TRACED)).stdout)]
    check(len(theirs) > 20, theirs)
    check_equal(ours, theirs, "lines")


RAISES = """
class Loud(Exception):
    def __str__(self):
        print("it was asked for its text")
        return ""
    __repr__ = __str__
    args = property(__str__)
    __traceback__ = property(__str__)

def inner(error):
    raise error

def outer(error):
    inner(error)

for error in ValueError("no tea"), Loud("x"), KeyError(7):
    try:
        outer(error)
    except Exception:
        pass
"""


@test
def an_exception_is_told_once_where_it_is_raised_and_not_asked_for_its_text():
    trace, out = recorded("-m", "sonde", "--files", "*/job.py", "--exceptions",
                          write(RAISES))
    check_equal(out, "", "the program's words")
    line = RAISES.splitlines().index("    raise error") + 1
    check_equal([(e["function"], e["line"], e["exception"], e["message"])
                 for e in trace.events("python_code:exception")],
                [("inner", line, "ValueError", "no tea"), ("inner", line, "Loud", "x"),
                 ("inner", line, "KeyError", "")], "exceptions")


OPENED = """
import sonde

def inside(n):
    return n

def other():
    inside(0)

inside(1)
with sonde.Monitor("inside", lines=True) as first:
    inside(2)
    other()
inside(3)
second = sonde.Monitor("other")
other()
second.close()
second.close()
other()
with sonde.Monitor("inside"), sonde.Monitor("inside"):
    inside(4)
assert first.missing is None
"""


@test
def what_is_recorded_is_what_was_asked_for_while_it_was():
    trace, _ = recorded(write(OPENED))
    both = ["entry", "line", "exit"]
    check_equal([(e.name.removeprefix("python_code:"), e["function"])
                 for e in trace.events()],
                [(what, "inside") for what in both * 2] +
                [("entry", "other"), ("exit", "other")] +
                [(what, "inside") for what in ("entry", "entry", "exit", "exit")],
                "events")


SELF = """
import sys
print(sys.argv[1:], __name__, sys.path[0], __file__)
def deep(n):
    try:
        return deep(n + 1)
    except RecursionError:
        return n
depth = deep(0)
print("deep enough:", abs(depth - sys.getrecursionlimit()) < 50)
sys.exit(int(sys.argv[1]))
"""


@test
def a_program_runs_as_it_does_without():
    path = write(SELF)
    for directory in scratch(), path.parent:
        for words in ([path], ["-m", "job"]):
            alone = run(python(), *words, "3", "-m", "--lines", cwd=directory,
                        env=whole_environment() | {"PYTHONSAFEPATH": ""})
            ours = run(SONDE, "record", "-q", "-o", scratch() / "trace", "--", python(),
                       "-m", "sonde", "--lines", *words, "3", "-m", "--lines",
                       cwd=directory, env=whole_environment())
            check_equal((ours.returncode, ours.stdout), (alone.returncode, alone.stdout),
                        f"{words} in {directory}: {ours.stderr}")


@test
def what_has_no_room_below_the_limit_of_recursion_is_told():
    trace, out = recorded("-m", "sonde", "--files", "*/job.py",
                          write(SELF.replace("sys.exit(int(sys.argv[1]))", "print(depth)")))
    failed = trace.events("sonde_python:failed")
    nr_missed = sum(int(e["why"].split()[1]) for e in failed)
    check(failed and nr_missed, "none is told")
    seen = [what for what, function, _ in steps(trace) if function == "deep"]
    # Of the innermost call it isn't known whether it had a frame.
    nr_frames = int(out.split()[-1]) + 1
    check(len(seen) + nr_missed - 2 * nr_frames in (0, 1, 2),
          f"{len(seen)} and {nr_missed} of {nr_frames} frames")


FULL = """
import sys
import sonde
for tool in range(6):
    sys.monitoring.use_tool_id(tool, "other")
monitor = sonde.Monitor()
print(monitor.missing)
monitor.close()
assert all(sys.monitoring.get_tool(tool) == "other" for tool in range(6))
"""


@test
def where_it_cant_be_a_word_says_why_and_the_program_goes_on():
    done = run(python(), "-W", "error::DeprecationWarning", write(FULL),
               env=whole_environment())
    check("all are taken" in done.stdout and "all are taken" in done.stderr,
          done.stdout + done.stderr)
    check_equal(done.returncode, 0, "status")
    if sys.version_info >= (3, 12):
        raise Skip("no Python without sys.monitoring")
    done = run(sys.executable, "-m", "sonde", "--files", "x", write("print(7)"),
               env=whole_environment())
    check_equal((done.returncode, done.stdout), (0, "7\n"), done.stderr)
    check("sys.monitoring" in done.stderr and "3.12" in done.stderr, done.stderr)


install()
require("babeltrace2")
main()
