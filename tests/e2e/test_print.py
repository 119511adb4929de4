#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_print.py - `sonde print`: the same text as babeltrace2's, JSON with all
fields typed, columns, differences, the last events and the newest first.

babeltrace2 2.0.4 prints an empty string as the one before it in that field, so
the programs and traces here have none after one that is not empty; everything
else is compared byte for byte.
"""

import datetime
import itertools
import json
import os
import pathlib
import re
import select
import shutil
import signal
import struct
import subprocess
import tarfile

from sonde import (as_babeltrace2_1, build, check, install, record_ok, require,
                   run, scratch, skip_if_sanitized, INTERNAL, SONDE, Trace)
from handmade import Handmade, Layout
from harness import Skip, check_equal, main, test

HERE = pathlib.Path(__file__).resolve().parent
# A zone with odd minutes shows who computes local time.
ZONE = {**os.environ, "TZ": "XXX-01:30"}


def sonde_print(trace, *options, env=ZONE, status=0):
    """What it writes on standard output, as bytes."""
    done = subprocess.run([SONDE, "print", *map(str, options), str(trace)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=env, timeout=240)
    check_equal(done.returncode, status, f"status; {done.stderr[-500:]}")
    return done.stdout


def lines(trace, *options, **more):
    return sonde_print(trace, *options, **more).decode().splitlines()


def objects(trace, *options):
    return [json.loads(line) for line in lines(trace, "--json", *options)]


def babeltrace2(trace):
    require("babeltrace2")
    done = subprocess.run(["babeltrace2", str(trace)], env=ZONE, timeout=240,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check_equal(done.returncode, 0, f"babeltrace2: {done.stderr[-500:]}")
    return done.stdout


def by_time(text):
    """Lines, those of one time in the order of their text: two CPUs' events of
    one nanosecond have no order, and babeltrace2's is not ours."""
    lines = [re.fullmatch(rb"(\[[^]]*\]) (\(\S+\)) (.*)", line) or line
             for line in text.splitlines()]
    for time, same in itertools.groupby(
            lines, lambda m: isinstance(m, re.Match) and m[1]):
        same = list(same)
        if not time:
            yield from same
            continue
        for step, rest in zip([m[2] for m in same],
                              sorted(m[3] for m in same)):
            yield b" ".join((time, step, rest))


def check_like_babeltrace2(trace, least):
    expected = as_babeltrace2_1(babeltrace2(trace).decode(
        errors="surrogateescape")).encode(errors="surrogateescape")
    check(expected.count(b"\n") >= least, "babeltrace2 shows too few events")
    for threads in 1, 3:
        got = sonde_print(trace, "--format", "babeltrace",
                          "--threads", threads)
        if got == expected:
            continue
        for ours, theirs in zip(by_time(got), by_time(expected)):
            check_equal(ours, theirs, f"line, {threads} threads")
        check_equal(got.count(b"\n"), expected.count(b"\n"), "lines")


# ---- a program with a field of each kind ----

KINDS = r"""
#include <sonde/tracepoint.h>
#include <stdint.h>

struct packet { uint8_t mac[6]; };
enum color { RED, GREEN = 5 };

int main(void)
{
	static const short shorts[] = { -1, 0, 300 };
	static const struct packet packet = { { 1, 2, 0xff, 0, 5, 6 } };
	static const char *const strings[] = {
		"plain", "wörld \"quoted\"\n\t\\", "what? 'it' is\x1b[1m\x01\x7f",
		"bytes \xff\xfe", "percent %s",
	};
	static const double doubles[] = {
		0.1, -1e300, 1e-5, 123456789.0, 0.0, 1.0 / 0.0, 2.0 / 3,
	};

	for (int i = 0; i < 5; i++)
		sonde_event(kind, text, sonde_string(s, strings[i]), i);
	for (int i = 0; i < 7; i++)
		sonde_event(kind, real, sonde_field(d, doubles[i]),
			    sonde_field(f, (float)doubles[i]));
	for (int64_t i = -3; i < 4; i++) {
		int8_t tiny = (int8_t)i;
		uint64_t huge = (uint64_t)i << 62;

		sonde_event(kind, integer, tiny, huge,
			    sonde_field(negative, -i * ((int64_t)1 << 40)),
			    sonde_hex(hex, huge), sonde_hex(byte, tiny),
			    sonde_network(net, (uint32_t)i),
			    sonde_bits(low, (uint32_t)i, 3),
			    sonde_signed_bits(sign, i, 12));
		sonde_event(kind, group,
			    sonde_enum(e, (int)i, sonde_label("zero", 0),
				       sonde_range("less", -100, -2),
				       sonde_range("odd \"name\"", 1, 1)),
			    sonde_array(mac, packet.mac, 3),
			    sonde_sequence(s, shorts, i < 0 ? 0 : i),
			    sonde_struct(p, i, sonde_struct(q, tiny)),
			    sonde_blob(b, &packet, 2));
		sonde_event(kind, choice,
			    sonde_variant(v, i, i, sonde_string(word, "w"),
					  sonde_struct(p, i, tiny)));
	}
	sonde_event(kind, nothing);
	return 0;
}
"""

_kinds = []


def kinds():
    """A recording of that program, the same for all tests."""
    if not _kinds:
        _kinds.append(record_ok(build(KINDS)).dir)
    return _kinds[0]


@test
def a_minus_for_the_output_is_standard_output():
    trace = kinds()
    here = scratch()
    for words in (["print"], ["export", "--to", "csv"]):
        done = subprocess.run([SONDE, *words, "-o", "-", str(trace)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              cwd=here, timeout=60)
        check_equal(done.returncode, 0, done.stderr)
        plain = subprocess.run([SONDE, *words, str(trace)],
                               stdout=subprocess.PIPE, timeout=60)
        check(done.stdout and done.stdout == plain.stdout, words)
        check(not (here / "-").exists(), "no file is called so")


@test
def a_sonde_trace_looks_as_in_babeltrace2():
    check_like_babeltrace2(kinds(), 5 + 7 + 3 * 7 + 1)


@test
def a_kernel_trace_looks_as_in_babeltrace2():
    directory = scratch()
    with tarfile.open(HERE / "traces/picotrace.tar.xz") as archive:
        archive.extractall(directory)
    check_like_babeltrace2(directory, 20)


@test
def an_allocation_trace_of_many_slices_looks_as_in_babeltrace2():
    skip_if_sanitized("the preloaded library is not for sanitized programs")
    trace = record_ok("sh", "-c", "for i in 1 2 3 4 5 6 7 8; do ls -lR /usr/"
                      "include; done | sort", options=["--malloc"]).dir
    check_like_babeltrace2(trace, 100000)


# ---- LTTng ----

LTTNG_HEADER = r"""
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER kind
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng_kind.h"
#if !defined(LTTNG_KIND_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define LTTNG_KIND_H
#include <lttng/tracepoint.h>
LTTNG_UST_TRACEPOINT_ENUM(kind, color, LTTNG_UST_TP_ENUM_VALUES(
	lttng_ust_field_enum_value("red", 0)
	lttng_ust_field_enum_range("many", 2, 5)
	lttng_ust_field_enum_value("crimson", 2)))
LTTNG_UST_TRACEPOINT_EVENT(kind, all,
	LTTNG_UST_TP_ARGS(int, n, const char *, s, const short *, list),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int, n, n)
		lttng_ust_field_integer_hex(short, hex, -n)
		lttng_ust_field_integer_network(int, net, n)
		lttng_ust_field_float(double, d, n / 3.0)
		lttng_ust_field_float(float, f, n / 3.0f)
		lttng_ust_field_string(s, s)
		lttng_ust_field_array(short, list, list, 3)
		lttng_ust_field_array_text(char, text, s, 4)
		lttng_ust_field_sequence(short, some, list, size_t, n % 4)
		lttng_ust_field_sequence_text(char, part, s, size_t, n % 3 + 1)
		lttng_ust_field_enum(kind, color, int, e, n % 7)))
LTTNG_UST_TRACEPOINT_EVENT(kind, nothing, LTTNG_UST_TP_ARGS(),
	LTTNG_UST_TP_FIELDS())
#endif
#include <lttng/tracepoint-event.h>
"""

LTTNG_PROGRAM = r"""
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_kind.h"
int main(void)
{
	static const short list[] = { -1, 0, 300 };
	static const char *const strings[] = { "plain", "a \"b\"\n?", "%d\\" };

	for (int n = 0; n < 300; n++) {
		lttng_ust_tracepoint(kind, all, n, strings[n % 3], list);
		lttng_ust_tracepoint(kind, nothing);
	}
	return 0;
}
"""


def build_lttng():
    directory = scratch()
    (directory / "lttng_kind.h").write_text(LTTNG_HEADER)
    (directory / "program.c").write_text(LTTNG_PROGRAM)
    done = run("gcc", "-I", directory, "-o", directory / "program",
               directory / "program.c", "-llttng-ust", "-ldl")
    if done.returncode != 0:
        raise Skip("no lttng-ust to build with")
    return directory / "program"


def lttng(*words):
    done = run("lttng", *words)
    if done.returncode != 0:
        raise Skip(f"lttng {words[0]}: {done.stderr.strip()}")


@test
def an_lttng_trace_looks_as_in_babeltrace2():
    require("lttng")
    require("lttng-sessiond")
    program = build_lttng()
    if run("pgrep", "-x", "lttng-sessiond").returncode != 0:
        # not run(): the daemon would keep its pipes open
        subprocess.run(["lttng-sessiond", "--daemonize"], timeout=240,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    trace = scratch() / "trace"
    session = f"sonde-test-{os.getpid()}"
    lttng("create", session, "--output", trace)
    try:
        lttng("enable-event", "-u", "kind:*")
        lttng("add-context", "-u", "-t", "vpid", "-t", "vtid", "-t",
              "procname")
        lttng("start")
        check_equal(run(program).returncode, 0, "the program")
    finally:
        run("lttng", "destroy", session)
    check_like_babeltrace2(trace, 600)
    first = objects(trace, "--limit", 1)[0]
    check_equal(first["context"]["procname"], "program", "procname")
    check_equal(first["tid"], first["context"]["vtid"], "tid")


# ---- a trace by hand, with what recorders don't write ----

HAND = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 8; align = 8; signed = true; base = 16; } := hex_t;
typealias integer { size = 8; align = 8; base = 8; } := octal_t;
typealias integer { size = 8; align = 8; signed = true; base = 8; } := soct_t;
typealias integer { size = 5; align = 8; base = 2; } := binary_t;
typealias integer { size = 32; align = 8; } := uint32_t;
typealias integer { size = 64; align = 8; } := uint64_t;
trace {
	major = 1; minor = 8; byte_order = le;
	packet.header := struct { uint32_t magic; uint32_t stream_id; };
};
env { hostname = "host"; procname = "proc"; vpid = 123; };
clock { name = odd; freq = 3000000007; offset_s = 1500000000;
	offset = 9000000123; };
typealias integer { size = 64; align = 8; map = clock.odd.value; } := time_t;
stream {
	id = 0;
	packet.context := struct {
		time_t timestamp_begin; time_t timestamp_end;
		uint32_t content_size; uint32_t packet_size;
		uint8_t cpu_id;
	};
	event.header := struct { uint8_t id; time_t timestamp; };
	event.context := struct { uint8_t common; };
};
event {
	id = 1; stream_id = 0; name = "odd:types"; loglevel = 3;
	context := struct { uint8_t own; };
	fields := struct {
		hex_t _hex; octal_t _octal; soct_t _signed_octal;
		binary_t _binary; time_t _when;
		enum : uint8_t { ONE = 1, "some more" = 1 ... 3 } _label;
		struct { } _empty;
		struct { struct { uint8_t _x; } _inner; uint8_t _y; } _outer;
		uint8_t _square[2][2];
		enum : uint8_t { a = 0, b = 1 } _tag;
		variant <_tag> { uint8_t a; struct { uint8_t _z; } b; } _choice;
	};
};
event { id = 2; stream_id = 0; name = "odd:bare"; };
stream {
	id = 1;
	packet.context := struct { uint32_t content_size; uint32_t packet_size; };
	event.header := struct { uint8_t id; };
};
event { id = 7; stream_id = 1; name = "odd:clockless";
	fields := struct { uint8_t _n; }; };
"""


def packet(stream_id, context, events):
    """A packet of 4096 bytes; context(content_bits) packs its context."""
    head = struct.pack("<II", 0xC1FC1FC1, stream_id)
    size = 8 * (len(head) + len(context(0)) + len(events))
    return (head + context(size) + events).ljust(4096, b"\0")


def odd_event(i):
    return struct.pack("<BQBBbBbBQBBBBBBBBBBQB", 1, i * 4_000_000_000, i, i,
                       -i, 8 * i, -i, 7 * i, i, i, i, i + 1, 1, 2, 3, 4, i % 2,
                       i, 2, i * 4_000_000_000 + 1, i)  # and odd:bare


def by_hand(clocked=True):
    """babeltrace2 doesn't mix streams with and without a clock."""
    directory = scratch()
    (directory / "metadata").write_text(HAND)
    if not clocked:
        (directory / "clockless").write_bytes(packet(
            1, lambda bits: struct.pack("<II", bits, 4096 * 8),
            bytes([7, 1, 7, 2])))
        return directory
    packets = b""
    for cpu in 0, 1:
        first = 3 * cpu
        packets += packet(
            0, lambda bits: struct.pack("<QQIIB", first * 4_000_000_000,
                                        (first + 2) * 4_000_000_000 + 1, bits,
                                        4096 * 8, cpu),
            b"".join(map(odd_event, range(first, first + 3))))
    (directory / "timed").write_bytes(packets)
    return directory


@test
def odd_types_clocks_and_scopes_look_as_in_babeltrace2():
    check_like_babeltrace2(by_hand(), 12)
    check_like_babeltrace2(by_hand(clocked=False), 2)


@test
def times_without_a_clock_count_nanoseconds():
    """As in the metadata that Zephyr writes: the names alone say what they are."""
    directory = scratch()
    (directory / "metadata").write_text("""/* CTF 1.8 */
typealias integer { size = 32; align = 8; } := uint32_t;
typealias integer { size = 8; align = 8; } := uint8_t;
trace { major = 1; minor = 8; byte_order = le; };
stream { event.header := struct { uint32_t timestamp; uint8_t id; }; };
event { name = "zephyr:tick"; id = 7; fields := struct { uint8_t n; }; };
""")
    (directory / "stream").write_bytes(b"".join(
        struct.pack("<IBB", at, 7, n)
        for n, at in enumerate((5, 1000, 4294967295, 10))))
    check_like_babeltrace2(directory, 4)
    check_equal([event["time_ns"] for event in objects(directory)],
                [5, 1000, 4294967295, (1 << 32) + 10], "nanoseconds")
    done = run(SONDE, "export", "--to", "csv", "--fields", "n",
               directory)
    check_equal(len(done.stdout.splitlines()), 5, f"rows; {done.stderr}")


@test
def each_key_of_a_json_object_is_there_once():
    number = [(name, 32, 8) for name in ("tid", "x", "mine", "both")]
    layout = Layout({"e": [("x", 32, 8), ("tid", 32, 8)]},
                    context=number[:2] + number[3:],
                    own_context=number[1:])
    trace = Handmade(layout)
    with trace.stream("cpu0") as stream:
        with stream.packet(begin=10, end=30):
            stream.event("e", 20, {"tid": 1, "x": 2, "both": 3},
                         {"x": 4, "mine": 5, "both": 6}, x=7, tid=8)

    def once(pairs):
        check(len({key for key, _ in pairs}) == len(pairs),
              f"a key twice: {pairs}")
        return dict(pairs)

    text = sonde_print(trace.dir, "--json")
    event = json.loads(text, object_pairs_hook=once)
    # the innermost has the name, as in a filter
    check_equal(event["context"], {"tid": 1, "x#2": 2, "both#2": 3, "x": 4,
                                   "mine": 5, "both": 6}, "context")
    check_equal(event["payload"], {"x": 7, "tid": 8}, "payload")
    check_equal(sonde_print(trace.dir, "--json", "-f",
                            "$ctx.x == 4 && $ctx.both == 6"), text,
                "the filter's names")
    text = sonde_print(trace.dir, "--json", "--fields",
                       "tid,x,tid,time,x,x")
    check_equal(json.loads(text, object_pairs_hook=once),
                {"tid": 1, "x": 7, "tid#2": 1, "time_ns": 20, "x#2": 7,
                 "x#3": 7}, "columns")


@test
def json_has_enumerations_variants_and_unknowns():
    first, = objects(by_hand(), "-f", "own == 1 && common == 1")
    check_equal(first["payload"]["label"], {"value": 1, "label": "ONE"},
                "enumeration")
    check_equal(first["payload"]["choice"], {"b": {"z": 1}}, "variant")
    check_equal(first["payload"]["hex"], -1, "number shown in hexadecimal")
    check_equal(first["payload"]["square"], [[1, 2], [3, 4]], "arrays")
    check_equal(first["payload"]["empty"], {}, "empty structure")
    check_equal(first["context"], {"common": 1, "own": 1}, "contexts")
    clockless = objects(by_hand(clocked=False), "-f", "n == 2")[0]
    check_equal((clockless["time_ns"], clockless["tid"]), (None, None),
                "what is not known")


# ---- text and JSON of our own ----

@test
def json_has_the_values_that_babeltrace2_shows():
    ours = objects(kinds())
    require("babeltrace2")
    theirs = Trace(kinds())
    check_equal(len(ours), len(theirs.text()) -
                sum(theirs.count(name) for name in INTERNAL), "events")
    # sonde.py doesn't read a variant of an empty structure
    ours = [e for e in ours if e["event"] != "kind:choice"]
    theirs._text = [x for x in theirs.text() if "kind:choice" not in x]
    for event, expected in zip(ours, theirs.events()):
        check_equal(event["event"], expected.name, "name")
        check_equal((event["cpu"], event["tid"], event["pid"]),
                    (expected.cpu, expected.tid, expected.pid), "who")
        if expected.name == "kind:integer":
            check_equal(event["payload"]["tiny"], expected["tiny"], "tiny")
            check_equal(event["payload"]["negative"], expected["negative"],
                        "negative")
        if expected.name == "kind:group":
            check_equal(event["payload"]["s"], expected["s"], "sequence")
            check_equal(event["payload"]["p"], expected["p"], "structure")


@test
def json_numbers_read_back_exactly():
    reals = objects(kinds(), "-f", '$event == "kind:real"')
    values = [0.1, -1e300, 1e-5, 123456789.0, 0.0, None, 2.0 / 3]
    check_equal([e["payload"]["d"] for e in reals], values, "doubles")
    single = struct.unpack("<f", struct.pack("<f", 2.0 / 3))[0]
    check_equal(struct.unpack("<f", struct.pack(
        "<f", reals[6]["payload"]["f"]))[0], single, "float")


@test
def text_cannot_command_the_terminal():
    out = sonde_print(kinds(), "-f", '$event == "kind:text"')
    check(b"\x1b" not in out and b"\x01" not in out, f"control: {out!r}")
    check(b'"what? \'it\' is\\x1b[1m\\x01\\x7f"' in out, f"escapes: {out!r}")
    check('"wörld \\"quoted\\"\\n\\t\\\\"'.encode() in out, f"UTF-8: {out!r}")
    check(b'"bytes \\xff\\xfe"' in out, f"not UTF-8: {out!r}")


@test
def names_cannot_command_the_terminal():
    # only CTF 2 has fields of any name
    trace = scratch() / "hostile"
    check_equal(run(SONDE, "convert", "-o", trace, by_hand()).returncode, 0,
                "status")
    metadata = (trace / "metadata").read_bytes()
    for name, hostile in (b'"odd:types"', b'"odd\\u001b[2J"'), (
            b'"square"', b'"sq\\n\\u009bre"'):
        check(name in metadata, f"no {name} in {metadata!r}")
        metadata = metadata.replace(name, hostile)
    (trace / "metadata").write_bytes(metadata)
    for style in "text", "json", "babeltrace":
        out = sonde_print(trace, "--format", style)
        check(b"\x1b" not in out and b"\xc2\x9b" not in out,
              f"control in {style}: {out!r}")
        check_equal(len(out.splitlines()), 12, "lines of " + style)


@test
def a_line_has_time_difference_cpu_thread_event_and_fields():
    trace = kinds()
    event = objects(trace)[1]
    line = lines(trace)[1]
    seconds, nanos = divmod(event["time_ns"], 10**9)
    clock = datetime.datetime.fromtimestamp(
        seconds + 5400, datetime.timezone.utc).strftime("%H:%M:%S")
    words = line.split()
    check_equal(words[0], f"{clock}.{nanos:09}", "time")
    check(words[1].startswith("+0.") and len(words[1]) == 12, line)
    check_equal(words[2:5], [str(event["cpu"]), str(event["tid"]),
                             "kind:text"], "cpu, tid, event")


@test
def plain_text_shows_groups_and_labels():
    text = lines(kinds(), "--fields", "payload",
                 "-f", '$event == "kind:group"')
    check_equal(text[0], "e = less, mac = [1, 2, 255], _s_length = 0, s = [], "
                "p = { i = -3, q = { tiny = -3 } }, _b_length = 2, "
                "b = [0x1, 0x2]",
                "group")
    check("e = -1," in text[2], f"a value without a label: {text[2]}")
    text = lines(kinds(), "--fields", "payload",
                 "-f", '$event == "kind:choice"')
    check_equal(text[4], 'v_tag = _word, v = word: "w"', "variant")


@test
def each_form_of_time_shows_the_same_time():
    trace = kinds()
    ns = [e["time_ns"] for e in objects(trace)]
    check_equal([int(x) for x in lines(trace, "--fields", "time", "--time",
                                       "ns")], ns, "ns")
    check_equal(lines(trace, "--fields", "time", "--time", "seconds"),
                [f"{t // 10**9}.{t % 10**9:09}" for t in ns], "seconds")
    utc = lines(trace, "--fields", "time", "--time", "utc")
    zero = lines(trace, "--fields", "time", env={**ZONE, "TZ": "UTC"})
    check_equal(utc, zero, "utc")
    relative = [int(x.replace(".", "")) for x in
                lines(trace, "--fields", "time", "--time", "relative")]
    check_equal([a - b for a, b in zip(relative[1:], relative)],
                [a - b for a, b in zip(ns[1:], ns)], "relative")


@test
def differences_are_to_the_last_line_of_all_a_thread_and_an_event():
    skip_if_sanitized("the preloaded library is not for sanitized programs")
    trace = record_ok("sh", "-c", "ls -lR /usr/include >/dev/null & "
                      "ls -lR /usr/include >/dev/null; wait",
                      options=["--malloc"]).dir
    columns = "delta,thread-delta,event-delta,time,tid,event"
    last = {}
    for e in objects(trace, "--fields", columns, "--threads", 3):
        for key, column in ((("any",), "delta_ns"),
                            (("tid", e["tid"]), "thread_delta_ns"),
                            (("event", e["event"]), "event_delta_ns")):
            expected = e["time_ns"] - last[key] if key in last else None
            check_equal(e[column], expected, f"{column} of {e}")
            last[key] = e["time_ns"]
    one = sonde_print(trace, "--fields", columns, "--threads", 1)
    many = sonde_print(trace, "--fields", columns, "--threads", 3)
    check(one == many, "text differs with the number of threads")


@test
def expressions_are_columns():
    trace = by_hand()
    got = objects(trace, "--fields", 'outer.y * 2,square[1][0],own / 0,'
                  '$event == "odd:types"', "-f", "own == 3")
    check_equal(got, [{"outer.y * 2": 8, "square[1][0]": 3,
                       "own / 0": None,
                       '$event == "odd:types"': 1}], "columns")


@test
def a_field_alone_is_shown_as_in_the_payload():
    text = lines(kinds(), "--fields", "e,e + 0,b[0],b[0] + 0",
                 "-f", '$event == "kind:group"')
    check_equal(text[0].split(), ["less", "-3", "0x1", "1"], "with a label")
    check_equal(text[2].split()[:2], ["-1", "-1"], "without")
    got = objects(kinds(), "--fields", "e", "-f", '$event == "kind:group"')
    check_equal(got[0], {"e": -3}, "JSON: a number, as in filters")


@test
def a_wrong_column_is_named_and_pointed_at():
    done = run(SONDE, "print", "--fields", "time,nonsense", by_hand())
    check_equal(done.returncode, 2, "status")
    check("nonsense" in done.stderr and
          "\n  time,nonsense\n       ^\n" in done.stderr, done.stderr)


# ---- which events, in which order ----

@test
def limit_last_and_reverse_choose_events():
    trace = kinds()
    all_lines = lines(trace, "--fields", "time,event,payload")

    def chosen(*options):
        return lines(trace, "--fields", "time,event,payload", *options)

    check_equal(chosen("--limit", 3), all_lines[:3], "limit")
    check_equal(chosen("--last", 3), all_lines[-3:], "last")
    check_equal(chosen("--last", 10000), all_lines, "last of fewer")
    check_equal(chosen("--reverse"), all_lines[::-1], "reverse")
    check_equal(chosen("--reverse", "--limit", 4), all_lines[:-5:-1],
                "reverse and limit")
    check_equal(chosen("--reverse", "--last", 4), all_lines[:-5:-1],
                "reverse and last")
    check_equal(chosen("--last", 4, "--limit", 1), all_lines[-4:-3],
                "last and limit")
    texts = chosen("-f", '$event == "kind:text"', "--last", 2)
    check_equal(texts, [x for x in all_lines if "kind:text" in x][-2:],
                "last with a filter")


@test
def a_span_of_time_chooses_events():
    trace = kinds()
    events = objects(trace)
    times = [e["time_ns"] for e in events]
    middle = times[len(times) // 2]
    at = f"{middle // 10**9}.{middle % 10**9:09}"
    check_equal(objects(trace, "--from", at),
                [e for e in events if e["time_ns"] >= middle], "from")
    check_equal(objects(trace, "--to", at),
                [e for e in events if e["time_ns"] <= middle], "to")
    check_equal(objects(trace, "--last", "100s"), events, "duration")


@test
def a_span_outside_of_the_trace_is_told():
    trace = kinds()
    for words, part in ((("--from", "+1h"),
                         "--from +1h is 3,600 s after the trace's last event"),
                        (("--to", "2001-01-01T00:00:00"),
                         "before the trace begins")):
        done = run(SONDE, "print", *words, trace)
        check_equal((done.returncode, done.stdout), (0, ""), f"{words}")
        check(part in done.stderr, f"{words}: {done.stderr}")
        done = run(SONDE, "print", "-q", *words, trace)
        check_equal(done.stderr, "", f"{words}, quiet")


# ---- what goes wrong ----

MANY = r"""
#include <sonde/tracepoint.h>
int main(void)
{
	/* many slices' worth */
	static const long words[16];

	for (int i = 0; i < 200000; i++)
		sonde_event(many, event, i, words);
	return 0;
}
"""


def held_up(trace, threads):
    """sonde print, which has written a little and waits to write more."""
    program = subprocess.Popen(
        [SONDE, "print", "--threads", str(threads), str(trace)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    select.select([program.stdout], [], [])
    return program


@test
def a_signal_stops_it_between_two_lines():
    trace = record_ok(build(MANY)).dir
    for threads in 1, 2:
        program = held_up(trace, threads)
        program.send_signal(signal.SIGINT)
        out, err = program.communicate(timeout=240)
        check_equal(program.returncode, 130, f"status; {err}")
        check(out.endswith(b"\n") and b"i = 199999," not in out,
              f"{len(out)} bytes, the last {out[-80:]!r}")


@test
def a_signal_at_the_very_end_is_heard():
    """The whole text fits into what the reader holds, and waits there."""
    trace = record_ok(build(MANY.replace("200000", "3000"))).dir
    for threads in 1, 2:
        program = held_up(trace, threads)
        program.send_signal(signal.SIGINT)
        program.communicate(timeout=240)
        check_equal(program.returncode, 130, f"status, {threads} threads")


@test
def a_file_that_shrinks_is_named():
    for threads in 1, 2:
        trace = record_ok(build(MANY)).dir
        stream = max((p for p in trace.iterdir() if p.is_file()),
                     key=lambda p: p.stat().st_size)
        program = held_up(trace, threads)
        os.truncate(stream, 4096)
        _, err = program.communicate(timeout=240)
        check_equal(program.returncode, 1, "status")
        check_equal(err.decode(), f"sonde: {stream} shrank while it was being "
                    "read\n", "standard error")


@test
def a_reader_that_stops_ends_it_quietly():
    trace = kinds()
    with subprocess.Popen([SONDE, "print", str(trace), str(trace)],
                          stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as program:
        program.stdout.close()
        check_equal(program.stderr.read(), b"", "standard error")
        check_equal(program.wait(), 0, "status")


@test
def a_full_disk_is_said():
    if not os.path.exists("/dev/full"):
        raise Skip("no /dev/full here")
    done = run(SONDE, "print", "-o", "/dev/full", kinds())
    check_equal(done.returncode, 1, "status")
    check("No space left" in done.stderr, done.stderr)


@test
def output_goes_to_a_file():
    path = scratch() / "out"
    check_equal(sonde_print(kinds(), "-o", path), b"", "standard output")
    check_equal(path.read_bytes(), sonde_print(kinds()), "file")


@test
def wrong_words_are_wrong_usage():
    trace = str(kinds())
    for words in (["--time", "noon", trace], ["--format", "xml", trace],
                  ["--nonsense", trace], [], ["--limit", "few", trace],
                  ["--format", "babeltrace", "--fields", "time", trace],
                  ["-f", "1 ===", trace], ["--from", "yesterday", trace],
                  ["--last", "0", trace], ["--limit"]):
        done = run(SONDE, "print", *words)
        check_equal(done.returncode, 2, f"status of {words}")
        check(done.stderr.startswith("sonde: ") and not done.stdout,
              f"{words}: {done.stderr!r}")


@test
def a_damaged_trace_is_read_up_to_the_damage_and_the_damage_is_told():
    whole = lines(kinds())
    copy = scratch() / "trace"
    shutil.copytree(kinds(), copy)
    stream = max((p for p in copy.iterdir() if p.is_file() and
                  p.name != "metadata"), key=lambda p: p.stat().st_size)
    shutil.rmtree(copy / "index", ignore_errors=True)
    with open(stream, "r+b") as file:
        file.truncate(stream.stat().st_size // 2)
    done = run(SONDE, "print", copy, env=ZONE)
    check_equal(done.returncode, 0, "status")
    check(stream.name in done.stderr, f"warnings: {done.stderr!r}")
    check_equal(done.stdout.splitlines(), whole[:done.stdout.count("\n")],
                "the events before")
    quiet = run(SONDE, "print", "-q", copy)
    check_equal(quiet.stderr, "", "warnings with -q")


install()
main()
