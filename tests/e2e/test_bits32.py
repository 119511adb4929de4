#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_bits32.py - programs of 32 bits beside those of 64: libsonde builds for them,
one description serves both, and each program's events are decoded by its own sizes.

Takes a compiler for such programs: SONDE_CC32, or `gcc -m32` (Debian: lib32gcc-12-dev
and libc6-dev-i386)."""

import functools
import json
import os
import re
import shlex
import shutil
import subprocess

from sonde import (LIB, PATIENCE, SONDE, Skip, build, check, install, pkg_config,
                   record_ok, record, require, run, scratch, skip_if_sanitized)
from harness import check_equal, main, test

ROOT = os.path.realpath(f"{__file__}/../../..")
CC32 = os.environ.get("SONDE_CC32", "gcc -m32")

DESCRIBED = """<events provider="plant">
  <enum name="phase" type="u8">
    <label name="idle" value="0"/>
    <label name="cooling" first="2" last="4"/>
  </enum>
  <struct name="point"><field name="x" type="i32"/><field name="y" type="u64"/></struct>
  <struct name="box">
    <field name="name" type="string" max="16"/>
    <field name="from" type="point"/>
    <field name="size" type="long"/>
  </struct>
  <event name="started" level="notice"><field name="phase" type="phase"/></event>
  <event name="moved"><field name="box" type="box"/></event>
  <event name="measured">
    <field name="sensor" type="u16"/>
    <field name="values" type="double" sequence="yes"/>
  </event>
  <event name="allocated">
    <field name="where" type="pointer"/><field name="bytes" type="size"/>
  </event>
  <event name="stopped" level="warning"/>
</events>"""

PROGRAM = """
#include "plant.h"
int main(void)
{
	double values[] = { 1.5, -2, 1e300 };
	struct plant_box box = { .name = "parcel", .from = { -3, 1ull << 40 },
				 .size = -5 };

	plant_started(PLANT_PHASE_IDLE);
	plant_moved(&box);
	plant_measured(7, 3, values);
	plant_allocated((void *)~0ul, sizeof(long));
	plant_stopped();
	return 0;
}
"""

THREADS = """
#include <pthread.h>
#include <sonde/tracepoint.h>
static void *work(void *who)
{
	for (unsigned n = 0; n < 2000; n++)
		sonde_event(attach, step, sonde_field(who, (long)who), n);
	return NULL;
}
int main(void)
{
	pthread_t threads[6];

	for (long i = 0; i < 6; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (long i = 0; i < 6; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
"""


def tool(words, **more):
    done = subprocess.run(words, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=600 * PATIENCE, **more)
    return "" if not done.returncode else done.stdout[-2000:] or "it failed"


@functools.cache
def library():
    """Where a libsonde of 32 bits is."""
    skip_if_sanitized("it is another build's matter")
    probe = scratch() / "probe.c"
    probe.write_text("#include <linux/errno.h>\n#include <pthread.h>\n"
                     "int main(void) { return 0; }\n")
    if tool([*shlex.split(CC32), probe, "-o", probe.with_suffix("")]) or \
            not shutil.which("meson"):
        raise Skip(f"no `{CC32}` for programs of 32 bits, or no meson")
    directory = scratch() / "build"
    wrong = tool(["meson", "setup", directory, ROOT, "-Dauto_features=disabled"],
                 env={**os.environ, "CC": CC32})
    wrong = wrong or tool(["ninja", "-C", directory, "src/tracer/libsonde.so.0.1.0"])
    check(not wrong, wrong)
    out = directory / "src/tracer"
    for name in ("libsonde.so", "libsonde.so.0"):
        if not (out / name).exists():
            (out / name).symlink_to("libsonde.so.0.1.0")
    return out


def compiled(source, *flags):
    out = scratch() / "narrow"
    source_path = out.with_suffix(".c")
    source_path.write_text(source)
    wrong = tool([*shlex.split(CC32), "-O2", "-Wall", "-Werror", source_path, *flags,
                  *pkg_config("--cflags"), f"-L{library()}", "-lsonde", "-pthread",
                  f"-Wl,-rpath,{library()}", "-o", out])
    check(not wrong, wrong)
    return str(out)


@functools.cache
def plants():
    """The program of 64 bits, and that of 32."""
    library()
    directory = scratch()
    (directory / "plant.xml").write_text(DESCRIBED)
    done = run(SONDE, "generate", directory / "plant.xml", "--header",
               directory / "plant.h")
    check_equal((done.returncode, done.stderr), (0, ""), "generate")
    return build(PROGRAM, f"-I{directory}"), compiled(PROGRAM, f"-I{directory}")


def values(bits):
    box = {"name": "parcel", "from": {"x": -3, "y": 1 << 40}, "size": -5}
    return [("plant:started", {"phase": ("idle", 0)}),
            ("plant:moved", {"box": box}),
            ("plant:measured", {"sensor": 7, "_values_length": 3,
                                "values": [1.5, -2, 1e300]}),
            ("plant:allocated", {"where": 2**bits - 1, "bytes": bits // 8}),
            ("plant:stopped", {})]


def shown(events):
    return [(e.name, dict(e)) for e in events]


@test
def both_widths_are_in_one_trace_each_by_its_own_sizes():
    wide, narrow = plants()
    trace = record_ok("sh", "-c", f"{wide}; {narrow}; {SONDE} mark plant:stopped n=1; "
                      f"{wide}; {narrow}")
    check_equal(shown(trace.events()),
                values(64) + values(32) + [("plant:stopped", {"n": 1})] +
                values(64) + values(32), "events")


def listed(program):
    """Type by event and field."""
    done = run(SONDE, "list", "--json", program)
    check_equal((done.returncode, done.stderr), (0, ""), "status")
    return {(event["event"], field["name"]): json.dumps(field)
            for event in json.loads(done.stdout)
            for field in event["fields"] or [{"name": ""}]}


@test
def a_program_of_32_bits_is_listed_with_its_own_sizes():
    wide, narrow = map(listed, plants())
    check_equal(set(narrow), set(wide), "events and fields")
    check_equal({name for name, _ in narrow}, {name for name, _ in values(32)}, "events")
    check_equal({field for field in wide if narrow[field] != wide[field]},
                {("plant:moved", "box"), ("plant:allocated", "where"),
                 ("plant:allocated", "bytes")}, "fields of other types")
    check("32" in narrow["plant:allocated", "bytes"], narrow)


PROBES = """
#include <sys/sdt.h>
int main(int argc, char **argv)
{
	DTRACE_PROBE2(shop, order, argc, *argv);
	STAP_PROBE(shop, closed);
	return 0;
}
"""


@test
def probes_of_other_makers_are_listed_where_readelf_finds_them():
    if not shutil.which("readelf"):
        raise Skip("no readelf")
    program = compiled(PROBES)
    lines = run(SONDE, "list", program).stdout
    notes = run("readelf", "-n", program).stdout
    at = [int(word, 16) for word in re.findall(r"Location: (0x[0-9a-f]+),", notes)]
    check_equal(len(at), 2, notes)
    for name, address in zip(("order", "closed"), at):
        check(re.search(rf"sdt:shop:{name} +{address:#x}\b", lines), lines)
    check(re.search(r"sdt:shop:order .*i32 .*, u32 ", lines), lines)


@test
def conditions_are_tested_in_programs_of_32_bits():
    """Without native code, which would be that of the recorder's machine."""
    _, narrow = plants()
    for condition, holds in (("sensor > 6", True), ("sensor > 7", False),
                             ("sensor == 7 && _values_length == 3", True),
                             ("sensor == 7 && _values_length == 4", False)):
        events = record_ok(narrow, options=[
            "-e", f"plant:measured if {condition}",
            "-e", "plant:allocated if bytes == 4 && where > 0xfffffffe"]).events()
        check_equal([e.name for e in events], ["plant:measured"] * holds +
                    ["plant:allocated"], condition)


@test
def threads_share_rings_and_nothing_is_mixed_up():
    program = compiled(THREADS)
    trace = record_ok(program, options=["--memory", "16M"])
    events = trace.events("attach:step")
    check_equal(len(events) + trace.discarded(), 12000, "recorded and lost")
    for who in range(6):
        mine = [e["n"] for e in events if e["who"] == who]
        check(mine and mine == sorted(set(mine)), f"order of {who}")
        check_equal(len({e.tid for e in events if e["who"] == who}), 1,
                    f"threads of {who}")


@test
def stacks_and_contexts_that_they_cannot_have_are_told():
    _, narrow = plants()
    for option, word in (("--stack", "call stacks"), ("--context=cpu_time", "contexts")):
        done = record(narrow, options=[option])
        check_equal(done.status, 0, done.err)
        check(f"its events have no {word}" in done.err and "of 32 bits" in done.err,
              done.err)
        check_equal(shown(done.trace().events()), values(32), option)


if __name__ == "__main__":
    install()
    require("babeltrace2")
    main()
