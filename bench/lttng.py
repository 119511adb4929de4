# SPDX-License-Identifier: MIT
"""lttng - sessions of LTTng-UST, for the benchmarks that stand it beside Sonde."""
import contextlib
import os
import re
import shutil
import subprocess

NAME = "sonde-bench"


def why_not(program):
    """Why `program`, which was built for it, can't be recorded; None: it can.
    Starts its daemon if there is none."""
    if not (os.access(program, os.X_OK) and shutil.which("lttng")):
        return "LTTng-UST is not installed"
    for command in (["pgrep", "-x", "lttng-sessiond"],
                    ["lttng-sessiond", "--daemonize"]):
        if not subprocess.run(command, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode:
            return None
    return "LTTng's daemon doesn't start"


def call(budget, *command):
    return budget.run(("lttng", *command), check=True, stdout=subprocess.PIPE,
                      stderr=subprocess.DEVNULL).stdout


@contextlib.contextmanager
def session(budget, events, *create, channel=()):
    """A session with these options of `lttng create`, that records the events,
    in the default channel or in one with these options."""
    call(budget, "create", NAME, *create)
    try:
        in_channel = ()
        if channel:
            call(budget, "enable-channel", "-u", "c", *channel)
            in_channel = ("-c", "c")
        call(budget, "enable-event", "-u", *in_channel, ",".join(events))
        call(budget, "start")
        yield
    finally:
        call(budget, "destroy", NAME)


def lost(budget):
    """Events that the session, which still is, has lost so far."""
    call(budget, "stop")
    told = call(budget, "list", NAME)
    return sum(int(n) for n in re.findall(
        r"(?:Discarded events|Lost packets): (\d+)", told))
