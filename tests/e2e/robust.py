# SPDX-License-Identifier: MIT
"""robust.py - what the tests of sessions under attack share."""

import json
import pathlib
import time

from harness import check

EVENTS = r"""
#define _GNU_SOURCE
#include <sonde/tracepoint.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void emit(int n)
{
	for (int i = 0; i < n; i++)
		sonde_event(robust, event, i);
}
"""


def summary(recording):
    for line in recording.err.splitlines():
        if line.startswith("{"):
            return json.loads(line)
    check(False, f"no summary: {recording.err[-2000:]}")


def read_stat(pid):
    """Name, state and parent of a process; None if there is none."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    state, parent = text[text.rindex(")") + 2:].split()[:2]
    return text[text.index("(") + 1:text.rindex(")")], state, int(parent)


def recorder_of(front):
    for path in pathlib.Path("/proc").iterdir():
        stat = path.name.isdigit() and read_stat(path.name)
        if stat and stat[0] == "sonde-recorder" and stat[2] == front:
            return int(path.name)
    check(False, "no recorder")


def until(condition):
    """Ends when the condition does; the harness limits the time."""
    while not condition():
        time.sleep(0.005)
