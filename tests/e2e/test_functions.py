#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_functions.py - functions that call when they begin and end, recorded:
their counts are gcov's, and what doesn't pair is told. How long anything takes is
not looked at."""

import collections
import json
import subprocess

from sonde import SONDE, Trace, build, install, record, run, scratch
from attached import Attached
from called import gcov_counts, paired, whole
from harness import check, check_equal, main, test
from obedient import TIMEOUT

CALLS = r"""
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static int odd(int n);
static int even(int n) { return n ? odd(n - 1) : 1; }
static int odd(int n) { return n ? even(n - 1) : 0; }
static int order(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}
static void sort(int *list, int nr)
{
	for (int i = 0; i < nr; i++)
		list[i] = (i * 7919) % 1009;
	qsort(list, nr, sizeof(*list), order);
}
static void never(void) { abort(); }
int main(int argc, char **argv)
{
	int list[500];

	sort(list, 500);
	if (argc > 5)
		never();
	printf("%d %d %d\n", fib(18), even(200), list[3]);
	return 0;
}
"""

THROWS = r"""
#include <cstdio>
static int dive(int n) { if (!n) throw 42; return dive(n - 1) + n; }
int main()
{
	int caught = 0;
	for (int i = 0; i < 10; i++)
		try { dive(30); } catch (int n) { caught += n; }
	printf("%d\n", caught);
}
"""

JUMPS = r"""
#include <setjmp.h>
#include <stdio.h>
static jmp_buf back;
static void dive(int n) { if (!n) longjmp(back, 1); dive(n - 1); }
static int pool(void)
{
	volatile int n = 0;
	if (setjmp(back))
		n++;
	if (n < 3) {
		n += 0;
		if (n == 0)
			dive(4);
	}
	return n;
}
int main(void) { printf("%d\n", pool() + pool()); return 0; }
"""

SLOW = r"""
#include <stdio.h>
#include <time.h>
static int quick(int n) { return n + 1; }
static int inner(int n)
{
	struct timespec pause = { 0, 60000000 };
	nanosleep(&pause, NULL);
	return quick(n);
}
static int slow(int n) { n = quick(n); return inner(n) + quick(n); }
int main(void)
{
	int n = 0;

	for (int i = 0; i < 1000; i++)
		n = quick(n);
	for (int i = 0; i < 3; i++)
		n = slow(n);
	printf("%d\n", n);
	return 0;
}
"""

THREADS = r"""
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int handled;
static int leaf(int n) { return n + 1; }
static int work(int n) { int s = 0; while (n--) s = leaf(s); return s; }
static void *thread(void *arg)
{
	return (void *)(long)work((int)(long)arg);
}
static void handler(int number) { (void)number; handled++; leaf(1); }
int main(int argc, char **argv)
{
	static pthread_t threads[200];
	struct itimerval every = { { 0, 200 }, { 0, 200 } };
	int status = 1;

	if (argc > 1) {
		signal(SIGALRM, handler);
		setitimer(ITIMER_REAL, &every, NULL);
	}
	for (long i = 0; i < 200; i++)
		pthread_create(&threads[i], NULL, thread, (void *)(100 + i));
	for (int i = 0; i < 200; i++)
		pthread_join(threads[i], NULL);
	every = (struct itimerval){ { 0, 0 }, { 0, 0 } };
	setitimer(ITIMER_REAL, &every, NULL);
	if (!fork()) {
		work(10);
		exit(0);
	}
	wait(&status);
	printf("%d %d\n", handled, status);
	return 0;
}
"""

# Functions that are nowhere, as far as the compiler's calls can tell.
NEAR_AND_FAR = r"""
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
void __cyg_profile_func_enter(void *, void *);
void __cyg_profile_func_exit(void *, void *);
int main(void)
{
	uintptr_t base = (uintptr_t)main & ~(uintptr_t)0xfffff;
	uintptr_t library = (uintptr_t)dlsym(RTLD_NEXT, "puts");
	uintptr_t places[] = { (uintptr_t)main, base + 0x7f000000,
			       base + 0x81000000, base - 0x10000000,
			       library, library - 0x60000000,
			       library - 0x90000000, library + 0x7f000000,
			       1, UINTPTR_MAX };
	/* waits */
	for (int i = 0; i < 10; i++) {
		void *place = (void *)places[i];

		__cyg_profile_func_enter(place, 0);
		__cyg_profile_func_exit(place, 0);
		printf("%ju\n", (uintmax_t)places[i]);
	}
	return 0;
}
"""

FLAGS = ("-O1", "-finstrument-functions")


def functions_of(directory, *words):
    done = run(SONDE, "report", "functions", "--json", *words, directory)
    check_equal(done.returncode, 0, done.stderr)
    report = json.loads(done.stdout)
    return report, {row.get("function") or row["addr"]: row
                    for row in report["functions"]}


def recorded(source, *flags, words=(), options=()):
    program = build(source, *FLAGS, *flags)
    recording = record(program, *words,
                       options=["--functions", "--memory", "64M", *options])
    check_equal(recording.status, 0, recording.err)
    plain = run(program, *words)
    return recording, plain.stdout


@test
def calls_are_as_many_as_gcov_counts():
    recording, out = recorded(CALLS)
    check_equal(recording.out, out, "output")
    report, rows = functions_of(recording.dir)
    paired(report)
    check_equal({name: row["calls"] for name, row in rows.items()},
                gcov_counts(CALLS), "calls")
    check_equal(report["calls"],
                sum(row["calls"] for row in rows.values()), "all calls")
    # All that is inside main() is somebody's own time.
    check_equal(sum(row["self_ns"] for row in rows.values()),
                rows["main"]["total_ns"], "own times")
    check("never" not in rows, "never was")


@test
def an_event_takes_8_bytes():
    # What else the preloaded library could record isn't known, so numbers of
    # events are short. Packets have some kilobytes of their own.
    recording, _ = recorded(CALLS)
    events = 2 * sum(gcov_counts(CALLS).values())
    size = sum(file.stat().st_size for file in recording.dir.glob("*_cpu*"))
    check(events > 10000, events)
    check(8 * events <= size <= 9 * events, (size, events))
    done = run(SONDE, "stat", "--json", recording.dir)
    check_equal(done.returncode, 0, done.stderr)
    check("malloc:" not in done.stdout and "io:" not in done.stdout,
          done.stdout)


@test
def an_address_is_whole_near_the_program_near_its_libraries_and_elsewhere():
    check_addresses("--functions")


@test
def so_is_one_with_a_stack():
    check_addresses("--functions", "--stack")


def check_addresses(*options):
    program = build(NEAR_AND_FAR, "-D_GNU_SOURCE", "-ldl")
    recording = record(program, options=options)
    check_equal(recording.status, 0, recording.err)
    expected = [int(line) for line in recording.out.split()
                for _ in range(2)]
    addrs = [event["addr"] for event in Trace(recording.dir).events()]
    check_equal([whole(addr) for addr in addrs], expected, "babeltrace2's")
    done = run(SONDE, "print", "--json", recording.dir)
    check_equal([json.loads(line)["payload"]["addr"]
                 for line in done.stdout.splitlines()], expected, "ours")
    check_equal([isinstance(addr, tuple) for addr in addrs[::2]],
                [True, True, False, False, True, True, False, False, False,
                 False], "as numbers")
    done = run(SONDE, "print", "--json", "-f", f"addr == {expected[0]} || "
               f"addr == {expected[4]}", recording.dir)
    check_equal(len(done.stdout.splitlines()), 4, "by a condition")


@test
def under_a_condition_addresses_are_whole():
    program = build(NEAR_AND_FAR, "-D_GNU_SOURCE", "-ldl")
    recording = record(program, options=[
        "--functions", "-e", "function:entry if addr == 1 || "
        "addr > 1 << 40 && addr < 1 << 48", "-e", "function:exit"])
    check_equal(recording.status, 0, recording.err)
    places = [int(line) for line in recording.out.split()]
    events = Trace(recording.dir).events()
    check_equal([whole(event["addr"]) for event in events
                 if event.name == "function:entry"],
                [at for at in places if at == 1 or 2**40 < at < 2**48],
                "entries")
    check_equal([whole(event["addr"]) for event in events
                 if event.name == "function:exit"], places, "exits")


@test
def two_sessions_have_the_same_addresses():
    program = build(NEAR_AND_FAR.replace("/* waits */", """
	char line[80];

	printf("%d\\n", (int)getpid());
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;"""), "-D_GNU_SOURCE", "-ldl")
    first = scratch() / "first"
    with subprocess.Popen(
            [SONDE, "record", "-q", "-o", first, "--functions", "--",
             program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True) as front:
        second = Attached("-p", int(front.stdout.readline()),
                          "-e", "function:*")
        out, _ = front.communicate("go\n", timeout=TIMEOUT)
    check_equal(front.returncode, 0, "status")
    summary = second.end(number=None)
    expected = [int(line) for line in out.split() for _ in range(2)]
    check_equal(summary["events_lost"], 0, summary)
    for directory in first, second.dir:
        events = [event for event in Trace(directory).events()
                  if event.name.startswith("function:")]
        check_equal([whole(event["addr"]) for event in events], expected,
                    directory)


@test
def a_picture_and_a_timeline_have_their_names():
    recording, _ = recorded(CALLS)
    _, rows = functions_of(recording.dir)
    done = run(SONDE, "flame", "--folded", "--count", recording.dir)
    check_equal(done.returncode, 0, done.stderr)
    counts = collections.Counter()
    for line in done.stdout.splitlines():
        stack, _, count = line.rpartition(" ")
        counts[stack.rpartition(";")[2]] += int(count)
        check(stack.startswith("main"), line)
    check_equal(counts, {name: row["calls"] for name, row in rows.items()},
                "calls in the picture")
    done = run(SONDE, "export", "--to", "chrome", recording.dir)
    check_equal(done.returncode, 0, done.stderr)
    begun = collections.Counter(
        event["name"] for event in json.loads(done.stdout)["traceEvents"]
        if event["ph"] in "BX")
    check_equal({name: begun[name] for name in rows}, dict(counts),
                "calls in the timeline")


@test
def exceptions_through_30_frames_pair():
    recording, out = recorded(THROWS, "-xc++")
    check_equal(recording.out, out, "output")
    report, rows = functions_of(recording.dir)
    paired(report)
    dive, = (row for name, row in rows.items() if "dive" in name)
    check_equal(dive["calls"], 310, "calls")


@test
def what_longjmp_leaves_is_told():
    recording, out = recorded(JUMPS)
    check_equal(recording.out, out, "output")
    report, rows = functions_of(recording.dir)
    check_equal([report[key] for key in ("left", "open", "unbegun")],
                [10, 0, 0], "not paired")
    check_equal(rows["dive"]["calls"], 10, "calls of dive()")
    check_equal(rows["dive"]["self_ns"], 0, "what has no exit has no time")
    check(any("longjmp()" in note for note in report["notes"]), report)


@test
def threads_forks_and_signals_have_stacks_of_their_own():
    recording, _ = recorded(THREADS, words=["signals"])
    handled, status = map(int, recording.out.split())
    check_equal(status, 0, "the child")
    report, rows = functions_of(recording.dir)
    leaves = sum(range(100, 300)) + 10 + handled
    check_equal(rows["leaf"]["calls"], leaves, "calls of leaf()")
    check_equal(rows["work"]["calls"], 201, "calls of work()")
    # main() of the child has no entry there, and doesn't return either.
    check_equal([report[key] for key in ("left", "open", "unbegun")],
                [0, 0, 0], "not paired")
    report, _ = functions_of(recording.dir, "--by", "thread", "--limit",
                             "1000")
    threads = [row for row in report["functions"]
               if row["function"] == "thread"]
    check_equal(len({row["tid"] for row in threads}), 200, "threads")
    check_equal(sum(row["calls"] for row in threads), 200, "calls")


def left_out_and_recorded(recording):
    """How many calls the recording has, and how many it was not to have."""
    report, rows = functions_of(recording.dir)
    paired(report)
    return report, rows, report["calls"] + report["left_out"]


@test
def short_calls_leave_nothing_and_are_counted():
    recording, out = recorded(SLOW, options=["--min-duration", "50ms"])
    check_equal(recording.out, out, "output")
    report, rows, calls = left_out_and_recorded(recording)
    check_equal(calls, sum(gcov_counts(SLOW).values()), "calls")
    check_equal([rows[name]["calls"] for name in ("main", "slow", "inner")],
                [1, 3, 3], "long calls")
    check(all(row["min_ns"] >= 50_000_000 for row in rows.values()), rows)
    # A machine may hold anybody up for as long, but not all of them.
    check(report["left_out"] >= 900, report["left_out"])
    check_equal(sum(row["self_ns"] for row in rows.values()),
                rows["main"]["total_ns"], "own times")
    check(any("left out" in note for note in report["notes"]), report)


@test
def a_late_entry_is_where_the_call_began():
    recording, _ = recorded(SLOW, options=["--min-duration", "50ms"])
    done = run(SONDE, "print", "--tree", "--json", recording.dir)
    check_equal(done.returncode, 0, done.stderr)
    spans = [json.loads(line) for line in done.stdout.splitlines()]
    check("after other things" not in done.stderr, done.stderr)
    main_, = (span for span in spans if span["name"] == "main")
    slow = [span for span in spans if span["name"] == "slow"]
    inner = [span for span in spans if span["name"] == "inner"]
    check_equal([len(slow), len(inner)], [3, 3], "spans")

    def end(span):
        return span["begin_ns"] + span["duration_ns"]
    for outer, within in zip(slow, inner):
        check(main_["begin_ns"] <= outer["begin_ns"] <= within["begin_ns"],
              (main_, outer, within))
        check(end(within) <= end(outer) <= end(main_),
              (main_, outer, within))
        check(within["duration_ns"] >= 60_000_000, within)
    done = run(SONDE, "flame", "--folded", recording.dir)
    check_equal(done.returncode, 0, done.stderr)
    own = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
    check(int(own["main;slow;inner"]) >= 180_000_000, own)


@test
def deep_calls_leave_nothing_and_are_counted():
    for source, depth, expected in (
            (CALLS, 2, {"main": 1, "sort": 1, "fib": 1, "even": 1}),
            (SLOW, 2, {"main": 1, "quick": 1000, "slow": 3})):
        recording, out = recorded(source, options=[f"--depth={depth}"])
        check_equal(recording.out, out, "output")
        _, rows, calls = left_out_and_recorded(recording)
        check_equal({name: row["calls"] for name, row in rows.items()},
                    expected, "calls")
        check_equal(calls, sum(gcov_counts(source).values()), "all")


@test
def what_is_left_out_after_the_last_event_is_counted_at_the_end():
    source = SLOW.replace("return 0;\n}", "exit(0);\n}") \
        .replace("#include <time.h>", "#include <stdlib.h>\n"
                                      "#include <time.h>")
    recording, _ = recorded(source, options=["--depth=1"])
    report, rows = functions_of(recording.dir)
    check_equal({name: row["calls"] for name, row in rows.items()},
                {"main": 1}, "calls")
    check_equal(report["open"], 1, "main() doesn't return")
    check_equal(report["left_out"], 1000 + 3 * 5, "left out")
    recording, _ = recorded(SLOW, options=["--min-duration", "1h"])
    done = run(SONDE, "report", "functions", recording.dir)
    check_equal(done.returncode, 1, done.stdout)
    check("all 1016 calls of functions were left out" in done.stderr,
          done.stderr)


@test
def longjmp_and_threads_do_not_confuse_what_is_left_out():
    recording, out = recorded(JUMPS, options=["--depth=3"])
    check_equal(recording.out, out, "output")
    report, rows = functions_of(recording.dir)
    check_equal({name: row["calls"] for name, row in rows.items()},
                {"main": 1, "pool": 2, "dive": 2}, "calls")
    check_equal([report[key] for key in ("left", "unbegun", "left_out")],
                [2, 0, 8], "not paired")
    recording, _ = recorded(THREADS, options=["--depth=2"])
    report, rows = functions_of(recording.dir, "--limit", "1000")
    check_equal(rows["thread"]["calls"], 200, "calls of thread()")
    check_equal(report["calls"] + report["left_out"],
                1 + 200 * 2 + sum(range(100, 300)) + 1 + 10, "all")


@test
def a_recording_that_begins_in_the_middle_says_so():
    source = CALLS.replace("fib(18)", "fib(27)")
    recording, _ = recorded(source, options=["--mode", "overwrite",
                                             "--memory", "1M"])
    report, rows = functions_of(recording.dir)
    check(report["unbegun"] > 0, "exits without an entry")
    check("main" not in rows or not rows["main"]["calls"], "main()'s entry")


@test
def a_program_that_does_not_call_has_no_functions():
    program = build("int main(void) { return 0; }")
    recording = record(program, options=["--functions"])
    check_equal(recording.status, 0, recording.err)
    done = run(SONDE, "report", "functions", recording.dir)
    check_equal(done.returncode, 1, done.stdout)
    check("-finstrument-functions" in done.stderr, done.stderr)
    done = run(SONDE, "record", "--functions", "-p", "1")
    check_equal(done.returncode, 2, done.stderr)
    check("that is started" in done.stderr, done.stderr)


install()
main()
