# SPDX-License-Identifier: MIT
"""handmade.py - small traces in CTF 1.8, bit by bit, for tests that need more
kinds of them than Sonde records: other headers, alignments and byte orders,
lost events, lost packets.

    layout = Layout(header=[("id", 8, 8), ("time", 64, 8)],
                    events={"app:begin": [("addr", 64, 8)], "app:end": []})
    trace = Handmade(layout)
    with trace.stream("cpu0", cpu=0) as stream:
        with stream.packet(begin=100, end=900, discarded=0):
            stream.event("app:begin", 150, addr=0x1234)
    trace.dir

A field is (name, bits, align); bits may be "string". The time in a header may
have fewer bits than 64; with header="compact" it is LTTng's with 5 and 27. Time
counts nanoseconds since 1970. All events have the fields of layout.context, too,
and those of layout.own_context, as a context of the event class.
A field `addr` is hexadecimal.
"""

import contextlib
import pathlib

from sonde import scratch

UUID = bytes(range(16))


class Bits:
    """Bits in a byte order, and positions in them."""

    def __init__(self, big):
        self.big = big
        self.bits = []

    def align(self, align):
        while len(self.bits) % align:
            self.bits.append(0)

    def number(self, value, bits, align=1):
        self.align(align)
        value &= (1 << bits) - 1
        low_first = [value >> i & 1 for i in range(bits)]
        self.bits += reversed(low_first) if self.big else low_first

    def string(self, text):
        self.align(8)
        for byte in text.encode() + b"\0":
            self.number(byte, 8)

    def set(self, at, value, bits):
        kept = self.bits
        self.bits = []
        self.number(value, bits)
        kept[at:at + bits] = self.bits
        self.bits = kept

    def bytes(self):
        self.align(8)
        out = bytearray()
        for i in range(0, len(self.bits), 8):
            byte = self.bits[i:i + 8]
            if self.big:
                byte = byte[::-1]
            out.append(sum(bit << k for k, bit in enumerate(byte)))
        return bytes(out)


COMPACT = """struct {
    enum : integer { size = 5; align = 1; } { small = 0 ... 30, large = 31 } id;
    variant <id> {
        struct { integer { size = 27; align = 1; map = clock.c.value; } t; }
            small;
        struct {
            integer { size = 32; align = 8; } id;
            integer { size = 64; align = 8; map = clock.c.value; } t;
        } large;
    } v;
} align(8)"""


def declare(field, time=False):
    name, bits, align = field
    if bits == "string":
        return f"string _{name};"
    more = " map = clock.c.value;" if time else ""
    if name == "addr":
        more += " base = 16;"
    return f"integer {{ size = {bits}; align = {align};{more} }} _{name};"


class Layout:
    def __init__(self, events, header="compact", context=(), big=False,
                 own_context=()):
        self.events = events
        self.header = header
        self.context = list(context)
        self.own_context = list(own_context)
        self.big = big

    def header_text(self):
        if self.header == "compact":
            return COMPACT
        fields = [declare(f, f[0] == "time").replace("_time", "timestamp")
                  .replace("_id", "id") for f in self.header]
        return "struct { " + " ".join(fields) + " }"

    def metadata(self, env=()):
        text = "/* CTF 1.8 */\ntrace { major = 1; minor = 8; uuid = \"" + (
            "00010203-0405-0607-0809-0a0b0c0d0e0f\"; byte_order = "
            f"{'be' if self.big else 'le'};\n"
            "packet.header := struct { "
            "integer { size = 32; align = 8; } magic; "
            "integer { size = 8; align = 8; } uuid[16]; "
            "integer { size = 32; align = 8; } stream_id; "
            "integer { size = 64; align = 8; } stream_instance_id; }; };\n")
        text += "env { hostname = \"made\"; " + " ".join(
            f'{k} = {v};' if isinstance(v, int) else f'{k} = "{v}";'
            for k, v in env) + " };\n"
        text += "clock { name = c; freq = 1000000000; };\n"
        head = "integer { size = 64; align = 8;"
        text += ("stream { id = 0; event.header := " + self.header_text() +
                 ";\npacket.context := struct { "
                 f"{head} map = clock.c.value; }} timestamp_begin; "
                 f"{head} map = clock.c.value; }} timestamp_end; "
                 f"{head} }} content_size; {head} }} packet_size; "
                 f"{head} }} packet_seq_num; {head} }} events_discarded; "
                 "integer { size = 32; align = 8; } cpu_id; };\n")
        if self.context:
            text += ("event.context := struct { " +
                     " ".join(map(declare, self.context)) + " };\n")
        text += "};\n"
        own = ("context := struct { " +
               " ".join(map(declare, self.own_context)) + " }; "
               if self.own_context else "")
        for i, (name, fields) in enumerate(self.events.items()):
            text += (f'event {{ name = "{name}"; id = {i}; stream_id = 0; {own}'
                     "fields := struct { " + " ".join(map(declare, fields)) +
                     " }; };\n")
        return text


class Stream:
    def __init__(self, layout, number, cpu):
        self.layout = layout
        self.number = number
        self.cpu = cpu
        self.bytes = b""
        self.sequence = 0

    @contextlib.contextmanager
    def packet(self, begin, end, discarded=0, lost_packets=0, padding=0):
        self.sequence += lost_packets
        bits = self.bits = Bits(self.layout.big)
        bits.number(0xc1fc1fc1, 32)
        for byte in UUID:
            bits.number(byte, 8)
        bits.number(0, 32)
        bits.number(self.number, 64)
        bits.number(begin, 64)
        bits.number(end, 64)
        sizes = len(bits.bits)
        bits.number(0, 128)
        bits.number(self.sequence, 64)
        bits.number(discarded, 64)
        bits.number(self.cpu, 32)
        yield
        bits.set(sizes, len(bits.bits), 64)
        bits.align(8)
        bits.number(0, 8 * padding)
        bits.set(sizes + 64, len(bits.bits), 64)
        self.bytes += bits.bytes()
        self.sequence += 1

    def event(self, name, time, context=None, own=None, /, **fields):
        layout, bits = self.layout, self.bits
        number = list(layout.events).index(name)
        if layout.header == "compact":
            bits.number(number, 5, 8)
            bits.number(time, 27)
        else:
            bits.align(max(f[2] for f in layout.header))
            for what, size, align in layout.header:
                bits.number(time if what == "time" else number, size, align)
        self._struct(layout.context, context or {})
        self._struct(layout.own_context, own or {})
        self._struct(layout.events[name], fields)

    def _struct(self, declared, values):
        self.bits.align(max([8 if f[1] == "string" else f[2]
                             for f in declared], default=1))
        for name, size, align in declared:
            if size == "string":
                self.bits.string(values[name])
            else:
                self.bits.number(values[name], size, align)


class Handmade:
    def __init__(self, layout, env=()):
        self.layout = layout
        self.dir = pathlib.Path(scratch()) / "trace"
        self.dir.mkdir()
        (self.dir / "metadata").write_text(layout.metadata(env))
        self.nr_streams = 0

    @contextlib.contextmanager
    def stream(self, name, cpu=0):
        stream = Stream(self.layout, self.nr_streams, cpu)
        self.nr_streams += 1
        yield stream
        (self.dir / name).write_bytes(stream.bytes)
