#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_stat.py - `sonde stat` counts what the recorder says it recorded and
lost, and what babeltrace2 reads."""

import json
import re
import subprocess

from sonde import SONDE, build, check, install, record, record_ok, require, run
from harness import check_equal, main, test

ALLOCATES = """
#include <stdlib.h>
int main(int argc, char **argv)
{
	for (int i = 0; i < atoi(argv[1]); i++) {
		void *volatile p = malloc(10 + i % 50);
		free(p);
	}
}
"""


def stat(trace, *options):
    done = run(SONDE, "stat", "--json", *options, trace)
    check_equal(done.returncode, 0, f"sonde stat: {done.stderr}")
    return json.loads(done.stdout)


@test
def counts_are_those_of_babeltrace2():
    require("babeltrace2")
    trace = record_ok(build(ALLOCATES), "1000", options=["--malloc"])
    told = stat(trace.dir)
    counts = {row["event"]: row["count"] for row in told["events"]}
    check_equal(told["total_events"], sum(counts.values()), "all events")
    for name, count in counts.items():
        check_equal(count, trace.count(name), name)
    check(counts["malloc:malloc"] >= 1000, counts)


@test
def losses_add_up_to_what_the_recorder_and_babeltrace2_say():
    require("babeltrace2")
    recording = record(build(ALLOCATES), "1000000",
                       options=["--malloc", "--memory", "256K", "--json"])
    summary = json.loads(recording.err.splitlines()[-1])
    lost = sum(summary["lost"].values())
    check(lost > 0, "nothing was lost")
    told = stat(recording.dir)
    check_equal(sum(row["events"] for row in told["losses"]), lost, "lost")
    out = subprocess.run(["babeltrace2", str(recording.dir)], text=True,
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    spans = [int(n) for n in re.findall(r"discarded (\d+) event", out.stderr)]
    check_equal(sorted(row["events"] for row in told["losses"]),
                sorted(spans), "spans in which events were lost")


install()
main()
