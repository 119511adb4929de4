# SPDX-License-Identifier: MIT
"""paper - what the measures of bench/papers share: the published numbers, a table
that has them above ours, programs, recordings, and how far runs differ.

begin() comes before all else. A measure is a function that measures and shows one
table or several; what it can't do here it says by skip(), and raises Refused if
that is all of it."""
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import limits  # noqa: E402
from limits import Refused  # noqa: E402

PUBLISHED = json.loads((HERE / "published.json").read_text())
TABLES = PUBLISHED["tables"]
CPUS = sorted(os.sched_getaffinity(0))
PROGRAM_CPU, TRACER_CPU = str(CPUS[-1]), str(CPUS[0])
MEMORY = "/dev/shm"

options = budget = work = None


def begin(given):
    global options, budget, work
    options = given
    budget = limits.Budget(given.time_limit)
    work = pathlib.Path(tempfile.mkdtemp(prefix="sonde-bench-", dir=MEMORY))


def end():
    shutil.rmtree(work, ignore_errors=True)


# ---- programs ----

def program(name):
    path = pathlib.Path(options.build) / "bench" / name
    if not os.access(path, os.X_OK):
        raise Refused(f"{name} is not built")
    return str(path)


def sonde():
    return str(pathlib.Path(options.build) / "src/cmd/sonde")


def installed():
    """The build's folder, in which stage/ has what it installs."""
    build = pathlib.Path(options.build)
    out("meson", "install", "-C", build, "--no-rebuild", "--quiet",
        "--only-changed", "--destdir", build / "stage")
    return build


def out(*command, **more):
    return budget.run(command, check=True, stdout=subprocess.PIPE,
                      stderr=subprocess.DEVNULL, **more).stdout


def rows_of(text, prefix=""):
    """Lines of a name and numbers, those with the prefix; by the name behind
    it."""
    found = {}
    for line in text.splitlines():
        name, *numbers = line.removeprefix(prefix).split()
        if line.startswith(prefix):
            found[name] = [float(n) for n in numbers]
    return found


def pinned(*command):
    return ["taskset", "-c", PROGRAM_CPU, *command]


def trace():
    """Where the next trace may be; the one before is gone."""
    path = work / "trace"
    shutil.rmtree(path, ignore_errors=True)
    return str(path)


def recording(*how, output=None):
    """The beginning of a command that records; summary() tells what."""
    return [sonde(), "record", "--json", "--recorder-cpus", TRACER_CPU, "-o",
            output or trace(), *how, "--"]


def summary(done):
    """What the recording said."""
    for line in reversed(done.stderr.splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    raise Refused(last_line(done.stderr))


def record(command, *how, output=None):
    """The command's output, and the summary of its recording."""
    done = budget.run([*recording(*how, output=output), *command],
                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        raise Refused(last_line(done.stderr))
    return done.stdout, summary(done)


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else "it said nothing"


def benchmark(name, *words, told=""):
    """The lines of another command of bench/, as they come; those that match are
    printed."""
    limit_s = min(budget.left_s(), 240)
    if limit_s < 10:
        raise Refused("there is no time left")
    with subprocess.Popen([str(HERE.parent / name), *words], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          start_new_session=True) as process:
        timer = threading.Timer(limit_s, limits.end, [process])
        timer.start()
        try:
            for line in process.stdout:
                if re.match(told, line):
                    print("    " + line, end="")
                yield line
        finally:
            timer.cancel()
            limits.end(process)


def mhz():
    """Of the counter."""
    return rows_of(out(program("papers_clocks"), "mhz"))["mhz"][0]


# ---- values of several runs ----

class Runs:
    """Values by name; their medians, and by how much they differ."""

    def __init__(self):
        self.values = {}

    def add(self, name, value):
        self.values.setdefault(name, []).append(value)

    def __contains__(self, name):
        return name in self.values

    def get(self, name):
        values = self.values.get(name)
        return statistics.median(values) if values else None

    def least(self, name):
        return min(self.values[name]) if name in self.values else None

    def most(self, name):
        return max(self.values[name]) if name in self.values else None

    def words(self):
        """Half of the difference of the greatest and the least by the median:
        in the median of all names, and the most."""
        parts = sorted((50 * (max(v) - min(v)) / statistics.median(v), name)
                       for name, v in self.values.items()
                       if len(v) > 1 and statistics.median(v) > 0)
        if not parts:
            return "one run of each"
        nr = max(map(len, self.values.values()))
        part, name = parts[-1]
        if isinstance(name, tuple):
            name = ", ".join(map(str, name))
        return (f"medians of {nr} runs in turns, which differ by "
                f"±{parts[len(parts) // 2][0]:.0f} % in the median and "
                f"±{part:.0f} % at most ({name})")


def turns(nr, quick):
    return budget.turns(quick if options.quick else nr)


# ---- what is shown ----

def machine():
    with open("/proc/cpuinfo") as file:
        model = next((line.split(":")[1].strip() for line in file
                      if line.startswith("model name")), os.uname().machine)
    virtual = " (virtual)" if "hypervisor" in open("/proc/cpuinfo").read() \
        else ""
    return f"{model}{virtual}, {len(CPUS)} CPUs, Linux {os.uname().release}"


def text_of(cell):
    if cell is None:
        return "-"
    if isinstance(cell, str):
        return cell
    size = abs(cell)
    digits = 0 if size >= 100 or cell == int(cell) else 1 if size >= 10 else 2
    return f"{cell:,.{digits}f}"


def show(name, rows, notes=(), columns=None):
    """The table: what was published, then `rows`, whose first cell is a text.
    None: it can't be had, or wasn't published."""
    table = TABLES[name]
    columns = columns or table["columns"]
    unit = f", {table['unit']}" if "unit" in table else ""
    groups = []
    if table["rows"]:
        groups.append((f"published: {table['on']}", table["rows"]))
    groups.append(("here", rows))
    cells = [["", *columns]] + [[text_of(c) for c in row]
                                for _, lines in groups for row in lines]
    widths = [max(len(row[i]) if i < len(row) else 0 for row in cells)
              for i in range(len(columns) + 1)]

    def line(row):
        row = [text_of(c) for c in row]
        print("    " + row[0].ljust(widths[0]) + "".join(
            "  " + c.rjust(w) for c, w in zip(row[1:], widths[1:])))
    print(f"{name}: {table['title']}{unit}")
    line(["", *columns])
    for group, lines in groups:
        print(f"  {group}")
        for row in lines:
            line(row)
    if "missing" in table:
        notes = [*notes, table["missing"]]
    for note in notes:
        print(f"  note: {note}")
    print()


def skip(what, why):
    print(f"  skipped: {what}: {why}")
