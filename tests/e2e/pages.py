# SPDX-License-Identifier: MIT
"""pages.py - documents whose commands are run: README, docs/ and man/.

All commands of a page run as they stand there, one after the other, in a folder
of their own with the installed Sonde on the PATH. Each must end with status 0,
or with N where a comment behind it says `exit status N`. Where output is shown,
below a "$ ", the real one must be the same with its numbers masked; `...` stands
for any lines. Commands are the lines of blocks of `sh`, and those of blocks of
`console` behind "$ " and, continued, "> "; in manual pages, blocks (.EX, .nf)
that begin with a command.

Comments in front of a block say what isn't so, and are seen in the source alone;
in manual pages they have .\\" in place of <!-- -->:

    <!-- not run: WHY -->           the block is passed over
    <!-- output varies: WHY -->     run, but not compared
    <!-- kernel events -->          only run where the user may record them
    <!-- needs: PROGRAM ... -->     only run where these are installed
    <!-- interrupted after: TEXT --> each gets Ctrl-C when it has printed that
    <!-- file: NAME -->             the block is the contents of a file

What a page takes for the reader's, such as ./server, is made before
(page_things.py).
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading

from sonde import (BIN, LIB, PATIENCE, ROOT, SONDE, STAGE, check, run,
                   skip_if_sanitized)
from harness import Skip

TIMEOUT_S = 60 * PATIENCE
NOT_SHOWN = "what a sanitizer adds isn't what pages show"
# Nobody's, and no other test's.
ORDINARY = 61236


# ---- what a page says ----

class Block:
    def __init__(self, kind, lines, notes, line):
        self.kind, self.lines, self.line = kind, lines, line
        self.notes = notes

    def note(self, name):
        """What the comment of that name says, or None."""
        return self.notes.get(name)

    def commands(self):
        """(command, lines of output or None) of each."""
        if self.kind == "console":
            return list(self._console())
        text = re.sub(r"\s*\\\n\s*", " ", "\n".join(self.lines))
        return [(line, None) for line in text.split("\n")
                if line.strip() and not line.lstrip().startswith("#")]

    def _console(self):
        command, shown = None, []
        for line in self.lines + ["$ "]:
            if line.startswith("> ") and command and not shown:
                command += "\n" + line[2:]
            elif command and command.endswith("\\") and not shown:
                command += "\n" + line
            elif line.startswith("$ "):
                while shown and not shown[-1]:
                    shown.pop()
                if command:
                    yield command, shown
                command, shown = line[2:], []
            else:
                shown.append(line)


def blocks(text):
    """The fenced blocks of a page, each with the comments in front of it."""
    kind, lines, notes, start = None, [], {}, 0
    for nr, line in enumerate(text.split("\n"), 1):
        if kind is not None:
            if line == "```":
                yield Block(kind, lines, notes, start)
                kind, lines, notes = None, [], {}
            else:
                lines.append(line)
            continue
        comment = re.fullmatch(r"<!-- ([a-z ]+?)(?:: (.*))? -->", line)
        if comment:
            notes[comment[1]] = comment[2] or ""
        elif line.startswith("```"):
            kind, start = line[3:], nr + 1
        elif line:
            notes = {}


COMMAND = re.compile(r"\$ |sonde |sudo |ssh ")
GLYPHS = {r"\-": "-", r"\(aq": "'", r"\(dq": '"', r"\e": "\\", r"\\": "\\"}


def manual_blocks(text):
    """The same of a manual page: those that begin with a command."""
    lines, notes, start = None, {}, 0
    for nr, line in enumerate(text.split("\n"), 1):
        comment = re.fullmatch(r'\.\\" ([a-z ]+?)(?:: (.*))?', line)
        if comment:
            notes[comment[1]] = comment[2] or ""
        elif line in (".EX", ".nf"):
            lines, start = [], nr + 1
        elif line in (".EE", ".fi"):
            if COMMAND.match(lines[0]):
                kind = "console" if lines[0].startswith("$ ") else "sh"
                yield Block(kind, lines, notes, start)
            lines, notes = None, {}
        elif lines is not None:
            lines.append(re.sub(r"\\(?:\(..|.)",
                                lambda m: GLYPHS.get(m[0], m[0]), line))


def blocks_of(page):
    text = (ROOT / page).read_text()
    return list((blocks if page.endswith(".md") else manual_blocks)(text))


def all_pages():
    """Those that have commands."""
    paths = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")),
             *sorted(ROOT.glob("man/*.[1-9]"))]
    pages = [str(path.relative_to(ROOT)) for path in paths]
    return [page for page in pages
            if any(b.kind in ("sh", "console") for b in blocks_of(page))]


# ---- whether a command did what it says ----

def mask(line):
    """Without what is different in each run."""
    line = re.sub(r"0x[0-9a-f]+|[+-]?\d[\d,.:]*", "N", line)
    line = re.sub(r"N (?:ns|us|ms|s)\b", "N s", line)
    line = re.sub(r"N (?:B|KiB|MiB|GiB)\b", "N B", line)
    line = re.sub(r"N (?:[kMG]?/s)", "N /s", line)
    # How that is told depends on how much of it was the start and the end.
    line = re.sub(r"(the recorder used N s of CPU time).*", r"\1", line)
    return re.sub(r"\s+", " ", line).strip()


def same(shown, got):
    """Are these the lines that are shown?"""
    pattern = "".join("(?:.*\n)*" if line == "..." else
                      re.escape(mask(line)) + "\n" for line in shown)
    return re.fullmatch(pattern, "".join(mask(line) + "\n" for line in got))


def status_of(command):
    said = re.search(r"# exit status (\d+)$", command)
    return int(said[1]) if said else 0


# Then the kernel's events can't be listed.
NO_TRACEFS = "tracefs is not mounted"


def _run_to_the_end(command, place):
    done = subprocess.run(["sh", "-c", command], cwd=place, text=True,
                          stdin=subprocess.DEVNULL, timeout=TIMEOUT_S,
                          stdout=subprocess.PIPE, check=False,
                          stderr=subprocess.STDOUT, errors="replace")
    return done.returncode, done.stdout


def _interrupt(command, text, place):
    """Ctrl-C when it has printed that: status, output."""
    with subprocess.Popen(["sh", "-c", "exec " + command], cwd=place,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, start_new_session=True,
                          errors="replace", text=True) as process:
        limit = threading.Timer(TIMEOUT_S, process.kill)
        limit.start()
        got = ""
        while text not in got:
            line = process.stdout.readline()
            check(line, f"`{command}` doesn't print {text!r}: {got}")
            got += line
        os.killpg(process.pid, signal.SIGINT)
        got += process.communicate(timeout=TIMEOUT_S)[0]
        limit.cancel()
        return process.returncode, got


# Where pages would have more than their own folder.
ELSEWHERE = {"/mnt/traces": "mnt", "/var/tmp/night": "chunks"}


def run_one(page, block, command, shown, place):
    for path, ours in ELSEWHERE.items():
        command = command.replace(path, str(place / ours))
    where = f"{page}:{block.line}: `{command}`"
    until = block.note("interrupted after")
    try:
        status, out = _run_to_the_end(command, place) if until is None else \
            _interrupt(command, until, place)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"{where} doesn't end")
    if status == 1 and NO_TRACEFS in out:
        print(f"  {page}:{block.line}: not run: {command}: {NO_TRACEFS} here")
        return
    check(status == status_of(command), f"{where}: status {status}: "
          f"{out[-500:]}")
    if shown is None or block.note("output varies") is not None:
        return
    got = out.rstrip("\n").split("\n") if out else []
    check(same(shown, got), f"{where} prints\n" + "\n".join(got[:40])
          + "\nand not\n" + "\n".join(shown))


def may_record_the_kernel():
    done = run(SONDE, "doctor", "--json")
    parts = {p["part"]: p for p in json.loads(done.stdout)["parts"]}
    return any(parts[name]["able"] == "yes" for name in ("bpf", "tracefs"))


def why_not(block, kernel):
    """Why a block isn't run, or None."""
    if block.note("not run") is not None:
        return block.note("not run")
    if block.note("kernel events") is not None and not kernel:
        return "no right to record kernel events"
    missing = [p for p in (block.note("needs") or "").split()
               if not shutil.which(p)]
    return f"no {missing[0]}" if missing else None


def become_ordinary():
    """From root to a user who is nobody else; for the rest of this test."""
    if os.geteuid():
        raise Skip("who runs the tests is an ordinary user")
    top = pathlib.Path(os.environ["SONDE_TEST_SCRATCH"])
    top.chmod(0o711)
    home = top / "home"
    home.mkdir(exist_ok=True)
    os.chown(home, ORDINARY, ORDINARY)
    os.setgroups([])
    os.setgid(ORDINARY)
    os.setuid(ORDINARY)
    os.environ |= {"HOME": str(home), "SONDE_TEST_SCRATCH": str(home)}
    if not os.access(SONDE, os.X_OK) or not os.access(ROOT, os.R_OK):
        raise Skip(f"others may not read {ROOT}")


def environment(place):
    """As a reader's after installing; and sessions of our own."""
    skip_if_sanitized(NOT_SHOWN)
    for name in ("gcc", "pkg-config"):
        if not shutil.which(name):
            raise Skip(f"no {name}")
    (place / "xdg").mkdir(mode=0o700)
    os.environ.update({
        "PATH": f"{place / 'bin'}:{BIN}:{os.environ['PATH']}",
        "XDG_RUNTIME_DIR": str(place / "xdg"),
        "LD_LIBRARY_PATH": str(LIB),
        "PKG_CONFIG_PATH": str(LIB / "pkgconfig"),
        "PKG_CONFIG_SYSROOT_DIR": str(STAGE)})


def follow(page, place):
    """Does all that a page says."""
    kernel = may_record_the_kernel()
    ran, why = 0, None
    for block in blocks_of(page):
        if block.note("file") is not None:
            path = place / block.note("file")
            path.write_text("\n".join(block.lines) + "\n")
            path.chmod(0o755)
            continue
        if block.kind not in ("sh", "console"):
            continue
        why = why_not(block, kernel)
        for command, shown in block.commands():
            if why:
                print(f"  {page}:{block.line}: not run: {command}: {why}",
                      flush=True)
                continue
            run_one(page, block, command, shown, place)
            ran += 1
    if not ran:
        raise Skip(why)
