#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_names.py - which files a recorded program has mapped, and the names of
addresses in them: as addr2line has them, or why there are none."""

import csv
import io
import json
import os
import re
import subprocess

from handmade import Handmade, Layout
from sonde import (SONDE, Trace, build, check, install, record_ok, require,
                   run, scratch, skip_if_sanitized)
from harness import check_equal, main, test

# Says what it has mapped, and on each line of input loads a library.
LOADER = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sonde/tracepoint.h>

static void say(void)
{
	char line[4096];
	FILE *maps = fopen("/proc/self/maps", "r");

	while (fgets(line, sizeof(line), maps))
		fputs(line, stdout);
	fclose(maps);
	puts("end");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char line[4096];

	sonde_event(loader, begin);
	say();
	while (argc > 1 && fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		if (!dlopen(line, RTLD_NOW))
			return 1;
		say();
	}
	return 0;
}
"""

LIBRARY = """
#ifndef LOADED
#define LOADED loaded
#endif
int LOADED(int i);
int LOADED(int i)
{
	for (int k = 0; k < 100; k++)
		i += k * i;
	return i;
}
"""


def build_library(*flags):
    out = scratch() / "libloaded.so"
    (out.parent / "loaded.c").write_text(LIBRARY)
    done = run("gcc", "-g", "-O2", "-shared", "-fPIC", *flags, "-o", out,
               out.parent / "loaded.c")
    check_equal(done.returncode, 0, done.stderr)
    return str(out)


def code_of(lines):
    """Of lines of /proc/PID/maps: the files' executable mappings."""
    found = set()
    for line in lines:
        m = re.match(r"(\w+)-(\w+) ..x. (\w+) \S+ \d+ +(/.*)", line)
        if m:
            found.add((int(m[1], 16), int(m[2], 16), int(m[3], 16), m[4]))
    return found


def mappings(trace):
    """The executable mappings of each image, in the order of looks."""
    images = {}
    image = None
    for event in trace.events(contexts=True):
        if event.name == "sonde:mappings":
            image = images.setdefault(event["image"], {})
        elif event.name == "sonde:mapping" and event["flags"] & 4:
            image[event["begin"], event["end"], event["offset"],
                  event["path"]] = event["build_id"]
    return images


def mappings_so_far(directory):
    """Those of all images, of a trace that is being made: what there is of it
    may have begun since its metadata was read, and babeltrace2 refuses that."""
    try:
        images = mappings(Trace(directory)).values()
    except AssertionError:
        images = ()
    return {mapping for image in images for mapping in image}


def build_id_of(path):
    return re.search(r"Build ID: (\w+)", run("readelf", "-n", path).stdout)[1]


@test
def what_a_program_has_mapped_is_recorded_with_build_ids():
    require("babeltrace2")
    program = build(LOADER)
    recording = record_ok(program)
    done = run(program).stdout
    check("end" in done, done)
    (image,) = mappings(recording).values()
    paths = {path for _, _, _, path in image}
    check_equal({path for _, _, _, path in code_of(done.splitlines())} - paths,
                set(), "files that are missing")
    for (_, _, _, path), build_id in image.items():
        check_equal(build_id, build_id_of(path), path)


def talk(program, line=None):
    if line:
        program.stdin.write(line + "\n")
        program.stdin.flush()
    lines = []
    while not lines or lines[-1] != "end\n":
        lines.append(program.stdout.readline())
        check(lines[-1], "the program ended")
    return code_of(lines)


@test
def a_library_is_recorded_when_it_is_loaded_while_the_program_runs():
    require("babeltrace2")
    trace = scratch() / "trace"
    library = build_library()
    with subprocess.Popen([SONDE, "record", "-o", trace, "--", build(LOADER),
                           "and wait"], stdin=subprocess.PIPE, text=True,
                          stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as program:
        before = talk(program)
        after = talk(program, library)
        check_equal({p for _, _, _, p in after - before}, {library}, "loaded")
        found = set()
        while not after <= found:  # the trace is one at any time
            found = mappings_so_far(trace)
        program.communicate()
    check_equal(found, after, "mappings")
    looks = [e for e in Trace(trace).events(contexts=True)
             if e.name == "sonde:mappings"]
    check_equal([bool(e["age"]) for e in looks], [False, True], "ages")


@test
def a_program_that_is_executed_by_another_is_another_image():
    require("babeltrace2")
    second = build(LOADER)
    first = build(r"""
#include <unistd.h>
#include <sonde/tracepoint.h>

int main(int argc, char **argv)
{
	sonde_event(first, before);
	execv(argv[1], argv + 1);
	return argc;
}
""")
    images = mappings(record_ok(first, second))
    check_equal(len(images), 2, "images")
    one, other = ({path for _, _, _, path in i} for i in images.values())
    check(first in one and second not in one, one)
    check(second in other and first not in other, other)


# ---- names ----

# Each allocation has a size of its own. Lines are known by their comments.
SITES = r"""
#include <cstdlib>
#include <cstring>
#include <unistd.h>

void *volatile kept[100];
int nr;

namespace app {
struct Shelf {
	void put(size_t size);
};

__attribute__((noinline)) void Shelf::put(size_t size)
{
	kept[nr++] = malloc(size); /* PUT */
}

static inline __attribute__((always_inline)) void *inlined(size_t size)
{
	return calloc(1, size); /* INLINED */
}

__attribute__((noinline)) void outer()
{
	kept[nr++] = inlined(2002); /* OUTER */
	nr += kept[0] == kept[1];
}
}

template <class T> __attribute__((noinline)) void templated(T value)
{
	kept[nr++] = realloc(nullptr, 3000 + value); /* TEMPLATED */
	nr += kept[0] == kept[1];
}

int main(int argc, char **argv)
{
	app::Shelf shelf;

	shelf.put(1001);
	app::outer();
	templated<short>(3);
	if (argc > 1 && !fork()) {
		execv(argv[1], argv + 1);
		_exit(1);
	}
	return 0;
}
"""
EXPECTED = {1001: ("app::Shelf::put(unsigned long)", "PUT"),
            2002: ("inlined", "INLINED"),
            3003: ("void templated<short>(short)", "TEMPLATED")}


def line_of(text, comment):
    (found,) = [i for i, line in enumerate(text.splitlines(), 1)
                if f"/* {comment} */" in line]
    return found


def report(trace, *options):
    done = run(SONDE, "report", "malloc", "--json", "--limit", 100, *options,
               trace.dir)
    check_equal(done.returncode, 0, done.stderr)
    return json.loads(done.stdout)


def codes(trace, *options):
    """The code of the sites that allocated once, by the size."""
    return {site["allocated_bytes"]: site.get("code")
            for site in report(trace, *options)["sites"]
            if site["allocations"] == 1 and site["allocated_bytes"] in EXPECTED}


def expect_all(trace):
    check_equal(codes(trace),
                {size: f"{name} at program.cc:{line_of(SITES, comment)}"
                 for size, (name, comment) in EXPECTED.items()}, "names")


def build_sites(*flags):
    return build(SITES, "-xc++", *flags)


def record_sites(*command):
    return record_ok(*command, options=["--malloc"])


@test
def allocations_are_named_in_programs_at_any_address_and_at_a_fixed_one():
    for flags in (["-pie", "-fPIE"], ["-no-pie", "-fno-pie"],
                  ["-gdwarf-4"], ["-g1"], ["-gz"]):
        trace = record_sites(build_sites(*flags))
        if flags != ["-g1"]:
            expect_all(trace)
        else:  # less is known of types
            check(all(f"program.cc:{line_of(SITES, EXPECTED[size][1])}" in code
                      for size, code in codes(trace).items()), codes(trace))


@test
def names_are_those_of_addr2line():
    require("addr2line")
    require("babeltrace2")
    program = build_sites()
    trace = record_sites(program)
    sites = [s for s in report(trace)["sites"]
             if s["allocated_bytes"] in EXPECTED]
    check_equal(len(sites), 3, "sites")
    (image,) = mappings(trace).values()
    for site in sites:
        at = int(site["caller"], 16) - 1
        (base,) = [begin - offset for begin, end, offset, path in image
                   if begin <= at < end and path == program]
        theirs = run("addr2line", "-Cfie", program,
                     hex(at - base)).stdout.split("\n")
        name, line = theirs[0], os.path.basename(theirs[1]).split(" ")[0]
        if site["allocated_bytes"] == 2002:
            # It has no other name than this, says the DWARF: then addr2line
            # gives the name of the function that it is inlined in.
            name = EXPECTED[2002][0]
        check_equal(site["code"], f"{name} at {line}", "name")


@test
def without_lines_the_symbol_and_the_distance_are_told():
    program = build_sites("-g0")
    found = codes(record_sites(program))
    for size in (1001, 3003):
        name = re.escape(EXPECTED[size][0])
        check(re.fullmatch(rf"{name}\+0x[0-9a-f]+ in program", found[size]),
              found)
    # nothing says that it was inlined
    check(found[2002].startswith("app::outer()+0x"), found)


@test
def what_has_no_name_says_why():
    program = build_sites("-g0", "-s")
    trace = record_sites(program)
    for code in codes(trace).values():
        check(re.fullmatch(r"program\+0x[0-9a-f]+ \(stripped\)", code), code)
    os.rename(program, program + ".gone")
    for code in codes(trace).values():
        check(code.endswith(" (no such file)"), code)


@test
def a_program_that_was_built_anew_names_nothing():
    program = build_sites()
    trace = record_sites(program)
    expect_all(trace)
    other = build_sites("-O1")
    os.rename(other, program)
    for code in codes(trace).values():
        check(code.endswith(" (its build-id differs)"), code)


@test
def separate_debugging_information_is_found_beside_the_program():
    require("objcopy")
    program = build_sites()
    for command in (["--only-keep-debug", program, program + ".debug"],
                    ["--strip-all", program],
                    ["--add-gnu-debuglink=" + program + ".debug", program]):
        check_equal(run("objcopy", *command).returncode, 0, command)
    expect_all(record_sites(program))


@test
def a_library_that_is_loaded_later_has_names():
    skip_if_sanitized("the preloaded library is not for sanitized programs")
    source = "#include <stdlib.h>\nvoid loaded(void **to);\n" \
             "void loaded(void **to) { *to = malloc(1001); }\n"
    out = scratch() / "libloaded.so"
    (out.parent / "loaded.c").write_text(source)
    run("gcc", "-g", "-O2", "-shared", "-fPIC", "-o", out,
        out.parent / "loaded.c")
    program = build(r"""
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *library = dlopen(argv[1], RTLD_NOW);

	if (!library)
		return 1;
	((void (*)(void **))dlsym(library, "loaded"))(&library);
	/* Until the recorder has seen it. */
	return getchar() != EOF;
}
""")
    require("babeltrace2")
    directory = scratch() / "trace"
    with subprocess.Popen([SONDE, "record", "--malloc", "-o", directory, "--",
                           program, out], stdin=subprocess.PIPE, text=True,
                          stderr=subprocess.PIPE) as recording:
        while str(out) not in {m[3] for m in mappings_so_far(directory)}:
            pass
        recording.communicate()
    check_equal(codes(Trace(directory)), {1001: "loaded at loaded.c:3"}, "code")


@test
def a_program_that_another_executes_has_its_own_names():
    first = build_sites("-no-pie", "-fno-pie")
    second = build(SITES.replace("Shelf", "Other"), "-xc++", "-no-pie",
                   "-fno-pie")
    found = [site["code"] for site in report(record_sites(first, second))
             ["sites"] if site["allocated_bytes"] == 1001]
    line = line_of(SITES, "PUT")
    check_equal(sorted(found),
                [f"app::{name}::put(unsigned long) at program.cc:{line}"
                 for name in ("Other", "Shelf")], "names")


def made(path_of, step=1):
    """Two looks, and an allocation at each of some times and addresses, `step`
    bytes further for each 50 ns. Where the first look saw one library the second
    saw another, and one more."""
    layout = Layout(events={
        "sonde:mappings": [("image", 32, 8), ("pid", 32, 8), ("age", 64, 8),
                           ("omitted", 64, 8)],
        "sonde:mapping": [("pid", 32, 8), ("begin", 64, 8), ("end", 64, 8),
                          ("offset", 64, 8), ("flags", 32, 8),
                          ("path", "string", 8), ("build_id", "string", 8)],
        "malloc:malloc": [("size", 64, 8), ("ptr", 64, 8),
                          ("caller", 64, 8)]})
    trace = Handmade(layout, env=[("tracer2_name", "sonde")])
    with trace.stream("mappings", cpu=0) as stream, \
            stream.packet(begin=100, end=600):
        for time, age, paths in ((100, 0, ["one"]),
                                 (500, 300, ["other", "more"])):
            stream.event("sonde:mappings", time, image=0, pid=1, age=age,
                         omitted=0)
            for i, path in enumerate(paths):
                stream.event("sonde:mapping", time, pid=1,
                             begin=0x11000 + 0x100000 * i,
                             end=0x12000 + 0x100000 * i, offset=0x1000,
                             flags=5,
                             path=path_of[path],
                             build_id=build_id_of(path_of[path]))
    with trace.stream("cpu0", cpu=0) as stream, \
            stream.packet(begin=50, end=900):
        for time, base in ((60, 0x10000), (150, 0x10000), (170, 0x110000),
                           (300, 0x10000), (310, 0x110000), (600, 0x10000)):
            at = address_of(path_of["one"], "one") + 1 + time // 50 * step
            stream.event("malloc:malloc", time, size=time, ptr=time,
                         caller=base + at)
    return trace


def address_of(path, name):
    return int(re.search(rf"(\w+) T {name}", run("nm", path).stdout)[1], 16)


@test
def a_name_is_that_of_the_time_or_none():
    libraries = {name: build_library(f"-DLOADED={name}")
                 for name in ("one", "other", "more")}
    found = {s["allocated_bytes"]: s["code"]
             for s in report(made(libraries))["sites"]}
    for time, expected in ((60, "one"), (150, "one"), (600, "other"),
                           (310, "more")):
        check(found[time].startswith(f"{expected} at loaded.c:"),
              f"{time}: {found}")
    changed = "unknown (another file was mapped there meanwhile)"
    check_equal(found[300], changed, "between the looks")
    check_equal(found[170], "unknown (in no file that was mapped)", "before")


@test
def a_process_has_names_of_the_program_that_it_was():
    """In a kernel's trace: by an exec that it tells of, a dump after that, and a
    look at another program of the same process."""
    paths = {name: build_library(f"-DLOADED={name}")
             for name in ("one", "other")}
    mapping = [("pid", 32, 8), ("begin", 64, 8), ("end", 64, 8),
               ("offset", 64, 8), ("flags", 32, 8), ("path", "string", 8),
               ("build_id", "string", 8)]
    trace = Handmade(Layout(own_context=[("pid", 32, 8)], events={
        "sonde:stack": [("number", 32, 8)],
        "sonde:began": [("pid", 32, 8), ("parent", 32, 8)],
        "sonde:looked": [("pid", 32, 8), ("nr", 32, 8), ("age", 64, 8)],
        "sonde:mapping": mapping, "sonde_statedump_mapping": mapping,
        "malloc:malloc": [("size", 64, 8), ("ptr", 64, 8),
                          ("caller", 64, 8)]}),
        env=[("domain", "kernel"), ("tracer2_name", "sonde")])

    def mapped(stream, name, time, path):
        stream.event(name, time, None, {"pid": 0}, pid=7, begin=0x11000,
                     end=0x12000, offset=0x1000, flags=5, path=path,
                     build_id=build_id_of(path))

    with trace.stream("told", cpu=0) as stream, \
            stream.packet(begin=100, end=900):
        stream.event("sonde:began", 200, None, {"pid": 0}, pid=7, parent=0)
        mapped(stream, "sonde_statedump_mapping", 300, paths["one"])
        for time, nr in (500, 1), (700, 0):
            stream.event("sonde:looked", time, None, {"pid": 0}, pid=7, nr=nr,
                         age=100)
            if nr:
                mapped(stream, "sonde:mapping", time, paths["other"])
    with trace.stream("cpu0", cpu=0) as stream, \
            stream.packet(begin=50, end=950):
        for time in (150, 250, 350, 450, 550, 650, 750):
            at = address_of(paths["one"], "one") + 1 + time // 50
            stream.event("malloc:malloc", time, None, {"pid": 7}, size=time,
                         ptr=time, caller=0x10000 + at)
    found = {s["allocated_bytes"]: s["code"] for s in report(trace)["sites"]}
    nowhere = "unknown (in no file that was mapped)"
    ended = "unknown (the process ended before its mappings were read)"
    for time, expected in ((150, nowhere), (250, "one at"), (350, "one at"),
                           (450, "other at"), (550, "other at"), (650, ended),
                           (750, ended)):
        check(found[time].startswith(expected), f"{time}: {found}")


@test
def print_has_a_name_in_place_of_each_address_by_its_time():
    libraries = {name: build_library(f"-DLOADED={name}")
                 for name in ("one", "other", "more")}
    trace = made(libraries, step=0)  # the same addresses again and again
    callers = [line.rpartition("caller = ")[2]
               for line in run(SONDE, "print", trace.dir).stdout.splitlines()]
    named = [re.match(r"(\w+) at loaded\.c:\d+$", caller) for caller in callers]
    check_equal([m and m[1] for m in named],
                ["one", "one", None, None, "more", "other"], callers)
    for i in 2, 3:
        check(callers[i].isdecimal(), callers)
    plain = run(SONDE, "print", "--no-names", trace.dir).stdout
    check_equal([line.rpartition("caller = ")[2].isdecimal()
                 for line in plain.splitlines()], [True] * 6, plain)


@test
def call_sites_are_added_up_by_function_line_and_module():
    program = build(r"""
#include <stdlib.h>

void *volatile kept[10];

__attribute__((noinline)) static void twice(size_t size)
{
	kept[0] = malloc(size); /* FIRST */
	kept[1] = malloc(size); /* SECOND */
}

int main(void)
{
	kept[2] = malloc(50);
	twice(1000);
	twice(1000);
	return kept[0] == kept[1];
}
""")
    trace = record_sites(program)

    def groups(by):
        return {g[by]: (g["allocations"], g["allocated_bytes"])
                for g in report(trace, "--by", by)["groups"]}

    by_function = groups("function")
    check_equal((by_function["twice"], by_function["main"]),
                ((4, 4000), (1, 50)), "functions")
    lines = sorted(v for k, v in groups("line").items() if "program.c:" in k)
    check_equal(lines, [(1, 50), (2, 2000), (2, 2000)], "lines")
    check_equal(groups("module")[program], (5, 4050), "modules")
    for options, why in ((["--by", "colour"], "function, line, module or stack"),
                         (["--by", "line", "--no-names"], "--no-names")):
        done = run(SONDE, "report", "malloc", *options, trace.dir)
        check_equal(done.returncode, 2, options)
        check(why in done.stderr, done.stderr)


@test
def print_names_the_callers_of_events():
    trace = record_sites(build_sites())
    sites = {s["caller"]: s["code"] for s in report(trace)["sites"]}
    for threads in (1, 2):
        done = run(SONDE, "print", "--json", "--threads", threads, "--fields",
                   "caller,caller-name,event", trace.dir)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        named = {hex(line["caller"]): line["caller_name"] for line in lines
                 if line["event"] in ("malloc:malloc", "malloc:calloc",
                                      "malloc:realloc")}
        check_equal(named, sites, f"{threads} threads")
    text = run(SONDE, "print", "--fields", "event,caller-name", trace.dir)
    line = line_of(SITES, "PUT")
    check(f"app::Shelf::put(unsigned long) at program.cc:{line}" in
          text.stdout, text.stdout)


def site_names(trace):
    return {s["caller"]: s["code"] for s in report(trace)["sites"]}


def named_by(lines):
    """Of objects with the fields of events: addresses and names."""
    return {hex(fields["caller"]): fields.get("caller_name")
            for name, fields in lines
            if name in ("malloc:malloc", "malloc:calloc", "malloc:realloc")}


def exported(trace, *options):
    done = run(SONDE, "export", "--to", *options, trace.dir)
    check_equal((done.returncode, done.stderr), (0, ""), options)
    return done.stdout


@test
def exports_name_the_callers_of_events():
    trace = record_sites(build_sites())
    sites = site_names(trace)
    lines = [json.loads(line) for line in
             exported(trace, "jsonl").splitlines()]
    check_equal(named_by((e["event"], e["payload"]) for e in lines), sites,
                "jsonl")
    events = json.loads(exported(trace, "chrome"))["traceEvents"]
    check_equal(named_by((e["name"], e["args"]) for e in events
                         if e["ph"] == "i"), sites, "chrome")
    for fields in ([], ["--fields", "caller,caller_name"]):
        rows = csv.DictReader(io.StringIO(exported(trace, "csv", *fields)))
        check_equal({row["caller"]: row["caller_name"] for row in rows
                     if row["event"] in ("malloc:malloc", "malloc:calloc",
                                         "malloc:realloc")}, sites,
                    f"csv {fields}")
    perfetto = subprocess.run([SONDE, "export", "--to", "perfetto", trace.dir],
                              stdout=subprocess.PIPE, check=True).stdout
    for name in sites.values():
        check(name.encode() in perfetto, f"perfetto: {name}")
    for to in "jsonl", "chrome", "csv":
        check("caller_name" not in exported(trace, to, "--no-names"),
              f"{to} --no-names")


@test
def live_names_callers_and_stacks():
    program = build_sites()
    done = run(SONDE, "live", "--json", "--malloc", "--stack=8",
               "-e", "malloc:*", "--", program)
    check_equal(done.returncode, 0, done.stderr)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    lines = [line for line in lines if "event" in line]
    trace = record_sites(program)
    names = set(named_by((e["event"], e["payload"]) for e in lines).values())
    check_equal(names, set(site_names(trace).values()), "callers")
    line = line_of(SITES, "PUT")
    put = f"app::Shelf::put(unsigned long) at program.cc:{line}"
    stacks = [e["stack"] for e in lines
              if e["payload"].get("caller_name") == put]
    check(stacks, "no event is from there")
    for stack in stacks:  # deeper ones take tables, for which nobody waits
        check(stack[0].startswith("malloc at malloc.c:"), stack)
    text = run(SONDE, "live", "--malloc", "--fields", "event,caller-name",
               "--", program)
    check(put in text.stdout, text.stdout)
    plain = run(SONDE, "live", "--json", "--no-names", "--malloc", "--",
                program)
    check("caller_name" not in plain.stdout, plain.stdout)


@test
def top_names_who_allocates_and_which_lock_is_held():
    told = run(SONDE, "top", "--once", "--json", "--interval", "60s", "--locks",
               "--malloc", "--", build(LOCKS), input="\n")
    tables = json.loads(told.stdout)
    check("cache+0x20" in [lock.get("variable") for lock in tables["locks"]],
          tables["locks"])
    waits = [(w["variable"], w["code"].split()[0], w["holder_code"].split()[0])
             for w in tables["waits"]]
    check(("cache+0x20", "waiter", "flusher") in waits, waits)
    told = run(SONDE, "top", "--once", "--json", "--interval", "60s",
               "--malloc", "--", build_sites())
    put = f"app::Shelf::put(unsigned long) at program.cc:{line_of(SITES, 'PUT')}"
    codes = [site["code"] for site in json.loads(told.stdout)["memory"]]
    check(put in codes, codes)
    told = run(SONDE, "top", "--once", "--json", "--interval", "60s",
               "--malloc", "--no-names", "--", build_sites())
    check_equal({site.get("code") for site in json.loads(told.stdout)["memory"]},
                {None}, "--no-names")


# The flusher holds the lock until the waiter has found it held.
LOCKS = r"""
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static struct {
	long before[4];
	pthread_mutex_t mutex;
} cache = { .mutex = PTHREAD_MUTEX_INITIALIZER };
static pthread_mutex_t on_bss;
static int asking[2];

__attribute__((noinline)) static void *waiter(void *unused)
{
	if (pthread_mutex_trylock(&cache.mutex))
		(void)!write(asking[1], "x", 1);
	pthread_mutex_lock(&cache.mutex); /* WAITED */
	pthread_mutex_unlock(&cache.mutex);
	return unused;
}

__attribute__((noinline)) static void flusher(void)
{
	pthread_t thread;
	char c;

	pthread_mutex_lock(&cache.mutex); /* HELD */
	pthread_create(&thread, NULL, waiter, NULL);
	(void)!read(asking[0], &c, 1);
	/* It sleeps in the lock: nothing else tells that it is there. */
	while (__atomic_load_n((int *)&cache.mutex, __ATOMIC_SEQ_CST) != 2)
		;
	pthread_mutex_unlock(&cache.mutex);
	pthread_join(thread, NULL);
}

int main(void)
{
	pthread_mutex_init(&on_bss, NULL);
	pthread_mutex_lock(&on_bss);
	if (pipe(asking))
		return 1;
	flusher();
	pthread_mutex_unlock(&on_bss);
	return 0;
}
"""


def locks_report(trace, *options):
    done = run(SONDE, "report", "locks", "--json", *options, trace.dir)
    check_equal(done.returncode, 0, done.stderr)
    return json.loads(done.stdout)


@test
def locks_are_told_as_variables_and_waits_by_their_code():
    trace = record_ok(build(LOCKS, "-pthread"), options=["--locks"])
    got = locks_report(trace)
    waited = f"waiter at program.c:{line_of(LOCKS, 'WAITED')}"
    held = f"flusher at program.c:{line_of(LOCKS, 'HELD')}"
    (worst,) = got["worst"]
    check_equal((worst["variable"], worst["code"], worst["holder_code"]),
                ("cache+0x20", waited, held), "the wait")
    sites = {s["code"]: s for s in got["sites"]}
    check_equal({code: (s["waited"], s["blocked"])
                 for code, s in sites.items()},
                {waited: (1, 0), held: (0, 1)}, "sites")
    check_equal(sites[waited]["wait_ns"], sites[held]["blocked_wait_ns"],
                "one wait, told from both ends")
    names = {row.get("variable") for row in got["locks"]}
    check({"cache+0x20", "on_bss"} <= names, names)
    check(any("mutex `cache+0x20` (0x" in note for note in got["notes"]),
          got["notes"])


@test
def names_are_left_out_if_nobody_wants_them():
    trace = record_sites(build_sites())
    check_equal(set(codes(trace, "--no-names").values()), {None}, "names")
    trace = record_ok(build(LOCKS, "-pthread"), options=["--locks"])
    got = locks_report(trace, "--no-names")
    check_equal([(row.get("variable"), row.get("code"))
                 for row in got["worst"] + got["sites"]],
                [(None, None)] * 3, "names of locks")


install()
main()
