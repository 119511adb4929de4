#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_latency.py - `sonde latency`: what it says adds up, its events are the ones
it counts, and what it may not do it does without, and says so. How long anything
takes is not looked at: that is the machine's."""

import json
import os
import resource
import subprocess
import xml.etree.ElementTree as ET

from sonde import SONDE, build, install, record, run, scratch
from harness import Skip, check, check_equal, main, test

SHORT = ("--duration", "60ms", "--warm-up", "5ms")
OTHER = 64123  # nobody's


def measure(*words, **more):
    done = run(SONDE, "latency", *words, "--json", **more)
    check_equal(done.returncode, 0, f"{words}: {done.stderr}")
    return json.loads(done.stdout)


def in_order(row):
    keys = ["min_ns", "p50_ns", "p90_ns", "p99_ns", "p99_9_ns", "p99_99_ns",
            "p99_999_ns", "max_ns"]
    values = [row[key] for key in keys]
    check_equal(values, sorted(values), f"{row}")


@test
def each_kind_has_a_row_that_adds_up():
    for kind in ("loop", "timer", "wakeup", "signal"):
        report = measure(kind, *SHORT)
        row, = report["cpus"]
        check(row["count"] > 0, f"{kind}: {row}")
        check_equal(sum(report["histogram"]["counts"]), row["count"], kind)
        in_order(row)
        check(row["min_ns"] <= row["mean_ns"] + 1 and
              row["mean_ns"] <= row["max_ns"] + 1, f"{kind}: {row}")
        check(abs(row["deviation_ns"] ** 2 - row["variance_ns2"]) <=
              1e-6 * row["variance_ns2"] + 1e-6, f"{kind}: {row}")


@test
def every_cpu_that_is_named_has_a_row():
    cpus = sorted(os.sched_getaffinity(0))[:2]
    report = measure("loop", "--cpu", ",".join(map(str, cpus)), *SHORT)
    check_equal([row["cpu"] for row in report["cpus"]], cpus, "CPUs")
    check_equal(sum(report["histogram"]["counts"]),
                sum(row["count"] for row in report["cpus"]), "drawn")


@test
def the_gaps_of_a_loop_make_up_its_time():
    row, = measure("loop", *SHORT)["cpus"]
    whole = row["count"] * row["mean_ns"]
    check(60e6 <= whole * 1.001, f"{whole} ns of 60 ms: {row}")


@test
def the_picture_has_a_bar_for_each_bin():
    picture = scratch() / "loop.svg"
    report = measure("loop", *SHORT, "--svg", str(picture))
    bars = ET.parse(picture).getroot().findall(
        "{http://www.w3.org/2000/svg}rect")
    titles = [bar[0].text for bar in bars]
    check_equal([int(title.split()[0]) for title in titles],
                report["histogram"]["counts"], "counts")
    done = run(SONDE, "latency", "loop", *SHORT, "--svg", "/dev/full")
    check(done.returncode == 1 and "/dev/full" in done.stderr, done.stderr)


@test
def what_is_over_the_threshold_is_counted():
    row, = measure("timer", *SHORT, "--threshold", "1us")["cpus"]
    check(row["over"] > 0, f"a thread woke up within 1 us, always: {row}")
    check(row["over"] <= row["count"], f"{row}")
    row, = measure("timer", *SHORT, "--threshold", "1h")["cpus"]
    check_equal(row["over"], 0, "over an hour")


def own_events(*words):
    """What a run says, and its events."""
    done = record(SONDE, "latency", *words, "--event", "--json")
    check_equal(done.status, 0, done.err)
    return json.loads(done.out)["cpus"][0], done.trace()


@test
def its_events_are_those_it_counts():
    row, trace = own_events("loop", "--duration", "60ms", "--warm-up", "0",
                            "--rate", "2000", "--threshold", "1us")
    ticks = [e["nr"] for e in trace.events("latency:tick")]
    check_equal(ticks, list(range(row["ticks"])), "latency:tick")
    over = [e["ns"] for e in trace.events("latency:over")]
    check_equal(len(over), row["over"], "latency:over")
    check(all(ns >= 1000 for ns in over), f"{over[:10]}")


@test
def a_burst_is_so_many_events_in_a_turn():
    for nr in (1, 5):
        report = measure("loop", "--event", "--burst", nr, "--duration", "2ms")
        row, = report["cpus"]
        check_equal(row["ticks"], nr * row["count"], "events and turns")
    # No more than are due: of 1,000 a second one each millisecond, and the first
    report = measure("loop", "--event", "--burst", "1000", "--rate", "1000",
                     "--duration", "20ms", "--warm-up", "0")
    row, = report["cpus"]
    passed_ms = row["mean_ns"] * row["count"] / 1e6
    check(1 <= row["ticks"] <= passed_ms + 1.001, f"{row}")


@test
def the_recorder_stays_on_its_cpus_and_the_program_does_not():
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise Skip("there is one CPU only")
    look = ("for pid in $(cat /proc/$PPID/task/*/children); do echo $$ $pid "
            "$(grep Cpus_allowed_list: /proc/$pid/status); done")
    done = record("sh", "-c", look,
                  options=("--recorder-cpus", str(cpus[0]), "-e", "latency:*"))
    lines = [line.split() for line in done.out.splitlines()]
    own = {line[3] for line in lines if line[0] == line[1]}
    others = {line[3] for line in lines if line[0] != line[1]}
    check_equal(others, {str(cpus[0])}, f"the recorder's: {done.out}")
    check(own and own != others, f"the program's: {done.out}")
    done = record("true", options=("--recorder-cpus", "1023"))
    check(done.status != 0 and "--recorder-cpus" in done.err, done.err)


@test
def without_rights_it_measures_as_an_ordinary_thread_and_says_so():
    def limit():
        resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))

    user = {"user": OTHER, "group": OTHER, "extra_groups": []} \
        if os.geteuid() == 0 else {}
    report = measure("timer", *SHORT, preexec_fn=limit, cwd="/", **user)
    notes = " ".join(report["notes"])
    check("no real-time priority" in notes, notes)
    check("Memory is not locked" in notes, notes)
    check(report["cpus"][0]["count"] > 0, f"{report}")


# ---- why it was longer ----

DISTURBER = """
int main(void)
{
	for (;;)
		__asm__ volatile("");
}
"""


def explained(*words):
    """The loop beside another program on its CPU, with kernel events."""
    cpu = str(max(os.sched_getaffinity(0)))
    other = subprocess.Popen(["taskset", "-c", cpu,
                              build(DISTURBER, name="disturber")])
    try:
        done = run(SONDE, "latency", "loop", "--cpu", cpu, "--priority", "0",
                   "--duration", "300ms", "-k", "sched,irq",
                   "--threshold", "1ms", *words)
    finally:
        other.kill()
        other.wait()
    if "no kernel events" in done.stderr:
        check_equal(done.returncode, 1, done.stderr)
        raise Skip("no kernel events here")
    check_equal(done.returncode, 0, done.stderr)
    return done


@test
def what_had_the_cpu_meanwhile_is_named():
    report = json.loads(explained("--json").stdout)
    over = report["measured"]["cpus"][0]["over"]
    check(over > 0, f"two threads on a CPU, and none waits: {report}")
    told = report["explained"]
    reasons = {row["why"]: row for row in told["reasons"]}
    named = [why for why in reasons if "disturber" in why]
    check(named and reasons[named[0]]["main"] > 0, f"{reasons}")
    # those of the warm-up are explained as well
    check(told["explained"] + told["itself"] + told["untold"] >= over,
          f"{told}")


@test
def the_explanation_comes_below_the_measurement():
    out = explained().stdout
    check("STOLEN" in out.splitlines()[0], out)
    check(out.index("disturber") > out.index("STOLEN"), out)


@test
def where_nothing_took_longer_nothing_is_explained():
    words = [SONDE, "latency", "timer", "--priority", "0", "--duration",
             "100ms", "-k", "sched", "--threshold", "1h"]
    done = run(*words)
    if "no kernel events" in done.stderr:
        raise Skip("no kernel events here")
    check_equal(done.returncode, 0, done.stderr)
    check_equal(done.stdout.splitlines()[-1], "Nothing took longer than 1h.",
                done.stdout)
    done = run(*words, "--json")
    check_equal((done.returncode, json.loads(done.stdout)["explained"]),
                (0, None), done.stderr)


@test
def an_explanation_needs_a_threshold():
    for words in (["-k", "sched"], ["-k", "sched", "--threshold", "1ms",
                                    "--event"]):
        done = run(SONDE, "latency", "loop", *words)
        check_equal(done.returncode, 2, f"{words}: {done.stderr}")
        check("-k" in done.stderr, done.stderr)


# ---- the highest rate ----

def max_rate(*words, options=(), **more):
    out = scratch() / "rates"
    done = run(SONDE, "latency", "max-rate", "--quick", "--duration", "20ms",
               "--json", *words, "--", "-o", str(out), *options, **more)
    check_equal(done.returncode, 0, f"{words}: {done.stderr}")
    check(not out.exists(), "a trace is left")
    return json.loads(done.stdout)


def held(row, repeats):
    return not row["lost"] and row["runs"] == repeats


@test
def the_highest_rate_is_one_that_was_held():
    report = max_rate("--repeats", "2")
    rows = report["rates"]
    check(rows[0]["asked_per_s"] is None, f"first as fast as it goes: {rows}")
    for row in rows:
        check(held(row, 2) or row["lost"] and row["gave_way"], f"{row}")
        check(row["reached_per_s"] > 0, f"{row}")
    check(report["clock_per_s"] > 0, "how often the clock can be read")
    best = [row["reached_per_s"] for row in rows if held(row, 2)]
    check_equal(report.get("highest_per_s"), max(best, default=None), f"{rows}")
    check_equal(report["runs"], 2 if best else 0, "runs at it")
    lost = [row for row in rows if row["lost"]]
    if lost:
        least = min(lost, key=lambda row: row["asked_per_s"] or float("inf"))
        check_equal(report["gave_way"], least["gave_way"], f"{rows}")


@test
def what_gives_way_is_named():
    # What a loop makes in 20 ms is more than there is room for in these rings
    rows = max_rate("--repeats", "1", options=(
        "--memory", "256k", "--read-timer", "500ms"))["rates"]
    check_equal(rows[0]["gave_way"], "ring_full", f"{rows}")
    check(rows[0]["lost"] > 0, f"{rows}")


@test
def a_search_that_has_no_time_tells_what_it_did_not_try():
    report = max_rate("--repeats", "1", "--time-limit", "1us", options=(
        "--memory", "256k", "--read-timer", "500ms"))
    check_equal(len(report["rates"]), 1, "the first, and no other")
    check_equal(report["lost_at_per_s"], report["rates"][0]["reached_per_s"],
                f"{report}")
    check("highest_per_s" not in report, f"nothing has held: {report}")
    check("--time-limit" in " ".join(report["notes"]), f"{report}")


@test
def only_options_of_record_come_behind_the_dashes():
    wrong = {("--", "true"): "no program",
             ("--", "-p", "1"): "leave one out",
             ("--", "--mode", "overwrite"): "--mode",
             ("--", "--nonsense"): "--nonsense",
             ("--rate", "5"): "--repeats",
             ("--repeats", "0"): "--repeats",
             ("--time-limit", "soon"): "--time-limit"}
    for words, hint in wrong.items():
        done = run(SONDE, "latency", "max-rate", *words)
        check_equal(done.returncode, 2, f"{words}: {done.stderr}")
        check(hint in done.stderr, f"{words}: {done.stderr}")
    done = run(SONDE, "latency", "loop", "--quick")
    check_equal(done.returncode, 2, done.stderr)


@test
def a_recording_that_ends_early_gives_no_rate():
    done = run(SONDE, "latency", "max-rate", "--quick", "--",
               "--duration", "50ms")
    check_equal(done.returncode, 1, done.stderr)
    check("--duration" in done.stderr, done.stderr)


install()
main()
