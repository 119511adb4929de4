#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_papers.py - bench/papers knows every table of the papers: each is measured,
or it says why not, and docs/papers.md speaks of it."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import check, check_equal, main, test  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAPERS = ROOT / "bench/papers"
sys.path.insert(0, str(PAPERS))
from page import put  # noqa: E402

PUBLISHED = json.loads((PAPERS / "published.json").read_text())
TABLES = PUBLISHED["tables"]
ROMAN = ("I", "II", "III", "IV", "V", "VI")
# Of each paper, its tables and the figures that are measurements.
KNOWN = {
    "locking": [*ROMAN, "fig6", "fig7", "fig8", "fig9"],
    "lockfree": ["1", "2", "3", "4", "5", "6", "fig3"],
    "lttng": ["1", "2", "3", "4", "5", "fig7"],
    "realtime": ["1", "2", "3", "4", "figs"],
    "gdb": ["1", "2", "3", "4", "5", "6", "7"],
}


def runner(*words):
    return subprocess.run([PAPERS / "run", *words], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@test
def no_table_of_a_paper_is_forgotten():
    wanted = {f"{paper}-{table}" for paper, tables in KNOWN.items()
              for table in tables}
    check_equal(sorted(wanted - set(TABLES)), [], "tables that are missing")
    others = {name for name in set(TABLES) - wanted
              if not name.startswith("more-")}
    check_equal(sorted(others), [], "tables that no paper has")
    check_equal(sorted(PUBLISHED["papers"]), sorted([*KNOWN, "more"]),
                "papers")


@test
def each_table_is_measured_or_says_why_not():
    for name, table in TABLES.items():
        check(("by" in table) != ("why_not" in table), f"{name}: {table}")
        check(table["title"] and all(
            len(row) == 1 + len(table["columns"]) for row in table["rows"]),
            f"{name}: a row that has not a value for each column")
        check(not table["rows"] or table["on"], f"{name}: on what machine?")


@test
def each_measure_is_there_and_makes_a_table():
    text = (PAPERS / "run").read_text()
    measures = set(re.findall(r'"(\w+)": (?:micro|macro|others|guests)\.', text))
    check_equal(sorted(measures),
                sorted({t["by"] for t in TABLES.values() if "by" in t}),
                "measures")
    shown = "".join(path.read_text() for path in PAPERS.glob("*.py"))
    for name, table in TABLES.items():
        check("by" not in table or f'"{name}"' in shown or
              f'"{name}:' in shown, f"{name} is never shown")


@test
def the_page_speaks_of_each_table():
    page = (ROOT / "docs/papers.md").read_text()
    for name in TABLES:
        check(re.search(rf"\b{name}\b", page), f"docs/papers.md: {name}")
    for name in {t["by"] for t in TABLES.values() if "by" in t}:
        check(re.search(rf"^### {name}\n\n```text\n", page, re.M),
              f"docs/papers.md: a part for {name}")


@test
def tables_can_be_listed_and_an_unknown_one_is_refused():
    done = runner("--list")
    check_equal((done.returncode, done.stderr), (0, ""), "--list")
    for name in TABLES:
        check(re.search(rf"^{name} ", done.stdout, re.M), f"--list: {name}")
    done = runner("lttng-99")
    check(done.returncode == 1 and "lttng-99" in done.stderr and
          "--list" in done.stderr, f"{done}")


@test
def what_there_is_no_time_for_is_left_out_and_told():
    done = runner("--time-limit", "0", "listings")
    check_equal((done.returncode, done.stderr), (0, ""), "no time")
    check(re.search(r"^  skipped: locking-fig6, .*: there is no time left$",
                    done.stdout, re.M), done.stdout)
    check(re.search(r"^took, s: listings \d+\nall: \d+ s, of 0 that it may take; ",
                    done.stdout, re.M), done.stdout)


@test
def a_measure_replaces_its_part_of_a_page_and_no_other():
    before = "### clocks\n\n```text\nold\n```\n"
    rest = "\n### size\n\n```text\nold\n```\nEnd.\n"
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "page.md"
        path.write_text(before + rest)
        check(put(path, "clocks", "  turn 1 of 3: 2.0 s\nnew \\1\n  2 s\n"),
              "there is such a part")
        check_equal(path.read_text(), before.replace(
            "old", "new \\1\n  2 s") + rest, "the page")
        check(not put(path, "loads", "new"), "there is no such part")


@test
def what_has_no_measure_says_why():
    done = runner("gdb-3")
    check_equal((done.returncode, done.stderr), (0, ""), "gdb-3")
    check("not measured: " + TABLES["gdb-3"]["why_not"] in done.stdout,
          done.stdout)


main()
