#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_output.py - where traces and other files are written: who can read them,
what another user can make of it, and what is said when others touch them.

The other user is a process with a uid that nobody has: these tests want root.
"""

import contextlib
import os
import pathlib
import resource
import shutil
import signal
import stat
import subprocess

from sonde import (SONDE, build, check, install, record, run, scratch,
                   skip_if_sanitized)
from harness import PATIENCE, Skip, check_equal, main, test
from robust import read_stat, recorder_of, until

OTHER = 64123  # nobody's

EMITTER = """
#include <stdio.h>
#include <stdlib.h>
#include <sonde/tracepoint.h>

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 100;

	for (long i = 0; i < n; i++)
		sonde_event(out, mark, i);
	if (argc > 2) {
		puts("so far");
		fflush(stdout);
		getchar();
	}
	return 0;
}
"""
programs = {}


def emitter():
    if "emitter" not in programs:
        programs["emitter"] = build(EMITTER)
    return programs["emitter"]


def need_root():
    if os.geteuid() != 0:
        raise Skip("only root has other users at hand")
    scratch().parent.chmod(0o711)


def as_other(*words):
    """Runs words as the other user; must succeed."""
    done = run(*words, user=OTHER, group=OTHER, extra_groups=[])
    check(done.returncode == 0, f"{words}: {done.stderr}")


def shared(mode=0o1777):
    """A directory that everybody may write in."""
    place = scratch()
    place.chmod(mode)
    return place


def victim():
    """Root's own, and empty."""
    place = scratch() / "victim"
    place.mkdir(0o700)
    return place


def writers(trace, to):
    """Every command that makes a directory `to`."""
    return {
        "record": [SONDE, "record", "-o", to, "--", emitter(), "10"],
        "convert": [SONDE, "convert", "-o", to, trace],
        "cut": [SONDE, "cut", "-o", to, trace],
    }


def files_below(top):
    return [p for p in pathlib.Path(top).rglob("*")]


def check_refused(done, *words):
    check(done.returncode == 1, f"status {done.returncode}: {done.stderr}")
    for word in words:
        check(str(word) in done.stderr, f"no '{word}' in: {done.stderr}")
    check("sonde: sonde:" not in done.stderr, done.stderr)


@test
def another_users_link_is_not_followed():
    need_root()
    trace = record(emitter()).dir
    place = shared()
    target = victim()
    link = place / "x"
    as_other("ln", "-s", str(target / "new"), str(link))
    for name, words in writers(trace, link).items():
        check_refused(run(*words), link, OTHER, "another")
        check(not files_below(target), f"{name}: wrote to the link's target")


@test
def another_users_link_on_the_way_is_not_followed():
    need_root()
    trace = record(emitter()).dir
    place = shared()
    target = victim()
    as_other("ln", "-s", str(target), str(place / "x"))
    for name, words in writers(trace, place / "x" / "new").items():
        check_refused(run(*words), place / "x", OTHER)
        check(not files_below(target), f"{name}: wrote to the link's target")


@test
def another_users_directory_is_refused():
    need_root()
    trace = record(emitter()).dir
    place = shared()
    theirs = place / "x"
    as_other("mkdir", str(theirs))
    for words in writers(trace, theirs).values():
        check_refused(run(*words), theirs, OTHER, "not taken")
        check(not files_below(theirs), "something was written")


@test
def a_directory_that_others_may_write_is_refused():
    trace = record(emitter()).dir
    mine = scratch() / "x"
    mine.mkdir()
    for mode in 0o770, 0o703, 0o1777:
        mine.chmod(mode)
        for words in writers(trace, mine).values():
            check_refused(run(*words), mine, "go-w")
            check(not files_below(mine), "something was written")


@test
def a_new_directory_where_everybody_writes_wants_the_sticky_bit():
    trace = record(emitter()).dir
    for number, (mode, status) in enumerate(((0o777, 1), (0o1777, 0))):
        place = shared(mode)
        for name, words in writers(trace, place / "x").items():
            done = run(*words)
            check(done.returncode == status, f"{name}: {done.stderr}")
            if status:
                check_refused(done, place / "x", "+t")
            else:
                shutil.rmtree(place / "x")


@test
def a_link_of_ones_own_is_followed():
    trace = record(emitter()).dir
    place = scratch()
    (place / "real").mkdir()
    (place / "link").symlink_to("real")
    for name, words in writers(trace, place / "link" / "new").items():
        done = run(*words)
        check(done.returncode == 0, f"{name}: {done.stderr}")
        shutil.rmtree(place / "real" / "new")


@test
def files_of_others_are_not_written_over():
    """export -o, print -o: a file that was there."""
    need_root()
    trace = record(emitter()).dir
    place = shared()
    target = victim() / "file"
    target.write_text("precious")
    as_other("ln", "-s", str(target), str(place / "link"))
    as_other("touch", str(place / "file"))
    as_other("mkfifo", str(place / "fifo"))
    for name in "link", "file", "fifo":
        check_refused(run(SONDE, "export", "--to", "csv", "-o", place / name,
                          trace), place / name, OTHER, "another")
    check(target.read_text() == "precious", "the link was followed")
    check((place / "file").read_text() == "", "theirs was written")


@test
def output_may_be_what_a_shell_can_write_to():
    trace = record(emitter()).dir
    place = scratch()
    (place / "old").write_text("a longer text than there will be, " * 1000)
    for name in "old", "new":
        done = run(SONDE, "export", "--to", "csv", "-o", place / name, trace)
        check(done.returncode == 0, done.stderr)
    check((place / "old").read_text() == (place / "new").read_text(),
          "what was there is still there")
    done = run(SONDE, "export", "--to", "csv", "-o", "/dev/stdout", trace)
    check(done.returncode == 0 and done.stdout == (place / "new").read_text(),
          done.stderr)
    done = run(SONDE, "export", "--to", "csv", "-o", "/dev/null", trace)
    check(done.returncode == 0, done.stderr)


@test
def nobody_else_can_read_what_is_made():
    """Whatever the umask."""
    place = scratch()
    trace = place / "trace"
    commands = [
        [SONDE, "record", "-o", trace, "--", emitter()],
        [SONDE, "record", "--ctf", "2", "-o", place / "two", "--", emitter()],
        [SONDE, "record", "--", emitter()],
        [SONDE, "convert", "-o", place / "converted", place / "trace"],
        [SONDE, "cut", "-o", place / "cut", trace],
        [SONDE, "cut", "-o", place / "both", trace, place / "two"],
        [SONDE, "export", "--to", "csv", "-o", place / "csv", trace],
        [SONDE, "print", "-o", place / "text", trace],
    ]
    for words in commands:
        done = run(*words, umask=0, cwd=place)
        check(done.returncode == 0, f"{words}: {done.stderr}")
    made = files_below(place)
    check(len(made) > 25, f"only {made}")
    for path in made:
        mode = stat.S_IMODE(path.lstat().st_mode)
        wanted = 0o700 if path.is_dir() else 0o600
        check(mode == wanted, f"{path}: {mode:o}")


@test
def traces_of_the_kernel_are_made_and_removed_likewise():
    place = scratch()
    options = ["-k", "sched:sched_process_exit", "-o", place / "x"]
    done = run(SONDE, "record", *options, "--", "true", umask=0)
    if not (place / "x" / "kernel").exists():
        raise Skip(f"no kernel events: {done.stderr}")
    for path in files_below(place):
        wanted = 0o700 if path.is_dir() else 0o600
        mode = stat.S_IMODE(path.lstat().st_mode)
        check_equal(oct(mode), oct(wanted), path)
    shutil.rmtree(place / "x")
    bad = place / "bad"
    bad.write_text("#!/nonexistent/interpreter\n")
    bad.chmod(0o755)
    done = run(SONDE, "record", *options, "--", bad)
    check_equal(done.returncode, 127, done.stderr)
    check_equal(files_below(place), [bad], "left")


@test
def a_stricter_umask_holds():
    place = scratch()
    done = run(SONDE, "record", "-o", place / "trace", "--", emitter(),
               umask=0o277)
    if os.geteuid() == 0:  # others can't write in such a directory
        check(done.returncode == 0, done.stderr)
        check(stat.S_IMODE((place / "trace").stat().st_mode) == 0o500, "mode")


@contextlib.contextmanager
def waiting(to, *options, before="1000", after="1000", command=None):
    """A recording whose program emits, waits for a line, emits, and ends."""
    command = command or ["sh", "-c", f"{emitter()} {before}; echo so far; "
                                      f"read line; {emitter()} {after}"]
    front = subprocess.Popen(
        [SONDE, "record", *options, "-o", str(to), "--", *command],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True)
    check(front.stdout.readline() == "so far\n", "the program didn't start")
    yield front
    if front.poll() is None:
        front.out, front.err = front.communicate("\n", timeout=240 * PATIENCE)


def is_gone(pid):
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return text.rsplit(")", 1)[1].split()[0] == "Z"


@test
def a_directory_that_is_replaced_leads_nowhere_else():
    """Its parent is another user's, who moves it away while root records; with
    and without a recorder that is killed, which has the front end repair it."""
    need_root()
    for kill in False, True:
        home = scratch()
        os.chown(home, OTHER, OTHER)
        home.chmod(0o755)
        target = victim()
        (target / "metadata").write_text("precious")
        trace = home / "trace"
        with waiting(trace, after="300000") as front:
            as_other("mv", str(trace), str(home / "moved"))
            as_other("ln", "-s", str(target), str(trace))
            if kill:
                recorder = recorder_of(front.pid)
                os.kill(recorder, 9)
                until(lambda: is_gone(recorder))
        check(front.returncode == 0, front.err)
        check([p.name for p in files_below(target)] == ["metadata"],
              f"made in the victim: {files_below(target)}")
        check((target / "metadata").read_text() == "precious", "rewritten")
        check(str(home / "moved") in front.err, front.err)
        read = run(SONDE, "stat", home / "moved")
        check(read.returncode == 0, read.stderr)


@test
def a_start_that_fails_removes_what_was_made_and_nothing_else():
    """Whoever replaces the directory meanwhile."""
    place = scratch()
    for options in (), ("--ctf", "2"):
        done = run(SONDE, "record", *options, "-o", place / "x", "--",
                   "/bin/sh/none")
        check(done.returncode in (126, 127), done.stderr)
        check(not files_below(place), f"left: {files_below(place)}")
    bad = place / "bad"
    bad.write_text("#!/nonexistent/interpreter\n")
    bad.chmod(0o755)
    done = run(SONDE, "record", "-o", place / "x", "--", bad)
    check(done.returncode == 127, done.stderr)
    check(files_below(place) == [bad], f"left: {files_below(place)}")


def stop_between_files(recorder, trace):
    """At a moment when no file is being made, whose name would be taken."""
    def is_between():
        os.kill(recorder, signal.SIGSTOP)
        until(lambda: read_stat(recorder)[1] == "T")
        if not list(trace.glob("**/.*.new")):
            return True
        os.kill(recorder, signal.SIGCONT)
        return False
    until(is_between)


@test
def fifos_among_the_files_do_not_stop_the_recorder():
    """At names it will want; put there by the only ones who can."""
    trace = scratch() / "trace"
    with waiting(trace) as front:
        recorder = recorder_of(front.pid)
        stop_between_files(recorder, trace)
        os.rename(trace / "index", trace.parent / "index")
        os.mkfifo(trace / "index")
        os.mkfifo(trace / ".metadata.new")
        os.unlink(trace / "metadata")
        os.mkfifo(trace / "metadata")
        os.kill(recorder, signal.SIGCONT)
    check(front.returncode == 0, front.err)
    check("metadata" in front.err, front.err)
    read = run(SONDE, "stat", trace)
    check(read.returncode == 0, read.stderr)


@test
def a_repair_does_not_wait_for_a_fifo():
    trace = scratch() / "trace"
    with waiting(trace) as front:
        recorder = recorder_of(front.pid)
        os.kill(recorder, 19)
        os.rename(trace / "index", trace.parent / "index")
        os.mkfifo(trace / "index")
        os.mkfifo(trace / "zzz")
        os.unlink(trace / "metadata")
        os.mkfifo(trace / "metadata")
        os.kill(recorder, 9)
        until(lambda: is_gone(recorder))
    check(front.returncode == 0, front.err)
    check("metadata" in front.err and "can't be read" in front.err, front.err)


@test
def metadata_that_somebody_removed_or_changed_are_written_again_and_told():
    def emptied(path):
        path.write_text("")

    def replaced(path):
        path.unlink()
        path.write_text("x")

    for harm in pathlib.Path.unlink, emptied, replaced:
        for options in (), ("--ctf", "2"):
            trace = scratch() / "trace"
            with waiting(trace, *options, after="10") as front:
                until(lambda: list(trace.glob("index/*.idx")))
                harm(trace / "metadata")
            check(front.returncode == 0, front.err)
            check("metadata" in front.err, f"not told: {front.err}")
            check("sonde print" in front.err, front.err)
            read = run(SONDE, "check", trace)
            check(read.returncode == 0, read.stderr)


@test
def files_that_somebody_removed_are_told():
    trace = scratch() / "trace"
    with waiting(trace) as front:
        until(lambda: list(trace.glob("index/*.idx")))
        for path in list(trace.iterdir()):
            if path.is_file() and path.name != "metadata":
                path.unlink()
    check("of the trace's files" in front.err, front.err)


@test
def a_directory_that_somebody_removed_is_told_and_nothing_counts_as_recorded():
    for after in 0, 1000:
        trace = scratch() / "trace"
        with waiting(trace, after=str(after)) as front:
            until(lambda: list(trace.glob("index/*.idx")))
            shutil.rmtree(trace)
        check("removed while" in front.err, front.err)
        check(" 0 events recorded, " in front.err, front.err)
        check(f" {1000 + after:,} lost" in front.err, front.err)
        check("make room" not in front.err, front.err)
        check("sonde print" not in front.err, front.err)


@test
def a_copy_keeps_the_holes():
    """Of files of a recording that is going on: sparse, and 16 MiB long."""
    trace = scratch() / "trace"
    copy = trace.parent / "copy"
    with waiting(trace, command=[emitter(), "1000", "wait"]) as front:
        until(lambda: any(p.stat().st_size >= 16 << 20
                          for p in trace.glob("[!.]*")))
        done = run(SONDE, "convert", "-o", copy, trace)
    check(done.returncode == 0, done.stderr)
    check(front.returncode == 0, front.err)
    longest = max(p.stat().st_size for p in copy.iterdir())
    check(longest >= 16 << 20, f"no file is long: {longest}")
    used = sum(p.stat().st_blocks * 512 for p in files_below(copy))
    check(used < 4 << 20, f"the copy takes {used} bytes")
    read = run(SONDE, "stat", copy)
    check(read.returncode == 0, read.stderr)


# ---- the words ----

@test
def a_limit_on_files_that_leaves_a_process_no_memory_is_named():
    for soft in 0, 100 << 10:
        done = record(emitter(), preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_FSIZE, (soft, resource.RLIM_INFINITY)))
        check_equal(done.status, 0, done.err)
        check("ulimit -f" in done.err and "raise it" in done.err, done.err)
        check("libsonde" not in done.err, done.err)


@test
def a_program_that_did_not_reach_the_recorder_is_not_said_to_lack_tracepoints():
    """What it can't know of the others, it says so."""
    done = record("sh", "-c", f"exec env -i {emitter()}")
    check("reach the recorder" in done.err, done.err)
    done = record("true")
    check("none is linked with libsonde" in done.err, done.err)


@test
def a_program_that_changes_its_user_is_named_as_that():
    need_root()
    program = pathlib.Path(build(EMITTER))
    program.parent.chmod(0o711)
    program.chmod(0o4755)
    done = run(SONDE, "record", "-o", shared() / "x", "--", program,
               user=OTHER, group=OTHER, extra_groups=[])
    check_equal(done.returncode, 0, done.stderr)
    check("changes its user" in done.stderr, done.stderr)


SECCOMP = """
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Denies the program that it becomes one system call. */
int main(int argc, char **argv)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, atoi(argv[1]), 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 1;
	execv(argv[2], argv + 2);
	return 1;
}
"""


@test
def a_process_that_is_denied_its_memory_is_told_as_that():
    """Not as one that is malformed, or has no tracepoints."""
    skip_if_sanitized("what sets the filter up is then recorded, too")
    def number(name):
        text = subprocess.run(["gcc", "-E", "-P", "-"], text=True, check=True,
                              input=f"#include <sys/syscall.h>\n__NR_{name}\n",
                              stdout=subprocess.PIPE).stdout
        return text.split()[-1]

    deny = build(SECCOMP)
    # Under a filter of its own it would not try.
    done = record(deny, number("mremap"), emitter(),
                  env={"SONDE_SECCOMP": "allow"})
    check_equal(done.status, 0, done.err)
    check("mremap was denied" in done.err, done.err)
    check("malformed" not in done.err, done.err)
    check("0 processes" in done.err, done.err)
    done = record(deny, number("memfd_create"), emitter())
    check_equal(done.status, 0, done.err)
    check("reach the recorder" in done.err, done.err)
    check("seccomp" in done.err, done.err)


@test
def sonde_says_its_name_once():
    gone = subprocess.run(["sh", "-c", "echo $$"], text=True, check=True,
                          stdout=subprocess.PIPE).stdout.strip()
    done = run(SONDE, "probe", "-p", gone, "main")
    check(done.returncode != 0, "a process that is gone was probed")
    check(done.stderr.startswith("sonde: "), done.stderr)
    check("sonde: sonde:" not in done.stderr, done.stderr)


install()
main()
