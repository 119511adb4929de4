#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_tui.py - `sonde tui`: what it draws is what the events say, its keys go where
they should, and the terminal is left as it was however it ends.
"""

import os
import signal

from handmade import Handmade, Layout
from machine import IDLE, KERNEL, RUNNING, Machine
from stories import two_hosts
from sonde import SONDE, check, install, run, scratch
from terminal import Terminal, has
from harness import check_equal, main, test

LETTERS = {RUNNING: "#", IDLE: "."}
LABEL = 18


def tui(*words, lines=24, columns=80, colours=False):
    env = dict(os.environ, XDG_CACHE_HOME=str(scratch()), LANG="C.UTF-8")
    env.pop("NO_COLOR", None)
    return Terminal(["tui", *words], env, lines, columns, colours)


def ready(lines):
    return len(lines) > 5 and "read " not in lines[0] and \
        "rows are being made" not in "".join(lines)


def cells(lines, name):
    """Those of a row."""
    line, = [line for line in lines if line[1:].startswith(name + " ")]
    return line[LABEL:]


def seen(lines):
    """How many nanoseconds."""
    number, unit = lines[0].split(": ")[1].split()[:2]
    return float(number) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit]


@test
def rows_show_what_the_events_say():
    machine = Machine(31, 60)
    screen = tui(machine.write())
    lines = screen.until(ready, "rows")
    begin = min(part[0][0] for part in machine.events.values())
    end = max(part[-1][0] for part in machine.events.values())
    # zoomed in until a cell is within a state, and the cursor at the begin
    screen.press("\x1b[H" + "w" * 5)
    length = max((end - begin + 1) >> 5, 1)
    lines = screen.until(lambda l: ready(l) and
                         abs(seen(l) - length) <= length / 100, "zoomed")
    for cpu in 0, 1:
        drawn = cells(lines, f"CPU {cpu}").ljust(62)
        for i in range(62):
            first, last = (begin + length * k // 62 for k in (i, i + 1))
            before = machine.known(machine.cpus[cpu], first)
            after = machine.known(machine.cpus[cpu], last)
            if before and before == after:
                check_equal(drawn[i], LETTERS[before[1]], f"{cpu}, {i}")
    screen.press("q")
    check_equal(screen.end(), "", "what it says")


@test
def the_list_goes_through_the_events_of_equal_times_too():
    layout = Layout(header=[("id", 16, 8), ("time", 64, 8)],
                    events={"m:a": [("n", 32, 8)], "m:b": [("n", 32, 8)]})
    trace = Handmade(layout)
    times = [1000, 1000, 1000, 1005, 1005, 1010] + [2000] * 30 + [3000]
    with trace.stream("s", cpu=0) as stream:
        with stream.packet(1000, 3000, discarded=0):
            for n, time in enumerate(times):
                stream.event("m:b" if n % 3 else "m:a", time, n=n)

    def first(lines):
        """The n of the event that is chosen."""
        shown = [line for line in lines if line.startswith(">") and
                 " n = " in line]
        return int(shown[0].split(" n = ")[1].split()[0]) if shown else None

    screen = tui(trace.dir)
    screen.until(ready, "events")
    screen.press("\t")
    at = 0
    screen.until(lambda l: first(l) == 0, "the first")
    for keys, to in (("\x1b[B", 1), ("\x1b[B" * 3, 4), ("\x1b[A" * 2, 2),
                     ("\x1b[F", 36), ("\x1b[A", 35), ("\x1b[A" * 10, 25),
                     ("\x1b[H", 0), ("/event == \"m:a\"\n", 0), ("\x1b[B", 3),
                     ("\x1b[B" * 9, 30), ("\x1b[A", 27), ("/\b\b\x7f", None)):
        screen.press(keys)
        if to is not None:
            screen.until(lambda l: first(l) == to, f"{keys!r}: {to}")
            at = to
    screen.press("\x1b")  # what was typed is dropped
    screen.until(lambda l: has("only event")(l[:1]), "the filter stays")
    screen.press("/" + "\x7f" * 20 + "\n")
    screen.until(lambda l: l and not has("only event")(l[:1]) and
                 first(l) is not None,
                 "without one")
    check_equal(at, 27, "came through all")
    screen.press("fn > 33\n")
    screen.until(lambda l: first(l) == 34, "found")
    screen.press("n")
    screen.until(lambda l: first(l) == 35, "the next")
    screen.press("p")
    screen.until(lambda l: first(l) == 34, "the one before")
    screen.press("p")
    screen.until(lambda l: has("none before")(l[-1:]), "there is none")
    screen.press("f\x15n > \n")
    screen.until(has("column 5"), "what is wrong is said, and where")
    screen.press("\x1b")
    screen.until(has("q uit"), "not typing any more")
    screen.press("q")
    check_equal(screen.end(), "", "what it says")


@test
def events_of_two_machines_have_a_mark_where_their_order_is_unknown():
    screen = tui(*two_hosts())
    screen.until(ready, "events")
    screen.press("\t")
    lines = screen.until(lambda l: any(x[:1] == ">" and "server:begin" in x
                                       for x in l), "the events")
    events = [line for line in lines if "server:begin" in line]
    check_equal([line[0] for line in events], [">", "?", " ", " "], "marks")
    check_equal([next(host for host in ("web", "db") if f" {host} " in line)
                 for line in events], ["web", "db", "db", "web"], "hosts")
    screen.press("q")
    check_equal(screen.end(), "", "what it says")


@test
def a_row_says_what_it_did_and_who_woke_it():
    trace = Handmade(KERNEL)
    switch = dict(prev_prio=20, next_prio=20)
    with trace.stream("cpu0", cpu=0) as stream:
        with stream.packet(1000, 9000, discarded=0):
            for time, prev, nxt, state in ((1000, 1, 2, 1), (5000, 2, 1, 0),
                                           (9000, 1, 2, 0)):
                if time == 5000:
                    stream.event("sched_waking", 4000, comm="one", tid=1,
                                 prio=20, target_cpu=0)
                stream.event("sched_switch", time,
                             prev_comm=("", "one", "two")[prev], prev_tid=prev,
                             prev_state=state, next_tid=nxt,
                             next_comm=("", "one", "two")[nxt], **switch)
    screen = tui(trace.dir)
    screen.until(ready, "rows")
    screen.press("rone\n")
    screen.until(lambda l: has("one: blocked")(l) and
                 has("woken by two (2)")(l) and has("3.00 us")(l),
                 "why, by whom, and how long")
    screen.press("r\x15\n")
    screen.until(has("CPU 0"), "all rows")
    screen.press("j")
    screen.until(lambda l: has("not known who")(l) or has("two: ")(l), "j")
    screen.press("e")
    lines = screen.until(has("States, of what is seen"), "statistics")
    check(has("sched_switch")(lines), "events as well")
    check(any("CPU 0" in line and "running" in line for line in lines), lines)
    check(any("two 2" in line and "preempted" in line for line in lines), lines)
    screen.press("x?")
    screen.until(has("statistics of what is seen"), "help")
    screen.press("xq")
    check_equal(screen.end(), "", "what it says")


@test
def a_rows_name_is_whole_where_there_is_room():
    trace = Handmade(Layout(header=[("id", 16, 8), ("time", 64, 8)],
                            events={"power_cpu_frequency": [("state", 32, 8),
                                                            ("cpu_id", 32, 8)]}))
    with trace.stream("s", cpu=0) as stream:
        with stream.packet(1000, 9000, discarded=0):
            for time in range(1000, 9000, 1000):
                stream.event("power_cpu_frequency", time, state=time * 1000,
                             cpu_id=time // 1000 % 2 * 128)
    for columns in 80, 200:
        screen = tui(trace.dir, columns=columns)
        lines = screen.until(lambda l: ready(l) and has("frequency")(l), "rows")
        for cpu in 0, 128:
            check(any(line[1:].startswith(f"frequency of CPU {cpu} ")
                      for line in lines), f"{columns} columns: {lines}")
        check(all(len(line) <= columns for line in lines), "how wide it is")
        screen.press("q")
        screen.end()


@test
def what_is_lost_is_shown_where_it_was_lost():
    machine = Machine(23, 1500)
    screen = tui(machine.write(lost_in=4), lines=40, columns=100)
    lines = screen.until(ready, "rows")
    check("!" in lines[1], "the overview")
    check("!" in cells(lines, "CPU 1") and "!" not in cells(lines, "CPU 0"),
          "its CPU alone")
    screen.resize(20, 80)
    screen.until(lambda l: len(l) == 20, "another size")
    screen.process.send_signal(signal.SIGTERM)
    screen.end()


@test
def the_terminal_is_put_back_where_the_trace_shrinks():
    machine = Machine(7, 400)
    trace = machine.write()
    screen = tui(trace)
    screen.until(ready, "rows")
    for name in os.listdir(trace):
        if name != "metadata":
            os.truncate(os.path.join(trace, name), 0)
    screen.press("\x1b[F\x1b[H\x1b[F")
    check("shrank" in screen.end(status=1), "why")


@test
def a_declared_row_has_its_label_in_its_colour():
    trace, rules = Machine(31, 60).write(), scratch() / "rules"
    rules.write_text("row ran\nbegin next_tid == 0\nlabel nobody\n"
                     "begin next_tid > 0\nlabel somebody\ncolour #ff0000\n")
    screen = tui("--rows", rules, trace, colours=True)
    screen.until(lambda lines: ready(lines) and has("ran ")(lines), "the row")
    screen.press("\x1b[H" + "w" * 6)
    screen.until(has("\x1b[38;5;196msomebody"), "red, of 256 colours")
    screen.press("q")
    check_equal(screen.end(), "", "the end")


@test
def where_it_cannot_draw_it_says_what_can_be_done():
    done = run(SONDE, "tui", Machine(1, 50).write())
    check(done.returncode == 2 and "sonde print" in done.stderr, f"{done}")
    done = run(SONDE, "tui", "--rows", "/nowhere", "x")
    check_equal(done.returncode, 2, "status")


if __name__ == "__main__":
    install()
    main()
