#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_ctf2_values.py - every field class of CTF 2, in every combination that
chance brings: what ctf2.py wrote is what `sonde print` shows.

ctf2.py writes bit by bit, as the specification reads them, and knows nothing of
how Sonde reads. The other reader of CTF 2, babeltrace2 from 2.1 on, is asked
where it is there: as `babeltrace2`, or by the command in SONDE_BABELTRACE_2_1,
which is given a trace's directory in SONDE_TEST_SCRATCH.
"""

import json
import math
import os
import random
import re
import shlex
import subprocess

from ctf2 import (FLOATS, Packet, leb128, preamble, put, write_metadata,
                  write_trace)
from sonde import SONDE, Skip, install, run, scratch
from harness import check, check_equal, main, test

SEED = int(os.environ.get("SONDE_TEST_SEED", "1"))
ENCODINGS = ("utf-8", "utf-16le", "utf-16be", "utf-32le", "utf-32be")
LETTERS = "aé€😀\"\\\n z"


def field(name, cls):
    return {"name": name, "field-class": cls}


def printed(trace):
    """The payloads that sonde prints."""
    done = run(SONDE, "print", "--json", "--quiet", trace)
    check_equal((done.returncode, done.stderr), (0, ""), "sonde print")
    return [json.loads(line)["payload"] for line in done.stdout.splitlines()]


class Labels:
    """Names of ranges, by chance, and which of them a value has."""

    def __init__(self, rng, low, high):
        self.ranges = {}
        for i in range(rng.randrange(4)):
            bounds = [sorted(rng.randint(low, high) for _ in range(2))
                      for _ in range(rng.randint(1, 2))]
            self.ranges[f"l{i}"] = bounds

    def of(self, value):
        return [name for name, bounds in self.ranges.items()
                if any(a <= value <= b for a, b in bounds)]


class Maker:
    """Classes and values by chance. Each make_ function returns a class and a
    function of (rng, the values of the structure around), which returns what
    is to be written and what is to be shown.

    A byte order holds until the next byte begins, so an event has one."""

    def __init__(self, rng):
        self.rng = rng
        self.order = {"byte-order": rng.choice(["little-endian",
                                                "big-endian"])}
        self.nr_numbers = 0

    def bits(self, kind, length):
        cls = {"type": kind, "length": length, **self.order}
        if self.rng.random() < 0.3:
            cls["bit-order"] = self.rng.choice(["first-to-last",
                                                "last-to-first"])
        if self.rng.random() < 0.5:
            cls["alignment"] = 1 << self.rng.randrange(8)
        return cls

    def make_integer(self):
        signed = self.rng.random() < 0.5
        word = "signed" if signed else "unsigned"
        length = self.rng.randint(1, 64)
        cls = self.bits(f"fixed-length-{word}-integer", length)
        if self.rng.random() < 0.25:
            cls = {"type": f"variable-length-{word}-integer"}
        low, high = ((-1 << (length - 1), (1 << (length - 1)) - 1) if signed
                     else (0, (1 << length) - 1))
        labels = Labels(self.rng, low, high)
        if labels.ranges:
            cls["mappings"] = labels.ranges

        def value(rng, _):
            v = rng.choice([low, high, 0, rng.randint(low, high)])
            if not labels.ranges:
                return v, v
            of = labels.of(v)
            return v, {"value": v, "label": of[0] if of else None}
        return cls, value

    def make_flags(self):
        length = self.rng.randint(1, 64)
        if self.rng.random() < 0.3:
            return (self.bits("fixed-length-bit-array", length),
                    lambda rng, _: 2 * (rng.getrandbits(length),))
        labels = Labels(self.rng, 0, length - 1)
        labels.ranges["always"] = [[0, length - 1]]
        cls = {**self.bits("fixed-length-bit-map", length),
               "flags": labels.ranges}

        def value(rng, _):
            v = rng.getrandbits(length)
            active = [n for n in labels.ranges
                      if any(n in labels.of(i) for i in range(length)
                             if v >> i & 1)]
            return v, {"value": v, "labels": active}
        return cls, value

    def make_boolean(self):
        length = self.rng.randint(1, 64)
        return (self.bits("fixed-length-boolean", length),
                lambda rng, _: (lambda v: (v, v != 0))(
                    rng.getrandbits(length) * rng.randrange(2)))

    def make_float(self):
        length = self.rng.choice(list(FLOATS))
        return (self.bits("fixed-length-floating-point-number", length),
                lambda rng, _: 2 * (rng.choice(
                    [0.0, 1.5, -2.0 ** -14, 65504.0, 2.0 ** -24]),))

    def text(self, rng, encoding, length):
        """Text that takes at most so many bytes."""
        text = "".join(rng.choice(LETTERS) for _ in range(length))
        while len(text.encode(encoding)) > length:
            text = text[:-1]
        return text

    def make_string(self):
        encoding = self.rng.choice(ENCODINGS)
        cls = {"type": "null-terminated-string", "encoding": encoding}
        fixed = None
        if self.rng.random() < 0.5:  # whole characters
            fixed = self.rng.randrange(30) // 4 * 4
        if fixed is not None:
            cls = {"type": "static-length-string", "length": fixed,
                   "encoding": encoding}

        def value(rng, _):
            shown = self.text(rng, encoding, rng.randrange(20)
                              if fixed is None else fixed)
            data = shown.encode(encoding)
            if fixed is not None:  # behind a zero there may be anything
                rest = bytes(4) + b"rest" * 9
                data = (data + rest)[:fixed]
            return data, shown
        return cls, value

    def make_blob(self):
        length = self.rng.randrange(5)
        return ({"type": "static-length-blob", "length": length,
                 "media-type": "image/x"},
                lambda rng, _: (lambda v: (v, v.hex()))(rng.randbytes(length)))

    def make_array(self, depth):
        element, one = self.make(depth + 1)
        length = self.rng.randrange(4)
        cls = {"type": "static-length-array", "length": length,
               "element-field-class": element}
        if self.rng.random() < 0.3:
            cls["minimum-alignment"] = 1 << self.rng.randrange(8)

        def value(rng, around):
            pairs = [one(rng, around) for _ in range(length)]
            return [p[0] for p in pairs], [p[1] for p in pairs]
        return cls, value

    # What follows depends on a member of the structure around, which it makes
    # itself: it returns that member, too.

    def number(self, high):
        name = f"n{self.nr_numbers}"
        self.nr_numbers += 1
        cls = self.bits("fixed-length-unsigned-integer", 7)
        if self.rng.random() < 0.3:
            cls = {"type": "variable-length-unsigned-integer"}
        return name, cls, lambda rng, _: 2 * (rng.randint(0, high),)

    def make_dynamic(self, depth):
        name, cls, count = self.number(30)
        location = {"length-field-location": {"path": [name]}}
        kind = self.rng.choice(["string", "blob", "array"])
        encoding = self.rng.choice(ENCODINGS)
        element, one = self.make(depth + 1)

        def value(rng, around):
            length = around[name]
            if kind == "array":
                pairs = [one(rng, around) for _ in range(length)]
                return [p[0] for p in pairs], [p[1] for p in pairs]
            if kind == "blob":
                data = rng.randbytes(length)
                return data, data.hex()
            shown = self.text(rng, encoding, length)
            return shown.encode(encoding).ljust(length, b"\0"), shown
        out = {"type": f"dynamic-length-{kind}", **location}
        if kind == "array":
            out["element-field-class"] = element
        if kind == "string":  # of whole characters
            out["encoding"] = encoding

            def count(rng, _):
                return 2 * (rng.randrange(30) // 4 * 4,)
        return (name, cls, count), out, value

    def make_variant(self, depth):
        name, cls, count = self.number(8)
        made = [self.make(depth + 1) for _ in range(3)]
        names = ["x", "y", None]
        ranges = [[[0, 2]], [[3, 3], [5, 8]], [[4, 4]]]
        options = [{"field-class": c, "selector-field-ranges": r,
                    **({"name": n} if n else {})}
                   for n, r, (c, _) in zip(names, ranges, made)]

        def value(rng, around):
            which = next(i for i, r in enumerate(ranges)
                         if any(a <= around[name] <= b for a, b in r))
            v, shown = made[which][1](rng, around)
            return (which, v), {names[which] or "": shown}
        return (name, cls, count), {
            "type": "variant", "options": options,
            "selector-field-location": {"path": [name]}}, value

    def make_optional(self, depth):
        element, one = self.make(depth + 1)
        name, cls, count = self.number(8)
        out = {"type": "optional", "field-class": element,
               "selector-field-location": {"path": [name]}}
        if self.rng.random() < 0.5:
            cls = self.bits("fixed-length-boolean", 7)
            enabled = [[1, 8]]
            count_shown = count

            def count(rng, around):
                v, _ = count_shown(rng, around)
                return v, v != 0
        else:
            enabled = [[2, 3], [7, 7]]
            out["selector-field-ranges"] = enabled

        def value(rng, around):
            if any(a <= around[name] <= b for a, b in enabled):
                return one(rng, around)
            return None, None
        return (name, cls, count), out, value

    def make_struct(self, depth):
        members = []
        for i in range(self.rng.randrange(1, 6 if depth else 9)):
            if self.rng.random() < 0.25 and self.nr_numbers < 30:
                tag, cls, value = self.rng.choice(
                    [self.make_dynamic, self.make_variant,
                     self.make_optional])(depth)
                members += [tag, (f"m{i}", cls, value)]
            else:
                members.append((f"m{i}", *self.make(depth + 1)))
        cls = {"type": "structure",
               "member-classes": [field(n, c) for n, c, _ in members]}
        if self.rng.random() < 0.3:
            cls["minimum-alignment"] = 1 << self.rng.randrange(8)

        def value(rng, _):
            written, shown = {}, {}
            for name, _, one in members:
                written[name], shown[name] = one(rng, written)
            return written, shown
        return cls, value

    def make(self, depth):
        if depth < 4 and self.rng.random() < 0.3:
            return self.rng.choice([self.make_struct, self.make_array])(depth)
        return self.rng.choice(
            [self.make_integer, self.make_integer, self.make_flags,
             self.make_boolean, self.make_float, self.make_string,
             self.make_blob])()


def same(shown, expected):
    """Whether they are equal; of a float, nine digits are shown."""
    if isinstance(expected, float):
        return math.isclose(shown, expected, rel_tol=1e-8)
    if isinstance(expected, dict):
        return (isinstance(shown, dict) and list(shown) == list(expected)
                and all(same(shown[k], v) for k, v in expected.items()))
    if isinstance(expected, list):
        return (isinstance(shown, list) and len(shown) == len(expected)
                and all(map(same, shown, expected)))
    return shown == expected and isinstance(shown, type(expected))


@test
def any_field_classes_are_read_as_they_were_written():
    print(f"SONDE_TEST_SEED={SEED}")
    for batch in range(6):
        rng = random.Random(f"{SEED} {batch}")
        makers = [Maker(rng).make_struct(0) for _ in range(40)]
        events, expected = [], []
        for _ in range(300):
            which = rng.randrange(len(makers))
            written, shown = makers[which][1](rng, {})
            events.append((which, written))
            expected.append(shown)
        trace = scratch() / "trace"
        write_trace(trace, [cls for cls, _ in makers], events)
        shown = printed(trace)
        check_equal(len(shown), len(expected), "events")
        for i, payload in enumerate(expected):
            for name, value in payload.items():
                got = shown[i].get(name)
                check(same(got, value),
                      f"batch {batch}, event {i} of "
                      f"{json.dumps(makers[events[i][0]][0])}, {name}: "
                      f"{got!r}, expected {value!r}")


def as_babeltrace(trace):
    done = run(SONDE, "print", "--quiet", "--format", "babeltrace", trace)
    check_equal(done.returncode, 0, done.stderr)
    return done.stdout.splitlines()


@test
def labels_and_blobs_are_printed_as_by_babeltrace():
    """The text that 2.1.1 printed: labels of bits in the order of their names,
    of numbers in that of the metadata."""
    order = {"byte-order": "little-endian"}
    number = {"type": "fixed-length-unsigned-integer", "length": 8, **order}
    cls = {"type": "structure", "member-classes": [
        field("m", {"type": "fixed-length-bit-map", "length": 8, **order,
                    "flags": {"z": [[0, 0], [4, 4]], "b": [[1, 2]],
                              "a": [[1, 1], [3, 3]], 'é"q': [[7, 7]]}}),
        field("e", {**number, "mappings": {"z": [[0, 10]], "b": [[1, 20]],
                                           "a": [[2, 30]]}}),
        field("n", number),
        field("d", {"type": "dynamic-length-blob",
                    "length-field-location": {"path": ["n"]}})]}
    events = [{"m": m, "e": e, "n": len(d), "d": d} for m, e, d in
              [(0, 0, b""), (255, 5, b"\x01\xff"), (2, 15, b"\x09"),
               (0x20, 200, b"")]]
    trace = scratch() / "trace"
    write_trace(trace, [cls], [(0, event) for event in events])
    payloads = [line.partition(": ")[2] for line in as_babeltrace(trace)]
    check_equal(payloads, [
        '{ m = 0x0, e = ( "z" : container = 0 ), n = 0, d = { } }',
        '{ m = 0xFF { "a", "b", "z", "é\\"q" }, '
        'e = ( { "z", "b", "a" } : container = 5 ), n = 2, d = { 01 ff } }',
        '{ m = 0x2 { "a", "b" }, e = ( { "b", "a" } : container = 15 ), '
        'n = 1, d = { 09 } }',
        '{ m = 0x20, e = ( <unknown> : container = 200 ), n = 0, d = { } }',
    ], "payloads")


class Tolerable(Maker):
    """Without what babeltrace2 2.1.1 can't read: it ends at an empty static
    blob, and knows no floating-point numbers of 16 bits."""

    def make_blob(self):
        cls, value = super().make_blob()
        return (cls, value) if cls["length"] else self.make_blob()

    def make_float(self):
        cls, value = super().make_float()
        return (cls, value) if cls["length"] > 16 else self.make_float()


def babeltrace_2_1():
    command = shlex.split(os.environ.get("SONDE_BABELTRACE_2_1",
                                         "babeltrace2"))
    version = run(*command, "--version").stdout
    number = re.match(r"Babeltrace (\d+)\.(\d+)", version)
    if not number or (int(number[1]), int(number[2])) < (2, 1):
        raise Skip("no babeltrace2 of version 2.1")
    return command


@test
def any_field_classes_are_printed_as_by_babeltrace():
    command = babeltrace_2_1()
    print(f"SONDE_TEST_SEED={SEED}")
    for batch in range(50):
        rng = random.Random(f"{SEED} {batch} babeltrace")
        makers = [Tolerable(rng).make_struct(0) for _ in range(3)]
        events = [(which, makers[which][1](rng, {})[0])
                  for which in rng.choices(range(3), k=40)]
        trace = scratch() / "trace"
        write_trace(trace, [cls for cls, _ in makers], events)
        done = subprocess.run([*command, str(trace)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False)
        # An event that ends within the last byte: it tries to read another.
        check(done.returncode == 0 or b"0 bits of packet content remain"
              in done.stderr, done.stderr.decode(errors="replace"))
        check_equal(as_babeltrace(trace), done.stdout.decode().splitlines(),
                    f"batch {batch}")


@test
def a_number_far_outside_says_the_length():
    """Locations up, into a structure, and through an alias."""
    u8 = {"type": "fixed-length-unsigned-integer", "length": 8,
          "byte-order": "little-endian"}

    def text(path, **origin):
        return {"type": "dynamic-length-string",
                "length-field-location": {"path": path, **origin}}
    inner = {"type": "structure", "member-classes": [
        field("own", u8), field("a", text(["own"])),
        field("b", text([None, "s", "n"])),
        field("c", text(["n"], origin="event-record-payload"))]}
    payload = {"type": "structure", "member-classes": [
        field("n", u8),
        field("s", {"type": "structure", "member-classes": [field("n", u8)]}),
        field("list", {"type": "static-length-array", "length": 2,
                       "element-field-class": "inner"}),
        field("last", "inner")]}
    whole = json.loads(json.dumps(payload).replace('"inner"',
                                                   json.dumps(inner)))
    values = [{"own": i, "a": b"x" * i, "b": b"y" * 3, "c": b"z" * 5}
              for i in (2, 0, 4)]
    trace = scratch() / "trace"
    write_trace(trace, [payload],
                [(0, {"n": 5, "s": {"n": 3}, "list": values[:2],
                      "last": values[2]})],
                aliases=[("inner", inner)], whole=[whole])
    shown = [{**v, **{k: v[k].decode() for k in "abc"}} for v in values]
    check_equal(printed(trace), [{"n": 5, "s": {"n": 3}, "list": shown[:2],
                                  "last": shown[2]}], "payload")


# ---- headers ----

U8 = {"type": "fixed-length-unsigned-integer", "length": 8,
      "byte-order": "little-endian", "alignment": 8}
LEB128 = {"type": "variable-length-unsigned-integer"}
ID = {"roles": ["event-record-class-id"]}
TIME = {"roles": ["default-clock-timestamp"]}


def structure(**members):
    return {"type": "structure",
            "member-classes": [field(n, c) for n, c in members.items()]}


def bits(length, order):
    return {"type": "fixed-length-unsigned-integer", "length": length,
            "byte-order": order}


def lttng_compact(order):
    """Its header of 1.8: an escape in 5 bits, and a variant."""
    tag = bits(5, order)
    short = structure(time={**bits(27, order), **TIME})
    full = structure(id={**bits(32, order), "alignment": 8, **ID},
                     time={**bits(64, order), "alignment": 8, **TIME})
    last = {"at": 0}

    def fill(which, time):
        far = time - last["at"] >= 1 << 27
        last["at"] = time
        return {"tag": 31 if far else which,
                "v": (1, {"id": which, "time": time}) if far
                else (0, {"time": time & (1 << 27) - 1})}
    return {**structure(tag={**tag, **ID}, v={
        "type": "variant", "selector-field-location": {"path": ["tag"]},
        "options": [
            {"name": "compact", "field-class": short,
             "selector-field-ranges": [[0, 30]]},
            {"name": "extended", "field-class": full,
             "selector-field-ranges": [[31, 31]]}]}),
        "minimum-alignment": 8}, fill


def variable():
    """As few bytes as still say how far the clock went."""
    last = {"at": 0}

    def fill(which, time):
        ahead, last["at"] = time - last["at"], time
        for nr in range(1, 11):
            part = time & (1 << 7 * nr) - 1
            if ahead < 1 << 7 * nr and len(leb128(part, False)) == nr:
                return {"id": which, "time": part}
        return {"id": which, "time": time}
    return structure(time={**LEB128, **TIME}, id={**LEB128, **ID}), fill


def optional_time():
    """An event without a time happens when the one before it did."""
    last = {"at": 0}

    def fill(which, time):
        same, last["at"] = time == last["at"], time
        return {"id": which, "has": 0 if same else 1,
                "time": None if same else time}
    return structure(
        id={**U8, **ID}, has={**bits(1, "little-endian"),
                              "type": "fixed-length-boolean"},
        time={"type": "optional", "field-class": {**bits(64, "little-endian"),
                                                  **TIME},
              "selector-field-location": {"path": ["has"]}}), fill


@test
def events_have_headers_of_any_class():
    payloads = [structure(n=U8), structure(n=U8, text={
        "type": "null-terminated-string"})]
    times = [1, 1, 3, 130, 1 << 20, (1 << 27) + 7, (1 << 27) + 7,
             (1 << 27) + 75, 1 << 28, 1 << 40, (1 << 40) + 1, (1 << 62) + 99]
    values = [(i % 2, {"n": i, "text": b"t" * i} if i % 2 else {"n": i})
              for i in range(len(times))]
    for header, fill in (lttng_compact("little-endian"),
                         lttng_compact("big-endian"), variable(),
                         optional_time()):
        trace = scratch() / "trace"
        write_trace(trace, payloads, values, header=header, fill=fill,
                    times=times)
        done = run(SONDE, "print", "--json", "--quiet", trace)
        shown = [json.loads(line) for line in done.stdout.splitlines()]
        check_equal([e["payload"]["n"] for e in shown],
                    list(range(len(times))), f"{header}: {done.stderr}")
        check_equal([e["time_ns"] for e in shown], times, f"{header}")


U32 = {**U8, "length": 32}
UUID = bytes(range(100, 116))
HEAD = structure(
    magic={**U32, "roles": ["packet-magic-number"]},
    uuid={"type": "static-length-blob", "length": 16,
          "roles": ["metadata-stream-uuid"]},
    cls={**LEB128, "roles": ["data-stream-class-id"]},
    instance={**U32, "roles": ["data-stream-id"]}, h=U8)
TIMED = structure(
    c=U8, begin={**bits(64, "big-endian"), **TIME},
    end={**bits(64, "big-endian"),
         "roles": ["packet-end-default-clock-timestamp"]},
    total={**U32, "roles": ["packet-total-length"]})


def text_of(origin, name):
    return {"type": "dynamic-length-string",
            "length-field-location": {"origin": origin, "path": [name]}}


# The parts of an event, each with lengths in those before it.
SCOPES = {
    "event-record-header-field-class":
        structure(id={**U8, **ID}, time={**U8, **TIME}, e=U8),
    "event-record-common-context-field-class":
        structure(h=text_of("packet-header", "h"),
                  c=text_of("packet-context", "c"), k=U8),
    "specific-context-field-class":
        structure(e=text_of("event-record-header", "e"),
                  t=text_of("event-record-common-context", "k"), s=U8),
    "payload-field-class":
        structure(s=text_of("event-record-specific-context", "s"))}
BARE = structure(n=bits(3, "big-endian"), m=bits(5, "big-endian"))


def write_two_classes(directory):
    """The metadata: class 300 has all parts, class 0 nothing but a payload."""
    parts = list(SCOPES.items())
    write_metadata(directory, [
        preamble(uuid=list(UUID)),
        {"type": "trace-class", "packet-header-field-class": HEAD},
        {"type": "clock-class", "id": "main", "frequency": 1000,
         "offset-from-origin": {"seconds": 7, "cycles": 500}},
        {"type": "data-stream-class", "id": 300,
         "default-clock-class-id": "main",
         "packet-context-field-class": TIMED, **dict(parts[:2])},
        {"type": "event-record-class", "data-stream-class-id": 300,
         "id": 9, "name": "full", **dict(parts[2:])},
        {"type": "data-stream-class", "id": 0},
        {"type": "event-record-class", "data-stream-class-id": 0, "id": 0,
         "name": "bare", "payload-field-class": BARE}])


def begin_packet(cls, instance):
    packet = Packet()
    put(packet, HEAD, {"magic": 0xc1fc1fc1, "uuid": UUID, "cls": cls,
                       "instance": instance, "h": 2})
    return packet


@test
def streams_of_several_classes_have_their_own_contexts():
    """Packet headers with all roles; one stream class has no clock."""
    trace = scratch() / "trace"
    write_two_classes(trace)
    packet = begin_packet(300, 1)
    put(packet, TIMED, {"c": 3, "begin": 1000, "end": 1009, "total": 8 * 80})
    for i in range(2):
        values = ({"id": 9, "time": (1000 + i) & 0xff, "e": 1 + i},
                  {"h": b"hh", "c": b"ccc", "k": i},
                  {"e": b"e" * (1 + i), "t": b"t" * i, "s": 4},
                  {"s": b"ssss"})
        for cls, value in zip(SCOPES.values(), values):
            put(packet, cls, value)
    check_equal(packet.at, 8 * 80, "size")
    (trace / "full").write_bytes(packet.bytes)
    packet = begin_packet(0, 2)
    for i in range(5):
        put(packet, BARE, {"n": i, "m": 31 - i})
    (trace / "bare").write_bytes(packet.bytes)
    done = run(SONDE, "print", "--json", trace)
    check_equal((done.returncode, done.stderr), (0, ""), "sonde print")
    shown = [json.loads(line) for line in done.stdout.splitlines()]
    check_equal([e["payload"] for e in shown],
                [{"n": i, "m": 31 - i} for i in range(5)] +
                2 * [{"s": "ssss"}], "payloads")
    check_equal([e["time_ns"] for e in shown],
                5 * [None] + [8_500_000_000, 8_501_000_000], "times")
    check_equal([e["context"] for e in shown[5:]],
                [{"h": "hh", "c": "ccc", "k": i, "e": "e" * (1 + i),
                  "t": "t" * i, "s": 4} for i in range(2)], "contexts")


install()
main()
