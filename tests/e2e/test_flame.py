#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_flame.py - `sonde flame`: each nanosecond is where it belongs, whatever is
missing; the picture is sound XML that needs nothing else."""

import json
import shutil
import xml.dom.minidom

from sonde import SONDE, build, check, install, record_ok, run, scratch
from handmade import Handmade, Layout
from harness import Skip, check_equal, main, test

CALLS = Layout(context=[("vtid", 32, 8), ("vpid", 32, 8)],
               events={"ust:func_entry": [("addr", 64, 8)],
                       "ust:func_exit": [("addr", 64, 8)],
                       "app:begin": [("what", "string", 8)],
                       "app:end": [],
                       "app:state": [("state", 8, 8)]})
A, B, C = 0xa0, 0xb0, 0xc0


def flame(trace, *options, status=0):
    """What it writes, and what it says."""
    done = run(SONDE, "flame", *options, trace)
    check_equal(done.returncode, status, f"status: {done.stderr}")
    return done.stdout, done.stderr


def folded(trace, *options):
    out, _ = flame(trace, "--folded", "-q", *options)
    pairs = [line.rsplit(" ", 1) for line in out.splitlines()]
    return {stack: int(weight) for stack, weight in pairs}


def calls(*events, discarded=None):
    """A trace of (time, tid, "+" or "-", address); `discarded`: a packet for
    each event, and how many were lost before its end."""
    trace = Handmade(CALLS)

    def put(stream, time, tid, sign, addr):
        stream.event("ust:func_entry" if sign == "+" else "ust:func_exit",
                     time, {"vtid": tid, "vpid": 1}, addr=addr)

    with trace.stream("s") as stream:
        if discarded is None:
            with stream.packet(events[0][0], events[-1][0]):
                for event in events:
                    put(stream, *event)
        else:
            for event, lost in zip(events, discarded):
                with stream.packet(event[0] - 1, event[0] + 1, lost):
                    put(stream, *event)
    return trace.dir


@test
def time_belongs_to_what_is_innermost():
    trace = calls((0, 1, "+", A), (10, 1, "+", B), (30, 1, "-", B),
                  (50, 1, "+", B), (60, 1, "-", B), (100, 1, "-", A))
    check_equal(folded(trace), {"0xa0": 70, "0xa0;0xb0": 30}, "stacks")
    check_equal(folded(trace, "--count"), {"0xa0": 1, "0xa0;0xb0": 2},
                "counts")


@test
def threads_have_their_own_stacks():
    trace = calls((0, 1, "+", A), (10, 2, "+", B), (20, 1, "-", A),
                  (50, 2, "-", B))
    check_equal(folded(trace), {"0xa0": 20, "0xb0": 40}, "stacks")
    check_equal(folded(trace, "--per-thread"),
                {"thread 1;0xa0": 20, "thread 2;0xb0": 40}, "by thread")


@test
def an_end_without_its_begin_is_passed_over():
    trace = calls((0, 1, "-", C), (10, 1, "+", A), (15, 1, "-", C),
                  (30, 1, "-", A))
    check_equal(folded(trace), {"0xa0": 20}, "stacks")
    check("2 ends had no begin" in flame(trace)[1], "no note")


@test
def an_end_ends_what_is_above_it():
    trace = calls((0, 1, "+", A), (10, 1, "+", B), (20, 1, "+", C),
                  (40, 1, "-", A), (50, 1, "+", B), (60, 1, "-", B))
    check_equal(folded(trace), {"0xa0": 10, "0xa0;0xb0": 10,
                                "0xa0;0xb0;0xc0": 20, "0xb0": 10}, "stacks")
    check("2 begins had no end of their own" in flame(trace)[1], "no note")


@test
def what_is_open_at_the_end_ends_there():
    trace = calls((0, 1, "+", A), (10, 1, "+", B), (40, 2, "-", C))
    check_equal(folded(trace), {"0xa0": 10, "0xa0;0xb0": 30}, "stacks")
    check("2 begins were still open" in flame(trace)[1], "no note")


@test
def lost_events_empty_the_stacks():
    events = [(10, 1, "+", A), (20, 1, "+", B), (50, 1, "-", B),
              (60, 1, "+", C), (70, 1, "-", C)]
    check_equal(folded(calls(*events, discarded=[0, 0, 0, 0, 0])),
                {"0xa0": 20, "0xa0;0xb0": 30, "0xa0;0xc0": 10},
                "nothing lost")
    # After the loss, nobody knows whether A and B are still running.
    lossy = calls(*events, discarded=[0, 0, 5, 5, 5])
    check_equal(folded(lossy), {"0xa0": 10, "0xc0": 10}, "five lost")
    check("2 begins were open when events were lost" in flame(lossy)[1],
          "no note")


@test
def deep_stacks_are_cut_but_stay_right():
    deep = [(i, 1, "+", i) for i in range(1, 601)]
    back = [(1000 + 600 - i, 1, "-", i) for i in range(600, 0, -1)]
    trace = calls(*deep, *back, (2000, 1, "+", A), (2010, 1, "-", A))
    stacks = folded(trace)
    check_equal(stacks["0xa0"], 10, "after the deep stack")
    check_equal(sum(stacks.values()), 1599 - 1 + 10, "the sum")
    check_equal(max(stack.count(";") + 1 for stack in stacks), 512, "depth")
    check("88 begins were nested too deep" in flame(trace)[1], "no note")


# ---- said by the user ----

def app():
    trace = Handmade(CALLS)
    who = {"vtid": 1, "vpid": 1}
    with trace.stream("s") as stream, stream.packet(0, 100):
        stream.event("app:begin", 0, who, what="load;all")
        stream.event("app:state", 5, who, state=1)
        stream.event("app:begin", 10, who, what="<x & \"y\">")
        stream.event("app:end", 30, who)
        stream.event("app:state", 35, who, state=2)
        stream.event("app:end", 40, who)
        stream.event("app:state", 45, who, state=3)
    return trace.dir


@test
def expressions_say_what_begins_and_what_it_is_called():
    stacks = folded(app(), "--begin", '$event == "app:begin"', "--end",
                    '$event == "app:end"', "--name", "what")
    check_equal(stacks, {"load:all": 20, "load:all;<x & \"y\">": 20},
                "stacks")


@test
def names_tell_begins_and_ends_apart():
    check_equal(folded(app()), {"app": 20, "app;app": 20}, "stacks")


@test
def an_event_can_end_one_and_begin_the_next():
    every = '$event == "app:state"'
    check_equal(folded(app(), "--begin", every, "--end", every, "--name",
                       "state"), {"1": 30, "2": 10}, "states")


# ---- a kernel's ----

KERNEL = Layout(events={
    "sched_switch": [("prev_comm", "string", 8), ("prev_tid", 32, 8),
                     ("prev_prio", 32, 8), ("prev_state", 64, 8),
                     ("next_comm", "string", 8), ("next_tid", 32, 8),
                     ("next_prio", 32, 8)],
    "syscall_entry_read": [("fd", 32, 8)],
    "syscall_exit_read": [("ret", 64, 8)],
    "syscall_entry_exit_group": [("error_code", 32, 8)],
    "irq_handler_entry": [("irq", 32, 8), ("name", "string", 8)],
    "irq_handler_exit": [("irq", 32, 8), ("ret", 32, 8)]})


def switch(stream, time, old, new):
    stream.event("sched_switch", time, prev_comm=f"c{old}", prev_tid=old,
                 prev_prio=20, prev_state=1, next_comm=f"c{new}",
                 next_tid=new, next_prio=20)


def kernel():
    """Thread 7 is in read() from 20 to 80, and gives its CPU to 8 between 30
    and 60; an interrupt takes 5. Thread 9 never comes back, and one of its calls
    has no end: calls are not in one another."""
    trace = Handmade(KERNEL, env=[("domain", "kernel")])
    with trace.stream("cpu0") as stream, stream.packet(0, 200):
        switch(stream, 10, 0, 7)
        stream.event("syscall_entry_read", 20, fd=3)
        switch(stream, 30, 7, 8)
        stream.event("syscall_entry_read", 40, fd=4)
        stream.event("irq_handler_entry", 42, irq=9, name="eth0")
        stream.event("irq_handler_exit", 47, irq=9, ret=1)
        stream.event("syscall_exit_read", 50, ret=0)
        switch(stream, 60, 8, 7)
        stream.event("syscall_exit_read", 80, ret=0)
        switch(stream, 90, 7, 9)
        stream.event("syscall_entry_read", 100, fd=0)
        stream.event("syscall_entry_read", 110, fd=0)
        stream.event("syscall_entry_exit_group", 120, error_code=0)
        switch(stream, 150, 9, 0)
    return trace.dir


@test
def system_calls_are_those_of_the_thread_that_runs():
    check_equal(folded(kernel(), "--per-thread"),
                {"thread 7;read": 60, "thread 8;read": 10,
                 "thread 9;read": 20, "CPU 0;irq eth0": 5}, "stacks")


@test
def a_filter_does_not_hide_who_runs():
    check_equal(folded(kernel(), "--per-thread", "-f",
                       '$event == "syscall_*"'),
                {"thread 7;read": 60, "thread 8;read": 10,
                 "thread 9;read": 20}, "stacks")


# ---- forms ----

@test
def json_has_the_whole_tree():
    trace = calls((0, 1, "+", A), (10, 1, "+", B), (30, 1, "-", B),
                  (100, 1, "-", A), (110, 1, "-", C))
    tree = json.loads(flame(trace, "--json")[0])
    leaf = {"name": "0xb0", "total_ns": 20, "self_ns": 20, "count": 1,
            "children": []}
    check_equal(tree["root"], {"name": "all", "total_ns": 100, "self_ns": 0,
                               "count": 0, "children": [
                                   {"name": "0xa0", "total_ns": 100,
                                    "self_ns": 80, "count": 1,
                                    "children": [leaf]}]}, "root")
    check_equal(len(tree["notes"]), 1, "notes")


def titles(svg):
    return [node.firstChild.data for node in
            xml.dom.minidom.parseString(svg).getElementsByTagName("title")]


@test
def the_picture_is_sound_and_needs_nothing_else():
    svg, _ = flame(app(), "--begin", '$event == "app:begin"', "--end",
                   '$event == "app:end"', "--name", "what", "--title",
                   "a <b> & c")
    check_equal(titles(svg),
                ["all: 40 ns, 100.00 %, self 0 ns",
                 "load;all: 40 ns, 100.00 %, self 20 ns, 1 times",
                 "<x & \"y\">: 20 ns, 50.00 %, self 20 ns, 1 times"],
                "titles")
    rest = svg.replace('xmlns="http://www.w3.org/2000/svg"', "")
    for word in "http", "href", "src=", "url(", "import":
        check(word not in rest, f"the picture says {word}")


@test
def frames_lie_in_their_callers():
    svg, _ = flame(kernel(), "-q")
    boxes = [(node.getAttribute("data-name"), rect) for node in
             xml.dom.minidom.parseString(svg).getElementsByTagName("g")
             for rect in node.getElementsByTagName("rect")]
    sizes = {name: (float(r.getAttribute("x")), float(r.getAttribute("width")))
             for name, r in boxes}
    check_equal(set(sizes), {"all", "irq eth0", "read"}, "frames")
    check_equal(sizes["all"], (10, 1200), "the whole")
    check(abs(sizes["read"][1] - 1200 * 90 / 95) < 0.01, f"{sizes}")
    check(abs(sizes["read"][0] - (10 + 1200 * 5 / 95)) < 0.01, f"{sizes}")


@test
def the_script_is_javascript():
    node = shutil.which("node")
    if not node:
        raise Skip("no node here")
    svg, _ = flame(app())
    path = scratch() / "flame.js"
    path.write_text(svg.split("<![CDATA[")[1].split("]]>")[0])
    check_equal(run(node, "--check", path).stderr, "", "node --check")


PROGRAM = r"""
#include <sonde/tracepoint.h>

static int fib(int n)
{
	int result;

	sonde_event(fib, begin, n);
	result = n < 2 ? n : fib(n - 1) + fib(n - 2);
	sonde_event(fib, end, result);
	return result;
}

int main(void)
{
	return fib(6) != 8;
}
"""


@test
def what_sonde_records_is_drawn():
    trace = record_ok(build(PROGRAM))
    tree = json.loads(flame(trace.dir, "--json")[0])
    counts, node = [], tree["root"]
    while node["children"]:
        check_equal(len(node["children"]), 1, "callees")
        node = node["children"][0]
        counts.append(node["count"])
    # fib(6) at depth d: calls by Fibonacci's tree
    check_equal(counts, [1, 2, 4, 8, 8, 2], "calls by depth")
    check_equal(tree["notes"], [], "notes")


@test
def a_trace_without_begins_is_refused_in_words():
    layout = Layout(events={"m:one": []})
    trace = Handmade(layout)
    with trace.stream("s") as stream, stream.packet(0, 10):
        stream.event("m:one", 5)
    _, said = flame(trace.dir, status=1)
    check("--begin and --end" in said, f"it says {said!r}")


@test
def wrong_words_are_refused():
    for words in [[], ["--begin", "1", "x"], ["--name", "a", "x"],
                  ["--begin", "1 +", "--end", "1", str(app())]]:
        check_equal(run(SONDE, "flame", *words).returncode, 2,
                    f"status of {words}")


install()
main()
