#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_convert.py - `sonde convert` of what perf has recorded: the same events,
fields, stacks and losses as perf itself says there are; and a report on them.

Some files are perf's own, of what this machine lets it record; one is made here,
byte by byte, of the documented format."""

import collections
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess

from sonde import SONDE, Trace, build, check, install, run, scratch
from harness import Skip, check_equal, main, test

WORK = r"""
#include <unistd.h>
static volatile long sum;
__attribute__((noinline)) void inner_work(void)
{
	for (int i = 0; i < 3000000; i++)
		sum += i;
}
__attribute__((noinline)) void outer_work(void)
{
	for (int i = 0; i < 20; i++)
		inner_work();
	usleep(1000);
}
int main(void)
{
	for (int i = 0; i < 5; i++)
		outer_work();
	return 0;
}
"""


def perf(*words, expect=0):
    if not shutil.which("perf"):
        raise Skip("no perf")
    done = run("perf", *words)
    if done.returncode != expect:
        raise Skip(f"perf {words[0]}: {done.stderr[-200:]}")
    return done


def recorded(*words, command):
    path = scratch() / "perf.data"
    perf("record", "-q", "-o", path, *words, "--", command)
    return path


def convert(path, *words, **more):
    to = scratch() / "trace"
    done = run(SONDE, "convert", path, "-o", to, *words, **more)
    check_equal(done.returncode, 0, done.stderr)
    check_equal(done.stdout.strip(), str(to), "where it is")
    return to, done.stderr


def told(words):
    events, lost = re.search(r"(\d+) events; (\d+) lost", words).groups()
    return int(events), int(lost)


def report(trace, *words):
    done = run(SONDE, "report", *words, "--json", trace)
    check_equal(done.returncode, 0, done.stderr)
    return json.loads(done.stdout)


# ---- perf's own files ----

def script(path, fields):
    """What perf says of each sample, a line each."""
    return [line.strip() for line in
            perf("script", "-i", path, "-F", fields).stdout.splitlines()
            if line.strip()]


@test
def switches_are_those_that_perf_script_shows():
    path = recorded("-a", "-e", "sched:sched_switch", "-e",
                    "sched:sched_wakeup", command=build(WORK, name="work"))
    theirs = []
    for line in script(path, "cpu,event,trace"):
        found = re.match(r"\[(\d+)\]\s+sched:sched_switch: .*?prev_pid=(\d+) "
                         r"prev_prio=(\d+) .* next_pid=(\d+) next_prio=(\d+)",
                         line)
        if found:
            cpu, prev, prev_prio, nxt, next_prio = map(int, found.groups())
            theirs.append((cpu, prev, prev_prio - 100, nxt, next_prio - 100))
    if not theirs:
        raise Skip("perf has recorded no switch")
    trace, _ = convert(path)
    ours = [(e.cpu, e["prev_tid"], e["prev_prio"], e["next_tid"],
             e["next_prio"]) for e in Trace(trace).events("sched_switch")]
    check_equal(sorted(ours), sorted(theirs), "switches")
    names = {row["process"] for row in report(
        trace, "cputop", "--limit", "1000")["processes"]}
    check("work" in names, f"cputop knows {names}")


@test
def samples_have_the_stacks_and_times_of_perf_script():
    path = recorded("-g", "-e", "cpu-clock", "-F", "999",
                    command=build(WORK, "-g", "-O0",
                                  "-fno-omit-frame-pointer", name="work"))
    stacks = perf("script", "-i", path, "-F", "ip,sym").stdout.split("\n\n")
    stacks = [stack.split() for stack in stacks if stack.strip()]
    trace, words = convert(path)
    check_equal(len(Trace(trace).events("sonde:sample")), len(stacks),
                "samples")
    check("don't say their CPU" in words and "have no date" in words, words)
    codes = {row["code"]: row for row in report(
        trace, "samples", "--limit", "1000")["codes"]}
    for name in "inner_work", "outer_work", "main":
        check_equal(codes[name]["samples"], sum(name in s for s in stacks),
                    f"samples in or below {name}")
    check_equal(codes["inner_work"]["self_ns"],
                sum(s[1] == "inner_work" for s in stacks) * 1001001,
                "time of inner_work")


@test
def the_kernels_functions_have_the_names_of_perf_script():
    """Its and ours are from the list of this kernel, which runs."""
    path = recorded("-e", "cpu-clock", "-F", "2000", command=build(
        "#include <fcntl.h>\n#include <unistd.h>\nint main(void)\n{\n"
        "\tfor (int i = 0; i < 300000; i++)\n"
        "\t\tclose(open(\"/proc/self/stat\", O_RDONLY));\n}\n",
        name="work"))
    theirs = collections.Counter(
        line.split()[1] for line in script(path, "ip,sym")
        if line.startswith("ffff") and "[unknown]" not in line)
    # Of several names that an address has, it may show another one.
    names = collections.defaultdict(list)
    for line in pathlib.Path("/proc/kallsyms").read_text().splitlines():
        names[line.split()[0]].append(line.split()[2])
    for name in (n for alike in names.values() if len(alike) > 1
                 for n in alike):
        theirs.pop(name, None)
    if not theirs:
        raise Skip("perf names nothing of the kernel's")
    trace, words = convert(path)
    if "no names" in words:
        raise Skip(words)
    ours = {row["code"]: row["samples"] for row in report(
        trace, "samples", "--limit", "10000")["codes"]
        if row["module"].startswith("[")}
    check_equal({name: ours.get(name) for name in theirs}, dict(theirs),
                "samples by function")


@test
def a_pipe_says_the_same_as_a_file():
    program = build(WORK, name="work")
    path = scratch() / "pipe.data"
    with open(path, "wb") as out:
        done = subprocess.run(
            ["perf", "record", "-q", "-o", "-", "-e", "cpu-clock", "-e",
             "sched:sched_process_exit", "--", str(program)], stdout=out,
            stderr=subprocess.PIPE) if shutil.which("perf") else None
    if not done or done.returncode:
        raise Skip("perf can't record here")
    lines = script(path, "event")
    trace, _ = convert(path, "--ctf", "2")
    printed = run(SONDE, "print", "--json", trace).stdout.splitlines()
    names = [json.loads(line).get("event") for line in printed]
    for theirs, ours in (("cpu-clock", "sonde:sample"),
                         ("sched_process_exit", "sched_process_exit")):
        check_equal(names.count(ours), sum(theirs in line for line in lines),
                    ours)


@test
def compressed_records_are_those_that_perf_script_shows():
    path = recorded("-z", "-g", "-a", "-e", "sched:sched_switch", "-e",
                    "cpu-clock", "-F", "999", command=build(WORK, name="work"))
    check(b"\x28\xb5\x2f\xfd" in path.read_bytes(), "nothing is compressed")
    lines = script(path, "event")
    trace, words = convert(path)
    check("make no sense" not in words, words)
    read = Trace(trace)
    for theirs, ours in (("sched_switch", "sched_switch"),
                         ("cpu-clock", "sonde:sample")):
        check_equal(len(read.events(ours)),
                    sum(theirs in line for line in lines), ours)


@test
def a_directory_of_threads_has_what_perf_script_shows():
    for words in (), ("-z",):
        path = recorded("--threads", *words, "-g", "-e", "cpu-clock", "-F",
                        "999", command=build(WORK, name="work"))
        check((path / "data.0").exists(), "no directory")
        lines = [line for line in script(path, "event") if "cpu-clock" in line]
        trace, said = convert(path)
        check("make no sense" not in said, said)
        check_equal(Trace(trace).count("sonde:sample"), len(lines), f"{words}")


@test
def tracepoints_have_the_stacks_of_perf_script():
    path = recorded("-g", "-e", "sched:sched_process_exit",
                    command=build(WORK, name="work"))
    stacks = [stack.split() for stack in perf(
        "script", "-i", path, "-F", "ip").stdout.split("\n\n") if stack.strip()]
    trace, _ = convert(path)
    frames = {e["number"]: e["frames"] for e in Trace(trace).events(
        "sonde:stack", contexts=True)}
    # Of the kernel alone: perf shows a program's by their place in its file.
    bits = (1 << 62) - 1  # flags of a frame are not its address
    kernel = 0xffff << 48
    ours = [[frame & bits for frame in frames[e.contexts["stack"]]
             if frame & kernel & bits == kernel & bits]
            for e in Trace(trace).events("sched_process_exit")]
    check_equal(ours, [[int(ip, 16) & bits for ip in stack
                        if int(ip, 16) & kernel == kernel]
                       for stack in stacks], "frames")
    check(ours and len(ours[0]) > 3, str(ours))


# ---- one made by hand ----

IP, TID, TIME, CPU, PERIOD, RAW = 1, 2, 4, 128, 256, 1024
IDENTIFIER = 1 << 16
SAMPLE, LOST, COMM, LOST_SAMPLES, MMAP, MMAP2 = 9, 2, 3, 13, 1, 10
HAS_BUILD_ID = 1 << 14  # in a record's head
SAMPLE_ID_ALL, BUILD_ID = 1 << 18, 1 << 34  # of an event
FORMAT = b"""name: sched_switch
ID: 300
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;
\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;
\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;
\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;
\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;
\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;
"""
ASKED = IP | TID | TIME | CPU | PERIOD | RAW | IDENTIFIER


def attr(kind, config, asked=ASKED, period=1, flags=SAMPLE_ID_ALL):
    # size, config, period, sample_type, read_format
    head = struct.pack("<IIQQQQQ", kind, 112, config, period, asked, 0, flags)
    return head + bytes(112 - len(head))


def record(kind, body, misc=0):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def tail(ns, cpu=0, identifier=1, pid=0, tid=0):
    return struct.pack("<iiQIIQ", pid, tid, ns, cpu, 0, identifier)


def switch(ns, cpu, prev, nxt):
    raw = (struct.pack("<HBBi", 300, 0, 0, prev) + b"t%d" % prev).ljust(24, b"\0")
    raw += struct.pack("<iiq", prev, 120, 1)
    raw += (b"t%d" % nxt).ljust(16, b"\0") + struct.pack("<ii", nxt, 120)
    raw += bytes(4)
    return record(SAMPLE, struct.pack("<QQiiQIIQI", 1, 0, prev, prev, ns, cpu,
                                      0, 1, len(raw)) + raw)


def clock(ns, cpu, tid, period):
    return record(SAMPLE, struct.pack("<QQiiQIIQI", 2, 0x401000, tid, tid, ns,
                                      cpu, 0, period, 4) + bytes(4), misc=2)


def formats():
    def piece(text):
        return struct.pack("<Q", len(text)) + text
    return (b"\x17\x08\x44tracing0.6\0\0\x08" + struct.pack("<I", 4096)
            + b"header_page\0" + piece(b"") + b"header_event\0" + piece(b"")
            + struct.pack("<II", 0, 1) + b"sched\0" + struct.pack("<I", 1)
            + piece(FORMAT) + struct.pack("<IIQ", 0, 0, 0))


CALLCHAIN = 32


def chain(ns, frames):
    """A sample of cpu-clock with a call chain: of a file with `chains`."""
    user = (1 << 64) - 512  # PERF_CONTEXT_USER
    return record(SAMPLE, struct.pack(
        f"<QQiiQIIQQ{len(frames) + 1}QI", 2, frames[0], 7, 7, ns, 0, 0, 1000,
        len(frames) + 1, user, *frames, 4) + bytes(4), misc=2)


def handmade(records, features=None, chains=False, flags=SAMPLE_ID_ALL):
    """A file of two events: sched_switch (id 1) and cpu-clock (id 2)."""
    features = {1: formats(), 3: struct.pack("<I", 8) + b"far\0\0\0\0\0",
                **(features or {})}
    attrs = [attr(2, 300, flags=flags), attr(1, 0, ASKED | CALLCHAIN * chains,
                                             period=1000000, flags=flags)]
    ids_at = 104 + 2 * 128
    head_attrs = b"".join(a + struct.pack("<QQ", ids_at + 8 * i, 8)
                          for i, a in enumerate(attrs))
    ids = struct.pack("<QQ", 1, 2)
    data = b"".join(records)
    data_at = ids_at + 16
    bits = sum(1 << bit for bit in features)
    head = (b"PERFILE2" + struct.pack("<QQQQQQQQ", 104, 128, 104, 256, data_at,
                                      len(data), 0, 0)
            + bits.to_bytes(32, "little"))
    at = data_at + len(data) + 16 * len(features)
    table, parts = b"", b""
    for bit in sorted(features):
        table += struct.pack("<QQ", at + len(parts), len(features[bit]))
        parts += features[bit]
    return head + head_attrs + ids + data + table + parts


def written(content):
    path = scratch() / "made.data"
    path.write_bytes(content)
    return path


@test
def times_cpus_and_losses_are_where_they_were():
    wall = 1_700_000_000_000_000_000
    day = struct.pack("<IIQQ", 1, 1, wall, 1000)
    path = written(handmade([
        record(COMM, struct.pack("<ii", 7, 7) + b"seven\0\0\0" + tail(0)),
        switch(3000, 1, 0, 7),  # CPUs' rounds: not in the order of time
        switch(2000, 0, 7, 0),
        record(LOST, struct.pack("<QQ", 1, 5) + tail(3500, 1)),
        switch(4000, 1, 7, 0),
        clock(2500, 0, 7, 1000000),
        # all that was lost: those five, and two that no record tells of
        record(LOST_SAMPLES, struct.pack("<Q", 7) + tail(0)),
    ], {29: day}))
    trace, words = convert(path)
    check_equal(told(words)[1], 7, words)
    check("date" not in words, words)
    read = Trace(trace)
    check_equal([(e.cpu, e["prev_tid"], e["next_tid"])
                 for e in read.events("sched_switch")],
                [(0, 7, 0), (1, 0, 7), (1, 7, 0)], "switches")
    check_equal(read.discarded(), 7, "lost")
    shown = run(SONDE, "print", trace, "--json", "--filter",
                '$event == "sched_switch"').stdout
    check_equal([json.loads(line)["time_ns"] for line in shown.splitlines()
                 if '"event": "sched_switch"' in line],
                [wall + ns for ns in (1000, 2000, 3000)], "times")
    sample = read.events("sonde:sample")
    check_equal([(e["pid"], e["period"]) for e in sample], [(7, 1000000)],
                "samples")


@test
def stacks_of_several_packets_can_be_read():
    """Each a stack of its own, half a megabyte of them together."""
    nr = 3000
    trace, words = convert(written(handmade(
        [chain(1000 + i, [0x401000 + 16 * i + k for k in range(20)])
         for i in range(nr)], chains=True)))
    check("make no sense" not in words, words)
    read = Trace(trace)
    for name in "sonde:stack", "sonde:sample":
        check_equal(read.count(name), nr, name)


@test
def a_record_may_begin_in_one_compressed_piece_and_end_in_the_next():
    if not shutil.which("zstd"):
        raise Skip("no zstd")
    inner = switch(2000, 0, 7, 0) + switch(3000, 0, 0, 7) + switch(4000, 1, 7, 0)
    whole = subprocess.run(["zstd", "-q", "-c"], input=inner, check=True,
                           stdout=subprocess.PIPE).stdout
    first, second = whole[:20], whole[20:]
    newer = struct.pack("<Q", len(second)) + second + bytes(-len(second) % 8)
    outside = switch(2500, 1, 7, 9)
    trace, words = convert(written(handmade([
        record(81, first), outside, record(83, newer)])))
    check("make no sense" not in words, words)
    check_equal([(e.cpu, e["prev_tid"], e["next_tid"])
                 for e in Trace(trace).events("sched_switch")],
                [(0, 7, 0), (1, 7, 9), (0, 0, 7), (1, 7, 0)], "switches")
    torn = bytearray(second)
    torn[-10:] = b"\xff" * 10
    trace, words = convert(written(handmade([
        outside, record(81, first), record(81, bytes(torn))])), "--ctf", "2")
    check("1 records or parts make no sense" in words, words)


def in_kernel(ns, address):
    return record(SAMPLE, struct.pack("<QQiiQIIQI", 2, address, 7, 7, ns, 0, 0,
                                      1000, 4) + bytes(4), misc=1)


def kernel_mapped(begin, size, offset, path):
    return record(MMAP, struct.pack("<iiQQQ", -1, 0, begin, size, offset) +
                  path.ljust(-len(path) % 8 + len(path) + 8, b"\0") + tail(0),
                  misc=1)


@test
def the_kernels_names_are_moved_from_where_they_are_in_perfs_list():
    """A list of another boot: the kernel lay 0x1000000 lower, and one of the
    modules elsewhere."""
    base = 0xffffffff81000000
    identifier = bytes(range(20))
    home = scratch()
    cache = home / ".debug/[kernel.kallsyms]" / identifier.hex()
    cache.mkdir(parents=True)
    (cache / "kallsyms").write_text("".join(
        f"{address:016x} {kind} {name}\n" for address, kind, name in (
            (base, "T", "_text"), (base + 0x100, "t", "first"),
            (base + 0x200, "T", "second"), (base + 0x240, "D", "datum"),
            (base + 0x300, "T", "third"), (base + 0x2000, "T", "_etext"),
            (0xffffffffc0001000, "t", "there\t[a_b]"),
            (0xffffffffc0009000, "t", "elsewhere\t[c]"))))
    moved = base + 0x1000000
    content = handmade(
        [kernel_mapped(moved, 0x2000, moved, b"[kernel.kallsyms]_text"),
         kernel_mapped(0xffffffffc0001000, 0x1000, 0, b"/lib/modules/a-b.ko"),
         kernel_mapped(0xffffffffc0003000, 0x1000, 0, b"[c]")] +
        [in_kernel(1000 + i, address) for i, address in enumerate(
            (moved + 0x108, moved + 0x23f, moved + 0x250, moved + 0x2ff,
             0xffffffffc0001010, 0xffffffffc0003010))],
        {2: record(0, struct.pack("<i", -1) + identifier + b"\x14\0\0\0" +
                   b"[kernel.kallsyms]".ljust(24, b"\0"), misc=1 << 15 | 1)})
    trace, words = convert(written(content), env={**os.environ,
                                                  "HOME": str(home)})
    check("no names" not in words, words)
    codes = {row["code"].split(" (")[0]: row["samples"] for row in report(
        trace, "samples", "--limit", "100")["codes"]}
    check_equal(codes, {"first": 1, "second": 3, "there": 1,
                        "0xffffffffc0003010": 1}, "samples")
    trace, words = convert(written(content), env={**os.environ, "HOME": "/"})
    check("no names: it is another kernel" in words, words)


def mapped(ns, numbers):
    """Of a file, by its numbers or its build id, as 24 bytes; both say it is the
    latter."""
    body = struct.pack("<iiQQQ", 7, 7, 0x400000, 0x2000, 0) + numbers
    return record(MMAP2, body + struct.pack("<II", 5, 2) + b"/bin/made\0\0\0\0\0\0\0" +
                  tail(ns, identifier=2, pid=7, tid=7), misc=HAS_BUILD_ID | 2)


@test
def a_mapping_has_a_build_id_only_where_one_was_asked_for():
    """A kernel says so of all who record it if one of them has."""
    device = struct.pack("<IIQQ", 254, 0, 247312, 0)
    build_id = bytes([20, 0, 0, 0]) + bytes(range(20))
    for numbers, flags, expected in (
            (device, SAMPLE_ID_ALL, ""),
            (build_id, SAMPLE_ID_ALL | BUILD_ID, bytes(range(20)).hex())):
        trace, words = convert(written(handmade(
            [mapped(1000, numbers), clock(2000, 0, 7, 1000)], flags=flags)))
        check("no sense" not in words, words)
        found = [e for e in Trace(trace).events("sonde:mapping", True)
                 if e["path"] == "/bin/made"]
        check_equal([e["build_id"] for e in found], [expected], "build id")


@test
def what_makes_no_sense_is_counted_and_the_rest_is_there():
    whole = handmade([switch(2000, 0, 7, 0), record(SAMPLE, bytes(4)),
                      switch(3000, 8192, 7, 0), switch(4000, 0, 7, 0)])
    trace, words = convert(written(whole))
    check("2 records or parts make no sense" in words, words)
    check_equal(Trace(trace).count("sched_switch"), 2, "switches")


@test
def a_damaged_part_of_a_directory_leaves_the_others():
    path = scratch() / "made.data"
    path.mkdir()
    (path / "data").write_bytes(handmade([switch(3000, 0, 0, 7)]))
    (path / "data.0").write_bytes(switch(2000, 0, 7, 0) + bytes(16) +
                                  switch(2500, 0, 7, 0))
    (path / "data.1").write_bytes(b"")
    (path / "data.2").write_bytes(switch(1000, 1, 7, 9) +
                                  switch(4000, 1, 9, 0)[:20])
    (path / "data.4").write_bytes(switch(5000, 0, 1, 2))  # nobody's
    trace, words = convert(path)
    check("2 records or parts make no sense" in words, words)
    check_equal([(e.cpu, e["prev_tid"], e["next_tid"])
                 for e in Trace(trace).events("sched_switch")],
                [(1, 7, 9), (0, 7, 0), (0, 0, 7)], "switches")


@test
def what_cannot_be_read_is_refused_with_the_remedy():
    good = handmade([switch(2000, 0, 7, 0)])
    for content, said in (
            (b"2ELIFREP" + good[8:], "another byte order"),
            (good[:60], "too short"),
            (good[:200], "leads out of it"),
            (good[:24] + struct.pack("<QQ", 104, 1 << 62) + good[40:],
             "leads out of it"),
            (handmade([record(SAMPLE, struct.pack(
                "<QQiiQIIQI", 2, 0, 1, 1, 0, 0, 0, 1, 4) + bytes(4))]),
             "perf record -T")):
        to = scratch() / "trace"
        done = run(SONDE, "convert", written(content), "-o", to)
        check_equal(done.returncode, 1, done.stderr)
        check(said in done.stderr and "made.data" in done.stderr, done.stderr)
        check(not to.exists(), f"{said}: something is left")


install()
main()
