#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_rotate.py - a trace in chunks: each is a trace that babeltrace2 reads
alone, all of them together are one, and every event is in exactly one of them,
whenever one ends and whatever ends it.

The program numbers its events (obedient.py), so what is missing or there twice is
seen.
"""

import os
import pathlib
import random
import re
import shutil
import signal
import subprocess

from home import Home, check_sum, kill_recorder, program_at_home
from obedient import TIMEOUT, Program, program
from sonde import (PATIENCE, SONDE, Trace, build, check, install, record, run,
                   scratch)
from harness import Skip, check_equal, main, test


def numbers(trace):
    """As home.numbers(), of many."""
    return sorted(int(n) for line in trace.text()
                  for n in re.findall(r" attach:step: .*number = (\d+)", line))


def chunks(directory):
    """Those that can be seen, in order."""
    return sorted(p for p in pathlib.Path(directory).iterdir()
                  if p.name.startswith("chunk-"))


def check_all(directory, emitted):
    """Each number is in one chunk, or counted as discarded in one. Returns how
    many were discarded."""
    traces = [Trace(c) for c in chunks(directory)]
    got = sorted(n for t in traces for n in numbers(t))
    discarded = sum(t.discarded() for t in traces)
    check_equal(len(set(got)), len(got), "events that are there once")
    check_equal(len(got) + discarded, emitted,
                f"{len(got)} recorded + {discarded} discarded")
    return discarded


def printed(directory):
    """The numbers that `sonde print` shows, in its order."""
    done = run(SONDE, "print", "-q", "--fields", "payload", directory,
               "-f", "$event == \"attach:step\"")
    check_equal(done.returncode, 0, f"print: {done.stderr}")
    return [int(n) for n in re.findall(r"number\b\D*(\d+)", done.stdout)]


# ---- chunks are traces, and one trace ----

@test
def every_event_is_in_one_chunk():
    r = record(program(), options=("--rotate", "256k"),
               input="each 40000\nthreads 4\nemit 40000\n")
    check_equal(r.status, 0, r.err)
    check(len(chunks(r.dir)) >= 2, f"chunks: {chunks(r.dir)}")
    check_equal(check_all(r.dir, 200000), 0, "discarded")
    check_equal(sorted(printed(r.dir)), list(range(1, 200001)), "printed")


@test
def the_chunks_of_one_thread_are_in_order():
    r = record(program(), options=("--rotate", "128k"), input="emit 100000\n")
    check_equal(r.status, 0, r.err)
    check(len(chunks(r.dir)) >= 2, f"chunks: {chunks(r.dir)}")
    check_equal(printed(r.dir), list(range(1, 100001)), "order")
    last = 0
    for chunk in chunks(r.dir):
        got = numbers(Trace(chunk))
        check(not got or got[0] == last + 1, f"{chunk} begins with {got[:1]}")
        last = got[-1] if got else last
    check_equal(last, 100000, "the last")


@test
def what_reads_a_trace_reads_its_chunks():
    r = record(program(), options=("--rotate", "256k"), input="emit 100000\n")
    whole = run(SONDE, "stat", "--json", r.dir)
    check_equal(whole.returncode, 0, whole.stderr)
    check(re.search(r"\b100000\b", whole.stdout), f"stat: {whole.stdout}")
    sound = run(SONDE, "check", r.dir)
    check_equal(sound.returncode, 0, f"check: {sound.stdout}")
    out = scratch() / "cut"
    done = run(SONDE, "cut", r.dir, "-o", out, "--last", "1h")
    check_equal(done.returncode, 0, f"cut: {done.stderr}")
    check_equal(printed(out), list(range(1, 100001)), "cut")


@test
def a_chunk_has_the_state_to_read_it_by():
    with program_at_home() as (p, home):
        directory = home.start("night", "-p", p.pid, "--rotate", "hand")
        for _ in range(3):
            p.do("emit", 10)
            home.ok("rotate", "night")
        home.ok("stop", "night")
        for chunk in chunks(directory)[1:3]:
            trace = Trace(chunk)
            of = [e for e in trace.events("sonde:name", contexts=True)
                  if e["tid"] == p.pid]
            check(of and of[0]["procname"] == "emitter", f"names in {chunk}")
            check(any(e["path"].endswith("/emitter") for e in
                      trace.events("sonde:mapping", contexts=True)),
                  f"mapped files in {chunk}")
            check_equal({e.pid for e in trace.events("attach:step")}, {p.pid},
                        "whose events they are")


@test
def a_chunk_says_whose_its_events_are_and_when():
    with program_at_home() as (p, home):
        directory = home.start("night", "-p", p.pid, "--rotate", "hand")
        p.do("tick", 200)
        for _ in range(8):
            # So long that short times would be others without a long one.
            while not home.json("rotate", "night")["recorded"]:
                pass
        p.do("tick", 0)
        p.do("emit", 1)
        home.ok("stop", "night")
        check_equal(home.json("status", "night")["events"]["lost_disk"], 0,
                    "lost")
        for chunk in chunks(directory):
            check_equal({e.pid for e in Trace(chunk).events("attach:step")} -
                        {p.pid}, set(), f"whose the events of {chunk} are")
        got = printed(directory)
        check_equal(got, sorted(got), "in the order of time")


# ---- by hand ----

@test
def what_was_emitted_before_is_in_the_chunk_that_ends():
    with program_at_home() as (p, home):
        directory = home.start("night", "-p", p.pid, "--rotate", "hand")
        for i, nr in enumerate((10, 5, 0, 20000), 1):
            p.do("emit", nr)
            told = home.json("rotate", "night")
            check_equal(told["directory"], str(directory / f"chunk-{i:06}"),
                        "which")
            check_equal(told["recorded"], nr, "events told")
            check_equal(len(numbers(Trace(told["directory"]))), nr,
                        "events in it")
        p.do("emit", 3)
        status = home.json("status", "night")
        check_equal(status["chunks"]["written"], 5, "the number of the chunk")
        check_sum(status["events"])
        home.ok("stop", "night")
        check_all(directory, 20018)


@test
def an_event_ends_a_chunk():
    with program_at_home() as (p, home):
        directory = home.start("night", "-p", p.pid, "--rotate", "hand",
                               "--when", "attach:other", "--do", "rotate")
        p.do("emit", 10)
        p.do("other", 1)
        while home.json("status", "night")["chunks"]["kept"] < 2:
            pass
        p.do("emit", 5)
        home.ok("stop", "night")
        check_equal(numbers(Trace(directory / "chunk-000002"))[-5:],
                    list(range(11, 16)), "what came then")
        check("say --rotate" in home.complaint(
            "start", "x", "-p", p.pid, "--when", "a:b", "--do", "rotate",
            status=2), "the remedy")


@test
def a_session_in_one_piece_is_not_rotated():
    with program_at_home() as (p, home):
        home.start("whole", "-p", p.pid)
        check("--rotate" in home.complaint("rotate", "whole"), "the remedy")
        home.complaint("start", "x", "-p", p.pid, "--rotate", "10", status=2)
        home.complaint("start", "x", "-p", p.pid, "--rotate", "1M", "--mode",
                       "overwrite", status=2)
        home.complaint("start", "x", "-p", p.pid, "--keep", "3", status=2)
        home.complaint("start", "x", "-p", p.pid, "--rotate", "1M", "--keep",
                       "1M", status=2)


# ---- how much stays ----

@test
def the_oldest_chunks_go_and_are_told():
    with program_at_home() as (p, home):
        directory = home.start("night", "-p", p.pid, "--rotate", "hand",
                               "--keep", "3")
        for _ in range(6):
            p.do("emit", 100)
            home.ok("rotate", "night")
        check_equal([c.name for c in chunks(directory)],
                    [f"chunk-{i:06}" for i in (5, 6, 7)], "those that stay")
        told = home.json("status", "night")["chunks"]
        check_equal((told["kept"], told["removed"], told["removed_events"]),
                    (3, 4, 400), "what is told")
        check("4 chunks with 400 events were removed" in
              home.run("stop", "night").stderr, "the end tells it")
        check_equal(sorted(os.listdir(directory)),
                    [f"chunk-{i:06}" for i in (5, 6, 7)], "nothing hidden")
        check_equal(printed(directory), list(range(401, 601)), "events")


@test
def chunks_stay_within_so_many_bytes():
    with program_at_home() as (p, home):
        directory = home.start("night", "-p", p.pid, "--rotate", "hand",
                               "--keep", "1M")
        for _ in range(12):
            p.do("emit", 20000)
            home.ok("rotate", "night")
        check("were removed, as --keep says" in home.run("stop", "night").stderr,
              "the end tells it")
        size = sum(f.stat().st_blocks * 512 for c in chunks(directory)
                   for f in c.rglob("*") if f.is_file())
        check(size < 3 << 19, f"{size} bytes")
        check(len(chunks(directory)) > 2, "too much was removed")
        got = printed(directory)
        check_equal(got, list(range(got[0], 240001)),
                    "the newest, without a gap")


# ---- compressed ----

def streams(chunk):
    return sorted(f for f in pathlib.Path(chunk).iterdir()
                  if f.is_file() and f.name != "metadata")


def packed(directory):
    return [f for c in chunks(directory) for f in streams(c)
            if f.read_bytes()[:4] == b"\x28\xb5\x2f\xfd"]


def record_packed(n):
    r = record(program(), options=("--rotate", "128k", "--compress"),
               input=f"emit {n}\n")
    if "lacks libzstd" in r.err:
        raise Skip("built without libzstd")
    check_equal(r.status, 0, r.err)
    check(len(chunks(r.dir)) >= 2, f"chunks: {chunks(r.dir)}")
    return r


@test
def compressed_chunks_are_read_as_others():
    r = record_packed(100000)
    for chunk in chunks(r.dir):
        check(all(f in packed(r.dir) for f in streams(chunk)), f"{chunk}")
        check_equal([p for p in chunk.iterdir() if p.name.startswith(".")], [],
                    "nothing hidden")
    check_equal(printed(r.dir), list(range(1, 100001)), "printed")
    check_equal(run(SONDE, "check", r.dir).returncode, 0, "check")
    stat = run(SONDE, "stat", "--json", r.dir).stdout
    check(re.search(r"\b100000\b", stat), f"stat: {stat}")
    for what in (("report", "top"), ("export", "--to", "csv"), ("stat",)):
        done = run(SONDE, *what, r.dir)
        check_equal((done.returncode, done.stderr), (0, ""), f"{what}")
    out = scratch() / "plain"
    done = run(SONDE, "cut", r.dir, "-o", out, "--last", "1h")
    check_equal(done.returncode, 0, f"cut: {done.stderr}")
    check_equal(sum(len(numbers(Trace(d.parent)))
                    for d in out.rglob("metadata")), 100000, "plain")
    store, got = scratch() / "store", scratch() / "got"
    for words in (("ship", "-q", r.dir, "--to", f"file://{store}"),
                  ("collect", "-q", "--from", f"file://{store}", "-o", got)):
        done = run(SONDE, *words)
        check_equal((done.returncode, done.stderr), (0, ""), f"{words}")
    check_equal(sum(len(numbers(Trace(d.parent)))
                    for d in got.rglob("metadata")), 100000, "shipped")


@test
def a_compressed_file_is_what_zstd_says():
    if not shutil.which("zstd"):
        raise Skip("there is no zstd")
    r = record_packed(50000)
    for file in packed(r.dir):
        plain = subprocess.run(["zstd", "-dc", file], check=True,
                               stdout=subprocess.PIPE).stdout
        file.write_bytes(plain)
    check_equal(check_all(r.dir, 50000), 0, "discarded")


@test
def what_is_wrong_with_a_compressed_file_is_said():
    r = record_packed(50000)
    file = max(packed(r.dir), key=lambda f: f.stat().st_size)
    whole = file.read_bytes()
    file.write_bytes(whole[:-3])
    done = run(SONDE, "print", "-q", r.dir)
    check("the compressed file is torn" in run(SONDE, "check", r.dir).stdout,
          f"check of a torn one: {done.stderr}")
    file.write_bytes(whole[:len(whole) // 2] + b"spoiled" +
                     whole[len(whole) // 2 + 7:])
    check("compressed file is damaged" in run(SONDE, "check", r.dir).stdout,
          "check of a damaged one")
    done = run(SONDE, "print", r.dir)
    check("damaged" in done.stderr, f"print: {done.stderr}")
    check(len(done.stdout.splitlines()) < 50000, "none is missing")


@test
def chunks_are_compressed_while_others_are_written():
    with program_at_home() as (p, home):
        if not can_pack(home):
            raise Skip("built without libzstd")
        check("--rotate" in home.complaint("start", "x", "-p", p.pid,
                                           "--compress", status=2), "remedy")
        directory = home.start("night", "-p", p.pid, "--rotate", "hand",
                               "--keep", "4", "--compress")
        for _ in range(9):
            p.do("emit", 20000)
            home.ok("rotate", "night")
        while home.json("status", "night")["chunks"]["compressed"] < 9:
            pass
        p.do("emit", 20000)
        # What the recorder hasn't read of the last chunk yet is not there.
        seen = printed(directory)
        check_equal(seen, list(range(120001, 120001 + len(seen))), "while")
        check(60000 <= len(seen) <= 80000, f"{len(seen)} of them")
        home.ok("stop", "night")
        check_equal(sorted(os.listdir(directory)),
                    [f"chunk-{i:06}" for i in (7, 8, 9, 10)], "what stays")
        check_equal(len(packed(directory)),
                    sum(len(streams(c)) for c in chunks(directory)), "packed")
        check_equal(printed(directory), list(range(120001, 200001)), "after")


# ---- at any instant ----

FORKER = r"""
#include <sonde/tracepoint.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *emit(void *arg)
{
	unsigned long n = (unsigned long)arg;

	for (unsigned long i = 0; i < n; i++)
		sonde_event(attach, step, i);
	return NULL;
}

/* rounds x (children x n + threads x n) */
int main(int argc, char **argv)
{
	unsigned long rounds = strtoul(argv[1], NULL, 0);
	unsigned long n = strtoul(argv[2], NULL, 0);

	(void)argc;
	(void)getchar();
	for (unsigned long r = 0; r < rounds; r++) {
		pthread_t t[2];

		for (int i = 0; i < 2; i++)
			pthread_create(&t[i], NULL, emit, (void *)n);
		for (int i = 0; i < 2; i++) {
			if (!fork()) {
				emit((void *)n);
				_exit(0);
			}
		}
		for (int i = 0; i < 2; i++)
			pthread_join(t[i], NULL);
		while (wait(NULL) > 0)
			;
	}
	return 0;
}
"""


def count_all(directory):
    """What is recorded in all chunks, and what they say was discarded."""
    traces = [Trace(c) for c in chunks(directory)]
    return (sum(t.count("attach:step") for t in traces),
            sum(t.discarded() for t in traces))


@test
def at_random_instants_nothing_is_lost_or_there_twice():
    seed = int(os.environ.get("SEED", random.randrange(2**32)))
    print(f"    SEED={seed}")
    rng = random.Random(seed)
    path = build(FORKER, name="forker")
    with Home() as home:
        for memory in ("64M", "1M"):
            p = subprocess.Popen([path, "60", "3000"], stdin=subprocess.PIPE)
            directory = home.start(f"s{memory}", "-p", p.pid, "--memory",
                                   memory, "--rotate", rng.choice(
                                       ("64k", "200ms")))
            p.stdin.write(b"\n")
            p.stdin.flush()
            while not home.run("rotate", f"s{memory}").returncode:
                pass
            check_equal(p.wait(TIMEOUT), 0, "status of the program")
            ended = home.json("status", f"s{memory}")
            check_equal(ended["state"], "stopped", "state")
            p.stdin.close()
            check(len(chunks(directory)) > 2, "too few chunks")
            recorded, discarded = count_all(directory)
            check_equal(recorded, ended["events"]["recorded"], "recorded")
            check_equal(discarded, ended["events"]["discarded"], "discarded")
            check_equal(ended["events"]["lost_disk"], 0, "lost")
            print(f"    {len(chunks(directory))} chunks, {recorded} + "
                  f"{discarded}")


def can_pack(home):
    return "lacks libzstd" not in home.run("start", "x", "--compress").stderr


@test
def a_recorder_that_is_killed_leaves_chunks_that_can_be_read():
    for i in range(8):
        p = Program(program())
        with Home() as home:
            packs = ["--compress"] if i % 2 and can_pack(home) else []
            directory = home.start("night", "-p", p.pid, "--rotate", "64k",
                                   "--keep", "4", *packs)
            asked = [home.popen("rotate", "night") for _ in range(i % 3)]
            p.process.stdin.write("emit 400000\n")
            p.process.stdin.flush()
            for _ in range(i):
                home.json("status", "night")
            kill_recorder(home, "night")
            p.process.stdout.readline()
            for one in asked:
                one.communicate(timeout=TIMEOUT)
            check(chunks(directory), "no chunk")
            got = []
            for chunk in chunks(directory):
                got += printed(chunk) if packs else numbers(Trace(chunk))
            check_equal(len(set(got)), len(got), "events that are there once")
            done = run(SONDE, "check", directory)
            check(done.returncode in (0, 3), f"check: {done.stderr}")
        p.end()


@test
def a_thread_that_stands_still_holds_up_no_chunk():
    with program_at_home() as (p, home):
        directory = home.start("night", "-p", p.pid, "--rotate", "hand")
        p.do("run")
        for _ in range(5):
            os.kill(p.pid, signal.SIGSTOP)
            home.ok("rotate", "night")
            os.kill(p.pid, signal.SIGCONT)
        emitted = p.do("halt")
        ended = home.json("stop", "night")["events"]
        check_equal(ended["emitted"], emitted, "emitted")
        check_equal(ended["recorded"] + ended["discarded"] +
                    ended["lost_disk"], emitted, "account")
        recorded, discarded = count_all(directory)
        check_equal(recorded, ended["recorded"], "recorded")
        check_equal(recorded + discarded, emitted, "in the chunks")


if __name__ == "__main__":
    install()
    main()
