#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_recover.py - `sonde recover`: what killed recorders left in memory is a
trace, whoever holds that memory; nothing is changed by it; memory that makes no
sense harms nobody.

The program does what it is told (obedient.py), so a test knows what it has
emitted and when.
"""

import mmap
import os
import random
import shutil
import signal
import subprocess

from home import Home, await_end, kill_recorder, numbers, program_at_home
from kills import children_of
from obedient import Program, need_root, program
from sonde import SONDE, Trace, check, install, run, scratch
from harness import check_equal, main, test

SLOTS_OFF = 336 << 10


def recovered(home, pid):
    """The trace of what the process holds, and what was said of it."""
    directory = scratch() / "recovered"
    shutil.rmtree(directory, ignore_errors=True)
    told = home.json("recover", "-o", directory, pid)
    check_equal(told["trace"], str(directory), "where it is")
    trace = Trace(directory)
    check_equal(len(numbers(trace)), told["events_recorded"], "events")
    return trace, told


def left_behind(home, p, *options, name="night"):
    """A session of the program, whose recorder is killed. Its trace."""
    directory = home.start(name, "-p", p.pid, *options)
    p.do("emit", 1000)
    kill_recorder(home, name)
    return directory


@test
def what_a_killed_recorder_has_not_read_is_recovered():
    with program_at_home() as (p, home):
        directory = left_behind(home, p)
        p.do("emit", 500)
        trace, told = recovered(home, p.pid)
        check_equal(told["events_lost"], 0, "lost")
        found = numbers(trace)
        check_equal(found, list(range(found[0], 1501)), "events")
        before = numbers(Trace(directory))
        check_equal(sorted(set(before + found)), list(range(1, 1501)),
                    "events of both")
        check_equal(told["processes"], 1, "processes")


@test
def what_went_to_the_killed_recorder_s_trace_is_told():
    with program_at_home() as (p, home):
        directory = home.start("night", "-p", p.pid, "--memory", "1M")
        for _ in range(200):
            p.do("emit", 2000)
        kill_recorder(home, "night")
        p.do("emit", 1000000)
        trace, told = recovered(home, p.pid)
        taken = [n for n in told["notes"] if "had taken them" in n]
        check_equal(len(taken), 1, f"notes: {told['notes']}")
        found = numbers(trace)
        # The rings were full soon; all that is missing is counted.
        both = set(numbers(Trace(directory))) | set(found)
        check(told["events_lost"] > 0, "nothing was lost")
        check_equal(len(both) + told["lost"]["ring_full"], 1400000,
                    "recorded, and discarded")


@test
def a_flight_recorder_is_read_and_can_still_be_taken_over():
    with program_at_home() as (p, home):
        left_behind(home, p, "--mode", "overwrite")
        first = numbers(recovered(home, p.pid)[0])
        check_equal(first, list(range(1, 1001)), "events")
        p.do("emit", 10)
        check_equal(numbers(recovered(home, p.pid)[0]), list(range(1, 1011)),
                    "events of a second time")
        check_equal(home.all()[0]["state"], "recording", "state")
        p.do("emit", 10)
        ended = home.json("stop", "night")
        check_equal(numbers(Trace(ended["directory"])), list(range(1, 1021)),
                    "events of who took over")


@test
def whoever_holds_the_memory_will_do():
    p = Program(program())
    with Home() as home:
        left_behind(home, p)
        holder = os.open(f"/proc/{p.pid}/fd/1000", os.O_RDWR)
        p.process.kill()
        p.process.wait()
        found = numbers(recovered(home, os.getpid())[0])
        check_equal(found[-1], 1000, "the last event")
        os.close(holder)
        said = home.complaint("recover", os.getpid())
        check("went with the last process that had it" in said, said)


@test
def where_a_recorder_lives_nothing_is_to_be_recovered():
    with program_at_home() as (p, home):
        home.start("night", "-p", p.pid)
        said = home.complaint("recover", p.pid)
        check("recorders" in said and "live" in said, said)


# ---- files ----

def recorded(arena, *before):
    """A program under `sonde record --arena`, the front end, and the trace."""
    directory = scratch() / "trace"
    p = Program(program(), *before, SONDE, "record", "--arena", str(arena),
                "-o", str(directory), "--", stderr=subprocess.PIPE)
    return p, directory


@test
def rings_in_files_outlive_everybody():
    arena = scratch() / "arena"
    p, directory = recorded(arena)
    p.do("emit", 1000)
    recorder = next(pid for pid in children_of(p.pid) if pid != p.own_pid)
    os.kill(recorder, signal.SIGKILL)
    await_end(recorder)
    p.do("emit", 500)
    for pid in p.pid, p.own_pid:
        os.kill(pid, signal.SIGKILL)
        await_end(pid)
    p.process.communicate()
    check_equal(len(os.listdir(arena)), 1, "files")
    rest = scratch() / "rest"
    r = run(SONDE, "recover", "--arena", arena, "--remove", "-o", rest)
    check_equal(r.returncode, 0, r.stderr)
    found = numbers(Trace(rest))
    both = set(found) | set(numbers(Trace(directory)))
    check_equal(sorted(both), list(range(1, 1501)), "events of both")
    check("emitter" in str(os.listdir(rest)), "the program's name")
    check_equal(os.listdir(arena), [], "files that are left")


@test
def files_go_with_the_processes():
    arena = scratch() / "arena"
    p, directory = recorded(arena)
    p.do("emit", 1000)
    check_equal(len(os.listdir(arena)), 1, "files")
    p.end()
    check_equal(numbers(Trace(directory)), list(range(1, 1001)), "events")
    check_equal(os.listdir(arena), [], "files that are left")


@test
def a_program_that_has_its_file_can_be_attached_to():
    arena = scratch() / "arena"
    arena.mkdir(mode=0o700)
    p = Program(program(), env={**os.environ, "SONDE_ARENA": str(arena)})
    with Home() as home:
        directory = home.start("night", "-p", p.pid)
        p.do("emit", 100)
        home.ok("stop", "night")
        check_equal(numbers(Trace(directory)), list(range(1, 101)), "events")
        said = home.complaint("recover", "--arena", arena)
        check("nothing was left behind" in said, said)
        left_behind(home, p, "--mode", "overwrite", name="day")
        directory = scratch() / "rest"
        told = home.json("recover", "--arena", arena, "-o", directory)
        check_equal(told["events_recorded"], 1000, "recovered")
    p.end()


@test
def a_full_disk_harms_no_program():
    need_root("mounting a small disk")
    for size, words in ("1M", "its rings are memory"), ("6M", "--arena (SONDE_ARENA) has no room"):
        arena = scratch()
        r = run("unshare", "-m", "sh", "-c",
                f"mount -t tmpfs -o size={size},mode=700 none {arena} && "
                f"exec {SONDE} record --arena {arena} -o {scratch()}/trace "
                f"-- {program()}", input="emit 100000\nquit\n")
        check_equal(r.returncode, 0, r.stderr)
        check(words in r.stderr, r.stderr)


# ---- what makes no sense ----

def scribble(memory, rng):
    """In the slots, the entries, the rings."""
    for _ in range(rng.randrange(1, 40)):
        at = rng.choice((rng.randrange(0, 4096), SLOTS_OFF + rng.randrange(80),
                         SLOTS_OFF + rng.randrange(144 << 10),
                         rng.randrange(len(memory) - 8),
                         (2 << 20) + rng.randrange(768),
                         (2 << 20) + rng.randrange(len(memory) - (2 << 20) -
                                                   8))) & ~3
        value = rng.choice((0, 1, 2, 0xffffffff, rng.getrandbits(32),
                            rng.getrandbits(8)))
        memory[at:at + 4] = value.to_bytes(4, "little")


@test
def memory_that_makes_no_sense_harms_nobody():
    rng = random.Random(int(os.environ.get("SONDE_SEED", "1")))
    p = Program(program())
    with Home() as home:
        left_behind(home, p, "--memory", "1M")
        fd = os.open(f"/proc/{p.pid}/fd/1000", os.O_RDWR)
        # It is ours from now on.
        p.process.kill()
        p.process.wait()
        memory = mmap.mmap(fd, os.fstat(fd).st_size)
        good = memory[:4 << 20]
        for _ in range(int(os.environ.get("SONDE_ROUNDS", "40"))):
            memory[:len(good)] = good
            scribble(memory, rng)
            directory = scratch() / "scribbled"
            r = home.run("recover", "-o", directory, os.getpid())
            check(r.returncode in (0, 1), f"{r.returncode}: {r.stderr}")
            if r.returncode == 0:
                check("sonde: " in r.stderr, r.stderr)
                home.ok("check", directory)
                shutil.rmtree(directory)
        memory.close()
        os.close(fd)


install()
main()
