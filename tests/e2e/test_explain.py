#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_explain.py - `sonde report latency --explain`: on traces whose answers are
known because they were made for them (stories.py), each time of a span has the
reason that it has, and no time has two."""

from sonde import SONDE, check, install, run
from harness import check_equal, main, test
from stories import (SPAN, START, process, report, request, switch, us, waking,
                     write_trace)

LOOP = 811
OVER = ("--end", '$event == "latency:over"', "--value", "ns")


def name_event(time, cpu, tid, name, /, **fields):
    return (time, cpu, tid, name, fields)


def irq(begin, end, cpu=0, tid=LOOP, number=24, name="eth0"):
    return [name_event(begin, cpu, tid, "irq_handler_entry", irq=number,
                       name=name),
            name_event(end, cpu, tid, "irq_handler_exit", irq=number, ret=1)]


def softirq(begin, end, vector, cpu=0, tid=LOOP):
    return [name_event(begin, cpu, tid, "irq_softirq_entry", vec=vector),
            name_event(end, cpu, tid, "irq_softirq_exit", vec=vector)]


def timer(begin, end, cpu=0, tid=LOOP):
    return [name_event(begin, cpu, tid, "timer_hrtimer_expire_entry"),
            name_event(end, cpu, tid, "timer_hrtimer_expire_exit")]


def running(*more):
    """The loop runs on CPU 0 from 100 to 90000, but for what happens."""
    return [process(LOOP), switch(100, 0, 0, LOOP), *more,
            switch(90000, 0, LOOP, 0)]


def over(end, length, tid=LOOP):
    """The event that says that so many us had passed."""
    return (end, tid, "latency:over", {"ns": length * 1000})


def explain(kernel, user, *options):
    return report(write_trace(kernel, user), "latency", "--explain",
                  *(options or SPAN))


def reasons(got):
    return {row["why"]: (us(row, "time"), row["main"])
            for row in got["reasons"]}


@test
def a_handler_has_its_time_and_the_inner_one_its_own():
    got = explain(running(*softirq(1100, 1500, 3), *irq(1200, 1300),
                          *timer(1600, 1650)), request(1000, 1700))
    check_equal(reasons(got), {
        "soft interrupt NET_RX": (300, 1), "interrupt 24 (eth0)": (100, 0),
        "timer of the kernel's": (50, 0), "itself: it had the CPU": (250, 0)},
        "the times")
    check_equal(sum(time for time, _ in reasons(got).values()), 700, "in all")
    check_equal(us(got["spans"][0], "main"), 300, "of the main one")
    check_equal(got["explained"], 1, "explained")


@test
def who_took_the_cpu_is_named_and_who_woke_it():
    """A worker of 813, woken by the flusher on another CPU, runs from 2000 to
    5000, and then another for 500 us."""
    got = explain(running(
        process(812), process(813), switch(50, 1, 0, 812),
        waking(1990, 1, 813, 812), switch(2000, 0, LOOP, 813, 0),
        switch(5000, 0, 813, 814, 1), switch(5500, 0, 814, LOOP, 1)),
        request(1000, 6000))
    check_equal(reasons(got), {
        "`third` (tid 813) had the CPU, woken by flusher (812), or an "
        "interrupt": (3000, 1),
        "`t814` (tid 814) had the CPU": (500, 0),
        "itself: it had the CPU": (1500, 0)}, "the times")


@test
def a_wait_has_its_cause_and_a_move_its_cpu():
    got = explain([
        process(LOOP), switch(100, 0, 0, LOOP),
        name_event(1100, 0, LOOP, "syscall_entry_nanosleep"),
        switch(1200, 0, LOOP, 0, 1), waking(4000, 1, LOOP, 0),
        switch(4100, 1, 0, LOOP),
        name_event(4150, 1, LOOP, "syscall_exit_nanosleep", ret=0),
        switch(9000, 1, LOOP, 0)], request(1000, 5000))
    check_equal(reasons(got), {
        "waited: nanosleep()": (2800, 1),
        "wanted a CPU, and was moved to CPU 1": (100, 0),
        "itself: it had the CPU": (1100, 0)}, "the times")


@test
def a_missed_page_is_the_reason_where_nothing_took_the_cpu():
    fault = name_event(1500, 0, LOOP, "exceptions_page_fault_user",
                       address=4096)
    got = explain(running(fault), request(1000, 1900))
    check_equal(reasons(got), {"page fault": (0, 1),
                               "itself: it had the CPU": (900, 0)}, "one")
    got = explain(running(fault), request(1600, 1900))
    check_equal(reasons(got), {"itself: it had the CPU": (300, 1)},
                "before the span")
    got = explain(running(fault, *irq(1501, 1899)), request(1000, 1600))
    check_equal(reasons(got)["page fault"], (0, 1),
                "less than half was the interrupt's")


@test
def what_the_trace_does_not_tell_is_counted_as_such():
    got = report(write_trace(
        running(), request(1000, 3000), losses=[(0, 900, 3500)]),
        "latency", "--explain", *SPAN)
    check_equal(reasons(got), {"the trace doesn't tell": (2000, 1)}, "lost")
    check_equal([got[key] for key in ("explained", "itself", "untold")],
                [0, 0, 1], "counts")


@test
def a_wait_for_nobody_knows_what_is_no_explanation():
    got = explain([
        process(LOOP), switch(100, 0, 0, LOOP), switch(1200, 0, LOOP, 0, 1),
        waking(4000, 1, LOOP, 0), switch(4100, 0, 0, LOOP),
        switch(9000, 0, LOOP, 0)], request(1000, 5000))
    check_equal(reasons(got)["waited: the trace doesn't tell for what"],
                (2800, 1), "the wait")
    check_equal([got[key] for key in ("explained", "itself", "untold")],
                [0, 0, 1], "counts")


@test
def an_event_that_says_how_long_it_was_is_a_span():
    kernel = running(*irq(2000, 2080), *irq(3000, 3009))
    user = [over(2090, 100), over(3010, 10), over(4000, 50)]
    got = explain(kernel, user, *OVER, "--threshold", "20us")
    spans = [(us(row, "duration"), (row["begin_ns"] - START) / 1000,
              row["why"]) for row in got["spans"]]
    check_equal(spans, [(100, 1990, "interrupt 24 (eth0)"),
                        (50, 3950, "itself: it had the CPU")], "spans")
    check_equal([got[key] for key in ("explained", "itself", "untold")],
                [1, 1, 0], "counts")
    got = explain(kernel, user, *OVER, "--threshold", "1s")
    check("no span" in got["notes"][0], f"{got}")


@test
def handlers_of_others_are_not_the_threads():
    got = explain(running(*irq(1100, 1500, cpu=1, tid=0)),
                  request(1000, 2000))
    check_equal(reasons(got), {"itself: it had the CPU": (1000, 1)}, "CPU 1")


@test
def many_spans_are_explained_as_few():
    """What is in one slice and what in another changes nothing."""
    kernel, user = running(), []
    for i in range(300):
        at = 1000 + 100 * i
        kernel += irq(at, at + (i % 7) + 3)
        user.append(over(at + 20, 20 if i % 2 else 5))
    got = explain(kernel, user, *OVER, "--threshold", "10us")
    check_equal(got["explained"] + got["itself"], 150, "spans")
    named, = [row for row in got["reasons"] if "eth0" in row["why"]]
    check_equal(named["spans"], 150, "with the interrupt")
    check_equal(us(named, "time"),
                sum((i % 7) + 3 for i in range(300) if i % 2), "its time")


@test
def what_is_missing_is_said():
    trace = write_trace(running(), request(1000, 2000))
    for words, why in (
            (SPAN[2:], "either --begin EXPR or"),
            ((*SPAN, "--value", "ns"), "either --begin EXPR or")):
        done = run(SONDE, "report", "latency", "--explain", *words, trace)
        check(done.returncode == 2 or done.returncode == 1, done.stderr)
        check(why in done.stderr, done.stderr)
    done = run(SONDE, "report", "latency", "--explain", *SPAN,
               trace / "user")
    check("no events of the scheduler" in done.stderr, done.stderr)


install()
main()
