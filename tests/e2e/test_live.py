#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_live.py - `sonde live`: each event is shown once, in the order of time, or
counted as left out or lost; and nothing of it is left when it ends.

When `live` has begun isn't told, so a test emits events until one is shown: from
that on all have to be.
"""

import itertools
import json
import os
import select
import signal
import subprocess

from home import Home, check_sum, kill_recorder, numbers, program_at_home
from obedient import TIMEOUT, Program, program
from sonde import SONDE, Trace, build, check, install, run, scratch
from harness import check_equal, main, test

# The lines of so many events have room in a pipe that nobody reads; of more, some
# may be left out.
FITS = 200
FLOOD = r"""
#include <sonde/tracepoint.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long each;

static void *emit(void *argument)
{
	unsigned long thread = (unsigned long)argument;

	for (unsigned long i = 0; i < each; i++)
		sonde_event(flood, drop, thread, i);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[4];

	each = strtoul(argv[1], NULL, 10);
	for (unsigned long i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, emit, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	if (argc > 2)
		fclose(fopen(argv[2], "w"));
	return 7;
}
"""


def flood(cache=[]):
    if not cache:
        cache.append(build(FLOOD, "-Wno-unused-parameter"))
    return cache[0]


def split(lines):
    """The events of JSON, and what is said between them."""
    objects = [json.loads(line) for line in lines]
    return ([o for o in objects if "event" in o],
            [o["live"] for o in objects if "live" in o])


def check_counts(counts, events):
    check_equal(counts["events"], counts["shown"] + counts["filtered"] +
                counts["left_out"], f"sum of {counts}")
    check_equal(counts["shown"], len(events), "lines")


class Live:
    """`sonde live --json` of a program that obeys, with events shown."""

    def __init__(self, home, p, *words, **more):
        self.p = p
        self.process = home.popen("live", *words, "--json", **more)
        self.begin()

    def begin(self):
        """Events until one is shown, which nobody has seen before."""
        os.set_blocking(self.process.stdout.fileno(), False)
        line = ""
        while not line.endswith("\n"):
            if not line:
                self.p.do("emit", 1)
                select.select([self.process.stdout], [], [], 0.05)
            try:
                line += os.read(self.process.stdout.fileno(), 1).decode()
            except BlockingIOError:
                check(self.process.poll() is None, "it has ended")
        os.set_blocking(self.process.stdout.fileno(), True)
        self.first = json.loads(line)["payload"]["number"]

    def end(self, status=0):
        """The numbers of all events that were shown, and the counts."""
        out, err = self.process.communicate(timeout=TIMEOUT)
        check_equal(self.process.returncode, status, f"status; {err}")
        events, told = split(out.splitlines())
        shown = [self.first] + [e["payload"]["number"] for e in events]
        counts = told[-1]
        check_counts(counts, shown)
        return shown, counts, err

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        return self.end()


@test
def a_session_is_shown_as_it_goes():
    with program_at_home() as (p, home):
        directory = home.start("night", "-p", p.pid)
        live = Live(home, p, "night")
        last = p.do("emit", FITS)
        # All that is in the trace by the time it looks again is shown.
        home.ok("stop", "night")
        shown, counts, err = live.end()
        check_equal(shown, list(range(live.first, last + 1)), "shown")
        check_equal(counts["late"], 0, "late")
        check("session 'night' has ended" in err, f"no word of the end: {err}")
        check_equal(numbers(Trace(directory))[-1], last, "recorded")


@test
def ctrl_c_ends_it_and_not_the_session():
    with program_at_home() as (p, home):
        home.start("night", "-p", p.pid)
        for _ in range(3):
            shown, _, _ = Live(home, p, "night").stop()
            check_equal(shown, list(range(shown[0], shown[-1] + 1)), "shown")
        emitted = p.do("emit", 100)
        ended = home.json("stop", "night")
        check_equal(ended["events"]["recorded"], emitted, "recorded")
        check_sum(ended["events"])


@test
def a_running_process_is_shown_and_left_as_it_was():
    p = Program(program())
    before = p.descriptors(), p.threads()
    directory = scratch()
    with Home() as home:
        home.env["TMPDIR"] = str(directory)
        live = Live(home, p, "-p", p.pid)
        check_equal(len(os.listdir(directory)), 1, "directories")
        last = p.do("emit", FITS)
        shown, counts, _ = live.stop()
        check_equal(shown, list(range(live.first, last + 1)), "shown")
        check_equal((shown[-1], counts["lost"]), (last, 0), "all")
        check_equal(os.listdir(directory), [], "what is left")
    check_equal((p.descriptors(), p.threads()), before, "the process")
    p.end()


@test
def events_of_all_cpus_come_in_the_order_of_time():
    """And those that came too late for it, on a machine that was too busy, are
    counted."""
    with Home() as home:
        r = home.run("live", "-q", "--json", "--", flood(), 20000)
        check_equal(r.returncode, 7, f"status; {r.stderr}")
        events, told = split(r.stdout.splitlines())
        times = [e["time_ns"] for e in events]
        latest = itertools.accumulate(times, max)
        late = sum(time < most for time, most in zip(times, latest))
        check_equal(told[-1]["late"], late, "late")
        check_equal(r.stderr, f"sonde: {late} of the events shown came after "
                    "later ones\n" if late else "", "told")
        check_equal(told[-1]["events"] + told[-1]["lost"], 80000, "events")
        check_counts(told[-1], events)
        for thread in range(4):
            mine = [e["payload"]["i"] for e in events
                    if e["payload"]["thread"] == thread]
            check_equal(mine, sorted(set(mine)), f"thread {thread}")


@test
def who_does_not_read_loses_lines_and_the_program_waits_for_nobody():
    done = scratch() / "done"
    with Home() as home:
        process = home.popen("live", "--json", "--", flood(), 500000, done)
        # Nobody reads, and it ends all the same.
        watch = subprocess.run(
            ["sh", "-c", 'until [ -e "$0" ]; do sleep 0.01; done', done],
            timeout=TIMEOUT)
        check_equal(watch.returncode, 0, "the program")
        out, _ = process.communicate(timeout=TIMEOUT)
        check_equal(process.returncode, 7, "status")
        events, told = split(out.splitlines())
        counts = told[-1]
        check_equal(counts["events"] + counts["lost"], 2000000, "events")
        check_counts(counts, events)
        check_equal(sum(t.get("left_out", 0) for t in told[:-1]),
                    counts["left_out"], "told of lines left out")
        check_equal(sum(t.get("lost", 0) for t in told[:-1]),
                    counts["lost"], "told of events lost")


@test
def a_reader_who_has_enough_ends_it_and_not_the_program():
    p = Program(program())
    with Home() as home:
        live = home.popen("live", "-p", p.pid)
        fd = live.stdout.fileno()
        os.set_blocking(fd, False)
        while live.poll() is None:
            p.do("emit", 10)
            try:
                if not live.stdout.closed and os.read(fd, 1):
                    live.stdout.close()
            except BlockingIOError:
                pass
        check_equal(live.returncode, 0, "status")
    p.do("emit", 1)
    p.end()


@test
def filters_and_columns_choose():
    with Home() as home:
        r = home.ok("live", "night", "--help")
        check("--fields" in r.stdout, "help")
        r = home.run("live", "-f", "i % 10 == 3 && thread == 2", "--fields",
                     "event,i,i*2", "--", flood(), 30)
        check_equal(r.stdout, "".join(
            f"flood:drop  {i}  {2 * i}\n" for i in (3, 13, 23)), "lines")
        check_equal(r.stderr, "sonde: 120 events, 3 of them shown, 117 "
                    "filtered out, 0 left out; 0 lost\n", "counts")
        r = home.run("live", "-f", "size > 3", "--", flood(), 30)
        check_equal((r.returncode, r.stdout), (2, ""), "what nothing has")
        check("no event has a field 'size'" in r.stderr, r.stderr)
        r = home.run("live", "--fields", "time,nix", "--", flood(), 30)
        check_equal((r.returncode, r.stdout), (2, ""), "a wrong column")
        for words, why in [
                (["-f", "i >"], "expected a value"),
                (["-f", "procname == 'x'"], "procname"),
                ([], "of what?"),
                (["night", "-e", "x:*"], "says what is recorded"),
                (["night", "there"], "one word too many")]:
            check(why in home.complaint("live", *words, status=2),
                  f"complaint of {words}")


@test
def sessions_that_cannot_be_shown_say_why():
    with program_at_home() as (p, home):
        check("no session 'night'" in home.complaint("live", "night"), "none")
        home.start("night", "-p", p.pid, "--mode", "overwrite")
        check("sonde snapshot night" in home.complaint("live", "night"),
              "a flight recorder")
        home.start("day", "-p", p.pid)
        home.ok("stop", "day")
        check("records nothing any more" in home.complaint("live", "day"),
              "one that is stopped")


@test
def the_trace_is_kept_where_it_is_wanted():
    directory = scratch() / "trace"
    with Home() as home:
        r = home.run("live", "-q", "--json", "-o", directory, "--", flood(),
                     1000)
        events, _ = split(r.stdout.splitlines())
        trace = Trace(directory)
        recorded = sorted((e["thread"], e["i"])
                          for e in trace.events("flood:drop"))
        check_equal(sorted((e["payload"]["thread"], e["payload"]["i"])
                           for e in events), recorded, "events")
        check_equal(len(recorded), 4000, "events")


def empty(directory):
    return subprocess.run(
        ["sh", "-c", 'until rmdir "$0" 2>&-; do sleep 0.01; done', directory],
        timeout=TIMEOUT).returncode == 0


@test
def clients_that_are_killed_leave_nothing():
    p = Program(program())
    directory = scratch() / "tmp"
    directory.mkdir()
    with Home() as home:
        home.env["TMPDIR"] = str(directory)
        home.start("night", "-p", p.pid)
        for i in range(8):
            words = ["night"] if i % 2 else ["-p", p.pid]
            live = Live(home, p, *words)
            live.process.kill()
            live.process.wait(TIMEOUT)
        check(empty(directory), "what is left")
        emitted = p.do("emit", 1000)
        ended = home.json("stop", "night")
        check_equal(ended["events"]["recorded"], emitted, "recorded")
        check_equal(ended["events"]["emitted"], emitted, "emitted")
    p.end()


@test
def a_recorder_that_is_killed_ends_it():
    with program_at_home() as (p, home):
        home.start("night", "-p", p.pid)
        live = Live(home, p, "night")
        kill_recorder(home, "night")
        shown, _, err = live.end()
        check_equal(shown, list(range(shown[0], shown[-1] + 1)), "shown")
        check("has ended" in err, f"no word of the end: {err}")


if __name__ == "__main__":
    install()
    main()
