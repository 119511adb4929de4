#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_counters.py - counters that `sonde view` has of its own accord: at each instant
they are what a model says that takes the events one by one."""

import os
import random

from handmade import Handmade, Layout
from sonde import install, scratch
from viewed import view
from harness import check, check_equal, main, test

KERNEL_EVENTS = {
    "power_cpu_frequency": [("state", 32, 8), ("cpu_id", 32, 8)],
    "rss_stat": [("mm_id", 32, 8), ("curr", 32, 8), ("member", 32, 8),
                 ("size", 64, 8)],
    "block_rq_issue": [("dev", 32, 8), ("sector", 64, 8)],
    "block_rq_complete": [("dev", 32, 8), ("sector", 64, 8)],
    "lttng_statedump_block_device": [("dev", 32, 8), ("diskname", "string", 8)],
    "other": [("n", 32, 8)]}
KERNEL = Layout(header=[("id", 16, 8), ("time", 64, 8)], context=[("pid", 32, 8)],
                events=KERNEL_EVENTS)
HEAP = Layout(header=[("id", 16, 8), ("time", 64, 8)],
              context=[("tid", 32, 8), ("pid", 32, 8)], events={
    "malloc:malloc": [("size", 64, 8), ("ptr", 64, 8), ("caller", 64, 8)],
    "malloc:realloc_begin": [("size", 64, 8), ("old", 64, 8), ("caller", 64, 8)],
    "malloc:realloc": [("size", 64, 8), ("ptr", 64, 8), ("old", 64, 8),
                       ("caller", 64, 8)],
    "malloc:free": [("ptr", 64, 8), ("caller", 64, 8)]})
SCHED = Layout(header=[("id", 16, 8), ("time", 64, 8)], events={
    "sched_switch": [("prev_comm", "string", 8), ("prev_tid", 32, 8),
                     ("prev_state", 64, 8), ("next_comm", "string", 8),
                     ("next_tid", 32, 8)],
    "sched_wakeup": [("tid", 32, 8), ("target_cpu", 32, 8)],
    "sched_wakeup_new": [("tid", 32, 8), ("target_cpu", 32, 8)],
    "sched_migrate_task": [("tid", 32, 8), ("orig_cpu", 32, 8), ("dest_cpu", 32, 8)]})
BEGIN, END, HOLE = 1000, 2000000, (900000, 1000000)
SORTS = ("files", "anonymous", "swap", "shared")


def write(layout, events):
    """On one CPU; while the HOLE, others' are lost on another."""
    trace = Handmade(layout)
    with trace.stream("t", cpu=0) as stream:
        with stream.packet(BEGIN, END, discarded=0):
            for time, name, context, fields in events:
                stream.event(name, time, context, **fields)
    with trace.stream("u", cpu=1) as stream:
        with stream.packet(BEGIN, HOLE[0], discarded=0):
            pass
        with stream.packet(*HOLE, discarded=50):
            pass
    return trace.dir


class Series:
    """What a counter was since when, by its name."""

    def __init__(self):
        self.pieces, self.now = {}, {}

    def known(self, name, time):
        begin, value = self.now.get(name, (0, 0))
        return 0 if begin < HOLE[0] <= time else value

    def set(self, name, time, value):
        self.end(name, time)
        self.pieces.setdefault(name, [])
        if not HOLE[0] <= time <= HOLE[1]:
            self.now[name] = (time, value)

    def add(self, name, time, change):
        self.set(name, time, self.known(name, time) + change)

    def end(self, name, time):
        if name in self.now:
            begin, value = self.now.pop(name)
            self.pieces[name].append(
                (begin, HOLE[0] if begin < HOLE[0] < time else time, value))

    def all(self):
        for name in list(self.now):
            self.end(name, END)
        return self.pieces


def check_series(trace, expected, instants=300, seed=1, step=1):
    """The names of all counters, and their values."""
    chance = random.Random(seed)
    os.environ["XDG_CACHE_HOME"] = str(scratch())
    for cached in False, True:
        with view(trace) as server:
            about = server.ready()
            check_equal(about["index"]["from_cache"], cached, "kept")
            rows = {row["name"]: row for row in server.ask("rows")
                    if row["kind"] == "counter" and row["name"] != "lost events"}
            check_equal(sorted(rows), sorted(expected), "counters")
            for name, pieces in expected.items():
                for time in chance.sample(range(BEGIN, END, step), instants):
                    got = server.ask("at", row=rows[name]["id"], t=time - BEGIN)
                    check_equal([got["detail"]["value"]] if got["state"] else [],
                                [value for begin, end, value in pieces
                                 if begin <= time < end], f"{name} at {time}")
    return rows


def times(chance, nr):
    return sorted(chance.sample(range(BEGIN + 1, END), nr))


@test
def frequencies_are_those_that_were_said_last():
    chance, series, events = random.Random(1), Series(), []
    for time in times(chance, 2000):
        cpu, khz = chance.randrange(3), chance.randrange(800000, 3000000, 500)
        events.append((time, "power_cpu_frequency", {"pid": 0},
                       {"state": khz, "cpu_id": cpu}))
        series.set(f"frequency of CPU {cpu}", time, khz / 1000)
    rows = check_series(write(KERNEL, events), series.all())
    check_equal({row["unit"] for row in rows.values()}, {"MHz"}, "unit")


@test
def memory_is_of_the_address_space_that_a_process_has_now():
    chance, series, events = random.Random(2), Series(), []
    process, space = {}, {}  # of a space, of a process
    for time in times(chance, 4000):
        pid, current = chance.randrange(10, 13), chance.random() < 0.5
        number = chance.randrange(100, 104)
        size, sort = chance.randrange(1 << 30) & ~4095, chance.randrange(5)
        events.append((time, "rss_stat", {"pid": pid}, {
            "mm_id": number, "curr": current, "member": sort, "size": size}))
        if sort > 3:
            continue
        if current:
            process[number], space[pid] = pid, number
        owner = process.get(number)
        if owner and space[owner] == number:
            series.set(f"memory of {owner}: {SORTS[sort]}", time, size)
    check_series(write(KERNEL, events), series.all(), instants=100)


@test
def a_queue_has_what_was_issued_and_is_not_completed():
    chance, series, events = random.Random(3), Series(), []
    sda, other = 8 << 20, 254 << 20 | 16
    names = {sda: "queue of sda", other: "queue of 254:16"}
    events.append((BEGIN, "lttng_statedump_block_device", {"pid": 1},
                   {"dev": sda, "diskname": "sda"}))
    open_ = set()
    epoch = None
    for time in times(chance, 6000):
        key = (chance.choice(list(names)), chance.randrange(40))
        issued = chance.random() < 0.5
        events.append((time, "block_rq_issue" if issued else "block_rq_complete",
                       {"pid": 1}, {"dev": key[0], "sector": key[1]}))
        now = (time >= HOLE[0]) + (time > HOLE[1])
        if now != epoch:
            epoch, open_ = now, set()
        before = len(open_)
        (open_.add if issued else open_.discard)(key)
        series.add(names[key[0]], time, len(open_) - before)
    pieces = series.all()
    check(min(value for name in pieces for _b, _e, value in pieces[name]) == 0,
          "a queue of less than nothing")
    check_series(write(KERNEL, events), pieces)


@test
def nothing_is_counted_of_which_the_trace_has_a_part_alone():
    """Of one program's threads, or without completions."""
    events = ((BEGIN + 5, "block_rq_issue", {"dev": 8 << 20, "sector": 1}),
              (BEGIN + 6, "power_cpu_frequency", {"state": 1000, "cpu_id": 0}),
              (BEGIN + 9, "rss_stat", {"mm_id": 1, "curr": 1, "member": 1, "size": 4096}))
    without = Layout(header=[("id", 16, 8), ("time", 64, 8)], context=[("pid", 32, 8)],
                     events={name: fields for name, fields in KERNEL_EVENTS.items()
                             if name != "block_rq_complete"})
    for layout, env, expected in (
            (KERNEL, [], ["frequency of CPU 0", "memory of 7: anonymous", "queue of 8:0"]),
            (KERNEL, [("domain", "kernel"), ("kernel_scope", "program")],
             ["memory of 7: anonymous"]),
            (without, [], ["frequency of CPU 0", "memory of 7: anonymous"])):
        trace = Handmade(layout, env=env)
        with trace.stream("t", cpu=0) as stream:
            with stream.packet(BEGIN, END, discarded=0):
                for time, name, fields in events:
                    stream.event(name, time, {"pid": 7}, **fields)
        with view(trace.dir) as server:
            server.ready()
            check_equal(sorted(row["name"] for row in server.ask("rows")), expected,
                        f"counters with {env}")


class Machine:
    """A scheduler of CPUS queues. It says what it does by events, and by pieces who is
    in its queues and was `seen`: woke, ran, or lost its CPU since events were lost."""

    CPUS, THREADS = 3, 12

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.queues = [set() for _ in range(self.CPUS)]
        self.runs = [0] * self.CPUS
        self.last = {tid: self.cpu() for tid in range(1, self.THREADS + 1)}
        self.events = [[] for _ in range(self.CPUS)]
        self.series, self.seen, self.told, self.time = Series(), set(), set(), BEGIN
        for tid in list(self.last)[::2]:  # they wait already, which no event says
            self.queues[self.last[tid]].add(tid)

    def cpu(self):
        return self.chance.randrange(self.CPUS)

    def say(self, cpu, name, before=0, **fields):
        if not HOLE[0] <= self.time < HOLE[1] or self.chance.random() < 0.5:
            self.events[cpu].append((self.time - before, name, fields))

    def queued(self):
        return set().union(*self.queues)

    def move(self, tid, cpu, before=0):
        if self.last[tid] != cpu:
            self.say(self.cpu(), "sched_migrate_task", before, tid=tid,
                     orig_cpu=self.last[tid], dest_cpu=cpu)
        self.last[tid] = cpu

    def wake(self, new):
        tid = self.chance.choice(sorted(self.last))
        if new:
            tid = max(self.last) + 1
            self.last[tid] = self.cpu()
        elif tid not in self.queued():
            self.move(tid, self.cpu(), before=1)
        self.say(self.cpu(), "sched_wakeup_new" if new else "sched_wakeup",
                 tid=tid, target_cpu=self.last[tid])
        self.queues[self.last[tid]].add(tid)
        self.seen.add(tid)
        self.told.add(self.last[tid])

    def switch(self, cpu):
        before, state = self.runs[cpu], self.chance.choice((0, 256, 1, 1, 2, 2, 64))
        if before and state & 255:
            self.queues[cpu].remove(before)
        if before and state == 64:
            del self.last[before]
        self.runs[cpu] = self.chance.choice(sorted(self.queues[cpu]) or [0])
        self.say(cpu, "sched_switch", prev_comm="t", prev_tid=before,
                 prev_state=state, next_comm="t", next_tid=self.runs[cpu])
        self.seen |= {before, self.runs[cpu]}
        self.told.add(cpu)

    def balance(self):
        waiting = sorted(self.queued() - set(self.runs))
        if waiting:
            tid, cpu = self.chance.choice(waiting), self.cpu()
            self.queues[self.last[tid]].remove(tid)
            self.queues[cpu].add(tid)
            self.move(tid, cpu)
            if tid in self.seen:
                self.told.add(cpu)

    def step(self, time):
        if self.time < HOLE[0] <= time or self.time < HOLE[1] <= time:
            self.seen, self.told = set(), set()
        self.time, what = time, self.chance.random()
        if what < 0.6:
            self.switch(self.cpu())
        elif what < 0.85:
            self.wake(new=what > 0.8)
        else:
            self.balance()
        for cpu in self.told:
            self.series.set(f"CPU {cpu} run queue", time,
                            len(self.queues[cpu] & self.seen))

    def run(self, instants):
        for time in instants:
            self.step(time)
        return self.series.all()

    def trace(self):
        trace = Handmade(SCHED)
        for cpu, events in enumerate(self.events):
            with trace.stream(f"c{cpu}", cpu=cpu) as stream:
                with stream.packet(BEGIN, HOLE[0], discarded=0):
                    self.put(stream, events, 0, HOLE[0])
                with stream.packet(*HOLE, discarded=50):
                    self.put(stream, events, *HOLE)
                with stream.packet(HOLE[1], END, discarded=50):
                    self.put(stream, events, HOLE[1], END)
        return trace.dir

    @staticmethod
    def put(stream, events, begin, end):
        for time, name, fields in events:
            if begin <= time < end:
                stream.event(name, time, **fields)


@test
def a_run_queue_has_who_can_run_on_its_cpu_and_was_seen():
    for seed in range(2):
        machine = Machine(seed)
        pieces = machine.run(range(BEGIN + 2, END - 1, 1000))
        check(max(value for name in pieces for _b, _e, value in pieces[name]) > 2,
              "nobody waits")
        check(len(machine.queued() - machine.seen) == 0, "somebody was never seen")
        rows = check_series(machine.trace(), pieces, instants=150)
        check_equal({row["unit"] for row in rows.values()}, {"threads"}, "unit")


@test
def a_run_queue_is_not_told_without_all_of_its_events():
    for left_out in list(SCHED.events)[1:]:
        trace = Handmade(Layout(header=SCHED.header, events={
            name: fields for name, fields in SCHED.events.items() if name != left_out}))
        with trace.stream("t", cpu=0) as stream:
            with stream.packet(BEGIN, END, discarded=0):
                stream.event("sched_switch", 5000, prev_comm="t", prev_tid=7,
                             prev_state=1, next_comm="idle", next_tid=0)
        with view(trace.dir) as server:
            server.ready()
            check_equal([row for row in server.ask("rows") if row["kind"] == "counter"],
                        [], f"counters without {left_out}")


@test
def a_heap_has_what_was_allocated_and_is_not_freed():
    chance, series, events = random.Random(4), Series(), []
    blocks, epoch = {}, None
    for time in times(chance, 6000):
        pid, ptr = chance.randrange(20, 22), 4096 + 16 * chance.randrange(60)
        size, name = chance.randrange(1, 100000), f"heap of {pid}"
        context = {"tid": pid, "pid": pid}
        now = (time >= HOLE[0]) + (time > HOLE[1])
        if now != epoch:
            epoch, blocks = now, {}
        before = sum(size for (of, _ptr), size in blocks.items() if of == pid)
        if chance.random() < 0.5:
            events.append((time, "malloc:malloc", context,
                           {"size": size, "ptr": ptr, "caller": 1}))
            blocks[pid, ptr] = size
        elif chance.random() < 0.8:
            events.append((time, "malloc:free", context, {"ptr": ptr, "caller": 1}))
            blocks.pop((pid, ptr), None)
        else:
            events.append((time, "malloc:realloc", context, {
                "size": size, "ptr": ptr + 8, "old": ptr, "caller": 1}))
            blocks.pop((pid, ptr), None)
            blocks[pid, ptr + 8] = size
        after = sum(size for (of, _ptr), size in blocks.items() if of == pid)
        series.add(name, time, after - before)
    check_series(write(HEAP, events), series.all())


@test
def losses_are_added_over_streams_and_not_known_where_packets_are_missing():
    trace = Handmade(KERNEL)
    lost = ((0, 10000, 20000, 500), (1, 15000, 40000, 1000), (0, 60000, 61000, 7))
    for cpu in 0, 1:
        with trace.stream(f"c{cpu}", cpu=cpu) as stream:
            now, total = BEGIN, 0
            for of, begin, end, count in lost:
                if of != cpu:
                    continue
                with stream.packet(now, begin, discarded=total):
                    stream.event("other", now, {"pid": 1}, n=1)
                total += count
                with stream.packet(begin, end, discarded=total):
                    pass
                now = end
            with stream.packet(now, 70000, discarded=total):
                pass
            if cpu:
                with stream.packet(80000, 90000, discarded=total, lost_packets=2):
                    pass
                with stream.packet(90000, 100000, discarded=total):
                    pass
    with view(trace.dir) as server:
        about = server.ready()
        row, = [row for row in server.ask("rows") if row["kind"] == "counter"]
        check_equal((row["name"], row["unit"]), ("lost events", "/s"), "the row")
        for time in range(BEGIN, 100000, 250):
            got = server.ask("at", row=row["id"], t=time - int(about["origin"]))
            if 70000 <= time < 80000:
                check_equal(got["state"], 0, f"packets are missing at {time}")
                continue
            rate = sum(count * 1e9 / (end - begin) for _cpu, begin, end, count in lost
                       if begin <= time < end)
            check(abs(got["detail"]["value"] - rate) <= rate * 1e-9,
                  f"at {time}: {got}, {rate}")


@test
def a_trace_without_such_events_has_no_counters():
    trace = Handmade(KERNEL)
    with trace.stream("t", cpu=0) as stream:
        with stream.packet(BEGIN, END, discarded=0):
            stream.event("other", 5000, {"pid": 1}, n=1)
    with view(trace.dir) as server:
        server.ready()
        check_equal(server.ask("rows"), [], "rows")


os.environ["XDG_CACHE_HOME"] = os.environ["XDG_CONFIG_HOME"] = "/proc/nothing"
install()
main()
