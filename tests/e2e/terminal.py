# SPDX-License-Identifier: MIT
"""terminal.py - a command of sonde's on a pseudo-terminal: what it draws, keys for
it, and that the terminal is left as it was.
"""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios

from obedient import TIMEOUT
from sonde import SONDE, check
from harness import check_equal


class Terminal:
    """The command and its words, on a terminal of so many lines and columns."""

    def __init__(self, words, env, lines=40, columns=120, colours=False):
        self.master, self.slave = pty.openpty()
        self.lines = 0
        self.resize(lines, columns)
        self.before = termios.tcgetattr(self.slave)
        self.out = ""
        self.process = subprocess.Popen(
            [SONDE, *map(str, words)], stdin=self.slave, stdout=self.slave,
            stderr=subprocess.PIPE, text=True,
            env={**env, "TERM": "xterm",
                 **({} if colours else {"NO_COLOR": "1"})})

    def resize(self, lines, columns):
        # what was drawn before may be as long as it was
        self.lines = max(self.lines, lines)
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ,
                    struct.pack("HHHH", lines, columns, 0, 0))

    def read(self, timeout=TIMEOUT):
        """What has been written, after waiting for some of it."""
        if select.select([self.master], [], [], timeout)[0]:
            self.out += os.read(self.master, 65536).decode(errors="replace")

    def drawing(self):
        """The lines of the last one that is whole; none yet: none."""
        whole = re.findall(r"\x1b\[H([^\x07]*?)\x1b\[J", self.out)
        self.out = self.out[self.out.rfind("\x1b[H"):] if whole else self.out
        if not whole:
            return []
        check(whole[-1].count("\n") < self.lines,
              f"too many lines: {whole[-1]!r}")
        return [line.rstrip("\r") for line in
                whole[-1].replace("\x1b[K", "").split("\n")]

    def until(self, holds, what):
        lines = self.drawing()
        while not holds(lines):
            size = len(self.out)
            self.read()
            check(len(self.out) > size, f"never drawn: {what}; {lines}")
            lines = self.drawing() or lines
        return lines

    def press(self, keys):
        os.write(self.master, keys.encode())

    def end(self, status=0):
        """What it says; the terminal is as it was."""
        while self.process.poll() is None:
            self.read(0.05)
        self.read(0)
        check("\x1b[?1049l" in self.out, "the other screen is left on")
        check("\x1b[?25h" in self.out, "there is no cursor")
        check_equal(termios.tcgetattr(self.slave), self.before, "terminal")
        os.close(self.master)
        os.close(self.slave)
        check_equal(self.process.returncode, status, "status")
        return self.process.stderr.read()


def has(text):
    return lambda lines: any(text in line for line in lines)
