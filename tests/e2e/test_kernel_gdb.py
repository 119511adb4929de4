#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_kernel_gdb.py - a stock GDB on the running kernel: symbols that are moved
to where it is, memory, tracepoints in it with conditions, their frames; and words
for what can't be.

The symbols are of a vmlinux that is made here: one function, at the place where
the kernel's symbols say it is, with the types that GDB compiles conditions and
collects expressions by. What a program reads, between tstart and tstop, is the
witness of counts and values."""

import contextlib
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys

from sonde import SONDE, Skip, check, install, run, scratch
from harness import check_equal, main, test
from kernel import (LIMIT_S, LOAD, Harm, KernelTrace, bpf_exists, bpf_objects,
                    descendants, gone, is_sonde, need, random_functions,
                    wait_for, why_no_modules)

PMU = pathlib.Path("/sys/bus/event_source/devices/kprobe/type")
KCORE = pathlib.Path("/proc/kcore")
BASE = 0xffffffff81000000  # what a vmlinux is linked for
FIRST, NR = 70_000, 100  # sizes that nobody else reads in
OURS = f"count >= {FIRST} && count < {FIRST + NR}"
READER = f"""
import os, sys
os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})
f = os.open(sys.argv[1], os.O_RDONLY)
for i in range({NR}):
    os.read(f, {FIRST} + i)
"""
SOURCE = """
struct file;
long vfs_read(struct file *file, char *buf, unsigned long count, long *pos);
long vfs_read(struct file *file, char *buf, unsigned long count, long *pos)
{
	return count + *pos;
}
struct task_struct;
int __traceiter_task_rename(void *data, struct task_struct *task,
			    const char *comm);
int __traceiter_task_rename(void *data, struct task_struct *task,
			    const char *comm)
{
	return !data + !task + *comm;
}
"""
SCRIPT = """
ENTRY(vfs_read)
PHDRS {{ text PT_LOAD FLAGS(5); }}
SECTIONS {{
	. = {base:#x};
	.head : {{ QUAD(0) }} :text
{places}
	/DISCARD/ : {{ *(.note*) *(.eh_frame) *(.comment) }}
}}
"""


def kallsyms():
    """Names and addresses."""
    for line in open("/proc/kallsyms"):
        address, _, name = line.split()[:3]
        yield name, int(address, 16)


def symbols():
    """Addresses by name. In a guest, they take half a minute."""
    need_addresses()
    found = {}
    for name, address in kallsyms():
        found.setdefault(name, address)
    return found


def places(names):
    """Where the linker puts each function: in the order of addresses."""
    there = {names[name] - names["_text"] + BASE: name
             for name in ("vfs_read", "__traceiter_task_rename")
             if name in names}
    return "\n".join(f"\t.text.{name} {at:#x} : {{ *(.text.{name}) }} :text"
                     for at, name in sorted(there.items()))


def vmlinux():
    """Made by the first test that asks: in a guest, it takes half a minute."""
    made = pathlib.Path(os.environ["SONDE_TEST_SCRATCH"], "vmlinux")
    if not made.exists():
        make_vmlinux(scratch()).rename(made)
    return made


def make_vmlinux(place):
    (place / "vmlinux.c").write_text(SOURCE)
    (place / "script").write_text(SCRIPT.format(base=BASE,
                                                places=places(symbols())))
    done = run("gcc", "-g", "-O2", "-mcmodel=kernel", "-fno-pic",
               "-ffreestanding", "-fcf-protection=none", "-nostdlib",
               "-ffunction-sections", "-static", "-no-pie",
               "-Wl,--build-id=none", "-Wl,-T", place / "script",
               place / "vmlinux.c", "-o", place / "vmlinux")
    check_equal(done.returncode, 0, done.stderr)
    return place / "vmlinux"


def gdb(*lines, output=None, symbols=None):
    script = scratch() / "script.gdb"
    script.write_text("\n".join(["set pagination off", "set confirm off",
                                 *lines, ""]))
    out = ["-o", output] if output else []
    done = run(SONDE, "gdb", "--kernel", "--symbols", symbols or vmlinux(),
               *out, "--", "-nx", "-batch", "-x", script)
    return done.stdout + done.stderr


def reads():
    """GDB's line that has a program read."""
    file = scratch() / "file"
    file.write_bytes(b"x" * 100)
    reader = scratch() / "reader.py"
    reader.write_text(READER)
    return f"shell {sys.executable} {reader} {file}"


def dump_all(what, name="value"):
    return ["tfind start", "while $trace_frame != -1",
            f'printf "{name} = %ld\\n", (long)({what})', "tfind", "end"]


def values(text, name="value"):
    return [int(v) for v in re.findall(rf"^{name} = (-?\d+)", text, re.M)]


def collect(what):
    return ["actions", f"collect {what}", "end"]


def need_addresses():
    if not next((at for name, at in kallsyms() if name == "_text"), 0):
        raise Skip("the kernel doesn't tell its addresses")


def need_kernel():
    need("bpf")
    need_addresses()


def kernel_gdb_test(function):
    def run_it():
        need_kernel()
        if not PMU.exists():
            raise Skip("the kernel has no kprobes (CONFIG_KPROBES)")
        function()
    run_it.__name__ = function.__name__
    run_it.time_limit_s = LIMIT_S
    test(run_it)
    return function


# ---- static tracepoints ----

RENAMER = f"""
import ctypes, os
os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})
libc = ctypes.CDLL(None)
for i in range({NR}):
    libc.prctl(15, f"kgdb-{{i}}".encode(), 0, 0, 0)
"""
# "k", "-": GDB has no agent expressions with characters in quotes.
OURS_RENAMED = "comm[0] == 107 && comm[4] == 45"
FORKER = RENAMER + """
    child = os.fork()
    child or os._exit(0)
    os.waitpid(child, 0)
"""
OURS_FORKED = "p->comm[0] == 107 && p->comm[4] == 45"


def renames(text=RENAMER):
    """GDB's line that has a program change its name."""
    renamer = scratch() / "renamer.py"
    renamer.write_text(text)
    return f"shell {sys.executable} {renamer}"


def markers():
    """Ids, and their addresses, as GDB shows them."""
    text = gdb("info static-tracepoint-markers")
    found = {}
    for name, address in re.findall(
            r"^\d+\s+(\S+?)\.* +n +(0x[0-9a-f]+)", text, re.M):
        found.setdefault(name, []).append(int(address, 16))
    check(found, text[-3000:])
    return found


def need_events():
    need_kernel()
    if not pathlib.Path("/sys/kernel/tracing/events/task").exists():
        raise Skip("the kernel has no tracefs")


@kernel_gdb_test
def all_events_are_markers():
    need_events()
    found, names = markers(), symbols()
    for line in open("/sys/kernel/tracing/available_events"):
        event = line.strip()
        iterator = names.get("__traceiter_" + event.split(":")[1])
        if not iterator or event.startswith("syscalls:"):
            continue
        check(event in found, f"{event} is no marker")
        check_equal(found.get("args/" + event, found[event]), [iterator],
                    event)


@kernel_gdb_test
def an_events_arguments_decide():
    need_events()
    name = "args/task:task_rename"
    if name not in markers():
        name = "task:task_rename"
    where = scratch() / "trace"
    text = gdb(f"strace -m {name} if {OURS_RENAMED}",
               *collect("$_sdata, comm, comm[5]"), "tstart", renames(),
               "tstop", "tstatus", *dump_all("comm[5]"),
               "tfind 7", "output $_sdata", output=where)
    check(f"Collected {NR} trace frame" in text, text)
    check_equal(values(text), [ord(str(i)[0]) for i in range(NR)],
                text[-3000:])
    check("kgdb-7" in text, text[-3000:])
    hits = KernelTrace(where).events("kgdb:task_rename")
    check_equal([hit["unread"] for hit in hits], [0] * NR, "unread")


@kernel_gdb_test
def a_probe_at_a_site_is_hit_by_that_event():
    need_events()
    if "args/task:task_rename" not in markers():
        raise Skip("no site of task_rename is known")
    where = scratch() / "trace"
    text = gdb("strace -m task:task_rename", *collect("$_sdata, $regs"),
               "tstart", renames(), "tstop", "tstatus",
               *dump_all("$rip", "rip"), "tfind start", "output $_sdata",
               output=where)
    trace = KernelTrace(where)
    renamed = trace.events("task_rename")
    check(len(renamed) >= NR, text)
    # A second site's are kgdb:task_rename.2.
    places = [event["regs"]["rip"] for event in
              trace.events(r"kgdb:task_rename(\.\d+)?")]
    check_equal(len(places), len(renamed), text)
    check(set(places) <= set(markers()["task:task_rename"]), text)
    check("comm" in text[-2000:], text)


@kernel_gdb_test
def locals_at_a_site_are_what_the_event_says():
    need_events()
    symbols = debuginfo()
    where = scratch() / "trace"
    # Not task_rename's site: on 6.12, an inlined function begins there.
    text = gdb(f"strace -m sched:sched_process_fork if {OURS_FORKED}",
               *collect("$_sdata, p->pid, p->comm[5], p->comm[6]"), "tstart",
               renames(FORKER), "tstop", "tstatus",
               *dump_all("p->pid", "pid"), *dump_all("p->comm[5]"),
               *dump_all("p->comm[6]", "next"), output=where, symbols=symbols)
    check("trace frame" in text, text[-3000:])
    forked = [event for event in
              KernelTrace(where).events("sched_process_fork")
              if event["child_comm"].startswith("kgdb-")]
    check_equal(len(forked), NR, text[-3000:])
    names = [event["child_comm"].ljust(7, "\0") for event in forked]
    check_equal(values(text, "pid"), [event["child_tid"] for event in forked],
                text)
    check_equal(values(text), [ord(name[5]) for name in names], text[-3000:])
    check_equal(values(text, "next"), [ord(name[6]) for name in names], text)


def sondes():
    """Of all that run: a server leaves its parent."""
    return [int(pid.name) for pid in pathlib.Path("/proc").iterdir()
            if pid.name.isdigit() and is_sonde(pid.name)]


class Server:
    """`sonde gdbserver --kernel`, spoken to by packets."""

    def __init__(self):
        self.process = subprocess.Popen(
            [SONDE, "gdbserver", "--kernel", "-"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0)

    def ask(self, text):
        sent = b"$%s#%02x" % (text.encode(), sum(text.encode()) % 256)
        self.process.stdin.write(sent)
        answer = b""
        while not re.search(rb"#..$", answer):
            more = self.process.stdout.read(1 << 16)
            check(more, f"{text}: the server ended")
            answer += more
        self.process.stdin.write(b"+")
        return answer.lstrip(b"+").decode()[1:-3]

    def markers(self):
        """What is told of all of them, and how many bytes it had the server
        read, by the kernel's account."""
        before, told = self.bytes_read(), []
        answer = self.ask("qTfSTM")
        while answer != "l":
            told.append(answer)
            answer = self.ask("qTsSTM")
        return told, self.bytes_read() - before

    def bytes_read(self):
        return sum(int(re.search(r"rchar: (\d+)", pathlib.Path(
            f"/proc/{pid}/io").read_text())[1]) for pid in sondes())

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


@kernel_gdb_test
def markers_are_read_once_until_a_module_comes():
    need_events()
    if not os.path.exists("/proc/self/io"):
        raise Skip("the kernel doesn't count what is read")
    server = Server()
    try:
        first, all_bytes = server.markers()
        second, few_bytes = server.markers()
        check(first and first == second, "the markers are others")
        check(all_bytes > 10 * few_bytes, f"{all_bytes}, {few_bytes}")
        with ext4():
            third, again = server.markers()
    finally:
        server.end()
    check(again > 10 * few_bytes, f"{again}, {few_bytes}")
    text = bytes("".join(third), "ascii")
    check(b"ext4:".hex().encode() in text, "ext4's aren't there")


@kernel_gdb_test
def what_is_no_static_tracepoint_is_told():
    need_events()
    text = gdb("strace *vfs_read", "tstart")
    check("marker" in text, text)


# ---- hits and frames ----

@kernel_gdb_test
def frames_have_what_was_collected():
    where = scratch() / "trace"
    text = gdb(f"trace *vfs_read if {OURS}",
               *collect("count, *pos, $regs"), "tstart", reads(),
               "tstop", "tstatus", *dump_all("count"),
               *dump_all("*pos", "pos"), *dump_all("$rip == (long)&vfs_read",
                                                   "rip"),
               output=where)
    check(f"Collected {NR} trace frame" in text, text)
    by = "bpf" if why_no_modules() else "modules"
    check(f"probes in the kernel by {by}" in text, text[-3000:])
    check_equal(values(text), list(range(FIRST, FIRST + NR)), text[-3000:])
    # The file has 100 bytes.
    check_equal(values(text, "pos"), [0] + [100] * (NR - 1), text[-3000:])
    check_equal(values(text, "rip"), [1] * NR, text[-3000:])
    check_trace(where)


def check_trace(where):
    """The same without GDB, and with another."""
    hits = KernelTrace(where).events("kgdb:vfs_read")
    check_equal(len(hits), NR, "hits")
    for i, hit in enumerate(hits):
        # whatever babeltrace2 calls *pos, which is no identifier
        pos = [hit[name] for name in hit.fields if name.endswith("pos")]
        check_equal(pos, [100 if i else 0], hit)
        check_equal(hit["regs"]["rdx"], FIRST + i, hit)
        check_equal(hit["regs"]["cs"], 0x10, hit)
        # by the function's parameters' types
        check_equal(hit["count"], FIRST + i, hit)
        check_equal(hit["unread"], 0, hit)
    again = run(SONDE, "gdb", where, "-nx", "-batch", "-ex", "tfind 7", "-ex",
                'printf "value = %ld\\n", $rdx')
    check_equal(values(again.stdout), [FIRST + 7],
                again.stdout + again.stderr)


@kernel_gdb_test
def what_cant_be_read_is_unavailable():
    # The buffer is the program's, not the kernel's.
    text = gdb(f"trace *vfs_read if count == {FIRST}", *collect("*buf, count"),
               "tstart", reads(), "tstop", "tfind start", "print count",
               "print *buf")
    check(f"$1 = {FIRST}" in text, text)
    check("<unavailable>" in text or "not available" in text or
          "Cannot access memory" in text, text)


@kernel_gdb_test
def a_bad_pointer_is_false_and_counted():
    text = gdb(f"trace *vfs_read if {OURS} && *(long *)count == 5",
               *collect("count"), "tstart", reads(), "tstop", "tstatus")
    check("Collected 0 trace frame" in text, text)
    counted = re.search(r"kgdb:vfs_read: (\d+) times the condition met memory "
                        "that can't be read", text)
    check(counted and int(counted[1]) == NR, text)


@kernel_gdb_test
def several_are_at_one_place():
    text = gdb(f"trace *vfs_read if {OURS} && count % 2 == 0",
               *collect("count"),
               f"ftrace *vfs_read if {OURS} && count % 10 == 0",
               *collect("count, pos"), "tstart", reads(), "tstop", "tstatus",
               "info tracepoints")
    check(f"Collected {NR // 2 + NR // 10} trace frame" in text, text)
    hits = re.findall(r"tracepoint already hit (\d+) time", text)
    check_equal(sorted(map(int, hits)), [NR // 10, NR // 2], text)


@kernel_gdb_test
def a_passcount_ends_the_run():
    text = gdb(f"trace *vfs_read if {OURS}", *collect("count"), "passcount 7",
               "tstart", reads(), "tstatus", *dump_all("count"))
    check_equal(values(text), list(range(FIRST, FIRST + 7)), text)
    check("Trace stopped by tracepoint 1" in text, text)


@kernel_gdb_test
def a_disabled_one_records_nothing_until_it_is_enabled():
    text = gdb(f"trace *vfs_read if {OURS}", *collect("count"), "disable 1",
               "tstart", reads(), "enable 1", reads(), "disable 1", reads(),
               "tstop", "tstatus")
    check(f"Collected {NR} trace frame" in text, text)


# ---- in modules ----

WRITER = f"""
import os, sys
f = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
for i in range({NR}):
    os.write(f, b"x" * ({FIRST} + i))
"""


@contextlib.contextmanager
def ext4():
    """GDB's line that has a program write to a file of an ext4 of ours, which is
    a module in Debian's kernels."""
    if not os.environ.get("SONDE_MOUNTS"):
        raise Skip("this machine's mounts are not ours")
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    image, folder = scratch() / "image", scratch() / "ext4"
    writer = scratch() / "writer.py"
    writer.write_text(WRITER)
    for words in (["modprobe", "-a", "loop", "ext4"],
                  ["truncate", "-s", "32M", image],
                  ["mkfs.ext4", "-q", image], ["mkdir", folder],
                  ["mount", "-o", "loop", image, folder]):
        words[0] = shutil.which(words[0], path=path) or words[0]
        try:
            done = run(*words)
        except FileNotFoundError:
            raise Skip(f"no {words[0]}") from None
        if done.returncode:
            raise Skip(f"{words[0]}: {done.stderr}")
    try:
        yield f"shell {sys.executable} {writer} {folder / 'file'}"
    finally:
        run("umount", folder)


def module_files(name):
    """Of that module as the kernel calls it, compressed or not."""
    modules = pathlib.Path("/lib/modules", os.uname().release)
    return list(modules.rglob(name.replace("_", "?") + ".ko*"))


def debuginfo(module=""):
    """The kernel's vmlinux, if that module's file is there, too."""
    release = os.uname().release
    files = [f"/usr/lib/debug/boot/vmlinux-{release}"]
    if module:
        files.append(f"/usr/lib/debug/lib/modules/{release}/kernel/{module}")
    if not all(map(os.path.exists, files)):
        raise Skip("the kernel's debugging information isn't there")
    return files[0]


@kernel_gdb_test
def a_function_of_a_module_is_a_place():
    if not module_files("ext4"):
        raise Skip("no ext4 in /lib/modules")
    where = scratch() / "trace"
    with ext4() as writes:
        text = gdb("trace *ext4_file_write_iter", *collect("$regs"), "tstart",
                   writes, "tstop", "tstatus",
                   *dump_all("$rip == (long)&ext4_file_write_iter"),
                   output=where)
        address = symbols()["ext4_file_write_iter"]
    check_equal(values(text), [1] * NR, text[-3000:])
    hits = KernelTrace(where).events("kgdb:ext4_file_write_iter")
    check_equal([hit["regs"]["rip"] for hit in hits], [address] * NR, "rip")


@kernel_gdb_test
def a_modules_variables_decide_and_are_collected():
    vmlinux_file = debuginfo("fs/ext4/ext4.ko")
    if not os.uname().release.startswith("6.1."):
        raise Skip("the line is that of another kernel's source")
    where = scratch() / "trace"
    with ext4() as writes:
        text = gdb("trace ext4_file_write_iter if from->count % 2 == 0",
                   *collect("from->count, iocb->ki_pos"),
                   # Where the inode is unlocked, behind the write.
                   f"trace fs/ext4/file.c:297 if ret >= {FIRST + 9}",
                   *collect("ret, inode->i_size"), "tstart", writes, "tstop",
                   "tstatus", output=where, symbols=vmlinux_file)
    check("trace frame" in text, text[-3000:])
    sizes = range(FIRST, FIRST + NR)
    ends = [sum(sizes[:i + 1]) for i in range(NR)]
    trace = KernelTrace(where)
    begun = trace.events("kgdb:ext4_file_write_iter")
    check_equal([(hit["count"], hit["ki_pos"]) for hit in begun],
                [(size, end - size) for size, end in zip(sizes, ends)
                 if size % 2 == 0], text[-3000:])
    done = trace.events("kgdb:file_c_297")
    check_equal([(hit["ret"], hit["i_size"]) for hit in done],
                list(zip(sizes, ends))[9:], text[-3000:])
    check_equal({hit["unread"] for hit in begun + done}, {0}, "unread")


@kernel_gdb_test
def a_modules_events_have_their_sites():
    need_events()
    name, where = "ext4:ext4_da_write_begin", scratch() / "trace"
    with ext4() as writes:
        text = gdb(f"strace -m {name}", *collect("$_sdata, $regs"), "tstart",
                   writes, "tstop", "tstatus", output=where)
        check(f"args/{name}" in markers(), "no site is known")
    trace = KernelTrace(where)
    places = [event["regs"]["rip"] for event in
              trace.events(r"kgdb:ext4_da_write_begin(\.\d+)?")]
    check(len(places) >= NR, text[-3000:])
    check_equal(len(places), len(trace.events("ext4_da_write_begin")), text)


# ---- many sites ----

SENDER = f"""
import socket
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
here.bind(("127.0.0.1", 0))
for i in range({NR}):
    here.sendto(b"x" * (100 + i), here.getsockname())
    here.recv(1000)
"""
# What is visible at all sites of an event, and the field that tells the same. Left
# out, of Debian's 6.1: netif_rx, netif_receive_skb, block_rq_issue and those of
# raw_syscalls, where code of an inlined function is, whose variables alone GDB looks
# at; signal_deliver, which has the signal's number in no variable; sched_switch,
# where no probe can be.
LOCALS = {
    "task:task_newtask": ("p->pid", "pid"),
    "task:task_rename": ("tsk->pid", "pid"),
    "sched:sched_process_fork": ("p->pid", "child_tid"),
    "sched:sched_process_exit": ("tsk->pid", "tid"),
    "sched:sched_wakeup": ("p->pid", "tid"),
    "sched:sched_waking": ("p->pid", "tid"),
    "irq:softirq_entry": ("vec_nr", "vec"),
    "irq:irq_handler_entry": ("desc->irq_data.irq", "irq"),
    "timer:timer_start": ("timer->expires", "expires"),
    "timer:timer_expire_entry": ("timer->function", "function"),
    "timer:hrtimer_start": ("timer->function", "function"),
    "timer:hrtimer_expire_entry": ("timer->function", "function"),
    "workqueue:workqueue_execute_start": ("work->func", "function"),
    "writeback:writeback_mark_inode_dirty": ("inode->i_ino", "ino"),
    "writeback:writeback_dirty_inode": ("inode->i_ino", "ino"),
    "block:block_bio_queue": ("bio->bi_iter.bi_sector", "sector"),
    "block:block_getrq": ("bio->bi_iter.bi_sector", "sector"),
    "block:block_rq_complete": ("req->__sector", "sector"),
    "net:net_dev_queue": ("skb->len", "len"),
    "net:net_dev_start_xmit": ("skb->len", "len"),
}
# Of Debian's 6.12, these, too, in whose place are the others.
HIDDEN_IN_6_12 = {"task:task_newtask", "task:task_rename", "sched:sched_wakeup"}
LOCALS_OF_6_12 = {
    "sched:sched_wakeup_new": ("p->pid", "tid"),
    "timer:hrtimer_expire_exit": ("timer", "hrtimer"),
    "writeback:writeback_single_inode": ("inode->i_ino", "ino"),
}


def locals_here():
    release = os.uname().release
    if release.startswith("6.1."):
        return LOCALS
    if not release.startswith("6.12."):
        raise Skip("another kernel has other variables at its sites")
    return LOCALS_OF_6_12 | {name: each for name, each in LOCALS.items()
                             if name not in HIDDEN_IN_6_12}


def check_locals(events, name, field):
    """Holds each hit against the event that its thread came to next on that CPU,
    what interrupts brought in between left out. Hits by site, and the events
    without one. Hits may be without their event where the trace begins or ends, for
    the sources of both do so one after the other."""
    group, event = name.split(":")
    site = re.compile(rf"kgdb:{event}(\.\d+)?")
    pending, nr, bare, seen = {}, {}, [], []
    for each in events:
        hits = pending.setdefault((each.cpu, each.tid), [])
        if site.fullmatch(each.name):
            hits.append(each)
            nr[each.name] = nr.get(each.name, 0) + 1
        elif each.name not in (event, f"{group}_{event}"):
            continue
        else:
            seen.append(each)
            if not hits:
                bare.append(each)
                continue
            hit = hits.pop()
            # What was collected is first, however it is called.
            value = next(iter(hit.fields.values()))
            check_equal((value, hit["unread"]), (each[field], 0),
                        f"{name}: {hit} {each}")
    check(seen, f"{name}: no event")
    left = [hit for hits in pending.values() for hit in hits
            if seen[0].time < hit.time and
            any(e.time > hit.time for e in seen if e.cpu == hit.cpu)]
    check_equal(left, [], f"{name}: hits without their event")
    return nr, bare


def check_accounts(trace, events, bare):
    """Whether each event without a hit is counted as a lost one, but for wake-ups by
    the recorder, of which there are no hits, and what came in the moment between
    the ends of two sources: nothing of how probes are taken out."""
    own = re.search(r'kernel_recorder = "(\d+) (\d+)"',
                    (trace.dir / "kernel/metadata").read_text())
    hits = [event.time for event in events if event.name.startswith("kgdb:")]
    late = [e for e in bare if e.time > hits[-1]]
    optimizer = symbols()["kprobe_optimizer"]
    check(not [e for e in late if e.fields.get("function") == optimizer],
          f"{len(late)} events of what came after the end")
    missing = [e for e in bare if hits[0] <= e.time <= hits[-1] and
               str(e.tid) not in own.groups()]
    print(f"# {len(hits)} hits, {trace.lost} lost; without one: "
          f"{len(missing)}, at the end {len(late)}", flush=True)
    check(len(missing) <= trace.lost, "more without a hit than are lost")


def at_each_site(wanted, found):
    """GDB's lines for all of them; `actions` alone are the last one's."""
    lines, last = [], 0
    for name, (local, _) in wanted.items():
        lines.append(f"strace -m {name}")
        for _ in found[name]:
            last += 1
            lines += [f"actions {last}", f"collect $_sdata, {local}", "end"]
    return lines


@kernel_gdb_test
def locals_at_twenty_sites_are_what_the_events_say():
    need_events()
    vmlinux_file = debuginfo("fs/ext4/ext4.ko")
    where, sender = scratch() / "trace", scratch() / "sender.py"
    sender.write_text(SENDER)
    wanted = locals_here()
    with ext4() as writes:
        text = gdb(*at_each_site(wanted, markers()), "tstart",
                   renames(FORKER), writes, f"shell {sys.executable} {sender}",
                   "shell sync", "tstop", "tstatus", output=where,
                   symbols=vmlinux_file)
    check("trace frame" in text, text[-3000:])
    trace, nr, bare = KernelTrace(where), {}, []
    events = trace.events()
    for name, (_, field) in wanted.items():
        found, without = check_locals(events, name, field)
        nr.update(found)
        bare += without
    # An interrupt in one probe comes to others, which the kernel leaves out.
    check_accounts(trace, events, bare)
    check(len(nr) >= len(wanted), f"some had nothing to do: {nr}")
    for name in ("sched_process_fork", "net_dev_queue", "net_dev_start_xmit"):
        check(nr.get(f"kgdb:{name}", 0) >= NR, nr)


# ---- lines anywhere ----

# What was tried is in docs/kernel-probes.md.
NR_LINES = int(os.environ.get("SONDE_RANDOM_LINES", 16))
BUSY = ["do_sys_openat2", "vfs_statx", "vfs_write", "vfs_read"]
# GDB's: lines of functions that are named, each with all variables that are in
# registers or on the stack there, as many at once as `batch`.
LINES = r"""
import random, re, tempfile, gdb

def variables(pc):
    scope = gdb.execute(f"info scope *{pc:#x}", to_string=True)
    parts = re.split(r"^Symbol (\S+) is ", scope, flags=re.M)[1:]
    found = {}
    for name, text in zip(parts[::2], parts[1::2]):
        size = re.search(r"length (\d+)\.\s*\Z", text)
        for low, high, where in re.findall(r"Range (\w+)-(\w+): (.*)", text):
            if int(low, 16) <= pc < int(high, 16):
                text = where
        if re.match(r"a variable (in \$|at )", text) and int(size[1]) <= 64:
            found.setdefault(name)
    return list(found)[:12]

def lines(function):
    symbol = (gdb.lookup_global_symbol(function) or
              gdb.lookup_static_symbol(function))
    if not symbol or not symbol.symtab:
        return []
    start = int(symbol.value().address)
    end = gdb.block_for_pc(start).end
    return sorted(each.pc for each in symbol.symtab.linetable()
                  if start < each.pc < end and each.line)

def put(pc, points):
    gdb.execute(f"trace *{pc:#x}")
    points[pc] = number = int(gdb.parse_and_eval("$tpnum"))
    names = ", ".join(variables(pc)) or "$regs"
    # Where GDB reads commands from, it reads actions.
    with tempfile.NamedTemporaryFile("w", suffix=".gdb") as script:
        script.write(f"actions {number}\ncollect {names}\nend\n")
        script.flush()
        gdb.execute(f"source {script.name}")

def refused(why, pc, points):
    print(f"refused: {why}", flush=True)
    gdb.execute(f"delete {points.pop(pc)}")

def run(points):
    while points:
        try:
            gdb.execute("tstart")
            break
        except gdb.error as why:
            at = re.search(r"(0x[0-9a-f]+): ", str(why))
            if not at or int(at[1], 16) not in points:
                raise
            refused(why, int(at[1], 16), points)
    gdb.execute(load)
    gdb.execute("tstop")
    gdb.execute("tstatus")
    print(f"LINES = {len(points)}", flush=True)
    gdb.execute("delete")
    return len(points)

def go(names, nr, batch, seed):
    rng, todo = random.Random(seed), list(names)
    while nr > 0 and todo:
        points = {}
        while len(points) < min(nr, batch) and todo:
            places = lines(todo.pop())
            if places:
                pc = rng.choice(places)
                try:
                    put(pc, points)
                except gdb.error as why:  # what GDB can't collect
                    refused(why, pc, points)
        nr -= run(points)
"""


@kernel_gdb_test
def random_lines_under_load_do_the_kernel_no_harm():
    need("tracefs")
    vmlinux_file = debuginfo()
    seed = int(os.environ.get("SONDE_SEED", 18))
    # The last are the first: where the load is sure to come by.
    names = random_functions(random.Random(seed))[:20 * NR_LINES] + BUSY
    place = scratch()
    (place / "load.py").write_text(LOAD)
    (place / "lines.py").write_text(
        f"{LINES}\nload = 'shell {sys.executable} {place}/load.py {place}'\n"
        f"go({names!r}, {NR_LINES}, 16, {seed})\n")
    harm = Harm()
    text = gdb(f"source {place}/lines.py", output=place / "trace",
               symbols=vmlinux_file)
    harm.check_none(f"seed {seed}: {text[-3000:]}")
    nr_lines = sum(values(text, "LINES"))
    frames = re.findall(r"^Collected (\d+) trace frames?", text, re.M)
    print(f"# {nr_lines} lines, {sum(map(int, frames))} hits, "
          f"{len(re.findall('^refused: ', text, re.M))} refused", flush=True)
    check(nr_lines >= NR_LINES, text[-3000:])
    check(any(map(int, frames)), "nobody came to any of them")


# ---- trace state variables ----

# The programs keep to one CPU, whose values these are.

@test
def variables_are_assigned_at_an_event():
    need_events()
    name = "args/task:task_rename"
    if name not in markers():
        name = "task:task_rename"
    where = scratch() / "trace"
    text = gdb("tvariable $n = 5", "tvariable $left = 9",
               f"strace -m {name} if {OURS_RENAMED} && $left > 0", "actions",
               "teval $left = $left - 1", "teval $n = $n + comm[5]",
               "collect comm[5], $n", "end", "tstart", renames(), "tstop",
               "tstatus", "info tvariables", *dump_all("$n"), output=where)
    sums = [5 + sum(ord(str(k)) for k in range(i + 1)) for i in range(9)]
    check_equal(values(text), sums, text)
    check(re.search(rf"^\$n +5 +{sums[-1]} *$", text, re.M), text)
    check(re.search(r"^\$left +9 +0 *$", text, re.M), text)
    hits = KernelTrace(where).events("kgdb:task_rename")
    check_equal([hit["n"] for hit in hits], sums, "the trace")


@kernel_gdb_test
def variables_are_assigned_at_each_hit():
    where = scratch() / "trace"
    text = gdb("tvariable $n = 5", "tvariable $sum", "tvariable $unused = 7",
               f"trace *vfs_read if {OURS}", "actions",
               "collect $n", "teval $n = $n + 1", "teval $sum = $sum + count",
               "collect $sum, count", "end", "tstart", reads(), "tstop",
               "info tvariables", *dump_all("$n"), *dump_all("$sum", "sum"),
               output=where)
    sums = [sum(range(FIRST, FIRST + i + 1)) for i in range(NR)]
    check_equal(values(text), list(range(5, 5 + NR)), text[-3000:])
    check_equal(values(text, "sum"), sums, text[-3000:])
    for name, first, last in (("n", 5, 5 + NR), ("sum", 0, sums[-1]),
                              ("unused", 7, 7)):
        check(re.search(rf"^\${name} +{first} +{last} *$", text, re.M), text)
    hits = KernelTrace(where).events("kgdb:vfs_read")
    check_equal([hit["sum"] for hit in hits], sums, "the trace")


@kernel_gdb_test
def a_condition_looks_at_a_variable():
    text = gdb("tvariable $n = 3", f"trace *vfs_read if {OURS} && $n > 0",
               "actions", "teval $n = $n - 1", "collect count", "end",
               "tstart", reads(), "tstop", "info tvariables",
               *dump_all("count"))
    check_equal(values(text), [FIRST, FIRST + 1, FIRST + 2], text)
    check(re.search(r"^\$n +3 +0 *$", text, re.M), text)


@kernel_gdb_test
def what_is_assigned_from_a_bad_pointer_stays():
    # The buffer is the program's, not the kernel's.
    text = gdb("tvariable $n = 9", f"trace *vfs_read if {OURS}", "actions",
               "teval $n = *buf + 0", "end", "tstart", reads(), "tstop",
               "tstatus", "info tvariables")
    check(f"Collected {NR} trace frame" in text, text)
    check(re.search(r"^\$n +9 +9 *$", text, re.M), text)


# ---- nothing stays ----

@kernel_gdb_test
def a_killed_server_leaves_no_probe():
    script = scratch() / "stay.gdb"
    script.write_text("trace *vfs_read if count == 99999\ntstart\n"
                      "shell sleep 1000\n")
    front = subprocess.Popen(
        [SONDE, "gdb", "--kernel", "--symbols", vmlinux(), "--", "-nx",
         "-batch", "-x", script], stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True)

    def objects():
        check(front.poll() is None, "GDB ended")
        found = set()
        for pid in sondes():
            found |= bpf_objects(pid)
        return found if any(kind == "link" for kind, _ in found) else None

    held = wait_for(objects, "a link")
    for pid in sondes():
        os.kill(pid, signal.SIGKILL)
    os.killpg(front.pid, signal.SIGKILL)
    front.wait()
    wait_for(lambda: not any(bpf_exists(*each) for each in held),
             "the kernel to drop what they held")


# ---- memory ----

@test
def memory_is_the_kernels():
    need_kernel()
    if not KCORE.exists():
        raise Skip("the kernel has no /proc/kcore")
    banner = symbols().get("linux_banner")
    if not banner:
        raise Skip("the kernel doesn't name its variables")
    text = gdb(f"x/s {banner:#x}", "x/x 0x10")
    version = pathlib.Path("/proc/version").read_text().split("(")[0].strip()
    check(version in text, text)
    check("Cannot access memory at address 0x10" in text, text)
    where = "0xffff7fffffffff00"
    check(f"Cannot access memory at address {where}" in gdb(f"x/x {where}"),
          "memory that isn't the kernel's is read")
    check("Cannot access memory" in gdb("set *(int *)&vfs_read = 1"),
          "the kernel is written to")


@test
def modules_have_their_symbols():
    need_kernel()
    tried = set()
    for line in open("/proc/kallsyms"):
        address, letter, name, *module = line.split()
        if letter != "T" or not module or module[0] in tried:
            continue
        # Looking through all files takes long in a guest.
        tried.add(module[0])
        if module_files(module[0][1:-1]):
            break
    else:
        raise Skip("no module of /lib/modules is loaded")
    text = gdb(f"info symbol 0x{address}")
    check(f"{name} in section .text" in text, text)


# ---- what is refused ----

@test
def the_kernel_is_never_stopped():
    need_kernel()
    text = gdb("stepi", "continue")
    check_equal(text.count("use trace, actions and tstart"), 2, text)
    text = gdb("break *vfs_read", "continue")
    check("use trace, actions and tstart" in text, text)


@test
def kernels_without_kprobes_are_told():
    need_kernel()
    if PMU.exists():
        raise Skip("this kernel has kprobes")
    text = gdb(f"trace *vfs_read if {OURS}", *collect("count"), "tstart")
    check("CONFIG_KPROBES" in text, text)
    check(KCORE.exists() or "CONFIG_PROC_KCORE" in text, text)


@kernel_gdb_test
def functions_that_probes_need_are_told():
    names = symbols()
    name = next(n for n in ("do_int3", "exc_int3", "asm_exc_int3")
                if n in names)
    text = gdb(f"trace *{names[name]:#x}", "tstart")
    check("lets no probe be there" in text, text)


@test
def what_the_kernels_probes_cant_do_is_told():
    need_kernel()
    text = gdb("trace *vfs_read", *collect("$timestamp"), "tstart")
    check("each event has its time" in text, text)
    text = gdb("tvariable $v = 1", "trace *vfs_read", "actions",
               "teval $v = count > 5 && $v", "end", "tstart")
    check("a teval isn't one assignment" in text, text)
    text = gdb("trace *vfs_read", "actions", "while-stepping 3",
               "collect $regs", "end", "end", "tstart")
    check("while-stepping" in text, text)
    text = gdb("trace *0x401000", "tstart")
    check("no address of the kernel" in text, text)


def refused(*words):
    done = run(SONDE, "gdb", "--kernel", *words, "--", "-nx", "-batch")
    check(done.returncode != 0, f"{words} was accepted")
    return done.stderr


@test
def symbols_of_another_build_are_refused():
    need_kernel()
    check("another build" in refused("--symbols", "/bin/ls"), "ls")
    check("no vmlinux" in refused("--symbols", "/proc/version"), "text")
    check("No such file" in refused("--symbols", "/nowhere"), "nowhere")


@test
def the_package_with_symbols_is_named():
    need_kernel()
    release = os.uname().release
    if any(pathlib.Path(p).exists() for p in (
            f"/usr/lib/debug/boot/vmlinux-{release}",
            f"/usr/lib/debug/lib/modules/{release}/vmlinux",
            f"/lib/modules/{release}/build/vmlinux",
            f"/boot/vmlinux-{release}")):
        raise Skip("the kernel's symbols are there")
    check(f"linux-image-{release}-dbg" in refused(), "no package is named")


@test
def users_without_rights_are_told():
    need_kernel()
    told = subprocess.run(["head", "-1", "/proc/kallsyms"], user=65534,
                          group=65534, extra_groups=[], capture_output=True,
                          text=True)
    if not told.stdout.startswith("0000000000000000"):
        raise Skip("everybody is told the kernel's addresses")
    done = subprocess.run([SONDE, "gdbserver", "--kernel", "-"], user=65534,
                          group=65534, extra_groups=[], capture_output=True,
                          text=True, stdin=subprocess.DEVNULL)
    check_equal(done.returncode, 1, done.stderr)
    check("become root" in done.stderr, done.stderr)


install()
main()
