#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_progress.py - where it takes long, a terminal is told how far it is,
by what doesn't go over events, too.

Nothing here takes long: a clock that runs ahead is put before the programs, or
what they wait for waits for the test."""

import os
import pty
import re
import shutil
import subprocess

from handmade import Handmade, Layout
from sonde import (SONDE, build, check, install, run, scratch,
                   skip_if_sanitized)
from harness import Skip, check_equal, main, test

# Each look at the clock finds it 0.3 s later.
CLOCK = r"""
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *ret_now)
{
	static long long ahead_ns;

	if (syscall(SYS_clock_gettime, clock, ret_now))
		return -1;
	if (clock == CLOCK_MONOTONIC) {
		ahead_ns += 300000000;
		ret_now->tv_sec += ahead_ns / 1000000000;
	}
	return 0;
}
"""
BAR = r"\rconvert: +[0-9]+ % \[=*>? *\] [0-9]+ MB/s, [0-9]+ s left\x1b\[K"


def hurry():
    skip_if_sanitized("the preloaded library needs its runtime loaded first")
    return {"LD_PRELOAD": build(CLOCK, "-shared", "-fPIC", name="clock.so")}


def until(ours, wanted):
    """What the terminal gets, to `wanted` (or, None, to the end)."""
    text = b""
    while wanted is None or not re.search(wanted, text):
        try:
            more = os.read(ours, 4096)
        except OSError:  # EIO: the other side is closed
            more = b""
        if not more:
            check(wanted is None, f"not there: {text}")
            break
        text += more
    return text.decode()


def start(*command, **env):
    """A program whose standard error is a terminal; and that."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([str(w) for w in command], stderr=theirs,
                               stdout=subprocess.PIPE, text=True,
                               env={**os.environ, **env})
    os.close(theirs)
    return process, ours


def trace():
    made = Handmade(Layout(header=[("id", 8, 8), ("time", 64, 8)],
                           events={"app:begin": [("n", 32, 8)]}))
    for name in "abcd":
        with made.stream(name) as stream:
            with stream.packet(begin=100, end=900):
                for n in range(10):
                    stream.event("app:begin", 150 + n, n=n)
    return made.dir


@test
def convert_says_how_far_it_is():
    process, ours = start(SONDE, "convert", "-o", scratch() / "copy", trace(),
                          **hurry())
    said = until(ours, None)
    check(re.search(BAR, said), f"no bar: {said!r}")
    check(said.endswith("\r\x1b[K"), f"it is left there: {said!r}")
    check_equal(process.wait(), 0, "status")


@test
def convert_says_nothing_where_there_is_no_terminal():
    done = run(SONDE, "convert", "-o", scratch() / "copy", trace(),
               env={**os.environ, **hurry()})
    check_equal((done.returncode, done.stderr), (0, ""), "status, words")


@test
def probe_says_what_it_waits_for():
    if "gdb" not in run(SONDE, "--help").stdout:
        raise Skip("built without probes")
    fifo = scratch() / "fifo"
    os.mkfifo(fifo)
    gdb = scratch() / "gdb"
    gdb.write_text(f"#!/bin/sh\nread word <'{fifo}'\n")
    gdb.chmod(0o755)
    program = subprocess.Popen([shutil.which("sleep"), "1000"])
    process, ours = start(SONDE, "probe", "-p", program.pid, "main",
                          SONDE_GDB=str(gdb))
    until(ours, rb"\rprobe: GDB reads debugging information, [0-9]+ s\x1b\[K")
    fifo.write_text("on\n")
    said = until(ours, None)
    check(said.endswith("\r\x1b[Ksonde: the probe is not in\r\n"), repr(said))
    check_equal(process.wait(), 1, "status")


if __name__ == "__main__":
    install()
    main()
