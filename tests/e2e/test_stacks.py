#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_stacks.py - call stacks of events: as gdb sees them in the same program,
by frame pointers and by tables, in threads, handlers and children."""

import json
import re
import shutil

from sonde import (SONDE, build, check, install, record_ok, require, run,
                   scratch, skip_if_sanitized)
from attached import Told
from harness import check_equal, main, test
from home import Home

# An event at the end of some calls; each adds to what the next returns, so that
# none of them is a jump.
CALLS = r"""
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <sonde/tracepoint.h>

#define CALL __attribute__((noinline, noclone)) int
volatile int sink;

CALL reached(int i)
{
	char room[64];

	memset(room, i, sizeof(room));
	sink += room[i & 31];
	sonde_event(calls, here, i);
	return i + sink;
}
CALL one(int i) { volatile char room[200]; room[i] = 1;
	return reached(i) + room[i]; }
CALL two(int i) { return one(i + 1) * 2 + sink; }
CALL three(int i) { return i > 3 ? two(i) + 1 : three(i + 1) + 1; }

static void on_signal(int number) { sink += one(number); }
static void *in_thread(void *arg) { sink += two(20); return arg; }

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc < 2) {
		sink += three(1);
	} else if (!strcmp(argv[1], "thread")) {
		pthread_create(&thread, NULL, in_thread, NULL);
		pthread_join(thread, NULL);
	} else if (!strcmp(argv[1], "fork")) {
		pid_t child = fork();

		if (!child) {
			sink += two(30);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	} else {
		stack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 };
		struct sigaction action = { .sa_handler = on_signal };

		if (!strcmp(argv[1], "other")) {
			sigaltstack(&stack, NULL);
			action.sa_flags = SA_ONSTACK;
		}
		sigaction(SIGUSR1, &action, NULL);
		sink += raise(SIGUSR1);
	}
	return 0;
}
"""


def stacks_in(directory, event="calls:here"):
    done = run(SONDE, "print", "--format", "json", directory)
    check_equal(done.returncode, 0, done.stderr)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return [line["stack"] for line in lines if line["event"] == event]


def stacks(recording, event="calls:here"):
    return stacks_in(recording.dir, event)


def functions(stack):
    """Names of functions, without where in them."""
    return [re.split(r"\+0x| at | in ", frame)[0] for frame in stack]


def up_to_main(stack):
    names = functions(stack)
    check("main" in names, stack)
    return names[:names.index("main") + 1]


THREE = ["reached", "one", "two", "three", "three", "three", "three", "main"]


def check_three(*flags):
    program = build(CALLS, "-g", "-pthread", *flags)
    (stack,) = stacks(record_ok(program, options=["--stack=32"]))
    check_equal(up_to_main(stack), THREE, "the stack")


@test
def frame_pointers_lead_to_main():
    check_three("-O2", "-fno-omit-frame-pointer",
                "-fno-asynchronous-unwind-tables",
                "-fno-optimize-sibling-calls")


@test
def tables_lead_to_main():
    check_three("-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls")


@test
def lines_of_json_have_stacks_though_nothing_else_has_names():
    done = record_ok(build(CALLS, "-g", "-O2", "-pthread"), options=["--stack=32"])
    shown = run(SONDE, "print", "--no-names", "--format", "json", done.dir)
    check_equal(shown.returncode, 0, shown.stderr)
    found = [json.loads(line)["stack"] for line in shown.stdout.splitlines()]
    check_equal(found, stacks(done), "stacks")
    check(found and found[0], found)


@test
def a_stack_is_gdbs():
    require("gdb")
    skip_if_sanitized("its libraries' frames are others")
    program = build(CALLS, "-g", "-O2", "-pthread")
    (stack,) = stacks(record_ok(program, options=["--stack=32"]))
    done = run("gdb", "-batch", "-nx", "-ex", "set debuginfod enabled off",
               "-ex", "break reached", "-ex", "run", "-ex",
               "set backtrace past-main on", "-ex", "set backtrace past-entry",
               "-ex", "bt", program)
    theirs = re.findall(r"^#\d+ +(?:0x\w+ in )?(\S+) \(", done.stdout, re.M)
    check(len(theirs) > 5, done.stdout)
    ours = [name for name in functions(stack) if not name.startswith("libc")]
    check_equal(ours[:len(THREE)], theirs[:len(THREE)], "the stack")


# Their records are made in different ways: the fast path's, one word or a block
# of up to 56 bytes, or not.
SIZES = r"""
#include <sonde/tracepoint.h>

#define CALL __attribute__((noinline, noclone)) void

CALL word(long i) { sonde_event(sizes, word, i); }
CALL block(long i)
{
	long a = i, b = i + 1, c = i + 2, d = i + 3, e = i + 4, f = i + 5;

	sonde_event(sizes, block, a, b, c, d, e, f, sonde_field(g, i + 6));
}
CALL large(long i)
{
	long a = i, b = i + 1, c = i + 2, d = i + 3, e = i + 4, f = i + 5;

	sonde_event(sizes, large, a, b, c, d, e, f, sonde_field(g, i + 6),
		    sonde_field(h, i + 7));
}
CALL text(long i) { sonde_event(sizes, text, i, sonde_field(s, "five")); }

int main(void)
{
	for (long i = 0; i < 5000; i++) {
		word(i);
		block(i);
		large(i);
		text(i);
	}
	return 0;
}
"""


@test
def records_of_all_sizes_have_their_stacks():
    program = build(SIZES, "-g", "-O2", "-fno-optimize-sibling-calls")
    # sub-buffers that are full again and again
    recording = record_ok(program, options=["--stack", "--subbuf", "16K"])
    done = run(SONDE, "print", "--format", "json", recording.dir)
    last = {}
    for line in map(json.loads, done.stdout.splitlines()):
        name = line["event"].split(":")[1]
        payload = line["payload"]
        values = [payload.get(key) for key in "abcdefgh"[:len(payload)]]
        i = last[name] = last.get(name, -1) + 1
        if name in ("block", "large"):
            check_equal(values, list(range(i, i + len(values))), name)
        else:
            check_equal(payload, {"i": i, "s": "five"} if name == "text" else
                        {"i": i}, name)
        check_equal(functions(line["stack"])[:1], [name], line)
    check_equal(last, dict.fromkeys(["word", "block", "large", "text"], 4999),
                "all")


@test
def a_thread_has_its_own_stack():
    program = build(CALLS, "-g", "-O2", "-pthread")
    (stack,) = stacks(record_ok(program, "thread", options=["--stack"]))
    check_equal(functions(stack)[:4], ["reached", "one", "two", "in_thread"],
                "the stack")


@test
def a_handlers_stack_goes_on_in_what_it_interrupted():
    program = build(CALLS, "-g", "-O2", "-pthread")
    (stack,) = stacks(record_ok(program, "signal", options=["--stack=32"]))
    names = functions(stack)
    check_equal(names[:3], ["reached", "one", "on_signal"], "the stack")
    check("main" in names, stack)


@test
def a_stack_of_its_own_has_its_first_frame():
    program = build(CALLS, "-g", "-O2", "-pthread")
    recording = record_ok(program, "other", options=["--stack=32"])
    (stack,) = stacks(recording)
    check_equal(functions(stack), ["reached"], "the stack")
    text = run(SONDE, "print", recording.dir).stdout
    check("... (on a stack of its own)" in text, text)


@test
def a_child_by_fork_has_stacks():
    program = build(CALLS, "-g", "-O2", "-pthread")
    (stack,) = stacks(record_ok(program, "fork", options=["--stack"]))
    check_equal(up_to_main(stack), ["reached", "one", "two", "main"],
                "the stack")


@test
def a_deep_stack_is_cut_and_says_so():
    program = build(CALLS, "-g", "-O2", "-pthread",
                    "-fno-optimize-sibling-calls")
    recording = record_ok(program, options=["--stack=3"])
    (stack,) = stacks(recording)
    check_equal(functions(stack), THREE[:3], "the stack")
    text = run(SONDE, "print", recording.dir).stdout
    check("... (deeper than was recorded)" in text, text)


@test
def babeltrace2_reads_numbers_and_stacks():
    require("babeltrace2")
    program = build(CALLS, "-g", "-O2", "-pthread")
    for version in "1.8", "2":
        recording = record_ok(program,
                              options=["--stack", "--ctf", version])
        if version == "2":
            done = run(SONDE, "stat", recording.dir)
            check_equal(done.returncode, 0, done.stderr)
            check_equal(len(stacks(recording)), 1, "the stack")
            continue
        trace = recording
        (event,) = trace.events("calls:here")
        kept = [e for e in trace.events(contexts=True)
                if e.name == "sonde:stack"]
        check_equal([e["number"] for e in kept], [1], "numbers")
        check_equal(event.contexts["stack"], 1, "numbers")
        check(len(kept[0]["frames"]) > 4, kept[0])


# Two ways to one event, as each line of input says.
WAYS = CALLS[:CALLS.index("CALL three")] + r"""
int main(void)
{
	char line[80];

	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("0");
	while (fgets(line, sizeof(line), stdin)) {
		sink += *line == 'o' ? one(1) : two(2);
		puts("1");
	}
	return 0;
}
"""
ONE, TWO = ["reached", "one", "main"], ["reached", "one", "two", "main"]


def check_ways(directory, *expected):
    """Of a trace that is moved to where nothing else is of it."""
    moved = scratch() / "trace"
    shutil.copytree(directory, moved)
    check_equal([up_to_main(stack) for stack in stacks_in(moved)],
                list(expected), str(directory))


@test
def a_chunk_has_the_stacks_of_its_events():
    p = Told(build(WAYS, "-g", "-O2", "-pthread"))
    with Home() as home:
        directory = home.start("night", "-p", p.pid, "--rotate", "hand",
                               "--stack=16")
        for ways in ["one", "two"], ["one"], ["two", "one"]:
            for way in ways:
                p.do(way)
            home.ok("rotate", "night")
        home.ok("stop", "night")
        check_ways(directory / "chunk-000001", ONE, TWO)
        check_ways(directory / "chunk-000002", ONE)
        check_ways(directory / "chunk-000003", TWO, ONE)
    p.end()


@test
def a_snapshot_has_the_stacks_of_its_events():
    p = Told(build(WAYS, "-g", "-O2", "-pthread"))
    with Home() as home:
        home.start("day", "-p", p.pid, "--mode", "overwrite", "--stack=16")
        ways = []
        for way, names in ("one", ONE), ("two", TWO), ("one", ONE):
            p.do(way)
            ways.append(names)
            check_ways(home.snapshot("day")[0].dir, *ways)
        home.ok("destroy", "day")
    p.end()


@test
def the_heap_is_told_by_call_stack():
    source = r"""
#include <stdlib.h>
#define CALL __attribute__((noinline, noclone)) void
volatile char *volatile kept;
CALL small(void) { kept = malloc(1000); kept[0] = 1; }
CALL large(void) { kept = malloc(50000); kept[0] = 1; }
CALL a(void) { small(); large(); kept++; }
CALL b(void) { large(); kept++; }
int main(void) { a(); a(); b(); return 0; }
"""
    program = build(source, "-g", "-O2")
    recording = record_ok(program, options=["--malloc", "--stack"])
    done = run(SONDE, "report", "malloc", "--by", "stack", "--json",
               recording.dir)
    check_equal(done.returncode, 0, done.stderr)
    rows = json.loads(done.stdout)["stacks"]
    def bytes_of(depth, name):
        return [row["peak_bytes"] for row in rows if row["depth"] == depth
                and row["code"].strip().startswith(name + " at")]
    check_equal(bytes_of(0, "large"), [150000], "bytes")
    check_equal(bytes_of(0, "small"), [2000], "bytes")
    # In its first milliseconds a process has no tables yet, and a stack ends at
    # the call: what is told of callers is right, and may be less than all.
    below = sum(row["peak_bytes"] for row in rows if row["depth"] == 1)
    if below == 152000:
        check_equal(bytes_of(1, "a"), [100000, 2000], "bytes")
        check_equal(bytes_of(1, "b"), [50000], "bytes")
    else:
        check(sum(bytes_of(1, "a")) <= 102000, rows)
        check(sum(bytes_of(1, "b")) <= 50000, rows)


@test
def without_stacks_there_is_no_tree():
    program = build("#include <stdlib.h>\n"
                    "int main(void) { return !malloc(1); }", "-O0")
    recording = record_ok(program, options=["--malloc"])
    done = run(SONDE, "report", "malloc", "--by", "stack", recording.dir)
    check_equal(done.returncode, 2, "exit status")
    check("--malloc --stack" in done.stderr, done.stderr)


install()
main()
