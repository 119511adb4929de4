# SPDX-License-Identifier: MIT
"""fleet.py - traces that are shipped and collected, for the tests of that."""

import hashlib
import pathlib
import subprocess

from sonde import SONDE, build, record_ok, scratch
from handmade import Handmade, Layout
from harness import check_equal

# Says a number of events at each line of its input.
TALKER = r"""
#include <sonde/tracepoint.h>
#include <stdio.h>
int main(void)
{
	char line[100];
	unsigned long n = 0;
	while (fgets(line, sizeof(line), stdin)) {
		for (int i = 0; i < 20000; i++)
			sonde_event(talk, word, ("n", n++), ("text", "some text"));
		puts("ok");
		fflush(stdout);
	}
}
"""


def sums(directory):
    """A sum for each file, by its name from the directory on."""
    top = pathlib.Path(directory)
    return {str(p.relative_to(top)): hashlib.sha256(p.read_bytes()).hexdigest()
            for p in sorted(top.rglob("*")) if p.is_file()}


def check_same(ours, recorded):
    got, expected = sums(ours), sums(recorded)
    check_equal(sorted(got), sorted(expected), "files")
    for name in expected:
        check_equal(got[name], expected[name], f"bytes of {name}")


def recorded(nr_lines=1):
    """A trace with several packets in each of its files, and its name."""
    program = build(TALKER)
    trace = record_ok(program, input="x\n" * nr_lines)
    return pathlib.Path(trace.dir)


def small():
    """A trace of a few packets, without an index."""
    trace = Handmade(Layout(events={"app:none": []}))
    for cpu in range(3):
        with trace.stream(f"cpu{cpu}", cpu=cpu) as stream:
            for i in range(4):
                with stream.packet(begin=100 * i, end=100 * i + 90):
                    pass
    return pathlib.Path(trace.dir)


class Talker:
    """A program that is recorded while it waits for lines."""

    def __init__(self):
        self.dir = scratch() / "trace"
        self.process = subprocess.Popen(
            [SONDE, "record", "-q", "-o", self.dir, build(TALKER)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def say(self):
        self.process.stdin.write("x\n")
        self.process.stdin.flush()
        check_equal(self.process.stdout.readline(), "ok\n", "its answer")

    def end(self):
        self.process.stdin.close()
        check_equal(self.process.wait(), 0, "status of record")
