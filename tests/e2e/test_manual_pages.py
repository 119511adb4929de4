#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_manual_pages.py - the examples of manual pages do what is written there
(pages.py), for who runs the tests and, where that is root, for an ordinary user.
"""

from page_things import test_pages
from sonde import install
from harness import main

test_pages(of_manuals=True)
install()
main()
