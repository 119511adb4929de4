# SPDX-License-Identifier: MIT
"""ctf1_random.py - traces in CTF 1.8 by chance: all types nested in all ways,
several stream classes and clocks, headers of all kinds, packets with sizes and
without, metadata and index files as they come. A trace knows what a reader has
to show of it.
"""

import re
import struct
import uuid

from ctf1 import (Array, Enum, Float, Int, String, Struct, Uuid, Variant,
                  finish, make_alias, packed_metadata)
from ctf2 import Packet

MAX_LENGTHS = 10  # and tags, in each scope; the reader takes 64
NS = 10**9


class Scope:
    """What is being made: the structures around, and what is before it."""

    def __init__(self, name, outer=()):
        self.name = name
        self.around = []  # for each structure: pairs of a path and a length
        self.tags = []    # the same of tags
        self.own = []     # absolute paths to own lengths
        self.own_tags = []
        self.absolute = [pair for scope in outer for pair in scope.own]
        self.absolute_tags = [p for scope in outer for p in scope.own_tags]


class Maker:
    """Types by chance. An order of bits holds until the next byte begins, so
    what is not made of whole bytes has the trace's."""

    def __init__(self, rng, for_babeltrace):
        self.rng = rng
        self.for_babeltrace = for_babeltrace
        self.shortest = 1 if for_babeltrace else 0  # it shows stale strings
        self.order = rng.choice(["little-endian", "big-endian"])
        self.nr = 0
        self.types = []  # declared outside of all
        self.nr_lengths = 0

    def name(self):
        self.nr += 1
        return self.rng.choice(["", "_"]) + f"f{self.nr}"

    def number(self, size=None, **more):
        rng = self.rng
        align = 1 << rng.randrange(8) if rng.random() < 0.5 else 1
        # 61 bits in hexadecimal it shows as 0
        size = size or rng.choice([rng.randint(1, 60), 8, 16, 32, 63, 64])
        order = self.order
        if size % 8 == 0 and align % 8 == 0:
            order = rng.choice(["little-endian", "big-endian"])
        return Int(size, order, align,
                   **{"signed": rng.random() < 0.4,
                      "base": rng.choice([10, 8, 2] + [16] * (size != 63)),
                      "short": rng.random() < 0.5, **more})

    def make_enum(self):
        rng = self.rng
        number = self.number(base=10)
        labels, follows = [], 0
        for i in range(rng.randrange(1, 6)):
            low = rng.randint(number.low, number.high)
            if rng.random() < 0.4 and follows <= number.high:
                low = max(follows, number.low)
            high = min(number.high, low + rng.choice([0, 0, 3, 1 << 40]))
            name = rng.choice([f"l{i}", f"label {i}",
                               labels[-1][0] if labels else "_l"])
            labels.append((name, low, high))
            follows = high + 1
        kind = Enum(number, labels)
        edges = [v for _, low, high in labels for v in (low, high)]
        kind.choices = lambda rng: rng.choice(
            [*edges, number.low, rng.randint(number.low, number.high)])
        return kind

    def make_float(self):
        size = self.rng.choice([32, 64])
        align = self.rng.choice([1, 8, 32, 64])
        order = self.order
        if align >= 8:
            order = self.rng.choice(["little-endian", "big-endian"])
        return Float(size, order, align)

    def make_string(self):
        return String(self.shortest,
                      self.rng.choice(["", "UTF8", "ASCII"]))

    def element(self, depth, scope):
        if self.rng.random() < 0.3:
            return Int(8, self.order, 8, signed=self.rng.random() < 0.5,
                       more=self.rng.choice(["encoding = UTF8; ",
                                             "encoding = ASCII; "]))
        return self.make(depth + 1, scope)

    def make_array(self, depth, scope):
        return Array(self.element(depth, scope),
                     self.rng.randrange(self.shortest, 4),
                     shortest=self.shortest)

    def length(self):
        kind = self.number(self.rng.randint(3, 40), signed=False)
        kind.choices = lambda rng: rng.randint(self.shortest, 5)
        self.nr_lengths += 1
        return kind

    def choose_path(self, scope, own):
        """A length that is already there: near, around, or anywhere before."""
        pairs = own + [p for level in scope.around for p in level]
        if not self.for_babeltrace:
            pairs = pairs + scope.absolute + scope.own
        return self.rng.choice(pairs) if pairs else None

    def make_sequence(self, depth, scope, own, fields):
        found = self.rng.random() < 0.5 and self.choose_path(scope, own)
        if not found:
            name = self.name()
            found = name, self.length()
            fields.append((name, found[1]))
            own.append(found)
            if depth == 0:
                scope.own.append((f"{scope.name}.{name}", found[1]))
        scope.around.append(own)
        element = self.element(depth, scope)
        scope.around.pop()
        return Array(element, found[1], found[0], self.shortest)

    def make_tag(self):
        number = self.number(self.rng.randint(4, 64), base=10)
        start = self.rng.randint(number.low, number.high - 10)
        ranges = [(start, start), (start + 1, start + 4),
                  (start + 6, start + 6), (start + 7, start + 9)]
        names = ["x", "_y", "z", "x"]  # x has two ranges
        kind = Enum(number, [(n, *r) for n, r in zip(names, ranges)])
        kind.choices = lambda rng: rng.randint(*rng.choice(ranges))
        self.nr_lengths += 1
        return kind

    def make_variant(self, depth, scope, own, fields):
        around = [p for level in scope.tags for p in level]
        if not self.for_babeltrace:
            around += scope.absolute_tags + scope.own_tags
        if around and self.rng.random() < 0.5:
            path, tag = self.rng.choice(around)
        else:
            path, tag = self.name(), self.make_tag()
            fields.append((path, tag))
            scope.tags[-1].append((path, tag))
            if depth == 0:
                scope.own_tags.append((f"{scope.name}.{path}", tag))
        scope.around.append(own)
        options = [(n, self.make(depth + 1, scope)) for n in ("_y", "x", "z")]
        scope.around.pop()
        return Variant(tag, path, options)

    def make_struct(self, depth, scope, fields=()):
        rng = self.rng
        fields, own, before = list(fields), [], []
        scope.tags.append([])
        for _ in range(rng.randrange(1, 5 if depth else 8)):
            name = self.name()
            kind = rng.random()
            if kind < 0.15 and self.nr_lengths < MAX_LENGTHS:
                made = self.make_sequence(depth, scope, own, fields)
            elif kind < 0.25 and self.nr_lengths < MAX_LENGTHS:
                made = self.make_variant(depth, scope, own, fields)
            else:
                scope.around.append(own)
                made = self.make(depth + 1, scope)
                scope.around.pop()
            # babeltrace2 resolves no paths in named types, and knows no
            # `struct name { ... };` in a structure.
            simple = not self.for_babeltrace or not re.search(
                r"\[_?f|<", made.declare(""))
            if simple and rng.random() < 0.15:
                made = make_alias(made, f"t{self.nr}", rng,
                                  not self.for_babeltrace)
                before.append((len(fields), made.definition))
            fields.append((name, made))
            if isinstance(made, Struct) and not self.for_babeltrace:
                own += [(f"{name}.{n}", k) for n, k in made.fields
                        if any(k is length for _, length in made.own)]
        scope.tags.pop()
        out = Struct(fields, 1 << rng.randrange(8) if rng.random() < 0.3
                     else 1, before)
        out.own = own
        return out

    def make(self, depth, scope):
        rng = self.rng
        if depth < 4 and rng.random() < 0.25:
            return rng.choice([self.make_struct, self.make_array])(depth, scope)
        made = rng.choice([self.number, self.number, self.make_enum,
                           self.make_float, self.make_string])()
        if rng.random() < 0.15:
            made = make_alias(made, f"t{self.nr}_{len(self.types)}", rng)
            self.types.append(made.definition)
        return made


# ---- clocks ----

class Clock:
    def __init__(self, rng, name):
        self.name = name
        self.frequency = rng.choice([NS, NS, 10**6, 32768, 3333333333, 1000])
        self.offset_s = 1500000000 + rng.randrange(5)
        self.offset = rng.randrange(10 * self.frequency)

    def declare(self, rng):
        words = [f"name = {self.name};", f"freq = {self.frequency};",
                 f"offset_s = {self.offset_s};", f"offset = {self.offset};",
                 f'uuid = "{uuid.UUID(int=rng.getrandbits(128))}";',
                 'description = "made; up";', "precision = 5;",
                 "absolute = true;"]
        return f"clock {{ {' '.join(words)} }};"

    def ns(self, ticks):
        return (self.offset_s * NS + self.offset * NS // self.frequency +
                ticks * NS // self.frequency)

    def ticks(self, ns):
        base = self.ns(0)
        return max(0, (ns - base) * self.frequency // NS)


# ---- event headers: the structure, and how it is filled ----

class Plain:
    """id and time, as far as they are there, in any order and size; and, of
    babeltrace2 unknown, whatever else."""

    def __init__(self, maker, clock, nr_events, wide, scopes):
        rng = maker.rng
        mapped = f"map = clock.{clock.name}.value; " if clock else ""
        self.bits = 64 if wide else rng.choice([16, 27, 32, 48, 64])
        self.id = self.time = None
        fields = []
        if clock:
            self.time = maker.number(self.bits, signed=False, more=mapped)
            fields.append(("timestamp", self.time))
        if nr_events > 1 or rng.random() < 0.5:
            self.id = maker.number(rng.choice([6, 8, 16, 64]), signed=False)
            fields.append(("id", self.id))
        rng.shuffle(fields)
        self.type = Struct(fields, 8 if fields else 1)
        if not maker.for_babeltrace and rng.random() < 0.3:
            scope = Scope("stream.event.header", scopes)
            self.type = maker.make_struct(0, scope, fields)
            self.type = Struct(self.type.fields, 8, self.type.before)
            scopes.append(scope)

    def fill(self, number, ticks, _):
        if self.id:
            self.id.next = number
        if self.time:
            self.time.next = ticks & (1 << self.bits) - 1


class Lttng:
    """The two headers of LTTng: a short one, and an extended one."""

    def __init__(self, maker, clock, compact):
        mapped = f"map = clock.{clock.name}.value; "
        order = maker.order
        self.bits = 27 if compact else 32
        self.escape = 31 if compact else 65535
        number = Int(5, order, 1) if compact else Int(16, order, 8)
        self.tag = Enum(number, [("compact", 0, self.escape - 1),
                                 ("extended", self.escape, self.escape)])
        self.short = Int(self.bits, order, 1 if compact else 8, more=mapped)
        self.id = Int(32, order, 8)
        self.long = Int(64, order, 8, more=mapped)
        self.type = Struct([("id", self.tag), ("v", Variant(
            self.tag, "id", [
                ("compact", Struct([("timestamp", self.short)])),
                ("extended", Struct([("id", self.id),
                                     ("timestamp", self.long)]))]))], 8)

    def fill(self, number, ticks, delta):
        extended = delta >> self.bits or number >= self.escape
        self.tag.next = self.escape if extended else number
        self.id.next = number
        self.short.next = ticks & (1 << self.bits) - 1
        self.long.next = ticks


# ---- stream classes and streams ----

class StreamClass:
    def __init__(self, trace, number, clock):
        self.trace, self.number, self.clock = trace, number, clock
        maker, rng = trace.maker, trace.rng
        self.sizes = rng.choice(["both", "both", "content", "none"])
        self.begins = clock is not None and (
            trace.for_babeltrace or rng.random() < 0.8)
        scope = Scope("stream.packet.context", [trace.header_scope])
        self.context = maker.make_struct(0, scope) if rng.random() < 0.4 \
            else Struct([])
        self.roles = {}
        if self.sizes != "none" or self.begins or rng.random() < 0.7:
            self.add_roles()
        nr_events = rng.choice([1, 2, 5, 40])
        # a time without a begin, and one that can't start a new packet
        wide = not (self.begins and self.sizes != "none")
        scopes = [trace.header_scope, scope]
        if clock and not wide and rng.random() < 0.5:
            self.header = Lttng(maker, clock, nr_events < 31)
        else:
            self.header = Plain(maker, clock, nr_events, wide, scopes)
        self.common = self.make_scope("stream.event.context", scopes, 0.4)
        self.events = [self.make_event(i, scopes) for i in range(nr_events)]

    def make_scope(self, name, scopes, chance):
        maker = self.trace.maker
        maker.nr_lengths = 0
        if name == "event.context" and self.trace.for_babeltrace:
            maker.nr_lengths = MAX_LENGTHS  # it aborts at sequences there
        if maker.rng.random() > chance:
            return None
        scope = Scope(name, scopes)
        made = maker.make_struct(0, scope)
        scopes.append(scope)
        return made

    def make_event(self, number, scopes):
        scopes = list(scopes)
        context = self.make_scope("event.context", scopes, 0.2)
        fields = self.make_scope("event.fields", scopes, 0.95)
        empty = not self.header.type.fields  # an event has a bit at least
        if empty or self.trace.for_babeltrace and self.sizes != "both":
            # and leaves none, which babeltrace2 takes for an event's begin
            fields = Struct([*(fields.fields if fields else []),
                             ("end", String(1))], 8,
                            fields.before if fields else ())
        return number, f"s{self.number}:e{number}", context, fields

    def add_roles(self):
        names = {"both": ["content_size", "packet_size"],
                 "content": ["content_size"], "none": []}[self.sizes]
        maker = self.trace.maker
        mapped = ""
        if self.begins:
            names = names + ["timestamp_begin", "timestamp_end"]
            mapped = f"map = clock.{self.clock.name}.value; "
        names = names + ["cpu_id"]
        if not self.trace.for_babeltrace or self.sizes == "both":
            names += ["events_discarded", "packet_seq_num"]
        maker.rng.shuffle(names)
        for name in names:
            more = mapped if "timestamp" in name else ""
            kind = maker.number(64, signed=False, more=more)
            kind.choices = lambda rng: 0
            self.roles[name] = kind
            self.context.fields.append((name, kind))
        self.context = Struct(self.context.fields, self.context.minimum,
                              self.context.before)

    def declare(self):
        words = []
        if self.trace.stream_id:
            words.append(f"id = {self.number};")
        if self.context.fields:
            words.append(f"packet.context := {self.context.spec()};")
        if self.header.type.fields:
            words.append(f"event.header := {self.header.type.spec()};")
        if self.common:
            words.append(f"event.context := {self.common.spec()};")
        out = [f"stream {{ {' '.join(words)} }};"]
        for number, name, context, fields in self.events:
            words = [f'name = "{name}";']
            if len(self.events) > 1 or self.header.id:
                words.append(f"id = {number};")
            if self.trace.stream_id:
                words.append(f"stream_id = {self.number};")
            if context:
                words.append(f"context := {context.spec()};")
            if fields:
                words.append(f"fields := {fields.spec()};")
            out.append(f"event {{ {' '.join(words)} }};")
        return "\n".join(out)


class Stream:
    """A file: a list of packets, of events that are put one by one."""

    def __init__(self, trace, cls, number):
        self.trace, self.cls, self.number = trace, cls, number
        self.done = b""
        self.packet = None
        self.sequence = 0
        self.ticks = 0
        self.index = []

    def open(self, ticks):
        trace, roles = self.trace, self.cls.roles
        self.packet = Packet()
        for name, value in (("magic", 0xc1fc1fc1),
                            ("stream_id", self.cls.number),
                            ("stream_instance_id", self.number)):
            if name in trace.header_roles:
                trace.header_roles[name].next = value
        trace.header.put(self.packet, trace.rng)
        for name, value in (("packet_seq_num", self.sequence),
                            ("cpu_id", self.number),
                            ("timestamp_begin", ticks)):
            if name in roles:
                roles[name].next = value
        self.begin = self.ticks = ticks
        self.cls.context.put(self.packet, trace.rng)
        self.patches = {n: (k, k.at) for n, k in roles.items()}

    def patch(self, name, value):
        if name in self.patches:
            kind, kind.at = self.patches[name]
            kind.patch(self.packet, value)

    def close(self):
        content = self.packet.at
        if self.cls.sizes != "both":
            content += -content % 8
        self.packet.at = content
        padding = self.trace.rng.choice([0, 0, 256]) \
            if self.cls.sizes == "both" else 0
        size = content + -content % 8 + padding
        self.patch("content_size", content)
        self.patch("packet_size", size)
        self.patch("timestamp_end", self.ticks)
        self.index.append((len(self.done), size, content, self.begin,
                           self.ticks, 0, self.cls.number, self.number,
                           self.sequence))
        self.packet.at = size
        self.done += finish(self.packet)
        self.packet = None
        self.sequence += 1

    def event(self, ns):
        """Puts one event; returns what is to be shown."""
        cls, rng = self.cls, self.trace.rng
        ticks = cls.clock.ticks(ns) if cls.clock else 0
        wide = cls.sizes == "none" or not cls.begins
        far = isinstance(cls.header, Plain) and not wide and cls.clock and \
            (ticks - self.ticks) >> cls.header.bits
        may_end = cls.sizes != "none" and rng.random() < 0.1
        if self.packet and (far or may_end):
            self.close()
        if not self.packet:
            self.open(ticks)
        number, name, context, fields = rng.choice(cls.events)
        cls.header.fill(number, ticks, ticks - self.ticks)
        self.ticks = ticks
        cls.header.type.put(self.packet, rng)
        shown = {}
        for part in cls.common, context:
            shown.update(part.put(self.packet, rng) if part else {})
        payload = fields.put(self.packet, rng) if fields else {}
        time = cls.clock.ns(ticks) if cls.clock else None
        return {"time_ns": time, "event": name, "context": shown,
                "payload": payload}


class Trace:
    """A trace by chance. `for_babeltrace`: one that babeltrace2 2.0.4 reads
    without a fault of its own."""

    def __init__(self, rng, for_babeltrace, directory):
        self.rng, self.for_babeltrace = rng, for_babeltrace
        self.maker = Maker(rng, for_babeltrace)
        self.uuid = rng.randbytes(16)
        self.stream_id = rng.random() < 0.7
        self.clocks = [Clock(rng, f"c{i}") for i in range(rng.randrange(1, 4))]
        self.clockless = rng.random() < 0.15
        self.make_header()
        self.classes = [
            StreamClass(self, i, self.choose_clock())
            for i in range(rng.randint(1, 3) if self.stream_id else 1)]
        self.streams = [Stream(self, rng.choice(self.classes), i)
                        for i in range(rng.randint(1, 4))]
        self.expected = self.fill()
        self.write(directory)

    def choose_clock(self):
        if self.clockless:
            return None
        if not self.for_babeltrace and self.rng.random() < 0.2:
            return None
        return self.rng.choice(self.clocks)

    def make_header(self):
        rng, fields = self.rng, []
        self.header_roles = {}
        for name, size in (("magic", 32), ("stream_id", 32),
                           ("stream_instance_id", 64)):
            if name != "stream_id" and rng.random() < 0.3:
                continue
            if name == "stream_id" and not self.stream_id:
                continue
            kind = Int(size, self.maker.order, 8)
            self.header_roles[name] = kind
            fields.append((name, kind))
        self.has_uuid = rng.random() < 0.7
        if self.has_uuid:
            fields.insert(len(fields) and 1, ("uuid", Uuid(
                self.uuid, self.maker.order)))
        self.header_scope = Scope("trace.packet.header")
        if not self.for_babeltrace and rng.random() < 0.3:
            self.header = self.maker.make_struct(0, self.header_scope, fields)
        else:
            self.header = Struct(fields)

    def fill(self):
        """Events of all streams, in the order of time. Every clock tells any
        two of them apart."""
        slowest = min(c.frequency for c in self.clocks)
        now = max(c.ns(1) for c in self.clocks)
        out = []
        times = {stream: [] for stream in self.streams}
        for _ in range(self.rng.choice([20, 80])):
            now += NS // slowest * self.rng.choice([3, 3, 3, 50, 5000]) + 3
            times[self.rng.choice(self.streams)].append(now)
        # One stream after the other: lengths remember what was written last.
        for stream in self.streams:
            shown = [stream.event(now) for now in times[stream]]
            if stream.packet:
                stream.close()
            out += zip(times[stream] if stream.cls.clock else [0] * len(shown),
                       shown)
        out.sort(key=lambda pair: pair[0])
        return [shown for _, shown in out]

    def metadata(self):
        order = "le" if self.maker.order == "little-endian" else "be"
        words = ["major = 1;", "minor = 8;", f"byte_order = {order};"]
        if self.has_uuid:
            words.append(f'uuid = "{uuid.UUID(bytes=self.uuid)}";')
        if self.header.fields:
            words.append(f"packet.header := {self.header.spec()};")
        self.rng.shuffle(words)
        parts = ["trace { " + " ".join(words) + " };",
                 'env { hostname = "made"; big = -0x10; text = "a\\"b\\n"; };']
        parts += [c.declare(self.rng) for c in self.clocks]
        streams = [c.declare() for c in self.classes]
        if self.header.fields:  # it names types, too
            parts = self.maker.types + parts
        else:
            parts += self.maker.types
        return "\n".join(parts + streams) + "\n// the end\n"

    def write(self, directory):
        directory.mkdir(parents=True)
        text = self.metadata()
        first = self.rng.choice(["/* CTF 1.8 */", "/* CTF 1.8 */", ""])
        data = (first + "\n" + text).encode() if first or \
            not self.for_babeltrace else b"/* CTF 1.8 */\n" + text.encode()
        if self.has_uuid and self.rng.random() < 0.4:
            data = packed_metadata(
                text, self.uuid,
                self.rng.choice(["little-endian", "big-endian"]),
                self.rng.choice([256, 4096]))
        (directory / "metadata").write_bytes(data)
        for stream in self.streams:
            if stream.done:
                name = f"stream{stream.number}"
                (directory / name).write_bytes(stream.done)
                self.write_index(directory / "index", name, stream)

    def write_index(self, directory, name, stream):
        """None, a good one, one of other packets, or no index at all."""
        which = self.rng.choice(["none", "good", "wrong", "junk"])
        if which == "none" or self.for_babeltrace and which != "good":
            return
        directory.mkdir(exist_ok=True)
        entries = stream.index
        if which == "wrong":
            entries = [(e[0] + 8, e[1] + 64, *e[2:]) for e in entries]
        minor = self.rng.randrange(2)  # 1.1 has the last two numbers, too
        data = struct.pack(">IIII", 0xc1f1dcc1, 1, minor,
                           72 if minor else 56)
        data += b"".join(struct.pack(">9Q", *e)[:72 if minor else 56]
                         for e in entries)
        if which == "junk":
            data = self.rng.randbytes(100)
        (directory / f"{name}.idx").write_bytes(data)
