#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_kernel_session.py - recordings of kernel events as a session: signals
and deaths between the making of the program and its first instruction, what
such a directory is to the other commands, accounts in both modes, and where
the kernel's process numbers are not ours."""

import json
import os
import shutil
import signal
import subprocess
import time

from sonde import SONDE, Skip, check, install, require, run, scratch
from harness import PATIENCE, check_equal, main, test
from kernel import (Running, comm, descendants, each_source, gone, instances,
                    is_sonde, kernel_test, program, read, record_kernel,
                    LIMIT_S, need, wait_for)

CALLS = 20000


# ---- the time between the program's making and its start ----

def kill(pid, number=signal.SIGKILL):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


class Held:
    """A recording whose recorder is stopped while the program's process,
    which waits for it, is there and has not executed the program. Both are
    caught at an instant of some milliseconds, so it takes several tries."""

    def __init__(self):
        for _ in range(40):
            self.mark = scratch() / "mark"
            self.dir = scratch() / "trace"
            self.front = subprocess.Popen(
                [SONDE, "record", "-k", "sched_switch", "-o", self.dir, "--",
                 "sh", "-c", f"echo > {self.mark}; exit 5"],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                start_new_session=True)
            if self.catch():
                return
            self.front.communicate(timeout=240 * PATIENCE)
        raise Skip("the instant was never met")

    def catch(self):
        while self.front.poll() is None:
            children = descendants(self.front.pid)
            recorders = [p for p in children if comm(p) == "sonde-recorder"]
            held = [p for p in children if is_sonde(p) and p not in recorders]
            if not recorders or not held or self.mark.exists():
                continue
            self.recorder, self.program = recorders[0], held[0]
            kill(self.recorder, signal.SIGSTOP)
            time.sleep(0.05)  # if it had let the program go, it runs now
            if not self.mark.exists() and is_sonde(self.program):
                return True
            kill(self.recorder, signal.SIGCONT)
        return False

    def go_on(self):
        kill(self.recorder, signal.SIGCONT)

    def await_word(self, word):
        """The front end has said that. (Also, that the recorder is stopped.)"""
        line = self.front.stderr.readline()
        while line and word not in line:
            line = self.front.stderr.readline()
        check(line, f"no word of '{word}'")

    def end(self):
        """The front end's status and words."""
        try:
            _, err = self.front.communicate(timeout=240 * PATIENCE)
        finally:
            for pid in (self.recorder, self.program, self.front.pid):
                kill(pid)
        return self.front.returncode, err


@kernel_test
def a_program_killed_before_it_starts_ends_the_recording():
    held = Held()
    kill(held.program)
    held.go_on()
    status, err = held.end()
    check_equal(status, 128 + signal.SIGKILL, err)
    check(not held.mark.exists(), "the program was run")


@kernel_test
def a_signal_before_the_program_starts_reaches_it():
    held = Held()
    kill(held.front.pid, signal.SIGTERM)
    held.await_word("next signal")
    held.go_on()
    status, err = held.end()
    check_equal(status, 128 + signal.SIGTERM, err)
    check(not held.mark.exists(), "the program was run")


@kernel_test
def a_second_signal_ends_a_recorder_that_hangs_at_the_start():
    held = Held()
    kill(held.front.pid, signal.SIGTERM)
    held.await_word("next signal")
    kill(held.front.pid, signal.SIGTERM)
    status, err = held.end()
    check_equal(status, 128 + signal.SIGTERM, err)
    check(not held.mark.exists(), "the program was run")
    check("killed" in err, err)
    check_equal(instances(held.recorder), [], "instances")


@kernel_test
def without_its_recorder_the_program_runs():
    held = Held()
    kill(held.recorder)
    status, err = held.end()
    check_equal(status, 5, err)
    check(held.mark.exists(), "the program was not run")
    check("killed" in err, err)


@kernel_test
def without_its_front_the_program_is_never_started():
    held = Held()
    kill(held.front.pid)
    held.front.wait()
    held.go_on()
    wait_for(lambda: gone(held.front.pid), "the end of all")
    check(not held.mark.exists(), "the program was run")
    read(held.dir / "kernel")
    held.end()


@kernel_test
def a_signal_while_the_recorder_opens_leaves_nothing():
    directory = scratch() / "trace"
    mark = scratch() / "mark"
    front = subprocess.Popen(
        [SONDE, "record", "-k", "*", "-o", directory, "--", "touch", mark],
        stderr=subprocess.PIPE, text=True, start_new_session=True)
    wait_for(lambda: any(comm(p) == "sonde-recorder"
                         for p in descendants(front.pid)), "the recorder")
    kill(front.pid, signal.SIGTERM)
    _, err = front.communicate(timeout=240 * PATIENCE)
    check_equal(front.returncode, 128 + signal.SIGTERM, err)
    if mark.exists():
        raise Skip("the recorder was ready too soon")
    check("interrupted" in err, err)
    check_equal(directory.exists(), False, "a trace is left")


@kernel_test
def without_a_program_the_recorders_death_is_the_end():
    running = Running(k="sched_switch", options=["-a"])
    running.wait_until_recording()
    for pid in descendants(running.front.pid):
        kill(pid)
    status, _, err = running.end()
    check_equal(status, 1, err)
    check("killed" in err, err)


# ---- until something happens ----

@each_source
def what_is_waited_for_ends_the_recording_not_the_program(source):
    """The program makes a folder, which is waited for, and goes on until it
    sees that the recording is over: nothing of that is in the trace."""
    status, trace = until(scratch() / "made", source)
    check_equal(status, 7, "the program's status")
    made = trace.events("syscall_entry_mkdir(at)?")
    check_equal(len(made), 1, "folders made in the trace")


def until(made, source, condition="", name=None):
    """Records a program that makes folders and goes on until it has seen that
    the recording is over; its status and the trace."""
    running = Running("sh", "-c", f"mkdir {made}; read line; mkdir "
                      f"{name or made}; read line; exit 7", k="syscalls",
                      source=source, stdin=subprocess.PIPE,
                      options=["--mode", "overwrite", "--until",
                               "syscalls:mkdir,syscalls:mkdirat" + condition])
    if name:
        running.front.stdin.write("\n")
        running.front.stdin.flush()
    err = ""
    while "has happened" not in err:
        line = running.front.stderr.readline()
        check(line, f"sonde ended: {err}")
        err += line
    running.front.communicate("\n\n", timeout=LIMIT_S / 2)
    return running.front.returncode, running.trace(err)


@kernel_test
def a_condition_is_waited_for():
    """Two folders are made, one after the other: had the first one ended the
    recording, the second would not be there."""
    need("bpf")
    first, second = scratch() / "first", scratch() / "second"
    _, trace = until(first, "bpf", f' if pathname == "{second}"', second)
    made = [line for line in trace.lines if "syscall_entry_mkdir" in line]
    check(any(str(first) in line for line in made), made)
    check(any(str(second) in line for line in made), made)


@kernel_test
def waiting_for_what_there_is_not_is_refused():
    for options, text in (
            (["-k", "sched", "--until", "no:such"], "no such event"),
            (["--until", "sched"], "-k")):
        done = run(SONDE, "record", *options, "-o", scratch() / "t", "--",
                   "true")
        check(done.returncode != 0 and text in done.stderr, done.stderr)


@test
def what_can_not_be_recorded_is_not_said_to_be():
    if os.path.exists("/dev/sonde"):
        raise Skip("our module is loaded")
    done = run(SONDE, "record", "-a", "-k", "sched", "--kernel-source",
               "modules", "-o", scratch() / "t")
    check_equal(done.returncode, 1, done.stderr)
    check_equal(len(done.stderr.splitlines()), 1, done.stderr)


@kernel_test
def what_was_meant_is_told_before_anything_runs():
    need("tracefs")
    for rule, words in (
            ("sched_swich", "did you mean 'sched_switch'?"),
            ("schd:*", "did you mean 'sched:*'?"),
            ("syscalls:opnat", "did you mean 'syscalls:openat'?"),
            ("sched,!sched_wakin", "did you mean 'sched_waking'?"),
            ("sched_switch if next_pri < 3", "did you mean 'next_prio'?"),
            ("sched if event == sched_switch",
             "the event's name is in quotes: \"sched_switch\""),
            ('sched if event == "sched_swich"',
             "no event here is called 'sched_swich'; "
             "did you mean 'sched_switch'?")):
        done = run(SONDE, "record", "-k", rule, "-o", scratch() / "t", "--",
                   "echo", "ran")
        check_equal((done.returncode, done.stdout), (2, ""), rule)
        check(done.stderr.endswith(words + "\n") and
              done.stderr.count("\n") == 1, f"{rule}: {done.stderr}")
    done = run(SONDE, "record", "-k", "sched,!no_such_thing,!sched_stat_zzz*",
               "-o", scratch() / "t", "--", "true")
    check_equal(done.returncode, 0, done.stderr)


WITHOUT_TRACEFS = ("for t in /sys/kernel/tracing /sys/kernel/debug; do "
                   "while umount -l $t 2>/dev/null; do :; done; done; "
                   'exec "$@"')


@test
def where_events_are_not_listed_none_is_denied():
    need("bpf")
    done = run("unshare", "--mount", "sh", "-c", WITHOUT_TRACEFS, "sh", SONDE,
               "record", "-a", "-k", "kmem:kmalloc", "--kernel-source", "bpf",
               "-o", scratch() / "t", "--", "true")
    check("no such event is known" in done.stderr and
          "tracefs is not mounted" in done.stderr, done.stderr)


# ---- the directory ----

@kernel_test
def the_other_commands_take_both_traces_as_one():
    done = record_kernel(program("ticker"), "50", k="sched,syscalls",
                         status=7)
    listed = run(SONDE, "list", done.dir)
    check_equal(listed.returncode, 0, listed.stderr)
    for name in ("sched_switch", "ticker:tick", "syscall_entry_getppid"):
        check(name in listed.stdout, f"{name} is not listed")
    check("sound" in run(SONDE, "check", done.dir).stdout.splitlines()[-1],
          "check is not content")
    total = json.loads(run(SONDE, "stat", "--json", done.dir).stdout)
    part = scratch() / "part"
    cut = run(SONDE, "cut", "-e", "ticker:*", "-e", "syscall_*getppid", "-o",
              part, done.dir)
    check_equal(cut.returncode, 0, cut.stderr)
    lines = [line for p in sorted(part.iterdir()) for line in read(p)[0]]
    check_equal(sum(" ticker:" in line for line in lines), 100, "ticker's")
    check(any(" syscall_entry_getppid: " in line for line in lines), "calls")
    check("ticker:tick" in run(SONDE, "list", part).stdout, "list of a part")
    two = scratch() / "two"
    converted = run(SONDE, "convert", "-o", two, done.dir)
    check_equal(converted.returncode, 0, converted.stderr)
    check_equal(json.loads(run(SONDE, "stat", "--json", two).stdout)["events"],
                total["events"], "events in CTF 2")


@kernel_test
def a_directory_of_somebody_elses_is_left_alone():
    directory = scratch()
    (directory / "kernel").mkdir()
    (directory / "kernel" / "precious").write_text("x")
    done = run(SONDE, "record", "-k", "sched_switch", "-o", directory, "--",
               "true")
    check_equal(done.returncode, 1, done.stderr)
    check_equal((directory / "kernel" / "precious").read_text(), "x", "file")
    check(not (directory / "user").exists(), "user was made")


@kernel_test
def a_program_that_cannot_be_executed_leaves_the_users_directory_empty():
    directory = scratch()
    script = scratch() / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    done = run(SONDE, "record", "-k", "sched_switch", "-o", directory, "--",
               script)
    check_equal(done.returncode, 127, done.stderr)
    check_equal(list(directory.iterdir()), [], "left in it")


# ---- accounts ----

def accounts(source, mode):
    # One byte at a time. Not its reads: in one of these it awaited the
    # recording, and the exit from that lies in the recording or before it.
    done = subprocess.run(
        [SONDE, "record", "--json", "--mode", mode, "-k",
         "syscalls:write", "--kernel-source", source,
         "--kernel-memory", "256K", "-o", scratch() / "trace", "--", "dd",
         "if=/dev/zero", "of=/dev/null", "bs=1", f"count={CALLS}",
         "status=none"], text=True, stderr=subprocess.PIPE,
        timeout=240 * PATIENCE, check=True)
    summary = json.loads(done.stderr.splitlines()[-1])
    lines, err = read(summary["trace"])
    kernel = [line for line in lines if " syscall_" in line]
    check_equal(len(kernel), summary["kernel_events_recorded"], "in the trace")
    return summary


@each_source
def every_event_is_recorded_or_counted_as_lost_in_both_modes(source):
    for mode in ("discard", "overwrite"):
        summary = accounts(source, mode)
        check_equal(sum(summary["lost"].values()), summary["events_lost"],
                    "the sum of losses")
        check_equal(summary["kernel_events_recorded"] +
                    summary["events_lost"], 2 * CALLS, f"events in {mode}")
    check(summary["lost"]["overwritten"] > CALLS, "nothing was overwritten")


# ---- where process numbers are others ----

def in_a_namespace(*words):
    require("unshare")
    if run("unshare", "-pf", "--mount-proc", "true").returncode != 0:
        raise Skip("no PID namespace can be made here")
    return run("unshare", "-pf", "--mount-proc", *words)


@kernel_test
def in_a_container_a_programs_kernel_events_are_refused_with_a_reason():
    directory = scratch() / "trace"
    done = in_a_namespace(SONDE, "record", "-k", "sched,syscalls", "-o",
                          directory, "--", program("ticker"), "20")
    check_equal(done.returncode, 1, done.stderr)
    check("container" in done.stderr and "-a" in done.stderr, done.stderr)
    check(not directory.exists(), "nothing is left")


@kernel_test
def in_a_container_the_machine_is_recorded_and_the_recorder_with_it():
    directory = scratch() / "trace"
    done = in_a_namespace(SONDE, "record", "-a", "-k", "syscalls:getppid",
                          "-o", directory, "--", program("ticker"), "20")
    check_equal(done.returncode, 7, done.stderr)
    check("container" in done.stderr, done.stderr)
    lines, _ = read(directory)
    check(sum(" syscall_entry_getppid: " in line for line in lines) >= 20,
          "the program's calls")


# ---- several ----

@kernel_test
def a_recording_in_a_recording_records_both():
    inner = scratch() / "inner"
    done = record_kernel(SONDE, "record", "-q", "-k", "syscalls:getppid",
                         "-o", inner, "--", program("ticker"), "30",
                         k="syscalls:getppid", status=7)
    for directory in (inner, done.dir):
        lines, _ = read(directory)
        nr = sum(" syscall_entry_getppid: " in line for line in lines)
        check(nr >= 30, f"{nr} calls in {directory}")


@kernel_test
def the_program_inherits_no_descriptor_of_ours():
    words = ["ls", "/proc/self/fd"]
    plain = subprocess.run(words, text=True, stdout=subprocess.PIPE,
                           check=True).stdout.split()
    done = record_kernel(*words, k="sched_switch")
    check_equal(done.out.split(), plain, "descriptors")


@kernel_test
def a_set_user_id_program_is_recorded():
    if os.geteuid() != 0:
        raise Skip("needs root")
    copy = scratch() / "id"
    shutil.copy(shutil.which("id"), copy)
    os.chown(copy, 65534, 65534)
    copy.chmod(0o4755)
    done = record_kernel(copy, "-u", k="syscalls")
    check_equal(done.out.strip(), "65534", "is set-user-ID in effect?")
    lines, _ = read(done.dir)
    check(any(" syscall_entry_geteuid: " in line for line in lines),
          "its calls are not there")


install()
main()
