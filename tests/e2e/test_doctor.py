#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_doctor.py - `sonde doctor` says what is so, changes nothing, and cleans
up after killed recorders only."""

import json
import os
import pathlib
import pty
import signal
import subprocess

from sonde import SONDE, check, install, run, scratch
from harness import Skip, check_equal, main, test

TRACEFS = pathlib.Path("/sys/kernel/tracing")
INSTANCES = TRACEFS / "instances"


def doctor(*options, status=0):
    done = run(SONDE, "doctor", *options)
    check_equal(done.returncode, status, f"status: {done.stderr}")
    return done.stdout, done.stderr


def on_terminal(**env):
    """What it prints on a terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", **env}
    process = subprocess.Popen([SONDE, "doctor"], stdout=theirs,
                               env=environment)
    os.close(theirs)
    text = b""
    while True:
        try:
            more = os.read(ours, 4096)
        except OSError:  # EIO: the other side is closed
            break
        if not more:
            break
        text += more
    os.close(ours)
    process.wait()
    return text.decode()


@test
def real_time_has_a_verdict_on_each_part():
    done = run(SONDE, "doctor", "--realtime", "--json")
    found = json.loads(done.stdout)
    able = [part["able"] == "yes" for part in found["parts"]]
    check_equal(done.returncode, 0 if all(able) else 1, done.stderr)
    check(f"{sum(able)} of {len(able)} " in found["verdict"],
          found["verdict"])
    isolated = pathlib.Path("/sys/devices/system/cpu/isolated").read_text()
    part, = [part for part in found["parts"] if part["part"] == "isolation"]
    check_equal(part["able"] == "yes", bool(isolated.strip()), f"{part}")


def need_tracefs():
    if not os.access(INSTANCES, os.W_OK):
        raise Skip("no tracefs, or not this user's")


def dead_pid():
    """The number of a process that is gone."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


class Instance:
    """A set of trace buffers; removed at the end, if it is still there."""

    def __init__(self, name):
        self.path = INSTANCES / name

    def __enter__(self):
        self.path.mkdir()
        return self.path

    def __exit__(self, *_):
        if self.path.exists():
            self.path.rmdir()


# ---- what it says ----

@test
def the_table_has_a_line_for_each_part_and_a_verdict():
    out, _ = doctor()
    parts = json.loads(doctor("--json")[0])["parts"]
    heads = [line.split()[:2] for line in out.splitlines()
             if line and not line.startswith(" ")]
    check_equal(heads[1:1 + len(parts)],
                [[p["part"], p["able"]] for p in parts], "lines")
    check("`sonde record" in out.split("\n\n")[-1], out)


@test
def json_says_what_is_found_why_and_what_helps():
    found = json.loads(doctor("--json")[0])
    check_equal(set(found), {"parts", "verdict", "left_behind"}, "members")
    for part in found["parts"]:
        check_equal(set(part), {"part", "able", "gives", "why", "remedy",
                                "cost"}, "members of a part")
        check(part["able"] in ("yes", "partly", "no"), part)
        check(part["able"] == "yes" or part["cost"], part)
    names = [part["part"] for part in found["parts"]]
    check({"programs", "clock", "tracefs", "bpf"} <= set(names), names)


@test
def what_probes_need_is_told_with_its_remedy():
    parts = {p["part"]: p
             for p in json.loads(doctor("--json")[0])["parts"]}
    check({"attach", "barriers", "gdb"} <= set(parts), list(parts))
    environment = {**os.environ, "PATH": "/nonexistent"}
    done = run(SONDE, "doctor", "--json", env=environment)
    gdb = {p["part"]: p for p in json.loads(done.stdout)["parts"]}["gdb"]
    check_equal(gdb["able"], "no", "gdb without a PATH")
    check("install gdb" in gdb["remedy"] or "x86-64" in gdb["why"], gdb)


@test
def colour_is_for_terminals_only_and_not_if_it_is_not_wanted():
    check("\033[" not in doctor()[0], "colour in a pipe")
    check("\033[32m" in on_terminal(), "no colour on a terminal")
    check("\033[" not in on_terminal(NO_COLOR="1"), "colour, NO_COLOR=1")


@test
def a_command_to_be_pasted_is_never_cut():
    """By an ordinary user, who has something to paste, and in a narrow
    terminal."""
    if os.geteuid() != 0:
        raise Skip("only root has other users at hand")
    where = scratch()
    for path in (where, where.parent):
        path.chmod(0o711)
    (where / "w").mkdir()
    os.chown(where / "w", 64123, 64123)
    user = {"user": 64123, "group": 64123, "extra_groups": [],
            "cwd": where / "w"}
    done = run(SONDE, "doctor", "--json", **user)
    remedies = [p["remedy"] for p in json.loads(done.stdout)["parts"]
                if p["part"] in ("tracefs", "bpf") and p["remedy"]]
    if len(remedies) < 2:
        raise Skip("this user may use tracefs or BPF")
    done = run(SONDE, "record", "-k", "sched", "--", "true", **user)
    for remedy in remedies:
        check(remedy in done.stderr, f"no '{remedy}' in {done.stderr}")


@test
def wrong_usage_is_told():
    for options in (["--fix"], ["trace"], ["--clean", "--json"]):
        out, err = doctor(*options, status=2)
        check_equal((out, err.count("\n")), ("", 1), str(options))
    check("--clean" in doctor("--help")[0], "help")


@test
def a_user_without_rights_can_ask():
    if os.geteuid() != 0:
        raise Skip("needs root, to be somebody else")
    if not os.access("/bin/setpriv", os.X_OK) and \
            not os.access("/usr/bin/setpriv", os.X_OK):
        raise Skip("no setpriv")
    done = run("setpriv", "--reuid", "65534", "--regid", "65534",
               "--clear-groups", SONDE, "doctor", "--json")
    if done.returncode in (126, 127):
        raise Skip("others can't get at this build")
    check_equal(done.returncode, 0, f"status: {done.stderr}")
    parts = {p["part"]: p for p in json.loads(done.stdout)["parts"]}
    check_equal(parts["programs"]["able"], "yes", "programs")
    check_equal(parts["bpf"]["able"], "no", "bpf")
    check("CAP_BPF" in parts["bpf"]["why"], parts["bpf"])
    check("setcap cap_bpf,cap_perfmon" in parts["bpf"]["remedy"],
          parts["bpf"])


# ---- what it cleans ----

@test
def what_a_killed_recorder_left_is_told_and_stays():
    need_tracefs()
    with Instance(f"sonde-{dead_pid()}-5eed") as left:
        out, _ = doctor()
        check("sonde doctor --clean" in out, out)
        check("1 set" in json.loads(doctor("--json")[0])["left_behind"]
              or "sets" in out, out)
        check(left.exists(), "it was removed")


@test
def what_a_killed_recorder_left_is_removed_with_its_events_on():
    need_tracefs()
    with Instance(f"sonde-{dead_pid()}-5eed") as left:
        (left / "events/sched/sched_switch/enable").write_text("1")
        out, _ = doctor("--clean")
        check("removed" in out and "trace buffers" in out, out)
        check(not left.exists(), "it is still there")


@test
def a_number_that_was_given_anew_protects_nothing():
    """The process has begun after the instance was made; its name, in the
    middle of what /proc says, doesn't matter."""
    need_tracefs()
    pathlib.Path("/proc/self/comm").write_text(") S 1 2 (")
    with Instance(f"sonde-{os.getpid()}-5eed") as left:
        os.utime(left, (0, 0))
        if left.stat().st_mtime > 1:
            raise Skip("tracefs does not keep times")
        doctor("--clean")
        check(not left.exists(), "it is still there")


@test
def what_belongs_to_the_living_or_to_others_is_not_touched():
    need_tracefs()
    pid = dead_pid()
    with Instance(f"sonde-{os.getpid()}-5eed") as living, \
            Instance(f"notsonde-{pid}-1") as other, \
            Instance(f"sonde-{pid}x-1") as odd, \
            Instance(f"sonde_{pid}") as odder:
        (other / "events/sched/sched_switch/enable").write_text("1")
        out, _ = doctor("--clean")
        for path in (living, other, odd, odder):
            check(path.exists(), f"{path} was removed: {out}")
        check_equal((other / "events/sched/sched_switch/enable").read_text(),
                    "1\n", "an event of others")


@test
def what_is_in_use_is_not_removed_nor_switched_off():
    """A number says nothing of a recorder in another PID namespace, but its
    open files do."""
    need_tracefs()
    with Instance(f"sonde-{dead_pid()}-5eed") as used:
        switch = used / "events/sched/sched_switch/enable"
        switch.write_text("1")
        with open(used / "per_cpu/cpu0/trace_pipe_raw", "rb"):
            doctor("--clean")
            check(used.exists(), "it was removed")
            check_equal(switch.read_text(), "1\n", "its event")


def write(path, text):
    """Without emptying the file, which would remove all probes."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)


@test
def probes_of_the_dead_are_removed_and_no_others():
    need_tracefs()
    file = TRACEFS / "uprobe_events"
    if not file.exists():
        raise Skip("no uprobes here")
    dead, mine = f"sonde_{dead_pid()}", f"sonde_test{os.getpid()}"
    try:
        write(file, f"p:{dead}/gone /bin/true:0x1000\n")
        write(file, f"p:{mine}/stays /bin/true:0x1000\n")
        out, _ = doctor("--clean")
        check("1 probe" in out or "probes" in out, out)
        names = file.read_text()
        check(f"{dead}/" not in names, names)
        check(f"{mine}/stays" in names, names)
    finally:
        for group in (dead, mine):
            for name in ("gone", "stays"):
                if f":{group}/{name} " in file.read_text():
                    write(file, f"-:{group}/{name}\n")


@test
def a_probe_of_a_living_recorder_stays():
    """It is named sonde, and may not have made its instance yet."""
    need_tracefs()
    file = TRACEFS / "uprobe_events"
    if not file.exists():
        raise Skip("no uprobes here")
    process = subprocess.Popen(
        ["python3", "-c", "import os, sys\n"
         "open('/proc/self/comm', 'w').write('sonde')\n"
         "print(flush=True)\nsys.stdin.read()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    group = f"sonde_{process.pid}"
    try:
        write(file, f"p:{group}/stays /bin/true:0x1000\n")
        doctor("--clean")
        check(f"{group}/stays" in file.read_text(), file.read_text())
        process.send_signal(signal.SIGKILL)
        process.wait()
        doctor("--clean")
        check(f"{group}/stays" not in file.read_text(), file.read_text())
    finally:
        process.kill()
        process.wait()
        if f":{group}/stays " in file.read_text():
            write(file, f"-:{group}/stays\n")


@test
def nothing_to_clean_is_said():
    need_tracefs()
    doctor("--clean")
    check_equal(doctor("--clean")[0], "nothing was left behind\n", "output")


install()
main()
