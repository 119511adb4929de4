#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_print_tree.py - `sonde print --tree`: each begin and end is a line where it
belongs, in the order of time, and what is left out is told."""

import json

from sonde import SONDE, build, check, install, record, run
from handmade import Handmade, Layout
from harness import check_equal, main, test

CALLS = Layout(context=[("vtid", 32, 8), ("vpid", 32, 8)],
               events={"ust:func_entry": [("addr", 64, 8)],
                       "ust:func_exit": [("addr", 64, 8)],
                       "app:note": []})
A, B, C = 0xa0, 0xb0, 0xc0

NESTED = r"""
#include <stdio.h>
static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main(void) { printf("%d\n", fib(12)); return 0; }
"""


def calls(*events):
    """A trace of (time, tid, sign, address); sign "!": it is no call."""
    names = {"+": "ust:func_entry", "-": "ust:func_exit", "!": "app:note"}
    trace = Handmade(CALLS)
    with trace.stream("s") as stream:
        with stream.packet(events[0][0], events[-1][0]):
            for time, tid, sign, *addr in events:
                fields = {"addr": addr[0]} if addr else {}
                stream.event(names[sign], time, {"vtid": tid, "vpid": 1},
                             **fields)
    return trace.dir


def tree(trace, *options, status=0):
    """Its lines, in single blanks but for the indentation; what it says."""
    done = run(SONDE, "print", "--tree", *options, trace)
    check_equal(done.returncode, status, done.stderr)
    head, *lines = done.stdout.splitlines() or [""]
    if lines:
        check_equal(head.split(), ["DURATION", "THREAD", "CALL"], "head")
    return [(line[:12].strip(), int(line[12:23]), line[25:])
            for line in lines], done.stderr


@test
def calls_are_indented_by_what_they_are_in():
    trace = calls((0, 1, "+", A), (10, 1, "+", B), (30, 1, "-", B),
                  (100, 1, "-", A))
    lines, said = tree(trace)
    check_equal(lines, [("", 1, "0xa0() {"), ("20 ns", 1, "  0xb0();"),
                        ("100 ns", 1, "} 0xa0()")], "lines")
    check_equal(said, "", "said")


@test
def threads_come_in_the_order_of_time():
    # Whether 1's first call has one in it is known after 2 has ended.
    trace = calls((0, 1, "+", A), (10, 2, "+", B), (20, 2, "-", B),
                  (30, 1, "+", C), (40, 1, "-", C), (50, 1, "-", A))
    lines, _ = tree(trace)
    check_equal(lines, [("", 1, "0xa0() {"), ("10 ns", 2, "0xb0();"),
                        ("10 ns", 1, "  0xc0();"), ("50 ns", 1, "} 0xa0()")],
                "lines")


@test
def what_never_ends_has_no_duration():
    trace = calls((0, 1, "+", A), (10, 1, "+", B), (20, 1, "-", A),
                  (30, 1, "+", C), (40, 1, "-", B))
    lines, said = tree(trace)
    check_equal(lines, [("", 1, "0xa0() {"), ("", 1, "  0xb0();  (no end)"),
                        ("20 ns", 1, "} 0xa0()"),
                        ("", 1, "0xc0();  (no end)")], "lines")
    for words in ("1 ends had no begin", "1 begins had no end of their own",
                  "1 begins were still open"):
        check(words in said, f"{words}: {said}")


@test
def what_is_short_or_deep_is_left_out():
    trace = calls((0, 1, "+", A), (10, 1, "+", B), (15, 1, "-", B),
                  (20, 1, "+", B), (25, 1, "+", C), (60, 1, "-", C),
                  (70, 1, "-", B), (100, 1, "-", A), (110, 1, "!"))
    lines, said = tree(trace, "--min-duration", "30ns")
    check_equal(lines, [("", 1, "0xa0() {"), ("", 1, "  0xb0() {"),
                        ("35 ns", 1, "    0xc0();"),
                        ("50 ns", 1, "  } 0xb0()"),
                        ("100 ns", 1, "} 0xa0()")], "lines")
    check("1 events neither begin nor end" in said, said)
    check_equal(tree(trace, "--min-duration", "60ns")[0],
                [("100 ns", 1, "0xa0();")], "the outermost alone")
    check_equal([line for _, _, line in tree(trace, "--depth", "2")[0]],
                ["0xa0() {", "  0xb0();", "  0xb0();", "} 0xa0()"], "depth")
    check_equal(len(tree(trace, "--limit", "2")[0]), 2, "limit")


@test
def many_that_wait_get_their_lines():
    # More lines wait for the first than there is room for.
    inner = [(time + i, 2, sign, B) for time in range(10, 160010, 2)
             for i, sign in enumerate("+-")]
    trace = calls((0, 1, "+", A), *inner, (200000, 1, "-", A))
    lines, _ = tree(trace)
    check_equal((lines[0], lines[-1]), (("", 1, "0xa0() {"),
                                        ("200 us", 1, "} 0xa0()")), "outer")
    check_equal(len(lines), 80002, "lines")


@test
def a_program_has_as_many_as_it_has_calls():
    program = build(NESTED, "-O1", "-finstrument-functions")
    recording = record(program, options=["--functions", "--memory", "64M"])
    check_equal(recording.status, 0, recording.err)
    lines, said = tree(recording.dir)
    check_equal(said, "", "said")
    begun = [line.strip() for _, _, line in lines if "}" not in line]
    check_equal(sum("fib()" in line for line in begun), 465, "calls of fib")
    check_equal(begun[0], "main() {", "the first")
    done = run(SONDE, "print", "--tree", "--json", recording.dir)
    spans = [json.loads(line) for line in done.stdout.splitlines()]
    check_equal(len(spans), 466, "spans")
    report = json.loads(run(SONDE, "report", "functions", "--json",
                            recording.dir).stdout)
    for row in report["functions"]:
        check_equal(max(span["duration_ns"] for span in spans
                        if span["name"] == row["function"]),
                    row["max_ns"], row["function"])


@test
def options_that_do_not_go_together_are_refused():
    trace = calls((0, 1, "+", A), (10, 1, "-", A))
    for words in (["--tree", "--fields", "tid"], ["--depth", "2"],
                  ["--tree", "--depth", "0"], ["--tree", "--begin", "1"],
                  ["--tree", "--min-duration", "long"]):
        done = run(SONDE, "print", *words, trace)
        check_equal(done.returncode, 2, f"{words}: {done.stderr}")
    trace = Handmade(Layout(events={"app:note": []}))
    with trace.stream("s") as stream, stream.packet(0, 1):
        stream.event("app:note", 1)
    done = run(SONDE, "print", "--tree", trace.dir)
    check_equal(done.returncode, 1, done.stderr)
    check("--begin" in done.stderr, done.stderr)


install()
main()
