#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_damage.py - a damaged trace is read up to the damage, and no further
than is safe. damage.c does it by the thousand in one process (best of all under
sanitizers); here are the traces that it damages, and what the programs say."""

import random
import shutil
import struct
import subprocess

from sonde import BUILD, SONDE, build, check, install, record_ok, scratch
from harness import check_equal, long_test, main, test

DRIVER = str(BUILD / "tests/e2e/damage")
STEP = 997
MUTATIONS = 10000

# ---- a trace as LTTng's kernel tracer writes it ----

LTTNG = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
typealias integer { size = 5; align = 1; signed = false; } := uint5_t;
typealias integer { size = 27; align = 1; signed = false; } := uint27_t;
trace {
	major = 1;
	minor = 8;
	uuid = "0f0e0d0c-0b0a-0908-0706-050403020100";
	byte_order = le;
	packet.header := struct {
		uint32_t magic;
		uint8_t  uuid[16];
		uint32_t stream_id;
		uint64_t stream_instance_id;
	};
};
env { domain = "kernel"; tracer_name = "lttng-modules"; tracer_major = 2;
	tracer_minor = 13; };
clock { name = "monotonic"; freq = 1000000000;
	offset = 1795161994027399675; };
typealias integer { size = 27; align = 1; signed = false;
	map = clock.monotonic.value; } := uint27_clock_t;
typealias integer { size = 64; align = 8; signed = false;
	map = clock.monotonic.value; } := uint64_clock_t;
struct packet_context {
	uint64_clock_t timestamp_begin;
	uint64_clock_t timestamp_end;
	uint64_t content_size;
	uint64_t packet_size;
	uint64_t packet_seq_num;
	uint64_t events_discarded;
	uint32_t cpu_id;
};
struct event_header_compact {
	enum : uint5_t { compact = 0 ... 30, extended = 31 } id;
	variant <id> {
		struct { uint27_clock_t timestamp; } compact;
		struct { uint32_t id; uint64_clock_t timestamp; } extended;
	} v;
} align(8);
stream {
	id = 0;
	event.header := struct event_header_compact;
	packet.context := struct packet_context;
	event.context := struct {
		integer { size = 32; align = 8; signed = 1; } _tid;
		integer { size = 8; align = 8; encoding = UTF8; } _procname[16];
	};
};
event { name = "sched_switch"; id = 0; stream_id = 0; fields := struct {
	integer { size = 8; align = 8; encoding = UTF8; } _prev_comm[16];
	integer { size = 32; align = 8; signed = 1; } _prev_tid;
	integer { size = 64; align = 8; signed = 1; } _prev_state; }; };
event { name = "syscall_entry_open"; id = 1; stream_id = 0; fields := struct {
	string _filename;
	enum : integer { size = 8; align = 8; } { RDONLY = 0, WRONLY = 1 } _flags;
	integer { size = 16; align = 8; base = 16; } _mode; }; };
event { name = "net_dev_queue"; id = 2; stream_id = 0; fields := struct {
	integer { size = 8; align = 8; } _length;
	integer { size = 16; align = 8; byte_order = be; } _ports[ _length ];
	enum : integer { size = 8; align = 8; } { ipv4 = 4, ipv6 = 6 } _kind;
	variant <_kind> {
		struct { uint32_t _saddr; } ipv4;
		struct { uint8_t _saddr[16]; } ipv6;
	} _header; }; };
"""


class Packet:
    """A packet being put together; times are clock ticks."""

    def __init__(self, begin, sequence, cpu):
        self.begin, self.sequence, self.cpu = begin, sequence, cpu
        self.now = begin
        self.events = b""

    def event(self, number, fields, after=1000):
        self.now += after
        if after < 1 << 26:
            header = struct.pack("<I", number | (self.now << 5) & 0xffffffff)
        else:
            header = struct.pack("<BIQ", 31, number, self.now)
        self.events += header + struct.pack("<i16s", 100 + number,
                                            b"worker") + fields

    def bytes(self, size):
        content = 84 + len(self.events)
        check(content <= size, "the packet is too small for its events")
        head = struct.pack("<I", 0xc1fc1fc1) + bytes(range(15, -1, -1))
        head += struct.pack("<IQQQQQQQI", 0, self.cpu, self.begin, self.now,
                            content * 8, size * 8, self.sequence, 0, self.cpu)
        return (head + self.events).ljust(size, b"\0")


def add_event(packet, rng):
    kind = rng.randrange(3)
    after = 1 << 27 if rng.randrange(20) == 0 else rng.randrange(1, 100000)
    if kind == 0:
        fields = struct.pack("<16siq", b"swapper/0", rng.randrange(-1, 9999),
                             rng.randrange(-5, 5))
    elif kind == 1:
        name = b"/etc/" + b"x" * rng.randrange(30)
        fields = name + b"\0" + struct.pack("<BH", rng.randrange(2), 0o644)
    else:
        ports = [rng.randrange(65536) for _ in range(rng.randrange(6))]
        fields = bytes([len(ports)]) + struct.pack(f">{len(ports)}H", *ports)
        if rng.randrange(2):
            fields += struct.pack("<BI", 4, 0x7f000001)
        else:
            fields += bytes([6]) + bytes(range(16))
    packet.event(kind, fields, after)


def lttng_trace():
    """Two CPUs, three packets of 4 KiB each."""
    rng = random.Random(3)
    directory = scratch() / "kernel"
    directory.mkdir()
    (directory / "metadata").write_text(LTTNG)
    for cpu in range(2):
        stream = b""
        now = 1 << 40
        for sequence in range(3):
            packet = Packet(now, sequence, cpu)
            for _ in range(50):
                add_event(packet, rng)
            now = packet.now + 1
            stream += packet.bytes(4096)
        (directory / f"channel0_{cpu}").write_bytes(stream)
    return directory


def sonde_trace():
    return record_ok(build(r"""
#include <sonde/tracepoint.h>
int main(void)
{
	static const char *const names[] = { "", "a", "a longer one" };

	for (int i = 0; i < 300; i++) {
		sonde_event(some, numbers, i, sonde_hex(h, i * 3L));
		sonde_event(some, text, sonde_string(s, names[i % 3]), i);
		sonde_event(some, list, sonde_sequence(l, names[2], i % 9));
	}
	return 0;
}
""")).dir


# ---- damage by the thousand ----

def damage(trace, mutations):
    run = subprocess.run([DRIVER, str(trace), str(STEP), str(mutations), "1"],
                         text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    check_equal(run.returncode, 0, f"damage: {run.stderr}")
    lines = run.stdout.splitlines()
    check(int(lines[0].split()[2]) >= 100, f"too few events: {lines[0]}")
    check_equal(lines[2], f"{mutations} changed bytes", "mutations")


@long_test
def what_is_before_the_damage_in_sonde_s_traces_is_intact():
    damage(sonde_trace(), MUTATIONS)


@long_test
def what_is_before_the_damage_in_lttng_s_traces_is_intact():
    damage(lttng_trace(), MUTATIONS)


# ---- what the programs say ----

def sonde(*words):
    return subprocess.run([SONDE, *map(str, words)], text=True, timeout=240,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def damaged_copy(trace, stream, change):
    copy = scratch() / "copy"
    shutil.copytree(trace, copy)
    path = copy / stream
    path.write_bytes(change(path.read_bytes()))
    return copy


@test
def a_sound_trace_is_called_sound():
    for trace in sonde_trace(), lttng_trace():
        run = sonde("check", "--strict", trace)
        check_equal(run.returncode, 0, run.stdout + run.stderr)
        check("unsound" not in run.stdout, run.stdout)


@test
def a_cut_trace_is_called_unsound_and_shown_up_to_the_cut():
    trace = lttng_trace()
    whole = sonde("print", "--json", trace).stdout.splitlines()
    check(len(whole) == 300, f"{len(whole)} events")
    for size in range(0, 3 * 4096, STEP):
        cut = damaged_copy(trace, "channel0_1", lambda old: old[:size])
        run = sonde("check", cut)
        check_equal(run.returncode, 0 if size % 4096 == 0 else 3,
                    f"cut to {size} bytes: {run.stdout}{run.stderr}")
        shown = sonde("print", "-q", "--json", cut)
        check_equal(shown.returncode, 0, shown.stderr)
        lines = shown.stdout.splitlines()
        rest = iter(whole)
        check(150 <= len(lines) <= 300 and all(x in rest for x in lines),
              f"cut to {size} bytes: {len(lines)} events, or others")


@test
def damage_is_told_with_file_byte_and_packet():
    trace = lttng_trace()

    def no_magic(old):
        return old[:4096] + b"\0\0\0\0" + old[4100:]
    run = sonde("check", damaged_copy(trace, "channel0_0", no_magic))
    check_equal(run.returncode, 3, "status")
    line = next(x for x in run.stdout.splitlines() if "magic" in x
                and "channel0_0" in x)
    words = line.replace(",", "").split()
    check(words[:5] == ["error", "head", "channel0_0", "1", "4100"], line)


@test
def warnings_are_no_failure_but_for_strict_checks():
    trace = lttng_trace()
    (trace / "index").mkdir()
    (trace / "index/channel0_0.idx").write_bytes(b"no index")
    check_equal(sonde("check", trace).returncode, 0, "check")
    check_equal(sonde("check", "--strict", trace).returncode, 3, "--strict")


install()
main()
