# SPDX-License-Identifier: MIT
"""marks.py - numbers in a trace of the kernel, which a test makes and finds again: a
system call that nobody else makes, getpriority() of a user who has no process. All
are made on one CPU, so that they are in one stream, where none may be missing between
two."""

import os
import subprocess
import sys

CALL = "syscalls:getpriority"
FIRST = 1_000_000  # below, users may have processes

# Each number, until its input ends, and after each hundred a pause; then it says
# how many there were.
LOOP = f"""
import os, select, sys
os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})
number = 0
print(os.getpid(), flush=True)
while number % 100 or not select.select([0], [], [], float(sys.argv[1]))[0]:
    number += 1
    try:
        os.getpriority(os.PRIO_USER, {FIRST} + number)
    except ProcessLookupError:
        pass
print(number)
"""


def mark(numbers):
    """A call for each."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    for number in numbers:
        try:
            os.getpriority(os.PRIO_USER, FIRST + number)
        except ProcessLookupError:
            pass
    os.sched_setaffinity(0, before)


def marks(trace):
    """The numbers, in the trace's order."""
    return [e["who"] - FIRST
            for e in trace.events("syscall_entry_getpriority")]


class Caller:
    """Makes them from 1 on in another process, as fast as it can, or with pauses
    where there shall not be too many to look at."""

    def __init__(self, pause_s=0):
        self.process = subprocess.Popen(
            [sys.executable, "-c", LOOP, str(pause_s)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.process.stdout.readline()

    def end(self):
        """How many there were."""
        return int(self.process.communicate("\n")[0])
