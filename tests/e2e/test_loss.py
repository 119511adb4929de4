#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_loss.py - what is lost is counted: recorded + discarded = emitted."""

import collections
import json
import re

from sonde import build, check, install, record, record_ok
from harness import check_equal, long_test, main, test

EVENTS = 1000000
THREADS = 16

MANY = r"""
#define _GNU_SOURCE
#include <sonde/tracepoint.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

static int nr_events;
static volatile sig_atomic_t in_handler;
#ifdef LONG
static uint64_t more[6];
#endif

static void *emit(void *arg)
{
	int thread = (int)(intptr_t)arg;

	for (int n = 0; n < nr_events; n++)
#ifdef LONG
		sonde_event(loss, event, thread, n,
			    sonde_array(more, more, 6));
#else
		sonde_event(loss, event, thread, n);
#endif
	return NULL;
}

static void handle(int number)
{
	int n = in_handler++;

	(void)number;
	sonde_event(loss, handler, n);
}

int main(int argc, char **argv)
{
	int nr_threads = atoi(argv[1]);
	pthread_t threads[64];

	nr_events = atoi(argv[2]);
	if (argc > 3) {
		struct itimerval every = { { 0, 100 }, { 0, 100 } };
		struct sigaction act = { .sa_handler = handle,
					 .sa_flags = SA_RESTART };

		sigaction(SIGALRM, &act, NULL);
		setitimer(ITIMER_REAL, &every, NULL);
	}
	for (int i = 0; i < nr_threads; i++)
		pthread_create(&threads[i], NULL, emit, (void *)(intptr_t)i);
	for (int i = 0; i < nr_threads; i++)
		pthread_join(threads[i], NULL);
	if (argc > 3)
		setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
	printf("%d\n", in_handler);
	return 0;
}
"""


def check_sums(trace, emitted):
    recorded = trace.count("loss:event") + trace.count("loss:handler")
    check_equal(recorded + trace.discarded(), emitted,
                f"{recorded} recorded + {trace.discarded()} discarded")


def check_order(trace):
    last = collections.defaultdict(lambda: -1)
    for event in trace.events("loss:event"):
        check(event["n"] > last[event["thread"]],
              f"thread {event['thread']}: {event['n']} after "
              f"{last[event['thread']]}")
        last[event["thread"]] = event["n"]


@long_test
def sixteen_threads_through_a_small_budget_are_accounted_for():
    trace = record_ok(build(MANY), THREADS, EVENTS,
                      options=["--memory", "256K"], timeout=300)
    check_sums(trace, THREADS * EVENTS)


@test
def nothing_is_lost_or_reordered_while_there_is_room():
    trace = record_ok(build(MANY), 4, 20000, options=["--memory", "16M"])
    check_equal(trace.discarded(), 0, "discarded")
    check_sums(trace, 80000)
    check_order(trace)


@test
def long_events_survive_being_preempted():
    """Threads that share a CPU, in pages that are touched for the first time:
    many of them are stopped while they copy an event of 60 bytes."""
    program = build(MANY, "-DLONG")
    for _ in range(8):
        trace = record_ok("taskset", "1", program, 4, 40000)
        check_sums(trace, 160000)


@test
def a_stream_of_several_files_reads_as_one():
    program = build(r"""
#include <sonde/tracepoint.h>
#include <string.h>
int main(void)
{
	char text[4000];

	memset(text, 'x', sizeof(text));
	for (int n = 0; n < 5000; n++)
		sonde_event(long, event, n, sonde_string_max(text, text, 4000));
	return 0;
}
""")
    trace = record_ok("taskset", "1", program)
    files = [f for f in trace.dir.iterdir() if "cpu0" in f.name]
    check(len(files) > 1, f"it is in {files}")
    numbers = [int(line.partition(" n = ")[2].partition(",")[0])
               for line in trace.text() if "long:event" in line]
    check_equal(numbers, sorted(numbers), "numbers")
    check_equal(len(numbers) + trace.discarded(), 5000, "events")


@long_test
def the_flight_recorder_accounts_for_what_it_overwrote():
    trace = record_ok(build(MANY), THREADS, EVENTS,
                      options=["--memory", "256K", "--mode", "overwrite"],
                      timeout=300)
    check_sums(trace, THREADS * EVENTS)


@test
def the_flight_recorder_keeps_the_last_events():
    trace = record_ok(build(MANY), 1, 200000,
                      options=["--memory", "256K", "--mode", "overwrite"])
    check_equal(trace.events("loss:event")[-1]["n"], 199999, "last event")
    check_order(trace)


@test
def a_signal_handler_that_traces_is_accounted_for():
    recording = record(build(MANY), 2, 1000000, "signals",
                       options=["--memory", "256K"])
    check_equal(recording.status, 0, recording.err)
    check_sums(recording.trace(), 2000000 + int(recording.out))


@test
def records_of_every_size_are_recorded():
    program = build(r"""
#include <sonde/tracepoint.h>
#include <stdint.h>
#include <string.h>
static uint8_t bytes[65536];
int main(void)
{
	for (uint32_t n = 0; n <= 4096; n++)
		sonde_event(size, event, n, sonde_blob(bytes, bytes, n));
	for (uint32_t n = 4096; n <= 60000; n += 1117)
		sonde_event(size, event, n, sonde_blob(bytes, bytes, n));
	return 0;
}
""")
    trace = record_ok(program, options=["--memory", "64M"])
    check_equal(trace.discarded(), 0, "discarded")
    check_equal(trace.count("size:event"),
                4097 + len(range(4096, 60001, 1117)), "events")


LIMIT = 130912  # of a string after an int, with compact headers, in 128 KiB


@long_test
def records_up_to_the_limit_are_recorded_and_larger_ones_counted():
    program = build(r"""
#include <sonde/tracepoint.h>
#include <string.h>
static char text[200000];
static void emit(int n)
{
	text[n] = '\0';
	sonde_event(limit, event, n, sonde_string(text, text));
	text[n] = 'x';
}
int main(void)
{
	memset(text, 'x', sizeof(text) - 1);
	for (int n = 0; n < 8192; n++)
		emit(n);
	for (int n = 8192; n < 130000; n += 601)
		emit(n);
	for (int n = 130900; n < 130925; n++)
		emit(n);
	return 0;
}
""")
    sizes = [*range(8192), *range(8192, 130000, 601), *range(130900, 130925)]
    recording = record(program, options=["--memory", "1G", "--subbuf", "128k",
                                         "--json"])
    summary = json.loads(recording.err.splitlines()[-1])
    check_equal(summary["lost"]["too_large"],
                sum(n > LIMIT for n in sizes), "too large")
    check_equal(summary["events_lost"], summary["lost"]["too_large"], "lost")
    seen = [int(m[1]) for line in recording.trace().text()
            if (m := re.search(r"\{ n = (\d+), text = \"(x*)\" \}$", line))
            and len(m[2]) == int(m[1])]
    check_equal(seen, [n for n in sizes if n <= LIMIT], "sizes")


install()
main()
