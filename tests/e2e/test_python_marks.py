#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_python_marks.py - the Python package without libsonde: its events are lines
to the file or the socket that SONDE_MARK names, nobody waits for who records, and
what is lost is counted. By the kernel's door: test_kernel_mark.py."""

import os
import signal
import socket
import subprocess
import sys

from home import Home, check_sum
from obedient import TIMEOUT, Program, program
from scripted import WITHOUT_LIBSONDE, script, whole_environment
from sonde import Skip, Trace, check, install, require, run, scratch
from harness import check_equal, main, test


def environment(door):
    return {**whole_environment(), "SONDE_MARK": str(door)}


def without_libsonde(text):
    return script(text, WITHOUT_LIBSONDE)


def lines_of(text):
    """What the program writes to a file; it says nothing itself."""
    door = scratch() / "door"
    door.touch()
    done = run(*without_libsonde(text), env=environment(door))
    check_equal((done.returncode, done.stdout, done.stderr), (0, "", ""), "status")
    return door.read_text().splitlines()


TYPES = """
class Colour(enum.IntEnum):
    DARK_RED = -5

event = sonde.Event("app", "all", sonde.Level.ERR, n=int, h=sonde.hex, yes=bool,
                    f=float, s=str, b=bytes, c=Colour, ints=list[int],
                    floats=list[float])
assert "libsonde.so.0" in sonde.missing and event.enabled
event(n=-2**63, h=2**64 - 1, yes=True, f=-0.5, s='a "b"\\\\\\t\\nZürich\\0cut',
      b=b"\\0\\xff", c=Colour.DARK_RED, ints=(1, -2), floats=[0.25])
sonde.Event("app", "none")()
for value in (float("inf"), 1e300):
    sonde.Event("app", "float", f=float)(f=value)
assert sonde.lost() == 0
"""


@test
def a_line_has_the_values_of_the_call():
    check_equal(lines_of(TYPES), [
        r'<3>app:all n=-9223372036854775808 h=0xffffffffffffffff yes=1 f=-0.5 '
        r's="a \"b\"\\\t\nZürich" b="00ff" c=-5 ints="[1, -2]" floats="[0.25]"',
        "<6>app:none", "<6>app:float f=1e999", "<6>app:float f=1e+300"], "lines")


WRONG = """
event = sonde.Event("app", "event", n=int, s=str)
for values in ({"n": 2**70, "s": ""}, {"n": 1.5, "s": ""}, {"n": 1, "s": None},
               {"n": 1}, {"n": 1, "s": "", "t": 2}, {"n": 1, "s": "x" * 990}):
    event(**values)
long = sonde.Event("a" * 254, "b" * 254, n=int)
long(**{"ü\\n" * 1000: 1})
event(n=1, s="fine")
assert sonde.lost() == 0
"""


@test
def what_no_line_can_hold_is_an_event_of_its_own():
    lines = lines_of(WRONG)
    check_equal([line.split()[0] for line in lines],
                ["<3>sonde_python:failed"] * 7 + ["<6>app:event"], "events")
    for line, word in zip(lines, ("argument out of range", "integer",
                                  "AttributeError", "no field: 's'", "no field 't'",
                                  "1012 bytes", "no field: 'n'")):
        check(word in line, f"{word} isn't in {line}")
    check(max(map(len, lines)) <= 1000, "a line is too long")


GONE = """
import os
import resource
event = sonde.Event("app", "step", n=int)
door = os.environ["SONDE_MARK"]
event(n=1)
limits = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
event(n=2)
event(n=3)
resource.setrlimit(resource.RLIMIT_NOFILE, limits)
assert sonde.lost() == 2 and event.enabled
event(n=4)
os.rename(door, door + ".kept")
event(n=5)
assert sonde.lost() == 3 and not event.enabled
os.rename(door + ".kept", door)
event(n=6)
assert sonde.lost() == 3
"""


@test
def what_is_lost_at_the_file_is_told_and_its_end_is_that_of_the_events():
    check_equal(lines_of(GONE), ["<6>app:step n=1", "<4>sonde_mark:lost events=2",
                                 "<6>app:step n=4"], "lines")


LAST = """
import os
import resource
event = sonde.Event("app", "step", n=int)
event(n=1)
limits = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
event(n=2)
resource.setrlimit(resource.RLIMIT_NOFILE, limits)
"""


@test
def what_was_lost_last_is_told_at_the_programs_end():
    check_equal(lines_of(LAST), ["<6>app:step n=1", "<4>sonde_mark:lost events=1"],
                "lines")


HANDED_OVER = """
import os
event = sonde.Event("app", "step", n=int)
os.closerange(3, 256)
kept = os.open("/dev/null", os.O_WRONLY)
event(n=1)
if not os.fork():
    event(n=2)
    os._exit(0)
os.wait()
event(n=3)
os.fstat(kept)
# and the one that is the list
assert len(os.listdir("/proc/self/fd")) == len([0, 1, 2, kept]) + 1
"""


@test
def a_program_that_closes_all_descriptors_has_none_of_ours():
    check_equal(lines_of(HANDED_OVER), [f"<6>app:step n={n}" for n in (1, 2, 3)],
                "lines")


# ---- by the recorder's socket ----

class Session:
    """One that takes marks, and its end."""

    def __init__(self, home, *options):
        self.home = home
        self.program = Program(program())
        self.nr_lost = None
        self.directory = home.start("night", "-p", self.program.pid, *options)

    def recorder(self):
        return self.home.json("status", "night")["pid"]

    def popen(self, text):
        return subprocess.Popen(
            without_libsonde(text), text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=environment(self.home.socket("night")))

    def run(self, text):
        done = run(*without_libsonde(text), env=environment(self.home.socket("night")))
        check_equal((done.returncode, done.stderr), (0, ""), "status")
        return done.stdout

    def stop(self):
        """Its events but those of the program that it was started for."""
        ended = self.home.json("stop", "night")
        check_sum(ended["events"])
        self.program.end()
        events = [e for e in Trace(self.directory).events()
                  if not e.name.startswith("attach:")]
        check_equal(ended["events"]["recorded"], len(events), "recorded")
        self.nr_lost = ended["events"]["discarded"]
        return events


def end(process):
    out, err = process.communicate(timeout=TIMEOUT)
    check_equal((process.returncode, err), (0, ""), "status")
    return out


@test
def events_without_libsonde_are_in_a_session_by_name():
    with Home() as home:
        session = Session(home, "--loglevel", "err")
        session.run(TYPES + "sonde.Event('app', 'half', 3, s=str)(s='\\ud800?')\n")
        first, failed = session.stop()
        check_equal((first.name, dict(first)), ("app:all", {
            "n": -2**63, "h": 2**64 - 1, "yes": 1, "f": -0.5,
            "s": 'a "b"\\\t\nZürich', "b": "00ff", "c": -5, "ints": "[1, -2]",
            "floats": "[0.25]"}), "event")
        check_equal((failed.name, failed["event"]), ("sonde_python:failed", "app:half"),
                    "no text")


FLOOD = """
event = sonde.Event("app", "step", n=int)
event(n=0)
print("ready", flush=True)
sys.stdin.readline()
for n in range(1, 5000):
    event(n=n)
print(sonde.lost(), flush=True)
sys.stdin.readline()
event(n=5000)
"""


def say(process):
    process.stdin.write("\n")
    process.stdin.flush()


@test
def a_recorder_that_stands_still_holds_nobody_up_and_what_is_lost_is_told():
    with Home() as home:
        session = Session(home)
        recorder = session.recorder()
        process = session.popen(FLOOD)
        check_equal(process.stdout.readline(), "ready\n", "start")
        os.kill(recorder, signal.SIGSTOP)
        try:
            say(process)
            nr_lost = int(process.stdout.readline())
        finally:
            os.kill(recorder, signal.SIGCONT)
        end(process)
        events = session.stop()
        told = sum(e["events"] for e in events if e.name == "sonde_mark:lost")
        steps = [e["n"] for e in events if e.name == "app:step"]
        check(nr_lost > 0, "it lost none")
        check_equal(steps, sorted(set(steps)), "in order, each once")
        check_equal(len(steps) + told, 5001, "recorded and told to be lost")
        # The last one may come before the recorder has made room.
        check(nr_lost <= told <= nr_lost + 1, f"{told} told, {nr_lost} by then")
        check_equal(session.nr_lost, told, "discarded, in the session's account")


MANY = """
import os
import signal
import threading
import time
event = sonde.Event("app", "step", who=int, n=int)

def work(who):
    for n in range(50):
        event(who=who, n=n)

signal.signal(signal.SIGALRM, lambda *_: event(who=9, n=0))
signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)
threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
for t in threads:
    t.start()
for t in threads:
    t.join()
signal.setitimer(signal.ITIMER_REAL, 0)
pid = os.fork()
work(4 if pid else 5)
if pid:
    os.waitpid(pid, 0)
print(os.getpid(), pid, sonde.lost())
"""


@test
def threads_handlers_of_signals_and_children_say_each_event_once():
    with Home() as home:
        session = Session(home)
        parent, child, nr_lost = map(int, session.run(MANY).split()[-3:])
        events = session.stop()
        check_equal(nr_lost, 0, "lost")
        for who in (0, 1, 2, 4, 5):
            mine = [e for e in events if e["who"] == who]
            check_equal([e["n"] for e in mine], list(range(50)), f"of {who}")
            check_equal({e.tid for e in mine}, {child if who == 5 else parent},
                        f"whose, of {who}")


@test
def a_connection_that_was_given_to_others_is_made_anew():
    with Home() as home:
        session = Session(home)
        process = session.popen(FLOOD.replace("5000", "3"))
        check_equal(process.stdout.readline(), "ready\n", "start")
        others = []
        for _ in range(17):  # sixteen are kept
            other = socket.socket(socket.AF_UNIX)
            other.settimeout(TIMEOUT)
            other.connect(home.socket("night"))
            other.sendall(b'{"sonde": 1, "do": "status"}\n')
            check(other.recv(1) == b"{", "no answer")
            others.append(other)
        say(process)
        check_equal(process.stdout.readline(), "0\n", "lost")
        end(process)
        for other in others:
            other.close()
        check_equal([e["n"] for e in session.stop()], [0, 1, 2, 3], "events")


@test
def events_end_with_the_session():
    with Home() as home:
        session = Session(home)
        process = session.popen(FLOOD.replace("5000", "2") + "print(event.enabled)\n")
        check_equal(process.stdout.readline(), "ready\n", "start")
        check_equal([e["n"] for e in session.stop()], [0], "events")
        say(process)
        check_equal(int(process.stdout.readline()), 1, "lost")
        check_equal(end(process), "False\n", "enabled")


STRANGER = """
import os
import socket
import time
path = os.environ["SONDE_MARK"]
if not os.fork():
    with socket.socket(socket.AF_UNIX) as listener:
        os.setuid(65534)
        listener.bind(path + ".new")
        listener.listen()
        os.rename(path + ".new", path)
        os._exit(1 if listener.accept()[0].recv(1) else 0)
while not os.path.exists(path):
    time.sleep(0.01)
import sonde
event = sonde.Event("app", "step")
event()
assert not event.enabled and sonde.lost() == 1
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""


@test
def another_users_socket_is_told_nothing():
    if os.geteuid():
        raise Skip("takes root, and another user")
    path = scratch() / "socket"
    for directory in (path.parent, *path.parents):
        if directory.stat().st_mode & 0o001 == 0:
            os.chmod(directory, 0o711)
    os.chmod(path.parent, 0o777)
    done = run(sys.executable, "-c", "import sys\n" + WITHOUT_LIBSONDE + STRANGER,
               env=environment(path))
    check_equal((done.returncode, done.stderr), (0, ""), "status")


if __name__ == "__main__":
    install()
    require("babeltrace2")
    main()
