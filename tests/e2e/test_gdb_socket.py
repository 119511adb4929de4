#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_gdb_socket.py - who can reach a server of probes: its user, on this
machine; nobody can be in its place."""

import os
import pathlib
import re
import select
import signal
import socket
import struct
import subprocess

import sonde
from sonde import SONDE, check, run, scratch
from harness import check_equal, main, test

NOBODY = 65534


def sleeper(**more):
    return subprocess.Popen(["sleep", "1000"], **more)


def tell(*words, **more):
    done = run(SONDE, *words, stdin=subprocess.DEVNULL, **more)
    return done.returncode, done.stdout, done.stderr


def sockets(pid):
    """Those of the process's servers, wherever servers may have theirs."""
    places = [pathlib.Path("/run/sonde"),
              pathlib.Path(f"/run/user/{os.getuid()}/sonde"),
              *pathlib.Path("/tmp").glob("sonde-*-*")]
    if "XDG_RUNTIME_DIR" in os.environ:
        places.append(pathlib.Path(os.environ["XDG_RUNTIME_DIR"]) / "sonde")
    return [path for place in places if os.access(place, os.X_OK)
            for path in place.glob(f"probes-{pid}-*")]


class Server:
    """Of a process, at a port; talked to by nobody."""

    def __init__(self, where, pid):
        self.process = subprocess.Popen(
            [SONDE, "gdbserver", "--attach", where, str(pid)], text=True,
            stderr=subprocess.PIPE)
        self.said = ""
        while "Listening on port" not in self.said:
            line = self.process.stderr.readline()
            check(line, self.said)
            self.said += line
        self.port = int(self.said.split()[-1])

    def addresses(self):
        """That listen at this port, as the kernel tells it."""
        found = set()
        for name in "tcp", "tcp6":
            for line in pathlib.Path("/proc/net", name).read_text().split(
                    "\n")[1:]:
                words = line.split()
                if words and words[3] == "0A":
                    address, port = words[1].split(":")
                    if int(port, 16) == self.port:
                        found.add(address)
        return found

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        check_equal(self.process.wait(timeout=240), 0, "server's end")


@test
def who_takes_an_abstract_name_denies_nobody_a_probe():
    program = sleeper()
    taken = socket.socket(socket.AF_UNIX)
    taken.bind(f"\0sonde-gdbserver/{program.pid}")
    taken.listen()
    status, out, err = tell("gdbserver", "--attach", "-", str(program.pid))
    check_equal((status, err), (0, ""), out)
    status, _, err = tell("probe", "-p", str(program.pid), "--list")
    check_equal((status, err),
                (1, f"sonde: process {program.pid} has no probes\n"), "list")
    program.kill()


@test
def without_a_host_it_is_this_machine_only():
    program = sleeper()
    server = Server(":0", program.pid)
    check_equal(server.addresses(), {"0100007F"}, server.said)
    check("warning" not in server.said, server.said)
    server.end()
    for where in "*:0", "0.0.0.0:0":
        server = Server(where, program.pid)
        check_equal(server.addresses(), {"00000000"}, server.said)
        check("warning: whoever reaches port" in server.said, server.said)
        server.end()
    program.kill()


@test
def a_socket_is_its_users_and_goes_with_its_server():
    program = sleeper()
    server = Server("localhost:0", program.pid)
    made = sockets(program.pid)
    check_equal(len(made), 1, str(made))
    path = made.pop()
    check_equal(path.stat().st_mode & 0o777, 0o600, str(path))
    check_equal(path.parent.stat().st_uid, os.getuid(), str(path))
    check_equal(path.parent.stat().st_mode & 0o066, 0, str(path))
    names = pathlib.Path("/proc/net/unix").read_text()
    check("sonde-gdbserver" not in names, names)
    # there is one server of a process
    status, _, err = tell("gdbserver", "--attach", "localhost:0",
                          str(program.pid))
    check(status == 1 and "has a server already" in err, err)
    server.end()
    check(not path.exists(), str(path))
    # one that is killed leaves its socket, and is in nobody's way
    server = Server("localhost:0", program.pid)
    server.process.kill()
    server.process.wait()
    Server("localhost:0", program.pid).end()
    check(not path.exists(), str(path))
    program.kill()


@test
def who_ends_a_server_waits_until_it_has_let_go():
    program = sleeper()
    for i in range(5):
        status, _, err = tell("probe", "-p", str(program.pid), "-o",
                              str(scratch() / f"trace{i}"), "clock_nanosleep")
        check_equal(status, 0, err)
        check_equal(len(sockets(program.pid)), 1, "sockets")
        status, _, err = tell("probe", "-p", str(program.pid), "--stop")
        check_equal(status, 0, err)
        # it goes last of all, when the program is as it was
        check_equal(sockets(program.pid), [], "sockets")
    program.kill()


@test
def another_user_does_not_get_in():
    if os.getuid() != 0:
        print("# skipped: that takes root")
        return
    program = sleeper()
    server = Server("localhost:0", program.pid)
    path, = sockets(program.pid)
    script = ("import socket, sys\n"
              "s = socket.socket(socket.AF_UNIX)\n"
              "try:\n"
              "    s.connect(sys.argv[1])\n"
              "except PermissionError:\n"
              "    print('refused')\n")
    done = run("/usr/bin/python3", "-c", script, path, user=NOBODY,
               group=NOBODY, extra_groups=[])
    check_equal(done.stdout, "refused\n", done.stderr)
    server.end()
    program.kill()


# What another user's server leaves to be seen.
SERVED = r"""
import os, signal
if os.fork() == 0:
    open("/proc/self/comm", "w").write("sonde-servant")
    print("there", flush=True)
signal.pause()
"""


@test
def another_users_server_is_told_as_such():
    program = subprocess.Popen(["/usr/bin/python3", "-c", SERVED], text=True,
                               stdout=subprocess.PIPE)
    check_equal(program.stdout.readline(), "there\n", "program")
    for words in ["--list"], ["--stop"], ["--remove", "x"]:
        status, out, err = tell("probe", "-p", str(program.pid), *words)
        check_equal((status, out), (1, ""), err)
        check("a server that is not yours" in err, err)
    program.kill()


PROBED = r"""
#include <stdio.h>

__attribute__((noinline)) int work(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

int main(void)
{
	int n = 0, sum = 0;

	while (scanf("%d", &n) == 1) {
		for (int i = 0; i < n; i++)
			sum = work(sum);
		printf("%d\n", sum);
		fflush(stdout);
	}
	return 0;
}
"""
SO_PASSRIGHTS = 83
QUESTION = b"+$qSupported:multiprocess+#c6"
FLOOD = 300


class Probed:
    """A program with a probe, its server, and that one's socket."""

    def __init__(self):
        self.program = subprocess.Popen(
            [sonde.build(PROBED, "-O1")], text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE)
        self.called = 0
        self.probe("work", "--name", "w", "-o", sonde.scratch() / "trace")
        made = sockets(self.program.pid)
        check_equal(len(made), 1, str(made))
        self.path = str(made.pop())
        self.ended = os.pidfd_open(self.server())

    def server(self):
        """Who has its memory open, and isn't its child."""
        for link in pathlib.Path("/proc").glob("[0-9]*/fd/*"):
            try:
                if (os.readlink(link) == f"/proc/{self.program.pid}/mem" and
                        (link.parents[1] / "comm").read_text() == "sonde\n"):
                    return int(link.parts[2])
            except OSError:
                pass
        raise AssertionError("no server")

    def client(self):
        client = socket.socket(socket.AF_UNIX)
        client.connect(self.path)
        return client

    def probe(self, *words):
        status, out, err = tell("probe", "-p", str(self.program.pid), *words)
        check_equal(status, 0, f"{words}: {out} {err}")
        return out + err

    def call(self, times):
        self.called += times
        self.program.stdin.write(f"{times}\n")
        self.program.stdin.flush()
        check_equal(self.program.stdout.readline(), f"{self.called}\n", "calls")

    def end(self):
        self.call(1000)
        self.program.stdin.close()
        check_equal(self.program.wait(timeout=240), 0, "program's status")
        os.close(self.ended)


def say_what_can_be_said(client, what):
    """Until nobody reads it any more."""
    client.setblocking(False)
    for _ in range(100000):
        try:
            client.send(what)
        except BlockingIOError:
            if not select.select([], [client], [], 1)[1]:
                return True
        except (BrokenPipeError, ConnectionResetError):
            break
    return False


def lingering():
    """A socket with bytes that nobody takes: closing it takes a minute."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    sender = socket.create_connection(listener.getsockname())
    say_what_can_be_said(sender, bytes(65536))
    sender.setblocking(True)
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                      struct.pack("ii", 1, 60))
    return listener, sender


@test
def no_descriptor_is_received():
    try:
        socket.socket(socket.AF_UNIX).setsockopt(socket.SOL_SOCKET,
                                                 SO_PASSRIGHTS, 0)
    except OSError:
        print("# skipped: this kernel can't refuse them")
        return
    probed = Probed()
    listener, sender = lingering()
    # as long as this one is served, the next isn't accepted
    first = probed.client()
    for client in first, probed.client():
        try:
            socket.send_fds(client, [b"+"], [sender.fileno()])
            check(False, "it was passed")
        except PermissionError:
            pass
        client.close()
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                      struct.pack("ii", 0, 0))
    sender.close()
    listener.close()
    probed.probe("--stop")
    probed.end()


@test
def a_flood_of_clients_hurts_neither_the_server_nor_the_program():
    probed = Probed()
    said = [b"", b"+", b"$", b"\x03" * 1000, b"$" + b"x" * 100000, b"}" * 4096,
            QUESTION, QUESTION * 1000, os.urandom(10000)]
    probed.call(100)
    for i in range(FLOOD):
        with socket.socket(socket.AF_UNIX) as client:
            client.setblocking(False)
            try:
                client.connect(probed.path)
                client.send(said[i % len(said)])
            except (BlockingIOError, BrokenPipeError, ConnectionResetError):
                pass
        if i % 50 == 0:
            probed.call(100)
    told = probed.probe("--list")
    check(re.search(rf"\b{probed.called}\b", told), told)
    told = probed.probe("--stop")
    check(told.endswith(f"{probed.called} hits recorded, 0 lost\n"), told)
    probed.end()


@test
def who_does_not_read_does_not_keep_the_server_from_ending():
    probed = Probed()
    client = probed.client()
    check(say_what_can_be_said(client, QUESTION * 100), "it was all read")
    probed.call(100)
    signal.pidfd_send_signal(probed.ended, signal.SIGTERM)
    check(select.select([probed.ended], [], [], 60)[0],
          "the server doesn't end")
    client.close()
    probed.end()


@test
def gdb_of_nothing_is_one_error():
    program = sleeper()
    program.kill()
    program.wait()
    for word, error in (
            ("/nonexistent", "/nonexistent"),
            ("/", "/"),
            (str(program.pid), f"there is no process {program.pid}"),
            ("99999999999999999999", "not a PID")):
        status, out, err = tell("gdb", word, "-batch")
        check_equal((status, out, err.count("\n")), (1, "", 1),
                    f"{word}: {err}")
        check(err.startswith("sonde: ") and error in err, err)


sonde.install()
main()
