#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_contexts.py - sonde record --context: what a thread says of itself in each of
its events is what the kernel tells the thread itself, right before and right after
them; and nobody makes a system call for it who wasn't asked to."""

import json
import re

from attached import Attached, Told
from sonde import (SONDE, Trace, build, check, install, record_ok, require, run,
                   scratch)
from harness import check_equal, main, test

ALL = "cpu_time,perf:page-faults,perf:major-faults,perf:context-switches"
FIELDS = ["cpu_time", "perf_thread_page_faults", "perf_thread_major_faults",
          "perf_thread_context_switches"]

# Each event is followed by what the thread asks the kernel itself, and begins with
# what it asked before. The kinds are those of the fast path, of one that is too
# long for it, and of one with a text.
PROGRAM = r"""
#define _GNU_SOURCE
#include <sonde/tracepoint.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct known {
	unsigned long ns, faults, major, switches;
};

static struct known ask(void)
{
	struct timespec time;
	struct rusage usage;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	getrusage(RUSAGE_THREAD, &usage);
	return (struct known){
		time.tv_sec * 1000000000ul + time.tv_nsec,
		usage.ru_minflt + usage.ru_majflt, usage.ru_majflt,
		usage.ru_nvcsw + usage.ru_nivcsw,
	};
}

static void use(void)
{
	char *page = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < 1 << 20; i += 4096)
		page[i] = 1;
	munmap(page, 1 << 20);
	usleep(100);
}

static void *work(void *count)
{
	static const char text[] = "a text, which is of no matter";
	static const char bytes[100];

	for (long i = 0; i < *(long *)count; i++) {
		struct known k = ask();
		unsigned long ns = k.ns, faults = k.faults, major = k.major,
			      switches = k.switches;

		if (i % 3 == 0)
			sonde_event(ctx, event, ns, faults);
		else if (i % 3 == 1)
			sonde_event(ctx, text, ns, faults, major, switches,
				    sonde_field(text, text));
		else
			sonde_event(ctx, large, ns, faults, major, switches,
				    sonde_array(bytes, bytes, 100));
		k = ask();
		ns = k.ns;
		faults = k.faults;
		major = k.major;
		switches = k.switches;
		sonde_event(ctx, after, ns, faults, major, switches);
		use();
	}
	return NULL;
}

#define DENY(name)                                             \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), \
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

static void deny(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		DENY(getrusage),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, filter };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		exit(3);
	errno = 77;
	sonde_event(ctx, denied, sonde_field(one, 1));
	sonde_event(ctx, error, sonde_field(number, errno));
}

/* Does as it is told, line by line. */
static void obey(void)
{
	char line[64];
	long count;

	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("0");
	while (fgets(line, sizeof(line), stdin)) {
		count = atol(line);
		work(&count);
		puts("1");
	}
}

static void work_in_threads(long count)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, &count);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		obey();
	else if (!strcmp(argv[1], "deny"))
		deny();
	else
		work_in_threads(atol(argv[1]));
	return 0;
}
"""
_program = []


def program():
    if not _program:
        _program.append(build(PROGRAM))
    return _program[0]


def by_thread(events):
    threads = {}
    for event in events:
        threads.setdefault(event.tid, []).append(event)
    return threads


def check_between(trace, nr_threads, nr):
    """Each event's contexts lie between what its thread was told before it and
    after it."""
    threads = by_thread(trace.events())
    check_equal(len(threads), nr_threads, "threads")
    for events in threads.values():
        check_equal(len(events), 2 * nr, "events of a thread")
        for event, after in zip(events[::2], events[1::2]):
            check_equal(after.name, "ctx:after", "order")
            for context, field in zip(FIELDS, ("ns", "faults", "major",
                                               "switches")):
                if field not in event:
                    continue
                said = event.contexts[context]
                check(event[field] <= said <= after[field],
                      f"{event.name}: {context} {said}, {field} was "
                      f"{event[field]}, then {after[field]}")


@test
def contexts_are_what_the_kernel_tells_the_thread():
    trace = record_ok(program(), "30", options=["--context", ALL])
    check_between(trace, 2, 30)
    faults = [e.contexts["perf_thread_page_faults"] for e in trace.events()]
    check(max(faults) > 29 * 256, f"page faults: {max(faults)}")


@test
def events_that_others_are_left_out_of_have_theirs():
    trace = record_ok(program(), "9", options=[
        "--context", ALL, "-e", "ctx:text", "-e", "ctx:after", "--filter",
        "faults >= 0"])
    texts = [e for e in trace.events("ctx:text")]
    check_equal(len(texts), 6, "events")
    for event in texts:
        check(event["ns"] <= event.contexts["cpu_time"], event)
        check(event["switches"] <=
              event.contexts["perf_thread_context_switches"], event)


@test
def only_what_was_asked_for_is_there():
    trace = record_ok(program(), "3", options=[
        "--context=perf:context-switches,cpu_time"])
    for event in trace.events():
        check_equal(set(event.contexts) - {"cpu_id", "vpid", "stack"},
                    {"cpu_time", "perf_thread_context_switches"}, "contexts")


@test
def names_in_conditions_and_columns_are_those_of_ctf2_too():
    trace = scratch() / "trace"
    done = run(SONDE, "record", "-q", "--ctf=2", "--context", ALL, "-o", trace,
               "--", program(), "6")
    check_equal(done.returncode, 0, done.stderr)
    shown = run(SONDE, "print", "--json", "--fields",
                "cpu_time,perf_thread_page_faults,payload", "-f",
                'event == "ctx:event" && cpu_time >= ns', trace)
    check_equal(shown.returncode, 0, shown.stderr)
    lines = [json.loads(line) for line in shown.stdout.splitlines()]
    check_equal(len(lines), 4, "events")
    for line in lines:
        check(line["perf_thread_page_faults"] >= line["payload"]["faults"],
              line)


def calls(*options):
    """The system calls of the kinds in question, and the events."""
    require("strace")
    log = scratch() / "calls"
    trace = record_ok("strace", "-f", "-o", log, "-e",
                      "trace=clock_gettime,getrusage", program(), "7",
                      options=options)
    text = log.read_text()
    return {name: len(re.findall(rf" {name}\(", text))
            for name in ("clock_gettime", "getrusage")}, trace


@test
def a_system_call_is_made_where_it_was_asked_for_alone():
    own, trace = calls()
    nr = len(trace.events())
    check_equal(nr, 28, "events")
    check_equal(calls("--context=ip")[0], own, "calls for ip")
    own["clock_gettime"] += nr
    check_equal(calls("--context=cpu_time")[0], own, "for cpu_time")
    own["getrusage"] += nr
    check_equal(calls("--context", ALL)[0], own, "for all")


@test
def ip_is_the_frame_where_the_event_is():
    trace = record_ok(program(), "3", options=["--context=ip"])
    shown = run(SONDE, "print", "-f", 'event == "ctx:after"', trace.dir)
    places = re.findall(r"^ +(\S+)\+0x.* in program| at program\.c:\d+$",
                        shown.stdout, re.M)
    check_equal(len(places), 6, shown.stdout)
    check("work" in shown.stdout, shown.stdout)


@test
def what_the_kernel_refuses_is_not_known():
    trace = record_ok(program(), "deny", options=["--context", ALL])
    denied, = trace.events("ctx:denied")
    check_equal([denied.contexts[name] for name in FIELDS[1:]], [-1] * 3,
                "what is counted")
    check(denied.contexts["cpu_time"] > 0, "its time isn't refused")
    error, = trace.events("ctx:error")
    check_equal(error["number"], 77, "errno")


@test
def a_program_is_attached_to_with_other_contexts_each_time():
    told = Told(program())
    for names in (ALL, "cpu_time", ALL, None):
        options = ["--context", names] if names else []
        attached = Attached("-p", told.pid, *options)
        told.do(6)
        check_equal(attached.end()["events_lost"], 0, "lost")
        trace = Trace(attached.dir)
        if names == ALL:
            check_between(trace, 1, 6)
        for event in trace.events():
            check_equal("cpu_time" in event.contexts, bool(names),
                        f"contexts with {names}")
            check_equal("perf_thread_page_faults" in event.contexts,
                        names == ALL, f"contexts with {names}")
    told.end()


@test
def what_cannot_be_had_says_why():
    for options, words in (
            (["--context=perf:cycles"], "counter of the CPU"),
            (["--context=cpu_tim"], "did you mean 'cpu_time'"),
            (["--context="], "no such context"),
            (["--context=ip,,tid"], "no such context")):
        done = run(SONDE, "record", *options, "--", "true")
        check_equal(done.returncode, 2, done.stderr)
        check(words in done.stderr, done.stderr)
    done = run(SONDE, "record", "-a", "-k", "sched", "--context=cpu_time")
    check_equal(done.returncode, 2, done.stderr)
    check("events of programs" in done.stderr, done.stderr)


@test
def what_is_in_every_trace_may_be_asked_for():
    trace = record_ok(program(), "1",
                      options=["--context=tid,procname,cpu"])
    check_equal({name for e in trace.events() for name in e.contexts},
                {"cpu_id", "vpid"}, "contexts")


install()
main()
