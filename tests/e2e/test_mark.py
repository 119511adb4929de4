#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_mark.py - `sonde mark`: events of scripts are in the trace of the session
they were meant for, with their values, and those that nobody records are said to be
none."""

import json
import socket
import subprocess

from home import Home, check_sum, program_at_home
from marked import RECORDED, VALUES
from obedient import TIMEOUT, Program, program
from sonde import (SONDE, Trace, check, install, record_ok, require, run,
                   scratch)
from harness import check_equal, main, test

def marks(trace, provider="mark"):
    return [(e.name, dict(e)) for e in trace.events()
            if e.name.startswith(f"{provider}:")]


def without_session(*words):
    """As in a shell that nobody records."""
    done = run("env", "-u", "SONDE_SESSION", SONDE, "mark", *words)
    return done.returncode, done.stderr


@test
def a_mark_is_an_event_of_the_session_by_name():
    with program_at_home() as (p, home):
        directory = home.start("night", "-p", p.pid)
        p.do("emit", 10)
        home.ok("mark", "-s", "night", *VALUES)
        home.ok("mark", "-s", "night", "plain")
        p.do("emit", 10)
        ended = home.json("stop", "night")
        trace = Trace(directory)
        check_equal(marks(trace, "job"), [("job:done", RECORDED)], "with fields")
        check_equal(marks(trace), [("mark:plain", {})], "without")
        check_sum(ended["events"])
        check_equal(ended["events"]["recorded"], 22, "recorded")
        names = [e.name for e in trace.events()]
        check_equal(names, ["attach:step"] * 10 + ["job:done", "mark:plain"] +
                    ["attach:step"] * 10, "in the order of time")


@test
def a_session_may_take_marks_of_many_processes_at_once():
    with program_at_home() as (p, home):
        directory = home.start("night", "-p", p.pid)
        running = [home.popen("mark", "-s", "night", "one", f"n={n}")
                   for n in range(20)]
        for process in running:
            _, err = process.communicate(timeout=TIMEOUT)
            check_equal((process.returncode, err), (0, ""), "status")
        home.ok("stop", "night")
        check_equal(sorted(fields["n"] for _, fields in marks(Trace(directory))),
                    list(range(20)), "marks")


@test
def what_a_program_says_is_lost_is_lost_in_every_account():
    with program_at_home() as (p, home):
        for rule, nr in ("*:*", 2), ("job:*", 1):
            name = f"night{nr}"
            directory = home.start(name, "-p", p.pid, "-e", rule, "-e", "!attach:*")
            home.run("mark", "-s", name, "sonde_mark:lost", "events=41")
            home.ok("mark", "-s", name, "job:done")
            events = home.json("status", name)["events"]
            check_sum(events)
            ended = home.json("stop", name)
            check_sum(ended["events"])
            check_equal((events["discarded"], ended["events"]["discarded"],
                         ended["events"]["recorded"]), (41, 41, nr), "account")
            trace = Trace(directory)
            check_equal(trace.discarded(), 41, "as babeltrace2 says")
            stat = json.loads(run(SONDE, "stat", "--json", directory).stdout)
            check_equal(sum(lost["events"] for lost in stat["losses"]), 41,
                        "as stat says")
            done = run(SONDE, "check", directory)
            check_equal(done.returncode, 0, done.stdout + done.stderr)
            check("41" in done.stdout + done.stderr, done.stdout + done.stderr)


@test
def lines_become_events():
    p = Program(program())
    lines = [f"line {n} of 3000" for n in range(3000)] + ["", "no newline"]
    with Home() as home:
        directory = home.start("night", "-p", p.pid)
        process = home.popen("mark", "-s", "night", "--stdin", "build:line",
                             "job=7", stdin=subprocess.PIPE)
        _, err = process.communicate("\n".join(lines), timeout=TIMEOUT)
        check_equal((process.returncode, err), (0, ""), "status")
        ended = home.json("stop", "night")
        check_equal(ended["events"]["discarded"], 0, "lost")
        # babeltrace2 2.0.4 shows an empty string as what was there before
        check_equal([(e["job"], e["text"]) for e in
                     Trace(directory).events("build:line")][:3000],
                    [(7, line) for line in lines[:3000]], "lines")
        shown = map(json.loads, run(SONDE, "print", "--json",
                                    directory).stdout.splitlines())
        check_equal([e["payload"]["text"] for e in shown], lines, "lines")
    p.end()


@test
def a_script_that_is_recorded_needs_no_name():
    trace = record_ok("sh", "-c", f"{SONDE} mark phase name=setup; {SONDE} mark "
                      f"-l err phase name=end code=3; echo a | {SONDE} mark --stdin")
    check_equal(marks(trace),
                [("mark:phase", {"name": "setup"}),
                 ("mark:phase", {"name": "end", "code": 3}),
                 ("mark:line", {"text": "a"})], "marks")


@test
def a_flight_recorder_has_it_in_its_own_trace():
    """As the events of all processes that have ended."""
    with program_at_home() as (p, home):
        directory = home.start("guard", "-p", p.pid, "--mode", "overwrite")
        home.ok("mark", "-s", "guard", "before")
        ended = home.json("stop", "guard")
        check_equal(marks(Trace(directory)), [("mark:before", {})], "marks")
        check_sum(ended["events"])
        check_equal(ended["events"]["recorded"], 1, "recorded")


@test
def what_nobody_records_is_an_error():
    status, err = without_session("x")
    check_equal((status, "no session" in err), (1, True), err)
    with program_at_home() as (p, home):
        check("no session" in home.complaint("mark", "-s", "day", "x"), "none")
        home.start("night", "-p", p.pid, "-e", "attach:*")
        err = home.complaint("mark", "-s", "night", "x")
        check("mark:x is not recorded" in err, err)
        home.ok("change", "night", "-e", "mark:*", "--loglevel", "err")
        home.complaint("mark", "-s", "night", "x")
        home.ok("mark", "-s", "night", "-l", "crit", "x")
        home.ok("stop", "night")
        home.complaint("mark", "-s", "night", "x")


@test
def lines_after_the_end_of_the_session_are_counted():
    with program_at_home() as (p, home):
        directory = home.start("night", "-p", p.pid)
        process = home.popen("mark", "-s", "night", "--stdin",
                             stdin=subprocess.PIPE)
        process.stdin.write("one\n")
        process.stdin.flush()
        while not home.json("status", "night")["events"]["emitted"]:
            pass
        home.ok("stop", "night")
        _, err = process.communicate("two\nthree\n", timeout=TIMEOUT)
        check_equal(process.returncode, 1, err)
        check("2 lines came afterwards" in err, err)
        check_equal([e["text"] for e in Trace(directory).events("mark:line")],
                    ["one"], "lines")


@test
def lines_that_nothing_can_bring_are_counted():
    p = Program(program())
    with Home() as home:
        home.start("night", "-p", p.pid)
        home.env["SONDE_PRELOAD_DIR"] = str(scratch())  # no libsonde there
        process = home.popen("mark", "-s", "night", "--stdin",
                             stdin=subprocess.PIPE)
        _, err = process.communicate("one\ntwo\nthree\n", timeout=TIMEOUT)
        check_equal(process.returncode, 1, err)
        check("3 lines are lost" in err, err)
        events = home.json("stop", "night")["events"]
        check_sum(events)
        check_equal(events["discarded"], 3, "told")
    p.end()


def answers_to(home, name, *requests):
    """What the recorder says to each line of bytes."""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(TIMEOUT)
        s.connect(home.socket(name))
        heard = s.makefile()
        s.sendall(b"".join(line + b"\n" for line in requests))
        return [json.loads(heard.readline()) for _ in requests]


@test
def the_recorder_takes_a_line_by_its_socket():
    """From any program, without libsonde."""
    with program_at_home() as (p, home):
        directory = home.start("night", "-p", p.pid, "-e", "job:*", "--loglevel",
                               "info")
        lines = ("<3>job:done code=7 who=\"Ada L\"", "<7>job:done code=2", "other:x",
                 "job:begin", 7, "x" * 4097, None)
        said = answers_to(home, "night", *(
            json.dumps({"sonde": 1, "do": "mark", "text": line}).encode()
            for line in lines), b'{"sonde":1,"do":"mark","text":"job:\xff"}')
        check_equal([answer["ok"] for answer in said],
                    [True, False, False, True, False, False, False, False], said)
        check("other events" in said[2]["error"], said[2])
        check("a line of at most 4096 bytes" in said[5]["error"], said[5])
        ended = home.json("stop", "night")
        check_equal(marks(Trace(directory), "job"),
                    [("job:done", {"code": 7, "who": "Ada L"}), ("job:begin", {})],
                    "marks")
        check_equal(ended["events"]["recorded"], 2, "recorded")
        check_sum(ended["events"])


@test
def many_marks_leave_one_stream():
    with program_at_home() as (p, home):
        directory = home.start("night", "-p", p.pid)
        for n in range(30):
            home.ok("mark", "-s", "night", "one", f"n={n}")
        ended = home.json("stop", "night")
        check_equal([f["n"] for _, f in marks(Trace(directory))], list(range(30)),
                    "marks")
        files = [f.name for f in directory.iterdir() if f.is_file()]
        check_equal([f for f in files if "mark" in f or "sonde" in f], ["marks"],
                    "files of marks")
        check_equal(ended["events"]["recorded"], 30, "recorded")


@test
def a_flight_recorder_drops_marks_with_the_rest():
    with program_at_home() as (p, home):
        directory = home.start("guard", "-p", p.pid, "--mode", "overwrite")
        home.ok("mark", "-s", "guard", "before")
        check_equal(home.json("status", "guard")["events"]["held"], 1, "held")
        home.ok("clear", "guard")
        home.ok("mark", "-s", "guard", "behind")
        trace, _ = home.snapshot("guard")
        check_equal(marks(trace), [("mark:behind", {})], "snapshot")
        ended = home.json("stop", "guard")
        check_sum(ended["events"])
        check_equal((ended["events"]["cleared"], ended["events"]["recorded"]),
                    (1, 1), "cleared and recorded")
        check_equal(marks(Trace(directory)), [("mark:behind", {})], "at the end")


@test
def a_flight_recorder_keeps_the_newest_marks():
    p = Program(program())
    text = "x" * 3000
    with Home() as home:
        directory = home.start("guard", "-p", p.pid, "--mode", "overwrite")
        for first in range(0, 3000, 50):
            said = answers_to(home, "guard", *(
                json.dumps({"sonde": 1, "do": "mark",
                            "text": f"big n={n} text={text}"}).encode()
                for n in range(first, first + 50)))
            check(all(answer["ok"] for answer in said), said)
        ended = home.json("stop", "guard")
        check_sum(ended["events"])
        check_equal(ended["events"]["emitted"], 3000, "emitted")
        kept = [f["n"] for _, f in marks(Trace(directory))]
        check(500 < len(kept) < 2000, f"{len(kept)} are kept")
        check_equal(kept, list(range(3000 - len(kept), 3000)), "the newest")
        check_equal(ended["events"]["recorded"], len(kept), "recorded")
    p.end()


@test
def each_chunk_has_its_marks():
    with program_at_home() as (p, home):
        directory = home.start("night", "-p", p.pid, "--rotate", "1h")
        home.ok("mark", "-s", "night", "first", "n=1")
        chunk = home.json("rotate", "night")["directory"]
        home.ok("mark", "-s", "night", "first", "n=2")
        home.ok("mark", "-s", "night", "second")
        home.ok("stop", "night")
        check_equal(marks(Trace(chunk)), [("mark:first", {"n": 1})], "before")
        last = sorted(d for d in directory.iterdir() if d.is_dir())[-1]
        check_equal(marks(Trace(last)), [("mark:first", {"n": 2}),
                                         ("mark:second", {})], "behind")


@test
def words_that_are_no_event_are_refused():
    for words in ([], ["a=1"], ["a:"], [":a"], ["a b"], ["x", "1=1"], ["x", "a"],
                  ["x", "=1"], ["x", "a=1", "a=2"],
                  ["--stdin", "text=1"], ["-l", "loud", "x"],
                  ["x", *(f"f{n}=0" for n in range(33))]):
        status, err = without_session(*words)
        check_equal((status, len(err.splitlines())), (2, 1), f"{words}: {err}")


if __name__ == "__main__":
    install()
    require("babeltrace2")
    main()
