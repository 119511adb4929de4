#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_kernel_blame.py - why was this request slow? The third page of README,
as a test: one recording, one report, and the answer names the lock, the thread
that held it and the file that it read meanwhile."""

import json
import re

from sonde import BUILD, SONDE, Skip, check, install, record, run, scratch
from harness import check_equal, main
from kernel import each_source, kernel_test, need, program, record_kernel

BEGIN = 'event == "server:request_begin"'
END = 'event == "server:request_end"'


def slowserver():
    path = BUILD.resolve() / "examples/slowserver"
    if not path.exists():
        raise Skip("examples/slowserver is not built")
    return str(path)


def blame(source, *options):
    """The server recorded, what the report says of it, and the file."""
    prices = scratch() / "prices.db"
    done = record_kernel(slowserver(), "--file", prices, k="sched,syscalls",
                         source=source)
    report = run(SONDE, "report", "blame", "--begin", BEGIN, "--end", END,
                 "--key", "id", *options, done.dir)
    check_equal(report.returncode, 0, report.stderr)
    return done, report.stdout, prices


@each_source
def the_answer_names_the_lock_its_holder_and_the_file(source):
    done, text, prices = blame(source)
    check("cache_lock" in text, f"the lock isn't named:\n{text}")
    check("flusher" in text, f"its holder isn't named:\n{text}")
    check("pread64" in text, f"its call isn't named:\n{text}")
    paths = [e["filename"] for e in
             done.trace().events("syscall_entry_openat")]
    if not any(isinstance(path, str) for path in paths):
        raise Skip("this source can't read paths on this kernel; all else is "
                   "named")
    check(str(prices) in text, f"the file isn't named:\n{text}")


@kernel_test
def the_slowest_request_is_the_one_the_server_says():
    done, text, _ = blame(None, "--json")
    number, ms = re.search(r"number (\d+): ([\d.]+) ms", done.out).groups()
    report = json.loads(text)
    check(number in json.dumps(report), f"request {number} of {ms} ms isn't "
          f"in: {text[:2000]}")


def handed(*options):
    """What is said of a wait in `takes`, which `gives` ends."""
    need("bpf")
    done = record_kernel(
        program("blocker"), "handed", "20",
        k=["sched:sched_switch", "sched:sched_waking", "syscalls:read"],
        options=options)
    report = run(SONDE, "report", "blame", "--json", "--begin",
                 'event == "syscall_entry_read"', "--end",
                 'event == "syscall_exit_read"', done.dir)
    check_equal(report.returncode, 0, report.stderr)
    return json.loads(report.stdout)


@kernel_test
def both_stacks_of_a_wait_are_told():
    report = handed("--stack")
    rows = [row for row in report["stacks"] if row["wait"] == 1]
    waited = [row for row in rows if row["did"] == "waited"]
    woke = [row for row in rows if row["did"] == "woke it"]
    check_equal(rows, waited + woke, "the wait's come first")
    for stack, function in (waited, "takes"), (woke, "gives"):
        check_equal([row["depth"] for row in stack], list(range(len(stack))),
                    "frames")
        check(any(row["code"].startswith(f"{function} at") for row in stack),
              f"{function}: {stack}")
        who = re.fullmatch(r"kernel_blocker \((\d+)\)", stack[0]["who"])
        check(who, stack[0]["who"])
        check_equal(int(who[1]) == report["slowest"][0]["tid"],
                    function == "takes", "whose it is")
    check(waited[0]["code"].startswith("__schedule"), waited[0]["code"])
    blocked = report["slowest"][0]["blocked_time_ns"]
    check_equal(waited[0]["time_ns"], blocked, "how long it was")


@kernel_test
def without_stacks_none_are_told():
    check("stacks" not in handed(), "a table of stacks")


@kernel_test
def without_events_of_the_kernel_the_report_says_what_is_missing():
    done = record(slowserver(), "--requests", "60", "--file",
                  scratch() / "prices.db")
    check_equal(done.status, 0, done.err)
    report = run(SONDE, "report", "blame", "--begin", BEGIN, "--end", END,
                 "--key", "id", done.dir)
    check(report.returncode != 0, report.stdout)
    check("sched_switch" in report.stderr or "-k" in report.stderr,
          report.stderr)


install()
main()
