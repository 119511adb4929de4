#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dump_test.py [NAME...] - what sonde.ko says of threads, files and mappings,
against what /proc says of the same; in a guest, as root, with the module loaded.

Each test is a function whose name is its claim. Prints a line for each and, at
the end, `N passed, M failed`; exits 1 if any failed.
"""
import ctypes
import errno
import fcntl
import mmap
import os
import pathlib
import select
import signal
import socket
import struct
import sys
import tempfile
import threading
import time

DEVICE = "/dev/sonde"
TASKS, FILES, MAPPINGS = range(3)


def ioc(direction, number, size):
    return direction << 30 | size << 16 | 0xf5 << 8 | number


REQUEST = struct.Struct("=IIiI")
DUMP = ioc(1, 3, REQUEST.size)
COUNTS = struct.Struct("=IIQ")
DUMP_COUNTS = ioc(3, 19, COUNTS.size)

TASK = struct.Struct("=I5i12I2Q16s")
TASK_NAMES = ("size tid vtid pid vpid ppid flags state exit_state cpu ns_level "
              "pid_ns mnt_ns net_ns user_ns uts_ns ipc_ns cgroup_ns files "
              "cgroup_id name").split()
FILE = struct.Struct("=Ii i3I Q4H16s16s2I")
FILE_NAMES = ("size tid pid fd flags text_size files family protocol local_port "
              "peer_port local peer is_name zero").split()
MAPPING = struct.Struct("=Ii4Q4I")
MAPPING_NAMES = ("size pid begin end offset ino dev flags text_size "
                 "same_file").split()
LAYOUTS = {TASKS: (TASK, TASK_NAMES), FILES: (FILE, FILE_NAMES),
           MAPPINGS: (MAPPING, MAPPING_NAMES)}
NAMESPACES = ("pid", "mnt", "net", "user", "uts", "ipc", "cgroup")


class Dump:
    def __init__(self, kind, pid=0, fd_max=4096):
        self.kind = kind
        device = os.open(DEVICE, os.O_RDWR)
        try:
            self.fd = self._open(device, kind, pid, fd_max)
        finally:
            os.close(device)

    @staticmethod
    def _open(device, kind, pid, fd_max):
        libc = ctypes.CDLL(None, use_errno=True)
        request = ctypes.create_string_buffer(
            REQUEST.pack(REQUEST.size, kind, pid, fd_max))
        fd = libc.ioctl(device, ctypes.c_ulong(DUMP), request)
        if fd < 0:
            raise OSError(ctypes.get_errno(), "DUMP")
        return fd

    def read(self, size=65536):
        return os.read(self.fd, size)

    def rest(self, size=65536):
        parts = []
        while part := self.read(size):
            parts.append(part)
        return b"".join(parts)

    def omitted(self):
        answer = fcntl.ioctl(self.fd, DUMP_COUNTS,
                             COUNTS.pack(COUNTS.size, 0, 0))
        return COUNTS.unpack(answer)[2]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)


def records(kind, data):
    """Checked as the recorder does: sizes fit, texts fill the rest."""
    layout, names = LAYOUTS[kind]
    at = 0
    last = None
    while at < len(data):
        record = dict(zip(names, layout.unpack_from(data, at)))
        text_size = record.get("text_size", 0)
        assert record["size"] == layout.size + text_size, record
        text = data[at + layout.size:at + record["size"]]
        assert len(text) == text_size, record
        record["text"] = os.fsdecode(text)
        if kind == MAPPINGS and record["same_file"]:
            assert last["pid"] == record["pid"], record
            record["text"] = last["text"]
        last = record
        yield record
        at += record["size"]


def dump(kind, pid=0, **more):
    with Dump(kind, pid, **more) as d:
        return list(records(kind, d.rest()))


# ---- what /proc says ----

def link(path):
    try:
        return os.readlink(path)
    except OSError:
        return None


def threads_by_proc():
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/task/[0-9]*"):
        try:
            status = (path / "status").read_text()
            name = (path / "comm").read_text().rstrip("\n")
        except OSError:
            continue
        fields = dict(line.split(":\t", 1) for line in status.splitlines()
                      if ":\t" in line)
        found[int(path.name)] = {
            "pid": int(fields["Tgid"]), "ppid": int(fields["PPid"]),
            "vtid": int(fields["NSpid"].split()[-1]),
            "vpid": int(fields["NStgid"].split()[-1]),
            "ns_level": len(fields["NSpid"].split()) - 1,
            "name": name,
            **{ns + "_ns": int(text.partition("[")[2][:-1]) if
               (text := link(path / "ns" / ns)) else 0 for ns in NAMESPACES
               # A kernel need not have all kinds.
               if os.path.lexists(f"/proc/self/ns/{ns}")},
        }
    return found


def files_by_proc(pid):
    found = {}
    for path in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        info = pathlib.Path(f"/proc/{pid}/fdinfo/{path.name}").read_text()
        flags = int(info.partition("flags:\t")[2].split()[0], 8)
        found[int(path.name)] = (flags, os.readlink(path))
    return found


def mappings_by_proc(pid):
    """With a file: [vdso] and its like have none."""
    found = []
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        parts = line.split(None, 5)
        if len(parts) < 6 or not parts[5].startswith(("/", "anon_inode:")):
            continue
        begin, end = (int(x, 16) for x in parts[0].split("-"))
        major, minor = (int(x, 16) for x in parts[3].split(":"))
        flags = sum(1 << i for i, letter in enumerate("rwx")
                    if parts[1][i] == letter) | (parts[1][3] == "s") << 3
        found.append((begin, end, int(parts[2], 16) // mmap.PAGESIZE,
                      int(parts[4]), major << 20 | minor, flags, parts[5]))
    return found


# ---- known processes ----

class Child:
    """A process that has done `prepare`, and now does nothing."""

    def __init__(self, prepare, unshare=0):
        read, write = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            try:
                os.close(read)
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                if unshare and ctypes.CDLL(None, use_errno=True).unshare(
                        unshare):
                    os._exit(2)
                kept = prepare()  # noqa: F841: keeps what it opened
                # Which stays open: its files don't change any more.
                os.write(write, b"r")
                while True:
                    signal.pause()
            finally:
                os._exit(1)
        os.close(write)
        ready = os.read(read, 1)
        os.close(read)
        assert ready == b"r", "the child could not be prepared"

    def __enter__(self):
        return self.pid

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def nothing():
    return None


def sleeping_threads(nr):
    """Which are there when it returns."""
    there = threading.Semaphore(0)

    def sleep():
        there.release()
        signal.pause()
    for _ in range(nr):
        threading.Thread(target=sleep, daemon=True).start()
    for _ in range(nr):
        there.acquire()


def many_files():
    folder = tempfile.mkdtemp()
    plain = os.open(folder + "/plain", os.O_CREAT | os.O_RDWR | os.O_APPEND)
    gone = os.open(folder + "/gone \n name", os.O_CREAT | os.O_WRONLY)
    os.unlink(folder + "/gone \n name")
    kept = os.open("/etc/passwd", os.O_RDONLY)
    os.set_inheritable(kept, True)
    return [plain, gone, kept, os.pipe(), os.memfd_create("memory"),
            os.open("/dev/null", os.O_RDWR | os.O_NONBLOCK),
            os.open(folder, os.O_PATH), select.epoll()]


# ---- tests: threads ----

def threads_are_as_proc_has_them():
    with Child(lambda: sleeping_threads(5)) as pid:
        # Whoever was there before and after was there meanwhile.
        before = threads_by_proc()
        said = {r["tid"]: r for r in dump(TASKS)}
        after = threads_by_proc()
    stable = {tid for tid in before.keys() & after.keys()
              if before[tid] == after[tid]}
    # The child's, and at least as many of others.
    assert sum(after[tid]["pid"] == pid for tid in stable) == 6, stable
    assert len(stable) >= 12, len(stable)
    for tid in stable:
        expected, record = after[tid], said[tid]
        name = record["name"].split(b"\0")[0].decode()
        # /proc adds what a worker works on.
        assert expected["name"].startswith(name), (expected, record)
        for key, value in expected.items():
            if key != "name":
                assert record[key] == value, (tid, key, expected, record)


def a_thread_is_said_once():
    tids = [r["tid"] for r in dump(TASKS)]
    assert len(tids) == len(set(tids))
    assert os.getpid() in tids


def other_namespaces_have_other_numbers():
    kinds = 0x08000000 | 0x04000000 | 0x40000000 | 0x00020000 | 0x02000000
    with Child(nothing, kinds) as pid:
        said = {r["tid"]: r for r in dump(TASKS)}
        own, child = said[os.getpid()], said[pid]
        for ns in ("mnt", "net", "uts", "ipc", "cgroup"):
            inode = os.stat(f"/proc/{pid}/ns/{ns}").st_ino
            assert child[ns + "_ns"] == inode != own[ns + "_ns"], ns
        assert child["pid"] == pid
        assert child["user_ns"] == own["user_ns"]


def a_namespace_of_pids_numbers_from_one():
    def inside():
        inner = os.fork()
        if not inner:
            while True:
                signal.pause()
        return inner
    with Child(inside, 0x20000000) as pid:
        tasks = dump(TASKS)
        inner = next(r for r in tasks if r["ppid"] == pid)
        assert (inner["vtid"], inner["vpid"], inner["ns_level"]) == (1, 1, 1)
        os.kill(inner["tid"], signal.SIGKILL)


def threads_share_a_table_and_processes_do_not():
    with Child(lambda: sleeping_threads(3)) as pid:
        tasks = dump(TASKS)
        tables = [r["files"] for r in tasks if r["pid"] == pid]
        own = [r["files"] for r in tasks if r["tid"] == os.getpid()]
        assert len(tables) == 4 and len(set(tables)) == 1, tables
        assert own[0] != tables[0]
        files = dump(FILES, pid)
        assert {r["files"] for r in files} == set(tables)
        # Once for all four.
        assert len({r["fd"] for r in files}) == len(files)


def no_address_of_the_kernels_is_given_away():
    for record in dump(TASKS):
        assert record["files"] >> 40 != 0xffff88, record
    identities = [r["files"] for r in dump(TASKS) if r["files"]]
    high = sum(1 for i in identities if i >> 47 == (1 << 17) - 1)
    assert high < len(identities) / 2, (high, len(identities))


def cgroups_are_their_directories():
    folder = tempfile.mkdtemp()
    libc = ctypes.CDLL(None, use_errno=True)
    # Before that, /proc may not say where it is in this hierarchy.
    assert not libc.mount(b"none", folder.encode(), b"cgroup2", 0, None)
    try:
        inner = pathlib.Path(folder, "inner")
        inner.mkdir()
        with Child(nothing) as pid:
            (inner / "cgroup.procs").write_text(str(pid))
            said = {r["tid"]: r["cgroup_id"] for r in dump(TASKS)}
            assert said[pid] == inner.stat().st_ino
            text = pathlib.Path("/proc/self/cgroup").read_text()
            path = next(line[3:] for line in text.splitlines()
                        if line.startswith("0::"))
            assert said[os.getpid()] == os.stat(folder + path).st_ino
        inner.rmdir()
    finally:
        libc.umount2(folder.encode(), 0)


# ---- tests: files ----

def files_are_as_proc_has_them():
    with Child(many_files) as pid:
        said = dump(FILES, pid)
        expected = files_by_proc(pid)
        assert {r["pid"] for r in said} == {pid}
        assert len(said) == len(expected) >= 10
        for record in said:
            assert (record["flags"], record["text"]) == expected[record["fd"]]
        assert any(r["text"].endswith(" (deleted)") for r in said)


def everybodys_files_are_asked_at_once():
    with Child(many_files) as a, Child(many_files) as b:
        said = dump(FILES)
        for pid in (a, b, 1):
            expected = files_by_proc(pid)
            assert {r["fd"] for r in said if r["pid"] == pid} == set(expected)


def sockets_are_called_by_their_addresses():
    listener = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(listener.getsockname())
    server, _ = listener.accept()
    v6 = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    v6.bind(("::1", 0))
    path = tempfile.mkdtemp() + "/socket"
    named = socket.socket(socket.AF_UNIX)
    named.bind(path)
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind(b"\0with\0zero")
    unbound = socket.socket(socket.AF_UNIX)
    netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)
    said = {r["fd"]: r for r in dump(FILES, os.getpid())}
    own = client.getsockname()[1]
    port = listener.getsockname()[1]
    four = socket.inet_aton("127.0.0.1")
    for sock, local, peer in ((client, own, port), (server, port, own),
                              (listener, port, 0)):
        r = said[sock.fileno()]
        assert (r["family"], r["protocol"]) == (socket.AF_INET, 6)
        assert (r["local_port"], r["peer_port"]) == (local, peer)
        assert r["local"][:4] == four
        assert r["peer"][:4] == (four if peer else bytes(4))
    r = said[v6.fileno()]
    assert (r["family"], r["protocol"]) == (socket.AF_INET6, 17)
    assert r["local"] == socket.inet_pton(socket.AF_INET6, "::1")
    assert r["local_port"] == v6.getsockname()[1]
    assert said[named.fileno()]["is_name"]
    assert said[named.fileno()]["text"].rstrip("\0") == path
    assert said[abstract.fileno()]["text"] == "\0with\0zero"
    assert not said[unbound.fileno()]["is_name"]
    assert said[unbound.fileno()]["text"].startswith("socket:[")
    assert said[netlink.fileno()]["family"] == socket.AF_NETLINK
    for sock in (listener, client, server, v6, named, abstract, unbound,
                 netlink):
        sock.close()


def descriptors_from_the_bound_on_are_counted():
    def prepare():
        for fd in range(700, 1000):
            os.dup2(0, fd)
    with Child(prepare) as pid:
        with Dump(FILES, pid, fd_max=800) as d:
            said = list(records(FILES, d.rest()))
            assert d.omitted() == 200, d.omitted()
        assert max(r["fd"] for r in said) == 799


# ---- tests: mappings ----

def mapped_twice():
    fd = os.open("/etc/passwd", os.O_RDONLY)
    memory = os.memfd_create("shared")
    os.ftruncate(memory, 8 * mmap.PAGESIZE)
    return [mmap.mmap(fd, 0, mmap.MAP_SHARED, mmap.PROT_READ),
            mmap.mmap(memory, 0, mmap.MAP_SHARED),
            mmap.mmap(memory, mmap.PAGESIZE, mmap.MAP_PRIVATE,
                      offset=3 * mmap.PAGESIZE)]


def said_mappings(pid):
    return [tuple(r[k] for k in ("begin", "end", "offset", "ino", "dev",
                                 "flags", "text"))
            for r in dump(MAPPINGS, pid)]


def mappings_are_as_proc_has_them():
    with Child(mapped_twice) as pid:
        said, expected = said_mappings(pid), mappings_by_proc(pid)
        assert len(expected) > 20
        assert said == expected, [pair for pair in zip(said, expected)
                                  if pair[0] != pair[1]][:3]


def a_thousand_mappings_are_all_there():
    def prepare():
        fd = os.memfd_create("page")
        os.ftruncate(fd, mmap.PAGESIZE)
        both = (mmap.PROT_READ, mmap.PROT_READ | mmap.PROT_WRITE)
        return [mmap.mmap(fd, mmap.PAGESIZE, mmap.MAP_PRIVATE, both[i % 2])
                for i in range(1000)]
    with Child(prepare) as pid:
        said, expected = said_mappings(pid), mappings_by_proc(pid)
        assert len(expected) > 1000
        assert said == expected


def threads_of_a_dead_leader_speak_for_it():
    # The leader ends by itself alone; its threads go on.
    def prepare():
        sleeping_threads(3)
        return os.open("/etc/passwd", os.O_RDONLY)
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        prepare()
        os.write(write, b"r")
        ctypes.CDLL(None).syscall(60, 0)  # exit, of this thread only
    assert os.read(read, 1) == b"r"
    while pathlib.Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z":
        os.sched_yield()
    files = dump(FILES, pid)
    tids = {r["tid"] for r in files}
    assert len(tids) == 1 and pid not in tids, tids
    assert len({r["fd"] for r in files}) == len(files)
    assert any(r["text"] == "/etc/passwd" for r in files)
    assert dump(MAPPINGS, pid)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(read)
    os.close(write)


# ---- tests: life ----

def a_dump_can_be_read_byte_by_byte():
    with Child(many_files) as pid:
        for kind in (TASKS, FILES, MAPPINGS):
            whole = dump(kind, pid)
            with Dump(kind, pid) as d:
                cut = list(records(kind, d.rest(7)))
            for record in whole + cut:
                record.update(cpu=0, state=0)
            assert whole == cut


def a_half_read_dump_holds_no_file():
    with Dump(FILES, os.getpid()) as d:
        read, write = os.pipe()
        assert d.read(1)
        os.close(write)
        poll = select.poll()
        poll.register(read, select.POLLIN)
        # Its end is there at once, though the dump is not at its end.
        assert poll.poll(10000) == [(read, select.POLLHUP)]
        os.close(read)


def who_ends_in_the_middle_does_no_harm():
    for kind in (TASKS, FILES, MAPPINGS):
        children = [Child(many_files) for _ in range(60)]
        pids = [c.pid for c in children]
        with Dump(kind) as d:
            data = d.read(100)
            for child in children:
                child.__exit__()
            data += d.rest(4096)
        said = list(records(kind, data))
        assert any(r["pid"] == 1 for r in said)
        # And when there is none of them any more:
        assert not {r["pid"] for r in dump(kind)} & set(pids)


def a_process_that_is_not_there_has_nothing():
    child = Child(nothing)
    child.__exit__()
    for kind in (TASKS, FILES, MAPPINGS):
        assert dump(kind, child.pid) == []


def hostile_requests_are_refused():
    for kind, pid in ((3, 0), (1 << 31, 0), (TASKS, -1), (FILES, -(1 << 31))):
        try:
            Dump(kind, pid)
        except OSError as e:
            assert e.errno == errno.EINVAL, e
        else:
            raise AssertionError((kind, pid))
    libc = ctypes.CDLL(None, use_errno=True)
    with Dump(TASKS) as d:
        for to in (1, 1 << 47, (1 << 64) - 4096):
            got = libc.read(d.fd, ctypes.c_void_p(to), 4096)
            assert got == -1 and ctypes.get_errno() == errno.EFAULT
        assert libc.read(d.fd, ctypes.c_void_p(1), 0) == 0
        assert d.rest(), "what was not read is still there"
        for command in (DUMP, 0, DUMP_COUNTS ^ 1):
            assert libc.ioctl(d.fd, ctypes.c_ulong(command), None) == -1
            assert ctypes.get_errno() == errno.ENOTTY
        assert libc.ioctl(d.fd, ctypes.c_ulong(DUMP_COUNTS), None) == -1
        assert ctypes.get_errno() == errno.EFAULT


def open_files():
    return int(pathlib.Path("/proc/sys/fs/file-nr").read_text().split()[0])


def memory_kb():
    fields = dict(line.split(":") for line in
                  pathlib.Path("/proc/meminfo").read_text().splitlines())
    return int(fields["Slab"].split()[0]) + int(
        fields["VmallocUsed"].split()[0])


def module_users():
    return int(pathlib.Path("/sys/module/sonde/refcnt").read_text())


def settle(question, wanted):
    """What RCU frees takes a while: asks until it is so, or ten seconds."""
    end = time.monotonic() + 10
    while question() > wanted and time.monotonic() < end:
        select.select([], [], [], 0.05)
    return question()


def a_thousand_dumps_leave_nothing():
    with Child(many_files):
        for _ in range(50):
            for kind in (TASKS, FILES, MAPPINGS):
                dump(kind)
        files, memory, users = open_files(), memory_kb(), module_users()
        for i in range(1000):
            with Dump(i % 3) as d:
                if i % 10:
                    d.read()
                    d.read()
                else:
                    d.rest()
        # A dump takes 128 KiB: a thousand that are not freed take 125 MiB.
        assert settle(memory_kb, memory + 8192) <= memory + 8192
        # Files are freed in batches.
        assert settle(open_files, files + 64) <= files + 64
        assert module_users() == users


TESTS = [threads_are_as_proc_has_them, a_thread_is_said_once,
         other_namespaces_have_other_numbers,
         a_namespace_of_pids_numbers_from_one,
         threads_share_a_table_and_processes_do_not,
         no_address_of_the_kernels_is_given_away,
         cgroups_are_their_directories, files_are_as_proc_has_them,
         everybodys_files_are_asked_at_once,
         sockets_are_called_by_their_addresses,
         descriptors_from_the_bound_on_are_counted,
         mappings_are_as_proc_has_them, a_thousand_mappings_are_all_there,
         threads_of_a_dead_leader_speak_for_it,
         a_dump_can_be_read_byte_by_byte, a_half_read_dump_holds_no_file,
         who_ends_in_the_middle_does_no_harm,
         a_process_that_is_not_there_has_nothing,
         hostile_requests_are_refused, a_thousand_dumps_leave_nothing]


def main():
    wanted = sys.argv[1:]
    passed = failed = 0
    for test in TESTS:
        if wanted and not any(word in test.__name__ for word in wanted):
            continue
        try:
            test()
            print(f"ok {test.__name__}", flush=True)
            passed += 1
        except (AssertionError, OSError, LookupError, StopIteration,
                struct.error) as e:
            where = e.__traceback__
            while where.tb_next:
                where = where.tb_next
            print(f"FAILED {test.__name__}: line {where.tb_lineno}: "
                  f"{type(e).__name__}: {str(e)[:600]}", flush=True)
            failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
