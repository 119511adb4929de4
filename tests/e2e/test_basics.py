#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_basics.py - a program is recorded and babeltrace2 reads what it did."""

import os
import re

from sonde import (build, check, install, record, record_ok, run,
                   scratch, skip_if_sanitized, SONDE)
from harness import check_equal, main, test

THREE = r"""
#include <sonde/tracepoint.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	const char *name = "wörld \"quoted\"\n";

	sonde_event(demo, first, argc);
	sonde_event(demo, second, name, sonde_field(twice, 2.5));
	for (long i = 0; i < 3; i++)
		sonde_event(other, third, i);
	puts("done");
	return argc > 1 ? 7 : 0;
}
"""


@test
def events_arrive_in_order_with_their_values():
    events = record_ok(build(THREE)).events()
    check_equal([e.name for e in events],
                ["demo:first", "demo:second"] + 3 * ["other:third"], "events")
    check_equal(dict(events[0]), {"argc": 1}, "first")
    check_equal(dict(events[1]),
                {"name": 'wörld "quoted"\n', "twice": 2.5}, "second")
    check_equal([e["i"] for e in events[2:]], [0, 1, 2], "third")
    times = [e.time for e in events]
    check_equal(times, sorted(times), "times")


@test
def every_event_knows_its_thread():
    program = build(r"""
#include <sonde/tracepoint.h>
#include <unistd.h>
int main(void)
{
	int pid = getpid(), tid = gettid();

	sonde_event(demo, who, pid, tid);
	return 0;
}
""", "-D_GNU_SOURCE")
    event, = record_ok(program).events("demo:who")
    check_equal((event.tid, event.pid), (event["tid"], event["pid"]), "who")


@test
def the_program_runs_as_without_sonde():
    plain = run(build(THREE))
    recording = record(build(THREE))
    check_equal(recording.out, plain.stdout, "standard output")
    check_equal(recording.status, 0, "status")


@test
def the_exit_status_is_the_program_s():
    check_equal(record(build(THREE), "x").status, 7, "status")


@test
def a_program_killed_by_a_signal_has_the_shell_s_status():
    check_equal(record("sh", "-c", "kill -TERM $$").status, 128 + 15, "status")


@test
def a_program_without_tracepoints_is_run_and_said_to_have_none():
    recording = record("true")
    check_equal(recording.status, 0, "status")
    check(recording.err, "nothing was said about it")
    recording = record("sh", "-c", "exit 3")
    check_equal(recording.status, 3, "status")


@test
def a_program_that_does_not_exist_is_named():
    recording = record("/nowhere/program")
    check_equal(recording.status, 127, "status")
    check("/nowhere/program" in recording.err, recording.err)


@test
def a_glob_selects_events():
    trace = record_ok(build(THREE), options=["-e", "demo:*"])
    check_equal({e.name for e in trace.events()},
                {"demo:first", "demo:second"}, "events")
    trace = record_ok(build(THREE), options=["-e", "*:third", "-e", "*:first"])
    check_equal({e.name for e in trace.events()},
                {"demo:first", "other:third"}, "events")


@test
def an_excluded_event_is_not_recorded():
    trace = record_ok(build(THREE), options=["--exclude", "*:s*"])
    check_equal({e.name for e in trace.events()},
                {"demo:first", "other:third"}, "events")


@test
def an_existing_directory_is_not_overwritten():
    directory = scratch()
    (directory / "precious").write_text("x")
    done = run(SONDE, "record", "-o", directory, "--", "true")
    check(done.returncode != 0, "it was accepted")
    check(str(directory) in done.stderr, done.stderr)
    check_equal(os.listdir(directory), ["precious"], "directory")


@test
def a_wrong_option_is_refused_with_the_cause():
    done = run(SONDE, "record", "--no-such-option", "--", "true")
    check(done.returncode != 0, "it was accepted")
    check("no-such-option" in done.stderr, done.stderr)


@test
def the_summary_counts_events():
    recording = record(build(THREE))
    check(" 5 " in " " + recording.err.replace(",", " ").replace(":", " "),
          recording.err)


@test
def a_disabled_program_records_nothing_and_compiles():
    recording = record(build(THREE, "-DSONDE_DISABLE", "-Wno-unused"))
    check_equal(recording.status, 0, recording.err)


@test
def c_plus_plus_programs_are_recorded():
    program = build(r"""
#include <sonde/tracepoint.h>
#include <thread>
int main()
{
	int number = 42;
	const char *text = "c++";
	std::thread([&] { sonde_event(cxx, event, number, text); }).join();
}
""", "-xc++", "-std=c++17")
    event, = record_ok(program).events("cxx:event")
    check_equal(dict(event), {"number": 42, "text": "c++"}, "event")


@test
def list_shows_a_program_s_events_without_running_it():
    done = run(SONDE, "list", build(THREE))
    check_equal(done.returncode, 0, done.stderr)
    for name in ("demo:first", "demo:second", "other:third", "twice"):
        check(name in done.stdout, f"{name} is not in {done.stdout}")
    check("done" not in done.stdout, "it ran")


@test
def list_shows_a_trace_s_events():
    recording = record(build(THREE))
    check_equal(recording.status, 0, recording.err)
    done = run(SONDE, "list", recording.dir)
    check_equal(done.returncode, 0, done.stderr)
    for name in ("demo:first", "demo:second", "other:third", "twice"):
        check(name in done.stdout, f"{name} is not in {done.stdout}")


def with_events(nr):
    """A program with so many events, which all happen twice."""
    sites = "\n".join(f"\t\tsonde_event(many, e{n}, i, sonde_field(n, {n}));"
                      for n in range(nr))
    return f"""
#include <sonde/tracepoint.h>
int main(void)
{{
	for (long i = 0; i < 2; i++) {{
{sites}
	}}
	return 0;
}}
"""


def headers(trace):
    """The kinds of header in the program's streams, by the largest short
    identifier."""
    metadata = (trace.dir / "metadata").read_text(errors="replace")
    metadata = re.sub(r"/\* mapped files \*/\nstream \{.*?compact = ", "",
                      metadata, flags=re.S)
    kinds = {"30": "compact", "65534": "large"}
    return sorted({kinds[n] for n in
                   re.findall(r"compact = 0 \.\.\. (\d+)", metadata)})


def check_many(nr, kind, *flags, options=(), static=False, first=0):
    program = build(with_events(nr), *flags, static=static)
    trace = record_ok(program, options=options)
    events = [e for e in trace.events() if e.name.startswith("many:")]
    check_equal([(e.name, e["i"], e["n"]) for e in events],
                [(f"many:e{n}", i, n) for i in range(2)
                 for n in range(first, nr)], "events")
    check_equal(headers(trace), [kind], "headers")


@test
def a_program_with_many_events_is_recorded():
    check_many(40, "large")
    check_many(40, "large", "-xc++", "-std=c++17")


@test
def a_static_program_with_many_events_is_recorded():
    skip_if_sanitized("no static executables")
    check_many(40, "large", static=True)
    check_many(40, "large", "-xc++", "-std=c++17", static=True)


@test
def a_program_with_few_events_has_compact_headers():
    check_many(5, "compact")
    check_many(30, "compact")
    check_many(5, "compact", "-xc++", "-std=c++17")
    check_many(40, "compact", options=["-e", "many:*", "--exclude", "*:e?"],
               first=10)


@test
def the_kind_of_header_can_be_chosen():
    check_many(40, "compact", options=["--headers", "compact"])
    check_many(5, "large", options=["--headers", "large"])


install()
main()
