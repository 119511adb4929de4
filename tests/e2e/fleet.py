# SPDX-License-Identifier: MIT
"""fleet.py - traces that are shipped and collected, for the tests of that."""

import hashlib
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import time

from sonde import BUILD, ROOT, SONDE, build, record_ok, require, run, scratch
from handmade import Handmade, Layout
from harness import PATIENCE, Skip, check, check_equal, test

HOST = "here 1.a"
# `SONDE_KILLS=100`: as docs/fleet.md says.
KILLS = int(os.environ.get("SONDE_KILLS", "20"))

# Says a number of events at each line of its input.
TALKER = r"""
#include <sonde/tracepoint.h>
#include <stdio.h>
int main(void)
{
	char line[100];
	unsigned long n = 0;
	while (fgets(line, sizeof(line), stdin)) {
		for (int i = 0; i < 20000; i++)
			sonde_event(talk, word, ("n", n++), ("text", "some text"));
		puts("ok");
		fflush(stdout);
	}
}
"""


def sums(directory):
    """A sum for each file, by its name from the directory on."""
    top = pathlib.Path(directory)
    return {str(p.relative_to(top)): hashlib.sha256(p.read_bytes()).hexdigest()
            for p in sorted(top.rglob("*")) if p.is_file()}


def check_same(ours, recorded):
    got, expected = sums(ours), sums(recorded)
    check_equal(sorted(got), sorted(expected), "files")
    for name in expected:
        check_equal(got[name], expected[name], f"bytes of {name}")


def recorded(nr_lines=1):
    """A trace with several packets in each of its files, and its name."""
    program = build(TALKER)
    trace = record_ok(program, input="x\n" * nr_lines)
    return pathlib.Path(trace.dir)


def small():
    """A trace of a few packets, without an index."""
    trace = Handmade(Layout(events={"app:none": []}))
    for cpu in range(3):
        with trace.stream(f"cpu{cpu}", cpu=cpu) as stream:
            for i in range(4):
                with stream.packet(begin=100 * i, end=100 * i + 90):
                    pass
    return pathlib.Path(trace.dir)


class Talker:
    """A program that is recorded while it waits for lines."""

    def __init__(self, *options):
        self.dir = scratch() / "trace"
        self.process = subprocess.Popen(
            [SONDE, "record", "-q", *options, "-o", self.dir, build(TALKER)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.said = 0

    def say(self):
        self.process.stdin.write("x\n")
        self.process.stdin.flush()
        check_equal(self.process.stdout.readline(), "ok\n", "its answer")
        self.said += 1

    def end(self):
        self.process.stdin.close()
        check_equal(self.process.wait(), 0, "status of record")


class Engine:
    """What is shipped to, by its URL, and shipping and collecting by it."""

    url = None

    def start(self):
        """After a kill."""

    def ship(self, trace, *options, status=0, **more):
        done = run(SONDE, "ship", "--json", "--host", HOST, *options, trace,
                   "--to", self.url, **more)
        check_equal(done.returncode, status, f"ship: {done.stderr}")
        return json.loads(done.stdout) if status == 0 else done.stderr

    def collect(self, out, *options, status=0, **more):
        done = run(SONDE, "collect", "--json", *options, "--from", self.url,
                   "-o", out, **more)
        check_equal(done.returncode, status, f"collect: {done.stderr}")
        return (json.loads(done.stdout)["traces"] if done.stdout else
                done.stderr)


class Files(Engine):
    """A directory."""

    def __init__(self):
        self.store = scratch() / "store"
        self.url = f"file://{self.store}"


def require_nats():
    require("nats-server")
    done = run(SONDE, "collect", "--from", "nats://127.0.0.1:1", "-o",
               scratch() / "x")
    if "libsonde-nats.so is not" in done.stderr:
        raise Skip("built without libnats")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server(Engine):
    """A NATS server of the test's own, which may be killed and started again."""

    def __init__(self, *options, scheme="nats", user=""):
        require_nats()
        self.port = free_port()
        self.url = f"{scheme}://{user}127.0.0.1:{self.port}"
        self.command = ["nats-server", "-js", "-sd", scratch(), "-a",
                        "127.0.0.1", "-p", str(self.port), *options]
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            list(map(str, self.command)), stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if "Server is ready" in line:
                break
        else:
            check(False, "nats-server doesn't start")
        # what it says from now on nobody needs
        subprocess.Popen(["cat"], stdin=self.process.stderr,
                         stdout=subprocess.DEVNULL)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


class Kafka(Engine):
    """librdkafka's mock cluster, which keeps the last 5 MiB of each trace."""

    PRODUCE = 0  # requests' and errors' numbers
    TOO_LARGE, DENIED = 10, 29

    def __init__(self):
        mock = BUILD / "tests/engines/kafka_mock"
        if not mock.exists():
            raise Skip("built without librdkafka")
        self.process = subprocess.Popen([mock], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()
        self.url = f"kafka://{self.address}/a.b"

    def order(self, *words):
        """See tests/engines/kafka_mock.c."""
        print(*words, file=self.process.stdin, flush=True)
        check_equal(self.process.stdout.readline(), "ok\n", "its answer")

    @staticmethod
    def settings(text):
        """An environment whose KCAT_CONFIG names a file with these."""
        path = scratch() / "kcat.conf"
        path.write_text(text)
        return {**os.environ, "KCAT_CONFIG": str(path)}


def certificates():
    """A CA of the test's, and a certificate of it for 127.0.0.1."""
    require("openssl")
    top = scratch()

    def openssl(*words):
        done = run("openssl", *words, cwd=top)
        check_equal(done.returncode, 0, f"openssl: {done.stderr}")

    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout",
            "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=test CA")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem",
            "-out", "request.pem", "-subj", "/CN=127.0.0.1")
    (top / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    openssl("x509", "-req", "-in", "request.pem", "-CA", "ca.pem", "-CAkey",
            "ca.key", "-CAcreateserial", "-out", "cert.pem", "-days", "2",
            "-extfile", "names")
    return top


def permissions():
    """What docs/fleet.md has."""
    text = (ROOT / "docs" / "fleet.md").read_text()
    begin = text.index("authorization {")
    return text[begin:text.index("```", begin)]


def only(out):
    return next(pathlib.Path(out).glob(f"{HOST}/*"))


def claims(engine):
    """The tests of what any engine owes; `engine` starts one."""

    @test
    def what_arrives_has_the_bytes_that_were_recorded():
        server = engine()
        trace, out = recorded(4), scratch() / "out"
        shipped = server.ship(trace)
        check(shipped["packets"] > 10, f"packets: {shipped}")
        (row,) = server.collect(out)
        check_equal((row["pieces"], row["missing"], row["damaged"], row["state"]),
                    (shipped["packets"], 0, 0, "complete"), "row")
        check_same(only(out), trace)
        again = server.ship(trace)
        check_equal((again["packets"], again["present"]), (0, shipped["packets"]),
                    "packets, a second time")
        (row,) = server.collect(out)
        check_equal(row["state"], "complete", "state")

    @test
    def a_trace_may_be_shipped_by_two_names():
        server = engine()
        trace, out = small(), scratch() / "out"
        server.ship(trace)
        check_equal(server.ship(trace, "--host", "there")["packets"], 12, "packets")
        rows = server.collect(out)
        check_equal([row["state"] for row in rows], ["complete"] * 2, "states")
        check_same(next(out.glob("there/*")), trace)

    @test
    def what_goes_compressed_arrives_as_it_was():
        server = engine()
        trace, out = recorded(4), scratch() / "out"
        shipped = server.ship(trace, "--compress")
        check(0 < shipped["sent"] < shipped["bytes"] / 2, f"bytes: {shipped}")
        (row,) = server.collect(out)
        check_equal(row["state"], "complete", "state")
        check_same(only(out), trace)

    @test
    def an_empty_engine_has_no_traces():
        check_equal(engine().collect(scratch() / "out", status=1), [], "traces")


class Growing:
    """A recording that is shipped and collected while it grows, whatever is
    killed meanwhile. `engine`, which may be among the victims as "server"."""

    def __init__(self, engine, *options):
        self.engine, self.talker = engine, Talker(*options)
        self.out = scratch() / "out"
        self.deadline = time.monotonic() + 200 * PATIENCE
        self.talker.say()
        self.running = {}
        for who in ("ship", "collect"):
            self.start(who)

    def start(self, who):
        if who == "server":
            self.engine.start()
            return
        self.running[who] = subprocess.Popen(
            [SONDE, "ship", "-q", "--host", HOST, self.talker.dir, "--to",
             self.engine.url] if who == "ship" else
            [SONDE, "collect", "-q", "--follow", "--from", self.engine.url,
             "-o", self.out])

    def kill(self, who):
        if who == "server":
            self.engine.kill()
            return
        self.running[who].send_signal(signal.SIGKILL)
        # 1, 2: it had found no server when it began, and ended.
        check(self.running[who].wait() in (-9, 1, 2), f"status of {who}")

    def supervise(self):
        """Starts who ended because there was no server, as its supervisor
        does."""
        for who, process in self.running.items():
            if process.poll() in (1, 2):
                self.start(who)

    def arrived(self):
        """Bytes that are collected, by what collect --follow writes."""
        return sum(p.stat().st_size for p in self.out.glob(f"{HOST}/**/*")
                   if p.is_file() and not p.name.startswith("."))

    def grow(self):
        """More is recorded, now and then, until more arrives."""
        before = self.arrived()
        while self.arrived() <= before:
            check(time.monotonic() < self.deadline,
                  "what is recorded doesn't arrive")
            self.supervise()
            self.talker.say()
            self.watch(1, before)

    def watch(self, seconds, arrived=1 << 60):
        """Until more than that has arrived, or so long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.arrived() <= arrived:
            time.sleep(0.01)

    def kill_in_any_order(self, *candidates):
        """Each time some of them, and all are started again."""
        seed = int(os.environ.get("SONDE_SEED", random.randrange(1 << 20)))
        print(f"SONDE_SEED={seed}")
        chance = random.Random(seed)
        kills = 0
        while kills < KILLS:
            self.grow()
            victims = chance.sample(candidates,
                                    chance.randint(1, len(candidates)))
            for who in victims:
                self.kill(who)
                self.talker.say()
            # Who starts and finds no server ends: so the server goes first.
            for who in sorted(victims, key="server".__ne__):
                self.start(who)
            kills += len(victims)
        self.grow()

    def end(self):
        self.talker.end()
        check_equal(self.running["ship"].wait(), 0, "status of ship")
        self.running["collect"].send_signal(signal.SIGTERM)
        check_equal(self.running["collect"].wait(), 0, "status of collect")
        rows = self.engine.collect(self.out)
        check_equal({(row["missing"], row["damaged"], row["state"])
                     for row in rows}, {(0, 0, "complete")}, "rows")
        check_same(only(self.out), self.talker.dir)
        # All of it once more, from what the engine has.
        again = scratch() / "again"
        others = self.engine.collect(again)
        check_equal(sum(row["pieces"] for row in others),
                    sum(row["pieces"] for row in rows),
                    "pieces, from the beginning")
        check_same(only(again), self.talker.dir)
        return rows


def word_sum(data):
    """src/base/sum.h, by what its comments say."""
    most = (1 << 64) - 1

    def mix(total, word):
        total = (total ^ word) * 0x9e3779b97f4a7c15 & most
        return total ^ total >> 29

    total = mix(0, len(data))
    while len(data) >= 8:
        total, data = mix(total, int.from_bytes(data[:8], "little")), data[8:]
    return mix(total, int.from_bytes(data, "little"))


class Stranger:
    """A worker of the test's own, by NATS's protocol, which is text."""

    def __init__(self, server, number=0xbad):
        self.socket = socket.create_connection(("127.0.0.1", server.port))
        self.socket.settimeout(60 * PATIENCE)
        self.file = self.socket.makefile("rwb")
        self.number, self.job = number, None
        check(self.file.readline().startswith(b"INFO"), "NATS")
        self._send(b'CONNECT {"verbose":false,"headers":false}\r\n'
                   b"SUB sonde-work.offer 1\r\nSUB inbox 2\r\n")

    def _send(self, data):
        self.file.write(data)
        self.file.flush()

    def message(self, subject):
        """The payload of the next one of this subject."""
        while True:
            words = self.file.readline().split()
            check(words, "the server has gone")
            if words[0] == b"PING":
                self._send(b"PONG\r\n")
            if words[0] != b"MSG":
                continue
            payload = self.file.read(int(words[-1]) + 2)[:-2]
            if words[1] == subject:
                return payload

    def say(self, word, body=b"", unit=0, begin=0, size=0):
        """What is answered: the word, its unit, and what is behind it."""
        line = (f"sonde1 {word} worker={self.number:016x} unit={unit} "
                f"begin={begin} all={size} body={len(body)}").encode()
        line += b" check=%016x\n" % word_sum(line) + body
        self._send(b"PUB sonde-work.%s inbox %d\r\n%s\r\n" %
                   (self.job, len(line), line))
        line, _, body = self.message(b"inbox").partition(b"\n")
        words = line.decode().split()
        fields = dict(w.split("=") for w in words if "=" in w)
        return words[1], int(fields["unit"]), body

    def take(self):
        """A unit that is offered, and its request."""
        self.job = self.message(b"sonde-work.offer")
        word, unit, body = self.say("take")
        check_equal(word, "unit", "answer to take")
        return unit, body

    def answer(self, unit, data):
        return self.say("part", data, unit, 0, len(data))[0]
