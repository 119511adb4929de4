#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_control.py - <sonde/control.h>: a program has sessions by name, in C and
in C++, and records itself."""

import os
import subprocess

from home import Home, kill_recorder, numbers, program_at_home
from obedient import TIMEOUT
from sonde import BIN, BUILD, LIB, SANITIZE, Trace, build, check, install
from harness import Skip, check_equal, main, test

# Does what its words say, each with the name of a session, and prints what comes.
CALLER = r"""
#include <sonde/control.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	struct sonde_control_error error = { "" };
	struct sonde_control_session status;
	struct sonde_control_events events;
	const char *word = argv[1];
	const char *name = argv[2];
	int rc;

	memset(&status, 0, sizeof(status));
	memset(&events, 0, sizeof(events));
	if (!strcmp(word, "start"))
		rc = sonde_control_start(name, (const char *const *)argv + 3,
					 &error);
	else if (!strcmp(word, "status"))
		rc = sonde_control_status(name, &status, &error);
	else if (!strcmp(word, "snapshot"))
		rc = sonde_control_snapshot(name, argv[3], &events, &error);
	else if (!strcmp(word, "change")) {
		struct sonde_control_wish change;

		memset(&change, 0, sizeof(change));
		change.rules = (const char *const *)argv + 3;
		rc = sonde_control_change(name, &change, &error);
	} else if (!strcmp(word, "rotate")) {
		struct sonde_control_chunk chunk;

		memset(&chunk, 0, sizeof(chunk));
		rc = sonde_control_rotate(name, &chunk, &error);
		status.events.recorded = chunk.recorded;
		snprintf(status.directory, sizeof(status.directory), "%s",
			 chunk.directory);
	} else if (!strcmp(word, "clear"))
		rc = sonde_control_clear(name, &error);
	else if (!strcmp(word, "stop"))
		rc = sonde_control_stop(name, &status, &error);
	else
		rc = sonde_control_destroy(name, argc > 3 ? NULL : &error);
	if (!strcmp(word, "snapshot"))
		status.events = events;
	printf("%d\n%d\n%llu\n%llu\n%s\n%s\n", rc, (int)status.state,
	       (unsigned long long)status.events.emitted,
	       (unsigned long long)status.events.recorded, status.directory,
	       error.text);
	return 0;
}
"""
RECORDING, STOPPED, DIED = 1, 2, 3
ENOENT, ESRCH, EEXIST, EINVAL = -2, -3, -17, -22

_built = {}


def caller(*flags):
    if SANITIZE:
        raise Skip(f"-fsanitize={SANITIZE}: the caller has none")
    if flags not in _built:
        _built[flags] = build(CALLER, *flags, "-Wextra", "-Werror", f"-L{LIB}",
                              "-lsonde-control", f"-Wl,-rpath,{LIB}")
    return _built[flags]


class Caller:
    def __init__(self, home, *flags):
        self.home, self.path = home, caller(*flags)
        self.env = {**home.env, "PATH": f"{BIN}:{os.environ['PATH']}"}

    def __call__(self, *words):
        """[rc, state, emitted, recorded], the directory, what is wrong."""
        done = subprocess.run([self.path, *map(str, words)], text=True,
                              stdout=subprocess.PIPE, timeout=TIMEOUT,
                              env=self.env, cwd=self.home.traces)
        lines = done.stdout.splitlines()
        return [int(n) for n in lines[:4]], lines[4], lines[5]


def check_life(*flags):
    with program_at_home() as (p, home):
        call = Caller(home, *flags)
        check_equal(call("start", "night", "-p", p.pid, "--mode", "overwrite",
                         "-o", "all")[0][0], 0, "start")
        p.do("emit", 30)
        numbers_, directory, _ = call("status", "night")
        check_equal((numbers_, directory),
                    ([0, RECORDING, 30, 0], str(home.traces / "all")),
                    "status")
        check_equal(call("snapshot", "night", "now")[0], [0, 0, 30, 30],
                    "snapshot")
        check_equal(numbers(Trace(home.traces / "now")),
                    list(range(1, 31)), "events of the snapshot")
        check_equal(call("change", "night", "+*", "-attach:step")[0][0], 0,
                    "change")
        p.do("emit", 7)
        check_equal(call("change", "night", "+*")[0][0], 0, "change back")
        check_equal(call("clear", "night")[0][0], 0, "clear")
        p.do("emit", 5)
        check_equal(call("stop", "night")[0], [0, STOPPED, 35, 5], "stop")
        check_equal(call("status", "night")[0], [0, STOPPED, 35, 5],
                    "status at the end")
        check_equal(call("destroy", "night")[0][0], 0, "destroy")
        check_equal(home.all(), [], "sessions")


@test
def a_program_in_c_has_sessions():
    check_life()


@test
def a_program_in_cxx_has_sessions():
    check_life("-xc++", "-std=c++11")


@test
def a_program_ends_a_chunk():
    with program_at_home() as (p, home):
        call = Caller(home)
        check_equal(call("start", "day", "-p", p.pid, "--rotate", "hand",
                         "-o", "all")[0][0], 0, "start")
        p.do("emit", 30)
        told, directory, _ = call("rotate", "day")
        check_equal((told, directory),
                    ([0, 0, 0, 30], str(home.traces / "all/chunk-000001")),
                    "the chunk")
        check_equal(numbers(Trace(directory)), list(range(1, 31)), "events")


@test
def what_is_wrong_is_a_number_and_a_line():
    with program_at_home() as (p, home):
        call = Caller(home)
        for words, rc, said in (
                (("status", "night"), ENOENT, "there is no session 'night'"),
                (("stop", "a/b"), EINVAL, "no name of a session"),
                (("start", "night", "-p", "999999999"), EINVAL,
                 "no process 999999999"),
                (("start", "night", "--moed"), EINVAL, "did you mean"),
                (("start", "night", "-p", p.pid), 0, ""),
                (("start", "night", "-p", p.pid), EEXIST, "already"),
                (("snapshot", "night", "x"), EINVAL, "--mode overwrite"),
                (("clear", "night"), EINVAL, "--mode overwrite"),
                (("change", "night", "x"), EINVAL, "neither with"),
                (("change", "night", "+"), EINVAL, "empty pattern"),
                (("stop", "night"), 0, ""),
                (("stop", "night"), ESRCH, "is stopped"),
                (("destroy", "night", "without"), 0, ""),
                (("destroy", "night"), ENOENT, "there is no session")):
            numbers_, _, text = call(*words)
            check_equal(numbers_[0], rc, f"{words}: {text}")
            check(said in text and bool(said) == bool(text), f"{words}: {text}")


@test
def a_session_whose_recorder_was_killed_is_gone_on_with():
    with program_at_home() as (p, home):
        call = Caller(home)
        call("start", "night", "-p", p.pid, "--mode", "overwrite")
        p.do("emit", 10)
        kill_recorder(home, "night")
        check_equal(call("status", "night")[0], [0, RECORDING, 10, 0],
                    "taken over")
        kill_recorder(home, "night")
        check_equal(call("stop", "night")[0], [0, STOPPED, 10, 10],
                    "taken over to be stopped")
        call("start", "other", "-p", p.pid)
        kill_recorder(home, "other")
        check_equal(call("status", "other")[0][:2], [0, DIED], "not that one")


@test
def a_program_records_itself():
    with Home() as home:
        done = subprocess.run(
            [BUILD.resolve() / "examples/recorditself", "slow"], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT,
            env={**home.env, "PATH": f"{BIN}:{os.environ['PATH']}"},
            cwd=home.traces)
        check_equal((done.returncode, done.stderr), (0, ""), "status")
        last = int(done.stdout.split()[1])
        ends = [e["id"] for e in
                Trace(home.traces / "slow").events("shop:request_end")]
        check_equal(ends, list(range(last + 1)), done.stdout)


if __name__ == "__main__":
    install()
    main()
