#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_install.py - what `meson install` leaves behind: programs that start, a
tree that works wherever it is, documents, manual pages that name one another.
"""

import os
import pathlib
import re
import shutil
import subprocess

from sonde import (BUILD, LIB, OPTIONS, PREFIX, ROOT, SANITIZE, build, check,
                   install, run, scratch, skip_if_sanitized)
from harness import Skip, check_equal, main, test

MAN = PREFIX / OPTIONS["mandir"]
DOC = PREFIX / OPTIONS["datadir"] / "doc/sonde"
AFTER = ROOT / "tools/after_install"


def record_malloc(sonde, directory):
    """Nothing in the environment says where the preloaded library is."""
    skip_if_sanitized("the preloaded library needs its runtime loaded first")
    env = {k: v for k, v in os.environ.items() if k != "SONDE_PRELOAD_DIR"}
    done = run(sonde, "record", "--malloc", "-o", directory, "--", "ls", "/",
               env=env)
    check_equal(done.returncode, 0, f"status: {done.stderr}")
    out = run(sonde, "print", directory).stdout
    check("malloc" in out, f"no allocation: {out[:200]}")


@test
def a_tree_below_destdir_records_malloc():
    record_malloc(PREFIX / OPTIONS["bindir"] / "sonde", scratch() / "t")


@test
def a_tree_that_was_moved_records_malloc_through_a_link_too():
    moved = scratch() / "elsewhere"
    shutil.copytree(PREFIX, moved, symlinks=True)
    link = scratch() / "sonde"
    link.symlink_to(moved / OPTIONS["bindir"] / "sonde")
    record_malloc(link, scratch() / "t")


@test
def what_few_commands_need_is_loaded_by_those_alone():
    """Their libraries take longer to load than `sonde ps` runs."""
    sonde = PREFIX / OPTIONS["bindir"] / "sonde"
    needs = subprocess.run(["readelf", "-dW", sonde], check=True, text=True,
                           stdout=subprocess.PIPE).stdout
    found = re.findall(r"lib(?:xml2|yaml|microhttpd)[^\]]*", needs)
    check_equal(found, [], "needed by every command")


@test
def a_library_that_cannot_be_loaded_is_named():
    broken = scratch()
    needed = (BUILD / "src/sys/needed.h").read_text()
    for name in re.findall(r'"(lib.*)"', needed):
        (broken / name).write_text("torn")
    env = {**os.environ, "LD_LIBRARY_PATH": str(broken)}
    sonde = PREFIX / OPTIONS["bindir"] / "sonde"
    (broken / "events.xml").write_text("<events/>")
    check_equal(run(sonde, "record", "-q", "-o", broken / "t", "--",
                    "true").returncode, 0, "recording")
    for library, words in (("libxml2", ("generate", broken / "events.xml")),
                           ("libmicrohttpd", ("view", "--no-browser",
                                              broken / "t"))):
        if library not in needed:
            continue  # a build without that feature
        done = run(sonde, *words, env=env)
        check_equal(done.returncode, 1, f"{words}: status; {done.stderr}")
        check(library in done.stderr, f"{words}: {done.stderr}")


@test
def documents_and_examples_are_installed():
    for name in ("README.md", "LICENSE", "docs/recording.md",
                 "docs/decisions/0001-commit-word.md",
                 "examples/wordcount.c", "examples/slowserver.c",
                 "examples/countevents.c", "examples/recorditself.c",
                 "examples/shop.c", "examples/shop-events.xml",
                 "examples/plugins/requests.c", "examples/rows/slowserver.rows"):
        check((DOC / name).read_bytes() == (ROOT / name).read_bytes(), name)


@test
def installed_examples_compile_as_their_readers_would():
    """Without a flag or a macro of ours, and without a warning."""
    for source in sorted(DOC.glob("examples/*.c")):
        made = scratch()
        events = DOC / "examples" / f"{source.stem}-events.xml"
        if events.exists():
            done = run(PREFIX / OPTIONS["bindir"] / "sonde", "generate", events,
                       "--header", made / f"{events.stem}.h")
            if "it lacks" in done.stderr:
                continue
            check_equal(done.returncode, 0, done.stderr)
        build(source.read_text(), "-Wextra", "-Werror", f"-I{made}", f"-L{LIB}",
              "-lsonde-trace", "-lsonde-control", f"-Wl,-rpath-link,{LIB}")


@test
def links_between_installed_documents_lead_somewhere():
    link = re.compile(r"\]\(\s*([^)#:\s]+)(?:#[^)]*)?\)")
    for page in [DOC / "README.md", *DOC.glob("docs/*.md")]:
        for target in link.findall(page.read_text()):
            path = page.parent / target
            in_clone = ROOT / page.relative_to(DOC).parent / target
            check(path.exists() or "/src/" in str(in_clone.resolve()),
                  f"{page.name} leads to {target}")


def anchors(page):
    """What '#...' can lead to, as GitHub makes it of headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    return {re.sub(r"[^\w -]", "", re.sub(r"\[(.*?)\]\(.*?\)", r"\1", h).lower())
            .replace(" ", "-") for h in re.findall(r"^#+ (.*)$", text, re.M)}


@test
def links_to_headings_lead_to_headings():
    for page in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]:
        for path, anchor in re.findall(r"\]\(\s*([^)#:\s]*)#([^)]*)\)",
                                       page.read_text()):
            target = page.parent / path if path else page
            check(anchor in anchors(target),
                  f"{page.relative_to(ROOT)} leads to {path}#{anchor}")


@test
def nothing_installed_names_the_tree_it_was_built_in():
    """Where debugging information is stripped, as packages are."""
    ours = [os.fsencode(path) + b"/" for path in {ROOT, BUILD.resolve()}]
    looked_at = 0
    for path in sorted(PREFIX.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        data = path.read_bytes()
        if data[:4] == b"\x7fELF" or data[:8] == b"!<arch>\n":
            plain = scratch() / "plain"
            done = run("objcopy", "--strip-debug", path, plain)
            check_equal(done.returncode, 0, done.stderr)
            data = plain.read_bytes()
            looked_at += 1
        for tree in ours:
            at = data.find(tree)
            check(at < 0, f"{path} names {data[at:at + 200]}")
    check(looked_at >= 5, "no programs and libraries")


@test
def man_sonde_names_every_page():
    pages = {p.name for p in MAN.glob("man*/*")}
    named = set()
    text = (MAN / "man1/sonde.1").read_text().replace("\\-", "-")
    for name, section in re.findall(r"^\.BR (sonde[-_a-z]*) \((\d)\)", text, re.M):
        named.add(f"{name}.{section}")
    # One page of several names.
    named |= {f"{n}.3" for n in ("sonde_event_level", "sonde_event_enabled", "sonde_snapshot",
                                 "sonde_tracepoint")}
    check_equal(sorted(pages - named - {"sonde.1"}), [], "pages not named")
    check_equal(sorted(n for n in named - pages if n.startswith("sonde")), [],
                "named, but not there")


@test
def manual_pages_have_no_mistakes():
    if not shutil.which("groff"):
        raise Skip("no groff")
    for page in sorted(MAN.glob("man*/*")):
        done = run("groff", "-man", "-Tutf8", "-ww", "-z", "-I",
                   MAN, page, env={**os.environ, "GROFF_NO_SGR": "1"})
        check_equal((done.returncode, done.stderr), (0, ""), page.name)


# ---- the loader ----

def after_install(finds, **env):
    """Runs the script with an ldconfig that finds libsonde or doesn't."""
    fake = scratch()
    (fake / "ldconfig").write_text(
        f"#!/bin/sh\n[ \"$1\" = -p ] || echo \"$*\" >>{fake}/made\n"
        f"[ \"$1\" = -p ] && echo 'libsonde.so.0 (libc6) => "
        f"{'/opt/s/lib' if finds else '/other'}/libsonde.so.0'\nexit 0\n")
    (fake / "ldconfig").chmod(0o755)
    env["PATH"] = f"{fake}:{os.environ['PATH']}"
    done = run("sh", "-c", f"{AFTER} /opt/s/lib; exit $?",
               stdin=subprocess.DEVNULL, env=env)
    check_equal((done.returncode, done.stderr), (0, ""), "after_install")
    return done.stdout, (fake / "made").exists()


@test
def installing_makes_the_loaders_cache_anew():
    if os.geteuid():
        raise Skip("the cache is root's")
    check_equal(after_install(True), ("", True), "found afterwards")


@test
def where_the_loader_does_not_look_it_is_told():
    said, _ = after_install(False)
    for word in ("/etc/ld.so.conf.d/sonde.conf", "LD_LIBRARY_PATH=/opt/s/lib",
                 "-rpath,/opt/s/lib", "PKG_CONFIG_PATH=/opt/s/lib/pkgconfig"):
        check(word in said, f"{word}: {said}")


@test
def it_is_told_where_the_output_is_another_users():
    """As with `su -c 'make install' >log`: it can be written to, but not
    opened."""
    if os.geteuid():
        raise Skip("being another user wants root")
    script = scratch() / "after_install"
    shutil.copy(AFTER, script)
    for part in (script, *script.parents):
        if part == pathlib.Path("/tmp"):
            break
        part.chmod(0o755)
    done = run("sh", "-c", f"{script} /opt/s/lib; exit $?", user=61234,
               stdin=subprocess.DEVNULL)
    check_equal((done.returncode, done.stderr), (0, ""), "status, errors")
    check("LD_LIBRARY_PATH=/opt/s/lib" in done.stdout, done.stdout)


@test
def below_destdir_the_loaders_cache_is_left_alone():
    check_equal(after_install(False, DESTDIR="/x"), ("", False), "DESTDIR")


IN_PLACE = r"""
set -e
cp -a /etc {here}/etc
mount --bind {here}/etc /etc
mount -t tmpfs none {prefix}
meson install -C {build} --no-rebuild --quiet
cd {here}
printf '#include <sonde/tracepoint.h>\nint main(int n, char **v)\n{{\n\t(void)v;\n\tsonde_event(a, b, n);\n}}\n' >p.c
gcc p.c -o p $(pkg-config --cflags --libs sonde)
./p
sonde record -q -o t -- ./p
sonde print t
printf '#!/bin/sh\n' >ldconfig
chmod +x ldconfig
PATH={here}:$PATH meson install -C {build} --no-rebuild --quiet
"""


@test
def a_linked_program_runs_right_after_make_install():
    """In a mount namespace, where /etc and the prefix are ours. With an ldconfig
    that finds nothing, meson, which shows nothing that its scripts print, lets
    through what to do."""
    if os.geteuid() or run("unshare", "-m", "true").returncode:
        raise Skip("a mount namespace is root's")
    if SANITIZE or not pathlib.Path(OPTIONS["prefix"]).is_dir():
        raise Skip(f"no {OPTIONS['prefix']} to put a file system on")
    script = IN_PLACE.format(here=scratch(), prefix=OPTIONS["prefix"],
                             build=BUILD.resolve())
    path = f"{OPTIONS['prefix']}/{OPTIONS['bindir']}:{os.environ['PATH']}"
    env = {k: v for k, v in os.environ.items()
           if k not in ("DESTDIR", "LD_LIBRARY_PATH", "PKG_CONFIG_PATH")}
    done = run("unshare", "-m", "sh", "-c", script, stdin=subprocess.DEVNULL,
               env={**env, "PATH": path})
    check_equal(done.returncode, 0, f"status: {done.stdout}{done.stderr}")
    check("a:b" in done.stdout and "n = 1" in done.stdout, done.stdout)
    check_equal(done.stdout.count("doesn't look for libraries in"), 1,
                f"told once: {done.stdout}")


install()
main()
