# SPDX-License-Identifier: MIT
"""page - what measures say, into a page (docs/papers.md) that has a part for each:
'### MEASURE', and a block of text below it."""
import contextlib
import re
import sys

# Of them the page says how many there were.
TURNS = re.compile(r"^  turn \d+ of \d+: .*\n", re.M)


class Tee:
    """What is printed, printed and kept."""

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text
        sys.__stdout__.write(text)

    def flush(self):
        sys.__stdout__.flush()


def told(function, *args):
    """What the function returned, and what it printed meanwhile."""
    tee = Tee()
    with contextlib.redirect_stdout(tee):
        result = function(*args)
    return result, tee.text


def put(path, name, text):
    """In the place of what the part of this name had; whether there is one."""
    page = path.read_text()
    block = TURNS.sub("", text).rstrip()
    page, nr = re.subn(rf"(^### {name}\n\n```text\n).*?(^```$)",
                       lambda part: f"{part[1]}{block}\n{part[2]}", page,
                       count=1, flags=re.M | re.S)
    path.write_text(page)
    return nr == 1
