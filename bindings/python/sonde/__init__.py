# SPDX-License-Identifier: MIT
"""sonde - events of Python programs, recorded by Sonde.

    import sonde

    request = sonde.Event("http", "request", status=int, path=str, seconds=float)

    request(status=200, path="/", seconds=0.01)

names the event http:request and says what its fields are; each call records one,
if somebody records it (`sonde record -- python3 job.py`, `sonde record -p PID`).
Else it is a test of one number. What takes work to prepare goes behind

    if request.enabled: ...

A field is one of

    int         64 bits, signed          sonde.hex   64 bits, shown in hexadecimal
    bool        float                    str         bytes
    an IntEnum  its number, with the names as labels
    list[int], list[float]               a sequence

An event has 0 to 32 fields. Two events of one name must be the same.

A call never raises an exception on account of what it is given: a value that its
field can't hold makes it an event sonde_python:failed, which says which and why.

sonde.Handler() is a handler for the module logging: each record becomes an event
python_log:LEVEL.

sonde.Monitor() records which functions are called, from Python 3.12 on; so does
`python3 -m sonde SCRIPT`.

Where there is no libsonde, sonde.missing says why, and events are lines of text to
what SONDE_MARK names (docs/python.md); sonde.lost() is how many of these came nowhere.
Without that, they are never enabled.
"""

import enum
import logging
import operator
import re
import struct
import typing
from ctypes import CDLL, POINTER, Structure, addressof, byref, c_char_p, \
    c_size_t, c_uint32, c_uint64, c_void_p

from . import _marks
from ._monitor import Monitor

__all__ = ["Event", "Handler", "Level", "Monitor", "hex", "lost", "missing"]


class Level(enum.IntEnum):
    """How urgent an event is."""
    EMERG = 0
    ALERT = 1
    CRIT = 2
    ERR = 3
    WARNING = 4
    NOTICE = 5
    INFO = 6
    DEBUG = 14


class hex(int):  # pylint: disable=invalid-name
    """The type of fields that are shown in hexadecimal."""


# ---- libsonde: include/sonde/abi.h ----

class _Site(Structure):
    _fields_ = [("state", c_void_p), ("desc", c_void_p)]


class _Part(Structure):
    _fields_ = [("data", c_char_p), ("size", c_uint32), ("flags", c_uint32)]


def _load():
    """The library, or None; and why not."""
    try:
        library = CDLL("libsonde.so.0")
    except OSError as why:
        return None, str(why)
    library.sonde_register.argtypes = [POINTER(_Site), c_size_t]
    library.sonde_register.restype = None
    library.sonde_emit_block.argtypes = [c_uint32, c_char_p, c_uint64]
    library.sonde_emit_block.restype = None
    library.sonde_emit_parts.argtypes = [c_uint32, POINTER(_Part), c_size_t]
    library.sonde_emit_parts.restype = None
    return library, None


_library, missing = _load()
_say = None if _library else _marks.look()


def lost():
    """How many events came nowhere, of those that were said without libsonde; what
    libsonde loses, the trace says."""
    return _marks.lost()


_MAGIC = b"\x7fSoNdE\x01\n"
_ABI_VERSION = 1
_DESC_MAX = 16384
_FIELDS_MAX = 32
_WHY_MAX = 200  # of a line, with two names
# sonde_emit_block() takes payloads below that, and reads so many bytes at least
_BLOCK_MAX = 1 << 20
_BLOCK_READ = 32

# enum sonde_type, and flags of fields
_INT, _FLOAT, _STRING, _SEQUENCE, _BLOB, _ENUM = 1, 2, 3, 6, 7, 8
_SIGNED, _HEX, _BOOL = 1, 2, 8

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def _text(name):
    return name.encode("ascii") + b"\0"


def _record(name, kind, bits, flags, count=0, extra=b""):
    """A field's record: struct sonde_desc_field, its name, and what follows."""
    text = name.encode() + b"\0"
    return struct.pack("=IIHBBI", 16 + len(text) + len(extra), count, len(text),
                       bits, kind, flags) + text + extra


def _labels(of):
    """The labels of an IntEnum."""
    return b"".join(struct.pack("=qqII", m.value, m.value,
                                len(m.name.encode()) + 1, 0) +
                    m.name.encode() + b"\0" for m in of)


def _terminated(value):
    """A string ends at its first NUL."""
    return value.encode("utf-8", "surrogateescape").partition(b"\0")[0] + b"\0"


def _counted(value):
    return struct.pack("=I", len(value)) + bytes(value)


def _packer(form):
    return struct.Struct("=" + form).pack


def _sequence(form):
    def encode(values):
        return struct.pack(f"=I{len(values)}{form}", len(values), *values)
    return encode


def _field(name, kind):
    """Its record, and the function that makes a value bytes."""
    if not _NAME.match(name):
        raise ValueError(f"sonde: {name!r} is no name of a field")
    element, = typing.get_args(kind) if typing.get_origin(kind) is list \
        else (None,)
    if kind is bool:
        return _record(name, _INT, 8, _BOOL), _packer("?")
    if kind is int:
        return _record(name, _INT, 64, _SIGNED), _packer("q")
    if kind is hex:
        return _record(name, _INT, 64, _HEX), _packer("Q")
    if kind is float:
        return _record(name, _FLOAT, 64, 0), _packer("d")
    if kind is str:
        return _record(name, _STRING, 0, 0), _terminated
    if kind is bytes:
        return _record(name, _BLOB, 0, 0), _counted
    if element is int:
        return _record(name, _SEQUENCE, 0, 0, 0,
                       _record("", _INT, 64, _SIGNED)), _sequence("q")
    if element is float:
        return _record(name, _SEQUENCE, 0, 0, 0,
                       _record("", _FLOAT, 64, 0)), _sequence("d")
    if isinstance(kind, type) and issubclass(kind, enum.IntEnum) and len(kind):
        return _record(name, _ENUM, 64, _SIGNED, len(kind),
                       _labels(kind)), _packer("q")
    raise TypeError(f"sonde: {name}: no field can be of type {kind!r}")


# ---- without libsonde: a line of text (docs/marks.md) ----

_SPOKEN = {
    bool: lambda value: f"{bool(value):d}",
    hex: lambda value: f"{operator.index(value):#x}",
    float: lambda value: _marks.real(float(value)),
    str: _marks.quoted,
    bytes: lambda value: _marks.quoted(bytes(value).hex()),
}


def _word_of(kind):
    """The function that says a value, which fits the field."""
    if typing.get_origin(kind) is list:
        element = float if typing.get_args(kind)[0] is float else operator.index
        return lambda values: _marks.quoted(str([element(v) for v in values]))
    return _SPOKEN.get(kind, lambda value: str(operator.index(value)))


def _spoken(name, kind, encode):
    """The function that makes a value a field of a line; what doesn't fit is what
    libsonde's field can't hold."""
    say = _word_of(kind)

    def speak(value):
        encode(value)
        return f" {name}={say(value)}"
    return speak


# ---- events ----

def _description(provider, name, level, records):
    names = _text(provider) + _text(name)
    size = 24 + len(names) + sum(map(len, records))
    padding = -size % 8
    if size + padding > _DESC_MAX:
        raise ValueError(f"sonde: {provider}:{name}: its description is too "
                         "long")
    return struct.pack("=8sIIHHHBB", _MAGIC, size + padding, 0,
                       len(provider) + 1, len(name) + 1, len(records),
                       level, _ABI_VERSION) + names + b"".join(records) + \
        bytes(padding)


# The zero that events look at which nobody knows, and what libsonde was told: it
# is told once, and for good.
_off = c_uint32(0)
_known = []


def _word(address):
    """The 32-bit word there, as a list of one: the quickest way to look at it."""
    return memoryview((c_uint32 * 1).from_address(address)).cast("B").cast("I")


def _register(description):
    """The state word, which says whether somebody records the event."""
    if not _library:
        return _word(addressof(_off))
    room = (c_uint64 * (len(description) // 8)).from_buffer_copy(description)
    site = _Site(addressof(_off), addressof(room))
    _known.append((room, site))
    _library.sonde_register(byref(site), 1)
    return _word(site.state)


class Event:
    """An event, by its name and its fields; see the module."""

    __slots__ = ("name", "_fields", "_encode", "_state", "_begin", "__weakref__")

    def __init__(self, provider, name, level=Level.INFO, /, **fields):
        for word in provider, name:
            if not _NAME.match(word) or len(word) > 254:
                raise ValueError(f"sonde: {word!r} is no name of an event")
        if len(fields) > _FIELDS_MAX:
            raise ValueError(f"sonde: an event has at most {_FIELDS_MAX} fields")
        made = [_field(*field) for field in fields.items()]
        description = _description(provider, name, int(level),
                                   [record for record, _ in made])
        self.name = f"{provider}:{name}"
        self._fields = tuple(fields)
        self._encode = tuple(encode for _, encode in made)
        self._begin = _marks.begin(int(level), self.name)
        if _say:
            self._encode = tuple(map(_spoken, fields, fields.values(), self._encode))
            self._state = _marks.state
        else:
            self._state = _register(description)

    @property
    def enabled(self):
        """Whether somebody records it."""
        return self._state[0] != 0

    def __call__(self, **values):
        state = self._state[0]
        if not state:
            return
        try:
            parts = [encode(values.pop(name)) for name, encode
                     in zip(self._fields, self._encode)]
            if values:
                raise TypeError(f"no field {next(iter(values))!r}")
            if _say:
                _say("".join((self._begin, *parts, "\n")))
            else:
                _emit(state, b"".join(parts))
        except Exception as why:  # pylint: disable=broad-except
            _fail(self.name, why)


def _emit(state, payload):
    size = len(payload)
    if size < _BLOCK_MAX:
        _library.sonde_emit_block(state, payload.ljust(_BLOCK_READ, b"\0"),
                                  (size + 4) << 40 | 1)
    else:  # libsonde counts it as too large
        _library.sonde_emit_parts(state, byref(_Part(payload, size, 0)), 1)


_failed = Event("sonde_python", "failed", Level.ERR, event=str, why=str)


def _fail(name, why):
    kind = "no field" if isinstance(why, KeyError) else type(why).__name__
    text = f"{kind}: {why}"
    if _say:  # it has room in any line
        text = text.encode("ascii", "replace")[:_WHY_MAX].decode()
    _failed(event=name, why=text)


# ---- logging ----

class Handler(logging.Handler):
    """Records what is logged: events python_log:critical, error, warning, info and
    debug, of the level that Sonde has for it. `number` is Python's."""

    _LEVELS = (("critical", logging.CRITICAL, Level.CRIT),
               ("error", logging.ERROR, Level.ERR),
               ("warning", logging.WARNING, Level.WARNING),
               ("info", logging.INFO, Level.INFO),
               ("debug", logging.NOTSET, Level.DEBUG))
    _events = None

    def __init__(self, level=logging.NOTSET):
        super().__init__(level)
        if not Handler._events:
            Handler._events = [
                (least, Event("python_log", name, ours, logger=str, number=int,
                              message=str, file=str, line=int, function=str,
                              exception=str))
                for name, least, ours in Handler._LEVELS]

    def emit(self, record):
        event = next(event for least, event in Handler._events
                     if record.levelno >= least or not least)
        if not event.enabled:
            return
        try:
            message = record.getMessage()
        except Exception as why:  # pylint: disable=broad-except
            _fail(event.name, why)
            return
        exception = ""
        if record.exc_info and record.exc_info[1] is not None:
            exception = repr(record.exc_info[1])
        event(logger=record.name, number=record.levelno, message=message,
              file=record.pathname or "", line=record.lineno or 0,
              function=record.funcName or "", exception=exception)
