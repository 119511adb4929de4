#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_top.py - `sonde top`: its sums are those of what happened, its screen obeys
its keys, and the terminal is left as it was.
"""

import fcntl
import json
import os
import subprocess

from home import Home, check_sum, program_at_home
from kernel import need_any
from obedient import TIMEOUT
from sonde import SONDE, build, check, install
from terminal import Terminal, has
from harness import check_equal, main, test

WORK = r"""
#include <sonde/tracepoint.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long each;
static void *volatile kept[10000];

static void *work(void *argument)
{
	for (unsigned long i = 0; i < each; i++) {
		pthread_mutex_lock(&lock);
		sonde_event(work, tick, i);
		pthread_mutex_unlock(&lock);
	}
	return argument;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	each = strtoul(argv[1], NULL, 10);
	for (unsigned long i = 0; i < each; i++)
		kept[i] = malloc(100);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return argc == 2 ? 7 : 0;
}
"""


CALLS = r"""
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	while (getchar() == '\n') {
		for (int i = 0; i < 300; i++)
			syscall(SYS_getppid);
		for (int i = 0; i < 20; i++)
			syscall(SYS_timerfd_gettime, -1, NULL);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
"""


def work(cache=[]):
    if not cache:
        cache.append(build(WORK))
    return cache[0]


def objects(text):
    """Of --json: one after the other."""
    out = []
    while text.strip():
        one, end = json.JSONDecoder().raw_decode(text.lstrip())
        text = text.lstrip()[end:]
        out.append(one)
    return out


def terminal(home, *words):
    return Terminal(["top", *words], home.env)


def row(lines, name):
    """The cells behind a name; its row is there."""
    for line in lines:
        if line.split()[:1] == [name]:
            return line.split()[1:]
    return None


@test
def a_screen_obeys_its_keys():
    with program_at_home() as (p, home):
        home.start("night", "-p", p.pid)
        top = terminal(home, "night", "--interval", "50ms")
        while not has("attach:step")(top.drawing()):
            p.do("emit", 1)
            top.read()
        check(has("sonde top: night")(top.drawing()), "whose it is")
        top.press("t")
        lines = top.until(lambda l: has("Threads")(l) and
                          not has("attach:step")(l), "threads alone")
        top.until(has(str(p.pid)), "the thread")
        check(has("by EVENTS")(lines), "sorted")
        top.press(">")
        top.until(has("by COUNT"), "another column")
        top.press("\x1b[D\x1b[D")
        top.until(has("by PROCESS"), "a column to the left")
        top.press("r")
        top.until(has("least first"), "reversed")
        top.press("/nobody\n")
        top.until(lambda l: has("with 'nobody'")(l) and has("none")(l),
                  "no row has it")
        top.press("/\x1b")
        top.until(lambda l: not has("nobody")(l) and has(str(p.pid))(l), "all")
        top.press("q")
        err = top.end()
        check("events" in err and " 0 lost" in err, f"no sums: {err}")
        emitted = p.do("emit", 1)
        ended = home.json("stop", "night")
        check_equal(ended["events"]["recorded"], emitted, "recorded")
        check_sum(ended["events"])


@test
def a_pause_loses_nothing():
    with program_at_home() as (p, home):
        home.start("night", "-p", p.pid)
        top = terminal(home, "night", "--interval", "50ms")
        while not has("attach:step")(top.drawing()):
            last = p.do("emit", 1)
            top.read()
        top.press("e")
        count = int(row(top.until(has("by RATE"), "events"),
                        "attach:step")[-1].replace(",", ""))
        top.press(" ")
        top.until(has("PAUSED"), "the pause")
        first = last - count
        last = p.do("emit", 5000)
        top.press(" ")
        top.until(lambda l: row(l, "attach:step") and
                  int(row(l, "attach:step")[-1].replace(",", "")) ==
                  last - first, f"{last - first} events")
        top.press("q")
        top.end()


@test
def sums_are_those_of_what_happened():
    with Home() as home:
        r = home.run("top", "--json", "--locks", "--malloc", "--", work(), 500)
        check_equal(r.returncode, 7, f"status; {r.stderr}")
        last = objects(r.stdout)[-1]
        sums = last["sums"][0]
        check_equal((sums["lost"], sums["out_of_order"], sums["left_out"],
                     sums["filtered"], sums["damages"]), (0,) * 5, "sums")
        names = {e["event"]: e["count"] for e in last["events"]}
        check_equal(names["work:tick"], 1000, "ticks")
        check_equal(sum(names.values()), sums["events"], "events")
        check_equal(sum(t["count"] for t in last["threads"]), sums["events"],
                    "of threads")
        check_equal(len(last["threads"]), 3, "threads")
        check_equal([(q["threads"], q["count"]) for q in last["processes"]],
                    [(3, sums["events"])], "processes")
        check_equal(max(lock["count"] for lock in last["locks"]), 1000,
                    "the lock")
        check([s for s in last["memory"]
               if (s["count"], s["live_bytes"], s["blocks"]) ==
               (500, 50000, 500)], f"the blocks: {last['memory']}")
        waits = names.get("lock:mutex_wait", 0)
        check_equal(sum(lock["wait_count"] for lock in last["locks"]), waits,
                    "waits")
        check_equal(bool(last.get("waits")), bool(waits), "the longest")


@test
def once_is_one_table_and_the_session_goes_on():
    with program_at_home() as (p, home):
        home.start("night", "-p", p.pid)
        got = objects(home.ok("top", "night", "--once", "--json", "-q",
                              "--interval", "50ms").stdout)
        check_equal((len(got), got[0]["report"]), (1, "top"), "tables")
        r = home.ok("top", "night", "--once", "--interval", "50ms")
        check("COUNT" in r.stdout and "\x1b" not in r.stdout, r.stdout)
        check("0 events" in r.stderr, r.stderr)
        emitted = p.do("emit", 100)
        check_equal(home.json("stop", "night")["events"]["recorded"], emitted,
                    "recorded")


@test
def who_does_not_read_loses_drawings_and_no_events():
    with program_at_home() as (p, home):
        process = home.popen("top", "--json", "--interval", "50ms",
                             "--duration", "3s", "-p", p.pid)
        fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 4096)
        check("recording" in process.stderr.readline(), "it has begun")
        emitted = p.do("emit", 1000)
        check("--duration" in process.stderr.readline(), "it is over")
        out, err = process.communicate(timeout=TIMEOUT)
        check_equal(process.returncode, 0, f"status; {err}")
        sums = objects(out)[-1]["sums"][0]
        check_equal(sums["events"] + sums["lost"], emitted, "events")
        check("drawings are left out" in err, f"none is left out: {err}")


@test
def system_calls_are_counted():
    need_any()
    p = subprocess.Popen([build(CALLS)], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, text=True)
    with Home() as home:
        home.start("night", "-a", "-k",
                   "syscalls:getppid,syscalls:timerfd_gettime")
        top = home.popen("top", "night", "-q", "--json", "--interval", "50ms",
                         "-f", f"$tid == {p.pid}")
        first = os.read(top.stdout.fileno(), 1).decode()
        p.stdin.write("\n")
        p.stdin.flush()
        check_equal(p.stdout.readline(), "done\n", "the program")
        home.ok("stop", "night")
        out, err = top.communicate(timeout=TIMEOUT)
        check_equal(top.returncode, 0, f"status; {err}")
        last = objects(first + out)[-1]
        check_equal(last["sums"][0]["lost"], 0, "lost")
        check_equal({c["call"]: (c["count"], c["error_count"])
                     for c in last["calls"]},
                    {"getppid": (300, 0), "timerfd_gettime": (20, 20)},
                    "calls")
        check(all(c["max_ns"] > 0 for c in last["calls"]), "no durations")
        check_equal([(t["tid"], t["pid"], t["count"])
                     for t in last["threads"]], [(p.pid, p.pid, 640)],
                    "the thread")
    p.communicate()


@test
def filters_choose_and_mistakes_are_told():
    with Home() as home:
        r = home.run("top", "--json", "-q", "-f", "i < 10", "--", work(), 500)
        check_equal((r.returncode, r.stderr), (7, ""), "status")
        last = objects(r.stdout)[-1]
        check_equal([(e["event"], e["count"]) for e in last["events"]],
                    [("work:tick", 20)], "chosen")
        check_equal(last["sums"][0]["filtered"], 980, "filtered")
        r = home.run("top", "-f", "size > 3", "--", work(), 10)
        check_equal(r.returncode, 2, "what nothing has")
        check("no event has a field 'size'" in r.stderr, r.stderr)
        for words, why in [([], "of what?"), (["--interval", "3"], "give a"),
                           (["night", "-e", "x:*"], "says what is recorded")]:
            check(why in home.complaint("top", *words, status=2),
                  f"complaint of {words}")
        check("--once" in home.ok("top", "--help").stdout, "help")


if __name__ == "__main__":
    install()
    main()
