#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_plugins.py - plug-ins (<sonde/plugin.h>) and declared rows: what they say of a
trace is what its events say, in reports and in time lines; and what doesn't fit is
refused in words."""

import json
import os
import pathlib
import re
import subprocess

from handmade import Handmade, Layout
from sonde import BUILD, PREFIX, ROOT, SANITIZE, SONDE, STAGE, install, pkg_config, run, scratch
from harness import Skip, check, check_equal, main, test

EXAMPLE = ROOT / "examples/plugins/requests.c"
SERVER = Layout(header=[("id", 16, 8), ("time", 64, 8)],
                events={"server:request_begin": [("id", 32, 8)],
                        "server:request_end": [("id", 32, 8)],
                        "other:tick": []})
# begin and end of each request; the last one has none
REQUESTS = {1: (2000, 3000), 2: (2500, 6000), 3: (2600, 2700), 4: (8000, None)}


def requests(lost=None):
    """Requests, and a tick at the begin; `lost`: when events are."""
    trace = Handmade(SERVER)
    events = [(1000, "other:tick", {})]
    for number, (begin, end) in REQUESTS.items():
        events.append((begin, "server:request_begin", {"id": number}))
        if end:
            events.append((end, "server:request_end", {"id": number}))
    with trace.stream("t", cpu=0) as stream:
        with stream.packet(1000, 9000, discarded=0):
            for time, name, fields in sorted(events, key=lambda e: e[0]):
                stream.event(name, time, **fields)
    if lost:
        with trace.stream("u", cpu=1) as stream:
            with stream.packet(1000, lost[0], discarded=0):
                pass
            with stream.packet(*lost, discarded=3):
                pass
    return trace.dir


def compiled(source, *flags, compiler="gcc", name="plugin.so", place=None):
    """A plug-in of C text, or of C++ with g++, as its reader would make it."""
    place = place or scratch()
    file = place / ("plugin.cc" if compiler == "g++" else "plugin.c")
    file.write_text(source)
    done = run(compiler, "-shared", "-fPIC", "-Wall", "-Wextra", "-Wshadow",
               "-Werror", *flags, "-o", place / name, file,
               *pkg_config("--cflags"))
    check_equal((done.returncode, done.stderr), (0, ""), "it compiles")
    return place / name


def example():
    return compiled(EXAMPLE.read_text())


def report(*words):
    done = run(SONDE, "report", "--json", *words)
    check_equal((done.returncode, done.stderr), (0, ""), f"{words}")
    return json.loads(done.stdout)


def states(*words):
    """By row and state: count, cut, total, longest."""
    return {(row["row"], row["state"]):
            (row["count"], row["cut"], row["total_ns"], row["max_ns"])
            for row in report(*words)["states"]}


@test
def a_report_of_a_plugin_says_what_the_events_say():
    gaps = report("--plugin", example(), "gaps", requests())["gaps"]
    times = sorted({1000, *(t for pair in REQUESTS.values() for t in pair if t)})
    expected = sorted((b - a for a, b in zip(times, times[1:])), reverse=True)
    check_equal([gap["length_ns"] for gap in gaps], expected[:10], "gaps")
    text = run(SONDE, "report", "--plugin", example(), "gaps", requests(),
               "-f", 'event == "server:request_begin"').stdout
    check("any of 4 events" in text and "5.40 us" in text, text)


@test
def rows_of_a_plugin_are_summed_by_a_report():
    got = states("--plugin", example(), "load", requests())
    check_equal(got, {
        ("open requests", "1 open"): (2, 1, 500 + 3000 + 1000, 3000),
        ("open requests", "2 open"): (2, 0, 100 + 300, 300),
        ("open requests", "3 open"): (1, 0, 100, 100)}, "states")


def of_requests(end):
    """What each request's state sums up to, in a trace that ends then."""
    return {(f"request {number}", "being served"):
            ((1, 0, until - begin, until - begin) if until else
             (0, 1, end - begin, None))
            for number, (begin, until) in REQUESTS.items()}


@test
def a_state_machine_follows_its_steps():
    expected = of_requests(end=9000)
    check_equal(states("--plugin", example(), "request", requests()), expected,
                "states")


@test
def declared_rows_and_a_machine_of_a_plugin_are_one_and_the_same():
    rows = ROOT / "examples/rows/slowserver.rows"
    check_equal(states("--rows", rows, "rows", requests()),
                states("--plugin", example(), "request", requests()), "states")


@test
def rows_end_where_events_were_lost():
    """2 goes on then, and its end isn't of a known begin."""
    trace = requests(lost=(4000, 5000))
    expected = {**of_requests(end=9000),
                ("request 2", "being served"): (0, 1, 4000 - 2500, None)}
    check_equal(states("-q", "--plugin", example(), "request", trace), expected,
                "states")


CHOOSE = r"""
#include <sonde/plugin.h>
static int choose(const struct sonde_event *event, int from)
{
	return event->time_ns > 5000 ? SONDE_PLUGIN_SAME : from == 0 ? 1 : 0;
}
static const struct sonde_plugin_state states[] = { { "even", "#0102fe" },
						    { "odd", 0 } };
static const struct sonde_plugin_step steps[] = {
	{ "event == \"server:request_begin\"", SONDE_PLUGIN_FROM_NONE |
	  SONDE_PLUGIN_FROM(0), 0, choose },
	{ "event == \"server:request_begin\"", SONDE_PLUGIN_FROM(1), 0, 0 },
	{ "event == \"other:tick\"", SONDE_PLUGIN_FROM_ANY, 1, 0 },
};
static const struct sonde_plugin_machine parity = {
	sizeof(parity), "parity", "odd and even", 0, states, 2, steps, 3 };
static const struct sonde_plugin_machine *const machines[] = { &parity, 0 };
const struct sonde_plugin sonde_plugin = { SONDE_PLUGIN_ABI,
	sizeof(sonde_plugin), 0, 0, machines };
"""


@test
def the_first_step_from_a_state_is_taken_and_a_choice_may_stay():
    """A tick makes it odd, then each begin the other one, but the last."""
    got = states("--plugin", compiled(CHOOSE), "parity", requests())
    check_equal(got, {("parity", "odd"): (2, 0, 1000 + 100, 1000),
                      ("parity", "even"): (1, 1, 500 + 6400, 500)}, "states")


CXX = r"""
#include <sonde/plugin.h>
static int begin(void *, const void *, sonde_plugin_run *) { return 0; }
static int end(void *, sonde_plugin_run *, sonde_report *report)
{
	sonde_report_note(report, "hello from %s", "C++");
	return 0;
}
static const sonde_plugin_report hello = { sizeof(hello), "hello", "a word",
	nullptr, 0, begin, end, nullptr };
static const sonde_plugin_report *const reports[] = { &hello, nullptr };
const struct sonde_plugin sonde_plugin = { SONDE_PLUGIN_ABI,
	sizeof(sonde_plugin), reports, nullptr, nullptr };
"""


@test
def a_plugin_may_be_in_cxx():
    plugin = compiled(CXX, "-std=c++11", compiler="g++")
    check_equal(report("--plugin", plugin, "hello", requests())["notes"],
                ["hello from C++"], "notes")


@test
def reports_are_listed_with_where_they_are_from():
    plugin = example()
    listed = {row["name"]: row for row in
              report("--plugin", plugin, requests())["reports"]}
    for name in "gaps", "load", "request":
        check_equal((listed[name]["origin"], listed[name]["fits"]),
                    (str(plugin), None), name)
    check_equal((listed["top"]["origin"], listed["top"]["fits"]), (None, "yes"),
                "ours")
    check("FROM" not in run(SONDE, "report", requests()).stdout,
          "a column that is empty")


def home_with(plugin, mode=0o755):
    """A home in whose folder of plug-ins that one is."""
    folder = scratch() / ".local/lib/sonde/plugins"
    folder.mkdir(parents=True)
    (folder / "x.so").write_bytes(plugin.read_bytes())
    folder.chmod(mode)
    return dict(os.environ, HOME=str(folder.parents[3]))


def names(env, *words, **more):
    """Which reports there are, and what else was said."""
    done = subprocess.run([SONDE, "report", "--json", *words], env=env,
                          stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, **more)
    check_equal(done.returncode, 0, done.stderr)
    return {row["name"] for row in json.loads(done.stdout)["reports"]}, done.stderr


@test
def plugins_are_loaded_from_the_users_folder_and_from_no_trace():
    plugin, trace = example(), requests()
    got, said = names(home_with(plugin), trace)
    check_equal(("gaps" in got, said), (True, ""), "the user's")
    here = pathlib.Path(trace).parent / "here"
    for folder in (here, here / "sonde/plugins", *(
            pathlib.Path(trace) / place
            for place in (".sonde", ".sonde/plugins", "sonde/plugins"))):
        folder.mkdir(parents=True)
        (folder / "x.so").write_bytes(plugin.read_bytes())
    got, said = names(dict(os.environ, HOME=str(scratch())), trace, cwd=here)
    check_equal(("gaps" in got, said), (False, ""), "the trace's")


@test
def what_others_can_change_is_not_loaded():
    plugin = example()
    got, said = names(home_with(plugin, mode=0o777), requests())
    check("gaps" not in got and "others than root or you" in said, said)
    plugin.chmod(0o666)
    done = run(SONDE, "report", "--plugin", plugin, "gaps", requests())
    check(done.returncode == 2 and "nobody but root or you" in done.stderr,
          f"{done}")


@test
def several_plugins_are_loaded_and_each_that_is_named_must_be():
    words = ("--plugin", example(), "--plugin", compiled(CHOOSE))
    got, said = names(dict(os.environ), *words, requests())
    check_equal(({"gaps", "load", "request", "parity"} <= got, said),
                (True, ""), f"{got}")
    check("No such file" in refused(*words, "--plugin", "/nowhere/x.so",
                                    requests()), "the last one")
    check("at most 16" in refused(*("--plugin", words[1]) * 17, requests()),
          "17")


@test
def names_of_reports_are_completed_with_those_of_the_users_folder():
    """What --plugin names isn't run before the line is; nothing is said of a plug-in
    that doesn't fit."""
    def offered(home, *words):
        done = subprocess.run([SONDE, "complete", str(len(words)), *words, "g"],
                              env=home, text=True, capture_output=True,
                              stdin=subprocess.DEVNULL, check=True)
        return done.stdout.splitlines()[:-1], done.stderr  # the last: "@dir"

    plugin = example()
    home = home_with(plugin)
    check_equal(offered(home, "report"),
                (["\t".join(["gaps", "the longest times without any event"])],
                 ""), "in the folder")
    folder = pathlib.Path(home["HOME"]) / ".local/lib/sonde/plugins"
    (folder / "x.so").write_text("nothing")
    check_equal(offered(home, "report", "--plugin", plugin), ([], ""), "beside it")


def refused(*words):
    done = run(SONDE, "report", *words)
    check_equal((done.returncode, done.stdout), (2, ""), done.stderr)
    return done.stderr


@test
def a_plugin_that_does_not_fit_is_refused_in_words():
    trace = requests()
    for old, new, word in (
            ("SONDE_PLUGIN_ABI,", "SONDE_PLUGIN_ABI + 1,", "for version 2"),
            ("sizeof(sonde_plugin)", "8", "compile it anew"),
            ("sizeof(hello)", "sizeof(hello) + 8", "not 64"),
            ('"hello"', '"top"', "'top' already"),
            ('"hello"', '"he llo"', "a name is"),
            ("begin, end", "begin, nullptr", "begin and an end"),
            ("static int begin(void *, const void *, sonde_plugin_run *) { "
             "return 0; }", 'extern "C" int sonde_other();\n'
             "static int begin(void *, const void *, sonde_plugin_run *) { "
             "return sonde_other(); }", "another version of sonde"),
            ("sonde_plugin =", "my_plugin =", "no 'sonde_plugin'")):
        source = CXX.replace(old, new, 1)
        check(source != CXX, old)
        plugin = compiled(source, "-std=c++11", "-Wno-unused", compiler="g++")
        check(word in refused("--plugin", plugin, "hello", trace), word)
    for text, word in ("", "too short"), ("nothing" * 100, "invalid ELF"):
        file = scratch() / "x.so"
        file.write_text(text)
        check(word in refused("--plugin", file, "hello", trace), word)
    check("No such file" in refused("--plugin", "/nowhere/x.so", trace), "none")


@test
def in_a_folder_such_a_plugin_is_told_of_and_left_out():
    plugin = compiled(CXX.replace("SONDE_PLUGIN_ABI,", "7,"), "-std=c++11",
                      compiler="g++")
    got, said = names(home_with(plugin), requests())
    check("hello" not in got and "top" in got, f"{got}")
    check(said.count("\n") == 1 and "version 7" in said, said)


@test
def a_plugin_says_why_a_trace_is_not_for_it():
    other = Handmade(Layout(events={"a:b": []}))
    with other.stream("t", cpu=0) as stream:
        with stream.packet(1000, 2000, discarded=0):
            stream.event("a:b", 1500)
    for name, word in ("load", "no requests"), ("request", "no such events"):
        done = run(SONDE, "report", "--plugin", example(), name, other.dir)
        check(done.returncode == 1 and word in done.stderr, f"{done}")
    done = run(SONDE, "report", "rows", requests())
    check(done.returncode == 2 and "no rows are declared" in done.stderr,
          f"{done}")


@test
def all_that_the_headers_declare_is_there_for_plugins():
    """The program's list, its symbols and the headers have the same names."""
    text = "".join((ROOT / f"include/sonde/{name}.h").read_text()
                   for name in ("plugin", "trace"))
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    declared = set(re.findall(
        r"SONDE_(?:PLUGIN|TRACE)_API[^;{#]*?\b(sonde_\w+)\s*\(", text))
    listed = set(re.findall(r"^\t(sonde_\w+);$", (
        ROOT / "src/cmd/plugins.list").read_text(), re.M))
    check_equal(sorted(declared ^ listed), [], "headers and list")
    if SANITIZE:
        raise Skip("a sanitizer's names")
    out = subprocess.check_output(["nm", "-D", "--defined-only", SONDE],
                                  text=True)
    there = {line.split()[-1] for line in out.splitlines()}
    check_equal(sorted(declared - there), [], "missing")
    check_equal(sorted(n for n in there - declared if n.startswith("sonde")),
                [], "more than that")


@test
def the_folder_of_plugins_is_known_to_pkg_config():
    folder = pkg_config("--variable=plugindir")[0]
    check((STAGE / folder.lstrip("/")).is_dir() or pathlib.Path(folder).is_dir(),
          folder)
    check(folder.endswith("/sonde/plugins"), folder)


install()
main()
