#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_ship_kafka.py - `sonde ship` and `sonde collect` by Kafka, with librdkafka's
mock cluster: the bytes arrive, whoever is killed; TLS is the library's."""

import os
import shutil
import socket
import ssl
import struct
import subprocess
import threading

from fleet import (HOST, Growing, Kafka, certificates, check_same, claims, only,
                   recorded, small)
from sonde import SONDE, install, run, scratch
from harness import check, check_equal, main, test

HANGS = int(os.environ.get("SONDE_HANGS", "7"))


def uuid_of(trace):
    """By which its topic is called."""
    store = scratch()
    done = run(SONDE, "ship", trace, "--to", f"file://{store}")
    check_equal(done.returncode, 0, f"ship: {done.stderr}")
    return next(store.glob("*/" + 32 * "?")).name


@test
def a_packet_that_is_too_large_goes_in_parts():
    kafka = Kafka()
    trace, out = recorded(2), scratch() / "out"
    whole = kafka.ship(trace, "--host", "whole")["packets"]
    env = kafka.settings("# as the brokers'\nmessage.max.bytes = 40000\n")
    shipped = kafka.ship(trace, env=env)
    check(shipped["packets"] < whole, f"packets: {shipped}")
    kafka.collect(out, "--hosts", HOST)
    check_same(only(out), trace)


@test
def what_is_stored_twice_is_collected_once():
    kafka = Kafka()
    trace, out = recorded(2), scratch() / "out"
    # Both begin with nothing there, and send all of it.
    both = [subprocess.Popen([SONDE, "ship", "-q", "--rate", "1M", "--host", HOST,
                              trace, "--to", kafka.url]) for _ in range(2)]
    check_equal([ship.wait() for ship in both], [0, 0], "status of ship")
    (row,) = kafka.collect(out)
    check_equal((row["missing"], row["damaged"], row["state"]),
                (0, 0, "complete"), "row")
    check_same(only(out), trace)
    shipped = kafka.ship(trace)
    check_equal((shipped["packets"], shipped["present"]), (0, row["pieces"]),
                "packets, a third time")


@test
def any_of_them_may_be_killed_in_any_order():
    # In chunks: of each trace the mock cluster keeps 5 MiB.
    growing = Growing(Kafka(), "--rotate", "1M")
    growing.kill_in_any_order("ship", "collect")
    growing.end()


@test
def a_broker_that_is_away_is_waited_for():
    growing = Growing(Kafka(), "--rotate", "1M")
    growing.grow()
    growing.engine.order("down")
    growing.talker.say()
    growing.watch(HANGS)
    growing.talker.say()
    check_equal(growing.running["ship"].poll(), None, "status of ship")
    growing.engine.order("up")
    growing.grow()
    growing.end()


@test
def what_brokers_threw_away_is_missing():
    kafka = Kafka()
    trace, out = recorded(16), scratch() / "out"
    shipped = kafka.ship(trace)
    check(shipped["bytes"] > 6 << 20, f"bytes: {shipped}")
    (row,) = kafka.collect(out, status=1)
    check(row["missing"] > 0, f"row: {row}")
    check_equal((row["pieces"] + row["missing"], row["damaged"], row["state"]),
                (shipped["packets"], 0, "incomplete"), "row")


@test
def a_topic_that_was_made_anew_is_told():
    trace, other = small(), scratch() / "copy" / "trace"
    out = scratch() / "out"
    shutil.copytree(trace, other)
    with open(trace / "cpu0", "ab") as file:
        file.write(b"nothing that could be read")
    first, second = Kafka(), Kafka()
    first.ship(trace)
    first.collect(out)
    second.ship(other)
    done = run(SONDE, "collect", "--from", second.url, "-o", out)
    check("was made anew" in done.stderr, f"words: {done.stderr}")


@test
def the_last_word_of_each_ship_is_listed():
    kafka = Kafka()
    for host in ("web 1", "web-2"):
        kafka.ship(small(), "--host", host)
    done = run(SONDE, "hosts", "--from", kafka.url, "--hosts", "web*")
    check_equal(done.returncode, 0, f"hosts: {done.stderr}")
    check(done.stdout.count(" ended ") == 2, f"rows: {done.stdout}")


@test
def brokers_that_are_away_are_told():
    kafka = Kafka()
    kafka.order("down")
    words = kafka.ship(small(), status=2)
    check("can't be reached" in words, f"words: {words}")


@test
def what_brokers_refuse_is_told():
    kafka, trace = Kafka(), small()
    kafka.order("refuse", Kafka.PRODUCE, Kafka.TOO_LARGE)
    words = kafka.ship(trace, "--heartbeat", "0", status=1)
    check("raise their message.max.bytes" in words, f"words: {words}")
    kafka.order("topic", f"a.b.web.{uuid_of(trace)}", Kafka.DENIED)
    words = kafka.ship(trace, "--host", "web", "--heartbeat", "0", status=1)
    check("don't permit it: a.b.web." in words, f"words: {words}")


@test
def mistakes_are_told_with_a_remedy():
    kafka, trace = Kafka(), small()
    for url, expected in [
            ("kafka://", "it has no brokers"),
            ("kafka:///topic", "it has no brokers"),
            ("kafka://me:secret@host/topic", "sasl.username"),
            ("kafka://host/a/b", "a topic has letters"),
            ("kafka://host/" + 300 * "a", "too long")]:
        kafka.url, good = url, kafka.url
        words = kafka.ship(trace, status=2)
        check(expected in words, f"{url}: {words}")
        kafka.url = good
    words = kafka.ship(trace, "--host", 100 * "%", status=1)
    check("give --host" in words, f"words: {words}")
    for text, expected in [("\nacks\n", "kcat.conf:2: NAME=VALUE is wanted"),
                           ("no.such=1\n", "no.such"),
                           ("message.max.bytes=9000\n", "too small"),
                           ("ssl.ca.location=/none\nsecurity.protocol=ssl\n",
                            "ssl.ca.location")]:
        words = kafka.ship(trace, env=kafka.settings(text), status=2)
        check(expected in words, f"{text}: {words}")
    words = kafka.ship(trace, env={**os.environ, "KCAT_CONFIG": "/none"}, status=2)
    check("KCAT_CONFIG: /none: No such file" in words, f"words: {words}")
    done = run(SONDE, "worker", "--from", kafka.url, "-o", scratch() / "x")
    check_equal(done.returncode, 1, "status of worker")
    check("nats://HOST" in done.stderr, f"words: {done.stderr}")


class Encrypted:
    """TLS in front of a broker: what that says of its own port is changed."""

    def __init__(self, kafka, top):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(top / "cert.pem", top / "key.pem")
        self.context, self.kafka = context, kafka
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            plain, _ = self.listener.accept()
            threading.Thread(target=self.connect, args=(plain,),
                             daemon=True).start()

    def connect(self, plain):
        try:
            with self.context.wrap_socket(plain, server_side=True) as client:
                self.answer(client)
        except (OSError, EOFError):
            pass  # the client has gone

    def answer(self, client):
        """A request and a response at a time, but where there is no response to
        wait for: so an idle fetch holds nothing up."""
        host, port = self.kafka.address.split(":")
        ours, theirs = (struct.pack(">h9si", 9, host.encode(), number)
                        for number in (self.port, int(port)))
        with socket.create_connection((host, int(port))) as broker:
            while True:
                broker.sendall(frame(client))
                client.sendall(frame(broker).replace(theirs, ours))


def frame(connection):
    """The next message of Kafka's protocol: its size, and as many bytes."""
    def take(size):
        data = b""
        while len(data) < size:
            part = connection.recv(size - len(data))
            if not part:
                raise EOFError
            data += part
        return data
    size = take(4)
    return size + take(int.from_bytes(size, "big"))


@test
def tls_needs_brokers_that_the_ca_knows():
    kafka, top = Kafka(), certificates()
    kafka.url = f"kafka://127.0.0.1:{Encrypted(kafka, top).port}/a"
    trace, out = small(), scratch() / "out"
    words = kafka.ship(trace, env=kafka.settings("security.protocol=ssl\n"),
                       status=2)
    check("certificate verify failed" in words, f"words: {words}")
    env = kafka.settings("security.protocol=ssl\n"
                         f"ssl.ca.location={top / 'ca.pem'}\n")
    kafka.ship(trace, env=env)
    kafka.collect(out, env=env)
    check_same(only(out), trace)


install()
claims(Kafka)
main()
