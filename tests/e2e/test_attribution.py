#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_attribution.py - whose an event is, in traces whose events don't say it:
kernel traces without a context, as LTTng writes them. Who runs on each CPU is
known here, because the traces were made for it.

Two CPUs. Thread 101 (process 100, "server", then "worker") begins a request on
CPU 0, is moved to CPU 1 while it lasts, and ends it there; thread 200 ("cat")
does the same the other way round. One key for all, or one per CPU, pairs the
wrong ones.
"""

import csv
import io
import json
import os
import pathlib
import re
import subprocess

from handmade import Handmade, Layout
from sonde import build, check, install, record, run, scratch, SONDE
from harness import check_equal, main, test

SWITCH = [("prev_comm", "string", 8), ("prev_tid", 32, 8),
          ("prev_prio", 32, 8), ("prev_state", 64, 8),
          ("next_comm", "string", 8), ("next_tid", 32, 8),
          ("next_prio", 32, 8)]
EVENTS = {
    "sched_switch": SWITCH,
    "app:begin": [("id", 32, 8)],
    "app:end": [("id", 32, 8)],
    "lttng_statedump_process_state": [
        ("tid", 32, 8), ("pid", 32, 8), ("ppid", 32, 8),
        ("name", "string", 8)],
    "sched_process_exec": [("filename", "string", 8), ("tid", 32, 8),
                           ("old_tid", 32, 8)],
}
WORD = {"begin": "app:begin", "end": "app:end"}


def switch(stream, time, prev, prev_comm, to, comm):
    stream.event("sched_switch", time, prev_comm=prev_comm, prev_tid=prev,
                 prev_prio=20, prev_state=1, next_comm=comm, next_tid=to,
                 next_prio=20)


def made(context=()):
    """The trace, and the threads of its app: events in the order of time."""
    trace = Handmade(Layout(EVENTS, context=context))
    with trace.stream("cpu0", cpu=0) as stream:
        with stream.packet(begin=1000, end=4000):
            stream.event("lttng_statedump_process_state", 1010, tid=101,
                         pid=100, ppid=1, name="server")
            stream.event("app:begin", 1100, id=1)
            stream.event("app:end", 1150, id=9)
            stream.event("app:begin", 1190, id=1)
            switch(stream, 1200, 101, "server", 0, "swapper/0")
            switch(stream, 1500, 0, "swapper/0", 200, "cat")
            stream.event("app:end", 1600, id=2)
            switch(stream, 1700, 200, "cat", 0, "swapper/0")
    with trace.stream("cpu1", cpu=1) as stream:
        with stream.packet(begin=1000, end=4000):
            stream.event("sched_process_exec", 1300, filename="/bin/cat",
                         tid=200, old_tid=200)
            stream.event("app:begin", 1350, id=2)
            switch(stream, 1400, 200, "sh", 101, "server")
            stream.event("app:end", 1690, id=1)
            switch(stream, 1800, 101, "worker", 0, "swapper/1")
    return trace.dir


# (time, thread, process, name) of the app: events.
WHOSE = [(1100, 101, 100, "server"), (1150, 101, 100, "server"),
         (1190, 101, 100, "server"), (1350, 200, None, "cat"),
         (1600, 200, None, "cat"), (1690, 101, 100, "server")]


def same(what, got, expected):
    check_equal(got, expected, what)


def sonde(*words, status=0):
    done = run(SONDE, *words)
    same(f"{words}: {done.stderr}", done.returncode, status)
    return done.stdout


def lines(*words):
    return [json.loads(line) for line in sonde(*words).splitlines()]


def report(*words, status=0):
    return json.loads(sonde(*words, "--json", status=status))


APP = ("-f", 'event == "app:*"')


@test
def json_names_the_thread_and_process_of_each_event():
    events = lines("print", "--json", *APP, made())
    same("tid, pid", [(e["time_ns"], e["tid"], e["pid"])
                             for e in events],
                [whose[:3] for whose in WHOSE])


@test
def exports_do_so_too():
    trace = made()
    events = lines("export", "--to", "jsonl", *APP, trace)
    same("jsonl", [(e["time_ns"], e["tid"], e["pid"])
                          for e in events], [whose[:3] for whose in WHOSE])
    rows = list(csv.reader(io.StringIO(
        sonde("export", "--to", "csv", *APP, "--fields", "procname,tid,cpu",
              trace))))[1:]
    same("csv", [(int(r[0]), int(r[3]), int(r[2] or -1), r[5], r[6])
                        for r in rows],
                [(t, tid, pid or -1, name, str(tid))
                 for t, tid, pid, name in WHOSE])


@test
def columns_and_filters_know_thread_process_name_and_cpu():
    trace = made()
    events = lines("print", "--json", *APP, "--fields",
                   "time,tid,pid,procname,$tid,cpu", trace)
    same("columns",
                [(e["time_ns"], e["tid"], e["pid"], e["procname"], e["$tid"])
                 for e in events],
                [(*whose, whose[1]) for whose in WHOSE])
    for condition, expected in (
            ("$tid == 101", [1100, 1150, 1190, 1690]),
            ("$pid == 100", [1100, 1150, 1190, 1690]),
            ('procname == "ca*"', [1350, 1600]),
            ('$procname == "server" && cpu == 1', [1690]),
            ("$tid == 200 && $cpu == 0", [1600]),
            ("$ppid == 1", [1100, 1150, 1190, 1690]),
            ("!defined(cgroup)", [w[0] for w in WHOSE])):
        events = lines("print", "--json", "-f",
                       f'event == "app:*" && {condition}', trace)
        same(condition, [e["time_ns"] for e in events], expected)


@test
def reading_backwards_or_only_the_end_gives_the_same_threads():
    trace = made()
    for words in (("--reverse",), ("--last", "3"), ("--from", "+600ns")):
        events = lines("print", "--json", *words, *APP, trace)
        whose = {t: tid for t, tid, _, _ in WHOSE}
        check(len(events) >= 2, f"{words}: events are missing")
        for e in events:
            same(f"{words} {e['time_ns']}", e["tid"],
                        whose[e["time_ns"]])


PAIR = ("--begin", 'event == "app:begin"', "--end", 'event == "app:end"')


@test
def latency_pairs_by_thread_across_cpus():
    told = report("report", "latency", *PAIR, made())
    worst = [(row["tid"], row["thread"], row["duration_ns"])
             for row in told["worst"]]
    same("spans", sorted(worst), [(101, "worker", 50), (101, "worker", 500),
                                  (200, "cat", 250)])


@test
def top_by_thread_and_process_counts_each():
    trace = made()
    rows = report("report", "top", "--by", "thread", *APP,
                  trace)["top"]
    same("threads", {r["key"]: (r["count"], r["thread"]) for r in rows},
         {"101": (4, "worker"), "200": (2, "cat")})
    told = report("report", "top", "--by", "process", *APP, trace)
    same("processes", {r["key"]: r["count"]
                              for r in told["top"]},
                {"100": 4})
    same("without", told["keyless"], 2)


@test
def diff_pairs_by_thread():
    trace = made()
    rows = report("diff", *PAIR, trace, trace)["durations"]
    mine = [r for r in rows if r["a_count"] == 3]
    same("pairs", [(r["a_max_ns"], r["b_max_ns"]) for r in mine],
                [(500, 500)])


def made_unknown():
    """From 1400 to 2000 CPU 0 loses events; before 3000 a switch is missing."""
    trace = Handmade(Layout(EVENTS))
    with trace.stream("cpu0", cpu=0) as stream:
        with stream.packet(begin=1000, end=1400):
            switch(stream, 1100, 0, "swapper/0", 101, "server")
            stream.event("app:begin", 1200, id=1)
        with stream.packet(begin=2000, end=6000, lost_packets=1):
            stream.event("app:end", 2100, id=1)
            switch(stream, 2200, 200, "cat", 300, "dog")
            stream.event("app:begin", 2300, id=2)
            switch(stream, 3000, 400, "owl", 500, "fox")
            stream.event("app:end", 3100, id=2)
    return trace.dir


@test
def where_it_is_not_known_it_is_not_guessed():
    events = lines("print", "--json", *APP, made_unknown())
    known = {e["time_ns"]: e["tid"] for e in events}
    same("before the loss", known[1200], 101)
    same("before a switch that tells", known[2100], 200)
    same("between switches that don't fit", known[2300], None)
    same("after them", known[3100], 500)


@test
def what_is_left_out_is_counted_and_said():
    trace = made_unknown()
    told = report("report", "latency", *PAIR, trace)
    same("keyless", told["keyless"], 1)
    text = sonde("report", "latency", *PAIR, trace)
    check("1 event of --begin and --end left out" in text, text)
    text = sonde("diff", *PAIR, trace, trace)
    check("In A, 1 event" in text and "In B, 1 event" in text, text)


@test
def a_trace_that_never_says_pairs_nothing():
    trace = Handmade(Layout({"app:begin": [("id", 32, 8)],
                             "app:end": [("id", 32, 8)]}))
    for cpu in range(2):
        with trace.stream(f"cpu{cpu}", cpu=cpu) as stream:
            with stream.packet(begin=1000, end=4000):
                stream.event("app:begin", 1100 + cpu, id=cpu)
                stream.event("app:end", 1300 - 100 * cpu, id=cpu)
    told = report("report", "latency", *PAIR, trace.dir)
    same("spans", told["latency"][0]["count"], 0)
    same("keyless", told["keyless"], 4)
    told = report("report", "latency", *PAIR, "--key", "id", trace.dir)
    same("by id", told["latency"][0]["count"], 2)
    same("filter", sonde("print", "-f", "$tid == 1 || defined($pid)",
                                trace.dir), "")


@test
def contexts_come_first():
    trace = Handmade(Layout(EVENTS, context=[("tid", 32, 8),
                                             ("procname", "string", 8)]))
    with trace.stream("cpu0", cpu=0) as stream:
        with stream.packet(begin=1000, end=4000):
            stream.event("app:begin", 1100, {"tid": 7, "procname": "seven"},
                         id=1)
    (event,) = lines("print", "--json", "--fields", "tid,$procname", trace.dir)
    same("context", event, {"tid": 7, "$procname": "seven"})


PROGRAM = r"""
#define _GNU_SOURCE
#include <sonde/tracepoint.h>
#include <pthread.h>
#include <stdio.h>

static pthread_barrier_t step;

static void wait_for_main(void)
{
	pthread_barrier_wait(&step);
	pthread_barrier_wait(&step);
}

static void *work(void *name)
{
	pthread_setname_np(pthread_self(), name);
	sonde_event(demo, first, sonde_string(name, name));
	wait_for_main();
	pthread_setname_np(pthread_self(), "renamed");
	sonde_event(demo, early, sonde_string(name, name));
	wait_for_main();
	sonde_event(demo, late, sonde_string(name, name));
	return NULL;
}

int main(void)
{
	static char *names[] = { "reader", "writer" };
	pthread_t threads[2];

	pthread_barrier_init(&step, NULL, 3);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, names[i]);
	for (int i = 0; i < 2; i++) {
		pthread_barrier_wait(&step);
		puts("waiting");
		fflush(stdout);
		getchar();
		pthread_barrier_wait(&step);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
"""


def wait_for_names(trace, expected):
    """Until the recorder has seen them; the trace is one at any time."""
    got = None
    while got != expected:
        got = sorted(r["thread"] or "" for r in
                     report("report", "top", "--by", "thread", "-q",
                            trace)["top"])


@test
def the_recorder_names_threads_when_they_come_and_when_they_are_renamed():
    program = build(PROGRAM)
    trace = f"{scratch()}/trace"
    with subprocess.Popen([SONDE, "record", "-o", trace, "--", program],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as recording:
        for expected in (["reader", "writer"], ["renamed", "renamed"]):
            recording.stdout.readline()
            wait_for_names(trace, expected)
            recording.stdin.write("x")
            recording.stdin.flush()
        _, err = recording.communicate()
    same("status", recording.returncode, 0)
    # names are no events
    check("6 events recorded, 0 lost" in err, err)
    events = lines("print", "--json", "--fields", "event,procname,payload",
                   trace)
    same("events", len(events), 6)
    for e in events:
        # where nobody saw when exactly it changed, never the old name
        if e["event"] == "demo:first":
            check(e["procname"] in (None, e["payload"]["name"]), e)
        elif e["event"] == "demo:early":
            check(e["procname"] in (None, "renamed"), e)
        else:
            same("late", e["procname"], "renamed")


PARENT = r"""
#include <sonde/tracepoint.h>
#include <unistd.h>
int main(void)
{
	char byte;

	sonde_event(demo, child, sonde_field(parent, getppid()));
	return (int)read(0, &byte, 1); /* until the test has seen enough */
}
"""


@test
def a_program_has_its_parent_and_its_control_group():
    trace = scratch() / "parent"
    # The recorder looks from outside, once the program runs.
    with subprocess.Popen([SONDE, "record", "-q", "-o", trace, "--",
                           build(PARENT)],
                          stdin=subprocess.PIPE) as recording:
        while not re.search(r'"ppid": \d', run(
                SONDE, "print", "--json", "--fields", "ppid", trace).stdout):
            same("ended", recording.poll(), None)
        recording.stdin.close()
        same("status", recording.wait(), 0)
    for condition in ("ppid == parent", "$ppid == parent"):
        same(condition, len(lines("print", "--json", "-f", condition, trace)),
             1)
    event, = lines("print", "--json", "--fields", "ppid,cgroup,payload", trace)
    same("parent", event["ppid"], event["payload"]["parent"])
    groups = pathlib.Path("/proc/self/cgroup").read_text(encoding="utf-8")
    check(event["cgroup"] in [line.split(":", 2)[2]
                              for line in groups.splitlines()], event)


STEPS = r"""
#include <sonde/tracepoint.h>
#include <unistd.h>
int main(void)
{
	char byte;

	for (int i = 0; i < 2; i++) {
		sonde_event(demo, step, i);
		if (read(0, &byte, 1) != 1)
			return 1;
	}
	return 0;
}
"""


def schedules(trace):
    """Of the two events, as far as there are any, and known."""
    done = run(SONDE, "print", "--json", "--fields", "tid,policy,prio,nice",
               trace)
    return [json.loads(line) for line in done.stdout.splitlines()]


@test
def a_thread_has_its_priority_as_it_was():
    trace = scratch() / "schedule"
    with subprocess.Popen([SONDE, "record", "-q", "-o", trace, "--", "nice",
                           "-n", "7", build(STEPS)],
                          stdin=subprocess.PIPE) as recording:
        def wait_for(policy, i):
            while True:
                same("ended", recording.poll(), None)
                seen = schedules(trace)
                if len(seen) > i and seen[i].get("policy") == policy:
                    return seen[i]
        first = wait_for("other", 0)
        same("first", (first["prio"], first["nice"]), (127, 7))
        os.sched_setscheduler(first["tid"], os.SCHED_BATCH, os.sched_param(0))
        # What is there already keeps what was known of it.
        while "policy_number = 3" not in run("babeltrace2", trace).stdout:
            same("ended", recording.poll(), None)
        recording.stdin.write(b"x")
        recording.stdin.flush()
        wait_for("batch", 1)
        recording.stdin.write(b"x")
        recording.stdin.close()
        same("status", recording.wait(), 0)
    same("policies", [s["policy"] for s in schedules(trace)],
         ["other", "batch"])
    for condition, number in (("nice == 7", 2), ("$prio == 127", 2),
                              ('policy == "batch"', 1),
                              ('policy == "fifo"', 0)):
        same(condition, len(lines("print", "--json", "-f", condition, trace)),
             number)


@test
def what_is_known_of_events_is_listed():
    contexts = json.loads(sonde("list", "--contexts", "--json"))
    names = [context["name"] for context in contexts]
    check({"tid", "procname", "ppid", "cgroup", "stack"} <= set(names), names)
    text = sonde("list", "--contexts")
    check(all(f"\n{name} " in text for name in names), text)
    sonde("list", "--contexts", "-k", status=2)


@test
def a_kernels_process_is_where_the_state_dump_saw_it():
    digits = "fedcba98" * 8
    dumped = EVENTS["lttng_statedump_process_state"][:-1] + [
        ("ns_inum", 32, 8), ("name", "string", 8), ("cgroup", "string", 8)]
    trace = Handmade(Layout({**EVENTS,
                             "lttng_statedump_process_state": dumped}))
    with trace.stream("cpu0", cpu=0) as stream:
        with stream.packet(begin=1000, end=4000):
            for tid, pid, ns, group in (
                    (101, 100, 0, ""), (100, 100, 0xf0000001, f"/a/{digits}"),
                    (200, 200, 0xf0000002, "/b")):
                stream.event("lttng_statedump_process_state", 1010, tid=tid,
                             pid=pid, ppid=1, ns_inum=ns, name="x",
                             cgroup=group)
            switch(stream, 1200, 0, "swapper/0", 101, "server")
            stream.event("app:begin", 1300, id=1)
            switch(stream, 1400, 101, "server", 200, "cat")
            stream.event("app:begin", 1500, id=2)
            switch(stream, 1600, 200, "cat", 300, "new")
            stream.event("app:begin", 1700, id=3)
            switch(stream, 1800, 300, "new", 0, "swapper/0")
    names = ("cgroup", "container", "pid_ns")
    told = [tuple(event.get(name) for name in names) for event in
            lines("print", "--json", "--fields", ",".join(names), *APP,
                  trace.dir)]
    same("where", told, [(f"/a/{digits}", digits[:12], 0xf0000001),
                         ("/b", None, 0xf0000002), (None, None, None)])


# ---- several machines ----

def of_another_machine(lacks=()):
    """The same threads' numbers and times, under other names."""
    directory = pathlib.Path(made())
    metadata = directory / "metadata"
    metadata.write_text(metadata.read_text().replace('"made"', '"other"'))
    for name in lacks:
        (directory / name).unlink()
    for stream in directory.glob("cpu*"):
        stream.write_bytes(stream.read_bytes().replace(b"server", b"pastor")
                           .replace(b"worker", b"farmer"))
    return str(directory)


@test
def each_machine_has_a_report_of_its_own():
    one, other = made(), of_another_machine(lacks=["cpu1"])
    for name in ("cputop", "sched", "activity"):
        machines = report("report", name, one, other)["machines"]
        same("machines", [m.pop("machine") for m in machines],
             ["made", "other"])
        same(name, machines, [report("report", name, one),
                              report("report", name, other)])
    text = sonde("report", "cputop", other, one)
    check(text.startswith("other:\n") and "\nmade:\n" in text, text)
    check("pastor" in text and "worker" in text, text)


@test
def a_machine_without_events_for_it_is_left_out():
    one, other = made(), of_another_machine()
    metadata = pathlib.Path(other) / "metadata"
    metadata.write_text(metadata.read_text().replace("sched_", "skid__"))
    (machine,) = report("report", "cputop", one, other)["machines"]
    same("machine", machine["machine"], "made")
    done = run(SONDE, "report", "malloc", one, other)
    check(done.returncode == 1 and "record with --malloc" in done.stderr,
          f"{done.returncode}: {done.stderr}")


@test
def the_span_is_that_of_all_machines():
    one, other = made(), of_another_machine()
    span = ("--from", "+200ns", "--to", "+600ns")
    machines = report("report", "cputop", *span, one, other)["machines"]
    for machine, trace in zip(machines, (one, other)):
        machine.pop("machine")
        same("cputop", machine, report("report", "cputop", *span, trace))


@test
def events_have_the_threads_of_their_own_machine():
    one, other = made(), of_another_machine()

    def rows(*traces):
        return sorted(list(csv.reader(io.StringIO(
            sonde("export", "--to", "csv", *APP, "--fields",
                  "procname,tid,cpu", *traces))))[1:])

    check("pastor" in str(rows(other)), str(rows(other)))
    same("events", rows(one, other), sorted(rows(one) + rows(other)))
    # What one machine's CPU ran says nothing of the other's.
    lacking = of_another_machine(lacks=["cpu1"])
    same("events", rows(lacking, one), sorted(rows(lacking) + rows(one)))


install()
main()
