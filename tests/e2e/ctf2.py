# SPDX-License-Identifier: MIT
"""ctf2.py - writes traces in CTF 2, of any field classes, and says what was
written: a second, slow and simple account of the format for tests to hold the
reader against. Bits are written one by one, as the specification's decoding
procedures read them.
"""

import json
import pathlib
import struct


class Packet:
    """Bytes, written bit by bit."""

    def __init__(self):
        self.bytes = bytearray()
        self.at = 0  # bits

    def align(self, bits):
        self.at = (self.at + bits - 1) & -bits

    def put_bits(self, value, length, byte_order, bit_order):
        """The lowest `length` bits of a number."""
        for i in range(length):
            first = bit_order == "first-to-last"
            bit = value >> (i if first else length - 1 - i) & 1
            at, in_byte = divmod(self.at, 8)
            self.bytes.extend(bytes(max(0, at + 1 - len(self.bytes))))
            if byte_order == "big-endian":
                in_byte = 7 - in_byte
            self.bytes[at] |= bit << in_byte
            self.at += 1

    def put_bytes(self, data):
        self.align(8)
        for byte in data:
            self.put_bits(byte, 8, "little-endian", "first-to-last")


def bit_order(cls):
    return cls.get("bit-order", "first-to-last"
                   if cls["byte-order"] == "little-endian"
                   else "last-to-first")


def leb128(value, signed):
    out = bytearray()
    while True:
        byte = value & 0x7f
        value >>= 7
        done = value == (-(byte >> 6) if signed else 0)
        out.append(byte if done else byte | 0x80)
        if done:
            return bytes(out)


FLOATS = {16: "<e", 32: "<f", 64: "<d"}


def put_fixed(packet, cls, value):
    if "floating" in cls["type"]:
        value = int.from_bytes(struct.pack(FLOATS[cls["length"]], value),
                               "little")
    packet.align(cls.get("alignment", 1))
    packet.put_bits(value, cls["length"], cls["byte-order"], bit_order(cls))


def put_string(packet, cls, data):
    if cls["type"].startswith("null"):
        width = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[
            cls.get("encoding", "utf-8").removesuffix("le").removesuffix("be")]
        data += bytes(width)
    packet.put_bytes(data)


def alignment(cls):
    """The alignment that a field of this class requires."""
    kind = cls["type"]
    if kind == "structure":
        inner = [alignment(m["field-class"])
                 for m in cls.get("member-classes", [])]
        return max([cls.get("minimum-alignment", 1), *inner])
    if kind.endswith("array") and "bit" not in kind:
        return max(cls.get("minimum-alignment", 1),
                   alignment(cls["element-field-class"]))
    if kind.startswith("fixed"):
        return cls.get("alignment", 1)
    return 1 if kind in ("optional", "variant") else 8


def put(packet, cls, value):
    """Writes a value: a number, a float, bytes of a string or blob, a dict of
    members, a list of elements; of a variant a pair, the option's index and
    its value; of an optional the value, or None."""
    kind = cls["type"]
    if kind == "structure":
        packet.align(alignment(cls))
        for member in cls.get("member-classes", []):
            put(packet, member["field-class"], value[member["name"]])
    elif kind in ("static-length-array", "dynamic-length-array"):
        packet.align(alignment(cls))
        for element in value:
            put(packet, cls["element-field-class"], element)
    elif kind == "variant":
        put(packet, cls["options"][value[0]]["field-class"], value[1])
    elif kind == "optional":
        if value is not None:
            put(packet, cls["field-class"], value)
    elif kind.startswith("fixed"):
        put_fixed(packet, cls, value)
    elif kind.startswith("variable"):
        packet.put_bytes(leb128(value, kind.endswith("-signed-integer")))
    elif kind.endswith("string"):
        put_string(packet, cls, value)
    else:
        packet.put_bytes(value)


UINT = {"type": "fixed-length-unsigned-integer", "byte-order": "little-endian"}


def number(name, bits, *roles):
    return {"name": name, "field-class": {
        **UINT, "length": bits, "alignment": 8, "roles": list(roles)}}


CONTEXT = {"type": "structure", "member-classes": [
    number("begin", 64, "default-clock-timestamp"),
    number("end", 64, "packet-end-default-clock-timestamp"),
    number("total", 64, "packet-total-length"),
    number("content", 64, "packet-content-length")]}
HEADER = {"type": "structure", "member-classes": [
    number("id", 16, "event-record-class-id"),
    number("time", 64, "default-clock-timestamp")]}


def preamble(**more):
    return {"type": "preamble", "version": 2, **more}


def write_metadata(directory, fragments):
    directory = pathlib.Path(directory)
    directory.mkdir(exist_ok=True)
    (directory / "metadata").write_text(
        "".join(f"\x1e{json.dumps(f)}\n" for f in fragments))


def plain_header(which, time):
    return {"id": which, "time": time}


def write_trace(directory, payloads, events, aliases=(), whole=None,
                header=HEADER, fill=plain_header, times=None):
    """A trace with an event class for each payload's class, named event0,
    event1, ... `events` are pairs of a payload's index and its value; the
    first happens at 1 ns, the next at 2 ns, unless `times` says when.
    `aliases`: names and classes; `whole` are the payloads' classes without
    them, then. `fill` makes the value of a header."""
    packet = Packet()
    put(packet, CONTEXT, dict.fromkeys(("begin", "end", "total", "content"), 0))
    times = times or range(1, len(events) + 1)
    for time, (which, value) in zip(times, events):
        put(packet, header, fill(which, time))
        put(packet, (whole or payloads)[which], value)
    packet.align(8)
    packet.bytes.extend(bytes(packet.at // 8 - len(packet.bytes)))
    sizes = struct.pack("<QQQQ", 0, times[-1], 8 * len(packet.bytes),
                        8 * len(packet.bytes))
    packet.bytes[:32] = sizes
    write_metadata(directory, [
        preamble(),
        *({"type": "field-class-alias", "name": name, "field-class": cls}
          for name, cls in aliases),
        {"type": "clock-class", "id": "c", "frequency": 10**9},
        {"type": "data-stream-class", "default-clock-class-id": "c",
         "packet-context-field-class": CONTEXT,
         "event-record-header-field-class": header},
        *({"type": "event-record-class", "id": i, "name": f"event{i}",
           "payload-field-class": cls} for i, cls in enumerate(payloads))])
    (pathlib.Path(directory) / "stream").write_bytes(packet.bytes)
