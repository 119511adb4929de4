#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_probe_torture.py - probes put in and taken out at random under load:
the output is that of an untouched run, to the byte, the program ends by itself,
and every byte of code is restored.

SONDE_TORTURE: how many seconds for each program (default 15; as many again, at
most, for the untouched run; for long ones run this file itself, with
SONDE_BUILD). SONDE_TORTURE_SEED: another choice of probes."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time

from sonde import BUILD, SONDE, install, scratch
from harness import PATIENCE, Skip, check, check_equal, main, test

install()

SECONDS = int(os.environ.get("SONDE_TORTURE", "15"))
PROBES = BUILD.resolve() / "tests" / "probes"
SEED = os.environ.get("SONDE_TORTURE_SEED", "1")
CONDITIONS = 1000
ENDS_WITHIN = 600  # a program, once it is left alone; a bound for hangs

DATABASE = """CREATE TABLE word(id INTEGER PRIMARY KEY, text TEXT, weight REAL);
CREATE INDEX by_text ON word(text);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5000)
INSERT INTO word SELECT i, hex(i * 7919 % 10007), i * 3.25 % 17 FROM n;
"""
QUERY = """SELECT {i}, count(*), sum(weight), max(text), group_concat(id % 7, '')
FROM (SELECT * FROM word WHERE text LIKE '%{digit}%' AND id % 13 = {rest}
ORDER BY text DESC, id);
SELECT {i}, a.text, b.weight FROM word a JOIN word b ON b.text = hex(a.id)
WHERE a.id BETWEEN {i} % 4000 AND {i} % 4000 + 5 ORDER BY 2;
"""


def torture_test(function):
    """As long as it is asked to, and the untouched run."""
    function.time_limit_s = 600 + 3 * SECONDS
    return test(function)


def torture(pid, names):
    done = subprocess.run([PROBES / "torture", str(pid), str(SECONDS), SEED,
                           *names], capture_output=True, text=True)
    check_equal(done.returncode, 0, done.stderr)
    print(done.stdout, file=sys.stderr)
    facts = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
    facts = {name: int(value) for name, value in facts.items()}
    check_equal(facts["ended"], 0, "the program ended")
    check_equal(facts["changed_bytes"], 0, "bytes that were not restored")
    check_equal(facts["added"], facts["removed"], "taken out")
    check(facts["conditions"] >= CONDITIONS, f"few conditions: {facts}")
    check(facts["hits"] > 0 and facts["faults"] > 0, f"no hits: {facts}")


def check_same(tortured, untouched):
    """Thousands of lines: the first that differs is enough."""
    for number, (one, other) in enumerate(zip(tortured, untouched)):
        check_equal(one, other, f"line {number}")
    check_equal(len(tortured), len(untouched), "lines")


@torture_test
def a_program_with_threads_computes_the_same():
    command = [PROBES / "torture_load", "2000", "1000000000"]
    out = pathlib.Path(scratch()) / "out"
    with open(out, "w") as file, subprocess.Popen(command,
                                                  stdout=file) as load:
        torture(load.pid, ["torture_load"])
        load.send_signal(signal.SIGTERM)
        check_equal(load.wait(ENDS_WITHIN), 0, "how it ended")
    lines = out.read_text().splitlines()
    check(lines, "it computed nothing")
    again = subprocess.run([*command[:2], str(len(lines))],
                           capture_output=True, text=True, check=True)
    check_same(lines, again.stdout.splitlines())


def query(i):
    return QUERY.format(i=i, digit=i % 10, rest=i % 13)


class Asker(threading.Thread):
    """Asks one thing after the other till it is told to end."""

    def __init__(self, to, question):
        super().__init__()
        self.to = to
        self.question = question
        self.asked = 0
        self.over = threading.Event()

    def run(self):
        try:
            while not self.over.is_set():
                self.to.write(self.question(self.asked))
                self.asked += 1
            self.to.close()
        except BrokenPipeError:
            pass


def check_answers(command, question, do, again=None):
    """Runs a program that answers lines, does something meanwhile, and compares
    with what `again` (the same, by default) answers undisturbed."""
    out = pathlib.Path(scratch()) / "answers"
    with open(out, "w") as file, subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=file, text=True) as load:
        asker = Asker(load.stdin, question)
        asker.start()
        try:
            do(load.pid)
        finally:
            asker.over.set()
            asker.join()
        check_equal(load.wait(ENDS_WITHIN), 0, "how it ended")
    answers = out.read_text().splitlines()
    check(len(answers) >= asker.asked > 0, "it answered too little")
    other = subprocess.run(
        again or command, capture_output=True, text=True, check=True,
        input="".join(question(i) for i in range(asker.asked)))
    check_same(answers, other.stdout.splitlines())


@torture_test
def sqlite_answers_the_same():
    sqlite = shutil.which("sqlite3")
    if not sqlite:
        raise Skip("no sqlite3")
    base = str(pathlib.Path(scratch()) / "words")
    subprocess.run([sqlite, base], input=DATABASE, text=True, check=True)
    check_answers([sqlite, base], query,
                  lambda pid: torture(pid, ["sqlite3"]))


class Redis:
    """A server of its own, with clients that keep it busy (database 1)."""

    def __init__(self, name="redis"):
        # Debian has them all in redis-tools; the server goes by argv[0].
        program = shutil.which("redis-server") or shutil.which(
            "redis-check-rdb")
        if not program or not shutil.which("redis-benchmark"):
            raise Skip("no redis-server")
        directory = pathlib.Path(scratch())
        self.socket = str(directory / name)
        self.cli = ["redis-cli", "-s", self.socket]
        self.server = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", self.socket,
             "--save", "", "--dir", str(directory)], executable=program,
            stdout=subprocess.DEVNULL)
        while subprocess.run([*self.cli, "ping"],
                             capture_output=True).returncode != 0:
            check(self.server.poll() is None, "redis-server has ended")
            time.sleep(0.02)
        self.load = None

    def keep_busy(self):
        self.load = subprocess.Popen(
            ["redis-benchmark", "-s", self.socket, "--dbnum", "1", "-l", "-q",
             "-r", "1000", "-c", "8", "-t", "set,get,lpush,lpop,zadd,hset"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def end(self):
        """It must do so by itself."""
        if self.load:
            self.load.kill()
            self.load.wait()
        check(self.server.poll() is None, "redis-server has ended")
        subprocess.run([*self.cli, "shutdown", "nosave"], check=True,
                       capture_output=True)
        check_equal(self.server.wait(ENDS_WITHIN), 0, "how the server ended")


def command(i):
    return f"""INCRBY count {i}
APPEND text:{i % 50} {i * 7919 % 1000003}
GETRANGE text:{i * 3 % 50} -40 -1
RPUSH list:{i % 20} {i} {i * i % 1009}
SORT list:{i * 7 % 20} LIMIT 0 5 DESC
LTRIM list:{i % 20} -100 -1
ZADD sorted:{i % 10} {i * 31 % 101} m{i % 300}
ZRANGE sorted:{i % 10} 3 9 WITHSCORES
HINCRBY hash:{i % 10} f{i % 40} {i}
HGET hash:{i % 10} f{i % 40}
EVAL "local s=0 for k=1,50 do s=s*31%65521+k+ARGV[1] end return s" 0 {i}
"""


@torture_test
def redis_answers_the_same():
    server = Redis()
    server.keep_busy()
    untouched = Redis("untouched")
    try:
        check_answers(server.cli, command,
                      lambda _: torture(server.server.pid, ["/redis"]),
                      untouched.cli)
    finally:
        untouched.end()
        server.end()


def sonde_probe(pid, *words):
    run = subprocess.run([SONDE, "probe", "-p", str(pid), *words], text=True,
                         capture_output=True, timeout=240 * PATIENCE)
    check_equal(run.returncode, 0, run.stdout + run.stderr)
    return run.stdout


@test
def a_busy_redis_server_has_a_probe():
    """One of its threads, an allocator's, blocks all signals."""
    server = Redis()
    server.keep_busy()
    try:
        sonde_probe(server.server.pid, "-o", str(scratch() / "trace"),
                    "processCommand if *(long *)$rdi > 3", "--collect",
                    "$regs")
        while True:
            listed = sonde_probe(server.server.pid, "--list", "--json")
            probes = json.loads(listed)["probes"]
            if any(probe["hits"] > 1000 for probe in probes):
                break
        sonde_probe(server.server.pid, "--stop")
    finally:
        server.end()


if __name__ == "__main__":
    main()
