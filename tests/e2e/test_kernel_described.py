#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_kernel_described.py - `sonde generate --target kernel`: a module with
described events (tests/vm/modules/sonde_described.c) is loaded, has each of them
happen, and babeltrace2 tells what was recorded. SONDE_DESCRIBED names the module,
built for the running kernel; tools/check-vm does that."""

import contextlib
import json
import os
import pathlib
import subprocess

from sonde import SONDE, Skip, check, run, scratch
from harness import check_equal, main, test
from kernel import LIMIT_S, need, number_of, record_kernel, wait_for

MODULE = os.environ.get("SONDE_DESCRIBED", "")
PARAMETER = pathlib.Path("/sys/module/sonde_described/parameters/say")


def by_module(function):
    """With our module and the one with the events, both loaded."""
    def run_it():
        need("modules")
        if not MODULE:
            raise Skip("SONDE_DESCRIBED names no module")
        with loaded():
            function()
    run_it.__name__ = f"{function.__name__}_modules"
    run_it.time_limit_s = LIMIT_S
    test(run_it)
    return function


@contextlib.contextmanager
def loaded():
    subprocess.run(["insmod", MODULE], check=True)
    try:
        yield
    finally:
        subprocess.run(["rmmod", "sonde_described"], check=False)


def said(*words, k="mill:*", **more):
    """A recording of what the module does for each of these words."""
    script = "; ".join(f"echo {word} >{PARAMETER}" for word in words)
    return record_kernel("sh", "-c", script, k=k, source="modules", **more)


@by_module
def every_kind_of_field_is_what_the_module_gave():
    # The last one happens to whoever is interrupted.
    trace = said(7, options=["-a"]).trace()
    events = [e.rest.partition("}, { tid")[2].partition("}, ")[2] or e.rest
              for e in trace.events(r"mill:.*")]
    names = [e.name for e in trace.events(r"mill:.*")]
    check_equal(names, ["mill:opened"] + 2 * ["mill:ordered"] +
                ["mill:packed"] + 4 * ["mill:paid"] + ["mill:scanned"], "names")
    for text, parts in zip(events, (
            (),
            ("number = 7", 'customer = "Anna"', '"grinding"', "= 3",
             "[0] = 7, [1] = 8, [2] = 9"),
            ("number = 7", 'customer = "(null)"', '"idle"', "sacks = [ ]"),
            ("weight = -12", "width = 30, height = 40", 'label = "flour"'),
            ('"_cash" : container = 0', "1995", "number = 7"),
            ('"_vouchers" : container = 1', "[0] = 5, [1] = 7", "number = 7"),
            ('"_favour" : container = 2', '"washed up"', "number = 7"),
            ('"_none" : container = 3', "number = 7"),
            ("code = 0xC0FFEE", "port = 80",
             "[0] = -1, [1] = 2, [2] = -3, [3] = 4", "bin = -11",
             'tag = "blue"', "[0] = 0x1, [1] = 0x2, [2] = 0x3", "balance = -12",
             "clean = 1", "till = 0x1234"))):
        for part in parts:
            check(part in text, f"no {part} in {text}")


@by_module
def print_has_the_same_as_babeltrace2():
    done = said(5)
    lines = run(SONDE, "print", "--json", done.dir).stdout.splitlines()
    ours = [e for e in map(json.loads, lines) if e["event"].startswith("mill:")]
    theirs = done.trace().events(r"mill:.*")
    check_equal([e["event"] for e in ours], [e.name for e in theirs], "names")
    check_equal(ours[1]["payload"]["customer"], "Anna", "a text")
    check_equal(ours[1]["payload"]["sacks"], [7, 8, 9], "a sequence")
    check_equal([e.get("tid") for e in ours if "tid" in e],
                [e.tid for e, o in zip(theirs, ours) if "tid" in o], "threads")


@by_module
def what_is_too_long_is_counted_and_what_fits_is_there():
    done = said("long 16000", "long 17000", "long 1000000", 1,
                options=["--json"])
    trace = done.trace()
    texts = [len(e["customer"]) for e in trace.events("mill:ordered")]
    check_equal(texts, [16000, len("Anna"), len("(null)")], "texts")
    check_equal(trace.lost, 2, "lost")


@by_module
def events_are_listed_and_chosen_by_name():
    out = run(SONDE, "list", "-k", "mill:*").stdout.split()
    check_equal(sorted(out), [f"mill:{name}" for name in
                              ("opened", "ordered", "packed", "paid",
                               "scanned", "unused")], "listed")
    names = [e.name for e in said(1, k="mill:p*,!mill:paid").trace().events()]
    check_equal([n for n in names if n.startswith("mill:")], ["mill:packed"],
                "chosen")


@by_module
def they_ask_whether_they_are_recorded():
    check_equal(PARAMETER.read_text(), "0\n", "before")
    done = record_kernel("cat", PARAMETER, k="mill:ordered", source="modules")
    check_equal(done.out, "1\n", "meanwhile")
    # The kernel is done with a probe a grace period later.
    wait_for(lambda: PARAMETER.read_text() == "0\n", "its end")


@by_module
def a_condition_chooses_by_numbers_and_texts():
    for condition, wanted in (
            ("number == 5", [5, 5]),
            ("number < 5 || number > 7", [3, 3]),
            ('customer == "Anna" && number >= 5', [5, 7]),
            ('customer == "(n*"', [3, 5, 7]),
            ("number == 5 && tid > 1 && cpu < 4096", [5, 5]),
            ("number == 5 && tid == 1", [])):
        done = said(3, 5, 7, k=f"mill:ordered if {condition}")
        numbers = [number_of(e["number"])
                   for e in done.trace().events("mill:ordered")]
        check_equal(numbers, wanted, condition)


@by_module
def a_condition_reads_what_is_at_fixed_places_only():
    for condition, number in (("code == 0xc0ffee && port == 80", 1),
                              ("strip[2] == -3 && bin == -11", 1),
                              ('tag == "blue"', 1), ("strip[2] == 4", 0)):
        done = said(7, k=f"mill:scanned if {condition}", options=["-a"])
        check_equal(len(done.trace().events("mill:scanned")), number, condition)
    for condition, why in (("state == 3", "'sonde cut'"),
                           ("balance == -12", "'sonde cut'")):
        event = "ordered" if "state" in condition else "scanned"
        done = run(SONDE, "record", "--kernel-source", "modules", "-k",
                   f"mill:{event} if {condition}", "-o", str(scratch() / "t"),
                   "--", "true")
        check(done.returncode and why in done.stderr, done.stderr)


@by_module
def what_is_too_long_is_lost_only_if_it_is_wanted():
    for condition, lost in (("number == 16000", 0), ("number >= 16000", 1),
                            # It isn't known of a text that has no room.
                            ('number == 16000 && customer == "x*"', 1)):
        done = said("long 16000", "long 17000",
                    k=f"mill:ordered if {condition}")
        check_equal(len(done.trace().events("mill:ordered")), 1, condition)
        check_equal(done.trace().lost, lost, condition)


@by_module
def another_source_says_who_can_record_them():
    done = run(SONDE, "record", "--kernel-source", "tracefs", "-k",
               "mill:ordered", "-o", str(scratch() / "t"), "--", "true")
    check("modules load" in done.stderr, done.stderr)


@by_module
def its_module_may_go_and_come_while_it_is_recorded():
    done = record_kernel(
        "sh", "-ec", f"echo 3 >{PARAMETER}; rmmod sonde_described; "
        f"insmod {MODULE}; echo 4 >{PARAMETER}", k="mill:*", source="modules")
    numbers = {number_of(e["number"])
               for e in done.trace().events("mill:ordered")}
    check_equal(numbers, {3}, "numbers")


if __name__ == "__main__":
    main()
