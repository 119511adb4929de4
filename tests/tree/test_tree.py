#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_tree.py - the tree keeps its own rules, and the tools that say so find
a violation when there is one (planted in a copy)."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import Skip, check, check_equal, main, test  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]


def tool(name, root=ROOT):
    run = subprocess.run([ROOT / "tools" / name, root], text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return run.returncode, run.stdout.strip()


def plant(file, text):
    """A tree that holds the rules, port.h and this one file."""
    tree = pathlib.Path(os.environ["SONDE_TEST_SCRATCH"]) / "planted"
    shutil.rmtree(tree, ignore_errors=True)
    for kept in ("src/LAYERS", "src/base/port.h", file):
        (tree / kept).parent.mkdir(parents=True, exist_ok=True)
    for kept in ("src/LAYERS", "src/base/port.h"):
        shutil.copy(ROOT / kept, tree / kept)
    (tree / file).write_text(text)
    return tree


@test
def folders_include_only_what_layers_permits():
    check_equal(tool("check_layers"), (0, ""), "check_layers")


@test
def ordered_accesses_name_their_partners():
    check_equal(tool("check_comments"), (0, ""), "check_comments")


@test
def files_carry_their_licence():
    check_equal(tool("check_spdx"), (0, ""), "check_spdx")


@test
def what_exists_once_is_written_once():
    check_equal(tool("check_one_of_each"), (0, ""), "check_one_of_each")


@test
def a_second_copy_is_found():
    copy = plant("src/ring/planted.c",
                 "\nclock_gettime(CLOCK_MONOTONIC, &now);\n")
    check_equal(tool("check_one_of_each", copy),
                (1, "src/ring/planted.c:2: clock_gettime(: use base/time.h"),
                "check_one_of_each")
    copy = plant("src/ring/planted.c", '\nprintf("{\\"name\\": 1}");\n')
    check_equal(tool("check_one_of_each", copy),
                (1, 'src/ring/planted.c:2: \\"name\\":: use base/json.h'),
                "check_one_of_each")


@test
def each_licence_that_a_file_names_is_there_and_no_other():
    out = subprocess.run(
        ["git", "grep", "-hI", "-E", r'^([/#.<!"\\*-]+ )?SPDX-License-Identifier: '],
        cwd=ROOT, text=True, stdout=subprocess.PIPE)
    if out.returncode:
        raise Skip("no clone of the repository")
    named = set()
    for line in out.stdout.splitlines():
        expression = line.partition("SPDX-License-Identifier: ")[2]
        expression = re.sub(r"\s*(\*/|-->).*", "", expression)
        named |= set(re.split(r" (?:OR|AND) ", expression.strip()))
    texts = {path.stem for path in (ROOT / "LICENSES").iterdir()}
    check_equal(sorted(named), sorted(texts), "LICENSES/")
    for path in (ROOT / "LICENSES").iterdir():
        check(len(path.read_text()) > 1000, f"{path} is no licence")
    check_equal((ROOT / "LICENSES/MIT.txt").read_text(),
                (ROOT / "LICENSE").read_text(), "LICENSES/MIT.txt")


def pages():
    """All of ours in Markdown, but not what was built."""
    return [page for page in ROOT.rglob("*.md")
            if not re.match(r"build|\.git|sonde-",
                            page.relative_to(ROOT).parts[0])]


@test
def links_between_documents_lead_to_files():
    link = re.compile(r"\]\(\s*([^)#:\s]+)(?:#[^)]*)?\)")
    nr = 0
    for page in pages():
        text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
        for target in link.findall(text):
            nr += 1
            check((page.parent / target).exists(),
                  f"{page.relative_to(ROOT)} leads to {target}")
    check(nr > 50, f"only {nr} links")


@test
def each_document_is_in_the_index():
    index = (ROOT / "docs/README.md").read_text()
    for page in (ROOT / "docs").rglob("*.md"):
        name = str(page.relative_to(ROOT / "docs"))
        check(name == "README.md" or f"]({name})" in index or
              name.startswith("decisions/"), f"docs/README.md lacks {name}")


@test
def each_folder_of_tests_and_each_benchmark_is_described():
    text = (ROOT / "tests/README.md").read_text()
    for folder in (ROOT / "tests").iterdir():
        if folder.is_dir() and folder.name != "__pycache__":
            check(f"`{folder.name}/`" in text, f"tests/README.md: {folder.name}")
    text = (ROOT / "bench/README.md").read_text()
    for file in (ROOT / "bench").iterdir():
        if file.is_file() and os.access(file, os.X_OK):
            check(f"`bench/{file.name}`" in text, f"bench/README.md: {file.name}")


@test
def the_package_has_the_version_of_the_build():
    version = re.search(r"version: '([0-9.]+)'",
                        (ROOT / "meson.build").read_text())[1]
    changelog = (ROOT / "debian/changelog").read_text()
    check_equal(changelog.split()[1], f"({version})", "debian/changelog")


@test
def an_include_against_the_layers_is_found():
    copy = plant("src/session/planted.c", '\n#include "tracer/arena.h"\n')
    check_equal(tool("check_layers", copy),
                (1, "src/session/planted.c:2: session/ may not include "
                    "tracer/arena.h"), "check_layers")


@test
def only_the_named_header_of_a_folder_is_permitted():
    copy = plant("src/ctf/planted.c",
                 '#include "ring/layout.h"\n#include "ring/reader.h"\n')
    check_equal(tool("check_layers", copy),
                (1, "src/ctf/planted.c:2: ctf/ may not include "
                    "ring/reader.h"), "check_layers")


@test
def an_include_beside_the_folder_is_found():
    copy = plant("src/ring/planted.c", '#include "layout.h"\n')
    code, text = tool("check_layers", copy)
    check_equal(code, 1, "check_layers")
    check("src/ring/planted.c:1: " in text, text)


@test
def an_acquire_without_a_partner_is_found():
    copy = plant("src/ring/planted.c", "/* Reads. */\n\n"
                 "int planted(int *p)\n{\n"
                 "\treturn sonde_load_acquire(p);\n}\n")
    check_equal(tool("check_comments", copy),
                (1, "src/ring/planted.c:5: sonde_load_acquire without "
                    '"Pairs with" above it'), "check_comments")


@test
def an_acquire_whose_partner_is_gone_is_found():
    copy = plant("src/ring/planted.c",
                 "int planted(int *p)\n{\n"
                 "\t/* Pairs with the release in sonde_was_here. */\n"
                 "\treturn sonde_load_acquire(p);\n}\n")
    check_equal(tool("check_comments", copy),
                (1, "src/ring/planted.c:4: sonde_load_acquire pairs with "
                    "nothing that exists"), "check_comments")


@test
def an_acquire_that_names_its_partner_is_accepted():
    copy = plant("src/ring/planted.c",
                 "int planted(int *p)\n{\n"
                 "\t/* Pairs with the release in planted: all of it. */\n"
                 "\treturn sonde_load_acquire(p);\n}\n")
    check_equal(tool("check_comments", copy), (0, ""), "check_comments")


@test
def a_file_without_a_licence_is_found():
    copy = plant("src/ring/planted.c", "int planted;\n")
    code, text = tool("check_spdx", copy)
    check_equal(code, 1, "check_spdx")
    check("./src/ring/planted.c: no SPDX" in text, text)


main()
