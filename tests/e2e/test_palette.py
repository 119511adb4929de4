#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_palette.py - the colours of `sonde view`'s page, on a light and on a dark one:
each is seen on what is behind it, and those that one row may have are told apart by
people who see all colours and by those who don't.

Contrast is WCAG's. How others see a colour is by the matrices of Machado, Oliveira and
Fernandes (2009) for a whole lack of one kind of cone; how far two are apart is their
distance in CIE L*a*b*, where about 2 is the least that can be seen side by side."""

import itertools
import re

from sonde import ROOT
from stories import story, write_trace
from viewed import view
from harness import check, main, test

CONTRAST = 3
APART = 20
SIGHT = {
    "all": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red": ((0.152286, 1.052583, -0.204868),
               (0.114503, 0.786281, 0.099216),
               (-0.003882, -0.048116, 1.051998)),
    "no green": ((0.367322, 0.860646, -0.227968),
                 (0.280085, 0.672501, 0.047413),
                 (-0.011820, 0.042940, 0.968881)),
    "no blue": ((1.255528, -0.076749, -0.178779),
                (-0.078411, 0.930809, 0.147602),
                (0.004733, 0.691367, 0.303900)),
}
TO_XYZ = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750),
          (0.0193339, 0.1191920, 0.9503041))
WHITE = (0.95047, 1, 1.08883)
# What a thread's row, a CPU's and a lock's may have. What was lost is told by its
# hatching, which nothing else has.
ROWS = [("running", "waiting for a CPU", "preempted", "blocked",
         "blocked by a lock", "blocked by a file"),
        ("running", "idle", "interrupt", "soft interrupt"),
        ("held", "contended")]
# Of style.css: what is drawn or written on the page and on its panels.
DRAWN = ["bar", "lost", "note", "accent"]
WRITTEN = ["text", "faint", "accent", "lost"]  # 4.5 to 1


def linear(colour):
    parts = [int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
            for part in parts]


def times(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector)) for row in matrix]


def contrast(one, other):
    low, high = sorted(times(TO_XYZ, linear(colour))[1]
                       for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(colour, sight):
    seen = [min(1, max(0, part)) for part in times(SIGHT[sight], linear(colour))]
    x, y, z = (part ** (1 / 3) if part > 216 / 24389 else
               (24389 / 27 * part + 16) / 116
               for part in (value / white for value, white in
                            zip(times(TO_XYZ, seen), WHITE)))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def apart(one, other, sight):
    return sum((a - b) ** 2 for a, b in
               zip(lab(one, sight), lab(other, sight))) ** 0.5


def sheets():
    """Of each theme, the sheet's colours by name."""
    text = (ROOT / "src/view/web/style.css").read_text(encoding="utf8")
    light, dark = text.split("prefers-color-scheme: dark")[:2]
    return {theme: dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", part))
            for theme, part in (("light", light), ("dark", dark))}


def palettes():
    """Of each theme, the states' colours by name, as a page is told."""
    with view(write_trace(story())) as server:
        states = server.ask("trace")["states"]
    return {theme: {state["name"]: state[key] for state in states
                    if state["name"] != "unknown"}
            for theme, key in (("light", "colour"), ("dark", "dark"))}


@test
def a_contrast_is_what_the_standard_says():
    check(abs(contrast("#000000", "#ffffff") - 21) < 1e-3, "black on white")
    check(abs(contrast("#767676", "#ffffff") - 4.54) < 0.01, "its grey")
    check(apart("#00ff00", "#ffff00", "all") > 30 and
          apart("#ff0000", "#808000", "no red") < apart("#ff0000", "#808000",
                                                        "all") / 2,
          "who lacks red sees less of it")


@test
def each_state_is_seen_on_the_page():
    for theme, colours in palettes().items():
        back = sheets()[theme]["back"]
        for name, colour in colours.items():
            check(contrast(colour, back) >= CONTRAST,
                  f"{theme}: {name}: {contrast(colour, back):.2f}")


@test
def states_of_a_row_are_told_apart_whoever_looks():
    for theme, colours in palettes().items():
        for row in ROWS:
            for one, other in itertools.combinations(row, 2):
                for sight in SIGHT:
                    far = apart(colours[one], colours[other], sight)
                    check(far >= APART,
                          f"{theme}, {sight}: {one}, {other}: {far:.1f}")


@test
def what_is_drawn_and_written_is_seen_on_the_page_and_its_panels():
    for theme, sheet in sheets().items():
        for names, least in (DRAWN, CONTRAST), (WRITTEN, 4.5):
            for name in names:
                for back in "back", "panel":
                    got = contrast(sheet[name], sheet[back])
                    check(got >= least,
                          f"{theme}: {name} on {back}: {got:.2f}")


main()
