#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_python.py - the Python package: its events are those of the trace, as
babeltrace2 shows them; nothing that a program gives it raises an exception; and
what is logged is recorded."""

import subprocess

from home import Home, check_sum
from scripted import environment, script, whole_environment
from sonde import Trace, check, install, record_ok, require, run
from harness import check_equal, main, test


def recorded(text, *options):
    return record_ok(*script(text), env=environment(), options=options)


TYPES = """
class Colour(enum.IntEnum):
    RED = 1
    DARK_RED = -5

event = sonde.Event("app", "all", n=int, h=sonde.hex, yes=bool, f=float, s=str,
                    b=bytes, c=Colour, ints=list[int], floats=list[float])
event(n=-2**63, h=2**64 - 1, yes=True, f=-0.5, s="Zürich", b=b"\\0\\xff",
      c=Colour.DARK_RED, ints=[1, -2, 3], floats=[0.25])
event(n=2**63 - 1, h=0, yes=0, f=1, s="cut\\0here", b=b"", c=7, ints=(), floats=())
sonde.Event("app", "none")()
"""


@test
def values_are_in_the_trace_as_they_were():
    first, second, none = recorded(TYPES).events()
    check_equal(dict(first), {
        "n": -2**63, "h": 2**64 - 1, "yes": 1, "f": -0.5, "s": "Zürich",
        "b": [0, 255], "c": ("DARK_RED", -5), "ints": [1, -2, 3],
        "floats": [0.25], **{k: first[k] for k in first if k.endswith("_length")}},
        "first")
    check_equal((second["n"], second["yes"], second["s"], second["c"],
                 second["ints"]), (2**63 - 1, 0, "cut", ("<unknown>", 7), []), "second")
    check_equal((none.name, dict(none)), ("app:none", {}), "none")


LARGE = """
event = sonde.Event("app", "large", n=int, s=str)
for n in range(3):
    event(n=n, s="x" * (10 ** n * 1000))
event(n=3, s="x" * 5000000)
"""


@test
def strings_of_any_length_are_recorded_or_counted():
    trace = recorded(LARGE, "--memory", "64M")
    lengths = [len(e["s"]) for e in trace.events("app:large")]
    check_equal(lengths, [1000, 10000, 100000], "lengths")
    check_equal(trace.discarded(), 1, "discarded")


WRONG = """
event = sonde.Event("app", "event", n=int, s=str)
for values in ({"n": 2**70, "s": ""}, {"n": 1.5, "s": ""}, {"n": 1, "s": None},
               {"n": 1}, {"n": 1, "s": "", "t": 2}):
    event(**values)
event(n=1, s="fine")
"""


@test
def a_value_that_does_not_fit_is_an_event_of_its_own():
    events = recorded(WRONG).events()
    check_equal([e.name for e in events],
                ["sonde_python:failed"] * 5 + ["app:event"], "events")
    check_equal({e.get("event") for e in events[:5]}, {"app:event"}, "of which")
    for event, word in zip(events, ("error", "integer", "AttributeError",
                                    "no field: 's'", "no field 't'")):
        check(word in event["why"], f"{word} isn't in {event['why']}")


MISTAKES = """
for make in (lambda: sonde.Event("a b", "c"), lambda: sonde.Event("a", "1"),
             lambda: sonde.Event("a", "b", **{"x y": int}),
             lambda: sonde.Event("a", "b", x=complex),
             lambda: sonde.Event("a", "b", x=list),
             lambda: sonde.Event("a", "b", **{f"f{n}": int for n in range(33)})):
    try:
        make()
    except (TypeError, ValueError) as why:
        assert str(why).startswith("sonde: "), why
    else:
        sys.exit("it is taken")
"""


@test
def mistakes_in_a_description_are_told_where_it_is_made():
    done = run(*script(MISTAKES), env=whole_environment())
    check_equal((done.returncode, done.stderr), (0, ""), "mistakes")


OFF = """
class Trap:
    def __index__(self):
        sys.exit("it was evaluated")
event = sonde.Event("app", "off", n=int)
assert not event.enabled
event(n=Trap(), other=1)
print(sonde.missing)
"""


@test
def nothing_is_looked_at_while_nobody_records():
    env = {k: v for k, v in whole_environment().items() if k != "SONDE_MARK"}
    done = run(*script(OFF), env=env)
    check_equal((done.returncode, done.stdout, done.stderr), (0, "None\n", ""),
                "with the library")
    if run(*script("sys.exit(sonde.missing is None)"),
           env={k: v for k, v in env.items() if k != "LD_LIBRARY_PATH"}).returncode:
        return  # libsonde is installed on this machine
    del env["LD_LIBRARY_PATH"]
    done = run(*script(OFF), env=env)
    check("libsonde.so.0" in done.stdout and not done.returncode, done.stdout)


THREADS = """
import os
import threading
event = sonde.Event("app", "step", who=int, n=int)

def work(who):
    for n in range(500):
        event(who=who, n=n)

threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
pid = os.fork()
work(4 if pid else 5)
if pid:
    os.waitpid(pid, 0)
"""


@test
def threads_and_children_record_each_its_own():
    events = recorded(THREADS).events("app:step")
    for who in range(6):
        mine = [e for e in events if e["who"] == who]
        check_equal([e["n"] for e in mine], list(range(500)), f"of {who}")
        check_equal(len({e.tid for e in mine}), 1, f"threads of {who}")
    check_equal(len({e.tid for e in events}), 6, "threads")


LOGGING = """
import logging
log = logging.getLogger("shop")
log.setLevel(5)
log.propagate = False
log.addHandler(sonde.Handler())

def order():
    log.warning("no %s left", "tea")

order()
for level in (5, 20, 25, 40, 50):
    log.log(level, "at %d", level)
try:
    1 / 0
except ZeroDivisionError:
    log.exception("failed")
log.error("%d", "no number")
"""


@test
def what_is_logged_is_recorded():
    trace = recorded(LOGGING)
    events = trace.events()
    check_equal([(e.name, e.get("number"), e.get("message")) for e in events], [
        ("python_log:warning", 30, "no tea left"),
        ("python_log:debug", 5, "at 5"), ("python_log:info", 20, "at 20"),
        ("python_log:info", 25, "at 25"), ("python_log:error", 40, "at 40"),
        ("python_log:critical", 50, "at 50"), ("python_log:error", 40, "failed"),
        ("sonde_python:failed", None, None)], "events")
    check_equal((events[0]["logger"], events[0]["function"]), ("shop", "order"),
                "where from")
    check("ZeroDivisionError" in events[6]["exception"], events[6]["exception"])
    trace = recorded(LOGGING, "--loglevel", "warning")
    check_equal([e["number"] for e in trace.events() if "number" in e],
                [30, 40, 50, 40], "warnings and worse")


RUNS = """
event = sonde.Event("app", "line", text=str)
print("ready", flush=True)
for line in sys.stdin:
    event(text=line.strip())
    print("done", flush=True)
"""


@test
def a_program_that_runs_is_recorded_by_its_number():
    process = subprocess.Popen(
        script(RUNS), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env=whole_environment())

    def say(line):
        process.stdin.write(line + "\n")
        process.stdin.flush()
        check_equal(process.stdout.readline(), "done\n", "answer")

    check_equal(process.stdout.readline(), "ready\n", "start")
    with Home() as home:
        say("before")
        directory = home.start("night", "-p", process.pid)
        say("during")
        check_sum(home.json("stop", "night")["events"])
        say("after")
        check_equal([e["text"] for e in Trace(directory).events("app:line")],
                    ["during"], "events")
    process.stdin.close()
    check_equal(process.wait(), 0, "status")


if __name__ == "__main__":
    install()
    require("babeltrace2")
    main()
