#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_writers.py - traces as perf, barectf and LTTng write them, in the states
that they come in: rotated, after a crash, with losses, out of order, from
several machines at once. What is wrong is told and never fatal.

The traces are made by ctf1.py. babeltrace2 2.0.4 is asked where it can answer;
it stops at the first event that is out of order.
"""

import json
import os
import random
import uuid

from ctf1 import Int, String, Struct, Uuid, finish
from ctf2 import Packet
from sonde import SONDE, check, install, require, run, scratch
from harness import check_equal, main, test

NS = 10**9
BEGIN = 1_795_161_994 * NS  # 2026-11-20T08:06:34Z
UTC = {**os.environ, "TZ": "UTC"}


def uint(size, order, align=8, more=""):
    return Int(size, order, align, more=more)


class Writer:
    """A tracer of one event class, whose field `n` counts its events.
    `context` and `header` are pairs of a name and a size, in the order in
    which they are written."""

    def __init__(self, context, header, order="little-endian", env=(),
                 clock="", frequency=NS, name="app:event", fields=(),
                 uuid_bytes=bytes(range(16))):
        def struct_of(pairs):
            return Struct([(n, uint(size, order, 8, "map = clock.c.value; "
                                    if "timestamp" in n else ""))
                           for n, size in pairs])
        self.header = Struct([("magic", uint(32, order)),
                              ("uuid", Uuid(uuid_bytes)),
                              ("stream_instance_id", uint(64, order))])
        self.context = struct_of(context)
        self.event = struct_of(header)
        self.n = uint(32, order)
        self.fields = Struct([("n", self.n), *fields])
        self.rng = random.Random(1)
        byte_order = "le" if order == "little-endian" else "be"
        values = [f'{k} = "{v}";' if isinstance(v, str) else f"{k} = {v};"
                  for k, v in dict(env).items()]
        self.metadata = (
            "/* CTF 1.8 */\ntrace { major = 1; minor = 8; "
            f'uuid = "{uuid.UUID(bytes=uuid_bytes)}"; '
            f"byte_order = {byte_order};\n"
            f"packet.header := {self.header.spec()}; }};\n"
            f"env {{ {' '.join(values)} }};\n"
            f"clock {{ name = c; freq = {frequency}; {clock} }};\n"
            f"stream {{ packet.context := {self.context.spec()};\n"
            f"event.header := {self.event.spec()}; }};\n"
            f'event {{ name = "{name}"; id = 0; '
            f"fields := {self.fields.spec()}; }};\n")

    def packet(self, events, stream=0, **context):
        """A packet of events: pairs of a time, in the clock's ticks, and n.
        Of the context, what isn't given is as it should be."""
        packet = Packet()
        self.put(packet, self.header, magic=0xc1fc1fc1,
                 stream_instance_id=stream)
        times = [ticks for ticks, _ in events]
        values = {"timestamp_begin": min(times), "timestamp_end": max(times),
                  "cpu_id": stream, **context}
        self.put(packet, self.context, **values)
        sizes = {name: (kind, kind.at) for name, kind in self.context.fields
                 if name.endswith("_size")}
        for ticks, n in events:
            self.n.next = n
            self.put(packet, self.event, id=0, timestamp=ticks)
            self.fields.put(packet, self.rng)
        content, size = packet.at, packet.at + 512
        if "packet_size" not in sizes:
            size = content
        for name, (kind, kind.at) in sizes.items():
            kind.patch(packet, content if name == "content_size" else size)
        packet.at = size
        return finish(packet)

    def put(self, packet, struct, **values):
        for name, kind in struct.fields:
            kind.next = values.get(name, 0)
            if name == "timestamp":
                kind.next &= (1 << kind.size) - 1
        struct.put(packet, self.rng)

    def write(self, directory, **streams):
        """Streams by their names: lists of packets."""
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "metadata").write_text(self.metadata)
        for name, packets in streams.items():
            (directory / name).write_bytes(b"".join(packets))
        return directory


TIMES = [("timestamp_begin", 64), ("timestamp_end", 64)]
SIZES = [("content_size", 64), ("packet_size", 64)]
LOSSES = [("packet_seq_num", 64), ("events_discarded", 64)]
LTTNG_CONTEXT = TIMES + SIZES + LOSSES + [("cpu_id", 32)]
PLAIN_HEADER = [("id", 16), ("timestamp", 64)]


def lttng(**more):
    return Writer(LTTNG_CONTEXT, PLAIN_HEADER,
                  env={"hostname": "made", "domain": "kernel",
                       "tracer_name": "lttng-modules", "tracer_major": 2,
                       "tracer_minor": 13},
                  clock=f"offset = {BEGIN}; absolute = true;", **more)


def show(*words, status=0):
    """Objects, and what is said on standard error."""
    done = run(SONDE, "print", "--json", *words, env=UTC)
    check_equal(done.returncode, status, done.stderr)
    return [json.loads(x) for x in done.stdout.splitlines()], done.stderr


def numbers(events):
    return [e["payload"]["n"] for e in events]


def same_text(*paths):
    """The same as babeltrace2's."""
    require("babeltrace2")
    theirs = run("babeltrace2", *paths, env=UTC)
    check_equal(theirs.returncode, 0, theirs.stderr)
    ours = run(SONDE, "print", "--format", "babeltrace", *paths, env=UTC)
    check_equal(ours.stdout, theirs.stdout, "text")
    check(ours.stdout, "there are no events")


# ---- layouts ----

@test
def perf_s_wide_headers_are_read():
    """perf data convert --to-ctf: a stream for each CPU, ids of 64 bits."""
    order = "little-endian"
    perf = Writer(
        [("cpu_id", 32), *TIMES, *SIZES, *LOSSES],
        [("id", 64), ("timestamp", 64)],
        env={"host": "made", "sysname": "Linux", "tracer_name": "perf",
             "tracer_major": 6, "tracer_minor": 1},
        clock=f"offset_s = {BEGIN // NS}; absolute = true;",
        name="cpu-clock", fields=[
            ("perf_ip", Int(64, order, 8, base=16)),
            ("perf_tid", Int(32, order, 8, signed=True)),
            ("perf_callchain_size", uint(8, order)), ("comm", String(1))])
    trace = perf.write(
        scratch() / "perf",
        perf_stream_0=[perf.packet([(100, 0), (300, 2)])],
        perf_stream_1=[perf.packet([(200, 1), (400, 3)], stream=1)])
    events, said = show(trace)
    check_equal(numbers(events), [0, 1, 2, 3], "events")
    check_equal([e["cpu"] for e in events], [0, 1, 0, 1], "CPUs")
    check_equal(events[3]["time_ns"], BEGIN + 400, "time")
    check_equal((events[0]["event"], said), ("cpu-clock", ""), "name")
    same_text(trace)


@test
def barectf_s_48_bit_times_before_ids_are_read():
    """Big endian, one packet in each file, without sizes: as small devices
    with a slow clock write it."""
    barectf = Writer(TIMES, [("timestamp", 48), ("id", 16)], "big-endian",
                     frequency=1_000_000, clock="offset_s = 1000;")
    ticks = [(1 << 48) - 5, (1 << 48) + 5, (1 << 48) + 70]
    trace = barectf.write(scratch() / "barectf", only=[
        barectf.packet([(t, i) for i, t in enumerate(ticks)])])
    events, said = show(trace)
    check_equal([e["time_ns"] for e in events],
                [1000 * NS + 1000 * t for t in ticks], "times")
    check_equal((numbers(events), said), ([0, 1, 2], ""), "events")
    same_text(trace)


@test
def unpadded_packets_without_a_packet_size_follow_one_another():
    writer = Writer([("content_size", 32), *TIMES], [("timestamp", 48),
                                                     ("id", 16)], "big-endian")
    trace = writer.write(scratch() / "trace", stream=[
        writer.packet([(1000 * i + k, 3 * i + k) for k in range(3)])
        for i in range(4)])
    events, said = show(trace)
    check_equal((numbers(events), said), (list(range(12)), ""), "events")
    same_text(trace)


# ---- LTTng's states ----

def chunk(writer, directory, number):
    """Two streams of a packet each; the numbers go on from chunk to chunk."""
    def packet(stream):
        first = 100 * number + stream
        return writer.packet([(1000 * (first + k), first + k)
                              for k in (0, 2, 4)], stream,
                             packet_seq_num=number, events_discarded=7)
    return writer.write(directory, channel0_0=[packet(0)],
                        channel0_1=[packet(1)])


@test
def rotated_chunks_are_one_trace():
    """Several directories with one UUID, one by one or from the top, in any
    order. Losses are counted once, and from chunk to chunk."""
    top = scratch() / "session"
    writer = lttng()
    chunks = [chunk(writer, top / f"archives/2026112{i}T08-{i}" / "kernel", i)
              for i in range(3)]
    expected = [100 * i + k for i in range(3) for k in range(6)]
    for paths in [top], chunks, chunks[::-1], [chunks[1], top]:
        events, said = show(*paths)
        check_equal(numbers(events), expected, f"events of {paths}")
        check("lost 14 events and 0 packets" in said, said)
    same_text(top)


@test
def a_missing_chunk_is_told_as_lost_packets():
    top = scratch() / "session"
    writer = lttng()
    for i in (0, 2):
        chunk(writer, top / str(i), i)
    events, said = show(top)
    check_equal(len(events), 12, "events")
    check("lost 14 events and 2 packets" in said, said)


@test
def a_crashed_tracer_s_packets_are_read():
    """lttng-crash: nobody came to write the end's time of the last packet."""
    writer = lttng()
    packets = [writer.packet([(1000, 0), (2000, 1)]),
               writer.packet([(3000, 2), (4000, 3)], packet_seq_num=1,
                             timestamp_end=0)]
    trace = writer.write(scratch() / "trace", channel0_0=packets)
    check_equal(numbers(show(trace)[0]), [0, 1, 2, 3], "events")
    at = f"{BEGIN // NS}.{BEGIN % NS + 3500:09}"
    check_equal(numbers(show("--from", at, trace)[0]), [3], "from")
    check_equal(run(SONDE, "check", trace).returncode, 0, "check")


@test
def a_count_of_lost_events_that_goes_back_is_no_loss():
    writer = lttng()
    packets = [writer.packet([(1000 * i, i)], packet_seq_num=i,
                             events_discarded=count)
               for i, count in enumerate([5, 9, 2, 3])]
    trace = writer.write(scratch() / "trace", channel0_0=packets)
    events, said = show(trace)
    check_equal(len(events), 4, "events")
    check("lost 10 events" in said, said)


# ---- out of order ----

@test
def events_that_are_a_little_out_of_order_are_sorted_and_counted():
    writer = lttng()
    order = [0, 1, 3, 2, 4, 7, 5, 6, 8]
    trace = writer.write(scratch() / "trace", channel0_0=[
        writer.packet([(1000 * n, n) for n in order],
                      timestamp_begin=0, timestamp_end=9000)])
    events, said = show(trace)
    check_equal(numbers(events), sorted(order), "events")
    check("3 events are earlier" in said, f"said: {said}")
    back = show("--reverse", trace)[0]
    check_equal(numbers(back), sorted(order, reverse=True), "reverse")


@test
def events_that_are_far_out_of_order_are_all_there():
    """More than a reader keeps ahead: they come late, none is lost."""
    writer = lttng()
    order = list(range(1000, 3000)) + list(range(1000)) + [3000]
    trace = writer.write(scratch() / "trace", channel0_0=[
        writer.packet([(1000 * n, n) for n in order],
                      timestamp_begin=0, timestamp_end=3_000_000)])
    events, said = show(trace, "--threads", 1)
    check_equal(sorted(numbers(events)), list(range(3001)), "events")
    check_equal(show(trace, "--threads", 3), (events, said), "in parallel")
    check("1000 events are earlier" in said, f"said: {said}")
    status = run(SONDE, "check", "--strict", trace).returncode
    check_equal(status, 3, "check --strict")


@test
def packets_out_of_order_are_sorted():
    writer = lttng()
    packets = [writer.packet([(1000 * n + k, 10 * n + k) for k in range(3)],
                             packet_seq_num=n) for n in range(5)]
    trace = writer.write(scratch() / "trace", channel0_0=[
        packets[i] for i in (0, 3, 1, 4, 2)])
    expected = [10 * n + k for n in range(5) for k in range(3)]
    check_equal(numbers(show(trace)[0]), expected, "events")


# ---- several machines ----

def two_machines():
    """A server that counts nanoseconds, a device that counts at 32768 Hz; they
    take turns, each 1/64 of a second."""
    server = lttng()
    device = Writer(TIMES + SIZES, PLAIN_HEADER, "big-endian",
                    frequency=32768, env={"hostname": "device"},
                    clock=f"offset_s = {BEGIN // NS - 5}; "
                    f"offset = {5 * 32768}; absolute = true;",
                    uuid_bytes=bytes(range(16, 32)))
    top = scratch()
    even = [(n * NS // 64, n) for n in range(0, 128, 2)]
    odd = [(n * 32768 // 64, n) for n in range(1, 128, 2)]
    return [server.write(top / "server", cpu0=[server.packet(even)]),
            device.write(top / "device", cpu0=[device.packet(odd)])]


@test
def traces_of_several_machines_are_merged_by_their_clocks():
    paths = two_machines()
    events, said = show(*paths)
    check_equal((numbers(events), said), (
        list(range(128)), "sonde: these are traces of several machines whose "
        "clocks were not compared, so the order of their events isn't known: "
        "sonde sync --write\n"), "events")
    check_equal([e["time_ns"] for e in events],
                [BEGIN + n * NS // 64 for n in range(128)], "times")
    same_text(*paths)


@test
def spans_and_times_in_filters_mean_the_same_in_each_of_them():
    paths = two_machines()
    expected = list(range(32, 97))  # from half a second to one and a half
    for words in (["--from", "08:06:34.5", "--to", "08:06:35.5"],
                  ["--from", "+500ms", "--to", "+1500ms"],
                  ["--from", f"{BEGIN // NS}.5", "--to",
                   f"{BEGIN // NS + 1}.5"],
                  ["-f", "time >= 08:06:34.5 && $time <= 08:06:35.5"],
                  ["-f", "time >= begin + 500ms && time <= begin + 1.5s"],
                  ["-f", "time >= 2026-11-20T08:06:34.5Z && "
                   "time <= 2026-11-20T08:06:35.5Z"]):
        check_equal(numbers(show(*words, *paths)[0]), expected, str(words))


install()
main()
