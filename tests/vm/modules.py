# SPDX-License-Identifier: MIT
"""modules.py - our kernel modules: built for a kernel, and tried in guests.

    built = build(cache, kernel)                # {variant: folder}
    results = Trial(cache, kernel, built).all()

Variants of sonde.ko: the real one; one in which the ring's test points raise
NMIs; one in which some threads never commit; and mutants, each with one mistake that the validator must find. What a
guest prints is in a log for each of its passes (modules/pass)."""

import json
import pathlib
import re
import shutil
import subprocess

import disassembly
from counts import counts
from guest import Guest, Problem

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE / "modules"
ROOT = HERE.parents[1]
COSTS = SOURCE / "costs.json"
# Built to be tried hard: NMIs at its test points, and positions that begin
# where counters are about to overflow (2^46 - 2^18: those of any ring of up to
# 64 sub-buffers).
HARD = f"-include {SOURCE}/points.h -DSONDE_LOCAL_START=70368743915520ull"
# Built so that threads of a certain name die while they are recorded.
DEADLY = f"-include {SOURCE}/death.h"
# What counters.c tries.
COUNTERS = ("tracer/contexts.c", "tracer/counters.c", "tracer/self.c",
            "tracer/calls.c", "sys/counter.c", "sys/seccomp.c")
# In programs' names: what is no program of its own.
PARTS = {"client.c", "sonde_test.c", "sonde_test.mod.c", "sonde_described.c"}
TOLERANCE = 1.02


def mutants():
    """The mistakes that the ring can be built with."""
    text = "".join((ROOT / "src/ring" / f).read_text()
                   for f in ("local.h", "local.c"))
    return sorted(set(re.findall(r"\bSONDE_LOCAL_BUG_([A-Z0-9_]+)", text)))


# ---- building ----

class Toolchain:
    """How modules for a kernel are built: its own tools may need newer
    libraries than this machine's, which then are in a folder to be root in."""

    def __init__(self, cache, kernel):
        self.cache = cache
        self.make = []
        self.cc = ["cc"]
        self.prefix = []
        if kernel.arch == "arm64":
            self.make = ["ARCH=arm64", "CROSS_COMPILE=aarch64-linux-gnu-"]
            self.cc = ["aarch64-linux-gnu-gcc", "-static"]
        if kernel.name == "newest":
            self.prefix = self._newer()

    def _newer(self):
        root = self.cache.folder / "trixie"
        if not (root / "usr/bin/gcc-14").exists():
            shutil.rmtree(root, ignore_errors=True)
            run = subprocess.run(
                ["debootstrap", "--variant=minbase",
                 "--include=gcc-14,make,libc6-dev,libelf1t64", "trixie", root],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                text=True)
            if run.returncode:
                raise Problem("its tools need a newer Debian, and debootstrap "
                              "does not work (as root?): " +
                              run.stdout[-300:])
        mounts = " && ".join(
            f"mkdir -p {root}{f} && mount --rbind {f} {root}{f}"
            for f in (ROOT, self.cache.folder, "/proc"))
        return ["unshare", "--mount", "sh", "-c",
                f'{mounts} && exec chroot {root} "$@"', "sh"]

    def run(self, *command):
        run = subprocess.run([*self.prefix, *map(str, command), *self.make],
                             stdout=subprocess.PIPE, check=False,
                             stderr=subprocess.STDOUT, text=True)
        if run.returncode:
            raise Problem(f"{command[0]} failed:\n{run.stdout[-2000:]}")
        return run.stdout


class Built:
    """What was built for a kernel, in one folder that its guests see."""

    def __init__(self, cache, kernel):
        self.kernel = kernel
        self.folder = cache.folder / "modules" / kernel.version
        self.tools = Toolchain(cache, kernel)
        self.headers = cache.headers(kernel)
        self.share = self.folder / "share"
        self.share.mkdir(parents=True, exist_ok=True)
        self.programs = []

    def variant(self, name, flags=""):
        """sonde.ko with these flags, as share/NAME.ko."""
        out = self.folder / name
        words = [f"SONDE_CFLAGS={flags}"] if flags else []
        said = self.tools.run(ROOT / "tools/build_modules", self.headers, out,
                              *words)
        self._copy(out / "sonde.ko", f"{name}.ko")
        return said

    def _copy(self, module, name):
        shutil.copy(module, self.share / name)
        strip = "aarch64-linux-gnu-strip" if self.kernel.is_bare else "strip"
        subprocess.run([strip, "-g", self.share / name], check=True)

    def test_module(self):
        out = self.folder / "test"
        out.mkdir(exist_ok=True)
        for file in (*SOURCE.glob("sonde_test*.[ch]"), SOURCE / "Kbuild"):
            shutil.copy2(file, out / file.name)
        self.tools.run("make", "-s", "-C", self.headers, f"M={out}",
                       "CONFIG_DEBUG_INFO_BTF_MODULES=", "modules")
        self._copy(out / "sonde_test.ko", "sonde_test.ko")

    def described(self, build):
        """A module with described events, by the header that a build makes."""
        out = self.folder / "described"
        out.mkdir(exist_ok=True)
        shutil.copy2(SOURCE / "sonde_described.c", out)
        subprocess.run([build / "src/cmd/sonde", "generate",
                        SOURCE / "sonde_described.xml", "--target", "kernel",
                        "--header", out / "sonde_described.h"], check=True)
        (out / "Kbuild").write_text("obj-m := sonde_described.o\n"
                                    f"ccflags-y := -I{ROOT}/include\n")
        self.tools.run("make", "-s", "-C", self.headers, f"M={out}",
                       "CONFIG_DEBUG_INFO_BTF_MODULES=", "modules")
        self._copy(out / "sonde_described.ko", "sonde_described.ko")
        return self.share / "sonde_described.ko"

    def test_programs(self):
        shutil.copy2(SOURCE / "pass", self.share)
        for source in sorted(SOURCE.glob("*.c")):
            if source.name in PARTS:
                continue
            self._program(source, SOURCE / "client.c")
            self.programs.append(source.stem)

    def _program(self, source, *parts):
        run = subprocess.run(
            [*self.tools.cc, "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall",
             "-Wextra", "-Wno-unused-parameter", f"-I{ROOT}/src",
             f"-I{ROOT}/include", f"-I{SOURCE}", source, *parts,
             "-o", self.share / source.stem, "-pthread"],
            stdout=subprocess.PIPE, text=True, stderr=subprocess.STDOUT,
            check=False)
        if run.returncode:
            raise Problem(f"{source.name}:\n{run.stdout[-2000:]}")

    def counters(self):
        """What libsonde does to read a thread's counters of the CPU's."""
        self._program(HERE / "counters.c", *(ROOT / "src" / f for f in COUNTERS))


def module_of(cache, kernel):
    """The real module, as it was built last."""
    module = cache.folder / "modules" / kernel.version / "share/sonde.ko"
    if not module.exists():
        raise Problem(f"no module for {kernel.version} was built")
    return module


def build(cache, kernel, with_mutants=False):
    built = Built(cache, kernel)
    built.variant("sonde")
    built.test_module()
    built.test_programs()
    built.variant("death", DEADLY)
    if kernel.arch == "amd64":
        built.variant("points", HARD)
    if with_mutants:
        for name in mutants():
            how = DEADLY if name in BY_DEATH else HARD
            built.variant(f"bug_{name}", f"-DSONDE_LOCAL_BUG_{name} {how}")
    return built


# ---- passes in guests ----

class Pass:
    """One run of modules/pass. `must_fail`: it is a mutant."""

    def __init__(self, name, module, *commands, before="", after="",
                 must_fail=False, limit_s=600):
        self.name = name
        self.module = module
        self.commands = commands
        self.before = before
        self.after = after
        self.must_fail = must_fail
        self.limit_s = limit_s
        self.guest_limit_s = limit_s

    def script(self):
        words = " ".join(f"'{c}'" for c in self.commands)
        said = f"/mnt/share/{self.name}.log"
        return (f"{self.before}/mnt/share/pass {self.name} "
                f"{self.guest_limit_s} '{self.module}' {words} >{said} 2>&1\n"
                f"echo $? >/mnt/share/{self.name}.done\n{self.after}")


OTHERS = ("control_test", "door_test", "probes_test", "conditions_test",
          "items_test",
          "syscall_test")


def passes(built, quick):
    """What is tried of the real module, in one boot."""
    n = 20000 if quick else 100000
    if built.kernel.name == "debug":
        n = 4000
    found = [Pass("validate", "sonde.ko", f"validate -n {n}")]
    found += [Pass(name, "sonde.ko", name)
              for name in OTHERS if name in built.programs]
    if (built.share / "points.ko").exists():
        found.append(Pass("points", "points.ko", f"validate -n {n // 4}"))
    found.append(Pass("death", "death.ko", "death"))
    if "fuzz_ioctl" in built.programs and not quick:
        found.append(Pass("fuzz", "sonde.ko", "fuzz_ioctl 1 60"))
    rounds = 20 if quick else 1000
    if built.kernel.name != "6.1" and not quick:
        rounds = 20 if built.kernel.name == "debug" else 100
    found.append(Pass("life", "-", f"life ./sonde.ko {rounds}", limit_s=3000))
    return found


# Not a mistake on CPUs that keep the order of stores, such as the guests': its
# instructions tell (disassembly.py), and models/.
BY_INSTRUCTIONS = {"BARRIER"}
# Mistakes in what is done about writers that died.
BY_DEATH = {"STUCK", "RESYNC"}


def mutant_passes():
    return [Pass(f"bug_{name}", f"bug_{name}.ko",
                 "death" if name in BY_DEATH else "validate -n 5000",
                 must_fail=True, limit_s=100)
            for name in mutants() if name not in BY_INSTRUCTIONS]


def single_step():
    """Interrupts and NMIs between any two instructions."""
    return Pass("one_insn", "sonde.ko",
                "validate -n 2000 -p 2000000 meanwhile has_room small_subbufs "
                "push_it newest", limit_s=1500,
                before="echo host: one-insn on >/dev/console\n",
                after="echo host: one-insn off >/dev/console\n")


def any_moment():
    """NMIs that come from outside, when they like; it begins with the first."""
    seen = '"$(grep NMI: /proc/interrupts)"'
    return Pass("host_nmis", "sonde.ko", "validate -n 20000",
                before="echo host: nmis on >/dev/console\n"
                f"n={seen}\nwhile [ \"$n\" = {seen} ]; do :; done\n",
                after="echo host: nmis off >/dev/console\n")


def in_parallel():
    """On CPUs that run at the same time: what only such meet."""
    return Pass("race", "sonde.ko", "race 40", limit_s=600)


def counters():
    """Nothing of our module: what threads read of the CPU's counters."""
    return Pass("counters", "-", "counters", limit_s=900)


class Result:
    def __init__(self, name, passed, failed, lines=()):
        self.name = name
        self.passed = passed
        self.failed = failed
        self.lines = list(lines)


def result_of(one, share):
    """Of a pass that ran, or should have."""
    log = share / f"{one.name}.log"
    text = log.read_text(errors="replace") if log.exists() else ""
    done = (share / f"{one.name}.done").exists()
    passed, failed = counts(text)
    lines = re.findall(r"^FAIL .*|^\s+\S+\.c:\d+.*error.*", text, re.M)[:10]
    if one.must_fail:
        caught = not done or failed
        return Result(one.name, int(bool(caught)), int(not caught),
                      [] if caught else ["nobody saw this mistake"])
    if not done:
        return Result(one.name, passed, max(failed, 1),
                      lines + [f"it did not end, see {log}"])
    if passed + failed == 0:
        return Result(one.name, 0, 1, [f"nothing was run, see {log}"])
    return Result(one.name, passed, failed, lines)


def run_passes(built, todo, **guest):
    """Boots as often as it takes: a pass that takes the kernel with it takes
    its boot, and no other pass."""
    share = built.share
    for one in todo:
        for end in ("log", "done"):
            (share / f"{one.name}.{end}").unlink(missing_ok=True)
    results, problems = [], []
    while todo:
        job = "cd /mnt/share\ninsmod /mnt/share/sonde_test.ko\n" + "".join(
            one.script() for one in todo)
        machine = Guest(built.kernel, share, **guest)
        try:
            machine.run(job, sum(one.limit_s for one in todo) + 600,
                        [(share / f"{one.name}.done", one.limit_s + 100)
                         for one in todo])
        except Problem as why:
            problems.append(str(why))
            if not machine.is_up():
                break
        ran = [one for one in todo if (share / f"{one.name}.done").exists()]
        results += [result_of(one, share) for one in ran]
        left = [one for one in todo if one not in ran]
        if not left:
            break
        results.append(result_of(left[0], share))
        machine.keep_console(left[0].name)
        todo = left[1:]
    results += [Result(one.name, 0, 1, problems)
                for one in todo if one.name not in {r.name for r in results}]
    return results


# ---- what an event costs ----

def measured(built):
    """The pass's own result, and instructions by name; in a guest that counts
    them, which starts with one CPU only."""
    todo = Pass("cost", "sonde.ko typed_test=sonde_test_tick", "cost")
    # Its time leaps while it waits for this machine, which may be busy.
    todo.guest_limit_s = 1000 * todo.limit_s
    result, = run_passes(built, [todo], cpus=1, icount=True)
    log = built.share / "cost.log"
    text = log.read_text(errors="replace") if log.exists() else ""
    return result, {n: float(v) for n, v in
                    re.findall(r"^cost (\S+) (-?[\d.]+)$", text, re.M)}


def verdict_on_must(table, name, found):
    """What the row must not be above, by itself or with another row, or how many
    times another row. It is told, but fails nothing: what is in the table is what
    there is."""
    word, is_now, limit = "", found[name], table["must"].get(name)
    if name in table["must_times"]:
        other, limit = table["must_times"][name]
        if not found.get(other):
            return f", {other} is not measured"
        is_now /= found[other]
        word = f", {is_now:.2f} times {other}"
    if name in table["must_sums"]:
        other, limit = table["must_sums"][name]
        is_now += found.get(other, 0)
        word = f", {is_now:.1f} with {other}"
    if limit is None:
        return ""
    return f"{word}, must {limit}: {'met' if is_now <= limit else 'not met'}"


def judge(kernel, found):
    """A result for each row of the table: not more than 2 % above it."""
    table = json.loads(COSTS.read_text())
    results = []
    for name, known in table["kernels"].get(kernel, {}).items():
        is_now = found.get(name)
        if is_now is None:
            results.append(Result(f"cost {name}", 0, 1, ["not measured"]))
            continue
        good = is_now <= known * TOLERANCE + 0.5
        word = f"{is_now:.1f} instructions, table {known:.1f}"
        word += verdict_on_must(table, name, found)
        results.append(Result(f"cost {name}", int(good), int(not good),
                              [word]))
    return results


# ---- all of it, for one kernel ----

def instructions(built):
    """What the probes are made of."""
    problems, path = disassembly.judge(built.folder / "sonde/sonde.ko")
    results = [Result("no_lock_and_no_switched_interrupt",
                      int(not problems), int(bool(problems)), problems)]
    for name in BY_INSTRUCTIONS:
        mutant = built.folder / f"bug_{name}/sonde.ko"
        if mutant.exists():
            found, _ = disassembly.judge(mutant)
            results.append(Result(f"bug_{name}", int(bool(found)),
                                  int(not found)))
    return results


def check(cache, name, quick):
    """Builds and tries our modules for a kernel; its results."""
    kernel = cache.kernel(name)
    is_first = name == "6.1"
    built = build(cache, kernel, with_mutants=is_first and not quick)
    results = [Result("build", 1, 0)]
    if kernel.arch == "amd64" and name != "debug":
        results += instructions(built)
    results += run_passes(built, passes(built, quick))
    if name == "arm64":
        results += run_passes(built, [in_parallel()], cpus=4, parallel=True)
        built.counters()
        results += run_passes(built, [counters()], cpus=1, icount=True)
    if is_first and not quick:
        results += run_passes(built, mutant_passes())
        results += run_passes(built, [any_moment(), single_step()], host=True)
    if name in json.loads(COSTS.read_text())["kernels"]:
        result, found = measured(built)
        results += [result, *judge(kernel.name, found)]
    return results
