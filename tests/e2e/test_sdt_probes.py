#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_sdt_probes.py - `sonde probe` records probes of <sys/sdt.h>: as often as
the program came there, with the values it says it had, and afterwards the
program is as it was."""

import re
import subprocess

from sonde import SONDE, Trace, build, check, install, run, scratch
from harness import check_equal, main, test

PROGRAM = r"""
#define _SDT_HAS_SEMAPHORES 1
#include <stdint.h>
#include <stdio.h>
#include <sys/sdt.h>

#define SEMAPHORE __attribute__((section(".probes"), used)) unsigned short
SEMAPHORE shop_order_semaphore, shop_price_semaphore, shop_name_semaphore;
volatile double global_price;
volatile int32_t global_count;
static const char *const names[] = { "pen", "book", "lamp" };
static long nr_orders;

__attribute__((noinline)) static void order(int i, const int32_t *table,
					    long k)
{
	if (shop_order_semaphore) {
		nr_orders++;
		DTRACE_PROBE5(shop, order, i, (uint8_t)(i * 50), table[k & 3],
			      (int64_t)-5, (int16_t)-i);
	}
	DTRACE_PROBE2(shop, name, names[i % 3], i);
	DTRACE_PROBE2(shop, price, global_price, global_count);
}

int main(void)
{
	const int32_t table[4] = { 7, -7, 70, -70 };
	char line[64];
	int n;

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) &&
	       sscanf(line, "%d", &n) == 1) {
		for (int i = 0; i < n; i++) {
			global_count = -i;
			global_price = i / 2.0;
			order(i, table, i);
		}
		printf("%ld %d %d %d\n", nr_orders, shop_order_semaphore,
		       shop_name_semaphore, shop_price_semaphore);
		fflush(stdout);
	}
	return 0;
}
"""

PYTHON = r"""
import gc, sys
gc.disable()
def baked(n):
    return n
print("ready", flush=True)
for line in sys.stdin:
    for i in range(int(line)):
        baked(i)
        gc.collect(i % 3)
    print("done", flush=True)
"""


class Program:
    """A running one, which goes its rounds when it is told how many."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        check_equal(self.process.stdout.readline(), "ready\n", "program")
        self.pid = self.process.pid

    def go(self, times):
        self.process.stdin.write(f"{times}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().split()

    def code(self):
        """Its instructions, as they are in memory."""
        path = f"/proc/{self.pid}"
        with open(f"{path}/maps", encoding="ascii") as maps:
            first, last = next(
                re.match(r"(\w+)-(\w+) r-x", line).groups() for line in maps
                if re.search(r"r-xp .* /.*/[^.]*$", line))
        with open(f"{path}/mem", "rb") as memory:
            memory.seek(int(first, 16))
            return memory.read(int(last, 16) - int(first, 16))

    def probe(self, *words, expect=0):
        done = run(SONDE, "probe", "-p", self.pid, *words)
        check_equal(done.returncode, expect, f"{words}: {done.stderr}")
        return done.stdout + done.stderr

    def end(self):
        self.process.stdin.close()
        check_equal(self.process.wait(), 0, "program's status")


def fields(trace, name):
    wanted = ("arg1", "arg2", "arg3", "arg4", "arg5")
    return [[e[k] for k in wanted if k in dict(e)]
            for e in map(dict, trace.events(f"gdb:{name}"))]


def orders(nr):
    table = [7, -7, 70, -70]
    return [[i, i * 50 % 256, table[i % 4], -5, -i] for i in range(nr)]


@test
def values_are_the_programs_and_it_is_as_before():
    for flags in ("-O0", "-O2"):
        program = Program(build(PROGRAM, flags, name=f"shop{flags}"))
        trace = scratch() / "trace"
        before = program.code()
        check_equal(program.go(5), ["0", "0", "0", "0"], "before")
        program.probe("sdt:shop:order", "-o", trace)
        program.probe("sdt:shop:price")
        check_equal(program.go(300), ["300", "1", "0", "1"], "meanwhile")
        program.probe("--stop")
        check_equal(program.go(5), ["300", "0", "0", "0"], "afterwards")
        check_equal(program.code(), before, "the code")
        program.end()
        trace = Trace(trace)
        check_equal(fields(trace, "shop_order"), orders(300), "orders")
        check_equal(fields(trace, "shop_price"),
                    # without optimisation it is in a vector register
                    [[i / 2, -i] if flags == "-O2" else [-i]
                     for i in range(300)], "prices")


@test
def conditions_and_texts_are_by_argument():
    program = Program(build(PROGRAM, "-O2", name="shop-texts"))
    trace = scratch() / "trace"
    program.probe("sdt:shop:name if $arg2 % 2 == 1", "--collect",
                  "$arg2, /s $arg1", "--name", "odd", "-o", trace)
    program.probe("sdt:sh*:ord*")
    program.go(9)
    program.probe("--remove", "shop_order")
    check_equal(program.go(9), ["9", "0", "1", "0"], "one is removed")
    program.probe("--stop")
    program.end()
    trace = Trace(trace)
    names = ["pen", "book", "lamp"]
    check_equal(fields(trace, "odd"),
                [[names[i % 3], i] for i in (1, 3, 5, 7)] * 2, "odd ones")
    check_equal(fields(trace, "shop_order"), orders(9), "orders")


@test
def what_is_not_there_is_refused_with_words():
    program = Program(build(PROGRAM, "-O2", name="shop-refused"))
    before = program.code()
    out = program.probe("sdt:shop:nothing", expect=1)
    check("the process has no such probe" in out, out)
    out = program.probe("sdt:shop:name if $arg3 == 1", expect=1)
    check("$arg3: shop:name has no such argument" in out, out)
    out = program.probe("sdt:shop:name", "--collect", "$arg7", expect=1)
    check("$arg7: shop:name has no such argument" in out, out)
    check_equal(program.go(3), ["0", "0", "0", "0"], "semaphores")
    check_equal(program.code(), before, "the code")
    program.end()


@test
def pythons_functions_and_collections_are_recorded():
    program = Program("/usr/bin/python3", "-c", PYTHON)
    trace = scratch() / "trace"
    program.probe("sdt:python:function__entry", "--collect",
                  "$arg3, /s $arg1, $arg2", "-o", trace)
    # Python 3.11 comes to it only while somebody wants its lines.
    program.probe("sdt:python:line if $arg3 == -1")
    program.probe("sdt:python:gc__start")
    program.go(100)
    program.probe("--stop")
    program.end()
    trace = Trace(trace)
    calls = [e for e in fields(trace, "python_function_entry")
             if e[1] == "baked"]
    check_equal(calls, [["<string>", "baked", 4]] * 100, "calls")
    check_equal(fields(trace, "python_gc_start"),
                [[i % 3] for i in range(100)], "collections")


install()
main()
