#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_lttng_projects.py - what others have written for LTTng-UST, unchanged,
against our <lttng/tracepoint.h>: Debian's sources of lomiri-ui-toolkit (a plugin
and a program), nfs-ganesha (its providers) and ltt-control (programs of LTTng's own
tests). They are recorded as LTTng records them. SONDE_LTTNG_SOURCES names a folder
in which

    apt-get source lomiri-ui-toolkit nfs-ganesha ltt-control

was run; it takes some 30 MB, and no build dependencies. Without it nothing is
tested."""

import os
import pathlib
import re
import shutil

from sonde import SONDE, check, install, record_ok, require, run, scratch
from harness import Skip, check_equal, main, test
from lttng import (THEIRS, compiler, need_their_headers, ours,
                   recorded_by_lttng, shown)


def unpacked(project, part):
    """A folder of the project's."""
    folder = os.environ.get("SONDE_LTTNG_SOURCES")
    if not folder:
        raise Skip("SONDE_LTTNG_SOURCES names no folder of sources")
    found = sorted(pathlib.Path(folder).glob(f"{project}-*/{part}"))
    if not found:
        raise Skip(f"no {project}-*/{part} in {folder}")
    return found[-1].resolve()


def sources(project, part):
    """A copy of it."""
    to = scratch() / "sources"
    shutil.copytree(unpacked(project, part), to)
    return to


def built(flags, cwd, files):
    """Without a warning of the compiler's own choice."""
    compiler("gcc", "-O2", "-D_GNU_SOURCE", "-I.", *flags[0], *files,
             *flags[1], "-o", "built", cwd=cwd)
    return cwd / "built"


def check_both(make, words=(), least=1):
    """The program that make(flags) builds has the same events by both."""
    require("babeltrace2")
    need_their_headers()
    install()
    theirs = shown(recorded_by_lttng(make(THEIRS), *words))
    check(len(theirs) >= least, f"LTTng has {theirs}")
    check_equal(shown(record_ok(make(ours()), *words).dir), theirs, "events")
    return theirs


# ---- lomiri-ui-toolkit ----

@test
def app_launch_profiler_is_recorded_by_both_alike():
    def make(flags):
        cwd = sources("lomiri-ui-toolkit", "app-launch-profiler")
        return built(flags, cwd, ["app-launch-tracepoints.c"])
    check_equal(check_both(make), ["app:invokeApplauncher { }"], "events")


PLUGIN = r"""
#include "lttng_p.h"

extern const struct UMLTTNGPlugin umLttngPlugin;

int main(void)
{
	UMLTTNGProcessEvent process = { 1, 2, 3, 4 };
	UMLTTNGFrameEvent frame = { 1, 2, .5f, 1.5f, 2.5f, 3.5f, 4.5f };
	UMLTTNGWindowEvent window = { "shown", 7, 640, 480 };
	UMLTTNGGenericEvent generic = { 5, "words" };

	umLttngPlugin.logProcessEvent(&process);
	umLttngPlugin.logFrameEvent(&frame);
	umLttngPlugin.logWindowEvent(&window);
	umLttngPlugin.logGenericEvent(&generic);
	return 0;
}
"""


@test
def the_plugin_of_lomiri_metrics_is_recorded_by_both_alike():
    def make(flags):
        cwd = sources("lomiri-ui-toolkit", "src/LomiriMetrics/lttng")
        (cwd / "driver.c").write_text(PLUGIN)
        return built(flags, cwd, ["lttng.c", "tracepoints.c", "driver.c"])
    check_equal(len(check_both(make)), 4, "events")


# ---- nfs-ganesha ----

# Those that need none of the server's headers; nfs_rpc does.
PROVIDERS = ("fsal_ceph", "fsal_gluster", "fsal_mem", "logger", "mdcache",
             "nfs4", "state")
EVENT = re.compile(r"TRACEPOINT_EVENT\(\s*(\w+),\s*(\w+),\s*TP_ARGS\((.*?)\),"
                   r"\s*TP_FIELDS", re.S)


def call(provider, name, arguments):
    """Of an event, with an argument of each type that it has."""
    types = [word.strip() for word in arguments.split(",")][::2]
    values = [f'"text {i}"' if re.fullmatch(r"(const )?char \*", kind) else
              f"({kind})(uintptr_t)({7 + i})" for i, kind in enumerate(types)
              if kind]
    return f"\ttracepoint({', '.join((provider, name, *values))});\n"


@test
def providers_of_nfs_ganesha_are_recorded_by_both_alike():
    events = {}

    def make(flags, provider):
        cwd = sources("nfs-ganesha", "src")
        text = (cwd / f"include/gsh_lttng/{provider}.h").read_text()
        events[provider] = EVENT.findall(text)
        check(events[provider], f"no events in {provider}.h")
        (cwd / "driver.c").write_text(
            "#include <stdbool.h>\n#include <stdint.h>\n#define "
            "TRACEPOINT_DEFINE\n#define TRACEPOINT_PROBE_DYNAMIC_LINKAGE\n"
            f'#include "gsh_lttng/{provider}.h"\nint main(void)\n{{\n' +
            "".join(call(*event) for event in events[provider]) +
            "\treturn 0;\n}\n")
        return built(([*flags[0], "-Iinclude", "-DUSE_LTTNG"], flags[1]), cwd,
                     ["driver.c", f"tracing/{provider}.c"])
    for provider in PROVIDERS:
        theirs = check_both(lambda flags, p=provider: make(flags, p))
        check_equal([line.partition(" ")[0] for line in theirs],
                    [f"{given}:{name}" for given, name, _ in events[provider]],
                    f"{provider}: names")


# ---- LTTng's own tests ----

@test
def programs_of_lttngs_own_tests_are_recorded_by_both_alike():
    def of(name):
        def make(flags):
            cwd = sources("lttng-tools", "tests/utils") / "testapp" / name
            common = [f"-I{unpacked('lttng-tools', part)}"
                      for part in ("src", "include")]
            # Theirs calls what it has inline for such programs.
            more = ["-llttng-ust-common"] if flags is THEIRS else []
            return built(([*flags[0], "-I..", "-I../..", *common],
                          [*flags[1], *more]), cwd,
                         [f"{name}.c", "tp.c", "../../utils.c"])
        return make
    check_both(of("gen-ust-events"), ("--iter", "5", "--wait", "0"), least=5)
    check_both(of("gen-ust-nevents"), ("--iter", "3", "--wait", "0"), least=12)
    check_both(of("gen-ust-nevents-str"), ("2", "0", "one", "*", "", "tw\\o"),
               least=2)


@test
def names_are_read_from_the_file_where_it_lies():
    install()
    cwd = sources("nfs-ganesha", "src")
    program = built(([*ours()[0], "-Iinclude", "-DUSE_LTTNG", "-shared",
                      "-fPIC"], ours()[1]), cwd,
                    [f"tracing/{name}.c" for name in PROVIDERS])
    listed = run(SONDE, "list", program).stdout
    for provider in PROVIDERS:
        text = (cwd / f"include/gsh_lttng/{provider}.h").read_text()
        for given, name, _ in EVENT.findall(text):
            check(f"{given}:{name} " in listed, f"no {given}:{name}")


if __name__ == "__main__":
    main()
