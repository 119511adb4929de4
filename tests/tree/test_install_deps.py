#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_install_deps.py - tools/install-deps installs what is missing and
nothing else, on machines made of stand-ins for Debian's tools."""

import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import check, check_equal, main, test  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ["gcc", "g++", "meson", "ninja-build", "pkg-config", "libjson-c-dev",
         "clang", "llvm", "libbpf-dev", "libelf-dev", "zlib1g-dev", "libdw-dev", "libzydis-dev",
         "libzycore-dev", "libmicrohttpd-dev", "libxml2-dev", "libyaml-dev", "libzstd-dev",
         "libnats-dev", "librdkafka-dev", "libc6-dev"]


class Machine:
    """A PATH with `installed` packages, and the tools `has`."""

    def __init__(self, installed, has=("dpkg-query", "apt-get"), user=0):
        self.bin = pathlib.Path(os.environ["SONDE_TEST_SCRATCH"]) / "bin"
        shutil.rmtree(self.bin, ignore_errors=True)
        self.bin.mkdir()
        for tool in ("sh", "awk", "grep", "mktemp", "env", "tail", "rm"):
            (self.bin / tool).symlink_to(shutil.which(tool))
        lines = "".join(f"echo {p} installed\n" for p in installed)
        self.tool("id", f"echo {user}\n")
        if "dpkg-query" in has:
            self.tool("dpkg-query", lines + "echo removed config-files\n")
        for name in ("apt-get", "sudo"):
            if name in has:
                run = 'exec "$@"\n' if name == "sudo" else "exit 0\n"
                self.tool(name, f'echo {name} "$@" >>"{self.bin}/log"\n{run}')

    def tool(self, name, text):
        (self.bin / name).write_text("#!/bin/sh\n" + text)
        (self.bin / name).chmod(0o755)

    def install(self, what):
        run = subprocess.run([ROOT / "tools/install-deps", what], text=True,
                             env={"PATH": str(self.bin)},
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        log = self.bin / "log"
        return (run.returncode, run.stdout,
                log.read_text() if log.exists() else "")


@test
def a_machine_that_has_all_is_left_alone():
    check_equal(Machine(BUILD).install("build"), (0, "", ""), "outcome")


@test
def only_what_is_missing_is_installed():
    code, _, log = Machine(BUILD[:-1] + ["removed"]).install("build")
    check_equal(code, 0, "status")
    check_equal(log.splitlines(), ["apt-get install -y -q "
                                   "--no-install-recommends libc6-dev"], "log")


@test
def a_user_installs_with_sudo():
    code, _, log = Machine([], has=("dpkg-query", "apt-get", "sudo"),
                           user=1000).install("build")
    check_equal(code, 0, "status")
    check("sudo env DEBIAN_FRONTEND" in log, log)


@test
def a_user_without_sudo_is_told_what_to_run():
    code, out, log = Machine(BUILD[1:], user=1000).install("build")
    check_equal((code, log), (1, ""), "outcome")
    check("apt-get install --no-install-recommends gcc" in out, out)


@test
def without_apt_the_missing_packages_are_named():
    code, out, _ = Machine(BUILD[1:], has=("dpkg-query",)).install("build")
    check_equal(code, 1, "status")
    check("gcc" in out and "meson" not in out, out)


@test
def without_debian_the_missing_programs_are_named():
    code, out, _ = Machine([], has=()).install("build")
    check_equal(code, 1, "status")
    check("meson" in out and "ninja" in out, out)


main()
