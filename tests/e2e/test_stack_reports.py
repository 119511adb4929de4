#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_stack_reports.py - sums by call stack, in trees, groups and flame graphs,
against those that Python makes of the events as babeltrace2 reads them."""

import collections
import json

from sonde import (SONDE, build, check, exact_events, install, record_ok,
                   run)
from harness import check_equal, main, test

# Two threads that take turns at a mutex, from different calls; each holds it
# until the other one has been seen waiting.
LOCKS = r"""
#include <pthread.h>
#include <stdatomic.h>
#define CALL __attribute__((noinline, noclone)) void
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int begun, waiting, done;
volatile int sink;
CALL hold(void) { pthread_mutex_lock(&mutex); sink++; }
CALL release(void) { pthread_mutex_unlock(&mutex); sink++; }
CALL owner_a(void) { hold(); sink++; }
CALL owner_b(void) { hold(); sink += 2; }
CALL inner(void) { waiting = 1; pthread_mutex_lock(&mutex); sink++;
	pthread_mutex_unlock(&mutex); sink++; }
CALL waiter_x(void) { inner(); sink++; }
CALL waiter_y(void) { inner(); sink += 2; }
static void *other(void *arg)
{
	for (int i = 0; i < 30; i++) {
		while (begun <= i)
			;
		if (i % 3)
			waiter_x();
		else
			waiter_y();
		done++;
	}
	return arg;
}
int main(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, other, NULL);
	for (int i = 0; i < 30; i++) {
		if (i % 5)
			owner_a();
		else
			owner_b();
		waiting = 0;
		begun++;
		while (!waiting)
			;
		for (volatile int k = 0; k < 300000; k++)
			;
		release();
		while (done <= i)
			;
	}
	pthread_join(thread, NULL);
	return 0;
}
"""

HEAP = r"""
#include <stdlib.h>
#define CALL __attribute__((noinline, noclone)) void
static char *volatile kept[4000];
static int nr;
CALL get(unsigned size) { kept[nr++] = malloc(size); kept[nr - 1][0] = 1; }
CALL zeroed(unsigned size) { kept[nr++] = calloc(3, size); kept[nr - 1][0] = 1; }
CALL a(unsigned i) { get(10 + i % 90); if (i % 7 == 0) zeroed(i); nr += 0; }
CALL b(unsigned i) { get(i); kept[0][0]++; }
CALL drop(void) { free(kept[--nr]); kept[nr] = NULL; }
int main(void)
{
	unsigned x = 12345;
	for (unsigned i = 0; i < 3000; i++) {
		x = x * 1103515245 + 12345;
		if (x >> 30 == 3 && nr > 1)
			drop();
		else if (x >> 29 & 1)
			a(x >> 16 & 1023);
		else
			b(x >> 16 & 1023);
	}
	return 0;
}
"""


# ---- the witness ----

class Stacks:
    """The stacks of a trace, as tuples of addresses from the call on."""

    def __init__(self, trace):
        self.events = exact_events(trace)
        self.frames = {(e["image"], e["number"]): (e["frames"], e["end"])
                       for e in self.events if e.name == "sonde:stack"}
        images = {image for image, _ in self.frames}
        check_equal(len(images), 1, "one process, one image")
        self.image, = images

    def of(self, event):
        caller = event["caller"]
        frames, end = self.frames.get((self.image, event.contexts["stack"]),
                                      ((), 2))
        frames = [int(f) & ~(1 << 63) for f in frames]
        if caller in frames:
            return tuple(frames[frames.index(caller):])
        return (caller,) if end in (2, 3) else tuple(frames)


def waits(stacks):
    """Nanoseconds and counts by the waiter's stack, and by the holder's."""
    waited = collections.defaultdict(list)
    blocked = collections.defaultdict(list)
    begun, holder = {}, {}
    for e in stacks.events:
        if e.name == "lock:mutex_wait":
            begun[e.tid] = e, holder.get(e["mutex"])
        elif e.name == "lock:mutex_lock":
            begin, held = begun.pop(e.tid, (None, None))
            if begin:
                waited[stacks.of(begin)].append(e.time - begin.time)
                if held:
                    blocked[held[1]].append(e.time - begin.time)
            holder[e["mutex"]] = e.tid, stacks.of(e)
        elif e.name == "lock:mutex_unlock":
            if holder.get(e["mutex"], (None,))[0] == e.tid:
                del holder[e["mutex"]]
    return waited, blocked


class Heap:
    """Live bytes by stack, and those of the peak."""

    def __init__(self, stacks):
        self.live, self.peak = collections.Counter(), collections.Counter()
        self.calls, self.all = collections.Counter(), collections.Counter()
        blocks, most = {}, 0
        for e in stacks.events:
            if e.name in ("malloc:malloc", "malloc:calloc"):
                size = e["size"] * (e["count"] if "count" in e else 1)
                stack = stacks.of(e)
                blocks[e["ptr"]] = size, stack
                self.live[stack] += size
                self.calls[stack] += 1
                self.all[stack] += size
                if sum(self.live.values()) > most:
                    most = sum(self.live.values())
                    self.peak = collections.Counter(self.live)
            elif e.name == "malloc:free" and e["ptr"] in blocks:
                size, stack = blocks.pop(e["ptr"])
                self.live[stack] -= size


def by_depth(sums):
    """What a tree's rows of each depth add up to: {(depth, sum): rows}."""
    prefixes = collections.Counter()
    for stack, value in sums.items():
        for i in range(len(stack)):
            prefixes[stack[:i + 1]] += value
    return collections.Counter((len(prefix) - 1, value)
                               for prefix, value in prefixes.items() if value)


def rows_by_depth(rows, column):
    return collections.Counter((row["depth"], row[column]) for row in rows
                               if row[column])


def report(name, trace, *options):
    done = run(SONDE, "report", name, "--json", "--limit", "100000", *options,
               trace.dir)
    check_equal(done.returncode, 0, done.stderr)
    return json.loads(done.stdout)


# ---- trees ----

@test
def waits_for_locks_are_told_by_both_stacks():
    trace = record_ok(build(LOCKS), options=["--locks", "--stack"])
    waited, blocked = waits(Stacks(trace))
    got = report("locks", trace, "--by", "stack")
    check(sum(map(len, waited.values())) >= 10, "nothing waited")
    for key, prefix, of in (("wait_stacks", "wait", waited),
                            ("holder_stacks", "blocked_wait", blocked)):
        rows = got[key]
        sums = {stack: sum(all_ns) for stack, all_ns in of.items()}
        check_equal(rows_by_depth(rows, prefix + "_ns"), by_depth(sums), key)
        counts = {stack: len(all_ns) for stack, all_ns in of.items()}
        check_equal(rows_by_depth(rows, "waited" if of is waited
                                  else "blocked"), by_depth(counts), key)
        check_equal(max(row[prefix.split("_")[0] + "_max_ns"] for row in rows),
                    max(map(max, of.values())), "the longest")
    check("sites" not in got, "the table of places is there, too")


@test
def waiters_and_holders_have_their_callers():
    trace = record_ok(build(LOCKS), options=["--locks", "--stack"])
    got = report("locks", trace, "--by", "stack")

    def names(key, depth):
        return {row["code"].split()[0].split("+")[0] for row in got[key]
                if row["depth"] == depth}
    check("inner" in names("wait_stacks", 0), got["wait_stacks"])
    check_equal({"waiter_x", "waiter_y"} - names("wait_stacks", 1), set(),
                "who waits")
    check("hold" in names("holder_stacks", 0), got["holder_stacks"])
    check("owner_a" in names("holder_stacks", 1), got["holder_stacks"])


@test
def what_locks_cant_be_told_by_is_an_error():
    trace = record_ok(build(LOCKS), options=["--locks"])
    for by, word in (("stack", "--locks --stack"), ("line", "by stack")):
        done = run(SONDE, "report", "locks", "--by", by, trace.dir)
        check_equal(done.returncode, 2, "exit status")
        check(word in done.stderr, done.stderr)


@test
def the_peak_and_leaks_are_told_by_stack():
    trace = record_ok(build(HEAP), options=["--malloc", "--stack"])
    heap = Heap(Stacks(trace))
    got = report("malloc", trace, "--by", "stack")
    check(len(heap.peak) >= 3, f"too few stacks: {heap.peak}")
    for column, sums in (("peak_bytes", heap.peak), ("left_bytes", heap.live),
                         ("allocations", heap.calls),
                         ("allocated_bytes", heap.all)):
        check_equal(rows_by_depth(got["stacks"], column), by_depth(sums),
                    column)
    check_equal(rows_by_depth(got["leak_stacks"], "left_bytes"),
                by_depth(heap.live), "leaks")
    roots = [row["left_bytes"] for row in got["leak_stacks"]
             if row["depth"] == 0]
    check_equal(roots, sorted(roots, reverse=True), "leaks by size")


@test
def groups_tell_leaks_and_rates():
    trace = record_ok(build(HEAP), options=["--malloc", "--stack"])
    heap = Heap(Stacks(trace))
    for by in "function", "line", "module":
        got = report("malloc", trace, "--by", by)
        for key in "groups", "leak_groups":
            check_equal(sum(row["left_bytes"] for row in got[key]),
                        sum(heap.live.values()), f"{key} by {by}")
        for row in got["groups"]:
            check(row["rate_per_s"] > 0, row)
        left = [row["left_bytes"] for row in got["leak_groups"]]
        check_equal(left, sorted(left, reverse=True), "the order")
    functions = {row["function"] for row in
                 report("malloc", trace, "--by", "function")["groups"]}
    check({"get", "zeroed"} <= functions, functions)


# ---- flame graphs ----

def flame(trace, *options):
    done = run(SONDE, "flame", *options, trace.dir)
    check_equal(done.returncode, 0, done.stderr)
    return done.stdout


def folded(trace, *options):
    """{names: weight}, the outermost first."""
    lines = flame(trace, "--folded", *options).splitlines()
    pairs = [line.rsplit(" ", 1) for line in lines]
    check_equal(len({stack for stack, _ in pairs}), len(pairs), "lines")
    return {tuple(stack.split(";")): int(weight) for stack, weight in pairs}


def same_weights(got, sums, what):
    """Of all, and of each place that was called last."""
    check_equal(sum(got.values()), sum(sums.values()), what)
    check_equal(len(got) > 1, True, "stacks")


@test
def a_flame_graph_has_all_events_weighted_as_wanted():
    trace = record_ok(build(HEAP), options=["--malloc", "--stack"])
    stacks = Stacks(trace)
    heap = Heap(stacks)
    events = [e for e in stacks.events if e.contexts.get("stack") is not None
              and e.name.startswith("malloc:")]
    got = folded(trace, "--stacks")
    check_equal(sum(got.values()), len(events), "events")
    only = "-f", '$event == "malloc:malloc"'
    sizes = [e for e in events if e.name == "malloc:malloc"]
    got = folded(trace, "--stacks", "--weight", "size", *only)
    check_equal(sum(got.values()), sum(e["size"] for e in sizes), "sizes")
    b_calls = sum(weight for stack, weight in
                  folded(trace, "--stacks", *only).items()
                  if stack[-2:] == ("b", "get"))
    own = {stacks.of(e)[:2] for e in sizes}
    counts = collections.Counter(stacks.of(e)[:2] for e in sizes)
    check(b_calls in [counts[pair] for pair in own], (b_calls, counts))
    for what, sums in ("live", heap.live), ("peak", heap.peak):
        same_weights(folded(trace, "--stacks=" + what), sums, what)
    tree = json.loads(flame(trace, "--stacks=live", "--json"))
    check_equal(tree["root"]["total_bytes"], sum(heap.live.values()), "live")


@test
def a_flame_graph_has_the_time_of_waits():
    trace = record_ok(build(LOCKS), options=["--locks", "--stack"])
    waited, blocked = waits(Stacks(trace))
    for what, of, names in (
            ("waits", waited, [("waiter_x", "inner"), ("waiter_y", "inner")]),
            ("holders", blocked, [("owner_a", "hold")])):
        got = folded(trace, "--stacks=" + what)
        check_equal(sum(got.values()), sum(map(sum, of.values())), what)
        by_two = collections.Counter()
        for stack, all_ns in of.items():
            by_two[stack[:2]] += sum(all_ns)
        for pair in names:
            below = sum(weight for stack, weight in got.items()
                        if stack[-2:] == pair)
            check(below in by_two.values(), (pair, below, by_two))
        counts = folded(trace, "--stacks=" + what, "--count")
        check_equal(sum(counts.values()), sum(map(len, of.values())), "counts")
    check("<svg" in flame(trace, "--stacks=waits"), "a picture")


@test
def what_a_flame_graph_cant_show_is_an_error():
    trace = record_ok(build(LOCKS), options=["--locks"])
    for options, status, word in (
            (["--stacks"], 1, "recorded with --stack"),
            (["--stacks=dead"], 2, "events, live, peak"),
            (["--weight", "size"], 2, "goes with --stacks"),
            (["--stacks", "--per-thread"], 2, "--per-thread")):
        done = run(SONDE, "flame", *options, trace.dir)
        check_equal(done.returncode, status, done.stderr)
        check(word in done.stderr, done.stderr)
    trace = record_ok(build(LOCKS), options=["--locks", "--stack"])
    done = run(SONDE, "flame", "--stacks=live", trace.dir)
    check_equal(done.returncode, 1, done.stderr)
    check("no block that was allocated is left" in done.stderr, done.stderr)


install()
main()
