#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_abi.py - what programs and plug-ins are linked with: which names the libraries
and the program export, by version, the types of functions, and the layout of structures and the values
of enumerations in the public headers, held against tests/abi/.

What is there stays as it is in any version with the same soname; what is new is
added. SONDE_UPDATE=1 writes the files anew, for you to read the difference.
"""

import os
import pathlib
import platform
import re
import shutil
import subprocess

from sonde import LIB, PREFIX, ROOT, SANITIZE, SONDE, check, install, run, scratch
from harness import Skip, check_equal, main, test

ABI = ROOT / "tests/abi"
INCLUDE = PREFIX / "include/sonde"
# Library, and the headers that say what it takes and gives.
PARTS = {"libsonde": ("abi.h", "tracepoint.h", "lttng/detail/point.h"), "libsonde-trace": ("trace.h",),
         "libsonde-control": ("control.h",), "sonde": ("plugin.h",)}


def exported(library):
    """NAME@@VERSION, sorted; in a sanitizer's build there is more, and a program has
    variables of the C library's."""
    out = subprocess.check_output(
        ["nm", "-D", "--defined-only", "--with-symbol-versions", library],
        text=True)
    return sorted(f"{words[-1]} {words[-2]}" for words in
                  map(str.split, out.splitlines()) if words[-2] != "A" and
                  (library != SONDE or words[-1].startswith("sonde_")))


def text_of(header):
    """A header with its parts in place of their includes."""
    return re.sub(r"^#include <sonde/(detail/\w+\.h)>$",
                  lambda part: text_of(part[1]),
                  (INCLUDE / header).read_text(), flags=re.M)


def debugged(header, headers):
    """What GDB says of each structure, enumeration and function of a header."""
    text = text_of(header)
    types = re.findall(r"^((?:struct|enum) sonde_\w+) \{", text, re.M)
    functions = sorted(set(re.findall(r"\b(sonde_\w+)\s*\(", text)))
    functions = [f for f in functions if re.search(
        rf"^(?:SONDE_TRACE_API|SONDE_CONTROL_API|SONDE_PLUGIN_API|SONDE_EXPORT)[^;{{]*\b{f}\s*\([^;{{]*;", text,
        re.M)]
    check(types or functions, f"{header} has no types")
    place = scratch()
    source = place / "abi.c"
    source.write_text("".join(f"#include <sonde/{h}>\n" for h in headers) +
                      "".join(f"__typeof__(&{f}) of_{f};\n" for f in functions))
    subprocess.run(["gcc", "-g", "-c", "-fno-eliminate-unused-debug-types",
                    f"-I{PREFIX / 'include'}", source, "-o", place / "abi.o"],
                   check=True)
    asked = [f"ptype /o {t}" for t in types] + [
        f"whatis of_{f}" for f in functions]
    done = run("gdb", "-nx", "-batch", place / "abi.o", *(
        word for line in asked for word in ("-ex", f"echo {line}\\n", "-ex",
                                            line)))
    check_equal((done.returncode, done.stderr), (0, ""), header)
    lines = [re.sub(r"\s+", " ", line.replace("ptype /o ", "").replace(
        "whatis of_", "")).rstrip() for line in done.stdout.splitlines()]
    return [line for line in lines if line]


def dump(name):
    headers = PARTS[name]
    lines = [f"{name}: what it exports",
             *exported(SONDE if name == "sonde" else LIB / f"{name}.so")]
    for header in headers:
        lines += ["", f"<sonde/{header}>", *debugged(header, headers)]
    return "\n".join(lines) + "\n"


@test
def nothing_that_programs_rely_on_has_changed():
    if not shutil.which("gdb") or platform.machine() != "x86_64":
        raise Skip("no gdb, or another machine")
    if SANITIZE:
        raise Skip("a sanitizer's names")
    for name in PARTS:
        file = ABI / f"{name}.txt"
        now = dump(name)
        if os.environ.get("SONDE_UPDATE"):
            file.write_text(now)
        check_equal(now.splitlines(), file.read_text().splitlines(),
                    f"{name}: if that is meant, SONDE_UPDATE=1, and a new "
                    "version or soname")


@test
def every_name_that_is_exported_is_listed_by_version():
    """The maps have no patterns, and each name belongs to one version."""
    for path in (ROOT / "src/tracer/libsonde.map",
                 ROOT / "src/reader/core/libsonde-trace.map"):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        check("*" not in text.replace("local:\n\t*;", ""), f"{path}: a pattern")
        listed = re.findall(r"^\t(sonde_\w+);$", text, re.M)
        check_equal(len(listed), len(set(listed)), f"{path}: twice")
        library = LIB / (path.stem + ".so")
        names = {line.split("@")[0] for line in exported(library)}
        check_equal(sorted(set(listed) ^ names) if not SANITIZE else [], [],
                    f"{path}: listed or exported, not both")


@test
def the_static_library_has_no_name_that_the_shared_one_has_not():
    def names(*words):
        out = subprocess.check_output(["nm", "--defined-only", *words],
                                      text=True, stderr=subprocess.DEVNULL)
        return sorted(line.split()[-1].split("@")[0]
                      for line in out.splitlines()
                      if len(line.split()) == 3 and " A " not in line)

    if SANITIZE:
        raise Skip("a sanitizer's names")
    check_equal(names("-g", LIB / "libsonde.a"),
                names("-D", LIB / "libsonde.so"), "libsonde.a")
    check_equal([p.name for p in LIB.glob("*.a")], ["libsonde.a"],
                "static libraries")


@test
def a_program_may_have_functions_called_as_ours_inside():
    """Of the static library, whose insides are all linked in."""
    place = scratch()
    source = place / "p.c"
    source.write_text("""#include <sonde/tracepoint.h>
        int sonde_glob_match(void); int sonde_glob_match(void) { return 3; }
        int sonde_arena; int sonde_start(void); int sonde_start(void)
        { return sonde_arena; }
        int main(void) { sonde_event(a, b, sonde_glob_match());
                         return sonde_start(); }""")
    if SANITIZE:
        raise Skip("no static executables")
    done = run("gcc", f"-I{PREFIX / 'include'}", source, "-static", "-o",
               place / "p", f"-L{LIB}", "-lsonde")
    check_equal(done.returncode, 0, done.stderr)
    check_equal(run(place / "p").returncode, 0, "status")


install()
main()
