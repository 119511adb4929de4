# SPDX-License-Identifier: MIT
"""ctf1.py - CTF 1.8 for tests to hold the reader against: types that know how
TSDL declares them and how their values are written, bit by bit.

A type's put(packet, rng) writes a value by chance, or the one in `next`, and
returns what a reader must show. Lengths and tags are integers that remember
what was written `last`.

spec() is what stands before a field's name, suffix() what stands behind it.
"""

import struct

from ctf2 import Packet

ORDERS = {"little-endian": "le", "big-endian": "be"}
LETTERS = "abz 'é€\"\\\n\t?%"


class Type:
    align = 1

    def suffix(self):
        return ""

    def declare(self, name):
        return f"{self.spec()} {name}{self.suffix()};"


class Int(Type):
    def __init__(self, size, order="little-endian", align=8, signed=False,
                 base=10, more="", short=False):
        self.size, self.order, self.align = size, order, align
        self.signed, self.base, self.more = signed, base, more
        self.short = short  # says only what is not the default
        self.low = -(1 << size - 1) if signed else 0
        self.high = self.low + (1 << size) - 1
        self.next = self.last = None
        self.at = 0
        self.choices = None  # a function of rng

    def spec(self):
        words = [f"size = {self.size};"]
        default = 8 if self.size % 8 == 0 else 1
        if not (self.short and self.align == default):
            words.append(f"align = {self.align};")
        if self.signed or not self.short:
            words.append(f"signed = {str(self.signed).lower()};")
        if self.order:
            words.append(f"byte_order = {ORDERS[self.order]};")
        if self.base != 10:
            words.append(f"base = {self.base};")
        return f"integer {{ {' '.join(words)} {self.more}}}"

    def pick(self, rng):
        if self.choices:
            return self.choices(rng)
        return rng.choice([self.low, self.high, rng.randint(0, self.high),
                           rng.randint(self.low, self.high)])

    def show(self, value):
        return value

    def put(self, packet, rng):
        value = self.pick(rng) if self.next is None else self.next
        packet.align(self.align)
        self.at, self.last = packet.at, value
        self.write(packet, value)
        return self.show(value)

    def write(self, packet, value):
        packet.put_bits(value, self.size, self.order, "first-to-last"
                        if self.order == "little-endian" else "last-to-first")

    def patch(self, packet, value):
        """Over the zero that was written last."""
        end = packet.at
        packet.at = self.at
        self.write(packet, value)
        packet.at = end


class Enum(Int):
    """labels: triples of name, low, high."""

    def __init__(self, number, labels):
        vars(self).update(vars(number))
        self.number, self.labels = number, labels

    def spec(self):
        out, follows = [], 0
        for name, low, high in self.labels:
            word = name if name.isidentifier() else f'"{name}"'
            if (low, high) != (follows, follows):
                word += f" = {low}" + (f" ... {high}" if high > low else "")
            follows = high + 1
            out.append(word)
        return f"enum : {self.number.spec()} {{ {', '.join(out)} }}"

    def show(self, value):
        names = [n for n, low, high in self.labels if low <= value <= high]
        return {"value": value, "label": names[0] if names else None}


class Float(Type):
    """Of 32 bits, it has the six digits that it can show."""

    def __init__(self, size, order, align):
        self.size, self.order, self.align = size, order, align

    def spec(self):
        mantissa = {32: 24, 64: 53}[self.size]
        return (f"floating_point {{ exp_dig = {self.size - mantissa}; "
                f"mant_dig = {mantissa}; align = {self.align}; "
                f"byte_order = {ORDERS[self.order]}; }}")

    def put(self, packet, rng):
        value = rng.choice([0.0, -1.5, 1e30, rng.uniform(-1e6, 1e6)])
        if self.size == 32:
            value = float(f"{value:.6g}")
        data = struct.pack("<f" if self.size == 32 else "<d", value)
        packet.align(self.align)
        packet.put_bits(int.from_bytes(data, "little"), self.size, self.order,
                        "first-to-last" if self.order == "little-endian"
                        else "last-to-first")
        return value


def some_text(rng, low, high):
    return "".join(rng.choice(LETTERS) for _ in range(rng.randint(low, high)))


class String(Type):
    align = 8

    def __init__(self, shortest, encoding=""):
        self.shortest, self.encoding = shortest, encoding

    def spec(self):
        return (f"string {{ encoding = {self.encoding}; }}" if self.encoding
                else "string")

    def put(self, packet, rng):
        text = some_text(rng, self.shortest, 12)
        packet.put_bytes(text.encode() + b"\0")
        return text


class Array(Type):
    """`length` is a number, or an Int that was written before, which `path`
    leads to. Characters are shown as a string."""

    def __init__(self, element, length, path=None, shortest=0):
        self.element, self.length, self.path = element, length, path
        self.align = element.align
        self.shortest = shortest
        self.is_text = "encoding" in getattr(element, "more", "")

    def spec(self):
        return self.element.spec()

    def suffix(self):
        return f"[{self.path or self.length}]{self.element.suffix()}"

    def put(self, packet, rng):
        nr = self.length.last if self.path else self.length
        packet.align(self.align)
        if not self.is_text:
            return [self.element.put(packet, rng) for _ in range(nr)]
        text = some_text(rng, min(nr, self.shortest), nr)
        while len(text.encode()) > nr:
            text = text[:-1]
        text = text or "z" * min(nr, self.shortest)
        data = text.encode()
        data += b"\0rest of it, never shown"[:nr - len(data)]
        packet.put_bytes(data.ljust(nr, b"x"))
        return text


class Uuid(Array):
    def __init__(self, value, order="little-endian"):
        super().__init__(Int(8, order), 16)
        self.value = value

    def put(self, packet, rng):
        packet.put_bytes(self.value)
        return list(self.value)


class Struct(Type):
    """fields: pairs of name (as TSDL has it) and type. `before` declares types
    inside, each before the field of that number."""

    def __init__(self, fields, minimum=1, before=()):
        self.fields, self.minimum, self.before = fields, minimum, before
        self.align = max([minimum, *(t.align for _, t in fields)])

    def body(self):
        words = []
        for i, (name, kind) in enumerate(self.fields):
            words += [text for at, text in self.before if at == i]
            words.append(kind.declare(name))
        align = f" align({self.minimum})" if self.minimum > 1 else ""
        return "{ " + " ".join(words) + " }" + align

    def spec(self):
        return "struct " + self.body()

    def put(self, packet, rng):
        packet.align(self.align)
        return {shown_name(name): kind.put(packet, rng)
                for name, kind in self.fields}


def shown_name(name):
    return name[1:] if name.startswith("_") else name


class Variant(Type):
    """options: pairs of a name that is a label of the tag, and a type."""

    def __init__(self, tag, path, options):
        self.tag, self.path, self.options = tag, path, options

    def body(self):
        return "{ " + " ".join(t.declare(n) for n, t in self.options) + " }"

    def spec(self):
        return f"variant <{self.path}> {self.body()}"

    def put(self, packet, rng):
        label = self.tag.show(self.tag.last)["label"]
        name, kind = next(o for o in self.options if o[0] == label)
        return {shown_name(name): kind.put(packet, rng)}


class Alias(Type):
    """Another type under a name; `definition` is the line that names it."""

    def __init__(self, kind, name, definition):
        self.kind, self.name, self.definition = kind, name, definition
        self.align = kind.align

    def spec(self):
        return self.name

    def put(self, packet, rng):
        return self.kind.put(packet, rng)


def make_alias(kind, name, rng, tagged=True):
    """One of the ways to name a type; `tagged`: also as `struct name`."""
    if tagged and isinstance(kind, (Struct, Enum)) and rng.random() < 0.5:
        word, rest = kind.spec().split(" ", 1)
        name = f"{word} {name}"
        return Alias(kind, name, f"{name} {rest};")
    if kind.suffix() or rng.random() < 0.5:
        return Alias(kind, name,
                     f"typedef {kind.spec()} {name}{kind.suffix()};")
    return Alias(kind, name, f"typealias {kind.spec()} := {name};")


# ---- containers ----

def packed_metadata(text, uuid, order, packet_bytes=256):
    """Metadata in packets."""
    end = "<" if order == "little-endian" else ">"
    room = packet_bytes - 37
    data = text.encode()
    out = b""
    for at in range(0, len(data), room):
        part = data[at:at + room]
        out += struct.pack(end + "I16sIIIBBBBB", 0x75d11d57, uuid, 0,
                           (37 + len(part)) * 8, packet_bytes * 8,
                           0, 0, 0, 1, 8) + part.ljust(room, b"\0")
    return out


def finish(packet):
    """The packet's bytes."""
    packet.align(8)
    packet.bytes.extend(bytes(packet.at // 8 - len(packet.bytes)))
    return bytes(packet.bytes)
