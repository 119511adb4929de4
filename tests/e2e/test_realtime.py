#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_realtime.py - `sonde record --realtime`: a thread that makes events has no
page fault and no system call on account of them, its rings are locked, and where
the rights for that lack it is said. Counted by getrusage() in the program, by
strace, and by the kernel's own events."""

import ctypes
import json
import os
import pathlib
import re
import resource
import shutil

from kernel import why_no_bpf, why_no_tracefs
from sonde import (SONDE, build, install, record, run, scratch,
                   skip_if_sanitized)
from harness import Skip, check, check_equal, main, test

SOURCE = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <sonde/tracepoint.h>

static long faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

static void emit(long from, long to)
{
	for (long nr = from; nr < to; nr++)
		sonde_event(app, turn, nr);
}

static void print_locked(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	char line[256];

	while (fgets(line, sizeof(line), status))
		if (!strncmp(line, "VmLck:", 6))
			fputs(line, stdout);
	fclose(status);
}

/* What of the arena are huge pages. */
static void print_huge(void)
{
	FILE *maps = fopen("/proc/self/smaps", "r");
	char line[512];
	int is_arena = 0;
	unsigned long end;
	long kib;
	long huge = 0;

	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%*lx-%lx ", &end) == 1)
			is_arena = !!strstr(line, "memfd:sonde-arena");
		else if (is_arena &&
			 sscanf(line, "ShmemPmdMapped: %ld", &kib) == 1)
			huge += kib;
	}
	fclose(maps);
	printf("huge %ld\n", huge);
}

int main(int argc, char **argv)
{
	long nr = atol(argv[1]);
	long before, between, after;
	cpu_set_t set;

	(void)argc;
	CPU_ZERO(&set);
	CPU_SET(atoi(argv[2]), &set);
	sched_setaffinity(0, sizeof(set), &set);
	before = faults(); /* its page, and that of the stack, are there then */
	before = faults();
	write(2, "begin\n", 6);
	emit(0, 1);
	between = faults();
	emit(1, nr);
	after = faults();
	write(2, "end\n", 4);
	printf("first %ld others %ld\n", between - before, after - between);
	print_locked();
	print_huge();
	return 0;
}
"""
# Some 16 bytes each with the record's header: several sub-buffers of a ring.
EVENTS = int(os.environ.get("SONDE_REALTIME_EVENTS", 400000))
CAP_IPC_LOCK, CAP_SYS_NICE = 14, 23
HUGE, MADV_COLLAPSE = 2 << 20, 25
PR_CAPBSET_DROP = 24
_program = []


def program():
    if not _program:
        _program.append(build(SOURCE))
    return _program[0]


def last_cpu():
    return max(os.sched_getaffinity(0))


def told(out):
    """How many faults the first event had, how many all others, and how many
    KiB were locked."""
    first, others = map(int, re.search(r"first (\d+) others (\d+)",
                                       out).groups())
    return first, others, int(re.search(r"VmLck:\s+(\d+)", out)[1])


def without(capability, limit):
    def drop():
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
        resource.setrlimit(limit, (0, 0))
    return drop


def lockable():
    return resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] in (
        resource.RLIM_INFINITY,) or os.geteuid() == 0


@test
def no_event_has_to_wait_for_a_page():
    skip_if_sanitized("its shadow memory has faults of its own")
    done = record(program(), EVENTS, last_cpu())
    _, others, _ = told(done.out)
    check(others > 100, f"without --realtime there is no fault: {done.out}")
    done = record(program(), EVENTS, last_cpu(), options=("--realtime",))
    check_equal(done.status, 0, done.err)
    _, others, locked = told(done.out)
    check_equal(others, 0, f"faults: {done.out} {done.err}")
    if lockable():
        check(locked > 1024, f"{done.out} {done.err}")
        check("--realtime" not in done.err, done.err)


def has_huge_pages():
    """Whether the kernel makes one of a memory file's pages."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int,
                          ctypes.c_int, ctypes.c_int, ctypes.c_long]
    file = os.memfd_create("pages")
    os.ftruncate(file, 2 * HUGE)
    os.pwrite(file, b"x", HUGE)
    room = libc.mmap(None, 4 * HUGE, 0, 0x22, -1, 0)  # private, anonymous
    begin = -(-room // HUGE) * HUGE
    # Shared, and there.
    check_equal(libc.mmap(begin, 2 * HUGE, 3, 0x11, file, 0), begin,
                "where it was put")
    return not libc.madvise(ctypes.c_void_p(begin + HUGE),
                            ctypes.c_size_t(HUGE), MADV_COLLAPSE)


@test
def the_rings_are_huge_pages_where_there_are_any():
    skip_if_sanitized("its shadow memory decides where things lie")
    if not has_huge_pages():
        raise Skip("the kernel makes no huge pages of a memory file")
    huge = {}
    for options in ((), ("--realtime",)):
        done = record(program(), 1000, last_cpu(), options=options)
        check_equal(done.status, 0, done.err)
        huge[options] = int(re.search(r"huge (\d+)", done.out)[1])
    check_equal(huge.pop(()), 0, "without --realtime")
    check(huge["--realtime",] >= 8192, f"{huge} KiB")


@test
def no_event_makes_a_system_call():
    if not shutil.which("strace"):
        raise Skip("there is no strace")
    skip_if_sanitized("its runtime makes calls of its own")
    calls = scratch() / "calls"
    done = record("strace", "-o", calls, program(), EVENTS, last_cpu(),
                  options=("--realtime",))
    check_equal(done.status, 0, done.err)
    lines = calls.read_text().splitlines()
    begin = next(i for i, s in enumerate(lines) if '"begin' in s)
    end = next(i for i, s in enumerate(lines) if '"end' in s)
    own = [s for s in lines[begin + 1:end] if "getrusage" not in s]
    check_equal(own, [], "system calls between the first event and the last")


def printed(trace, rule):
    """Its events that meet the rule, as print --json tells them."""
    done = run(SONDE, "print", "--json", "-f", rule, trace)
    check_equal(done.returncode, 0, done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def of_the_kernel(sender):
    """The kernel's events while the program made its events, recorded with
    them; and the processes that recorded, told by `sender`."""
    looks = ('for pid in $(cat /proc/$PPID/task/*/children); do '
             '[ $pid = $$ ] || echo $pid $(cat /proc/$pid/task/*/children) '
             f'>>{sender}; done; echo $PPID >>{sender}; exec "$@"')
    done = record("sh", "-c", looks, "sh", program(), EVENTS, last_cpu(),
                  options=("--realtime", "--recorder-cpus",
                           str(min(os.sched_getaffinity(0))), "-a", "-k",
                           "sched_waking,ipi:*,page_fault_user"))
    check_equal(done.status, 0, done.err)
    turns = [printed(done.dir, f'event == "app:turn" && nr == {nr}')
             for nr in (0, EVENTS - 1)]
    check_equal([len(t) for t in turns], [1, 1], done.err)
    (first,), (last,) = turns
    window = [e for e in printed(done.dir, 'event != "app:turn"')
              if first["time_ns"] <= e["time_ns"] <= last["time_ns"]]
    return first["tid"], window


@test
def no_event_interrupts_or_wakes_its_cpu():
    """Whom the kernel interrupts, and who asked for it, is seen as it is sent."""
    if why_no_bpf() or why_no_tracefs():
        raise Skip(why_no_bpf() or why_no_tracefs())
    if "ipi:ipi_send_cpu" not in run(SONDE, "list", "-k").stdout:
        raise Skip("the kernel doesn't tell of interrupts that CPUs send")
    skip_if_sanitized("its runtime makes threads of its own")
    if len(os.sched_getaffinity(0)) < 2:
        raise Skip("the recorder needs a CPU of its own")
    sender = scratch() / "senders"
    tid, window = of_the_kernel(sender)
    senders = {int(word) for word in sender.read_text().split()}
    check(len(senders) > 1, f"no recorder among {senders}")
    woken = [e for e in window if e["event"] == "sched_waking"
             and e["payload"]["tid"] == tid]
    sent = [e for e in window if e["event"] == "ipi_send_cpu"
            and e["payload"]["cpu"] == last_cpu() and e["pid"] in senders]
    faults = [e for e in window if "page_fault" in e["event"]
              and e["tid"] == tid]
    check_equal(woken + sent + faults, [], f"recorded by {senders}")


@test
def what_can_not_be_locked_is_said():
    done = record(program(), EVENTS, last_cpu(), options=("--realtime",),
                  preexec_fn=without(CAP_IPC_LOCK, resource.RLIMIT_MEMLOCK))
    check_equal(done.status, 0, done.err)
    _, others, locked = told(done.out)
    check_equal(locked, 0, done.out)
    check("--realtime" in done.err and "ulimit -l" in done.err, done.err)
    check_equal(others, 0, "the pages are there all the same")


@test
def it_is_for_programs_that_are_started():
    done = run(SONDE, "record", "--realtime", "-p", str(os.getpid()))
    check_equal(done.returncode, 2, done.stderr)
    check("--realtime" in done.stderr, done.stderr)


@test
def the_recorder_has_the_priority_that_was_asked_for():
    look = ("for pid in $(cat /proc/$PPID/task/*/children); do "
            "[ $pid = $$ ] || grep -E '^(policy|prio)' /proc/$pid/sched; done")
    if not pathlib.Path("/proc/self/sched").exists():
        raise Skip("the kernel has no /proc/PID/sched")
    done = record("sh", "-c", look, options=("--recorder-priority", "7",
                                             "-e", "app:*"))
    if "ulimit -r" in done.err:
        raise Skip("no right to a real-time priority")
    check_equal(done.status, 0, done.err)
    found = dict(re.findall(r"^(\w+)\s*:\s*(\d+)", done.out, re.M))
    check_equal(found, {"policy": "1", "prio": str(99 - 7)}, done.out)


@test
def without_the_right_to_a_priority_nothing_is_recorded():
    done = record("true", options=("--recorder-priority", "7"),
                  preexec_fn=without(CAP_SYS_NICE, resource.RLIMIT_RTPRIO))
    check_equal(done.status, 1, done.err)
    check("--recorder-priority" in done.err and "ulimit -r" in done.err,
          done.err)
    check(not done.dir.exists(), "a trace is left")
    done = record("true", options=("--recorder-priority", "100"))
    check_equal(done.status, 2, done.err)


install()
main()
