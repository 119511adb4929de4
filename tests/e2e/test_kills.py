#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_kills.py - everything is killed, at any instant (kills.py), some times of
each; `make check-kills` is for a thousand."""

import os

from kills import ROLES, rounds
from sonde import install
from harness import check, long_test, main

ROUNDS = int(os.environ.get("SONDE_KILLS_EACH", "8"))


def of_role(role):
    @long_test
    def killed():
        done, wrong = rounds([role], ROUNDS, 1)
        check(not wrong, "; ".join(wrong))
        check(sum(done.values()) == ROUNDS, f"only {done}")
    killed.__name__ = f"the_{role}_may_be_killed_at_any_instant"


for each in ROLES:
    of_role(each)

install()
main()
