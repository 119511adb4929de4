#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_ship.py - `sonde ship` and `sonde collect`: what arrives has the bytes that
were recorded, whatever is killed on the way."""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time

from fleet import Files, Growing, Talker, check_same, recorded, small
from sonde import SONDE, install, require, run, scratch
from harness import PATIENCE, check, check_equal, main, test

def ship(trace, store, *options, status=0):
    done = run(SONDE, "ship", "--json", "--host", "here", *options, trace,
               "--to", f"file://{store}")
    check_equal(done.returncode, status, f"ship: {done.stderr}")
    return json.loads(done.stdout) if status == 0 else done.stderr


def collect(store, out, *options, status=0):
    done = run(SONDE, "collect", "--json", *options, "--from", f"file://{store}",
               "-o", out)
    check_equal(done.returncode, status, f"collect: {done.stderr}")
    if not done.stdout:
        return done.stderr
    return json.loads(done.stdout)["traces"]


def places():
    top = scratch()
    return top / "store", top / "out"


def only(directory):
    return next(pathlib.Path(directory).glob("here/*"))


def logs(store):
    """The directories that have what was published: of each trace one."""
    return list(store.glob("here/" + 32 * "?"))


@test
def what_arrives_has_the_bytes_that_were_recorded():
    trace = recorded(4)
    store, out = places()
    shipped = ship(trace, store)
    (row,) = collect(store, out)
    check(shipped["packets"] > 10, f"packets: {shipped}")
    check_equal((row["pieces"], row["missing"], row["damaged"], row["state"]),
                (shipped["packets"], 0, 0, "complete"), "row")
    check_same(only(out), trace)


@test
def a_second_time_nothing_is_shipped_or_changed():
    trace = recorded()
    store, out = places()
    first = ship(trace, store)
    collect(store, out)
    second = ship(trace, store)
    check_equal((second["packets"], second["present"]), (0, first["packets"]),
                "packets")
    before = {p: p.stat().st_mtime_ns for p in only(out).rglob("*")}
    collect(store, out)
    check_equal({p: p.stat().st_mtime_ns for p in only(out).rglob("*")}, before,
                "times of files")


@test
def the_clock_s_line_of_a_synced_trace_arrives():
    trace = small()
    store, out = places()
    first = ship(trace, store)["packets"]
    (row,) = collect(store, out)
    check_equal(row["pieces"], first, "pieces")
    check_same(only(out), trace)
    # `sonde sync --write` does so when all has been shipped, and again.
    for bound in (5, 7):
        (trace / ".clock").write_text("sonde clock 1\nto web\nline 0 3 100 3\n"
                                      f"at 1 {bound}\n")
        check_equal(ship(trace, store)["packets"], 0, "packets, again")
        (row,) = collect(store, out)
        check_equal((row["pieces"], row["state"]), (first, "complete"), "row")
        check_same(only(out), trace)
    done = run(SONDE, "stat", "--json", "-v", only(out))
    check_equal(json.loads(done.stdout)["clocks"][0]["synced_to"], "web",
                "whose clock")


@test
def bytes_that_no_packet_has_arrive_too():
    trace = small()
    with open(trace / "cpu0", "ab") as file:
        file.write(random.Random(1).randbytes(100000) + bytes(5000))
    (trace / "cpu1").write_bytes(b"nothing that could be read")
    (trace / "empty").write_bytes(b"")
    store, out = places()
    ship(trace, store)
    collect(store, out)
    check_same(only(out), trace)


@test
def a_packet_up_to_the_end_of_a_sparse_file_is_small_on_its_way():
    trace = recorded()
    # As a recorder that was killed leaves it: the last packet's size says so.
    name = max(trace.glob("program*"), key=lambda p: p.stat().st_size)
    with open(name, "r+b") as file:
        file.truncate(200 << 20)
    store, out = places()
    ship(trace, store)
    collect(store, out)
    check_same(only(out), trace)
    used = sum(p.stat().st_size for p in store.rglob("*.chunk"))
    check(used < 50 << 20, f"{used} bytes were shipped")


@test
def what_goes_compressed_arrives_as_it_was():
    trace = recorded(4)
    store, out = places()
    shipped = ship(trace, store, "--compress")
    check(0 < shipped["sent"] < shipped["bytes"] / 2, f"bytes: {shipped}")
    check(shipped["cpu_seconds"] > 0, f"CPU: {shipped}")
    used = sum(p.stat().st_size for p in store.rglob("*.chunk"))
    check(shipped["sent"] < used < shipped["bytes"] / 2, f"{used} bytes there")
    (row,) = collect(store, out)
    check_equal(row["state"], "complete", "state")
    check_same(only(out), trace)
    # It is the same message, whichever way it goes.
    check_equal(ship(trace, store)["packets"], 0, "packets, a second time")


@test
def a_rate_is_kept():
    trace = recorded(4)
    store, out = places()
    shipped = ship(trace, store, "--rate", "2M")
    # What wasn't sent in a second may be made up for.
    check(shipped["seconds"] > shipped["bytes"] / 2 / 2**20 - 1.1,
          f"too fast: {shipped}")
    collect(store, out)
    check_same(only(out), trace)


@test
def recordings_of_one_name_and_hosts_are_apart():
    one, other = small(), small()
    metadata = (other / "metadata").read_text()
    check("uuid" in metadata, "the trace has a UUID")
    text = metadata.replace("0a0b0c0d0e0f", "0a0b0c0d0eff")
    uuid = bytes(range(16))
    swapped = uuid[:15] + b"\xff"
    (other / "metadata").write_text(text)
    for file in other.glob("cpu*"):
        file.write_bytes(file.read_bytes().replace(uuid, swapped))
    top = scratch()
    os.rename(one, top / "t")
    (top / "x").mkdir()
    os.rename(other, top / "x" / "t")
    store, out = places()
    ship(top / "t", store)
    ship(top / "x" / "t", store)
    ship(top / "t", store, "--host", "there")
    rows = collect(store, out)
    check_equal(len({row["trace"] for row in rows}), 3, f"places: {rows}")
    for row in rows:
        check(row["trace"].split("/")[1].startswith("t"), f"place: {row}")
    alone = scratch() / "alone"
    (row,) = collect(store, alone, "--hosts", "th*")
    check_equal(row["host"], "there", "host")
    few = scratch() / "few"
    rows = collect(store, few, "--traces", "t")
    check_equal(len(rows), 3, f"traces that are called so: {rows}")
    none = scratch() / "none"
    check_equal(collect(store, none, "--traces", "tt,x", status=1), [], "traces")
    check_equal(list(none.glob("*here")), [], "directories")


# ---- kills ----

CALLS = ("write,pwrite64,fsync,fdatasync,rename,renameat,renameat2,ftruncate,"
         "mkdirat,openat,unlinkat,flock")


def killed_at(n, command):
    """Runs it, with a SIGKILL at its n-th of these calls; whether it ended
    before."""
    done = subprocess.run(
        ["strace", "-o/dev/null", "-f", f"-etrace={CALLS}",
         f"-einject={CALLS}:signal=SIGKILL:when={n}", *map(str, command)],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    check(done.returncode in (0, -9), f"status {done.returncode}: "
          f"{done.stderr.decode()}")
    return done.returncode == 0


def check_each_call(command, least, after):
    """Kills it at each of its calls, and does what comes after."""
    for n in range(1, 3000):
        whole = killed_at(n, command())
        after(n)
        if whole:
            check(n > least, f"it had {n} calls only")
            return
    check(False, "it makes more calls than that")


@test
def who_ships_may_be_killed_at_any_call():
    require("strace")
    trace = small()
    state = {}

    def command():
        state["store"], state["out"] = places()
        return [SONDE, "ship", "-q", "--host", "here", trace, "--to",
                f"file://{state['store']}"]

    def after(_):
        ship(trace, state["store"])
        (row,) = collect(state["store"], state["out"])
        check_equal((row["pieces"], row["state"]), (12, "complete"), "row")
        check_same(only(state["out"]), trace)

    check_each_call(command, 30, after)


@test
def who_collects_may_be_killed_at_any_call():
    require("strace")
    trace = small()
    store, _ = places()
    ship(trace, store)
    state = {}

    def command():
        state["out"] = places()[1]
        return [SONDE, "collect", "-q", "--from", f"file://{store}", "-o",
                state["out"]]

    def after(_):
        (row,) = collect(store, state["out"])
        check_equal((row["pieces"], row["state"]), (12, "complete"), "row")
        check_same(only(state["out"]), trace)
        left = [p for p in state["out"].rglob(".*.new")]
        check_equal(left, [], "what was left")

    check_each_call(command, 30, after)


@test
def a_recording_is_shipped_as_it_grows_while_all_are_killed():
    talker = Talker()
    talker.say()
    store, out = places()
    command = [SONDE, "ship", "-q", "--host", "here", talker.dir, "--to",
               f"file://{store}"]
    shipper = subprocess.Popen(command)
    seen, deadline = 0, time.monotonic() + 60 * PATIENCE
    for _ in range(12):
        before = seen
        while seen <= before and time.monotonic() < deadline:
            talker.say()
            if logs(store):
                seen = sum(r["pieces"] for r in collect(store, out))
                check("complete" not in str(collect(store, out)), "it grows")
        check(seen > before, "what is recorded doesn't arrive")
        shipper.send_signal(signal.SIGKILL)
        check_equal(shipper.wait(), -9, "status of ship")
        shipper = subprocess.Popen(command)
    talker.end()
    check_equal(shipper.wait(), 0, "status of ship")
    (row,) = collect(store, out)
    check_equal((row["missing"], row["state"]), (0, "complete"), "row")
    check_same(only(out), talker.dir)


@test
def any_of_them_may_be_killed_in_any_order_while_chunks_end():
    growing = Growing(Files(), "--rotate", "256k")
    growing.kill_in_any_order("ship", "collect")
    rows = growing.end()
    check(len(rows) > 3, f"chunks: {rows}")


# ---- a spool ----

def chunks(directory):
    return sorted(p.name for p in directory.glob("chunk-*"))


def events_in(directory):
    done = run(SONDE, "stat", "--json", directory)
    check_equal(done.returncode, 0, f"stat: {done.stderr}")
    return sum(row["events"] for row in json.loads(done.stdout)["streams"])


class Spooling:
    """A recording in chunks whose shipper keeps to a size."""

    def __init__(self, *options):
        self.talker = Talker("--rotate", "64k")
        self.store, self.out = places()
        self.options = options
        self.deadline = time.monotonic() + 100 * PATIENCE
        self.talker.say()
        self.start()

    def start(self):
        self.shipper = subprocess.Popen(
            [SONDE, "ship", "--json", "--host", "here", *self.options,
             self.talker.dir, "--to", f"file://{self.store}"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def last(self):
        return int(chunks(self.talker.dir)[-1][-6:])

    def grow(self, is_enough, is_ready=lambda: True):
        """More is recorded, each time it is ready for that, until it is."""
        while not is_enough():
            check(time.monotonic() < self.deadline,
                  f"it doesn't come: {chunks(self.talker.dir)}")
            if is_ready() and len(chunks(self.talker.dir)) < 60:
                self.talker.say()
            time.sleep(0.05)

    def has_begun_all(self):
        return len(logs(self.store)) >= self.last()

    def has_lost(self, nr):
        return (self.last() > nr and
                f"chunk-{nr:06}" not in chunks(self.talker.dir))

    def end(self, status):
        self.talker.end()
        out, words = self.shipper.communicate()
        check_equal(self.shipper.returncode, status, f"ship: {words}")
        return json.loads(out), words


@test
def what_was_shipped_is_removed_when_there_is_no_room_for_it():
    spooling = Spooling("--spool", "600k")
    spooling.grow(lambda: spooling.has_lost(2), spooling.has_begun_all)
    shipped, _ = spooling.end(0)
    check(shipped["removed"] >= 2 and shipped["removed_bytes"] > 2 * 65536,
          f"shipped: {shipped}")
    check_equal((shipped["unsent"], shipped["untold"], shipped["gone"]),
                (0, 0, 0), "what is missing")
    check(len(chunks(spooling.talker.dir)) >= 2, "the last ones stay")
    rows = collect(spooling.store, spooling.out)
    check_equal({row["state"] for row in rows}, {"complete"}, "states")
    check_equal(events_in(only(spooling.out)), 20000 * spooling.talker.said,
                "events")
    for name in chunks(spooling.talker.dir):
        check_same(only(spooling.out) / name, spooling.talker.dir / name)


@test
def what_goes_unsent_is_told_where_it_was_recorded_and_where_it_lacks():
    spooling = Spooling("--spool", "600k")
    spooling.grow(lambda: len(logs(spooling.store)) > 1)
    # What it ships to goes away: there is a file where the directory was.
    away = spooling.store.with_name("away")
    spooling.store.rename(away)
    spooling.store.write_text("")
    accounts = spooling.talker.dir / ".unsent"
    last = spooling.last()
    spooling.grow(lambda: spooling.has_lost(last))
    check(list(accounts.glob("?" * 32)), "accounts")
    spooling.shipper.send_signal(signal.SIGKILL)
    spooling.shipper.communicate()
    spooling.start()
    last = spooling.last()
    spooling.grow(lambda: spooling.has_lost(last))
    check_equal(spooling.shipper.poll(), None, "it doesn't give up")
    spooling.store.unlink()
    away.rename(spooling.store)
    shipped, words = spooling.end(1)
    check(f"chunk-{last:06} goes unsent" in words and
          "Not a directory" in words, f"words: {words}")
    check_equal(accounts.exists(), False, "accounts that weren't published")
    rows = collect(spooling.store, spooling.out, status=1)
    missing = sum(row["missing"] for row in rows)
    check(missing > 3 and missing == shipped["unsent"],
          f"missing {missing}: {shipped}")
    check_equal({row["state"] for row in rows}, {"complete", "incomplete"},
                "states")
    have = events_in(only(spooling.out))
    check(0 < have < 20000 * spooling.talker.said, f"{have} events")


@test
def what_others_remove_before_it_is_shipped_is_told():
    talker = Talker("--rotate", "64k")
    talker.say()
    talker.end()
    store, _ = places()
    with subprocess.Popen(
            [SONDE, "ship", "-q", "--host", "here", "--rate", "256k",
             talker.dir, "--to", f"file://{store}"], stderr=subprocess.PIPE,
            text=True) as shipper:
        deadline = time.monotonic() + 60 * PATIENCE
        while not list(store.glob("here/*/.open")):
            check(time.monotonic() < deadline, "nothing is shipped")
            time.sleep(0.01)
        last = talker.dir / chunks(talker.dir)[-1]
        last.rename(talker.dir / "gone")
        shutil.rmtree(talker.dir / "gone")
        words = shipper.stderr.read()
    check_equal(shipper.returncode, 1, "status")
    check(f"{last.name} was removed before all of it was shipped" in words,
          f"words: {words}")


# ---- what isn't as it should be ----

@test
def two_at_one_place_are_refused():
    trace = small()
    store, out = places()
    ship(trace, store)
    collect(store, out)
    (log,) = logs(store)
    with subprocess.Popen(["flock", "-x", log, "-c", "echo locked; read x"],
                          stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as holder:
        holder.stdout.readline()
        check("another sonde ship" in ship(trace, store, status=1), "words")
        holder.stdin.close()
    with subprocess.Popen(["flock", "-x", out / ".collect", "-c",
                           "echo locked; read x"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as holder:
        holder.stdout.readline()
        check("another sonde collect" in collect(store, out, status=1), "words")
        holder.stdin.close()


@test
def what_is_damaged_on_the_way_is_left_out_and_said():
    trace = small()
    store, out = places()
    ship(trace, store)
    chunk = sorted(store.rglob("*.chunk"))[0]
    text = bytearray(chunk.read_bytes())
    at = text.index(b" file=cpu0")
    body = text.index(b"\n", at) + 5
    text[body] ^= 0x40
    chunk.write_bytes(text)
    (row,) = collect(store, out, status=1)
    check_equal((row["damaged"], row["missing"], row["state"]),
                (1, 1, "incomplete"), "row")
    (row,) = collect(store, out, status=1)
    check_equal(row["state"], "incomplete", "state, the second time")


@test
def what_is_damaged_where_it_is_compressed_is_said():
    trace = recorded()
    store, out = places()
    ship(trace, store, "--compress")
    for chunk in store.rglob("*.chunk"):
        text = bytearray(chunk.read_bytes())
        # the middle of the first packet, behind its head's line
        at = text.index(b"\n", text.index(b"sonde1 packet"))
        text[at + 2000] ^= 0x55
        chunk.write_bytes(text)
        break
    (row,) = collect(store, out, status=1)
    check_equal((row["damaged"], row["missing"], row["state"]),
                (1, 1, "incomplete"), "row")


@test
def a_chunk_that_is_missing_is_waited_for():
    trace = recorded()
    store, out = places()
    ship(trace, store)
    chunk = next(store.rglob("00000001.chunk"))
    log = chunk.parent
    os.rename(chunk, log / "later")
    (log / "00000002.chunk").write_bytes(b"")
    done = run(SONDE, "collect", "--from", f"file://{store}", "-o", out)
    check("chunk 1 is missing" in done.stderr, f"words: {done.stderr}")
    os.unlink(log / "00000002.chunk")
    os.rename(log / "later", chunk)
    collect(store, out)
    check_same(only(out), trace)


def one_chunk(store):
    """All that was published in one."""
    first, *others = sorted(store.rglob("*.chunk"))
    first.write_bytes(b"".join(p.read_bytes() for p in [first, *others]))
    for chunk in others:
        chunk.unlink()
    return first


@test
def a_chunk_that_is_being_copied_is_waited_for():
    trace = small()
    store, out = places()
    ship(trace, store)
    chunk = one_chunk(store)
    text = chunk.read_bytes()
    # In a head, behind one, and in a body.
    for size in (0, 10, text.index(b"\n") + 1, len(text) // 2, len(text) - 1):
        chunk.write_bytes(text[:size])
        done = run(SONDE, "collect", "--json", "--from", f"file://{store}", "-o",
                   out)
        (row,) = json.loads(done.stdout)["traces"]
        check_equal((row["damaged"], row["state"]), (0, "growing"),
                    f"row after {size} bytes")
        check(size == 0 or "isn't all there yet" in done.stderr,
              f"words: {done.stderr}")
    # One behind which others come doesn't grow.
    other = chunk.with_name("00000001.chunk")
    other.write_bytes(b"")
    (row,) = collect(store, scratch() / "early", status=1)
    check_equal(row["damaged"], 1, "damaged")
    other.unlink()
    chunk.write_bytes(text)
    (row,) = collect(store, out)
    check_equal(row["state"], "complete", "state")
    check_same(only(out), trace)


@test
def what_is_damaged_is_published_again_by_who_ships():
    trace = small()
    store, out = places()
    ship(trace, store)
    chunk = one_chunk(store)
    text = chunk.read_bytes()
    chunk.write_bytes(text[:len(text) // 2])
    check(ship(trace, store)["packets"] > 3, "packets, again")
    (row,) = collect(store, out, status=1)
    check_equal((row["missing"], row["damaged"]), (0, 1), "row")
    check_same(only(out), trace)


@test
def mistakes_are_told_with_a_remedy():
    trace = small()
    empty, out = scratch(), scratch() / "out"
    for words, status, expected in [
            (["ship", trace], 2, "--to file:///DIRECTORY"),
            (["ship", trace, "--to", "http://x"], 2, "file:///DIRECTORY"),
            (["ship", trace, "--to", "file://x"], 2, "whole path"),
            (["ship", "--to", "file:///x"], 2, "one trace is wanted"),
            (["ship", trace, "--to", f"file://{out}", "--rate", "0"], 2,
             "a size is wanted"),
            (["ship", trace, "--to", f"file://{out}", "--spool", "much"], 2,
             "--spool much: a size is wanted"),
            (["ship", empty, "--to", f"file://{out}"], 1, "no trace here"),
            (["ship", trace, "--to", f"file://{out}", "--host", "a/b"], 1,
             "give --host"),
            (["collect", "-o", out], 2, "--from"),
            (["collect", "--from", f"file://{out}"], 2, "-o DIR"),
            (["collect", "--from", "file:///none", "-o", out], 1, "/none"),
            (["collect", "--from", f"file://{trace}", "-o", out], 1,
             f"nothing was shipped to file://{trace}"),
            (["collect", "--from", f"file://{out}", "-o", trace], 1,
             "something in it")]:
        done = run(SONDE, *words)
        check_equal(done.returncode, status, f"status of {words}")
        check(expected in done.stderr, f"{words}: {done.stderr}")


install()
main()
