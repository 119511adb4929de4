#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_kernel_reports.py - the reports about kernels, on traces whose answers
are known because the trace was made for them.

A trace here is a list of (time, CPU, event, fields), written as CTF 1.8 with a
stream per CPU. Times are microseconds after START; so are the answers, where
they say `us`.
"""

import json
import random
import struct

from sonde import check, install, run, scratch, SONDE
from harness import check_equal, main, test

START = 1_000_000_000_000_000_000  # nanoseconds since 1970

# The events and their fields, in their order: C types, and s for strings.
# What follows a blank tells events of the same name apart.
EVENTS = {
    "sched_switch": "prev_comm:s prev_tid:i prev_prio:i prev_state:q "
                    "next_comm:s next_tid:i next_prio:i",
    "sched_waking": "comm:s tid:i prio:i target_cpu:i",
    "sched_wakeup": "comm:s tid:i prio:i target_cpu:i",
    "sched_process_fork": "parent_comm:s parent_tid:i parent_pid:i "
                          "child_comm:s child_tid:i child_pid:i",
    "sched_process_exec": "filename:s tid:i old_tid:i",
    "syscall_entry_read": "fd:I count:Q",
    "syscall_exit_read": "ret:q",
    "syscall_entry_write": "fd:I count:Q",
    "syscall_exit_write": "ret:q",
    "syscall_entry_openat": "dfd:i filename:s",
    "syscall_exit_openat": "ret:q",
    "syscall_entry_close": "fd:I",
    "syscall_exit_close": "ret:q",
    "syscall_entry_dup2": "oldfd:I newfd:I",
    "syscall_exit_dup2": "ret:q",
    "syscall_entry_fcntl": "fd:I cmd:I arg:Q",
    "syscall_exit_fcntl": "ret:q",
    "syscall_entry_ioctl": "fd:I cmd:I arg:Q",
    "syscall_exit_ioctl": "ret:q",
    "syscall_entry_close_range": "fd:I max_fd:I flags:I",
    "syscall_exit_close_range": "ret:q",
    "syscall_entry_eventfd2": "count:I flags:i",
    "syscall_exit_eventfd2": "ret:q",
    "syscall_entry_execve": "filename:s",
    "syscall_exit_execve": "ret:q",
    # As LTTng has both, with flags.
    "syscall_entry_openat with flags": "dfd:i filename:s flags:I",
    "lttng_statedump_file_descriptor with flags":
        "pid:i fd:i flags:I filename:s",
    "sys_dup": "fildes:I",
    "exit_syscall": "ret:q",
    "irq_handler_entry": "irq:i name:s",
    "irq_handler_exit": "irq:i ret:i",
    "irq_softirq_raise": "vec:I",
    "irq_softirq_entry": "vec:I",
    "irq_softirq_exit": "vec:I",
    "softirq_entry": "vec:I",
    "softirq_exit": "vec:I",
    "block_rq_insert": "dev:I sector:Q nr_sector:I rwbs:I tid:i",
    "block_rq_issue": "dev:I sector:Q nr_sector:I rwbs:I tid:i",
    "block_rq_complete": "dev:I sector:Q nr_sector:I rwbs:I",
    # As our module records them.
    "block_rq_issue by flags": "dev:I sector:Q bytes:I flags:I",
    "block_rq_complete by flags": "dev:I sector:Q bytes:I flags:I",
    "kmem_mm_page_alloc": "order:I",
    "kmem_mm_page_free": "order:I",
    "kmem_kmalloc": "call_site:Q bytes_req:Q bytes_alloc:Q",
    "lttng_statedump_process_state": "tid:i pid:i ppid:i name:s",
    "lttng_statedump_file_descriptor": "pid:i fd:i filename:s",
    "lttng_statedump_block_device": "dev:I diskname:s",
    # As perf converts what it recorded.
    "sched:sched_switch": "perf_tid:i perf_pid:i common_pid:i prev_comm:s "
                          "prev_pid:i prev_prio:i prev_state:q next_comm:s "
                          "next_pid:i next_prio:i",
    "sched:sched_waking": "perf_tid:i perf_pid:i comm:s pid:i prio:i",
    "sched:sched_wakeup": "perf_tid:i perf_pid:i comm:s pid:i prio:i",
    "syscalls:sys_enter_read": "perf_tid:i perf_pid:i __syscall_nr:i fd:Q",
    "syscalls:sys_exit_read": "perf_tid:i perf_pid:i __syscall_nr:i ret:q",
}
IDS = {name: number for number, name in enumerate(EVENTS)}
TSDL_TYPES = {"i": "int32_t", "I": "uint32_t", "q": "int64_t",
              "Q": "uint64_t", "s": "string"}
HEAD = """/* CTF 1.8 */
typealias integer { size = 32; signed = true; } := int32_t;
typealias integer { size = 64; signed = true; } := int64_t;
typealias integer { size = 16; } := uint16_t;
typealias integer { size = 32; } := uint32_t;
typealias integer { size = 64; } := uint64_t;
trace { major = 1; minor = 8; byte_order = le;
  packet.header := struct { uint32_t magic; uint32_t stream_id; }; };
env { domain = "kernel"; kernel_release = "6.1.0"; };
clock { name = c; freq = 1000000000; };
typealias integer { size = 64; map = clock.c.value; } := time_t;
stream { id = 0;
  packet.context := struct { time_t timestamp_begin; time_t timestamp_end;
    uint64_t content_size; uint64_t packet_size; uint64_t events_discarded;
    uint32_t cpu_id; };
  event.header := struct { uint16_t id; time_t timestamp; }; };
"""
PACKET_HEAD = struct.Struct("<IIQQQQQI")


def fields_of(event):
    return [field.split(":") for field in EVENTS[event].split()]


def metadata(events=EVENTS, env=""):
    text = HEAD.replace("env {", "env { " + env)
    for name in events:
        number = IDS[name]
        members = "".join(f"{TSDL_TYPES[kind]} _{field}; "
                          for field, kind in fields_of(name))
        text += (f'event {{ name = "{name.split()[0]}"; '
                 f"id = {number}; stream_id = 0; "
                 f"fields := struct {{ {members}}}; }};\n")
    return text


def encode(time, event, values):
    out = struct.pack("<HQ", IDS[event], START + time * 1000)
    for field, kind in fields_of(event):
        value = values.get(field, "" if kind == "s" else 0)
        out += (value.encode() + b"\0" if kind == "s" else
                struct.pack("<" + kind, value))
    return out


def encode_packet(events, cpu, begin, end, discarded):
    body = b"".join(encode(time, name, values)
                    for time, _, name, values in events)
    bits = (PACKET_HEAD.size + len(body)) * 8
    return PACKET_HEAD.pack(0xC1FC1FC1, 0, START + begin * 1000,
                            START + end * 1000, bits, bits, discarded,
                            cpu) + body


def write_trace(events, losses=(), per_packet=3, env=""):
    """Packets of few events. losses: (CPU, begin, end); a CPU's packets are
    cut so that its counter says that events were lost then."""
    directory = scratch()
    (directory / "metadata").write_text(metadata(env=env))
    for cpu in sorted({event[1] for event in events}):
        mine = [event for event in events if event[1] == cpu]
        gaps = sorted(loss[1:] for loss in losses if loss[0] == cpu)
        packets, discarded, done = b"", 0, 0
        for begin, end in [*gaps, (None, None)]:
            now = [e for e in mine[done:] if begin is None or e[0] <= begin]
            done += len(now)
            for at in range(0, len(now), per_packet):
                part = now[at:at + per_packet]
                last = at + per_packet >= len(now) and begin is not None
                packets += encode_packet(part, cpu, part[0][0],
                                         begin if last else part[-1][0],
                                         discarded)
            if begin is not None:
                discarded += 5
                packets += encode_packet([], cpu, end, end, discarded)
        (directory / f"cpu{cpu}").write_bytes(packets)
    return directory


def report(trace, name, *options):
    done = run(SONDE, "report", name, "--json", *options, trace)
    check_equal(done.returncode, 0, f"status of {name}; {done.stderr[-500:]}")
    return json.loads(done.stdout)


def rows(report_, table, key):
    """The rows of a table by the value in a column."""
    return {row[key]: row for row in report_[table]}


def us(row, key):
    return None if row[key + "_ns"] is None else row[key + "_ns"] / 1000


def check_us(row, **expected):
    for key, value in expected.items():
        check_equal(us(row, key), value, key)


def switch(time, cpu, prev, next_, state=1, prio=20):
    return (time, cpu, "sched_switch", {
        "prev_tid": prev, "prev_comm": f"t{prev}", "prev_state": state,
        "next_tid": next_, "next_comm": f"t{next_}", "prev_prio": prio,
        "next_prio": prio})


def waking(time, cpu, tid):
    return (time, cpu, "sched_waking", {"tid": tid, "comm": f"t{tid}"})


def entry(time, cpu, call, **fields):
    return (time, cpu, "syscall_entry_" + call, fields)


def exit_(time, cpu, call, ret=0):
    return (time, cpu, "syscall_exit_" + call, {"ret": ret})


# ---- who had the CPUs ----

@test
def cputop_adds_up_runs_also_those_that_the_trace_cuts():
    """CPU 0: 10 from the begin to 100, idle to 300, 11 to the end at 400.
    CPU 1: 12, of the same process as 11, but for an instant."""
    trace = write_trace([
        entry(0, 0, "close"), switch(100, 0, 10, 0), switch(300, 0, 0, 11),
        entry(0, 1, "close"),
        (310, 0, "lttng_statedump_process_state",
         {"tid": 12, "pid": 11, "ppid": 1, "name": "t12"}),
        switch(390, 1, 12, 0), switch(390, 1, 0, 12),
        entry(400, 0, "close"), entry(400, 1, "close")])
    got = report(trace, "cputop")
    threads = rows(got, "threads", "tid")
    check_us(threads[10], cpu_time=100)
    check_us(threads[11], cpu_time=100)
    check_us(threads[12], cpu_time=400)
    check_equal(threads[10]["share_percent"], 25.0, "share of 10")
    check_equal(threads[12]["thread"], "t12", "name of 12")
    check_us(rows(got, "processes", "pid")[11], cpu_time=500)
    cpus = rows(got, "cpus", "cpu")
    check_us(cpus[0], cpu_time=200, idle_time=200, unknown_time=0)
    check_us(cpus[1], cpu_time=400, idle_time=0, unknown_time=0)


@test
def time_in_calls_is_without_the_time_that_a_thread_waits():
    trace = write_trace([
        entry(0, 0, "read"), switch(20, 0, 10, 0), waking(60, 0, 10),
        switch(70, 0, 0, 10), exit_(100, 0, "read", 1), switch(130, 0, 10, 0)])
    thread = rows(report(trace, "cputop"), "threads", "tid")[10]
    check_us(thread, cpu_time=80, call_time=50)
    call = report(trace, "syscalls")["calls"][0]
    check_us(call, total=100, off_cpu=50)


# ---- the scheduler ----

WAITS = [
    switch(10, 0, 5, 0),
    waking(30, 1, 5),
    (35, 0, "sched_wakeup", {"tid": 5, "comm": "t5"}),  # says it again
    switch(50, 1, 0, 5),
    switch(80, 1, 5, 6, state=0),  # loses its CPU
    switch(100, 1, 6, 5),
    waking(110, 0, 5),  # it runs: means nothing
    switch(120, 1, 5, 0),
    waking(130, 0, 5),
    switch(200, 0, 0, 5),
]


@test
def sched_latency_is_from_the_first_wake_up_to_the_switch():
    got = report(write_trace(WAITS), "sched")
    thread = rows(got, "threads", "tid")[5]
    check_equal(thread["wakeups"], 2, "wake-ups")
    check_us(thread, min=20, max=70, mean=45)
    check_equal([us(row, "duration") for row in got["worst"]], [70, 20],
                "the longest")
    check_equal([row["begin_ns"] for row in got["worst"]],
                [START + 130_000, START + 30_000], "when they began")
    check_equal([row["what"] for row in got["worst"]],
                ["an interrupt"] * 2, "woken by, on idle CPUs")
    check_equal(rows(got, "priorities", "prio")[20]["wakeups"], 2,
                "wake-ups of priority 20")


@test
def sched_does_not_say_that_who_may_have_been_interrupted_woke():
    got = report(write_trace([
        switch(0, 0, 0, 6), switch(0, 1, 5, 0), waking(10, 0, 5),
        switch(20, 1, 0, 5)]), "sched")
    check_equal(got["worst"][0]["what"], "t6 (6), or an interrupt", "woken by")


@test
def sched_counts_apart_who_lost_its_cpu_and_who_moved():
    thread = rows(report(write_trace(WAITS), "sched"), "threads", "tid")[5]
    check_equal(thread["preempted"], 1, "preempted")
    check_us(thread, preempted_wait=20, run_time=30 + 20)
    check_equal(thread["moves"], 2, "moves: 0 to 1, 1 to 0")


def as_perf_has_it(event, tid):
    time, cpu, name, values = event
    name = name.replace("syscall_entry_", "syscalls:sys_enter_").replace(
        "syscall_exit_", "syscalls:sys_exit_").replace("sched_", "sched:sched_")
    values = {key.replace("tid", "pid"): value for key, value in values.items()}
    return (time, cpu, name, {**values, "perf_tid": tid, "perf_pid": tid})


@test
def what_perf_converted_is_reported_as_what_lttng_records():
    events = [*WAITS[:4], entry(60, 1, "read"), exit_(70, 1, "read", 4),
              *WAITS[4:]]
    tids = {60: 5, 70: 5}
    lttng = write_trace(events)
    perf = write_trace([as_perf_has_it(e, e[3].get("prev_tid") or
                                       tids.get(e[0], 0)) for e in events])
    for name in "sched", "cputop", "syscalls":
        check_equal(report(perf, name), report(lttng, name), name)
    done = run(SONDE, "print", "--json", perf)
    check_equal([json.loads(x)["tid"] for x in done.stdout.splitlines()[:2]],
                [5, 0], "threads")


# ---- system calls ----

CALLS = [
    exit_(5, 0, "read", 7),  # began before the trace
    entry(10, 0, "read"), exit_(30, 0, "read", 100),
    entry(40, 0, "write"), exit_(45, 0, "write", -11),
    switch(100, 0, 10, 11),
    entry(110, 0, "read"), switch(120, 0, 11, 0), waking(150, 0, 11),
    switch(160, 1, 0, 11), exit_(180, 1, "read", 5),
    (190, 1, "sys_dup", {"fildes": 1}), (195, 1, "exit_syscall", {"ret": -9}),
    entry(200, 1, "close"),
]


@test
def syscalls_are_counted_by_call_and_by_thread_also_across_cpus():
    got = report(write_trace(CALLS), "syscalls")
    calls = rows(got, "calls", "call")
    check_equal({call: (row["count"], row["errors"])
                 for call, row in calls.items()},
                {"read": (2, 0), "write": (1, 1), "dup": (1, 1)}, "counts")
    check_us(calls["read"], total=90, min=20, max=70)
    threads = rows(got, "threads", "tid")
    check_equal({tid: row["count"] for tid, row in threads.items()},
                {10: 2, 11: 2}, "by thread")
    check_equal(us(got["worst"][0], "duration"), 70.0, "the longest")
    check(any("1 system calls had not returned" in note
              for note in got["notes"]), f"notes: {got['notes']}")


@test
def a_filter_chooses_what_ends_with_an_event_that_it_matches():
    got = report(write_trace(CALLS), "syscalls", "-f", "ret < 0")
    check_equal(sorted(row["call"] for row in got["calls"]),
                ["dup", "write"], "calls that failed")


# ---- interrupts ----

@test
def irq_durations_nest_and_raises_count_once():
    soft = {"vec": 3}
    trace = write_trace([
        (10, 0, "irq_softirq_raise", soft), (12, 0, "irq_softirq_raise", soft),
        (20, 0, "irq_softirq_entry", soft),
        (30, 0, "irq_handler_entry", {"irq": 27, "name": "disk"}),
        (31, 1, "irq_handler_entry", {"irq": 27, "name": "disk"}),
        (36, 1, "irq_handler_exit", {"irq": 27}),
        (40, 0, "irq_handler_exit", {"irq": 27}),
        (60, 0, "irq_softirq_exit", soft),
        (70, 1, "softirq_entry", soft), (71, 1, "softirq_exit", soft)])
    got = report(trace, "irq")
    hard = rows(got, "irqs", "number")[27]
    check_equal((hard["name"], hard["count"]), ("disk", 2), "irq 27")
    check_us(hard, min=5, max=10)
    soft = rows(got, "softirqs", "number")[3]
    check_equal((soft["name"], soft["count"]), ("net_rx", 2), "soft 3")
    check_us(soft, min=1, max=40)
    raises = rows(got, "raises", "number")[3]
    check_equal(raises["count"], 1, "raises")
    check_us(raises, max=10)
    cpus = rows(got, "cpus", "cpu")
    check_us(cpus[0], irq_time=10, softirq_time=40)
    check_us(cpus[1], irq_time=5, softirq_time=1)


# ---- input and output ----

@test
def io_times_requests_from_issue_and_in_the_queue_apart():
    request = {"dev": 8 << 20, "sector": 64, "nr_sector": 8, "rwbs": 1,
               "tid": 10}
    other = {**request, "sector": 128, "rwbs": 4}
    trace = write_trace([
        (1, 0, "lttng_statedump_block_device",
         {"dev": 8 << 20, "diskname": "sda"}),
        (10, 0, "block_rq_insert", request),
        (20, 0, "block_rq_issue", request),
        (30, 1, "block_rq_issue", other),
        (50, 1, "block_rq_complete", request),
        (100, 0, "block_rq_complete", other)])
    got = report(trace, "io")
    devices = rows(got, "devices", "device")
    check_equal({name: row["requests"] for name, row in devices.items()},
                {"sda write": 1, "sda read": 1}, "requests")
    check_us(devices["sda write"], max=30)
    check_us(devices["sda read"], max=70)
    check_equal(devices["sda read"]["moved_bytes"], 4096, "bytes")
    check_us(rows(got, "queues", "device")["sda write"], max=10)
    check_equal(len(got["queues"]), 1, "those that were queued")


@test
def io_tells_flushes_and_discards_from_writes():
    """By LTTng's bits: 1 write, 2 discard, 4 read, 0x100 flush, 0x400 flush
    before."""
    made = [("write", 8, 1), ("write", 8, 0x401), ("flush", 0, 0x401),
            ("flush", 0, 0x100), ("discard", 64, 2), ("read", 8, 4),
            ("write", 8, 0x201), ("other", 0, 0)]
    events = []
    for at, (_, sectors, bits) in enumerate(made):
        fields = {"dev": 8 << 20, "sector": at * 64, "nr_sector": sectors,
                  "rwbs": bits}
        events += [(at * 10, 0, "block_rq_issue", fields),
                   (at * 10 + 5, 0, "block_rq_complete",
                    {**fields, "nr_sector": 0})]
    devices = rows(report(write_trace(events), "io"), "devices", "device")
    kinds = {kind for kind, _, _ in made}
    check_equal({name: (row["requests"], row["moved_bytes"])
                 for name, row in devices.items()},
                {f"8:0 {kind}": (sum(k == kind for k, _, _ in made),
                                 sum(512 * n for k, n, _ in made if k == kind))
                 for kind in kinds}, "requests")


@test
def io_takes_the_kernels_flags_and_bytes_for_what_they_are():
    """A write is 1 in the flags' low byte; a flush, 2, and a discard, 3, are
    none; nor is a write of nothing, which is a flush as file systems ask for
    it."""
    def request(time, sector, bytes_, flags):
        fields = {"dev": 8 << 20, "sector": sector, "flags": flags}
        return [(time, 0, "block_rq_issue by flags",
                 {**fields, "bytes": bytes_}),
                (time + 5, 0, "block_rq_complete by flags", fields)]
    trace = write_trace([*request(10, 64, 4096, 0x8801),
                         *request(20, 128, 512, 0x80000),
                         *request(30, 256, 1 << 20, 3),
                         *request(40, 0, 0, 2), *request(50, 0, 0, 0x40801),
                         *request(60, 0, 0, 34)])
    devices = rows(report(trace, "io"), "devices", "device")
    check_equal({name: (row["requests"], row["moved_bytes"])
                 for name, row in devices.items()},
                {"8:0 write": (1, 4096), "8:0 read": (1, 512),
                 "8:0 discard": (1, 1 << 20), "8:0 flush": (2, 0),
                 "8:0 other": (1, 0)}, "requests")
    check_us(devices["8:0 write"], max=5)


@test
def io_knows_files_from_open_fork_and_the_dump():
    """10 opens 3, forks 20, and closes 3, which 20 still has. 11 is a thread
    of 10, so it closes 10's."""
    def call(time, cpu, name, ret, **fields):
        return [entry(time, cpu, name, **fields),
                exit_(time + 2, cpu, name, ret)]

    trace = write_trace([
        switch(1, 0, 0, 10),
        (2, 0, "lttng_statedump_file_descriptor",
         {"pid": 10, "fd": 7, "filename": "/dumped"}),
        *call(10, 0, "openat", 3, filename="/opened"),
        *call(20, 0, "read", 100, fd=3),
        (30, 0, "sched_process_fork",
         {"parent_tid": 10, "parent_pid": 10, "child_tid": 20,
          "child_pid": 20, "child_comm": "t20"}),
        (31, 0, "sched_process_fork",
         {"parent_tid": 10, "parent_pid": 10, "child_tid": 11,
          "child_pid": 10, "child_comm": "t11"}),
        *call(40, 0, "write", 50, fd=7),
        switch(50, 0, 10, 11), *call(60, 0, "close", 0, fd=3),
        switch(70, 0, 11, 20), *call(80, 0, "read", 11, fd=3),
        switch(90, 0, 20, 10), *call(100, 0, "read", -9, fd=3)])
    got = report(trace, "io")
    files = rows(got, "files", "file")
    check_equal({name: (row["reads"], row["read_bytes"], row["written_bytes"])
                 for name, row in files.items()},
                {"/opened": (2, 111, 0), "/dumped": (0, 0, 50),
                 "descriptor 3 of process 10": (1, 0, 0)}, "files")
    processes = rows(got, "processes", "pid")
    check_equal({pid: (row["read_bytes"], row["errors"])
                 for pid, row in processes.items()},
                {10: (100, 1), 20: (11, 0)}, "processes")


def names_of_reads(steps):
    """The files that `io` names for reads of one byte, in their order: steps
    are (call, what it returns, fields) of process 10, and numbers: reads of
    that descriptor."""
    events, time, reads = [switch(1, 0, 0, 10)], 10, 0
    for step in steps:
        if isinstance(step, int):
            step = ("read", 1 << reads, {"fd": step})
            reads += 1
        name, ret, fields = step
        if name.startswith("lttng"):
            events.append((time, 0, name, {"pid": 10, **fields}))
        else:
            events += [entry(time, 0, name, **fields),
                       exit_(time + 2, 0, name.split()[0], ret)]
        time += 10
    files = report(write_trace(events), "io")["files"]
    return [next(row["file"] for row in files if row["read_bytes"] >> i & 1)
            for i in range(reads)]


def opened(fd, path, flags):
    return ("openat with flags", fd, {"filename": path, "flags": flags})


CLOEXEC = 0o2000000


@test
def io_forgets_the_files_that_an_exec_closes():
    dumped = [("lttng_statedump_file_descriptor with flags", 0,
               {"fd": fd, "filename": f"/dump{fd}", "flags": flags})
              for fd, flags in ((3, CLOEXEC), (4, 0))]
    unsure = ("lttng_statedump_file_descriptor", 0,
              {"fd": 5, "filename": "/dump5"})
    failed, worked = (("execve", ret, {}) for ret in (-2, 0))
    steps = [*dumped, unsure, opened(6, "/closed", CLOEXEC),
             opened(7, "/stays", 0),
             opened(8, "/set", 0), ("fcntl", 0, {"fd": 8, "cmd": 2, "arg": 1}),
             opened(9, "/ioctl", 0), ("ioctl", 0, {"fd": 9, "cmd": 0x5451}),
             opened(11, "/cleared", CLOEXEC),
             ("fcntl", 0, {"fd": 11, "cmd": 2, "arg": 0})]
    fds = [3, 4, 5, 6, 7, 8, 9, 11]
    paths = ["/dump3", "/dump4", "/dump5", "/closed", "/stays", "/set",
             "/ioctl", "/cleared"]
    check_equal(names_of_reads([*steps, failed, *fds]), paths, "before")
    check_equal(names_of_reads([*steps, worked, *fds]),
                [path if path in ("/dump4", "/stays", "/cleared") else
                 f"descriptor {fd} of process 10"
                 for fd, path in zip(fds, paths)], "after")


@test
def io_knows_a_files_other_descriptors_and_forgets_it_with_its_number():
    steps = [opened(3, "/a", 0), ("fcntl", 10, {"fd": 3, "cmd": 0, "arg": 10}),
             ("fcntl", 11, {"fd": 3, "cmd": 1030}),
             ("dup2", 3, {"oldfd": 3, "newfd": 3}),
             ("dup2", 1, {"oldfd": 3, "newfd": 1})]
    unknown = [f"descriptor {fd} of process 10" for fd in range(12)]
    check_equal(names_of_reads([*steps, 3, 10, 11, 1]), ["/a"] * 4, "copies")
    # 4 is a pipe, for example.
    check_equal(names_of_reads([*steps, ("dup2", 1, {"oldfd": 4, "newfd": 1}),
                                1, 3]), [unknown[1], "/a"], "over a copy")
    check_equal(names_of_reads([*steps, ("eventfd2", 3, {}), 3, 1]),
                [unknown[3], "/a"], "of something else")
    check_equal(names_of_reads([*steps, ("close_range", 0, {
        "fd": 2, "max_fd": 0xffffffff, "flags": 0}), 1, 3, 10]),
        ["/a", unknown[3], unknown[10]], "a range")
    check_equal(names_of_reads([*steps, ("close_range", 0, {
        "fd": 2, "max_fd": 9, "flags": 4}), 3, ("execve", 0, {}), 1, 3, 10, 11]),
        ["/a", "/a", unknown[3], "/a", unknown[11]], "a range at exec")


# ---- memory ----

@test
def memory_is_added_up_by_who_ran():
    trace = write_trace([
        (5, 0, "kmem_mm_page_alloc", {"order": 3}), switch(10, 0, 10, 11),
        (20, 0, "kmem_mm_page_alloc", {"order": 0}),
        (30, 0, "kmem_mm_page_free", {"order": 1}),
        (40, 0, "kmem_kmalloc",
         {"call_site": 0xffff0010, "bytes_req": 100, "bytes_alloc": 128})])
    got = report(trace, "memory")
    threads = rows(got, "threads", "tid")
    check_equal({tid: (row["pages_taken"], row["pages_freed"])
                 for tid, row in threads.items()},
                {10: (8, 0), 11: (1, 2)}, "pages")
    site = got["sites"][0]
    check_equal((site["taken"], site["used_bytes"], site["asked_bytes"]),
                (1, 128, 100), "the caller's")


# ---- activity ----

@test
def activity_divides_a_threads_time():
    thread = rows(report(write_trace(WAITS), "activity"), "threads", "tid")[5]
    check_us(thread, run_time=50, ready_time=90, preempted_time=20,
             blocked_time=30)
    check_equal((thread["wakeups"], thread["moves"]), (2, 2),
                "wake-ups, moves")


@test
def activity_shows_only_whom_one_asks_for():
    trace = write_trace(WAITS)
    for by in "5", "t5":
        got = report(trace, "activity", "--by", by)
        check_equal([row["tid"] for row in got["threads"]], [5], by)


# ---- the same time in all of them ----

class Machine:
    """Two CPUs with threads from 10 on, that do anything; says how long each
    thread was in which state, by its own account: from its first event, or the
    trace's begin if it runs then, to the trace's end."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.events = [entry(0, 0, "close"), entry(0, 1, "close")]
        self.now = 0
        self.running = {0: 10, 1: 0}
        self.state = {10: ("run", 0)}
        self.times = {}
        for _ in range(60):
            self.now += self.random.randrange(1, 50)
            self.step(self.random.randrange(2))
        self.now += 7
        self.events += [entry(self.now, 0, "close"),
                        entry(self.now, 1, "close")]
        for thread in list(self.state):
            self.enter(thread, None)

    def enter(self, thread, state):
        if not thread:
            return
        was, since = self.state.pop(thread, (None, 0))
        if was:
            sums = self.times.setdefault(thread, {})
            sums[was] = sums.get(was, 0) + self.now - since
        if state:
            self.state[thread] = state, self.now

    def are(self, *states):
        return [t for t in range(10, 15)
                if self.state.get(t, (None,))[0] in states]

    def step(self, cpu):
        asleep = self.are(None, "blocked")
        if asleep and self.random.random() < 0.4:
            thread = self.random.choice(asleep)
            self.events.append(waking(self.now, cpu, thread))
            self.enter(thread, "ready")
            return
        before = self.running[cpu]
        after = self.random.choice([0, *self.are("ready", "preempted")])
        if before == after:
            return
        blocks = self.random.randrange(2)
        self.events.append(switch(self.now, cpu, before, after, state=blocks))
        self.enter(before, "blocked" if blocks else "preempted")
        self.enter(after, "run")
        self.running[cpu] = after


@test
def reports_agree_on_each_threads_time_up_to_the_traces_end():
    columns = {"activity": {"run": "run_time", "ready": "ready_time",
                            "preempted": "preempted_time",
                            "blocked": "blocked_time"},
               "cputop": {"run": "cpu_time"},
               "sched": {"run": "run_time", "preempted": "preempted_wait"}}
    columns["offcpu"] = columns["activity"]
    for seed in range(5):
        machine = Machine(seed)
        trace = write_trace(machine.events, per_packet=seed + 1)
        for name, states in columns.items():
            threads = rows(report(trace, name), "threads", "tid")
            for thread, times in machine.times.items():
                for state, column in states.items():
                    row = threads.get(thread)
                    check_equal(us(row, column) if row else 0,
                                times.get(state, 0),
                                f"seed {seed}, {name}: {thread} {state}")


@test
def a_wake_up_without_a_switch_is_no_latency():
    trace = write_trace([switch(0, 0, 10, 0), waking(30, 0, 10),
                         waking(90, 0, 11)])
    got = report(trace, "sched")
    check_equal(got["latency"][0]["wakeups"], 0, "latencies")
    check_equal(got.get("worst", []), [], "the longest")
    check_us(rows(report(trace, "activity"), "threads", "tid")[10],
             blocked_time=30, ready_time=60)


# ---- losses ----

@test
def nothing_is_made_up_over_a_loss():
    """CPU 0 loses events from 100 to 200: who ran at its begin is counted up
    to it, who is switched away after it from its end on. A call, a wait, a run
    and an interrupt that span it are not counted."""
    trace = write_trace([
        switch(0, 0, 0, 10), switch(0, 1, 0, 12),
        (5, 1, "irq_handler_entry", {"irq": 1, "name": "a"}),
        (50, 0, "irq_handler_entry", {"irq": 2, "name": "b"}),
        waking(55, 0, 13), entry(60, 0, "read"),
        entry(210, 0, "write"), exit_(220, 0, "write"),
        (230, 0, "irq_handler_exit", {"irq": 2}),
        exit_(240, 0, "read"), switch(250, 0, 11, 13),
        (260, 1, "irq_handler_exit", {"irq": 1}),
        switch(300, 1, 12, 0), switch(300, 0, 13, 0)], losses=[(0, 100, 200)])
    got = report(trace, "cputop")
    threads = rows(got, "threads", "tid")
    check_equal({tid: us(row, "cpu_time") for tid, row in threads.items()},
                {10: 100, 11: 50, 12: 300, 13: 50}, "CPU time")
    check_us(rows(got, "cpus", "cpu")[0], unknown_time=100)
    check_equal(rows(report(trace, "syscalls"), "calls", "call").keys(),
                {"write"}, "calls")
    got = report(trace, "sched")
    check_equal(got["latency"][0]["wakeups"], 0, "latencies")
    check(any("not counted" in note for note in got["notes"]), "a note")
    check_equal(rows(report(trace, "irq"), "irqs", "number").keys(), {1},
                "interrupts")


# ---- missing switches ----

# Between 100 and 200, CPU 0 comes from 10 to 55: who ran is not known, nor how
# long 10 and 55 did. Twice on CPU 0, once on CPU 1.
UNSEEN = [switch(0, 0, 0, 10), switch(50, 0, 10, 0), switch(100, 0, 0, 10),
          switch(200, 0, 55, 0), waking(250, 0, 10), switch(300, 0, 0, 10),
          switch(400, 0, 10, 0), switch(500, 0, 20, 0),
          switch(0, 1, 0, 30), switch(70, 1, 0, 30), switch(90, 1, 30, 0)]


def missing(trace):
    """What `check` says of switches; by CPU, from its words."""
    done = run(SONDE, "check", "--json", trace)
    got = json.loads(done.stdout)
    found = [row["text"] for row in got["findings"]
             if row["rule"] == "switches"]
    rule = rows(got, "rules", "rule")["switches"]
    check_equal(got["verdict"] == "sound", rule["count"] == 0, "the verdict")
    check_equal(done.returncode, 0, "the status: all can be read")
    return rule["count"], found


@test
def a_missing_switch_is_not_bridged():
    for per_packet in (1, 3, 100):
        trace = write_trace(UNSEEN, per_packet=per_packet)
        got = report(trace, "cputop")
        check_equal({tid: us(row, "cpu_time") for tid, row in
                     rows(got, "threads", "tid").items()},
                    {10: 150, 30: 20}, "CPU time")
        check_us(rows(got, "cpus", "cpu")[0], unknown_time=200)
        # Its stream ends at 90, all others' at 500.
        check_us(rows(got, "cpus", "cpu")[1], unknown_time=70 + 410)
        check(any("who ran for 0.270 ms is unknown" in note
                  for note in got["notes"]), f"a note in {got['notes']}")


@test
def check_names_the_cpu_whose_switches_are_missing():
    for per_packet in (1, 3, 100):
        count, found = missing(write_trace(UNSEEN, per_packet=per_packet))
        check_equal((count, len(found)), (3, 2), "places and CPUs")
        check("CPU 0 in 2 places, the first before 1000000000.000200000 s"
              in found[0] and "0.200 ms" in found[0], f"CPU 0: {found[0]}")
        check("CPU 1 in 1 place, the first before 1000000000.000070000 s"
              in found[1] and "0.070 ms" in found[1], f"CPU 1: {found[1]}")


@test
def a_trace_with_all_switches_misses_none():
    check_equal(missing(write_trace([
        switch(0, 0, 0, 10), switch(10, 1, 4, 5), switch(20, 0, 10, 0),
        switch(30, 1, 5, 4), switch(40, 0, 0, 10)])), (0, []), "found")


@test
def a_thread_that_calls_exec_gets_another_number():
    for per_packet in (1, 100):
        check_equal(missing(write_trace([
            switch(0, 0, 0, 12), (10, 0, "sched_process_exec", {
                "filename": "/bin/x", "tid": 10, "old_tid": 12}),
            switch(20, 0, 10, 0)], per_packet=per_packet)), (0, []), "found")


@test
def switches_that_were_counted_as_lost_are_not_missing_again():
    trace = write_trace([switch(0, 0, 0, 10), switch(50, 0, 10, 0),
                         switch(200, 0, 55, 0), switch(300, 0, 0, 10)],
                        losses=[(0, 60, 150)])
    check_equal(missing(trace), (0, []), "found")


@test
def where_not_all_switches_were_asked_for_none_is_missing():
    trace = write_trace(UNSEEN)
    text = metadata().replace("env {", 'env { kernel_source = "bpf";')
    (trace / "metadata").write_text(text)
    check_equal(missing(trace), (0, []), "of one program")
    (trace / "metadata").write_text(
        text.replace("env {", 'env { kernel_switches = "all";'))
    check_equal(missing(trace)[0], 3, "of all")


# ---- whose threads ----

# Of thread 10 and its child 11: what else ran is only seen where it meets them.
# From 100 to 300, anybody may have run beside 50; so when CPU 0 was idle.
SCOPED = [
    (0, 0, "sched_process_fork", {"child_tid": 11, "child_pid": 11}),
    switch(100, 0, 10, 50), switch(300, 0, 50, 11), waking(320, 0, 50),
    switch(400, 0, 11, 0), waking(800, 1, 10), switch(900, 0, 0, 10),
    switch(950, 0, 10, 51, state=0), switch(1000, 0, 50, 10),
    switch(1100, 0, 10, 0)]
SCOPE = 'kernel_scope = "program"; kernel_source = "bpf"; '
THREAD_REPORTS = ("cputop", "activity", "offcpu", "sched")


@test
def a_trace_of_one_program_gives_no_times_of_others():
    for per_packet in (1, 3, 100):
        trace = write_trace(SCOPED, per_packet=per_packet,
                            env=SCOPE + "kernel_root = 10;")
        got = report(trace, "cputop")
        check_equal({tid: us(row, "cpu_time") for tid, row in
                     rows(got, "threads", "tid").items()},
                    {10: 250, 11: 100}, "CPU time")
        check_us(rows(got, "cpus", "cpu")[0], cpu_time=350, idle_time=None,
                 unknown_time=750)
        thread = rows(report(trace, "activity"), "threads", "tid")[10]
        check_us(thread, run_time=250, ready_time=100, preempted_time=50)
        for name in THREAD_REPORTS:
            got = report(trace, name)
            check(rows(got, "threads", "tid").keys() <= {10, 11},
                  f"{name} on strangers: {got['threads']}")
            check_equal([n for n in got["notes"] if "not counted" in n], [],
                        f"{name}: others' switches are not missing")
            check(any("other programs" in note for note in got["notes"]),
                  f"a note in {got['notes']}")


@test
def a_trace_that_does_not_say_whose_it_is_warns_of_its_times():
    got = report(write_trace(SCOPED, env=SCOPE), "cputop")
    check(50 in rows(got, "threads", "tid"), "all threads that are seen")
    check(any("doesn't say which threads" in note for note in got["notes"]),
          f"a note in {got['notes']}")


@test
def the_recorders_own_threads_are_left_out_unless_asked_for():
    trace = write_trace([
        switch(0, 0, 0, 10), switch(100, 0, 10, 70, state=0),
        switch(150, 0, 70, 10), switch(200, 0, 10, 0), waking(290, 0, 71),
        switch(300, 0, 0, 71), switch(330, 0, 71, 0)],
        env='kernel_scope = "machine"; kernel_recorder = "70 71"; ')
    for name in THREAD_REPORTS:
        got = report(trace, name)
        check(not {70, 71} & rows(got, "threads", "tid").keys(),
              f"{name}: {got['threads']}")
        check(any("ran for 0.080 ms; --self" in note
                  for note in got["notes"]), f"a note in {got['notes']}")
        got = report(trace, name, "--self")
        check(rows(got, "threads", "tid").keys() & {70, 71},
              f"{name} --self: {got['threads']}")
        check("recorder" not in str(got.get("notes")), f"{name}: a note")
    # The CPU was busy all the same.
    check_us(rows(report(trace, "cputop"), "cpus", "cpu")[0], cpu_time=230,
             idle_time=100, unknown_time=0)


@test
def a_trace_without_what_a_report_needs_is_told_apart():
    trace = write_trace([switch(0, 0, 0, 10)])
    (trace / "metadata").write_text(metadata().replace("irq_", "other_"))
    done = run(SONDE, "report", "irq", trace)
    check_equal(done.returncode, 1, "status")
    check("no events of interrupts" in done.stderr, done.stderr)


@test
def cputop_and_activity_need_no_system_calls():
    trace = write_trace([switch(0, 0, 0, 10), switch(100, 0, 10, 0)])
    (trace / "metadata").write_text(metadata(["sched_switch"]))
    cputop = rows(report(trace, "cputop"), "threads", "tid")[10]
    activity = rows(report(trace, "activity"), "threads", "tid")[10]
    check_us(cputop, cpu_time=100)
    check_us(activity, run_time=100)
    check_equal((cputop["call_time_ns"], activity["call_time_ns"],
                 activity["calls"]), (None, None, None),
                "what a trace without calls says of them")


@test
def a_report_that_fits_runs_whichever_event_class_is_alone():
    needs = {
        "cputop": {"sched_switch"}, "sched": {"sched_switch"},
        "offcpu": {"sched_switch"}, "blame": {"sched_switch"},
        "critical": {"sched_switch"},
        "syscalls": {e for e in EVENTS if "sys" in e},
        "irq": {e for e in EVENTS if "irq_" in e},
        "io": {e for e in EVENTS if "sys" in e or "block_rq" in e},
        "memory": {e for e in EVENTS if e.startswith("kmem")},
        "activity": {"sched_switch", *(e for e in EVENTS if "sys" in e)},
    }
    for event in EVENTS:
        trace = write_trace([(at, 0, event, {}) for at in (0, 10, 20)])
        (trace / "metadata").write_text(metadata([event]))
        listed = json.loads(run(SONDE, "report", "--json", trace).stdout)
        fits = {row["name"] for row in listed["reports"]
                if row["fits"] == "yes" and row["needs"] == "kernel"}
        plain = event.removeprefix("sched:")
        check_equal(fits, {n for n in needs if plain in needs[n]},
                    f"what fits {event}")
        # These two want spans, of events that say which thread they are of.
        for name in fits - {"blame", "critical"}:
            report(trace, name)


install()
main()
