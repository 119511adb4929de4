#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_jit_names.py - names of code that programs make at run time, by the map
that they write for perf: /tmp/perf-PID.map."""

import concurrent.futures
import json
import os
import pathlib

from sonde import SONDE, build, check, install, record, require, run, scratch
from harness import check_equal, main, test

# Calls a function that calls malloc() from code in anonymous memory, which has a
# frame pointer; what the map says of it, the first word chooses.
JIT = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utime.h>
static const unsigned char code[] = {
	0x55, 0x48, 0x89, 0xe5,	/* push %rbp; mov %rsp, %rbp */
	0xff, 0xd7,		/* call *%rdi */
	0x5d, 0xc3,		/* pop %rbp; ret */
};
static void *volatile kept;
__attribute__((noinline)) void get(void) { kept = malloc(4242); sync();
	free(kept); }
static int begin(const char *how, char *path)
{
	if (!strcmp(how, "link")) {
		char other[64];
		snprintf(other, sizeof(other), "%s.other", path);
		if (symlink(other, path))
			return -1;
	}
	return open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
}
int main(int argc, char **argv)
{
	char path[64];
	unsigned char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*run)(void (*)(void)) = (void (*)(void (*)(void)))at;
	int file;
	memcpy(at, code, sizeof(code));
	mprotect(at, 4096, PROT_READ | PROT_EXEC);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	puts(path);
	fflush(stdout);
	file = begin(argv[1], path);
	if (file < 0)
		return 1;
	dprintf(file, "nonsense\n%lx 8 int compiled<3>(void)\n", (long)at);
	if (!strcmp(argv[1], "twice"))
		dprintf(file, "%lx 100 another\n", (long)at);
	if (!strcmp(argv[1], "again"))
		dprintf(file, "%lx 20 int compiled<3>(void)\n", (long)at);
	close(file);
	if (!strcmp(argv[1], "old"))
		utime(path, &(struct utimbuf){ 1000000000, 1000000000 });
	if (!strcmp(argv[1], "foreign") && chown(path, 12345, 12345))
		return 1;
	/* In its first milliseconds a process has no tables for stacks yet: who
	 * asked says when there are some. */
	do {
		run(get);
		usleep(1000);
	} while (access(argv[2], F_OK));
	return 0;
}
"""
# sync() is in the way of a tail call; nobody wants it to be done.
JIT = JIT.replace("sync();", "__asm__ volatile (\"\" ::: \"memory\");")


def record_until(seen, *command, options):
    """Records `command FILE`, which ends when FILE is there: once seen(trace)."""
    directory = scratch() / "trace"
    stop = scratch() / "stop"
    with concurrent.futures.ThreadPoolExecutor() as pool:
        recorded = pool.submit(record, *command, str(stop), options=options,
                               directory=directory)
        try:
            while not recorded.done() and not seen(directory):
                pass
        finally:
            stop.touch()
        recording = recorded.result()
    check_equal(recording.status, 0, recording.err)
    return recording


def callers(trace):
    """What called get(), of each allocation whose stack says so."""
    done = run(SONDE, "print", "--json", "-f", "size == 4242", trace)
    for line in done.stdout.splitlines():
        names = json.loads(line).get("stack") or []
        for name, caller in zip(names, names[1:]):
            if name.startswith("get"):
                yield caller


def jit_caller(how):
    """What the function that called get() is called."""
    recording = record_until(lambda trace: any(callers(trace)),
                             build(JIT, "-fno-omit-frame-pointer"), how,
                             options=["--malloc", "--stack"])
    path = pathlib.Path(recording.out.split()[0])
    for file in path, pathlib.Path(f"{path}.other"):
        if file.exists() or file.is_symlink():
            file.unlink()
    return recording, list(callers(recording.dir))[-1]


@test
def code_made_at_run_time_has_its_name():
    recording, name = jit_caller("plain")
    check_equal(name, "int compiled<3>(void) in [jit]", "the name")
    done = run(SONDE, "flame", "--stacks", "--folded", recording.dir)
    check(";int compiled<3>(void);get " in done.stdout, done.stdout)
    check_equal(jit_caller("again")[1], name, "compiled twice")


@test
def what_cant_be_known_of_it_has_no_name():
    check("several functions" in jit_caller("twice")[1], "two names")


@test
def maps_that_are_not_the_processs_are_not_believed():
    for how in "link", "old":
        check("compiled" not in jit_caller(how)[1], how)
    if os.getuid() == 0:
        check("compiled" not in jit_caller("foreign")[1], "another user's")


def calls_code_of_no_file(trace):
    """Code that was made at run time calls such code: it has no name yet."""
    done = run(SONDE, "print", "--json",
               "-f", "size >= 70000 && size < 70016", trace)
    return any(line.count("in no file that was mapped") > 2
               for line in done.stdout.splitlines())


@test
def javascript_has_names():
    require("node")
    script = scratch() / "heap.js"
    script.write_text("""
function innermost(n) { const b = Buffer.allocUnsafeSlow(70000 + n); return b; }
function middle(n) { let r = 0; for (let i = 0; i < 3; i++)
    r += innermost(n + i)[0] | 0; return r; }
console.log("/tmp/perf-" + process.pid + ".map");
const fs = require("fs"), stop = process.argv[2];
const pause = new Int32Array(new SharedArrayBuffer(4));
let sum = 0;
for (let i = 0; i < 20000; i++)
    sum += middle(sum & 7);
for (; !fs.existsSync(stop); Atomics.wait(pause, 0, 0, 5))
    sum += middle(sum & 7);
""")
    recording = record_until(
        calls_code_of_no_file, "node",
        "--no-turbo-inlining", "--perf-basic-prof",
        "--no-logfile-per-isolate",
        f"--logfile={scratch() / 'v8.log'}", str(script),
        options=["--malloc", "--stack=32"])
    pathlib.Path(recording.out.split()[0]).unlink()
    done = run(SONDE, "flame", "--stacks", "--weight", "size", "--folded",
               recording.dir)
    check_equal(done.returncode, 0, done.stderr)
    named = [line for line in done.stdout.splitlines() if "innermost" in line]
    check(named, "no line of the function's: " + done.stdout[-3000:])
    check(all("middle" in line.split("innermost")[0] for line in named
              if "(incomplete)" not in line), named[:3])


install()
main()
