#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_workers.py - `sonde report --on` and `sonde worker`, by NATS: what workers make
of what was shipped is what one process makes of what was collected, whoever is
killed, and whatever strangers say."""

import contextlib
import os
import random
import signal
import subprocess
import time

from fleet import Files, Server, Stranger, permissions, word_sum
from handmade import Handmade, Layout
from sonde import SONDE, install, run, scratch
from harness import PATIENCE, check, check_equal, main, test

# `SONDE_KILLS=100` for more; each may cost ten seconds of silence.
KILLS = int(os.environ.get("SONDE_KILLS", "6"))
S = 1_000_000_000


def trace_of(machine, begin, nr=40, discarded=0, key="id"):
    """Requests of a machine that differ from those of any other one."""
    trace = Handmade(Layout(events={"app:begin": [(key, 32, 8)],
                                    "app:end": [(key, 32, 8)]},
                            header=[("id", 8, 8), ("time", 64, 8)]))
    with trace.stream("cpu0", cpu=0) as stream:
        with stream.packet(begin=begin, end=begin + nr * S,
                           discarded=discarded):
            for i in range(nr):
                at = begin + i * S
                stream.event("app:begin", at, **{key: i})
                stream.event("app:end", at + 1000 * (begin // S % 97 + i),
                             **{key: i})
    metadata = trace.dir / "metadata"
    metadata.write_text(metadata.read_text().replace('"made"', f'"{machine}"'))
    return trace.dir


@contextlib.contextmanager
def workers(server, nr, *more):
    """So many, each with a directory of its own."""
    running = [start_worker(server, scratch() / f"worker{i}") for i in range(nr)]
    try:
        yield running
    finally:
        for process in running:
            process.send_signal(signal.SIGTERM)
        for process in running:
            process.wait()


def start_worker(server, directory):
    return subprocess.Popen([SONDE, "worker", "-q", "--from", server.url, "-o",
                             directory])


def fleet(machines, keys=()):
    """A server to which hosts have shipped, by their names, and what was collected
    of that; `keys` are other names of the id, by host."""
    server = Server()
    for i, (host, machine) in enumerate(machines.items()):
        done = run(SONDE, "ship", "-q", "--host", host, trace_of(
            machine, (1000 + 10 * i) * S, nr=20 + i,
            key=dict(keys).get(host, "id")), "--to", server.url)
        check_equal(done.returncode, 0, done.stderr)
    out = scratch() / "collected"
    server.collect(out)
    return server, sorted(out.glob("[!.]*"))


def ask(server, *words, status=0):
    done = run(SONDE, "report", *words, "--on", server.url)
    check_equal(done.returncode, status, f"report {words}: {done.stderr}")
    return done


def same(server, collected, *words):
    here = run(SONDE, "report", *words, *collected)
    check_equal(here.returncode, 0, f"report {words}: {here.stderr}")
    check_equal(ask(server, *words).stdout, here.stdout, f"report {words}")


THREE = {"web-1": "alpha", "web-2": "beta", "db": "gamma"}


@test
def a_report_is_what_one_process_makes():
    server, collected = fleet(THREE)
    spans = ("latency", "--begin", '$event == "app:begin"', "--end",
             '$event == "app:end"', "--key", "id")
    with workers(server, 2):
        for words in (("top",), ("top", "--json"), spans, (*spans, "--json"),
                      ("top", "--json", "-f", "id > 5"),
                      ("top", "--json", "--by", "id", "--limit", "3"),
                      ("top", "--json", "--last", "5s"),
                      ("top", "--json", "--from", "+3s", "--to", "+31s"),
                      ("period", "--json", "--begin",
                       '$event == "app:begin"')):
            same(server, collected, *words)


@test
def only_the_machines_that_are_meant_are_asked():
    server, collected = fleet(THREE)
    with workers(server, 1):
        both = ask(server, "top", "--json", "--hosts", "web-*").stdout
        one = ask(server, "top", "--json", "--hosts", "db").stdout
        ask(server, "top", "--hosts", "x*", status=1)
    here = run(SONDE, "report", "top", "--json", *collected[1:]).stdout
    check_equal(both, here, "of two")
    check_equal(one, run(SONDE, "report", "top", "--json",
                         collected[0]).stdout, "of one")


@test
def hosts_with_a_machine_in_common_are_read_together():
    server, collected = fleet({"a": "one", "b": "two", "c": "one", "d": "three",
                               "e": ""})
    with workers(server, 2):
        same(server, collected, "top", "--json")
        same(server, collected, "top")


@test
def each_machine_is_read_once_if_no_span_must_be_known():
    server, collected = fleet(THREE)
    worker = subprocess.Popen([SONDE, "worker", "--from", server.url, "-o",
                               scratch() / "worker"], stderr=subprocess.PIPE,
                              text=True)
    same(server, collected, "top")
    same(server, collected, "top", "--last", "5s")
    worker.send_signal(signal.SIGTERM)
    said = [line.removeprefix("sonde: worker: ")
            for line in worker.communicate()[1].splitlines()]
    looks = [f"a look of {host}" for host in sorted(THREE)]
    check_equal(said[:3], looks, "the first report")
    check_equal(said[3:], looks + [f"top of {host}" for host in sorted(THREE)],
                "of a span")


@test
def machines_of_which_it_cant_be_told_take_nothing_from_the_others():
    server, collected = fleet(THREE, {"db": "other"})
    with workers(server, 2):
        same(server, collected, "top", "--json", "-f", "id > 5")
        same(server, collected, "top", "-f", "other > 5")


@test
def why_there_is_nothing_is_told():
    server, collected = fleet(THREE)
    with workers(server, 2):
        for words in (("malloc",), ("top", "-f", "nothing > 5")):
            there = run(SONDE, "report", *words, "--on", server.url)
            here = run(SONDE, "report", *words, *collected)
            check_equal((there.returncode, there.stdout),
                        (here.returncode, here.stdout), f"{words}")
            check(here.stderr.splitlines()[0] in there.stderr,
                  f"{there.stderr!r}, not {here.stderr!r}")


@test
def what_a_trace_lost_is_told():
    server = Server()
    trace = trace_of("alpha", S, discarded=7)
    run(SONDE, "ship", "-q", "--host", "web-1", trace, "--to", server.url)
    with workers(server, 1):
        there = ask(server, "top").stderr
    here = run(SONDE, "report", "top", trace).stderr
    check("lost" in here, here)
    check_equal(there, here, "warnings")


@test
def workers_may_be_killed_at_any_instant():
    server, collected = fleet({f"host-{i:02}": f"machine-{i}"
                               for i in range(12)})
    seed = int(os.environ.get("SONDE_SEED", random.randrange(1 << 20)))
    print(f"SONDE_SEED={seed}")
    chance = random.Random(seed)
    here = run(SONDE, "report", "top", "--json", *collected).stdout
    kills = 0
    with workers(server, 3) as running:
        while kills < KILLS:
            asking = subprocess.Popen(
                [SONDE, "report", "top", "--json", "--on", server.url],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            # Two for each report, so that no unit is killed three times.
            for i in range(2):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    asking.wait(chance.random() * PATIENCE)
                running[i].kill()
                running[i].wait()
                kills += 1
                running[i] = start_worker(server, scratch() / f"worker{i}")
            out, err = asking.communicate()
            check_equal(asking.returncode, 0, f"after {kills} kills: {err}")
            check_equal(out, here, f"the report, after {kills} kills")


@test
def what_a_dead_worker_had_is_done_by_another():
    server, collected = fleet({"web-1": "alpha"})
    stranger = Stranger(server)
    asking = subprocess.Popen([SONDE, "report", "top", "--json", "--on",
                               server.url], stdout=subprocess.PIPE, text=True)
    unit, request = stranger.take()
    check(request.startswith(b"sonde1 look hosts=web-1 "), f"{request}")
    # which says nothing more until another one has done its unit, and then lies
    with workers(server, 1):
        out, _ = asking.communicate()
    check_equal(asking.returncode, 0, "status")
    check_equal(out, run(SONDE, "report", "top", "--json",
                         *collected).stdout, "the report")


def asked_of_a_stranger(data, server):
    asking = subprocess.Popen([SONDE, "report", "top", "--on", server.url],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True)
    stranger = Stranger(server)
    unit, _ = stranger.take()
    check_equal(stranger.answer(unit, data), "go", "answer")
    out, err = asking.communicate()
    check_equal((asking.returncode, out), (1, ""), f"status: {err}")
    return err


def answer_of(words, report, status=0):
    line = (f"sonde1 answer status={status} words={len(words)} "
            f"report={len(report)}").encode()
    return line + b" check=%016x\n" % word_sum(line) + words + report


@test
def what_strangers_answer_is_checked():
    server, _ = fleet({"web-1": "alpha"})
    for data in (b"x", answer_of(b"", b""), answer_of(b"", b"sonde report 1\n")):
        err = asked_of_a_stranger(data, server)
        check("is no report" in err, f"{data}: {err}")
    empty = b"sonde report 1\n" + bytes(8)
    empty += word_sum(empty).to_bytes(8, "little")
    err = asked_of_a_stranger(answer_of(b"", empty), server)
    check("is no look at web-1" in err, err)


@test
def words_of_strangers_cant_write_on_the_terminal():
    server, _ = fleet({"web-1": "alpha"})
    err = asked_of_a_stranger(answer_of(b"\x1b[2Jboo\n", b"", 1), server)
    check("\\x1b[2Jboo" in err and "\x1b" not in err, repr(err))


@test
def who_asks_in_vain_is_told_what_to_run():
    server, _ = fleet({"web-1": "alpha"})
    asking = subprocess.Popen([SONDE, "report", "top", "--on", server.url],
                              stderr=subprocess.PIPE, text=True)
    line = asking.stderr.readline()
    check("waiting for a worker: 'sonde worker --from nats://" in line, line)
    with workers(server, 1):
        asking.communicate()
    check_equal(asking.returncode, 0, "status, when there was one")


@test
def a_worker_goes_on_after_who_asked_has_gone():
    server, collected = fleet(THREE)
    with workers(server, 1) as (worker,):
        for wait in (0, 0.02, 0.1, 0.3):
            asking = subprocess.Popen([SONDE, "report", "top", "--on",
                                       server.url], stdout=subprocess.DEVNULL)
            time.sleep(wait * PATIENCE)
            asking.kill()
            asking.wait()
        same(server, collected, "top")
        check_equal(worker.poll(), None, "status of worker")


@test
def a_directory_has_no_workers():
    store = Files()
    store.ship(trace_of("alpha", S))
    for words in (("report", "top", "--on", store.url),
                  ("worker", "--from", store.url, "-o", scratch() / "x")):
        done = run(SONDE, *words)
        check(done.returncode == 1 and "by nats://HOST" in done.stderr,
              f"{words}: {done.returncode}: {done.stderr}")


@test
def the_permissions_of_the_page_are_enough():
    config = scratch() / "nats.conf"
    config.write_text(permissions())
    server = Server("-c", config, user="admin:all@")
    server.ship(trace_of("alpha", S))
    server.url = server.url.replace("admin:all", "worker:three")
    with workers(server, 1):
        ask(server, "top", status=1)
        server.url = server.url.replace("worker:three", "reader:two")
        report = ask(server, "top", "--json").stdout
        server.url = server.url.replace("reader:two", "web-1:one")
        ask(server, "top", status=1)
    check_equal(report, run(SONDE, "report", "top", "--json", trace_of(
        "alpha", S)).stdout, "the report")


install()
main()
