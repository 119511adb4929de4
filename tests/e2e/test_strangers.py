#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_strangers.py - what other users, and hostile processes of the recorded
tree, can do to a session by its socket; and where that socket is reached from.

The sockets are in a directory of the test's own (XDG_RUNTIME_DIR).
"""

import array
import contextlib
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import sys
import threading

from sonde import (SONDE, build, check, install, record, require, run,
                   scratch)
from harness import Skip, check_equal, main, test
from robust import EVENTS, read_stat, recorder_of, summary, until

STRANGER = 61234


def emitter(text="emit(100);"):
    return build(EVENTS + "int main(int argc, char **argv)\n{\n" + text +
                 "\n\treturn 0;\n}\n", "-Wno-unused")


def need_root(why):
    if os.geteuid() != 0:
        raise Skip(f"{why} needs root")


# ---- in the program: python3 THIS ROLE ARGS ----

def connect(path=None):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(path or os.environ["SONDE_SESSION"])
    return s


def lingering():
    """A connection that close() waits for, and its other end."""
    server = socket.create_server(("127.0.0.1", 0))
    fd = socket.socket()
    fd.connect(server.getsockname())
    other = server.accept()[0]
    fd.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                  struct.pack("ii", 1, 1000))
    fd.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            fd.send(b"x" * 65536)
    return fd, other


def leave(fd):
    """Closes our copy. If it is the last one by now, it is we who wait."""
    threading.Thread(target=fd.close, daemon=True).start()


def hello():
    return struct.pack("QII", 0x6f6c6c6568444e53, 1, os.getpid())


def send_with(s, message, fds):
    s.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                           array.array("i", [fd.fileno() for fd in fds]))])


def attack(ready):
    """Leaves things behind whose end takes long, in every way there is."""
    keep = []
    for messages in ([hello()], [b"x"], [b""], [b"x", hello()],
                     [hello()] * 3):
        fd, other = lingering()
        s = connect()
        for message in messages:
            with contextlib.suppress(OSError):  # it has been dropped
                send_with(s, message, [fd])
        leave(fd)
        keep += [s, other]
    os.write(ready, b"x")
    signal.pause()


def role_linger(program):
    # By a process of its own: none that we start here shall have copies.
    ready = os.pipe()
    pid = os.fork()
    if not pid:
        attack(ready[1])
    os.read(ready[0], 1)
    for _ in range(2):
        subprocess.run([program], check=True)
    os.kill(pid, signal.SIGKILL)


def role_silent(program):
    """A connection that says nothing, accepted before the program's is."""
    with connect():
        subprocess.run([program], check=True)
        # It is there until the recording is over.
        os.kill(os.getpid(), signal.SIGKILL)


def role_stop(program):
    """Programs start and end while the recorder is stopped."""
    recorder = recorder_of(os.getppid())
    os.kill(recorder, signal.SIGSTOP)
    until(lambda: read_stat(recorder)[1] == "T")
    for _ in range(3):
        subprocess.run([program], check=True, env={
            **os.environ, "SONDE_WAIT_MS": "100"})
    check_equal(read_stat(recorder)[1], "T", "the recorder's state")
    os.kill(recorder, signal.SIGCONT)
    subprocess.run([program], check=True)


def role_late(program):
    """A program goes on while the recorder is stopped, until its events are
    wanted."""
    recorder = recorder_of(os.getppid())
    os.kill(recorder, signal.SIGSTOP)
    until(lambda: read_stat(recorder)[1] == "T")
    late = subprocess.Popen([program], stdout=subprocess.PIPE, env={
        **os.environ, "SONDE_WAIT_MS": "100"})
    check_equal(late.stdout.readline(), b"0\n", "whether they are wanted")
    os.kill(recorder, signal.SIGCONT)
    check_equal(late.wait(), 0, "its status")


def role_flood(program, nr_programs):
    """Connections without end while programs start."""
    floods = []
    for _ in range(4):
        pid = os.fork()
        if not pid:
            while True:
                with contextlib.suppress(OSError):
                    connect().close()
        floods.append(pid)
    for _ in range(int(nr_programs)):
        subprocess.run([program], check=True)
    for pid in floods:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def role_show():
    print(os.environ["SONDE_SESSION"], os.getpid(), flush=True)
    sys.stdin.readline()


def role_stranger(path, pid):
    """As another user, outside the recorded tree. Prints what it can do."""
    os.setgroups([])
    os.setgid(STRANGER)
    os.setuid(STRANGER)
    directory = pathlib.Path(path).parent
    for what in (lambda: os.listdir(directory),
                 lambda: connect(str(directory / ("s" + "0" * 32))),
                 lambda: pathlib.Path(f"/proc/{pid}/environ").read_bytes(),
                 lambda: (directory / "new").touch()):
        try:
            what()
            print("done", end=" ")
        except OSError as error:
            print(error.__class__.__name__, end=" ")
    print(path in pathlib.Path("/proc/net/unix").read_text(), end=" ")
    # Even if it is told the name, nothing is taken from it.
    nr_answers = 0
    for _ in range(50):
        fd, other = lingering()
        with contextlib.suppress(OSError), connect(path) as s:
            send_with(s, hello(), [fd])
            leave(fd)
            nr_answers += s.recv(64) != b""
        other.close()
    print(nr_answers, flush=True)
    os._exit(0)


def role(*words):
    return (sys.executable, os.path.abspath(__file__), "role",
            *map(str, words))


# ---- strangers ----

@contextlib.contextmanager
def session(*options, env=None):
    """A recording, the path of its socket, and a process in it. Yields the
    path, the process's number, and a list for the recording's errors."""
    directory = scratch() / "trace"
    front = subprocess.Popen(
        [SONDE, "record", *options, "-o", str(directory), "--",
         *role("show")], text=True, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, **(env or {})})
    path, pid = front.stdout.readline().split()
    err = []
    yield front, path, pid, err
    err.append(front.communicate("\n")[1])


def runtime_dir():
    """Beside scratch(), which nobody else may enter."""
    return {"XDG_RUNTIME_DIR": str(scratch())}


@test
def strangers_cannot_find_the_session_and_are_not_heard():
    need_root("another user")
    with session("--json", env={"XDG_RUNTIME_DIR": ""}) as (front, path, pid,
                                                           err):
        stranger = subprocess.run(role("stranger", path, pid), text=True,
                                  stdout=subprocess.PIPE, timeout=50)
        words = stranger.stdout.split()
    check_equal(words[:4], ["PermissionError", "FileNotFoundError",
                            "PermissionError", "PermissionError"],
                "list, guess, environ, create")
    check_equal(words[4:], ["False", "0"], "in /proc/net/unix, answers")
    check_equal(front.returncode, 0, err)
    # Told once, however often it came.
    class Told:
        err = ""
    Told.err = err[0]
    told = summary(Told)
    check_equal(told["processes_refused"], 1, "refused")
    check_equal(len(told["notes"]), 1, told["notes"])
    check("another user" in told["notes"][0], told["notes"])


@test
def strangers_do_not_reach_a_session_in_a_private_directory():
    need_root("another user")
    with session(env=runtime_dir()) as (front, path, pid, err):
        stranger = subprocess.run(role("stranger", path, pid), text=True,
                                  stdout=subprocess.PIPE, timeout=50)
    check_equal(stranger.stdout.split()[-1], "0", "answers")
    check_equal(front.returncode, 0, err)


# ---- hostile processes of the tree ----

@test
def descriptors_whose_end_takes_long_stop_nothing():
    done = record(*role("linger", emitter()), options=["--json"])
    check_equal(done.status, 0, done.err)
    told = summary(done)
    check_equal(told["processes"], 2, "processes")
    check_equal(told["events_lost"], 0, "lost")
    check_equal(done.trace().count("robust:event"), 200, "events")


def dropped(log):
    """(descriptor, whether the epoll still had it) of each socket that the
    process which has an epoll shuts down."""
    pid = re.search(r"^(\d+) +epoll_ctl\(", log, re.M)[1]
    watched = set()
    for call, fd in re.findall(
            rf"^{pid} +(EPOLL_CTL_ADD|EPOLL_CTL_DEL|shutdown)\D*(\d+)",
            re.sub(r"epoll_ctl\(\d+, ", "", log), re.M):
        if call == "shutdown":
            yield fd, fd in watched
        elif call == "EPOLL_CTL_ADD":
            watched.add(fd)
        else:
            watched.discard(fd)


@test
def a_connection_leaves_the_epoll_before_it_is_dropped():
    """Else a look at the epoll, which holds the socket for a moment, may be what
    releases it, and waits for the descriptors in its queue."""
    require("strace")
    log = scratch() / "log"
    done = run("strace", "-f", "-qq", "-e", "trace=epoll_ctl,shutdown", "-o",
               log, SONDE, "record", "-o", scratch() / "trace", "--",
               *role("silent", emitter()))
    ends = list(dropped(log.read_text()))
    check(len(ends) >= 2, f"{ends}: {done.stderr}")
    check(not any(still for _, still in ends), ends)


@test
def programs_are_recorded_while_connections_flood_the_session():
    done = record(*role("flood", emitter("emit(1);"), 20),
                  options=["--json"])
    check_equal(done.status, 0, done.err)
    told = summary(done)
    check_equal(told["processes"], 20, "processes")
    check_equal(done.trace().count("robust:event"), 20, "events")
    # Each of the four processes once at most, for each of two reasons.
    check(told["processes_refused"] <= 8, told)
    check(len(told["notes"]) <= 8, told["notes"])


# ---- a recorder that doesn't answer ----

@test
def a_stopped_recorder_holds_no_program_up_and_that_is_told():
    done = record(*role("stop", emitter()), options=["--json"])
    check_equal(done.status, 0, done.err)
    told = summary(done)
    check_equal(told["processes"], 1, "processes")
    check_equal(told["processes_refused"], 3, "refused")
    check(all("did not wait" in note for note in told["notes"]),
          told["notes"])
    check_equal(done.trace().count("robust:event"), 100, "events")
    check("the recorder is stopped" in done.err, done.err)
    check("runs again" in done.err, done.err)


@test
def a_program_that_did_not_wait_is_recorded_once_the_recorder_comes():
    late = emitter("""
        printf("%d\\n", sonde_event_enabled(robust, event));
        fflush(stdout);
        emit(100);
        while (!sonde_event_enabled(robust, event))
                ;
        emit(100);""")
    done = record(*role("late", late), options=["--json"])
    check_equal(done.status, 0, done.err)
    told = summary(done)
    check_equal(told["processes"], 1, "processes")
    check_equal(told["processes_refused"], 0, "refused")
    check("did not wait for the recorder: what it did before" in
          told["notes"][0], told["notes"])
    check(done.trace().count("robust:event") >= 100, "events")


# ---- where the socket is ----

@test
def programs_in_another_network_namespace_are_recorded():
    program = emitter()
    for options in ("-n", "-Urn"):
        if subprocess.run(["unshare", options, "true"],
                          stderr=subprocess.DEVNULL).returncode:
            raise Skip(f"unshare {options} isn't allowed here")
        done = record("unshare", options, program)
        check_equal(done.status, 0, done.err)
        check_equal(done.trace().count("robust:event"), 100, options)


@test
def a_session_leaves_no_socket_behind():
    where = runtime_dir()
    done = record(emitter(), env=where)
    check_equal(done.trace().count("robust:event"), 100, "events")
    directory = pathlib.Path(where["XDG_RUNTIME_DIR"]) / "sonde"
    check_equal(list(directory.iterdir()), [], "sockets")
    # The recorder is killed: the front end does it.
    with session(env=where) as (front, path, pid, err):
        os.kill(recorder_of(front.pid), signal.SIGKILL)
    check_equal(list(directory.iterdir()), [], "sockets")
    # Both are: the next session does it.
    with session(env=where) as (front, path, pid, err):
        os.kill(recorder_of(front.pid), signal.SIGKILL)
        front.kill()
        front.wait()
        os.kill(int(pid), signal.SIGKILL)
    check(pathlib.Path(path).is_socket(), "nothing was left")
    record("true", env=where)
    check_equal(list(directory.iterdir()), [], "sockets")


@test
def an_unusable_runtime_directory_is_passed_over():
    bad = scratch()
    bad.chmod(0o777)
    for where in (str(bad), "/nowhere", "relative", ""):
        done = record(emitter(), env={"XDG_RUNTIME_DIR": where})
        check_equal(done.trace().count("robust:event"), 100, where)


if sys.argv[1:2] == ["role"]:
    globals()["role_" + sys.argv[2]](*sys.argv[3:])
    sys.exit(0)
install()
main()
