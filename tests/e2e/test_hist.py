#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_hist.py - `sonde hist` and `sonde count --by`: counts by keys, sums, least
and greatest are exact; bins are as wide as they may be; what isn't in a line is
counted and told."""

import json
import os
import random
import signal
import struct
import subprocess
import time

from sonde import SONDE, build, install, run, scratch
from harness import PATIENCE, check, check_equal, main, test

PROGRAM = r"""
#include <sonde/tracepoint.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void events(int n)
{
	for (int i = 0; i < n; i++) {
		sonde_event(h, word, i);
		sonde_event(h, block, i, sonde_field(status, (short)(i % 5)),
			    sonde_field(minus, -(long)i * i),
			    sonde_field(large, 0xfffffffffffffff0ul + i % 32),
			    sonde_field(real, i / 2.0));
		sonde_event(h, string, sonde_string(s, i % 2 ? "odd" : "even"),
			    sonde_field(after, i % 3), i);
		sonde_event(h, net, sonde_network(port, (unsigned short)
					__builtin_bswap16(i % 300)));
	}
}

/* Of all magnitudes, and around each power of two. */
static void spread(int n)
{
	unsigned long seed = 1;

	for (int i = 0; i < n; i++) {
		unsigned long some;

		seed = seed * 6364136223846793005ul + 1442695040888963407ul;
		some = i % 4 ? seed >> 1 >> seed % 63 :
			       (1ul << i / 4 % 63) - i % 8 / 4;
		sonde_event(wide, alone, sonde_field(alone, some));
		sonde_event(wide, spread, sonde_field(odd, (char)(some + i)),
			    sonde_field(narrow, (unsigned short)some),
			    sonde_field(half, (int)(seed >> 32)),
			    sonde_field(minus, i % 2 ? (long)~some : (long)some),
			    sonde_field(some, some));
	}
}

static void *thread(void *n)
{
	events(*(int *)n);
	return NULL;
}

struct progress { volatile unsigned long begun, ended; };

int main(int argc, char **argv)
{
	int n = atoi(argv[2]);
	pthread_t list[4];

	if (!strcmp(argv[1], "threads")) {
		for (int i = 0; i < 4; i++)
			pthread_create(&list[i], NULL, thread, &n);
		for (int i = 0; i < 4; i++)
			pthread_join(list[i], NULL);
	} else if (!strcmp(argv[1], "spread")) {
		spread(n);
	} else if (!strcmp(argv[1], "forks")) {
		for (int i = 0; i < 4; i++)
			if (!fork()) {
				events(n);
				_exit(0);
			}
		while (wait(NULL) > 0)
			;
	} else if (!strcmp(argv[1], "endless")) {
		struct progress *p =
			mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
			     open(argv[3], O_RDWR), 0);

		for (;;) {
			unsigned long i = p->begun++;

			sonde_event(h, endless, sonde_field(n, i % 7),
				    sonde_field(value, i));
			p->ended++;
		}
	}
	return 0;
}
"""

TIMES = 4


def program(cache=[]):
    if not cache:
        cache.append(build(PROGRAM))
    return cache[0]


def rows_of(*words, how="threads", n=1000, env=None):
    """The rows of `sonde WORDS`, and what it said."""
    out = scratch() / "counts"
    p = run(SONDE, *words, "--json", "-o", out, "--", program(), how, n,
            env={**os.environ, **(env or {})})
    check_equal(p.returncode, 0, p.stderr)
    return json.loads(out.read_text())["events"], p.stderr


def values_of(row):
    return row["count"], row["min"], row["max"], row["mean"]


@test
def count_sum_least_and_greatest_are_exact():
    n = 5000
    for how in "threads", "forks":
        (row,), _ = rows_of("hist", "i", "-e", "h:word", how=how, n=n)
        check_equal(values_of(row), (TIMES * n, 0, n - 1, (n - 1) / 2),
                    how)
        (row,), _ = rows_of("hist", "minus", "-e", "h:block", how=how, n=n)
        mean = -sum(i * i for i in range(n)) / n
        check_equal(values_of(row), (TIMES * n, -(n - 1) ** 2, 0,
                                     mean), how)


@test
def a_number_is_taken_from_where_it_lies():
    """One of two bytes between others, one of eight behind these, one that has no
    neighbours, one in network order; more than there are in one pass, so that
    most find their cell known."""
    n = 600
    for value, event, least, greatest, mean in (
            ("status", "h:block", 0, 4, 2),
            ("minus", "h:block", -(n - 1) ** 2, 0,
             -sum(i * i for i in range(n)) / n),
            ("i", "h:word", 0, n - 1, (n - 1) / 2),
            ("port", "h:net", 0, 299, 149.5)):
        (row,), _ = rows_of("hist", value, "-e", event, n=n)
        check_equal(values_of(row), (TIMES * n, least, greatest, mean), value)


@test
def without_restartable_sequences_too():
    n = 2000
    (row,), _ = rows_of("hist", "i", "-e", "h:word", n=n,
                        env={"GLIBC_TUNABLES": "glibc.pthread.rseq=0"})
    check_equal(values_of(row)[:3], (TIMES * n, 0, n - 1), row)


@test
def quantiles_are_near():
    n = 5000
    (row,), _ = rows_of("hist", "i * 1000", "-e", "h:word", n=n)
    for key, share in ("p50", .5), ("p90", .9), ("p99", .99):
        exact = share * (n - 1) * 1000
        check(abs(row[key] - exact) <= exact * 0.032 + 1000, (key, row))


@test
def a_field_is_in_the_bins_that_an_expression_is_in():
    """A field's number has a way of its own to its bin: of each size, at each
    place, of all magnitudes, with a condition and without."""
    def told(value, event):
        (row,), _ = rows_of("hist", value, "-e", event, how="spread", n=4000)
        return {key: row[key] for key in row if key != "rate_per_s"}

    for value, event in (("alone", "wide:alone"),
                         ("alone", "wide:alone if alone > 1000"),
                         ("odd", "wide:spread"), ("narrow", "wide:spread"),
                         ("half", "wide:spread"), ("minus", "wide:spread"),
                         ("minus", "wide:spread if minus < 0"),
                         ("some", "wide:spread")):
        check_equal(told(value, event), told(value + " + 0", event),
                    (value, event))


@test
def each_value_of_a_key_has_a_line():
    n = 1000
    rows, _ = rows_of("hist", "i by status", "-e", "h:block", n=n)
    check_equal({row["status"]: values_of(row)[:3] for row in rows},
                {s: (TIMES * n // 5, s, n - 5 + s) for s in range(5)}, "rows")


@test
def two_keys_and_fields_behind_strings():
    n = 600
    rows, _ = rows_of("count", "--by", 'after,s == "odd"', "-e", "h:string",
                      n=n)
    check_equal({(row["after"], row['s == "odd"']): row["count"]
                 for row in rows},
                {(a, o): TIMES * n // 6 for a in range(3) for o in (0, 1)},
                "rows")
    rows, _ = rows_of("hist", "i + after", "by", "after", "-e", "h:string",
                      n=n)
    check_equal({row["after"]: values_of(row)[:3] for row in rows},
                {a: (TIMES * n // 3, 2 * a, n - 3 + 2 * a)
                 for a in range(3)}, "rows")


@test
def by_thread_and_in_network_order():
    n = 900
    rows, _ = rows_of("count", "--by", "tid", "-e", "h:net", n=n)
    check_equal([row["count"] for row in rows], [n] * TIMES, rows)
    rows, _ = rows_of("count", "--by", "port", "-e", "h:net", n=n)
    check_equal({row["port"]: row["count"] for row in rows},
                {port: TIMES * 3 for port in range(300)}, "rows")


@test
def conditions_come_first():
    n = 1000
    rows, _ = rows_of("hist", "i by status", "-e",
                      "h:block if status == 3 && i >= 500", n=n)
    check_equal([(row["status"], *values_of(row)[:3]) for row in rows],
                [(3, TIMES * 100, 503, 998)], rows)
    rows, _ = rows_of("hist", "i", "-e", 'h:string if s == "odd"', n=n)
    check_equal(values_of(rows[0])[:3], (TIMES * 500, 1, 999), rows)


@test
def several_events_have_lines_of_their_own():
    rows, err = rows_of("hist", "i", "--exclude", "h:endless",
                        "--exclude", "wide:*", n=100)
    check_equal({row["event"]: row["count"] for row in rows},
                {e: TIMES * 100 for e in ("h:word", "h:block", "h:string")},
                "rows")
    check("h:net is not counted: 'i': not a whole number of this event" in
          err, err)


@test
def what_has_no_room_or_no_value_is_counted():
    n = 200000
    rows, err = rows_of("count", "--by", "i", "-e", "h:word", n=n)
    told = sum(int(line.split()[1]) for line in err.splitlines()
               if "are in no" in line)
    check_equal(sum(row["count"] for row in rows) + told, TIMES * n, err)
    check(told > 0, "there was room for all")
    # Beyond 2^63 a value has no bin.
    rows, err = rows_of("hist", "large", "-e", "h:block", n=320)
    check_equal([row["count"] for row in rows], [TIMES * 160], err)
    check(f"{TIMES * 160} events lack the value or a key" in err, err)
    rows, err = rows_of("hist", "i / (i % 2)", "-e", "h:word", n=100)
    check_equal([row["count"] for row in rows], [TIMES * 50], err)
    check(f"{TIMES * 50} events lack the value or a key" in err, err)


@test
def a_program_that_is_killed_leaves_exact_counts():
    for seed in range(10):
        chance = random.Random(seed)
        progress = scratch() / "progress"
        progress.write_bytes(bytes(4096))
        out = scratch() / "counts"
        p = subprocess.Popen([SONDE, "hist", "value by n", "--json", "-o",
                              out, "-e", "h:endless", "--", program(),
                              "endless", "0", progress],
                             stderr=subprocess.PIPE, text=True)

        def numbers():
            return struct.unpack("<QQ", progress.read_bytes()[:16])

        enough = chance.randrange(1, 500000)
        while numbers()[1] < enough:
            time.sleep(0)
        with open(f"/proc/{p.pid}/task/{p.pid}/children") as f:
            victims = [int(c) for c in f.read().split() if
                       "program" in open(f"/proc/{c}/comm").read()]
        check_equal(len(victims), 1, victims)
        os.kill(victims[0], signal.SIGKILL)
        err = p.communicate(timeout=60 * PATIENCE)[1]
        check_equal(p.returncode, 128 + 9, err)
        begun, ended = numbers()
        rows = json.loads(out.read_text())["events"]
        got = sum(row["count"] for row in rows)
        check(ended <= got <= begun, f"seed {seed}: {got} of {ended}..{begun}")


@test
def a_drawing_shows_how_values_are_spread():
    p = run(SONDE, "hist", "i", "-e", "h:word", "--", program(), "threads",
            1000)
    check_equal(p.returncode, 0, p.stderr)
    check("P99" in p.stdout and len(p.stdout.splitlines()) > 10, p.stdout)


@test
def what_cannot_be_is_said():
    for words, status, what in (
            (["hist"], 2, "the value comes first"),
            (["hist", "-e", "h:word"], 2, "the value comes first"),
            (["hist", "i +", "--", "true"], 2, "the value 'i +'"),
            (["hist", "i by", "--", "true"], 2, "the value 'i by'"),
            (["hist", "i by a,b,c", "--", "true"], 2, "at most 2 keys"),
            (["hist", "i", "-p", "1"], 2, "programs that sonde has started"),
            (["hist", "real", "-e", "h:block", "--", program(), "threads",
              1], 0, "'real': not a whole number"),
            (["hist", "s", "-e", "h:string", "--", program(), "threads", 1],
             0, "'s': not a whole number")):
        p = run(SONDE, *words)
        check_equal(p.returncode, status, p.stderr)
        check(what in p.stderr, f"{words}: {p.stderr}")


install()
main()
