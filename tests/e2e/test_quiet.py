#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_quiet.py - the traced program is left alone: no thread, no socket, no
descriptor, no system call of the tracer's between its first and last event."""

import subprocess

from sonde import (SONDE, build, check, install, record, require, run,
                   scratch, skip_if_sanitized)
from harness import check_equal, main, test

LOOK = r"""
#define _GNU_SOURCE
#include <sonde/tracepoint.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The entries of a directory of /proc/self, and what they lead to. */
static void look(const char *directory)
{
	DIR *d = opendir(directory);
	struct dirent *e;
	char path[512], target[512];

	while ((e = readdir(d))) {
		if (e->d_name[0] == '.' || atoi(e->d_name) == dirfd(d))
			continue;
		snprintf(path, sizeof(path), "%s/%s", directory, e->d_name);
		ssize_t n = readlink(path, target, sizeof(target) - 1);
		target[n < 0 ? 0 : n] = 0;
		printf("%s %s %s\n", directory, e->d_name, target);
	}
	closedir(d);
}

int main(void)
{
	for (int i = 0; i < 100000; i++)
		sonde_event(quiet, event, i);
	look("/proc/self/task");
	look("/proc/self/fd");
	return 0;
}
"""

LOOP = r"""
#define _GNU_SOURCE
#include <sonde/tracepoint.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	const char *text = "some text of a length";

	sonde_event(quiet, first, text);
	syscall(SYS_getpriority, 0, 0);
	for (int i = 0; i < 200000; i++) {
		sonde_event(quiet, one, i);
		sonde_event(quiet, two, i, text);
	}
	syscall(SYS_getpriority, 0, 0);
	return 0;
}
"""


@test
def the_program_has_one_thread():
    tasks = [line for line in record(build(LOOK)).out.splitlines()
             if line.startswith("/proc/self/task")]
    check_equal(len(tasks), 1, "threads")


ARENA = "/memfd:sonde-arena (deleted)"


def check_descriptors(out):
    """Those we gave it, and the arena, out of everybody's way."""
    for line in out.splitlines():
        where, number, target = line.split(" ", 2)
        if where == "/proc/self/fd" and int(number) > 2:
            check(target == ARENA and int(number) >= 1000, line)


@test
def the_program_has_no_descriptor_that_it_did_not_open_but_the_arena():
    check_descriptors(record(build(LOOK), stdin=subprocess.DEVNULL).out)


@test
def an_unrecorded_program_has_one_thread_and_no_other_descriptor():
    out = run(build(LOOK), stdin=subprocess.DEVNULL).stdout
    check_descriptors(out)
    check_equal(out.count("/proc/self/task"), 1, "threads")


def traced_calls(*command):
    """The system calls of `command` under strace, line by line; those of its
    last child that has marks in them, if there is one."""
    require("strace")
    skip_if_sanitized("the sanitizers make system calls")
    directory = scratch()
    done = run("strace", "-ff", "-o", directory / "log", *command)
    check_equal(done.returncode, 0, done.stderr)
    logs = [f.read_text().splitlines() for f in directory.iterdir()]
    marked = [log for log in logs if any("getpriority(" in call for call in log)]
    check(len(logs) == 1 or len(marked) == 1, f"{len(marked)} with marks")
    return (marked or logs)[0]


@test
def tracing_makes_no_system_call():
    calls = traced_calls(SONDE, "record", "-o", scratch() / "trace", "--",
                         build(LOOP))
    marks = [i for i, call in enumerate(calls) if "getpriority(" in call]
    check_equal(len(marks), 2, "marks")
    check_equal(calls[marks[0] + 1:marks[1]], [], "calls between the marks")


@test
def an_unrecorded_program_starts_with_fourteen_more_system_calls_at_most():
    with_sonde = build("#include <sonde/tracepoint.h>\n"
                       "int main(int argc, char **argv)"
                       "{ (void)argv; sonde_event(a, b, argc); return 0; }\n")
    without = build("int main(void) { return 0; }\n", "-Wl,--as-needed")
    extra = calls_after_loading(with_sonde) - calls_after_loading(without)
    check(extra <= 14, f"{extra} system calls more")


def calls_after_loading(program):
    """The last the loader does is to unmap its cache."""
    calls = traced_calls(program)
    last = max(i for i, line in enumerate(calls) if "munmap(" in line)
    return len(calls) - last - 1


install()
main()
