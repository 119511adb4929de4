#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_readme.py - the commands of README and of the guides in docs/ do what is
written there (pages.py), for who runs the tests and, where that is root, for an
ordinary user.
"""

import re

from page_things import test_pages
from pages import all_pages, blocks, blocks_of, manual_blocks, run_one
from sonde import ROOT, check, install, scratch
from harness import check_equal, main, test

test_pages(of_manuals=False)


@test
def no_command_stands_where_it_is_not_seen():
    """In a block without a name, or indented only."""
    for path in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]:
        page = str(path.relative_to(ROOT))
        for block in blocks_of(page):
            hidden = block.kind == "" and [
                line for line in block.lines if re.match(r"[$#] ", line)]
            check(not hidden, f"{page}:{block.line}: {hidden}")
        text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S)
        hidden = re.findall(r"^(?:    |\t)\$? *sonde .*", text, re.M)
        check(not hidden, f"{page}: {hidden}")


# ---- messages ----

def texts_of_the_sources():
    """All string literals, with those joined that the compiler joins."""
    literal = r'"(?:[^"\\\n]|\\.)*"'
    texts = []
    for path in [*ROOT.glob("src/**/*.c"), *ROOT.glob("include/**/*.h")]:
        for run_of in re.findall(rf"{literal}(?:\s+{literal})*",
                                 path.read_text()):
            texts.append("".join(s[1:-1] for s in re.findall(literal, run_of)))
    return "\n".join(texts)


@test
def messages_in_troubleshooting_are_what_sonde_says():
    """All but those of other programs, which are named."""
    page = (ROOT / "docs/troubleshooting.md").read_text()
    others = ("loading shared libraries", "pkg-config", "Permission denied")
    ours = texts_of_the_sources()
    messages = [m for m in re.findall(r"^### `(.*)`$", page, re.M)
                if not any(word in m for word in others)]
    check(len(messages) > 8, f"only {len(messages)} messages")
    for message in messages:
        for part in message.split("..."):
            check(part.strip() in ours, f"nobody says {part!r}")


# ---- the judge itself ----

@test
def a_page_is_judged_by_status_and_by_output():
    page = ("<!-- output varies: it does -->\n```console\n$ echo 1 a\n2 b\n"
            "```\n\n```console\n$ echo 'took 3 ms'; false  # exit status 1\n"
            "took 17.5 us\n$ printf '%s\\n' a b \\\n>   c\na\n...\nc\n```\n"
            "```sh\necho one \\\n\ttwo\n# no command\ntrue\n```\n")
    first, second, third = blocks(page)
    place = scratch()
    for block in (first, second, third):
        for command, shown in block.commands():
            run_one("page", block, command, shown, place)
    check_equal([c for c, _ in third.commands()], ["echo one two", "true"],
                "commands of sh")
    for wrong in ("```console\n$ false\n```\n", "```console\n$ echo a\nb\n```\n",
                  "```console\n$ echo a\n```\n", "```sh\nexit 3\n```\n",
                  "```console\n$ true # exit status 1\n```\n"):
        block, = blocks(wrong)
        try:
            run_one("page", block, *block.commands()[0], place)
        except AssertionError:
            continue
        raise AssertionError(f"passes: {wrong}")


install()
main()
