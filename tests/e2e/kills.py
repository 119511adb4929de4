#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kills.py [-n N] [-s SEED] [ROLE...] - everything is killed, at any instant.

Each round starts a program and something that traces it, sends SIGKILL to one
of them at an instant of its own (while it starts, in the middle, while it
ends), and then asks three questions:

1. Can babeltrace2 read what there is of the trace?
   Of recorders: and what `sonde recover` makes of the rest?
2. Does the program, if it was not the victim, run on and end by itself, with
   the result that an untraced one has?
3. Are the accounts exact? Each thread of the program numbers its events: in
   the trace they are consecutive, except for those that are counted as
   discarded; where nothing but the program or the front end was killed, none that
   was committed is missing; where the recorder was, in its trace and what was
   recovered together.

ROLE, the victim: program, front and recorder of `sonde record`; all of them at
once, whose rings are in a directory (--arena); borrower, the
process that puts probes into a running program, while it attaches; server, the
same one while probes are in. Without one: all, in turn. Rounds of one seed are
the same every time, as far as the machine's scheduling lets them.

`make check-kills` runs a thousand; `make check` some of each role, by way of
test_kills.py. Prints what went wrong, and `N passed, N failed` at the end."""

import argparse
import collections
import mmap
import os
import random
import select
import signal
import struct
import subprocess
import sys
import time

from sonde import BUILD, SONDE, Trace, build, check, install, run, scratch
from harness import check_equal

PUT = BUILD.resolve() / "bench" / "probe_put"
ROLES = ("program", "front", "recorder", "all", "borrower", "server")
# A bound for hangs.
PATIENCE_S = 60
THREADS = 2

# Counts until it is told to stop. In each thread's line of memory shared with
# us: how far it is, stored after the event was committed. Line 2: stop, line 3:
# it has stopped, and all was well.
COUNTER = r"""
#define _GNU_SOURCE
#ifdef TRACED
#include <sonde/tracepoint.h>
#else
#define sonde_event(provider, event, ...) ((void)0)
#endif
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static volatile uint64_t *shared;

__attribute__((noinline)) void hit(long thread, uint64_t n)
{
	__asm__ volatile(".globl hit_site\nhit_site: movl $7, %%eax\n"
			 :: "D"(n), "S"(thread) : "eax", "memory");
}

static void *count(void *arg)
{
	const struct timespec pause = { 0, 300000 };
	long thread = (long)arg;
	uint64_t sum = 0;
	uint64_t n = 0;

	while (!shared[16]) {
		n++;
		hit(thread, n);
		sonde_event(count, number, thread, n);
		shared[thread * 8] = n;
		sum += n;
		if (n % 64 == 0)
			nanosleep(&pause, NULL);
	}
	return (void *)(uintptr_t)(sum == n * (n + 1) / 2);
}

int main(int argc, char **argv)
{
	int fd = open(argv[argc - 1], O_RDWR);
	pthread_t thread;
	void *good;

	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	pthread_create(&thread, NULL, count, (void *)1);
	if (!count((void *)0))
		return 1;
	pthread_join(thread, &good);
	shared[24] = good ? 1 : 2;
	return good ? 0 : 1;
}
"""

# How `sonde record` may be asked to work; the first is the usual way.
OPTIONS = [[], [], ["--mode", "overwrite"], ["--locks"], ["--memory", "1M"]]
if os.geteuid() == 0:
    OPTIONS.append(["-k", "sched"])


class Shared:
    """What the program shows of its progress."""

    def __init__(self):
        self.path = scratch() / "progress"
        with open(self.path, "wb") as f:
            f.truncate(4096)
        with open(self.path, "r+b") as f:
            self.memory = mmap.mmap(f.fileno(), 4096)

    def word(self, line):
        return struct.unpack_from("<Q", self.memory, line * 64)[0]

    def progress(self):
        return [self.word(thread) for thread in range(THREADS)]

    def ask_to_stop(self):
        struct.pack_into("<Q", self.memory, 2 * 64, 1)

    def ended_well(self):
        return self.word(3) == 1


def wait_for(condition, what):
    """Polls: what is waited for happens in processes that we don't own."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        check(time.monotonic() < end, f"{what}: not within {PATIENCE_S} s")
        time.sleep(0.0005)


def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            children = [int(word) for word in f.read().split()]
    except OSError:
        return []
    return children + [d for c in children for d in children_of(c)]


def link(pid, name):
    try:
        return os.readlink(f"/proc/{pid}/{name}")
    except OSError:
        return None


def state_of(pid):
    """The letter of /proc/PID/stat, or "X"."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def numbers_of(trace, name, thread, number):
    """By thread, the numbers of its events in the order of the trace."""
    found = collections.defaultdict(list)
    for event in trace.events(name):
        found[thread(event)].append(number(event))
    return found


def check_numbers(found, discarded):
    """Consecutive but for what is counted. Returns how many are missing."""
    missing = 0
    for thread, numbers in found.items():
        check_equal(numbers, sorted(set(numbers)), f"order, thread {thread}")
        missing += numbers[-1] - len(numbers) if numbers else 0
    check(missing <= discarded,
          f"{missing} events are missing, {discarded} are counted")
    return missing


# ---- the victims of `sonde record` ----

class Recording:
    """A counting program under `sonde record`."""

    def __init__(self, program, rng, role):
        self.shared = Shared()
        self.program = program
        self.options = rng.choice(OPTIONS)
        self.dir = scratch() / "trace"
        self.rest = scratch() / "rest"
        self.arena = scratch() / "arena" if role == "all" else None
        self.front = subprocess.Popen(
            [SONDE, "record", *self.options,
             *(["--arena", self.arena] if self.arena else []),
             "-o", self.dir, "--", program, self.shared.path],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.session = self.front.pid
        self.counter = None

    def find(self, role):
        """The process of that role, or None if it isn't there (yet)."""
        if role == "front":
            return self.front.pid
        for pid in children_of(self.front.pid):
            exe = link(pid, "exe")
            if role == "program" and exe == self.program:
                return pid
            if role == "recorder" and exe == os.path.realpath(SONDE):
                return pid
        return None

    def runs(self):
        return min(self.shared.progress()) > 0

    def await_program(self):
        wait_for(lambda: self.front.poll() is not None or self.runs(),
                 "the program's start")
        check(self.runs(), "it did not start: " +
              (self.front.stderr.read() if self.front.poll() else ""))
        self.counter = self.find("program")

    def kill(self, role, rng):
        """Whether there was such a victim."""
        if role != "all":
            victims = [self.find(role)]
        else:
            victims = [self.find(r) for r in ("front", "recorder", "program")]
            rng.shuffle(victims)
        victims = [victim for victim in victims if victim]
        for victim in victims:
            kill(victim)
        # What it holds goes before it does.
        wait_for(lambda: all(state_of(v) in "XZ" for v in victims), "deaths")
        return bool(victims)

    def recover(self, role):
        """Whether there was something."""
        where = [str(self.counter)]
        if role == "all":
            where = ["--arena", self.arena, "--remove"]
            if not self.arena.exists():
                return False
        r = run(SONDE, "recover", *where, "-o", self.rest)
        self.said = r.stderr
        check(r.returncode in (0, 1), f"recover: {r.returncode}: {r.stderr}")
        if role == "all":
            check_equal(os.listdir(self.arena), [], "files that are left")
        return r.returncode == 0

    def await_end(self):
        self.front.communicate(timeout=PATIENCE_S)
        wait_for(lambda: not any(
            session_of(p) == self.session for p in os.listdir("/proc")
            if p.isdigit()), "the end of all")


def session_of(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            words = f.read().rpartition(")")[2].split()
        return None if words[0] == "Z" else int(words[3])
    except OSError:
        return None


def kill_of_record(role, program, rng):
    recording = Recording(program, rng, role)
    phase = rng.choice(("start", "middle", "middle", "end"))
    pause_s = rng.random() * 0.02
    if phase != "start":
        recording.await_program()
    if phase == "end":
        recording.shared.ask_to_stop()
    time.sleep(pause_s / 4 if phase == "end" else pause_s)
    before = recording.shared.progress()
    if not recording.kill(role, rng):
        role = None
        before = [0] * THREADS
    if role == "recorder" and phase == "middle":
        check(recording.recover(role), f"nothing was recovered: {recording.said}")
    after_kill(recording, role)
    if role == "all":
        recording.recover(role)
    check_record(recording, role, before)
    return phase


def after_kill(recording, role):
    """Whoever was not killed goes on to its own end."""
    shared = recording.shared
    # Killed before the program was made, or the victim: there is none to end.
    lives = [p for p in children_of_session(recording.session)
             if link(p, "exe") == recording.program]
    if role not in ("program", "all") and (lives or shared.ended_well()):
        at = shared.progress()
        if not shared.word(2):
            wait_for(lambda: min(a > b for a, b in zip(shared.progress(), at)),
                     "the program goes on")
        shared.ask_to_stop()
        wait_for(shared.ended_well, "the program ends by itself")
    shared.ask_to_stop()
    recording.await_end()


def children_of_session(session):
    return [int(p) for p in os.listdir("/proc") if p.isdigit() and
            session_of(p) == session]


def numbers_in(directory):
    """Of a trace that may not be there, and what it says was lost."""
    if not (directory / "metadata").exists():
        return collections.defaultdict(list), 0
    trace = Trace(directory)
    return numbers_of(trace, "count:number", lambda e: e["thread"],
                      lambda e: e["n"]), trace.discarded()


def check_record(recording, role, before):
    kernel, user = recording.dir / "kernel", recording.dir / "user"
    if (kernel / "metadata").exists():
        Trace(kernel).text()
    directory = user if user.exists() else recording.dir
    found, lost = numbers_in(directory)
    rest, lost_of_rest = numbers_in(recording.rest)
    overwrites = recording.options == ["--mode", "overwrite"]
    if not (directory / "metadata").exists():
        check(not any(before), "there is no trace of what was recorded")
    if overwrites:
        check_numbers(rest, lost_of_rest)
        return  # what was overwritten is no account of the killed
    if role != "recorder" or recording.rest.exists():
        # Of what the recorder was reading, both may have a part; of a thread
        # that had moved to another CPU meanwhile, one may lack the middle.
        check_all(found, lost, rest, lost_of_rest, before)
    else:
        check_numbers(found, lost)


def check_all(found, lost, rest, lost_of_rest, before):
    for one in found, rest:
        for thread, numbers in one.items():
            check_equal(numbers, sorted(set(numbers)),
                        f"order, thread {thread}")
    both = {thread: sorted(set(found[thread]) | set(rest[thread]))
            for thread in {*found, *rest}}
    lost = max(lost, lost_of_rest)
    check_numbers(both, lost)
    recorded = sum(map(len, both.values()))
    check(recorded + lost >= sum(before),
          f"{recorded} recorded and {lost} lost of {before}")


# ---- the victims of probes ----

class Probed:
    """A counting program that nobody prepared."""

    def __init__(self, program):
        self.shared = Shared()
        self.process = subprocess.Popen([program, self.shared.path],
                                        stdin=subprocess.DEVNULL)
        self.pid = self.process.pid
        wait_for(lambda: min(self.shared.progress()) > 0, "the program")
        with open(f"/proc/{self.pid}/maps") as maps:
            base = int(maps.readline().split("-")[0], 16)
        symbols = run("nm", program).stdout.split("\n")
        self.site = next(base + int(line.split()[0], 16) for line in symbols
                         if line.endswith(" hit_site"))
        self.code = self.read_code()

    def read_code(self):
        with open(f"/proc/{self.pid}/mem", "rb") as memory:
            memory.seek(self.site - 16)
            return memory.read(48)

    def end(self):
        at = self.shared.progress()
        wait_for(lambda: self.process.poll() is not None or
                 min(a > b for a, b in zip(self.shared.progress(), at)),
                 "the program goes on")
        check_equal(self.process.poll(), None, "the program's status")
        self.shared.ask_to_stop()
        check_equal(self.process.wait(PATIENCE_S), 0, "how it ended")
        check(self.shared.ended_well(), "it computed something else")


class Put:
    """The process that puts a probe there, and holds it."""

    def __init__(self, probed):
        self.dir = scratch() / "trace"
        self.process = subprocess.Popen(
            [PUT, str(probed.pid), self.dir, "discard"], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True)
        # rdi and rsi, as $regs
        self.say(f"QTDP:1:{probed.site:x}:E:0:0-\n"
                 f"QTDP:-1:{probed.site:x}:R30\n\n")

    def say(self, text):
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def await_start(self):
        ready = select.select([self.process.stdout], [], [], PATIENCE_S)[0]
        check(ready, "no probe within a minute")
        line = self.process.stdout.readline()
        check_equal(line, "started\n", "what it says")

    def kill(self):
        self.process.kill()
        self.process.communicate()
        session = self.process.pid
        wait_for(lambda: not any(state_of(p) not in "XZ" for p in
                                 children_of_session(session)),
                 "the end of the recorder")


def kill_of_probe(role, program, rng):
    probed = Probed(program)
    put = Put(probed)
    phase = "attach"
    if role == "server":
        put.await_start()
        phase = rng.choice(("middle", "stop"))
        if phase == "stop":
            put.say("stop\n")
            time.sleep(rng.random() * 0.004)
        else:
            time.sleep(rng.random() * 0.02)
    else:
        time.sleep(rng.random() * 0.012)
    put.kill()
    # A second one finds the program as it should be.
    again = Put(probed)
    again.await_start()
    again.say("stop\n")
    out, err = again.process.communicate(timeout=PATIENCE_S)
    check_equal(again.process.returncode, 0, out + err)
    wait_for(lambda: probed.read_code() == probed.code, "the code as it was")
    probed.end()
    for one in (put, again):
        if (one.dir / "metadata").exists():
            check_probe(Trace(one.dir))
    return phase


def check_probe(trace):
    found = numbers_of(trace, "gdb:tp1", lambda e: e["regs"]["rsi"],
                       lambda e: e["regs"]["rdi"])
    # The first hit of a thread is that after the probe was put in.
    found = {thread: [n - numbers[0] + 1 for n in numbers]
             for thread, numbers in found.items()}
    check_numbers(found, trace.discarded())


# ---- all of it ----

def arguments():
    parser = argparse.ArgumentParser(
        prog="kills.py", formatter_class=argparse.RawDescriptionHelpFormatter,
        description=__doc__.partition(" - ")[2])
    parser.add_argument("roles", nargs="*", metavar="ROLE",
                        help=", ".join(ROLES))
    parser.add_argument("-n", type=int, default=1000, help="rounds (1000)")
    parser.add_argument("-s", "--seed", type=int, default=1)
    options = parser.parse_args()
    unknown = set(options.roles) - set(ROLES)
    if unknown:
        parser.error("no role " + ", ".join(sorted(unknown)))
    return options


def programs():
    """The traced one, and one that knows nothing of tracing."""
    return build(COUNTER, "-DTRACED"), build(COUNTER)


def one_kill(role, seed, traced, plain):
    rng = random.Random(f"{role} {seed}")
    if role in ("borrower", "server"):
        return kill_of_probe(role, plain, rng)
    return kill_of_record(role, traced, rng)


def rounds(roles, nr, seed):
    """Kills; returns (how often, by role and phase; what went wrong)."""
    traced, plain = programs()
    done = collections.Counter()
    wrong = []
    for i in range(nr):
        role = roles[i % len(roles)]
        try:
            phase = one_kill(role, seed + i, traced, plain)
            done[role, phase] += 1
        except (AssertionError, subprocess.TimeoutExpired) as why:
            wrong.append(f"{role}, seed {seed + i}: {why}")
    return done, wrong


def main():
    options = arguments()
    install()
    done, wrong = rounds(options.roles or ROLES, options.n, options.seed)
    for (role, phase), nr in sorted(done.items()):
        print(f"{role:9} {phase:7} {nr:5}")
    for line in wrong:
        print("FAIL " + line)
    print(f"{sum(done.values())} passed, {len(wrong)} failed")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
