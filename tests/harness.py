# SPDX-License-Identifier: MIT
"""harness.py - the runner of the tests that are written in Python.

A test is a function whose name is the claim, marked @test. It passes when it
returns. main() runs those whose names contain one of the words on the command
line (all without one), each in a child process of its own with a time limit,
so that one that hangs or changes the process is one red line.

Prints `ok NAME`, `skip NAME: why` or `FAIL NAME: why` as each test ends, and
at the end `N passed, N failed`.
"""

import contextlib
import ctypes
import os
import signal
import sys
import tempfile
import traceback

TESTS = []
# It ends what hangs; a virtual machine may stand still for half a minute.
TIME_LIMIT_S = 300
# How much slower than usual the machine is, as in a virtual one.
PATIENCE = int(os.environ.get("SONDE_PATIENCE", "1"))
# So much of a verdict is told. It must fit into a pipe that nobody reads before
# the test has ended.
VERDICT_BYTES = 1 << 15
# A machine that is busy with tests may well take 100 ms to answer.
os.environ.setdefault("SONDE_WAIT_MS", "20000")


class Skip(Exception):
    """Raised by a test that cannot run here."""


def test(function):
    TESTS.append(function)
    return function


def long_test(function):
    """A test that may take minutes."""
    function.time_limit_s = 600
    return test(function)


def limit_of(function):
    return PATIENCE * getattr(function, "time_limit_s", TIME_LIMIT_S)


def check(condition, why):
    if not condition:
        raise AssertionError(why)


def _differ(got, expected):
    """Both in a few words: of long lists, where they part."""
    if len(repr(got)) + len(repr(expected)) < 4000 or \
            not isinstance(got, (list, tuple, str)):
        return f"{got!r}, expected {expected!r}"
    at = next((i for i, pair in enumerate(zip(got, expected))
               if pair[0] != pair[1]), min(len(got), len(expected)))
    near = slice(max(at - 2, 0), at + 3)
    return (f"{len(got)} and expected {len(expected)}, which part at {at}: "
            f"{got[near]!r}, expected {expected[near]!r}")


def check_equal(got, expected, what):
    if got != expected:
        check(False, f"{what}: {_differ(got, expected)}")


def _child(function, out):
    """Runs in the child: the verdict goes to `out`, one line."""
    os.setpgid(0, 0)
    signal.alarm(limit_of(function))
    try:
        function()
        verdict = "ok"
    except Skip as why:
        verdict = f"skip {why}"
    except AssertionError as why:
        stack = traceback.extract_tb(why.__traceback__)
        frame = [f for f in stack if not f.name.startswith("check")][-1]
        verdict = f"FAIL {why} (line {frame.lineno})"
    except Exception:
        verdict = "FAIL " + traceback.format_exc().strip()
    os.write(out, verdict.encode(errors="replace")[:VERDICT_BYTES])
    os._exit(0)


def _kill_leftovers():
    """What a test left running is our child by now (see scratch), whatever group
    or session it is in."""
    path = f"/proc/self/task/{os.getpid()}/children"
    # The kernel for debugging doesn't tell (CONFIG_PROC_CHILDREN).
    while os.path.exists(path):
        with open(path) as f:
            children = [int(word) for word in f.read().split()]
        if not children:
            return
        for pid in children:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _run(function):
    read, write = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        _child(function, write)
    os.close(write)
    status = os.waitpid(pid, 0)[1]
    _kill_leftovers()
    os.set_blocking(read, False)
    try:
        verdict = os.read(read, VERDICT_BYTES).decode(errors="replace")
    except BlockingIOError:
        verdict = ""
    os.close(read)
    if not verdict and os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        limit = ""
        if number == signal.SIGALRM:
            limit = f" (time limit {limit_of(function)} s)"
        verdict = f"FAIL killed by {signal.Signals(number).name}{limit}"
    return verdict or f"FAIL no verdict, status {status}"


@contextlib.contextmanager
def scratch():
    """A folder for what tests write, named by SONDE_TEST_SCRATCH. It is removed
    once nothing that was started is left that could still write there."""
    pr_set_child_subreaper = 36
    ctypes.CDLL(None).prctl(pr_set_child_subreaper, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory(prefix="sonde-test-") as folder:
        os.environ["SONDE_TEST_SCRATCH"] = folder
        try:
            yield folder
        finally:
            _kill_leftovers()


def main():
    caller = sys._getframe(1).f_globals["__name__"]
    assert caller == "__main__", f"{caller} is a test, not a part of others"
    words = sys.argv[1:]
    passed = failed = 0
    with scratch():
        for function in TESTS:
            name = function.__name__
            if words and not any(word in name for word in words):
                continue
            kind, _, why = _run(function).partition(" ")
            failed += kind == "FAIL"
            passed += kind == "ok"
            print(f"{kind} {name}" + (f": {why}" if why else ""), flush=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)
