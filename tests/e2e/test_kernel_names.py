#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_kernel_names.py - addresses of the kernel's functions have names, which
are those that /proc/kallsyms has; and where they can't, that is said."""

import bisect
import json
import re
import shutil

from sonde import SONDE, Skip, check, install, run, scratch
from harness import check_equal, main
from kernel import each_source, kernel_test, need, record_kernel


def symbols():
    """(address, name, is code) of all that the kernel lists, by address."""
    found = []
    with open("/proc/kallsyms") as f:
        for line in f:
            words = line.split()
            found.append((int(words[0], 16), words[2], words[1] in "tTwW"))
    if not any(address for address, _, _ in found):
        raise Skip("the kernel hides its addresses")
    return sorted(found, key=lambda symbol: symbol[0])


def names_of(listed, address):
    """What may be the name of an address: all symbols at the nearest place."""
    at = bisect.bisect_right(listed, address, key=lambda s: s[0]) - 1
    begin = listed[at][0]
    return {f"{name}+{address - begin:#x}" for where, name, is_code in listed
            if where == begin and is_code}


def core(listed):
    """The addresses of the kernel's own code; elsewhere are modules, and what
    it makes as it goes: programs, trampolines."""
    where = {name: address for address, name, _ in listed}
    return range(where["_stext"], where["_etext"])


def record_sites(source=None, options=()):
    need("tracefs")  # it lists what isn't among the usual events
    return record_kernel("ls", "/", k="kmem:kmalloc,kmem:kfree",
                         source=source, options=["-a", *options])


def printed(directory, *options):
    done = run(SONDE, "print", *options, directory)
    check_equal(done.returncode, 0, done.stderr)
    return done


def sites(text):
    # By BPF a kernel whose types name no arguments (6.1) has them by number.
    return re.findall(r"\b(?:call_site|arg1) = (\S+?)[, ]", text)


@each_source
def call_sites_are_as_kallsyms_has_them(source):
    listed = symbols()
    trace = record_sites(source).dir
    raw = sites(printed(trace, "--no-names").stdout)
    named = sites(printed(trace).stdout)
    check(len(raw) > 20, f"only {len(raw)} events")
    check_equal(len(named), len(raw), "lines with names")
    cache = {}
    for address, name in zip(raw, named):
        if address not in cache:
            cache[address] = names_of(listed, int(address, 0))
        allowed = cache[address]
        if name == address:
            # Code that no kernel lists for good: programs, trampolines.
            check(int(address, 0) not in core(listed),
                  f"{address} has no name: {allowed}")
        else:
            check(name in allowed, f"{address} is {name}, not {allowed}")
    check(sum(n != a for a, n in zip(raw, named)) > 0.9 * len(raw),
          "most have no name")


@kernel_test
def what_lies_behind_the_code_has_no_name():
    """Most data is in no list: the last function before it is not its name."""
    need("tracefs")
    where = {name: address for address, name, _ in symbols()}
    done = record_kernel("sleep", "0.3", k="timer:timer_start",
                         options=["-a"])
    raw = printed(done.dir, "--no-names").stdout.splitlines()
    named = printed(done.dir).stdout.splitlines()
    for number, name in zip(raw, named):
        for field in re.findall(r"= (0x[0-9a-f]+|[0-9]{18,})", number):
            address = int(field, 0)
            if where["_etext"] <= address < where["_sinittext"]:
                check(field in name, f"{number}: {name}")
    check(raw, "no timer was started")


@kernel_test
def data_keeps_its_number_and_json_all():
    symbols()
    trace = record_sites().dir
    out = printed(trace).stdout
    pointers = re.findall(r"\bptr = (\S+?)[, ]", out)
    check(pointers and all(re.fullmatch(r"0x[0-9a-f]+|[0-9]+", p)
                           for p in pointers), f"pointers: {pointers[:5]}")
    lines = printed(trace, "--json", "--limit", "20").stdout.splitlines()
    check(all(isinstance(json.loads(line)["payload"]["call_site"], int)
              for line in lines), "call_site in JSON is no number")


def as_of_another_boot(recording):
    """A copy, with another boot's id in its metadata."""
    trace = scratch() / "copy"
    shutil.copytree(recording.dir, trace)
    metadata = trace / "kernel/metadata"
    text = metadata.read_text()
    clock = re.search(r"clock \{.*?uuid = \"([0-9a-f-]+)\"", text, re.S)[1]
    other = clock[:-1] + ("0" if clock[-1] != "0" else "1")
    metadata.write_text(text.replace(clock, other))
    return trace


@kernel_test
def another_boot_has_other_names():
    trace = as_of_another_boot(record_sites())
    done = printed(trace)
    found = sites(done.stdout)
    check(found and all(re.fullmatch("0x[0-9a-f]+|[0-9]+", site) for site in found),
          f"names of another kernel: {found[:5]}")
    check("under another kernel" in done.stderr, done.stderr)
    quiet = printed(trace, "--no-names")
    check("names" not in quiet.stderr, f"no names were wanted: {quiet.stderr}")


@kernel_test
def names_can_be_taken_along():
    listed = symbols()
    recording = record_sites(options=["--kernel-symbols"])
    raw = sites(printed(recording.dir, "--no-names").stdout)
    done = printed(as_of_another_boot(recording))
    named = sites(done.stdout)
    check("names" not in done.stderr, done.stderr)
    check(sum(n != a for a, n in zip(raw, named)) > 0.9 * len(raw),
          "most have no name")
    for address, name in set(zip(raw, named)):
        check(name == address or name in names_of(listed, int(address, 0)),
              f"{address} is not {name}")


@kernel_test
def memory_by_caller_is_named():
    listed = symbols()
    trace = record_sites().dir
    done = run(SONDE, "report", "memory", "--json", trace)
    check_equal(done.returncode, 0, done.stderr)
    rows = json.loads(done.stdout)["sites"]
    named = 0
    for row in rows:
        site = row["site"]
        site = int(site, 16) if isinstance(site, str) else site
        allowed = names_of(listed, site)
        if not row["function"].startswith("("):
            check(row["function"] in allowed, f"{row} is none of {allowed}")
            named += 1
    check(named, f"no site has a name: {rows[:3]}")


install()
main()
