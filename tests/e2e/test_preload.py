#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_preload.py - allocations and locks of unmodified programs, recorded."""

import collections
import pathlib
import subprocess

from sonde import (Skip, build, check, install, record, record_ok, require,
                   run, scratch, skip_if_sanitized)
from harness import check_equal, main, test

SQL = ("CREATE TABLE t(a INTEGER, b TEXT); "
       "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n "
       "WHERE i < 20000) INSERT INTO t SELECT i, hex(i*i) FROM n; "
       "SELECT count(*), sum(a), max(b) FROM t;")
PROGRAMS = {
    "sqlite3": ["sqlite3", ":memory:", SQL],
    "python3": ["python3", "-c", "import json, threading\n"
                "l = []\n"
                "t = [threading.Thread(target=l.append, args=(i,))"
                " for i in range(8)]\n"
                "[x.start() for x in t]\n[x.join() for x in t]\n"
                "print(json.dumps(sorted(l)))"],
    "bash": ["bash", "-c", "for i in 1 2 3; do echo $i | cat; done; "
             "printf '%s\\n' {1..100} | sort -r | head -3"],
    "ls": ["ls", "-l", "/usr/lib/os-release"],
}

THREADS = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int turn;

static void *play(void *arg)
{
	int me = (int)(long)arg;
	char *block = malloc(16);

	for (int i = 0; i < 500; i++) {
		pthread_mutex_lock(&lock);
		while (turn != me)
			pthread_cond_wait(&cond, &lock);
		turn = !me;
		pthread_cond_signal(&cond);
		pthread_mutex_unlock(&lock);
		pthread_rwlock_rdlock(&rwlock);
		pthread_rwlock_unlock(&rwlock);
		block = realloc(block, 16 + (size_t)i * 64);
		memset(block, me, 16);
		free(calloc(3, 100));
	}
	free(block);
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	void *aligned;

	if (posix_memalign(&aligned, 256, 1000))
		return 1;
	for (long i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, play, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	free(aligned);
	puts("played");
	return 0;
}
"""


def record_hooks(*command):
    return record(*command, options=["--malloc", "--locks", "--io",
                                     "--memory", "64M"])


@test
def real_programs_do_what_they_do_without_it():
    skip_if_sanitized("the programs are not")
    for name, command in PROGRAMS.items():
        require(name)
        plain = run(*command)
        traced = record_hooks(*command)
        check_equal(traced.out, plain.stdout, f"output of {name}")
        check_equal(traced.status, plain.returncode, f"status of {name}")


@test
def no_block_has_two_owners():
    skip_if_sanitized("the programs are not")
    require("sqlite3")
    recording = record_hooks(*PROGRAMS["sqlite3"])
    check_equal(recording.status, 0, recording.err)
    check_blocks(recording.trace())
    recording = record_hooks(build(THREADS))
    check_equal(recording.status, 0, recording.err)
    check_blocks(recording.trace())


def check_blocks(trace):
    check_equal(trace.discarded(), 0, "discarded")
    live, unknown = set(), 0
    for event in trace.events():
        kind = event.name.partition(":")[2]
        if event.name.startswith("malloc:"):
            if kind in ("free", "realloc_begin"):
                gone = event["ptr" if kind == "free" else "old"]
                unknown += gone != 0 and gone not in live
                live.discard(gone)
            elif event["ptr"]:
                check(event["ptr"] not in live,
                      f"{event['ptr']:#x} has two owners")
                live.add(event["ptr"])
            elif kind == "realloc" and event["old"] and event["size"]:
                live.add(event["old"])
    # What the loader allocated before the trace began may be freed in it.
    check(unknown < 20, f"{unknown} frees of unknown blocks")


@test
def no_mutex_has_two_owners():
    skip_if_sanitized("the programs are not")
    trace = record_ok(build(THREADS), options=["--locks"])
    check_equal(trace.discarded(), 0, "discarded")
    owner = {}
    counts = collections.Counter()
    for event in trace.events():
        counts[event.name] += 1
        kind = event.name.partition(":")[2]
        mutex = event.get("mutex")
        if kind == "mutex_lock" and event["result"] == 0 or kind == "cond_wake":
            check(owner.get(mutex) is None, f"{mutex:#x} has two owners")
            owner[mutex] = event.tid
        elif kind in ("mutex_unlock", "cond_wait"):
            check_equal(owner.get(mutex), event.tid, "owner")
            owner[mutex] = None
    check(counts["lock:mutex_lock"] >= 1000, counts)
    check_equal(counts["lock:cond_wait"], counts["lock:cond_wake"], "wakes")
    check(counts["lock:rwlock_lock"] >= 1000, counts)
    check_equal(counts["lock:rwlock_lock"], counts["lock:rwlock_unlock"],
                "rwlock")


@test
def only_what_is_asked_for_is_traced():
    skip_if_sanitized("the programs are not")
    program = build(THREADS)
    names = {e.name.partition(":")[0]
             for e in record_ok(program, options=["--locks"]).events()}
    check_equal(names, {"lock"}, "providers")
    names = {e.name.partition(":")[0]
             for e in record_ok(program, options=["--malloc"]).events()}
    check_equal(names, {"malloc"}, "providers")


# ---- programs that can't take the library ----

SAY = """
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	(void)argv;
	free(malloc((size_t)argc * 100));
	puts("to the end");
	return 0;
}
"""

# No C runtime of 32 bits is needed for this one.
SAY32 = """
#include <stdlib.h>
#include <unistd.h>

void _start(void)
{
	_exit(write(1, "to the end\\n", 11) != 11);
}
"""


def compile_say(compiler, *flags, source=SAY):
    directory = scratch()
    (directory / "say.c").write_text(source)
    done = subprocess.run([*compiler, "-O1", "-o", directory / "say",
                           directory / "say.c", *flags],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    if done.returncode:
        raise Skip(f"{' '.join(compiler)} doesn't work here: "
                   f"{done.stdout.splitlines()[-1:]}")
    plain = run(directory / "say")
    if plain.returncode:
        raise Skip(f"its programs don't run here: {plain.stderr}")
    check_equal((plain.stdout, plain.stderr), ("to the end\n", ""), "plain")
    return str(directory / "say")


# Ways to execute "%s"; each is to print its output and nothing else.
WAYS = {
    "execl": 'execl(path, path, (char *)NULL);',
    "execle": 'execle(path, path, (char *)NULL, environ);',
    "execlp": 'execlp(path, path, (char *)NULL);',
    "execv": 'execv(path, words);',
    "execve": 'execve(path, words, environ);',
    "execvp": 'setenv("PATH", dir, 1); execvp("say", words);',
    "execvpe": 'setenv("PATH", dir, 1); execvpe("say", words, environ);',
    "execveat": 'execveat(AT_FDCWD, path, words, environ, 0);',
    "fexecve": 'fexecve(open(path, O_RDONLY), words, environ);',
    "posix_spawn":
        'return posix_spawn(&pid, path, NULL, NULL, words, environ) ||'
        ' waitpid(pid, &status, 0) < 0 || status;',
    "posix_spawnp":
        'setenv("PATH", dir, 1);'
        'return posix_spawnp(NULL, "say", NULL, NULL, words, environ) ||'
        ' wait(&status) < 0 || status;',
    "vfork": 'pid = vfork(); if (!pid) { execv(path, words); _exit(1); }'
             'return waitpid(pid, &status, 0) < 0 || status;',
    "script": 'execv(script, words);',
    "failed": 'execv("/nonexistent/say", words); execv(path, words);',
}

WAY = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const char *path = argv[1], *dir = argv[2], *script = argv[3];
	char *words[] = { argv[1], NULL };
	pid_t pid;
	int status;

	(void)argc, (void)path, (void)dir, (void)script, (void)words;
	(void)pid, (void)status;
	%s
	return 1;
}
"""


def check_untouched(program, reason):
    directory = str(pathlib.Path(program).parent)
    script = pathlib.Path(directory) / "script"
    script.write_text(f"#! {program}\n")
    script.chmod(0o755)
    for way, call in WAYS.items():
        recording = record_hooks(build(WAY % call, "-Wno-unused"), program,
                                 directory, script)
        check_equal((recording.status, recording.out), (0, "to the end\n"),
                    f"{way}: {recording.err}")
        others = [line for line in recording.err.splitlines()
                  if not line.startswith("sonde: ")]
        check_equal(others, [], f"stderr of {way}")
        named = [line for line in recording.err.splitlines()
                 if "not recorded: " in line]
        check(len(named) == 1 and reason in named[0] and "(pid 0)" not in
              named[0] and ("say" in named[0] or "script" in named[0]),
              f"{way}: {recording.err}")
    first = record_hooks(program)
    check_equal((first.status, first.out), (0, "to the end\n"), first.err)
    check(reason in first.err, first.err)


@test
def a_program_of_another_c_library_runs_without_it_and_is_named():
    check_untouched(compile_say(["musl-gcc"]), "another C library")


@test
def a_program_with_address_sanitizer_runs_without_it_and_is_named():
    check_untouched(compile_say(["gcc", "-fsanitize=address"]), "sanitizer")


@test
def a_program_of_32_bits_runs_without_it_and_is_named():
    check_untouched(compile_say(["gcc", "-m32"], "-nostartfiles",
                                "-nodefaultlibs", "-fno-pie", "-no-pie",
                                "-fno-stack-protector", "-lc", source=SAY32),
                    "another architecture")


@test
def a_program_started_with_an_empty_environment_is_named():
    recording = record_hooks("env", "-i", compile_say(["gcc"]))
    check_equal((recording.status, recording.out), (0, "to the end\n"),
                recording.err)
    check("say (pid" in recording.err and "without LD_PRELOAD" in
          recording.err, recording.err)


@test
def other_preloaded_libraries_stay_where_ours_goes():
    show = SAY.replace('puts("to the end")', """puts("to the end");
	fputs(argc > 1 ? getenv("LD_PRELOAD") : "", stdout)""")
    program = compile_say(["musl-gcc"], source=show)
    recording = record_hooks("sh", "-c", 'LD_PRELOAD="$LD_PRELOAD:/other.so '
                             f'/third.so" exec {program} x')
    check_equal(recording.out, "to the end\n/other.so:/third.so",
                recording.err)


install()
main()
