#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_io.py - --io: the C library's calls that read and write files and sockets,
preloaded and put into a program that runs: the same events either way, with what
the program got, and reports of them."""

import collections
import contextlib
import json
import pathlib

from sonde import SONDE, Trace, check, install, run, scratch
from attached import Attached, Told
from home import Home, waiter
from harness import check_equal, main, test

PROGRAM = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define MUST(x) do { if (!(x)) { printf("wrong: %s\n", #x); exit(1); } } while (0)

static char room[1000];
static struct iovec vectors[2] = { { room, 3 }, { room + 3, 4 } };
static struct msghdr message = { .msg_iov = vectors, .msg_iovlen = 2 };
static volatile size_t hundred = 100; /* what no compiler knows */
static int waiting[2];
static pthread_t waiter;

static __attribute__((noinline)) void files(void)
{
	int fd = open("data", O_RDWR | O_CREAT | O_TRUNC, 0600);
	int other = openat(AT_FDCWD, "copy", O_RDWR | O_CREAT | O_TRUNC, 0600);

	MUST(fd >= 0 && other >= 0);
	MUST(write(fd, room, hundred) == 100);
	MUST(pwrite(fd, room, 50, 100) == 50);
	MUST(pwritev(fd, vectors, 2, 150) == 7);
	MUST(lseek(fd, 0, SEEK_SET) == 0);
	MUST(read(fd, room, hundred) == 100);
	MUST(pread(fd, room, 10 * hundred, 100) == 57);
	MUST(readv(fd, vectors, 2) == 7);
	MUST(preadv(fd, vectors, 2, 154) == 3);
	MUST(writev(fd, vectors, 2) == 7);
	MUST(fsync(fd) == 0 && fdatasync(fd) == 0);
	MUST(lseek(fd, 0, SEEK_SET) == 0);
	MUST(sendfile(other, fd, NULL, 40) == 40);
	MUST(close(other) == 0 && close(fd) == 0);
	MUST(close(fd) == -1 && errno == EBADF);
	MUST(open("none/such", O_RDONLY) == -1 && errno == ENOENT);
	MUST(read(-1, room, 5) == -1 && errno == EBADF);
}

/* Whoever is served is served for so many milliseconds. */
static void sockets(unsigned long ms)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	int client = socket(AF_INET, SOCK_STREAM, 0);
	int server;

	MUST(bind(listener, (void *)&at, length) == 0);
	MUST(listen(listener, 5) == 0);
	MUST(getsockname(listener, (void *)&at, &length) == 0);
	MUST(connect(client, (void *)&at, length) == 0);
	server = accept(listener, NULL, NULL);
	MUST(server >= 0);
	usleep(1000 * ms);
	MUST(send(client, room, 20, 0) == 20);
	MUST(recv(server, room, hundred, 0) == 20);
	MUST(sendto(client, room, 21, 0, NULL, 0) == 21);
	MUST(recvfrom(server, room, hundred, 0, NULL, NULL) == 21);
	MUST(sendmsg(client, &message, 0) == 7);
	MUST(recvmsg(server, &message, 0) == 7);
	MUST(recv(server, room, hundred, MSG_DONTWAIT) == -1 && errno == EAGAIN);
	MUST(close(server) == 0 && close(client) == 0);
	fcntl(listener, F_SETFL, O_NONBLOCK);
	MUST(accept4(listener, NULL, NULL, SOCK_CLOEXEC) == -1 && errno == EAGAIN);
	MUST(close(listener) == 0);
}

static void *await(void *arg)
{
	static char byte;

	MUST(read(waiting[0], &byte, 1) == 1);
	return arg;
}

static void obey(const char *word, unsigned long n)
{
	if (!strcmp(word, "all")) {
		for (; n; n--) {
			files();
			sockets(0);
		}
	} else if (!strcmp(word, "serve")) {
		sockets(n);
	} else if (!strcmp(word, "wait")) {
		MUST(pipe(waiting) == 0);
		pthread_create(&waiter, NULL, await, NULL);
	} else if (!strcmp(word, "wake")) {
		MUST(write(waiting[1], "x", 1) == 1);
		pthread_join(waiter, NULL);
		MUST(close(waiting[0]) == 0 && close(waiting[1]) == 0);
	} else {
		exit(0);
	}
}

int main(int argc, char **argv)
{
	char line[64], word[32];

	MUST(argc == 2 && chdir(argv[1]) == 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("0");
	while (fgets(line, sizeof(line), stdin)) {
		unsigned long n = 0;

		sscanf(line, "%31s %lu", word, &n);
		obey(word, n);
		puts("0");
	}
	return 0;
}
"""

# What files() and sockets() do, in their order: event, size, result.
MOVED = [
    ("write", 100, 100), ("write", 50, 50), ("write", 7, 7),
    ("read", 100, 100), ("read", 1000, 57), ("read", 7, 7), ("read", 7, 3),
    ("write", 7, 7), ("write", 40, 40), ("read", 5, -9), ("write", 20, 20),
    ("read", 100, 20), ("write", 21, 21), ("read", 100, 21), ("write", 7, 7),
    ("read", 7, 7), ("read", 100, -11)]

_built = {}


def program(*flags):
    if flags not in _built:
        directory = scratch()
        (directory / "moves.c").write_text(PROGRAM)
        done = run("gcc", "-O2", "-Wall", directory / "moves.c", "-o",
                   directory / "moves", "-pthread", *flags)
        check_equal(done.returncode, 0, f"gcc: {done.stderr}")
        _built[flags] = str(directory / "moves")
    return _built[flags]


FORTIFIED = ("-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2")


def attached(*words, flags=(), options=()):
    """Recorded while it did that: the trace's directory."""
    p = Told(program(*flags), str(scratch()))
    a = Attached("-p", p.pid, "--io", *options)
    check_equal([s for s in a.said if "not recorded" in s], [], "left out")
    for word in words:
        p.do(*word)
    summary = a.end()
    p.end()
    check_equal(summary["events_lost"], 0, "lost")
    return a.dir


def preloaded(*words, flags=(), options=()):
    directory = scratch() / "trace"
    p = Told(SONDE, "record", "-q", "--io", *options, "-o", directory, "--",
             program(*flags), str(scratch()))
    for word in words:
        p.do(*word)
    p.end()
    return directory


WAYS = [(attached, ()), (preloaded, ()), (attached, FORTIFIED),
        (preloaded, FORTIFIED)]


def moved(directory):
    return [(e.name.partition(":")[2], e["size"], e["result"])
            for e in Trace(directory).events()
            if e.name in ("io:read", "io:write")]


@test
def each_call_is_an_event_with_what_it_got():
    for way, flags in WAYS:
        directory = way(("all", 2), flags=flags)
        check_equal(moved(directory), MOVED * 2, f"{way.__name__} {flags}")
        events = list(Trace(directory).events())
        names = collections.Counter(e.name for e in events)
        check_equal(
            {n.partition(":")[2]: nr // 2 for n, nr in names.items()
             if not n.endswith("_begin") and n.startswith("io:")},
            {"read": 9, "write": 8, "open": 3, "close": 6, "fsync": 2,
             "accept": 2, "connect": 1}, f"{way.__name__} {flags}")


@test
def a_call_begins_before_it_ends_with_the_same_descriptor():
    for way, flags in WAYS:
        begun = {}
        for e in Trace(way(("all", 3), flags=flags)).events():
            kind = e.name.partition(":")[2]
            key = "listener" if kind.startswith("accept") else "fd"
            if kind.endswith("_begin"):
                check(e.tid not in begun, f"{e.name}: in a call already")
                begun[e.tid] = kind[:-6], e.get(key), e.get("size")
            elif kind == "open":
                check_equal(begun.pop(e.tid)[0], kind, "what was begun")
            elif e.name.startswith("io:"):
                check_equal(begun.pop(e.tid),
                            (kind, e.get(key), e.get("size")), "what was begun")
        check_equal(begun, {}, "calls without an end")


@test
def files_are_opened_by_name_and_errors_are_those_of_the_system():
    for way, flags in WAYS:
        trace = Trace(way(("all", 1), flags=flags))
        check_equal([(e["filename"], e["dir"], e["flags"] & 0o100 != 0)
                     for e in trace.events("io:open_begin")],
                    [("data", -100, True), ("copy", -100, True),
                     ("none/such", -100, False)], "opened")
        fds = [e["fd"] for e in trace.events("io:open")]
        check(fds[0] >= 3 and fds[1] > fds[0] and fds[2] == -2, fds)
        check_equal([e["result"] for e in trace.events("io:close")],
                    [0, 0, -9, 0, 0, 0], "results of close")
        accepted = [e["fd"] for e in trace.events("io:accept")]
        check(accepted[0] >= 3 and accepted[1] == -11, accepted)
        check(accepted[0] in [e["fd"] for e in trace.events("io:close_begin")],
              "the server's descriptor isn't closed")


@test
def events_are_described_alike_by_probes_and_by_preloading():
    listed = [run(SONDE, "list", way(("all", 1))).stdout
              for way in (attached, preloaded)]
    check("io:accept" in listed[0] and "filename" in listed[0], listed[0])
    check_equal(listed[0], listed[1], "sonde list")


@test
def reports_say_what_was_moved_through_which_file():
    for way, flags in WAYS:
        directory = way(("all", 3), flags=flags)
        done = run(SONDE, "report", "io", "--json", directory)
        check_equal(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        files = {row["file"]: row for row in told["files"]}
        check_equal([files["data"][key] for key in
                     ("reads", "read_bytes", "writes", "written_bytes", "syncs")],
                    [12, 3 * 167, 12, 3 * 164, 6], f"of data, {way.__name__}")
        check_equal(files["copy"]["written_bytes"], 3 * 40, "of copy")
        check_equal(files["socket"]["read_bytes"], 3 * 48, "the server's socket")
        check_equal([(row["process"], row["errors"])
                     for row in told["processes"]], [("moves", 3 * 2)],
                    "of the process")


def await_read(pid):
    """The second thread's number, once it is in read()."""
    while True:
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                if (task.name != str(pid) and
                        (task / "syscall").read_text().startswith("0 ")):
                    return task.name


@test
def a_thread_that_waits_at_the_beginning_and_at_the_end_is_told():
    p = Told(program(), str(scratch()))
    p.do("wait")
    thread = await_read(p.pid)
    a = Attached("-p", p.pid, "--io")
    p.do("wake")
    p.do("wait")
    await_read(p.pid)
    notes = "\n".join(a.end()["notes"])
    p.do("wake")
    p.end()
    check("waited in a call for a file or a socket already" in notes and
          thread in notes, notes)
    check("1 call of read() had not returned when the recording ended" in notes,
          notes)
    names = collections.Counter(e.name for e in Trace(a.dir).events())
    check_equal((names["io:read_begin"], names["io:read"]), (1, 0), "reads")


# ---- conditions and triggers ----

@test
def conditions_hold_of_what_is_recorded():
    options = ["-e", "io:read if result == 7 && size < 100",
               "-e", 'io:open_begin if filename == "d*"',
               "-e", "io:close if result < 0", "-e", "io:fsync",
               "--filter", "tid > 0 && cpu >= 0"]
    for way in (attached, preloaded):
        events = Trace(way(("all", 5), options=options)).events()
        check_equal(collections.Counter(e.name for e in events),
                    {"io:read": 10, "io:open_begin": 5, "io:close": 5,
                     "io:fsync": 10}, f"events, {way.__name__}")
        check_equal({(e["size"], e["result"]) for e in events
                     if e.name == "io:read"}, {(7, 7)}, "read")
        check_equal({e["filename"] for e in events
                     if e.name == "io:open_begin"}, {"data"}, "opened")


@test
def a_filter_that_no_event_fulfils_leaves_nothing():
    directory = attached(("all", 3), options=["--filter", "fd > 100000"])
    check_equal(Trace(directory).events(), [], "events")


@test
def conditions_of_functions_and_fractions_are_tested_or_told():
    p = Told(program(), str(scratch()))
    a = Attached("-p", p.pid, "--io", "-e", "io:read if size > 99.5",
                 "-e", "io:fsync")
    p.do("all", 2)
    notes = "\n".join(a.end()["notes"])
    p.end()
    names = collections.Counter(e.name for e in Trace(a.dir).events())
    check("1 event is not recorded there, as conditions about fractions can't "
          "be tested" in notes, notes)
    check_equal(names, {"io:fsync": 4}, "events")
    p = Told(program(), str(scratch()))
    a = Attached("-p", p.pid, "--functions=files", "-e",
                 "function:entry if addr == 0", "-e", "function:exit")
    p.do("all", 2)
    a.end()
    p.end()
    names = collections.Counter(e.name for e in Trace(a.dir).events())
    check_equal(names, {"function:exit": 2}, "events")


@test
def tracepoints_of_a_program_that_runs_have_no_conditions():
    r = run(SONDE, "record", "-p", "1", "-e", "attach:step if number > 5")
    check_equal(r.returncode, 2, r.stderr)
    check("--malloc, --locks, --io and --functions" in r.stderr, r.stderr)


@test
def a_request_that_takes_too_long_has_a_snapshot_made():
    """Of events that are recorded, and of such as aren't."""
    for options in ([], ["-e", "io:* if size > 99"]):
        with Home() as home:
            p = Told(program(), str(scratch()))
            directory = home.start(
                "night", "-p", p.pid, "--io", *options, "--mode", "overwrite",
                "--memory", "8M", "--when",
                "io:accept..io:close_begin by fd > 20ms", "--do", "snapshot")
            p.do("all", 1)
            with waiter(home, "night") as answer:
                p.do("serve", 100)
                told = answer()
            home.ok("stop", "night")
            p.end()
            check_equal((told["event"], told["pid"]),
                        ("io:close_begin", p.pid), "told")
            check(told["duration_ns"] > 20e6, told)
            snapshot = Trace(f"{directory}-close_begin-1")
            reads = [e for e in snapshot.events("io:read") if e["size"] > 99]
            check(len(reads) >= 4, f"{len(reads)} reads in the snapshot")
            others = snapshot.events("io:accept")
            check(bool(others) != bool(options), f"{len(others)} accepts")


@test
def what_sonde_itself_calls_is_no_event_of_the_program():
    directory = preloaded(("all", 1))
    own = [e for e in Trace(directory).events()
           if e.name == "io:connect" and e["result"] < 0]
    check_equal(own, [], "calls that fail")
    check_equal(len(list(Trace(directory).events("io:connect"))), 1, "connects")


install()
main()
