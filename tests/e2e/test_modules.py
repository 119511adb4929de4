#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_modules.py - `sonde modules`: what it says where something is missing,
and that what is installed can be built.

Nothing is loaded here: that is for guests (tests/vm). Building takes a kernel's
headers, SONDE_HEADERS or those of any kernel in /lib/modules or /usr/src."""

import json
import os
import pathlib
import shutil
import subprocess

from sonde import PREFIX, SONDE, check, install, run, scratch
from harness import Skip, check_equal, long_test, main, test

KERNEL = os.uname().release
LOADED = pathlib.Path("/sys/module/sonde").exists()
HAS_MODULES = pathlib.Path("/proc/modules").exists()
SOURCES = PREFIX / "share/sonde/modules"


def modules(*words, status, **env):
    done = subprocess.run([SONDE, "modules", *map(str, words)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False, timeout=500,
                          env={**os.environ, **env})
    check_equal(done.returncode, status, f"status: {done.stderr}")
    return done.stdout, done.stderr


def complaint(*words, status=1, **env):
    """What it says, one line, when it can't."""
    out, err = modules(*words, status=status, **env)
    check_equal((out, err.count("\n")), ("", 1), str(words))
    check(err.startswith("sonde: modules"), err)
    return err


def find_headers():
    """Of any kernel."""
    found = [os.environ.get("SONDE_HEADERS"),
             f"/lib/modules/{KERNEL}/build",
             *sorted(map(str, pathlib.Path("/usr/src").glob(
                 "linux-headers-*-amd64")))]
    for folder in filter(None, found):
        if (pathlib.Path(folder) / "include/generated/autoconf.h").exists():
            return pathlib.Path(folder)
    raise Skip("no kernel's headers: apt-get install linux-headers-amd64")


# ---- words ----

@test
def wrong_usage_is_told():
    for words in ([], ["make"], ["build", "more"], ["unload", "--json"],
                  ["load", "--kernel", "6.1"], ["status", "--group", "users"],
                  ["build", "--kernel"], ["--fast", "build"]):
        complaint(*words, status=2)
    out, _ = modules("--help", status=0)
    for word in ("build", "load", "unload", "status", "--group"):
        check(word in out, f"help lacks {word}")


# ---- status ----

@test
def status_says_the_same_as_json():
    if LOADED:
        raise Skip("the module is loaded here")
    found = json.loads(modules("status", "--json", status=1)[0])
    check_equal((found["loaded"], found["usable"], found["kernel"]),
                (False, False, KERNEL), "status")
    out, _ = modules("status", status=1)
    check_equal(out.splitlines()[0].split(None, 1)[1], found["state"], "state")
    check_equal("loads no modules" in found["state"], not HAS_MODULES,
                found["state"])


@test
def status_says_whether_conditions_become_machine_code():
    jit = pathlib.Path("/proc/sys/net/core/bpf_jit_enable")
    if not LOADED or os.geteuid() != 0 or not jit.exists():
        raise Skip("the module is not loaded, or there is nothing to switch")
    before = jit.read_text()
    try:
        for value in (0, 1):
            jit.write_text(f"{value}\n")
            found = json.loads(modules("status", "--json", status=0)[0])
            check_equal(found["native_conditions"], bool(value), "JSON")
            lines = [line for line in
                     modules("status", status=0)[0].splitlines()
                     if line.startswith("conditions ")]
            check_equal(["machine code" in line for line in lines],
                        [bool(value)], f"{lines}")
    finally:
        jit.write_text(before)


@test
def status_knows_what_is_built_for_which_kernel():
    cache = scratch()
    file = cache / "sonde/modules/6.1.0-99-test/sonde.ko"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"\0")
    (cache / "sonde/modules/6.1.0-98-failed").mkdir()
    status = 0 if LOADED and os.geteuid() == 0 else 1
    out, _ = modules("status", "--json", status=status,
                     XDG_CACHE_HOME=str(cache))
    built = json.loads(out)["built"]
    check({"kernel": "6.1.0-99-test", "file": str(file)} in built, built)
    check(not any("failed" in b["kernel"] for b in built), built)


# ---- build ----

@test
def missing_headers_are_told_with_their_package():
    err = complaint("build", "--kernel", "6.1.0-99-none")
    check("linux-headers-6.1.0-99-none" in err, err)
    err = complaint("build", "--headers", scratch())
    check("holds no kernel headers" in err, err)
    complaint("build", "--kernel", "../../etc")
    complaint("build", "--kernel", "")


def empty_headers():
    """What looks like a kernel's headers, and isn't."""
    folder = scratch()
    (folder / "include/generated").mkdir(parents=True)
    (folder / "include/generated/autoconf.h").write_text("")
    (folder / "include/generated/utsrelease.h").write_text(
        '#define UTS_RELEASE "0.0-test"\n')
    (folder / "Makefile").write_text(
        "modules:\n\t@echo words of make; false\n")
    return folder


@test
def missing_programs_are_told_with_their_package():
    tools = scratch()
    err = complaint("build", "--headers", empty_headers(), PATH=str(tools))
    check("apt-get install make" in err, err)
    (tools / "make").symlink_to("/bin/true")
    err = complaint("build", "--headers", empty_headers(), PATH=str(tools))
    check("apt-get install gcc" in err, err)


@test
def missing_sources_are_told():
    err = complaint("build", "--headers", empty_headers(), "--sources",
                    scratch())
    check("sources" in err, err)


@test
def a_build_that_fails_shows_the_end_of_its_log_and_where_it_is():
    if not shutil.which("make"):
        raise Skip("no make")
    cache = scratch()
    out, err = modules("build", "--headers", empty_headers(), status=1,
                       XDG_CACHE_HOME=str(cache))
    log = cache / "sonde/modules/0.0-test/build.log"
    check_equal(out, "", "output")
    check("words of make" in err and str(log) in err.splitlines()[-1], err)
    check("words of make" in log.read_text(), "the log")


@test
def a_folder_that_cannot_be_made_is_told():
    file = scratch() / "file"
    file.write_text("")
    err = complaint("build", "--headers", empty_headers(), "--output",
                    file / "below")
    check("Not a directory" in err, err)


@test
def a_folder_that_others_may_write_is_refused():
    """What is made there runs in the kernel."""
    folder = scratch()
    folder.chmod(0o777)
    err = complaint("build", "--headers", empty_headers(), "--output", folder)
    check("go-w" in err and str(folder) in err, err)
    check(not list(folder.iterdir()), "something was written")


@test
def what_is_installed_is_what_the_module_is_made_of():
    files = (SOURCES / "src/kmod/FILES").read_text().splitlines()
    for name in files:
        check(name.startswith("#") or (SOURCES / name).exists(), name)
    conf = (SOURCES / "dkms.conf").read_text()
    check("@" not in conf and 'PACKAGE_NAME="sonde"' in conf, conf)


@long_test
def what_is_installed_can_be_built():
    headers = find_headers()
    folder = scratch() / "a/new/folder"
    out, _ = modules("build", "--headers", headers, "--output", folder,
                     status=0)
    check(str(folder / "sonde.ko") in out, out)
    check((folder / "sonde.ko").stat().st_size > 0, "sonde.ko")


@long_test
def dkms_builds_it_by_its_own_words():
    """What DKMS does with dkms.conf: a copy of the folder, and its MAKE."""
    headers = find_headers()
    folder = scratch() / "sonde"
    shutil.copytree(SOURCES, folder)
    done = subprocess.run(
        ["bash", "-c", f"kernel_source_dir={headers}; . ./dkms.conf && "
         "eval \"${MAKE[0]}\" && test -s \"${BUILT_MODULE_LOCATION[0]}"
         "${BUILT_MODULE_NAME[0]}.ko\" && eval \"$CLEAN\" && "
         "test ! -e build"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, check=False)
    check_equal(done.returncode, 0, f"dkms.conf: {done.stdout}")


# ---- load, unload ----

@test
def what_is_in_the_way_of_loading_is_told():
    if LOADED:
        raise Skip("the module is loaded here")
    if not HAS_MODULES:
        err = complaint("load")
        check("loads no modules" in err, err)
    elif os.geteuid() != 0:
        err = complaint("load")
        check("sudo sonde modules load" in err, err)
    else:
        err = complaint("load", "--output", scratch())
        check("sonde modules build" in err or "signed" in err, err)


@test
def parameters_that_make_no_sense_are_refused_before_loading():
    if LOADED:
        raise Skip("the module is loaded here")
    err = complaint("load", "--group", "no-such-group-here")
    check("no group" in err, err)
    for bits in ("x", "-1", "1 gid=0", "", "999"):
        err = complaint("load", "--clock-bits", bits)
        check("--clock-bits" in err, err)


@test
def unloading_what_is_not_loaded_is_no_mistake():
    if LOADED:
        raise Skip("the module is loaded here")
    check_equal(modules("unload", status=0)[0], "not loaded\n", "output")


@test
def recording_by_a_module_that_is_not_loaded_says_how_to_load_it():
    if LOADED:
        raise Skip("the module is loaded here")
    done = run(SONDE, "record", "-k", "sched", "--kernel-source", "modules",
               "-o", scratch() / "t", "--", "true")
    check("sonde modules load" in done.stderr, done.stderr)


@test
def where_k_can_record_nothing_the_program_is_not_started():
    if LOADED:
        raise Skip("the module is loaded here")
    place = scratch()
    done = run(SONDE, "record", "-k", "sched", "--kernel-source", "modules",
               "-e", "*", "-o", place / "t", "--", "touch", place / "ran")
    check_equal(done.returncode, 1, done.stderr)
    check_equal(sorted(place.iterdir()), [], "made")
    check_equal(done.stderr.count("\n"), 1, done.stderr)
    check("without -k" in done.stderr, done.stderr)


install()
main()
