#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_kernel_scope.py - whose activity is recorded: the program's and its
descendants', or everybody's; Sonde's own only if it is asked for."""

import json
import os
import re
import signal
import subprocess

from sonde import SONDE, check, install, run, scratch
from harness import check_equal, main
from kernel import (WHY_NOT, Running, each_source, gone, kernel_test, program,
                    record_kernel, wait_for)

# Many calls and switches, but not more than a slow machine can read.
STRANGER = """
import os, time
print(flush=True)
while True:
    os.getppid()
    time.sleep(0.0005)
"""


class Stranger:
    """A program that nobody records, making system calls without end."""

    def __enter__(self):
        self.process = subprocess.Popen(["python3", "-c", STRANGER],
                                        stdout=subprocess.PIPE)
        self.process.stdout.readline()
        return self.process.pid

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def callers(trace):
    return {e.tid for e in trace.events(r"syscall_(entry|exit)_\w+")}


@each_source
def others_are_left_out(source):
    with Stranger() as stranger:
        done = record_kernel(program("calls"), "20", k="syscalls,sched",
                             source=source)
    trace = done.trace()
    check(stranger not in callers(trace), "the other program's calls")
    ours = {e.tid for e in trace.of_program()}
    check_equal(callers(trace) - ours, set(), "threads of others")


@each_source
def switches_tell_of_the_programs_threads_only(source):
    with Stranger():
        done = record_kernel(program("pingpong"), "200", "10",
                             k="sched_switch", source=source)
    first, second = map(int, done.out.split()[:2])
    trace = done.trace()
    for event in trace.events("sched_switch"):
        check({event["prev_tid"], event["next_tid"]} & {first, second},
              f"between strangers: {event!r}")


@each_source
def threads_and_children_and_their_programs_are_followed(source):
    done = record_kernel("sh", "-c", f"{program('calls')} 1; "
                         f"(setsid {program('calls')} 1 leaf)",
                         k="syscalls:getppid", source=source)
    made = int(done.out.split()[1]) + 100
    # The shell asks once itself, when it starts.
    seen = len(done.trace().events("syscall_entry_getppid"))
    check(made <= seen <= made + 3, f"{seen} of {made} calls")


@each_source
def all_of_the_machine_has_others_too(source):
    with Stranger() as stranger:
        done = record_kernel(program("calls"), "50", k="syscalls:getppid",
                             source=source, options=["-a"])
    trace = done.trace()
    check(stranger in callers(trace), "the other program's calls are missing")
    made = int(done.out.split()[1])
    mine = [e for e in trace.events("syscall_entry_getppid")
            if e.tid != stranger]
    check(len(mine) + trace.lost >= made, f"{len(mine)} of {made} calls")


@each_source
def all_of_the_machine_shows_every_cpu(source):
    done = record_kernel("sh", "-c", "for cpu in $(seq 0 7); do taskset -c "
                         "$cpu true; done 2>/dev/null; true",
                         k="sched_switch", source=source, options=["-a"])
    seen = {e.cpu for e in done.trace().events("sched_switch")}
    wanted = {c for c in os.sched_getaffinity(0) if c < 8}
    check(wanted <= seen, f"CPUs {sorted(seen)} of {sorted(wanted)}")


def reported(trace, name, *options):
    """The threads of whom a report says something, and its notes."""
    got = run(SONDE, "report", name, "--json", "--limit", "1000", *options,
              trace)
    check_equal(got.returncode, 0, got.stderr)
    got = json.loads(got.stdout)
    return {row["tid"] for row in got["threads"]}, got["notes"]


@each_source
def reports_of_a_program_speak_of_its_threads_alone(source):
    """By switches alone: forks tell whose they are."""
    with Stranger():
        done = record_kernel("sh", "-c", f"echo $$; {program('pingpong')} "
                             f"200 10; {program('calls')} 50 >&2",
                             k="sched_switch,sched_waking", source=source)
    trace = done.trace()
    shell, first, second = map(int, done.out.split()[:3])
    ours = {shell, first, second}
    for event in trace.events("sched_process_fork"):
        ours |= {event["parent_tid"], event["child_tid"]}
    for name in ("cputop", "activity", "offcpu"):
        tids, notes = reported(trace.dir, name)
        check({shell, first, second} <= tids <= ours,
              f"{name}: {tids}, of {ours}")
        check(any("other programs" in note for note in notes),
              f"{name}: {notes}")


def missing_switches(done):
    """In how many places: what the recorder says, and what `check` counts."""
    said = re.search(r"switches of threads are missing in (\d+) places",
                     done.err)
    report = run(SONDE, "check", "--json", done.trace().dir)
    rules = {row["rule"]: row["count"]
             for row in json.loads(report.stdout)["rules"]}
    return int(said[1]) if said else 0, rules["switches"]


@each_source
def switches_that_the_kernel_left_out_are_counted(source):
    """Kernels differ in that; who counts doesn't."""
    done = record_kernel(program("pingpong"), "500", "30", k="sched_switch",
                         source=source, options=["-a"])
    recorder, checked = missing_switches(done)
    if not done.trace().lost:
        check_equal(recorder, checked, "places")


@each_source
def nothing_is_missing_where_others_switches_were_not_asked_for(source):
    done = record_kernel(program("pingpong"), "500", "30", k="sched_switch",
                         source=source)
    check_equal(missing_switches(done), (0, 0), "a tree")
    done = record_kernel(program("pingpong"), "500", "30",
                         k="sched_switch if prev_tid != 0", source=source,
                         options=["-a"])
    check_equal(missing_switches(done), (0, 0), "a condition")


def own_calls(trace, sondes):
    """Their system calls and faults; what interrupts them is not their own."""
    return [e for e in trace.events("syscall_.*|exceptions?_.*|page_fault_.*")
            if e.tid in sondes]


def record_self(source, *options, k="syscalls,faults"):
    """A recording of all, with the thread ids of both of Sonde's processes."""
    mark = scratch() / "mark"
    running = Running("sh", "-c", f"{program('calls')} 30 >/dev/null; "
                      f"{program('ticker')} 1 {mark}; "
                      f"while [ -e {mark} ]; do sleep 0.01; done",
                      k=k, source=source, options=["-a", *options])
    wait_for(mark.exists, "the program")
    sondes = set()
    for pid in running.sondes():
        sondes |= {int(t) for t in os.listdir(f"/proc/{pid}/task")}
    mark.unlink()
    _, _, err = running.end()
    check_equal(len(sondes) >= 2, True, f"processes of sonde: {sondes}")
    return running.trace(err), sondes


@each_source
def its_own_activity_is_left_out(source):
    trace, sondes = record_self(source)
    own = own_calls(trace, sondes)
    check_equal(own[:3], [], f"{len(own)} events of sonde's own")


@each_source
def its_own_activity_is_there_if_wanted(source):
    trace, sondes = record_self(source, "--self")
    check(len(own_calls(trace, sondes)) > 10, "none of sonde's own calls")


@each_source
def reports_of_the_machine_leave_the_recorder_out(source):
    trace, sondes = record_self(source, k="sched_switch")
    ran = {event[side] for event in trace.events("sched_switch")
           for side in ("prev_tid", "next_tid")} & sondes
    check(ran, "the recorder never ran")
    for name in ("cputop", "activity", "offcpu"):
        tids, notes = reported(trace.dir, name)
        check_equal(tids & sondes, set(), f"{name}: {notes}")
        check(any("--self" in note for note in notes), f"{name}: {notes}")
        check_equal(reported(trace.dir, name, "--self")[0] & sondes, ran,
                    f"{name} --self")


@each_source
def without_a_program_control_c_ends_the_recording(source):
    running = Running(k="sched_switch,syscalls:getppid", source=source,
                      options=["-a"])
    with Stranger() as stranger:
        running.wait_until_recording()

        def is_there():
            done = run(SONDE, "print", "--limit", "1", "-f", f'''
                       event == "*_getppid" && $ctx.tid == {stranger}''',
                       running.dir)
            return "getppid" in done.stdout
        wait_for(is_there, "an event of the other program")
        os.killpg(running.front.pid, signal.SIGINT)
        status, _, err = running.end()
    check(status in (0, 128 + signal.SIGINT), f"status {status}: {err}")
    trace = running.trace(err)
    check(stranger in callers(trace), "the other program is missing")
    check("events recorded" in err, err)
    wait_for(lambda: gone(running.front.pid), "the end of all")


@each_source
def control_c_ends_program_and_recording(source):
    mark = scratch() / "mark"
    running = Running(program("ticker"), "0", mark, k="syscalls:getppid",
                      source=source, options=["--kernel-memory", "1M"])
    wait_for(mark.exists, "the program")
    os.killpg(running.front.pid, signal.SIGINT)
    status, _, err = running.end()
    check_equal(status, 128 + signal.SIGINT, err)
    trace = running.trace(err)
    check(trace.events("syscall_entry_getppid")[:1], "no events")
    check(trace.events("ticker:tick")[:1], "no events of its own")


@kernel_test
def the_status_of_the_program_is_ours():
    record_kernel(program("ticker"), "1", k="sched", status=7)
    record_kernel("sh", "-c", "kill -SEGV $$", k="sched",
                  status=128 + signal.SIGSEGV)


@kernel_test
def the_sources_are_named_in_the_trace():
    for source in ("tracefs", "bpf"):
        if WHY_NOT[source]():
            continue
        done = record_kernel("true", k="sched_switch", source=source)
        text = (done.dir / "kernel/metadata").read_text(errors="replace")
        env = text.partition("env {")[2].partition("};")[0]
        check(f'"{source}"' in env, f"the environment is {env}")
        check('domain = "kernel"' in env, env)


install()
main()
