#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_kernel_fields.py - what is in kernel events: names, typed arguments,
times, conditions; and that both sources say the same."""

import json
import os
import subprocess

from sonde import BUILD, SONDE, Skip, check, install, record, run, scratch
from harness import check_equal, main
from kernel import (each_source, kernel_test, need, number_of, program,
                    record_kernel)


def record_args(source, *options):
    """args' trace, and its own calls: those from chdir on."""
    directory = scratch() / "work"
    directory.mkdir()
    # Addresses are the same each time.
    done = record_kernel("setarch", "-R", program("args"), directory,
                         k="syscalls", source=source, options=options)
    check_equal(os.listdir(directory), [], "what args left")
    trace = done.trace()
    check_equal(trace.lost, 0, "lost")
    events = trace.of_program()
    first = [i for i, e in enumerate(events)
             if e.name == "syscall_entry_chdir"]
    check_equal(len(first), 1, "calls of chdir")
    return trace, events[first[0]:], directory


def named(events, name):
    return [e for e in events if e.name == name]


def is_text(value):
    return isinstance(value, str)


def check_texts(events, call, field, expected):
    """A string argument of all such calls; where the source can't read it, it
    is the pointer, which must be one."""
    values = [e[field] for e in named(events, f"syscall_entry_{call}")]
    check_equal(len(values), len(expected), f"calls of {call}")
    if not any(map(is_text, values)):
        raise Skip("this source can't read strings on this kernel")
    check_equal(values, expected, f"{field} of {call}")


@each_source
def numbers_are_what_was_passed(source):
    _, events, _ = record_args(source)
    seek, = named(events, "syscall_entry_lseek")
    check_equal(number_of(seek["offset"]), 0x123456789, "offset")
    cut, = named(events, "syscall_entry_ftruncate")
    check_equal(number_of(cut["length"]), 0x100000001, "length")
    make, = named(events, "syscall_entry_mkdirat")
    check_equal(number_of(make["mode"]), 0o750, "mode")
    map_, = named(events, "syscall_entry_mmap")
    check_equal(number_of(map_["len"]), 8192, "length of the mapping")
    check_equal(number_of(map_["fd"]) & 0xffffffff, 0xffffffff, "fd of none")
    read, = named(events, "syscall_entry_read")
    check_equal(number_of(read["count"]), 2**64 - 1, "count")
    kill, = named(events, "syscall_entry_kill")
    check_equal(number_of(kill["pid"]), 0x7fffffff, "pid")
    check_equal(number_of(kill["sig"]), 10, "sig")


@each_source
def flags_and_enumerations_have_labels(source):
    trace, events, _ = record_args(source)
    shown = run(SONDE, "print", trace.dir)
    check_equal(shown.returncode, 0, shown.stderr)
    for call, words in (("openat", ("O_CREAT", "O_TRUNC", "O_CLOEXEC")),
                        ("mmap", ("PROT_WRITE", "MAP_ANONYMOUS")),
                        ("socket", ("AF_UNIX",)),
                        ("lseek", ("SEEK_SET",)),
                        ("prctl", ("PR_SET_NAME",)),
                        ("kill", ("SIGUSR1",))):
        lines = [line for line in shown.stdout.splitlines()
                 if f"syscall_entry_{call}" in line]
        for word in words:
            check(any(word in line for line in lines),
                  f"{call} without {word}: {lines[:8]}")
    create = named(events, "syscall_entry_openat")[0]
    check_equal(number_of(create["flags"]),
                os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC | os.O_TRUNC, "flags")


@each_source
def results_are_what_was_returned(source):
    _, events, _ = record_args(source)
    rets = {}
    for event in events:
        if event.name.startswith("syscall_exit_"):
            rets.setdefault(event.name.removeprefix("syscall_exit_"),
                            []).append(event["ret"])
    check_equal(rets["lseek"], [0x123456789], "lseek")
    check_equal(rets["write"], [18], "write")
    check_equal(rets["kill"], [-3], "kill of nobody")
    check_equal(rets["read"], [-9], "read of a bad descriptor")
    check_equal(rets["unlinkat"][0], -20, "unlinkat in what is no directory")
    check_equal(rets["openat"][2:], [-2, -2, -36, -14, -14], "openat")


@each_source
def paths_are_followed(source):
    _, events, directory = record_args(source)
    check_texts(events, "chdir", "filename", [str(directory)])
    check_texts(events, "mkdirat", "pathname", ["sub"])
    check_texts(events, "renameat2", "oldname", ["plain"])
    check_texts(events, "renameat2", "newname", ["sub/moved"])
    texts = [e["filename"] for e in named(events, "syscall_entry_openat")]
    # The third is empty: babeltrace2 2.0 shows another one's text for it.
    check_equal([*texts[:2], texts[3]], ["plain", "sub/moved",
                'a "quoted"\n\u00e4 name'], "paths")


@each_source
def a_long_path_is_cut_where_the_option_says(source):
    for limit in (32, 256):
        _, events, _ = record_args(source, "--kernel-strings", limit)
        paths = [e["filename"] for e in named(events, "syscall_entry_openat")]
        if not any(map(is_text, paths)):
            raise Skip("this source can't read strings on this kernel")
        check(set(paths[4]) == {"p"}, f"the path is {paths[4]!r}")
        check(limit - 8 <= len(paths[4]) <= limit,
              f"{len(paths[4])} bytes of it, the limit is {limit}")


@each_source
def a_wrong_pointer_is_no_text_and_no_harm(source):
    trace, events, _ = record_args(source)
    calls = named(events, "syscall_entry_openat")
    check_equal(len(calls), 7, "calls of openat")
    if not any(is_text(e["filename"]) for e in calls):
        raise Skip("this source can't read strings on this kernel")
    # Not babeltrace2's word: 2.0 shows another event's text for an empty one.
    shown = run(SONDE, "print", trace.dir)
    check_equal(shown.returncode, 0, shown.stderr)
    lines = [line for line in shown.stdout.splitlines()
             if " syscall_entry_openat " in line]
    for line in lines[-2:]:
        check(line.endswith(('filename = ""', 'filename = "(fault)"')),
              f"a text from nowhere: {line!r}")


@each_source
def the_arguments_of_a_program_are_followed(source):
    _, events, _ = record_args(source)
    check_texts(events, "execve", "filename", ["/does/not/exist"])
    call, = named(events, "syscall_entry_execve")
    check_equal(call["argv"], "child two words  --last", "argv")


@each_source
def an_unknown_call_is_recorded_with_its_number(source):
    _, events, _ = record_args(source)
    if source == "tracefs":
        check_equal(named(events, "syscall_entry_unknown"), [], "calls")
        raise Skip("the kernel has no trace events for such calls")
    entry, = named(events, "syscall_entry_unknown")
    check_equal(entry["id"], 1000, "id")
    leave, = named(events, "syscall_exit_unknown")
    check_equal((leave["id"], leave["ret"]), (1000, -38), "exit")


@each_source
def buffers_are_recorded_up_to_the_limit_if_wanted(source):
    _, events, _ = record_args(source, "--kernel-buffers", "8")
    call, = named(events, "syscall_entry_write")
    if not isinstance(call["buf"], list):
        raise Skip("this source can't read buffers")
    check_equal(bytes(call["buf"]), b"eighteen"[:8], "buf")


@each_source
def calls_of_32_bit_programs_have_their_names(source):
    check_equal(run(program("compat"), "1").returncode in (0, 3), True, "runs")
    if run(program("compat"), "1").returncode == 3:
        raise Skip("this kernel has no 32-bit calls")
    done = record_kernel(program("compat"), "20", k="syscalls", source=source)
    trace = done.trace()
    if source == "tracefs":
        # The kernel keeps them from its own trace events: a number would mean
        # something else there. Nothing may be shown under a wrong name.
        check_equal(len(trace.events("syscall_entry_getppid")), 20, "getppid")
        check_equal(trace.events("syscall_entry_(semget|preadv)"), [], "others")
        raise Skip("the kernel's trace events leave 32-bit calls out")
    for name, nr in (("compat_syscall_entry_getppid", 20),
                     ("compat_syscall_exit_getppid", 20),
                     ("syscall_entry_getppid", 20),
                     ("compat_syscall_entry_openat", 1)):
        check_equal(len(trace.events(name)), nr, name)
    call, = trace.events("compat_syscall_entry_openat")
    if is_text(call["filename"]):
        check_equal(call["filename"], "/does/not/exist", "filename")
    check_equal(number_of(call["dfd"]), -100, "dfd")
    leave, = trace.events("compat_syscall_exit_openat")
    check_equal(leave["ret"], -2, "ret")


# ---- both sources ----

def calls_of(source):
    """Name and fields of each call of args, with ids of processes, which
    differ, replaced."""
    _, events, directory = record_args(source)
    own = {str(e.tid): f"tid{i}" for i, e in enumerate(events)
           if e.name == "syscall_entry_chdir"}
    for event in named(events, "syscall_exit_fork") + \
            named(events, "syscall_exit_clone"):
        if event["ret"] > 0:
            own[str(event["ret"])] = "child"
    parent = named(events, "syscall_exit_getppid")[0]["ret"]
    own[str(parent)] = "parent"
    root = events[0].tid
    out = []
    for event in events:
        # The dump may find a file open in between; and tracefs has nothing of
        # calls without a name.
        if event.tid != root or "syscall_" not in event.name or \
                event.name.endswith("_unknown"):
            continue
        fields = {}
        for key, value in event.fields.items():
            if isinstance(value, int) and str(value) in own:
                value = own[str(value)]
            if value == str(directory):
                value = "DIRECTORY"
            fields[key] = value
        out.append((event.name, fields))
    return out


@kernel_test
def both_sources_tell_the_same_of_one_thread():
    need("tracefs")
    need("bpf")
    by_tracefs, by_bpf = calls_of("tracefs"), calls_of("bpf")
    check_equal([n for n, _ in by_tracefs], [n for n, _ in by_bpf], "names")
    for (name, one), (_, two) in zip(by_tracefs, by_bpf):
        check_equal(sorted(one), sorted(two), f"fields of {name}")
        for field, value in one.items():
            other = two[field]
            if is_text(value) != is_text(other):
                continue  # one can read strings, the other can't
            check_equal(value, other, f"{field} of {name}")


# What only BPF can tell, beside the kernel's own record.
MORE_BY_BPF = {"sched_process_fork": {"child_pid", "parent_pid"}}
# What only newer kernels' own records have.
MORE_BY_TRACEFS = {"sched_process_exit": {"group_dead"}}


@kernel_test
def both_sources_describe_events_alike():
    """Of events that the same program causes, whatever their values; those
    that BPF has no program of its own for have its arguments for fields."""
    need("tracefs")
    need("bpf")
    seen = {}
    for source in ("tracefs", "bpf"):
        done = record_kernel(program("calls"), "1", source=source,
                             k="sched,irq,faults,timer:hrtimer_expire_*")
        for event in done.trace().events():
            if not event.name.startswith(("lttng_", "sonde_")):
                seen.setdefault(event.name, {})[source] = list(event.fields)
    check("sched_switch" in seen, f"only {sorted(seen)}")
    for name, fields in seen.items():
        if len(fields) == 2:
            check_equal(set(fields["bpf"]) - MORE_BY_BPF.get(name, set()),
                        set(fields["tracefs"]) -
                        MORE_BY_TRACEFS.get(name, set()), f"fields of {name}")


@each_source
def switches_have_the_fields_that_trace_compass_reads(source):
    done = record_kernel(program("pingpong"), "50", k="sched", source=source)
    trace = done.trace()
    switch = trace.events("sched_switch")[0]
    check_equal(list(switch.fields),
                ["prev_comm", "prev_tid", "prev_prio", "prev_state",
                 "next_comm", "next_tid", "next_prio"], "fields")
    seen = {number_of(e["next_prio"]) for e in trace.events("sched_switch")
            if e["next_comm"] == "kernel_pingpong"}
    # On PREEMPT_RT it holds locks that real-time threads wait for, and has
    # their priority until it gives them up.
    if "PREEMPT_RT" in os.uname().version:
        seen = {prio for prio in seen if prio >= 0}
    check_equal(seen, {20 + os.nice(0)}, "priorities")
    waking = trace.events("sched_waking")[0]
    check_equal(list(waking.fields), ["comm", "tid", "prio", "target_cpu",
                                      "in_interrupt"],
                "fields of sched_waking")


SLEEPER = """
import os, time
print(os.getpid(), flush=True)
for _ in range(100):
    time.sleep(0.001)
"""
# Keeps a CPU busy: whom the timer interrupts.
SPINNER = "import os; print(flush=True)\nwhile True: pass"


def spinners():
    return [subprocess.Popen(["taskset", "-c", str(cpu), "python3", "-c",
                              SPINNER], stdout=subprocess.PIPE)
            for cpu in os.sched_getaffinity(0)]


@each_source
def a_wake_up_by_a_timer_is_nobodys(source):
    """Whoever is interrupted by it has woken nobody: -1 says that it isn't
    known, 0 would be a lie. Real-time kernels have a thread for it."""
    busy = spinners()
    try:
        for process in busy:
            process.stdout.readline()
        done = record_kernel("python3", "-c", SLEEPER, k="sched",
                             source=source)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    sleeper = int(done.out.split()[0])
    trace = done.trace()
    wakes = [event for event in trace.events("sched_waking")
             if event["tid"] == sleeper]
    check(len(wakes) >= 100, f"too few: {len(wakes)}")
    said = [event["in_interrupt"] for event in wakes
            if event.tid in [process.pid for process in busy]]
    check(said or "PREEMPT_RT" in os.uname().version,
          "no spinner was interrupted")
    check_equal(set(said) - {-1, 1, 2}, set(), "made by a spinner")
    report = run(SONDE, "report", "sched", "--json", trace.dir)
    named = {row["what"] for row in json.loads(report.stdout)["worst"]
             if row["tid"] == sleeper}
    for process in busy:
        check(f"python3 ({process.pid})" not in named, f"woken by {named}")


@each_source
def a_wake_up_by_a_thread_is_no_interrupts(source):
    done = record_kernel(program("pingpong"), "200", k="sched", source=source)
    pair = set(map(int, done.out.split()[:2]))
    made = [event["in_interrupt"] for event in
            done.trace().events("sched_waking")
            if event["tid"] in pair and event.tid in pair - {event["tid"]}]
    check(len(made) >= 100, f"too few: {made}")
    check_equal(set(made) - {0, -1}, set(), "by threads")


@each_source
def the_context_names_the_thread_that_runs(source):
    done = record_kernel(program("pingpong"), "50", k="sched_switch",
                         source=source)
    for event in done.trace().events("sched_switch"):
        check_equal(event.tid, event["prev_tid"], repr(event))


# ---- time ----

@each_source
def each_call_lies_between_reads_of_the_clock_around_it(source):
    nr = 20000
    checker = BUILD.resolve() / "tests/kernel/kernel_check_bounded"
    for clock in ("counter", "monotonic"):
        pairs = scratch() / "pairs"
        done = record_kernel(program("bounded"), clock, nr, pairs,
                             k="syscalls:getppid", source=source,
                             options=["--kernel-memory", "64M"])
        seen = run(checker, done.dir / "kernel", pairs)
        if "another clock" not in seen.stderr:
            break
    check_equal(seen.returncode, 0, seen.stdout + seen.stderr)
    entry = seen.stdout.splitlines()[0].split()
    check_equal(entry[1:3], [str(nr), str(nr)], seen.stdout)


@each_source
def events_of_the_program_and_the_kernel_lie_on_one_clock(source):
    done = record_kernel(program("ticker"), "500", k="syscalls:getppid",
                         source=source, status=7)
    order = [e.name for e in done.trace().events(
        "ticker:.*|syscall_(entry|exit)_getppid")]
    turn = ["ticker:tick", "syscall_entry_getppid", "syscall_exit_getppid",
            "ticker:tock"]
    check_equal(order, turn * 500, "order")


@each_source
def times_never_go_back_in_a_stream(source):
    done = record_kernel(program("calls"), "3", k="sched,syscalls,irq",
                         source=source)
    last = {}
    for event in done.trace().events():
        check(event.time >= last.get(event.cpu, 0), repr(event))
        last[event.cpu] = event.time


# ---- conditions ----

def opened(k, source, *files):
    done = record_kernel("cat", *files, k=k, source=source)
    return [e["filename"] for e in
            done.trace().events("syscall_entry_openat")]


@each_source
def a_condition_on_a_path_selects(source):
    directory = scratch()
    for name in ("wanted", "other"):
        (directory / name).write_text("x\n")
    files = [directory / "wanted", directory / "other", directory / "wanted"]
    everything = opened("syscalls:openat", source, *files)
    if not any(map(is_text, everything)):
        raise Skip("this source can't read strings on this kernel")
    check(str(files[1]) in everything, f"opened: {everything}")
    some = opened(f'syscalls:openat if filename == "{files[0]}"', source,
                  *files)
    check_equal(some, [str(files[0])] * 2, "opened")


@each_source
def a_condition_on_numbers_selects(source):
    prio = 20 + min(os.nice(0) + 3, 19)  # of nobody but the program
    done = record_kernel("nice", "-n", "3", program("pingpong"), "300", "20",
                         k=["sched_waking", f"sched_switch if next_prio == "
                            f"{prio} && prev_tid != next_tid"], source=source)
    trace = done.trace()
    switches = trace.events("sched_switch")
    check(len(switches) > 300, f"{len(switches)} switches")
    prios = {number_of(e["next_prio"]) for e in switches}
    check_equal(prios, {prio}, "priorities of those switched to")
    everything = record_kernel("nice", "-n", "3", program("pingpong"), "300",
                               "20", k="sched_switch", source=source)
    check(any(number_of(e["next_prio"]) != prio
              for e in everything.trace().events("sched_switch")),
          "all are that, without a condition")
    check(trace.events("sched_waking"), "the other rule has no condition")


@each_source
def a_condition_no_source_can_evaluate_early_is_evaluated_late(source):
    rule = 'sched_switch if prev_comm == "kernel_p*" && prev_tid * 1.0 > 0.5'
    if source == "modules":  # that evaluates early, or refuses
        done = record("true", options=["-k", rule, "--kernel-source", source])
        check("another --kernel-source" in done.err, done.err)
        return
    done = record_kernel(program("pingpong"), "100", k=rule, source=source)
    names = {e["prev_comm"] for e in done.trace().events("sched_switch")}
    check_equal(names, {"kernel_pingpong"}, "names")


@kernel_test
def a_condition_that_makes_no_sense_is_refused_by_name():
    done = record("true", options=["-k", "sched_switch if prev_comm == 1"])
    check(done.status in (1, 2), f"status {done.status}: {done.err}")
    check("prev_comm" in done.err and "column" in done.err, done.err)


@each_source
def the_last_rule_that_matches_decides(source):
    done = record_kernel(program("calls"), "1", source=source,
                         k=["syscalls,!syscalls:getppid", "sched_switch"])
    trace = done.trace()
    check_equal(trace.events("syscall_.*_getppid"), [], "excluded")
    check(trace.events("syscall_entry_getuid"), "getuid is missing")
    check(trace.events("sched_switch"), "sched_switch is missing")


ECHO = """
import socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
listener = socket.socket(family)
listener.bind((sys.argv[1], 0))
listener.listen()
client = socket.create_connection(listener.getsockname()[:2])
served, _ = listener.accept()
client.sendall(b"x" * 1000)
served.recv(400)
served.recv(100, socket.MSG_PEEK)
served.recv(600)
served.send(b"y" * 50)
client.recv(100)
print(client.getsockname()[1], served.getsockname()[1])
"""


def check_positions(address, low):
    done = record_kernel("python3", "-c", ECHO, address,
                         k="sock:sock_*_length", source="bpf")
    client, server = map(int, done.out.split())
    moved = [(e.name, *(number_of(e[f]) for f in (
                "sport", "dport", "saddr_low", "daddr_low", "position",
                "ret", "flags"))) for e in done.trace().events()
             if e.name.startswith("sock_") and number_of(e["protocol"]) == 6]
    there, back = moved[0][5], moved[4][5]
    send, recv = "sock_send_length", "sock_recv_length"
    to, reply = (client, server, low, low), (server, client, low, low)
    check_equal(moved, [
        (send, *to, there, 1000, 0),
        (recv, *reply, there - 600 & 0xffffffff, 400, 0),
        (recv, *reply, there - 600 & 0xffffffff, 100, 2),
        (recv, *reply, there, 600, 0),
        (send, *reply, back, 50, 0),
        (recv, *to, back, 50, 0)], "what was sent and received")


@kernel_test
def bytes_of_tcp_have_the_same_position_at_both_ends():
    need("bpf")
    if "sock_recv_length" not in run(SONDE, "list", "-k",
                                     "sock:*").stdout:
        raise Skip("the kernel has no such tracepoint (before 6.3)")
    check_positions("127.0.0.1", 0xffff7f000001)
    check_positions("::1", 1)


install()
main()
