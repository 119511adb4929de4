#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_attach.py - recording programs that run already: what they emit while
they are recorded is recorded, all of it and nothing else; they notice nothing;
and who can't be recorded is named with what is in the way.

The program does what it is told (obedient.py), so a test knows what it has
emitted and when.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys

from attached import STRANGER, Attached, as_stranger, refusal
from home import Home
from obedient import TIMEOUT, Program, need_root, program
from robust import until
from sonde import (SONDE, Trace, build, check, install, record, run, scratch,
                   skip_if_sanitized)
from harness import Skip, check_equal, main, test


# ---- what is recorded ----

def _check_middle(path):
    p = Program(path)
    p.do("emit", 10)
    a = Attached("-p", p.pid)
    p.do("emit", 1000)
    summary = a.end()
    p.do("emit", 10)
    p.end()
    check_equal(a.numbers(), list(range(11, 1011)), "events")
    check_equal(summary["events_recorded"], 1000, "recorded")
    check_equal(summary["events_lost"], 0, "lost")
    check_equal(summary["processes"], 1, "processes")


@test
def what_is_emitted_while_attached_is_recorded_and_nothing_else():
    _check_middle(program())


@test
def a_static_program_is_attached_to():
    skip_if_sanitized("it has no static runtime")
    _check_middle(program(static=True))


@test
def a_program_is_attached_to_again_and_again():
    p = Program(program())
    for _ in range(12):
        first = p.do("emit", 7)
        a = Attached("-p", p.pid)
        last = p.do("emit", 500)
        check_equal(a.end()["events_lost"], 0, "lost")
        check_equal(a.numbers(), list(range(first + 1, last + 1)), "events")
    p.end()


@test
def other_events_may_be_selected_each_time():
    p = Program(program())
    for i in range(8):
        wanted = ("attach:step", "attach:other")[i % 2]
        a = Attached("-p", p.pid, "-e", wanted)
        first = p.do("emit", 5) - 4
        p.do("other", i)
        a.end()
        check_equal(a.numbers(),
                    [] if i % 2 else list(range(first, first + 5)), "steps")
        check_equal(a.numbers("attach:other", "n"), [i] if i % 2 else [],
                    "others")
    p.end()


@test
def threads_at_full_speed_lose_nothing_uncounted():
    p = Program(program())
    p.do("each", 100000)
    a = Attached("-p", p.pid, "--memory", "1M")
    total = p.do("threads", 6)
    summary = a.end()
    p.end()
    check_equal(total, 600000, "emitted")
    check_equal(summary["events_recorded"] + summary["events_lost"], total, "accounts")
    check_equal(len(a.numbers()), summary["events_recorded"], "events in the trace")
    check_equal(Trace(a.dir).discarded(), summary["events_lost"], "lost, says the trace")


@test
def memory_of_a_burst_is_given_back_while_it_is_recorded():
    p = Program(program(), "taskset", "-c", "0")
    before = p.do("emit", 0)
    a = Attached("-p", p.pid, "--memory", "128M")

    def resident():
        return os.stat(f"/proc/{p.pid}/fd/1000").st_blocks * 512

    for _ in range(2):
        p.do("emit", 200000)
        check(resident() > 2 << 20, f"a burst took {resident()} bytes")
        # A ring keeps a MiB.
        until(lambda: resident() < 3 << 19)
    total = p.do("emit", 1)
    summary = a.end()
    p.end()
    check_equal((summary["events_recorded"], summary["events_lost"]),
                (total - before, 0), "recorded and lost")
    r = run(SONDE, "stat", "--json", a.dir)
    check_equal(json.loads(r.stdout)["total_events"], total - before, r.stderr)


@test
def attaching_and_leaving_at_full_speed_keeps_the_accounts():
    p = Program(program())
    p.do("run")
    for _ in range(5):
        a = Attached("-p", p.pid, "--memory", "1M")
        summary = a.end()
        numbers = a.numbers()
        check_equal(len(numbers), summary["events_recorded"], "events in the trace")
        if numbers:
            span = numbers[-1] - numbers[0] + 1
            missing = span - len(numbers)
            check(missing <= summary["events_lost"],
                  f"{missing} missing, {summary['lost']} counted")
    p.do("halt")
    p.end()


@test
def the_newest_events_are_kept_with_overwrite():
    p = Program(program())
    for _ in range(2):
        a = Attached("-p", p.pid, "--mode", "overwrite", "--memory", "256k")
        last = p.do("emit", 100000)
        summary = a.end()
        numbers = a.numbers()
        check_equal(numbers[-1], last, "the last event")
        check_equal(numbers, list(range(last - len(numbers) + 1, last + 1)),
                    "events")
        check_equal(summary["events_recorded"] + summary["lost"]["overwritten"], 100000,
                    "accounts")
    p.end()


@test
def two_recordings_at_once_get_all_events_each():
    p = Program(program())
    a = Attached("-p", p.pid)
    p.do("emit", 100)
    b = Attached("-p", p.pid)
    p.do("emit", 100)
    a.end()
    p.do("emit", 100)
    b.end()
    p.end()
    check_equal(a.numbers(), list(range(1, 201)), "of the first")
    check_equal(b.numbers(), list(range(101, 301)), "of the second")


@test
def one_recording_takes_several_programs():
    p, q = Program(program()), Program(program())
    a = Attached("-p", p.pid, "-p", q.pid)
    p.do("emit", 3)
    q.do("emit", 4)
    check_equal(a.end()["processes"], 2, "processes")
    check_equal(a.numbers(), [1, 1, 2, 2, 3, 3, 4], "events")
    p.end()
    q.end()


@test
def a_program_that_sonde_record_started_is_attached_to_as_well():
    directory = scratch() / "first"
    p = subprocess.Popen([SONDE, "record", "-q", "-o", directory, "--",
                          program()], text=True, stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE)
    pid = int(p.stdout.readline())

    def do(words):
        p.stdin.write(words + "\n")
        p.stdin.flush()
        return int(p.stdout.readline())

    do("emit 5")
    a = Attached("-p", pid)
    do("emit 5")
    a.end()
    do("emit 5")
    p.stdin.close()
    check_equal(p.wait(TIMEOUT), 0, "status")
    check_equal(a.numbers(), [6, 7, 8, 9, 10], "attached")
    check_equal(sorted(e["number"] for e in
                       Trace(directory).events("attach:step")),
                list(range(1, 16)), "started")


@test
def children_that_were_there_before_are_recorded_with_their_parent():
    p = Program(program())
    child = subprocess.Popen(["true"])
    child.wait()
    # The child goes on with our commands, and its parent waits for it.
    p.do("fork", 3)
    a = Attached("-p", p.pid)
    p.do("emit", 10)
    a.end()
    p.process.stdin.close()
    check_equal(p.process.wait(TIMEOUT), 0, "status")
    check_equal(len(a.numbers()), 10, "events")


# ---- the program is left alone ----

@test
def a_program_has_no_thread_and_no_descriptor_more():
    p = Program(program())
    before = p.threads(), p.descriptors()
    a = Attached("-p", p.pid)
    p.do("emit", 100)
    check_equal((p.threads(), p.descriptors()), before, "while attached")
    a.end()
    check_equal((p.threads(), p.descriptors()), before, "afterwards")
    p.end()


@test
def a_program_makes_one_system_call_and_none_afterwards():
    skip_if_sanitized("its runtime makes some")
    if not shutil.which("strace"):
        raise Skip("there is no strace")
    out = scratch() / "calls"
    p = Program(program(), "strace", "-f", "-qq", "-o", str(out))
    a = Attached("-p", p.own_pid)
    for _ in range(3):
        p.do("emit", 1000)
    a.end()
    p.do("emit", 10)
    p.end()
    lines = out.read_text().splitlines()
    begin = [i for i, line in enumerate(lines) if '"emit 1000\\n"' in line]
    calls = [line.split(maxsplit=1)[1].split("(")[0]
             for line in lines[begin[0]:]]
    check_equal([c for c in calls if c not in ("read", "write")][:-1],
                ["mremap"], "system calls")


@test
def nothing_is_mapped_until_the_first_event():
    p = Program(program())

    def nr():
        maps = pathlib.Path(f"/proc/{p.pid}/maps").read_text()
        return maps.count("sonde-arena")

    check_equal(nr(), 1, "mappings before")
    a = Attached("-p", p.pid)
    check_equal(nr(), 1, "mappings when attached")
    p.do("emit", 1)
    check_equal(nr(), 2, "mappings after an event")
    a.end()
    p.end()


# ---- ends ----

@test
def the_recording_ends_with_its_last_program():
    p, q = Program(program()), Program(program())
    a = Attached("-p", p.pid, "-p", q.pid)
    p.do("emit", 3)
    p.end()
    q.do("emit", 4)
    q.end()
    summary = a.end(None)
    check_equal(summary["events_recorded"], 7, "recorded")
    check(any("all processes have ended" in s for s in a.said), a.said)


@test
def the_recording_ends_after_its_duration():
    p = Program(program())
    a = Attached("-p", p.pid, "--duration", "100ms")
    a.end(None)
    p.do("emit", 3)
    p.end()
    check_equal(a.numbers(), [], "events after the end")
    check(any("--duration is over" in s for s in a.said), a.said)


@test
def a_program_that_is_killed_leaves_a_whole_trace():
    p = Program(program())
    a = Attached("-p", p.pid)
    p.do("emit", 1000)
    p.process.kill()
    p.process.wait()
    check_equal(a.end(None)["events_recorded"], 1000, "recorded")
    check_equal(a.numbers(), list(range(1, 1001)), "events")


@test
def a_killed_recorder_leaves_the_program_and_a_trace_and_the_next_one_works():
    p = Program(program())
    for _ in range(6):
        a = Attached("-p", p.pid)
        first = p.do("emit", 100) - 99
        os.kill(a.recorder(), signal.SIGKILL)
        a.process.wait(TIMEOUT)
        a.process.stderr.close()
        check_equal(run(SONDE, "check", "-q", a.dir).returncode, 0, "check")
        numbers = a.numbers()
        check_equal(numbers, list(range(first, first + len(numbers))),
                    "events of the killed one")
        p.do("emit", 100)
        b = Attached("-p", p.pid)
        last = p.do("emit", 50)
        check_equal(b.end()["events_lost"], 0, "lost")
        check_equal(b.numbers(), list(range(last - 49, last + 1)),
                    "events of the next")
    p.end()


# ---- who is meant ----

@test
def programs_that_begin_later_join_by_name():
    directory = scratch()
    path = shutil.copy(program(), directory / "joiner")
    a = Attached("-p", "joiner")
    check(any("waiting" in s for s in a.said), a.said)
    nr = 0
    for _ in range(3):
        p = Program(path)
        # It is found by and by; each event says whether it was.
        seen = 0
        while not seen:
            nr += 1
            p.do("emit", 1)
            maps = pathlib.Path(f"/proc/{p.pid}/maps").read_text()
            seen = maps.count("sonde-arena") > 1
        p.do("emit", 10)
        p.end()
    check_equal(a.end()["processes"], 3, "processes")
    check_equal(len(a.numbers()), 33, "events")


# Lives for some 40 ms of its own time, or until it is recorded.
SHORT = r"""
#include <sonde/tracepoint.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
	int number = argc > 1 ? atoi(argv[1]) : 0;

	while (!sonde_event_enabled(attach, step) &&
	       clock() < CLOCKS_PER_SEC / 25)
		;
	sonde_event(attach, step, number);
	return 0;
}
"""


def _kernel_tells_of_programs():
    """Whether the proc connector does (sys/execs.h)."""
    with contextlib.suppress(OSError), socket.socket(
            socket.AF_NETLINK, socket.SOCK_DGRAM, 11) as s:
        s.bind((0, 1))
        s.send(struct.pack("=IHHIIIIIIHHI", 40, 3, 0, 0, 0, 1, 1, 0, 0, 4, 0,
                           1))
        s.settimeout(5)
        run("true")
        for _ in range(100):
            if struct.unpack_from("=I", s.recv(4096), 36)[0] == 2:
                return True
    return False


@test
def short_programs_are_met_when_they_are_executed():
    """In a quarter of a second, of which one in six is seen between two looks."""
    if not _kernel_tells_of_programs():
        raise Skip("the kernel gives no notice of programs that begin")
    path = build(SHORT, name="sonde-short")
    a = Attached("-p", "sonde-short")
    for i in range(20):
        check_equal(run(path, str(i)).returncode, 0, "status")
    summary = a.end()
    numbers = a.numbers()
    check(len(numbers) > 10, f"only {numbers} of 20")
    check_equal(len(set(numbers)), len(numbers), "some twice")
    check_equal(summary["events_lost"], 0, "lost")


@test
def a_control_group_is_what_is_in_it_or_below():
    p = Program(program())
    text = pathlib.Path(f"/proc/{p.pid}/cgroup").read_text()
    group = [line.split(":", 2)[2] for line in text.splitlines()][-1]
    a = Attached("-p", p.pid, "--cgroup", group)
    p.do("emit", 3)
    a.end()
    check_equal(a.numbers(), [1, 2, 3], "events")
    text = refusal("-p", p.pid, "--cgroup", group + "/no-such-group")
    check("not one of those" in text, text)
    p.end()


@test
def a_user_is_whose_programs_are_meant():
    need_root("another user's program")
    p = Program(program(), "setpriv", f"--reuid={STRANGER}", "--clear-groups")
    q = Program(program())
    a = Attached("-u", STRANGER)
    p.do("emit", 3)
    q.do("emit", 30)
    check_equal(a.end()["processes"], 1, "processes")
    check_equal(a.numbers(), [1, 2, 3], "events")
    p.end()
    q.end()


# ---- where it is ----

def _namespace(*flags):
    where = ["unshare", *flags]
    if run(*where, "true").returncode:
        raise Skip(f"no {' '.join(flags)} here")
    p = Program(program(), *where)
    target = p.pid
    if "--fork" in flags:
        path = f"/proc/{p.pid}/task/{p.pid}/children"
        target = int(pathlib.Path(path).read_text().split()[0])
        check_equal(p.own_pid, 1, "number of the program where it is")
    a = Attached("-p", target)
    p.do("emit", 20)
    a.end()
    p.end()
    check_equal(a.numbers(), list(range(1, 21)), "events")


@test
def a_program_in_another_network_is_attached_to():
    _namespace("--net")


@test
def a_program_with_other_numbers_is_attached_to():
    _namespace("--pid", "--fork")


@test
def a_program_that_mounts_for_itself_is_attached_to():
    _namespace("--mount")


@test
def a_program_in_another_user_namespace_is_attached_to():
    _namespace("--user", "--map-root-user")


# ---- refusals ----

@test
def a_number_that_nobody_has_is_refused():
    p = Program(program())
    p.end()
    text = refusal("-p", p.pid)
    check("there is no process" in text, text)


@test
def a_program_without_libsonde_is_refused_in_one_line():
    p = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    text = refusal("-p", p.pid)
    p.stdin.close()
    p.wait()
    check("no events of libsonde" in text and "cat" in text, text)


@test
def another_users_program_is_refused_with_the_user_in_the_way():
    need_root("being another user")
    p = Program(program())
    directory, me, env = as_stranger()
    r = run(*me, SONDE, "record", "-p", p.pid, "-o", directory / "t", env=env)
    check_equal(r.returncode, 1, r.stderr)
    check("belongs to user 0" in r.stderr and "CAP_SYS_PTRACE" in r.stderr,
          r.stderr)
    p.do("emit", 1)
    p.end()


@test
def a_program_with_a_filter_is_refused_and_lives():
    p = Program(program())
    p.do("cage")
    text = refusal("-p", p.pid)
    check("seccomp" in text and "SONDE_ATTACHABLE" in text, text)
    p.do("emit", 10)
    p.end()


@test
def a_program_whose_filter_allows_it_is_attached_to_if_that_was_said():
    p = Program(program(), env={**os.environ, "SONDE_SECCOMP": "allow"})
    p.do("cage")
    check_equal(ps_row(p.pid)["refused"], None, "what ps says")
    p.process.kill()


# It has a file that is called as arenas are, and isn't one. Says whether
# somebody has opened it meanwhile.
IMPOSTOR = r"""
import os, select, subprocess, sys
where = sys.argv[1]
subprocess.run(["mount", "-t", "tmpfs", "none", where], check=True)
os.mkfifo(where + "/memfd:sonde-arena")
fifo = os.open(where + "/memfd:sonde-arena", os.O_RDONLY | os.O_NONBLOCK)
link = os.open(where + "/memfd:sonde-arena", os.O_PATH)
os.dup2(link, 1000)
subprocess.run(["umount", "-l", where], check=True)
print(os.readlink("/proc/self/fd/1000"), flush=True)
poll = select.poll()
poll.register(fifo, select.POLLHUP)
sys.stdin.readline()
print(poll.poll(0) != [], flush=True)
"""


@test
def what_is_called_an_arena_and_is_none_is_not_opened():
    """A link that another process makes may lead to a device, whose opening
    does things."""
    where = ["unshare", "--user", "--map-root-user", "--mount"]
    if run(*where, "true").returncode:
        raise Skip("no namespaces of users here")
    other = subprocess.Popen(
        [*where, sys.executable, "-c", IMPOSTOR, scratch()], text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    check_equal(other.stdout.readline(), "/memfd:sonde-arena\n", "its name")
    ps_row(other.pid)
    refusal("-p", other.pid)
    out, _ = other.communicate("\n", timeout=TIMEOUT)
    check_equal(out, "False\n", "somebody has opened it")


@test
def a_program_with_a_filter_that_has_mapped_all_is_attached_to():
    p = Program(program(), env={**os.environ, "SONDE_ATTACHABLE": "1"})
    p.do("cage")
    a = Attached("-p", p.pid)
    p.do("emit", 10)
    a.end()
    check_equal(len(a.numbers()), 10, "events")
    p.end()


@test
def a_program_that_closes_what_it_does_not_know_is_attached_to_by_root():
    need_root("/proc/PID/map_files")
    p = Program(program())
    p.do("close")
    check("1000" not in p.descriptors(), "the descriptor is closed")
    a = Attached("-p", p.pid)
    p.do("emit", 10)
    a.end()
    check_equal(len(a.numbers()), 10, "events")
    p.end()


@test
def a_program_that_can_map_no_more_loses_its_events_and_that_is_told():
    skip_if_sanitized("it needs address space itself")
    p = Program(program())
    p.do("poor")
    a = Attached("-p", p.pid)
    p.do("emit", 10)
    summary = a.end()
    check_equal(summary["events_recorded"], 0, "recorded")
    check_equal(summary["events_lost"], 10, "lost")
    check(any("could not map it" in n for n in summary["notes"]), summary)
    p.end()


@test
def what_can_not_be_had_of_a_running_program_is_said():
    p = Program(program())
    for options, word in ((("--filter", "number > 3"), "conditions"),
                          (("-k", "sched"), "--all"),
                          (("--", "true"), "leave one out"),
                          (("--duration", "10"), "unit")):
        r = run(SONDE, "record", "-p", p.pid, *options)
        check_equal(r.returncode, 2, f"status of {options}, {r.stderr}")
        check(word in r.stderr, f"{options}: {r.stderr}")
    p.end()


# ---- sonde ps ----

def ps_row(pid, *options):
    report = json.loads(run(SONDE, "ps", "--json", *options).stdout)
    rows = [r for r in report["processes"] if r["pid"] == pid]
    return rows[0] if rows else None


@test
def ps_lists_programs_and_who_records_them():
    p = Program(program())
    row = ps_row(p.pid)
    check_equal((row["name"], row["events"], row["recorded"], row["refused"]),
                ("emitter", 2, "no", None), "a program")
    a = Attached("-p", p.pid)
    check_equal(ps_row(p.pid)["recorded"], f"by {a.process.pid}", "recorded")
    b = Attached("-p", p.pid)
    check_equal(ps_row(p.pid)["recorded"].count(","), 1, "recorded twice")
    check_equal(ps_row(a.recorder()), None, "the recorder itself")
    b.end()
    os.kill(a.recorder(), signal.SIGKILL)
    a.process.wait(TIMEOUT)
    check_equal(ps_row(p.pid)["recorded"], "by one that was killed", "killed")
    Attached("-p", p.pid).end()
    check_equal(ps_row(p.pid)["recorded"], "no", "afterwards")
    check(str(p.pid) in run(SONDE, "ps").stdout, "not in the table")
    p.end()
    check_equal(ps_row(p.pid), None, "ended")


@test
def ps_names_the_sessions_and_lists_all_if_asked():
    done = subprocess.Popen(["sleep", "1000"])
    try:
        check_equal(ps_row(done.pid), None, "it knows nothing of Sonde")
        note = json.loads(run(SONDE, "ps", "--json").stdout)["notes"]
        check(any("'sonde ps --all'" in n for n in note), note)
        row = ps_row(done.pid, "--all")
        check_equal((row["name"], row.get("events"), row["recorded"]),
                    ("sleep", None, "no"), "--all")
        with Home() as home:
            home.start("night", "-p", done.pid, "--malloc")
            report = json.loads(home.run("ps", "--json").stdout)
            row = [r for r in report["processes"] if r["pid"] == done.pid][0]
            check_equal((row["recorded"], row["refused"]),
                        ("by session night", None), "hooked")
            check(not [r for r in report["processes"]
                       if r["name"].startswith("sonde-")], report)
            home.json("stop", "night")
    finally:
        done.kill()
        done.wait()


@test
def ps_says_what_is_in_the_way():
    p = Program(program())
    p.do("cage")
    check("SONDE_ATTACHABLE" in ps_row(p.pid)["refused"], ps_row(p.pid))
    p.end()


if __name__ == "__main__":
    install()
    main()
