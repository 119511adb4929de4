#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_sdt.py - probes of <sys/sdt.h>: what `sonde list` shows of them, beside
what GDB and readelf find in the same files."""

import json
import os
import re
import subprocess

from sonde import SONDE, build, check, install, run
from harness import check_equal, main, test

PROGRAM = r"""
#define _SDT_HAS_SEMAPHORES 1
#include <stdint.h>
#include <sys/sdt.h>
#include <sonde/tracepoint.h>

#define SEMAPHORE __attribute__((section(".probes"), used)) unsigned short
SEMAPHORE shop_order_semaphore, shop_twice_semaphore, shop_price_semaphore;

static inline __attribute__((always_inline)) void twice(int n)
{
	DTRACE_PROBE1(shop, twice, n);
}

int main(int argc, char **argv)
{
	int32_t table[16] = { 0 };
	volatile double price = 2.5;
	const char *name = argv[0];

	for (int i = 0; i < argc + 3; i++) {
		table[i & 15] = -i;
		DTRACE_PROBE5(shop, order, i, (uint8_t)i, table[i & 15], name,
			      (int64_t)-5);
		DTRACE_PROBE1(shop, price, price);
		twice(i);
		twice(table[3]);
		sonde_event(shop, ours, i);
	}
	return 0;
}
"""


def listed(path):
    done = run(SONDE, "list", "--json", path)
    check_equal((done.returncode, done.stderr), (0, ""), f"list {path}")
    return [e for e in json.loads(done.stdout) if e["event"].startswith("sdt:")]


def gdb_probes(path):
    """(provider:name, location, semaphore) of each, as GDB finds them."""
    out = subprocess.check_output(
        ["gdb", "-batch", "-nx", "-iex", "set debuginfod enabled off",
         "-ex", "info probes stap", path], text=True,
        stderr=subprocess.DEVNULL)
    found = []
    for line in out.splitlines():
        m = re.match(r"stap +(\S+) +(\S+) +(0x\w+) +(0x\w+)? ", line)
        if m:
            found.append((f"{m[1]}:{m[2]}", int(m[3], 16),
                          int(m[4], 16) if m[4] else None))
    return sorted(found, key=str)


def readelf_arguments(path):
    out = subprocess.check_output(["readelf", "-n", path], text=True,
                                  stderr=subprocess.DEVNULL)
    return [(m[1] + ":" + m[2], int(m[3], 16), m[4].split()) for m in
            re.finditer(r"Provider: (\S+)\n +Name: (\S+)\n +Location: (\w+),"
                        r".*\n +Arguments: ?(.*)", out)]


def compare(path, ours=()):
    sites = listed(path)
    check_equal(sorted(((s["event"][4:], s["location"], s["semaphore"])
                        for s in sites), key=str),
                [p for p in gdb_probes(path) if p[0] not in ours],
                f"{path}: places and semaphores")
    widths = {"i": "-", "u": "", "f": ""}
    said = [(s["event"][4:], s["location"],
             [f"{widths[f['type'][0]]}{int(f['type'][1:]) // 8}"
              f"{'f' if f['type'][0] == 'f' else ''}@{f['operand']}"
              for f in s["fields"]]) for s in sites]
    check_equal(sorted(said), sorted(a for a in readelf_arguments(path)
                                     if a[0] not in ours),
                f"{path}: arguments")
    return sites


@test
def probes_are_listed_as_gdb_lists_them():
    for flags in ("-O0", "-O2"):
        program = build(PROGRAM, flags, name=f"shop{flags}")
        sites = compare(str(program), ours=("shop:ours",))
        names = [s["event"] for s in sites]
        check_equal(names, ["sdt:shop:order", "sdt:shop:price"] +
                    ["sdt:shop:twice"] * 2, "names")
        check_equal([len(s["fields"]) for s in sites], [5, 1, 1, 1],
                    "arguments")
        check_equal([f["type"] for f in sites[0]["fields"]],
                    ["i32", "u8", "i32", "u64", "i64"], "types")


@test
def python_and_libraries_are_listed_as_gdb_lists_them():
    seen = 0
    for path in ("/usr/bin/python3", "/usr/bin/gdb",
                 "/lib/x86_64-linux-gnu/libc.so.6",
                 "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"):
        if os.path.exists(path) and compare(os.path.realpath(path)):
            seen += 1
    check(seen, "no file here has probes")


@test
def the_table_has_a_line_for_each_place():
    program = build(PROGRAM, "-O0", name="shop-table")
    done = run(SONDE, "list", program)
    check_equal((done.returncode, done.stderr), (0, ""), "sonde list")
    out = done.stdout
    head, _, probes = out.partition("\n\n")
    check("shop:ours" in head and "sdt:" not in head, out)
    lines = probes.splitlines()
    check_equal(lines[0].split(),
                ["PROBE", "LOCATION", "SEMAPHORE", "ARGUMENTS"], "heading")
    check_equal(len(lines), 5, out)
    check("f64" in lines[2] or "u64" in lines[2], lines[2])


if __name__ == "__main__":
    install()
    main()
