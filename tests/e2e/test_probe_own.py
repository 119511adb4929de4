#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_probe_own.py - `sonde probe` finds places, variables and types itself:
beside what a stock GDB makes of the same words, in the same program, at the
same hits."""

import json
import os
import re
import subprocess

from sonde import SONDE, Trace, check, install, run
from harness import check_equal, main, test
from calling import Program, line_of


def probe(program, *words, gdb=None):
    env = dict(os.environ)
    env["SONDE_GDB"] = gdb or "none"
    done = subprocess.run([SONDE, "probe", "-p", str(program.pid),
                           *map(str, words)], env=env, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout, done.stderr


def fields(trace, name):
    """GDB has what lies in memory sorted by address; we, as it was asked for."""
    return [{**e, "at": sorted(e.get("at", []))}
            for e in trace.events(f"gdb:{name}")]


def check_collected(case, ours, theirs):
    """The same values; and of the same names, where both have a sure one."""
    check_equal(len(ours), len(theirs), f"events of {case}")
    for one, other in zip(ours, theirs):
        check_equal(sorted(map(str, one.values())),
                    sorted(map(str, other.values())), f"values of {case}")
        for name in set(one) & set(other):
            check_equal(one[name], other[name], f"{name} of {case}")
        for name in set(one) ^ set(other):
            check(name in other or re.fullmatch(r"m\d+", name), name)


def put_in(program, i, where, collect, output):
    """By Sonde and by GDB; whether both could: what is gone is gone for both."""
    more = ("--collect", collect) if collect else ()
    said = [probe(program, where, *more, "--name", name, "-o", output, gdb=gdb)
            for name, gdb in ((f"own{i}", None), (f"theirs{i}", "gdb"))]
    check_equal(said[0][0], said[1][0], f"{where} {collect}: {said}")
    if said[0][0]:
        check("is gone here" in said[0][2], said[0][2])
    return not said[0][0]


def compare(program, cases, output):
    """Each (where, collect), put in by Sonde and by GDB; how many could be."""
    cases = [case for i, case in enumerate(cases)
             if put_in(program, i, *case, output)]
    program.call_now(20)
    status, out, err = probe(program, "--list", "--json")
    check_equal(status, 0, err)
    places = {}
    for one in json.loads(out)["probes"]:
        places.setdefault(one["name"], []).append(
            (one["address"], one["hits"]))
    probe(program, "--stop")
    trace = Trace(output)
    names = sorted((n for n in places if n.startswith("own")),
                   key=lambda name: int(name[3:]))
    check_equal(len(names), len(cases), str(names))
    for case, own in zip(cases, names):
        theirs = own.replace("own", "theirs")
        check_equal(sorted(places[own]), sorted(places[theirs]),
                    f"places and hits of {case}")
        check_collected(case, fields(trace, own), fields(trace, theirs))
    return len(cases)


CASES = [
    ("work", None),
    ("work if n % 3 == 1", "n"),
    ("work if p && p->next && p->next->key == 7", "p->next->key, *p"),
    ("work if uc > 3 || n < 2", "uc, counter1, counter2"),
    ("work if (unsigned char)(n * 100) > 200", "n * 100, (short)n"),
    ("work if !(n & 1) && -n < ~2", "$args"),
    ("work if n > 4 ? p->key == 1 : counter2 != 0", "p, &p->next"),
    ("work", "$rdi, $tid"),
    # GDB makes no agent expression of a character
    ("lib_work if text[1] == 101", "text[2], *text@4"),
    ("lib_work if *text == 116", "/s text"),
]


@test
def what_is_recorded_is_what_gdb_has_recorded():
    for flags in ("-O0", "-O1", "-O2"):
        program = Program(flags)
        line = [(f"program.c:{line_of('LINE_LOCAL')} if n > 5", "n"),
                (f"program.c:{line_of('LINE_RETURN')}", "uc"),
                (f"program.c:{line_of('LINE_SEVEN')}", None)]
        cases = CASES + line
        if flags == "-O0":
            cases += [(f"program.c:{line_of('LINE_LOCAL')}",
                       "local, s, $locals")]
        done = compare(program, cases, program.dir / "trace")
        check(done >= len(CASES) + 2, f"{done} of {len(cases)}")
        program.end()


@test
def no_gdb_is_needed():
    program = Program("-O1")
    env = dict(os.environ, PATH="/nowhere", SONDE_GDB="none")
    done = subprocess.run(
        [SONDE, "probe", "-p", str(program.pid), "work if n == '\\a'", "--collect",
         "n, p->key", "--name", "seven", "-o", str(program.dir / "trace")],
        env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check_equal((done.returncode, done.stderr), (0, ""), "probe")
    program.call_now(20)
    check_equal(run(SONDE, "probe", "-p", program.pid, "--stop").returncode, 0,
                "stop")
    events = Trace(program.dir / "trace").events("gdb:seven")
    # what no one variable holds has no sure name
    check_equal([(e["n"], e["m0"]) for e in events], [(7, 1)], "events")
    program.end()


@test
def what_is_not_understood_is_said():
    program = Program("-O1")
    for words, error in (
            (("work if n.key",), "no structure"),
            (("work if p->nothing",), "no such member"),
            (("work if n +",), "at the end"),
            (("work if work(1)",), "functions can't be called"),
            (("work if *n",), "no pointer"),
            (("work if p * 2",), "pointers"),
            (("work if n == \"x\"",), "text"),
            (("work", "--collect", "$nothing"), "register"),
            (("program.c:100000",), "No line 100000"),
            (("work if (struct nothing *)p",), "no such type")):
        status, out, err = probe(program, *words)
        check(status == 1 and error in err, f"{words}: {out} {err}")
        check_equal(err.count("\n"), 1, f"{words}: lines of {err}")
    program.end()


install()
main()
