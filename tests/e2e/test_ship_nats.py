#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_ship_nats.py - `sonde ship` and `sonde collect` by NATS JetStream, with
Debian's server: the bytes arrive, whoever is killed; TLS and passwords are the
engine's."""

import os
import signal

from fleet import (Growing, Server, certificates, check_same, claims, only, permissions,
                   recorded, small)
from sonde import install, scratch
from harness import check, check_equal, main, test

# `SONDE_KILLS=100 SONDE_HANGS=60`: as docs/fleet.md says.
HANGS = int(os.environ.get("SONDE_HANGS", "7"))


@test
def a_packet_that_is_too_large_goes_in_parts():
    config = scratch() / "nats.conf"
    config.write_text("max_payload: 24576\n")
    server = Server("-c", config)
    trace, out = recorded(8), scratch() / "out"
    server.ship(trace)
    server.collect(out)
    check_same(only(out), trace)


@test
def any_of_them_may_be_killed_in_any_order():
    growing = Growing(Server())
    growing.kill_in_any_order("server", "ship", "collect")
    growing.end()


@test
def a_server_that_hangs_is_waited_for():
    growing = Growing(Server())
    growing.grow()
    growing.engine.process.send_signal(signal.SIGSTOP)
    growing.talker.say()
    # Longer than connections and answers are waited for.
    growing.watch(HANGS)
    growing.talker.say()
    check_equal(growing.running["ship"].poll(), None, "status of ship")
    growing.engine.process.send_signal(signal.SIGCONT)
    growing.grow()
    growing.end()


@test
def a_server_that_is_away_is_told():
    server = Server()
    server.kill()
    words = server.ship(small(), status=2)
    check("can't be reached" in words, f"words: {words}")


@test
def without_jetstream_it_is_told():
    server = Server()
    server.kill()
    server.command.remove("-js")
    server.start()
    words = server.ship(small(), status=1)
    check("is JetStream on?" in words, f"words: {words}")


@test
def a_server_that_is_full_is_told():
    config = scratch() / "nats.conf"
    config.write_text("jetstream { max_file: 65536 }\n")
    server = Server("-c", config)
    words = server.ship(recorded(), status=1)
    check("refuses a message" in words and "insufficient" in words,
          f"words: {words}")


# ---- TLS, passwords ----

@test
def tls_needs_a_server_that_the_ca_knows():
    top = certificates()
    server = Server("--tls", "--tlscert", top / "cert.pem", "--tlskey",
                    top / "key.pem", scheme="tls")
    trace, out = small(), scratch() / "out"
    words = server.ship(trace, status=2)
    check("can't be reached" in words, f"words: {words}")
    env = {**os.environ, "NATS_CA": str(top / "ca.pem")}
    server.ship(trace, env=env)
    server.collect(out, env=env)
    check_same(only(out), trace)


@test
def a_certificate_of_ours_is_shown_to_who_asks_for_it():
    top = certificates()
    server = Server("--tlsverify", "--tlscert", top / "cert.pem", "--tlskey",
                    top / "key.pem", "--tlscacert", top / "ca.pem", scheme="tls")
    trace, out = small(), scratch() / "out"
    env = {**os.environ, "NATS_CA": str(top / "ca.pem")}
    server.ship(trace, env=env, status=2)
    env.update(NATS_CERT=str(top / "cert.pem"), NATS_KEY=str(top / "key.pem"))
    server.ship(trace, env=env)
    server.collect(out, env=env)
    check_same(only(out), trace)


@test
def a_machine_publishes_only_what_is_its_own():
    config = scratch() / "nats.conf"
    config.write_text(permissions())
    server = Server("-c", config)
    trace, out = small(), scratch() / "out"
    url = server.url
    server.url = url.replace("://", "://admin:all@")
    server.ship(trace, "--host", "first")
    server.url = url.replace("://", "://web-1:one@")
    for again in (0, 12):
        shipped = server.ship(trace, "--host", "web-1")
        check_equal(shipped["present"], again, "packets that are there")
    words = server.ship(trace, "--host", "web-2", status=1)
    check("doesn't permit" in words and "sonde.web-2." in words,
          f"words: {words}")
    server.url = url.replace("://", "://reader:two@")
    rows = server.collect(out)
    check_equal(sorted((row["host"], row["state"]) for row in rows),
                [("first", "complete"), ("web-1", "complete")], "rows")
    words = server.ship(trace, "--host", "new", status=1)
    check("ermi" in words, f"words: {words}")


@test
def a_password_is_asked_for():
    server = Server("--user", "me", "--pass", "secret")
    trace = small()
    check("uthoriz" in server.ship(trace, status=2), "words")
    server.url = server.url.replace("://", "://me:secret@")
    check_equal(server.ship(trace)["packets"], 12, "packets")


install()
claims(Server)
main()
