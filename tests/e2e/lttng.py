# SPDX-License-Identifier: MIT
"""lttng.py - what the tests of programs for LTTng-UST share: how such a program is
compiled against LTTng's headers and against ours, what LTTng records of it, and
what babeltrace2 shows of a trace of either."""

import contextlib
import os
import re
import shutil
import signal
import subprocess

from sonde import LIB, STAGE, pkg_config, run, scratch
from harness import Skip, check_equal


def compiler(*words, cwd):
    done = run(*words, cwd=cwd)
    check_equal((done.returncode, done.stderr), (0, ""), " ".join(words))


def ours():
    """Flags for compiling and for linking."""
    directory, = pkg_config("--variable=lttngdir")
    if not directory.startswith(str(STAGE)):
        directory = f"{STAGE}{directory}"
    return ([f"-I{directory}", *pkg_config("--cflags")],
            [*pkg_config("--libs"), f"-Wl,-rpath,{LIB}"])


THEIRS = ([], ["-llttng-ust", "-ldl"])


# ---- what was recorded ----

PAYLOAD = re.compile(r" (?!sonde:|lttng_ust_statedump:)(\w+:\w+): "
                     r"(?:\{[^{}]*\}, )*(\{.*\})$")
# Of a text, ours is not a field.
LENGTH = re.compile(r'\b_(\w+)_length = \d+, (?=\1 = ")')


def shown(directory):
    """Names and payloads as babeltrace2 prints them."""
    out = run("babeltrace2", directory).stdout.splitlines()
    found = [PAYLOAD.search(line) for line in out]
    return [f"{m[1]} {LENGTH.sub('', m[2])}" for m in found if m]


@contextlib.contextmanager
def lttng():
    """LTTng's session daemon: one that is there, or one of our own."""
    if not shutil.which("lttng") or not shutil.which("lttng-sessiond"):
        raise Skip("no LTTng here")
    home = scratch()
    os.environ["LTTNG_HOME"] = str(home)
    if run("lttng", "--no-sessiond", "list").returncode == 0:
        yield
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    daemon = subprocess.Popen(
        ["lttng-sessiond", "--no-kernel", "--sig-parent", "--quiet"],
        preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK,
                                                  {signal.SIGUSR1}))
    try:
        if not signal.sigtimedwait({signal.SIGUSR1}, 60):
            raise Skip("LTTng's session daemon does not start here")
        yield
    finally:
        daemon.terminate()
        daemon.wait()


def recorded_by_lttng(program, *words, **more):
    name = f"sonde-{os.getpid()}"
    directory = scratch() / "lttng"
    with lttng():
        def do(*asked):
            done = run("lttng", "--no-sessiond", *asked)
            check_equal(done.returncode, 0, f"{asked}: {done.stderr}")
        do("create", name, "-o", str(directory))
        do("enable-event", "-u", "-a", "-s", name)
        do("start", name)
        done = run(program, *words, **more)
        check_equal(done.returncode, 0, done.stderr)
        do("stop", name)
        do("destroy", name)
    return directory


def need_their_headers():
    if not shutil.which("lttng") or run(
            "gcc", "-E", "-include", "lttng/tracepoint.h", "-xc",
            "/dev/null").returncode:
        raise Skip("no liblttng-ust-dev here")
