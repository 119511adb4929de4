# SPDX-License-Identifier: MIT
"""macro - the tables about whole loads and about lateness: network, other loads,
timers, a loop that must not be late, the highest rate.

Each load runs by itself and under each tracer, in turns. All tracers record the
same groups of kernel events of the whole machine: RULES, or their names for it."""
import contextlib
import functools
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import time

import others
import paper
from paper import Refused, Runs, out, program, rows_of, show, turns

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import lttng  # noqa: E402

RULES = ["-a", "-k", "sched,irq,timer,net,syscalls"]
PERF = "sched:*,irq:*,timer:*,net:*,raw_syscalls:*"
NETWORK = "10.77.7"
FASTEST = 1e7  # events a second, which LTTng-UST has not been seen to reach


# ---- tracers ----

class Tracer:
    """run(command) runs it, recorded in this way: its output. `said`: the
    summary of the last recording, if there is one."""

    def __init__(self, name, run):
        self.name = name
        self.said = None
        self.how = run

    def run(self, *command):
        text, self.said = self.how([str(word) for word in command])
        return text


def untraced(command):
    return out(*command), None


def by_sonde(*how, disk=False):
    def run(command):
        path = os.path.join(paper.options.scratch, "papers-trace")
        try:
            return paper.record(command, *RULES, *how,
                                output=path if disk else None)
        finally:
            if disk:
                shutil.rmtree(path, ignore_errors=True)
    return run


def by_perf(command):
    path = paper.work / "perf.data"
    try:
        text = out("perf", "record", "-a", "-q", "-o", path, "-e", PERF, "--",
                   *command)
        return text, {"bytes": path.stat().st_size, "events_lost": 0}
    finally:
        path.unlink(missing_ok=True)


FLIGHT = "Sonde (BPF), flight recorder"
DISK = "Sonde (BPF), to disk"


def tracers(*names):
    """Untraced first; of the others those that this machine permits."""
    found = [Tracer("untraced", untraced)]
    if os.geteuid():
        paper.skip("every tracer of the kernel", "needs root")
        return found
    bpf = ("--kernel-source", "bpf")
    candidates = [
        Tracer(FLIGHT, by_sonde(*bpf, "--mode", "overwrite")),
        Tracer(DISK, by_sonde(*bpf, disk=True)),
        Tracer("Sonde (tracefs), flight recorder", by_sonde(
            "--kernel-source", "tracefs", "--mode", "overwrite")),
        Tracer("perf record, to memory", by_perf)]
    if not shutil.which("perf"):
        paper.skip("perf", "is not installed")
        candidates.pop()
    for tracer in candidates:
        if names and tracer.name not in names:
            continue
        try:
            tracer.run("true")
            found.append(tracer)
        except (Refused, OSError) as why:
            paper.skip(tracer.name, why)
    return found


def say_who_is_missing():
    paper.skip("LTTng-modules, SystemTap", "modules for the kernel, which this "
               "machine's doesn't load; bench/kernel_modules has LTTng's in "
               "User-mode Linux")
    paper.skip("bpftrace", "counts and prints events, and records none; "
               "bench/kernel has it")


# ---- network ----

@contextlib.contextmanager
def namespace():
    """Another network namespace, joined to ours: its address, and the words that
    run a command there."""
    if os.geteuid() or not shutil.which("ip"):
        raise Refused("a network namespace needs root, and ip")
    name = f"sonde-bench-{os.getpid()}"
    there = ["ip", "netns", "exec", name]
    out("ip", "netns", "add", name)
    try:
        out("ip", "link", "add", "sondeveth0", "type", "veth", "peer", "name",
            "sondeveth1", "netns", name)
        out("ip", "address", "add", NETWORK + ".1/24", "dev", "sondeveth0")
        out("ip", "link", "set", "sondeveth0", "up")
        out(*there, "ip", "address", "add", NETWORK + ".2/24", "dev",
            "sondeveth1")
        out(*there, "ip", "link", "set", "sondeveth1", "up")
        yield NETWORK + ".2", there
    finally:
        out("ip", "netns", "delete", name)


@contextlib.contextmanager
def server(address, there=(), cpus=None):
    pin = ["taskset", "-c", cpus] if cpus else []
    process = subprocess.Popen(
        [*there, *pin, program("papers_load"), "serve", address], text=True,
        stdout=subprocess.PIPE, start_new_session=True)
    try:
        if process.stdout.readline() != "serving\n":
            raise Refused("the server did not start")
        yield
    finally:
        paper.limits.end(process)


def pings(found, *words):
    """Runs of `papers_load ping` with these words, and what they recorded."""
    runs, events = Runs(), Runs()
    for _ in turns(5, 3):
        for tracer in found:
            nr, mean, deviation, _, median, _ = rows_of(tracer.run(
                program("papers_load"), "ping", *words))["ping"]
            runs.add((tracer.name, "mean"), mean)
            runs.add((tracer.name, "median"), median)
            runs.add((tracer.name, "deviation"), deviation)
            if tracer.said and "events_recorded" in tracer.said:
                events.add(tracer.name, tracer.said["events_recorded"] / nr)
    return runs, events


def ping(found, address):
    """Rows of the table, and notes."""
    nr = 10000 if paper.options.quick else 50000
    runs, events = pings(found, address, nr)
    base = runs.get(("untraced", "median"))
    each = events.get(DISK)
    notes = [f"{nr:,} round trips; {runs.words()}",
             "events per round trip: of the recording to disk, which has "
             "them all, those of other programs as well",
             "median of round trips, us: " + "; ".join(
                 f"{t.name} {runs.get((t.name, 'median')):.2f}"
                 for t in found)]
    if each:
        notes.append("added to the median by an event, ns at least: " + "; ".join(
            f"{t.name} {(runs.get((t.name, 'median')) - base) / each * 1e3:.0f}"
            for t in found if "Sonde" in t.name))
    return [[t.name, None if t.name == "untraced" else each,
             runs.get((t.name, "mean")), runs.get((t.name, "deviation"))]
            for t in found], notes


def ping_beside_a_build(found, address):
    """The same every 2 ms, when caches have others' data."""
    nr = 500 if paper.options.quick else 2000
    with Busy(len(paper.CPUS), *compile_command()):
        runs, _ = pings(found, address, nr, 2000)
    rows, notes = ping(found, address)
    return rows + [[f"{t.name}, beside a build", None,
                    runs.get((t.name, "mean")), runs.get((t.name, "deviation"))]
                   for t in found], [
        *notes, f"beside a build: of one file again and again on each CPU, "
        f"{nr:,} round trips, one every 2 ms, as in the paper; medians of "
        "round trips, us: " + "; ".join(
            f"{t.name} {runs.get((t.name, 'median')):.2f}" for t in found),
        f"beside a build: {runs.words()}"]


def files(found, address, there=(), clients=None):
    """Throughput under each tracer: rows of the tables, and notes."""
    clients = clients or len(paper.CPUS)
    seconds = "1" if paper.options.quick else "3"
    runs, rate, lost = Runs(), Runs(), 0
    with server(address, there):
        for _ in turns(5, 3):
            for tracer in found:
                mb, = rows_of(tracer.run(program("papers_load"), "files",
                                         address, clients, seconds))["files"]
                runs.add(tracer.name, mb)
                if tracer.said and tracer.name == DISK:
                    rate.add(tracer.name, tracer.said["events_per_second"]
                             / 1000)
                    lost += tracer.said["events_lost"]
    base = runs.get("untraced")
    notes = [f"{clients} clients, {seconds} s each; {runs.words()}"]
    if lost:
        notes.append(f"to disk {lost:,} events were lost, and counted")
    return [[t.name, runs.get(t.name),
             100 * (base - runs.get(t.name)) / base if t.name != "untraced"
             else 0, rate.get(t.name)] for t in found], notes


def network():
    found = tracers()
    say_who_is_missing()
    for name, measure in (("lockfree-3", ping_beside_a_build),
                          ("lockfree-6", files)):
        try:
            show(name, *measure(found, "127.0.0.1"))
        except Refused as why:
            paper.skip(name, why)
    try:
        with namespace() as (address, there):
            show("lockfree-4", *ping(found, address))
            show("lockfree-5", *files(found, address, there))
    except Refused as why:
        paper.skip("lockfree-4, lockfree-5", why)
    figure_3([t for t in found if t.name in ("untraced", FLIGHT, DISK)])


def figure_3(found):
    rows, runs = [], Runs()
    seconds = "1" if paper.options.quick else "3"
    nr_all = range(1, len(paper.CPUS) + 1)
    for _ in turns(5, 3):
        for nr in nr_all:
            cpus = ",".join(str(c) for c in paper.CPUS[-nr:])
            with server("127.0.0.1", cpus=cpus):
                for tracer in found:
                    mb, = rows_of(tracer.run(
                        "taskset", "-c", cpus, program("papers_load"),
                        "files", "127.0.0.1", nr, seconds))["files"]
                    runs.add((tracer.name, nr), mb)
    for tracer in found:
        rows.append([tracer.name, *(runs.get((tracer.name, nr))
                                    for nr in nr_all)])
    show("lockfree-fig3", rows, [
        f"clients and server on so many CPUs, as many clients; {runs.words()}"],
        columns=[f"{nr} CPU{'s' * (nr > 1)}" for nr in nr_all])


# ---- loads ----

def cpu_ticks():
    with open("/proc/stat") as file:
        ticks = list(map(int, file.readline().split()[1:9]))
    return sum(ticks), ticks[3] + ticks[4]


def compile_command():
    root = paper.HERE.parents[1]
    return ["cc", "-O2", "-I", root / "src", "-I", root / "include",
            "-DRING_LOCAL", "-c", paper.HERE / "rings.c", "-o",
            paper.work / "rings.o"]


def build_command():
    """A project's: some of our files, as many at a time as there are CPUs."""
    root = paper.HERE.parents[1]
    sources = sorted((root / "src/ctf").glob("*.c"))[:8]
    return ["sh", "-c", 'nr=$1; shift; printf "%s\\n" "$@" | xargs -P "$nr" '
            f"-n 1 cc -O1 -D_GNU_SOURCE -I{root}/src -I{root}/include -o "
            "/dev/null -c", "sh", len(paper.CPUS), *sources]


def shell(*parts):
    """Commands that run at once; the whole ends with the last."""
    return ["sh", "-c", " & ".join(
        shlex.join(str(word) for word in part) + " >/dev/null"
        for part in parts) + " & wait"]


def lttng_loads():
    find = ["find", "/usr", "-type", "f"]
    load = program("papers_load")
    flood = [load, "ping", "127.0.0.1", 100000]
    seconds = 2 if paper.options.quick else 5
    return {"browsing-like": [load, "desk", seconds],
            "find": shell(find),
            "find + cc": shell(find, compile_command()),
            "find + cc + ping flood": shell(find, compile_command(), flood)}


def cost_of_an_event(tracer):
    """ns, of the two of a system call that does nothing else."""
    command = ["taskset", "-c", paper.PROGRAM_CPU, program("kernel_loop"),
               "getppid", 20000, 11]
    bare = rows_of(out(*command))["getppid"][0]
    return (rows_of(tracer.run(*command))["getppid"][0] - bare) / 2


def lttng_2(tracer):
    each_ns = cost_of_an_event(tracer)
    rows, lost = [], 0
    for name, command in lttng_loads().items():
        runs = Runs()
        for _ in range(1 if paper.options.quick else 3):
            before = cpu_ticks()
            tracer.run(*command)
            after = cpu_ticks()
            said = tracer.said
            seconds = said["wall_ns"] / 1e9
            runs.add("load", 100 - 100 * (after[1] - before[1]) /
                     (after[0] - before[0]))
            whole = seconds * len(paper.CPUS)
            runs.add("probes", 100 * said["events_recorded"] * each_ns / 1e9 /
                     whole)
            runs.add("recorder", 100 * said["recorder_cpu_ns"] / 1e9 / whole)
            runs.add("mib", said["bytes"] / 2**20 / seconds)
            runs.add("events", said["events_recorded"] / seconds)
            lost += said["events_lost"]
        rows.append([name, *(runs.get(k) for k in ("load", "probes",
                                                   "recorder", "mib",
                                                   "events"))])
    show("lttng-2", rows, [
        f"{tracer.name}; of {len(paper.CPUS)} CPUs; recorder: all of its "
        "process, its start and end included, whose share is great in runs "
        f"as short as these; probes: an event's {each_ns:.0f} ns (half of what "
        "a system call takes more) by their number, as in the paper",
        f"{lost:,} events lost" if lost else "no event was lost"])


def switch_ns(tracer, kind):
    text = tracer.run("taskset", "-c", paper.PROGRAM_CPU,
                      program("kernel_loop"), kind, 20000, 5)
    return rows_of(text)[kind][0]


def timed(tracer, command):
    """ns of the command alone, the tracer's own start and end left out."""
    inside = paper.work / "inside"
    tracer.run(program("kernel_timed"), inside, *command)
    return float(inside.read_text())


def loads():
    found = tracers()
    say_who_is_missing()
    by_name = {t.name: t for t in found}
    if DISK in by_name:
        lttng_2(by_name[DISK])
    load = program("papers_load")
    work = {"a system call (getppid)": lambda t: switch_ns(t, "getppid"),
            "a context switch": lambda t: switch_ns(t, "switch"),
            "hackbench-like, 40 processes": lambda t: rows_of(
                t.run(load, "groups", 2, 100))["groups"][0],
            "find /usr": lambda t: timed(t, ["find", "/usr", "-type", "f"]),
            "cc of one file": lambda t: timed(t, compile_command()),
            "a build": lambda t: timed(t, build_command())}
    runs = Runs()
    for _ in turns(5, 2):
        for name, measure in work.items():
            for tracer in found:
                runs.add((tracer.name, name), measure(tracer))
    show("more-loads", [
        [name, *(runs.get((t.name, name)) / runs.get(("untraced", name))
                 for t in found)] for name in work],
        [runs.words(), "events: " + ",".join(RULES[2:]) + " of the machine",
         "a build: eight of Sonde's files, as many at a time as there are "
         "CPUs"],
        columns=[t.name for t in found])


# ---- lateness ----

def latency(tracer, *words):
    """The report of sonde latency, recorded."""
    return json.loads(tracer.run(paper.sonde(), "latency", *words, "--json"))


def drawn(name, *words):
    """--svg FILE for it, if pictures are wanted."""
    if not paper.options.svg:
        return ()
    folder = pathlib.Path(paper.options.svg)
    folder.mkdir(parents=True, exist_ok=True)
    return ("--svg", str(folder / f"{name}.svg"))


class Busy:
    """Others that want the CPUs meanwhile: so many times the command, again and
    again."""

    def __init__(self, nr, *command):
        self.loop = f"while :; do {shlex.join(map(str, command))}; done"
        self.nr = nr

    def __enter__(self):
        self.process = subprocess.Popen(
            ["sh", "-c", f"{self.loop} & " * self.nr + "wait"],
            stdout=subprocess.DEVNULL, start_new_session=True)

    def __exit__(self, *_):
        paper.limits.end(self.process)


@functools.cache
def priority():
    """Which one a loop has: a control group may forbid it even to root."""
    may = subprocess.run(["chrt", "-f", "80", "true"], stderr=subprocess.DEVNULL)
    return "an ordinary thread" if may.returncode else "SCHED_FIFO 80"


def timer():
    found = tracers()
    duration = "2s" if paper.options.quick else "10s"
    for kind, name in (("timer", "realtime-1"), ("wakeup", "more-wakeup")):
        runs = Runs()
        with Busy(1, program("papers_load"), "groups", 1, 200):
            for _ in turns(3, 2):
                for tracer in found:
                    svg = drawn(f"{kind}-{found.index(tracer)}")
                    row, = latency(tracer, kind, "--interval", "100us",
                                   "--duration", duration, *svg)["cpus"]
                    for key in ("mean_ns", "p99_9_ns", "max_ns"):
                        runs.add((tracer.name, key), row[key] / 1000)
        show(name, [[t.name, runs.get((t.name, "mean_ns")),
                     runs.get((t.name, "p99_9_ns")),
                     runs.most((t.name, "max_ns"))] for t in found],
             [f"sonde latency {kind}, every 100 us for {duration}, "
              f"{priority()}, beside ours of hackbench's kind; {runs.words()}; the "
              "greatest of all runs"],
             columns=["mean us", "p99.9 us", "max us"])
    print("lttng-fig7: histograms are what --svg DIR draws of these runs: "
          "timer-*.svg\n")


# ---- a loop ----

def loop_command(tracer_name, nr=1000000):
    fifo = ["chrt", "-f", "80"] if priority().startswith("SCHED") else []
    return [*fifo, "taskset", "-c", paper.PROGRAM_CPU,
            program(f"hot_{tracer_name}"), "turns", nr]


def loop_ways():
    """What records the loop: a function that gives its line and what was
    lost."""
    realtime = ["--realtime", "-e", "bench:integer"]
    kernel = ["-a", "-k", "sched,irq,timer,syscalls"]

    def ours(*how):
        def run():
            text, said = paper.record(loop_command("sonde"), *how)
            return rows_of(text, "sonde ")["turns"], said["events_lost"]
        return run
    ways = {"no tracer": lambda: (rows_of(out(*loop_command("sonde")),
                                          "sonde ")["turns"], 0),
            "Sonde, the loop's events": ours(*realtime)}
    if not os.geteuid():
        ways["Sonde, the kernel's events"] = ours("-e", "none:none", *kernel)
        ways["Sonde, both"] = ours(*realtime, *kernel)
        ways["a uprobe (tracefs), 100,000 turns"] = lambda: (
            others.uprobe_turns(loop_command("uprobe", 100000)), 0)
    why = lttng.why_not(os.path.join(paper.options.build, "bench",
                                     "hot_lttng"))
    if why:
        paper.skip("LTTng-UST", why)
        return ways
    ways["LTTng-UST, woken by the writer"] = lttng_loop("--read-timer", "0")
    ways["LTTng-UST, read timer of 200 us"] = lttng_loop("--read-timer", "200")
    return ways


def lttng_loop(*channel):
    def run():
        with lttng.session(paper.budget, ["bench:integer"], "--output",
                           paper.trace(), channel=(
                               "--subbuf-size", "1M", "--num-subbuf", "32",
                               *channel)):
            row = rows_of(out(*loop_command("lttng")), "lttng ")["turns"]
            return row, lttng.lost(paper.budget)
    return run


def loop():
    """The paper's npt: the turns of a loop with an event in each."""
    ways = loop_ways()
    paper.skip("SystemTap", "a module for its user probes, which this machine "
               "doesn't load; they rest on uprobes, and one is beside ours")
    to_ns = 1000 / paper.mhz()
    runs, notes = Runs(), []
    lost = dict.fromkeys(ways, 0)
    for _ in turns(7, 3):
        for name, run in ways.items():
            (least, mean, most, deviation, _, high, _), missed = run()
            lost[name] += missed
            for key, value in (("min", least), ("mean", mean), ("high", high),
                               ("deviation", deviation), ("max", most)):
                runs.add((name, key), value * to_ns)
    rows = [[name, *(runs.get((name, key)) for key in
                     ("min", "mean", "high", "deviation", "max"))]
            for name in ways]
    notes.append("1,000,000 turns, "
                 + priority() + " on a CPU, the recorder on another; medians of "
                 "the runs, of the greatest as well: " + runs.words())
    notes += [f"{name}: {nr:,} events lost" for name, nr in lost.items() if nr]
    show("realtime-2", rows, notes)
    show("realtime-3", [row for row in rows if "LTTng" in row[0] or
                        row[0] in ("no tracer", "Sonde, the loop's events",
                                   "Sonde, both")], notes)
    histograms()


def histograms():
    if not paper.options.svg:
        return paper.skip("realtime-figs", "pictures are drawn with --svg DIR")
    words = ("loop", "--duration", "1s", "--cpu", paper.PROGRAM_CPU)
    for name, how in (("loop-untraced", None),
                      ("loop-recorded", ["--realtime"])):
        command = [paper.sonde(), "latency", *words, *drawn(name)]
        if how is None:
            out(*command)
        else:
            paper.record([*command, "--event"], *how)
        print(f"realtime-figs: {paper.options.svg}/{name}.svg")
    print()
    return None


def rates():
    """As in the paper 32 MiB for the program and 128 for the kernel."""
    seconds = 25 if paper.options.quick else 60
    rows, notes = [], []
    for name, how in (
            ("user space alone", []),
            ("and the kernel's system calls",
             ["-a", "-k", "syscalls", "--kernel-memory", "128M"]),
            ("and all events of the kernel",
             ["-a", "-k", "*", "--kernel-memory", "128M"])):
        begin = time.monotonic()
        done = paper.budget.run(
            [paper.sonde(), "latency", "max-rate", "--json", "--quick",
             "--duration", "500ms", "--time-limit", f"{seconds}s", "--cpu",
             paper.PROGRAM_CPU, "--", "--memory", "32M", "--recorder-cpus",
             paper.TRACER_CPU, *how],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=paper.work)
        if done.returncode:
            paper.skip(name, paper.last_line(done.stderr))
            continue
        said = json.loads(done.stdout)
        rows.append([name, said.get("highest_per_s"),
                     said.get("gave_way") or "nothing"])
        notes.append(f"{name}: {said['runs']} runs without a loss at it, "
                     f"{time.monotonic() - begin:.0f} s")
    rows += lttng_rate(notes)
    show("realtime-4", rows, notes)


def lttng_holds(rate, repeats):
    """The least rate that was reached in so many runs without a loss; None:
    one lost events."""
    nr = int(min(rate, FASTEST) / 2)
    least = rate
    for _ in range(repeats):
        with lttng.session(paper.budget, ["bench:integer"], "--output",
                           paper.trace(), channel=(
                               "--subbuf-size", "1M", "--num-subbuf", "32")):
            reached, = rows_of(out("taskset", "-c", paper.PROGRAM_CPU,
                                   program("hot_lttng"), "paced", nr, rate),
                               "lttng ")["paced"]
            if lttng.lost(paper.budget):
                return None
        least = min(least, reached)
    return least


def lttng_rate(notes):
    """LTTng-UST's, by halving; rows."""
    why = lttng.why_not(os.path.join(paper.options.build, "bench",
                                     "hot_lttng"))
    if why:
        paper.skip("LTTng-UST", why)
        return []
    low, high = 1e4, FASTEST
    best = lttng_holds(high, 3)
    for _ in turns(8, 6) if not best else ():
        middle = (low * high) ** 0.5
        held = lttng_holds(middle, 3)
        if held:
            low, best = middle, held
        else:
            high = middle
    notes.append("LTTng-UST: 32 buffers of 1 MiB for each CPU, as in the "
                 "paper; runs of half a second, 3 for a rate, as ours")
    return [["LTTng-UST, user space alone", best, "the buffers"]]
