#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_patchable.py - `sonde record --functions=GLOB` of programs that were compiled
to be traced: with -fpatchable-function-entry, and with -pg -mfentry. Their counts
are gcov's, outputs those of runs without us, and of functions that aren't chosen,
and of all once nothing is recorded, the code is as it was built."""

import os
import pathlib
import re
import subprocess
from unittest import mock

from sonde import Trace, build, install, record, require, run, scratch
from attached import Attached
from called import JUMPS, THROWS, Waiting, gcov_counts, launched, paired
from harness import check, check_equal, main, test
from obedient import TIMEOUT

NO_OPS = ["-fpatchable-function-entry=5"]
AROUND = ["-fpatchable-function-entry=16,14"]
CALLED = ["-pg", "-mfentry"]
FIXED = ["-fno-pie", "-no-pie"]
# Clang has no -mnop-mcount.
WAYS = [("gcc", NO_OPS), ("gcc", NO_OPS + FIXED), ("gcc", AROUND),
        ("gcc", CALLED), ("gcc", [*CALLED, "-mnop-mcount", *FIXED]),
        ("clang", NO_OPS), ("clang", CALLED)]
OWN = ("--functions=*", "--not=_*", "--not=atexit", "--not=*_clones",
       "--not=frame_dummy")

COUNTED = r"""
#include <stdio.h>
#define APART __attribute__((noinline, noclone, used))
static volatile int sink;
APART int leaf(int n) { sink += n; return sink; }
APART void twice(int n) { leaf(n); leaf(n + 1); sink++; }
APART int deep(int n)
{
	int rest = n ? deep(n - 1) : 0;

	sink += rest;
	return rest + n;
}
APART int choose(int n)
{
	switch (n) {
	case 0: sink++; return leaf(n) + 1;
	case 1: twice(n); sink--; return 8;
	case 2: sink += 2; return 7;
	case 3: sink += deep(4); return 1;
	case 4: sink += leaf(2); return 3;
	default: sink ^= n; return n;
	}
}
APART void never(void) { sink = 1; }
int main(int argc, char **argv)
{
	(void)argv;
	for (int i = 0; i < 100; i++) {
		twice(i);
		sink += choose(i % 9);
		deep(i % 7);
	}
	if (argc > 5)
		never();
	printf("%d\n", sink);
	return 0;
}
"""


def built(source, compiler, flags, *more):
    require(compiler)
    cxx = "-xc++" in more
    compiler = {"gcc": "g++", "clang": "clang++"}[compiler] if cxx else compiler
    return build(source, "-fno-inline", *flags, *more, compiler=compiler)


def profiled_in(directory):
    """Where gprof's file goes."""
    return {"GMON_OUT_PREFIX": str(directory / "gmon")}


@test
def calls_are_as_many_as_gcov_counts():
    wanted = gcov_counts(COUNTED)
    for compiler, flags in WAYS:
        program = built(COUNTED, compiler, flags)
        plain = run(program, env=profiled_in(scratch()))
        recording, report, counts = launched(program, *OWN,
                                             env=profiled_in(scratch()))
        what = f"{compiler} {flags}: {recording.err}"
        check_equal(recording.out, plain.stdout, what)
        paired(report)
        # Where a table may lead past a probe there is none.
        check(set(wanted) - set(counts) <= {"choose"}, what)
        check_equal(counts, {name: count for name, count in wanted.items()
                             if name in counts}, what)


@test
def exceptions_leave_what_they_leave():
    for compiler, flags in WAYS[0], WAYS[3]:
        program = built(THROWS, compiler, flags, "-xc++")
        recording, report, counts = launched(
            program, "--functions=*dive*", "--functions=*attempt*",
            input="go\n", env=profiled_in(scratch()))
        what = f"{compiler} {flags}: {recording.err}"
        check_equal(recording.out, "420 310\n", what)
        check_equal(sorted(counts.values()), [10, 310], what)
        check_equal([report[key] for key in ("left", "open", "unbegun")],
                    [310, 0, 0], what)


@test
def jumps_stacks_threads_and_signals():
    for compiler, flags in WAYS[0], WAYS[3]:
        program = built(JUMPS, compiler, flags)
        recording, report, counts = launched(
            program, *OWN, "--not=main", input="go\n",
            env=profiled_in(scratch()))
        what = f"{compiler} {flags}: {recording.err}"
        check_equal(recording.out, "0\n", what)
        expected = {"pool": 3, "dive": 15, "other": 1, "work": 200,
                    "handler": 200, "leaf": 3 + 2 + 200 * 101}
        check_equal({name: counts[name] for name in expected}, expected, what)
        check_equal([report[key] for key in ("left", "unbegun")], [15, 0],
                    what)


# Many functions of four bytes here and there, at addresses with little below them.
TEMPLATES = r"""
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>
struct Shape { virtual ~Shape() {} virtual int area() const = 0; int n; };
struct Square : Shape { int area() const override { return n * n; } };
struct Ring : Shape { int area() const override { return 3 * n * n; } };
int main()
{
	char line[80];
	int sum = 0;
	std::map<std::string, int> names;
	std::vector<Shape *> shapes;

	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (int i = 0; i < 100; i++) {
		names[std::to_string(i)] += i;
		shapes.push_back(i & 1 ? (Shape *)new Square : new Ring);
		shapes.back()->n = i;
	}
	std::sort(shapes.begin(), shapes.end(), [](Shape *a, Shape *b) {
		return a->area() < b->area();
	});
	for (auto *shape : shapes)
		sum = sum * 31 + shape->area();
	printf("%d %zu\n", sum, names.size());
}
"""
REASONS = {
    "the unwinder's table has no function that begins there",
    "there is no place for a jump where it begins",
    "there is no place for a jump where it returns",
    "there is no place for a jump where it goes on elsewhere",
    "there is no place for a jump near another probe's",
    "no memory is free where a jump from there would have to lead",
}


@test
def why_functions_at_fixed_addresses_are_left_out_is_told():
    program = built(TEMPLATES, "gcc", [*CALLED, *FIXED], "-xc++", "-O0")
    with mock.patch.dict(os.environ, profiled_in(scratch())):
        recorded = Waiting([program], "--functions=*", "--verbose")
    reasons = {line.rpartition(" is not recorded: ")[2]
               for line in recorded.said.splitlines()
               if " is not recorded: " in line}
    check_equal(reasons - REASONS, set(), "reasons")
    report, counts = recorded.report()
    paired(report, begun_before=1)  # main()
    check(sum(counts.values()) > 10000, counts)


# Lines of input, each answered.
STEPS = r"""
#include <stdio.h>
#define APART __attribute__((noinline, noclone, used))
static volatile int sink;
APART int leaf(int n) { sink = n; return sink + 1; }
APART void twice(int n) { leaf(n); leaf(n + 1); sink++; }
APART int last(int n) { twice(n); sink--; return leaf(sink); }
int main(void)
{
	char line[80];

	printf("here\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		printf("%d\n", last(4));
		fflush(stdout);
	}
	return 0;
}
"""


class Stepped:
    """A program that runs, step by step, and its code."""

    def __init__(self, program):
        self.process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env=profiled_in(scratch()))
        check_equal(self.process.stdout.readline(), "here\n", "the program")
        sections = run("readelf", "-SW", program).stdout
        section = re.search(r"\] \.text +PROGBITS +(\w+) (\w+) (\w+)",
                            sections)
        address, offset, size = (int(number, 16) for number in
                                 section.groups())
        file = pathlib.Path(program).read_bytes()
        self.built = file[offset:offset + size]
        self.at = address
        if " DYN " in run("readelf", "-hW", program).stdout:
            maps = pathlib.Path(f"/proc/{self.process.pid}/maps").read_text()
            self.at += int(maps.partition("-")[0], 16)
        self.symbols = {}
        for line in run("nm", "-S", program).stdout.splitlines():
            words = line.split()
            if len(words) == 4:
                self.symbols[words[3]] = (int(words[0], 16) - address,
                                          int(words[1], 16))

    def code(self):
        with open(f"/proc/{self.process.pid}/mem", "rb") as memory:
            memory.seek(self.at)
            return memory.read(len(self.built))

    def changed(self):
        """The functions whose code isn't as it was built; None: none's."""
        places = [at for at, (now, then) in
                  enumerate(zip(self.code(), self.built)) if now != then]

        def name(at):
            return next((name for name, (begin, size) in self.symbols.items()
                         if begin <= at < begin + size), "?")
        return {name(at) for at in places}

    def step(self):
        self.process.stdin.write("step\n")
        self.process.stdin.flush()
        check_equal(self.process.stdout.readline(), "6\n", "answer")

    def end(self):
        self.process.stdin.close()
        check_equal(self.process.wait(TIMEOUT), 0, "status")


def entered(directory):
    return len(Trace(directory).events("function:entry"))


@test
def only_the_code_of_chosen_functions_changes_and_changes_back():
    for compiler, flags in WAYS[0], WAYS[2], WAYS[3], WAYS[4], WAYS[5]:
        stepped = Stepped(built(STEPS, compiler, flags))
        what = f"{compiler} {flags}"
        check_equal(stepped.changed(), set(), f"{what}: before")
        for names, calls in (["leaf"], 3), (["twice", "last"], 2), \
                (["leaf", "twice", "last"], 5):
            recording = Attached("-p", stepped.process.pid,
                                 *(f"--functions={name}" for name in names))
            check_equal(stepped.changed(), set(names), f"{what}: {names}")
            stepped.step()
            recording.end()
            check_equal(entered(recording.dir), calls, f"{what}: {names}")
            check_equal(stepped.changed(), set(), f"{what}: behind {names}")
            stepped.step()
        stepped.end()


# Which library's __fentry__ is called, and how often its own.
WHOSE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#define APART __attribute__((noinline, noclone))
void __fentry__(void);
APART int leaf(int n) { return n + 1; }
int main(void)
{
	Dl_info whose;

	dladdr((void *)__fentry__, &whose);
	printf("%s\n", strrchr(whose.dli_fname, '/') + 1);
	return leaf(-1);
}
"""

COUNTS = r"""
#include <stdio.h>
#define APART __attribute__((noinline, noclone))
int nr;
static volatile int sink;
__asm__(".globl __fentry__\n__fentry__: incl nr(%rip)\n ret\n");
APART int leaf(int n) { sink = n; return n + 1; }
int main(void)
{
	for (int i = 0; i < 1000; i++)
		leaf(i);
	printf("%d\n", nr);
	return 0;
}
"""


@test
def what_functions_call_when_they_begin_is_ours_while_they_are_recorded():
    flags = ["-pg", "-mfentry"]
    for compiler in "gcc", "clang":
        program = built(WHOSE, compiler, flags)
        env = profiled_in(scratch())
        check_equal(run(program, env=env).stdout, "libc.so.6\n", "bare")
        check_equal(record(program, env=env).out, "libc.so.6\n",
                    "without functions")
        recording, report, counts = launched(program, "--functions=leaf",
                                             env=env)
        check_equal((recording.out, counts),
                    ("libsonde-preload.so\n", {"leaf": 1}), compiler)
        paired(report)


@test
def what_a_program_has_itself_for_that_is_called_as_often_as_without():
    program = built(COUNTS, "gcc", ["-pg", "-mfentry", "-rdynamic"])
    env = profiled_in(scratch())
    check_equal(run(program, env=env).stdout, "1001\n", "bare")
    recording, report, counts = launched(program, "--functions=leaf", env=env)
    check_equal((recording.out, counts), ("1001\n", {"leaf": 1000}),
                recording.err)
    paired(report)


# A table that leads behind the first instruction of a window of seven bytes.
TABLE = r"""
#include <stdio.h>
__asm__(".text\n"
	".type table, @function\n"
	"table: .cfi_startproc\n"
	"push %rbx\n"
	".cfi_def_cfa_offset 16\n"
	"lea 9f(%rip), %rdx\n"
	"mov %edi, %ecx\n"
	"mov $11, %eax\n"
	"movslq (%rdx,%rcx,4), %rcx\n"
	"add %rdx, %rcx\n"
	"jmp *%rcx\n"
	"1: mov $7, %eax\n"
	"2: pop %rbx\n"
	".cfi_def_cfa_offset 8\n"
	"ret\n"
	".cfi_endproc\n"
	".size table, . - table\n"
	".section .rodata\n .balign 4\n"
	"9: .long 1b - 9b, 2b - 9b\n"
	".previous\n");
int table(int n);
int main(void)
{
	char line[80];
	int sum = 0;

	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (int i = 0; i < 100; i++)
		sum += table(i & 1);
	printf("%d\n", sum);
	return 0;
}
"""


@test
def a_table_leads_past_no_end():
    recorded = Waiting([build(TABLE)], "--functions=table", "--functions=main")
    report, counts = recorded.report()
    check_equal(recorded.out, "900\n", "output")
    check(counts.get("table", 100) == 100, counts)
    paired(report, begun_before=1)  # main()


install()
main()
