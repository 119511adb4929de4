#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_kernel_stacks.py - sonde record -k EVENTS --stack: of kernel events the
call stacks, the kernel's part and the program's, by names, and what reports make
of them. The kernel's own word for where a thread is blocked, /proc/PID/stack, is
the witness of its part."""

import json
import os
import pathlib
import platform
import re
import shutil
import signal
import subprocess

from sonde import SONDE, Skip, check, install, run, scratch
from attached import Told
from harness import check_equal, main, test
from home import Home
from kernel import (LIMIT_S, KernelTrace, Running, comm, descendants, each_source,
                    kernel_test, need, program, record_kernel, wait_for)
from kills import state_of

SWITCH = "sched:sched_switch"
STACK = re.compile(r"\{ stack = (\d+), pid = (\d+) \}")


def need_unwinding():
    if platform.machine() != "x86_64":
        raise Skip("programs' stacks are unwound on x86-64 alone")


def each_of(*sources):
    """A test for each of them."""
    def define(function):
        for source in sources:
            def run(source=source):
                need(source)
                function(source)
            run.__name__ = f"{function.__name__}_{source}"
            run.time_limit_s = LIMIT_S
            test(run)
        return function
    return define


# Of the program, our module's stacks have one frame.
each_with_stacks = each_of("bpf", "tracefs")


def caller_of_naps(source):
    return r"(^|;)\(incomplete\);" if source == "modules" else "main;"


def recorded(*command, k=SWITCH, options=(), source="bpf"):
    need(source)
    return record_kernel(*command, k=k, source=source,
                         options=["--stack", *options])


def blocker(times, k=SWITCH, options=(), source="bpf"):
    return recorded(program("blocker"), str(times), k=k, options=options,
                    source=source)


def printed(trace, *options):
    """What `sonde print` shows of events, and below each its stack."""
    done = run(SONDE, "print", *options, trace)
    check_equal(done.returncode, 0, done.stderr)
    shown = []
    for line in done.stdout.splitlines():
        if line.startswith(" ") and shown:
            shown[-1][1].append(re.match(r" *(\w*)", line)[1])
        else:
            shown.append((line, []))
    return shown


def folded(trace, what, *options):
    done = run(SONDE, "flame", f"--stacks={what}", "--folded", *options, trace)
    check_equal(done.returncode, 0, done.stderr)
    rows = (line.rpartition(" ") for line in done.stdout.splitlines())
    return {stack: int(weight) for stack, _, weight in rows}


def offcpu(trace, *options):
    done = run(SONDE, "report", "offcpu", "--json", "--limit", "10000",
               *options, trace)
    check_equal(done.returncode, 0, done.stderr)
    return json.loads(done.stdout)


def numbers_of(event):
    found = STACK.search(event.rest)
    check(found, f"no stack: {event}")
    return int(found[1]), int(found[2])


def check_lost_stacks(trace, events):
    """Those without a stack are counted."""
    without = sum(not numbers_of(e)[0] for e in events)
    lost = [e["nr"] for e in trace.events("sonde:stacks_lost")]
    check_equal(max(lost, default=0), without, "events without a stack")


def under(rows, pattern):
    return sum(w for stack, w in rows.items() if re.search(pattern, stack))


@each_with_stacks
def a_switch_has_the_stack_that_the_thread_blocked_with(source):
    done = blocker(20, source=source)
    rows = folded(done.dir, "events")
    # On a machine that stops now and then, some sleeps are over before they begin.
    for path in ("main;naps;", "main;sleeps;naps;"):
        check(under(rows, rf"(^|;){path}.*nanosleep.*;schedule;__schedule$")
              >= 10, f"{path}: {list(rows)[:20]}")
    # What comes below is the tracer.
    check(all(row.endswith("__schedule") for row in rows),
          f"other code switches: {list(rows)[:20]}")


@each_source
def every_stack_is_told_and_of_its_process(source):
    trace = blocker(20, source=source).trace()
    told = {e["number"] for e in trace.events("sonde:stack")}
    switches = trace.events("sched_switch")
    check(len(switches) >= 40, f"{len(switches)} switches")
    check_lost_stacks(trace, switches)
    for event in switches:
        number, pid = numbers_of(event)
        check(number in told | {0}, f"stack {number} is told nowhere")
        check(event.tid == 0 or pid or not number, f"no process: {event}")
    # One thread is all of its process.
    blocked = [e for e in switches if e["prev_comm"] == "kernel_blocker"]
    check(blocked and all(numbers_of(e)[1] == e["prev_tid"] for e in blocked),
          str(blocked[:3]))
    check_equal(trace.lost, 0, "lost")


@each_with_stacks
def the_kernels_part_is_what_it_says_itself(source):
    if os.geteuid():
        raise Skip("who isn't root sees no other one's stack in the kernel")
    running = Running(program("blocker"), "1", "wait", k=SWITCH,
                      source=source,
                      options=["--stack"], stdin=subprocess.PIPE)

    def blocked():
        for pid in descendants(running.front.pid):
            if comm(pid).startswith("kernel_blocker"):
                text = pathlib.Path(f"/proc/{pid}/stack").read_text()
                if "_read" in text:
                    return text
        return None
    text = wait_for(blocked, "a thread that reads")
    running.front.stdin.close()
    running.front.stdin = None
    status, _, err = running.end()
    check_equal(status, 0, err)
    theirs = re.findall(r"\] (\w[\w.]*)", text)
    check(len(theirs) > 2, text)
    wanted = ";".join(reversed(theirs))
    rows = folded(running.dir, "events")
    check(any(f"main;reads;{wanted}" in row for row in rows),
          f"{wanted}: {[r for r in rows if 'reads' in r]}")


@each_with_stacks
def a_system_call_has_the_programs_part(source):
    done = blocker(5, k="syscalls:nanosleep", source=source)
    rows = folded(done.dir, "events")
    check_equal(sum(rows.values()), 20, str(rows))
    check_equal(under(rows, "main;naps$"), 10, str(rows))
    check_equal(under(rows, "main;sleeps;naps$"), 10, str(rows))


def need_kprobes():
    need("bpf")
    if not pathlib.Path("/sys/bus/event_source/devices/kprobe").exists():
        raise Skip("the kernel has no kprobes (CONFIG_KPROBES)")


NAPS = "kprobe:hrtimer_nanosleep"


@kernel_test
def a_probe_at_a_function_has_both_parts_and_its_arguments():
    need_kprobes()
    done = blocker(5, k=NAPS)
    naps = done.trace().events("kprobe_hrtimer_nanosleep")
    check_equal(sorted(e["rqtp"] for e in naps), [10**6] * 5 + [2 * 10**6] * 5,
                "how long it sleeps")
    check(all(numbers_of(e)[1] == e.tid for e in naps), str(naps[:3]))
    rows = folded(done.dir, "events")
    # The first frame is the function itself: what comes below is the tracer.
    for path in ("main;naps;", "main;sleeps;naps;"):
        check_equal(under(rows, rf"(^|;){path}.*;hrtimer_nanosleep$"), 5,
                    f"{path}: {rows}")
    check_equal(sum(rows.values()), 10, str(rows))


@kernel_test
def a_probes_condition_is_about_its_arguments():
    need_kprobes()
    done = blocker(5, k=[f"{NAPS} if rqtp > 1500000", "sched:sched_switch if "
                         'prev_comm == "kernel_blocker"'])
    trace = done.trace()
    naps = trace.events("kprobe_hrtimer_nanosleep")
    check_equal([e["rqtp"] for e in naps], [2 * 10**6] * 5, "sleeps")
    told = [e["number"] for e in trace.events("sonde:stack")]
    used = {numbers_of(e)[0]
            for e in naps + trace.events("sched_switch")}
    check_equal(set(told), used, "stacks")
    said = run(SONDE, "record", "-k", f"{NAPS} if nothing > 1", "--stack", "-o",
               scratch() / "other", "--", "true")
    check(said.returncode and "'nothing'" in said.stderr, said.stderr)


@kernel_test
def a_probe_within_a_function_has_stacks():
    need_kprobes()
    # Which bytes begin an instruction, only that one says for sure.
    done = blocker(5, k=f"{NAPS}+0x0")
    naps = done.trace().events("kprobe_hrtimer_nanosleep_0x0")
    check_equal(len(naps), 10, "hits")
    check(all(not e.fields or "rqtp" not in e.fields for e in naps),
          str(naps[:2]))
    rows = folded(done.dir, "events")
    check_equal(under(rows, r"main;sleeps;naps;.*;hrtimer_nanosleep$"), 5,
                str(rows))


@kernel_test
def texts_come_with_stacks():
    done = recorded("cat", "/etc/hostname",
                    k=["syscalls:openat", "sched:sched_process_exec"])
    trace = done.trace()
    check(any(e["filename"] == "/etc/hostname" for e in
              trace.events("syscall_entry_openat")), "no path of a call")
    for event in trace.events("syscall_.*|sched_process_exec"):
        numbers_of(event)


@each_with_stacks
def a_condition_holds_with_stacks(source):
    done = blocker(10, k="sched:sched_switch if prev_comm == "
                   "\"kernel_blocker\" && prev_state != 0", source=source)
    switches = done.trace().events("sched_switch")
    check_equal({e["prev_comm"] for e in switches}, {"kernel_blocker"},
                "threads")
    rows = folded(done.dir, "events")
    check_equal(sum(rows.values()), len(switches), "stacks")
    # Real numbers no program tests: it is the recorder that does.
    done = blocker(10, k="sched:sched_switch if prev_tid > 0.5 && "
                   "prev_comm == \"kernel_blocker\"", source=source)
    check_equal({e["prev_comm"] for e in
                 done.trace().events("sched_switch")}, {"kernel_blocker"},
                "threads, by the recorder")
    check(under(folded(done.dir, "events"), "main;naps;") >= 10, "stacks")


@each_with_stacks
def what_is_executed_later_is_named(source):
    path = program("blocker")
    done = recorded("sh", "-c", f"{path} 3; {path} 3", source=source)
    pids = {numbers_of(e)[1] for e in done.trace().events("sched_switch")
            if e["prev_comm"] == "kernel_blocker"}
    check(len(pids) >= 2, f"processes {pids}")
    check(under(folded(done.dir, "events"), "main;naps;") >= 6, "names")


@each_with_stacks
def of_all_the_machine(source):
    other = subprocess.Popen([program("blocker"), "100000"])
    try:
        done = blocker(20, options=["-a"], source=source)
    finally:
        other.kill()
        other.wait()
    rows = folded(done.dir, "events", "-f", f"prev_tid == {other.pid}")
    check(under(rows, "main;naps;"), f"of who ran before: {list(rows)[:10]}")


class Woken:
    """A `cat` that is recorded; what writes to `pipe` isn't."""

    def __init__(self):
        need("bpf")
        need_unwinding()
        theirs, self.pipe = os.pipe()
        self.running = Running("cat", k=f"{SWITCH},sched_waking",
                               options=["--stack"], stdin=theirs)
        os.close(theirs)

    def writer(self, **more):
        """Writes a line, and another one when it was told to. `cat` waits for it:
        a line that is there before it does wakes nobody."""
        wait_for(lambda: state_of(self.cat()) == "S", "cat to wait for a line")
        return subprocess.Popen([program("blocker"), "told"],
                                stdout=self.pipe, **more)

    def cat(self):
        return next((p for p in descendants(self.running.front.pid)
                     if comm(p) == "cat"), 0)

    def takes(self):
        check_equal(self.running.front.stdout.readline(), "1\n", "cat")

    def ends(self, writer):
        """What is known of it: its mappings, and names of who ended waits."""
        os.close(self.pipe)
        _, _, err = self.running.end()
        looks = [e["nr"] for e in self.running.trace(err).events("sonde:looked")
                 if e["pid"] == writer.pid]
        return looks, folded(self.running.dir, "wakers")


@kernel_test
def who_woke_it_from_outside_has_names():
    woken = Woken()
    with woken.writer(stdin=subprocess.PIPE) as writer:
        for _ in range(20):
            woken.takes()
            writer.stdin.write(b"naps\n")
            writer.stdin.flush()
        os.kill(woken.cat(), signal.SIGTERM)
        woken.running.front.wait()  # only then may the other one end
    looks, wakers = woken.ends(writer)
    check(looks and all(looks), f"mappings of who wrote: {looks}")
    check(under(wakers, "main;.*write;.*try_to_wake_up") >= 10 * 1000000,
          f"{list(wakers)[:20]}")


@kernel_test
def who_woke_it_and_ended_is_called_so():
    woken = Woken()
    with woken.writer(stdin=subprocess.DEVNULL):
        woken.takes()
    recorder = woken.running.recorder()
    os.kill(recorder, signal.SIGSTOP)  # it can't look before that has ended
    try:
        with woken.writer(stdin=subprocess.DEVNULL) as writer:
            woken.takes()
    finally:
        os.kill(recorder, signal.SIGCONT)
    looks, wakers = woken.ends(writer)
    check_equal(set(looks), {0}, "what was found of it")
    check(under(wakers, "ended before its mappings were read"),
          f"{list(wakers)[:20]}")


@each_with_stacks
def depth_is_the_programs_and_a_stack_says_that_it_is_deeper(source):
    done = blocker(10, options=["--stack=1"], source=source)
    rows = folded(done.dir, "events")
    check(under(rows, r"^\(deeper\);naps;.*;schedule;__schedule$") >= 10,
          str(list(rows)[:10]))
    check(not under(rows, "main;"), "deeper than was asked for")


@each_with_stacks
def blocked_time_by_stack_is_that_of_threads(source):
    done = blocker(20, k=f"{SWITCH},sched_waking,sched_wakeup", source=source)
    report = offcpu(done.dir, "--by", "stack")
    roots = [row for row in report["stacks"] if row["depth"] == 0]
    blocked = sum(row["blocked_time_ns"] for row in
                  offcpu(done.dir)["threads"])
    rows = folded(done.dir, "offcpu")
    check_equal(sum(rows.values()), blocked, "flame and threads")
    check(roots and sum(row["blocked_time_ns"] for row in roots) <= blocked,
          str(roots[:3]))
    naps = under(rows, "main;naps;")
    sleeps = under(rows, "main;sleeps;naps;")
    check(naps >= 20 * 1000000, f"naps took {naps}")
    check(sleeps >= 20 * 2000000, f"sleeps took {sleeps}")
    check(any("naps" in row["code"] for row in report["stacks"]),
          str(report["stacks"])[:500])


def handed(times, k=f"{SWITCH},sched_waking", source="bpf"):
    return recorded(program("blocker"), "handed", str(times), k=k,
                    source=source)


@each_with_stacks
def blocked_time_by_who_woke_it_is_that_of_the_waits(source):
    done = handed(20, source=source)
    waits = folded(done.dir, "offcpu")
    wakers = folded(done.dir, "wakers")
    taken = under(waits, r"main;(hands;)?takes;")
    check(taken >= 20 * 1000000, f"{taken} ns: {list(waits)[:10]}")
    # It keeps no frame pointer, and who called it is found without one alone.
    caller = "main;(hands;)?" if source == "bpf" else r"\(incomplete\);"
    given = under(wakers, rf"{caller}gives;.*try_to_wake_up")
    # A wait can be over before it begins, or have another end.
    check(0.8 * taken <= given <= 1.2 * taken,
          f"{given} ns of {taken}: {list(wakers)[:10]}")
    report = offcpu(done.dir, "--by", "stack")
    roots = [row for row in report["wakers"] if row["depth"] == 0]
    check(any("gives" in row["code"] for row in report["wakers"]),
          str(report["wakers"])[:500])
    ended = sum(row["blocked_time_ns"] for row in
                offcpu(done.dir)["causes"])
    check_equal(sum(wakers.values()), ended, "waits that are over")
    check(sum(row["blocked_time_ns"] for row in roots) <= ended, str(roots))
    check(not under(wakers, "takes"), "those that waited woke")


# ---- programs without frame pointers ----

def waits_in(pid, path, call):
    """The process runs that program, and its first thread is in that system call."""
    try:
        return os.readlink(f"/proc/{pid}/exe") == os.path.realpath(path) and \
            pathlib.Path(f"/proc/{pid}/syscall").read_text().split()[0] == call
    except (OSError, IndexError):
        return False


def frames_by_gdb(pid):
    """Where each frame of the first thread is, the innermost first."""
    walk = ("python\nf = gdb.newest_frame()\nwhile f:\n"
            " print('frame', hex(f.pc()))\n f = f.older()\nend\n")
    script = scratch() / "walk.gdb"
    script.write_text("set backtrace past-main on\nset backtrace past-entry on\n"
                      + walk)
    done = run("gdb", "-nx", "-batch", "-p", pid, "-x", script)
    found = [int(at, 16) for at in re.findall(r"^frame 0x(\w+)", done.stdout,
                                              re.M)]
    check(found, f"gdb: {done.stdout[-500:]}{done.stderr[-500:]}")
    return found


def program_frames(event):
    """Of a sonde:stack as babeltrace2 shows it, the program's addresses."""
    found = re.findall(r"\[\d+\] = 0x(\w+)", event.rest)
    return [int(at, 16) & ~(1 << 63) for at in found
            if not int(at, 16) >> 62 & 1]


def waits_where(path, words, call, source="bpf"):
    """Where its first thread is when it waits in that system call, as gdb says and
    as each of its switches does."""
    if not os.path.exists(path) or not shutil.which("gdb"):
        raise Skip(f"no {path}, or no gdb")
    need(source)
    running = Running(path, *words, k=SWITCH, source=source,
                      options=["--stack=64"], stdin=subprocess.PIPE)

    def blocked():
        return next((pid for pid in descendants(running.front.pid)
                     if waits_in(pid, path, call)), None)
    pid = wait_for(blocked, f"{path} in system call {call}")
    theirs = frames_by_gdb(pid)
    os.kill(pid, signal.SIGTERM)
    running.front.stdin.close()
    running.front.stdin = None
    running.end()
    trace = running.trace()
    told = {e["number"]: program_frames(e) for e in trace.events("sonde:stack")}
    ours = [told[numbers_of(e)[0]] for e in trace.events("sched_switch")
            if e["prev_tid"] == pid and numbers_of(e)[0]]
    check(len(theirs) > 4, f"gdb has few frames: {theirs}")
    return theirs, ours


def check_waits_where_gdb_says(path, words, call):
    theirs, ours = waits_where(path, words, call)
    check(theirs in ours, f"{path}: {[hex(at) for at in theirs]} is none of "
          f"{[[hex(at) for at in s] for s in ours[-3:]]}")


@kernel_test
def python_waits_where_gdb_says():
    need_unwinding()
    check_waits_where_gdb_says(
        "/usr/bin/python3", ["-c", "import sys; list(map(sys.stdin.read, [1]))"],
        "0")


@kernel_test
def redis_waits_where_gdb_says():
    need_unwinding()
    check_waits_where_gdb_says(
        "/usr/bin/redis-server",
        ["--port", "0", "--save", "", "--unixsocket", scratch() / "socket"],
        "232")


@kernel_test
def by_frame_pointers_a_stack_is_right_as_far_as_it_goes():
    need_unwinding()
    for path, words, least in (
            ("/usr/bin/python3",
             ["-c", "import sys; list(map(sys.stdin.read, [1]))"], 1),
            (program("blocker"), ["1", "wait"], 3)):
        theirs, ours = waits_where(path, words, "0", "tracefs")
        ours = [s for s in ours if s and s[0] == theirs[0]]
        check(all(s == theirs[:len(s)] for s in ours) and
              any(least <= len(s) for s in ours),
              f"{path}: {[[hex(at) for at in s] for s in ours]} don't begin "
              f"{[hex(at) for at in theirs]}")


@kernel_test
def both_sources_say_the_same():
    def ways(source):
        rows = folded(blocker(20, source=source).dir, "events")
        found = (re.search(r"main;(sleeps;)?naps;.*", row) for row in rows)
        return {m[0] for m in found if m and "nanosleep" in m[0]}
    by_bpf, by_tracefs = ways("bpf"), ways("tracefs")
    check(len(by_bpf) > 1, str(by_bpf))
    check_equal(by_tracefs, by_bpf, "ways to where it sleeps")


@each_of("modules")
def there_is_the_kernels_part_and_where_the_program_was(_):
    def ways(source):
        rows = folded(blocker(20, source=source).dir, "events")
        found = (re.search(r";naps;(.*nanosleep.*)", row) for row in rows)
        return {m[1] for m in found if m}
    by_module = ways("modules")
    check(by_module, "no way to where it sleeps")
    check_equal(by_module, ways("bpf"), "ways to where it sleeps")
    calls = folded(blocker(5, k="syscalls:nanosleep", source="modules").dir,
                   "events")
    check_equal(calls, {"(incomplete);naps": 20}, "of calls, the program's part")
    texts = recorded("cat", "/etc/hostname", source="modules",
                     k=["syscalls:openat,sched_process_exec",
                        "sched_waking if prio > 1"]).trace()
    paths = [e["filename"] for e in texts.events("syscall_entry_openat")]
    check("/etc/hostname" in paths, f"no path of a call: {paths}")
    for event in texts.events("syscall_.*|sched_.*"):
        check(numbers_of(event)[0], f"no stack: {event}")


@kernel_test
def events_come_before_stacks():
    need_unwinding()
    done = blocker(300, options=["--kernel-memory", "64K", "--read-timer", "1s"])
    found = re.search(r"(\d+) call stacks of kernel events have one frame", done.err)
    check(found, f"all had room: {done.err}")
    trace = done.trace()
    one = {e["number"] for e in trace.events("sonde:stack")
           if len(program_frames(e)) == 1 and '"whole"' not in e.rest}
    events = [e for e in trace.events("sched_switch") if numbers_of(e)[0] in one]
    check(len(events) >= int(found[1]), f"{len(events)}, not {found[0]}")


@each_with_stacks
def lines_show_stacks(source):
    shown = printed(blocker(3, source=source).dir, "-f", 'prev_comm == "kernel_blocker"')
    check(any(["naps", "main"] == [f for f in stack if f in ("naps", "main")]
              and stack[0] == "__schedule" for _, stack in shown),
          str(shown[:3]))


@each_with_stacks
def samples_share_the_stacks(source):
    done = blocker(20, options=["--sample"], source=source)
    trace = done.trace()
    told = [e["number"] for e in trace.events("sonde:stack")]
    check_equal(len(told), len(set(told)), "a number of two stacks")
    used = {numbers_of(e)[0] for e in trace.events("sched_switch")}
    check(used <= set(told) | {0}, "stacks that nothing tells")


@each_source
def what_is_lost_is_counted(source):
    done = blocker(300, k="sched,syscalls",
                   source=source, options=["--kernel-memory", "64K", "--read-timer", "1s"])
    trace = done.trace()
    lost = int(re.search(r"([\d,]+) lost", done.err)[1].replace(",", ""))
    check(lost, f"nothing was lost: {done.err}")
    check_equal(trace.lost, lost, "lost, as babeltrace2 says")
    kept = len(trace.events("sched_switch")) + \
        len(trace.events("syscall_.*_nanosleep"))
    check(kept + lost >= 3 * 600, f"{kept} and {lost}: events are missing")


@test
def what_has_none_is_refused():
    need("bpf")

    def refused(k, *options, status=1):
        done = run(SONDE, "record", "-k", k, "--stack", "-o",
                   scratch() / "trace", *options)
        check_equal(done.returncode, status, done.stderr)
        return done.stderr
    if not os.path.exists("/dev/sonde"):
        said = refused(SWITCH, "--kernel-source", "modules", "--", "true")
        check("no kernel events: --stack" in said and "modules load" in said,
              said)
    for probe in "uprobe:/bin/sh:main", "kretprobe:vfs_read":
        said = refused(probe, "--", "true")
        check("no kernel events: --stack" in said and "kprobe: does" in said,
              said)
    said = refused("kprobe:vfs_read+x", "--", "true", status=2)
    check("+BYTES" in said, said)


ONLY = f"{SWITCH} if prev_comm == \"kernel_blocker\" && prev_state != 0"


def ways(source="bpf"):
    need(source)
    return Told(program("blocker"), "told")


def start(home, *options, k=ONLY, source="bpf"):
    return home.start("night", "-a", "-k", k, "--kernel-source", source,
                      "--stack", *options)


def snapshot(home):
    directory = scratch() / "snapshot"
    home.ok("snapshot", "night", "-o", directory)
    return directory


def check_ways(directory, *expected, source="bpf"):
    """What a trace by itself says: of which functions there are stacks, and that
    none is missing that an event has, and none is there that no event has."""
    if source == "modules":
        expected = ["naps"] * len(expected)
    moved = scratch() / "trace"
    shutil.copytree(directory, moved)
    trace = KernelTrace(moved)
    told = [e["number"] for e in trace.events("sonde:stack")]
    used = {numbers_of(e)[0] for e in trace.events("sched_switch")}
    check_equal(sorted(told), sorted(used), f"stacks in {directory}")
    shown = printed(moved, "-f", 'prev_comm == "kernel_blocker"')
    found = ["sleeps" if "sleeps" in stack else "naps"
             for _, stack in shown if "naps" in stack]
    check_equal(found, [*expected], str(directory))
    sound = run(SONDE, "check", moved)
    check_equal(sound.returncode, 0, sound.stdout)


@kernel_test
def a_chunk_has_the_stacks_of_its_events():
    p = ways()
    with Home() as home:
        directory = start(home, "--rotate", "hand")
        for each in ["naps", "sleeps"], ["naps"], [], ["sleeps", "naps"], ["sleeps"]:
            for way in each:
                p.do(way)
            home.ok("rotate", "night")
        home.ok("stop", "night")
        check_ways(directory / "chunk-000001", "naps", "sleeps")
        check_ways(directory / "chunk-000002", "naps")
        check_ways(directory / "chunk-000003")
        check_ways(directory / "chunk-000004", "sleeps", "naps")
        check_ways(directory / "chunk-000005", "sleeps")
        # One trace of all: numbers are each chunk's own.
        check(len(folded(directory, "events", "-f",
                         'prev_comm == "kernel_blocker"')) >= 2, "of all chunks")
    p.end()


@kernel_test
def chunks_that_end_by_themselves_have_theirs():
    p = ways()
    with Home() as home:
        directory = start(home, "--rotate", "64k", "--kernel-memory", "1M",
                          k="sched,syscalls")
        for _ in range(1200):
            p.do("naps")
        home.ok("stop", "night")
        chunks = [KernelTrace(d) for d in sorted(directory.iterdir())
                  if d.name.startswith("chunk-")]
        check(len(chunks) > 2, f"{len(chunks)} chunks")
        for trace in chunks:
            numbers = [e["number"] for e in trace.events("sonde:stack")]
            check_equal(len(numbers), len(set(numbers)), "told twice")
            used = {numbers_of(e)[0] for e in trace.events("sched_.*")}
            check(used <= set(numbers) | {0},
                  f"{used - set(numbers)} are not told in {trace.dir}")
    p.end()


@each_source
def a_snapshot_has_the_stacks_of_its_events(source):
    p = ways(source)
    with Home() as home:
        directory = start(home, "--mode", "overwrite", source=source)
        expected = []
        for way in "naps", "sleeps", "naps":
            p.do(way)
            expected.append(way)
            check_ways(snapshot(home), *expected, source=source)
        p.do("sleeps")
        home.ok("stop", "night")
        check_ways(directory, *expected, "sleeps", source=source)
    p.end()


@each_source
def a_flight_recorder_has_stacks_at_its_end(source):
    path = program("blocker")
    done = recorded("sh", "-c", f"{path} 3; {path} 3", source=source,
                    options=["--mode", "overwrite"])
    trace = done.trace()
    told = {e["number"] for e in trace.events("sonde:stack")}
    check({numbers_of(e)[0] for e in trace.events("sched_switch")} <= told |
          {0}, "stacks that nothing tells")
    # Of processes that have ended, by what the kernel said of them.
    path = caller_of_naps(source) + "naps;"
    check(under(folded(done.dir, "events"), path) >= 6, "names")


@each_source
def what_ends_before_a_snapshot_is_named(source):
    need(source)
    with Home() as home:
        start(home, "--mode", "overwrite", k=SWITCH, source=source)
        for _ in range(3):
            subprocess.run([program("blocker"), "5"], check=True)
            rows = folded(snapshot(home), "events", "-f",
                          'prev_comm == "kernel_blocker"')
            check(under(rows, caller_of_naps(source) + "naps;") >= 3,
                  str(list(rows)[:5]))
        home.ok("destroy", "night")


install()
main()
