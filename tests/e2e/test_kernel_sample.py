#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_kernel_sample.py - sonde record --sample: what runs, how often, and its
call stack by names, the program's and the kernel's."""

import ctypes
import json
import os
import pathlib
import platform
import re
import resource
import shutil
import signal
import subprocess

from attached import Attached, as_stranger
from obedient import TIMEOUT, Program, need_root
from obedient import program as obedient
from home import Home
from robust import until
from sonde import SONDE, Skip, Trace, build, check, install, run, scratch
from harness import check_equal, main, test
from kernel import (KernelTrace, Running, kernel_test, need, program,
                    record_kernel)

MS = 600
OPEN_CALL = {"x86_64": 298, "aarch64": 241}
EXCLUDE_KERNEL, SOFTWARE, CPU_CLOCK = 1 << 5, 1, 0


def may_sample(everybody=False, kernel=True):
    """Whether perf_event_open() gives this user such an event."""
    call = OPEN_CALL.get(platform.machine())
    if call is None:
        raise Skip(f"the number of perf_event_open() on {platform.machine()}")
    attr = ctypes.create_string_buffer(128)
    words = (ctypes.c_uint32 * 32).from_buffer(attr)
    words[0], words[1], words[2] = SOFTWARE, 128, CPU_CLOCK
    words[10] = 1 | (0 if kernel else EXCLUDE_KERNEL)
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(call, attr, -1 if everybody else 0,
                      0 if everybody else -1, -1, 0)
    if fd >= 0:
        os.close(fd)
    return fd >= 0


def sampled(where, *options, ms=MS, k=()):
    """A recording of the spinner, and the CPU time that it says it took."""
    if not may_sample(everybody="-a" in options):
        raise Skip("this user may not sample")
    done = record_kernel(program("spinner"), where, str(ms), k=k,
                         options=["--sample", *options])
    return done, int(done.out.split()[-1])


def report(trace, *options):
    done = run(SONDE, "report", "samples", "--json", "--limit", "1000",
               *options, trace)
    check_equal(done.returncode, 0, done.stderr)
    return json.loads(done.stdout)


def codes(trace, *options):
    return {row["code"]: row for row in report(trace, *options)["codes"]}


def samples_of(done):
    return done.trace().events("sonde:sample")


@kernel_test
def time_goes_to_the_functions_that_took_it():
    done, cpu_ns = sampled("user")
    rows = codes(done.dir)
    for name in ("heavy", "light", "both", "spin", "main"):
        check(name in rows, f"no {name}: {sorted(rows)[:20]}")
    heavy, light = rows["heavy"]["self_ns"], rows["light"]["self_ns"]
    check(heavy > 1.5 * light, f"heavy {heavy}, light {light}")
    check(rows["both"]["total_ns"] >= heavy + light, "callers have less time")
    check(rows["both"]["self_ns"] < heavy / 4, "callers have others' time")
    # Not of the CPU time: a guest that gets little of a CPU loses ticks.
    below_main = rows["main"]["total_ns"]
    check(heavy + light > 0.8 * below_main,
          f"{heavy} and {light} of {below_main} were sampled")
    check(heavy + light < 1.3 * cpu_ns,
          f"{heavy} and {light}: more than the {cpu_ns} there were")


@kernel_test
def all_that_was_sampled_is_counted():
    done, _ = sampled("user")
    trace = done.trace()
    rows = report(done.dir, "--by", "module")["codes"]
    samples = trace.events("sonde:sample")
    check(len(samples) > 10, f"{len(samples)} samples")
    check_equal(trace.lost, 0, "lost")
    main_tid = samples[len(samples) // 2].tid
    check(sum(s.tid == main_tid for s in samples) > len(samples) / 2,
          "samples are of many threads")
    check_equal({s["period"] for s in samples}, {10**9 // 997}, "periods")
    told = {e["number"] for e in trace.events("sonde:stack")}
    check({s["stack"] for s in samples} - {0} <= told,
          "samples have stacks that nothing tells")
    check(rows, "no modules")


@kernel_test
def samples_share_packets_which_take_a_page_each():
    done, _ = sampled("user")
    streams = [s for s in json.loads(run(SONDE, "stat", "--json",
                                         done.dir).stdout)["streams"]
               if "/samples_cpu" in s["stream"] and s["events"]]
    packets = sum(s["packets"] for s in streams)
    samples = sum(s["events"] for s in streams)
    check(packets * 5 < samples, f"{samples} samples in {packets} packets")


@kernel_test
def a_child_has_its_parents_names():
    done, _ = sampled("child")
    rows = codes(done.dir)
    check("light" in rows and "in_child" in rows and "main" in rows,
          f"names of a child: {sorted(rows)[:20]}")


@kernel_test
def what_is_executed_is_named():
    if not may_sample():
        raise Skip("this user may not sample")
    spinner = program("spinner")
    done = record_kernel("sh", "-c", f"{spinner} user 100; {spinner} user 100",
                         k=(), options=["--sample"])
    rows = codes(done.dir)
    check("heavy" in rows, f"names: {sorted(rows)[:20]}")
    pids = {e["pid"] for e in samples_of(done)}
    check(len(pids) >= 2, f"samples of {pids}")


@kernel_test
def a_library_that_comes_late_is_named():
    done, _ = sampled("late")
    rows = codes(done.dir)
    late = [row for code, row in rows.items() if "cbrt" in code]
    check(late and late[0]["module"].startswith("libm"),
          f"names: {sorted(rows)[:30]}")
    check("in_library" in rows, f"no caller of it: {sorted(rows)[:30]}")


@kernel_test
def the_kernels_part_is_above_the_programs():
    done, _ = sampled("kernel")
    rows = codes(done.dir)
    kernel = [row for row in rows.values() if row["module"] == "[kernel]"]
    check(kernel, f"nothing in the kernel: {sorted(rows)[:20]}")
    with open("/proc/kallsyms") as f:
        listed = {line.split()[2] for line in f}
    unknown = {row["code"] for row in kernel} - listed
    check(all("(" in code for code in unknown), f"no such names: {unknown}")
    folded = run(SONDE, "flame", "--stacks=samples", "--folded", done.dir)
    check_equal(folded.returncode, 0, folded.stderr)
    # The library's read() has no frame, so who called it isn't known.
    check(re.search(r"main;.*spin;.*read;.*;vfs_read", folded.stdout),
          folded.stdout[:2000])
    total = sum(int(line.rpartition(" ")[2])
                for line in folded.stdout.splitlines())
    check_equal(total, len(samples_of(done)) * (10**9 // 997), "weights")


@kernel_test
def of_all_the_machine():
    if not may_sample(everybody=True):
        raise Skip("this user may not sample all")
    other = subprocess.Popen([program("spinner"), "user", "100000"])
    try:
        done, _ = sampled("user", "-a")
    finally:
        other.kill()
        other.wait()
    samples = samples_of(done)
    check(other.pid in {s["pid"] for s in samples}, "another one's samples")
    check(0 not in {s["pid"] for s in samples}, "samples of idle CPUs")
    rows = codes(done.dir, "-f", f"tid == {other.pid}")
    check("heavy" in rows, f"of who ran before: {sorted(rows)[:20]}")


@kernel_test
def with_other_events():
    done, _ = sampled("user", k="sched:sched_switch")
    names = done.trace().names()
    check({"sched_switch", "sonde:sample"} <= names, str(names))


@kernel_test
def lines_show_stacks():
    done, _ = sampled("user")
    shown = run(SONDE, "print", "-f", 'event == "sonde:sample"', done.dir)
    check_equal(shown.returncode, 0, shown.stderr)
    check(re.search(r"\n +(heavy|light)\b.*\n +both\b.*\n +spin\b",
                    shown.stdout), shown.stdout[:1500])
    tree = report(done.dir, "--by", "stack")["stacks"]
    check(any("heavy" in row["code"] for row in tree), str(tree)[:500])


@kernel_test
def chunks_have_the_stacks_of_their_samples():
    done, _ = sampled("user", "--rotate", "100ms", ms=2000)
    chunks = sorted(d for d in done.dir.iterdir()
                    if d.name.startswith("chunk-"))
    named = 0
    for chunk in chunks:
        trace = KernelTrace(chunk)
        told = {e["number"] for e in trace.events("sonde:stack")}
        used = {s["stack"] for s in trace.events("sonde:sample")} - {0}
        check(used <= told, f"{used - told} are not told in {chunk}")
        named += bool(used) and "heavy" in codes(chunk)
    check(named > 2, f"{named} of {len(chunks)} chunks have names")


# ---- code made at run time ----

# Counts down in code that it has made, and says of it what perf wants to know.
MAKER = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
static const unsigned char code[] = {
	0x55, 0x48, 0x89, 0xe5,		/* push %rbp; mov %rsp, %rbp */
	0xff, 0xcf, 0x75, 0xfc,		/* 1: dec %edi; jne 1b */
	0x5d, 0xc3,			/* pop %rbp; ret */
};
/* As jitdump's specification has it: a header; something that isn't asked for; code
 * that was loaded. The file is mapped, so that it is found. */
static void dump(FILE *file, const unsigned char *at)
{
	static const char name[] = "made<1>(int)";
	const uint32_t header[10] = { 0x4a695444, 1, 40, 62, 0, getpid() };
	const uint32_t other[5] = { 4, 20, 0, 0, 4711 };
	const uint32_t head[6] = { 0, 56 + sizeof(name) + sizeof(code), 0, 0,
				   getpid(), getpid() };
	const uint64_t load[4] = { (uintptr_t)at, (uintptr_t)at, sizeof(code),
				   0 };

	fwrite(header, sizeof(header), 1, file);
	fwrite(other, sizeof(other), 1, file);
	fwrite(head, sizeof(head), 1, file);
	fwrite(load, sizeof(load), 1, file);
	fwrite(name, sizeof(name), 1, file);
	fwrite(code, sizeof(code), 1, file);
	fflush(file);
	mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(file), 0);
}

int main(int argc, char **argv)
{
	char path[64];
	unsigned char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*run)(unsigned int) = (void (*)(unsigned int))at;
	clock_t until = clock() + atoi(argv[1]) * (CLOCKS_PER_SEC / 1000);
	FILE *file;

	memcpy(at, code, sizeof(code));
	mprotect(at, 4096, PROT_READ | PROT_EXEC);
	snprintf(path, sizeof(path),
		 argc == 2 ? "/tmp/perf-%d.map" : "/tmp/jit-%d.dump", getpid());
	file = fopen(path, "w+");
	if (!file)
		return 1;
	if (argc == 2)
		fprintf(file, "%lx %zx made<1>(int)\n", (long)at,
			sizeof(code));
	else
		dump(file, at);
	fclose(file);
	puts(path);
	fflush(stdout);
	while (clock() < until)
		run(1000000);
	return 0;
}
"""


def made(*options, ms=MS, how=()):
    if platform.machine() != "x86_64":
        raise Skip("the code is x86-64's")
    if not may_sample():
        raise Skip("this user may not sample")
    done = record_kernel(build(MAKER), str(ms), *how, k=(),
                         options=["--sample", *options])
    pathlib.Path(done.out.strip()).unlink()
    return done


@kernel_test
def code_made_at_run_time_is_called_as_its_program_says():
    done = made()
    rows = codes(done.dir, "--by", "function")
    check(rows["made<1>(int)"]["self_share_percent"] > 50, rows)
    check(rows["main"]["total_share_percent"] > 50, rows)
    told = done.trace().events("sonde:code")
    check_equal(len(told), 1, told)
    recorded = int(re.search(r"([\d,]+) events recorded", done.err)[1]
                   .replace(",", ""))
    trace = done.trace()
    check_equal(recorded, sum(len(trace.events(e)) for e in trace.names())
                - sum(len(trace.events(e)) for e in
                      ("sonde:stack", "sonde:stacks_lost", "sonde:code",
                       "sonde:code_lost", "sonde:began", "sonde:mapping")),
                "what counts as an event")


@kernel_test
def a_jitdump_says_it_as_well():
    rows = codes(made(how=["jitdump"]).dir, "--by", "function")
    check(rows["made<1>(int)"]["self_share_percent"] > 50, rows)


@kernel_test
def each_chunk_has_the_names_of_its_made_code():
    done = made("--rotate", "200ms", ms=2000)
    chunks = sorted(d for d in done.dir.iterdir()
                    if d.name.startswith("chunk-"))
    named = [chunk.name for chunk in chunks
             if "made<1>(int)" in codes(chunk, "--by", "function")]
    check(len(named) > 2, f"{named} of {len(chunks)} chunks have names")


# ---- flight recorders ----

def check_own_stacks(directory):
    """Each sample's stack is told, once, and no other one; the samples."""
    trace = KernelTrace(directory)
    samples = trace.events("sonde:sample")
    told = [e["number"] for e in trace.events("sonde:stack")]
    check_equal(sorted(told), sorted({s["stack"] for s in samples} - {0}),
                f"stacks in {directory}")
    sound = run(SONDE, "check", directory)
    check_equal(sound.returncode, 0, sound.stdout)
    return samples


@kernel_test
def a_flight_recorder_has_the_newest_samples_at_its_end():
    done, _ = sampled("child", "--mode", "overwrite")
    samples = check_own_stacks(done.dir)
    check(len(samples) > 10, f"{len(samples)} samples")
    rows = codes(done.dir)
    check("light" in rows and "in_child" in rows and "main" in rows,
          f"names: {sorted(rows)[:20]}")


def snapshot_of(home):
    directory = scratch() / "snapshot"
    shutil.rmtree(directory, ignore_errors=True)
    home.ok("snapshot", "night", "-o", directory)
    return directory


@kernel_test
def each_snapshot_has_all_samples_and_their_names():
    if not may_sample(everybody=True):
        raise Skip("this user may not sample all")
    pids, before = [], []
    with Home() as home:
        directory = home.start("night", "-a", "--sample", "--mode",
                               "overwrite")
        for _ in range(3):
            spinner = Spinner("user", 200)
            spinner.end()
            pids.append(spinner.pid)
            taken = snapshot_of(home)
            samples = [(s.tid, s["pid"]) for s in check_own_stacks(taken)]
            check_equal(samples[:len(before)], before,
                        "what the snapshot before had")
            before = samples
            # Of processes that have ended, in the times of others, too.
            for pid in pids:
                rows = codes(taken, "-f", f"tid == {pid}")
                check("heavy" in rows and "main" in rows,
                      f"no names of {pid}: {sorted(rows)[:20]}")
        home.ok("stop", "night")
        samples = [(s.tid, s["pid"]) for s in check_own_stacks(directory)]
        check_equal(samples[:len(before)], before, "at the end")
        home.ok("destroy", "night")


@kernel_test
def with_kernel_events_a_snapshot_has_the_stacks_of_both():
    need("bpf")
    blocker = subprocess.Popen([program("blocker"), "100000"])
    try:
        with Home() as home:
            home.start("night", "-a", "--sample", "--stack", "-k",
                       "sched:sched_switch", "--kernel-source", "bpf",
                       "--mode", "overwrite")
            for _ in range(2):
                Spinner("user", 200).end()
                taken = snapshot_of(home)
                trace = KernelTrace(taken)
                told = [e["number"] for e in trace.events("sonde:stack")]
                check_equal(len(told), len(set(told)), "told twice")
                used = {s["stack"] for s in trace.events("sonde:sample")}
                check(used - {0}, "samples have no stacks")
                switches = trace.events("sched_switch")
                used |= {int(re.search(r"stack = (\d+)", e.rest)[1])
                         for e in switches}
                check_equal(used - {0}, set(told), "stacks")
                rows = run(SONDE, "flame", "--stacks=events", "--folded",
                           taken).stdout
                check(re.search(r"main;naps;", rows), rows[:2000])
                check("heavy" in codes(taken), "no names of samples")
            home.ok("destroy", "night")
    finally:
        blocker.kill()
        blocker.wait()


@kernel_test
def what_is_waited_for_ends_a_flight_recorder_of_samples():
    need("bpf")
    running = Running(
        "sh", "-c", f"{program('spinner')} user 200; nice true; read line",
        k=(), source="bpf", stdin=subprocess.PIPE,
        options=["--sample", "--mode", "overwrite", "--until",
                 "sched:sched_process_exec if filename == "
                 f"\"{shutil.which('nice')}\""])
    err = ""
    while "what --until waits for has happened" not in err:
        line = running.front.stderr.readline()
        check(line, f"sonde ended: {err}")
        err += line
    running.front.communicate("\n", timeout=TIMEOUT)
    check(check_own_stacks(running.dir), "no samples")
    check("heavy" in codes(running.dir), "no names")


@kernel_test
def what_cannot_be_is_refused():
    for options, words in ((["--sample=0"], "from 1"),
                           (["--sample=x"], "from 1"),
                           (["--sample", "--mode", "count"], "discard")):
        done = run(SONDE, "record", *options, "--", "true")
        check_equal(done.returncode, 2, done.stderr)
        check(words in done.stderr, done.stderr)


# ---- processes that run already ----

class Spinner:
    """It runs; its standard output is known at its end."""

    def __init__(self, *words, path=None, before=(), **more):
        self.process = subprocess.Popen(
            [*before, path or program("spinner"), *map(str, words)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **more)
        self.pid = self.process.pid

    def end(self, say=None):
        out = self.process.communicate(say, timeout=TIMEOUT)[0]
        check_equal(self.process.returncode, 0, "status of the program")
        return out


def need_samples():
    if not may_sample(kernel=False):
        raise Skip("this user may not sample")


def samples_by_tid(directory):
    counts = {}
    for sample in KernelTrace(directory).events("sonde:sample"):
        counts[sample.tid] = counts.get(sample.tid, 0) + 1
    return counts


@test
def what_runs_already_is_sampled_with_its_names():
    need_samples()
    spinner = Spinner("user", 100000)
    try:
        done = run(SONDE, "record", "--json", "--sample", "--duration", "1s",
                   "-p", spinner.pid, "-o", (directory := scratch() / "trace"))
        check_equal(spinner.process.poll(), None, "the program has ended")
    finally:
        spinner.process.kill()
        spinner.process.wait()
    check_equal(done.returncode, 0, done.stderr)
    summary = json.loads(done.stderr.splitlines()[-1])
    check_equal((summary["processes"], summary["events_lost"]), (1, 0),
                "processes and losses")
    rows = codes(directory)
    for name in ("heavy", "light", "both", "spin", "main"):
        check(name in rows, f"no {name}: {sorted(rows)[:20]}")
    check_equal(set(samples_by_tid(directory)), {spinner.pid}, "threads")


@test
def threads_that_start_later_are_sampled_once():
    need_samples()
    spinner = Spinner("threads", MS)
    check_equal(spinner.process.stdout.readline(), "ready\n", "first line")
    attached = Attached("--sample", "-p", spinner.pid)
    lines = [line.split() for line in spinner.end("\n").splitlines()]
    attached.end(number=None)
    counts = samples_by_tid(attached.dir)
    for tid, cpu_ns in ((int(tid), int(ns)) for tid, ns in lines[:2]):
        nr = counts.get(tid, 0)
        check(nr > 10, f"{nr} samples of thread {tid}: {counts}")
        # Not less: a guest that gets little of a CPU loses ticks.
        check(nr * 10**9 / 997 < 1.3 * cpu_ns,
              f"{nr} samples of {cpu_ns} ns: more than there were")
    check({"in_thread", "heavy"} <= set(codes(attached.dir)), "names")


def state_of(pid):
    """All that could have been changed, but what the program does itself."""
    proc = pathlib.Path(f"/proc/{pid}")
    status = (proc / "status").read_text()
    return {
        "maps": (proc / "maps").read_text(),
        "files": sorted(os.listdir(proc / "fd")),
        "threads": sorted(os.listdir(proc / "task")),
        "status": [line for line in status.splitlines() if line.startswith(
            ("State", "TracerPid", "Sig", "Shd", "Seccomp", "FDSize"))],
    }


@test
def who_is_sampled_stays_as_it_was():
    need_samples()
    spinner = Spinner("threads", 1)
    check_equal(spinner.process.stdout.readline(), "ready\n", "first line")
    until(lambda: "S (sleeping)" in str(state_of(spinner.pid)))
    before = state_of(spinner.pid)
    attached = Attached("--sample", "-p", spinner.pid)
    check_equal(state_of(spinner.pid), before, "while it is sampled")
    attached.end()
    check_equal(state_of(spinner.pid), before, "when it isn't any more")
    spinner.end("\n")


@test
def who_starts_later_is_found_by_name():
    need_samples()
    path = scratch() / "sonde-late"
    shutil.copy(program("spinner"), path)
    attached = Attached("--sample", "-p", path.name)
    spinner = Spinner("user", 1500, path=path)
    spinner.end()
    summary = attached.end()
    check_equal(summary["processes"], 1, "processes")
    check_equal(set(samples_by_tid(attached.dir)), {spinner.pid}, "threads")
    check("heavy" in codes(attached.dir), "no names")


class Shell:
    """It starts a spinner when it is told to, and says its number."""

    def __init__(self, path):
        self.process = subprocess.Popen(
            [path, "-c", f"read line; {program('spinner')} user 100000 >&2 & "
             "echo $!; wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True)

    def start(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


@test
def each_chunk_has_the_names_of_who_joined():
    """Of several, early and late, and of what the second of them started."""
    need_samples()
    paths = [scratch() / name / "sonde-joins" for name in ("spinner", "sh")]
    for path, file in zip(paths, (program("spinner"), "/bin/sh")):
        path.parent.mkdir()
        shutil.copy(file, path)
    here = [Spinner("user", 100000, path=paths[0]), Shell(paths[1])]
    attached = Attached("--sample", "-p", "sonde-joins", "--rotate", "200ms")
    pids = [here[0].pid, here[1].start()]
    try:
        here.append(Spinner("user", 100000, path=paths[0]))
        until(lambda: len(list(attached.dir.glob("chunk-*"))) >= 12)
    finally:
        os.kill(pids[1], signal.SIGKILL)
        for spinner in here:
            spinner.process.kill()
            spinner.process.wait()
        attached.end()
    named = dict.fromkeys(pids + [here[2].pid], 0)
    for chunk in sorted(attached.dir.glob("chunk-*")):
        for pid in samples_by_tid(chunk):
            rows = codes(chunk, "-f", f"tid == {pid}")
            check(any(row["module"] not in ("", "[kernel]")
                      for row in rows.values()),
                  f"no names of {pid} in {chunk}: {sorted(rows)[:9]}")
            named[pid] = named.get(pid, 0) + 1
    check(all(named[pid] > 3 for pid in pids + [here[2].pid]),
          f"chunks with each: {named}")


@test
def both_tracepoints_and_samples_of_what_runs():
    need_samples()
    p = Program(obedient())
    attached = Attached("--sample", "-p", p.pid)
    p.do("emit", 300000)
    summary = attached.end()
    p.end()
    check_equal(summary["processes"], 1, "processes")
    trace = Trace(attached.dir / "user")
    check_equal(len(trace.events("attach:step")) + trace.discarded(), 300000,
                "events")
    check_equal(set(samples_by_tid(attached.dir)), {p.pid}, "threads")


@test
def another_users_process_is_refused():
    need_root("becoming another user")
    directory, me, env = as_stranger()
    done = run(*me, SONDE, "record", "--sample", "-p", os.getpid(), "-o",
               directory / "trace", env=env)
    check_equal(done.returncode, 1, done.stderr)
    check("is not sampled" in done.stderr and "become root" in done.stderr,
          done.stderr)


@test
def kernel_events_of_what_runs_need_all():
    done = run(SONDE, "record", "--sample", "-k", "sched", "-p", os.getpid())
    check_equal(done.returncode, 2, done.stderr)
    check("--all" in done.stderr, done.stderr)


@test
def without_samples_the_program_is_not_started():
    """They can fail after all else is ready, as it takes descriptors: whatever
    number of them there may be."""
    if not may_sample():
        raise Skip("this user may not sample")
    late = 0
    for nr in range(8, 80):
        place = scratch()
        done = run(SONDE, "record", "--sample", "-o", place / "t", "--",
                   "touch", place / "ran",
                   preexec_fn=lambda: resource.setrlimit(
                       resource.RLIMIT_NOFILE, (nr, nr)))
        if not done.returncode:
            break
        check_equal(done.returncode, 1, f"{nr}: {done.stderr}")
        check_equal(sorted(place.iterdir()), [], f"{nr}: made")
        check_equal(done.stderr.count("\n"), 1, f"{nr}: {done.stderr}")
        check("No such device" not in done.stderr and "-k" not in done.stderr,
              f"{nr}: {done.stderr}")
        late += "it takes some descriptors for each CPU" in done.stderr
    check(late, "samples were never what failed")
    check((place / "ran").exists() and " 0 events" not in done.stderr,
          f"{nr}: {done.stderr}")


def heavy_share(samples):
    return samples["heavy"] / (samples["heavy"] + samples["light"])


@kernel_test
def perf_finds_the_same():
    if not shutil.which("perf"):
        raise Skip("no perf")
    done, _ = sampled("user", ms=1000)
    trace = str(done.dir) + ".perf"
    perf = run("perf", "record", "-q", "-e", "cpu-clock", "-F", "997", "-o",
               trace, program("spinner"), "user", "1000")
    if perf.returncode:
        raise Skip(f"perf: {perf.stderr[:200]}")
    shown = run("perf", "report", "--stdio", "-i", trace, "--no-children",
                "-F", "sample,sym", "-t", ";")
    theirs = {m[2]: int(m[1]) for m in
              re.finditer(r"^\s*(\d+)\s*;\[\.\] (\w+)", shown.stdout, re.M)}
    if not {"heavy", "light"} <= set(theirs):
        raise Skip(f"perf says: {shown.stdout[:300]}{shown.stderr[:300]}")
    ours = {code: row["self_ns"] // (10**9 // 997)
            for code, row in codes(done.dir).items()}
    mine, perfs = heavy_share(ours), heavy_share(theirs)
    # A machine that gets little of a CPU loses ticks, so that both have few
    # samples: the difference may be four of its standard deviations.
    nr = min(counts["heavy"] + counts["light"] for counts in (ours, theirs))
    check(nr > 10, f"{nr} samples")
    check(abs(mine - perfs) < 0.05 + 4 * (2 * 0.2 / nr) ** 0.5,
          f"heavy's share: {mine:.3f}, by perf {perfs:.3f}; {nr} samples")


# ---- programs as distributions have them, without frame pointers ----

NESTED = """
import functools

def spin(*_):
    while True:
        sum(range(1000))

def inner(_):
    return functools.reduce(lambda a, b: spin(), [1, 2])

sorted([1, 2], key=inner)
"""
BT = """
frame = gdb.newest_frame()
while frame:
    print("PC", frame.pc())
    frame = frame.older()
"""


def need_unwinding():
    """Samples whose stacks are copied, and a program of Debian's."""
    need_samples()
    if platform.machine() != "x86_64":
        raise Skip("stacks of samples are by frame pointers on this CPU")
    if not os.path.exists("/usr/bin/python3"):
        raise Skip("no /usr/bin/python3")


def sampled_stacks(trace):
    """Of each sample: why its stack ends, and its frames, the outermost last."""
    stacks = {}
    for event in trace.events("sonde:stack"):
        frames = re.findall(r"\[\d+\] = (0x[0-9A-F]+|\d+)", event.rest)
        stacks[event["number"]] = (
            int(re.search(r"end = .*?container = (\d+)", event.rest)[1]),
            [int(frame, 0) & ~(1 << 63) for frame in frames])
    return [stacks[e["stack"]] for e in trace.events("sonde:sample")]


def gdbs_frames(pid):
    script = scratch() / "bt.py"
    script.write_text(BT)
    done = run("gdb", "-batch", "-nx", "-ex", "set debuginfod enabled off",
               "-ex", "set backtrace past-main on", "-ex",
               "set backtrace past-entry on", "-p", pid, "-x", script)
    frames = [int(pc) for pc in re.findall(r"^PC (\d+)$", done.stdout, re.M)]
    if len(frames) < 10:
        raise Skip(f"gdb finds {frames}: {done.stderr[-300:]}")
    return frames


def begin_of_both(ours, theirs):
    """How many frames, from the outermost on, are the same."""
    nr = 0
    for mine, other in zip(reversed(ours), reversed(theirs)):
        if mine != other:
            break
        nr += 1
    return nr


@test
def who_called_a_sampled_function_is_as_gdb_says():
    need_unwinding()
    if not shutil.which("gdb"):
        raise Skip("no gdb")
    python = subprocess.Popen(["/usr/bin/python3", "-c", NESTED])
    try:
        done = run(SONDE, "record", "-q", "--sample", "--duration", "1s", "-p",
                   python.pid, "-o", (directory := scratch() / "trace"))
        check_equal(done.returncode, 0, done.stderr)
        theirs = gdbs_frames(python.pid)
    finally:
        python.kill()
        python.wait()
    # Its own calls are what changes from one sample to the next.
    outer = len(theirs) - 8
    check(outer > 5, f"gdb's frames: {theirs}")
    stacks = [frames for _, frames in sampled_stacks(KernelTrace(directory))]
    # What runs while the interpreter begins, or in a stub without a rule.
    good = sum(begin_of_both(frames, theirs) >= outer for frames in stacks)
    check(len(stacks) > 20 and good >= 0.95 * len(stacks),
          f"{good} of {len(stacks)} are gdb's: {theirs}, {stacks[:3]}")


def whole_share(directory):
    """Of what a program did; the loader has no frame above it."""
    stacks = sampled_stacks(KernelTrace(directory))
    check(len(stacks) > 20, f"{len(stacks)} samples")
    return sum(end in (0, 1) for end, _ in stacks) / len(stacks)


@test
def stacks_of_a_distributions_programs_are_whole():
    """Of short ones as well, each of which maps its files anew."""
    need_unwinding()
    job = "import json; [json.loads(json.dumps([{'a': i}] * 99)) " \
        "for i in range(2000)]"
    for command in (["/usr/bin/python3", "-c", job],
                    ["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do "
                     "/usr/bin/python3 -c 'import json, re'; done"]):
        done = run(SONDE, "record", "-q", "--sample", "-o",
                   (directory := scratch() / "trace"), "--", *command)
        check_equal(done.returncode, 0, done.stderr)
        share = whole_share(directory)
        check(share > 0.95, f"{share:.3f} of the stacks of {command}")
        folded = run(SONDE, "flame", "--stacks=samples", "--folded", directory)
        check(re.search(r"^_start;__libc_start", folded.stdout, re.M),
              folded.stdout[:500])
        shutil.rmtree(directory)


install()
main()
