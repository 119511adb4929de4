# SPDX-License-Identifier: MIT
"""others - the tables for which there are commands of their own in bench/: they
are run, and what they say is shown as it comes."""
import contextlib
import json
import os
import pathlib
import re

import paper
from paper import Refused, Runs, out, program, rows_of, show, turns

TRACING = pathlib.Path("/sys/kernel/tracing")


def functions():
    rows = []
    bytes_each = None
    for line in paper.benchmark("functions", paper.options.build,
                                "2" if paper.options.quick else "5",
                                told="row"):
        parts = line.rstrip("\n").split("\t")
        if parts[0] == "row" and parts[1].startswith("a call, "):
            rows.append([parts[1][8:].removesuffix(", ns"), float(parts[2])])
        elif parts[0] == "row" and parts[1] == "bytes of an event":
            bytes_each = float(parts[2])
    if not rows:
        raise Refused("bench/functions had no rows")
    bare = rows[0][1]
    show("lttng-3", [[name, ns, ns / bare,
                      (ns - bare) / (rows[1][1] - bare) if rows[1][1] > bare
                      else None] for name, ns in rows],
         [f"{bytes_each:.2f} bytes of the trace for an event"]
         if bytes_each else [],
         columns=["ns of a call", "times bare", "of what gprof adds"])


def probes():
    path = paper.work / "probe.json"
    for _ in paper.benchmark("probe", "--json", str(path), "--runs",
                             "1" if paper.options.quick else "3",
                             paper.options.build,
                             told=r".* left out|\w+: [\d.]+ s|.*± "):
        pass
    if not path.exists():
        raise Refused("bench/probe had no result")
    runs = json.loads(path.read_text())["runs"]

    def above(who, kind):
        values, bare = runs.get(f"{who} 1 {kind}"), runs.get(f"bare 1 {kind}")
        return sorted(values)[len(values) // 2] - sorted(bare)[
            len(bare) // 2] if values and bare else None
    show("gdb-1", [
        ["condition c1 == 7, false: gdbserver", None,
         above("gdbserver", "simple")],
        ["condition 2*c1+3*c2>0, false: gdbserver",
         above("gdbserver", "paper"), None],
        ["condition c1 == 7, false: Sonde", None, above("sonde", "simple")],
        ["condition 2*c1+3*c2>0, false: Sonde", None, above("sonde", "paper")],
        ["data, an integer: gdbserver", None, above("gdbserver", "integer")],
        ["data, an integer and a time stamp: Sonde", None,
         above("sonde", "integer")]],
        ["gdbserver 13 doesn't compile a multiplication, so that condition is "
         "its bytecode's", "Sonde compiles all, and has no bytecode to run"])


def kernel_gdb():
    if not paper.options.guests:
        raise Refused("it starts a guest, which takes some minutes: --guests")
    found = {}
    for line in paper.benchmark("kernel_gdb", paper.options.build,
                                told=".*must be"):
        parts = line.split()
        if parts[:1] == ["row"]:
            found[parts[2], parts[3]] = float(parts[4])
    if not found:
        raise Refused("bench/kernel_gdb had no row")
    for name, call in (("gdb-2", "read"), ("gdb-5", "rename"),
                       ("gdb-7", "rename")):
        show(name, [[what, found[call, case]] for what, case in (
            ("Sonde (BPF), instructions: false condition", "false"),
            ("condition and two values", "true"),
            ("a BPF program that does nothing", "hook"),
            ("Sonde (module): false condition", "module_false"),
            ("condition and all fields", "module_true"),
            ("a kprobe that does nothing", "bare"),
            ("bpftrace: false condition", "bpftrace-false"),
            ("condition and a line of text", "bpftrace-true"))
            if (call, case) in found],
            ["more than the call without any probe, in a guest that counts "
             "instructions; bench/kernel_gdb --stap has SystemTap's, by a "
             "module that was built outside"], columns=["instructions"])


# ---- a static tracepoint of the kernel ----

@contextlib.contextmanager
def recorded_by_tracefs(event, condition=None):
    """Meanwhile an instance of tracefs records the event, in a flight recorder."""
    instance = TRACING / f"instances/sonde-bench-{os.getpid()}"
    folder = instance / "events" / event
    instance.mkdir()
    try:
        if condition:
            (folder / "filter").write_text(condition)
        (folder / "enable").write_text("1")
        yield
    finally:
        (folder / "enable").write_text("0")
        instance.rmdir()


def tracefs(condition):
    """Runs a command with task_rename recorded by an instance of tracefs."""
    def run(command):
        with recorded_by_tracefs("task/task_rename", condition):
            out(*command)
    return run


# ---- a probe of the kernel's in a program ----

UPROBE = "sonde_bench/turn"


def uprobe_line():
    """What uprobe_events takes for the event of hot_uprobe: its function's place in
    the file."""
    path = program("hot_uprobe")
    address, = re.findall(r"^(\w+) [Tt] hot_uprobe_event$", out("nm", path), re.M)
    vma, offset = re.search(r"\.text +\w+ +(\w+) +\w+ +(\w+)",
                            out("objdump", "-h", path)).groups()
    place = int(address, 16) - int(vma, 16) + int(offset, 16)
    return f"p:{UPROBE} {path}:{place:#x} i=%di:s32"


def tell_uprobes(line):
    """Opened for anything else, the file forgets all probes."""
    file = os.open(TRACING / "uprobe_events", os.O_WRONLY | os.O_APPEND)
    try:
        os.write(file, line.encode())
    finally:
        os.close(file)


def uprobe_turns(command):
    """What hot_uprobe says, its event recorded by a uprobe."""
    tell_uprobes(uprobe_line())
    try:
        with recorded_by_tracefs(UPROBE):
            return rows_of(out(*command), "uprobe ")["turns"]
    finally:
        tell_uprobes(f"-:{UPROBE}")


def by_sonde(condition):
    def run(command):
        rule = "task_rename" + (f" if {condition}" if condition else "")
        paper.record(command, "-k", rule, "--kernel-source", "bpf", "--mode",
                     "overwrite")
    return run


def kernel_event():
    """Cycles of an event of task_rename, beyond the call without."""
    if os.geteuid() or not os.access(TRACING / "instances", os.W_OK):
        raise Refused("needs root, and tracefs")
    ways = {"nothing": out_of, "Ftrace: data alone": tracefs(None),
            "Ftrace: false filter": tracefs('newcomm == "nobody"'),
            "Ftrace: true filter": tracefs('newcomm != "nobody"'),
            "Sonde (BPF): data alone": by_sonde(None),
            "Sonde (BPF): false condition": by_sonde('comm == "nobody"'),
            "Sonde (BPF): true condition": by_sonde('comm != "nobody"')}
    counts = paper.work / "counts"
    runs = Runs()
    for _ in turns(5, 3):
        for name, run in ways.items():
            counts.unlink(missing_ok=True)
            run([*paper.pinned(program("kernel_gdb_calls")), str(counts),
                 "x"])
            runs.add(name, rows_of(counts.read_text(),
                                   "x ")["rename"][0])
    base = runs.get("nothing")
    show("gdb-6", [[name, runs.get(name) - base] for name in ways
                   if name != "nothing"],
         ["task_rename, a thread's name is set; the filter compares the new "
          f"name; the cheapest of 100 batches; the call itself has {base:.0f} cycles",
          runs.words()])


def out_of(command):
    out(*command)
