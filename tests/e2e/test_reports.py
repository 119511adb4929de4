#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_reports.py - `sonde report` and `sonde diff` against programs whose
answers are known, and against a second computation, in Python, over what
babeltrace2 reads in the same trace.
"""

import collections
import json
import re

from sonde import (INTERNAL, SONDE, build, check, exact_events, install,
                   record_ok, require, run, skip_if_sanitized)
from handmade import Handmade, Layout
from harness import check_equal, main, test

# Allocates what the arguments say, at known call sites.
HEAP = r"""
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
static void *volatile keep[100000];

NOINLINE static void *leak(void)
{
	void *block = malloc(1000);

	__asm__ volatile("" : "+r"(block));
	return block;
}

NOINLINE static void *big(void)
{
	void *block = calloc(3, 700000);

	__asm__ volatile("" : "+r"(block));
	return block;
}

int main(int argc, char **argv)
{
	int n = atoi(argv[1]);
	int leaks = argc > 2 ? atoi(argv[2]) : 0;
	void *block;

	for (int i = 0; i < n; i++)
		keep[i] = malloc(123);
	for (int i = 0; i < n; i++)
		free(keep[i]);
	for (int i = 0; i < leaks; i++)
		keep[i] = leak();
	block = big();
	free(block);
	block = malloc(10);
	for (int i = 1; i <= 50; i++)
		block = realloc(block, (size_t)i * 40);
	free(block);
	return keep[0] == NULL && leaks;
}
"""

# Two threads; the one waits only while the other, which waits until it sees
# that in /proc, holds the lock.
LOCKS = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 20

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t timed = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t cond_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t nested;
static atomic_int tid, wanted, done;
static int said;

static void *other(void *arg)
{
	(void)arg;
	tid = gettid();
	for (int i = 1; i <= 2 * ROUNDS; i++) {
		while (wanted < i)
			;
		if (i % 2) {
			pthread_mutex_lock(&lock);
			pthread_mutex_unlock(&lock);
		} else {
			pthread_rwlock_rdlock(&rwlock);
			pthread_rwlock_unlock(&rwlock);
		}
		done = i;
	}
	pthread_mutex_lock(&cond_lock);
	while (!said)
		pthread_cond_wait(&cond, &cond_lock);
	pthread_mutex_unlock(&cond_lock);
	return NULL;
}

static void until_it_sleeps(void)
{
	char path[64], state = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	while (state != 'S') {
		FILE *file = fopen(path, "r");

		if (!file || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
			state = 0;
		if (file)
			fclose(file);
	}
}

static void contend(int i)
{
	if (i % 2)
		pthread_mutex_lock(&lock);
	else
		pthread_rwlock_wrlock(&rwlock);
	wanted = i;
	until_it_sleeps();
	if (i % 2)
		pthread_mutex_unlock(&lock);
	else
		pthread_rwlock_unlock(&rwlock);
	while (done < i)
		;
}

int main(void)
{
	struct timespec past = { 1, 0 };
	pthread_mutexattr_t recursive;
	pthread_t thread;

	pthread_mutexattr_init(&recursive);
	pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&nested, &recursive);
	pthread_create(&thread, NULL, other, NULL);
	while (!tid)
		;
	for (int i = 1; i <= 2 * ROUNDS; i++)
		contend(i);
	until_it_sleeps();
	pthread_mutex_lock(&cond_lock);
	said = 1;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&cond_lock);
	pthread_join(thread, NULL);
	for (int i = 0; i < 7; i++) {
		for (int depth = 0; depth < 3; depth++)
			pthread_mutex_lock(&nested);
		for (int depth = 0; depth < 3; depth++)
			pthread_mutex_unlock(&nested);
	}
	pthread_mutex_lock(&timed);
	for (int i = 0; i < 3; i++)
		pthread_mutex_timedlock(&timed, &past);
	for (int i = 0; i < 5; i++)
		pthread_mutex_trylock(&timed);
	pthread_mutex_unlock(&timed);
	printf("%p %p %p %p %p %d %d\n", (void *)&lock, (void *)&rwlock,
	       (void *)&nested, (void *)&timed, (void *)&cond, getpid(), tid);
	return 0;
}
"""


def sonde(*words, status=0):
    done = run(SONDE, *words)
    check_equal(done.returncode, status,
                f"sonde {words}: {done.stdout} {done.stderr}")
    return done


def report(*words):
    """A report's JSON, all rows."""
    return json.loads(sonde("report", *words, "--json", "--limit",
                            "1000000").stdout)


def rows_by(report_table, key):
    return {row[key]: row for row in report_table}


def events_of(trace):
    return [e for e in exact_events(trace) if e.name not in INTERNAL]


def near(got, expected, what):
    """A quantile is off by 3.2 % at most."""
    check(abs(got - expected) <= max(1, expected * 0.032),
          f"{what}: {got}, expected about {expected}")


# ---- the same things again, simply ----

class Heap:
    """Blocks in use, by brute force."""

    def __init__(self, events):
        self.blocks = {}
        self.moving = {}
        self.unknown = 0
        self.peak = (0, 0, {})
        self.calls = collections.Counter()
        self.sizes = collections.Counter()
        self.lifetimes = 0
        for event in events:
            getattr(self, "on_" + event.name.partition(":")[2])(event)

    def live(self):
        return sum(size for size, _ in
                   [*self.blocks.values(), *self.moving.values()])

    def obtain(self, event, size):
        if not event["ptr"]:
            return
        self.blocks[event.pid, event["ptr"]] = size, event["caller"]
        self.sizes[size] += 1
        live = self.live()
        if live > self.peak[0]:
            sites = collections.Counter()
            for held, caller in [*self.blocks.values(),
                                 *self.moving.values()]:
                sites[caller] += held
            self.peak = live, event.time, sites

    def on_malloc(self, event):
        self.calls["malloc"] += 1
        self.obtain(event, event["size"])

    def on_calloc(self, event):
        self.calls["calloc"] += 1
        self.obtain(event, event["size"] * event["count"])

    def on_memalign(self, event):
        self.calls["memalign"] += 1
        self.obtain(event, event["size"])

    def on_realloc_begin(self, event):
        old = event.pid, event["old"]
        if old in self.blocks:
            self.moving[event.tid] = self.blocks.pop(old)

    def on_realloc(self, event):
        self.calls["realloc"] += 1
        moved = self.moving.pop(event.tid, None)
        if moved and not event["ptr"] and event["size"]:
            self.blocks[event.pid, event["old"]] = moved
        elif moved:
            self.lifetimes += 1
        elif event["old"]:
            self.unknown += 1
        self.obtain(event, event["size"])

    def on_free(self, event):
        self.calls["free"] += 1
        if self.blocks.pop((event.pid, event["ptr"]), None):
            self.lifetimes += 1
        else:
            self.unknown += 1


def heap_events(trace):
    return [e for e in events_of(trace) if e.name.startswith("malloc:")]


def check_heap(trace):
    """The report on `trace`, after it was found to be what Heap says."""
    heap = Heap(heap_events(trace))
    got = report("malloc", trace.dir)
    all_in_all, = got["heap"]
    check_equal((all_in_all["peak_bytes"], all_in_all["peak_time_ns"]),
                heap.peak[:2], "the peak")
    check_equal((all_in_all["left_bytes"], all_in_all["left_blocks"],
                 all_in_all["unknown_frees"], all_in_all["reused"]),
                (heap.live(), len(heap.blocks), heap.unknown, 0),
                "what is left")
    check_equal({int(row["caller"], 16): row["peak_bytes"]
                 for row in got["sites"] if row["peak_bytes"]},
                {site: n for site, n in heap.peak[2].items() if n},
                "sites at the peak")
    left = collections.Counter()
    for size, caller in heap.blocks.values():
        left[caller] += size
    check_equal({int(row["caller"], 16): row["left_bytes"]
                 for row in got.get("leaks", [])}, dict(left), "leaks")
    left = collections.Counter(size for size, _ in heap.blocks.values())
    check_equal({row["size_bytes"]: row["left_blocks"]
                 for row in got.get("leak_sizes", [])
                 if row["size_bytes"] < 4096},
                {size: n for size, n in left.items() if size < 4096},
                "leaks by size")
    check_equal({row["function"]: row["calls"] for row in got["functions"]},
                dict(heap.calls), "calls")
    check_equal(sum(row["allocations"] for row in got["sizes"]),
                sum(heap.sizes.values()), "sizes")
    for row in got["sizes"]:
        if row["size_bytes"] < 4096:
            check_equal(row["allocations"], heap.sizes[row["size_bytes"]],
                        f"blocks of {row['size_bytes']}")
    check_equal(sum(got["lifetimes"]["counts"]),
                heap.lifetimes, "lifetimes")
    return got


# ---- malloc ----

@test
def malloc_report_knows_leaks_peak_and_sizes():
    trace = record_ok(build(HEAP), "900", "12", options=["--malloc"])
    got = check_heap(trace)
    leaks = [row for row in got["leaks"] if row["left_blocks"] == 12]
    check_equal([row["left_bytes"] for row in leaks], [12000], "leak()")
    sizes = rows_by(got["sizes"], "size_bytes")
    check_equal(sizes[123]["allocations"], 900, "malloc(123)")
    peak = max(got["sites"], key=lambda row: row["peak_bytes"])
    check_equal((peak["peak_bytes"], peak["allocations"]), (2100000, 1),
                "big() at the peak")
    check("At most" in got["notes"][0] and "not freed" in got["notes"][1],
          f"{got['notes']}")


@test
def malloc_report_is_right_about_real_programs():
    require("sqlite3")
    sql = ("CREATE TABLE t(a, b); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
           "SELECT i+1 FROM n WHERE i < 500) INSERT INTO t SELECT i, hex(i) "
           "FROM n; SELECT count(*) FROM t;")
    check_heap(record_ok("sqlite3", ":memory:", sql, options=["--malloc"]))
    # each process has a heap of its own, and frees what its parent left it
    got = check_heap(record_ok("bash", "-c", "echo $(ls / | sort -r)",
                               options=["--malloc"]))
    check(got["heap"][0]["unknown_frees"], "no child freed anything")


@test
def malloc_report_of_a_span_calls_earlier_blocks_unknown():
    trace = record_ok(build(HEAP), "300", options=["--malloc"])
    frees = [e for e in heap_events(trace) if e.name == "malloc:free"]
    middle = frees[len(frees) // 2].time
    span = [e for e in heap_events(trace) if e.time >= middle]
    heap = Heap(span)
    check(heap.unknown > 10, "a test without its case")
    got = report("malloc", trace.dir, "--from", str(middle))
    check_equal((got["heap"][0]["unknown_frees"],
                 got["heap"][0]["peak_bytes"]),
                (heap.unknown, heap.peak[0]), "from the middle on")
    got = report("malloc", trace.dir, "--filter", 'event == "malloc:free"')
    check_equal((got["heap"][0]["peak_bytes"], got["heap"][0]["peak_time_ns"]),
                (0, None), "when nothing was in use")


# ---- lost events ----

@test
def reports_say_what_is_not_known_after_lost_events():
    u64 = lambda *names: [(name, 64, 8) for name in names]
    trace = Handmade(Layout(events={
        "lock:mutex_lock": u64("mutex", "caller", "result"),
        "lock:mutex_unlock": u64("mutex", "caller"),
        "malloc:malloc": u64("size", "ptr", "caller"),
        "malloc:free": u64("ptr", "caller")}, context=[("vtid", 32, 8),
                                                       ("vpid", 32, 8)]))
    who = {"vtid": 7, "vpid": 7}
    with trace.stream("cpu0") as stream:
        with stream.packet(begin=100, end=200):
            stream.event("malloc:malloc", 110, who, size=9, ptr=64, caller=1)
            stream.event("lock:mutex_lock", 120, who, mutex=5, caller=1,
                         result=0)
            stream.event("lock:mutex_unlock", 130, who, mutex=5, caller=1)
            stream.event("lock:mutex_lock", 190, who, mutex=5, caller=1,
                         result=0)
        with stream.packet(begin=900, end=1000, discarded=3):
            stream.event("lock:mutex_unlock", 950, who, mutex=5, caller=1)
    locks = report("locks", trace.dir)
    held, = locks["holds"]
    check_equal((held["count"], held["hold_ns"]), (1, 10), "held")
    check("1 hold and 0 waits were open when events were lost: how long "
          "isn't known." in locks["notes"], locks["notes"])
    heap = report("malloc", trace.dir)["notes"]
    check("Events were lost: some of these may have been freed." in heap, heap)
    spans = report("latency", "--begin", 'event == "lock:mutex_lock"', "--end",
                   'event == "lock:mutex_unlock"', trace.dir)
    check_equal((spans["latency"][0]["count"], spans["latency"][0]["max_ns"],
                 spans["across"]), (1, 10, 1), "spans")
    check("1 span left out: events were lost between the begin and the end, "
          "so these may not be of each other." in spans["notes"], spans)
    diff = json.loads(sonde("diff", "--json", str(trace.dir),
                            str(trace.dir)).stdout)["notes"]
    check("In B, 1 duration left out: events were lost between begin and end."
          in diff, diff)


# ---- locks ----

def waits_of(events, wait, lock, field):
    """{address: [nanoseconds]}"""
    begun = {}
    waits = collections.defaultdict(list)
    for event in events:
        if event.name == wait:
            begun[event.tid] = event
        elif event.name == lock and event.tid in begun:
            begin = begun.pop(event.tid)
            if begin[field] == event[field]:
                waits[event[field]].append(event.time - begin.time)
    return waits


@test
def locks_report_knows_who_waits_for_whom():
    skip_if_sanitized("the sanitizer has hooks of its own")
    program = build(LOCKS)
    trace = record_ok(program, options=["--locks"])
    events = events_of(trace)
    got = report("locks", trace.dir)
    # a known lock is the one with so many waits, by the program's rounds
    waits = waits_of(events, "lock:mutex_wait", "lock:mutex_lock", "mutex")
    mutex, = [lock for lock in waits if len(waits[lock]) == 20]
    locks = {int(row["lock"], 16): row for row in got["locks"]}
    row = locks[mutex]
    check_equal((row["acquired"], row["waited"], row["failed"]), (40, 20, 0),
                "the mutex")
    check_equal((row["wait_ns"], row["max_ns"], row["min_ns"]),
                (sum(waits[mutex]), max(waits[mutex]), min(waits[mutex])),
                "its waits")
    near(row["p50_ns"], sorted(waits[mutex])[9], "its median")
    read = waits_of(events, "lock:rwlock_wait", "lock:rwlock_lock", "rwlock")
    rwlock, = [lock for lock in read if len(read[lock]) == 20]
    check_equal((locks[rwlock]["kind"], locks[rwlock]["acquired"],
                 locks[rwlock]["waited"], locks[rwlock]["wait_ns"]),
                ("rwlock", 40, 20, sum(read[rwlock])), "the rwlock")
    check_worst(got, events, {mutex, rwlock}, waits, read)
    check_threads(got, waits, read)


def check_worst(got, events, held_by_others, *waits):
    every = sorted((ns for by_lock in waits for all_ns in by_lock.values()
                    for ns in all_ns), reverse=True)
    check_equal([row["wait_ns"] for row in got["worst"]], every[:10],
                "the longest waits")
    tids = {e.tid for e in events}
    for row in got["worst"]:
        # a thread waits in vain for the lock that it holds itself, too
        check(row["holder"] in tids and
              (row["holder"] != row["tid"]) ==
              (int(row["lock"], 16) in held_by_others),
              f"who held it: {row}")
    check("is contended most" in got["notes"][0], f"{got['notes']}")
    check("The worst wait took" in got["notes"][1], f"{got['notes']}")


def check_threads(got, *waits):
    total = sum(ns for by_lock in waits for all_ns in by_lock.values()
                for ns in all_ns)
    check_equal(sum(row["wait_ns"] for row in got["threads"]), total,
                "waits by thread")


@test
def locks_report_counts_nesting_failures_and_conditions():
    skip_if_sanitized("the sanitizer has hooks of its own")
    trace = record_ok(build(LOCKS), options=["--locks"])
    events = events_of(trace)
    got = report("locks", trace.dir)
    counts = collections.Counter((e.name, e["mutex"]) for e in events
                                 if e.name == "lock:mutex_lock")
    nested, = [lock for (_, lock), n in counts.items() if n == 21]
    holds = {int(row["lock"], 16): row for row in got["holds"]}
    locks = {int(row["lock"], 16): row for row in got["locks"]}
    times = [e.time for e in events if e.get("mutex") == nested]
    check_equal(locks[nested]["acquired"], 21, "locked")
    check_equal((holds[nested]["count"], holds[nested]["hold_ns"]),
                (7, sum(times[i + 5] - times[i]
                        for i in range(0, len(times), 6))), "held")
    failed, = [row for row in got["locks"] if row["failed"]]
    check_equal((failed["failed"], failed["busy"], failed["acquired"]),
                (3, 5, 1), "the one that is timed")
    cond, = got["conds"]
    names = collections.Counter(e.name for e in events)
    check_equal((cond["signals"], cond["wakes"]),
                (1, names["lock:cond_wake"]), "the condition variable")


@test
def locks_report_says_when_nothing_is_contended():
    require("sqlite3")
    trace = record_ok("sqlite3", ":memory:", "SELECT 1;", options=["--locks"])
    got = report("locks", trace.dir)
    check("No lock is contended" in got["notes"][0], f"{got['notes']}")
    check_equal(sum(row["acquired"] for row in got["locks"]),
                trace.count("lock:mutex_lock"), "all of them obtained")


# ---- any trace ----

def spans_of(events, begin, end, key):
    """Durations, begins without end, ends without begin."""
    open_ones, spans, unended, unbegun = {}, [], 0, 0
    for event in events:
        if event.name == end:
            if event[key] in open_ones:
                spans.append(event.time - open_ones.pop(event[key]))
            else:
                unbegun += 1
        elif event.name == begin:
            unended += event[key] in open_ones
            open_ones[event[key]] = event.time
    return spans, unended + len(open_ones), unbegun


@test
def latency_joins_begins_and_ends_by_key():
    trace = record_ok(build(HEAP), "700", "5", options=["--malloc"])
    spans, unended, unbegun = spans_of(heap_events(trace), "malloc:malloc",
                                       "malloc:free", "ptr")
    got = report("latency", "--begin", '$event == "malloc:malloc"', "--end",
                 '$event == "malloc:free"', "--key", "ptr", trace.dir)
    row, = got["latency"]
    check_equal((row["count"], row["min_ns"], row["max_ns"],
                 got["unended"], got["unbegun"]),
                (len(spans), min(spans), max(spans), unended, unbegun),
                "spans")
    spans.sort()
    for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
        near(row[name + "_ns"], spans[-(-int(len(spans) * share * 1000)
                                        // 1000) - 1], name)
    check_equal([w["duration_ns"] for w in got["worst"]],
                spans[:-11:-1], "the longest")
    check_equal(sum(got["histogram"]["counts"]), len(spans),
                "all are drawn")


@test
def period_is_the_time_between_events_of_a_key():
    trace = record_ok(build(HEAP), "300", options=["--malloc"])
    last, periods = {}, []
    for event in heap_events(trace):
        if event.name == "malloc:malloc":
            if event["size"] in last:
                periods.append(event.time - last[event["size"]])
            last[event["size"]] = event.time
    got = report("period", "--begin", '$event == "malloc:malloc"', "--key",
                 "size", trace.dir)
    row, = got["period"]
    mean = sum(periods) / len(periods)
    deviation = (sum((p - mean) ** 2 for p in periods) / len(periods)) ** 0.5
    check_equal((row["count"], row["min_ns"], row["max_ns"], got["keys"]),
                (len(periods), min(periods), max(periods), len(last)),
                "periods")
    check(abs(row["mean_ns"] - mean) <= 1 and
          abs(row["deviation_ns"] - deviation) <= 1 + deviation / 1e6,
          f"mean and deviation: {row}, {mean}, {deviation}")


@test
def top_counts_by_name_by_thread_and_by_value():
    trace = record_ok(build(HEAP), "200", options=["--malloc"])
    events = trace.events()
    by_name = collections.Counter(e.name for e in events)
    got = report("top", trace.dir)
    check_equal({row["key"]: row["count"] for row in got["top"]},
                dict(by_name), "by name")
    check_equal(sum(row["share_percent"] for row in got["top"]) > 99.9, True,
                "shares")
    got = report("top", "--by", "thread", trace.dir)
    check_equal({int(row["key"]): row["count"] for row in got["top"]},
                dict(collections.Counter(e.tid for e in events)), "by thread")
    got = report("top", "--by", "size % 100", "--value", "size * 2", "-f",
                 '$event == "malloc:malloc"', trace.dir)
    sums, counts = collections.Counter(), collections.Counter()
    for event in events:
        if event.name == "malloc:malloc":
            sums[event["size"] % 100] += event["size"] * 2
            counts[event["size"] % 100] += 1
    check_equal({int(row["key"]): (row["count"], row["sum"])
                 for row in got["top"]},
                {key: (counts[key], sums[key]) for key in counts},
                "by an expression")


@test
def reports_are_the_same_with_one_thread_and_with_many():
    trace = record_ok(build(HEAP), "60000", "100",
                      options=["--malloc", "--subbuf", "64K"])
    for words in (["malloc"], ["top", "--by", "size"],
                  ["latency", "--begin", '$event == "malloc:malloc"', "--end",
                   '$event == "malloc:free"', "--key", "ptr"]):
        one = report(*words, trace.dir, "--threads", "1")
        check_equal(report(*words, trace.dir, "--threads", "7"), one,
                    f"{words}")


@test
def list_says_which_reports_fit():
    everything = sonde("report").stdout
    for name in ("top", "period", "latency", "malloc", "locks", "cputop"):
        check(name in everything, f"{name} is not listed")
    trace = record_ok(build(HEAP), "10", options=["--malloc"])
    fits = {row["name"]: row["fits"] for row in
            json.loads(sonde("report", trace.dir, "--json").stdout)["reports"]}
    # the library for --malloc declares events of locks and functions, too
    check_equal([fits[name] for name in ("malloc", "top", "cputop", "locks",
                                         "functions")],
                ["yes", "yes", "no", "no", "no"], "what fits")
    for name, words in (("locks", "with --locks"), ("cputop", "kernel")):
        unfit = sonde("report", name, trace.dir, status=1)
        check(words in unfit.stderr, unfit.stderr)


@test
def wrong_words_are_explained():
    trace = record_ok(build(HEAP), "10", options=["--malloc"])
    for words, part in ((["nonsense", trace.dir], "no report is called"),
                        (["latency", trace.dir], "--begin EXPR and --end"),
                        (["period", trace.dir], "needs --begin"),
                        (["top", "--by", "size +", trace.dir], "--by"),
                        (["top", "--value", ")", trace.dir], "--value")):
        done = sonde("report", *words, status=2)
        check(part in done.stderr, f"{words}: {done.stderr}")


# ---- diff ----

@test
def diff_finds_what_is_more_less_new_and_gone():
    program = build(HEAP)
    a = record_ok(program, "1000", options=["--malloc"])
    b = record_ok(program, "1500", options=["--malloc"])
    c = record_ok(program, "1000", options=["--malloc", "--exclude",
                                            "malloc:calloc"])
    names = [collections.Counter(e.name for e in t.events())
             for t in (a, b, c)]
    got = json.loads(sonde("diff", a.dir, b.dir, "--json").stdout)
    events = rows_by(got["events"], "event")
    for name in names[0]:
        check_equal((events[name]["a_count"], events[name]["b_count"]),
                    (names[0][name], names[1][name]), name)
    check_equal([events[n]["verdict"] for n in
                 ("malloc:malloc", "malloc:calloc")], ["differs", "same"],
                "verdicts")
    for one, other, verdict in ((a, c, "gone"), (c, a, "new")):
        got = json.loads(sonde("diff", one.dir, other.dir, "--json").stdout)
        check_equal(rows_by(got["events"], "event")["malloc:calloc"]["verdict"],
                    verdict, "calloc")


@test
def diff_measures_what_begins_and_ends():
    program = build(HEAP)
    traces = [record_ok(program, n, options=["--malloc"])
              for n in ("400", "1600")]
    got = json.loads(sonde(
        "diff", *(t.dir for t in traces), "--json",
        "--begin", '$event == "malloc:malloc"',
        "--end", '$event == "malloc:free"', "--key", "ptr").stdout)
    row = rows_by(got["durations"], "pair")["from --begin to --end"]
    for side, trace in zip("ab", traces):
        spans = sorted(spans_of(heap_events(trace), "malloc:malloc",
                                "malloc:free", "ptr")[0])
        check_equal((row[side + "_count"], row[side + "_max_ns"]),
                    (len(spans), spans[-1]), side)
        near(row[side + "_p50_ns"], spans[(len(spans) + 1) // 2 - 1], side)


def made_pairs(**pairs):
    """A trace with so many pairs X_begin, X_end, each as long as said."""
    names = [f"app:{x}_{end}" for x in "abcd" for end in ("begin", "end")]
    trace = Handmade(Layout({name: [] for name in names},
                            header=[("id", 8, 8), ("time", 64, 8)],
                            context=[("tid", 32, 8)]))
    with trace.stream("cpu0") as stream:
        with stream.packet(begin=0, end=1_000_000):
            now = 0
            for x, (count, ns) in pairs.items():
                for _ in range(count):
                    stream.event(f"app:{x}_begin", now + 1, {"tid": 1})
                    now += 1 + ns
                    stream.event(f"app:{x}_end", now, {"tid": 1})
    return trace.dir


@test
def diff_says_which_durations_are_new_gone_or_too_few_to_compare():
    one = made_pairs(a=(20, 100), b=(20, 100), d=(9, 100))
    other = made_pairs(a=(20, 100), c=(20, 100), d=(9, 900))
    for a, b, expected in (
            (one, other, {"a": "same", "b": "gone", "c": "new",
                          "d": "too few"}),
            (other, one, {"a": "same", "b": "new", "c": "gone",
                          "d": "too few"})):
        got = json.loads(sonde("diff", a, b, "--json").stdout)
        check_equal({row["pair"][-1]: row["verdict"]
                     for row in got["durations"]}, expected, "verdicts")
        check("Of 4 pairs of begin and end, 1 are new, 1 are gone." in
              got["notes"], got["notes"])
    sonde("diff", "--threshold", "10%", one, one)
    sonde("diff", "--threshold", "10%", one, other, status=3)


@test
def diff_exit_status_is_3_beyond_the_threshold_only():
    program = build(HEAP)
    a = record_ok(program, "1000", options=["--malloc"])
    b = record_ok(program, "1500", options=["--malloc"])
    sonde("diff", a.dir, b.dir)
    sonde("diff", "--threshold", "10%", a.dir, b.dir, status=3)
    sonde("diff", "--threshold", "10%", a.dir, a.dir)
    # everything that differs has to do with durations, which only the clock
    # knows: leave blocks' lives out
    only = ["-f", '$event == "malloc:malloc"']
    sonde("diff", "--threshold", "60%", *only, a.dir, b.dir)
    sonde("diff", "--threshold", "40%", *only, a.dir, b.dir, status=3)
    for wrong in ("x", "-1", "10%%", ""):
        sonde("diff", "--threshold", wrong, a.dir, b.dir, status=2)
    sonde("diff", a.dir, status=2)
    sonde("diff", "--begin", "1", a.dir, b.dir, status=2)


if __name__ == "__main__":
    install()
    main()
