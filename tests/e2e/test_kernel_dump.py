#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_kernel_dump.py - the state of the system that a trace begins with: the
processes, their files and mappings, and the machine, as others tell of them."""

import os
import pathlib
import re
import signal
import socket
import subprocess

from sonde import check, install, require, run, scratch
from harness import check_equal, main
from kernel import (Running, comm, descendants, kernel_test, number_of, program,
                    record_kernel, wait_for)

HELPER = """
import ctypes, os, socket, sys, threading
directory = sys.argv[1]
os.dup2(os.open(directory + "/a file", os.O_RDONLY), 77)
listening = socket.create_server(("127.0.0.1", 0))
ctypes.CDLL(None).prctl(15, b"dumped")
def wait():
    ctypes.CDLL(None).prctl(15, b"dumped thread")
    print(listening.getsockname()[1], flush=True)
    threading.Event().wait()
threading.Thread(target=wait, daemon=True).start()
sys.stdin.read()
"""


class Helper:
    """A process with a thread, a file and a socket that are known."""

    def __enter__(self):
        self.directory = scratch()
        (self.directory / "a file").write_text("x")
        self.process = subprocess.Popen(
            ["python3", "-c", HELPER, self.directory], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        self.port = int(self.process.stdout.readline())
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def dump_of_all(*options):
    """A trace of all with a helper there, and the helper."""
    with Helper() as helper:
        helper.maps = pathlib.Path(f"/proc/{helper.pid}/maps").read_text()
        helper.tids = {int(t) for t in os.listdir(f"/proc/{helper.pid}/task")}
        helper.exe = os.readlink(f"/proc/{helper.pid}/exe")
        done = record_kernel("true", k="sched_switch", options=["-a",
                                                                *options])
    return done.trace(), helper


@kernel_test
def processes_and_threads_are_there_with_names_and_parents():
    trace, helper = dump_of_all()
    mine = {e["tid"]: e for e in trace.events("lttng_statedump_process_state")
            if e["pid"] == helper.pid}
    check_equal(set(mine), helper.tids, "threads")
    check_equal(mine[helper.pid]["name"], "dumped", "name")
    names = {e["name"] for e in mine.values()}
    check("dumped thread" in names, f"names: {names}")
    check_equal(mine[helper.pid]["ppid"], os.getpid(), "parent")


@kernel_test
def the_recorded_program_is_there():
    """The dump looks at it when it has said hello: it must live on then."""
    path = program("ticker")
    running = Running(path, k="sched_switch")

    def is_dumped():
        check(running.front.poll() is None, "sonde ended")
        return any(str(path).encode() in f.read_bytes()
                   for f in (running.dir / "kernel").glob("dump*"))
    wait_for(is_dumped, "the program's mappings")
    ticker = next(p for p in descendants(running.front.pid)
                  if comm(p) == os.path.basename(path)[:15])
    os.kill(ticker, signal.SIGTERM)
    status, _, err = running.end()
    check_equal(status, 128 + signal.SIGTERM, err)
    trace = running.trace()
    states = [e for e in trace.events("lttng_statedump_process_state")
              if e["tid"] == ticker]
    check(states, f"process {ticker} is not in the dump")
    paths = {e["path"] for e in trace.events("sonde_statedump_mapping")
             if e["pid"] == ticker}
    check(path in paths, f"its mappings are of {paths}")


@kernel_test
def open_files_and_sockets_are_there():
    trace, helper = dump_of_all()
    files = {e["fd"]: e["filename"]
             for e in trace.events("lttng_statedump_file_descriptor")
             if e["pid"] == helper.pid}
    check_equal(files.get(77), str(helper.directory / "a file"), "file 77")
    check(any("tcp" in f and f":{helper.port}" in f for f in files.values()),
          f"no socket on port {helper.port}: {files}")
    check(files.get(0, "").startswith("pipe") or "pipe" in files.get(0, ""),
          f"standard input is a pipe: {files.get(0)}")


@kernel_test
def mapped_files_have_their_build_ids():
    require("readelf")
    trace, helper = dump_of_all()
    mine = [e for e in trace.events("sonde_statedump_mapping")
            if e["pid"] == helper.pid]
    program_file = [e for e in mine if e["path"] == helper.exe]
    check(program_file, f"{helper.exe} isn't among "
          f"{ {e['path'] for e in mine} }")
    notes = run("readelf", "-n", helper.exe).stdout
    build_id = re.search(r"Build ID: (\w+)", notes)[1]
    ids = {text_of(e["build_id"]) for e in program_file}
    check_equal(ids, {build_id}, "build-id")
    executable = {line.split()[-1] for line in helper.maps.splitlines()
                  if " r-xp " in line and line.split()[-1].startswith("/")}
    check(executable <= {e["path"] for e in mine},
          f"missing: {executable - {e['path'] for e in mine} }")
    for event in mine:
        begin = number_of(event["begin"])
        check(f"{begin:x}-" in helper.maps, f"no mapping at {begin:x}")


def text_of(build_id):
    if isinstance(build_id, list):
        return bytes(build_id).hex()
    return build_id


@kernel_test
def the_machine_is_there():
    trace, _ = dump_of_all()
    disks = {e["diskname"] for e in
             trace.events("lttng_statedump_block_device")}
    for disk in os.listdir("/sys/block"):
        check(disk in disks, f"{disk} isn't among {disks}")
    interfaces = {e["name"] for e in
                  trace.events("lttng_statedump_network_interface")}
    for _, name in socket.if_nameindex():
        check(name in interfaces, f"{name} isn't among {interfaces}")
    cpus = {e["cpu_id"] for e in trace.events("lttng_statedump_cpu_topology")}
    check(os.sched_getaffinity(0) <= cpus, f"CPUs: {cpus}")
    numbers = {e["irq"] for e in trace.events("lttng_statedump_interrupt")}
    known = {int(n) for n in os.listdir("/proc/irq") if n.isdigit() and
             any(p.is_dir() for p in pathlib.Path("/proc/irq", n).iterdir())}
    check(known <= numbers, f"interrupts {known - numbers} are missing")


@kernel_test
def the_dump_has_a_begin_and_an_end():
    trace, _ = dump_of_all()
    order = [e.name for e in trace.events("lttng_statedump.*|"
                                          "sonde_statedump.*")]
    check_equal(order[0], "lttng_statedump_start", "first")
    check("lttng_statedump_end" in order, "no end")


@kernel_test
def others_files_are_left_out_when_one_program_is_recorded():
    with Helper() as helper:
        done = record_kernel("true", k="sched_switch")
    for event in done.trace().events("lttng_statedump_file_descriptor|"
                                     "sonde_statedump_mapping"):
        check(event["pid"] != helper.pid, repr(event))


@kernel_test
def hostile_names_are_recorded_as_they_are():
    directory = scratch()
    name = directory / "quote\" newline\n \\ back"
    name.write_text("x")
    with open(name) as held:
        trace = record_kernel("true", k="sched_switch",
                              options=["-a"]).trace()
        files = {e["filename"] for e in
                 trace.events("lttng_statedump_file_descriptor")
                 if e["pid"] == os.getpid() and e["fd"] == held.fileno()}
    check_equal(files, {str(name)}, "the name")


install()
main()
