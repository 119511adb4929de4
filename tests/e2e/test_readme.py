#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_readme.py - the commands of README and of the guides in docs/ do what is
written there.

All commands of a page run as they stand there, one after the other, in a folder
of their own with the installed Sonde on the PATH. Each must end with status 0,
or with N where a comment behind it says `exit status N`. Where output is shown,
below a "$ ", the real one must be the same with its numbers masked; `...` stands
for any lines. Commands are the lines of blocks of `sh`, and those of blocks of
`console` behind "$ " and, continued, "> ".

Comments in front of a block say what isn't so, and are seen in the source alone:

    <!-- not run: WHY -->           the block is passed over
    <!-- output varies: WHY -->     run, but not compared
    <!-- kernel events -->          only run where the user may record them
    <!-- needs: PROGRAM ... -->     only run where these are installed
    <!-- file: NAME -->             the block is the contents of a file

Programs that a page takes for the reader's, such as ./server, are made below.
"""

import json
import os
import re
import shutil
import subprocess

from sonde import (BIN, LIB, OPTIONS, PATIENCE, PREFIX, ROOT, SONDE, STAGE,
                   build, check, install, run, scratch, skip_if_sanitized)
from harness import Skip, check_equal, long_test, main, test

EXAMPLES = PREFIX / OPTIONS["datadir"] / "doc/sonde/examples"
TIMEOUT_S = 240 * PATIENCE
NOT_SHOWN = "what a sanitizer adds isn't what pages show"


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


def run_one(page, block, command, shown, place):
    try:
        done = subprocess.run(["sh", "-c", command], cwd=place, text=True,
                              stdin=subprocess.DEVNULL, timeout=TIMEOUT_S,
                              stdout=subprocess.PIPE, check=False,
                              stderr=subprocess.STDOUT, errors="replace")
    except subprocess.TimeoutExpired:
        raise AssertionError(f"{page}:{block.line}: `{command}` doesn't end")
    where = f"{page}:{block.line}: `{command}`"
    if done.returncode == 1 and NO_TRACEFS in done.stdout:
        print(f"  {page}:{block.line}: not run: {command}: {NO_TRACEFS} here")
        return
    check(done.returncode == status_of(command),
          f"{where}: status {done.returncode}: {done.stdout[-500:]}")
    if shown is None or block.note("output varies") is not None:
        return
    got = done.stdout.rstrip("\n").split("\n") if done.stdout else []
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


def follow(page, place):
    """Does all that a page says."""
    skip_if_sanitized(NOT_SHOWN)
    for name in ("gcc", "pkg-config"):
        if not shutil.which(name):
            raise Skip(f"no {name}")
    os.environ.update({
        "PATH": f"{place / 'bin'}:{BIN}:{os.environ['PATH']}",
        "LD_LIBRARY_PATH": str(LIB),
        "PKG_CONFIG_PATH": str(LIB / "pkgconfig"),
        "PKG_CONFIG_SYSROOT_DIR": str(STAGE)})
    kernel = may_record_the_kernel()
    ran = 0
    for block in blocks((ROOT / page).read_text()):
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
        raise Skip("no right to record kernel events")


# ---- what pages take for granted ----

SERVER = r"""
#include <sonde/tracepoint.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int main(void)
{
	for (int id = 0; id < 100; id++) {
		struct timespec pause = { 0, 300000 };
		long bytes = id * 20000L;
		char *volatile body = malloc(100);

		pthread_mutex_lock(&lock);
		sonde_event(http, request, id, sonde_field(path, "/index.html"),
			    bytes);
		sonde_event_level(http, debug, SONDE_DEBUG, id);
		nanosleep(&pause, 0);
		pthread_mutex_unlock(&lock);
		free(body);
		sonde_event(http, done, id, sonde_field(status, 200));
	}
	return 0;
}
"""


def your_programs(place):
    """./server, which takes requests; job.py; slowserver on the PATH."""
    skip_if_sanitized(NOT_SHOWN)
    (place / "bin").mkdir()
    shutil.copy(build(SERVER), place / "server")
    shutil.copy(build((EXAMPLES / "slowserver.c").read_text()),
                place / "bin/slowserver")
    (place / "job.py").write_text("print(sum(range(1000)))\n")


def readmes_fixtures(place):
    """Recordings trace, before and after; what `make demo` has for sqlite3."""
    your_programs(place)
    demo = (ROOT / "tools/demo").read_text()
    rows = re.search(r"^rows\(\) \{\n.*?^\}\n", demo, re.M | re.S)[0]
    for name, index in (("sqlite", ""), ("indexed", "CREATE INDEX i ON t(name);")):
        sql = subprocess.check_output(
            ["sh", "-c", rows + f"rows 20000 '{index}'"], text=True)
        if name == "sqlite":
            os.environ["sql"] = sql
    (place / "sonde-demo").mkdir()
    for name, command in (
            ("trace", ["./server"]), ("before", ["./server"]),
            ("sonde-demo/indexed",
             ["sqlite3", "indexed.db", sql])):
        done = run(SONDE, "record", "-q", "--malloc", "--locks", "-o", name,
                   "--", *command, cwd=place)
        check_equal(done.returncode, 0, done.stderr)
    shutil.copytree(place / "before", place / "after")


@long_test
def readme_is_true():
    place = scratch()
    if not shutil.which("sqlite3"):
        raise Skip("no sqlite3")
    readmes_fixtures(place)
    follow("README.md", place)


@long_test
def the_tutorial_is_true():
    place = scratch() / "examples"
    shutil.copytree(EXAMPLES, place)
    follow("docs/tutorial.md", place)


@long_test
def the_how_tos_are_true():
    place = scratch()
    your_programs(place)
    follow("docs/howto.md", place)


@long_test
def what_others_would_type_is_true():
    place = scratch()
    your_programs(place)
    follow("docs/coming-from.md", place)


@long_test
def the_page_on_kernel_events_is_true():
    place = scratch()
    your_programs(place)
    follow("docs/kernel-events.md", place)


# ---- messages ----

def texts_of_the_sources():
    """All string literals, with those joined that the compiler joins."""
    literal = r'"(?:[^"\\\n]|\\.)*"'
    texts = []
    for path in [*ROOT.glob("src/**/*.c"), *ROOT.glob("include/**/*.h")]:
        for run_of in re.findall(rf"{literal}(?:\s+{literal})*",
                                 path.read_text()):
            texts.append("".join(s[1:-1] for s in re.findall(literal, run_of)))
    return "\n".join(texts)


@test
def messages_in_troubleshooting_are_what_sonde_says():
    """All but those of other programs, which are named."""
    page = (ROOT / "docs/troubleshooting.md").read_text()
    others = ("loading shared libraries", "pkg-config", "Permission denied")
    ours = texts_of_the_sources()
    messages = [m for m in re.findall(r"^### `(.*)`$", page, re.M)
                if not any(word in m for word in others)]
    check(len(messages) > 8, f"only {len(messages)} messages")
    for message in messages:
        for part in message.split("..."):
            check(part.strip() in ours, f"nobody says {part!r}")


# ---- the judge itself ----

@test
def a_page_is_judged_by_status_and_by_output():
    page = ("<!-- output varies: it does -->\n```console\n$ echo 1 a\n2 b\n"
            "```\n\n```console\n$ echo 'took 3 ms'; false  # exit status 1\n"
            "took 17.5 us\n$ printf '%s\\n' a b \\\n>   c\na\n...\nc\n```\n"
            "```sh\necho one \\\n\ttwo\n# no command\ntrue\n```\n")
    first, second, third = blocks(page)
    place = scratch()
    for block in (first, second, third):
        for command, shown in block.commands():
            run_one("page", block, command, shown, place)
    check_equal([c for c, _ in third.commands()], ["echo one two", "true"],
                "commands of sh")
    for wrong in ("```console\n$ false\n```\n", "```console\n$ echo a\nb\n```\n",
                  "```console\n$ echo a\n```\n", "```sh\nexit 3\n```\n",
                  "```console\n$ true # exit status 1\n```\n"):
        block, = blocks(wrong)
        try:
            run_one("page", block, *block.commands()[0], place)
        except AssertionError:
            continue
        raise AssertionError(f"passes: {wrong}")


install()
main()
