#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_export.py - `sonde export`: other programs' files, read back by readers
that know nothing of Sonde.

Perfetto itself is not here. Its files are taken apart by a reader of Protocol
Buffers' wire format that is written for this test, and put together again by the
rules of Perfetto's documentation: interned names, tracks, slices that nest. The
numbers of fields stand here once more, by name; that they are Perfetto's was
compared with its published definitions by hand.
"""

import csv
import io
import json
import shutil
import struct
import subprocess
import tarfile

from sonde import SONDE, build, check, install, record_ok, run, scratch
from handmade import Handmade, Layout
from stories import START, two_hosts
from harness import Skip, check_equal, main, test


def export(trace, form, *options, status=0):
    """The file's bytes, and what was said."""
    path = scratch() / "out"
    done = run(SONDE, "export", "--to", form, "-o", path, *options, trace)
    check_equal(done.returncode, status, f"status: {done.stderr}")
    return path.read_bytes() if status == 0 else b"", done.stderr


# ---- Protocol Buffers ----

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            check(shift <= 70, "a varint of more than ten bytes")
            return value, at


def wire(data):
    """The fields of a message: (number, value), in order."""
    at, out = 0, []
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 1:
            value, at = data[at:at + 8], at + 8
        elif tag & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            check_equal(len(value), size, "bytes of a field")
        else:
            raise AssertionError(f"wire type {tag & 7}")
        out.append((tag >> 3, value))
    return out


def signed(value):
    return value - 2**64 if value >> 63 else value


def text(value):
    return value.decode()


def double(value):
    return struct.unpack("<d", value)[0]


class Message:
    """A type: field numbers to names and types."""

    def __init__(self, **fields):
        self.fields = {number: (name, kind) for name, (number, kind)
                       in fields.items()}

    def __call__(self, data):
        out = {}
        for number, value in wire(data):
            check(number in self.fields, f"field {number} in {data!r}")
            name, kind = self.fields[number]
            out.setdefault(name, []).append(kind(value))
        return out


ANNOTATION = Message(name_iid=(1, int), bool_value=(2, bool),
                     uint_value=(3, int), int_value=(4, signed),
                     double_value=(5, double), string_value=(6, text),
                     pointer_value=(7, int), name=(10, text))
ANNOTATION.fields[11] = ("dict_entries", ANNOTATION)
ANNOTATION.fields[12] = ("array_values", ANNOTATION)
NAME = Message(iid=(1, int), name=(2, text))
TRACK_EVENT = Message(debug_annotations=(4, ANNOTATION), type=(9, int),
                      name_iid=(10, int), track_uuid=(11, int),
                      name=(23, text), counter_value=(30, signed),
                      double_counter_value=(44, double))
TRACK = Message(uuid=(1, int), name=(2, text),
                process=(3, Message(pid=(1, signed), process_name=(6, text))),
                thread=(4, Message(pid=(1, signed), tid=(2, signed),
                                   thread_name=(5, text))),
                parent_uuid=(5, int), counter=(8, Message()))
SWITCH = Message(prev_comm=(1, text), prev_pid=(2, signed),
                 prev_prio=(3, signed), prev_state=(4, signed),
                 next_comm=(5, text), next_pid=(6, signed),
                 next_prio=(7, signed))
FTRACE = Message(cpu=(1, int), event=(2, Message(
    timestamp=(1, int), pid=(2, int), sched_switch=(4, SWITCH),
    sched_waking=(20, Message(comm=(1, text), pid=(2, signed))))))
CLOCK = Message(clock_id=(1, int), timestamp=(2, int))
PACKET = Message(
    ftrace_events=(1, FTRACE),
    chrome_events=(5, Message(metadata=(2, Message(
        name=(1, text), string_value=(2, text))))),
    clock_snapshot=(6, Message(clocks=(1, CLOCK),
                               primary_trace_clock=(2, int))),
    timestamp=(8, int), trusted_packet_sequence_id=(10, int),
    track_event=(11, TRACK_EVENT),
    interned_data=(12, Message(event_names=(2, NAME),
                               debug_annotation_names=(3, NAME))),
    sequence_flags=(13, int), previous_packet_dropped=(42, int),
    system_info=(45, Message(utsname=(1, Message(
        sysname=(1, text), version=(2, text), release=(3, text),
        machine=(4, text))))),
    track_descriptor=(60, TRACK), first_packet_on_sequence=(87, int))
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


class Perfetto:
    """A Perfetto trace: tracks by uuid, events in order of the file."""

    def __init__(self, data):
        self.packets = [PACKET(value) for number, value in wire(data)
                        if check_equal(number, 1, "a packet's field") is None]
        self.tracks = {}
        self.names = {"event_names": {}, "debug_annotation_names": {}}
        self.events = []
        self.switches = []
        self.woken = []
        first = self.packets[0]
        check_equal(first["sequence_flags"], [3], "the first packet's flags")
        check_equal(first["first_packet_on_sequence"], [1], "first")
        for packet in self.packets:
            check_equal(packet["trusted_packet_sequence_id"],
                        first["trusted_packet_sequence_id"], "sequence")
            self.packet(packet)

    def packet(self, packet):
        for kind, names in packet.get("interned_data", [{}])[0].items():
            for name in names:
                iid = name["iid"][0]
                check(iid not in self.names[kind], f"{iid} is told twice")
                self.names[kind][iid] = name["name"][0]
        for track in packet.get("track_descriptor", []):
            self.tracks[track["uuid"][0]] = track
        for event in packet.get("track_event", []):
            check_equal(packet["sequence_flags"], [2], "flags")
            self.event(packet["timestamp"][0], event)
        for bundle in packet.get("ftrace_events", []):
            for event in bundle["event"]:
                if "sched_waking" in event:
                    self.woken += event["sched_waking"][0]["pid"]
                else:
                    self.switches.append((bundle["cpu"][0], event))

    def event(self, time, event):
        track = event["track_uuid"][0]
        check(track in self.tracks, f"track {track} has no description")
        name = None
        if "name_iid" in event:
            name = self.names["event_names"][event["name_iid"][0]]
        value = (event.get("counter_value") or
                 event.get("double_counter_value") or [None])[0]
        self.events.append((time, track, event["type"][0],
                            name, value, self.annotations(event)))

    def annotations(self, event, kind="debug_annotations"):
        out = {}
        for item in event.get(kind, []):
            name = self.names["debug_annotation_names"][item["name_iid"][0]]
            out[name] = self.value(item)
        return out

    def value(self, item):
        if "dict_entries" in item:
            return self.annotations(item, "dict_entries")
        if "array_values" in item:
            return [self.value(e) for e in item["array_values"]]
        values = [v[0] for k, v in item.items() if k != "name_iid"]
        return values[0] if values else None

    def slices(self):
        """(thread's tid or track's name, begin, end, depth, name)."""
        open_slices, out = {}, []
        for time, track, kind, name, _, _ in self.events:
            stack = open_slices.setdefault(track, [])
            if kind == BEGIN:
                stack.append((time, name))
            elif kind == END:
                begin, name = stack.pop()
                out.append((self.label(track), begin, time, len(stack), name))
        check(not any(open_slices.values()), "slices without an end")
        return sorted(out, key=str)

    def label(self, track):
        track = self.tracks[track]
        return (track["thread"][0]["tid"] if "thread" in track
                else track["name"])[0]


# ---- traces ----

LAYOUT = Layout(context=[("vtid", 32, 8), ("vpid", 32, 8)],
                events={"app:work_begin": [("n", 32, 8)],
                        "app:work_end": [("addr", 64, 8)],
                        "app:note": [("text", "string", 8), ("n", 16, 8)]})


def small():
    trace = Handmade(LAYOUT)
    one, two = {"vtid": 11, "vpid": 10}, {"vtid": 10, "vpid": 10}
    with trace.stream("s", cpu=3) as stream, stream.packet(1000, 2000):
        stream.event("app:work_begin", 1100, one, n=1)
        stream.event("app:work_begin", 1200, two, n=2)
        stream.event("app:note", 1250, two, text='say "a, b"\nc', n=5)
        stream.event("app:work_begin", 1300, one, n=3)
        stream.event("app:work_end", 1400, one, addr=0xff)
        stream.event("app:work_end", 1500, two, addr=0)
        stream.event("app:note", 1600, one, text="", n=7)
        stream.event("app:work_end", 1700, one, addr=1)
    return trace.dir


SPANS = [(10, 1200, 1500, 0, "app:work"), (11, 1100, 1700, 0, "app:work"),
         (11, 1300, 1400, 1, "app:work")]

KERNEL = Layout(events={
    "sched_switch": [("prev_comm", "string", 8), ("prev_tid", 32, 8),
                     ("prev_prio", 32, 8), ("prev_state", 64, 8),
                     ("next_comm", "string", 8), ("next_tid", 32, 8),
                     ("next_prio", 32, 8)],
    "sched_waking": [("comm", "string", 8), ("tid", 32, 8)],
    "syscall_entry_read": [("fd", 32, 8)],
    "syscall_exit_read": [("ret", 64, 8)],
    "irq_softirq_entry": [("vec", 32, 8)],
    "irq_softirq_exit": [("vec", 32, 8)],
    "timer_start": [("timer", 64, 8)]})


def kernel(*env):
    trace = Handmade(KERNEL, env=[("domain", "kernel"), ("sysname", "Linux"),
                                  ("kernel_release", "6.1.0"), *env])

    def switch(stream, time, old, new):
        stream.event("sched_switch", time, prev_comm=f"c{old}", prev_tid=old,
                     prev_prio=20, prev_state=2, next_comm=f"c{new}",
                     next_tid=new, next_prio=19)

    with trace.stream("c0", cpu=0) as stream, stream.packet(1, 200):
        switch(stream, 10, 0, 7)
        stream.event("syscall_entry_read", 20, fd=3)
        stream.event("irq_softirq_entry", 22, vec=1)
        stream.event("irq_softirq_exit", 24, vec=1)
        switch(stream, 30, 7, 8)
        stream.event("timer_start", 40, timer=5)
        switch(stream, 60, 8, 7)
        stream.event("syscall_exit_read", 80, ret=4)
        stream.event("sched_waking", 90, comm="c9", tid=9)
        stream.event("sched_waking", 95, comm="c7", tid=7)
    return trace.dir


# Of 7 alone: 8 and 9 are strangers, and so is who is idle.
SCOPED = [("kernel_scope", "program"), ("kernel_root", 7)]


# ---- Perfetto ----

@test
def perfetto_has_slices_on_the_tracks_of_threads():
    perfetto = Perfetto(export(small(), "perfetto")[0])
    check_equal(perfetto.slices(), SPANS, "slices")
    for track in perfetto.tracks.values():
        if "thread" in track:
            check_equal(track["thread"][0]["pid"], [10], "process of a thread")
            parent = perfetto.tracks[track["parent_uuid"][0]]
            check_equal(parent["process"][0]["pid"], [10], "process")


@test
def perfetto_has_fields_as_annotations():
    perfetto = Perfetto(export(small(), "perfetto")[0])
    notes = [(time, name, fields) for time, _, kind, name, _, fields
             in perfetto.events if kind == INSTANT]
    check_equal(notes, [(1250, "app:note", {"text": 'say "a, b"\\nc', "n": 5}),
                        (1600, "app:note", {"text": "", "n": 7})], "instants")
    begins = [fields for *_, kind, name, _, fields in perfetto.events
              if kind == BEGIN]
    check_equal(begins, [{"n": 1}, {"n": 2}, {"n": 3}], "begins")
    ends = [fields["addr"] for *_, kind, _, _, fields in perfetto.events
            if kind == END]
    check_equal(ends, [0xff, 0, 1], "ends")


def clocks(traces):
    """What Perfetto's metadata say of machines' clocks, and a browser's."""
    perfetto = Perfetto(export(traces[0], "perfetto", *traces[1:])[0])
    metadata = [m for packet in perfetto.packets for bundle in
                packet.get("chrome_events", []) for m in bundle["metadata"]]
    chrome = json.loads(export(traces[0], "chrome", *traces[1:])[0])["otherData"]["clocks"]
    return ({m["name"][0]: m["string_value"][0] for m in metadata},
            {c["host"]: (c["on"], c["within_ns"], c["at_all_times"])
             for c in chrome})


@test
def machines_clocks_and_their_bounds_are_in_metadata():
    traces = two_hosts()
    check_equal(clocks(traces), (
        {"clock of web": "put on web's, within 25000 ns of it",
         "clock of db": "put on web's, within 25000 ns of it"},
        {"web": ("web", 25000, True), "db": ("web", 25000, True)}), "both")
    line = traces[1] / "user" / ".clock"
    head, *_ = line.read_text().partition("at ")
    for points, text, told in (
            (f"at {START + 1_050_000} 24996\nat {START + 10**7} 24996\n",
             ", within 25000 ns of it; at some times that isn't known",
             ("web", 25000, False)),
            ("at 1 24996\n", "; how well isn't known", ("web", None, False))):
        line.write_text(head + points)
        check_equal((clocks(traces)[0]["clock of db"],
                     clocks(traces)[1]["db"]), (f"put on web's{text}", told),
                    points)
    line.unlink()
    check_equal(sorted(clocks(traces)[1]), ["web"], "without a line")


@test
def perfetto_has_counters():
    perfetto = Perfetto(export(small(), "perfetto", "--counter", "n", "--counter",
                               "n / 2.0 - 4")[0])
    counts = [(time, perfetto.label(track), value) for time, track, kind, _,
              value, _ in perfetto.events if kind == COUNTER]
    check_equal(counts[:4], [(1100, "n", 1), (1100, "n / 2.0 - 4", -3.5),
                             (1200, "n", 2), (1200, "n / 2.0 - 4", -3.0)],
                "counts")
    check_equal(len(counts), 10, "counts")


@test
def perfetto_has_a_kernels_switches():
    perfetto = Perfetto(export(kernel(), "perfetto")[0])
    told = [(cpu, event["timestamp"][0], event["sched_switch"][0]["prev_pid"],
             event["sched_switch"][0]["next_pid"],
             event["sched_switch"][0]["next_comm"])
            for cpu, event in perfetto.switches]
    check_equal(told, [(0, 10, [0], [7], ["c7"]), (0, 30, [7], [8], ["c8"]),
                       (0, 60, [8], [7], ["c7"])], "switches")
    check_equal(perfetto.switches[1][1]["sched_switch"][0],
                {"prev_comm": ["c7"], "prev_pid": [7], "prev_prio": [20],
                 "prev_state": [2], "next_comm": ["c8"], "next_pid": [8],
                 "next_prio": [19]}, "a switch")
    check_equal(perfetto.slices(), [("CPU 0", 22, 24, 0, "softirq 1"),
                                    (7, 20, 80, 0, "read")], "slices")
    names = {t["thread"][0]["tid"][0]: t["thread"][0]["thread_name"]
             for t in perfetto.tracks.values() if "thread" in t}
    check_equal(names, {7: ["c7"], 8: ["c8"], 0: ["idle"]}, "names of threads")
    check_equal(perfetto.woken, [9, 7], "wake-ups")
    instants = [(time, perfetto.label(track), name) for
                time, track, kind, name, _, _ in perfetto.events
                if kind == INSTANT]
    check_equal(instants, [(40, 8, "timer_start")], "instants")
    system = [p["system_info"][0] for p in perfetto.packets
              if "system_info" in p]
    check_equal(system[0]["utsname"][0],
                {"sysname": ["Linux"], "release": ["6.1.0"]}, "the system")


@test
def perfetto_has_no_runs_of_threads_that_a_trace_is_not_of():
    out, err = export(kernel(*SCOPED), "perfetto")
    perfetto = Perfetto(out)
    told = [(event["timestamp"][0], event.get("pid", [None])[0],
             event["sched_switch"][0]) for _, event in perfetto.switches]
    seven = {"prev_comm": ["c7"], "prev_pid": [7], "prev_prio": [20],
             "prev_state": [2], "next_pid": [0]}
    to_seven = {"prev_pid": [0], "next_comm": ["c7"], "next_pid": [7],
                "next_prio": [19]}
    check_equal(told, [(10, 0, to_seven), (30, 7, seven), (60, 0, to_seven)],
                "switches")
    check_equal(perfetto.woken, [7], "wake-ups")
    check("1 runs of other programs' threads were left out" in err, err)
    # Where it isn't known whose the threads are, all is shown, and said.
    out, err = export(kernel(SCOPED[0]), "perfetto")
    check_equal(len(Perfetto(out).switches), 3, "switches")
    check("doesn't say which threads" in err, err)


GROUPS = r"""
#include <sonde/tracepoint.h>

int main(void)
{
	static const int list[] = { 3, -4 };
	static const char long_text[300] = { [0 ... 298] = 'x' };
	int n = -5;

	sonde_event(app, group, sonde_array(list, list, 2),
		    sonde_struct(s, n, sonde_struct(inner, n)),
		    sonde_enum(e, 1, sonde_label("one", 1)),
		    sonde_string(text, long_text), sonde_field(d, 0.5));
	return 0;
}
"""


@test
def perfetto_has_structures_and_arrays():
    trace = record_ok(build(GROUPS))
    perfetto = Perfetto(export(trace.dir, "perfetto")[0])
    check_equal(perfetto.events[0][5],
                {"list": [3, -4], "s": {"n": -5, "inner": {"n": -5}},
                 "e": "one", "text": "x" * 299, "d": 0.5}, "fields")
    process = [t["process"][0]["process_name"]
               for t in perfetto.tracks.values() if "process" in t]
    check_equal(process, [["program"]], "the process's name")


@test
def protoc_can_read_it():
    protoc = shutil.which("protoc")
    if not protoc:
        raise Skip("no protoc here")
    data, _ = export(kernel(), "perfetto")
    done = subprocess.run([protoc, "--decode_raw"], input=data,
                          capture_output=True)
    check_equal(done.returncode, 0, f"protoc: {done.stderr}")


# ---- Chrome ----

def chrome(trace, *options):
    return json.loads(export(trace, "chrome", *options)[0])


@test
def chrome_has_begins_and_ends_that_nest():
    out = chrome(small())
    begin = int(out["otherData"]["begin_ns"])
    stacks, spans = {}, []
    for event in out["traceEvents"]:
        stack = stacks.setdefault(event["tid"], [])
        if event["ph"] == "B":
            check_equal(event["pid"], 10, "pid")
            stack.append(event)
        elif event["ph"] == "E":
            first = stack.pop()
            spans.append((event["tid"],
                          begin + round(first["ts"] * 1000),
                          begin + round(event["ts"] * 1000),
                          len(stack), first["name"]))
    check_equal(sorted(spans), SPANS, "spans")
    notes = [e["args"] for e in out["traceEvents"] if e["ph"] == "i"]
    check_equal(notes, [{"text": 'say "a, b"\nc', "n": 5},
                        {"text": "", "n": 7}], "instants")


@test
def chrome_has_what_ran_on_a_cpu():
    runs = [(e["tid"], e["ts"], e["dur"], e["name"])
            for e in chrome(kernel())["traceEvents"] if e["ph"] == "X"]
    check_equal(runs, [(0, 0.009, 0.020, "c7"), (0, 0.029, 0.030, "c8")],
                "runs")


@test
def chrome_has_no_runs_of_threads_that_a_trace_is_not_of():
    out, err = export(kernel(*SCOPED), "chrome")
    runs = [(e["ts"], e["dur"], e["name"])
            for e in json.loads(out)["traceEvents"] if e["ph"] == "X"]
    check_equal(runs, [(0.009, 0.020, "c7")], "runs")
    check("1 runs of other programs' threads were left out" in err, err)


@test
def chrome_has_counters():
    counts = [(e["name"], e["args"]["value"]) for e in
              chrome(small(), "--counter", "n * 2")["traceEvents"]
              if e["ph"] == "C"]
    check_equal(counts, [("n * 2", n * 2) for n in (1, 2, 5, 3, 7)], "counts")


# ---- lines ----

def rows(trace, *options):
    data, _ = export(trace, "csv", *options)
    return list(csv.DictReader(io.StringIO(data.decode(), newline="")))


@test
def csv_has_a_column_for_each_field_asked_for():
    got = rows(small(), "--fields", "n,text", "-f", "vtid == 10")
    check_equal(got[0], {"time_ns": "1200", "cpu": "3", "pid": "10",
                         "tid": "10", "event": "app:work_begin", "n": "2",
                         "text": ""}, "a row")
    check_equal(got[1]["text"], 'say "a, b"\nc', "quoted")
    check_equal(len(got), 3, "rows")


@test
def csv_has_a_column_for_each_field_of_the_events_that_occur():
    got = rows(small())
    head = ["time_ns", "cpu", "pid", "tid", "event"]
    check_equal([*got[0]][:5], head, "the first columns")
    check_equal(sorted([*got[0]][5:]), ["addr", "n", "text"], "the others")
    check_equal([(r["n"], r["text"], r["addr"]) for r in got[-2:]],
                [("7", "", ""), ("", "", "0x1")], "fields")
    check_equal(len(got), 8, "rows")
    # those alone that are exported
    got = rows(small(), "-f", "addr == 1")
    check_equal([*got[0]], head + ["addr"], "columns of one event")


@test
def csv_knows_what_filters_know_of_all_events():
    got = rows(small(), "--fields", "n,event,time,cpu,tid,pid,procname")
    check_equal([(r["event"], r["time_ns"]) for r in got][:2],
                [("app:work_begin", "1100"), ("app:work_begin", "1200")],
                "columns")
    done = export(small(), "csv", "--fields", "event,time")[0].decode()
    check_equal(done.splitlines()[1].split(",")[-2:],
                ["app:work_begin", "1100"], "what is asked for")


@test
def csv_refuses_a_field_that_nothing_has():
    _, said = export(small(), "csv", "--fields", "n,nope", status=2)
    check("'nope'" in said, f"it says {said!r}")


@test
def csv_knows_the_threads_of_a_kernel():
    got = rows(kernel(), "-f", '$event != "sched_*"')
    check_equal([r["tid"] for r in got], ["7", "7", "7", "8", "7"], "threads")


@test
def json_lines_are_those_of_print():
    lines = export(small(), "jsonl")[0].decode()
    check_equal(lines, run(SONDE, "print", "--json", small()).stdout, "lines")
    check_equal([json.loads(line)["time_ns"] for line in lines.splitlines()],
                [1100, 1200, 1250, 1300, 1400, 1500, 1600, 1700], "times")


@test
def folded_stacks_are_those_of_flame():
    data, _ = export(small(), "folded")
    check_equal(data.decode(), run(SONDE, "flame", "--folded", small()).stdout,
                "stacks")
    check_equal(data, b"app:work 800\napp:work;app:work 100\n", "stacks")


# ---- traces ----

def unpacked(data):
    """What GNU tar, and Python's, make of an archive: bytes by path."""
    archive, folder = scratch() / "archive", scratch() / "unpacked"
    archive.write_bytes(data)
    folder.mkdir()
    done = run("tar", "-xf", archive, "-C", folder)
    check_equal((done.returncode, done.stderr), (0, ""), "tar")
    files = {str(path.relative_to(folder)): path.read_bytes()
             for path in folder.rglob("*") if path.is_file()}
    with tarfile.open(archive) as members:
        check_equal({each.name: members.extractfile(each).read()
                     for each in members}, files, "Python's")
    return files


def check_ctf(trace, *options):
    """The archive has the files that `sonde cut` makes; returns their names."""
    to = scratch() / "wanted"
    done = run(SONDE, "cut", "-q", "-o", to, *options, trace)
    check_equal((done.returncode, done.stderr), (0, ""), "sonde cut")
    wanted = {f"cut/{path.relative_to(to)}": path.read_bytes()
              for path in to.rglob("*") if path.is_file()}
    check_equal(unpacked(export(trace, "ctf", *options)[0]), wanted, "files")
    return set(wanted)


@test
def ctf_is_the_cut_in_an_archive():
    check_equal(check_ctf(small(), "-f", 'event == "app:note"'),
                {"cut/metadata", "cut/s"}, "names")
    check_equal(check_ctf(small(), "--from", "1s"), {"cut/metadata"},
                "names of nothing")


@test
def ctf_has_a_folder_for_each_trace():
    both = scratch() / "both"
    for i, trace in enumerate([small(), kernel()]):
        shutil.copytree(trace, both / f"of-{i}")
    check_equal(len(check_ctf(both)), 4, "files")


@test
def ctf_has_names_that_a_head_has_no_room_for():
    long = {length: "s" * length for length in (96, 97, 200, 255)}
    trace = Handmade(LAYOUT)
    for i, name in enumerate(long.values()):
        with trace.stream(name, cpu=i) as stream, stream.packet(1000, 2000):
            stream.event("app:note", 1000 + i, {"vtid": 1, "vpid": 1},
                         text="", n=i)
    check_equal(check_ctf(trace.dir),
                {f"cut/{name}" for name in ["metadata", *long.values()]},
                "names")


@test
def ctf_of_packets_without_sizes_is_refused_in_words():
    trace = Handmade(LAYOUT)
    path = trace.dir / "metadata"
    path.write_text(path.read_text().replace(" content_size;", " c1;")
                    .replace(" packet_size;", " c2;"))
    with trace.stream("s", cpu=0) as stream, stream.packet(1000, 2000):
        stream.event("app:note", 1000, {"vtid": 1, "vpid": 1}, text="", n=1)
    said = export(trace.dir, "ctf", status=1)[1]
    check("can't be rewritten" in said, said)


# ---- options ----

@test
def to_is_a_format_or_a_time():
    got = rows(small(), "--to", "0.0000013")
    check_equal([r["time_ns"] for r in got], ["1100", "1200", "1250", "1300"],
                "events")


@test
def the_user_says_what_begins():
    note = '$event == "app:note"'
    perfetto = Perfetto(export(small(), "perfetto", "--begin", note, "--end",
                               note, "--name", "n")[0])
    check_equal(perfetto.slices(), [(10, 1250, 1700, 0, "5"),
                                    (11, 1600, 1700, 0, "7")], "slices")


@test
def wrong_words_are_refused():
    for words in [["x"], ["--to", "nothing", "x"], ["--to", "csv"],
                  ["--to", "perfetto", "--end", "1", "x"]]:
        check_equal(run(SONDE, "export", *words).returncode, 2,
                    f"status of {words}")


install()
main()
