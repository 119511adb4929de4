#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_hostile.py - a program that scribbles over its own arena while it is
recorded can't crash or hang the recorder, nor spoil another program's
recording in the same session. Under the sanitizers this is a fuzz test of all
that reads the arena."""

import os
import random
import shutil
import subprocess

from sonde import SONDE, build, check, install, scratch, Trace
from harness import check_equal, long_test, main

ROUNDS = int(os.environ.get("SONDE_HOSTILE_ROUNDS", "60"))
HONEST = 2000

# Finds its arena in /proc/self/maps and writes to it, at random and with
# offsets, sizes and counts that are likely to hurt, while it traces.
SCRIBBLER = r"""
#define _GNU_SOURCE
#include <sonde/tracepoint.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

static unsigned char *arena;
static atomic_int stop;
static unsigned seed;

/* A mapping of our own, so that the program itself lives on: what it does to
 * the bytes is what matters. */
static int find_arena(void)
{
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");

	while (fgets(line, sizeof(line), maps)) {
		if (strstr(line, "sonde-arena")) {
			arena = (void *)strtoul(line, NULL, 16);
			fclose(maps);
			return 1;
		}
	}
	fclose(maps);
	return 0;
}

static uint64_t nasty(void)
{
	static const uint64_t values[] = {
		0, 1, 2, 31, 32, 63, 64, 4095, 4096, 65535, 65536, 0x7fffffff,
		0x80000000, 0xffffffff, 0x100000000, 1ull << 40, 1ull << 62,
		~0ull, ~0ull - 63,
	};
	uint64_t v = values[(unsigned)rand_r(&seed) %
			    (sizeof(values) / sizeof(values[0]))];

	if (rand_r(&seed) % 3 == 0)
		v = (uint64_t)rand_r(&seed) << 33 ^ (uint64_t)rand_r(&seed);
	return v;
}

/* Where: the header, an entry, a slot, a description, a ring, a head. */
static uint64_t where(void)
{
	uint64_t ctl = 2ull << 20;

	switch (rand_r(&seed) % 7) {
	case 0:
		return (unsigned)rand_r(&seed) % 64;
	case 1:
		return 4096 + 4 * 16384 + (unsigned)rand_r(&seed) % 256;
	case 2:
		return (336 << 10) + (unsigned)rand_r(&seed) % 36000;
	case 3:
		return (480 << 10) + (unsigned)rand_r(&seed) % 2048;
	case 4:
	case 5:
		return ctl + (unsigned)rand_r(&seed) % 1024;
	default:
		return ctl + 4096 + (unsigned)rand_r(&seed) % (2u << 20);
	}
}

static void *scribble(void *arg)
{
	(void)arg;
	while (!atomic_load(&stop)) {
		uint64_t at = where() & ~7ull;
		uint64_t v = nasty();

		memcpy(arena + at, &v, rand_r(&seed) % 2 ? 8 : 4);
		if (rand_r(&seed) % 64 == 0)
			usleep(200);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pid_t parent = getpid();
	pthread_t thread;

	(void)argc;
	seed = (unsigned)atoi(argv[1]);
	if (fork() == 0) { /* shares the arena; dies with us */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == parent)
			pause();
		_exit(0);
	}
	if (!find_arena())
		return 3;
	sonde_event(hostile, begin, seed);
	pthread_create(&thread, NULL, scribble, NULL);
	for (int i = 0; i < 100000; i++)
		sonde_event(hostile, event, i, "some text");
	atomic_store(&stop, 1);
	kill(0, SIGKILL);
	return 0;
}
"""

HONEST_SOURCE = r"""
#include <sonde/tracepoint.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0;

	for (int i = 0; i < n; i++)
		sonde_event(honest, event, i);
	return 0;
}
"""


def record_both(hostile, honest, seed, mode):
    """Both in one session; the hostile one may die of itself."""
    directory = scratch() / "trace"
    script = (f"timeout -s KILL 10 setsid {hostile} {seed} >/dev/null 2>&1 & "
              f"{honest} {HONEST}; wait; exit 0")
    done = subprocess.run(
        [SONDE, "record", "-o", str(directory), "--mode", mode, "--", "sh",
         "-c", script], text=True, timeout=240, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)
    return done, directory


def check_honest(directory):
    """The honest program's streams, by themselves, are whole. What the hostile
    one recorded may be garbage; that it has a description is enough."""
    alone = scratch()
    shutil.copy(directory / "metadata", alone)
    streams = list(directory.glob("honest-*"))
    check(streams, "no stream of the honest program")
    for stream in streams:
        shutil.copy(stream, alone)
    check_equal(Trace(alone).count("honest:event"), HONEST,
                "the honest program's events")


@long_test
def a_scribbled_arena_harms_neither_the_recorder_nor_others():
    hostile = build(SCRIBBLER)
    honest = build(HONEST_SOURCE, name="honest")
    seed = int(os.environ.get("SONDE_SEED", random.randrange(1 << 20)))
    print(f"first seed {seed}", flush=True)
    for i in range(ROUNDS):
        mode = ("discard", "overwrite")[i % 2]
        try:
            done, directory = record_both(hostile, honest, seed + i, mode)
        except subprocess.TimeoutExpired:
            check(False, f"hangs, seed {seed + i}, mode {mode}")
        check_equal(done.returncode, 0,
                    f"status, seed {seed + i}: {done.stderr[-2000:]}")
        for word in ("Sanitizer", "runtime error", "was killed"):
            check(word not in done.stderr,
                  f"seed {seed + i}: {done.stderr[-3000:]}")
        check((directory / "metadata").exists(), "no metadata")
        check_honest(directory)


install()
main()
