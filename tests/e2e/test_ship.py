#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_ship.py - `sonde ship` and `sonde collect`: what arrives has the bytes that
were recorded, whatever is killed on the way."""

import json
import os
import pathlib
import random
import signal
import subprocess
import time

from fleet import Talker, check_same, recorded, small
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
            if list(store.glob("here/*")):
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


# ---- what isn't as it should be ----

@test
def two_at_one_place_are_refused():
    trace = small()
    store, out = places()
    ship(trace, store)
    collect(store, out)
    log = next(store.glob("here/*"))
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
