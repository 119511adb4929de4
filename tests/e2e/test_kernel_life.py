#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_kernel_life.py - how recordings of kernel events begin and end: without
privileges, with wrong words, killed at any instant, on a full disk; and that
nothing of them stays in the kernel.

SONDE_HOTPLUG=1 also takes a CPU away and gives it back: in a machine of one's
own only."""

import os
import pathlib
import random
import shutil
import signal
import stat
import subprocess
import tempfile
import time

from sonde import SONDE, Skip, check, install, record, run, scratch
from harness import check_equal, main
from kernel import (INSTANCES, KernelTrace, Running, bpf_exists, bpf_objects,
                    descendants, each_source, gone, instances, is_sonde,
                    kernel_test, module_users, need, program, read,
                    record_kernel, wait_for)

KILLS = int(os.environ.get("SONDE_SOURCE_KILLS", "6"))  # of each kind
NOBODY = 65534


# ---- nothing stays ----

def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Killed:
    """A recording of a program without end, of which some are killed at an
    instant that `rng` chooses: at any time since the start, or since it
    records."""

    def __init__(self, source, rng, who, turn):
        mark = scratch() / "mark"
        self.source = source
        self.other_users = module_users()
        self.running = Running(program("ticker"), "0", mark,
                               k="sched_switch,syscalls:getppid",
                               source=source,
                               options=["--kernel-memory", "1M"])
        if turn % 2:
            wait_for(mark.exists, "the program")
        time.sleep(rng.random() * 0.06)
        front = self.running.front.pid
        family = descendants(front)
        sondes = [p for p in (front, *family) if is_sonde(p)]
        # Until it executes it, the program's process is still sonde.
        self.recorders = [p for p in sondes if p != front]
        self.pids = [front, *family]
        self.objects = set().union(*map(bpf_objects, sondes), set())
        self.instances = instances(*self.pids)
        self.holds_module = module_users() > self.other_users
        for pid in {"front": [front], "recorder": self.recorders,
                    "both": sondes,
                    "program": [p for p in family if not is_sonde(p)]}[who]:
            kill(pid)
        if who != "program" or not self.program_is_dead(family):
            # The program goes on, whoever was killed.
            for pid in family:
                if pid not in self.recorders:
                    kill(pid)
        self.end()

    @staticmethod
    def program_is_dead(family):
        return any(not is_sonde(p) for p in family)

    def end(self):
        """Whatever of it is left ends by itself, or is the program, started
        after we looked."""
        def over():
            for pid in descendants(self.running.front.pid):
                if not is_sonde(pid):
                    kill(pid)
            return gone(self.running.front.pid)
        try:
            wait_for(over, "the end of all")
        finally:
            for pid in strangers_of(self.running.front.pid):
                kill(pid)
        self.running.end()

    def readable(self):
        """What there is of the trace."""
        for part in ("kernel", "user"):
            if (self.running.dir / part / "metadata").exists():
                read(self.running.dir / part)


def strangers_of(session):
    out = []
    for word in os.listdir("/proc"):
        if word.isdigit():
            try:
                if os.getsid(int(word)) == session:
                    out.append(int(word))
            except OSError:
                pass
    return out


def killed_at_any_instant(source, who):
    rng = random.Random(f"{source} {who}")
    seen = 0
    for turn in range(KILLS):
        killed = Killed(source, rng, who, turn)
        killed.readable()
        seen += bool(killed.instances or killed.objects or
                     killed.holds_module)
        for kind, number in killed.objects:
            wait_for(lambda k=kind, n=number: not bpf_exists(k, n),
                     f"the end of BPF {kind} {number}", 20)
        wait_for(lambda nr=killed.other_users: module_users() == nr,
                 "the module's last user", 20)
        check_instances(killed)
    check(seen > 0, "no instance, no BPF object and no user of the module was "
          "ever seen: the test looks wrong")


def check_instances(killed):
    """None is left, or the next sonde removes it, and says so."""
    left = [i for i in killed.instances if (INSTANCES / i).exists()]
    done = record_kernel("true", k="sched_switch")
    still = [i for i in left if (INSTANCES / i).exists()]
    check_equal(still, [], "instances left after the next recording")
    if left:
        check("left" in done.err or "removed" in done.err,
              f"no word about {left}: {done.err}")


@each_source
def the_front_killed_leaves_nothing(source):
    killed_at_any_instant(source, "front")


@each_source
def the_recorder_killed_leaves_nothing(source):
    killed_at_any_instant(source, "recorder")


@each_source
def both_killed_leave_nothing_or_the_next_one_cleans(source):
    killed_at_any_instant(source, "both")


@each_source
def the_program_killed_leaves_nothing(source):
    killed_at_any_instant(source, "program")


@each_source
def a_killed_program_leaves_its_last_calls(source):
    for _ in range(3):
        mark = scratch() / "mark"
        running = Running(program("ticker"), "0", mark,
                          k="syscalls:getppid", source=source)
        wait_for(mark.exists, "the program")
        for pid in descendants(running.front.pid):
            if not is_sonde(pid):
                kill(pid)
        status, _, err = running.end()
        check_equal(status, 128 + signal.SIGKILL, err)
        trace = running.trace(err)
        calls = len(trace.events("syscall_entry_getppid"))
        ticks = len(trace.events("ticker:tick"))
        check(trace.lost > 0 or 0 <= ticks - calls <= 1,
              f"{calls} calls, {ticks} events before them")


@each_source
def a_recording_that_ends_leaves_nothing(source):
    others = module_users()
    running = Running(program("ticker"), "300000", k="syscalls:getppid,sched",
                      source=source, options=["--kernel-memory", "1M"])
    running.wait_until_recording()
    pids = [running.front.pid, *descendants(running.front.pid)]
    objects = set().union(*map(bpf_objects, pids))
    held = instances(*pids)
    if source == "tracefs":
        check(held, f"no instance in {os.listdir(INSTANCES)}")
    elif source == "bpf":
        check(objects, "no BPF object")
    else:
        check(module_users() > others, "the module is not used")
    status, _, err = running.end()
    check_equal(status, 7, err)
    check_equal([i for i in held if (INSTANCES / i).exists()], [], "instances")
    for kind, number in objects:
        wait_for(lambda k=kind, n=number: not bpf_exists(k, n),
                 f"the end of BPF {kind} {number}", 20)
    wait_for(lambda: module_users() == others, "the module's last user", 20)


GLOBAL = ("tracing_on", "current_tracer", "set_event", "set_event_pid",
          "trace_clock", "buffer_size_kb", "trace_options", "tracing_cpumask")


@each_source
def the_global_state_of_tracing_is_not_touched(source):
    root = INSTANCES.parent
    if not root.is_dir():
        raise Skip("tracefs is not mounted")

    def state():
        return {name: (root / name).read_text() for name in GLOBAL
                if (root / name).exists()}
    before = state()
    running = Running(program("ticker"), "200000", k="syscalls,sched",
                      source=source, options=["--kernel-memory", "1M"])
    running.wait_until_recording()
    during = state()
    running.end()
    check_equal(during, before, "the state while it records")
    check_equal(state(), before, "the state after it")


# ---- a full disk ----

@each_source
def a_full_disk_is_said_and_leaves_a_valid_trace(source):
    disk = scratch()
    done = run("mount", "-t", "tmpfs", "-o", "size=1M", "tmpfs", disk)
    if done.returncode != 0:
        raise Skip("can't mount a small disk here")
    try:
        done = run(SONDE, "record", "-k", "syscalls", "--kernel-source",
                   source, "-o", disk / "trace", "--", program("calls"), "500")
        check("space" in done.stderr, done.stderr)
        check_equal(done.returncode, 0, done.stderr)
        trace = KernelTrace(disk / "trace")
        check(trace.events("syscall_entry_getppid"), "no calls in it")
        check_equal("recorded, 0 lost" in done.stderr, False, done.stderr)
    finally:
        run("umount", disk)


# ---- without privileges ----

def as_nobody(*command, **more):
    return run("setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY),
               "--clear-groups", *command, **more)


def nobodys_directory():
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skip("becoming nobody needs root and setpriv")
    directory = pathlib.Path(tempfile.mkdtemp(prefix="sonde-nobody-"))
    os.chown(directory, NOBODY, NOBODY)
    for path in (SONDE, program("ticker"), directory):
        if as_nobody("test", "-x", path).returncode != 0:
            shutil.rmtree(directory)
            raise Skip(f"nobody can't reach {path}")
    return directory


def by_nobody(*options, status):
    """What is said, and whether the program was run."""
    directory = nobodys_directory()
    mark = directory / "mark"
    try:
        done = as_nobody(SONDE, "record", *options, "-o", directory / "trace",
                         "--", program("ticker"), "100", mark, cwd=directory)
        check_equal(done.returncode, status, done.stderr)
        check_equal((directory / "trace").exists(), status == 7, "a trace")
        return done.stderr, mark.exists()
    finally:
        shutil.rmtree(directory)


@kernel_test
def without_privileges_the_program_runs_only_without_k():
    err, ran = by_nobody("-k", "sched,syscalls", status=1)
    check("without -k" in err, err)
    check(not ran, "the program was run")
    err, ran = by_nobody(status=7)
    check("200 events recorded, 0 lost" in err and ran, err)


@kernel_test
def without_privileges_the_error_names_what_is_missing_and_what_helps():
    for source in ("bpf", "tracefs", "auto"):
        err, _ = by_nobody("-k", "sched", "--kernel-source", source, status=1)
        check(any(word in err for word in
                  ("CAP_BPF", "CAP_PERFMON", "CAP_SYS_ADMIN", "tracefs",
                   "/sys/kernel/tracing", "unprivileged_bpf_disabled")),
              f"{source}: nothing is named: {err}")
        check(any(word in err for word in
                  ("sudo", "setcap", "mount ", "sysctl", "chmod", "chown",
                   "sonde doctor")),
              f"{source}: no remedy: {err}")


@kernel_test
def what_a_member_of_the_group_can_not_have_is_told_modules():
    """Without tracefs' list of events a group is what Sonde itself knows."""
    need("modules")
    group = os.stat("/dev/sonde").st_gid
    if not group:
        raise Skip("our module was loaded without gid=GROUP")
    directory = nobodys_directory()
    try:
        done = run("setpriv", "--reuid", str(NOBODY), "--regid", str(group),
                   "--clear-groups", SONDE, "record", "-a", "-k", "sched:*",
                   "--kernel-source", "modules", "-o", directory / "trace",
                   "--", program("ticker"), "100", cwd=directory)
        check_equal(done.returncode, 7, done.stderr)
        check("the rest of what -k selects is missing" in done.stderr and
              "/sys/kernel/tracing" in done.stderr, done.stderr)
        events, _ = read(directory / "trace/kernel")
        check(any(" sched_switch: " in line for line in events), "no switch")
    finally:
        shutil.rmtree(directory)


@kernel_test
def all_of_the_machine_without_privileges_is_refused():
    directory = nobodys_directory()
    try:
        done = as_nobody(SONDE, "record", "-a", "-k", "sched", "-o",
                         directory / "trace", cwd=directory)
        check(done.returncode not in (0, 128 + signal.SIGINT), done.stderr)
        check("CAP_" in done.stderr or "root" in done.stderr or
              "/sys/kernel/tracing" in done.stderr, done.stderr)
    finally:
        shutil.rmtree(directory)


# ---- wrong words ----

def refused(*options, names):
    mark = scratch() / "mark"
    done = record(program("ticker"), "1", mark, options=options)
    check(done.status not in (0, 7), f"status {done.status}: {done.err}")
    check(names in done.err, f"{names} isn't named: {done.err}")
    check(not mark.exists(), "the program was run")
    check_equal(done.dir.exists(), False, "a trace is left")
    check(len(done.err.strip().splitlines()) <= 3, done.err)


@kernel_test
def an_event_that_does_not_exist_is_named():
    need("tracefs")  # without it, that isn't known
    refused("-k", "sched_switch,no_such_event", names="no_such_event")
    refused("-k", "syscalls:no_such_call", names="no_such_call")
    refused("-k", "nogroup:*", names="nogroup")


@kernel_test
def a_source_that_does_not_exist_is_named():
    refused("-k", "sched", "--kernel-source", "magic", names="magic")


@kernel_test
def rules_that_make_no_sense_are_named():
    refused("-k", "", names="-k")
    refused("-k", "sched_switch if", names="condition")
    refused("-k", "sched_switch if next_prio <", names="column")
    refused("-k", ":x", names=":x")


@kernel_test
def all_needs_events_and_no_program_needs_all():
    done = run(SONDE, "record", "-a")
    check_equal(done.returncode, 2, done.stderr)
    check("-k" in done.stderr, done.stderr)
    done = run(SONDE, "record", "-k", "sched")
    check_equal(done.returncode, 2, done.stderr)
    check("-a" in done.stderr, done.stderr)


@kernel_test
def a_program_that_does_not_exist_leaves_nothing():
    refused_dir = scratch() / "trace"
    done = run(SONDE, "record", "-k", "sched", "-o", refused_dir, "--",
               "/no/such/program")
    check_equal(done.returncode, 127, done.stderr)
    check("/no/such/program" in done.stderr, done.stderr)
    check_equal(refused_dir.exists(), False, "a trace is left")


@kernel_test
def nobody_else_may_read_the_trace_than_the_umask_says():
    done = record_kernel("true", k="sched_switch", preexec_fn=lambda:
                         os.umask(0o077))
    for path in (done.dir / "kernel").rglob("*"):
        check_equal(stat.S_IMODE(path.stat().st_mode) & 0o077, 0, str(path))


# ---- CPUs that come and go ----

@each_source
def a_cpu_that_goes_and_comes_back_is_recorded(source):
    online = pathlib.Path("/sys/devices/system/cpu/cpu1/online")
    if not os.environ.get("SONDE_HOTPLUG"):
        raise Skip("SONDE_HOTPLUG is not set")
    if not os.access(online, os.W_OK):
        raise Skip("no CPU can be taken away here")
    running = Running(k="sched_switch,syscalls:getppid", source=source,
                      options=["-a"])
    running.wait_until_recording()
    nr = 200

    def on_cpu1():
        done = subprocess.run(["taskset", "-c", "1", program("calls"), "2",
                               "leaf"], stdout=subprocess.DEVNULL)
        check_equal(done.returncode, 0, "the program")
    try:
        on_cpu1()
        online.write_text("0")
        online.write_text("1")
        on_cpu1()
    finally:
        online.write_text("1")
        os.killpg(running.front.pid, signal.SIGINT)
    _, _, err = running.end()
    trace = running.trace(err)
    calls = [e for e in trace.events("syscall_entry_getppid") if e.cpu == 1]
    check_equal(len({e.tid for e in calls}), 2, "programs seen on the CPU")
    check(len(calls) + trace.lost >= 2 * nr, f"{len(calls)} calls")


@each_source
def a_cpu_that_was_offline_at_the_start_is_recorded_or_told_of(source):
    online = pathlib.Path("/sys/devices/system/cpu/cpu1/online")
    if not os.environ.get("SONDE_HOTPLUG"):
        raise Skip("SONDE_HOTPLUG is not set")
    if not os.access(online, os.W_OK):
        raise Skip("no CPU can be taken away here")
    online.write_text("0")
    try:
        running = Running(k="syscalls:getppid", source=source, options=["-a"])
        running.wait_until_recording()
        online.write_text("1")
        subprocess.run(["taskset", "-c", "1", program("calls"), "2", "leaf"],
                       stdout=subprocess.DEVNULL, check=True)
        os.killpg(running.front.pid, signal.SIGINT)
        _, _, err = running.end()
    finally:
        online.write_text("1")
    trace = running.trace(err)
    calls = [e for e in trace.events("syscall_entry_getppid") if e.cpu == 1]
    check(len(calls) + trace.lost >= 200 or "CPU" in err,
          f"{len(calls)} calls, and no word: {err}")


install()
main()
