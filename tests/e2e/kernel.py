# SPDX-License-Identifier: MIT
"""kernel.py - what the tests of kernel events share: which sources this machine
allows, recordings with -k, their events as babeltrace2 shows them, and what a
recorder holds in the kernel.

A test marked @each_source is run for each source by itself, and is skipped for
those that this kernel or user doesn't have; that is found out without Sonde.
"""

import collections
import ctypes
import json
import os
import pathlib
import platform
import re
import struct
import subprocess
import time

from sonde import BUILD, SONDE, Skip, Value, check, record, scratch
from harness import check_equal, test

TRACING = pathlib.Path("/sys/kernel/tracing")
INSTANCES = TRACING / "instances"
CAP_SYS_ADMIN, CAP_BPF = 21, 39
LIMIT_S = 300  # the tests also run in emulated machines


def program(name):
    """A program of tests/kernel/."""
    path = BUILD.resolve() / "tests/kernel" / f"kernel_{name}"
    if not path.exists():
        raise Skip(f"{path.name} is not built")
    return str(path)


# ---- what there is ----

def capabilities():
    text = pathlib.Path("/proc/self/status").read_text()
    return int(re.search(r"CapEff:\s*(\w+)", text)[1], 16)


def why_no_tracefs():
    if not TRACING.is_dir() or not (TRACING / "README").exists():
        return "tracefs is not mounted"
    if not os.access(INSTANCES, os.W_OK):
        return "no right to make instances in tracefs"
    return None


def why_no_bpf():
    if not os.path.exists("/sys/kernel/btf/vmlinux"):
        return "the kernel has no BTF"
    if not capabilities() & (1 << CAP_SYS_ADMIN | 1 << CAP_BPF):
        return "no CAP_BPF"
    return None


def why_no_modules():
    if not os.access("/dev/sonde", os.R_OK | os.W_OK):
        return "our kernel module is not loaded, or not open to us"
    return None


WHY_NOT = {"tracefs": why_no_tracefs, "bpf": why_no_bpf,
           "modules": why_no_modules}


def need(source):
    why = WHY_NOT[source]()
    if why:
        raise Skip(why)


def need_any():
    """For what must work with whatever source there is."""
    reasons = [why() for why in WHY_NOT.values()]
    if all(reasons):
        raise Skip("; ".join(reasons))


def kernel_test(function):
    """A test with the source that Sonde chooses."""
    def run():
        need_any()
        function()
    run.__name__ = function.__name__
    run.time_limit_s = LIMIT_S
    test(run)
    return function


def each_source(function):
    for source in WHY_NOT:
        def run(source=source):
            need(source)
            function(source)
        run.__name__ = f"{function.__name__}_{source}"
        run.time_limit_s = LIMIT_S
        test(run)
    return function


# ---- events, as babeltrace2 shows them ----

LINE = re.compile(r"\[(\d+)\.(\d+)\] \(\+[\d.?]+\) (?:\S+ )?(\S+): (.*)$",
                  re.S)
CPU = re.compile(r"cpu_id = (\d+)")
TID = re.compile(r"\}, \{ tid = (\d+) \}")
LOST = re.compile(r"discarded (\d+) event")
CLONES = {"syscall_exit_" + n for n in ("clone", "clone3", "fork", "vfork")}


class Event:
    """A line; the fields are taken apart when asked for."""

    def __init__(self, line):
        m = LINE.match(line)
        check(m, f"babeltrace2 printed: {line!r}")
        self.time = int(m[1]) * 10**9 + int(m[2].ljust(9, "0"))
        self.name = m[3]
        self.rest = m[4]
        cpu = CPU.search(self.rest)
        self.cpu = int(cpu[1]) if cpu else None
        tid = TID.search(self.rest)
        self.tid = int(tid[1]) if tid else None
        self._fields = None

    @property
    def fields(self):
        if self._fields is None:
            groups = []
            value = Value(self.rest)
            while value.at < len(self.rest.rstrip()):
                groups.append(value.value())
                if value.peek() == ",":
                    value.token()
            self._fields = groups[-1] if len(groups) > 1 else {}
        return self._fields

    def __getitem__(self, name):
        return self.fields[name]

    def __repr__(self):
        return f"{self.name} (thread {self.tid}, CPU {self.cpu}) {self.rest}"


def number_of(value):
    """Of a field that may be shown with its label, or in octal digits, which
    a reader of decimal ones takes for a float."""
    if isinstance(value, tuple):
        value = value[1]
    return int(str(int(value)), 8) if isinstance(value, float) else value


def read(directory):
    """babeltrace2's lines and what it says on stderr; it must accept it."""
    done = subprocess.run(["babeltrace2", "--clock-seconds", str(directory)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          errors="surrogateescape", text=True)
    check(done.returncode == 0,
          f"babeltrace2 refuses {directory}: {done.stderr[-2000:]}")
    return done.stdout.splitlines(), done.stderr


class KernelTrace:
    """A recording's directory: `kernel`, and `user` if the program had events
    of its own. What babeltrace2 says of it is nothing but losses."""

    def __init__(self, directory, err=""):
        self.dir = pathlib.Path(directory)
        self.err = err
        check((self.dir / "kernel/metadata").exists(),
              f"no trace of the kernel in {self.dir}: {err}")
        self.lines, said = read(self.dir)
        self.lost = sum(map(int, LOST.findall(said)))
        rest = [line for line in said.splitlines()
                if "discarded" not in line and line.strip()]
        check(not rest, f"babeltrace2 warns: {rest[:5]}")

    def events(self, name=None):
        """Those whose name matches the pattern as a whole."""
        out = []
        wanted = re.compile(name) if name else None
        for line in self.lines:
            m = LINE.match(line)
            check(m, f"babeltrace2 printed: {line!r}")
            if not wanted or wanted.fullmatch(m[3]):
                out.append(Event(line))
        return out

    def names(self):
        return {LINE.match(line)[3] for line in self.lines}

    def of_program(self, name=None):
        """Events of the recorded program, in a trace of it and what descends
        from it: of the first thread that executed something, from that on, and
        of all threads that came of it."""
        events = self.events()
        root, start = None, 0
        for i, event in enumerate(events):
            if event.name == "syscall_exit_execve" and event["ret"] == 0:
                root, start = event.tid, i + 1
                break
        check(root, "nothing was executed")
        parents = [(e.tid, e["ret"]) for e in events if e.name in CLONES]
        threads, grown = {root}, True
        while grown:
            new = {t for p, t in parents if p in threads and t > 0} - threads
            threads |= new
            grown = bool(new)
        wanted = re.compile(name) if name else None
        return [e for i, e in enumerate(events)
                if e.tid in threads and (e.tid != root or i >= start) and
                (not wanted or wanted.fullmatch(e.name))]


class KernelRecording:
    def __init__(self, recording):
        self.status, self.out, self.err = (recording.status, recording.out,
                                           recording.err)
        self.dir = recording.dir

    def trace(self):
        return KernelTrace(self.dir, self.err)

    def summary(self):
        """What --json says."""
        return json.loads(self.err.strip().splitlines()[-1])


def words(k, source, options=()):
    rules = [k] if isinstance(k, str) else list(k)
    out = [word for rule in rules for word in ("-k", rule)]
    if source:
        out += ["--kernel-source", source]
    return [*out, *map(str, options)]


def record_kernel(*command, k, source=None, options=(), status=0, **more):
    """`sonde record -k K -- COMMAND`, which must end with `status`."""
    done = KernelRecording(record(*command, options=words(k, source, options),
                                  **{"timeout": LIMIT_S, **more}))
    check_equal(done.status, status, done.err)
    return done


# ---- a recording that runs ----

def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            return [int(word) for word in f.read().split()]
    except OSError:
        return []


def descendants(pid):
    return [d for c in children(pid) for d in (c, *descendants(c))]


def is_sonde(pid):
    try:
        return os.readlink(f"/proc/{pid}/exe") == os.path.realpath(SONDE)
    except OSError:
        return False


def wait_for(condition, what, limit_s=LIMIT_S / 2):
    """Until it holds."""
    end = time.monotonic() + limit_s
    while True:
        value = condition()
        if value:
            return value
        check(time.monotonic() < end, f"waited in vain for {what}")
        time.sleep(0.002)


class Running:
    """`sonde record` in the background, in a session of its own."""

    def __init__(self, *command, k, source=None, options=(), directory=None,
                 stdin=subprocess.DEVNULL):
        self.dir = directory or scratch() / "trace"
        tail = ["--", *map(str, command)] if command else []
        self.front = subprocess.Popen(
            [SONDE, "record", *words(k, source, options), "-o", str(self.dir),
             *tail], stdin=stdin, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, start_new_session=True)

    def sondes(self):
        """The front end and the recorder, as far as they are there."""
        return [p for p in (self.front.pid, *descendants(self.front.pid))
                if is_sonde(p)]

    def recorder(self):
        def find():
            found = [p for p in descendants(self.front.pid) if is_sonde(p)
                     and comm(p).startswith("sonde-rec")]
            check(self.front.poll() is None, "sonde ended")
            return found[0] if found else None
        return wait_for(find, "the recorder")

    def wait_until_recording(self):
        """Until the trace of the kernel has a metadata file and a stream."""
        def begun():
            if self.front.poll() is not None:
                check(False, f"sonde ended: {self.front.stderr.read()}")
            # Hidden files are being made, and may go any time.
            return (self.dir / "kernel/metadata").exists() and any(
                f.name != "metadata" and f.name[0] != "." and
                f.stat().st_size for f in (self.dir / "kernel").iterdir())
        wait_for(begun, "a trace")

    def end(self):
        out, err = self.front.communicate(timeout=LIMIT_S / 2)
        return self.front.returncode, out, err

    def trace(self, err=""):
        return KernelTrace(self.dir, err)


def comm(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


# ---- what a process holds in the kernel ----

def instances(*pids):
    """Instances of tracefs with one of these processes in their names."""
    if not INSTANCES.is_dir():
        return []
    return [name for name in os.listdir(INSTANCES)
            if any(re.search(rf"(?<!\d){pid}(?!\d)", name) for pid in pids)]


def bpf_objects(pid):
    """(kind, id) of the BPF programs and links that a process has open."""
    out = set()
    try:
        descriptors = os.listdir(f"/proc/{pid}/fdinfo")
    except OSError:
        return out
    for fd in descriptors:
        try:
            text = pathlib.Path(f"/proc/{pid}/fdinfo/{fd}").read_text()
        except OSError:
            continue
        for kind in ("prog", "link", "map"):
            for number in re.findall(rf"^{kind}_id:\s*(\d+)", text, re.M):
                out.add((kind, int(number)))
    return out


def module_users():
    """What our kernel module is held by: descriptors, of whoever's."""
    try:
        return int(pathlib.Path("/sys/module/sonde/refcnt").read_text())
    except OSError:
        return 0


BPF_CALL = {"x86_64": 321, "aarch64": 280}
NEXT_LINK = 31  # BPF_LINK_GET_NEXT_ID
BY_ID = {"prog": 13, "map": 14, "link": 30}  # BPF_*_GET_FD_BY_ID


def bpf_exists(kind, number):
    call = BPF_CALL.get(platform.machine())
    if call is None:
        raise Skip(f"the number of bpf() on {platform.machine()}")
    attr = ctypes.create_string_buffer(128)
    ctypes.memmove(attr, ctypes.byref(ctypes.c_uint32(number)), 4)
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(call, BY_ID[kind], attr, len(attr))
    if fd >= 0:
        os.close(fd)
    return fd >= 0


def bpf_links():
    """The numbers of all that are attached, whoever holds them."""
    call, found = BPF_CALL.get(platform.machine()), set()
    if call is None:
        raise Skip(f"the number of bpf() on {platform.machine()}")
    attr = ctypes.create_string_buffer(128)
    libc = ctypes.CDLL(None, use_errno=True)
    while libc.syscall(call, NEXT_LINK, attr, len(attr)) == 0:
        number = ctypes.c_uint32.from_buffer(attr, 4).value
        found.add(number)
        ctypes.c_uint32.from_buffer(attr, 0).value = number
    return found


def gone(session):
    """Whether every process of the session has ended."""
    for word in os.listdir("/proc"):
        if not word.isdigit():
            continue
        try:
            with open(f"/proc/{word}/stat") as f:
                state = f.read().rpartition(")")[2].split()
        except OSError:
            continue
        if state[0] != "Z" and int(state[3]) == session:
            return False
    return True


# ---- probes wherever they can be ----

# A program of Python that comes by much of the kernel; its argument is a folder.
LOAD = """
import mmap, os, signal, socket, subprocess, sys, tempfile, threading
signal.signal(signal.SIGUSR1, lambda *_: None)
for i in range(10):
    subprocess.run(["/bin/true"], check=True)
    os.kill(os.getpid(), signal.SIGUSR1)
    with tempfile.NamedTemporaryFile(dir=sys.argv[1]) as f:
        f.write(bytes(100_000))
        f.flush()
        os.fsync(f.fileno())
        mmap.mmap(f.fileno(), 4096)[:10]
        os.stat(f.name)
    a, b = socket.socketpair()
    c = socket.create_server(("127.0.0.1", 0))
    d = socket.create_connection(c.getsockname())
    thread = threading.Thread(target=lambda: (a.send(b"x"), d.send(b"y")))
    thread.start()
    b.recv(1), c.accept()[0].recv(1)
    thread.join()
    os.listdir("/proc/self/fd")
"""


def random_functions(rng):
    """Of the kernel itself, in a random order; some can't be probed."""
    names = [line for line in
             (TRACING / "available_filter_functions").read_text().split("\n")
             if re.fullmatch(r"[a-z_]\w+", line)]
    rng.shuffle(names)
    return names


# Of BTF: what follows each kind of type, bytes, and bytes for each of its parts.
BTF_MORE = {1: (4, 0), 3: (12, 0), 4: (0, 12), 5: (0, 12), 6: (0, 8), 13: (0, 8),
            14: (4, 0), 15: (0, 12), 17: (4, 0), 19: (0, 12)}
BTF_FUNCTION = 12


def functions_with_types():
    """Those of which the kernel knows the arguments."""
    data = pathlib.Path("/sys/kernel/btf/vmlinux").read_bytes()
    head, types, nr, texts = struct.unpack_from("<4I", data, 4)
    names, at, end = set(), head + types, head + types + nr
    while at < end:
        name, info = struct.unpack_from("<2I", data, at)
        kind = info >> 24 & 31
        if kind == BTF_FUNCTION:
            begin = head + texts + name
            names.add(data[begin:data.index(b"\0", begin)].decode())
        more, part = BTF_MORE.get(kind, (0, 0))
        at += 12 + more + (info & 0xffff) * part
    return names


def names_once():
    """Of the kernel and its modules."""
    return {name for name, nr in collections.Counter(
        line.split()[2] for line in open("/proc/kallsyms")).items() if nr == 1}


class Harm:
    """What a kernel says or keeps that it didn't say or have before."""

    BAD_NEWS = re.compile(
        r"BUG|WARNING|Oops|Call Trace|stall|protection fault|unchecked|"
        "inconsistent|circular|KASAN")
    # What is at functions: by kprobes, if that is shown, and by ftrace.
    THERE = [pathlib.Path("/sys/kernel/debug/kprobes/list"),
             TRACING / "enabled_functions"]

    def __init__(self):
        self.said, self.there = self.log(), self.probes()

    @staticmethod
    def log():
        return subprocess.run(["dmesg"], stdout=subprocess.PIPE, text=True,
                              check=False).stdout.splitlines()

    def probes(self):
        return [file.read_text() for file in self.THERE if file.exists()]

    def check_none(self, what):
        news = "\n".join(line for line in self.log() if line not in self.said)
        check(not self.BAD_NEWS.search(news), f"{what}: {news}")
        # Our module takes them out afterwards.
        wait_for(lambda: self.probes() == self.there, f"the end of {what}")
