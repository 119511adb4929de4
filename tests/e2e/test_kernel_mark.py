#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_kernel_mark.py - marks by the kernel's door: lines that a shell writes to the
file of a recording, and `sonde mark`, which does so, too; the same events as by
libsonde, with nothing of a process in the trace. The door is tracefs's, and where it is
loaded that of our module, too (door_test)."""

import json
import os
import shutil

from home import Home, check_sum
from scripted import WITHOUT_LIBSONDE, environment, script
from sonde import SONDE, Skip, check, install, require, run, scratch
from harness import check_equal, main, test
from kernel import KernelTrace, LIMIT_S, WHY_NOT, need, record_kernel
from marked import RECORDED, VALUES

RARE = "sched:sched_process_hang"  # next to nothing else is in the trace
EVENTS = r"[a-z_]+:(?!thread|process|name|schedule|mapping|mappings).*"
NOBODY = 65534


def tracefs_test(function):
    def run():
        need("tracefs")
        function()
    run.__name__ = function.__name__
    run.time_limit_s = LIMIT_S
    return test(run)


# Whose door it is.
source = "tracefs"


def door_test(function):
    """By each door that there is."""
    def run():
        global source
        need("tracefs")
        function()
        if WHY_NOT["modules"]():
            return
        source = "modules"
        try:
            function()
        finally:
            source = "tracefs"
    run.__name__ = function.__name__
    run.time_limit_s = 2 * LIMIT_S
    return test(run)


def rules():
    """The module has a door only if it is asked for."""
    return RARE if source == "tracefs" else f"{RARE},mark"


def record_script(script, options=(), **more):
    return record_kernel("sh", "-c", script, k=rules(), source=source,
                         options=["-a", *options], **more)


def marks(trace):
    """Those with a colon, of the kernel's trace."""
    return [e for e in trace.events(EVENTS) if e.tid]


def pairs(trace):
    return [(e.name, e.fields) for e in marks(trace)]


@door_test
def a_line_that_a_shell_writes_is_an_event():
    pid = scratch() / "pid"
    done = record_script(f"echo $$ > {pid}; printf 'phase name=\"set up\" n=-3\\n'"
                         " > $SONDE_MARK; printf '<3>job:done part=2.5 mask=0xff'"
                         " > $SONDE_MARK")
    trace = done.trace()
    check_equal(pairs(trace),
                [("mark:phase", {"name": "set up", "n": -3}),
                 ("job:done", {"part": 2.5, "mask": 255})], "marks")
    check_equal({e.tid for e in marks(trace)}, {int(pid.read_text())}, "thread")
    metadata = (done.dir / "kernel/metadata").read_text()
    check("name = \"job:done\";" in metadata, metadata)


@door_test
def the_command_writes_there_and_is_no_process_of_the_trace():
    words = " ".join(f"'{word}'" for word in VALUES)
    done = record_script(f"{SONDE} mark {words}; echo 'it is done.' | "
                         f"{SONDE} mark --stdin", options=["--json"])
    trace = done.trace()
    check_equal(pairs(trace), [("job:done", RECORDED),
                               ("mark:line", {"text": "it is done."})], "marks")
    check_equal(done.summary()["processes"], 0, "processes")


@door_test
def no_line_is_refused_and_none_is_taken_for_another_tracers():
    lines = ("sched_switch prev_tid=1", "sonde:thread tid=1", "hello world", "x a=",
             "x a=1 a=2", "a-b")
    script = "; ".join(f"printf '{line}\\n' > $SONDE_MARK" for line in lines)
    check_equal(pairs(record_script(script).trace()),
                [("mark:sched_switch", {"prev_tid": 1}),
                 ("mark:line", {"text": "sonde:thread tid=1"}),
                 ("mark:line", {"text": "hello world"}), ("mark:x", {"a": ""}),
                 ("mark:line", {"text": "x a=1 a=2"}),
                 ("mark:line", {"text": "a-b"})], "events")


@door_test
def rules_levels_and_conditions_are_those_of_programs():
    lines = ("job:done code=1", "job:done code=7", "job:begin", "phase",
             "<7>job:begin", "job:done text=7")
    script = "; ".join(f"echo '{line}' > $SONDE_MARK" for line in lines)
    done = record_script(script, options=[
        "-e", "job:*", "-e", "job:done if code > 3", "--loglevel", "info"])
    check_equal(pairs(done.trace()), [("job:done", {"code": 7}), ("job:begin", {})],
                "events")


@door_test
def what_the_buffer_has_no_room_for_is_counted():
    written = scratch() / "written"
    program = ("import errno, os, sys\n"
               "fd = os.open(os.environ['SONDE_MARK'], os.O_WRONLY)\n"
               "full = 0\n"
               "for n in range(20000):\n"
               "    try:\n"
               "        os.write(fd, b'step n=%d text=%s' % (n, b'x' * 80))\n"
               "    except OSError as e:\n"
               "        assert e.errno == errno.EBADF, e\n"
               "        full += 1\n"
               f"open('{written}', 'w').write(str(full))\n")
    done = record_kernel("python3", "-c", program, k=rules(), source=source,
                         options=["-a", "--json", "--kernel-memory", "256K",
                                  "--read-timer", "10s"])
    full = int(written.read_text())
    trace = done.trace()
    steps = [e for e in marks(trace) if e.name == "mark:step"]
    check(full > 0, "the buffer was never full")
    check_equal(len(steps) + full, 20000, "recorded and refused")
    check_equal(trace.lost, full, "lost, as babeltrace2 says")


@door_test
def who_may_not_write_there_goes_another_way():
    if os.geteuid() or not shutil.which("setpriv"):
        raise Skip("takes root and setpriv")
    as_nobody = f"setpriv --reuid {NOBODY} --clear-groups"
    status = scratch() / "status"
    done = record_script(f"{as_nobody} sh -c 'echo door > $SONDE_MARK'; "
                         f"echo $? > {status}; {as_nobody} {SONDE} mark library n=1")
    check(status.read_text().strip() != "0", "it could write")
    check("Permission denied" in done.err, done.err)
    found = [e for e in done.trace().events(EVENTS)]
    check_equal([(e.name, e.fields, e.tid) for e in found],
                [("mark:library", {"n": 1}, None)], "events")


@door_test
def a_session_by_name_says_where_its_door_is():
    with Home() as home:
        directory = home.start("night", "-a", "-k", rules(), "--kernel-source",
                               source, "-e", "job:*")
        door = home.json("status", "night")["mark"]
        check_equal(door.startswith("/dev/sonde-mark"), source == "modules", door)
        with open(door, "w", encoding="utf-8") as file:
            file.write("job:begin\n")
        home.ok("mark", "-s", "night", *VALUES)
        err = home.complaint("mark", "-s", "night", "x")
        check("mark:x is not recorded" in err, err)
        ended = home.json("stop", "night")
        check_sum(ended["events"])
        check_equal(pairs(KernelTrace(directory)),
                    [("job:begin", {}), ("job:done", RECORDED)], "marks")


@tracefs_test
def a_session_without_programs_has_marks_in_the_kernels_trace():
    need("bpf")
    with Home() as home:
        directory = home.start("night", "-a", "-k", "sched:sched_process_exec",
                               "--kernel-source", "bpf")
        check_equal("mark" in home.json("status", "night"), False, "a door")
        home.ok("mark", "-s", "night", *VALUES)
        ended = home.json("stop", "night")
        check_sum(ended["events"])
        check_equal(pairs(KernelTrace(directory)), [("job:done", RECORDED)], "marks")


@tracefs_test
def a_rule_asks_for_the_door_or_wants_none():
    write = "echo job:done > ${SONDE_MARK:-/dev/null}"
    for wanted in ("mark", "sched:sched_process_exec,mark", "sched:*,mark:line"):
        done = record_kernel("sh", "-c", write, k=wanted)
        check_equal(pairs(done.trace()), [("job:done", {})], wanted)
    done = record_kernel("sh", "-c", write, k=f"{RARE},!mark", source="tracefs")
    check_equal(pairs(done.trace()), [], "without")
    done = record_kernel("true", k="mark if n > 1", status=2)
    check("no event that is recorded has 'n'" in done.err, done.err)


@door_test
def each_chunk_describes_its_marks():
    with Home() as home:
        directory = home.start("night", "-a", "-k", rules(), "--kernel-source",
                               source, "--rotate", "1h")
        home.ok("mark", "-s", "night", "first", "n=1")
        chunk = home.json("rotate", "night")["directory"]
        home.ok("mark", "-s", "night", "first", "n=2")
        home.ok("mark", "-s", "night", "second")
        home.ok("stop", "night")
        check_equal(pairs(KernelTrace(chunk)), [("mark:first", {"n": 1})], "before")
        last = sorted(p for p in os.listdir(directory))[-1]
        check_equal(pairs(KernelTrace(os.path.join(directory, last))),
                    [("mark:first", {"n": 2}), ("mark:second", {})], "behind")


@door_test
def a_flight_recorder_has_marks_in_its_snapshots():
    with Home() as home:
        directory = home.start("guard", "-a", "-k", rules(), "--kernel-source",
                               source, "--mode", "overwrite")
        home.ok("mark", "-s", "guard", "first", "n=1")
        taken = home.json("snapshot", "guard")["directory"]
        home.ok("mark", "-s", "guard", "second")
        home.ok("stop", "guard")
        check_equal(pairs(KernelTrace(taken)), [("mark:first", {"n": 1})], "taken")
        check_equal(pairs(KernelTrace(directory)),
                    [("mark:first", {"n": 1}), ("mark:second", {})], "at the end")


@door_test
def what_a_program_says_is_lost_is_in_the_summary_and_the_trace():
    # Too long for the door, and no way besides: the command itself says so.
    script = ("printf 'sonde_mark:lost events=41' > $SONDE_MARK; printf 'job:done' "
              f"> $SONDE_MARK; env -u SONDE_SESSION {SONDE} mark long "
              f"text={'x' * 1000}; echo $?")
    for rule, names in (("*:*", ["sonde_mark:lost", "job:done", "sonde_mark:lost"]),
                        ("job:*", ["job:done"])):
        done = record_script(script, options=["--json", "-e", rule])
        summary = done.summary()
        check("no session to record it" in done.err and "1" in done.out, done.err)
        check_equal((summary["lost"]["marks"], summary["events_lost"]), (42, 42),
                    f"the summary: {summary}")
        check_equal([e.name for e in marks(done.trace())], names, "events")
        stat = json.loads(run(SONDE, "stat", "--json", done.dir).stdout)
        check_equal(sum(lost["events"] for lost in stat["losses"]), 42, "as stat says")


PYTHON = """
import logging
log = logging.getLogger("shop")
log.addHandler(sonde.Handler())
log.warning("no %s left", "tea")
log.error("none")
event = sonde.Event("app", "all", sonde.Level.ERR, n=int, h=sonde.hex, f=float, s=str)
event(n=-2**63, h=255, f=2.5, s='a "b"')
event(n=2**64, h=0, f=0, s="")
assert sonde.missing and not sonde.lost()
"""


@door_test
def a_python_program_without_libsonde_writes_there():
    trace = record_kernel(*script(PYTHON, WITHOUT_LIBSONDE), k=rules(), source=source,
                          options=["-a", "--loglevel", "err"], env=environment()).trace()
    events = marks(trace)
    check_equal([e.name for e in events],
                ["python_log:error", "app:all", "sonde_python:failed"], "events")
    logged, event, failed = events
    check_equal((logged["number"], logged["message"], logged["function"]),
                (40, "none", "<module>"), "logged")
    check_equal(event.fields, {"n": -2**63, "h": 255, "f": 2.5, "s": 'a "b"'}, "event")
    check_equal(failed["event"], "app:all", "failed")


@tracefs_test
def what_is_read_by_sonde_is_the_same():
    done = record_script("printf 'phase name=\"set up\" n=-3' > $SONDE_MARK")
    out = map(json.loads, run(SONDE, "print", "--json", done.dir).stdout.splitlines())
    check_equal([(e["event"], e["payload"]) for e in out
                 if e["event"].startswith("mark:")],
                [("mark:phase", {"name": "set up", "n": -3})], "events")


if __name__ == "__main__":
    install()
    require("babeltrace2")
    main()
