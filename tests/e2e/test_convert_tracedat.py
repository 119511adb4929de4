#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_convert_tracedat.py - `sonde convert` of a trace.dat: the same events,
fields, times and losses as trace-cmd itself says there are.

Some files are of what this kernel records in an instance of tracefs, put together
by `trace-cmd restore`; some are made here, byte by byte, of the documented formats,
and trace-cmd reads those as well."""

import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import zlib

from sonde import SONDE, Trace, check, exact_events, install, run, scratch
from harness import Skip, check_equal, main, test

TRACEFS = pathlib.Path("/sys/kernel/tracing")


def convert(path, expect=0, name="trace"):
    to = scratch() / name
    done = run(SONDE, "convert", path, "-o", to)
    check_equal(done.returncode, expect, done.stderr)
    if expect:
        check(not to.exists(), "something is left")
    return to, done.stderr


def told(words):
    events, lost = re.search(r"(\d+) events; (\d+) lost", words).groups()
    return int(events), int(lost)


def report(path, *words):
    """What trace-cmd says of the file, a line each event."""
    if not shutil.which("trace-cmd"):
        raise Skip("no trace-cmd")
    done = run("trace-cmd", "report", "-i", path, *words)
    check_equal(done.returncode, 0, done.stderr)
    return [line for line in done.stdout.splitlines()
            if not line.startswith("cpus=")]


# ---- what the kernel records ----

def pages_of(instance, to):
    """All that there is of each CPU, a file each, as trace-cmd keeps it."""
    files = []
    nr_cpus = len(list((instance / "per_cpu").iterdir()))
    for cpu in range(nr_cpus):
        path = to / f"pages.cpu{cpu}"
        fd = os.open(instance / f"per_cpu/cpu{cpu}/trace_pipe_raw",
                     os.O_RDONLY | os.O_NONBLOCK)
        with open(path, "wb") as file:
            try:
                while page := os.read(fd, 4096):
                    file.write(page.ljust(4096, b"\0"))
            except BlockingIOError:
                pass
        os.close(fd)
        files.append(path)
    return files


def recorded():
    """Switches and processes of this machine, by the kernel and trace-cmd."""
    if os.getuid() or not (TRACEFS / "instances").is_dir():
        raise Skip("tracefs is for root alone")
    if not shutil.which("trace-cmd"):
        raise Skip("no trace-cmd")
    instance = TRACEFS / "instances" / f"sonde-test-{os.getpid()}"
    try:
        instance.mkdir()
    except OSError as error:
        raise Skip(f"tracefs: {error}") from error
    try:
        (instance / "events/sched/enable").write_text("1")
        subprocess.run(["sh", "-c", "for i in 1 2 3; do ls / >/dev/null; done"],
                       check=True)
        (instance / "tracing_on").write_text("0")
        files = pages_of(instance, scratch())
        (instance / "events/enable").write_text("0")
    finally:
        instance.rmdir()
    path = scratch() / "trace.dat"
    done = run("trace-cmd", "restore", "-o", path, *files)
    if done.returncode:
        raise Skip(f"trace-cmd restore: {done.stderr[-200:]}")
    return path


LINE = re.compile(r"\s*.*-(\d+)\s+\[(\d+)\]\s+(?:\S+\s+)?(\d+)\.(\d{9}): (\w+): +"
                  r"(.*)")


def theirs(path):
    """The events, and how many are missing."""
    out = []
    lost = 0
    for line in report(path, "-t", "-R"):
        dropped = re.match(r"CPU:\d+ \[(?:(\d+) )?EVENTS DROPPED\]",
                           line)
        if dropped:
            lost += int(dropped[1] or 0)
            continue
        found = LINE.match(line)
        check(found, f"trace-cmd says {line}")
        tid, cpu, seconds, ns, name, fields = found.groups()
        out.append((int(seconds + ns), int(cpu), int(tid), name, fields))
    return out, lost


@test
def events_are_those_that_trace_cmd_report_shows():
    path = recorded()
    all_theirs, lost = theirs(path)
    trace, words = convert(path)
    check_equal(told(words), (len(all_theirs), lost), words)
    events = exact_events(Trace(trace))
    ours = [(e.time, e.cpu, int(e.contexts["tid"]), e.name) for e in events]
    check_equal(sorted(ours), sorted(e[:4] for e in all_theirs), "events")
    switches = sorted(
        (e.time, e["prev_comm"], e["prev_tid"], e["prev_prio"] + 100,
         e["prev_state"], e["next_comm"], e["next_tid"], e["next_prio"] + 100)
        for e in events if e.name == "sched_switch")
    check(switches, "no switch at all")
    shown = []
    for ns, _, _, name, fields in all_theirs:
        if name == "sched_switch":
            got = re.match(r"prev_comm=(.*) prev_pid=(\d+) prev_prio=(\d+) "
                           r"prev_state=(\w+) next_comm=(.*) next_pid=(\d+) "
                           r"next_prio=(\d+)$", fields)
            numbers = [int(got[i], 0) for i in (2, 3, 4, 6, 7)]
            shown.append((ns, got[1], *numbers[:3], got[5], *numbers[3:]))
    check_equal(switches, sorted(shown), "switches")


# ---- one made by hand ----

HEADER_PAGE = b"""\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;
"""
HEADER_EVENT = b"""# compressed entry header
\ttype_len    :    5 bits
\ttime_delta  :   27 bits
\tarray       :   32 bits

\tpadding     : type == 29
\ttime_extend : type == 30
\tdata max type_len  == 28
"""
FORMAT = b"""name: one
ID: 300
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:int number;\toffset:8;\tsize:4;\tsigned:1;
\tfield:__data_loc char[] text;\toffset:12;\tsize:4;\tsigned:1;

print fmt: "number=%d text=%s", REC->number, __get_str(text)
"""
NAMES = b"7 seven\n9 nine\n"
MISSED, COUNTED = 1 << 31, 1 << 30
DATE, CPUSTAT, BUFFER, TRACECLOCK, UNAME, VERSION, TSC = 1, 2, 3, 4, 5, 9, 14


def one(delta, number, text=b"abc", tid=7, kind=300):
    body = struct.pack("<HBBiiHH", kind, 0, 0, tid, number, 16, len(text) + 1)
    body += text + b"\0"
    body += bytes(-len(body) % 4)
    return struct.pack("<I", delta << 5 | len(body) // 4) + body


def page(ns, *records, missed=None):
    data = b"".join(records)
    commit = len(data)
    if missed is not None:
        commit |= MISSED | (COUNTED if missed else 0)
        if missed:
            data += struct.pack("<Q", missed)
    return (struct.pack("<QQ", ns, commit) + data).ljust(4096, b"\0")


def piece(text):
    return struct.pack("<Q", len(text)) + text


def parts():
    """What versions have in common: header, ftrace's formats, formats, names."""
    return (b"header_page\0" + piece(HEADER_PAGE) + b"header_event\0"
            + piece(HEADER_EVENT), struct.pack("<I", 0),
            struct.pack("<I", 1) + b"test\0" + struct.pack("<I", 1)
            + piece(FORMAT), piece(NAMES))


def head(version):
    return b"\x17\x08\x44tracing" + version + b"\0\0\x08" + struct.pack("<I", 4096)


def option(kind, body):
    return struct.pack("<HI", kind, len(body)) + body


def version_6(cpus, options=(), clock=b"[local] global\0"):
    header, ftrace, formats, names = parts()
    first = (head(b"6") + header + ftrace + formats + struct.pack("<II", 0, 0)
             + names + struct.pack("<I", len(cpus)) + b"options  \0"
             + option(TRACECLOCK, clock)
             + b"".join(option(*each) for each in options)
             + struct.pack("<H", 0) + b"flyrecord\0")
    at = (len(first) + 16 * len(cpus) + 4095) // 4096 * 4096
    table, data = b"", b""
    for pages in cpus:
        table += struct.pack("<QQ", at + len(data), len(b"".join(pages)))
        data += b"".join(pages)
    return (first + table).ljust(at, b"\0") + data


def packed(content, by):
    done = zlib.compress(content) if by == "zlib" else subprocess.run(
        ["zstd", "-q", "-c"], input=content, check=True,
        stdout=subprocess.PIPE).stdout
    return struct.pack("<II", len(done), len(content)) + done


def version_7(buffers, options=(), by=None, clock=b"local\0"):
    """`buffers`: (name, pages of each CPU); compressed `by` what."""
    compressed = bool(by)
    out = bytearray(head(b"7"))
    out += (by.encode() + b"\x001.5\0" if by else b"none\0\0") + bytes(8)
    first_at = len(out) - 8
    found = []

    def section(kind, body):
        at = len(out)
        body = packed(body, by) if by else body
        out.extend(struct.pack("<HHIQ", kind, compressed, 0, len(body)) + body)
        return at

    for kind, body in zip((16, 17, 18, 21), parts()):
        found.append(option(kind, struct.pack("<Q", section(kind, body))))
    for name, cpus in buffers:
        at = len(out)
        out.extend(bytes(16))
        places = b""
        for cpu, pages in enumerate(cpus):
            out.extend(bytes(-len(out) % 4096))
            data = b"".join(pages)
            if compressed:  # two pages a chunk
                chunks = [data[i:i + 8192] for i in range(0, len(data), 8192)]
                data = struct.pack("<I", len(chunks)) + b"".join(
                    packed(chunk, by) for chunk in chunks)
            places += struct.pack("<IQQ", cpu, len(out), len(data))
            out.extend(data)
        out[at:at + 16] = struct.pack("<HHIQ", BUFFER, compressed, 0,
                                      len(out) - at - 16)
        found.append(option(BUFFER, struct.pack("<Q", at) + name + b"\0" + clock
                            + struct.pack("<II", 4096, len(cpus)) + places))
    found += [option(*each) for each in options]
    # options lead to more options
    second = section(0, b"".join(found[2:]) + option(0, bytes(8)))
    first = section(0, b"".join(found[:2]) + option(0, struct.pack("<Q", second)))
    struct.pack_into("<Q", out, first_at, first)
    return bytes(out)


def written(content, name="made.dat"):
    path = scratch() / name
    path.write_bytes(content)
    return path


CPUS = [[page(1000, one(0, 1), one(10, -2, b"")), page(3000, one(5, 3))],
        [page(500, one(0, 4, b"four", tid=9))], []]


def numbers(trace):
    return [(e.time, e.cpu, int(e.contexts["tid"]), e["number"], e["text"])
            for e in exact_events(Trace(trace)) if e.name == "one"]


EXPECTED = [(500, 1, 9, 4, "four"), (1000, 0, 7, 1, "abc"), (1010, 0, 7, -2, ""),
            (3005, 0, 7, 3, "abc")]


@test
def versions_and_compressed_files_say_the_same():
    made = {"6": version_6(CPUS), "7": version_7([(b"", CPUS)])}
    if shutil.which("zstd"):
        made["7z"] = version_7([(b"", CPUS)], by="zstd")
    made["zlib"] = version_7([(b"", CPUS)], by="zlib")
    for name, content in made.items():
        path = written(content, f"{name}.dat")
        trace, words = convert(path, name=name)
        check_equal(told(words), (4 + 2, 0), words)
        check_equal(numbers(trace), EXPECTED, name)
        names = {e["tid"]: e["name"] for e in Trace(trace).events(
            "lttng_statedump_process_state")}
        check_equal(names, {7: "seven", 9: "nine"}, name)
        # Debian's is built without zlib
        if name != "zlib" and shutil.which("trace-cmd"):
            shown = [e[:3] for e in theirs(path)[0]]
            check_equal(shown, [e[:3] for e in EXPECTED], "as trace-cmd has it")


@test
def instances_are_streams_and_those_by_another_clock_are_told():
    path = written(version_7([(b"", CPUS[:1]), (b"other", [[], CPUS[1][0:1]])]))
    trace, words = convert(path)
    check_equal(numbers(trace), EXPECTED, words)
    content = version_7([(b"", CPUS[:1]), (b"other", [[], CPUS[1]])])
    content = content.replace(b"other\0local", b"other\0boots")
    trace, words = convert(written(content), name="clocks")
    check('another clock than "local" is left out, 2 times' in words, words)
    check_equal(numbers(trace), EXPECTED[1:], words)


STAT = b"""CPU: %d
entries: 0
overrun: %d
commit overrun: 0
bytes: 100
oldest event ts:     1.000000
now ts:     2.000000
dropped events: 2
read events: 50
\0"""


@test
def losses_are_where_they_were_and_as_many_as_the_kernel_counted():
    cpus = [[page(1000, one(0, 1)), page(2000, one(0, 2), missed=5),
             page(3000, one(0, 3), missed=0)], [page(1500, one(0, 4))]]
    trace, words = convert(written(version_6(cpus)))
    check_equal(told(words)[1], 5, words)
    if shutil.which("trace-cmd"):
        check_equal(theirs(written(version_6(cpus[:1])))[1], 5, "trace-cmd's")
    check("at 1 places events were lost" in words, words)
    read = Trace(trace)
    check_equal(read.discarded(), 5, "lost")
    check("between [0.000001000] and [0.000003000]" in read.warnings,
          read.warnings)
    # 5 of the 9 that were overwritten are known to be before a page
    path = written(version_6(cpus, [(CPUSTAT, STAT % (0, 9)),
                                    (CPUSTAT, STAT % (1, 0))]), "stat.dat")
    trace, words = convert(path, name="stat")
    check_equal(told(words)[1], 9 + 2 + 2, words)
    check_equal(Trace(trace).discarded(), 13, "lost")


@test
def times_since_1970_and_of_a_counter_are_those_of_trace_cmd():
    us = 1_700_000_000_000_000
    for options, expect in (
            ([(DATE, b"0x%x\0" % us)], us * 1000 + 500),
            ([(DATE, b"0x%x\0" % us), (7, b"-250\0")], us * 1000 + 250),
            ([(TSC, struct.pack("<IIQ", 3 << 20, 20, 0))], 1500)):
        path = written(version_7([(b"", CPUS[1:2])], options), f"{expect}.dat")
        trace, words = convert(path, name=str(expect))
        check_equal([n[0] for n in numbers(trace)], [expect], words)
        if shutil.which("trace-cmd"):
            check_equal(theirs(path)[0][0][0], expect, "as trace-cmd has it")


@test
def the_machine_is_the_one_that_recorded():
    path = written(version_7([(b"", CPUS)], [
        (UNAME, b"Linux far 6.1.0-far x86_64\0"), (VERSION, b"3.1.6\0")]))
    trace, _ = convert(path)
    metadata = (trace / "metadata").read_text()
    for text in ('hostname = "far"', 'kernel_release = "6.1.0-far"',
                 'trace_cmd_version = "3.1.6"', 'trace_clock = "local"'):
        check(text in metadata, f"no {text}")


@test
def what_cannot_be_read_is_refused_with_the_remedy():
    good = version_6(CPUS)
    for content, said in (
            (good.replace(b"tracing6", b"tracing5"), "only 6 and 7"),
            (good.replace(b"6\0\0\x08", b"6\0\1\x08"), "another byte order"),
            (good[:300], "was cut off"),
            (good.replace(b"flyrecord", b"latency  "), "latency tracer"),
            (version_7([(b"", CPUS)]).replace(b"none\0\0", b"lz4x\0\0"),
             "--compression none"),
            (version_7([]), "no records"),
            (good.replace(b"type == 29", b"type == 28"), "another layout")):
        _, words = convert(written(content), expect=1)
        check(said in words and "made.dat" in words, words)


@test
def what_makes_no_sense_is_counted_and_the_rest_is_there():
    torn = page(2000, one(0, 2), one(0, 3))
    torn = torn[:8] + struct.pack("<Q", 40) + torn[16:]  # within the second
    cpus = [[page(1000, one(0, 1), one(0, 9, kind=301)), torn,
             page(3000, one(0, 5))]]
    trace, words = convert(written(version_6(cpus)))
    check("1 records or parts make no sense" in words, words)
    check("1 records are left out: the file has no format" in words, words)
    check_equal([n[3] for n in numbers(trace)], [1, 2, 5], words)


@test
def damaged_files_end_in_an_error_or_a_trace():
    seed = 21
    rng = random.Random(seed)
    by = "zstd" if shutil.which("zstd") else "zlib"
    for i in range(60):
        whole = (version_6(CPUS), version_7([(b"", CPUS)]),
                 version_7([(b"", CPUS)], by=by))[i % 3]
        content = bytearray(whole)
        for _ in range(rng.randrange(1, 6)):
            content[rng.randrange(len(content))] = rng.randrange(256)
        if i % 4 == 0:
            del content[rng.randrange(len(content)):]
        to = scratch() / f"damaged{i}"
        done = run(SONDE, "convert", written(content), "-o", to)
        check(done.returncode in (0, 1, 2), f"{i} of seed {seed}: "
              f"{done.returncode} {done.stderr}")
        if done.returncode == 0:
            Trace(to).text()


install()
main()
