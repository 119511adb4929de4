#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_hosts.py - `sonde hosts`: a machine that ships is alive, says when it ends,
and is missed when it is killed; what it says is so; by a directory and by NATS
JetStream."""

import contextlib
import json
import pathlib
import re
import signal
import subprocess
import time

from fleet import HOST, Files, Server, Talker, permissions, small
from handmade import Handmade, Layout
from sonde import SONDE, install, run, scratch
from harness import PATIENCE, check, check_equal, main, test

# So that who is silent for ten of them is so soon.
OFTEN = ("--heartbeat", "50ms")


def hosts(engine, *options, status=None):
    done = run(SONDE, "hosts", "--json", *options, "--from", engine.url)
    if status is not None:
        check_equal(done.returncode, status, f"hosts: {done.stderr}")
    return (json.loads(done.stdout)["hosts"] if done.stdout else [])


def await_host(engine, what, is_so):
    """The one host's row, once it is so."""
    deadline = time.monotonic() + 60 * PATIENCE
    while True:
        rows = hosts(engine)
        if len(rows) == 1 and is_so(rows[0]):
            return rows[0]
        check(time.monotonic() < deadline, f"{what}: {rows}")
        time.sleep(0.02)


class Shipping:
    """A recording that grows, and who ships it, saying often that it does."""

    def __init__(self, engine, host=HOST, **more):
        self.engine, self.talker = engine, Talker()
        self.talker.say()
        self.process = subprocess.Popen(
            [SONDE, "ship", "-q", *OFTEN, "--host", host, self.talker.dir,
             "--to", engine.url], **more)

    def end(self):
        self.talker.end()
        check_equal(self.process.wait(), 0, "status of ship")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def boot_id():
    return pathlib.Path("/proc/sys/kernel/random/boot_id").read_text()


def lives_and_ends(engine):
    shipping = Shipping(engine)
    row = await_host(engine, "it isn't alive", lambda row:
                     row["state"] == "alive" and row["growing"] == 1)
    check_equal((row["host"], row["trace"]),
                (HOST, shipping.talker.dir.name), "whose it is")
    check_equal(row["boot"], boot_id().strip().replace("-", ""), "boot")
    shipping.end()
    (row,) = hosts(engine, status=0)
    size = sum(p.stat().st_size for p in shipping.talker.dir.glob("*")
               if p.is_file() and p.name != "metadata")
    check_equal((row["state"], row["traces"], row["growing"],
                 row["unsent_bytes"], row["kept_bytes"], row["never_sent"],
                 row["lost"]), ("ended", 1, 0, 0, size, 0, 0), "row")
    check(row["packets"] > 0 and row["cpu_percent"] > 0, f"row: {row}")


@test
def who_ships_to_a_directory_lives_and_ends():
    lives_and_ends(Files())


@test
def who_ships_by_nats_lives_and_ends():
    lives_and_ends(Server())


def is_missed(engine):
    shipping = Shipping(engine)
    await_host(engine, "it isn't alive", lambda row: row["state"] == "alive")
    shipping.kill()
    row = await_host(engine, "it isn't missed",
                     lambda row: row["state"] == "gone")
    check(row["silent_ns"] > 10 * 50_000_000, f"silence: {row}")
    (again,) = hosts(engine, status=1)
    check_equal(again["last_ns"], row["last_ns"], "time of the last word")
    check(again["silent_ns"] > row["silent_ns"], "silence grows")
    shipping.talker.end()


@test
def who_was_killed_is_missed_in_a_directory():
    is_missed(Files())


@test
def who_was_killed_is_missed_by_nats():
    is_missed(Server())


@test
def a_machine_has_a_row_for_each_recording():
    engine = Files()
    shipping = Shipping(engine)
    await_host(engine, "it isn't alive", lambda row: row["state"] == "alive")
    shipping.kill()
    await_host(engine, "it isn't missed", lambda row: row["state"] == "gone")
    run(SONDE, "ship", "-q", *OFTEN, "--host", HOST, small(), "--to",
        engine.url)
    states = [row["state"] for row in hosts(engine, status=1)]
    check_equal(sorted(states), ["ended", "gone"], "two of a host")
    shipping.talker.end()


@test
def who_is_told_to_stop_says_so():
    engine = Files()
    shipping = Shipping(engine)
    await_host(engine, "it isn't alive", lambda row: row["state"] == "alive")
    shipping.process.send_signal(signal.SIGTERM)
    check_equal(shipping.process.wait(), 130, "status of ship")
    (row,) = hosts(engine, status=1)
    check_equal(row["state"], "stopped", "state")
    shipping.talker.end()


@test
def a_clock_is_as_far_from_the_server_s_as_the_bound_says():
    """Both are this machine's, so nothing is between them."""
    engine = Server()
    shipping = Shipping(engine)
    row = await_host(engine, "its clock isn't known",
                     lambda row: row["bound_ns"] is not None)
    check(abs(row["ahead_ns"]) <= row["bound_ns"], f"clocks: {row}")
    shipping.end()


@test
def of_a_directory_s_clock_nothing_is_said():
    engine = Files()
    engine.ship(small())
    (row,) = hosts(engine, status=0)
    check_equal((row["ahead_ns"], row["bound_ns"]), (None, None), "clocks")


@test
def who_lost_events_says_how_many():
    # a stream's packets say how many there were, from its beginning on
    trace = Handmade(Layout(events={"app:none": []}))
    for cpu, discarded in enumerate(([0, 3, 3], [2, 2, 40])):
        with trace.stream(f"cpu{cpu}", cpu=cpu) as stream:
            for i, lost in enumerate(discarded):
                with stream.packet(begin=100 * i, end=100 * i + 90,
                                   discarded=lost):
                    pass
    engine = Files()
    engine.ship(trace.dir)
    (row,) = hosts(engine, status=0)
    check_equal(row["lost"], 43, "events lost")


@test
def machines_are_chosen_by_name():
    engine = Files()
    trace = small()
    for name in ("web-1", "web-2", "db"):
        engine.ship(trace, "--host", name)
    names = [row["host"] for row in hosts(engine, status=0)]
    check_equal(names, ["db", "web-1", "web-2"], "all")
    names = [row["host"] for row in hosts(engine, "--hosts", "web-*")]
    check_equal(names, ["web-1", "web-2"], "those of the web")
    check_equal(hosts(engine, "--hosts", "x*", status=1), [], "none")


@test
def without_heartbeats_nobody_is_listed():
    engine = Files()
    engine.ship(small(), "--heartbeat", "0")
    check_equal(hosts(engine, status=1), [], "rows")
    (row,) = engine.collect(scratch() / "out")
    check_equal(row["state"], "complete", "state")


@test
def what_is_damaged_is_counted():
    engine = Files()
    engine.ship(small())
    (beat,) = engine.store.glob("*/*.beat")
    beat.write_text(beat.read_text().replace("kept=", "kept=1"))
    done = run(SONDE, "hosts", "--from", engine.url)
    check_equal(done.returncode, 1, "status")
    check("1 heartbeats are damaged" in done.stderr, f"words: {done.stderr}")


# ---- what a server permits ----

def allowed_server(text):
    config = scratch() / "nats.conf"
    config.write_text(text)
    server = Server("-c", config)
    url = server.url
    server.url = url.replace("://", "://admin:all@")
    server.ship(small(), "--host", "first")
    server.as_user = lambda who: url.replace("://", f"://{who}@")
    return server


@test
def what_the_guide_permits_is_enough():
    server = allowed_server(permissions())
    server.url = server.as_user("web-1:one")
    done = run(SONDE, "ship", "--host", "web-1", small(), "--to", server.url)
    check_equal((done.returncode, done.stderr), (0, ""), "ship")
    server.url = server.as_user("reader:two")
    done = run(SONDE, "hosts", "--json", "--from", server.url)
    check_equal((done.returncode, done.stderr), (0, ""), "hosts")
    listed = json.loads(done.stdout)
    check_equal(sorted((row["host"], row["state"])
                       for row in listed["hosts"]),
                [("first", "ended"), ("web-1", "ended")], "rows")
    # By the server's clock: else a note says by whose.
    check_equal(listed.get("notes", []), [], "notes")


@test
def a_machine_that_may_not_say_so_ships_all_the_same():
    text = re.sub(r'"(\$JS\.API\.[A-Z.]*SONDE_HOSTS[^"]*|sonde-hosts[^"]*)",?',
                  "", permissions())
    check("HOSTS" not in text and "sonde-hosts" not in text, text)
    server = allowed_server(text)
    server.url = server.as_user("web-1:one")
    shipping = Shipping(server, "web-1", stderr=subprocess.PIPE, text=True)
    words = shipping.process.stderr.readline()
    check("'sonde hosts' won't see this" in words, f"words: {words}")
    # While an answer is waited for, it is asked what isn't permitted.
    server.process.send_signal(signal.SIGSTOP)
    shipping.talker.say()
    shipping.talker.say()
    with contextlib.suppress(subprocess.TimeoutExpired):
        status = shipping.process.wait(3)
        check(False, f"status of ship: {status}")
    server.process.send_signal(signal.SIGCONT)
    shipping.end()
    check_equal(shipping.process.stderr.read(), "", "more words")
    server.url = server.as_user("reader:two")
    rows = server.collect(scratch() / "out")
    check_equal(sorted((row["host"], row["state"]) for row in rows),
                [("first", "complete"), ("web-1", "complete")], "rows")


install()
main()
