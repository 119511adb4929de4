#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_ctf2.py - metadata of CTF 2: recorded, and made from another trace's.

Debian's babeltrace2 doesn't read CTF 2. So Python's JSON reader is the witness
of the form, and of the meaning babeltrace2's text of the same trace in CTF 1.8.
"""

import json
import re
import shutil

from sonde import (ABOUT_CODE, ABOUT_STACKS, CONTAINED, INTERNAL, SONDE, build, install, record,
                   record_ok, run, scratch)
from harness import check, check_equal, main, test

PROGRAM = r"""
#include <sonde/tracepoint.h>
#include <stdio.h>

enum colour { RED, GREEN };

int main(void)
{
	const char *name = "wörld \"quoted\"\n";
	int list[3] = { 1, -2, 3 };

	for (int i = 0; i < 3; i++)
		sonde_event(demo, first, i, sonde_field(twice, 2.5 * i));
	sonde_event(demo, second, name, sonde_array(list, list, 3));
	return 0;
}
"""

# What the specification says of each type: properties that must be there, and
# those that may.
BITS = "length byte-order", "bit-order alignment attributes"
CLASSES = {
    "fixed-length-unsigned-integer":
        (BITS[0], BITS[1] + " preferred-display-base mappings roles"),
    "fixed-length-signed-integer":
        (BITS[0], BITS[1] + " preferred-display-base mappings"),
    "fixed-length-floating-point-number": BITS,
    "null-terminated-string": ("", "encoding attributes"),
    "static-length-string": ("length", "encoding attributes"),
    "dynamic-length-string": ("length-field-location", "encoding attributes"),
    "static-length-blob": ("length", "media-type roles attributes"),
    "dynamic-length-blob":
        ("length-field-location", "media-type attributes"),
    "structure": ("", "member-classes minimum-alignment attributes"),
    "static-length-array":
        ("element-field-class length", "minimum-alignment attributes"),
    "dynamic-length-array":
        ("element-field-class length-field-location",
         "minimum-alignment attributes"),
    "variant": ("options selector-field-location", "attributes"),
}
FRAGMENTS = {
    "preamble": ("version", "uuid attributes"),
    "trace-class": ("", "namespace name uid environment "
                        "packet-header-field-class attributes"),
    "clock-class": ("id frequency", "namespace name uid origin "
                    "offset-from-origin precision accuracy description "
                    "attributes"),
    "data-stream-class":
        ("", "id namespace name uid default-clock-class-id "
             "packet-context-field-class event-record-header-field-class "
             "event-record-common-context-field-class attributes"),
    "event-record-class":
        ("", "id data-stream-class-id namespace name uid "
             "specific-context-field-class payload-field-class attributes"),
}


def once(pairs):
    """A JSON object, whose names must differ."""
    out = dict(pairs)
    check_equal(len(out), len(pairs), f"names of {pairs}")
    return out


def fragments(trace):
    """The fragments of a trace's metadata, which must be strict JSON."""
    first, *texts = (trace / "metadata").read_bytes().split(b"\x1e")
    check_equal(first, b"", "before the first separator")
    for text in texts:
        check(text.endswith(b"\n"), f"no end of line: {text[-40:]}")
    return [json.loads(text.decode("utf-8"), object_pairs_hook=once)
            for text in texts]


def check_properties(thing, types):
    required, optional = types[thing["type"]]
    names = set(thing) - {"type"}
    check(set(required.split()) <= names, f"missing: {thing}")
    check(names <= set((required + " " + optional).split()),
          f"unknown: {thing}")


def check_class(cls):
    check_properties(cls, CLASSES)
    for member in cls.get("member-classes", []) + cls.get("options", []):
        check_class(member["field-class"])
    if "element-field-class" in cls:
        check_class(cls["element-field-class"])


def check_form(trace):
    found = fragments(trace)
    for fragment in found:
        check_properties(fragment, FRAGMENTS)
        for name, value in fragment.items():
            if name.endswith("-field-class"):
                check_equal(value["type"], "structure", name)
                check_class(value)
    check_equal([f["type"] for f in found[:3]],
                ["preamble", "trace-class", "clock-class"], "order")
    return found


def convert(*words):
    return run(SONDE, "convert", *words)


def convert_ok(trace):
    done = convert(trace)
    check_equal((done.returncode, done.stderr), (0, ""), "sonde convert")
    check_equal(done.stdout, f"{trace}-ctf2\n", "output")
    return type(trace)(done.stdout.strip())


def files(directory):
    return sorted(str(f.relative_to(directory))
                  for f in directory.rglob("*") if f.is_file())


@test
def a_recording_in_ctf_2_has_the_form_that_the_specification_says():
    recording = record(build(PROGRAM), options=["--ctf", "2"])
    check_equal(recording.status, 0, recording.err)
    found = check_form(recording.dir)
    events = {f["name"]: f for f in found if f["type"] == "event-record-class"}
    check_equal(set(events), {*INTERNAL, "demo:first", "demo:second"} -
                {*ABOUT_STACKS, *ABOUT_CODE, CONTAINED}, "events")
    check_equal([m["name"] for m in events["demo:first"]
                 ["payload-field-class"]["member-classes"]], ["i", "twice"],
                "fields")
    clock = found[2]
    check_equal(clock["origin"], "unix-epoch", "origin")
    check(clock["offset-from-origin"]["cycles"] < clock["frequency"], "cycles")
    check(re.search("sonde print ", recording.err), "the hint")


@test
def a_conversion_says_what_recording_in_ctf_2_says():
    program = build(PROGRAM)
    converted = check_form(convert_ok(record_ok(program).dir))
    recorded = check_form(record(program, options=["--ctf", "2"]).dir)
    check_equal(len(converted), len(recorded), "fragments")
    # in any order: the recorder's own classes come when it gets to them
    for a, b in zip(*(sorted(map(json.dumps, fragments[3:]))
                      for fragments in (converted, recorded))):
        check_equal(a, b, "fragment")


def printed(trace):
    done = run(SONDE, "print", "--format", "babeltrace", trace)
    check_equal((done.returncode, done.stderr), (0, ""), "sonde print")
    return done.stdout


@test
def a_conversion_reads_as_babeltrace2_reads_the_original():
    trace = record_ok(build(PROGRAM), "x", options=["--headers", "large"]).dir
    done = run("babeltrace2", trace)
    check_equal(done.returncode, 0, done.stderr)
    check("demo:second" in done.stdout, "no events")
    check_equal(printed(convert_ok(trace)), done.stdout, "text")


@test
def a_recording_in_ctf_2_can_be_printed():
    trace = record(build(PROGRAM), options=["--ctf", "2"]).dir
    lines = [re.sub(r"^.*? (?=demo:)", "", line)
             for line in printed(trace).splitlines() if " demo:" in line]
    check_equal([line.split(":")[1] for line in lines],
                3 * ["first"] + ["second"], "events")
    check("i = 2, twice = 5" in lines[2], lines[2])


@test
def a_conversion_keeps_every_byte_but_the_metadata():
    trace = record_ok(build(PROGRAM)).dir
    copy = convert_ok(trace)
    check_equal(files(copy), files(trace), "files")
    check(any(name.startswith("index/") for name in files(copy)), "no index")
    for name in files(trace):
        same = (copy / name).read_bytes() == (trace / name).read_bytes()
        check_equal(same, name != "metadata", name)


@test
def traces_below_a_directory_are_converted_where_they_are():
    top = scratch() / "session"
    (top / "a/b").mkdir(parents=True)
    shutil.copytree(record_ok(build(PROGRAM)).dir, top / "a/b/trace")
    shutil.copytree(top / "a/b/trace", top / "other")
    (top / "notes").write_text("not a trace\n")
    copy = convert_ok(top)
    check_equal(files(copy),
                [name for name in files(top) if name != "notes"], "files")
    check_form(copy / "a/b/trace")


@test
def a_trace_in_that_version_already_is_copied():
    trace = record_ok(build(PROGRAM)).dir
    for words in (["--ctf=1.8", trace], [f"{trace}/"], [f"{trace}-ctf2"]):
        done = convert(*words)
        check_equal((done.returncode, done.stderr), (0, ""), f"{words}")
    old, new, again = (trace.parent / f"trace-{name}"
                       for name in ("ctf1.8", "ctf2", "ctf2-ctf2"))
    check_equal((old / "metadata").read_bytes(),
                (trace / "metadata").read_bytes(), "1.8")
    check_equal((again / "metadata").read_bytes(),
                (new / "metadata").read_bytes(), "2")


@test
def what_cannot_be_converted_is_told():
    trace = record_ok(build(PROGRAM)).dir
    empty = scratch()
    full = scratch()
    (full / "file").touch()
    broken = scratch()
    (broken / "metadata").write_bytes(b"\x1e{\"type\":\"preamble\"}\n")
    for words, status, told in (
            ([], 2, "which trace"),
            ([trace, "new"], 2, f"try: sonde convert {trace} -o new"),
            (["--ctf", "3", trace], 2, "use 1.8 or 2"),
            (["--frob", trace], 2, "--frob"),
            (["."], 2, "with -o"),
            ([empty], 1, "no trace"),
            ([empty / "none"], 1, "No such file"),
            ([trace, "-o", full], 1, "something in it already"),
            ([trace, "-o", full / "file"], 1, "Not a directory"),
            ([broken, "-o", empty / "new"], 1,
             "metadata: fragment 1: 'version' is missing")):
        done = convert(*words)
        check_equal((done.returncode, done.stdout), (status, ""), f"{words}")
        check(told in done.stderr, f"{words}: {done.stderr}")
    check_equal(files(empty), [], "left behind")
    check(not (empty / "new").exists(), "left behind")


@test
def a_program_that_is_killed_leaves_valid_metadata():
    program = build(r"""
#include <sonde/tracepoint.h>
#include <signal.h>
int main(void)
{
	sonde_event(demo, last);
	return raise(SIGKILL);
}
""")
    recording = record(program, options=["--ctf=2"])
    check_equal(recording.status, 137, recording.err)
    check("demo:last" in [f.get("name") for f in check_form(recording.dir)],
          "no event")


install()
main()
