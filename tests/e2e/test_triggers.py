#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_triggers.py - what a session does when an event happens: a snapshot by
`sonde_snapshot()` or --when, an end, a command, a word to those who wait. It is
done once for what is too much, and all is counted.

The program does what it is told, and tells when it is done. Whoever waits is heard
before the event, as the answer to a question before it says.
"""

import json
import os
import shutil
import signal
import subprocess

from home import Home, await_end, numbers, waiter
from obedient import PROGRAM, TIMEOUT, Program
from sonde import Trace, build, check, install
from harness import Skip, check_equal, main, test

ASKS = PROGRAM.replace('''	else if (!strcmp(word, "other"))
''', '''	else if (!strcmp(word, "ask"))
		while (n--)
			sonde_snapshot("slow-request");
	else if (!strcmp(word, "begin"))
		sonde_event(attach, open, n);
	else if (!strcmp(word, "finish"))
		sonde_event(attach, close, n);
	else if (!strcmp(word, "other"))
''')


def asking():
    return build(ASKS, "-Wno-unused-result", name="asker")


def trigger(home, name, i=0):
    return home.json("status", name)["triggers"][i]


@test
def a_program_asks_for_a_snapshot():
    p = Program(asking())
    with Home() as home:
        directory = home.start("night", "-p", p.pid, "--mode", "overwrite")
        p.do("emit", 100)
        with waiter(home, "night") as answer:
            p.do("ask", 1)
            said = answer()
        check_equal((said["event"], said["pid"], said["done"]),
                    ("sonde_snapshot:slow-request", p.pid, "snapshot"), "said")
        check_equal(said["directory"], f"{directory}-slow-request-1", "where")
        trace = Trace(said["directory"])
        check_equal(numbers(trace), list(range(1, 101)), "events")
        check_equal(len(list(trace.events("sonde_snapshot:slow-request"))), 1,
                    "the event")
        check_equal(trigger(home, "night"),
                    {"when": "sonde_snapshot:*", "do": "snapshot",
                     "happened": 1, "done": 1, "failed": 0,
                     "held_back": 0}, "counted")
        summary = home.json("stop", "night")["summary"]
        check(any("happened 1 time" in n for n in summary["notes"]),
              str(summary["notes"]))
        check_equal(summary["events_recorded"], 101, "recorded")
    p.end()


@test
def what_a_program_asks_for_as_the_last_thing_is_done():
    p = Program(asking())
    with Home() as home:
        directory = home.start("night", "-p", p.pid, "--mode", "overwrite")
        recorder = home.pid("night")
        p.do("emit", 10)
        p.process.stdin.write("ask 1\nend\n")
        p.process.stdin.flush()
        check_equal(p.process.wait(TIMEOUT), 0, "status of the program")
        await_end(recorder)
        check_equal(numbers(Trace(f"{directory}-slow-request-1")),
                    list(range(1, 11)), "in the snapshot")
        check_equal(home.json("status", "night")["ended"], "gone", "ended")


@test
def asking_calls_nobody():
    if not shutil.which("strace"):
        raise Skip("there is no strace")
    p = Program(asking())
    with Home() as home:
        out = home.dir / "calls"
        home.start("night", "-p", p.pid, "--mode", "overwrite")
        p.do("ask", 1)  # it meets the memory
        strace = subprocess.Popen(
            ["strace", "-o", out, "-p", str(p.pid)], stderr=subprocess.PIPE,
            text=True)
        check("attached" in strace.stderr.readline(), "strace")
        p.do("ask", 1000)
        strace.terminate()
        strace.communicate(timeout=TIMEOUT)
        calls = {line.split("(")[0] for line in out.read_text().splitlines()
                 if "(" in line}
        check_equal(calls - {"read", "write", "restart_syscall"}, set(),
                    "its system calls")
    p.end()


@test
def what_is_too_much_is_counted():
    p = Program(asking())
    with Home() as home:
        directory = home.start("night", "-p", p.pid, "--mode", "overwrite")
        with waiter(home, "night") as answer:
            p.do("ask", 5000)
            answer()
        home.json("stop", "night")
        told = trigger(home, "night")
        check_equal((told["happened"], told["failed"]), (5000, 0), "told")
        made = [d for d in os.listdir(home.traces)
                if d.startswith("night-slow-request-")]
        check_equal(len(made), told["done"], "snapshots")
        check(1 <= len(made) < 100, f"{len(made)} snapshots")
        check(directory.exists(), "its own trace")
    p.end()


@test
def who_asks_for_nothing_has_no_second_slot():
    p = Program(asking())
    other = Program(build(PROGRAM, "-Wno-unused-result", name="emitter"))
    with Home() as home:
        for i in range(4):
            home.start(f"s{i}", "-p", other.pid, "--mode", "overwrite")
        for i in range(2):
            home.start(f"t{i}", "-p", p.pid, "--mode", "overwrite")
        check("slots" in home.complaint("start", "t2", "-p", p.pid), "why")
    p.end()
    other.end()


@test
def an_event_has_a_snapshot_made():
    p = Program(asking())
    with Home() as home:
        directory = home.start(
            "night", "-p", p.pid, "--mode", "overwrite", "-e", "attach:step",
            "--when", "attach:o*")
        p.do("emit", 7)
        with waiter(home, "night") as answer:
            p.do("other", 1)
            said = answer()
        check_equal(said["directory"], f"{directory}-other-1", "where")
        trace = Trace(said["directory"])
        check_equal(numbers(trace), list(range(1, 8)), "events")
        check_equal(list(trace.events("attach:other")), [],
                    "what it waits for, and doesn't record")
        file = home.traces / "session.json"
        file.write_text(home.ok("status", "night", "--as-file").stdout)
        home.start("again", "-f", file)
        check_equal(trigger(home, "again")["when"], "attach:o*", "again")
    p.end()


@test
def a_condition_is_asked_of_each_event():
    p = Program(asking())
    with Home() as home:
        when = "attach:step if number > 50 && number <= 52"
        home.start("day", "-p", p.pid, "--when", when, "--do", "notify")
        with waiter(home, "day") as answer:
            p.do("emit", 50)
            p.do("emit", 50)
            said = answer()
        check_equal((said["event"], said["pid"], said["tid"], said["count"],
                     said["fields"]),
                    ("attach:step", p.pid, p.pid, 1, {"number": "51"}), "said")
        ended = home.json("stop", "day")
        # Within one second it is done once.
        check_equal(ended["triggers"],
                    [{"when": when, "do": "notify", "happened": 2, "done": 1,
                      "failed": 0, "held_back": 1}], "triggers")
        check(any("1 held back: once a second" in n
                  for n in ended["summary"]["notes"]), str(ended["summary"]))
        check("HELD BACK" in home.ok("status", "day").stdout, "status")
        check_equal(ended["events"]["recorded"], 100, "recorded")
        check_equal([n for n in ended["summary"]["notes"] if "when" in n], [],
                    "notes")
    p.end()


@test
def a_snapshot_is_made_when_a_condition_holds():
    p = Program(asking())
    with Home() as home:
        directory = home.start(
            "night", "-p", p.pid, "--mode", "overwrite", "-e", "attach:step",
            "--when", "attach:other if n == 7", "--when", "attach:other",
            "--do", "notify")
        with waiter(home, "night") as answer:
            p.do("emit", 9)
            p.do("other", 7)
            said = [answer()]
        # Whichever is looked at first.
        if said[0]["done"] == "notify":
            check_equal(said[0].get("fields"), None, "of a name no more")
        home.ok("stop", "night")
        check_equal([trigger(home, "night", i)["happened"] for i in (0, 1)],
                    [1, 1], "each")
        check_equal(numbers(Trace(f"{directory}-other-1")), list(range(1, 10)),
                    "in the snapshot")
    p.end()


@test
def who_comes_later_is_asked_too():
    with Home() as home:
        home.start("day", "-p", "asker", "--when",
                   "attach:other if n > 100 && tid == $tid", "--do", "notify")
        programs = [Program(asking()) for _ in range(2)]
        while home.json("status", "day")["nr_processes"] < 2:
            pass
        with waiter(home, "day") as answer:
            for p in programs:
                p.do("other", 100)
                p.do("other", p.pid)
            said = answer()
        check(said["pid"] in [p.pid for p in programs], f"{said}")
        check_equal(said["fields"], {"n": str(said["pid"])}, "said")
        check_equal(home.json("stop", "day")["triggers"][0]["happened"], 2,
                    "happened")
        for p in programs:
            p.end()


@test
def a_command_has_the_fields_in_its_environment():
    p = Program(asking())
    with Home() as home:
        fifo = home.dir / "fifo"
        os.mkfifo(fifo)
        home.start("day", "-p", p.pid, "--when", "attach:other if n", "--do",
                   f'run echo "$SONDE_WHEN_EVENT $SONDE_FIELD_n '
                   f'$SONDE_WHEN_TID" > {fifo}')
        p.do("other", 0)
        p.do("other", 4711)
        check_equal(fifo.read_text().split(),
                    ["attach:other", "4711", str(p.pid)], "said")
    p.end()


@test
def what_no_event_has_is_told():
    p = Program(asking())
    with Home() as home:
        home.start("day", "-p", p.pid, "--when", "attach:step if numbr > 1",
                   "--do", "notify",
                   "--when", 'attach:other if n == "x"', "--do", "notify")
        p.do("emit", 10)
        p.do("other", 1)
        notes = "\n".join(home.json("stop", "day")["summary"]["notes"])
        check("has 'numbr'" in notes and "did you mean 'number'" in notes,
              notes)
        check("attach:other is not waited for" in notes, notes)
    p.end()


@test
def what_comes_too_fast_to_be_asked_is_told():
    p = Program(asking())
    with Home() as home:
        home.start("day", "-p", p.pid, "--when", "attach:step if number == 0",
                   "--do", "notify")
        recorder = home.pid("day")
        os.kill(recorder, signal.SIGSTOP)
        p.do("emit", 1000000)
        os.kill(recorder, signal.SIGCONT)
        notes = home.json("stop", "day")["summary"]["notes"]
        check(any("may not have been noticed" in n for n in notes), str(notes))
    p.end()


@test
def a_session_that_waits_is_one_recording():
    p = Program(asking())
    with Home() as home:
        home.start("night", "-p", p.pid, "--mode", "overwrite")
        home.start("day", "-p", p.pid)
        line, = [line for line in home.ok("ps").stdout.splitlines()
                 if line.split()[:1] == [str(p.pid)]]
        check_equal(line.count(","), 1, f"recordings in {line!r}")
    p.end()


@test
def an_event_ends_a_session():
    p = Program(asking())
    with Home() as home:
        directory = home.start("day", "-p", p.pid, "--when", "attach:other",
                               "--do", "stop")
        recorder = home.pid("day")
        p.do("emit", 7)
        p.do("other", 1)
        await_end(recorder)
        check_equal(home.json("status", "day")["ended"], "trigger", "ended")
        check_equal(numbers(Trace(directory)), list(range(1, 8)), "events")
        check("is stopped" in home.complaint("wait", "day"), "wait")
    p.end()


@test
def an_event_runs_a_command():
    p = Program(asking())
    with Home() as home:
        fifo = home.dir / "fifo"
        os.mkfifo(fifo)
        home.start("day", "-p", p.pid, "--when", "attach:other", "--do",
                   f'run echo "$SONDE_WHEN_SESSION $SONDE_WHEN_EVENT '
                   f'$SONDE_WHEN_PID $SONDE_WHEN_PROCESS $SONDE_WHEN_COUNT" '
                   f'> {fifo}')
        p.do("other", 1)
        # It is there when somebody has opened the other end.
        check_equal(fifo.read_text().split(),
                    ["day", "attach:other", str(p.pid), "asker", "1"], "said")
        # The command has ended, or is about to: it is not waited for.
        check_equal(trigger(home, "day")["done"], 1, "done")
        check_equal(home.json("stop", "day")["state"], "stopped", "state")
    p.end()


@test
def who_waits_is_told_by_the_command():
    p = Program(asking())
    with Home() as home:
        home.start("day", "-p", p.pid, "--when", "attach:other", "--do",
                   "notify")
        waiting = home.popen("wait", "day")
        # Whether it is heard already can't be seen: so until it is.
        while waiting.poll() is None:
            p.do("other", 1)
        out, err = waiting.communicate(timeout=TIMEOUT)
        check_equal((out, err), (f"attach:other in asker (pid {p.pid})\n", ""),
                    "said")
        with waiter(home, "day") as answer:
            home.ok("stop", "day")
            check_equal(answer()["state"], "stopped", "at the end")
        home.start("plain", "-p", p.pid)
        check("waits for nothing" in home.complaint("wait", "plain"), "plain")
    p.end()


@test
def loss_is_told_when_it_begins():
    p = Program(asking())
    other = Program(asking())
    with Home() as home:
        # Nobody reads in time.
        home.start("day", "-p", p.pid, "--memory", "128K", "--read-timer",
                   "10s", "--when", "loss", "--do", "notify")
        p.do("emit", 10)
        check_equal(trigger(home, "day")["happened"], 0, "before")
        with waiter(home, "day") as answer:
            p.do("emit", 100000)
            said = answer()
        check_equal((said["event"], said["pid"], said["done"]),
                    ("loss", 0, "notify"), "said")
        ended = home.json("stop", "day")
        check(0 < said["count"] <= ended["events"]["discarded"],
              f"{said['count']} of {ended['events']}")
        # It has the other slots to itself.
        for i in range(4):
            home.start(f"s{i}", "-p", other.pid, "--when", "loss", "--do",
                       "stop")
    p.end()
    other.end()


@test
def a_ring_is_told_when_it_is_fuller_than_so_much():
    p = Program(asking())
    with Home() as home:
        home.start("day", "-p", p.pid, "--memory", "128K", "--read-timer",
                   "500ms", "--when", "full > 50%", "--do", "notify",
                   "--when", "full > 99%", "--do", "notify")
        p.do("emit", 10)
        check_equal(trigger(home, "day")["happened"], 0, "before")
        with waiter(home, "day") as answer:
            p.do("emit", 100000)
            said = answer()
        check_equal((said["event"], said["pid"], said["count"]),
                    ("full > 50%", 0, 1), "said")
        home.ok("stop", "day")
    p.end()


@test
def what_takes_too_long_is_told():
    p = Program(asking())
    with Home() as home:
        short = "attach:open..attach:close by n > 1us"
        home.start("day", "-p", p.pid, "-e", "attach:step",
                   "--when", short, "--do", "notify",
                   "--when", "attach:open .. attach:close by n > 1h", "--do",
                   "stop", "--when", "attach:o*..attach:step > 1us", "--do",
                   "notify")
        p.do("begin", 1)
        p.do("begin", 2)
        p.do("finish", 3)
        with waiter(home, "day") as answer:
            p.do("finish", 1)
            said = answer()
        check_equal((said["event"], said["pid"], said["tid"], said["fields"]),
                    ("attach:close", p.pid, p.pid, {}), "said")
        check(1000 < said["duration_ns"] < 1e12, f"{said}")
        p.do("finish", 1)
        p.do("finish", 2)
        p.do("emit", 2)
        ended = home.json("stop", "day")
        check_equal([t["happened"] for t in ended["triggers"]], [2, 0, 1],
                    "happened")
        table = home.ok("status", "day").stdout
        check(any(line.split()[-4:] == ["2", "1", "0", "1"] and short in line
                  for line in table.splitlines()), table)
    p.end()


@test
def a_process_that_dies_leaves_a_snapshot():
    p = Program(asking())
    other = Program(asking())
    with Home() as home:
        directory = home.start("night", "-p", p.pid, "-p", other.pid,
                               "--mode", "overwrite", "--when", "signal")
        with waiter(home, "night") as answer:
            p.do("emit", 20)
            other.end()
            p.process.send_signal(signal.SIGSEGV)
            said = answer()
        # Of who is waited for at once, kernels before 6.15 tell nothing.
        check_equal((said["event"], said["pid"], said["process"],
                     said["directory"]),
                    ("signal:SEGV", p.pid, "asker", f"{directory}-SEGV-1"),
                    "said")
        check_equal(numbers(Trace(said["directory"])), list(range(1, 21)),
                    "in the snapshot")
        check_equal(trigger(home, "night")["happened"], 1, "happened")
        p.process.wait(TIMEOUT)


@test
def what_makes_no_sense_is_refused():
    with Home() as home:
        for words, why in (
                (["--when", "a:b", "--do", "jump"], "snapshot, rotate, stop"),
                (["--do", "stop"], "--when"),
                (["--when", "a:b"], "--mode overwrite"),
                (["--when", "a:b", "--do", "run  "], "run COMMAND"),
                (["--when", "a:b", "--do", "snapshot@"], "512 bytes"),
                (["--when", "a:b", "--do", "snapshot@x"], "--ask-at nats://"),
                (["--ask-at", "file:///x"], "nats://HOST or tls://HOST only"),
                (["--ask-as", "a/b"], "no name of a machine"),
                (["--when", "a:b if c >", "--do", "stop"], "column 4"),
                (["--when", "a:b if ", "--do", "stop"], "missing"),
                (["--when", "loss if n", "--do", "stop"], "no fields"),
                (["--when", "signal if n", "--do", "stop"], "no fields"),
                (["--when", "full", "--do", "stop"], "full > 80%"),
                (["--when", "full > 100%", "--do", "stop"], "0 to 99"),
                (["--when", "full > 5%", "--mode", "overwrite"], "always"),
                (["--when", "a:b..c:d", "--do", "stop"], "> TIME"),
                (["--when", "a:b..c:d > 5", "--do", "stop"], "> TIME"),
                (["--when", "a:b.. > 5ms", "--do", "stop"], "> TIME"),
                (["--when", "a:b..c:d by x+ > 5ms", "--do", "stop"],
                 "column"),
                (["--when", "", "--do", "stop"], "")):
            check(why in home.complaint("start", "x", "-p", os.getpid(),
                                        *words, status=2), str(words))
        check("sonde start" in home.complaint(
            "record", "--when", "a:b", "--do", "stop", "true", status=2),
            "record")


if __name__ == "__main__":
    install()
    main()
