# SPDX-License-Identifier: MIT
"""stories.py - traces of a kernel and a program, made for tests that know what
happened in them.

A trace here is a directory with two, `kernel` and `user`, as `sonde record -k`
makes it. A kernel event is (time, CPU, tid, name, fields), a user event (time,
tid, name, fields); times are microseconds after START. All user events are of
the process SERVER.
"""

import json
import struct

from sonde import run, scratch, SONDE
from harness import check_equal

# Nanoseconds since 1970: in 2026, as what is recorded now; the time of day is
# 01:46:40.
START = 1_000_000_000_000_000_000 + 9000 * 86400 * 10**9
SERVER = 800

SOCKET = ("sk:Q family:I protocol:I ret:i flags:I position:I sport:I dport:I "
          "saddr_high:Q saddr_low:Q daddr_high:Q daddr_low:Q")
KERNEL = {
    "sched_switch": "prev_comm:s prev_tid:i prev_prio:i prev_state:q "
                    "next_comm:s next_tid:i next_prio:i",
    "sched_waking": "comm:s tid:i prio:i target_cpu:i",
    "syscall_entry_futex": "uaddr:Q op:i val:I",
    "syscall_exit_futex": "ret:q",
    "syscall_entry_read": "fd:i buf:Q count:Q",
    "syscall_exit_read": "ret:q",
    "syscall_entry_openat": "dfd:i flags:i filename:s",
    "syscall_exit_openat": "ret:q",
    "syscall_entry_sendto": "fd:i",
    "syscall_exit_sendto": "ret:q",
    "syscall_entry_recvfrom": "fd:i",
    "syscall_exit_recvfrom": "ret:q",
    "syscall_entry_epoll_wait": "epfd:i",
    "syscall_exit_epoll_wait": "ret:q",
    "sock_send_length": SOCKET,
    "sock_recv_length": SOCKET,
    "syscall_entry_nanosleep": "rqtp:Q",
    "syscall_exit_nanosleep": "ret:q",
    "syscall_entry_mmap": "addr:Q len:Q prot:Q flags:Q fd:Q off:Q",
    "syscall_exit_mmap": "ret:Q",
    "sched_process_fork": "parent_comm:s parent_tid:i child_comm:s "
                          "child_tid:i",
    "irq_handler_entry": "irq:i name:s",
    "irq_handler_exit": "irq:i ret:i",
    "irq_softirq_entry": "vec:I",
    "irq_softirq_exit": "vec:I",
    "timer_hrtimer_expire_entry": "hrtimer:Q now:q",
    "timer_hrtimer_expire_exit": "hrtimer:Q",
    "exceptions_page_fault_user": "address:Q ip:Q error_code:Q",
    "lttng_statedump_process_state": "tid:i pid:i ppid:i name:s",
    "lttng_statedump_file_descriptor": "pid:i fd:i filename:s",
    "sonde_statedump_mapping": "pid:i begin:Q end:Q offset:Q path:s "
                               "build_id:s",
}
USER = {
    "server:begin": "id:I",
    "server:end": "id:I",
    "server:step": "id:I",
    "latency:over": "ns:Q",
    "lock:mutex_wait": "mutex:Q caller:Q",
    "lock:mutex_lock": "mutex:Q result:i caller:Q",
    "lock:mutex_unlock": "mutex:Q caller:Q",
}
TSDL_TYPES = {"i": "int32_t", "I": "uint32_t", "q": "int64_t",
              "Q": "uint64_t", "s": "string"}
HEAD = """/* CTF 1.8 */
typealias integer { size = 32; signed = true; } := int32_t;
typealias integer { size = 64; signed = true; } := int64_t;
typealias integer { size = 16; } := uint16_t;
typealias integer { size = 32; } := uint32_t;
typealias integer { size = 64; } := uint64_t;
trace { major = 1; minor = 8; byte_order = le;
  packet.header := struct { uint32_t magic; uint32_t stream_id; }; };
env { domain = "DOMAIN"; kernel_release = "6.1.0"; hostname = "HOST"; };
clock { name = c; freq = 1000000000; };
typealias integer { size = 64; map = clock.c.value; } := time_t;
stream { id = 0;
  packet.context := struct { time_t timestamp_begin; time_t timestamp_end;
    uint64_t content_size; uint64_t packet_size; uint64_t events_discarded;
    uint32_t cpu_id; };
  event.header := struct { uint16_t id; time_t timestamp; };
  event.context := struct { CONTEXT }; };
"""
PACKET_HEAD = struct.Struct("<IIQQQQQI")


class Domain:
    """One of the two traces: its events, and how they are written."""

    def __init__(self, name, events, context):
        self.name, self.events = name, events
        self.context = [field.split(":") for field in context.split()]
        self.ids = {event: i for i, event in enumerate(events)}

    def metadata(self, host):
        def members(fields):
            return "".join(f"{TSDL_TYPES[kind]} {field}; "
                           for field, kind in fields)

        text = HEAD.replace("DOMAIN", self.name).replace(
            "CONTEXT", members(self.context)).replace("HOST", host)
        for event, number in self.ids.items():
            fields = [f.split(":") for f in self.events[event].split()]
            fields = [("_" + f, kind) for f, kind in fields]
            text += (f'event {{ name = "{event}"; id = {number}; '
                     f"stream_id = 0; fields := struct {{ {members(fields)}"
                     "}; };\n")
        return text

    def encode(self, time, event, context, values):
        out = struct.pack("<HQ", self.ids[event], START + round(time * 1000))
        for _, kind in self.context:
            out += struct.pack("<" + kind, context.pop(0))
        for field in self.events[event].split():
            name, kind = field.split(":")
            value = values.get(name, "" if kind == "s" else 0)
            out += (value.encode() + b"\0" if kind == "s" else
                    struct.pack("<" + kind, value))
        return out


def packet(body, cpu, begin, end, discarded):
    bits = (PACKET_HEAD.size + len(body)) * 8
    return PACKET_HEAD.pack(0xC1FC1FC1, 0, START + round(begin * 1000),
                            START + round(end * 1000), bits, bits, discarded,
                            cpu) + body


def write_stream(path, events, cpu, losses=(), per_packet=3):
    """events: (time, bytes). losses: (begin, end)."""
    packets, discarded, done = b"", 0, 0
    for begin, end in [*sorted(losses), (None, None)]:
        now = [e for e in events[done:] if begin is None or e[0] <= begin]
        done += len(now)
        for at in range(0, len(now), per_packet):
            part = now[at:at + per_packet]
            last = at + per_packet >= len(now) and begin is not None
            packets += packet(b"".join(e[1] for e in part), cpu, part[0][0],
                              begin if last else part[-1][0], discarded)
        if begin is not None:
            discarded += 5
            packets += packet(b"", cpu, end, end, discarded)
    path.write_bytes(packets)


def write_trace(kernel, user=(), losses=(), host="", user_losses=()):
    directory = scratch()
    domain = Domain("kernel", KERNEL, "tid:i")
    (directory / "kernel").mkdir()
    (directory / "kernel" / "metadata").write_text(domain.metadata(host))
    kernel = sorted(kernel, key=lambda event: event[0])
    for cpu in sorted({event[1] for event in kernel}):
        write_stream(
            directory / "kernel" / f"cpu{cpu}",
            [(time, domain.encode(time, name, [tid], fields))
             for time, at, tid, name, fields in kernel if at == cpu], cpu,
            [loss[1:] for loss in losses if loss[0] == cpu])
    if user:
        domain = Domain("ust", USER, "vpid:i vtid:i")
        (directory / "user").mkdir()
        (directory / "user" / "metadata").write_text(domain.metadata(host))
        write_stream(
            directory / "user" / "stream",
            [(time, domain.encode(time, name, [SERVER, tid], fields))
             for time, tid, name, fields in
             sorted(user, key=lambda event: event[0])], 0, user_losses)
    return directory


def report(trace, name, *options):
    """`trace`: or several."""
    traces = trace if isinstance(trace, list) else [trace]
    done = run(SONDE, "report", name, "--json", *options, *traces)
    check_equal(done.returncode, 0, f"status of {name}; {done.stderr[-500:]}")
    return json.loads(done.stdout)


def us(row, key):
    return None if row[key + "_ns"] is None else row[key + "_ns"] / 1000


# ---- what threads do ----

NAMES = {0: "idle", 811: "worker", 812: "flusher", 813: "third"}


def name_of(tid):
    return NAMES.get(tid, f"t{tid}")


def switch(time, cpu, prev, next_, state=1):
    return (time, cpu, prev, "sched_switch", {
        "prev_tid": prev, "prev_comm": name_of(prev), "prev_state": state,
        "next_tid": next_, "next_comm": name_of(next_), "prev_prio": 20,
        "next_prio": 20})


def waking(time, cpu, tid, by):
    return (time, cpu, by, "sched_waking",
            {"tid": tid, "comm": name_of(tid)})


def entry(time, cpu, tid, call, **fields):
    return (time, cpu, tid, "syscall_entry_" + call, fields)


def exit_(time, cpu, tid, call, ret=0):
    return (time, cpu, tid, "syscall_exit_" + call, {"ret": ret})


def process(tid, ppid=1):
    return (0, 0, 0, "lttng_statedump_process_state",
            {"tid": tid, "pid": SERVER, "ppid": ppid, "name": name_of(tid)})


def request(begin, end, tid=811, number=1, end_tid=None):
    return [(begin, tid, "server:begin", {"id": number}),
            (end, end_tid or tid, "server:end", {"id": number})]


WAIT, WAKE, WAIT_BITSET = 128, 129, 137  # operations of futex(), private
SPAN = ("--begin", '$event == "server:begin"', "--end",
        '$event == "server:end"')


def two_hosts():
    """Events of web and db in turns, db's clock a second ahead: 10, 90 and 200 us
    between them; each time is known to 25 us and their sum to 50."""
    times = {"web": [1000, 1300], "db": [1010, 1100]}
    traces = [write_trace(
        [], [(time + (1_000_000 if host == "db" else 0), 5, "server:begin", {"id": 1})
             for time in at], host=host) for host, at in times.items()]
    for trace, add in zip(traces, (0, -10**9)):
        (trace / "user" / ".clock").write_text(
            f"sonde clock 1\nto web\nline 0 {add} 1000 {add}\n"
            f"at {START} 24996\nat {START + 10**7} 24996\n")
    return traces


def story(lock=0x7f0000001000, operation=WAIT):
    """The worker's request, 1000 to 53300, needs a lock that the flusher has,
    which reads a file: woken by the disk's interrupt 24, it gives the lock
    back and wakes the worker, which gets its CPU 100 us later."""
    return [
        process(811), process(812), process(SERVER),
        (0, 0, 0, "lttng_statedump_file_descriptor",
         {"pid": SERVER, "fd": 5, "filename": "/var/tmp/data"}),
        switch(100, 0, 0, 811), switch(100, 1, 0, 812),
        entry(150, 0, 811, "nanosleep"), exit_(160, 0, 811, "nanosleep"),
        entry(200, 1, 812, "read", fd=5, count=4096),
        switch(300, 1, 812, 0, 2),
        entry(1200, 0, 811, "futex", uaddr=lock, op=operation),
        switch(1300, 0, 811, 0),
        (50000, 1, 0, "irq_handler_entry", {"irq": 24, "name": "nvme0q1"}),
        waking(50010, 1, 812, 0),
        (50020, 1, 0, "irq_handler_exit", {"irq": 24, "ret": 1}),
        switch(50100, 1, 0, 812),
        exit_(51400, 1, 812, "read", 4096),
        entry(53000, 1, 812, "futex", uaddr=lock, op=WAKE),
        waking(53100, 1, 811, 812),
        exit_(53150, 1, 812, "futex", 1),
        switch(53200, 0, 0, 811),
        exit_(53250, 0, 811, "futex"),
        switch(60000, 1, 812, 0), switch(60000, 0, 811, 0)]
