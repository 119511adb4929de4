#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_containers.py - processes in PID namespaces of their own: none is taken for
another one of the same number, and each has its own name, namespace and container.

All is recorded in a new PID namespace, where numbers are small: there a process
and one in a namespace below it get the same number by forking up to it.
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess

from sonde import SONDE, Skip, build, check, install, run, scratch
from harness import check_equal, main, test

# Makes processes of one number, that of a first child: they tell what they are, and
# wait until the test has seen enough; for each byte they say more. A word for each:
#   fork PROGRAM   a child here, which executes it
#   twin PROGRAM   one of the same number in a new namespace below
#   child WORD     likewise, which goes on without exec
PROGRAM = r"""
#define _GNU_SOURCE
#include <sonde/tracepoint.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void be(const char *name)
{
	char byte;

	sonde_event(demo, who, sonde_string(name, name),
		    sonde_field(number, getpid()));
	while (read(0, &byte, 1) == 1)
		for (int i = 0; i < 20000; i++)
			sonde_event(demo, more, i, sonde_string(name, name));
	exit(0);
}

static void go(const char *how, const char *what)
{
	if (!strcmp(how, "child"))
		be(what);
	execl(what, what, NULL);
	exit(1);
}

/* The first process of a namespace: forks until the number comes. */
static void be_init(pid_t number, const char *how, const char *what)
{
	pid_t pid;

	for (;;) {
		pid = fork();
		if (!pid && getpid() == number)
			go(how, what);
		if (!pid)
			exit(0);
		if (pid < 0 || pid >= number)
			break;
		waitpid(pid, NULL, 0);
	}
	waitpid(pid, NULL, 0);
	exit(pid != number);
}

int main(int argc, char **argv)
{
	pid_t number = 0;

	if (argc < 2)
		be(program_invocation_short_name);
	for (int i = 1; i + 1 < argc; i += 2) {
		pid_t pid;

		if (strcmp(argv[i], "fork") && unshare(CLONE_NEWPID))
			return 2;
		pid = fork();
		if (!pid && !strcmp(argv[i], "fork"))
			go(argv[i], argv[i + 1]);
		if (!pid)
			be_init(number, argv[i], argv[i + 1]);
		if (!number)
			number = pid;
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
"""
_made = []


def program(name):
    """The program by that name, which is what its threads are called."""
    if not _made:
        _made.append(build(PROGRAM))
    path = scratch() / name
    shutil.copy(_made[0], path)
    return str(path)


def fields(trace, *words):
    done = run(SONDE, "print", "--json", "--fields",
               "event,pid,tid,procname,ppid,cgroup,container,pid_ns,payload",
               *words, trace)
    return [json.loads(line) for line in done.stdout.splitlines()]


@contextlib.contextmanager
def recording(*words, options=()):
    """Of programs that end when their input does: the trace, a function that waits
    until it says what is wanted, and that input."""
    if run("unshare", "-pf", "--mount-proc", "true").returncode:
        raise Skip("no PID namespace can be made here")
    trace = scratch() / "trace"
    with subprocess.Popen(["unshare", "-pf", "--kill-child", "--mount-proc", SONDE, "record",
                           "-q", "-o", trace, *options, "--", *words],
                          stdin=subprocess.PIPE) as front:
        def wait_for(is_enough):
            while not is_enough():
                check_equal(front.poll(), None, "ended")
        try:
            yield trace, wait_for, front.stdin
        finally:
            front.stdin.close()
        check_equal(front.wait(), 0, "status")


def by_name(events):
    return {event["payload"]["name"]: event for event in events}


def numbers_of(name):
    """Those of the process that is called so, from here inwards."""
    for status in pathlib.Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            text = status.read_text(encoding="utf-8")
            if text.startswith(f"Name:\t{name}\n"):
                return [int(n) for n in
                        re.search(r"NSpid:(.*)", text)[1].split()]
    return []


@test
def programs_of_one_number_are_told_apart():
    outer, inner = program("outer"), program("inner")
    with recording(program("maker"), "fork", outer, "twin", inner) \
            as (trace, wait_for, _):
        wait_for(lambda: sum(bool(e.get("ppid")) for e in fields(trace)) == 2)
        numbers = {name: numbers_of(name) for name in ("outer", "inner")}
    check_equal(numbers["outer"][-1], numbers["inner"][-1], "one number")
    events = by_name(fields(trace))
    check_equal(set(events), {"outer", "inner"}, "events")
    for name, event in events.items():
        check_equal(event["payload"]["number"], numbers[name][-1], "its own")
        # As the recorder sees it: one level in from here.
        check_equal((event["pid"], event["tid"]), (numbers[name][1],) * 2,
                    name)
        check_equal(event["procname"], name, "procname")
        found, = fields(trace, "-f", f"pid == {event['pid']}")
        check_equal(found["procname"], name, "found by its number")
    # The parents are two: the maker, and the namespace's first process.
    check(events["outer"]["ppid"] != events["inner"]["ppid"], events)
    check(events["outer"]["pid_ns"] != events["inner"]["pid_ns"], events)
    rows = json.loads(run(SONDE, "report", "top", "--by", "thread", "--json",
                          trace).stdout)["top"]
    check_equal({(row["key"], row["thread"]) for row in rows},
                {(str(numbers[name][1]), name) for name in numbers}, "report")


@test
def a_child_in_a_namespace_below_is_no_other_process():
    outer = program("outer")
    with recording(program("maker"), "fork", outer, "child", "below") \
            as (trace, wait_for, _):
        wait_for(lambda: "contained" in run("babeltrace2", trace).stdout)
        wait_for(lambda: len(fields(trace)) == 2 and any(
            e.get("procname") for e in fields(trace)))
    events = by_name(fields(trace))
    check_equal(events["outer"]["procname"], "outer", "outer")
    number = events["below"]["payload"]["number"]
    check_equal(number, events["outer"]["pid"], "number")
    # No process has such a number.
    for what in ("pid", "tid"):
        check_equal(events["below"][what], (1 << 22) + number, what)
    for what in ("procname", "ppid", "pid_ns", "cgroup"):
        check_equal(events["below"].get(what), None, what)


@test
def names_are_in_each_chunk():
    outer, inner = program("outer"), program("inner")
    with recording(program("maker"), "fork", outer, "twin", inner,
                   options=["--rotate", "64k"]) as (trace, wait_for, stdin):
        wait_for(lambda: sum(bool(e.get("ppid")) for e in fields(trace)) == 2)

        for nr in range(2, 4): # a chunk for each byte, and the next one
            stdin.write(b"x")
            stdin.flush()
            wait_for((trace / f"chunk-{nr:06}").is_dir)
    chunks = sorted(trace.glob("chunk-*"))
    check(len(chunks) >= 3, chunks)
    for chunk in chunks:
        for event in fields(chunk):
            check_equal(event["procname"], event["payload"]["name"], chunk)


@contextlib.contextmanager
def control_group(name):
    """A new group in a new one in the unified hierarchy, wherever that is: its file
    of processes."""
    where = scratch()
    if run("mount", "-t", "cgroup2", "none", where).returncode:
        raise Skip("no cgroup2 here")
    try:
        (where / name).mkdir(parents=True)
        try:
            yield where / name / "cgroup.procs"
        finally:
            (where / name).rmdir()
            (where / name).parent.rmdir()
    finally:
        run("umount", "-l", where)


@test
def an_event_tells_its_container():
    digits = "0123456789abcdef" * 4
    group = f"{os.getpid()}{'long' * 60}/docker-{digits}.scope" # none is cut
    with control_group(group) as processes, \
            recording("sh", "-c", f"echo $$ >{processes} && exec \"$@\"",
                      "sh", program("boxed")) as (trace, wait_for, _):
        wait_for(lambda: any(e.get("cgroup") for e in fields(trace)))
        own = pathlib.Path("/proc/self/ns/pid").stat().st_ino
    event, = fields(trace)
    check_equal(event["container"], digits[:12], "container")
    check(event["cgroup"].endswith(f"/{group}"), event)
    check(event["pid_ns"] > 0 and event["pid_ns"] != own, event)
    for condition, number in ((f'container == "{digits[:12]}"', 1),
                              ('$container == "0123*"', 1),
                              ('container == "1*"', 0),
                              (f"pid_ns == {event['pid_ns']}", 1),
                              (f"pid_ns == {own}", 0)):
        check_equal(len(fields(trace, "-f", condition)), number, condition)
    table = run(SONDE, "print", "--fields", "container,pid_ns", trace).stdout
    check(re.search(rf"{digits[:12]}.*{event['pid_ns']}", table), table)


if __name__ == "__main__":
    install()
    main()
