# SPDX-License-Identifier: MIT
"""guests - tables about kernels that this machine doesn't run: Debian's standard
one and the one with PREEMPT_RT, each in a guest with one CPU whose counter counts
the instructions that it executes (QEMU, -icount shift=0): a nanosecond there is an
instruction, whatever else this machine does meanwhile.

With one CPU the recorder can't run beside a loop of a higher priority: rings hold
all that the loop makes, and are read behind it. So what is measured is what a
tracer does in the loop's thread and in the kernel's interrupts."""
import concurrent.futures
import json
import shlex
import shutil
import subprocess
import sys

import others
import paper
from paper import Refused, rows_of, show

ROOT = paper.HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests/vm"))
import lttng  # noqa: E402
from guest import Cache, Guest, Problem  # noqa: E402
from modules import Built  # noqa: E402

KERNELS = ("6.1", "6.1-rt")
LIMIT_S, BOOT_S = 1200, 60
TURNS = 1000000
NR_CPUS = (1, 2, 4, 8)
HITS = 20000
RULES = ["-a", "-k", "sched,irq,timer,net,syscalls"]
FULL = 600000  # events of eight bytes, more than 4 MiB hold
# What a thread is late by, and the turns of npt's loop; $1: where it is told.
ALL = """
sonde latency timer --interval 100us --duration 200ms --cpu 0 --json >$1.timer
sonde latency wakeup --interval 100us --duration 200ms --cpu 0 --json >$1.wakeup
chrt -f 80 hot_sonde turns {turns} >$1.turns
"""
# At the lowest of priorities: what starts meanwhile is not to share the CPU with
# its forty processes.
BUSY = "while :; do nice -n 19 papers_load groups 1 20; done >/dev/null &\n"
# Until it says that it serves.
SERVE = """mkfifo /tmp/serving
papers_load serve 127.0.0.1 >/tmp/serving &
read -r line </tmp/serving
"""
# The recordings of the kernel, and those of the loop's own events.
KERNEL = {
    "untraced": [],
    "Sonde (BPF), flight recorder": ["--kernel-source", "bpf"],
    "Sonde (module), flight recorder": ["--kernel-source", "modules"],
    "Sonde (tracefs), flight recorder": ["--kernel-source", "tracefs"],
}
LOOP = {
    "Sonde, the loop's events": [],
    "Sonde, both (BPF)": [*RULES, "--kernel-source", "bpf"],
    "Sonde, both (module)": [*RULES, "--kernel-source", "modules"],
}
RATES = {
    "the loop's events": [], "and the kernel's system calls": ["syscalls"],
    "and many of the kernel's": [RULES[2]],
}
PACED = 600000
UPROBE, UPROBE_TURNS = "a uprobe (tracefs), 100,000 turns", 100000
LTTNG = {"LTTng-UST, woken by the writer": "0",
         "LTTng-UST, read timer of 200 us": "200"}
WORST = {
    "an event": "fast", "one that opens a sub-buffer": "switch",
    "one of another thread than the last": "thread",
    "a thread's first": "first", "one that finds the ring full": "full",
}
TWO = {
    "an event that two sessions record": "fast",
    "one that opens a sub-buffer in each": "switch",
}


def record(name, *how):
    """The beginning of a command: it says into NAME.said what it recorded."""
    return ["recorded", name, *how, "--"]


def told(name, *command):
    """The command; what it prints is in the share."""
    return ["sh", "-c", f"exec {shlex.join(command)} >/mnt/share/{name}"]


def kernel_lines():
    """Each recording of the kernel is one of `all`."""
    for i, (name, how) in enumerate(KERNEL.items()):
        begin = record(f"k{i}", *RULES, "-e", "none:none", "--mode",
                       "overwrite", *how) if how else []
        yield [*begin, "sh", "/mnt/share/all", f"/mnt/share/k{i}"]


def loop_lines():
    for i, how in enumerate(LOOP.values()):
        yield [*record(f"u{i}", "--realtime", "-e", "bench:integer", *how),
               *told(f"u{i}.turns", "chrt", "-f", "80", "hot_sonde", "turns",
                     str(TURNS))]


def uprobe_lines():
    probes = f"{others.TRACING}/uprobe_events"
    enable = f"{others.TRACING}/events/{others.UPROBE}/enable"
    yield ["sh", "-c", f"echo '{others.uprobe_line()}' >{probes}; echo 1 >{enable}"]
    yield told("p.turns", "chrt", "-f", "80", "hot_uprobe", "turns",
               str(UPROBE_TURNS))
    yield ["sh", "-c", f"echo 0 >{enable}; echo >{probes}"]


def lttng_session(name, subbufs, timer, *command):
    """As bench/lttng.py does it; `command` says into NAME.turns."""
    yield ["lttng", "create", name, "--output", f"/tmp/lttng-{name}"]
    yield ["lttng", "enable-channel", "-u", "c", "--subbuf-size", "1M",
           "--num-subbuf", subbufs, "--read-timer", timer]
    yield ["lttng", "enable-event", "-u", "-c", "c", "bench:integer"]
    yield ["lttng", "start"]
    yield told(f"{name}.turns", *command)
    yield ["lttng", "stop"]
    yield told(f"{name}.lost", "lttng", "list", name)
    yield ["lttng", "destroy", name]


def lttng_lines():
    yield ["lttng-sessiond", "--daemonize"]
    for i, timer in enumerate(LTTNG.values()):
        yield from lttng_session(f"l{i}", "32", timer, "chrt", "-f", "80",
                                 "hot_lttng", "turns", str(TURNS))


def worst_lines():
    """In rings that hold all, but for `full`."""
    for name in WORST.values():
        memory, words = "16M", []
        if name == "full":
            memory, words = "4M", [str(FULL)]
        yield [*record(f"w-{name}", "--realtime", "--memory", memory,
                       "--subbuf", "64K"),
               *told(f"w-{name}.worst", "chrt", "-f", "80", "papers_worst",
                     name, *words)]


def two_lines():
    """Flight recorders, which attach to it: their rings are filled once before."""
    for name in TWO.values():
        yield ["by_two", f"two-{name}", name, str(FULL)]


SETUP = """exec >/mnt/share/output 2>&1
set -x
cd /tmp
# A loop of a real-time priority is not to be stopped.
echo -1 >/proc/sys/kernel/sched_rt_runtime_us
insmod /mnt/share/sonde.ko
# While a recorder reads from this machine, the guest's clock goes on at once.
export SONDE_WAIT_MS=60000 LTTNG_UST_REGISTER_TIMEOUT=-1
recorded() {
	said=$1
	shift
	rm -rf /tmp/trace
	sonde record --json -o /tmp/trace "$@" 2>/mnt/share/$said.said
}
by_two() {
	said=$1
	shift
	rm -f go
	mkfifo go
	chrt -f 80 papers_worst "$@" wait <go >/mnt/share/$said.worst &
	program=$!
	exec 3>go
	for session in first second; do
		sonde start $session -p $program -e bench:integer --mode overwrite \\
			--memory 4M --subbuf 64K
	done
	sonde status >/mnt/share/$said.said
	echo >&3
	wait $program
	sonde destroy first
	sonde destroy second
}
"""


# What is read from this machine takes no time there: a recorder that is not in
# memory yet would be waited for in vain.
WARM = [*record("warm", "--realtime", "-e", "bench:integer"), "hot_sonde",
        "emit", "1"]


def begin(build):
    return f"PATH={build}/stage/usr/local/bin:{build}/bench:$PATH\n{SETUP}"


def commands(lines):
    return "".join(shlex.join(words) + "\n" for words in lines)


def script(build, with_lttng):
    quiet = [*loop_lines(), *uprobe_lines(), *worst_lines(), *two_lines()]
    if with_lttng:
        quiet += lttng_lines()
    return (begin(build) + commands([WARM, *quiet]) + BUSY +
            commands(kernel_lines()))


def run(cache, name, job, what, **guest):
    """The share, in which is what was said: of a guest that has not ended in time,
    what it said before."""
    kernel = cache.kernel(name)
    share = cache.folder / "log" / f"{name}-{what}"
    shutil.rmtree(share, ignore_errors=True)
    share.mkdir(parents=True)
    built = Built(cache, kernel)
    built.variant("sonde")
    shutil.copy(built.share / "sonde.ko", share)
    (share / "all").write_text(ALL.format(turns=TURNS))
    limit_s = min(LIMIT_S, paper.budget.share_s() - BOOT_S)
    if limit_s < BOOT_S:
        raise Problem("there is no time left for it")
    guest = Guest(kernel, share, [ROOT, paper.options.build], icount=True,
                  **guest)
    try:
        guest.run(job, limit_s)
    except Problem as why:
        if not guest.is_up():
            raise
        paper.skip(f"what {name} had not said by then", why)
    return share


def guests(cache, job, what, **guest):
    """The shares by kernel, of as many guests at a time as there are CPUs: others'
    work changes no count."""
    shares = {}
    with concurrent.futures.ThreadPoolExecutor(len(paper.CPUS)) as pool:
        running = {name: pool.submit(run, cache, name, job, what, **guest)
                   for name in KERNELS}
        for name, one in running.items():
            try:
                shares[name] = one.result()
            except (Problem, subprocess.SubprocessError) as why:
                paper.skip(f"the kernel {name}", why)
    if not shares:
        raise Refused("no guest ran")
    return shares


# ---- several CPUs ----

def at_once(program, name):
    return told(name, "sh", "-c", "for n in " + " ".join(map(str, NR_CPUS)) +
                f"; do {program} at-once $n {HITS}; done")


def scaling_lines(with_lttng):
    """Flight recorders, which nobody reads meanwhile."""
    yield at_once("hot_sonde", "none.at-once")
    yield [*record("sonde", "--realtime", "--mode", "overwrite", "-e",
                   "bench:integer"),
           *at_once("hot_sonde", "sonde.at-once")]
    if with_lttng:
        yield ["lttng-sessiond", "--daemonize"]
        yield ["lttng", "create", "s", "--snapshot", "--output", "/tmp/s"]
        yield ["lttng", "enable-event", "-u", "bench:integer"]
        yield ["lttng", "start"]
        yield at_once("hot_lttng", "lttng.at-once")
        yield ["lttng", "destroy", "s"]


def load_lines():
    """A file server and as many clients on so many CPUs, the first time for
    nothing but code that is to be in memory."""
    yield told("warm.files", "papers_load", "files", "127.0.0.1", "1", "0.05")
    for i, how in enumerate(KERNEL.values()):
        words = record(f"f{i}", *RULES, "--mode", "overwrite",
                       *how) if how else []
        yield [*words, *told(f"f{i}.files", "sh", "-c", "".join(
            f"taskset -c 0-{n - 1} papers_load files 127.0.0.1 {n} 0.2; "
            for n in NR_CPUS))]


def scaling_script(build, with_lttng):
    lines = [WARM, *scaling_lines(with_lttng)]
    return begin(build) + commands(lines) + SERVE + commands(load_lines())


def scaling():
    """One guest with as many CPUs as the most, some of which are used: what its
    CPUs execute together is counted, so that one that waits for another counts,
    too."""
    build, with_lttng = prepared()
    cache = Cache(ROOT / "build-vm")
    try:
        share = run(cache, KERNELS[0], scaling_script(build, with_lttng),
                    "scaling", cpus=max(NR_CPUS), qemu=cache.newer_qemu())
    except Problem as why:
        raise Refused(why) from why
    unit = (f"Linux {KERNELS[0]} in a guest with {max(NR_CPUS)} CPUs that "
            "counts instructions of all of them together (QEMU 10)")
    columns = [f"{n} CPU{'s' * (n > 1)}" for n in NR_CPUS]
    show("more-instructions", [
        [name, *(rows_of(text(share / f"{short}.at-once"),
                         f"{tracer} ").get(f"at-once{n}", [None])[0]
                 for n in NR_CPUS)]
        for name, short, tracer in (
            ("Sonde, not recorded", "none", "sonde"),
            ("Sonde, flight recorder", "sonde", "sonde"),
            ("LTTng-UST, flight recorder", "lttng", "lttng"))],
        [f"{unit}; {HITS:,} events by a thread on each CPU; the clock's "
         "interrupts are in it"], columns=columns)
    rows = []
    for i, name in enumerate(KERNEL):
        said = [float(line.split()[1]) for line in
                text(share / f"f{i}.files").splitlines()]
        rows.append([name, *said, *[None] * (len(NR_CPUS) - len(said))])
    show("more-servers", rows, [
        f"{unit}; MB for each thousand million instructions; server and "
        "as many clients on so many CPUs"], columns=columns)


# ---- the highest rate ----

def rate_lines(with_lttng):
    """Rings of 8 MiB for each CPU: more than comes while its reader's CPU waits for
    its turn, and less than comes in all."""
    for i, how in enumerate(RATES.values()):
        kernel = ["-a", "-k", *how, "--kernel-source", "modules"] if how else []
        yield told(f"r{i}.rate", "sonde", "latency", "max-rate", "--json",
                   "--quick", "--duration", "400ms", "--cpu", "1", "--",
                   "--memory", "16M", "--recorder-cpus", "0", *kernel)
    if with_lttng:
        yield ["lttng-sessiond", "--daemonize"]
        yield from lttng_session("rate", "8", "200", "taskset", "-c", "1",
                                 "hot_lttng", "paced", str(PACED), "1e9")


def rate_rows(shares):
    for kernel, share in shares.items():
        for i, name in enumerate(RATES):
            try:
                said = json.loads(text(share / f"r{i}.rate"))
            except ValueError:
                said = {}
            yield [f"{kernel}: {name}", said.get("highest_per_s"),
                   (said.get("gave_way") or "nothing") if said else None]
        rate = rows_of(text(share / "rate.turns"), "lttng ").get("paced", [None])
        nr = lttng.lost_in(text(share / "rate.lost"))
        yield [f"{kernel}: LTTng-UST, as fast as it goes", rate[0],
               f"{nr:,} of {PACED:,} events lost" if nr else "nothing"]


def rates():
    build, with_lttng = prepared()
    cache = Cache(ROOT / "build-vm")
    job = begin(build) + commands([WARM, *rate_lines(with_lttng)])
    shares = guests(cache, job, "rates", cpus=2, qemu=cache.newer_qemu())
    show("more-rates", list(rate_rows(shares)), [
        "in a guest with two CPUs, the loop on one and the recorder on the other; "
        "a second is 1,000 million instructions of both, so the loop has what the "
        "recorder leaves; 8 MiB of buffers for each CPU, to files in memory; the "
        "kernel's by the module"])


# ---- what was said ----

def text(path):
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def late(path):
    """Mean, p99.9 and the greatest."""
    try:
        row, = json.loads(text(path))["cpus"]
    except (ValueError, KeyError):
        return [None] * 3
    return [row[key] for key in ("mean_ns", "p99_9_ns", "max_ns")]


def turned(path, tracer="sonde"):
    row = rows_of(text(path), f"{tracer} ").get("turns")
    if not row:
        return [None] * 5
    least, mean, most, deviation, _, high, _ = row
    return [least, mean, high, deviation, most]


def said_lost(share, name):
    """What a recording lost, or why there is none; "": nothing."""
    lines = text(share / f"{name}.said").splitlines()
    for line in lines:
        if line.startswith("{"):
            said = json.loads(line)
            if said["processes_refused"]:
                return said["notes"][-1]
            lost = said["events_lost"]
            return f"{lost:,} events lost" if lost else ""
    return paper.last_line("\n".join(lines))


def is_recorded(share, name):
    """Whether the program's own events are."""
    return any(line.startswith("{") and json.loads(line)["processes"]
               for line in text(share / f"{name}.said").splitlines())


def lateness_rows(shares):
    for kernel, share in shares.items():
        for i, name in enumerate(KERNEL):
            yield [f"{kernel}: {name}", *late(share / f"k{i}.timer"),
                   *late(share / f"k{i}.wakeup")]


def turns_rows(shares):
    for kernel, share in shares.items():
        for i, name in enumerate(KERNEL):
            yield [f"{kernel}: {name}", *turned(share / f"k{i}.turns")]
        for i, name in enumerate(LOOP):
            yield [f"{kernel}: {name}", *(
                turned(share / f"u{i}.turns") if is_recorded(share, f"u{i}")
                else [None] * 5)]
        yield [f"{kernel}: {UPROBE}", *turned(share / "p.turns", "uprobe")]
        for i, name in enumerate(LTTNG):
            yield [f"{kernel}: {name}",
                   *turned(share / f"l{i}.turns", "lttng")]


def worst_rows(shares):
    files = {**{what: (f"w-{name}", name) for what, name in WORST.items()},
             **{what: (f"two-{name}", name) for what, name in TWO.items()}}
    for what, (file, name) in files.items():
        row = [what]
        for share in shares.values():
            found = rows_of(text(share / f"{file}.worst"))
            known = what in TWO or is_recorded(share, file)
            row += known and found.get(name) or [None, None]
        yield row


def full_notes(shares):
    for kernel, share in shares.items():
        yield (f"{kernel}: the ring was full, "
               f"{said_lost(share, 'w-full') or 'or was not: that row is none'}")


def lost_notes(shares, names):
    for kernel, share in shares.items():
        for short, name in names.items():
            why = said_lost(share, short)
            if why:
                yield f"{kernel}: {name}: {why}"


def lttng_notes(shares):
    for kernel, share in shares.items():
        for i, name in enumerate(LTTNG):
            nr = lttng.lost_in(text(share / f"l{i}.lost"))
            if nr:
                yield f"{kernel}: {name}: {nr:,} events lost"


def prepared():
    """The build's folder, and whether it has LTTng-UST's programs."""
    if not paper.options.guests:
        raise Refused("it starts guests, which takes some minutes: --guests")
    build = paper.installed()
    why = lttng.is_missing(build / "bench/hot_lttng")
    if why:
        paper.skip("LTTng-UST", why)
    return build, not why


def realtime():
    shares = guests(Cache(ROOT / "build-vm"), script(*prepared()), "papers",
                    cpus=1)
    unit = ("in a guest with one CPU that counts instructions; a nanosecond is "
            "one")
    show("more-lateness", list(lateness_rows(shares)), [
        f"{unit}; sonde latency timer and wakeup, every 100,000 for 200 million, "
        "SCHED_FIFO 80, beside ours of hackbench's kind; "
        f"{','.join(RULES[2:])} of the machine"])
    show("more-turns", list(turns_rows(shares)), [
        f"{unit}; {TURNS:,} turns, SCHED_FIFO 80; the recorder reads behind "
        "the loop", *lost_notes(shares, {
            **{f"k{i}": n for i, n in enumerate(KERNEL) if i},
            **{f"u{i}": n for i, n in enumerate(LOOP)}}),
        *lttng_notes(shares)])
    show("more-worst", list(worst_rows(shares)), [
        f"{unit}; --realtime, sub-buffers of 64 KiB; above two readings of the "
        "counter; most: of the greatest of each of 39 rounds the least, since "
        "the timer interrupts some of them (papers/worst.c)",
        *lost_notes(shares, {f"w-{short}": name for name, short in
                             WORST.items() if short != "full"}),
        *full_notes(shares)],
        columns=[f"{k}: {c}" for k in shares for c in ("least", "most")])
