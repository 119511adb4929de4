#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_sandbox.py - programs that may not do everything: under seccomp filters
that kill, or without the time stamp counter. They run to their end, recorded
or not, and what isn't recorded is named."""

import os
import pathlib
import platform
import re
import subprocess

from sonde import (LIB, SONDE, Skip, build, check, install, record, run,
                   scratch, skip_if_sanitized)
from harness import check_equal, main, test

# cage CALL FLAGS PROGRAM...: CALL kills whoever makes it; "mmap-shared" does
# so only for shared mappings. "none" lets everything pass.
CAGE = r"""
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALL(name) { #name, SYS_##name }
static const struct { const char *name; long number; } calls[] = {
	CALL(memfd_create), CALL(ftruncate), CALL(fcntl), CALL(madvise),
	CALL(mremap), CALL(socket), CALL(setsockopt), CALL(connect),
	CALL(getsockopt), CALL(sendmsg), CALL(sendto), CALL(recvfrom),
	CALL(recvmsg), CALL(prctl), CALL(rseq), CALL(membarrier),
	CALL(prlimit64), CALL(getpid), CALL(geteuid), CALL(gettid),
	CALL(getrlimit), CALL(poll), CALL(dup3), CALL(clock_gettime),
};

static int cage(const char *name)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xffffff, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[3])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 6, filter };

	if (!strcmp(name, "mmap-shared")) {
		filter[1].k = SYS_mmap;
		filter[3].k = 1;
	} else if (strcmp(name, "none")) {
		size_t i = 0, n = sizeof(calls) / sizeof(calls[0]);

		while (i < n && strcmp(calls[i].name, name))
			i++;
		if (i == n)
			return -1;
		filter[1].k = calls[i].number;
		filter[1].jf = 3;
		filter[3] = (struct sock_filter)BPF_STMT(
			BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	}
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
	if (argc < 3 || cage(argv[1])) {
		perror("cage");
		return 99;
	}
	execvp(argv[2], argv + 2);
	return 98;
}
"""

TICK = r"""
#include <sonde/tracepoint.h>
#include <stdio.h>

int main(void)
{
	for (int i = 0; i < 3; i++)
		sonde_event(sandbox, tick, i);
	puts("to the end");
	return 0;
}
"""

# What libsonde may call on its way, with a session or without.
CALLS = ["memfd_create", "ftruncate", "fcntl", "madvise", "mmap-shared",
         "mremap", "socket", "setsockopt", "connect", "getsockopt", "sendmsg",
         "recvfrom", "prctl", "membarrier", "getpid", "geteuid", "gettid",
         "clock_gettime", "poll"]


def caged(call, *command):
    return [cage(), call, *command]


_cage = []


def cage():
    if not _cage:
        _cage.append(build(CAGE, "-Wl,--as-needed"))
        probe = run(_cage[0], "none", "true")
        if probe.returncode:
            raise Skip(f"no seccomp filters here: {probe.stderr.strip()}")
    return _cage[0]


def check_end(done, out, what):
    check_equal((done.returncode, out), (0, "to the end\n"),
                f"{what}: {done.stderr}")


@test
def a_filter_that_kills_does_not_kill_an_unrecorded_program():
    skip_if_sanitized("the sanitizers make system calls")
    program = build(TICK)
    for call in CALLS:
        done = run(*caged(call, program))
        check_end(done, done.stdout, call)
    done = run(*caged("rseq", program),
               env={**os.environ, "GLIBC_TUNABLES": "glibc.pthread.rseq=0"})
    check_end(done, done.stdout, "rseq")


@test
def a_filter_of_the_program_s_own_that_kills_does_not_kill_it():
    skip_if_sanitized("the sanitizers make system calls")
    program = build(TICK)
    for call in CALLS:
        recording = record(*caged(call, program))
        check_equal((recording.status, recording.out), (0, "to the end\n"),
                    f"{call}: {recording.err}")


@test
def a_filter_that_the_recorder_runs_under_too_is_no_hindrance():
    skip_if_sanitized("the sanitizers make system calls")
    directory = scratch() / "trace"
    done = run(*caged("none", SONDE, "record", "-o", directory, "--",
                      build(TICK)))
    check_end(done, done.stdout, "none")
    check("sonde: 3 events recorded, 0 lost" in done.stderr, done.stderr)


@test
def a_filter_that_the_recorder_runs_under_too_and_kills_is_told():
    skip_if_sanitized("the sanitizers make system calls")
    for call in ("memfd_create", "mremap", "madvise",
                 "clock_gettime"):
        done = run(*caged(call, SONDE, "record", "-o", scratch() / "trace",
                          "--", build(TICK)))
        check_end(done, done.stdout, call)
        check("seccomp" in done.stderr, done.stderr)


@test
def the_user_can_say_that_a_filter_is_fine():
    skip_if_sanitized("the sanitizers make system calls")
    recording = record(*caged("none", build(TICK)),
                       env={"SONDE_SECCOMP": "allow"})
    check("sonde: 3 events recorded, 0 lost" in recording.err, recording.err)
    recording = record(*caged("none", build(TICK)))
    check_equal(recording.out, "to the end\n", recording.err)
    check("sonde: 0 events recorded, 0 lost" in recording.err, recording.err)


# notsc PROGRAM...: it can't read the time stamp counter.
NOTSC = r"""
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 2 || prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0))
		return 99;
	execv(argv[1], argv + 1);
	return 98;
}
"""

# Writes without stdio: the C library's output asks for no clock, but strict
# mode allows read, write and exit only.
LOSE = r"""
#include <sonde/tracepoint.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	free(malloc(100));
	sonde_event(sandbox, before, 1);
	if (prctl(%s))
		return 1;
	for (int i = 0; i < 100; i++) {
		free(malloc(100));
		sonde_event(sandbox, after, i);
	}
	if (write(1, "to the end\n", 11) != 11)
		return 2;
	syscall(SYS_exit, 0);
}
"""


def need_tsc_switch():
    if platform.machine() != "x86_64":
        raise Skip("only x86 can turn its counter off")
    skip_if_sanitized("the sanitizers read the clock, and preload")


@test
def a_program_without_time_stamp_counter_runs_unrecorded_and_is_named():
    need_tsc_switch()
    # The C library's loader reads the counter, in some versions.
    program = build(TICK, static=True)
    notsc = build(NOTSC, "-Wl,--as-needed")
    done = run(notsc, program)
    check_end(done, done.stdout, "unrecorded")
    recording = record(notsc, program)
    check_equal((recording.status, recording.out), (0, "to the end\n"),
                recording.err)
    check("is not recorded: its time stamp counter is turned off"
          in recording.err, recording.err)


@test
def a_program_that_turns_the_counter_off_is_recorded_until_then_and_named():
    need_tsc_switch()
    for call, word in (("PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0", "PR_SET_TSC"),
                       ("PR_SET_SECCOMP, SECCOMP_MODE_STRICT",
                        "strict mode")):
        recording = record(build(LOSE % call), options=["--malloc"])
        check_equal((recording.status, recording.out), (0, "to the end\n"),
                    f"{call}: {recording.err}")
        check("is not recorded any more" in recording.err and
              word in recording.err, recording.err)
        names = [e.name for e in recording.trace().events()]
        check("sandbox:before" in names and "sandbox:after" not in names,
              str(names))


# ---- control groups ----

FILL = r"""
#include <sonde/tracepoint.h>
#include <stdio.h>

int main(void)
{
	for (int i = 0; i < 6000000; i++)
		sonde_event(sandbox, fill, i);
	puts("to the end");
	return 0;
}
"""


def group(megabytes):
    """A memory control group with that limit, or Skip. Its directory."""
    name = f"sonde-test-{os.getpid()}-{megabytes}"
    for base, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
                        ("/sys/fs/cgroup", "memory.max")):
        directory = pathlib.Path(base) / name
        if not (pathlib.Path(base) / "cgroup.procs").exists():
            continue
        try:
            directory.mkdir()
            (directory / limit).write_text(str(megabytes << 20))
            return directory
        except OSError:
            if directory.exists():
                directory.rmdir()
    raise Skip("no memory control group can be made here")


def record_in_group(megabytes, *options):
    skip_if_sanitized("the sanitizers take more memory")
    program = build(FILL)
    directory = group(megabytes)
    try:
        return run("sh", "-c", f'echo $$ > {directory}/cgroup.procs; '
                   'exec "$@"', "sh", SONDE, "record", *options, "-o",
                   scratch() / "trace", "--", program)
    finally:
        directory.rmdir()


@test
def a_program_in_a_small_control_group_is_not_killed():
    for megabytes in (16, 32):
        done = record_in_group(megabytes)
        check_end(done, done.stdout, f"{megabytes} MB")
        counts = re.search(r"sonde: ([\d,]+) events recorded, ([\d,]+) lost",
                           done.stderr)
        check(counts, done.stderr)
        check_equal(sum(int(c.replace(",", "")) for c in counts.groups()),
                    6000000, "events")
        check("quarter" not in done.stderr, done.stderr)


@test
def more_memory_than_the_control_group_has_is_warned_of():
    done = record_in_group(64, "--memory", "48M")
    check("--memory 48M is more than a quarter of" in done.stderr, done.stderr)


# ---- who didn't come ----

# Lives until its input ends: long enough to be seen.
STAY = r"""
#include <sonde/tracepoint.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	char c;

	sonde_event(sandbox, stay, 1);
	puts("to the end");
	fflush(stdout);
	return read(0, &c, 1) == 1 ? 0 : 1;
}
"""


def record_until_seen(*command, options=(), **more):
    """Records COMMAND, whose program reads a byte after a while. What the
    recorder can't be asked is when it has looked: it does so 50 times a
    second, and gets one second."""
    directory = scratch() / "trace"
    process = subprocess.Popen(
        [SONDE, "record", *options, "-o", directory, "--",
         *map(str, command)], text=True, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
    check_equal(process.stdout.readline(), "to the end\n", "output")
    wait_for_cpu_time(process.pid)
    out, err = process.communicate("x")
    check_equal((process.returncode, out), (0, ""), err)
    return err


def wait_for_cpu_time(front):
    """Until the recorder has run ten times since now: it has looked."""
    children = pathlib.Path(f"/proc/{front}/task/{front}/children")
    recorder = [pid for pid in children.read_text().split() if
                pathlib.Path(f"/proc/{pid}/comm").read_text() ==
                "sonde-recorder\n"]
    check_equal(len(recorder), 1, "recorders")
    status = pathlib.Path(f"/proc/{recorder[0]}/schedstat")

    def runs():
        return int(status.read_text().split()[2])

    before = runs()
    while runs() < before + 10:
        os.sched_yield()


def check_missed(err, name, reason):
    check(f"{name} (pid " in err and "is not recorded: " in err and
          reason in err, err)
    check("sonde: recorded 0 of at least 1 process" in err, err)


@test
def a_process_without_the_session_in_its_environment_is_named():
    err = record_until_seen("env", "-i", build(STAY, name="stays"))
    check_missed(err, "stays", "no SONDE_SESSION")


@test
def a_process_under_a_filter_of_its_own_is_named():
    skip_if_sanitized("the sanitizers make system calls")
    err = record_until_seen(*caged("none", build(STAY, name="stays")))
    check_missed(err, "stays", "SONDE_SECCOMP=allow")


@test
def a_static_process_is_named_where_calls_are_hooked():
    skip_if_sanitized("no static executables")
    source = STAY.replace("#include <sonde/tracepoint.h>", "").replace(
        "sonde_event(sandbox, stay, 1);", "")
    directory = scratch()
    (directory / "stays.c").write_text(source)
    check_equal(run("gcc", "-static", "-o", directory / "stays",
                    directory / "stays.c").returncode, 0, "gcc")
    err = record_until_seen(directory / "stays", options=["--malloc"])
    check_missed(err, "stays", "static")
    # Without hooks it is no loss.
    err = record_until_seen(directory / "stays")
    check("is not recorded" not in err and "at least" not in err, err)


@test
def a_set_user_id_process_is_named():
    if os.geteuid() != 0:
        raise Skip("needs root to be safe")
    skip_if_sanitized("the search for leaks needs ptrace")
    program = build(STAY, name="stays")
    os.chown(program, 65534, 65534)
    os.chmod(program, 0o4755)
    for part in pathlib.Path(program).parents:
        if part.owner() == "root" and not part.stat().st_mode & 0o001:
            part.chmod(0o711)
    err = record_until_seen(program)
    check_missed(err, "stays", "set-user-ID")


@test
def who_is_recorded_is_not_named():
    program = build(STAY, name="stays")
    err = record_until_seen("sh", "-c", f"true; sleep 0 & exec {program}")
    check("is not recorded" not in err and "at least" not in err, err)
    skip_if_sanitized("the library can't be preloaded")
    err = record_until_seen("sh", "-c", f"true; sleep 0 & exec {program}",
                            options=["--locks"])
    check("is not recorded" not in err and "at least" not in err, err)


install()
main()
