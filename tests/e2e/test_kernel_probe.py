#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_kernel_probe.py - probes at functions of the kernel: a program that makes
known calls is the witness of their counts and values; and what is refused says
why. Kernels without kprobes (CONFIG_KPROBES) and fentry only refuse."""

import contextlib
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

from sonde import (BUILD, SONDE, Skip, check, install, require, run,
                   scratch)
from harness import check_equal, main, test
from kernel import (LIMIT_S, LOAD, TRACING, Harm, KernelTrace, bpf_exists,
                    bpf_links, bpf_objects, descendants, functions_with_types,
                    gone, is_sonde, names_once, need, program, random_functions,
                    wait_for)

PMU = pathlib.Path("/sys/bus/event_source/devices/kprobe/type")
KILLS = 12
FIRST, NR = 70_000, 100  # sizes that nobody else reads in
OURS = f"count >= {FIRST} && count < {FIRST + NR}"
# Reads FIRST, FIRST + 1 ... bytes of a file; prints its inode, its own PID and
# what it is called.
READER = f"""
import os, sys
f = os.open(sys.argv[1], os.O_RDONLY)
for i in range({NR}):
    os.read(f, {FIRST} + i)
print(os.fstat(f).st_ino, os.getpid())
"""


def need_kprobes():
    need("bpf")
    if not PMU.exists():
        raise Skip("the kernel has no kprobes (CONFIG_KPROBES)")


def need_events():
    """Events have their numbers in tracefs."""
    need("bpf")
    need("tracefs")


def probe_test(function):
    def run_it():
        need_kprobes()
        function()
    run_it.__name__ = function.__name__
    run_it.time_limit_s = LIMIT_S
    test(run_it)
    return function


class Probed:
    """The reader under a probe: what was recorded, and what it printed."""

    def __init__(self, where, collect=None, options=()):
        self.file = scratch() / "file"
        self.file.write_bytes(b"x" * 100)
        self.dir = scratch() / "trace"
        more = ["--collect", collect] if collect else []
        done = run(SONDE, "probe", "--kernel", where, *more, *options, "-o",
                   self.dir, "--", sys.executable, "-c", READER, self.file)
        check_equal(done.returncode, 0, done.stderr)
        self.err = done.stderr
        self.inode, self.pid = map(int, done.stdout.split())
        self.trace = KernelTrace(self.dir, done.stderr)

    def hits(self, name="vfs_read"):
        return self.trace.events(f"kgdb:{name}")


# ---- counts and values ----

@probe_test
def a_probe_records_as_often_as_the_program_calls():
    hits = Probed(f"vfs_read if {OURS}", "count").hits()
    check_equal([hit["count"] for hit in hits],
                list(range(FIRST, FIRST + NR)), "counts")


@probe_test
def a_false_condition_records_nothing():
    probed = Probed("vfs_read if count == 123456789", "count")
    check_equal(probed.hits(), [], "hits")
    check("can't be read" not in probed.err, probed.err)


@probe_test
def what_is_collected_has_the_kernels_values():
    probed = Probed(
        f"vfs_read if {OURS} && current->pid > 1",
        "file->f_inode->i_ino, current->pid, current->comm, count * 2",
        ["--name", "reads"])
    hits = probed.hits("reads")
    check_equal(len(hits), NR, "hits")
    for i, hit in enumerate(hits):
        values = list(hit.fields.values())
        check_equal(values[0], probed.inode, hit)
        check_equal(values[1], probed.pid, hit)
        check_equal(hit.tid, probed.pid, hit)
        check(values[2].startswith("python"), values[2])
        check_equal(values[3], 2 * (FIRST + i), hit)
        check_equal(hit["unread"], 0, hit)


@probe_test
def texts_and_arguments_are_collected():
    hits = Probed(f"vfs_read if {OURS}",
                  "$args, /s file->f_path.dentry->d_name.name").hits()
    check_equal(len(hits), NR, "hits")
    for hit in hits:
        names = list(hit.fields)
        check_equal(names[:4], ["file", "buf", "count", "pos"], hit)
        check_equal(hit.fields[names[4]], "file", hit)
        check(hit["file"] > 1 << 63, hit)


@probe_test
def a_signed_argument_keeps_its_sign():
    hits = Probed("do_sys_openat2 if dfd == -100", "dfd").hits("do_sys_openat2")
    check(hits, "nothing is opened")
    check_equal({hit["dfd"] for hit in hits}, {-100}, "dfd")


@probe_test
def several_probes_are_in_one_trace():
    probed = Probed(f"vfs_read if {OURS} collect count, pos; do_sys_openat2 "
                    "collect dfd, /s filename; "
                    "sched:sched_process_exit", "p->pid")
    check_equal([hit["count"] for hit in probed.hits()],
                list(range(FIRST, FIRST + NR)), "counts")
    check_equal([list(hit.fields.values())[0]
                 for hit in probed.hits("sched_process_exit")], [probed.pid],
                "ends")
    check("dfd" in probed.hits("do_sys_openat2")[0].fields, "an argument")


@probe_test
def what_several_probes_cant_be_is_told():
    why_not(["vfs_read; vfs_read if count > 1"], "two probes at vfs_read")
    why_not(["vfs_read; vfs_raed"], "vfs_raed")
    why_not(["vfs_read; ; vfs_write"], "no function")
    why_not([""], "no function")


# ---- returns ----

def need_returns():
    release = tuple(map(int, os.uname().release.split(".")[:2]))
    if release < (6, 10):
        raise Skip("the kernel has no bpf_preempt_disable() (6.10)")


@probe_test
def what_a_function_returns_is_recorded_with_its_arguments():
    need_returns()
    probed = Probed(f"vfs_read%return if {OURS} && return == 100",
                    "return, count, current->pid")
    hits = probed.hits("vfs_read_return")
    # The file has 100 bytes; behind its end there is nothing.
    check_equal(len(hits), 1, "hits")
    check_equal(hits[0]["return"], 100, hits[0])
    check_equal(hits[0]["count"], FIRST, hits[0])
    check_equal(hits[0]["pid"], probed.pid, hits[0])


@probe_test
def returns_need_a_newer_kernel():
    if tuple(map(int, os.uname().release.split(".")[:2])) >= (6, 10):
        raise Skip("this one is new enough")
    why_not(["vfs_read%return"], "6.10")


# ---- static tracepoints ----

# A program with children, which are named after it.
FORKER = f"""
import os
for i in range({NR}):
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
print(os.getpid())
"""


@test
def an_events_arguments_have_their_types():
    need_events()
    where = scratch() / "trace"
    done = run(SONDE, "probe", "--kernel", "sched:sched_process_fork if "
               "parent->pid == current->pid && child->pid > 1", "--collect",
               "parent->pid, child->comm, parent", "-k", "sched_process_fork",
               "-o", where, "--", sys.executable, "-c", FORKER)
    check_equal(done.returncode, 0, done.stderr)
    trace = KernelTrace(where, done.stderr)
    hits = trace.events("kgdb:sched_process_fork")
    plain = trace.events("sched_process_fork")
    check_equal(len(hits), NR, done.stderr)
    check_equal(len(plain), NR, "the event itself")
    for hit, event in zip(hits, plain):
        values = list(hit.fields.values())
        check_equal(values[0], int(done.stdout), hit)
        check_equal(values[1], event["child_comm"], hit)
        check(values[2] > 1 << 63, hit)
        check_equal(hit["unread"], 0, hit)
        check(hit.time <= event.time, (hit, event))


@test
def events_that_are_not_there_are_told():
    need_events()
    why_not(["sched:sched_swich"], "no such event", "did you mean")
    why_not(["irq:sched_switch"], "no such event")
    why_not(["syscalls:openat"], "-k syscalls")
    why_not(["sched:sched_switch if $rax == 1"], "can't be computed")
    why_not(["sched:sched_switch if next_pid == 1"], "next_pid")


# ---- call stacks ----

def stacks_of(directory, *options):
    done = run(SONDE, "flame", "--stacks=events", "--folded", *options,
               directory)
    check_equal(done.returncode, 0, done.stderr)
    rows = (line.rpartition(" ") for line in done.stdout.splitlines())
    return {stack: int(weight) for stack, _, weight in rows}


@probe_test
def a_function_has_the_stack_that_led_to_it():
    probed = Probed(f"vfs_read if {OURS}", "count", ["--stack"])
    check_equal(len(probed.hits()), NR, "hits")
    rows = stacks_of(probed.dir)
    check_equal(sum(w for row, w in rows.items() if re.search(
        r"entry_SYSCALL\w*;.*;(ksys|__x64_sys)_read;vfs_read$", row)), NR,
        str(list(rows)[:5]))


@test
def an_event_has_the_stack_that_led_to_it():
    need_events()
    where = scratch() / "trace"
    done = run(SONDE, "probe", "--kernel", "sched:sched_switch if "
               "prev->pid == current->pid", "--collect", "prev->pid",
               "--stack=4", "-k", "sched_switch", "-o", where, "--",
               program("blocker"), "10")
    check_equal(done.returncode, 0, done.stderr)
    trace = KernelTrace(where, done.stderr)
    told = {e["number"] for e in trace.events("sonde:stack")}
    used = [int(re.search(r"stack = (\d+)", e.rest)[1])
            for e in trace.events("kgdb:sched_switch")]
    check(len(used) >= 16, f"{len(used)} hits")
    check(set(used) <= told, "stacks that nothing tells")
    rows = stacks_of(where, "-f", 'event == "kgdb:sched_switch"')
    naps = sum(w for row, w in rows.items() if re.search(
        r"main;(sleeps;)?naps;.*nanosleep.*;schedule;__schedule$", row))
    check(naps >= 16, str(list(rows)[:5]))


@test
def stacks_that_cannot_be_are_refused():
    need("bpf")
    done = run(SONDE, "probe", "-p", os.getpid(), "--stack", "main")
    check_equal(done.returncode, 2, done.stderr)
    check("--kernel" in done.stderr, done.stderr)
    done = run(SONDE, "probe", "--kernel", "--stack=65", "vfs_read")
    check_equal(done.returncode, 2, done.stderr)
    check("from 1 to 64" in done.stderr, done.stderr)
    done = run(SONDE, "probe", "--kernel", "vfs_read%return", "--stack", "-o",
               scratch() / "trace", "--", "true")
    check_equal(done.returncode, 1, done.stderr)
    check("--stack: %return has no call stacks" in done.stderr, done.stderr)


# ---- bad pointers ----

@probe_test
def a_wild_pointer_is_false_and_counted():
    probed = Probed(
        f"vfs_read if {OURS} && "
        "((struct file *)count)->f_inode->i_ino == 5", "count")
    check_equal(probed.hits(), [], "hits")
    counted = re.search(r"kgdb:vfs_read: (\d+) times the condition met memory "
                        "that can't be read", probed.err)
    check(counted, probed.err)
    check_equal(int(counted[1]), NR, probed.err)


@probe_test
def what_cant_be_read_is_said_to_be_so():
    hits = Probed(f"vfs_read if {OURS}",
                  "count, *(long *)count, count / (count - count), "
                  "/s (char *)count").hits()
    check_equal(len(hits), NR, "hits")
    for hit in hits:
        values = list(hit.fields.values())
        check_equal(values[1], 0, hit)
        check_equal(values[2], 0, hit)
        check_equal(values[3], "", hit)
        check_equal(hit["unread"], 0b1110, hit)


# ---- by which way ----

def source_of(probed):
    metadata = (probed.dir / "kernel/metadata").read_text(errors="replace")
    return re.search(r'kernel_source = "([^"]*)"', metadata)[1]


@probe_test
def probes_are_the_modules_where_it_is_modules():
    need("modules")
    probed = Probed(f"vfs_read if {OURS} && file->f_inode->i_ino > 0",
                    "count, file->f_inode->i_ino, current->comm")
    check_equal(source_of(probed).split(",")[0], "modules", probed.err)
    hits = probed.hits()
    check_equal([hit["count"] for hit in hits],
                list(range(FIRST, FIRST + NR)), "counts")
    check_equal({list(hit.fields.values())[1] for hit in hits},
                {probed.inode}, "inodes")


@probe_test
def what_the_module_has_not_is_bpfs_which_is_told_modules():
    need("modules")
    need_events()
    probed = Probed("task:task_rename if task->pid == 0", "task->pid")
    check_equal(source_of(probed).split(",")[0], "bpf", probed.err)
    check("away from its sites isn't the module's" in probed.err, probed.err)


@probe_test
def which_it_is_can_be_chosen_modules():
    need("modules")
    probed = Probed(f"vfs_read if {OURS}", "count", ["--kernel-source", "bpf"])
    check_equal(source_of(probed), "bpf", probed.err)
    check_equal(len(probed.hits()), NR, "hits")


@probe_test
def what_there_is_none_of_is_no_choice():
    need("bpf")
    done = run(SONDE, "probe", "--kernel", "vfs_read", "--kernel-source",
               "nobody", "-o", scratch() / "none", "--", "true")
    check_equal(done.returncode, 2, done.stderr)
    check("use 'modules', 'bpf'" in done.stderr, done.stderr)


# ---- hits that the kernel leaves out ----

# What the program of a probe calls to read memory.
NESTED = "copy_from_kernel_nofault"
WITNESS = "sonde_witness"


def define_probe(line):
    """In tracefs, beside those that are there."""
    fd = os.open(TRACING / "kprobe_events", os.O_WRONLY | os.O_APPEND)
    with open(fd, "wb", buffering=0) as out:
        out.write(line.encode())


@contextlib.contextmanager
def kernels_count():
    """A function that tells the kernel's own count of what it leaves out there, by
    a probe of tracefs."""
    define_probe(f"p:{WITNESS} {NESTED}")
    enable = TRACING / "events/kprobes" / WITNESS / "enable"
    try:
        enable.write_text("1")
        yield lambda: int(re.search(rf"{WITNESS} +\d+ +(\d+)",
                                    (TRACING / "kprobe_profile").read_text())[1])
    finally:
        enable.write_text("0")
        define_probe(f"-:{WITNESS}")


@probe_test
def hits_within_another_probe_are_counted_as_lost():
    need("tracefs")
    with kernels_count() as left_out:
        probed = Probed(f"vfs_read if {OURS} && $rsp != 0 collect "
                        "file->f_path.dentry->d_inode->i_ino, current->tgid; "
                        f"{NESTED} if size == 123456789 && $rsp != 0", "size")
        counted = left_out()
    hits = probed.hits()
    check_equal(len(hits), NR, "hits of the outer one")
    check(counted >= 3 * NR, f"{counted} within the outer one's program")
    check_equal(probed.trace.lost, counted, probed.err)
    check(f"up to {counted} lost" in probed.err, probed.err)
    check("without being counted" not in probed.err, probed.err)


@probe_test
def hits_within_another_probe_are_not_lost_by_fentry():
    need_returns()
    probed = Probed(f"vfs_read if {OURS} collect "
                    "file->f_path.dentry->d_inode->i_ino, current->tgid; "
                    f"{NESTED} if size == 8", "size")
    check_equal(len(probed.hits()), NR, "hits of the outer one")
    check(len(probed.hits(NESTED)) >= NR, "hits within its program")
    check_equal(probed.trace.lost, 0, probed.err)


@probe_test
def probes_of_others_before_6_7_may_hide_hits_which_is_told():
    """The program at another function of the kernel is not one of Sonde."""
    hook = BUILD.resolve() / "bench/kernel_hook"
    if not hook.exists():
        raise Skip("bench/kernel_hook is not built")
    done = run(hook, "kprobe:do_sys_openat2", "--", SONDE, "probe", "--kernel",
               "vfs_read if count == 123456789", "-o", scratch() / "trace",
               "--", "true")
    check_equal(done.returncode, 0, done.stderr)
    release = [int(n) for n in os.uname().release.split(".")[:2]]
    check_equal("may be missing without being counted: there are BPF programs "
                "of others" in done.stderr, release < [6, 7], done.stderr)


# ---- wherever it is ----

# What was tried is in docs/kernel-probes.md.
NR_RANDOM = int(os.environ.get("SONDE_RANDOM_PROBES", 32))
BATCH = 100  # at once


def probe_with_load(names):
    """Those that could be, and how many events they made, lost ones included."""
    while names:
        done = run(SONDE, "probe", "--kernel", "; ".join(names), "--collect",
                   "$args", "-o", scratch() / f"trace-{names[0]}", "--",
                   sys.executable, "-c", LOAD, scratch())
        if done.returncode == 0:
            counts = re.search(r"([\d,]+) events recorded, (?:up to )?([\d,]+) "
                               "lost", done.stderr)
            return names, sum(int(n.replace(",", "")) for n in counts.groups())
        refused = [n for n in names if re.search(rf"\b{n}\b", done.stderr)]
        check(refused, done.stderr)
        names = [n for n in names if n not in refused]
    return names, 0


def random_functions_under_load_do_the_kernel_no_harm():
    need_kprobes()
    need("tracefs")
    seed = int(os.environ.get("SONDE_SEED", 18))
    # The others are refused, but by a run for each, which takes a minute in a guest.
    known, harm = functions_with_types() & names_once(), Harm()
    todo = [name for name in random_functions(random.Random(seed))
            if name in known]
    nr_probed, nr_events = 0, 0
    while nr_probed < NR_RANDOM and todo:
        names, nr = probe_with_load(todo[:BATCH])
        todo, nr_probed = todo[BATCH:], nr_probed + len(names)
        nr_events += nr
        harm.check_none(f"seed {seed}: {names}")
        print(f"# {nr_probed} functions, {nr_events} events", flush=True)
    check(nr_events > 0, "nobody came to any of them")


random_functions_under_load_do_the_kernel_no_harm.time_limit_s = \
    LIMIT_S * max(1, NR_RANDOM // BATCH)
test(random_functions_under_load_do_the_kernel_no_harm)


# ---- with other events ----

@probe_test
def a_probe_lies_between_a_calls_ends_on_one_clock():
    probed = Probed(f"vfs_read if {OURS}", "count",
                    ["-k", "syscalls:read"])
    inside, within = False, 0
    for event in probed.trace.events():
        if event.tid != probed.pid:
            continue
        if event.name == "syscall_entry_read":
            inside = True
        elif event.name == "syscall_exit_read":
            inside = False
        elif event.name == "kgdb:vfs_read":
            check(inside, f"outside of the call: {event}")
            within += 1
    check_equal(within, NR, "hits within calls")


# ---- nothing stays ----

def command(name="trace"):
    need_events()
    return subprocess.Popen(
        [SONDE, "probe", "--kernel", "vfs_read if count == 99999; "
         "task:task_rename", "-o", scratch() / name, "--", "sleep", "1000"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, start_new_session=True)


def begin():
    front = command()

    def objects():
        check(front.poll() is None, "sonde ended")
        found = set()
        for pid in (front.pid, *descendants(front.pid)):
            if is_sonde(pid):
                found |= bpf_objects(pid)
        return found if any(kind == "link" for kind, _ in found) else None
    return front, wait_for(objects, "a link")


def check_gone(front, objects):
    wait_for(lambda: gone(front.pid), "the session's end")
    wait_for(lambda: not any(bpf_exists(*each) for each in objects),
             "the kernel to drop what they held")


def kill_session(front):
    """All of it, whatever it is doing."""
    for pid in (front.pid, *descendants(front.pid)):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    try:
        os.killpg(front.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    front.poll()
    return gone(front.pid)


@probe_test
def a_kill_at_any_instant_leaves_no_probe():
    before = bpf_links()
    start = time.monotonic()
    front, _ = begin()
    whole = time.monotonic() - start
    wait_for(lambda: kill_session(front), "the session's end")
    for i in range(KILLS):
        front = command(f"trace{i}")
        # Somewhere between its start and when its probes are in.
        time.sleep(whole * i / KILLS)
        wait_for(lambda: kill_session(front), "the session's end")
    wait_for(lambda: not bpf_links() - before,
             "the kernel to drop what they had attached")
    kprobes = pathlib.Path("/sys/kernel/debug/kprobes/list")
    check(not kprobes.exists() or "vfs_read" not in kprobes.read_text(),
          "a kprobe stayed")


@probe_test
def a_killed_recorder_leaves_no_probe():
    front, objects = begin()
    for pid in (front.pid, *descendants(front.pid)):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    front.wait()
    check_gone(front, objects)


@probe_test
def the_end_of_the_command_leaves_no_probe():
    front, objects = begin()
    front.send_signal(signal.SIGINT)
    front.communicate(timeout=LIMIT_S / 2)
    check_gone(front, objects)


# ---- those of others ----

def probe_ends(folder, *program):
    """At a tracepoint, which all kernels have."""
    return subprocess.Popen(
        [SONDE, "probe", "--kernel", " task:task_rename; "
         "sched:sched_process_exit if p->pid > 0 collect p->pid", "-o",
         "trace", *program], cwd=folder, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=open(folder / "words", "w"))


def listed(front):
    """Rows of its probes, once they are in."""
    pids = (front.pid, *descendants(front.pid))
    if not any(kind == "link" for pid in pids if is_sonde(pid)
               for kind, _ in bpf_objects(pid)):
        return None
    done = run(SONDE, "probe", "--kernel", "--list", "--json")
    rows = json.loads(done.stdout)["probes"]
    return [row for row in rows if row["pid"] == front.pid]


@test
def probes_of_others_are_listed_and_ended():
    need_events()
    where = scratch() / "trace"
    front = probe_ends(where.parent)
    wait_for(lambda: "recording" in (where.parent / "words").read_text(),
             "the recording's begin")
    rows = wait_for(lambda: listed(front), "the probes")
    check_equal([row["name"] for row in rows],
                ["task_rename", "sched_process_exit"], rows)
    check_equal([row["trace"] for row in rows], [str(where)] * 2, rows)
    check("collect p->pid" in rows[1]["probe"], rows)
    text = run(SONDE, "probe", "--kernel", "--list").stdout
    check(re.search(rf"^ *sched_process_exit +{front.pid} ", text, re.M), text)
    # It runs, and is over, while both are in.
    check_equal(run("true").returncode, 0, "true")
    done = run(SONDE, "probe", "--kernel", "--stop", "sched_process_exit")
    check_equal((done.returncode, done.stdout), (0, f"{where}\n"), done.stderr)
    check_equal(front.wait(LIMIT_S), 0, "its exit status")
    check(KernelTrace(where).events("kgdb:sched_process_exit"), "no event")
    done = run(SONDE, "probe", "--kernel", "--stop", "sched_process_exit")
    check_equal(done.returncode, 1, done.stderr)
    check("no probe sched_process_exit" in done.stderr, done.stderr)


@test
def those_of_a_program_end_with_it():
    need_events()
    front = probe_ends(scratch(), "--", "sleep", "1000")
    wait_for(lambda: listed(front), "the probes")
    done = run(SONDE, "probe", "--kernel", "--stop", "task_rename")
    check_equal(done.returncode, 1, done.stderr)
    check("sleep" in done.stderr and str(front.pid) in done.stderr,
          done.stderr)
    check(front.poll() is None, "it was ended")
    front.send_signal(signal.SIGTERM)
    front.wait(LIMIT_S)


# ---- what is refused ----

def refused(*words):
    done = run(SONDE, "probe", "--kernel", *words, "-o", scratch() / "trace",
               "--", "true")
    check(done.returncode != 0, f"{words} was accepted")
    return done.stderr


def why_not(words, *expected):
    err = refused(*words)
    for text in expected:
        check(text in err, f"{text!r} is not in {err!r}")


@test
def unknown_functions_have_a_suggestion():
    need("bpf")
    why_not(["vfs_raed if count > 1"], "vfs_raed", "did you mean 'vfs_read'")


def reads_of_symbols(*probes):
    """How often the kernel's names are read until the last one isn't found."""
    log = scratch() / "calls"
    run("strace", "-f", "-e", "trace=openat", "-o", log, SONDE, "probe",
        "--kernel", "; ".join(probes), "-o", scratch() / "trace", "--", "true")
    return log.read_text().count("/proc/kallsyms")


@test
def names_are_looked_up_at_once():
    need("bpf")
    require("strace")
    one = reads_of_symbols("vfs_read", "vfs_nothing")
    check(one > 0, "nobody read them")
    check_equal(reads_of_symbols("vfs_write", "vfs_fsync", "vfs_read",
                                 "vfs_llseek", "vfs_nothing"), one, "reads")


@test
def variables_are_no_functions():
    need("bpf")
    # without KALLSYMS_ALL the kernel names no variables
    why_not(["jiffies"], "jiffies: ", " function")


@test
def names_that_are_not_there_are_told():
    need("bpf")
    why_not(["vfs_read if nobody > 1"], "nobody")
    why_not(["vfs_read if file->f_nothing"], "f_nothing", "no such member")
    why_not(["vfs_read", "--collect", "sizeof"], "sizeof")
    why_not(["vfs_read if count >"], "count >")
    why_not(["vfs_read+zz"], "offset")
    why_not(["vfs_read if return > 0"], "return")
    why_not(["vfs_read+4%return"], "as a whole")
    why_not(["vfs_read", "--collect", "$gs_base"], "register")


@test
def kernels_without_kprobes_say_so():
    need("bpf")
    if PMU.exists():
        raise Skip("this kernel has kprobes")
    why_not(["vfs_read if $rsp > 1"], "CONFIG_KPROBES")
    why_not(["vfs_read+4"], "CONFIG_KPROBES", "first byte")


@probe_test
def functions_that_probes_need_are_refused():
    blacklist = pathlib.Path("/sys/kernel/debug/kprobes/blacklist")
    try:
        name = blacklist.read_text().splitlines()[0].split("\t")[1]
    except (OSError, IndexError):
        name = "do_int3"
    err = refused(name)
    check("blacklist" in err or "several functions" in err or
          "functions of that name" in err or "no such function" in err, err)


@test
def functions_are_listed():
    done = run(SONDE, "probe", "--kernel", "--list", "vfs_rea*")
    check_equal(done.returncode, 0, done.stderr)
    check("vfs_read" in done.stdout.split(), done.stdout)
    done = run(SONDE, "probe", "--kernel", "--list", "no_such_*")
    check_equal(done.returncode, 1, done.stderr)


install()
main()
