# SPDX-License-Identifier: MIT
"""limits - a benchmark prints as it goes, and ends within four minutes.

Its time is shared out as it is used: part(n) gives what begins a share of what
is left, as one of n that are still to come; what a part doesn't use is the
others'. turns() repeats a measure as often as is asked for, or as the share
allows, once at the least. run() ends a command, and all it started, that takes
longer than LIMIT_S or than there is time. So all ends at TOTAL_S, whatever is
measured, and a slow machine or a slow tool has fewer turns: how many is told.
"""
import os
import signal
import subprocess
import sys
import time

LIMIT_S = 60   # of one command
TOTAL_S = 200  # of all

# What bench/kernel must reach: ns of an event beyond the native loop; times a
# native run; ms above `true`; millions of events a second.
KERNEL = {
    "entry": 110,
    "switch": 150,
    "dd": 2.6,
    "find": {"sonde bpf": 1.6, "sonde tracefs": 1.8},
    "start": {"sonde bpf": 60, "sonde tracefs": 150},
    "pages": 20,
}

sys.stdout.reconfigure(line_buffering=True)


class Refused(Exception):
    """What could not be measured: why."""


class Budget:
    def __init__(self, total_s=TOTAL_S):
        self.end = self.until = time.monotonic() + total_s

    def left_s(self):
        return self.end - time.monotonic()

    def part(self, nr_left):
        """What begins now is one of `nr_left`."""
        if self.left_s() <= 0:
            raise Refused("there is no time left")
        self.until = time.monotonic() + self.left_s() / nr_left

    def share_s(self):
        """What is left of what part() gave."""
        return self.until - time.monotonic()

    def turns(self, nr):
        """Counts to nr, or until another turn like the last might not end in
        time."""
        for i in range(nr):
            begin = time.monotonic()
            yield i
            now = time.monotonic()
            if i + 1 < nr and now + (now - begin) > self.until:
                print(f"  {i + 1} of {nr} turns: there is no time for more")
                return
            if now - begin >= 1:
                print(f"  turn {i + 1} of {nr}: {now - begin:.1f} s")

    def run(self, command, **more):
        """subprocess.run, of text, for a limited time."""
        command = [str(word) for word in command]
        check = more.pop("check", False)
        limit_s = min(LIMIT_S, self.left_s())
        if limit_s <= 0:
            raise Refused("there is no time left")
        process = subprocess.Popen(command, text=True, start_new_session=True,
                                   **more)
        try:
            out, err = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired as late:
            why = "" if limit_s == LIMIT_S else "there is no time left: "
            raise Refused(f"{why}{os.path.basename(command[0])} did not end in "
                          f"{limit_s:.0f} s") from late
        finally:
            end(process)
        if check and process.returncode:
            raise Refused(f"{os.path.basename(command[0])} failed: "
                          f"{process.returncode}")
        return subprocess.CompletedProcess(command, process.returncode, out,
                                           err)


def end(process):
    """Ends it and what it started, if it has not ended."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
