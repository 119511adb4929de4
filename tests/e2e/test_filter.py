#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_filter.py - conditions of a program's events, tested in the program:
exactly those events are recorded for which they hold, and none is lost."""

import collections
import json

from sonde import SONDE, build, install, record, run, scratch, LIB, pkg_config
from harness import check, check_equal, main, test

PROGRAM = r"""
#include <sonde/tracepoint.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void events(int n)
{
	for (int i = 0; i < n; i++) {
		char text[32];
		double f = i / 4.0;

		sprintf(text, "/path/%d.%s", i, i % 3 ? "html" : "png");
		sonde_event(t, word, i);
		sonde_event(t, block, i, f, sonde_field(square, (long)i * i));
		sonde_event(t, string, i, text);
		sonde_event(t, text_alone, text);
		sonde_event(t, fixed, sonde_text(kind, i % 3 ? "html" : "png", 4),
			    i, sonde_text(path, text, 16));
		sonde_event(t, many, text, i, sonde_blob(b, text, i % 7),
			    sonde_string(second, text + 3),
			    sonde_field(minus, (short)-i),
			    sonde_sequence(list, &i, i % 2));
		sonde_event(t, other, sonde_field(u, (unsigned char)i),
			    sonde_enum(e, i % 3, sonde_label("none", 0),
				       sonde_range("some", 1, 2)),
			    sonde_network(n, __builtin_bswap32(i)));
		sonde_event(t, nested, i, sonde_struct(s, i), f);
		sonde_event(t, narrow, sonde_field(a, (long)i),
			    sonde_field(b, (short)(i - 500)),
			    sonde_field(c, (signed char)i));
	}
}

static void *thread(void *n)
{
	events(*(int *)n);
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1000;
	pthread_t threads[3];

	if (argc > 2 && !strcmp(argv[2], "threads")) {
		for (int i = 0; i < 3; i++)
			pthread_create(&threads[i], NULL, thread, &n);
		for (int i = 0; i < 3; i++)
			pthread_join(threads[i], NULL);
	} else if (argc > 2 && !strcmp(argv[2], "fork")) {
		if (!fork()) {
			events(n);
			_exit(0);
		}
		wait(NULL);
	}
	events(n);
	return 0;
}
"""

NR = 1000


def program(cache=[]):
    if not cache:
        cache.append(build(PROGRAM))
    return cache[0]


def counts(*command, options):
    """How many events of each name, all of which were recorded."""
    recording = record(*command, options=options)
    check_equal(recording.status, 0, recording.err)
    check(" 0 lost" in recording.err, recording.err)
    trace = recording.trace()
    return collections.Counter(e.name for e in trace.events()), recording


def text(i):
    return f"/path/{i}.{'html' if i % 3 else 'png'}"


# (event, condition, whether it holds)
CASES = [
    ("word", "i >= 990", lambda i: i >= 990),
    ("word", "i % 7 == 3 || i < 5", lambda i: i % 7 == 3 or i < 5),
    ("word", "i in (1, 2, 77, 5000)", lambda i: i in (1, 2, 77)),
    ("word", "1000 / (i - 5) > 100", lambda i: 0 < i - 5 and
     1000 // (i - 5) > 100),
    ("word", "1", lambda i: True),
    ("word", "0", lambda i: False),
    ("word", "nothing == 1", lambda i: False),
    ("word", "!defined(nothing) && i < 3", lambda i: i < 3),
    ("word", "tid > 0 && i < 3", lambda i: i < 3),
    ("word", "cpu < 0", lambda i: False),
    ("word", 'event == "t:wor*" && i < 9', lambda i: i < 9),
    ("word", 'event == "wor*" && i < 9', lambda i: False),
    ("block", "f > 100.5 && f <= 200", lambda i: 100.5 < i / 4 <= 200),
    ("block", "square > i * 500", lambda i: i * i > 500 * i),
    ("string", "i & 1", lambda i: i & 1),
    ("string", 'text == "*.png"', lambda i: i % 3 == 0),
    ("string", 'i < 100 && text != "*.png"', lambda i: i < 100 and i % 3),
    ("text_alone", 'text < "/path/5"', lambda i: text(i) < "/path/5"),
    ("fixed", 'kind == "png"', lambda i: i % 3 == 0),
    ("fixed", 'kind != "png" && path == "/path/1?.*"',
     lambda i: i % 3 and i // 10 == 1),
    ("fixed", 'path == "/path/7.html" || path == "/path/12*"',
     lambda i: i == 7 or i == 12 or i // 10 == 12),
    ("many", 'second == "th/1?.html"', lambda i: i // 10 == 1 and i % 3),
    ("many", "minus < -990", lambda i: i > 990),
    ("many", "i == 44", lambda i: i == 44),
    ("many", "b[3] == 't'", lambda i: i % 7 > 3),
    ("many", 'b == "/pa*"', lambda i: i % 7 > 2),
    ("many", 'b == "" || b == "/p?th"', lambda i: i % 7 in (0, 5)),
    ("many", 'b && i < 50', lambda i: i % 7 and i < 50),
    ("many", "list[0] >= 500", lambda i: i % 2 and i >= 500),
    ("other", "u == 255", lambda i: i % 256 == 255),
    ("other", 'e == "none"', lambda i: i % 3 == 0),
    ("other", "n > 990", lambda i: i > 990),
    ("nested", "i < 20", lambda i: i < 20),
    # intervals: of a word, of the first eight bytes of a block, behind them,
    # and beside a string
    ("word", "i < 0", lambda i: False),
    ("word", "i != 500", lambda i: i != 500),
    ("word", "i < 3 || i > 990", lambda i: i < 3 or i > 990),
    ("block", "i > 3 && i <= 70", lambda i: 3 < i <= 70),
    ("block", "square >= 100 && square < 10000", lambda i: 10 <= i < 100),
    ("string", "i < 7", lambda i: i < 7),
    ("narrow", "a == 999", lambda i: i == 999),
    ("narrow", "b < -400", lambda i: i < 100),
    ("narrow", "c == -1", lambda i: i % 256 == 255),
    ("narrow", "c", lambda i: i % 256),
]


@test
def exactly_those_events_are_recorded_for_which_the_condition_holds():
    for name, condition, holds in CASES:
        found, recording = counts(program(), NR, options=[
            "-e", f"t:{name} if {condition}"])
        expected = sum(bool(holds(i)) for i in range(NR))
        check_equal(dict(found), {f"t:{name}": expected} if expected else {},
                    f"{name} if {condition}: {recording.err}")


@test
def evaluated_ones_are_as_native_ones():
    for name, condition, holds in CASES:
        # there is no native code for floating point numbers
        found, recording = counts(program(), NR, options=[
            "-e", f"t:{name} if tid * 1.0 > 0.5 && ({condition})"])
        expected = sum(bool(holds(i)) for i in range(NR))
        check_equal(dict(found), {f"t:{name}": expected} if expected else {},
                    f"{name} if {condition}: {recording.err}")


@test
def all_conditions_at_a_time_and_events_without_one():
    first = {}
    for name, condition, holds in CASES:
        first.setdefault(name, (condition, holds))
    del first["nested"]
    options = ["-e", "*"]
    for name, (condition, _) in first.items():
        options += ["-e", f"t:{name} if {condition}"]
    found, _ = counts(program(), NR, options=options)
    expected = {f"t:{name}": sum(bool(holds(i)) for i in range(NR))
                for name, (_, holds) in first.items()}
    check_equal(dict(found), {**expected, "t:nested": NR}, "events")


@test
def an_events_name_is_the_same_when_recording_as_when_reading():
    everything = record(program(), 20).dir
    for name in "t:word", "word", "t:*", "*d", "t:wo?d":
        condition = f'event == "{name}"'
        found, _ = counts(program(), 20, options=["--filter", condition])
        read = run(SONDE, "stat", "--json", "-f", condition, everything)
        check_equal(sum(found.values()), json.loads(read.stdout)["total_events"],
                    condition)


@test
def the_last_rule_that_matches_decides():
    found, _ = counts(program(), NR, options=[
        "-e", "t:word if i < 10", "-e", "t:w*", "-e", "t:block",
        "-e", "t:bl* if i < 4"])
    check_equal(dict(found), {"t:word": NR, "t:block": 4}, "events")


@test
def a_common_filter_holds_for_all_and_is_false_where_a_field_is_missing():
    found, _ = counts(program(), NR, options=[
        "--filter", "i < 10", "--filter", "i != 3",
        "-e", "*", "-e", "t:word if i < 5"])
    check_equal(dict(found), {"t:word": 4, "t:block": 9, "t:string": 9,
                              "t:fixed": 9, "t:many": 9, "t:nested": 9},
                "events")


@test
def threads_and_children_have_the_conditions():
    for how, times in ("threads", 4), ("fork", 2):
        found, _ = counts(program(), NR, how, options=[
            "-e", "t:word if i % 10 == 0", "-e", 't:many if text == "*.png"'])
        check_equal(dict(found), {"t:word": times * 100,
                                  "t:many": times * 334}, how)


@test
def large_headers_and_overwriting():
    for options in ["--headers", "large"], ["--mode", "overwrite"]:
        found, _ = counts(program(), NR, options=[
            *options, "-e", "t:word if i >= 995", "-e", "t:string if i < 7"])
        check_equal(dict(found), {"t:word": 5, "t:string": 7}, options)


@test
def a_library_that_is_opened_later_has_them():
    plugin = scratch() / "plugin.so"
    source = plugin.with_suffix(".c")
    source.write_text("#include <sonde/tracepoint.h>\n"
                      "void plugin(int i) { sonde_event(t, word, i);"
                      " sonde_event(p, other, i); }\n")
    done = run("gcc", "-O2", "-fPIC", "-shared", source, "-o", plugin,
               *pkg_config("--cflags"), *pkg_config("--libs"),
               f"-Wl,-rpath,{LIB}")
    check_equal(done.returncode, 0, done.stderr)
    host = build("#include <sonde/tracepoint.h>\n#include <dlfcn.h>\n"
                 "int main(int argc, char **argv) { (void)argc;\n"
                 "for (int i = 0; i < 50; i++) sonde_event(t, word, i);\n"
                 "void (*f)(int) = (void (*)(int))dlsym("
                 "dlopen(argv[1], RTLD_NOW), \"plugin\");\n"
                 "for (int i = 0; i < 50; i++) f(i); return 0; }\n", "-ldl")
    found, _ = counts(host, plugin, options=["-e", "* if i < 7"])
    check_equal(dict(found), {"t:word": 14, "p:other": 7}, "events")


@test
def what_is_wrong_is_told_before_the_program_starts():
    for options, words in [
            (["-e", "t:word if i = 3"], ["-e", "column 3", "'=='"]),
            (["-e", "t:word if"], ["-e", "missing"]),
            (["--filter", "size > 64k"], ["--filter", "column 10", "'k'"])]:
        recording = record("sh", "-c", "echo started", options=options)
        check_equal(recording.status, 2, recording.err)
        check_equal(recording.out, "", "the program ran")
        for word in words:
            check(word in recording.err, f"{word}: {recording.err}")


@test
def what_does_not_fit_is_told_at_the_end():
    found, recording = counts(program(), 10, options=[
        "-e", 't:string if text == 3', "-e", "t:word if nothing == 3",
        "-e", "t:nested if s.i == 3", "-e", "t:other"])
    check_equal(dict(found), {"t:other": 10}, "events")
    for words in [("t:string", "column 6"), ("'nothing'", "column 1"),
                  ("t:nested", "s.i", "when the trace is read")]:
        for word in words:
            check(word in recording.err, f"{word}: {recording.err}")


@test
def what_was_meant_is_told_at_the_end():
    known = program()
    for options, words in [
            (["-e", "t:wodr"], "-e t:wodr: {} has no such event; did you mean "
             "'t:word'?"),
            (["-e", "t:other", "-e", "nestde"], "-e nestde: {} has no such "
             "event; did you mean 't:nested'?"),
            (["--exclude", "t:wodr"], "--exclude t:wodr: {} has no such event; "
             "did you mean 't:word'?"),
            (["-e", "t:word if squae == 3"], "no event that this is about has "
             "'squae' (column 1), so it was missing"),
            (["-e", "t:block if squae == 3"], "'squae' (column 1), so it was "
             "missing; did you mean 'square'?"),
            (["--filter", "event == word"], "'word' (column 10), so it was "
             "missing; the event's name is in quotes: \"t:word\""),
            (["--filter", 'event == "t:wodr"'], "no event here is called "
             "'t:wodr'; did you mean 't:word'? (column 10)")]:
        _, recording = counts(known, 5, options=options)
        check(words.format(known) + "\n" in recording.err,
              f"{options}: {recording.err}")
        check_equal(recording.err.count("did you mean") +
                    recording.err.count("in quotes"),
                    words.count("did you mean") + words.count("in quotes"),
                    f"{options}: {recording.err}")
    for options in ["-e", "word"], ["-e", "t"], ["-e", "t:wo*"], [
            "--exclude", "t:word"], ["--filter", 'event == "t:word"']:
        _, recording = counts(known, 5, options=options)
        check("did you mean" not in recording.err, recording.err)


@test
def a_label_that_no_event_has_is_told():
    found, recording = counts(program(), 10, options=[
        "-e", 't:other if e == "nome" || u == 3', "-e", "t:word"])
    check_equal(dict(found), {"t:other": 1, "t:word": 10}, "events")
    check("'e' has no label 'nome'; did you mean 'none'? (column 6)"
          in recording.err, recording.err)
    done = run(SONDE, "print", "-f", 'e == "nome"', recording.dir)
    check_equal((done.returncode, done.stdout), (2, ""), "status, events")
    check("'e' has no label 'nome'; did you mean 'none'?" in done.stderr,
          done.stderr)
    done = run(SONDE, "print", "-f", 'e == "none" || i == 3', recording.dir)
    check_equal(done.returncode, 0, done.stderr)
    check_equal(len(done.stdout.splitlines()), 2, done.stdout)


@test
def what_only_hidden_events_have_is_told():
    """They say whose the others are, and no command but one shows them."""
    _, recording = counts(program(), 5, options=["-e", "*"])
    hidden = " but internal ones, which only print --format babeltrace shows"
    for expression, words in [
            ("age >= 0", "no event has a field 'age'"),
            ("age >= 0 && i == 3", "no event has a field 'age'"),
            ('event == "sonde:thread"',
             "no event here is called 'sonde:thread'")]:
        done = run(SONDE, "print", "-f", expression, recording.dir)
        check_equal((done.returncode, done.stdout), (0, ""), expression)
        check(f"warning: -f: {words}{hidden}\n" in done.stderr, done.stderr)
        done = run(SONDE, "print", "--format", "babeltrace", "-f", expression,
                   recording.dir)
        check("i ==" in expression or done.stdout, f"nothing: {expression}")
    for expression in 'i == 3', 'event == "*:word"', "pid > 0":
        done = run(SONDE, "print", "-f", expression, recording.dir)
        check(done.stdout and not done.stderr, f"{expression}: {done.stderr}")
    done = run(SONDE, "print", "-f", "agee == 3", recording.dir)
    check_equal(done.returncode, 2, done.stderr)
    check("did you mean" not in done.stderr, done.stderr)
    done = run(SONDE, "export", "--to", "csv", "--fields", "age", "-o", "-",
               recording.dir)
    check_equal((done.returncode, done.stdout), (2, ""), done.stderr)


install()
main()
