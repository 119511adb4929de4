#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_lttng.py - programs written for LTTng-UST, compiled unchanged against
<lttng/tracepoint.h> of Sonde: the same events, fields, values and levels as in
LTTng's own trace of the same program, whichever way the probes are linked."""

import pathlib
import re
import shutil

from sonde import (LIB, ROOT, SONDE, check, install, record_ok, require, run,
                   scratch)
from harness import Skip, check_equal, main, test
from lttng import (THEIRS, compiler, need_their_headers, ours,
                   recorded_by_lttng, shown)

SOURCES = ROOT / "tests/lttng"
NEWER = ("every.h", "every_probes.c", "every_points.c", "program.c")
# The names of the first interface, in the order in which they are put in.
OLDER = [("lttng_ust_field_", "ctf_"), ("lttng_ust_", ""),
         ("LTTNG_UST_TRACEPOINT_LOGLEVEL_", "TRACE_"),
         ("LTTNG_UST_TRACEPOINT_", "TRACEPOINT_"), ("LTTNG_UST_TP_", "TP_")]


def place(older=False):
    """The sources, in a directory of their own."""
    to = scratch() / "sources"
    shutil.copytree(SOURCES, to)
    for name in NEWER if older else ():
        text = (to / name).read_text()
        for new, old in OLDER:
            text = text.replace(new, old)
        # here the class is of the event's provider
        text = re.sub(r"(INSTANCE\(\s*every, pair,) every,", r"\1", text)
        (to / name).write_text(text)
    return to


STRICT = ["-Wall", "-Wextra", "-Wshadow", "-Wundef", "-Werror", "-O2", "-g", "-I."]


def objects(cwd, flags, probes, main_, *names, define=()):
    for name in names:
        by = main_ if name == "program" else probes
        language = ["-x", "c++"] if "++" in by else []
        compiler(by, *STRICT, *flags[0], *define, *language, "-c",
                 f"{name}.c", "-o", f"{name}.o", cwd=cwd)


def linked(flags, probes="gcc", main_="gcc", older=False):
    """A program with its probes in it."""
    cwd = place(older)
    objects(cwd, flags, probes, main_, "every_probes", "program")
    by = "g++" if "++" in probes + main_ else "gcc"
    compiler(by, "every_probes.o", "program.o", *flags[1], "-o", "program",
             cwd=cwd)
    return cwd / "program"


# ---- what was recorded ----

def levels(directory):
    where = next(pathlib.Path(directory).rglob("metadata")).parent
    text = run("babeltrace2", "--output-format=ctf-metadata", where).stdout
    found = dict(re.findall(
        r'event \{\s*name = "(every:\w+)";[^{}]*?loglevel = (\d+);', text))
    check(len(found) == 12, f"levels of {sorted(found)}")
    return found


EVENTS = 17  # that program.c traces


@test
def a_program_has_the_events_that_lttng_records_of_it():
    need_their_headers()
    directory = recorded_by_lttng(linked(THEIRS))
    theirs = shown(directory)
    check_equal(len(theirs), EVENTS, "LTTng's events")
    trace = record_ok(linked(ours()))
    check_equal(shown(trace.dir), theirs, "ours, and LTTng's")
    check_equal(levels(trace.dir), levels(directory), "levels")


@test
def the_first_interface_is_the_same():
    older = record_ok(linked(ours(), older=True))
    newer = record_ok(linked(ours()))
    check_equal(shown(older.dir), shown(newer.dir), "by other names")
    check_equal(levels(older.dir), levels(newer.dir), "levels")
    check_equal(len(shown(newer.dir)), EVENTS, "events")


@test
def any_compiler_makes_the_same_of_it():
    expected = None
    for probes, main_ in (("gcc", "gcc"), ("g++", "g++"), ("gcc", "g++"),
                          ("clang", "clang"), ("clang++", "gcc")):
        if not shutil.which(probes) or not shutil.which(main_):
            continue
        trace = record_ok(linked(ours(), probes, main_))
        got = shown(trace.dir), levels(trace.dir)
        expected = expected or got
        check_equal(got, expected, f"probes by {probes}, program by {main_}")


@test
def list_reads_the_descriptions_from_the_file():
    """Of what gcc and g++ make; clang's in C are there when it runs."""
    for probes in ("gcc", "g++"):
        out = run(SONDE, "list", linked(ours(), probes)).stdout
        for text in ("every:integers", "every:take", "a green one"):
            check(text in out, f"{probes}: no {text}: {out}")


def library(cwd, *names):
    objects(cwd, ours(), "gcc", "gcc", *names,
            define=["-fPIC", "-DPOINTS_ELSEWHERE"])
    compiler("gcc", "-shared", *(f"{name}.o" for name in names), *ours()[1],
             "-o", "libprobes.so", cwd=cwd)
    return cwd / "libprobes.so"


def alone():
    """A program that isn't linked with libsonde, and the probes' library."""
    cwd = place()
    probes = library(cwd, "every_probes")
    objects(cwd, ours(), "gcc", "gcc", "every_points", "program")
    compiler("gcc", "every_points.o", "program.o", "-o", "program", cwd=cwd)
    needed = run("readelf", "-d", cwd / "program").stdout
    check("libsonde" not in needed, "it needs libsonde")
    return cwd / "program", probes


@test
def probes_may_come_with_dlopen_or_be_preloaded_or_stay_away():
    program, probes = alone()
    expected = shown(record_ok(linked(ours())).dir)
    env = {"LD_LIBRARY_PATH": str(LIB)}
    loaded = record_ok(program, probes, env=env)
    check_equal(shown(loaded.dir), expected, "dlopen")
    preloaded = record_ok("env", f"LD_PRELOAD={probes}", program, env=env)
    check_equal(shown(preloaded.dir), expected, "LD_PRELOAD")
    done = run(program)
    check_equal((done.returncode, done.stdout),
                (0, "0 arguments evaluated\n"), "without probes")


RELOADS = r"""
#include <dlfcn.h>
#include <stddef.h>
#include "every.h"

int main(int argc, char **argv)
{
	(void)argc;
	for (int round = 0; round < 3; round++) {
		void *probes = dlopen(argv[1], RTLD_NOW);

		lttng_ust_tracepoint(every, put, round, "loaded");
		if (!probes || dlclose(probes))
			return 1;
		if (dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD))
			return 2;
		lttng_ust_tracepoint(every, put, round, "unloaded");
	}
	return 0;
}
"""


@test
def a_library_with_probes_may_be_unloaded():
    cwd = place()
    (cwd / "reloads.c").write_text(RELOADS)
    probes = library(cwd, "every_probes")
    objects(cwd, ours(), "gcc", "gcc", "every_points", "reloads")
    compiler("gcc", "every_points.o", "reloads.o", "-o", "reloads", cwd=cwd)
    trace = record_ok(cwd / "reloads", probes,
                      env={"LD_LIBRARY_PATH": str(LIB)})
    check_equal([(e["key"], e["value"]) for e in trace.events()],
                [(n, "loaded") for n in range(3)], "events")


@test
def arguments_are_evaluated_only_while_somebody_records():
    program = linked(ours())
    check_equal(run(program).stdout, "0 arguments evaluated\n", "alone")
    done = run(SONDE, "record", "-q", "-e", "every:ten", "-o",
               scratch() / "t", "--", program)
    check_equal(done.stdout, "1 arguments evaluated\n", "one event")


FORGETFUL = r"""
#include <lttng/tracepoint.h>
int main(int argc, char **argv)
{
	assert(argc);
	puts(strchr(argv[0], '/'));
	close(-1);
	return dlsym(NULL, "no such") || le32toh(1) != 1 ? EXIT_FAILURE : 0;
}
"""


@test
def programs_may_forget_what_comes_with_lttngs_header():
    need_their_headers()
    install()
    cwd = scratch()
    (cwd / "forgetful.c").write_text(FORGETFUL)
    for flags in THEIRS, ours():
        compiler("gcc", *STRICT, *flags[0], "-c", "forgetful.c", "-o",
                 "forgetful.o", cwd=cwd)


# ---- examples ----

EXAMPLES = pathlib.Path("/usr/share/doc/liblttng-ust-dev/examples")


def example(name, *sources, flags):
    """One of LTTng's own, with a hundred rounds instead of a million."""
    if not EXAMPLES.exists():
        raise Skip("no examples of liblttng-ust-dev here")
    cwd = scratch() / name
    shutil.copytree(EXAMPLES / name, cwd)
    for path in cwd.glob("*.c"):
        path.write_text(path.read_text().replace("1000000", "100")
                        .replace("100000", "100"))
    compiler("gcc", "-O2", "-I.", *flags[0], *sources, *flags[1], "-o",
             "example", cwd=cwd)
    return cwd / "example"


@test
def examples_of_lttng_are_recorded_by_both_alike():
    need_their_headers()
    for name, *sources in (("easy-ust", "sample.c", "tp.c"),
                           ("hello-static-lib", "hello.c", "tp.c")):
        theirs = shown(recorded_by_lttng(example(name, *sources, flags=THEIRS)))
        check(len(theirs) >= 5, f"{name}: {theirs}")
        trace = record_ok(example(name, *sources, flags=ours()))
        check_equal(shown(trace.dir), theirs, name)


PRINTS = r"""
#include <stdarg.h>
#include <string.h>
#include <lttng/tracef.h>
#include <lttng/tracelog.h>

static void many(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	lttng_ust_vtracef(format, ap);
	va_end(ap);
	va_start(ap, format);
	lttng_ust_vtracelog(LTTNG_UST_TRACEPOINT_LOGLEVEL_ERR, format, ap);
	va_end(ap);
}

int main(void)
{
	static char large[3000];

	memset(large, 'x', sizeof(large) - 1);
	lttng_ust_tracef("plain");
	lttng_ust_tracef("%d %s", 7, "words");
	lttng_ust_tracef("%s", large);
	lttng_ust_tracef("%s", "");
	lttng_ust_tracelog(LTTNG_UST_TRACEPOINT_LOGLEVEL_CRIT, "%5.2f", 1.5);
	lttng_ust_tracelog(LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG_LINE, "line");
	many("%s and %c", "some", 'c');
	return 0;
}
"""


def printing(flags, language="c"):
    cwd = scratch()
    (cwd / "prints.c").write_text(PRINTS)
    by = "g++" if language == "c++" else "gcc"
    compiler(by, *STRICT, "-Wno-format-zero-length", *flags[0], "-x", language,
             "prints.c", "-x", "none", *flags[1], "-o", "prints", cwd=cwd)
    return cwd / "prints"


@test
def tracef_and_tracelog_record_what_they_print():
    need_their_headers()
    theirs = shown(recorded_by_lttng(printing(THEIRS)))
    check_equal(len(theirs), 8, "LTTng's events")
    for language in ("c", "c++"):
        trace = record_ok(printing(ours(), language))
        check_equal(shown(trace.dir), theirs, f"ours in {language}")


if __name__ == "__main__":
    install()
    require("babeltrace2")
    main()
