# SPDX-License-Identifier: MIT
"""lttng - sessions of LTTng-UST, for the benchmarks that stand it beside Sonde."""
import contextlib
import os
import re
import shutil
import subprocess

NAME = "sonde-bench"


def is_missing(program):
    """Why `program`, which is built for it, can't be recorded; None: it can,
    with its daemon."""
    if os.access(program, os.X_OK) and shutil.which("lttng"):
        return None
    return "LTTng-UST is not installed"


def why_not(program):
    """The same; starts its daemon if there is none."""
    if is_missing(program):
        return is_missing(program)
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
    return lost_in(call(budget, "list", NAME))


def lost_in(told):
    """The same, of what `lttng list` told."""
    return sum(int(n) for n in re.findall(
        r"(?:Discarded events|Lost packets): (\d+)", told))
