#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_cut.py - `sonde cut`: babeltrace2 reads what it writes without a word, and
prints the lines that it prints of the old trace for the events that were wanted;
what was lost is as lost as before."""

import json
import pathlib
import random
import re
import subprocess

from sonde import (SONDE, Trace, build, check, install, record_ok, require, run,
                   scratch)
from handmade import Handmade, Layout
from harness import check_equal, main, test


def cut(trace, *options, status=0):
    """The new trace's directory."""
    to = pathlib.Path(scratch()) / "cut"
    done = run(SONDE, "cut", "-q", "-o", to, *options, trace)
    check_equal(done.returncode, status, f"status: {done.stderr}")
    return to if status == 0 else done.stderr


def lines(trace):
    """babeltrace2's lines, which it must print without a warning."""
    require("babeltrace2")
    done = run("babeltrace2", "--clock-seconds", "--no-delta", trace)
    check_equal((done.returncode, done.stderr), (0, ""), "babeltrace2")
    return done.stdout.splitlines()


def named(name):
    return lambda line: f" {name}: " in line


def check_cut(trace, wanted, *options):
    """The lines that are wanted of the old trace are all of the new."""
    expected = [line for line in lines(trace) if wanted(line)]
    got = lines(cut(trace, *options))
    for ours, theirs in zip(got, expected):
        check_equal(ours, theirs, "line")
    check_equal(len(got), len(expected), "lines")
    check(len(expected) > 0, "nothing was wanted")


# ---- layouts ----

FIELDS = [("a", 32, 8), ("text", "string", 8), ("b", 16, 8)]
BYTES = Layout(header=[("id", 16, 8), ("time", 64, 8)],
               events={"m:keep": FIELDS, "m:drop": [("x", 8, 8)]})
COMPACT = Layout(events={"m:keep": FIELDS, "m:drop": [("x", 8, 8)]})
ALIGNED = Layout(header=[("id", 8, 8), ("time", 64, 64)],
                 context=[("c", 16, 16)],
                 events={"m:keep": [("a", 8, 8), ("text", "string", 8),
                                    ("b", 64, 64)],
                         "m:drop": [("x", 8, 8)]})
# The body has a larger alignment than the header.
UNEVEN = Layout(header=[("id", 8, 8), ("time", 32, 8)],
                events={"m:keep": [("a", 8, 8), ("text", "string", 8),
                                   ("b", 32, 32)],
                        "m:drop": [("x", 8, 8)]})
PACKED = Layout(header=[("id", 3, 1), ("time", 13, 1)],
                context=[("c", 7, 1)],
                events={"m:keep": [("a", 5, 1), ("b", 11, 1)],
                        "m:drop": [("x", 2, 1)]})
BIG = Layout(header=[("id", 3, 1), ("time", 29, 1)], big=True,
             context=[("c", 7, 1)],
             events={"m:keep": [("a", 5, 1), ("b", 33, 1)],
                     "m:drop": [("x", 2, 1)]})


def fill(layout, longest, seed, keep=0.2):
    """A trace of random events; between two of them is at most `longest`."""
    chance = random.Random(seed)
    trace = Handmade(layout)

    def event(stream, now):
        name = "m:keep" if chance.random() < keep else "m:drop"
        values = {f[0]: ("x" * chance.randrange(9) + "y" if f[1] == "string"
                         else chance.getrandbits(f[1]))
                  for f in layout.events[name] + layout.context}
        context = {f[0]: values.pop(f[0]) for f in layout.context}
        stream.event(name, now, context, **values)

    for cpu in 0, 1:
        now = 1000 + cpu
        with trace.stream(f"cpu{cpu}", cpu=cpu) as stream:
            for _ in range(8):
                begin = now
                times = []
                for _ in range(chance.randrange(40)):
                    now += 1 + chance.randrange(longest)
                    times.append(now)
                now += 2
                with stream.packet(begin, now, padding=chance.randrange(20)):
                    for time in times:
                        event(stream, time)
                now += 2
    return trace.dir


def check_layout(layout, longest):
    for seed in range(4):
        trace = fill(layout, longest, seed)
        check_cut(trace, named("m:keep"), "-e", "m:keep")
        check_cut(trace, lambda line: True)


@test
def events_in_plain_headers_are_copied():
    check_layout(BYTES, 10**6)


@test
def the_time_of_compact_headers_stays_right_over_gaps():
    # The old trace's gaps fit 27 bits; without the dropped events they don't.
    check_layout(COMPACT, 2**27 - 1)


@test
def events_in_aligned_structures_are_copied():
    check_layout(ALIGNED, 10**6)


@test
def a_body_with_more_alignment_than_its_header_is_laid_out_again():
    check_layout(UNEVEN, 2**31)


@test
def events_that_begin_within_bytes_are_copied():
    check_layout(PACKED, 2**13 - 1)


@test
def big_endian_bits_are_copied():
    check_layout(BIG, 2**29 - 1)


@test
def a_span_of_time_is_cut():
    trace = fill(COMPACT, 10**6, 7)
    times = sorted(round(float(line[1:line.index("]")]) * 10**9)
                   for line in lines(trace))
    low, high = times[len(times) // 4], times[len(times) // 2]

    def inside(line):
        return low <= round(float(line[1:line.index("]")]) * 10**9) <= high
    check_cut(trace, inside, "--from", f"{low // 10**9}.{low % 10**9:09}",
              "--to", f"{high // 10**9}.{high % 10**9:09}")


@test
def a_filter_is_applied():
    trace = fill(BYTES, 10**6, 3)
    check_cut(trace, lambda line: re.search(r" a = \d*[02468],", line),
              "-f", "a % 2 == 0")


# ---- what was lost ----

def lossy():
    """Packets with 0, 0, 3, 3, 10, 10 events lost before their ends; one
    packet is missing after the third."""
    trace = Handmade(COMPACT)
    with trace.stream("cpu0") as stream:
        for i, discarded in enumerate([0, 0, 3, 3, 10, 10]):
            with stream.packet(1000 * i + 100, 1000 * i + 1000, discarded,
                               lost_packets=int(i == 3)):
                stream.event("m:drop", 1000 * i + 200, x=i)
                if i in (1, 3):
                    stream.event("m:keep", 1000 * i + 300, a=i, b=i, text="t")
    return trace.dir


def complaints(trace):
    done = run("babeltrace2", trace)
    check_equal(done.returncode, 0, "babeltrace2")
    return (sum(map(int, re.findall(r"discarded (\d+) event", done.stderr))),
            sum(map(int, re.findall(r"discarded (\d+) packet", done.stderr))))


@test
def lost_events_and_packets_stay_lost():
    require("babeltrace2")
    trace = lossy()
    check_equal(complaints(trace), (10, 1), "lost in the old trace")
    check_equal(complaints(cut(trace, "-e", "m:keep")), (10, 1),
                "lost in the new one")


@test
def events_lost_in_the_first_packet_of_a_span_stay_lost():
    require("babeltrace2")
    new = cut(lossy(), "--from", "0.000002050", "--to", "0.000003950")
    check_equal(complaints(new), (3, 1), "lost")


@test
def what_was_not_chosen_is_not_called_lost():
    require("babeltrace2")
    new = cut(lossy(), "--to", "0.000001950", "-e", "m:drop")
    check_equal(complaints(new), (0, 0), "lost")
    check_equal(len(lines(new)), 2, "events")


# ---- Sonde's own traces ----

THREADS = r"""
#include <sonde/tracepoint.h>
#include <pthread.h>

static void *work(void *which)
{
	for (long i = 0; i < 2000; i++) {
		sonde_event(app, even, i, sonde_field(which, (long)which));
		sonde_event(app, odd, i, sonde_string(s, "text"));
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[3];

	for (long i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
"""


def told(events):
    return [(e.name, e.time, e.tid, e.pid, dict(e)) for e in events]


@test
def events_keep_their_threads():
    trace = record_ok(build(THREADS))
    for wanted in "app:even", "app:odd":
        new = Trace(cut(trace.dir, "-e", wanted))
        check_equal(told(new.events()), told(trace.events(wanted)), wanted)
        check_equal(new.warnings, "", "babeltrace2 says")


@test
def a_thread_record_is_found_however_long_ago_it_was():
    layout = Layout(events={"sonde:thread": [("tid", 32, 8), ("pid", 32, 8)],
                            "m:keep": [("x", 8, 8)], "m:drop": []})
    trace = Handmade(layout, env=[("tracer2_name", "sonde")])
    step = 10**8  # fits 27 bits, but not twice
    with trace.stream("cpu0") as stream, stream.packet(step, 20 * step):
        stream.event("sonde:thread", step + 1, tid=7, pid=6)
        for i in range(2, 10):
            stream.event("m:drop", i * step)
        stream.event("m:keep", 10 * step, x=1)
        stream.event("sonde:thread", 10 * step + 1, tid=8, pid=6)
        for i in range(11, 19):
            stream.event("m:drop", i * step)
        stream.event("m:keep", 19 * step, x=2)
    new = cut(trace.dir, "-e", "m:keep")
    told = [(e["time_ns"], e["tid"], e["payload"]["x"]) for e in map(
        json.loads, run(SONDE, "print", "--json", new).stdout.splitlines())]
    check_equal(told, [(10 * step, 7, 1), (19 * step, 8, 2)], "events")
    check_equal(len(lines(new)), 4, "with records")


@test
def a_thread_is_cut():
    trace = record_ok(build(THREADS))
    tid = trace.events()[-1].tid
    new = Trace(cut(trace.dir, "--tid", tid, "-e", "app:*"))
    check_equal(told(new.events()),
                told(e for e in trace.events() if e.tid == tid), "events")
    check_equal(len(new.events()), 4000, "events of a thread")


@test
def a_cut_of_a_cut_is_the_same():
    trace = record_ok(build(THREADS))
    once = cut(trace.dir, "-e", "app:odd")
    twice = cut(once)
    check_equal(told(Trace(twice).events()), told(Trace(once).events()),
                "events")


@test
def all_of_a_trace_is_counted():
    trace = record_ok(build(THREADS))
    done = run(SONDE, "cut", "--json", "-o", scratch() / "cut", trace.dir)
    check_equal(json.loads(done.stdout)["events"], len(trace.events()),
                "events")


# ---- what can't be ----

@test
def a_directory_with_something_in_it_is_refused():
    trace = fill(BYTES, 100, 1)
    to = scratch()
    (to / "mine").write_text("kept")
    done = run(SONDE, "cut", "-o", to, trace)
    check_equal(done.returncode, 1, "status")
    check("in it already" in done.stderr, f"it says: {done.stderr}")
    check_equal([p.name for p in to.iterdir()], ["mine"], "files")


@test
def packets_without_sizes_are_refused_in_words():
    trace = Handmade(BYTES)
    path = trace.dir / "metadata"
    path.write_text(path.read_text().replace(" content_size;", " c1;")
                    .replace(" packet_size;", " c2;"))
    with trace.stream("cpu0") as stream, stream.packet(1, 100):
        stream.event("m:drop", 50, x=1)
    text = cut(trace.dir, status=1)
    check("can't be rewritten" in text, f"it says: {text}")


@test
def wrong_words_are_refused():
    for words in [["x"], ["-o", scratch() / "n"], ["-o", "a", "--tid", "x",
                                                   "b"]]:
        done = subprocess.run([SONDE, "cut", *map(str, words)],
                              capture_output=True, text=True)
        check_equal(done.returncode, 2, f"status of {words}")


install()
main()
