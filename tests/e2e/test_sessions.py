#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_sessions.py - sessions by name: they go on without whoever started them,
are found by everybody whose they are and nobody else, and every event is
accounted for, across snapshots, ends and deaths.

The program does what it is told (obedient.py), so a test knows what it has
emitted and when. Each test has a directory for sockets of its own.
"""

import json
import mmap
import os
import random
import select
import shutil
import signal
import socket
import struct
import subprocess
import time

from home import Home, await_end, check_sum, kill_recorder, numbers, program_at_home
from obedient import TIMEOUT, Program, need_root, program
from sonde import SONDE, Trace, build, check, install, run
from harness import check_equal, main, test

STRANGER = 61236


# ---- a session's life ----

@test
def a_session_goes_on_without_whoever_started_it():
    with program_at_home() as (p, home):
        p.do("emit", 10)
        directory = home.start("night", "-p", p.pid)
        p.do("emit", 1000)
        status = home.json("status", "night")
        check_equal(status["state"], "recording", "state")
        check_equal([q["pid"] for q in status["processes"]], [p.pid],
                    "processes")
        check_equal(status["events"]["emitted"], 1000, "emitted")
        check_sum(status["events"])
        ended = home.json("stop", "night")
        p.do("emit", 10)
        check_equal(ended["summary"]["events_recorded"], 1000, "recorded")
        check_equal(ended["summary"]["events_lost"], 0, "lost")
        check_equal(numbers(Trace(directory)), list(range(11, 1011)), "events")
        check_equal(home.json("status", "night")["state"], "stopped", "state")
        await_end(ended["pid"])


@test
def what_it_is_told_is_what_status_says():
    with program_at_home() as (p, home):
        home.start("a", "-p", p.pid, "--mode", "overwrite", "--memory", "2M")
        home.start("b", "-p", p.pid)
        text = home.ok("status").stdout.splitlines()
        check_equal([line.split()[:3] for line in text[1:]],
                    [["a", "recording", "overwrite"],
                     ["b", "recording", "discard"]], "rows")
        a, b = home.all()
        check_equal(a["memory_bytes"], 2 << 20, "memory")
        check_equal(a["options"][:3], ["-p", str(p.pid), "--mode"], "options")
        check_equal(b["directory"], str(home.traces / "b"), "directory")
        home.ok("destroy", "a")
        check_equal([s["name"] for s in home.all()], ["b"], "sessions")
        home.ok("stop", "b")
        home.ok("destroy", "b")
        check_equal(home.all(), [], "sessions")


@test
def a_machine_of_384_cpus_costs_what_those_write_that_are_busy():
    need_root("showing the recorder another machine's CPUs")
    with program_at_home() as (p, home):
        (home.dir / "cpus").write_text("0-383\n")
        shown = "; ".join(
            f"mount --bind {home.dir}/cpus /sys/devices/system/cpu/{what}"
            for what in ("possible", "online"))
        r = run("unshare", "-m", "sh", "-c", f"{shown}; exec {SONDE} start wide "
                f"-p {p.pid} -o {home.traces}/wide", env=home.env)
        check_equal(r.returncode, 0, r.stderr)
        p.do("each", 200000)
        p.do("threads", 3)
        arena = os.stat(f"/proc/{p.pid}/fd/1000")
        check(arena.st_size > (2 << 20) + 384 * (64 << 10),
              f"there are not as many rings: {arena.st_size} bytes")
        # Three busy ones may have 16 KiB each, and a MiB for all else.
        resident = arena.st_blocks * 512
        check(resident <= 3 * (16 << 10) + (1 << 20), f"{resident} bytes")
        check_sum(home.json("status", "wide")["events"])
        home.ok("destroy", "wide")


FORKER = r"""
#include <sonde/tracepoint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	char line[32];

	while (fgets(line, sizeof(line), stdin)) {
		for (int n = atoi(line); n; n--) {
			if (!fork()) {
				for (int i = 0; i < 10; i++)
					sonde_event(attach, step, i);
				_exit(0);
			}
			wait(NULL);
		}
		puts("done");
		fflush(stdout);
	}
	return 0;
}
"""


def taken(pid):
    """Descriptors, and KiB that are the process's own."""
    status = open(f"/proc/{pid}/status").read()
    return (len(os.listdir(f"/proc/{pid}/fd")),
            int(status.split("RssAnon:")[1].split()[0]))


@test
def any_number_of_short_children_is_recorded():
    p = subprocess.Popen([build(FORKER, "-Wno-unused-result")], text=True,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def children(n):
        print(n, file=p.stdin, flush=True)
        check_equal(p.stdout.readline(), "done\n", "answer")

    with Home() as home:
        home.start("night", "-p", p.pid)
        recorder = home.pid("night")
        children(200)
        before = taken(recorder)
        children(1500)
        after = taken(recorder)
        # One or two are open while the recorder looks at something.
        check(after[0] < before[0] + 20,
              f"descriptors: {before[0]}, {after[0]}")
        check(after[1] < before[1] + 1024, f"KiB: {before[1]}, {after[1]}")
        events = home.json("stop", "night")["events"]
        check_equal((events["emitted"], events["recorded"]), (17000, 17000),
                    f"events {events}")
    p.stdin.close()
    check_equal(p.wait(TIMEOUT), 0, "status of the program")


@test
def a_session_at_rest_is_forgotten_with_any_option():
    with program_at_home() as (p, home):
        for words in ["--json"], ["-q"], ["-q", "--json"]:
            home.start("night", "-p", p.pid)
            p.do("emit", 3)
            home.ok("stop", "night")
            done = home.ok("destroy", *words, "night")
            shutil.rmtree(home.traces / "night")
            check_equal(done.stderr, "", "said")
            if "--json" in words:
                said = json.loads(done.stdout)
                check_equal((said["name"], said["state"],
                             said["events"]["recorded"]),
                            ("night", "stopped", 3), "told")
            check("no session 'night'" in home.complaint("status", "night"),
                  "it is there still")


@test
def a_name_is_one_session():
    with program_at_home() as (p, home):
        home.start("night", "-p", p.pid)
        check("already (recording)" in
              home.complaint("start", "night", "-p", p.pid), "second start")
        home.ok("stop", "night")
        check("already (stopped)" in
              home.complaint("start", "night", "-p", p.pid), "third start")
        check("is stopped" in home.complaint("stop", "night"), "second stop")
        home.ok("destroy", "night")
        home.start("night2", "-p", p.pid)
        check("did you mean 'night2'" in home.complaint("stop", "night1"),
              "no hint")
        home.complaint("start", "../x", "-p", p.pid, status=2)
        home.complaint("start", "night", status=2)
        home.complaint("start", "night", "-p", p.pid, "true", status=2)


@test
def nothing_is_left_of_a_session_that_cannot_start():
    with Home() as home:
        directory = home.traces / "night"
        check("no process 999999999" in home.complaint(
            "start", "night", "-p", "999999999", "-o", directory), "why")
        check(not directory.exists(), "its directory is left")
        check_equal(os.listdir(home.dir / "sonde"), [], "files")


@test
def two_sessions_have_their_own_events_and_accounts():
    with program_at_home() as (p, home):
        a = home.start("a", "-p", p.pid, "-e", "attach:step", "--mode",
                       "overwrite", "--memory", "1M")
        b = home.start("b", "-p", p.pid, "-e", "attach:other")
        first = p.do("emit", 100000) - 100000
        for i in range(5):
            p.do("other", i)
        ended = home.json("stop", "a")
        check_equal(ended["events"]["emitted"], 100000, "emitted to a")
        check_sum(ended["events"])
        check(ended["events"]["overwritten"], "nothing was overwritten")
        kept = numbers(Trace(a))
        check_equal(kept, list(range(first + 100001 - len(kept),
                                     first + 100001)), "the newest")
        p.do("other", 5)
        check_equal(home.json("stop", "b")["events"]["recorded"], 6, "b's")
        check_equal(numbers(Trace(b), "attach:other", "n"), list(range(6)),
                    "b's events")


@test
def a_term_signal_ends_it_with_a_complete_trace():
    with program_at_home() as (p, home):
        directory = home.start("night", "-p", p.pid, "--mode", "overwrite")
        p.do("emit", 300)
        pid = home.pid("night")
        os.kill(pid, signal.SIGTERM)
        await_end(pid)
        status = home.json("status", "night")
        check_equal(status["state"], "stopped", "state")
        check_equal(status["events"]["recorded"], 300, "recorded")
        check_equal(numbers(Trace(directory)), list(range(1, 301)), "events")


@test
def a_session_ends_when_its_processes_have():
    p = Program(program())
    with Home() as home:
        directory = home.start("night", "-p", p.pid)
        pid = home.pid("night")
        p.do("emit", 50)
        p.end()
        await_end(pid)
        status = home.json("status", "night")
        check_equal([status["state"], status["ended"]], ["stopped", "gone"],
                    "state")
        check_equal(numbers(Trace(directory)), list(range(1, 51)), "events")


STAMPER = r"""
#include <sonde/tracepoint.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* A line each: how many it has emitted; those of thread i are i, i + 8 ... */
static volatile unsigned long (*done)[8];

static unsigned long pause_turns;

static void *run(void *arg)
{
	unsigned long i = (unsigned long)arg;

	for (unsigned long n = 0;; n++) {
		for (volatile unsigned long k = 0; k < pause_turns; k++)
			;
		unsigned long number = n * 8 + i;

		sonde_event(stamp, step, number);
		__atomic_store_n(&done[i][0], n + 1, __ATOMIC_SEQ_CST);
	}
	return 0;
}

int main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDWR);
	pthread_t thread;

	(void)argc;
	pause_turns = atoi(argv[2]);
	done = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	for (unsigned long i = 0; i < 3; i++)
		pthread_create(&thread, 0, run, (void *)i);
	pause();
	return 0;
}
"""


class Stamper:
    """Threads at full speed, or with some turns of a loop between two events; how
    many each has emitted by now."""

    def __init__(self, home, turns=0):
        path = home.traces / "stamps"
        path.write_bytes(bytes(4096))
        self.map = mmap.mmap(os.open(path, os.O_RDWR), 4096)
        self.process = subprocess.Popen([build(STAMPER), path, str(turns)])
        while not all(self.now()):
            pass

    def now(self):
        return [struct.unpack_from("Q", self.map, 64 * i)[0]
                for i in range(3)]

    def later(self):
        """Now, when each has emitted some more."""
        now = self.now()
        while any(b < a + 100 for a, b in zip(now, self.now())):
            pass
        return now

    def end(self):
        self.process.kill()
        self.process.wait(TIMEOUT)


@test
def from_start_to_stop_every_event_is_in_the_account():
    told = []
    with Home() as home:
        p = Stamper(home)
        for name in ("a", "b", "c"):
            directory = home.start(name, "-p", p.process.pid, "--memory",
                                   "256k", "--mode", "overwrite")
            started = p.now()
            stopping = p.now()
            events = home.json("stop", name)["events"]
            told.append((directory, started, stopping, events, p.now()))
        p.end()  # it needs all CPUs
        for directory, started, stopping, events, stopped in told:
            check_sum(events)
            # Of each thread one event may have been on its way.
            check(events["emitted"] >= sum(b - a - 1 for a, b in
                                           zip(started, stopping)),
                  f"{events}: from {started} to {stopping}")
            found = numbers(Trace(directory), "stamp:step")
            check_equal(len(found), events["recorded"], "recorded")
            for n in found:
                check(n // 8 <= stopped[n % 8], f"{n}: after stop {stopped}")


@test
def a_session_is_made_of_another_ones_file():
    with program_at_home() as (p, home):
        home.ok("start", "night", "-p", p.pid, "--mode=overwrite", "-e", "x:*",
                "--memory", "2M", "--loglevel", "err", "-o",
                home.traces / "night", "--")
        home.ok("change", "night", "-e", "attach:*", "--exclude", "*:other",
                "--exclude=--odd", "--loglevel", "debug", "--memory", "4M")
        file = home.traces / "session.json"
        file.write_text(home.ok("status", "night", "--as-file").stdout)
        check_equal(json.loads(file.read_text()),
                    {"sonde": 1,
                     "options": ["-p", str(p.pid), "--mode=overwrite",
                                 "--event", "attach:*", "--exclude", "*:other",
                                 "--exclude=--odd", "--loglevel", "14",
                                 "--memory",
                                 str(4 << 20)]}, "file")
        home.start("again", "-f", file, "--ctf", "2")
        p.do("emit", 10)
        p.do("other", 1)
        ended = home.json("stop", "again")
        check_equal([ended["mode"], ended["memory_bytes"],
                     ended["events"]["recorded"]],
                    ["overwrite", 4 << 20, 10], "as it was")
        check("not a session's file" in
              home.complaint("start", "x", "-f", "/dev/null"), "an empty file")
        check("No such file" in home.complaint("start", "x", "--file=none"),
              "no file")
        home.complaint("start", "x", "-f", status=1)
        home.complaint("status", "--as-file", status=2)


@test
def what_is_no_sessions_file_is_refused():
    with program_at_home() as (p, home):
        home.start("night", "-p", p.pid)
        file = home.traces / "session.json"
        for text, why in (
                (home.ok("status", "night", "--json").stdout, "--as-file"),
                ('{"sonde": 1, "options": ["-a"], "option": []}', "'option'"),
                ('{"options": ["-a"]}', "not a session's file"),
                ('{"sonde": 2, "options": ["-a"]}', "not a session's file"),
                ('{"sonde": 1, "options": ["-a", 1]}',
                 "not a session's file"),
                ('{"sonde": 1, "options": "-a"}', "not a session's file")):
            file.write_text(text)
            check(why in home.complaint("start", "x", "-f", file), text)
        check_equal([s["name"] for s in home.all()], ["night"], "sessions")


@test
def words_that_a_sessions_file_cannot_hold_are_refused():
    p = Program(program())
    odd = os.fsdecode(b"odd\xff")
    with Home() as home:
        check("UTF-8" in home.complaint("start", "night", "-p", p.pid, "-e",
                                        odd, status=2),
              "a word")
        check("UTF-8" in home.complaint("start", "night", "-p", p.pid, "-o",
                                        home.traces / odd, status=2),
              "a directory")
        (home.traces / odd).mkdir()
        home.traces /= odd
        check("UTF-8" in home.complaint("start", "night", "-p", p.pid, "-o",
                                        "night"), "where it is")
        home.traces = home.traces.parent
        check_equal(os.listdir(home.traces / odd), [], "what is left")
        check_equal(home.all(), [], "sessions")
        home.start("night", "-p", p.pid, "-e", "\u00e9*")
        check_equal(home.json("status", "night")["options"][3], "\u00e9*",
                    "word")
    p.end()


# ---- changes ----

@test
def a_change_decides_about_every_event_from_then_on():
    with program_at_home() as (p, home):
        directory = home.start("night", "-p", p.pid, "-e", "attach:step")
        p.do("emit", 10)
        p.do("other", 1)
        home.ok("change", "night", "-e", "attach:other")
        p.do("emit", 10)
        p.do("other", 2)
        home.ok("change", "night", "--exclude", "*:other")
        p.do("emit", 10)
        p.do("other", 3)
        status = home.json("change", "night", "-e", "*")
        check_equal(status["rules"], ["+*"], "rules")
        p.do("emit", 10)
        p.do("other", 4)
        ended = home.json("stop", "night")
        check_equal(ended["events"]["recorded"], 32, "recorded")
        check_sum(ended["events"])
        trace = Trace(directory)
        check_equal(numbers(trace), [*range(1, 11), *range(21, 41)], "steps")
        check_equal(numbers(trace, "attach:other", "n"), [2, 4], "others")


@test
def what_was_recorded_before_a_change_can_be_read_after_it():
    with program_at_home() as (p, home):
        first = home.start("night", "-p", p.pid, "--mode", "overwrite")
        p.do("emit", 10)
        p.do("other", 1)
        home.ok("change", "night", "-e", "attach:other")
        trace, _ = home.snapshot("night")
        check_equal(numbers(trace), list(range(1, 11)), "in a snapshot")
        kill_recorder(home, "night")
        p.do("emit", 10)
        p.do("other", 2)
        status = home.json("status", "night")
        check_equal(status["rules"], ["+attach:other"], "rules taken over")
        p.do("emit", 10)
        home.ok("change", "night", "-e", "attach:step")
        p.do("emit", 10)
        ended = home.json("stop", "night")
        check(ended["directory"] != str(first), "not taken over")
        trace = Trace(ended["directory"])
        check_equal(numbers(trace), [*range(1, 11), *range(31, 41)], "steps")
        check_equal(numbers(trace, "attach:other", "n"), [1, 2], "others")


def oldest_of_all_rings(kept):
    """Of each thread, the number from which on all its events are kept. One that
    comes to another CPU may leave old ones in a ring where nothing happens any
    more, and newer ones in a ring that goes round: so only those count that are
    as new as the first of every ring."""
    first = {}
    for event in kept:  # in the order of time
        first.setdefault(event.cpu, event.time)
    since = max(first.values())
    return [min([e["number"] // 8 for e in kept
                 if e["number"] % 8 == i and e.time > since],
                default=1 << 60) for i in range(3)]


@test
def when_a_change_returns_every_probe_obeys_it():
    with Home() as home:
        # As fast as the rings hold what happens between two changes.
        p = Stamper(home, 2000)
        directory = home.start("night", "-p", p.process.pid, "--mode",
                               "overwrite")
        off, on = [], []
        for _ in range(4):
            before = p.now()
            home.ok("change", "night", "-e", "none:*")
            off.append((before, p.later()))
            before = p.now()
            home.ok("change", "night", "-e", "stamp:*")
            on.append((before, p.later()))
        last = p.now()
        events = home.json("stop", "night")["events"]
        p.end()
        check_sum(events)
        check(not events["discarded"], f"{events}")
        kept = Trace(directory).events("stamp:step")
        check_equal(len(kept), events["recorded"], "recorded")
        # A lane that is used late begins late, and says nothing of the others.
        oldest = (oldest_of_all_rings(kept) if events["overwritten"] else
                  [0, 0, 0])
        found = {e["number"] for e in kept}
        nr_wanted = 0
        for i in range(3):
            for (_, gone), (back, came), following in zip(
                    off, on, [o[0] for o in off[1:]] + [last]):
                # One may have been on its way.
                check(not any(n * 8 + i in found
                              for n in range(gone[i] + 1, back[i])),
                      f"recorded after it was deselected: {gone[i]}")
                wanted = range(max(came[i] + 1, oldest[i]), following[i])
                nr_wanted += len(wanted)
                missing = [n for n in wanted if n * 8 + i not in found]
                check(not missing, f"thread {i}: {missing[:5]} from {came[i]}")
        check(nr_wanted or events["overwritten"], "nothing of it is kept")


@test
def a_budget_is_changed_for_those_who_come():
    with program_at_home() as (p, home):
        home.start("night", "-p", "emitter", "--memory", "2M")
        status = home.json("change", "night", "--memory", "16M")
        check_equal(status["memory_bytes"], 16 << 20, "memory")
        check("of rings" in home.complaint("change", "night", "--memory",
                                           "64k"), "less than there is")
        check("what?" in home.complaint("change", "night", status=2), "nothing")
        home.complaint("change", "night", "-e", "a:b if x > 1", status=2)
        p.do("emit", 10)
        check_equal(home.json("stop", "night")["events"]["recorded"], 10,
                    "recorded")


# ---- clearing ----

@test
def what_is_cleared_is_dropped_and_counted():
    with program_at_home() as (p, home):
        home.start("night", "-p", p.pid, "--mode", "overwrite")
        home.ok("clear", "night")
        p.do("emit", 500)
        status = home.json("clear", "night")
        check_equal([status["events"][k] for k in ("emitted", "cleared",
                                                   "held")],
                    [500, 500, 0], "events")
        home.ok("clear", "night")
        p.do("emit", 20)
        trace, events = home.snapshot("night")
        check_equal(numbers(trace), list(range(501, 521)), "in a snapshot")
        check_equal([events["emitted"], events["recorded"]], [20, 20],
                    "its account")
        kill_recorder(home, "night")
        p.do("emit", 5)
        check_equal(home.json("status", "night")["events"]["held"], 25,
                    "held after a takeover")
        home.ok("clear", "night")
        p.do("emit", 5)
        ended = home.json("stop", "night")
        check_sum(ended["events"])
        check_equal(ended["events"]["emitted"], 530, "emitted")
        check_equal(numbers(Trace(ended["directory"])), list(range(526, 531)),
                    "events")


@test
def a_takeover_of_cleared_rings_finds_nothing_in_them():
    with program_at_home() as (p, home):
        home.start("night", "-p", p.pid, "--mode", "overwrite")
        p.do("emit", 500)
        home.ok("clear", "night")
        kill_recorder(home, "night")
        status = home.json("status", "night")
        check_equal([status["events"][k] for k in ("emitted", "cleared",
                                                   "held")],
                    [500, 500, 0], "events")
        ended = home.json("stop", "night")
        check_sum(ended["events"])
        check_equal(numbers(Trace(ended["directory"])), [], "events")


@test
def clearing_at_full_speed_keeps_the_account():
    with Home() as home:
        p = Stamper(home)
        directory = home.start("night", "-p", p.process.pid, "--mode",
                               "overwrite", "--memory", "2M")
        started = p.now()
        for _ in range(20):
            before = p.now()
            home.ok("clear", "night")
        stopping = p.now()
        events = home.json("stop", "night")["events"]
        p.end()
        check_sum(events)
        check(events["emitted"] >= sum(b - a - 1 for a, b in
                                       zip(started, stopping)),
              f"{events}: from {started} to {stopping}")
        found = numbers(Trace(directory), "stamp:step")
        check_equal(len(found), events["recorded"], "recorded")
        check(events["cleared"], "nothing was cleared")
        for n in found:
            check(n // 8 >= before[n % 8], f"{n} was cleared: {before}")


@test
def only_what_is_in_memory_can_be_cleared():
    with program_at_home() as (p, home):
        home.start("night", "-p", p.pid)
        check("--mode overwrite" in home.complaint("clear", "night"), "why not")


# ---- pinned events ----

PIN = ("--pin", "attach:other")


def others(trace):
    return numbers(trace, "attach:other", "n")


@test
def what_is_pinned_is_kept_while_a_flood_is_overwritten():
    with program_at_home() as (p, home):
        directory = home.start("night", "-p", p.pid, "--mode", "overwrite",
                               "--memory", "1M", *PIN)
        for i in range(5):
            p.do("other", i)
            p.do("emit", 100000)
        status = home.json("status", "night")["events"]
        check_equal([status["emitted"], status["discarded"]], [500005, 0],
                    "emitted")
        check(status["overwritten"], "nothing was overwritten")
        trace, events = home.snapshot("night")
        check_sum(events)
        check_equal(others(trace), list(range(5)), "in a snapshot")
        p.do("other", 5)
        # Changed and cleared is all but that.
        home.ok("change", "night", "-e", "attach:step", "--exclude", "*:other")
        home.ok("clear", "night")
        p.do("emit", 10)
        p.do("other", 6)
        ended = home.json("stop", "night")["events"]
        check_sum(ended)
        check_equal(ended["emitted"], 500017, "emitted")
        trace = Trace(directory)
        check_equal(others(trace), list(range(7)), "at the end")
        check_equal(numbers(trace), list(range(500001, 500011)), "all else")
        check_equal(len(trace.events()), ended["recorded"], "recorded")


@test
def what_is_pinned_is_in_its_place_among_all_else():
    with program_at_home() as (p, home):
        directory = home.start("day", "-p", p.pid, *PIN, "-e", "attach:step")
        for i in range(3):
            p.do("emit", 2)
            p.do("other", i)
        check_equal(home.json("stop", "day")["events"]["recorded"], 9,
                    "recorded")
        check_equal([e.get("number", e.get("n")) for e in
                     Trace(directory).events()],
                    [1, 2, 0, 3, 4, 1, 5, 6, 2], "order")


@test
def more_pinned_events_than_there_is_room_for_are_counted():
    with program_at_home() as (p, home):
        directory = home.start("night", "-p", p.pid, "--mode", "overwrite",
                               "--memory", "256K", "--pin", "attach:step")
        p.do("other", 1)
        p.do("emit", 100000)
        p.do("other", 2)
        ended = home.json("stop", "night")["events"]
        check_sum(ended)
        check_equal([ended["emitted"], ended["overwritten"]], [100002, 0],
                    "emitted")
        check(ended["discarded"], "nothing was discarded")
        trace = Trace(directory)
        check_equal(others(trace), [1, 2], "others")
        found = numbers(trace)
        check_equal(len(found), ended["recorded"] - 2, "recorded")
        check_equal(found[0], 1, "the oldest")
        check_equal(trace.discarded(), ended["discarded"], "the trace says so")


@test
def what_is_pinned_outlives_the_recorder():
    with program_at_home() as (p, home):
        home.start("night", "-p", p.pid, "--mode", "overwrite", "--memory",
                   "1M", *PIN)
        p.do("other", 1)
        p.do("emit", 100000)
        kill_recorder(home, "night")
        p.do("other", 2)
        p.do("emit", 100000)
        status = home.json("status", "night")["events"]
        check_equal(status["emitted"], 200002, "emitted after a takeover")
        p.do("other", 3)
        ended = home.json("stop", "night")
        check_sum(ended["events"])
        check_equal(ended["events"]["emitted"], 200003, "emitted")
        check_equal(others(Trace(ended["directory"])), [1, 2, 3], "others")


@test
def pinning_needs_a_slot():
    with program_at_home() as (p, home):
        for i in range(3):
            home.start(f"s{i}", "-p", p.pid)
        check("slots" in home.complaint("start", "s3", "-p", p.pid, *PIN),
              "why")
        home.start("s3", "-p", p.pid)
        home.complaint("start", "x", "-p", p.pid, "--pin", "", status=2)


# ---- snapshots ----

@test
def a_snapshot_has_what_the_rings_hold_and_the_session_goes_on():
    with program_at_home() as (p, home):
        directory = home.start("night", "-p", p.pid, "--mode", "overwrite")
        for last in (500, 1200, 1201):
            p.do("emit", last - p.do("emit", 0))
            trace, events = home.snapshot("night")
            check_equal(numbers(trace), list(range(1, last + 1)), "events")
            check_equal(events["recorded"], last, "recorded")
            status = home.json("status", "night")
            check_equal(status["events"]["held"], last, "held")
            check_sum(status["events"])
        home.ok("stop", "night")
        check_equal(numbers(Trace(directory)), list(range(1, 1202)), "events")


@test
def the_last_seconds_of_what_the_rings_hold_are_a_snapshot():
    with program_at_home() as (p, home):
        home.start("night", "-p", p.pid, "--mode", "overwrite")
        for _ in range(20):
            p.do("emit", 5)
            home.ok("status", "night")  # which takes as long as asking does
        whole, _ = home.snapshot("night")
        times = [event.time for event in whole.events()]
        begin = time.time_ns()
        last_us = (begin - times[50]) // 1000
        told = home.json("snapshot", "night", "--last", f"{last_us}us", "-o",
                         home.traces / "part")
        end = time.time_ns()
        part = numbers(Trace(home.traces / "part"))
        check(part, "nothing is in it")
        check_equal(part, list(range(1, 101))[-len(part):], "the last of them")
        # It was asked for between these two, of the same clock, which is measured
        # anew for each snapshot, by some microseconds.
        slack = 10**6
        check(sum(at >= end - 1000 * last_us + slack for at in times) <=
              len(part), "what is in the span isn't there")
        check(times[-len(part)] >= begin - 1000 * last_us - (end - begin) -
              slack, "more than that is there")
        check_equal((told["last_ns"], told["last_events"], told["missing_ns"],
                     told["directory"]),
                    (1000 * last_us, len(part), 0, str(home.traces / "part")),
                    "what is said")
        # Nothing is as new as that; the session isn't as old as that.
        none = home.json("snapshot", "night", "--last", "1us", "-o",
                         home.traces / "none")
        check_equal(none["last_events"], 0, "of a microsecond")
        done = home.ok("snapshot", "night", "--last", "24h", "-o",
                       home.traces / "all")
        check("100 events of the last 24h" in done.stdout, done.stdout)
        check("not all is in it: the rings don't reach back" in done.stderr,
              done.stderr)
        check_equal(sorted(path.name for path in home.traces.glob("*.whole")),
                    [], "what is left")
        home.complaint("snapshot", "night", "--last", "soon", status=2)


@test
def a_snapshot_can_be_read_by_itself():
    with program_at_home() as (p, home):
        home.start("night", "-p", p.pid, "--mode", "overwrite")
        p.do("emit", 5)
        trace, _ = home.snapshot("night")
        state = trace.events(contexts=True)
        names = [e["procname"] for e in state if e.name == "sonde:name"]
        check_equal(names, ["emitter"], "names of threads")
        paths = {e["path"] for e in state if e.name == "sonde:mapping"}
        check(program() in paths, f"its program is not in {paths}")
        shown = run(SONDE, "check", trace.dir)
        check_equal(shown.returncode, 0, f"sonde check: {shown.stdout}")


def run_on(home, last):
    """Returns when the program has made events behind number `last`: a machine
    that others keep busy may have had no time for it."""
    while home.json("status", "night")["events"]["emitted"] <= last:
        pass


@test
def snapshots_at_full_speed_have_no_gap():
    with program_at_home() as (p, home):
        home.start("night", "-p", p.pid, "--mode", "overwrite", "--memory",
                   "256k")
        p.do("run")
        last = 0
        for _ in range(5):
            run_on(home, last)
            trace, events = home.snapshot("night")
            found = numbers(trace)
            # The thread may move between CPUs, whose rings are of one size:
            # of the older ring less is overwritten. So gaps are between
            # streams, never inside what one of them holds.
            by_cpu = {}
            for e in trace.events("attach:step"):
                by_cpu.setdefault(e.cpu, []).append(e["number"])
            for cpu, held in by_cpu.items():
                check_equal(held, sorted(held), f"order on CPU {cpu}")
            check_equal(len(found), events["recorded"], "recorded")
            check_equal(len(set(found)), len(found), "twice")
            check(found and found[-1] > last,
                  f"nothing newer than {last}: {found[-3:]}")
            # All that was emitted up to the last one is in the account.
            check(events["recorded"] + events["overwritten"] +
                  events["discarded"] >= found[-1], f"{events}")
            last = found[-1]
        p.do("halt")
        total = p.do("emit", 0)
        status = home.json("status", "night")
        check_equal(status["events"]["emitted"], total, "emitted")
        check_sum(status["events"])
        ended = home.json("stop", "night")
        check_equal(ended["events"]["emitted"], total, "emitted at the end")
        check_sum(ended["events"])


@test
def a_snapshot_is_of_overwrite_mode():
    with program_at_home() as (p, home):
        home.start("night", "-p", p.pid)
        check("--mode overwrite" in home.complaint("snapshot", "night"),
              "why not")
        check_equal(sorted(os.listdir(home.traces)), ["night"],
                    "directories that are left")


# ---- deaths ----

@test
def clients_that_are_killed_harm_nothing():
    with program_at_home() as (p, home):
        directory = home.start("night", "-p", p.pid, "--mode", "overwrite")
        p.do("emit", 100)
        for i in range(20):
            words = ["snapshot", "night", "-o", home.traces / f"s{i}"] \
                if i % 2 else ["status", "night"]
            client = home.popen(*words)
            client.send_signal((signal.SIGKILL, signal.SIGINT)[i % 4 > 1])
            client.communicate(timeout=TIMEOUT)
        check_equal(home.json("status", "night")["events"]["held"], 100,
                    "held")
        home.ok("stop", "night")
        check_equal(numbers(Trace(directory)), list(range(1, 101)), "events")


@test
def the_terminal_that_started_it_has_no_hold_on_it():
    with program_at_home() as (p, home):
        master, slave = os.openpty()
        client = home.popen("start", "night", "-p", p.pid, "-o",
                            home.traces / "night", start_new_session=True,
                            stdin=slave)
        os.close(slave)
        check_equal(client.wait(TIMEOUT), 0, "status")
        # Its output ends with it: nobody else has it.
        client.communicate(timeout=TIMEOUT)
        try:
            os.killpg(client.pid, signal.SIGINT)
            os.killpg(client.pid, signal.SIGHUP)
        except ProcessLookupError:
            pass
        os.close(master)
        p.do("emit", 10)
        pid = home.pid("night")
        check_equal(os.readlink(f"/proc/{pid}/fd/2"), "/dev/null", "stderr")
        check_equal(os.readlink(f"/proc/{pid}/cwd"), "/", "directory")
        check_equal(home.json("stop", "night")["events"]["recorded"], 10,
                    "recorded")


@test
def a_recorder_that_was_killed_is_told_of():
    with program_at_home() as (p, home):
        home.start("night", "-p", p.pid)
        pid = home.pid("night")
        os.kill(pid, signal.SIGKILL)
        await_end(pid)
        check_equal(home.json("status", "night")["state"], "died", "state")
        check("was killed" in home.complaint("stop", "night"), "stop")
        check("was killed" in home.complaint("snapshot", "night"), "snapshot")
        home.ok("destroy", "night")
        check_equal(home.all(), [], "sessions")
        check_equal(os.listdir(home.dir / "sonde"), [], "files")
        home.ok("start", "night", "-p", p.pid)
        p.do("emit", 3)
        check_equal(home.json("stop", "night")["events"]["recorded"], 3,
                    "recorded")


@test
def a_flight_recorder_that_was_killed_is_taken_over_and_nothing_is_lost():
    with program_at_home() as (p, home):
        p.do("emit", 5)
        home.start("night", "-p", p.pid, "--mode", "overwrite")
        p.do("emit", 100)
        kill_recorder(home, "night")
        p.do("emit", 1000)
        # The next command that meets it.
        trace, events = home.snapshot("night")
        check_equal(numbers(trace), list(range(6, 1106)), "events")
        check_equal(events["recorded"], 1100, "recorded")
        kill_recorder(home, "night")
        p.do("emit", 10)
        status = home.json("status", "night")
        check_equal(status["state"], "recording", "state")
        check_equal(status["events"]["emitted"], 1110, "emitted")
        check_sum(status["events"])
        kill_recorder(home, "night")
        ended = home.json("stop", "night")
        check_equal(ended["events"]["recorded"], 1110, "recorded at the end")
        check_equal(numbers(Trace(ended["directory"])),
                    list(range(6, 1116)), "events at the end")


@test
def a_session_that_waits_for_its_recorder_keeps_its_place():
    with program_at_home() as (p, home):
        home.start("night", "-p", p.pid, "--mode", "overwrite")
        p.do("emit", 20)
        kill_recorder(home, "night")
        # Others come and go meanwhile.
        for i in range(3):
            home.start(f"other{i}", "-p", p.pid)
            p.do("emit", 10)
            check_equal(home.json("stop", f"other{i}")["events"]["recorded"],
                        10, "recorded by another")
        check_equal(home.json("stop", "night")["events"]["recorded"], 50,
                    "recorded")


@test
def a_takeover_at_full_speed_keeps_the_account():
    with program_at_home() as (p, home):
        home.start("night", "-p", p.pid, "--mode", "overwrite", "--memory",
                   "256k")
        p.do("run")
        for _ in range(5):
            kill_recorder(home, "night")
            trace, events = home.snapshot("night")
            found = numbers(trace)
            check_equal(len(found), events["recorded"], "recorded")
            check_equal(len(set(found)), len(found), "twice")
        p.do("halt")
        total = p.do("emit", 0)
        kill_recorder(home, "night")
        ended = home.json("stop", "night")
        check_equal(ended["events"]["emitted"], total, "emitted")
        check_sum(ended["events"])


@test
def whoever_is_killed_at_random_the_account_is_exact():
    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    print(f"seed {seed}")
    with program_at_home() as (p, home):
        first = p.do("emit", 1)
        home.start("night", "-p", p.pid, "--mode", "overwrite", "--memory",
                   "1M")
        for i in range(60):
            p.do("emit", rng.randrange(3000))
            what = rng.randrange(4)
            if what == 0:
                kill_recorder(home, "night")
            elif what == 1:
                home.snapshot("night")
            elif what == 2:  # a client, at some moment of its life
                client = home.popen(
                    *rng.choice([["status"], ["snapshot", "night"]]))
                select.select([], [], [], rng.random() * 0.02)
                client.kill()
                client.communicate(timeout=TIMEOUT)
            else:  # one that starts another session
                client = home.popen("start", f"other{i}", "-p", p.pid, "-e",
                                    "attach:other")
                select.select([], [], [], rng.random() * 0.06)
                client.kill()
                client.communicate(timeout=TIMEOUT)
                # It is there as a whole, or not at all.
                r = home.run("destroy", f"other{i}")
                check(r.returncode == 0 or "no session" in r.stderr,
                      f"seed {seed}: {r.stderr}")
        total = p.do("emit", 1) - first
        ended = home.json("stop", "night")
        check_equal(ended["events"]["emitted"], total, f"seed {seed}: emitted")
        check_sum(ended["events"])
        # Forgetting it takes away what those who were killed have left, too.
        home.ok("destroy", "night")
        check_equal(os.listdir(home.dir / "sonde"), [], f"seed {seed}: files")


def work(p, rng):
    """Something that emits: in threads, in a signal's handler, in a child."""
    what = rng.randrange(8)
    if what == 0:
        p.do("threads", 1 + rng.randrange(4))
    elif what == 1:
        p.do("tick", 0)
        p.do("fork", 0)  # it counts what the child emits
    elif what == 2:
        p.do("tick", 500)
    elif what == 3:
        p.do("tick", 0)
    p.do("emit", rng.randrange(3000))


def meddle(home, rng):
    """With a session that goes on."""
    what = rng.randrange(6)
    if what == 0:
        home.ok("clear", "night")
    elif what == 1:
        home.snapshot("night")
    elif what == 2:
        home.ok("change", "night", "-e", rng.choice(["*", "attach:*", "step"]))
    elif what == 3:
        name = f"other{rng.randrange(1 << 32)}"
        home.start(name, "-p", home.target, "--mode",
                   rng.choice(["overwrite", "discard"]), "--memory", "512k")
        home.ok("change", name, "--exclude", "attach:step")
        home.ok("destroy", name)
    elif what == 4:
        kill_recorder(home, "night")
    else:
        home.ok("status", "night")


@test
def whatever_is_done_to_a_session_its_account_is_exact():
    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    print(f"seed {seed}")
    with program_at_home() as (p, home):
        home.target = p.pid
        p.do("each", 500)
        home.start("night", "-p", p.pid, "--mode", "overwrite", "--memory",
                   "1M")
        unseen = 0
        for i in range(40):
            work(p, rng)
            meddle(home, rng)
            if i % 8 == 7:
                p.do("tick", 0)
                before = p.do("emit", 0)
                home.ok("change", "night", "-e", "attach:other")
                unseen += p.do("emit", 1000) - before
                home.ok("change", "night", "-e", "*")
        p.do("tick", 0)
        total = p.do("emit", 1) - unseen
        ended = home.json("stop", "night")
        check_sum(ended["events"])
        check_equal(ended["events"]["emitted"], total, f"seed {seed}: emitted")
        found = numbers(Trace(ended["directory"]))
        check_equal(len(found), ended["events"]["recorded"],
                    f"seed {seed}: recorded")
        check_equal(len(set(found)), len(found), f"seed {seed}: twice")


@test
def a_program_that_is_killed_leaves_a_whole_trace():
    p = Program(program())
    with Home() as home:
        directory = home.start("night", "-p", p.pid, "--mode", "overwrite")
        pid = home.pid("night")
        total = p.do("emit", 700)
        p.process.kill()
        p.process.wait(TIMEOUT)
        await_end(pid)
        status = home.json("status", "night")
        check_equal(status["events"]["recorded"], total, "recorded")
        check_equal(numbers(Trace(directory)), list(range(1, total + 1)),
                    "events")


# ---- whose it is ----

@test
def an_ordinary_user_has_sessions():
    need_root("becoming another user")
    shutil.copy(program(), "/tmp/sonde-test-emitter")
    p = Program("/tmp/sonde-test-emitter", user=STRANGER, group=STRANGER,
                extra_groups=[])
    with Home(user=STRANGER) as home:
        home.start("night", "-p", p.pid, "--mode", "overwrite")
        p.do("emit", 20)
        trace, events = home.snapshot("night")
        check_equal(events["recorded"], 20, "recorded")
        check_equal(numbers(trace), list(range(1, 21)), "events")
        home.ok("stop", "night")
    p.end()
    os.unlink("/tmp/sonde-test-emitter")


@test
def another_user_can_not_reach_a_session():
    need_root("becoming another user")
    with program_at_home() as (p, home):
        home.start("night", "-p", p.pid)
        ask = ("import socket,sys; s = socket.socket(socket.AF_UNIX); "
               "s.connect(sys.argv[1]); s.sendall(b'{\"sonde\": 1, \"do\": "
               "\"stop\"}\\n'); print(s.recv(100))")
        words = ["python3", "-c", ask, home.socket("night")]
        as_stranger = {"user": STRANGER, "group": STRANGER,
                       "extra_groups": []}
        check("PermissionError" in run(*words, **as_stranger).stderr,
              "it may connect")
        # Even if somebody opened the door.
        for path in (home.dir, home.dir / "sonde", home.socket("night")):
            os.chmod(path, 0o777)
        r = run(*words, **as_stranger)
        check(r.stdout == "b''\n" or "ConnectionResetError" in r.stderr
              or "BrokenPipe" in r.stderr, f"answered {r.stdout} {r.stderr}")
        os.chmod(home.dir / "sonde", 0o700)
        os.chmod(home.dir, 0o700)
        check_equal(home.json("status", "night")["state"], "recording",
                    "state")


def say(home, name, data):
    """What it answers to these bytes."""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(TIMEOUT)
        s.connect(home.socket(name))
        try:
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it has heard enough; what it answered is there to read
        out = b""
        try:
            while got := s.recv(65536):
                out += got
        except ConnectionResetError:
            pass
        return out


@test
def whatever_is_asked_it_goes_on():
    with program_at_home() as (p, home):
        home.start("night", "-p", p.pid)
        for request in (b"\n", b"x\n", b"[]\n", b"{}\n", b"{\n",
                        b"\0\n", b"\xff\xfe\n", b'{"sonde": 1}\n',
                        b'{"sonde": 2, "do": "stop"}\n',
                        b'{"sonde": 1, "do": "halt"}\n',
                        b'{"sonde": 1, "do": 7}\n',
                        b'{"sonde": 1, "do": "stop\\u0000"}\n',
                        b'{"sonde": 1, "do": "snapshot"}\n',
                        b'{"sonde": 1, "do": "snapshot", '
                        b'"directory": "here"}\n',
                        b"[" * 4000 + b"\n", b"x" * 100000 + b"\n"):
            answer = json.loads(say(home, "night", request).splitlines()[0])
            check_equal(answer["ok"], False, f"{request[:60]}")
            check(answer["error"], f"{request[:60]}: no reason")
        check_equal(say(home, "night", b'{"sonde": 1, "do": "stop"}'), b"",
                    "half a line")
        two = say(home, "night", b'{"sonde": 1, "do": "status"}\n' * 2)
        check_equal([json.loads(a)["ok"] for a in two.splitlines()],
                    [True, True], "two at once")
        crowd = []
        for _ in range(40):
            crowd.append(socket.socket(socket.AF_UNIX))
            crowd[-1].connect(home.socket("night"))
        p.do("emit", 9)
        check_equal(home.json("status", "night")["events"]["emitted"], 9,
                    "emitted")
        for s in crowd:
            s.close()
        check_equal(home.json("stop", "night")["events"]["recorded"], 9,
                    "recorded")


if __name__ == "__main__":
    install()
    main()
