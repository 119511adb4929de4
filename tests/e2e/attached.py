# SPDX-License-Identifier: MIT
"""attached.py - what the tests of `sonde record -p` share: a recording that has
begun, and one that is refused."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess

from sonde import SONDE, Trace, check, run, scratch
from harness import Skip, check_equal
from obedient import TIMEOUT
STRANGER = 61235  # a user that nobody is


class Told:
    """A program that does what its input says, line by line, and answers each with
    a number."""

    def __init__(self, *command, **more):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            **more)
        self.pid = self.process.pid
        check(self.process.stdout.readline(), "the program doesn't start")

    def do(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        check(answer and not answer.startswith("wrong"), f"{words}: {answer!r}")
        return int(answer)

    def end(self):
        self.process.stdin.close()
        check_equal(self.process.wait(TIMEOUT), 0, "status of the program")


class Attached:
    """A `sonde record -p`; it records when this is made."""

    def __init__(self, *options, before=()):
        self.dir = scratch() / "trace"
        self.process = subprocess.Popen(
            [*before, SONDE, "record", "--json", *map(str, options), "-o",
             str(self.dir)], text=True, stderr=subprocess.PIPE)
        self.said = []
        while not any("Ctrl-C" in line for line in self.said):
            self.read()

    def read(self):
        line = self.process.stderr.readline()
        check(line, f"sonde record has ended: {''.join(self.said)}")
        self.said.append(line)
        return line

    def end(self, number=signal.SIGINT):
        """The summary."""
        if number:
            self.process.send_signal(number)
        rest = self.process.communicate(timeout=TIMEOUT)[1]
        self.said += rest.splitlines(True)
        check_equal(self.process.returncode, 0, f"status, {rest}")
        return json.loads([s for s in self.said if s.startswith("{")][-1])

    def recorder(self):
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        return int(pathlib.Path(path).read_text().split()[0])

    def numbers(self, event="attach:step", field="number"):
        return sorted(e[field] for e in Trace(self.dir).events(event))


def refusal(*options, before=()):
    """The one line by which it says that it doesn't."""
    directory = scratch() / "trace"
    r = run(*before, SONDE, "record", "-o", directory, *options)
    check_equal(r.returncode, 1, f"status, {r.stderr}")
    check_equal(len(r.stderr.splitlines()), 1, f"lines of {r.stderr!r}")
    check(not directory.exists(), "a trace is left")
    return r.stderr


def as_stranger():
    """A directory of another user's, the words that make a command run as that
    user, and its environment."""
    me = ["setpriv", f"--reuid={STRANGER}", "--clear-groups"]
    directory = scratch()
    os.chown(directory, STRANGER, STRANGER)
    for parent in [directory, *directory.parents]:
        with contextlib.suppress(PermissionError):
            os.chmod(parent, os.stat(parent).st_mode | 0o711)
        if parent == pathlib.Path("/tmp"):
            break
    env = {**os.environ, "XDG_RUNTIME_DIR": str(directory)}
    if run(*me, SONDE, "--version", env=env).returncode:
        raise Skip("the installed program can't be reached by another user")
    return directory, me, env
