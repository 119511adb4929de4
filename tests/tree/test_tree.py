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
    """All of ours in Markdown, but not what was built or installed."""
    return [page for page in ROOT.rglob("*.md")
            if not re.match(r"build|\.git|sonde-",
                            page.relative_to(ROOT).parts[0]) and
            "node_modules" not in page.parts]


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
def each_end_to_end_test_is_run():
    text = (ROOT / "tests/e2e/meson.build").read_text()
    for file in (ROOT / "tests/e2e").glob("test_*.py"):
        name = file.stem.removeprefix("test_")
        check(f"'{name}'" in text, f"tests/e2e/meson.build lacks {name}")


@test
def each_fuzz_target_is_run_and_has_a_corpus():
    lists = re.findall(r"^(?:recording|reading)='([^']*)'",
                       (ROOT / "fuzz/run").read_text(), re.M)
    targets = sorted(file.stem for file in (ROOT / "fuzz").glob("*.c")
                     if "int LLVMFuzzerTestOneInput" in file.read_text() and
                     file.stem != "replay")
    check_equal(sorted(" ".join(lists).split()), targets, "what fuzz/run has")
    for target in targets:
        check(any((ROOT / "fuzz/corpus" / target).glob("*")),
              f"fuzz/corpus/{target} has nothing")


def included(file):
    """What a file of src/ includes of src/, as paths from the top."""
    text = (ROOT / file).read_text()
    return {f"src/{path}" for path in
            re.findall(r'^#include "([^"]+)"', text, re.M)
            if (ROOT / "src" / path).exists()}


@test
def the_module_is_made_of_all_that_its_files_include():
    lines = (ROOT / "src/kmod/FILES").read_text().splitlines()
    listed = [line for line in lines if not line.startswith("#")]
    sources = [file for file in listed if file.endswith((".c", ".h"))]
    needed = set().union(*(included(file) for file in sources))
    check("src/ring/layout.h" in needed, f"{needed}")
    check_equal(sorted(needed - set(listed)), [], "included and not listed")
    check_equal(sorted({f for f in listed if listed.count(f) > 1}), [],
                "listed twice")
    check_equal([f for f in listed if not (ROOT / f).exists()], [],
                "listed and not there")


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


def house(file, text, words=""):
    """A tree of one file, where nothing may be wrong but what `words` permits
    as the first words of the ring's names."""
    tree = plant(file, "/* SPDX-License-Identifier: MIT */\n" + text)
    (tree / "src/base/port.h").unlink()
    (tree / "src/LAYERS").write_text("ring:\n")
    (tree / "src/HOUSE").write_text(
        "headless: 0\nnamesakes: 0\nonce: 0\ntypes_twice: 0\ncircles: 0\n"
        "length_max: 60\n" + words)
    return tree


def one_more(tree, file, text):
    (tree / file).write_text("/* SPDX-License-Identifier: MIT */\n" + text)


@test
def the_house_is_as_tidy_as_its_bounds_say():
    check_equal(tool("check_house"), (0, ""), "check_house")


@test
def the_bounds_of_the_house_only_go_down():
    git = subprocess.run(["git", "log", "--format=%h", "--", "src/HOUSE"],
                         cwd=ROOT, text=True, stdout=subprocess.PIPE)
    if git.returncode or not git.stdout:
        raise Skip("no clone of the repository")
    # What is new for users takes lines, and small functions.
    now = [(name, int(bound)) for name, bound in
           re.findall(r"^(\w+): (\d+)$", (ROOT / "src/HOUSE").read_text(),
                      re.M) if name not in ("lines", "once")]
    for commit in git.stdout.split():
        earlier = subprocess.check_output(
            ["git", "show", f"{commit}:src/HOUSE"], cwd=ROOT, text=True)
        was = dict(re.findall(r"^(\w+): (\d+)$", earlier, re.M))
        for name, bound in now:
            check(bound <= int(was.get(name, bound)),
                  f"{name} was {was.get(name)} in {commit}, and is {bound}")


@test
def a_file_that_says_nothing_of_itself_is_found():
    copy = house("src/ring/planted.c", '#include "ring/layout.h"\n')
    check_equal(tool("check_house", copy),
                (1, "src/: headless: 1, at most 0 (src/HOUSE)"), "check_house")


@test
def a_static_function_of_the_same_name_is_found():
    text = "/* Planted. */\nstatic int twin(void)\n{\n\treturn 1;\n}\n"
    copy = house("src/ring/planted.c", text)
    check_equal(tool("check_house", copy), (0, ""), "one alone")
    one_more(copy, "src/ring/other.c", text)
    check_equal(tool("check_house", copy),
                (1, "src/: namesakes: 1, at most 0 (src/HOUSE)"), "check_house")


@test
def a_short_function_with_one_caller_is_found():
    text = ("/* Planted. */\nstatic int one(void)\n{\n\treturn 1;\n}\n\n"
            "int sonde_ring_it(void)\n{\n\treturn one();\n}\n")
    copy = house("src/ring/planted.c", text)
    check_equal(tool("check_house", copy),
                (1, "src/: once: 1, at most 0 (src/HOUSE)"), "check_house")
    one_more(copy, "src/ring/planted.c", text.replace("one();", "one() + one();"))
    check_equal(tool("check_house", copy), (0, ""), "called twice")


@test
def a_function_that_is_too_long_is_found():
    text = ("/* Planted. */\nint sonde_ring_it(void)\n{\n" +
            "\tnext();\n" * 57 + "}\n")
    copy = house("src/ring/planted.c", text)
    check_equal(tool("check_house", copy), (0, ""), "60 lines")
    one_more(copy, "src/ring/planted.c", text.replace("{", "{\n\tnext();"))
    check_equal(tool("check_house", copy),
                (1, "src/: length_max: 61, at most 60 (src/HOUSE)"),
                "check_house")


@test
def files_that_call_each_other_are_found():
    text = ("/* Planted. */\nint sonde_ring_{0}(void)\n{{\n"
            "\treturn sonde_ring_{1}();\n}}\n")
    copy = house("src/ring/one.c", text.format("one", "two"))
    one_more(copy, "src/ring/two.c", text.format("two", "one"))
    check_equal(tool("check_house", copy),
                (1, "src/: circles: 1, at most 0 (src/HOUSE)\n"
                    "src/LAYERS: no circle ring/one ring/two"), "check_house")
    (copy / "src/HOUSE").write_text("circles: 1\n")
    (copy / "src/LAYERS").write_text("ring:\ncircle ring/one ring/two\n")
    check_equal(tool("check_house", copy), (0, ""), "named")
    one_more(copy, "src/ring/two.c", text.format("two", "three"))
    check_equal(tool("check_house", copy),
                (1, "src/LAYERS: no more a circle: ring/one ring/two"), "broken")


@test
def a_name_that_begins_with_another_folders_word_is_found():
    text = "/* Planted. */\nint sonde_slot_end(void)\n{\n\treturn 1;\n}\n"
    copy = house("src/ring/planted.c", text)
    check_equal(tool("check_house", copy),
                (1, "src/ring/planted.c:3: sonde_slot_end: slot isn't ring/'s "
                    "(src/HOUSE)"), "check_house")
    copy = house("src/ring/planted.c", text, "ring: slot lane\n")
    check_equal(tool("check_house", copy),
                (1, "src/HOUSE: ring: no name begins with sonde_lane"),
                "a word that no name has")


@test
def a_second_type_of_one_name_is_found():
    text = "/* Planted. */\nstruct sonde_ring_it {\n\tint it;\n};\n"
    copy = house("src/ring/one.h", text)
    check_equal(tool("check_house", copy), (0, ""), "one alone")
    one_more(copy, "src/ring/two.h", text)
    check_equal(tool("check_house", copy),
                (1, "src/: types_twice: 1, at most 0 (src/HOUSE)"),
                "check_house")


@test
def a_part_of_a_header_sends_who_includes_it_to_the_whole():
    parts = sorted((ROOT / "include/sonde/detail").iterdir())
    check(len(parts) > 3, f"only {parts}")
    whole = (ROOT / "include/sonde/tracepoint.h").read_text()
    for part in parts:
        check(f"#include <sonde/detail/{part.name}>" in whole, part.name)
        run = subprocess.run(
            ["cc", "-E", f"-I{ROOT / 'include'}", "-x", "c", "-"], text=True,
            input=f"#include <sonde/detail/{part.name}>\n",
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        check(run.returncode and "include <sonde/tracepoint.h>" in run.stderr,
              f"{part.name} alone: {run.stderr}")


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


@test
def a_fuzz_target_that_is_named_is_the_only_one_built():
    """By stand-ins for what it calls: which programs are asked of ninja."""
    scratch = pathlib.Path(os.environ["SONDE_TEST_SCRATCH"]) / "fuzz"
    build = scratch / "with-replay"
    (build / "fuzz").mkdir(parents=True)
    (build / "build.ninja").touch()
    program = build / "fuzz/fuzz_desc"
    for path, text in ((program, ""), (scratch / "ninja",
                       f'echo "$@" >>{scratch}/asked')):
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    env = {**os.environ, "BUILD": str(scratch),
           "PATH": f"{scratch}:{os.environ['PATH']}"}
    run = subprocess.run([ROOT / "fuzz/run", "-r", "desc"], env=env, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    check("1 passed, 0 failed" in run.stdout, run.stdout)
    made = [line for line in (scratch / "asked").read_text().splitlines()
            if " -t " not in line]
    check_equal([line.split()[-1] for line in made],
                ["build.ninja", "fuzz/fuzz_desc"], made)


@test
def a_cache_of_guests_that_is_linked_to_stays_as_it_was():
    sys.path.insert(0, str(ROOT / "tests/vm"))
    from guest import replace_bytes  # noqa: E402
    scratch = pathlib.Path(os.environ["SONDE_TEST_SCRATCH"])
    ours, theirs = scratch / "initrd.gz", scratch / "other.gz"
    ours.write_bytes(b"one")
    os.link(ours, theirs)
    replace_bytes(ours, b"two")
    check_equal((ours.read_bytes(), theirs.read_bytes()), (b"two", b"one"),
                "after")
    check_equal(sorted(p.name for p in scratch.glob("initrd.gz*")),
                ["initrd.gz"], "left behind")


main()
