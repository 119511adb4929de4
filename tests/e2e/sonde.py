# SPDX-License-Identifier: MIT
"""sonde.py - what the end-to-end tests share: the installed programs, real
programs to record, and babeltrace2 as the witness of what was recorded.

The tests drive what `meson install` puts in place, in a directory below the
build folder. SONDE_BUILD names the build folder (build without it).
"""

import fcntl
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import PATIENCE, Skip, check  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SONDE_BUILD", ROOT / "build"))
STAGE = BUILD.resolve() / "stage"


TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')


def without_empty_strings(ours, theirs):
    """Two lists of lines, without the strings that are empty in ours: there
    babeltrace2 2.0.4 shows what was in the field before."""
    def cut(line, empty):
        at = iter(empty)
        return TEXT.sub(lambda m: "" if next(at, False) else m[0], line)

    empty = [[not m[1] for m in TEXT.finditer(line)] for line in ours]
    return ([cut(*pair) for pair in zip(ours, empty)],
            [cut(*pair) for pair in zip(theirs, empty)])


def as_babeltrace2_1(text):
    """Text of babeltrace2 as it is from 2.1 on: several labels in braces."""
    label = r'"(?:[^"\\]|\\.)*"'
    return re.sub(rf"\( ({label}(?:, {label})+) : container",
                  r"( { \1 } : container", text)


def _options():
    text = (BUILD / "meson-info/intro-buildoptions.json").read_text()
    return {o["name"]: o["value"] for o in json.loads(text)}


OPTIONS = _options()
PREFIX = STAGE / OPTIONS["prefix"].lstrip("/")
BIN = PREFIX / OPTIONS["bindir"]
LIB = PREFIX / OPTIONS["libdir"]
SONDE = str(BIN / "sonde")
# On a terminal of a test nobody would ever leave it.
os.environ["PAGER"] = "cat"
SANITIZE = OPTIONS["b_sanitize"]
if SANITIZE == "none":
    SANITIZE = ""


def install():
    """Installs what was built; the tests' processes take turns."""
    if os.environ.get("SONDE_INSTALLED"):
        return
    STAGE.mkdir(exist_ok=True)
    with open(STAGE / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild",
                        "--quiet", "--only-changed", "--destdir", STAGE],
                       check=True, stdout=subprocess.DEVNULL)


def skip_if_sanitized(why):
    if SANITIZE:
        raise Skip(f"-fsanitize={SANITIZE}: {why}")


def scratch():
    """A new empty directory, removed when the test run ends."""
    return pathlib.Path(tempfile.mkdtemp(
        dir=os.environ.get("SONDE_TEST_SCRATCH")))


# ---- programs ----

def pkg_config(*words):
    env = {**os.environ, "PKG_CONFIG_PATH": str(LIB / "pkgconfig"),
           "PKG_CONFIG_SYSROOT_DIR": str(STAGE)}
    out = subprocess.check_output(["pkg-config", *words, "sonde"], env=env)
    return shlex.split(out.decode())


def build(source, *flags, static=False, name=None, compiler=None):
    """Compiles C (or, if a flag is -xc++, C++) text; returns the program."""
    directory = scratch()
    cxx = "-xc++" in flags
    path = directory / ("program.cc" if cxx else "program.c")
    path.write_text(source)
    out = directory / (name or "program")
    compiler = compiler or ("g++" if cxx else "gcc")
    command = [compiler, "-g", "-O2", "-Wall", str(path),
               *[f for f in flags if f != "-xc++"],
               "-o", str(out), "-pthread", *pkg_config("--cflags")]
    if static:
        command += ["-static", *pkg_config("--static", "--libs")]
    else:
        command += [*pkg_config("--libs"), f"-Wl,-rpath,{LIB}"]
    if SANITIZE:
        command += [f"-fsanitize={SANITIZE}"]
    run = subprocess.run(command, text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT)
    check(run.returncode == 0, f"does not compile:\n{run.stdout}")
    return str(out)


# Events about other events, which Sonde neither counts nor shows.
# Those of stacks are declared where stacks are recorded, and what threads of a
# PID namespace of their own are called with the first such thread.
ABOUT_STACKS = ("sonde:stack", "sonde:stacks_lost")
ABOUT_CODE = ("sonde:code", "sonde:code_lost")
CONTAINED = "sonde:contained"
INTERNAL = ("sonde:thread", "sonde:name", "sonde:process", "sonde:schedule",
            CONTAINED, "sonde:mappings", "sonde:mapping", *ABOUT_STACKS,
            *ABOUT_CODE)


# What changes from event to event, and is of no packet.
EVENT_CONTEXTS = ("stack", "cpu_time", "perf_thread_page_faults",
                  "perf_thread_major_faults", "perf_thread_context_switches")


class Recording:
    """The outcome of one `sonde record`."""

    def __init__(self, run, directory):
        self.status = run.returncode
        self.out = run.stdout
        self.err = run.stderr
        self.dir = directory

    def trace(self):
        return Trace(self.dir)


def record(*command, options=(), env=None, timeout=240 * PATIENCE,
           directory=None, **more):
    """Runs `sonde record OPTIONS -o DIR -- COMMAND` to its end."""
    if {"--malloc", "--locks", "--io", "--log", "--functions"} & set(options):
        skip_if_sanitized("the preloaded library needs its runtime loaded "
                          "first")
    directory = directory or scratch() / "trace"
    run = subprocess.run(
        [SONDE, "record", *options, "-o", str(directory), "--",
         *map(str, command)],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, **(env or {})}, timeout=timeout, **more)
    return Recording(run, directory)


def record_ok(*command, **more):
    """record() of something that must succeed; returns its trace."""
    recording = record(*command, **more)
    check(recording.status == 0,
          f"sonde record: status {recording.status}: {recording.err}")
    return recording.trace()


def run(*command, **more):
    return subprocess.run([str(w) for w in command], text=True,
                          timeout=240 * PATIENCE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          **more)


# ---- traces, as babeltrace2 shows them ----

class Value:
    """A recursive-descent reader of one pretty-printed field structure."""

    TOKEN = re.compile(
        r'\s*(?:([{}\[\]()=:,])|"((?:[^"\\]|\\.)*)"|([^\s{}\[\]()=:,"]+))')

    def __init__(self, text):
        self.text = text
        self.at = 0

    def token(self):
        m = self.TOKEN.match(self.text, self.at)
        if not m:
            raise ValueError(f"{self.text[self.at:]!r} in {self.text!r}")
        self.at = m.end()
        return m

    def peek(self):
        m = self.TOKEN.match(self.text, self.at)
        return m.group(1) if m else None

    def value(self):
        m = self.token()
        if m.group(2) is not None:
            return unescape(m.group(2))
        if m.group(3) is not None:
            return number(m.group(3))
        opener = m.group(1)
        if opener == "{":
            return self.members("}")
        if opener == "[":
            return list(self.members("]").values())
        if opener == "(":
            return self.labelled()
        raise ValueError(self.text)

    def members(self, closer):
        out = {}
        while self.peek() != closer:
            name = self.token()
            if name.group(1) == "[":  # [0] = of an array
                key = self.token().group(3)
                self.token()
            else:
                key = name.group(3)
            self.token()  # =
            out[key] = self.value()
            if self.peek() == ",":
                self.token()
        self.token()
        return out

    def labelled(self):
        """( "LABEL" : container = 1 ): the pair of label and number."""
        labels = []
        while self.peek() != ":":
            m = self.token()
            if m.group(1) != ",":
                labels.append(m.group(2) or m.group(3))
        self.token()
        self.token()  # container
        self.token()  # =
        out = (labels[0] if labels else None, self.value())
        self.token()
        return out


def number(word):
    try:
        return int(word, 0)
    except ValueError:
        pass
    try:
        return float(word)
    except ValueError:
        return word


def unescape(text):
    escapes = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b",
               "f": "\f", "v": "\v", "0": "\0"}
    return re.sub(r"\\(x[0-9a-fA-F]{2}|.)",
                  lambda m: chr(int(m[1][1:], 16)) if len(m[1]) > 1
                  else escapes.get(m[1], m[1]), text)


LINE = re.compile(r"\[(?P<time>[\d.]+)\] \(\+[\d.?]+\) "
                  r"(?:(?P<host>\S*) )?(?P<name>\S+): ?(?P<rest>.*)$", re.S)
LOST = re.compile(r"discarded (\d+) event")


class Event(dict):
    """The fields of an event's payload, its name and when, where, who."""

    def __init__(self, name, time, contexts, fields):
        super().__init__(fields)
        self.name = name
        self.time = time
        self.contexts = contexts
        self.cpu = contexts.get("cpu_id")
        self.tid = self.pid = None


def parse_line(line):
    m = LINE.match(line)
    check(m, f"babeltrace2 printed: {line!r}")
    value = Value("[" + "".join(f"[{i}] = {part}, " for i, part in
                                enumerate(split_top(m["rest"]))) + "]").value()
    contexts = {}
    for part in value[:-1]:
        contexts.update(part)
    seconds, _, nanos = m["time"].partition(".")
    return Event(m["name"], int(seconds) * 10**9 + int(nanos.ljust(9, "0")),
                 contexts, value[-1] if value else {})


def split_top(text):
    """The top-level { } groups of a line."""
    parts, depth, start, quoted, i = [], 0, 0, False, 0
    while i < len(text):
        c = text[i]
        if quoted:
            i += c == "\\"
            quoted = c != '"'
        elif c == '"':
            quoted = True
        elif c == "{":
            if depth == 0:
                start = i
            depth += 1
        elif c == "}":
            depth -= 1
            if depth == 0:
                parts.append(text[start:i + 1])
        i += 1
    return parts


class Trace:
    """A trace directory, read by babeltrace2."""

    def __init__(self, directory):
        self.dir = pathlib.Path(directory)
        check((self.dir / "metadata").exists(), f"no trace in {self.dir}")
        self._text = None
        self.lost = 0
        self.warnings = ""

    def text(self):
        """The lines babeltrace2 prints; it must accept the trace."""
        if self._text is None:
            done = subprocess.run(
                ["babeltrace2", "--clock-seconds", str(self.dir)],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                errors="surrogateescape", text=True)
            check(done.returncode == 0,
                  f"babeltrace2 refuses the trace: {done.stderr[-2000:]}")
            self.warnings = done.stderr
            self.lost = sum(map(int, LOST.findall(done.stderr)))
            self._text = done.stdout.splitlines()
        return self._text

    def events(self, name=None, contexts=False):
        """The events, without sonde's own context records unless asked.
        Each knows its thread, from the context record before it."""
        out = []
        threads = {}
        for line in self.text():
            event = parse_line(line)
            stream = tuple(sorted((key, value) for key, value
                                  in event.contexts.items()
                                  if key not in EVENT_CONTEXTS))
            if event.name == "sonde:thread":
                threads[stream] = event["tid"], event["pid"]
            if event.name in INTERNAL and not contexts:
                continue
            event.tid, event.pid = threads.get(stream, (None, None))
            if name is None or event.name == name:
                out.append(event)
        return out

    def count(self, name):
        return sum(f" {name}: " in line for line in self.text())

    def discarded(self):
        self.text()
        return self.lost


def require(program):
    if not shutil.which(program):
        raise Skip(f"no {program} here")


def exact_events(trace):
    """All events, with exact times. Those of babeltrace2 come from a double and
    may be a nanosecond too late, so its cycles are converted here."""
    metadata = (trace.dir / "metadata").read_text()
    frequency, seconds, offset = (
        int(re.search(rf"\b{name} = (\d+);", metadata)[1])
        for name in ("freq", "offset_s", "offset"))
    events = trace.events(contexts=True)
    lines = run("babeltrace2", "--clock-cycles", trace.dir).stdout.splitlines()
    check(len(lines) == len(events), "events")
    for event, line in zip(events, lines):
        cycles = int(re.match(r"\[(\d+)\]", line)[1])
        event.time = (seconds * 10**9 + offset * 10**9 // frequency +
                      cycles * 10**9 // frequency)
    return events
