#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_bare.py - `sonde generate --target bare`: a program without a C library
records the events that one with libsonde does, of which babeltrace2 tells; what
it drops is counted; and its code is small."""

import json
import pathlib
import re
import shutil
import subprocess

from sonde import (BUILD, SANITIZE, SONDE, Trace, build, install, record_ok,
                   require, run, scratch)
from harness import Skip, check, check_equal, main, test

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHOP = ROOT / "examples/shop-events.xml"
FREESTANDING = ("-std=c11", "-Os", "-ffreestanding", "-nostdlib", "-static",
                "-fno-stack-protector", "-fno-asynchronous-unwind-tables",
                "-fno-unwind-tables", "-Wall", "-Wextra", "-Wpedantic",
                "-Werror", f"-I{ROOT / 'include'}")
PACKET = 512


def generate(description, *words):
    done = run(SONDE, "generate", description, "--target", "bare", *words)
    if "it lacks" in done.stderr:
        raise Skip(done.stderr)
    check_equal((done.returncode, done.stderr), (0, ""), f"{words}")
    return done.stdout


def firmware(later, compiler="gcc", runner=()):
    """What bare.c writes, as a trace."""
    install()
    directory = scratch()
    generate(SHOP, "--header", directory / "shop-events.h")
    done = run(compiler, *FREESTANDING, f"-DLATER={later}", f"-I{directory}",
               ROOT / "tests/e2e/bare.c", "-o", directory / "firmware")
    check_equal((done.returncode, done.stderr), (0, ""), compiler)
    trace = directory / "trace"
    trace.mkdir()
    generate(SHOP, "--metadata", trace / "metadata", "--frequency", "1000000")
    stream = subprocess.run([*runner, directory / "firmware"], check=True,
                            stdout=subprocess.PIPE).stdout
    check(stream and len(stream) % PACKET == 0, f"{len(stream)} bytes")
    (trace / "stream").write_bytes(stream)
    return Trace(trace)


def events(trace):
    lines = run(SONDE, "print", "--json", trace.dir).stdout.splitlines()
    return [(event["event"], {name: value for name, value in
                              event["payload"].items() if name != "till"})
            for event in map(json.loads, lines)]


@test
def they_are_the_events_that_libsonde_records():
    bare = events(firmware(0))
    check_equal(bare[-1], ("shop:opened", {}), "the last")
    check_equal(bare[:-1], events(record_ok(BUILD.resolve() / "examples/shop")),
                "events")


@test
def aarch64_writes_the_same():
    require("aarch64-linux-gnu-gcc")
    require("qemu-aarch64")
    check_equal(events(firmware(0, "aarch64-linux-gnu-gcc",
                                ("qemu-aarch64",))),
                events(firmware(0)), "events")


@test
def babeltrace2_reads_values_times_and_losses():
    require("babeltrace2")
    trace = firmware(100)
    stream = (trace.dir / "stream").read_bytes()
    numbers = [int.from_bytes(stream[at + 64:at + 72], "little")
               for at in range(0, len(stream), PACKET)]
    check_equal(numbers, list(range(len(numbers))), "packet_seq_num")
    done = run("babeltrace2", "--clock-cycles", trace.dir)
    for part in ('payment_tag = ( "_favour" : container = 3 ), '
                 'payment = { "washed up" }', "code = 0xC0FFEE, port = 80",
                 "bin = 21, tag = \"blue\"", 'customer = "(null)"',
                 "balance = -12, ratio = 0.5, clean = 1"):
        check(part in done.stdout, f"{part}\n{done.stdout}")
    times = [int(time) for time in re.findall(r"^\[(\d+)\]", done.stdout, re.M)]
    steps = [now - before for before, now in zip(times, times[1:])]
    # An event is one or, where a packet ends before it, two looks at a clock
    # that goes by 7; some are dropped before the last. After the first payment
    # come 2^40 more.
    check_equal({step for step in steps[:-1] if step < 1 << 40} -
                {7, 14, 21, 28, 35}, set(), f"{steps}")
    check_equal([(i, step >> 40) for i, step in enumerate(steps)
                 if step >= 1 << 40], [(7, 1)], "far")
    lost = sum(map(int, re.findall(r"discarded (\d+) event", done.stderr)))
    later = done.stdout.count('customer = "(null)"')
    check(0 < later < 100, done.stdout)
    check_equal(later + lost, 102, "LATER, and those that are too long")


@test
def ids_are_long_where_they_have_to_be():
    install()
    directory = scratch()
    description = directory / "many.xml"
    description.write_text('<events provider="many">' + "".join(
        f'<event name="e{i}"><field name="x" type="int" bits="{i % 32 + 1}"/>'
        "</event>" for i in range(40)) + "</events>")
    generate(description, "--header", directory / "many.h", "--metadata",
             directory / "metadata")
    calls = "".join(f"many_e{i}(&ring, -1);" for i in range(40))
    program = build(f"""#define SONDE_BARE_DEFINE
#include "{directory}/many.h"
#include <stdio.h>
static unsigned char memory[4096];
static uint64_t zero(void) {{ return 0; }}
static struct sonde_bare ring = MANY_RING(memory, 4096, zero);
int main(void)
{{
	{calls}
	sonde_bare_flush(&ring);
	return fwrite(sonde_bare_take(&ring), sizeof(memory), 1, stdout) != 1;
}}""", f"-I{ROOT / 'include'}", "-Wextra", "-Werror")
    with open(directory / "stream", "wb") as stream:
        subprocess.run([program], check=True, stdout=stream)
    (directory / "many.h").rename(scratch() / "many.h")
    description.rename(scratch() / "many.xml")
    check_equal(events(Trace(directory)),
                [(f"many:e{i}", {"x": -1}) for i in range(40)], "events")


@test
def it_is_cxx_too():
    install()
    directory = scratch()
    generate(SHOP, "--header", directory / "shop-events.h")
    build(f"""#define SONDE_BARE_DEFINE
#include "{directory}/shop-events.h"
static unsigned char memory[1024];
static uint64_t clock() {{ return 0; }}
static sonde_bare ring = SHOP_RING(memory, 256, clock);
int main()
{{
	shop_payment payment{{}};
	shop_paid(&ring, 1, &payment);
	return sonde_bare_flush(&ring) && sonde_bare_take(&ring) ? 0 : 1;
}}""", "-xc++", "-std=c++17", f"-I{ROOT / 'include'}", "-Wextra", "-Werror")


def code_bytes(compiler, source):
    """Of what is linked: the functions, and constants."""
    directory = scratch()
    (directory / "f.c").write_text(source)
    used = ("hit", "sonde_bare_take", "sonde_bare_give_back")
    subprocess.run([*compiler, *FREESTANDING, "-ffunction-sections",
                    f"-I{directory}", directory / "f.c", "-Wl,--gc-sections",
                    "-Wl,--build-id=none", "-Wl,-e,hit",
                    *(f"-Wl,-u,{name}" for name in used), "-o",
                    directory / "f"], check=True)
    sizes = subprocess.check_output(["size", "-A", directory / "f"], text=True)
    return sum(int(size) for size in
               re.findall(r"^\.(?:text|rodata)\S*\s+(\d+)", sizes, re.M))


@test
def an_event_and_the_ring_are_600_bytes_of_code():
    if SANITIZE:
        raise Skip("sanitizers add code")
    install()
    directory = scratch()
    description = directory / "one.xml"
    description.write_text('<events provider="one"><event name="hit">'
                           '<field name="count" type="u32"/></event></events>')
    header = directory / "one.h"
    generate(description, "--header", header)
    source = (f'#define SONDE_BARE_DEFINE\n#include "{header}"\n'
              "void hit(struct sonde_bare *ring, uint32_t count)\n"
              "{ one_hit(ring, count); }\n")
    for compiler in (["gcc"], ["aarch64-linux-gnu-gcc"],
                     ["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb"],
                     ["arm-none-eabi-gcc", "-mcpu=cortex-m0", "-mthumb"],
                     ["arm-none-eabi-gcc", "-mcpu=cortex-a7", "-marm"]):
        if shutil.which(compiler[0]):
            size = code_bytes(compiler, source)
            check(200 < size <= 600, f"{compiler}: {size} bytes")


@test
def what_cannot_be_is_refused_by_the_compiler():
    install()
    directory = scratch()
    generate(SHOP, "--header", directory / "shop-events.h")
    for memory, packet in ((1024, 100), (1024, 192), (1536, 512), (256, 512)):
        (directory / "f.c").write_text(
            '#include "shop-events.h"\n'
            f"static unsigned char memory[{memory}];\n"
            "uint64_t clock(void);\n"
            f"struct sonde_bare ring = SHOP_RING(memory, {packet}, clock);\n")
        done = run("gcc", *FREESTANDING, f"-I{directory}", "-c",
                   directory / "f.c", "-o", "/dev/null")
        check("negative" in done.stderr, f"{memory} {packet}: {done.stderr}")
    for words, said in ((("--target", "firmware"), "program, bare"),
                        (("--frequency", "5"), "--target bare"),
                        (("--target", "bare", "--metadata", "-", "--frequency",
                          "0"), "1 to")):
        done = run(SONDE, "generate", SHOP, *words)
        check(done.returncode == 2 and said in done.stderr, done.stderr)


if __name__ == "__main__":
    main()
