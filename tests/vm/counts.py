# SPDX-License-Identifier: MIT
"""counts.py - what a test program says of itself: cmocka's closing lines, and
those of our own."""

import re

CMOCKA = re.compile(r"^\[ +(PASSED|FAILED) +\] (\d+) test\(s\)", re.M)
OURS = re.compile(r"^(\d+) passed, (\d+) failed$", re.M)


def counts(text):
    """Tests passed and failed."""
    passed = failed = 0
    for kind, n in CMOCKA.findall(text):
        passed += int(n) * (kind == "PASSED")
        failed += int(n) * (kind == "FAILED")
    for good, bad in OURS.findall(text):
        passed, failed = passed + int(good), failed + int(bad)
    return passed, failed
