#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_metadata.py - metadata and packets that other readers refuse: what they
refuse, `check` at least warns of; what can't be read is named as what it is."""

import json
import struct
import subprocess

from ctf2 import preamble, write_metadata, write_trace
from sonde import SONDE, install, scratch
from harness import check, check_equal, main, test

UUID = '"00010203-0405-0607-0809-0a0b0c0d0e0f"'
FIRST = "/* CTF 1.8 */\n"
CLOCK = "clock { name = c; freq = 1000000000; offset = 5; };\n"
EVENT = 'event { name = "e"; id = 0; fields := struct { u8 a; }; };\n'
TRACE = ("trace { major = 1; minor = 8; byte_order = le;\n"
         "packet.header := struct { u32 magic; }; };\n")
STREAM = ("stream { packet.context := struct { time timestamp_begin;\n"
          "time timestamp_end; u64 content_size; u64 packet_size; };\n"
          "event.header := struct { u32 id; time timestamp; }; };\n")
BASE = FIRST + "".join(
    f"typealias integer {{ size = {bits}; align = 8; }} := u{bits};\n"
    for bits in (8, 32, 64)) + TRACE + (
    'env { domain = "x"; };\n' + CLOCK +
    "typealias integer { size = 64; align = 8; map = clock.c.value; } := time;\n"
) + STREAM + EVENT


def doubled(text):
    return f"{text} {text}"


# What stands there, and what is put in its place, one kind of mistake each.
REFUSED = [
    (FIRST, ""), (FIRST, "\n" + FIRST), ("CTF 1.8", "CTF 1.9"),
    (TRACE, ""), ("major = 1;", ""), ("minor = 8;", ""),
    ("byte_order = le;", ""), ("minor = 8", "minor = 7"),
    ("minor = 8", "minor = 9"),
    *((x, doubled(x)) for x in (
        "major = 1;", "minor = 8;", "byte_order = le;", "name = c;",
        "freq = 1000000000;", "offset = 5;", 'name = "e";', "id = 0;",
        "packet.header := struct { u32 magic; };",
        "event.header := struct { u32 id; time timestamp; };",
        "fields := struct { u8 a; };")),
    *((a, f"{a} {doubled(b)}") for a, b in (
        ("major = 1;", f"uuid = {UUID};"),
        ("name = c;", "offset_s = 1;"), ("name = c;", f"uuid = {UUID};"),
        ("name = c;", 'description = "a";'), ("name = c;", "precision = 1;"),
        ("name = c;", "absolute = FALSE;"), ("stream {", "id = 0;"),
        ("stream {", "event.context := struct { };"),
        ("id = 0;", "context := struct { };"), ("id = 0;", "loglevel = 1;"),
        ("id = 0;", "stream_id = 0;"), ("id = 0;", 'model.emf.uri = "u";'))),
    (STREAM, STREAM.replace("packet.context", "packet.context := struct { "
                            "u64 x; }; packet.context")),
    # what fields with a meaning have to be
    ("u32 magic;", "u8 x; u32 magic;"), ("u32 magic;", "u64 magic;"),
    ("u32 magic;", "string magic;"),
    ("u32 magic;", "integer { size = 32; align = 8; signed = true; } magic;"),
    *(("u32 magic;", f"u32 magic; {x};") for x in (
        "u8 uuid[15]", "u8 uuid", "integer { size = 16; align = 8; } uuid[16]",
        "integer { size = 8; signed = true; } uuid[16]", "string stream_id",
        "integer { size = 8; signed = true; } stream_id",
        "integer { size = 8; signed = true; } stream_instance_id")),
    *((f"u64 {x};", f"{y} {x};") for x in ("content_size", "packet_size")
      for y in ("integer { size = 64; signed = true; }", "struct { u64 x; }")),
    ("time timestamp_begin;", "string timestamp_begin;"),
    ("u64 packet_size;", "u64 packet_size; integer { size = 64; signed = true; "
     "} events_discarded;"),
    ("u64 packet_size;", "u64 packet_size; string packet_seq_num;"),
    ("u32 id;", "integer { size = 32; signed = true; } id;"),
    ("map = clock.c.value", "signed = true; map = clock.c.value"),
    # texts
    ('"x"', '"x\0y"'), ('"x"', '"x\\qy"'),
    # clocks
    ("freq = 1000000000;", ""), ("freq = 1000000000;",
                                 "freq = 18446744073709551615;"),
    ("offset = 5;", "offset = -5;"),
    ("offset = 5;", "typealias integer { size = 8; } := q;"),
    (CLOCK + "type", CLOCK + CLOCK.replace("name = c", "name = d") +
     "typealias integer { size = 8; map = clock.d.value; } := other;\ntype"),
    # events
    ('name = "e";', ""), (EVENT, EVENT.replace("id = 0", "id = 1") +
                          EVENT.replace("id = 0; ", "")),
    ("id = 0;", "id = 0; loglevel = INFO;"),
    ("id = 0;", 'id = 0; loglevel = "INFO";'),
    ("id = 0;", "id = 0; loglevel = -1;"),
    ("id = 0;", "id = 0; model.emf.uri = 7;"),
    (STREAM + EVENT, (STREAM + EVENT).replace("stream {", "stream { id = 7;")
     .replace("id = 0;", "id = 0; stream_id = 7;")),
    # types
    *(("u8 a;", f"u8 a; {x}") for x in (
        "u8 b; u8 _b;", "u8 event;", "u8 align;", "u8 string;", "u8 int;",
        "const u8 b;", "u8 (b);", "enum : u8 { } b;",
        "enum : enum : u8 { Q } { A } b;",
        "enum : u8 { A } t; variant <event.fields.t> { u8 A; } b;",
        "enum : u8 { A } t; variant <t> { u8 A; u8 B; } b;",
        "enum : u8 { A = 1 ... 5, B = 3 } t; variant <t> { u8 A; u8 B; } b;",
        "floating_point { exp_dig = 5; mant_dig = 11; } b;")),
    *(("u8 a;", f"u8 a; integer {{ size = 8; {doubled(x)} }} b;") for x in (
        "size = 8;", "align = 8;", "signed = true;", "byte_order = le;",
        "base = 10;", "encoding = none;", "map = clock.c.value;")),
    *(("u8 a;", "u8 a; floating_point { exp_dig = 8; mant_dig = 24; "
       f"{x} }} b;") for x in (
           "exp_dig = 8;", "mant_dig = 24;", doubled("align = 8;"),
           doubled("byte_order = le;"))),
    ("u8 a;", "u8 a; string { encoding = UTF8; encoding = UTF8; } b;"),
    (EVENT, "typealias variant { u8 A; } := v;\n" + EVENT),
]


def run(*words):
    return subprocess.run(list(map(str, words)), text=True, timeout=240,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def trace_of(metadata, data=b""):
    directory = scratch() / f"trace{len(list(scratch().iterdir()))}"
    directory.mkdir()
    (directory / "metadata").write_bytes(
        metadata if isinstance(metadata, bytes) else metadata.encode())
    if data:
        (directory / "stream").write_bytes(data)
    return directory


@test
def what_babeltrace2_refuses_is_warned_of():
    sound = trace_of(BASE)
    check_equal(run("babeltrace2", sound).returncode, 0, "babeltrace2")
    check_equal(run(SONDE, "check", "--strict", sound).returncode, 0, "sound")
    wrong = []
    for old, new in REFUSED:
        check(old in BASE, old)
        if "clock.d" in new:  # it has to be used, too
            text = BASE.replace(old, new).replace("u8 a;", "u8 a; other b;")
        else:
            text = BASE.replace(old, new, 1)
        trace = trace_of(text)
        if run("babeltrace2", trace).returncode == 0:
            wrong.append(f"babeltrace2 takes {new!r}")
        got = run(SONDE, "check", "--strict", trace)
        if got.returncode != 3 or "warning   metadata" not in got.stdout:
            wrong.append(f"{new!r}: {got.stdout[:99]}{got.stderr}")
    check(len(REFUSED) >= 90, f"{len(REFUSED)} kinds")
    check(not wrong, "\n".join(wrong))


def refusal(metadata):
    got = run(SONDE, "print", trace_of(metadata))
    check_equal(got.returncode, 1, "status")
    return got.stderr


@test
def what_cannot_be_read_is_refused_with_a_word():
    for fields, words in (
            ("integer { size = 4; byte_order = le; } b; "
             "integer { size = 4; byte_order = be; } c;",
             "byte order changes inside a byte"),
            ("struct { integer { size = 3; } x; } b[3]; "
             "integer { size = 4; byte_order = be; } c;",
             "byte order changes inside a byte")):
        said = refusal(BASE.replace("u8 a;", f"u8 a; {fields}"))
        check(words in said, said)
    for offset in ("offset_s = 18446744074", "offset_s = -9223372037",
                   "offset = 18446744073709551615",
                   "offset_s = 9223372036; offset = 4000000000"):
        said = refusal(BASE.replace("offset = 5", offset))
        check("more nanoseconds than 64 bits hold" in said, said)


@test
def byte_orders_may_change_where_a_byte_ends():
    for fields in ("integer { size = 4; } b; "
                   "integer { size = 8; align = 8; byte_order = be; } c; "
                   "integer { size = 3; byte_order = be; } d;",
                   "integer { size = 4; } b[2]; "
                   "integer { size = 4; byte_order = be; } c;",
                   # a length of 0 or 8 would do
                   "integer { size = 1; } b[a]; "
                   "integer { size = 4; byte_order = be; } c;"):
        trace = trace_of(BASE.replace("u8 a;", f"u8 a; {fields}"))
        check_equal(run(SONDE, "check", "--strict", trace).returncode, 0,
                    fields)


# ---- CTF 2 ----

U8 = {"type": "fixed-length-unsigned-integer", "length": 8, "alignment": 8,
      "byte-order": "little-endian"}


def structure(**members):
    return {"type": "structure", "member-classes": [
        {"name": name, "field-class": cls} for name, cls in members.items()]}


def printed(trace):
    got = run(SONDE, "print", "--json", trace)
    check_equal((got.returncode, got.stderr), (0, ""), "status, stderr")
    return [json.loads(x)["payload"] for x in got.stdout.splitlines()]


@test
def a_location_may_go_up_after_a_name():
    trace = scratch() / "up"
    for path in (["in", None, "n"], ["in", "x", None, None, "n"]):
        payload = structure(**{
            "n": U8, "in": structure(x=U8),
            "list": {"type": "dynamic-length-array", "element-field-class": U8,
                     "length-field-location": {"path": path}}})
        value = {"n": 2, "in": {"x": 9}, "list": [5, 6]}
        write_trace(trace, [payload], [(0, value)])
        check_equal(printed(trace), [value], str(path))


@test
def the_only_event_class_needs_no_id():
    trace = scratch() / "only"
    write_trace(trace, [structure(n=U8)], [(0, {"n": 7})],
                fill=lambda which, time: {"id": 5, "time": time})
    said = damage_of(trace)
    check("no event class has this id" in said, said)
    text = (trace / "metadata").read_text()
    (trace / "metadata").write_text(text.replace('"id": 0, ', ""))
    check_equal(printed(trace), [{"n": 7}], "events")
    bits = 8 * (4 + 32 + 13)
    data = struct.pack("<IQQQQIQB", 0xc1fc1fc1, 1, 10, bits, bits, 5, 2, 3)
    check_equal(printed(trace_of(BASE.replace("id = 0; ", ""), data)),
                [{"a": 3}], "in TSDL")


@test
def metadata_in_packets_of_ctf_2_is_read():
    trace = scratch() / "packets"
    write_trace(trace, [structure(n=U8)], [(0, {"n": 7})])
    text = (trace / "metadata").read_bytes()
    for order in "<>":
        for more in (b"", bytes(3) + struct.pack(order + "I", 352)):
            packets = b""
            for at in range(0, len(text), 100):
                part = text[at:at + 100]
                bits = 8 * (37 + len(more) + len(part))
                packets += struct.pack(
                    order + "I16sIII5B", 0x75d11d57, bytes(16), 0, bits,
                    bits + 64, 0, 0, 0, 2, 0) + more + part + bytes(8)
            (trace / "metadata").write_bytes(packets)
            check_equal(printed(trace), [{"n": 7}], f"{order} {len(more)}")


@test
def metadata_without_a_data_stream_class_is_warned_of():
    trace = scratch() / "none"
    write_metadata(trace, [preamble()])
    got = run(SONDE, "check", "--strict", trace)
    check_equal(got.returncode, 3, "check")
    check("there is no data stream class" in got.stdout, got.stdout)


def damage_of(trace, status=0):
    got = run(SONDE, "print", trace)
    check_equal(got.returncode, status, got.stderr)
    return got.stderr


@test
def damage_is_named_as_what_it_is():
    trace = scratch() / "damage"
    variant = structure(tag=U8, v={
        "type": "variant", "selector-field-location": {"path": ["tag"]},
        "options": [{"name": "a", "field-class": U8,
                     "selector-field-ranges": [[1, 1]]}]})
    long = structure(a=U8, n={"type": "variable-length-unsigned-integer"})
    wide = structure(n=U8, t={
        "type": "dynamic-length-string", "encoding": "utf-16le",
        "length-field-location": {"path": ["n"]}})
    for payload, value, old, new, words in (
            (variant, {"tag": 1, "v": (0, 99)}, b"\1c", b"\2c",
             "a variant's tag chooses none of its options"),
            (long, {"a": 99, "n": 2**63}, b"\x80\1", b"\x80\2",
             "a LEB128 number has more than 64 bits"),
            (wide, {"n": 4, "t": "ab".encode("utf-16le")}, b"\4a\0b\0", b"\3a\0b\0",
             "a text ends inside of a character")):
        write_trace(trace, [payload], [(0, value), (0, value)])
        data = (trace / "stream").read_bytes()
        check(old in data, f"{data!r}")
        at = data.rindex(old)
        (trace / "stream").write_bytes(
            data[:at] + new + data[at + len(old):])
        said = damage_of(trace)
        check(words in said, said)
        check_equal(run(SONDE, "check", trace).returncode, 3, "check")


@test
def a_time_that_64_bits_do_not_hold_is_refused_with_a_word():
    text = BASE.replace("offset = 5", "offset_s = 9223372000")
    bits = 8 * (4 + 32 + 26)
    for late in (36854775806, 1 << 63):
        data = struct.pack("<IQQQQIQBIQB", 0xc1fc1fc1, 1, late, bits, bits,
                           0, 2, 3, 0, late, 4)
        trace = trace_of(text, data)
        got = run(SONDE, "print", "--json", trace)
        check_equal([json.loads(x)["time_ns"]
                     for x in got.stdout.splitlines()],
                    [9223372000000000002], "what is before it")
        check("more nanoseconds than 64 bits hold" in got.stderr, got.stderr)
        check_equal(run(SONDE, "check", trace).returncode, 3, "check")


@test
def a_text_of_half_characters_is_refused():
    trace = scratch() / "half"
    write_trace(trace, [structure(a=U8)], [(0, {"a": 1})])
    text = (trace / "metadata").read_text()
    (trace / "metadata").write_text(text.replace(json.dumps(U8), json.dumps(
        {"type": "static-length-string", "encoding": "utf-16le",
         "length": 3})))
    got = run(SONDE, "print", trace)
    check_equal(got.returncode, 1, "status")
    check("no multiple of its characters' bytes" in got.stderr, got.stderr)


@test
def packets_with_another_uuid_are_read_with_a_warning():
    head = ("struct { u32 magic; u8 uuid[16]; }", f"major = 1; uuid = {UUID};")
    text = BASE.replace("struct { u32 magic; }", head[0]).replace(
        "major = 1;", head[1])
    bits = 8 * (20 + 32 + 13)
    for uuid, words in ((bytes(range(16)), ""),
                        (bytes(16), "another trace's UUID")):
        data = struct.pack("<I16sQQQQIQB", 0xc1fc1fc1, uuid, 1, 10, bits, bits,
                           0, 2, 3)
        trace = trace_of(text, data)
        got = run(SONDE, "print", "--json", trace)
        check_equal((got.returncode, got.stdout.count("\n")), (0, 1), "print")
        check(words in got.stderr and bool(words) == bool(got.stderr),
              got.stderr)
        strict = run(SONDE, "check", "--strict", trace)
        check_equal(strict.returncode, 3 if words else 0, strict.stdout)


install()
main()
