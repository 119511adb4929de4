# SPDX-License-Identifier: MIT
"""micro - the tables about single operations: primitives, one event, the ring,
clocks, code."""
import os
import pathlib
import subprocess
import sys

import macro
import paper
from paper import Refused, Runs, out, pinned, program, rows_of, show, turns

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import lttng  # noqa: E402

HITS = 20000
COLD_HITS = 400
HERE = "this machine, user space"
INT = ["-e", "bench:integer"]


# ---- primitives ----

def primitives():
    """Cycles by operation, alone (or with `_work`), and how runs differ."""
    runs = Runs()
    mhz = paper.mhz()
    for _ in turns(7, 3):
        for name, (ns, _, _) in rows_of(out(*pinned(
                program("papers_primitives")))).items():
            runs.add(name, ns * mhz / 1000)
    return runs, mhz


def atomics():
    runs, mhz = primitives()
    notes = [f"cycles of the counter, which has {mhz:.0f} MHz; {runs.words()}"]
    one = {name.removesuffix("_alone"): runs.get(name)
           for name in runs.values if name.endswith("_alone")}
    has_rcu = "rcu_read" in one
    if not has_rcu:
        notes.append("RCU's rows are left out: liburcu is not installed")
    locking_1(runs, notes, has_rcu)
    both = one["mask"] + one["unmask"]
    row = [HERE, both / one["local_cas"], one["local_cas"], one["sync_cas"],
           one["unmask"], one["mask"]]
    for name in ("locking-II", "lockfree-1"):
        show(name, [row], notes)
    show("locking-III", [[HERE, one["spinlock"], one["signals"],
                          one["spinlock"] + one["signals"]],
                         [HERE + ", measured together", None, None,
                          one["spinlock_signals"]]], notes)
    seq = one["seqlock"] + one["sync_cas"]
    show("locking-IV", [[HERE, one["seqlock"], one["sync_cas"], seq]], notes)
    rcu = one["rcu_read"] + one["local_cas"] if has_rcu else None
    show("locking-V", [[HERE, one["rcu_read"], one["local_cas"], rcu]]
         if has_rcu else [], notes)
    whole = one["spinlock"] + one["signals"]
    fast = [HERE, 1, whole / seq, whole / rcu if has_rcu else None]
    bare = [HERE + ", of the spin lock alone", 1, one["spinlock"] / seq,
            one["spinlock"] / rcu if has_rcu else None]
    for name in ("locking-VI", "lockfree-2"):
        show(name, [fast, bare], notes)


def locking_1(runs, notes, has_rcu):
    names = {"baseline": "no locking", "local_cas": "local CAS",
             "sync_cas": "CAS with LOCK", "local_add": "local add",
             "sync_add": "add with LOCK",
             "signals": "signals masked and back",
             "spinlock": "spin lock and unlock",
             "spinlock_signals": "spin lock, signals masked",
             "seqlock": "sequence lock, read side"}
    if has_rcu:
        names["rcu_read"] = "RCU read side (urcu-memb)"
    base = [runs.get("baseline_alone"), runs.get("baseline_work")]
    rows = []
    for name, text in names.items():
        alone, work = (runs.get(name + "_alone"), runs.get(name + "_work"))
        rows.append([text, alone, work,
                     work - alone - (base[1] - base[0])])
    show("locking-I", rows, notes)


def listings():
    """The paper's figures are the loops' machine code; ours."""
    figures = {"locking-fig6": ("local_cas_alone", "sync_cas_alone"),
               "locking-fig7": ("signals_alone",),
               "locking-fig8": ("spinlock_alone",),
               "locking-fig9": ("seqlock_alone", "rcu_read_alone")}
    for figure, functions in figures.items():
        print(f"{figure}: {paper.TABLES[figure]['title']}")
        for function in functions:
            text = out("objdump", "-d", "--no-show-raw-insn",
                       f"--disassemble={function}",
                       program("papers_primitives"))
            for line in text.splitlines():
                if line.endswith(">:") or line.startswith(" "):
                    print("    " + line.strip().partition(":\t")[2]
                          if "\t" in line else f"  {function}:")
                if line.rstrip().endswith("ret"):
                    break  # what follows are the rare ways
        print(f"  note: {paper.TABLES[figure]['missing']}\n")


# ---- the ring ----

def rings():
    runs = Runs()
    for _ in turns(7, 3):
        for kind in ("local", "locked", "plain"):
            for name, (ns, _, _) in rows_of(out(*pinned(
                    program(f"papers_rings_{kind}")))).items():
                if not name.endswith("-loop"):
                    runs.add(name, ns)
    names = {"local-bare": "lock-free: operations atomic on one's own CPU",
             "locked-bare": "lock-free: the same with LOCK",
             "plain-bare": "no protection at all",
             "plain-spin": "in a spin lock",
             "plain-signals": "with signals masked",
             "plain-both": "with signals masked, in a spin lock"}
    base = runs.get("local-bare")
    show("more-rings", [[text, runs.get(name), runs.get(name) / base]
                        for name, text in names.items()],
         [runs.words(), "a reading of the counter is in each "
          "(more-clocks)"], columns=["ns", "times lock-free"])


# ---- one event ----

class Event:
    """Ways to have an event recorded: `run(words)` gives what hot_TRACER says
    with these words."""

    def __init__(self):
        self.ways = {}
        for name, how in {
                "flight recorder": [*INT, "--mode", "overwrite"],
                "to files in memory": INT,
                "refused by a condition":
                    ["-e", "bench:integer if i < 0"]}.items():
            self.ways["user space, " + name] = self.recorded(how)
        self.ways["user space, to disk"] = self.recorded(
            INT, output=os.path.join(paper.options.scratch, "papers-trace"))
        self.add_lttng()
        self.add_marker()

    def recorded(self, how, output=None):
        def run(*words):
            text, said = paper.record(
                pinned(program("hot_sonde"), *words), *how, output=output)
            if said["events_lost"] and "overwrite" not in how:
                raise Refused(f"{said['events_lost']} events were lost")
            if output:
                paper.shutil.rmtree(output, ignore_errors=True)
            return rows_of(text, "sonde ")
        return run

    def add_lttng(self):
        why = lttng.why_not(os.path.join(paper.options.build, "bench",
                                         "hot_lttng"))
        if why:
            return paper.skip("LTTng-UST", why)

        def run(*words):
            with lttng.session(paper.budget, ["bench:integer"],
                               "--snapshot"):
                return rows_of(out(*pinned(program("hot_lttng"), *words)),
                               "lttng ")
        self.ways["LTTng-UST, flight recorder"] = run
        return None

    def add_marker(self):
        """An event that is a system call, to an instance of tracefs."""
        top = pathlib.Path("/sys/kernel/tracing/instances")
        if not os.access(top, os.W_OK):
            return paper.skip("an event by a system call (trace_marker)",
                              "tracefs can't be written")

        def run(*words):
            instance = top / f"sonde-bench-{os.getpid()}"
            instance.mkdir()
            try:
                with open(instance / "trace_marker_raw", "wb") as file:
                    return rows_of(out(
                        "sh", "-c", f'exec "$@" 3>/dev/fd/{file.fileno()}',
                        "sh", *pinned(program("hot_marker"), *words),
                        pass_fds=[file.fileno()]), "marker ")
            finally:
                instance.rmdir()
        self.ways["user space, by a system call (trace_marker)"] = run
        return None


# Whose run says what an event costs that isn't recorded.
OFF_OF = "user space, flight recorder"
MIN, MEAN, MAX, DEVIATION, MEDIAN = range(5)


def measured_hits(ways, *words, nr_turns=(5, 3)):
    """By way min, mean and max of each turn, the readings taken off."""
    runs, notes = Runs(), []
    alive = dict(ways)
    for _ in turns(*nr_turns):
        for name, run in list(alive.items()):
            try:
                rows = run("hits", *words)
            except (Refused, OSError) as why:
                notes.append(f"{name}: left out: {why}")
                del alive[name]
                continue
            off = rows["reads"][MEDIAN]
            runs.add(("reads", "mean"), rows["reads"][MEAN])
            for what, column in (("min", MIN), ("mean", MEAN), ("max", MAX),
                                 ("median", MEDIAN)):
                runs.add((name, what), rows["int"][column] - off)
                if name == OFF_OF:
                    runs.add(("user space, not recorded", what),
                             rows["off"][column] - off)
    return runs, notes


def hit_rows(runs, *middle):
    names = dict.fromkeys(name for name, _ in runs.values if name != "reads")
    return [[name, runs.least((name, "min")),
             *(runs.get((name, what)) for what in middle),
             runs.most((name, "max"))] for name in names]


def kernel_rows():
    """Of the kernel's event: half of what a call takes more that has two; the
    greatest is that of a call, which an interrupt may be in."""
    found = macro.tracers(macro.FLIGHT)
    runs = Runs()
    columns = {"min": MIN, "median": MEDIAN, "mean": MEAN, "max": MAX}
    for _ in turns(5, 3):
        for tracer in found:
            row = rows_of(tracer.run(*pinned(program("hot_sonde"), "hits",
                                             HITS)), "sonde ")["call"]
            for what, column in columns.items():
                runs.add((tracer.name, what), row[column])
    least = runs.least(("untraced", "min"))
    middle = {what: runs.get(("untraced", what)) for what in columns}
    return [["kernel, " + tracer.name,
             (runs.least((tracer.name, "min")) - least) / 2,
             *((runs.get((tracer.name, what)) - middle[what]) / 2
               for what in ("median", "mean")),
             runs.most((tracer.name, "max")) - middle["median"]]
            for tracer in found]


def unwritten():
    """By CPU time of a loop, above the empty loop: less than a hit can show."""
    runs = Runs()
    ways = {"an event that a condition refuses":
            ["-e", "bench:integer if i < 0"],
            "an event, flight recorder": INT}
    for _ in turns(5, 3):
        for name, how in ways.items():
            rows = rows_of(paper.record(pinned(program("hot_sonde")), *how,
                                        "--mode", "overwrite")[0], "sonde ")
            runs.add(name, rows["int"][0] - rows["loop"][0])
    show("more-lttng-119", [[name, runs.get(name)] for name in ways],
         ["above the empty loop; " + runs.words()])


def events():
    ways = Event().ways
    runs, notes = measured_hits(ways, HITS)
    reads = runs.get(("reads", "mean"))
    notes = [*notes, "of several turns the least, the medians of the medians "
             "and of the means, and the greatest; two fenced readings of the counter, "
             f"{reads:.0f} cycles, are taken off; what takes the CPU away is "
             "in the means and the greatest"]
    show("lttng-1", kernel_rows() + hit_rows(runs, "median", "mean"), [
        *notes, "the counter may go on in steps of some ten; the kernel's: "
        "half of what a system call takes more whose "
        "entry and exit are recorded, with the machine's other events; of the "
        "greatest all that the call takes more than the median without"])
    unwritten()
    cold = {name: run for name, run in ways.items()
            if "flight recorder" in name}
    runs, notes = measured_hits(cold, COLD_HITS, "cold", nr_turns=(3, 2))
    show("more-cold", hit_rows(runs, "median"),
         [*notes, f"{COLD_HITS} hits, 8 MiB of other memory written before "
          "each"], columns=["min", "median", "max"])


# ---- clocks ----

def clocks():
    runs = Runs()
    for _ in turns(5, 3):
        for name, (ns, *_) in rows_of(out(*pinned(
                program("papers_clocks")))).items():
            runs.add(name, ns)
    names = {"counter": "the counter", "fenced": "the counter, fenced",
             "narrow": "64 bits of the counter's low 28",
             "far": "the same, however late (and a slower clock)",
             "monotonic": "clock_gettime()",
             "syscall": "clock_gettime(), by a system call"}
    base = runs.get("nothing")
    seconds = "2" if paper.options.quick else "5"
    nr, wraps, wrong = rows_of(out(*pinned(
        program("papers_clocks"), "narrow", seconds)))["narrow"]
    show("more-clocks", [[text, runs.get(name) - base,
                          runs.get(name) - runs.get("counter")]
                         for name, text in names.items()],
         [runs.words(), f"error of the 64 bits: of {nr:,.0f} readings, each "
          f"between two of the whole counter, {wrong:.0f} were outside; it "
          f"wrapped {wraps:.0f} times, updated by a signal on top of readers"],
         columns=["ns", "above the counter"])
    nr, least, mean, most, deviation = rows_of(out(*pinned(
        program("papers_clocks"), "timer", seconds)))["timer"]
    show("lttng-5", [[f"a timer's signal, {nr:.0f} intervals", least, mean,
                      most, deviation, max(most - mean, mean - least)]])


# ---- code ----

# Arguments, Sonde's event; LTTng-UST's arguments, fields and values.
PLACES = {
    "a 4-byte integer": (
        "int i", "sonde_event(bench, e, i);",
        "int, i", "lttng_ust_field_integer(int, i, i)", "i"),
    "a string": (
        "const char *s", "sonde_event(bench, e, s);",
        "const char *, s", "lttng_ust_field_string(s, s)", "s"),
    "a structure of an integer, a string, a sequence of 8-byte integers": (
        "int i, const char *s, const long *l, unsigned n",
        "sonde_event(bench, e, i, s, sonde_sequence(l, l, n));",
        "int, i, const char *, s, const long *, l, unsigned, n",
        "lttng_ust_field_integer(int, i, i) lttng_ust_field_string(s, s) "
        "lttng_ust_field_sequence(long, l, l, unsigned, n)", "i, s, l, n"),
}
LTTNG_HEADER = """#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./tp.h"
#if !defined(TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define TP_H
#include <lttng/tracepoint.h>
LTTNG_UST_TRACEPOINT_EVENT(bench, e, LTTNG_UST_TP_ARGS(%s),
\tLTTNG_UST_TP_FIELDS(%s))
#endif
#include <lttng/tracepoint-event.h>
"""
LTTNG_SOURCE = """#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tp.h"
"""


def compiled(source, *flags):
    """Size of the stripped object, and of the code in it."""
    folder = paper.work / "size"
    folder.mkdir(exist_ok=True)
    (folder / "a.c").write_text(source)
    paper.budget.run(["cc", "-std=gnu11", "-O2", "-I", folder, *flags, "-c",
                      folder / "a.c", "-o", folder / "a.o"], check=True,
                     stderr=subprocess.DEVNULL)
    out("strip", "--strip-unneeded", folder / "a.o")
    sections = out("objdump", "-h", folder / "a.o").splitlines()
    code = sum(int(f[2], 16) for f in map(str.split, sections)
               if len(f) > 3 and f[1].startswith(".text"))
    return (folder / "a.o").stat().st_size, code


def sonde_directory(arguments, event, *_):
    return compiled("#include <sonde/tracepoint.h>\n"
                    f"void f({arguments});\nvoid f({arguments})\n"
                    f"{{ {event} }}\n", "-I",
                    paper.HERE.parents[1] / "include")


def lttng_place(arguments, _, tp_arguments, fields, values):
    folder = paper.work / "size"
    folder.mkdir(exist_ok=True)
    (folder / "tp.h").write_text(LTTNG_HEADER % (tp_arguments, fields))
    return compiled(f"{LTTNG_SOURCE}void f({arguments});\nvoid f({arguments})"
                    f"\n{{ lttng_ust_tracepoint(bench, e, {values}); }}\n",
                    "-w")


def size():
    rows = []
    for tracer, place in (("Sonde", sonde_directory), ("LTTng-UST", lttng_place)):
        for name, words in PLACES.items():
            try:
                rows.append([f"{tracer}: {name}", *place(*words)])
            except Refused as why:
                paper.skip(f"{tracer}: {name}", why)
    show("lttng-4", rows, ["64 bits; LTTng-UST's has its provider in it"])


# ---- CPUs ----

def scaling():
    """Two processors: an event on each at once; scaling of a load is in
    macro.py."""
    runs = Runs()
    ways = {"Sonde": lambda nr: rows_of(paper.record(
        [program("hot_sonde"), "threads", nr, 1], "--mode", "overwrite")[0],
        "sonde ")}
    why = lttng.why_not(os.path.join(paper.options.build, "bench",
                                     "hot_lttng"))
    if why:
        paper.skip("LTTng-UST", why)
    else:
        ways["LTTng-UST"] = lttng_threads
    for _ in turns(5, 2):
        for name, run in ways.items():
            for nr in range(1, len(paper.CPUS) + 1):
                rows = run(nr)
                runs.add((name, nr), rows[f"threads{nr}-int"][0])
    show("more-scaling", [
        [f"{name}, {nr} threads", runs.get((name, nr)),
         runs.get((name, nr)) / runs.get((name, 1))]
        for name in ways for nr in range(1, len(paper.CPUS) + 1)],
        [runs.words(), "CPU time of a thread, so that what the recorder takes "
         "is not in it"], columns=["ns of an event", "times one thread's"])


def lttng_threads(nr):
    with lttng.session(paper.budget, ["bench:integer"], "--snapshot"):
        return rows_of(out(program("hot_lttng"), "threads", nr, 1), "lttng ")
