# SPDX-License-Identifier: MIT
"""home.py - where a test's sessions by name are: a directory for sockets of its
own, and `sonde` as it is called there."""

import contextlib
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import tempfile

from obedient import TIMEOUT, Program, program
from sonde import SONDE, Trace, check
from harness import check_equal


class Home:
    """Where a user's sessions are. Ends those that are left."""

    def __init__(self, user=None):
        # Short: a socket's path has a limit.
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="sonde-test-"))
        self.user = user
        self.traces = self.dir / "traces"
        self.traces.mkdir()
        if user:
            os.chown(self.dir, user, user)
            os.chown(self.traces, user, user)
        self.env = {**os.environ, "XDG_RUNTIME_DIR": str(self.dir)}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for session in self.all():
            self.run("destroy", session["name"])
        shutil.rmtree(self.dir)

    def popen(self, *words, **more):
        if self.user:
            more |= {"user": self.user, "group": self.user, "extra_groups": []}
        return subprocess.Popen(
            [SONDE, *map(str, words)], text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=self.env, cwd=self.traces, **more)

    def run(self, *words):
        process = self.popen(*words)
        out, err = process.communicate(timeout=TIMEOUT)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def ok(self, *words):
        r = self.run(*words)
        check_equal(r.returncode, 0, f"{words}: status; {r.stderr}")
        return r

    def json(self, *words):
        return json.loads(self.ok(*words, "--json").stdout)

    def complaint(self, *words, status=1):
        """The one line that it answers."""
        r = self.run(*words)
        check_equal(r.returncode, status, f"{words}: status; {r.stderr}")
        check_equal(len(r.stderr.splitlines()), 1, f"lines of {r.stderr!r}")
        return r.stderr

    def all(self):
        return self.json("status")["sessions"]

    def start(self, name, *options):
        """The trace's directory."""
        directory = self.traces / name
        self.ok("start", name, *options, "-o", directory)
        return directory

    def snapshot(self, name):
        directory = pathlib.Path(tempfile.mkdtemp(dir=self.traces)) / "trace"
        if self.user:
            os.chown(directory.parent, self.user, self.user)
        told = self.json("snapshot", name, "-o", directory)
        check_equal(told["directory"], str(directory), "where it is")
        return Trace(directory), told["events"]

    def socket(self, name):
        return str(self.dir / "sonde" / f"session-{name}")

    def pid(self, name):
        return self.json("status", name)["pid"]


@contextlib.contextmanager
def waiter(home, name):
    """What `sonde wait` does; gives a function that waits for the answer."""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(TIMEOUT)
        s.connect(home.socket(name))
        answers = s.makefile()
        for word in ("status", "wait"):
            s.sendall(json.dumps({"sonde": 1, "do": word}).encode() + b"\n")
        check(json.loads(answers.readline())["ok"], "status")
        # Both were sent at once or not: the second is heard when a later
        # question is answered.
        home.ok("status", name)
        yield lambda: json.loads(answers.readline())


@contextlib.contextmanager
def program_at_home():
    """A program that does as it is told (obedient.py), and where its sessions are. It
    ends at the end."""
    p = Program(program())
    with Home() as home:
        yield p, home
    p.end()


def numbers(trace, event="attach:step", field="number"):
    return sorted(e[field] for e in trace.events(event))


def check_sum(events):
    """Every event has a place in the account."""
    check_equal(events["emitted"],
                sum(events[k] for k in ("recorded", "held", "discarded",
                                        "overwritten", "lost_disk", "cleared")),
                f"account {events}")


def await_end(pid):
    """Of a process that isn't our child."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    check(poll.poll(TIMEOUT * 1000), f"{pid} does not end")
    os.close(fd)


def kill_recorder(home, name):
    pid = home.pid(name)
    os.kill(pid, signal.SIGKILL)
    await_end(pid)
