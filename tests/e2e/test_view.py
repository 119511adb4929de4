#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_view.py - `sonde view`: what a page is told is what the commands say of
the same trace, and whoever isn't the page is told nothing."""

import http.client
import io
import os
import pathlib
import json
import random
import re
import shutil
import struct
import subprocess
import tarfile
import urllib.error
import urllib.parse

from home import Home
from machine import KERNEL, LOST, READY, Machine
from obedient import Program as Obedient, program
from stories import story, two_hosts, write_trace
from sonde import ROOT, SONDE, Skip, install, pkg_config, run, scratch
from handmade import Handmade, Layout
from viewed import Server, frame, named_frame, view
from harness import check, check_equal, main, test

LAYOUT = Layout(header=[("id", 16, 8), ("time", 64, 8)],
                events={"m:odd": [("a", 32, 8), ("text", "string", 8)],
                        "m:even": [("a", 32, 8)]})


def handmade():
    """A trace of two CPUs with events at random times; CPU 1 loses some."""
    chance = random.Random(19)
    trace = Handmade(LAYOUT)
    for cpu in 0, 1:
        now = 1000 + cpu
        with trace.stream(f"cpu{cpu}", cpu=cpu) as stream:
            for packet in range(20):
                begin = now
                times = []
                for _ in range(chance.randrange(50)):
                    now += chance.randrange(1, 5000)
                    times.append(now)
                now += 2
                with stream.packet(begin, now,
                                   discarded=7 * cpu * (packet > 9)):
                    for time in times:
                        number = chance.randrange(1000)
                        if number % 2:
                            stream.event("m:odd", time, a=number,
                                         text=f"<{number}>")
                        else:
                            stream.event("m:even", time, a=number)
                now += 2
    return trace.dir


NAMES = ["app:parse", "app:query", "app:send"]
PROGRAM = Layout(header=[("id", 16, 8), ("time", 64, 8)],
                 context=[("tid", 32, 8), ("pid", 32, 8)],
                 events={f"{name}_{edge}": [] for name in NAMES
                         for edge in ("begin", "end")})
DEPTH = 32  # of rows


class Program:
    """Threads that begin and end things within each other: intervals by thread
    and depth. The first goes deeper than there are rows."""

    def __init__(self, seed, nr, deepest=40):
        chance = random.Random(seed)
        self.events = {}
        self.within = {}  # (tid, depth): [(begin, end, name)]
        self.end = 0
        for tid in 71, 72:
            now, open_, events = 1000 + tid, [], []
            while len(events) < nr or open_:
                now += chance.randrange(1, 300)
                full = len(open_) == (deepest if tid == 71 else 3)
                if not open_ or (not full and len(events) < nr and
                                 chance.random() < (0.6 if tid == 71 else .5)):
                    name = chance.choice(NAMES)
                    open_.append((now, name))
                    events.append((now, name + "_begin"))
                else:
                    begin, name = open_.pop()
                    self.within.setdefault((tid, len(open_)), []).append(
                        (begin, now, name))
                    events.append((now, name + "_end"))
            self.events[tid] = events
            self.end = max(self.end, now)

    def write(self):
        trace = Handmade(PROGRAM)
        for tid, events in self.events.items():
            with trace.stream(f"t{tid}", cpu=0) as stream:
                with stream.packet(events[0][0], events[-1][0], discarded=0):
                    for time, name in events:
                        stream.event(name, time, {"tid": tid, "pid": 71})
        return trace.dir

    def at(self, tid, depth, time):
        for begin, end, name in self.within.get((tid, depth), []):
            if begin <= time < end:
                return begin, end, name
        return None


MUTEX = [("mutex", 64, 8), ("caller", 64, 8)]
LOCKS = Layout(header=[("id", 16, 8), ("time", 64, 8)],
               context=[("tid", 32, 8), ("pid", 32, 8)],
               events={"lock:mutex_wait": MUTEX,
                       "lock:mutex_lock": MUTEX + [("result", 32, 8)],
                       "lock:mutex_unlock": MUTEX})
HELD, CONTENDED = 11, 12


class Locking:
    """Four threads and two mutexes by chance: by mutex, who had it and how many
    waited since when."""

    MUTEXES = [0x1000, 0x2000]

    def __init__(self, seed, nr):
        chance = random.Random(seed)
        self.events = {tid: [] for tid in (81, 82, 83, 84)}
        self.told = {mutex: [(1000, 0, 0)] for mutex in self.MUTEXES}
        self.holder = dict.fromkeys(self.MUTEXES, 0)
        self.waiting = {mutex: [] for mutex in self.MUTEXES}
        self.now = 1000
        while sum(map(len, self.events.values())) < nr:
            tid = chance.choice(list(self.events))
            mutex = chance.choice(self.MUTEXES)
            if self.holder[mutex] == tid:
                self.event(tid, mutex, "unlock")
            elif tid in self.waiting[mutex] and not self.holder[mutex]:
                self.event(tid, mutex, "lock")
            elif not self.busy(tid):
                self.event(tid, mutex, chance.choice(["wait", "wait", "lock"])
                           if not self.holder[mutex] else "wait")

    def busy(self, tid):
        return tid in self.holder.values() or any(
            tid in waiting for waiting in self.waiting.values())

    def event(self, tid, mutex, action):
        self.now += random.Random(self.now).randrange(1, 500)
        if action == "wait":
            self.waiting[mutex].append(tid)
        elif action == "lock":
            self.waiting[mutex] = [t for t in self.waiting[mutex] if t != tid]
            self.holder[mutex] = tid
        else:
            self.holder[mutex] = 0
        fields = {"mutex": mutex, "caller": 0x40}
        if action == "lock":
            fields["result"] = 0
        self.events[tid].append((self.now, "lock:mutex_" + action, fields))
        self.told[mutex].append((self.now, self.holder[mutex],
                                 len(self.waiting[mutex])))

    def write(self):
        trace = Handmade(LOCKS)
        for tid, events in self.events.items():
            with trace.stream(f"t{tid}", cpu=0) as stream:
                with stream.packet(1000, self.now, discarded=0):
                    for time, name, fields in events:
                        stream.event(name, time, {"tid": tid, "pid": 81},
                                     **fields)
        return trace.dir

    def at(self, mutex, time):
        """Since when, the state, the holder, how many wait."""
        before = [entry for entry in self.told[mutex] if entry[0] <= time]
        since, holder, waiting = before[-1]
        return (since, CONTENDED if waiting else HELD if holder else 0,
                holder, waiting)


def within_rows(server):
    rows = server.ask("rows")
    return {(row["tid"], int(row["name"].split()[1]) - 1): row for row in rows
            if row["kind"] == "within"}, rows


def rows_by_name(server):
    return {(row["kind"], row["tid"] if row["kind"] == "thread"
             else row["name"]): row for row in server.ask("rows")}


def printed(trace, *options):
    done = run(SONDE, "print", "--json", *options, trace)
    return [json.loads(line) for line in done.stdout.splitlines()]


# ---- what is answered ----

def times_of(trace, *options):
    return [event["time_ns"] for event in printed(trace, *options)]


@test
def trace_is_what_stat_says():
    trace = handmade()
    stat = json.loads(run(SONDE, "stat", "--json", trace).stdout)
    with view(trace) as server:
        about = server.ready()
    check_equal(about["events"], len(times_of(trace)), "events")
    check_equal(about["lost"], 7, "lost")
    check_equal(about["origin"], "1000", "origin")
    check_equal({c["name"] for c in about["classes"]}, {"m:odd", "m:even"},
                "classes")
    check(str(about["lost"]) in json.dumps(stat), "stat knows nothing of it")


@test
def histogram_counts_each_event_where_it_is():
    trace = handmade()
    times = [time - 1000 for time in times_of(trace)]
    with view(trace) as server:
        end = server.ready()["end"]
        for begin, to, pixels in ((0, end + 1, 7), (0, end + 1, 1000),
                                  (end // 3, end // 2, 333),
                                  (end // 2, end // 2 + 100, 100)):
            got = server.ask("histogram", **{"from": begin, "to": to,
                                             "pixels": pixels})
            expected = [0] * pixels
            for time in times:
                if begin <= time < to:
                    expected[(time - begin) * pixels // (to - begin)] += 1
            check_equal(got["unit"], "events", "unit")
            check_equal(got["counts"], expected, f"{begin} to {to}")
            check_equal(len(got["lost"]), pixels, "pixels")
        lost = server.ask("histogram", pixels=100)["lost"]
    check(0 < sum(lost) < 50, f"lost: {lost}")


@test
def events_are_those_that_print_prints():
    trace = handmade()
    expected = printed(trace)
    with view(trace) as server:
        got = []
        at = 0
        while True:
            answer = server.ask("events", **{"from": at, "n": 97})
            got += [e for e in answer["events"] if e["t"] >= at]
            if not answer["more"]:
                break
            at = got[-1]["t"] + 1
        check_equal([(e["t"] + 1000, e["name"], e["cpu"], e["fields"]["a"])
                     for e in got],
                    [(e["time_ns"], e["event"], e["cpu"], e["payload"]["a"])
                     for e in expected], "events")
        last = server.ask("events", direction=-1, n=5)["events"]
        check_equal([e["t"] + 1000 for e in last],
                    [e["time_ns"] for e in expected[-5:]], "the last ones")
        odd = server.ask("events", filter='text == "<*>" && a > 500', n=2000)
        check_equal([e["fields"]["a"] for e in odd["events"]],
                    [e["payload"]["a"] for e in expected
                     if e["event"] == "m:odd" and e["payload"]["a"] > 500],
                    "those that a filter chooses")
        check_equal(odd["events"][0]["text"],
                    'a = {a}, text = "<{a}>"'.format(
                        a=odd["events"][0]["fields"]["a"]), "text")
        status, why = server.refused("events", filter="a > 5 && bb == 1")
        check_equal((status, why["at"]), (400, 10), f"filter: {why}")


# ---- rows ----

@test
def rows_do_what_the_events_say_at_any_instant():
    chance = random.Random(7)
    machine = Machine(19, 1500)
    compared = 0
    with view(machine.write()) as server:
        origin = int(server.ready()["origin"])
        rows = rows_by_name(server)
        for _ in range(600):
            time = chance.randrange(1000, machine.now)
            cpu, tid = chance.randrange(2), chance.randrange(1, 7)
            for row, told in ((rows["cpu", f"CPU {cpu}"], machine.cpus[cpu]),
                              (rows["thread", tid], machine.states[tid])):
                expected = machine.known(told, time)
                if not expected:
                    continue
                got = server.ask("at", row=row["id"], t=time - origin)
                what = f"{row['name']} at {time}: {got}, {expected}"
                check_equal(got["state"], expected[1], what)
                check_equal(got["from"] + origin, expected[0], what)
                if expected[1] == READY and expected[2]:
                    check_equal(got["waker"]["row"],
                                rows["thread", expected[2]]["id"], what)
                compared += 1
    check(compared > 1000, f"compared {compared}")


@test
def columns_of_events_are_what_print_says_of_them():
    trace = handmade()
    printed = [json.loads(line) for line in run(
        SONDE, "print", "--json", "--fields", "a,text,a / 2.0,cpu,event",
        trace).stdout.splitlines()]
    wanted = [[None, *(value if value is None else str(value)
                       for value in event.values()), None, event["event"]]
              for event in printed]
    for event in wanted:
        event[3] = f"{float(event[3]):g}"
        del event[4:6]  # our own words, of which the server says nothing
    with view(trace) as server:
        got = server.ask("events", n=2000,
                         columns="time, a,text ,a / 2.0,thread, $event")
        for event in got["events"]:
            event["columns"][3] = f"{float(event['columns'][3]):g}"
        check_equal(got["columns"],
                    ["time", "a", "text", "a / 2.0", "thread", "$event"],
                    "heads")
        check_equal([event["columns"] for event in got["events"]], wanted,
                    "values")
        check(any(event[2] for event in wanted), "no text")
        check("columns" not in server.ask("events", n=1), "unasked")
        for columns, at in (("a,,text", 3), ("a, nonsense", 4), ("a, text +", 10),
                            (",".join(["a"] * 17), 33)):
            status, why = server.refused("events", columns=columns)
            check_equal((status, why["at"]), (400, at), f"{columns}: {why}")
            check(why["error"].startswith("columns: "), f"{why}")


@test
def events_are_of_the_thread_that_ran():
    machine = Machine(25, 600)
    trace = machine.write()
    with view(trace) as server:
        origin = int(server.ready()["origin"])
        got = server.ask("events", n=2000)["events"]
    switches = [e for e in got if e["name"] == "sched_switch"]
    check_equal([e["tid"] for e in switches[10:]],
                [e["fields"]["prev_tid"] for e in switches[10:]], "switches")
    for event in got[20:]:
        told = machine.known(machine.cpus[event["cpu"]],
                             event["t"] + origin - 1)
        check_equal(event["tid"], told[2], f"{event}")


@test
def rows_are_as_busy_as_reports_say():
    machine = Machine(20, 1200)
    trace = machine.write()
    cputop = json.loads(run(SONDE, "report", "cputop", "--json",
                            trace).stdout)
    with view(trace) as server:
        end = server.ready()["end"]
        rows = rows_by_name(server)
        table = server.ask("statistics", by="thread")
        states = dict(server.ask("statistics", by="state")["rows"])
    for cpu in cputop["cpus"]:
        check_equal(round(rows["cpu", f"CPU {cpu['cpu']}"]["busy"] * end),
                    cpu["cpu_time_ns"], f"CPU {cpu['cpu']}")
    check_equal(len(cputop["cpus"]), 2, "CPUs")
    names = [column["name"] for column in table["columns"]]
    got = {row[1]: row[names.index("running")] for row in table["rows"]}
    expected = {t["tid"]: t["cpu_time_ns"] for t in cputop["threads"]}
    check_equal(got, expected, "running")
    check_equal(states["running"], sum(expected.values()), "all running")


@test
def pixels_add_up_to_the_states_they_show():
    machine = Machine(21, 1500)
    with view(machine.write()) as server:
        end = server.ready()["end"]
        rows = [row["id"] for row in server.ask("rows")
                if row["kind"] != "process"]
        wanted = ",".join(map(str, rows + [99999]))
        fine = frame(server, pixels=8000, rows=wanted, **{
            "from": end // 2, "to": end // 2 + 8000})
        check_equal(fine[99999], [], "no such row")
        check_equal(list(fine), rows + [99999], "rows, as asked for")
        for row in rows[:4]:
            for x, width, state, share in fine[row]:
                # a pixel is a nanosecond
                check_equal(share, 255, "share")
                for t in x, x + width - 1:
                    check_equal(server.ask("at", row=row,
                                           t=end // 2 + t)["state"],
                                state, f"row {row} at {t}")
        coarse = frame(server, pixels=10, rows=wanted,
                       **{"from": 0, "to": end})
        table = server.ask("statistics", by="thread", **{
            "from": 0, "to": end // 10})
        tids = {r["id"]: r["tid"] for r in server.ask("rows")}
    sums = {line[1]: line[3:] for line in table["rows"]}
    for row in rows:
        first = [run for run in coarse[row] if run[0] == 0]
        if tids[row] < 0 or not first:
            continue
        times = sums[tids[row]]
        # where a pixel ends may be an eighth of it too early, or too late
        _, _, state, share = first[0]
        exact = times[state - 1] * 255 // (end // 10)
        check(abs(share - exact) <= 255 // 8 + 1, f"share {share}, not {exact}")
        check(max(times) - times[state - 1] <= end // 10 // 8, "dominant")


@test
def wakings_are_arrows():
    machine = Machine(22, 900)
    with view(machine.write()) as server:
        origin = int(server.ready()["origin"])
        rows = rows_by_name(server)
        tid = {rows["thread", tid]["id"]: tid for tid in machine.states}
        begin, to = machine.now // 3 - origin, machine.now // 2 - origin
        got = server.ask("arrows", rows=",".join(map(str, tid)),
                         **{"from": begin, "to": to})
        all_of_them = server.ask("arrows", rows=",".join(map(str, tid)))
    expected = {(time, waker, woken)
                for woken, told in machine.states.items()
                for time, state, waker in told
                if state == READY and waker and begin <= time - origin < to}
    check_equal({(a["t"] + origin, tid[a["from_row"]], tid[a["to_row"]])
                 for a in got}, expected, "arrows")
    check(len(expected) > 5, "hardly any arrow")
    check(len(all_of_them) > len(got), "all of them")


@test
def nothing_is_drawn_over_a_hole():
    machine = Machine(23, 1500)
    trace = machine.write(lost_in=4)
    part = machine.events[1][200:201][0][0], machine.events[1][199][0]
    with view(trace) as server:
        origin = int(server.ready()["origin"])
        rows = rows_by_name(server)
        ids = {name: rows[name]["id"] for name in
               (("cpu", "CPU 0"), ("cpu", "CPU 1"), ("thread", 1))}
        drawn = frame(server, pixels=1000,
                      rows=",".join(map(str, ids.values())))
        lost = server.ask("histogram", pixels=1000)["lost"]
    check(part[0] > part[1] > origin, "packets")
    holes = [x for x, is_lost in enumerate(lost) if is_lost]
    check(holes, "nothing is lost")
    for name, row in ids.items():
        shown = sorted(pixel for x, width, state, _share in drawn[row]
                       if state == LOST for pixel in range(x, x + width))
        check_equal(shown, [] if name[1] == "CPU 0" else holes, str(name))


@test
def latencies_and_tables_are_those_of_reports():
    machine = Machine(24, 900)
    trace = machine.write()
    begin, end = 'event == "sched_waking"', 'event == "sched_switch"'
    report = json.loads(run(SONDE, "report", "latency", "--json", "--begin",
                            begin, "--end", end, "--key", "cpu",
                            trace).stdout)
    top = json.loads(run(SONDE, "report", "top", "--json", trace).stdout)
    with view(trace) as server:
        server.ready()
        got = server.ask("latency", begin=begin, end=end, key="cpu")
        table = server.ask("statistics", by="event")
        same = server.ask("report", name="top")
        blame = server.ask("report", name="blame", begin=begin, end=end, key="cpu")
        check_equal(server.refused("report", name="nothing")[0], 404, "report")
        status, why = server.refused("latency", begin="a ==", end=end)
        check_equal((status, why["at"]), (400, 5), f"latency: {why}")
        user = server.refused("report", name="locks")
    check_equal(same, top, "report")
    check_equal(blame, json.loads(run(SONDE, "report", "blame", "--json", "--begin", begin,
                                      "--end", end, "--key", "cpu", trace).stdout), "blame")
    check_equal([row[:2] for row in table["rows"]],
                [[line["key"], line["count"]] for line in top["top"]], "top")
    line = report["latency"][0]
    check_equal((got["count"], got["max"], got["quantiles"]["p99"]),
                (line["count"], line["max_ns"], line["p99_ns"]), "latency")
    check_equal(sum(b["count"] for b in got["bins"]), got["count"], "bins")
    check_equal(got["worst"][0]["duration"], got["max"], "worst")
    check(user[0] in (400, 404), f"locks: {user}")


@test
def sums_by_lock_and_wakeup_are_those_of_the_reports():
    lock = [("mutex", 64, 8), ("caller", 64, 8)]
    locks = Handmade(Layout(
        header=[("id", 16, 8), ("time", 64, 8)],
        context=[("tid", 32, 8), ("pid", 32, 8)],
        events={"lock:mutex_wait": lock, "lock:mutex_unlock": lock,
                "lock:mutex_lock": lock + [("result", 32, 8)]}))
    with locks.stream("program", cpu=0) as stream:
        with stream.packet(0, 1000, discarded=0):
            for at, tid, what in ((5, 41, "wait"), (10, 41, "lock"),
                                  (30, 42, "wait"), (90, 41, "unlock"),
                                  (90, 42, "lock"), (120, 42, "unlock")):
                stream.event("lock:mutex_" + what, at, {"tid": tid, "pid": 41},
                             mutex=0x4711, caller=1,
                             **({"result": 0} if what == "lock" else {}))
    for trace, by, report, table, columns in (
            (locks.dir, "lock", "locks", "locks", ("acquired", "waited")),
            (Machine(24, 900).write(), "wake-up", "sched", "threads",
             ("tid", "wakeups"))):
        wanted = json.loads(run(SONDE, "report", report, "--json",
                                trace).stdout)[table]
        check(wanted, f"nothing to compare by {by}")
        with view(trace) as server:
            server.ready()
            got = server.ask("statistics", by=urllib.parse.quote(by))
            refused = server.refused("statistics", by="nothing")
        names = [column["name"] for column in got["columns"]]
        check(all(column["unit"] == "id" for column in got["columns"]
                  if column["name"] == "tid"), "a thread is no quantity")
        check_equal([[row[names.index(name)] for name in columns]
                     for row in got["rows"]],
                    [[line[name] for name in columns] for line in wanted], by)
        check_equal((refused[0], "wake-up" in refused[1]["error"]), (400, True),
                    f"{refused}")


@test
def pairs_of_any_name_are_told_as_conditions_that_find_them():
    stems = "odd[1]:wait*?", "plain:work", "back\\\\slash:x"
    events = {f"{stem}_{end}": [] for stem in stems for end in ("begin", "end")}
    events["irq_handler_entry"] = events["irq_handler_exit"] = []
    events["odd1:wait12_begin"] = events["lonely:work_begin"] = []
    trace = Handmade(Layout(header=[("id", 16, 8), ("time", 64, 8)],
                            context=[("tid", 32, 8)], events=events))
    with trace.stream("program", cpu=0) as stream:
        with stream.packet(0, 1000, discarded=0):
            for at, name in enumerate(events):
                stream.event(name, at * 10, {"tid": 5})
    with view(trace.dir) as server:
        server.ready()
        told = {pair["name"]: pair for pair in server.ask("pairs")}
        counts = {name: server.ask("latency", begin=pair["begin"],
                                   end=pair["end"], key=pair["key"])["count"]
                  for name, pair in told.items()}
    check_equal(counts, {**{stem.replace("\\\\", "\\"): 1 for stem in stems},
                         "interrupts": 1}, "pairs")
    check_equal(told["interrupts"]["key"], "cpu", "of a CPU")


@test
def system_calls_are_those_of_the_report():
    trace = write_trace(story())
    calls = json.loads(run(SONDE, "report", "syscalls", "--json",
                           trace).stdout)["calls"]
    check(calls, "the trace has no system calls")
    with view(trace) as server:
        server.ready()
        table = server.ask("statistics", by="syscall")
    names = [column["name"] for column in table["columns"]]
    at = [names.index(name) for name in ("call", "count", "total")]
    check_equal([[row[i] for i in at] for row in table["rows"]],
                [[line["call"], line["count"], line["total_ns"]]
                 for line in calls], "system calls")


@test
def a_trace_without_a_kernel_says_why_it_has_no_rows():
    with view(handmade()) as server:
        check("scheduler" in server.ready()["why"], "why")
        check_equal([row["name"] for row in server.ask("rows")], ["lost events"], "rows")
        check_equal(server.raw("api/frame", pixels=9, rows="1"),
                    struct.pack("<II", 1, 0), "frame")


# ---- within threads ----

@test
def traces_of_several_machines_are_one_list_without_rows():
    parts = [Program(seed, 60).write() for seed in (48, 49)]
    both = sorted(sum(map(times_of, parts), []))
    with view(*parts) as server:
        server.ready()
        check(server.ask("rows"), "rows of one machine's")
        events = server.ask("events", n=2000)["events"]
        origin = int(server.ask("trace")["origin"])
        check_equal([event["t"] + origin for event in events], both, "events")
    other = pathlib.Path(parts[1]) / "metadata"
    other.write_bytes(other.read_bytes().replace(b'"made"', b'"othr"'))
    with view(*parts) as server:
        about = server.ready()
        check_equal(server.ask("rows"), [], "rows of several machines'")
        check("several machines" in about["why"], about["why"])
        check_equal(about["events"], len(both), "events counted")


def orders(events):
    """Whether the page shows how far each is from the one before."""
    if not shutil.which("node"):
        raise Skip("no node")
    page = pathlib.Path(ROOT) / "src/view/web/time.js"
    module = scratch() / "time.mjs"
    module.write_bytes(page.read_bytes())
    done = run("node", "--input-type=module", "-e",
               f"import {{ isOrdered }} from {json.dumps(str(module))};"
               f"const events = {json.dumps(events)};"
               "console.log(JSON.stringify(events.slice(1).map((event, i) =>"
               "isOrdered(events[i], event))));")
    check_equal(done.returncode, 0, done.stderr)
    return json.loads(done.stdout)


@test
def an_order_of_two_machines_events_is_shown_only_if_the_bound_supports_it():
    traces = two_hosts()
    with view(*traces) as server:
        server.ready()
        events = server.ask("events", n=20, columns="host, time, id")["events"]
    check_equal([event["host"] for event in events], ["web", "db", "db", "web"],
                "hosts")
    check_equal({(event["on"], event["within"]) for event in events},
                {("web", 25000)}, "bounds")
    check_equal([event["columns"] for event in events], [[None, None, "1"]] * 4,
                "columns")
    check_equal(orders(events), [False, True, True], "known orders")
    (traces[1] / "user" / ".clock").unlink()
    with view(*traces) as server:
        server.ready()
        events = server.ask("events", n=20)["events"]
    check_equal({(event["host"], event["on"], event["within"])
                 for event in events},
                {("web", "web", 25000), ("db", None, None)}, "bounds")
    check_equal(orders(events), [True, False, True], "known orders")
    with view(traces[0]) as server:
        server.ready()
        event = server.ask("events", n=1)["events"][0]
        check_equal([key for key in ("host", "on", "within") if key in event],
                    [], "of one machine")
        check_equal(server.refused("events", columns="host")[0], 400, "a column")


@test
def what_threads_begin_and_end_has_rows_by_depth():
    program = Program(41, 900)
    chance = random.Random(8)
    found = 0
    with view(program.write()) as server:
        about = server.ready()
        origin = int(about["origin"])
        rows, every = within_rows(server)
        check_equal(about["why"], None, "why there are none")
        wanted = {key for key in program.within if key[1] < DEPTH}
        check((71, DEPTH) in program.within, "it isn't deep enough")
        check_equal(set(rows), wanted, "rows")
        parents = {row["id"]: row for row in every}
        for (tid, _depth), row in rows.items():
            thread = parents[row["parent"]]
            check_equal((thread["kind"], thread["tid"], thread["pid"]),
                        ("thread", tid, 71), "the row above")
        for _ in range(600):
            tid, depth = chance.choice(sorted(rows))
            time = chance.randrange(1000, program.end)
            told = program.at(tid, depth, time)
            got = server.ask("at", row=rows[tid, depth]["id"], t=time - origin)
            what = f"{tid} at {depth}, {time}: {got}, {told}"
            if told is None:
                check_equal(got["state"], 0, what)
                continue
            found += 1
            check_equal((got["from"] + origin, got["to"] + origin,
                         got["detail"]["name"]), told, what)
    check(found > 100, f"found {found}")


@test
def what_fills_a_pixel_is_named_in_it():
    program = Program(42, 300)
    named = several = 0
    with view(program.write()) as server:
        origin = int(server.ready()["origin"])
        rows, _every = within_rows(server)
        names = server.ask("names")
        check_equal(set(names), set(NAMES), "names")
        row = rows[72, 0]["id"]
        end = program.end - origin
        drawn = named_frame(server, pixels=100, rows=row,
                            **{"from": 0, "to": end})[row]
    for x, width, _state, share, name in drawn:
        for pixel in range(x, x + width):
            begin, after = end * pixel // 100, end * (pixel + 1) // 100
            told = program.at(72, 0, begin + origin)
            # where a pixel begins and ends may be an eighth of it too early
            early = program.at(72, 0, begin - end // 800 + origin)
            if name:
                named += 1
                check(names[name - 1] in {at[2] for at in (told, early) if at},
                      f"pixel {pixel}: {names[name - 1]}, {told}")
            elif share < 255:
                several += 1
            check(not name or share > 220, f"{pixel}: {share}")
            check(after > begin, "a pixel of nothing")
    check(named > 5 and several > 5, f"{named} named, {several} not")


@test
def locks_are_held_and_waited_for_as_their_events_say():
    locking = Locking(51, 1500)
    trace = locking.write()
    chance = random.Random(8)
    report = json.loads(run(SONDE, "report", "locks", "--json", trace).stdout)
    with view(trace) as server:
        origin = int(server.ready()["origin"])
        rows = [row for row in server.ask("rows") if row["kind"] == "lock"]
        check_equal([row["name"] for row in sorted(
            rows, key=lambda row: row["id"])],
            [f"mutex {lock['lock']}" for lock in report["locks"]], "order")
        seen = set()
        for _ in range(400):
            row = chance.choice(rows)
            time = chance.randrange(1000, locking.now - 1)
            since, state, holder, waiting = locking.at(
                int(row["name"].split()[1], 16), time)
            got = server.ask("at", row=row["id"], t=time - origin)
            what = f"{row['name']} at {time}: {got}"
            check_equal(got["state"], state, what)
            seen.add((state, bool(holder), min(waiting, 2)))
            if not state:
                continue
            check_equal(got["from"] + origin, since, what)
            check_equal(got["detail"]["held by"].strip(),
                        f"({holder})" if holder else "not known", what)
            check_equal(got["detail"]["threads that wait"], waiting, what)
    check_equal(len(seen), 6, f"states met: {seen}")


@test
def a_lock_that_is_held_when_the_trace_ends_is_held_until_then():
    trace = Handmade(LOCKS)
    with trace.stream("t", cpu=0) as stream:
        with stream.packet(1000, 9000, discarded=0):
            for time, tid, name, fields in (
                    (2000, 5, "lock", {"result": 0}), (3000, 6, "wait", {}),
                    (4000, 6, "lock", {"result": 110}), (8000, 7, "wait", {})):
                stream.event("lock:mutex_" + name, time,
                             {"tid": tid, "pid": 5}, mutex=64, caller=1,
                             **fields)
    with view(trace.dir) as server:
        origin = int(server.ready()["origin"])
        row, = [row for row in server.ask("rows") if row["kind"] == "lock"]
        told = [(got["state"], got["from"] + origin, got["to"] + origin)
                for got in (server.ask("at", row=row["id"], t=time - origin)
                            for time in (2500, 3500, 5000, 8500))]
    check_equal(told, [(HELD, 2000, 3000), (CONTENDED, 3000, 4000),
                       (HELD, 4000, 8000), (CONTENDED, 8000, 9000)], "states")


@test
def who_has_a_lock_is_not_known_once_events_were_lost():
    trace = Handmade(LOCKS)
    with trace.stream("t", cpu=0) as stream:
        with stream.packet(1000, 9000, discarded=0):
            for time, tid, name, fields in (
                    (2000, 5, "lock", {"result": 0}), (2500, 6, "wait", {}),
                    (7000, 5, "unlock", {}), (7500, 6, "lock", {"result": 0}),
                    (8000, 6, "unlock", {})):
                stream.event("lock:mutex_" + name, time,
                             {"tid": tid, "pid": 5}, mutex=64, caller=1,
                             **fields)
    with trace.stream("u", cpu=1) as stream:
        with stream.packet(1000, 4000, discarded=0):
            pass
        with stream.packet(4100, 5000, discarded=3):
            pass
    with view(trace.dir) as server:
        origin = int(server.ready()["origin"])
        row, = [row for row in server.ask("rows") if row["kind"] == "lock"]
        before, waited, lost, after, let_go, had = (
            server.ask("at", row=row["id"], t=time - origin)
            for time in (2200, 3000, 4500, 6000, 7200, 7700))
    check_equal([got["state"] for got in (before, waited, lost, after, let_go,
                                          had)],
                [HELD, CONTENDED, 0, 0, 0, HELD], "states")
    check(4000 <= waited["to"] + origin <= 4100, f"until the loss: {waited}")
    check("not" not in after["detail"], f"{after}")
    check("known" in after["why"], f"{after}")
    check_equal(waited["detail"].get("threads that wait"), 1, "before")
    check_equal(had["detail"].get("threads known to wait"), 0, "after")


JOB = [("id", 32, 8), ("what", "string", 8)]
JOBS = Layout(header=[("id", 16, 8), ("time", 64, 8)],
              events={"job:start": JOB, "job:pause": JOB, "job:done": JOB})
RULES = """
# jobs, each by itself
row job
per id
	begin event == "job:start"
	name what
	begin event == "job:pause"
end event == "job:done"

row last
begin event == "job:start" && id > 1
name id
row of others
begin nothing == 1
"""


def jobs(lost=3):
    """Two jobs; while the first runs again events are lost on another CPU."""
    trace = Handmade(JOBS)
    with trace.stream("t", cpu=0) as stream:
        with stream.packet(1000, 9000, discarded=0):
            for time, name, job, what in (
                    (1500, "start", 1, "parse"), (2000, "start", 2, "sum"),
                    (2500, "pause", 1, ""), (3000, "start", 1, "print"),
                    (7000, "done", 1, ""), (8000, "start", 1, "end")):
                stream.event("job:" + name, time, id=job, what=what)
    with trace.stream("u", cpu=1) as stream:
        with stream.packet(1000, 5000, discarded=0):
            pass
        with stream.packet(5000, 6000, discarded=lost):
            pass
    return trace.dir


def own_states(server, row):
    """What the row is, and until when, from its begin on."""
    about = server.ready()
    origin, at, found = int(about["origin"]), 0, []
    while at < about["end"]:
        got = server.ask("at", row=row, t=at)
        if got["state"]:
            found.append((got["detail"]["name"], got["from"] + origin,
                          got["to"] + origin))
        if found and got["from"] == got["to"]:
            break  # behind all that is known
        at = max(got["to"], at + 1)
    return found


@test
def rows_that_one_declares_are_as_their_rules_say():
    trace, rules = jobs(), scratch() / "rules"
    os.environ["XDG_CACHE_HOME"] = str(scratch())
    rules.write_text(RULES)
    expected = {"job 1": [("parse", 1500, 2500), ("job:pause", 2500, 3000),
                          ("print", 3000, 5000), ("end", 8000, 9000)],
                "job 2": [("sum", 2000, 5000)],
                "last": [("2", 2000, 5000)]}
    for cached in False, True:
        with view(trace, "--rows", str(rules)) as server:
            about = server.ready()
            rows = {row["name"]: row["id"] for row in server.ask("rows")
                    if row["kind"] == "own"}
            got = {name: own_states(server, row) for name, row in rows.items()}
        check_equal(got, expected, "states")
        check("'of others'" in about["why"] and ":13)" in about["why"] and
              "nothing" in about["why"], about["why"])
        check_equal(about["index"]["from_cache"], cached, "kept")
    with view(trace) as server:
        check_equal((server.ready()["index"]["from_cache"],
                     [row["name"] for row in server.ask("rows")]),
                    (False, ["lost events"]), "other rules, another index")


COLOURS = """
row job
per id
begin event == "job:start"
name what
colour red
begin event == "job:pause"
label paused
colour #0102fe
end event == "job:done"
"""


@test
def declared_states_have_the_labels_and_colours_that_they_are_given():
    trace, rules = jobs(), scratch() / "rules"
    os.environ["XDG_CACHE_HOME"] = str(scratch())
    rules.write_text(COLOURS)
    for cached in False, True:
        with view(trace, "--rows", str(rules)) as server:
            check_equal(server.ready()["index"]["from_cache"], cached, "kept")
            row, = [row["id"] for row in server.ask("rows")
                    if row["name"] == "job 1"]
            names = server.ask("names")
            colours = {names[int(number) - 1]: colour for number, colour
                       in server.ask("colours").items()}
            got = [name for name, _begin, _end in own_states(server, row)]
        check_equal(colours, {"paused": "#0102fe", **dict.fromkeys(
            ("parse", "sum", "print", "end"), "#d55e00")}, "colours")
        check_equal(got, ["parse", "paused", "print", "end"], "names")
    rules.write_text(COLOURS.replace("red", "green"))
    with view(trace, "--rows", str(rules)) as server:
        check(not server.ready()["index"]["from_cache"], "other colours")


QUEUE = Layout(header=[("id", 16, 8), ("time", 64, 8)],
               events={"q:depth": [("queue", 32, 8), ("n", 32, 8)],
                       "q:gone": [("queue", 32, 8)],
                       "q:take": [("size", 32, 8)], "q:give": [("size", 32, 8)]})
COUNTERS = """
counter depth
per queue
unit requests
when event == "q:depth"
value n
end event == "q:gone"
counter eighths
when event == "q:depth" && queue == 1
value n * 0.125
counter held
unit bytes
when event == "q:take"
add size
when event == "q:give"
add -size
"""
QUEUE_HOLE = (400000, 450000)
QUEUE_END = 1000000


def queue_events(seed=5):
    chance = random.Random(seed)
    for time in sorted(chance.sample(range(1001, QUEUE_END), 20000)):
        name = chance.choice(("depth",) * 40 + ("take", "give") * 20 + ("gone",))
        number = {"queue": chance.randrange(1, 3)}
        if name == "depth":
            number["n"] = chance.randrange(3000) if time > 600000 else chance.randrange(4)
        if name in ("take", "give"):
            number = {"size": chance.randrange(1, 1 << 20)}
        yield time, name, number


def queue():
    """Queues that are told of, and bytes that are taken and given back; some events are
    lost in between."""
    trace = Handmade(QUEUE)
    with trace.stream("t", cpu=0) as stream:
        with stream.packet(1000, QUEUE_END, discarded=0):
            for time, name, fields in queue_events():
                stream.event("q:" + name, time, **fields)
    with trace.stream("u", cpu=1) as stream:
        with stream.packet(1000, QUEUE_HOLE[0], discarded=0):
            pass
        with stream.packet(*QUEUE_HOLE, discarded=3):
            pass
    return trace.dir


def queue_counters():
    """By counter: (begin, end, value) in the order of time, as its rules say."""
    pieces, now = {}, {}

    def change(name, time, value):
        """Up to the hole, if that was before; in it nothing begins."""
        if name in now:
            begin, was = now.pop(name)
            end = QUEUE_HOLE[0] if begin < QUEUE_HOLE[0] < time else time
            if end > begin:
                pieces.setdefault(name, []).append((begin, end, was))
        if value is not None and not QUEUE_HOLE[0] <= time < QUEUE_HOLE[1]:
            now[name] = (time, value)

    def known(name, time):
        begin, value = now.get(name, (0, 0))
        return 0 if begin < QUEUE_HOLE[0] <= time else value

    for time, name, fields in queue_events():
        if name in ("depth", "gone"):
            change(f"depth {fields['queue']}", time, fields.get("n"))
        if name == "depth" and fields["queue"] == 1:
            change("eighths", time, fields["n"] / 8)
        if name in ("take", "give"):
            change("held", time, known("held", time) +
                   fields["size"] * (1 if name == "take" else -1))
    for name in list(now):
        change(name, QUEUE_END, None)
    return pieces


def reach(pieces, begin, end):
    """The least and the most of what there was within."""
    values = [value for first, last, value in pieces if first < end and last > begin]
    return (min(values), max(values)) if values else None


def check_counter(server, row, pieces, chance):
    """What is told of instants, and what is drawn of spans, is what the events say."""
    origin = 1000
    for time in chance.sample(range(1000, QUEUE_END), 200):
        got = server.ask("at", row=row["id"], t=time - origin)
        there = [value for begin, end, value in pieces if begin <= time < end]
        check_equal([got["detail"]["value"]] if got["state"] else [], there,
                    f"{row['name']} at {time}")
    low, high = row["low"], row["high"]
    for width, pixels in ((QUEUE_END, 100), (5000, 500), (64, 64)):
        begin = chance.randrange(1000, max(1001, QUEUE_END - width))
        runs = named_frame(server, rows=row["id"], pixels=pixels,
                           **{"from": begin - origin, "to": begin - origin + width})
        drawn = {}
        for x, length, state, most, least in runs[row["id"]]:
            drawn |= {at: (state, least, most) for at in range(x, x + length)}
        for x in range(pixels):
            first, last = (begin + width * k // pixels for k in (x, x + 1))
            state, *got = drawn.get(x, (0, 0, 0))
            if first < QUEUE_HOLE[1] and last > QUEUE_HOLE[0]:
                check_equal(state, LOST, f"{row['name']}: the hole at {first}")
                continue
            slack = width // pixels // 8
            inner = reach(pieces, first + slack, last - slack)
            outer = reach(pieces, first - slack, last + slack)
            if not outer:
                check_equal(state, 0, f"{row['name']}: nothing at {first}")
                continue
            least, most = ((value - low) / (high - low) * 255 for value in outer)
            check(got[0] >= least - 0.51 and got[1] <= most + 0.51,
                  f"{row['name']} at {first}: {got}, {least}, {most}")
            if inner:
                least, most = ((value - low) / (high - low) * 255 for value in inner)
                check(got[0] <= least + 0.51 and got[1] >= most - 0.51,
                      f"{row['name']} at {first}: {got}, {least}, {most}")


@test
def counters_are_what_their_events_say_at_every_instant_and_in_every_pixel():
    trace, rules = queue(), scratch() / "rules"
    os.environ["XDG_CACHE_HOME"] = str(scratch())
    rules.write_text(COUNTERS)
    expected = queue_counters()
    check_equal(sorted(expected), ["depth 1", "depth 2", "eighths", "held"], "counters")
    for cached in False, True:
        with view(trace, "--rows", str(rules)) as server:
            check_equal(server.ready()["index"]["from_cache"], cached, "kept")
            rows = {row["name"]: row for row in server.ask("rows")
                    if row["kind"] == "counter" and row["name"] != "lost events"}
            check_equal(sorted(rows), sorted(expected), "rows")
            for name, row in rows.items():
                every = [value for _begin, _end, value in expected[name]]
                check_equal((row["min"], row["max"]), (min(every), max(every)), name)
                check_counter(server, row, expected[name], random.Random(name))
            check_equal((rows["held"]["unit"], rows["eighths"]["unit"]), ("bytes", ""),
                        "units")
            got = server.ask("statistics", by="counter", **{"from": 499000, "to": 699000})
    check_equal([column["name"] for column in got["columns"]],
                ["counter", "unit", "min", "max", "last"], "columns")
    for name, _unit, least, most, last in got["rows"]:
        if name == "lost events":
            continue
        check_equal((least, most), reach(expected[name], 500000, 700000), name)
        check_equal([last], [value for begin, end, value in expected[name]
                             if begin < 700000 <= end], name)
    rules.write_text(COUNTERS.replace("bytes", "words"))
    with view(trace, "--rows", str(rules)) as server:
        check(not server.ready()["index"]["from_cache"], "another unit, another index")


@test
def a_report_sums_up_counters_as_their_events_say():
    trace, rules = queue(), scratch() / "rules"
    rules.write_text(COUNTERS)
    done = run(SONDE, "report", "-q", "--json", "--rows", rules, "rows", trace)
    check_equal((done.returncode, done.stderr), (0, ""), "the report")
    got = {row["counter"]: row for row in json.loads(done.stdout)["counters"]}
    expected = queue_counters()
    check_equal(sorted(got), sorted(expected), "counters")
    for name, pieces in expected.items():
        values = [value for _begin, _end, value in pieces]
        known = sum(end - begin for begin, end, _value in pieces)
        mean = sum((end - begin) * value for begin, end, value in pieces) / known
        row = got[name]
        check_equal((row["values"], row["min"], row["max"], row["last"], row["known_ns"]),
                    (len(pieces), min(values), max(values), values[-1], known), name)
        check(abs(row["mean"] - mean) <= abs(mean) * 1e-9, f"{name}: {row['mean']}, {mean}")


@test
def a_counter_that_is_declared_wrongly_is_refused_in_words():
    trace, rules = queue(), scratch() / "rules"
    for text, word in (
            ("counter a\n", "no 'when'"),
            ("counter a\nwhen n\n", "no 'value' and no 'add'"),
            ("counter a\nvalue n\n", "below each when"),
            ("counter a\nwhen n\nvalue n\nadd n\n", "one value or add"),
            ("counter a\nunit b\nunit b\n", "one 'unit'"),
            ("counter a\nbegin n\n", "'begin' is none of counter"),
            ("row a\nwhen n\n", "'when' is none of row"),
            ("unit b\n", "comes first"),
            ("row a\nbegin n\ncounter a\nwhen n\nvalue n\n", "a row already")):
        rules.write_text(text)
        done = run(SONDE, "report", "--rows", rules, "rows", trace)
        check(done.returncode == 2 and word in done.stderr and
              f"{rules}:" in done.stderr, f"{text!r}: {done.stderr}")


PLUGIN_COUNTER = r"""
#include <sonde/plugin.h>
static int see(void *state, struct sonde_plugin_run *run,
	       const struct sonde_event *event, const void *data)
{
	int counter = sonde_plugin_counter_number(run, "held", "bytes");
	const struct sonde_filter *size = *(struct sonde_filter **)state;
	struct sonde_value value;
	double was = 0;

	if (sonde_filter_value(size, event, &value))
		return 0;
	(void)sonde_plugin_counted(run, counter, event->time_ns, &was);
	return sonde_plugin_count(run, counter, event->time_ns,
				  was + *(const double *)data * (double)(
				  value.kind == SONDE_KIND_INT ? value.i :
				  (int64_t)value.u));
}
static int begin(void *state, const void *config, struct sonde_plugin_run *run)
{
	static const double more = 1, less = -1;
	struct sonde_trace_error error;
	int err = sonde_filter_new(sonde_plugin_trace(run), "size", &error, state);

	(void)config;
	if (!err)
		err = sonde_plugin_on(run, "q:take", see, &more);
	return err ? err : sonde_plugin_on(run, "q:give", see, &less);
}
static const struct sonde_plugin_rows held = { sizeof(held), "held", "bytes",
	0, sizeof(void *), begin, 0, 0 };
static const struct sonde_plugin_rows *const rows[] = { &held, 0 };
const struct sonde_plugin sonde_plugin = { SONDE_PLUGIN_ABI,
	sizeof(sonde_plugin), 0, rows, 0 };
"""


@test
def a_counter_of_a_plugin_is_the_same_as_one_that_is_declared():
    trace, place = queue(), scratch()
    (place / "x.c").write_text(PLUGIN_COUNTER)
    done = run("gcc", "-shared", "-fPIC", "-Wall", "-Werror", "-o", place / "x.so",
               *pkg_config("--cflags"), place / "x.c")
    check_equal(done.returncode, 0, done.stderr)
    with view(trace, "--plugin", str(place / "x.so")) as server:
        server.ready()
        row, = [row for row in server.ask("rows")
                if row["kind"] == "counter" and row["name"] != "lost events"]
        check_equal((row["name"], row["unit"]), ("held", "bytes"), "the row")
        check_counter(server, row, queue_counters()["held"], random.Random(1))


@test
def rows_of_a_plugin_are_shown_with_their_colours_and_kept():
    trace = Handmade(Layout(header=[("id", 16, 8), ("time", 64, 8)], events={
        f"server:request_{edge}": [("id", 32, 8)] for edge in ("begin", "end")}))
    with trace.stream("t", cpu=0) as stream:
        with stream.packet(1000, 9000, discarded=0):
            for time, edge, request in ((2000, "begin", 1), (2500, "begin", 2),
                                        (3000, "end", 1), (6000, "end", 2)):
                stream.event(f"server:request_{edge}", time, id=request)
    plugin = scratch() / "x.so"
    done = run("gcc", "-shared", "-fPIC", "-o", plugin, *pkg_config("--cflags"),
               ROOT / "examples/plugins/requests.c")
    check_equal(done.returncode, 0, done.stderr)
    os.environ["XDG_CACHE_HOME"] = str(scratch())
    for cached in False, True, False:
        with view(trace.dir, "--plugin", str(plugin)) as server:
            check_equal(server.ready()["index"]["from_cache"], cached, "kept")
            got = {row["name"]: own_states(server, row["id"])
                   for row in server.ask("rows") if row["kind"] == "own"}
            names = server.ask("names")
            colours = {names[int(number) - 1]: colour for number, colour
                       in server.ask("colours").items()}
        check_equal(got, {
            "open requests": [("1 open", 2000, 2500), ("2 open", 2500, 3000),
                              ("1 open", 3000, 6000)],
            "request 1": [("being served", 2000, 3000)],
            "request 2": [("being served", 2500, 6000)]}, "states")
        check_equal(colours, {"1 open": "#009e73", "2 open": "#e69f00",
                              "being served": "#56b4e9"}, "colours")
        if cached:  # another plug-in may make other rows
            os.utime(plugin, ns=(1, 1))


@test
def a_declared_row_goes_on_where_what_was_lost_is_of_others():
    rules = scratch() / "rules"
    rules.write_text(RULES + """row last
begin event == "sched_switch" && next_tid == 12345
""")
    kernel = Handmade(KERNEL)
    with kernel.stream("cpu1", cpu=1) as stream:
        with stream.packet(1000, 3000, discarded=0):
            stream.event("sched_switch", 1200, prev_comm="", prev_tid=0,
                         prev_prio=20, prev_state=0, next_comm="t1",
                         next_tid=1, next_prio=20)
        with stream.packet(3000, 6000, discarded=3):
            pass
    with view(jobs(lost=0), "--rows", str(rules), kernel.dir) as server:
        check(server.ready()["lost"], "nothing is lost")
        rows = {row["name"]: row["id"] for row in server.ask("rows")
                if row["kind"] == "own"}
        got = {name: own_states(server, row) for name, row in rows.items()}
        drawn = frame(server, pixels=1000,
                      rows=f"{rows['job 1']},{rows['last']}")
    holes = [any(run[2] == LOST for run in drawn[rows[name]])
             for name in ("job 1", "last")]
    check_equal(holes, [False, True], "holes in them")
    check_equal(got["job 1"][2], ("print", 3000, 7000), "of programs alone")
    check_equal(got["last"], [("2", 2000, 3000)], "a row of both")


@test
def a_users_own_rows_are_shown_of_each_trace():
    trace, home = jobs(), scratch() / "config"
    (home / "sonde").mkdir(parents=True)
    (home / "sonde/rows").write_text(RULES)
    env = dict(os.environ, XDG_CONFIG_HOME=str(home))
    server = Server(None, process=subprocess.Popen(
        [SONDE, "view", "--no-browser", trace], env=env, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    server.ready()
    check_equal({row["name"] for row in server.ask("rows")},
                {"job 1", "job 2", "last", "lost events"}, "rows")
    check_equal(server.end(), (0, ""), "the end")
    none = scratch() / "none"
    os.environ["XDG_CONFIG_HOME"] = str(none)
    with view(trace) as server:
        server.ready()
    check(not none.exists(), "a directory was made")


@test
def what_is_wrong_with_declared_rows_is_said_with_its_line():
    trace, rules = jobs(), scratch() / "rules"
    for text, word in (("per x", "1: 'row NAME'"), ("row", "1: 'row' alone"),
                       ("row a\n", "1: the row has no 'begin'"),
                       ("row a\nbegin 1\nend 1\nname x", "4: a name"),
                       ("row a\nper 1\nper 2", "3: a row has one"),
                       ("row a\nbegins 1", "2: 'begins' is none"),
                       ("row a\nbegin 1\ncolour mauve", "3: 'mauve' is no"),
                       ("row a\nbegin 1\ncolour #12345", "3: '#12345' is no"),
                       ("row a\nbegin 1\nend 1\ncolour red", "4: a colour"),
                       ("row a\nbegin 1\nname x\nlabel y", "4: a label"),
                       ("row a\nbegin 1\n" * 65, "129: more than 64"),
                       ("row a\n" + "end 1\n" * 33, "34: more than 32")):
        rules.write_text(text)
        done = run(SONDE, "view", "--rows", rules, trace)
        check(done.returncode == 2 and f"{rules}:{word}" in done.stderr,
              f"{text}: {done}")
    done = run(SONDE, "view", "--rows", rules / "x", trace)
    check(done.returncode == 2 and "Not a directory" in done.stderr, f"{done}")


@test
def a_thread_that_nobody_saw_run_is_as_busy_as_what_goes_on_in_it():
    program = Program(43, 200)
    with view(program.write()) as server:
        end = server.ready()["end"]
        rows = rows_by_name(server)
        threads = server.ask("statistics", by="thread")
        states = server.ask("statistics", by="state")
    check_equal({(row[1], *row[3:]) for row in threads["rows"]},
                {(tid, *[None] * 6) for tid in (71, 72)}, "in which state it was isn't known")
    check_equal({time for _state, time in states["rows"]}, {None}, "nor of all")
    for tid in 71, 72:
        busy = sum(last - begin for begin, last, _ in program.within[tid, 0])
        check_equal(round(rows["thread", tid]["busy"] * end), busy, f"{tid}")


@test
def the_flame_graph_is_that_of_the_command():
    trace = Program(45, 300).write()
    wanted = run(SONDE, "flame", "--title", trace, trace).stdout
    with view(trace) as server:
        check_equal(server.raw("api/flame").decode(), wanted, "picture")
        for of, status, word in (("nonsense", 400, "holders"),
                                 ("waits", 404, "--stack")):
            got, why = server.refused("flame", of=of)
            check_equal(got, status, of)
            check(word in why["error"], f"{of}: {why}")


@test
def what_a_flame_graph_is_of_depends_on_what_has_stacks():
    malloc = {"malloc:malloc": [("size", 64, 8), ("ptr", 64, 8)]}
    sample = {"sonde:sample": [("period", 64, 8), ("stack", 32, 8)]}
    for events, context, usual in ((malloc, [("stack", 32, 8)], "peak"),
                                   (malloc, [], "within"),
                                   ({**malloc, **sample}, [("stack", 32, 8)], "samples")):
        trace = Handmade(Layout(events=events, own_context=context))
        with trace.stream("s", cpu=0) as stream:
            with stream.packet(begin=1000, end=2000, discarded=0):
                pass
        with view(trace.dir) as server:
            check_equal(server.ask("trace")["flame"], usual, f"{list(events)}, {context}")


def flat(node, path=()):
    """A tree of the command's JSON, as weights by the path of names."""
    path += node["name"],
    yield path, (node["total_ns"], node["self_ns"], node["count"])
    for child in node["children"]:
        yield from flat(child, path)


def flat_answer(answer, side):
    """A side of the page's tree, likewise: what has any weight there."""
    path = []
    for depth, name, *weights in answer["nodes"]:
        path[depth:] = name,
        mine = tuple(weights[3 * side:3 * side + 3])
        if mine[0]:
            yield tuple(path), mine


@test
def trees_of_flame_graphs_are_those_of_the_command_for_each_side():
    first, second = (Program(seed, 300).write() for seed in (48, 49))

    def wanted(trace, *options):
        tree = json.loads(run(SONDE, "flame", "--json", *options, trace).stdout)
        return {path: weights for path, weights in flat(tree["root"])
                if weights[0]}
    with view(first) as server:
        end = server.ready()["end"]
        whole = server.ask("tree")
        spans = server.ask("tree", a_from=0, a_to=end // 3,
                           **{"from": end // 2, "to": end + 1})
        check_equal(server.refused("tree", a_from=5, a_to=5)[0], 400, "no span")
        check_equal(server.refused("tree", of="waits")[0], 404, "no stacks")
    check_equal(dict(flat_answer(whole, 0)), wanted(first), "one")
    check_equal(dict(flat_answer(spans, 0)),
                wanted(first, "--to", f"+{end // 3 - 1}ns"), "A")
    check_equal(dict(flat_answer(spans, 1)),
                wanted(first, "--from", f"+{end // 2}ns"), "B")
    check(len(spans["nodes"]) > 10, "hardly anything")
    with view(second, first) as server:  # options come first
        server.ready()
        both = server.ask("tree", traces="0,1")
    for side, trace in enumerate((first, second)):
        check_equal(dict(flat_answer(both, side)), wanted(trace), f"trace {side}")


def compared(notes, tables):
    """Without rates: a trace that was cut begins with its first event."""
    return notes, {name: [{re.sub("_(ns|percent)$", "", key): value
                           for key, value in row.items() if "rate" not in key}
                          for row in rows] for name, rows in tables.items()}


def told(answer):
    """The notes and tables of an answer, as a report's JSON has them."""
    return compared(answer["notes"],
                    {table["title"].lower(): [dict(zip(
                        (column["name"] for column in table["columns"]), row))
                        for row in table["rows"]]
                     for table in answer["tables"]})


def differences(*options):
    """What `sonde diff` says, likewise."""
    report = json.loads(run(SONDE, "diff", "--json", *options).stdout)
    return compared(report["notes"],
                    {name: report[name] for name in ("events", "durations")
                     if name in report})


@test
def spans_and_traces_are_compared_as_by_the_command():
    first, second = (Program(seed, 400).write() for seed in (46, 47))
    with view(first) as server:
        about = server.ready()
        middle = about["end"] // 2
        got = server.ask("diff", a_from=0, a_to=middle,
                         **{"from": middle, "to": about["end"] + 1})
        for wrong in ({}, {"a_from": 5, "a_to": 5}, {"traces": "0,1"},
                      {"traces": "0"}):
            check_equal(server.refused("diff", **wrong)[0], 400, wrong)
    parts = [str(scratch() / part) for part in ("a", "b")]
    origin = int(about["origin"])
    for part, begin, end in zip(parts, (0, middle), (middle, about["end"] + 1)):
        run(SONDE, "cut", "--from", f"{origin + begin}ns", "--to",
            f"{origin + end - 1}ns", "-o", part, first)
    check_equal(told(got), differences(*parts), "two spans")
    with view(second, first) as server:  # options come first
        check_equal(server.ready()["traces"], [str(first), str(second)],
                    "traces")
        got = server.ask("diff", traces="0,1")
    check_equal(told(got), differences(first, second), "two traces")
    check(len(got["tables"]) == 2 and len(got["notes"]) > 1, "hardly anything")


@test
def what_is_kept_of_a_span_is_what_the_command_exports():
    trace = handmade()
    with view(trace) as server:
        end = server.ready()["end"]
        span = {"from": end // 3, "to": end // 2}
        options = ["--from", f"+{span['from']}ns",
                   "--to", f"+{span['to'] - 1}ns"]
        for form in ("csv", "jsonl"):
            got = server.raw("api/export", format=form, filter="a > 300",
                             **span)
            wanted = run(SONDE, "export", "--to", form, "-f", "a > 300", "-o",
                         "-", *options, trace).stdout
            check_equal(got.decode(), wanted, form)
            check(len(wanted.splitlines()) > 5, "hardly anything")
        got = server.raw("api/export", format="ctf", filter="a > 300", **span)
        to = scratch()
        run(SONDE, "cut", "-q", "-f", "a > 300", "-o", to, *options, trace)
        with tarfile.open(fileobj=io.BytesIO(got)) as members:
            check_equal({each.name: members.extractfile(each).read()
                         for each in members},
                        {f"cut/{path.name}": path.read_bytes()
                         for path in to.iterdir()}, "ctf")
        status, why = server.refused("export", format="nonsense")
        check_equal(status, 400, f"{why}")
        check("perfetto" in why["error"], f"{why}")


# ---- the index that is kept ----

def cache():
    """Where this test's indexes are kept."""
    os.environ["XDG_CACHE_HOME"] = str(pathlib.Path(scratch()) / "cache")
    return pathlib.Path(os.environ["XDG_CACHE_HOME"]) / "sonde"


def asked(trace):
    """What a page sees, and whether it was kept."""
    with view(trace) as server:
        about = server.ready()
        rows = server.ask("rows")
        ids = ",".join(str(row["id"]) for row in rows)
        times = [about["end"] * i // 40 for i in range(40)]
        return about["index"]["from_cache"], {
            "events": about["events"], "rows": rows,
            "names": server.ask("names"),
            "frame": frame(server, pixels=500, rows=ids),
            "sums": server.ask("statistics", by="thread"),
            "counts": server.ask("histogram", pixels=300),
            "at": [server.ask("at", row=rows[-1]["id"], t=t) for t in times]}


@test
def what_is_kept_answers_as_what_was_read():
    where = cache()
    trace = Machine(31, 3000).write()
    first = asked(trace)
    check_equal(first[0], False, "from nothing")
    check_equal(len(list(where.iterdir())), 1, "kept")
    again = asked(trace)
    check_equal(again[0], True, "kept")
    check_equal(again[1], first[1], "answers")
    check_equal(where.stat().st_mode & 0o777, 0o700, "the directory's mode")
    # another trace in its place
    other = pathlib.Path(Machine(32, 3000).write())
    for file in pathlib.Path(trace).iterdir():
        file.unlink()
    for file in other.iterdir():
        file.rename(pathlib.Path(trace) / file.name)
    changed = asked(trace)
    check_equal(changed[0], False, "another trace")
    check(changed[1]["at"] != first[1]["at"], "the old answers")
    check_equal(len(list(where.iterdir())), 1, "one is kept")


@test
def a_note_is_no_change_of_the_trace():
    cache()
    trace = Machine(33, 500).write()
    asked(trace)
    with view(trace) as server:
        server.note(**{"from": 1, "to": 1}, text="here")
    check_equal(asked(trace)[0], True, "what is kept of it")


@test
def names_of_what_goes_on_are_kept():
    cache()
    trace = Program(44, 3000).write()
    first = asked(trace)
    again = asked(trace)
    check_equal((first[0], again[0]), (False, True), "kept")
    check_equal(again[1], first[1], "answers")
    check_equal(len(again[1]["names"]), len(NAMES), "names")


@test
def what_is_damaged_is_dropped():
    where = cache()
    chance = random.Random(5)
    trace = Machine(33, 3000).write()
    expected = asked(trace)[1]
    kept, = where.iterdir()
    whole = kept.read_bytes()
    for _ in range(12):
        bad = bytearray(whole)
        if chance.randrange(3):
            at = chance.randrange(len(bad))
            bad[at] ^= 1 << chance.randrange(8)
        else:
            del bad[chance.randrange(len(bad)):]
        kept.write_bytes(bad)
        check_equal(asked(trace), (False, expected), "damaged")
        check_equal(asked(trace)[0], True, "mended")


@test
def what_cannot_be_kept_is_read_each_time():
    os.environ["XDG_CACHE_HOME"] = "/proc/nothing"
    trace = Machine(34, 500).write()
    check_equal([asked(trace)[0] for _ in range(2)], [False, False], "kept")


# ---- a trace that grows ----

def grow(trace, whole):
    """The one becomes the other, of which it is the begin."""
    for file in pathlib.Path(whole).iterdir():
        to = pathlib.Path(trace) / file.name
        with to.open("ab") as out:
            out.write(file.read_bytes()[to.stat().st_size:])


@test
def a_trace_that_is_being_written_is_shown_as_it_grows():
    machine = Machine(61, 1500)
    part, half, whole = (machine.write(packets=nr) for nr in (3, 8, None))
    with view(whole) as server:
        expected = server.ready()
        rows = server.ask("rows")
        ends = [server.ask("at", row=row["id"], t=expected["end"] - 1)
                for row in rows]
    with view(half) as server:
        middle = server.ready()
    with view(part, "--follow") as server:
        first = server.ready()
        check(first["live"] and first["end"] < middle["end"], "at first")
        kept = server.ask("notes")
        for more, about in (half, middle), (whole, expected):
            grow(part, more)
            while server.ask("trace")["end"] != about["end"]:
                pass
            check_equal(server.ready()["events"], about["events"], "events")
        check_equal(server.ask("rows"), rows, "rows")
        check_equal([server.ask("at", row=row["id"], t=expected["end"] - 1)
                     for row in rows], ends, "states")
        check_equal(server.ask("notes"), kept, "notes")
        (pathlib.Path(part) / "metadata").unlink()
        check_equal(server.ask("trace")["end"], expected["end"], "a last time")
    done = run(SONDE, "view", "--follow", part, half)
    check_equal((done.returncode, "--follow one" in done.stderr), (2, True),
                "two that grow")


@test
def a_session_is_shown_as_it_records():
    p = Obedient(program())
    with Home() as home:
        home.start("night", "-p", p.pid)
        p.do("emit", 10)
        server = Server(None, process=home.popen("view", "--no-browser",
                                                 "--live", "night"))
        for nr in 10, 110, 1110:
            while server.ask("trace")["events"] != nr:
                pass
            if nr < 1110:
                p.do("emit", 100 if nr == 10 else 1000)
        check_equal(server.ready()["live"], True, "live")
        home.json("stop", "night")
        while server.ask("trace")["live"]:
            pass
        check_equal(server.ready()["events"], 1110, "at the end")
        check_equal(server.end(), (0, ""), "the end")
        check("'day'" in home.complaint("view", "--live", "day"), "no session")
        check("name none" in home.complaint("view", "--live", "night", "x",
                                            status=2), "a trace as well")
    p.end()


# ---- notes ----

def texts(notes):
    return [note["text"] for note in notes]


@test
def notes_stay_beside_the_trace():
    trace = handmade()
    before = printed(trace)
    with view(trace) as server:
        check_equal(server.ask("notes")["notes"], [], "at first")
        server.note(**{"from": 700, "to": 900}, text="a burst")
        server.note(**{"from": 5, "to": 5}, row="cpu::CPU 0",
                    text="<b>\t\u00fc\n\x1b[31m\x7f")
        notes = server.note(**{"from": 800, "to": 800}, text="c")
    check_equal(notes, [
        {"id": 2, "from": 5, "to": 5, "row": "cpu::CPU 0",
         "text": "<b> \u00fc  [31m "},
        {"id": 1, "from": 700, "to": 900, "row": None, "text": "a burst"},
        {"id": 3, "from": 800, "to": 800, "row": None, "text": "c"}], "notes")
    check_equal((pathlib.Path(trace) / ".sonde-notes").read_text(),
                "sonde notes 1\n2\t1005\t1005\tcpu::CPU 0\t<b> \u00fc  [31m \n"
                "1\t1700\t1900\t-\ta burst\n3\t1800\t1800\t-\tc\n", "file")
    check_equal(printed(trace), before, "the trace")
    with view(trace) as server:
        check_equal(server.ask("notes")["notes"], notes, "again")
        check_equal(texts(server.note(id=1, text="another")),
                    [notes[0]["text"], "another", "c"], "changed")
        check_equal(texts(server.note(id=2)), ["another", "c"], "removed")
        check_equal(server.note(**{"from": 1, "to": 2}, text="d")[0]["id"], 4,
                    "a new number")


@test
def notes_of_anothers_trace_are_in_the_users_state():
    trace = pathlib.Path(handmade())
    state = scratch() / "state"
    os.environ["XDG_STATE_HOME"] = str(state / "of" / "mine")
    with view(trace) as server:
        server.note(**{"from": 1, "to": 2}, text="beside")
    if os.geteuid():
        trace.chmod(0o555)
    else:
        os.chown(trace, 65534, 65534)
    beside = (trace / ".sonde-notes").read_text()
    with view(trace) as server:
        check_equal(texts(server.note(**{"from": 3, "to": 3}, text="mine")),
                    ["beside", "mine"], "both")
        where = server.ask("notes")
    check_equal((trace / ".sonde-notes").read_text(), beside, "as it was")
    check_equal(where["directory"], str(state / "of" / "mine" / "sonde"),
                "where")
    with view(trace) as server:
        check_equal(texts(server.ask("notes")["notes"]), ["beside", "mine"],
                    "again")
    trace.chmod(0o755)


@test
def what_is_no_file_of_notes_is_left_alone():
    trace = pathlib.Path(handmade())
    file = trace / ".sonde-notes"
    for text in ("sonde notes 2\n", "sonde notes 1\n1\t5\t4\t-\ta\n",
                 "sonde notes 1\n1\t5\t5\ta\n", "sonde notes 1",
                 "sonde notes 1\n1\t5\t5\t-\ta", "sonde notes 1\n\0\n"):
        file.write_text(text)
        with view(trace) as server:
            status, answer = server.refused("notes")
            check_equal((status, "sonde-notes" in answer["error"]),
                        (400, True), text)
            check_equal(server.status(
                urllib.parse.urlsplit(server.url).path +
                "api/note?from=1&to=1&text=a",
                [("Host", f"127.0.0.1:{server.port}"),
                 ("Origin", f"http://127.0.0.1:{server.port}")], "POST"), 400,
                        text)
        check_equal(file.read_text(), text, "the file")
    file.unlink()
    file.symlink_to("/etc/passwd")
    with view(trace) as server:
        check("error" in server.refused("notes")[1], "a link is followed")


# ---- who is answered ----

@test
def only_the_page_is_answered():
    with view(handmade()) as server:
        ours = ("Host", f"127.0.0.1:{server.port}")
        path = urllib.parse.urlsplit(server.url).path
        page = ("Origin", f"http://127.0.0.1:{server.port}")
        for status, url, headers in (
                (200, path, [ours]),
                (200, path + "api/trace", [ours, page]),
                (200, path, [("Host", f"localhost:{server.port}")]),
                (301, path[:-1], [ours]),
                (403, path, []),
                (403, path, [("Host", f"example.org:{server.port}")]),
                (403, path, [("Host", "127.0.0.1:1")]),
                (403, path, [ours, ("Origin", "http://example.org")]),
                (403, path, [ours, ("Origin", "null")]),
                (403, path, [ours, ("Origin", page[1].replace("http:",
                                                              "https:"))]),
                (403, "/", [ours]),
                (403, "/api/trace", [ours]),
                (403, path[:-2] + "/", [ours]),
                (403, path[:-2] + ("1" if path[-2] == "0" else "0") + "/",
                 [ours]),
                (404, path + "../../etc/passwd", [ours]),
                (404, path + "api/nothing", [ours]),
                (400, path + "api/events?n=0", [ours]),
                (400, path + "api/events?n=1&n=2", [ours]),
                (400, path + "api/events?n=%", [ours]),
                (400, path + "api/histogram?pixels=9000000000", [ours]),
                (400, path + "api/histogram?pixels=10&from=5&to=5", [ours]),
                (414, path + "api/events?filter=" + "a" * 20000, [ours])):
            check_equal(server.status(url, headers), status,
                        f"{url[:60]} {headers}")
        note = path + "api/note?from=1&to=1&text=a"
        for status, method, url, headers in (
                (405, "DELETE", path, [ours, page]),
                (403, "DELETE", path, [ours]),
                (405, "POST", path + "api/trace", [ours, page]),
                (405, "POST", path, [ours, page]),
                (405, "GET", note, [ours, page]),
                (403, "POST", note, [ours]),
                (403, "POST", note, [ours, ("Origin", "null")]),
                (200, "POST", note, [ours, page])):
            check_equal(server.status(url, headers, method), status,
                        f"{method} {url[:60]} {headers}")


def cors(server, url, origin, method="GET"):
    """The status, and whose page a browser would let read the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.request(method, url, headers={"Origin": origin})
    answer = connection.getresponse()
    answer.read()
    return answer.status, answer.getheader("Access-Control-Allow-Origin")


@test
def pages_of_an_origin_that_is_allowed_may_ask_the_service_alone():
    one, two = "http://localhost:3000", "https://theia.example"
    with view(handmade(), "--tsp", "--allow-origin", one, "--allow-origin",
              two) as server:
        path = urllib.parse.urlsplit(server.url).path
        health = path + "tsp/api/health"
        for origin in one, two:
            check_equal(cors(server, health, origin), (200, origin), "health")
            check_equal(cors(server, path + "tsp/api/traces", origin, "OPTIONS"),
                        (204, origin), "a browser asks whether it may")
            check_equal(cors(server, path + "tsp/api/none", origin),
                        (404, origin), "what isn't there is said, too")
            for other in "", "api/trace", "api/note?from=1&to=1&text=a":
                for method in "GET", "POST", "OPTIONS":
                    check_equal(cors(server, path + other, origin, method),
                                (403, None), f"{method} {other}")
            check_equal(cors(server, health.replace(path[1:9], "00000000"),
                             origin)[0], 403, "without the token")
        for origin in (one + "0", "http://localhost", "null", "https" + one[4:]):
            check_equal(cors(server, health, origin), (403, None), origin)
        check_equal(server.status(health, [("Host", "localhost:3000"),
                                           ("Origin", one)]), 403, "the host")
    with view(handmade(), "--tsp") as server:
        health = urllib.parse.urlsplit(server.url).path + "tsp/api/health"
        check_equal(cors(server, health, one), (403, None), "none is allowed")


@test
def what_is_no_origin_is_refused():
    for text in ("*", "null", "", "localhost:3000", "http://", "http://a/",
                 "http://a/b", "http://a b", "http://A", "http://a*"):
        done = run(SONDE, "view", "--tsp", "--allow-origin", text, handmade())
        check_equal((done.returncode, "without a path" in done.stderr),
                    (2, True), f"{text!r}: {done.stderr}")
    done = run(SONDE, "view", "--allow-origin", "http://a", handmade())
    check_equal((done.returncode, "goes with --tsp" in done.stderr), (2, True),
                done.stderr)


@test
def it_listens_on_this_machine_only():
    with view(handmade()) as server:
        with open("/proc/net/tcp", encoding="ascii") as table:
            lines = [line.split() for line in table]
        local = [words[1] for words in lines
                 if words[1].endswith(f":{server.port:04X}") and
                 words[3] == "0A"]
        check_equal(local, [f"0100007F:{server.port:04X}"], "listens")


@test
def what_cannot_be_is_said():
    done = run(SONDE, "view", "--no-browser", scratch())
    check_equal(done.returncode, 1, "no trace")
    check("sonde: " in done.stderr, done.stderr)
    trace = handmade()
    with view(trace) as server:
        done = run(SONDE, "view", "--port", str(server.port), trace)
        check_equal(done.returncode, 1, "port")
        check("is in use" in done.stderr, done.stderr)
    for port in "0", "65536", "x":
        done = run(SONDE, "view", "--port", port, trace)
        check_equal(done.returncode, 2, f"--port {port}: {done.stderr}")
    first = pathlib.Path("/proc/sys/net/ipv4/ip_unprivileged_port_start")
    if int(first.read_text()) > 1:
        without = ("setpriv", "--bounding-set", "-net_bind_service")
        done = run(*(without if os.geteuid() == 0 else ()), SONDE, "view",
                   "--port", "1", trace)
        check_equal(done.returncode, 1, "a port for root only")
        check("port 1: Permission denied; " in done.stderr, done.stderr)


# Nothing of a test is found by another, or by the user.
os.environ["XDG_CACHE_HOME"] = os.environ["XDG_CONFIG_HOME"] = "/proc/nothing"
install()
def once(server, says):
    """Asks about the trace until the answer is as it says."""
    while True:
        about = server.ask("trace")
        if says(about):
            return about


@test
def a_trace_that_vanishes_is_told_and_shown_until_it_is_back():
    trace = shutil.copytree(handmade(), scratch() / "trace")
    with view(trace) as server:
        before = server.ready()
        check_equal((before["trouble"], before["number"]), (None, 0), "first")
        trace.rename(f"{trace}.away")
        gone = once(server, lambda about: about["trouble"])
        check(f"{trace}: No such file or directory" in gone["trouble"],
              gone["trouble"])
        check_equal(len(server.ask("events", n=20)["events"]), 20,
                    "what was read is still shown")
        pathlib.Path(f"{trace}.away").rename(trace)
        check_equal(once(server, lambda about: not about["trouble"]),
                    before, "when it is back")


@test
def what_takes_a_traces_place_is_shown():
    trace = shutil.copytree(handmade(), scratch() / "trace")
    with view(trace) as server:
        nr = server.ready()["events"]
        shutil.rmtree(trace)
        shutil.copytree(Program(1, 10).write(), trace)
        once(server, lambda about: about["number"])
        about = server.ready()
        names = {event["name"] for event in server.ask("events")["events"]}
        check(about["events"] != nr and not about["trouble"], about)
        check(names and not names & {"m:odd", "m:even"}, names)


@test
def a_file_that_shrinks_does_not_end_the_server():
    trace = shutil.copytree(handmade(), scratch() / "trace")
    stream = trace / "cpu0"
    whole = stream.read_bytes()
    # So that what is read is behind a page that is there still.
    check(len(whole) > 2 * 4096, f"{len(whole)} bytes")
    with view(trace) as server:
        nr = server.ready()["events"]
        os.truncate(stream, 4096)
        # Either the server has seen it by now, or this tears the file.
        try:
            server.raw("api/events", n=nr)
            check(server.ask("trace")["number"], "what was torn is shown")
        except urllib.error.HTTPError as error:
            check("became shorter" in json.loads(error.read())["error"],
                  error.code)
        once(server, lambda about: about["number"])
        check(server.ready()["events"] < nr, "what is left")
        stream.write_bytes(whole)
        once(server, lambda about: about["index"]["ready"] and
             about["events"] == nr)


main()
