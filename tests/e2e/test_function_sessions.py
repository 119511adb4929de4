#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_function_sessions.py - `sonde start NAME --functions` and `sonde change NAME
--functions`: which functions of a running program are recorded changes while it
runs. How often each is called in each step is known, and when nothing is recorded
any more the program's code is what it was."""

import json
import pathlib
import time

from sonde import SONDE, Trace, build, check, install, run, scratch
from attached import Told
from called import paired
from harness import check_equal, main, test
from home import Home

PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#define APART __attribute__((noinline, noclone, noipa))
static volatile int sink, stops;
APART int leaf(int n) { sink = n; return n + 1; }
APART int twice(int n) { sink += n; return n * 2; }
APART int later(int n) { sink -= n; return n - 1; }
APART int noted(const char *who, int times) { sink += *who; return times * 11; }
static void step(void)
{
	for (int i = 0; i < 10; i++)
		leaf(i);
	for (int i = 0; i < 20; i++)
		twice(i);
	for (int i = 0; i < 5; i++)
		later(i);
	noted("somebody", 3);
}
static void *turn(void *arg)
{
	long long nr = 0;

	for (; !stops; nr++)
		if (leaf(7) != 8 || twice(7) != 14 || later(7) != 6)
			return (void *)-1;
	return arg;
}
static void *count(void *arg)
{
	const struct timespec pause = { .tv_nsec = 20000 };
	long nr = 0;

	(void)arg;
	for (; !stops; nr++) {
		leaf(1);
		nanosleep(&pause, NULL);
	}
	return (void *)nr;
}
int main(void)
{
	pthread_t threads[4];
	char line[80];
	int running = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("0");
	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "step\n"))
			step();
		if (!strcmp(line, "turn\n"))
			for (; running < 4; running++)
				pthread_create(&threads[running], NULL, turn,
					       NULL);
		if (!strcmp(line, "stop\n")) {
			void *got = NULL;

			for (stops = 1; running > 0 && !got;)
				pthread_join(threads[--running], &got);
			printf("%ld\n", (long)got);
			continue;
		}
		if (!strcmp(line, "count\n"))
			pthread_create(&threads[running++], NULL, count, NULL);
		puts("35");
	}
	return 0;
}
"""


class Program(Told):
    """Its code is looked at from outside."""

    def __init__(self, *flags):
        super().__init__(build(PROGRAM, "-O2", "-pthread", *flags))
        maps = pathlib.Path(f"/proc/{self.pid}/maps").read_text()
        path = str(pathlib.Path(f"/proc/{self.pid}/exe").resolve())
        words, = (line.split() for line in maps.splitlines()
                  if line.endswith(path) and " r-xp " in line)
        self.range = [int(word, 16) for word in words[0].split("-")]
        self.built = self.code()

    def code(self):
        begin, end = self.range
        with open(f"/proc/{self.pid}/mem", "rb") as memory:
            memory.seek(begin)
            return memory.read(end - begin)

    def end(self):
        check_equal(self.code(), self.built, "code at the end")
        # Nobody waited in vain for hits to have their records.
        maps = pathlib.Path(f"/proc/{self.pid}/maps").read_text()
        check("memfd:sonde-arena" not in maps, maps)
        super().end()


def calls(directory, *options):
    """How often which function was called, and the report."""
    done = run(SONDE, "report", "functions", "--json", "--limit", "99", *options,
               directory)
    check_equal(done.returncode, 0, done.stderr)
    report = json.loads(done.stdout)
    return {row["function"]: row["calls"] for row in report["functions"]
            if row["calls"]}, report


@test
def a_session_records_functions_of_what_runs():
    p = Program()
    with Home() as home:
        directory = home.start("night", "-p", p.pid, "--functions", "l*",
                               "--not", "later")
        p.do("step")
        check_equal(home.json("status", "night")["functions"],
                    ["+l*", "-later"], "status")
        ended = home.json("stop", "night")
        check_equal(ended["summary"]["events_lost"], 0, "lost")
        counts, report = calls(directory)
        check_equal(counts, {"leaf": 10}, "calls")
        paired(report)
    p.end()


@test
def which_functions_are_recorded_changes_while_the_program_runs():
    p = Program()
    with Home() as home:
        directory = home.start("night", "-p", p.pid, "--functions=leaf")
        p.do("step")
        for words in (["--functions=twice"],
                      ["--functions=leaf", "--functions=twice"],
                      ["--functions", "l*"],
                      ["--functions=leaf"]):
            said = home.ok("change", "night", *words).stderr
            check("functions are recorded" in said, said)
            p.do("step")
        status = home.json("status", "night")
        check_equal(status["functions"], ["+leaf"], "status")
        file = json.loads(home.ok("status", "night", "--as-file").stdout)
        check_equal([word for word in file["options"] if "leaf" in word],
                    ["--functions=leaf"], "file")
        ended = home.json("stop", "night")
        check_equal(ended["summary"]["events_lost"], 0, "lost")
        counts, report = calls(directory)
        check_equal(counts, {"leaf": 40, "twice": 40, "later": 5}, "calls")
        paired(report)
    p.end()


@test
def only_the_code_of_those_that_are_recorded_is_changed():
    p = Program()
    with Home() as home:
        home.start("night", "-p", p.pid, "--functions=leaf")
        codes = []
        for name in "twice", "leaf", "twice", "leaf":
            home.ok("change", "night", f"--functions={name}")
            codes.append(p.code())
        check(codes[0] != codes[1], "another function's code is changed")
        check_equal(codes[2:], codes[:2], "code of the same functions")
        home.ok("destroy", "night")
    p.end()


@test
def a_flight_recorder_has_what_was_recorded_before_and_after():
    p = Program()
    with Home() as home:
        home.start("day", "-p", p.pid, "--mode", "overwrite",
                   "--functions=leaf", "--depth=3")
        p.do("step")
        home.ok("change", "day", "--functions=later")
        p.do("step")
        trace, _ = home.snapshot("day")
        check_equal(len(trace.events("function:begin")), 15, "calls")
        home.ok("destroy", "day")
    p.end()


@test
def threads_that_call_them_meanwhile_run_on_as_they_were():
    p = Program()
    with Home() as home:
        directory = home.start("night", "-p", p.pid, "--functions=leaf",
                               "--memory", "64M")
        p.do("turn")
        quiet = []
        for _ in range(4):
            for words in (["--functions=twice"],
                          ["--functions=l*", "--functions=twice"],
                          ["--functions=l*"]):
                home.ok("change", "night", *words)
                quiet.append([time.time_ns()])
                p.do("step")
                quiet[-1].append(time.time_ns())
        check_equal(p.do("stop"), 0, "what the functions gave")
        ended = home.json("stop", "night")
        counts = calls(directory)[0]
        check_equal(set(counts) - {"leaf", "twice", "later"}, set(), "names")
        check(min(counts.get(name, 0)
                  for name in ("leaf", "twice", "later")) > 0, counts)
        # An entry and an exit aren't put in, or taken out, at one time, and a
        # thread may make many calls in between; but not after it.
        for begin, end in quiet:
            report = calls(directory, f"--from={begin / 1e9:.9f}",
                           f"--to={end / 1e9:.9f}")[1]
            if not ended["summary"]["events_lost"]:
                check(report["unbegun"] <= 4 and report["open"] <= 4, report)
                check_equal(report["left"], 0, "left without an exit")
    p.end()


@test
def a_process_may_have_none_of_them_for_a_while():
    one, two = Program(), Program("-Dleaf=other")
    with Home() as home:
        directory = home.start("both", "-p", one.pid, "-p", two.pid,
                               "--functions=leaf", "--functions=other")
        for name in "leaf", "other", "twice":
            said = home.ok("change", "both", f"--functions={name}").stderr
            check_equal(len(said.splitlines()), 2, said)
            check_equal("it has no function that is meant" in said,
                        name != "twice", said)
            one.do("step")
            two.do("step")
        home.ok("stop", "both")
        check_equal(calls(directory)[0],
                    {"leaf": 10, "other": 10, "twice": 40}, "calls")
    one.end()
    two.end()


@test
def no_call_is_missed_of_what_is_recorded_before_and_after():
    p = Program()
    with Home() as home:
        directory = home.start("night", "-p", p.pid, "--functions=leaf")
        p.do("count")
        for name in "twice", "later", "none", "*":
            home.ok("change", "night", "--functions=leaf",
                    f"--functions={name}", "--not=count", "--not=turn")
        nr = p.do("stop")
        check_equal(home.json("stop", "night")["summary"]["events_lost"], 0,
                    "lost")
        counts, _ = calls(directory)
        check_equal(counts["leaf"], nr, "calls")
    p.end()


@test
def what_is_not_there_changes_nothing():
    p = Program()
    with Home() as home:
        directory = home.start("night", "-p", p.pid, "--functions=leaf")
        said = home.complaint("change", "night", "--functions=no_such_*")
        check("no function of it is called so" in said, said)
        check_equal(home.json("status", "night")["functions"], ["+leaf"],
                    "status")
        p.do("step")
        home.ok("stop", "night")
        check_equal(calls(directory)[0], {"leaf": 10}, "calls")
    p.end()


def given(directory):
    """Of each function, what it was given and what it returned, in order."""
    done = run(SONDE, "print", "--format", "json", directory)
    check_equal(done.returncode, 0, done.stderr)
    found = {}
    for line in done.stdout.splitlines():
        event = json.loads(line)
        fields = event["payload"]
        found.setdefault(event["event"], []).append(
            {name: value for name, value in fields.items()
             if name != "addr"})
    return found


@test
def functions_that_are_put_in_later_have_their_arguments():
    p = Program()
    with Home() as home:
        directory = home.start("night", "-p", p.pid, "--functions=leaf",
                               "--args")
        p.do("step")
        home.ok("change", "night", "--functions=leaf", "--functions=twice")
        p.do("step")
        for _ in range(3):
            home.ok("change", "night", "--functions=later")
            home.ok("change", "night", "--functions=twice")
        p.do("step")
        home.ok("change", "night", "--functions=noted")
        p.do("step")
        check_equal(home.json("stop", "night")["summary"]["events_lost"], 0,
                    "lost")
        leaf, twice = range(10), range(20)
        numbers = [*leaf, *[n for both in (leaf, twice) for n in both], *twice]
        events = given(directory)
        check_equal(events["function:entry"],
                    [{"n": n} for n in numbers] +
                    [{"who": "somebody", "times": 3}], "what they were given")
        check_equal(events["function:exit"],
                    [{"result": n + 1} for n in leaf] * 2 +
                    [{"result": n * 2} for n in twice] * 2 +
                    [{"result": 33}], "what they returned")
        # As many kinds of events as there are different arguments.
        text = (directory / "metadata").read_text()
        check_equal(text.count('name = "function:entry"'), 4,
                    "two of addresses, and two with arguments")
    p.end()


@test
def with_arguments_and_conditions_on_events_functions_stay():
    p = Program()
    with Home() as home:
        directory = home.start("night", "-p", p.pid, "--functions=leaf",
                               "--args", "-e", "function:* if n > 5")
        said = home.complaint("change", "night", "--functions=twice")
        check("conditions on events" in said and "start another" in said,
              said)
        p.do("step")
        home.ok("stop", "night")
        check_equal(given(directory)["function:entry"],
                    [{"n": n} for n in range(6, 10)], "what they were given")
    p.end()


@test
def what_can_not_be_changed_is_refused_with_what_to_do():
    p = Program()
    with Home() as home:
        home.start("if", "-p", p.pid, "--functions=leaf if n > 3")
        said = home.complaint("change", "if", "--functions=twice")
        check("condition" in said and "start another" in said, said)
        home.ok("destroy", "if")
        home.start("bare", "-p", p.pid, "--malloc")
        said = home.complaint("change", "bare", "--functions=twice")
        check("without --functions" in said and "sonde start" in said, said)
        home.ok("destroy", "bare")
        for words, why in (
                (["--not=x"], "--not is of"),
                (["--functions=leaf", "-e", "*"], "by themselves"),
                (["--functions=leaf if n > 3"], "sonde start"),
                (["--functions="], "empty pattern")):
            said = home.complaint("change", "bare", *words, status=2)
            check(why in said, f"{words}: {said}")
    p.end()


install()
main()
