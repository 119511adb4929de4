#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_sdt_probes.py - `sonde probe` and `sonde record` record probes of
<sys/sdt.h>: as often as the program came there, with the values it says it had,
and afterwards the program is as it was."""

import json
import re
import subprocess

from attached import Attached
from home import Home
from sonde import SONDE, Trace, build, check, install, record, run, scratch
from harness import Skip, check_equal, main, test

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


# ---- sonde record -e sdt:... ----

def recorded(trace, name):
    """The arguments of an event's records, without their names."""
    return [list(e.values()) for e in trace.events(f"sdt:{name}")]


def prices(nr):
    return [[i / 2, -i] for i in range(nr)]


@test
def a_started_program_is_recorded_from_its_start():
    for flags in ("-O0", "-O2"):
        program = build(PROGRAM, flags, name=f"shop-start{flags}")
        done = record(program, options=("-e", "sdt:shop:order", "-e",
                                        "sdt:shop:p*"), input="300\n")
        check_equal((done.status, done.out), (0, "ready\n300 1 0 1\n"),
                    f"{flags}: {done.err}")
        trace = done.trace()
        check_equal(recorded(trace, "shop:order"), orders(300), "orders")
        # without optimisation the price is in a vector register
        check_equal(recorded(trace, "shop:price"),
                    prices(300) if flags == "-O2" else
                    [[-i] for i in range(300)], "prices")
        check(flags == "-O2" or "argument can't be had" in done.err, done.err)
        check("lost 0" in done.err or trace.discarded() == 0, done.err)


@test
def a_running_program_is_recorded_and_is_as_it_was():
    program = Program(build(PROGRAM, "-O2", name="shop-runs"))
    before = program.code()
    check_equal(program.go(5), ["0", "0", "0", "0"], "before")
    attached = Attached("-p", program.pid, "-e", "sdt:shop:* if arg2 % 2 == 1",
                        "-e", "sdt:shop:order", "--exclude", "sdt:shop:price")
    check_equal(program.go(100), ["100", "1", "1", "0"], "meanwhile")
    summary = attached.end()
    check_equal(program.go(5), ["100", "0", "0", "0"], "afterwards")
    check_equal(program.code(), before, "the code")
    program.end()
    trace = Trace(attached.dir)
    check_equal(recorded(trace, "shop:order"), orders(100), "orders")
    check_equal([e[1] for e in recorded(trace, "shop:name")],
                list(range(1, 100, 2)), "odd names")
    check_equal(trace.count("sdt:shop:price"), 0, "excluded")
    check_equal(summary["events_recorded"], 150, str(summary))


@test
def texts_are_recorded_where_arguments_point():
    program = build(PROGRAM, "-O2", name="shop-said")
    done = record(program, options=(
        "-e", 'sdt:shop:name /s arg1 if arg1 == "b*" && arg2 > 3'),
        input="9\n")
    check_equal((done.status, done.out), (0, "ready\n0 0 1 0\n"), done.err)
    check_equal(recorded(done.trace(), "shop:name"),
                [["book", 4], ["book", 7]], "books")
    done = record("/usr/bin/python3", "-c", "def baked(n):\n return n\n"
                  "for i in range(50): baked(i)",
                  options=("-e", "sdt:python:function__entry /s arg1, arg2",
                           # 3.11 comes there only if this one is wanted
                           "-e", "sdt:python:line if arg3 == -1"))
    calls = [e for e in recorded(done.trace(), "python:function__entry")
             if e[1] == "baked"]
    check_equal(calls, [["<string>", "baked", 1]] * 50, "calls")


@test
def several_at_once_and_forks_are_told_apart():
    programs = [Program(build(PROGRAM, "-O2", name="shop-several"))
                for _ in range(2)]
    attached = Attached("-p", "shop-several", "-e", "sdt:shop:order")
    for nr, program in enumerate(programs, 3):
        program.go(nr)
    attached.end()
    events = Trace(attached.dir).events("sdt:shop:order")
    check_equal(sorted(e.pid for e in events),
                sorted([programs[0].pid] * 3 + [programs[1].pid] * 4),
                "whose")
    for program in programs:
        program.end()


THROWS = r"""
#include <cstdio>
#include <stdexcept>
int main()
{
	int caught = 0;

	for (int i = 0; i < 60; i++)
		try {
			if (i % 3)
				throw i;
			throw std::runtime_error("third");
		} catch (int n) {
			caught += n % 3;
		} catch (const std::exception &) {
			caught++;
		}
	printf("%d\n", caught);
}
"""


@test
def a_librarys_own_are_counted_as_gdb_counts_them():
    program = build(THROWS, "-xc++", name="throws")
    done = record(program, options=("-e", "sdt:libstdcxx:*"))
    check_equal((done.status, done.out), (0, "80\n"), done.err)
    trace = done.trace()
    for name in ("throw", "catch"):
        out = run("gdb", "-batch", "-nx", "-iex", "set debuginfod enabled off",
                  "-ex", "set breakpoint pending on", "-ex", "starti",
                  "-ex", f"break -probe-stap libstdcxx:{name}",
                  "-ex", "ignore 1 100000", "-ex", "continue",
                  "-ex", "info breakpoints", program).stdout
        hits = re.findall(r"already hit (\d+) times", out)
        if not hits:
            raise Skip(f"gdb finds no probe of libstdc++'s: {out[-300:]}")
        check_equal(trace.count(f"sdt:libstdcxx:{name}"), int(hits[0]), name)
        check_equal(int(hits[0]), 60, "the program's own count")
    kinds = {e["arg2"] for e in trace.events("sdt:libstdcxx:throw")}
    check_equal(len(kinds), 2, "types that are thrown")


@test
def pythons_own_are_recorded_from_the_start():
    done = record("/usr/bin/python3", "-c",
                  "import gc\ngc.disable()\n"
                  "for i in range(40): gc.collect(i % 3)",
                  options=("-e", "sdt:python:gc__*"))
    check_equal(done.status, 0, done.err)
    starts = "".join(str(e["arg1"]) for e in
                     done.trace().events("sdt:python:gc__start"))
    # python collects some more as it starts and ends
    check("012" * 13 + "0" in starts, starts)


@test
def what_cannot_be_recorded_is_refused_before_the_program_runs():
    program = build(PROGRAM, "-O2", name="shop-no")
    for words, said in (
            (("sdt:shop:ordr",), "did you mean 'sdt:shop:order'?"),
            (("sdt:nothing:*",), "no probe of <sys/sdt.h> in its files"),
            (("sdt:shop:order if arg9 == 1",), "arg9"),
            (("sdt:shop:order if",), "a condition is missing")):
        done = record(program, options=("-e", *words), input="3\n")
        check(done.status in (1, 2) and said in done.err,
              f"{words}: {done.status} {done.err}")
        check_equal(done.out, "", "the program ran")
    done = run(SONDE, "record", "-a", "-k", "*", "-e", "sdt:shop:order")
    check_equal(done.returncode, 2, done.stderr)
    check("say of which" in done.stderr, done.stderr)


@test
def a_session_has_them_and_change_chooses_among_them():
    program = Program(build(PROGRAM, "-O2", name="shop-session"))
    before = program.code()
    with Home() as sessions:
        trace = sessions.start("shop", "-p", program.pid,
                               "-e", "sdt:shop:order if arg1 % 2 == 1",
                               "-e", "sdt:shop:p*")
        check_equal(program.go(10), ["10", "1", "0", "1"], "both")
        sessions.ok("change", "shop", "-e", "sdt:shop:price")
        program.go(3)
        said = sessions.complaint("change", "shop", "-e", "sdt:shop:order",
                                  "-e", "sdt:shop:name", status=2)
        check("'sdt:shop:name'" in said and "no such probes" in said, said)
        program.go(2)
        sessions.ok("stop", "shop")
        trace = Trace(trace)
        check_equal(recorded(trace, "shop:order"), orders(10)[1::2], "orders")
        check_equal(recorded(trace, "shop:price"),
                    prices(10) + prices(3) + prices(2), "prices")
    check_equal(program.go(5), ["15", "0", "0", "0"], "afterwards")
    check_equal(program.code(), before, "the code")
    program.end()


@test
def live_and_top_show_them():
    program = build(PROGRAM, "-O2", name="shop-live")
    done = run(SONDE, "live", "--json", "-e", "sdt:shop:order if arg1 > 6",
               "--", program, input="9\n")
    check_equal(done.returncode, 0, done.stderr)
    shown = [json.loads(line) for line in done.stdout.splitlines()
             if line.startswith("{")]
    check_equal([list(e["payload"].values()) for e in shown
                 if e.get("event") == "sdt:shop:order"], orders(9)[7:], "live")
    done = run(SONDE, "top", "--once", "-e", "sdt:shop:order", "--", program,
               input="40\n")
    check_equal(done.returncode, 0, done.stderr)
    check("sdt:shop:order" in done.stdout, done.stdout)


install()
main()
