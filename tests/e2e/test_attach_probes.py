#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_attach_probes.py - --malloc and --locks of programs that run already and
know nothing of Sonde: the events are those of preloading, the program's output
and text are what they were, and who can't be recorded is named with the reason.

The program does what it is told, line by line, so a test knows which calls it
has made and when.
"""

import collections
import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import threading
import time

from sonde import (PATIENCE, SONDE, Trace, check, install, require, run,
                   scratch)
from attached import Attached, Told, as_stranger, refusal
from home import Home, await_end
from obedient import TIMEOUT, need_root
from robust import until
from harness import check_equal, long_test, main, test

PROGRAM = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive, checking, robust;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static const struct timespec past;
static int waiting, cleaned;
static unsigned long handled;

/* The compiler must not know what becomes of a block. */
#define USED(x) __asm__ volatile("" : "+r"(x) : : "memory")
#define FREE(x) do { void *block_ = (x); USED(block_); free(block_); } while (0)
#define MUST(x) do { if (!(x)) { printf("wrong: %s\n", #x); exit(1); } } while (0)

static void allocate(void)
{
	void *p = malloc(10), *q = calloc(3, 40), *none = NULL, *d;
	char *s = strdup("hello");

	USED(p);
	USED(none);
	p = realloc(p, 5000);
	FREE(realloc(none, 77));
	FREE(calloc(1, 300000));
	FREE(memalign(64, 100));
	FREE(memalign(8, 24));
	FREE(aligned_alloc(16, 32));
	MUST(posix_memalign(&d, 32, 64) == 0);
	FREE(d);
	MUST(posix_memalign(&d, 3, 64) == EINVAL);
	FREE(reallocarray(none, 3, 5));
	FREE(none);
	FREE(s);
	FREE(p);
	FREE(q);
}

static void lock(void)
{
	pthread_mutex_lock(&mutex);
	MUST(pthread_mutex_trylock(&mutex) == EBUSY);
	MUST(pthread_mutex_timedlock(&mutex, &past) == ETIMEDOUT);
	MUST(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &past) == ETIMEDOUT);
	MUST(pthread_cond_timedwait(&cond, &mutex, &past) == ETIMEDOUT);
	pthread_mutex_unlock(&mutex);
	MUST(pthread_mutex_trylock(&mutex) == 0);
	pthread_mutex_unlock(&mutex);
	pthread_mutex_lock(&recursive);
	pthread_mutex_lock(&recursive);
	pthread_mutex_unlock(&recursive);
	pthread_mutex_unlock(&recursive);
	pthread_mutex_lock(&checking);
	MUST(pthread_mutex_lock(&checking) == EDEADLK);
	pthread_mutex_unlock(&checking);
	MUST(pthread_mutex_unlock(&checking) == EPERM);
	pthread_mutex_lock(&robust);
	pthread_mutex_unlock(&robust);
	pthread_rwlock_rdlock(&rwlock);
	pthread_rwlock_rdlock(&rwlock);
	MUST(pthread_rwlock_trywrlock(&rwlock) == EBUSY);
	MUST(pthread_rwlock_timedwrlock(&rwlock, &past) == ETIMEDOUT);
	pthread_rwlock_unlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
	pthread_rwlock_wrlock(&rwlock);
	MUST(pthread_rwlock_wrlock(&rwlock) == EDEADLK);
	pthread_rwlock_unlock(&rwlock);
	pthread_cond_signal(&cond);
	pthread_cond_broadcast(&cond);
}

static void *work(void *n)
{
	for (unsigned long i = 0; i < (unsigned long)n; i++) {
		void *block = malloc(1 + i % 5000);

		pthread_mutex_lock(&mutex);
		USED(block);
		pthread_mutex_unlock(&mutex);
		free(block);
	}
	return NULL;
}

static void threads(unsigned long n)
{
	pthread_t t[8];

	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, work, (void *)n);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
}

static void *doze(void *arg)
{
	for (;;) {
		FREE(malloc(10));
		usleep(300);
	}
	return arg;
}

static void doze_in(unsigned long n)
{
	pthread_t t;

	for (; n; n--)
		pthread_create(&t, NULL, doze, NULL);
}

static void handle(int number)
{
	pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;

	(void)number;
	pthread_mutex_lock(&own);
	pthread_mutex_unlock(&own);
	__atomic_add_fetch(&handled, 1, __ATOMIC_RELAXED);
}

static void signals(int on)
{
	struct itimerval timer = { { 0, 200 * on }, { 0, 200 * on } };

	signal(SIGALRM, handle);
	setitimer(ITIMER_REAL, &timer, NULL);
}

static void cleanup(void *arg)
{
	cleaned = 1;
	pthread_mutex_unlock(arg);
}

static void *wait_for_it(void *arg)
{
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(cleanup, &mutex);
	waiting = 1;
	while (waiting)
		pthread_cond_wait(&cond, &mutex);
	pthread_cleanup_pop(0);
	pthread_mutex_unlock(&mutex);
	return arg;
}

static pthread_t waiter;

static void start_waiter(void)
{
	int is_there = 0;

	pthread_create(&waiter, NULL, wait_for_it, NULL);
	while (!is_there) {
		pthread_mutex_lock(&mutex);
		is_there = waiting;
		pthread_mutex_unlock(&mutex);
	}
}

static void wake(void)
{
	pthread_mutex_lock(&mutex);
	waiting = 0;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&mutex);
	pthread_join(waiter, NULL);
}

static void obey(const char *word, unsigned long n)
{
	if (!strcmp(word, "all"))
		for (; n; n--) {
			allocate();
			lock();
		}
	else if (!strcmp(word, "threads"))
		threads(n);
	else if (!strcmp(word, "doze"))
		doze_in(n);
	else if (!strcmp(word, "signals"))
		signals(n);
	else if (!strcmp(word, "wait"))
		start_waiter();
	else if (!strcmp(word, "wake"))
		wake();
	else if (!strcmp(word, "cancel")) {
		void *result;

		pthread_cancel(waiter);
		pthread_join(waiter, &result);
		MUST(result == PTHREAD_CANCELED && cleaned);
	} else if (!strcmp(word, "fork")) {
		int status, pid = fork();

		if (!pid) {
			allocate();
			lock();
			threads(100);
			_exit(7);
		}
		MUST(waitpid(pid, &status, 0) == pid);
		MUST(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	} else if (!strcmp(word, "leave")) {
		if (!fork())
			for (;;)
				pause();
	} else if (!strcmp(word, "heir")) { /* obeys in its place */
		if (fork()) {
			wait(NULL);
			_exit(0);
		}
	} else if (!strcmp(word, "exec")) {
		execl("/proc/self/exe", "again", NULL);
	} else {
		exit(0);
	}
}

static void make(pthread_mutex_t *m, int type, int robustness)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, type);
	pthread_mutexattr_setrobust(&attr, robustness);
	pthread_mutex_init(m, &attr);
}

int main(void)
{
	static char out[64], in[64], line[64];
	char word[32];

	setvbuf(stdout, out, _IOLBF, sizeof(out));
	setvbuf(stdin, in, _IOFBF, sizeof(in));
	make(&recursive, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED);
	make(&checking, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED);
	make(&robust, PTHREAD_MUTEX_DEFAULT, PTHREAD_MUTEX_ROBUST);
	puts("0");
	while (fgets(line, sizeof(line), stdin)) {
		unsigned long n = 0;

		sscanf(line, "%31s %lu", word, &n);
		obey(word, n);
		printf("%lu\n", handled);
	}
	return 0;
}
"""

_built = {}


def program(*flags):
    """A C program that is not linked with Sonde."""
    if flags not in _built:
        directory = scratch()
        source = directory / "plain.c"
        source.write_text(PROGRAM)
        out = directory / "plain"
        done = run("gcc", "-O2", "-g", "-Wall", source, "-o", out, "-pthread",
                   *flags)
        check_equal(done.returncode, 0, f"gcc: {done.stderr}")
        _built[flags] = str(out)
    return _built[flags]


class Plain(Told):
    def __init__(self, *command, **more):
        super().__init__(*(command or [program()]), **more)


def attach(pid, *options):
    return Attached("-p", pid, "--malloc", "--locks", *options)


def text_of(pid):
    """The bytes of all code that files were mapped for."""
    digest = hashlib.sha256()
    with open(f"/proc/{pid}/mem", "rb") as memory:
        for line in open(f"/proc/{pid}/maps"):
            word = line.split()
            if "x" not in word[1] or len(word) < 6 or word[5][0] != "/" or \
               word[5].startswith("/memfd:"):
                continue
            begin, end = (int(a, 16) for a in word[0].split("-"))
            memory.seek(begin)
            digest.update(word[5].encode() + memory.read(end - begin))
    return digest.hexdigest()


def counts(directory):
    return collections.Counter(e.name for e in Trace(directory).events())


def preloaded(*words):
    """What preloading records of the program that does that."""
    directory = scratch() / "trace"
    p = Plain(SONDE, "record", "-q", "--malloc", "--locks", "-o", directory,
              "--", program())
    for word in words:
        p.do(*word)
    p.end()
    return directory


# One function of glibc 2.36 has no room at its entry; what it leaves out is
# said, and is left out here.
MAY_LACK = re.compile(r"(\w+)\(\) of \S+ is not recorded: ")


def lacking(attached):
    return [m[1] for line in attached.said if (m := MAY_LACK.search(line))]


# ---- the events ----

@test
def counts_are_those_of_preloading():
    p = Plain()
    a = attach(p.pid)
    p.do("all", 300)
    summary = a.end()
    p.end()
    check_equal(lacking(a), ["pthread_rwlock_tryrdlock"] if lacking(a) else [],
                "functions that are left out")
    check_equal(summary["events_lost"], 0, "lost")
    expected = counts(preloaded(("all", 300)))
    idle = counts(preloaded())  # what it calls before and after
    check_equal(counts(a.dir), expected - idle, "events")


@test
def events_have_the_fields_and_types_of_preloading():
    p = Plain()
    a = attach(p.pid)
    p.do("all", 1)
    a.end()
    p.end()
    listed = [run(SONDE, "list", d).stdout
              for d in (a.dir, preloaded(("all", 1)))]
    check("malloc:posix" not in listed[0] and "lock:cond_wake" in listed[0],
          listed[0])
    check_equal(listed[0], listed[1], "sonde list")


@test
def values_are_those_of_the_calls():
    p = Plain()
    a = attach(p.pid)
    p.do("all", 1)
    a.end()
    p.end()
    trace = Trace(a.dir)
    check_equal(sorted((e["alignment"], e["size"], e["ptr"] != 0)
                       for e in trace.events("malloc:memalign")),
                [(3, 64, False), (8, 24, True), (16, 32, True), (32, 64, True),
                 (64, 100, True)], "memalign")
    check_equal(sorted((e["count"], e["size"])
                       for e in trace.events("malloc:calloc")),
                [(1, 300000), (3, 40)], "calloc")
    results = collections.Counter(e["result"]
                                  for e in trace.events("lock:mutex_lock"))
    check_equal(results, {0: 6, 110: 2, 35: 1}, "results of mutex_lock")
    blocks = set()
    for e in trace.events():
        if e.name in ("malloc:malloc", "malloc:calloc", "malloc:memalign",
                      "malloc:realloc"):
            if e["ptr"]:
                check(e["ptr"] not in blocks, f"{e.name} gives a live block")
                blocks.add(e["ptr"])
        elif e.name in ("malloc:free", "malloc:realloc_begin"):
            block = e["ptr" if e.name == "malloc:free" else "old"]
            check(not block or block in blocks, f"{e.name}: a strange block")
            blocks.discard(block)
    check_equal(blocks, set(), "blocks that are left")


@test
def reports_are_those_of_preloading():
    p = Plain()
    a = attach(p.pid)
    p.do("all", 50)
    a.end()
    p.end()
    for report in ("malloc", "locks"):
        done = run(SONDE, "report", report, a.dir)
        check_equal(done.returncode, 0, f"report {report}: {done.stderr}")
    check("plain" in run(SONDE, "report", "malloc", a.dir).stdout,
          "the caller has no name")


@test
def only_what_is_asked_for_is_recorded():
    for option, provider in (("--malloc", "malloc"), ("--locks", "lock")):
        p = Plain()
        a = Attached("-p", p.pid, option)
        p.do("all", 5)
        a.end()
        p.end()
        check_equal({name.split(":")[0] for name in counts(a.dir)}, {provider},
                    option)


# ---- the program ----

@test
def text_is_what_it_was_after_the_end():
    p = Plain()
    before = text_of(p.pid)
    for _ in range(3):
        a = attach(p.pid)
        check(text_of(p.pid) != before, "nothing was put in")
        p.do("all", 10)
        a.end()
        check_equal(text_of(p.pid), before, "text")
        p.do("all", 10)
    p.end()


@test
def threads_and_signals_lose_nothing_uncounted():
    p = Plain()
    p.do("signals", 1)
    a = attach(p.pid)
    first = p.do("all", 0)
    p.do("threads", 20000)
    p.do("signals", 0)
    last = p.do("all", 0)
    summary = a.end()
    p.end()
    seen = counts(a.dir)
    lost = summary["events_lost"]
    check(last > first, "no signal came")
    for name in ("malloc:malloc", "malloc:free"):
        check(160000 <= seen[name] + lost and seen[name] <= 160000 + 200,
              f"{name}: {seen[name]}, and {lost} lost")
    check(seen["lock:mutex_lock"] + lost >= 160000 + last - first,
          f"{seen} of {last - first} signals, and {lost} lost")


@test
def tools_that_come_at_once_take_turns():
    p = Plain()
    before = text_of(p.pid)
    p.do("doze", 12)  # each tool can have one of its own
    for _ in range(5):
        both = [subprocess.Popen(
            [SONDE, "record", "-q", "-p", str(p.pid), "--malloc", "--duration",
             "50ms", "-o", scratch() / "trace"], stderr=subprocess.PIPE,
            text=True) for _ in range(2)]
        said = [tool.communicate(timeout=TIMEOUT)[1] for tool in both]
        check(p.process.poll() is None, f"the program has died: {said}")
        check(any(tool.returncode == 0 for tool in both), str(said))
        for tool, text in zip(both, said):
            # One that doesn't end for seconds is not waited for.
            check(tool.returncode == 0 or "another server" in text, text)
    check_equal(text_of(p.pid), before, "text")
    p.do("all", 1)
    p.end()


@test
def a_child_of_fork_runs_on_and_an_exec_ends_the_recording():
    p = Plain()
    a = attach(p.pid)
    p.do("fork")
    p.do("all", 1)
    p.do("exec")  # what it answers is its greeting
    text = a.process.communicate(timeout=TIMEOUT)[1]
    check_equal(a.process.returncode, 0, f"status, {text}")
    check_equal(counts(a.dir)["malloc:realloc_begin"], 3, "of the parent alone")
    p.do("all", 1)
    p.end()


@test
def a_thread_is_cancelled_in_a_wait_that_began_while_attached():
    p = Plain()
    a = attach(p.pid)
    p.do("wait")
    p.do("cancel")
    p.do("all", 3)
    a.end()
    p.end()


@test
def a_debugger_sees_the_true_callers():
    require("gdb")
    p = Plain()
    a = attach(p.pid)
    p.do("wait")
    out = run("gdb", "-p", p.pid, "-batch", "-ex", "thread apply all bt").stdout
    check("wait_for_it" in out and "start_thread" in out, out)
    p.do("wake")
    a.end()
    p.end()


@test
def a_wait_that_has_begun_before_and_one_that_goes_on_are_told():
    p = Plain()
    p.do("wait")
    a = attach(p.pid)
    notes = " ".join(a.end()["notes"])
    check("1 thread waited for a lock or a condition already" in notes, notes)
    check_equal(counts(a.dir)["lock:cond_wake"], 0, "wakes")
    p.do("wake")
    a = attach(p.pid)
    p.do("wait")
    notes = " ".join(a.end()["notes"])
    check("1 call of pthread_cond_wait() had not returned" in notes, notes)
    p.do("wake")
    p.end()


@test
def a_program_outlives_a_recorder_that_is_killed():
    for whom in ("front", "recorder"):
        p = Plain()
        before = text_of(p.pid)
        a = attach(p.pid)
        p.do("all", 10)
        os.kill(a.process.pid if whom == "front" else a.recorder(),
                signal.SIGKILL)
        a.process.wait(TIMEOUT)
        until = time.monotonic() + 60 * PATIENCE
        while text_of(p.pid) != before:
            check(time.monotonic() < until, f"{whom}: text is not given back")
        p.do("all", 10)
        a = attach(p.pid)
        p.do("all", 1)
        a.end()
        check_equal(counts(a.dir)["malloc:realloc_begin"], 3, "afterwards")
        p.end()


def children_named(pid, name):
    """Of a process: those of all its threads."""
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            if pathlib.Path(f"/proc/{child}/comm").read_text().strip() == name:
                found.append(int(child))
    return found


def parent_of(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"PPid:\s+(\d+)", status)[1])


def await_text(pid, before):
    until = time.monotonic() + 60 * PATIENCE
    while text_of(pid) != before:
        check(time.monotonic() < until, "text is not given back")


@test
def a_session_by_name_has_hooks_until_it_is_stopped():
    p = Plain()
    before = text_of(p.pid)
    with Home() as home:
        directory = home.start("night", "-p", p.pid, "--malloc", "--locks")
        p.do("all", 100)
        status = home.json("status", "night")
        check_equal([q["pid"] for q in status["processes"]], [p.pid],
                    "processes")
        ended = home.json("stop", "night")
        check_equal(text_of(p.pid), before, "text")
        p.do("all", 1)
        check_equal(ended["summary"]["events_lost"], 0, "lost")
        check_equal(counts(directory),
                    counts(preloaded(("all", 100))) - counts(preloaded()),
                    "events")
        home.ok("destroy", "night")
        home.start("day", "-p", p.pid, "--malloc", "--mode", "overwrite")
        p.do("all", 1)
        trace, _ = home.snapshot("day")
        check_equal(len(list(trace.events("malloc:realloc_begin"))), 3,
                    "in the snapshot")
        home.ok("destroy", "day")
        check_equal(text_of(p.pid), before, "text at the end")
    p.end()


@test
def a_session_holds_nothing_of_who_started_it():
    p = Plain()
    with Home() as home:
        ours, theirs = os.pipe()
        starting = home.popen("start", "night", "-p", p.pid, "--malloc",
                              pass_fds=[theirs])
        os.close(theirs)
        starting.communicate(timeout=TIMEOUT)
        check_equal(starting.returncode, 0, "status")
        os.set_blocking(ours, False)
        check_equal(os.read(ours, 1), b"", "nobody has the other end")
        os.close(ours)
    p.end()


@test
def hooks_of_a_session_do_not_outlive_its_recorder_or_holder():
    for whom in ("recorder", "holder"):
        p = Plain()
        before = text_of(p.pid)
        with Home() as home:
            home.start("night", "-p", p.pid, "--malloc", "--mode", "overwrite")
            p.do("all", 1)
            recorder = home.pid("night")
            holder = parent_of(recorder)
            os.kill(recorder if whom == "recorder" else holder, signal.SIGKILL)
            await_end(holder)
            await_text(p.pid, before)
            p.do("all", 10)
            if whom == "recorder":
                said = home.json("status", "night")
                check_equal(said["state"], "died", "state")
                check("taken out" in said["reason"], said["reason"])
            else:
                said = home.json("stop", "night")
                check(any("was killed" in note
                          for note in said["summary"]["notes"]),
                      str(said["summary"]))
        p.end()


@test
def a_stopped_holder_of_hooks_does_not_keep_a_session():
    p = Plain()
    before = text_of(p.pid)
    with Home() as home:
        home.start("night", "-p", p.pid, "--malloc")
        p.do("all", 10)
        recorder = home.pid("night")
        holder = parent_of(recorder)
        os.kill(holder, signal.SIGSTOP)
        try:
            said = home.json("stop", "night")
            await_end(recorder)
        finally:
            os.kill(holder, signal.SIGCONT)
        check(any(f"pid {holder}" in note and "is stopped" in note
                  for note in said["summary"]["notes"]), str(said["summary"]))
        check_equal(said["summary"]["events_lost"], 0, "lost")
        await_end(holder)
        await_text(p.pid, before)
    p.end()


def ask(connection, *words):
    """Without waiting for the answers."""
    connection.sendall("".join(
        json.dumps({"sonde": 1, "do": word}) + "\n"
        for word in words).encode())


@test
def everybody_who_asks_for_the_end_is_answered():
    p = Plain()
    with Home() as home:
        home.start("night", "-p", p.pid, "--malloc")
        holder = parent_of(home.pid("night"))
        askers = [socket.socket(socket.AF_UNIX) for _ in range(3)]
        answers = [s.makefile() for s in askers]
        os.kill(holder, signal.SIGSTOP)
        try:
            for s, answer in zip(askers, answers):
                s.settimeout(TIMEOUT)
                s.connect(home.socket("night"))
                # When the first is answered, the second has been heard.
                ask(s, "status", "stop")
                check_equal(json.loads(answer.readline())["state"],
                            "recording", "before")
        finally:
            os.kill(holder, signal.SIGCONT)
        for answer in answers:
            check_equal(json.loads(answer.readline() or "{}").get("state"),
                        "stopped", "answer")
        for s in askers:
            s.close()
    p.end()


@test
def nothing_is_left_of_a_session_whose_hooks_cannot_be_put_in():
    static = Plain(program("-static"))
    with Home() as home:
        directory = home.traces / "night"
        check("statically linked" in home.complaint(
            "start", "night", "-p", static.pid, "--malloc", "-o", directory),
            "why")
        check(not directory.exists(), "its directory is left")
        check_equal(os.listdir(home.dir / "sonde"), [], "files")
    static.end()


@test
def children_of_fork_are_told_and_get_their_text_back():
    p = Plain()
    before = text_of(p.pid)
    with Home() as home:
        home.start("night", "-p", p.pid, "--malloc")
        p.do("leave")
        summary = home.json("stop", "night")["summary"]
        check_equal(summary["processes"], 1, "recorded")
        check_equal(summary["processes_missed"], 1, "missed")
        child, = children_named(p.pid, "plain")
        check(any(f"nothing is recorded, as hooks are of one process: pid "
                  f"{child}" in note for note in summary["notes"]),
              str(summary["notes"]))
    check_equal(text_of(child), before, "text of the child")
    check_equal(text_of(p.pid), before, "text")
    os.kill(child, signal.SIGKILL)
    p.end()


@test
def what_children_of_fork_do_is_counted_if_nobody_has_seen_them():
    p = Plain()
    a = attach(p.pid)
    for _ in range(3):
        p.do("fork")
    p.do("all", 1)
    summary = a.end()
    p.end()
    found = [m for note in summary["notes"] if (m := re.search(
        r"3 processes that it forked came upon its probes (\d+) times", note))]
    check_equal(len(found), 1, str(summary["notes"]))
    # Each of the three has done as much as one `all`, and more.
    check(int(found[0][1]) > 3 * summary["events_recorded"],
          str(summary["notes"]))


@test
def a_child_of_fork_that_is_meant_gets_hooks_of_its_own():
    path = scratch() / f"heir{os.getpid()}"
    shutil.copy(program(), path)
    p = Plain(path)
    before = text_of(p.pid)
    a = Attached("-p", path.name, "--malloc", "--locks")
    p.do("heir")
    child, = children_named(p.pid, path.name)
    until(lambda: p.do("all", 1) >= 0 and
          counts(a.dir)["malloc:realloc_begin"])
    p.do("all", 5)
    summary = a.end()
    check_equal(text_of(child), before, "text of the child")
    p.end()
    check_equal((summary["processes"], summary["processes_missed"]), (2, 0),
                f"{summary}")
    events = list(Trace(a.dir).events("malloc:realloc_begin"))
    check(len(events) > 15, f"{len(events)} events")
    check_equal({e.tid for e in events}, {child}, "who")


@test
def a_child_that_has_hooks_of_its_own_is_not_told():
    p = Plain()
    p.do("leave")
    child, = children_named(p.pid, "plain")
    a = Attached("-p", p.pid, "-p", child, "--malloc", "--locks")
    check(len(lacking(a)) <= 1, f"said twice: {a.said}")
    summary = a.end()
    check_equal((summary["processes"], summary["processes_missed"]), (2, 0),
                f"{summary}")
    os.kill(child, signal.SIGKILL)
    p.end()


@test
def output_of_a_database_is_the_same():
    require("sqlite3")
    sql = ("create table t(a, b);" + "insert into t select value, hex(value) "
           "from generate_series(1, 3000);" * 3 +
           "select sum(a), count(distinct b), max(b) from t;")
    sql = sql.replace("generate_series(1, 3000)",
                      "(with recursive c(value) as (select 1 union all select "
                      "value + 1 from c where value < 3000) select * from c)")
    outputs = []
    for is_attached in (False, True):
        p = subprocess.Popen(["sqlite3"], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
        p.stdin.write("select 'ready';\n")
        p.stdin.flush()
        check_equal(p.stdout.readline(), "ready\n", "sqlite3")
        a = attach(p.pid) if is_attached else None
        p.stdin.write(sql + "\nselect 'done';\n")
        p.stdin.flush()
        outputs.append([p.stdout.readline(), p.stdout.readline()])
        if a:
            a.end()
            check(counts(a.dir)["malloc:malloc"] > 1000, "no allocations")
        p.stdin.close()
        check_equal(p.wait(TIMEOUT), 0, "status")
    check_equal(outputs[1], outputs[0], "output")


# ---- who can't be ----

@test
def attaching_twice_is_refused_and_harms_nothing():
    p = Plain()
    a = attach(p.pid)
    text = refusal("-p", str(p.pid), "--malloc")
    match = re.search(r"process (\d+) has probes of another server, "
                      r"process (\d+) \((.+)\); end that first", text)
    check(match and int(match[1]) == p.pid, text)
    with open(f"/proc/{match[2]}/comm") as comm:
        check_equal(comm.read().strip(), match[3], "its name")
    with open(f"/proc/{match[2]}/cmdline") as words:
        check(str(a.dir) in words.read(), f"{match[2]} isn't the first")
    p.do("all", 5)
    a.end()
    check_equal(counts(a.dir)["malloc:realloc_begin"], 15, "of the first")
    p.end()


@test
def a_static_program_is_refused_by_name():
    p = Plain(program("-static"))
    text = refusal("-p", str(p.pid), "--malloc", "--locks")
    check("statically linked" in text and str(p.pid) in text, text)
    p.do("all", 1)
    p.end()


def started_as(name, *flags):
    """A program that is called so, and sits in a directory of its own."""
    path = scratch() / name
    path.symlink_to(program(*flags))
    return Plain(path)


@test
def who_is_meant_and_can_not_be_recorded_is_told_though_another_is():
    first, second = started_as("meantfor", "-static"), started_as("meantfor")
    third = started_as("meantfor", "-static")
    a = attach("meantfor")
    second.do("all", 1)
    summary = a.end()
    said = "".join(a.said)
    check("; 2 of those that were meant are not recorded" in said, said)
    check_equal((summary["processes"], summary["processes_missed"]), (1, 2),
                "recorded, and not")
    for p in first, third:
        check(any(f"process {p.pid} is statically linked" in note
                  for note in summary["notes"]), summary["notes"])
    for p in first, second, third:
        p.end()


def maps_of(pid):
    return pathlib.Path(f"/proc/{pid}/maps").read_text()


@test
def a_program_without_what_is_asked_for_is_left_alone():
    """And is looked at again: what it loads later is found."""
    p = started_as("lacksit")
    p.do("all", 1)  # what it maps for itself is there
    before = maps_of(p.pid)
    a = Attached("-p", "lacksit", "--functions=*@libnone.so*")
    check_equal(maps_of(p.pid), before, "its mappings")
    a.end()
    check_equal(maps_of(p.pid), before, "its mappings at the end")
    p.end()


def held_back(p, *command, before=None, **more):
    """Starts a command that puts probes into the process, and lets it do so after
    hundreds of its attempts, and `before`. The command, and when it might begin."""
    with open(f"/proc/{p.pid}/mem", "rb") as memory:
        fcntl.flock(memory, fcntl.LOCK_EX)
        r = subprocess.Popen([SONDE, *map(str, command)], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             **more)
        path = pathlib.Path(f"/proc/{r.pid}/status")
        while r.poll() is None and int(re.search(
                r"^voluntary_ctxt_switches:\s(\d+)", path.read_text(),
                re.M)[1]) < 300:
            time.sleep(0.001)
        if before:
            before(r)
        return r, time.monotonic_ns()


@test
def an_interrupt_is_heard_between_two_processes():
    """Putting probes into many takes a while: the rest are left alone then."""
    many = [started_as("meantmany") for _ in range(4)]
    for p in many:
        p.do("all", 1)
    first = min(many, key=lambda p: p.pid)
    before = {p.pid: maps_of(p.pid) for p in many if p is not first}
    r, _ = held_back(first, "record", "--json", "--malloc", "-p", "meantmany",
                     "-o", scratch() / "trace",
                     before=lambda r: r.send_signal(signal.SIGINT))
    err = r.communicate(timeout=TIMEOUT)[1]
    check_equal(json.loads(err.splitlines()[-1])["processes"], 1, err)
    for p in many:
        if p is not first:
            check_equal(maps_of(p.pid), before[p.pid], "mappings")
        p.end()


@test
def who_can_not_be_followed_has_no_table():
    for words in ["top", "--once"], ["top"], ["live"]:
        r = run(SONDE, *words, "-p", 4194303, "--malloc")
        check_equal((r.returncode, r.stdout), (1, ""), words)
        check_equal(len(r.stderr.splitlines()), 1, r.stderr)
        check("there is no process 4194303" in r.stderr, r.stderr)


@test
def a_recorder_that_is_slow_is_waited_for():
    """The program is not what waits: its patience is not the tool's."""
    p = Plain()
    recorders = []

    def stop_recorder(front):
        path = f"/proc/{front.pid}/task/{front.pid}/children"
        recorders.extend(map(int, pathlib.Path(path).read_text().split()))
        os.kill(recorders[0], signal.SIGSTOP)

    r, _ = held_back(p, "count", "-p", p.pid, "--malloc", "--duration", "1ms",
                     before=stop_recorder,
                     env={**os.environ, "SONDE_WAIT_MS": "1"})
    call = pathlib.Path(f"/proc/{r.pid}/syscall")
    until(lambda: r.poll() is not None or
          children_named(p.pid, "sonde-servant") and
          call.read_text().startswith("7 "))  # poll(): it waits for an answer
    os.kill(recorders[0], signal.SIGCONT)
    err = r.communicate(timeout=TIMEOUT)[1]
    check_equal(r.returncode, 0, err)
    check("recording" not in err and "counting 1 process" in err, err)
    p.end()


def recorded_ns(command, out, err):
    """How long it says that it recorded."""
    if command == "record":
        return json.loads(err.splitlines()[-1])["wall_ns"]
    said = json.loads(out)
    if command == "top":
        return said["sums"][0]["interval_ns"]
    row = said["events"][0]
    return row["count"] / row["rate_per_s"] * 1e9


@test
def what_it_took_to_put_probes_in_is_no_part_of_any_rate():
    p = Plain()
    ended = threading.Event()

    def allocate():
        while not ended.is_set():
            p.do("all", 10)

    worker = threading.Thread(target=allocate)
    worker.start()
    try:
        for command in (["top", "--once", "--interval", "50ms"],
                        ["count", "--duration", "50ms"],
                        ["record", "--duration", "50ms", "-o",
                         scratch() / "trace"]):
            r, begin_ns = held_back(p, *command, "--json", "-p", p.pid,
                                    "--malloc")
            out, err = r.communicate(timeout=TIMEOUT)
            at_most_ns = time.monotonic_ns() - begin_ns
            check_equal(r.returncode, 0, err)
            told_ns = recorded_ns(command[0], out, err)
            check(0 < told_ns < at_most_ns,
                  f"{command[0]}: {told_ns} ns, began {at_most_ns} ns ago")
    finally:
        ended.set()
    worker.join()
    p.end()


SMALL = """
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
	char line[64];

	for (puts("0"), fflush(stdout); fgets(line, sizeof(line), stdin);) {
		char *block = malloc(sizeof(line));

		block[0] = line[0];
		printf("%d\\n", block[0] == line[0]);
		fflush(stdout);
		free(block);
	}
	return 0;
}
"""


@test
def a_program_of_a_library_without_ends_is_refused_in_one_line():
    require("musl-gcc")
    directory = scratch()
    (directory / "small.c").write_text(SMALL)
    done = run("musl-gcc", "-O1", directory / "small.c", "-o",
               directory / "small")
    check_equal(done.returncode, 0, f"musl-gcc: {done.stderr}")
    p = Plain(directory / "small")
    before = text_of(p.pid)
    said = refusal("-p", p.pid, "--malloc", "--locks")
    check(re.search(r"\(\) of libc\.so is not recorded: where it ends is not "
                    "known", said), said)
    check_equal(text_of(p.pid), before, "text")
    check_equal(p.do("x"), 1, "answer")
    p.end()


@test
def a_program_that_has_the_hooks_preloaded_is_refused():
    directory = scratch() / "trace"
    record = Plain(SONDE, "record", "-q", "--malloc", "-o", directory, "--",
                   program())
    path = f"/proc/{record.pid}/task/{record.pid}/children"
    pids = [int(pid) for pid in pathlib.Path(path).read_text().split()]
    pid = next(p for p in pids
               if os.readlink(f"/proc/{p}/exe") == program())
    text = refusal("-p", str(pid), "--malloc")
    check("libsonde-preload.so" in text, text)
    record.end()


@test
def another_users_program_is_refused_with_the_remedy():
    need_root("being two users")
    p = Plain()
    directory, me, env = as_stranger()
    r = run(*me, SONDE, "record", "-o", directory / "t", "-p", p.pid,
            "--malloc", env=env)
    check_equal(r.returncode, 1, f"status, {r.stderr}")
    check("belongs to user 0" in r.stderr and "CAP_SYS_PTRACE" in r.stderr,
          r.stderr)
    p.do("all", 1)
    p.end()


# ---- real servers ----

@contextlib.contextmanager
def redis_under_load():
    require("redis-server")
    require("redis-benchmark")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    server = subprocess.Popen(
        ["redis-server", "--port", str(port), "--save", "", "--appendonly",
         "no", "--dir", str(scratch())], stdout=subprocess.PIPE, text=True)
    for line in server.stdout:
        if "Ready to accept" in line:
            break
    load = subprocess.Popen(
        ["redis-benchmark", "-p", str(port), "-q", "-l", "-t", "set,get"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield server
    finally:
        load.kill()
        load.wait()
        server.kill()
        server.wait()


@long_test
def redis_is_attached_to_fifty_times_under_load():
    with redis_under_load() as server:
        before = text_of(server.pid)
        for i in range(50):
            a = attach(server.pid, "--memory", "4M")
            summary = a.end()
            check_equal(text_of(server.pid), before, f"text, round {i}")
            check(server.poll() is None, f"redis has ended, round {i}")
            check("malloc" not in lacking(a), a.said)
            check_equal(summary["events_recorded"], sum(counts(a.dir).values()),
                        f"events, round {i}")


if __name__ == "__main__":
    install()
    main()
