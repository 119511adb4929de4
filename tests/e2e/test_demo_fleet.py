#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_demo_fleet.py - tools/demo-fleet: three machines in network namespaces,
recorded, shipped, collected; the report goes from the client by the web server to
the database's lock."""

import os
import re
import shutil

from sonde import BUILD, ROOT, SONDE, Skip, check, install, run, scratch
from fleet import require_nats
from harness import check_equal, main, test
from kernel import LIMIT_S, need


def namespaces():
    """Those that the demo may have left."""
    return {name for name in os.listdir("/run/netns")
            if re.match(r"sonde\d+-", name)} if os.path.isdir(
                "/run/netns") else set()


@test
def the_demo_names_the_cause_two_machines_away_and_leaves_nothing():
    need("bpf")
    require_nats()
    if os.getuid() or not shutil.which("ip"):
        raise Skip("network namespaces need root and ip")
    if "sock_recv_length" not in run(SONDE, "list", "-k", "sock:*").stdout:
        raise Skip("the kernel has no such tracepoint (before 6.3)")
    if not (BUILD.resolve() / "examples/threetiers").exists():
        raise Skip("examples/threetiers is not built")
    before = namespaces()
    done = run(ROOT / "tools/demo-fleet", BUILD.resolve(), cwd=scratch())
    check_equal(done.returncode, 0, f"status; {done.stderr[-800:]}")
    answer = " ".join(done.stdout.split("client's slow?")[-1].split())
    for words in (r"`client` \(tid \d+\) on client took",
                  r"for bytes of `web` \(tid \d+\) on web, which spent",
                  r"for bytes of `db` \(tid \d+\) on db, which spent",
                  r"waiting for lock `table_lock` \(0x[0-9a-f]+\) held by "
                  r"`vacuum` \(tid \d+\) on db"):
        check(re.search(words, answer), f"{words} isn't in: {answer}")
    check_equal(namespaces() - before, set(), "namespaces that were left")


the_demo_names_the_cause_two_machines_away_and_leaves_nothing.time_limit_s = \
    LIMIT_S
install()
main()
