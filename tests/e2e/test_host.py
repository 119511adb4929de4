#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_host.py - the sessions of many machines under one hand: `sonde start --hosts`
and its kin do on each what its own policy permits, and nothing else, and name who
doesn't answer. Machines are homes of sessions of their own, and NATS is Debian's."""

import contextlib
import json
import os
import shutil
import socket
import time

from fleet import Files, Server, permissions, small
from home import Home
from obedient import Program, program
from sonde import SONDE, Trace, install, run, scratch
from harness import PATIENCE, check, check_equal, main, test

ALL = ("status *\nsnapshot *\nstop *\ndestroy *\nchange * event=attach:*\n"
       "start * process event=attach:* memory<=4M mode=overwrite when do=*\n")


def ask(url, *words, status=0, env=None):
    """The rows, by the machines' names."""
    done = run(SONDE, *words, "--from", url, "--json", env=env)
    check_equal(done.returncode, status, f"{words}: {done.stderr}")
    return {row["host"]: row for row in json.loads(done.stdout)["hosts"]}


class Machine:
    """A home of sessions, a program in it, and who answers for it."""

    def __init__(self, url, name, policy=ALL, *options):
        self.url, self.name, self.home = url, name, Home()
        self.policy = self.home.dir / "policy"
        self.policy.write_text(policy)
        self.process = self.home.popen(
            "host", "-q", "--from", url, "--policy", self.policy, "-o",
            self.home.traces, "--host", name, *options)
        self.program = Program(own_program())

    def __enter__(self):
        deadline = time.monotonic() + 60 * PATIENCE
        while True:
            done = run(SONDE, "status", "x", "--hosts", self.name, "--json",
                       "--from", self.url)
            if json.loads(done.stdout)["hosts"]:
                return self
            check(self.process.poll() is None, "sonde host has ended")
            check(time.monotonic() < deadline, "it doesn't answer")

    def __exit__(self, *failed):
        self.program.end()
        self.process.terminate()
        _, words = self.process.communicate()
        self.home.__exit__()
        if not failed[0]:
            check_equal((self.process.returncode, words), (0, ""), "its end")


@contextlib.contextmanager
def machines(url, *names, policy=ALL):
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(Machine(url, name, policy))
               for name in names]


def own_program():
    """The test's own, by its name: others run programs, too."""
    path = scratch() / f"host{os.getpid()}"
    if not path.exists():
        shutil.copy(program(), path)
    return path


def sessions(machine):
    return [(s["name"], s["state"]) for s in machine.home.all()]


def start(url, hosts, *words, **more):
    """Of whatever program there is: each machine has its own."""
    return ask(url, "start", "night", "--hosts", hosts, "-p",
               own_program().name, "-e", "attach:*", "--memory",
               "1M", "--mode", "overwrite", *words, **more)


@test
def sessions_of_many_machines_live_under_one_hand():
    url = Server().url
    with machines(url, "web-1", "web-2", "db") as (one, two, db):
        rows = start(url, "web-*")
        check_equal(sorted(rows), ["web-1", "web-2"], "machines")
        check_equal([r["answer"] for r in rows.values()], ["done"] * 2, "done")
        check_equal((sessions(one), sessions(db)),
                    ([("night", "recording")], []), "sessions")
        one.program.do("emit", 10)
        two.program.do("emit", 10)
        rows = ask(url, "status", "night", "--hosts", "*", status=1)
        check_equal({h: (r["answer"], r["state"]) for h, r in rows.items()},
                    {"web-1": ("done", "recording"), "db": ("failed", None),
                     "web-2": ("done", "recording")}, "status")
        check("there is no session 'night'" in rows["db"]["why"], f"{rows}")
        rows = ask(url, "snapshot", "night", "--hosts", "web-*")
        for machine in one, two:
            row = rows[machine.name]
            check(row["directory"].startswith(f"{machine.home.traces}/night-"),
                  f"where it is: {row}")
            check_equal(len(Trace(row["directory"]).events()), row["events"],
                        "events of the snapshot")
            check(row["events"] >= 10, f"events: {row}")
        ask(url, "change", "night", "--hosts", "web-1", "-e", "attach:none")
        check_equal([m.home.json("status", "night")["rules"]
                     for m in (one, two)],
                    [["+attach:none"], ["+attach:*"]], "rules")
        ask(url, "stop", "night", "--hosts", "web-*")
        check_equal(sessions(two), [("night", "stopped")], "sessions")
        ask(url, "destroy", "night", "--hosts", "web-*")
        check_equal(sessions(one) + sessions(two), [], "sessions")


@test
def what_the_policy_does_not_name_is_refused():
    url = Server().url
    mark = scratch() / "mark"
    with machines(url, "web-1") as (one,):
        for words in (("-e", "*"), ("-e", "other:x"), ("--malloc",),
                      ("--memory", "5M"), ("--mode", "discard"),
                      ("--when", "attach:*", "--do", f"run touch {mark}"),
                      ("--log",), ("--arena", "/tmp")):
            row = start(url, "*", *words, status=1)["web-1"]
            check_equal(row["answer"], "refused", f"{words}: {row}")
            check("the policy of this machine" in row["why"], f"{row}")
        check_equal(sessions(one), [], "sessions")
        start(url, "*")
        row = ask(url, "change", "night", "--hosts", "*", "--exclude",
                  "attach:none", status=1)["web-1"]
        check_equal(row["answer"], "refused", f"change: {row}")
    with machines(url, "web-2", policy="status *\n") as (two,):
        check_equal(start(url, "*", status=1)["web-2"]["answer"], "refused",
                    "start")
        check_equal(sessions(two), [], "sessions")
    check(not mark.exists(), "a command was run")


@test
def who_is_known_and_silent_is_named():
    server = Server()
    server.ship(small(), "--host", "web-9")
    with machines(server.url, "web-1"):
        rows = ask(server.url, "status", "x", "--hosts", "web-*", status=1)
        check_equal({h: r["answer"] for h, r in rows.items()},
                    {"web-1": "failed", "web-9": "none"}, "answers")
        check("known by its heartbeats" in rows["web-9"]["why"], f"{rows}")
    done = run(SONDE, "status", "x", "--hosts", "mail", "--from", server.url)
    check_equal(done.returncode, 1, "nobody is there")
    check("no machine mail is there" in done.stderr, done.stderr)


def publish(port, *messages):
    """By the protocol of NATS; what was said has been taken when it returns."""
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.sendall(b'CONNECT {"verbose":false}\r\n')
        for m in messages:
            s.sendall(b"PUB sonde-orders.all %d\r\n%s\r\n" % (len(m), m))
        s.sendall(b"PING\r\n")
        while b"PONG" not in s.recv(65536):
            pass


@test
def what_is_no_order_is_left_out():
    server = Server()
    with Home() as home:
        policy = home.dir / "policy"
        policy.write_text(ALL)
        process = home.popen("host", "--from", server.url, "--policy", policy,
                             "-o", home.traces, "--host", "web-1")
        deadline = time.monotonic() + 60 * PATIENCE
        while not json.loads(run(SONDE, "status", "x", "--hosts", "*", "--from",
                                 server.url, "--json").stdout)["hosts"]:
            check(time.monotonic() < deadline, "it doesn't answer")
        publish(server.port, b"", b"\0" * 100, b"x" * 500000,
                b"sonde1 order stop job=00 hosts=* session=night words= "
                b"check=0000000000000000\n")
        row = ask(server.url, "status", "x", "--hosts", "*", status=1)["web-1"]
        check_equal(row["answer"], "failed", "it still answers")
        process.terminate()
        _, words = process.communicate()
        check_equal(process.returncode, 0, "its status")
        check("an order isn't understood" in words, words)
        check("asked to stop" not in words, words)


@test
def machines_ask_for_snapshots_of_those_that_heed_them():
    url = Server().url
    once = "--pause", "1h"

    def snapshot(*by, status=1):
        return {host: (row["answer"], row["why"] or "") for host, row in ask(
            url, "snapshot", "night", "--hosts", "*", *by,
            status=status).items()}

    with Machine(url, "web-2", f"{ALL}snapshot * by=web-*", *once) as two, \
            Machine(url, "db", ALL, *once):
        start(url, "*")
        two.program.do("emit", 10)
        first = snapshot("--by", "web-1")
        check_equal(first["web-2"][0], "done", f"who heeds it: {first}")
        check_equal(first["db"][0], "refused", f"who doesn't: {first}")
        check("by the machine web-1" in first["db"][1], f"why: {first}")
        second = snapshot("--by", "web-3")["web-2"]
        check_equal(second[0], "refused", f"another one: {second}")
        check("held back" in second[1] and f"{two.home.traces}/night-" in
              second[1], f"why: {second}")
        check_equal([snapshot("--by", "mail")["web-2"][0],
                     snapshot(status=0)["db"][0]], ["refused", "done"],
                    "others")
        check_equal(len(list(two.home.traces.glob("night-*"))), 3,
                    "the session's trace, and a snapshot by a machine and by "
                    "who may ask all")


def answers_of(machine):
    """What those it asked have answered, when they have."""
    deadline = time.monotonic() + 60 * PATIENCE
    while True:
        (trigger,) = machine.home.json("status", "night")["triggers"]
        if trigger["done"] + trigger["failed"]:
            try:
                rows = json.loads(open(trigger["answers"]).read())["hosts"]
                return trigger, {row["host"]: row for row in rows}
            except json.JSONDecodeError:
                pass  # they haven't yet
        check(time.monotonic() < deadline, f"nobody answered: {trigger}")


@test
def what_happens_on_one_machine_makes_all_write_what_they_hold():
    server = Server()
    server.ship(small(), "--host", "web-9")
    heeds = "snapshot * by=web-*\n"
    start_line = ALL + "start * process event memory mode=overwrite when " \
        "do=snapshot@*\n"
    with Machine(server.url, "web-1", start_line + heeds, "--ship") as one, \
            Machine(server.url, "web-2", ALL + heeds, "--ship") as two, \
            Machine(server.url, "web-3", ALL, "--ship") as three:
        for hosts, words in (
                ("web-1", ("--when", "attach:other", "--do", "snapshot@web-*")),
                ("web-2,web-3", ())):
            start(server.url, hosts, *words)
        for machine in one, two, three:
            machine.program.do("emit", 10)
        one.program.do("other", 1)
        trigger, rows = answers_of(one)
        check_equal({h: row["answer"] for h, row in rows.items()},
                    {"web-1": "done", "web-2": "done", "web-3": "refused",
                     "web-9": "none"}, "answers")
        check_equal(trigger["do"], "snapshot@", "what is done")
        out = scratch()
        got = {trace["host"]: trace for trace in
               server.collect(out, "--hosts", "web-[12]")}
        check_equal({h: t["state"] for h, t in got.items()},
                    {"web-1": "complete", "web-2": "complete"}, "shipped")
        for host in got:
            directory = out / got[host]["trace"]
            check(len(Trace(directory).events()) >= 10, f"events of {host}")
        one.home.ok("stop", "night")
        text = one.home.json("status", "night")["text"]
        check("not all of web-* made a snapshot" in text, text)
        check("attach:other happened 1 time: snapshot@ done 0" in text, text)


@test
def a_snapshot_says_since_when_nothing_is_missing():
    url = Server().url
    with Machine(url, "web-1") as one:
        begun = time.time_ns()
        start(url, "*")
        one.program.do("emit", 10)
        for overwritten in (False, True):
            if overwritten:
                one.program.do("emit", 300_000)
            row = ask(url, "snapshot", "night", "--hosts", "*")["web-1"]
            check(row["before_ns"] is not None, f"it isn't known: {row}")
            streams = json.loads(run(SONDE, "stat", "--json",
                                     row["directory"]).stdout)["streams"]
            since = max((s["begin_ns"] for s in streams if s["lost_events"]),
                        default=begun)
            check_equal(since != begun, overwritten, "what was overwritten")
            # What is claimed to be whole doesn't begin earlier.
            check(row["asked_ns"] - row["before_ns"] >= since,
                  f"{row}: before {since}")


@test
def the_last_seconds_are_the_same_on_all_machines():
    url = Server().url
    with Machine(url, "web-1", ALL + "start * process event memory "
                 "mode=overwrite when do=snapshot@* ask-last<=24h\n"
                 "snapshot * by=*\n") as one:
        start(url, "*", "--when", "attach:other", "--do", "snapshot@*",
              "--ask-last", "24h")
        one.program.do("emit", 10)
        day = 24 * 3600 * 10**9
        for last, last_ns, events in (("1us", 1000, None), ("24h", day, 10)):
            row = ask(url, "snapshot", "night", "--hosts", "*", "--last",
                      last)["web-1"]
            check(row["before_ns"] is not None, f"it isn't known: {row}")
            check_equal(row["missing_ns"], max(0, last_ns - row["before_ns"]),
                        f"missing: {row}")
            # A second more than was said, less the way of the messages.
            check(row["before_ns"] <= last_ns + 10**9, f"before: {row}")
            check_equal(len(Trace(row["directory"]).events()), row["events"],
                        "events of the snapshot")
            check_equal(events or row["events"], row["events"], "events")
        one.program.do("other", 1)
        (row,) = answers_of(one)[1].values()
        check(row["answer"] == "done" and 0 < row["missing_ns"] < day, f"{row}")
        start(url, "*", "--when", "attach:other", "--do", "snapshot@*",
              "--ask-last", "25h", status=1)


@test
def who_cannot_ask_says_so_and_records_on():
    with Home() as home:
        obedient = Program(own_program())
        home.start("night", "-p", obedient.pid, "-e", "attach:*", "--mode",
                   "overwrite", "--when", "attach:other", "--do",
                   "snapshot@web-*", "--ask-at", "nats://127.0.0.1:1")
        obedient.do("emit", 10)
        obedient.do("other", 1)
        deadline = time.monotonic() + 60 * PATIENCE
        (trigger,) = home.json("status", "night")["triggers"]
        while not trigger["failed"]:
            check(time.monotonic() < deadline, f"it never failed: {trigger}")
            (trigger,) = home.json("status", "night")["triggers"]
        check("answers" not in trigger, f"{trigger}")
        obedient.do("emit", 10)
        home.ok("stop", "night")
        obedient.end()
        status = home.json("status", "night")
        check("web-* weren't asked for a snapshot: sonde: snapshot: " in
              status["text"], status["text"])
        check_equal(status["events"]["recorded"], 21, "events")
        check_equal(list(home.traces.glob("*.json")), [], "answers")


@test
def snapshots_are_shipped():
    server = Server()
    with Machine(server.url, "web-1", ALL, "--ship") as one:
        start(server.url, "*")
        one.program.do("emit", 10)
        row = ask(server.url, "snapshot", "night", "--hosts", "*")["web-1"]
        (got,) = server.collect(scratch() / "out")
        check_equal((got["host"], got["state"]), ("web-1", "complete"), "trace")
        check_equal(got["trace"].split("/")[-1],
                    os.path.basename(row["directory"]), "its name")


def snapshot_dirs(url, machine, times):
    """Where so many snapshots were put, one after the other."""
    made = [ask(url, "snapshot", "night", "--hosts", machine.name)[
        machine.name]["directory"] for _ in range(times)]
    return [os.path.basename(directory) for directory in made]


@test
def the_oldest_snapshots_go_and_nothing_else():
    url = Server().url
    with Machine(url, "web-1", ALL, "--keep", "2") as one:
        (one.home.traces / "night-00000000").mkdir()  # somebody's
        start(url, "*")
        (own,) = set(os.listdir(one.home.traces)) - {"night-00000000"}
        made = snapshot_dirs(url, one, 4)
        check_equal(sorted(os.listdir(one.home.traces)),
                    sorted(["night-00000000", own, *made[2:]]), "left")
        check_equal(Trace(one.home.traces / made[3]).count("attach:step"), 0,
                    "the last can be read")
    with Machine(url, "web-2", ALL, "--keep", "64k") as two:
        start(url, "web-2")
        two.program.do("emit", 5000)  # more than the limit
        made = snapshot_dirs(url, two, 2)
        check(made[0] not in os.listdir(two.home.traces), "the first stays")
        # However much it takes, what was asked for last is there.
        check_equal(Trace(two.home.traces / made[1]).count("attach:step"),
                    5000, "events of the last")
    for keep in "0", "63k", "some", "-1":
        done = run(SONDE, "host", "--from", url, "--policy", "/dev/null", "-o",
                   scratch(), "--keep=" + keep)
        check_equal(done.returncode, 2, done.stderr)
        check("--keep: give a number of snapshots" in done.stderr, done.stderr)


@test
def what_the_guide_permits_is_enough_and_nobody_answers_as_another():
    config = scratch() / "nats.conf"
    config.write_text(permissions())
    server = Server("-c", config)

    def as_user(who):
        return server.url.replace("://", f"://{who}@")

    operator = as_user("operator:four")
    run(SONDE, "ship", small(), "--host", "web-1", "--to", as_user("admin:all"))
    with Home() as home:
        (home.dir / "policy").write_text("status *\n")

        def host(name):
            return home.popen("host", "-q", "--from", as_user("web-1:one"),
                              "--policy", home.dir / "policy", "-o",
                              home.traces, "--host", name)

        own, other = host("web-1"), host("web-2")
        deadline = time.monotonic() + 60 * PATIENCE
        rows = {}
        while other.poll() is None or rows["web-1"]["answer"] == "none":
            rows = ask(operator, "status", "x", "--hosts", "*", status=1)
            check(time.monotonic() < deadline, f"rows: {rows}")
        check_equal((sorted(rows), rows["web-1"]["answer"]),
                    (["web-1"], "failed"), "rows")
        check("doesn't permit it" in other.communicate()[1], "words of web-2")
        row = ask(as_user("web-1:one"), "snapshot", "x", "--hosts", "*", "--by",
                  "web-1", status=1)["web-1"]
        check("by the machine web-1" in row["why"], f"as itself: {row}")
        done = run(SONDE, "snapshot", "x", "--hosts", "*", "--by", "web-2",
                   "--from", as_user("web-1:one"))
        check_equal(done.returncode, 1, "its status as another")
        check("doesn't permit it" in done.stderr, done.stderr)
        own.terminate()
        check_equal(own.wait(), 0, "status of web-1")
    done = run(SONDE, "status", "x", "--hosts", "*", "--from",
               as_user("reader:two"))
    check_equal(done.returncode, 1, "reader's status")
    check("doesn't permit it" in done.stderr, done.stderr)


@test
def a_directory_carries_no_orders():
    url = Files().url
    for words in (("status", "x", "--hosts", "*"),
                  ("host", "--policy", "/dev/null", "-o", scratch())):
        if words[0] == "host":
            policy = scratch() / "policy"
            policy.write_text("")
            words = ("host", "--policy", policy, "-o", scratch())
        done = run(SONDE, *words, "--from", url)
        check_equal(done.returncode, 2, f"{words}: {done.stderr}")
        check("by nats://HOST or tls://HOST only" in done.stderr, done.stderr)


@test
def a_policy_that_others_may_write_is_refused():
    policy = scratch() / "policy"
    policy.write_text("status *\n")
    for mode, text, why in ((0o666, "status *", "others may write it"),
                            (0o600, "stauts *", "line 1: "),
                            (0o600, "start * output", "line 1: ")):
        policy.write_text(text)
        policy.chmod(mode)
        done = run(SONDE, "host", "--from", "nats://127.0.0.1:1", "--policy",
                   policy, "-o", scratch())
        check_equal(done.returncode, 2, f"{text}: {done.stderr}")
        check(why in done.stderr, f"{text}: {done.stderr}")


@test
def a_policy_that_changes_is_heeded_and_a_wrong_one_is_not():
    url = Server().url
    with Home() as home:
        policy = home.dir / "policy"
        policy.write_text("status *\n")
        process = home.popen("host", "--from", url, "--policy", policy, "-o",
                             home.traces, "--host", "web-1")

        def said(what):
            """Up to the line that has it."""
            for line in process.stderr:
                if what in line:
                    return line
            check(False, f"it never says '{what}'")

        def answer(command):
            """failed: it was permitted, and there is no such session."""
            rows = ask(url, command, "night", "--hosts", "*", status=1)
            return rows["web-1"]["answer"] if rows else "none"

        deadline = time.monotonic() + 60 * PATIENCE
        while answer("status") == "none":
            check(time.monotonic() < deadline, "it doesn't answer")
        check_equal(answer("stop"), "refused", "before")
        policy.write_text("stop *\n")
        check_equal((answer("stop"), answer("status")), ("failed", "refused"),
                    "the next orders")
        said("has changed, and is heeded")
        for wrong, why in (("halt *\n", "line 1: "),
                           ("stop *\nstart * output\n", "line 2: ")):
            policy.write_text(wrong)
            said(why)
            check_equal((answer("stop"), answer("status")),
                        ("failed", "refused"), f"with {wrong}")
        policy.chmod(0o666)
        said("others may write it")
        policy.unlink()
        said("No such file")
        check_equal(answer("stop"), "failed", "without a file")
        policy.write_text("")
        check_equal(answer("stop"), "refused", "of an empty one")
        process.terminate()
        _, words = process.communicate()
        check_equal(process.returncode, 0, "its status")
        check_equal(words.count("what was permitted before"), 0,
                    f"said again: {words}")


@test
def where_traces_go_is_not_for_others_to_say():
    for words in (("snapshot", "night", "-o", "x"),
                  ("start", "night", "-f", "x")):
        done = run(SONDE, *words, "--hosts", "*", "--from", "nats://x")
        check_equal(done.returncode, 2, f"{words}: {done.stderr}")
        check("isn't for other machines" in done.stderr, done.stderr)
    done = run(SONDE, "status", "night", "--from", "nats://x")
    check_equal(done.returncode, 2, f"without --hosts: {done.stderr}")


install()
main()
