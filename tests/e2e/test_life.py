#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_life.py - what happens to a process in its life changes nothing: fork,
exec, threads, plugins, closed descriptors, chroot, other users."""

import os
import pathlib
import shutil
import subprocess

from sonde import (Skip, build, check, install, record, record_ok,
                   scratch, skip_if_sanitized)
from harness import check_equal, main, test

HEAD = r"""
#define _GNU_SOURCE
#include <sonde/tracepoint.h>
#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void mark(const char *where, int n)
{
	int pid = getpid();

	sonde_event(life, mark, where, n, pid);
}

static int wait_for(int pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		;
	return status;
}
"""


def marks(trace):
    return [(e["where"], e["n"]) for e in trace.events("life:mark")]


def body(text, *flags, **more):
    return build(HEAD + "int main(int argc, char **argv)\n{\n" + text +
                 "\n\treturn 0;\n}\n", "-Wno-unused", *flags, **more)


@test
def a_child_of_fork_is_recorded_as_itself():
    trace = record_ok(body(r"""
	mark("parent", 1);
	int pid = fork();
	if (pid == 0) {
		mark("child", 2);
		_exit(0);
	}
	wait_for(pid);
	mark("parent", 3);
"""))
    check_equal(marks(trace), [("parent", 1), ("child", 2), ("parent", 3)],
                "marks")
    events = trace.events("life:mark")
    check_equal([e.pid for e in events], [e["pid"] for e in events], "pids")
    check(events[0]["pid"] != events[1]["pid"], "one process only")


@test
def a_grandchild_that_outlives_its_parent_is_recorded():
    trace = record_ok(body(r"""
	int gate[2];
	char c;
	if (pipe(gate))
		return 1;
	int pid = fork();
	if (pid == 0) {
		if (fork() == 0) {
			close(gate[1]);
			if (read(gate[0], &c, 1))
				_exit(1);
			mark("orphan", 1);
		}
		_exit(0);
	}
	wait_for(pid);
	mark("parent", 2);
"""))
    check_equal(sorted(marks(trace)), [("orphan", 1), ("parent", 2)], "marks")


@test
def a_program_started_by_exec_is_recorded():
    trace = record_ok(body(r"""
	if (argc > 1) {
		mark("after", 2);
		return 0;
	}
	mark("before", 1);
	execl("/proc/self/exe", argv[0], "again", NULL);
	return 1;
"""))
    check_equal(marks(trace), [("before", 1), ("after", 2)], "marks")


@test
def programs_started_by_vfork_and_exec_are_recorded():
    trace = record_ok(body(r"""
	if (argc > 1) {
		mark("child", 2);
		return 0;
	}
	mark("parent", 1);
	int pid = vfork();
	if (pid == 0) {
		execl("/proc/self/exe", argv[0], "again", NULL);
		_exit(1);
	}
	wait_for(pid);
	mark("parent", 3);
"""))
    check_equal(marks(trace), [("parent", 1), ("child", 2), ("parent", 3)],
                "marks")


@test
def a_shell_s_children_are_recorded():
    program = body('mark("child", argc);')
    trace = record_ok("sh", "-c", f"{program}; {program} x | cat; {program} x y")
    check_equal(marks(trace), [("child", 1), ("child", 2), ("child", 3)],
                "marks")


@test
def a_child_of_a_raw_clone_is_recorded():
    trace = record_ok(body(r"""
	mark("parent", 1);
	int pid = (int)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0) {
		sonde_event(life, raw, argc);
		_exit(0);
	}
	wait_for(pid);
	mark("parent", 2);
"""))
    check_equal(marks(trace), [("parent", 1), ("parent", 2)], "marks")
    check_equal(len(trace.events("life:raw")), 1, "the child's events")


@test
def threads_are_told_apart():
    trace = record_ok(build(HEAD + r"""
static void *thread(void *arg)
{
	int tid = gettid(), n = (int)(long)arg;

	for (int i = 0; i < 1000; i++)
		sonde_event(life, thread, tid, n, i);
	if (n & 1)
		pthread_exit(NULL);
	return NULL;
}

int main(void)
{
	pthread_t threads[8];

	for (long i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, thread, (void *)i);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
""", "-Wno-unused"))
    events = trace.events("life:thread")
    check_equal(len(events), 8000, "events")
    check(all(e.tid == e["tid"] for e in events), "a wrong thread")
    for n in range(8):
        check_equal([e["i"] for e in events if e["n"] == n],
                    list(range(1000)), f"sequence of thread {n}")


PLUGIN = r"""
#include <sonde/tracepoint.h>
void plugin(int n);
void plugin(int n)
{
	sonde_event(plugin, called, n);
}
"""


@test
def a_plugin_is_recorded_and_may_be_unloaded_and_loaded_again():
    plugin = build(PLUGIN, "-shared", "-fPIC", name="plugin.so")
    program = body(r"""
	for (int i = 0; i < 3; i++) {
		void *handle = dlopen(argv[1], RTLD_NOW);
		if (!handle)
			return puts(dlerror()), 1;
		((void (*)(int))dlsym(handle, "plugin"))(i);
		dlclose(handle);
		mark("closed", i);
	}
""")
    trace = record_ok(program, plugin)
    check_equal([e.get("n") for e in trace.events()], [0, 0, 1, 1, 2, 2], "n")


@test
def a_plugin_of_a_program_without_tracepoints_is_recorded():
    plugin = build(PLUGIN, "-shared", "-fPIC", name="plugin.so")
    program = build(r"""
#include <dlfcn.h>
int main(int argc, char **argv)
{
	void *handle = dlopen(argv[argc - 1], RTLD_NOW);

	((void (*)(int))dlsym(handle, "plugin"))(5);
	return 0;
}
""", "-Wl,--as-needed")
    trace = record_ok(program, plugin)
    check_equal([e["n"] for e in trace.events("plugin:called")], [5], "n")


@test
def a_static_executable_is_recorded():
    skip_if_sanitized("no static executables")
    trace = record_ok(body('mark("static", 1);', static=True))
    check_equal(marks(trace), [("static", 1)], "marks")


@test
def closing_every_descriptor_does_not_disturb():
    trace = record_ok(body(r"""
	mark("before", 1);
	closefrom(3);
	mark("after", 2);
	for (int fd = 3; fd < 100; fd++)
		close(fd);
	if (fork() == 0) {
		mark("child", 3);
		_exit(0);
	}
	wait(NULL);
	mark("end", 4);
"""))
    check_equal([n for _, n in marks(trace)], [1, 2, 3, 4], "marks")


@test
def the_program_s_descriptors_are_numbered_as_without_sonde():
    program = body(r"""
	mark("open", 1);
	printf("%d\n", dup(0));
""")
    check_equal(record(program).out, "3\n", "first free descriptor")


@test
def a_program_that_changes_its_root_is_recorded():
    if os.geteuid() != 0:
        raise Skip("chroot needs root")
    skip_if_sanitized("the leak sanitizer wants /proc at the end")
    trace = record_ok(body(r"""
	mark("before", 1);
	if (chroot("/proc/self/fdinfo") || chdir("/"))
		return 1;
	mark("after", 2);
	if (fork() == 0) {
		mark("child", 3);
		_exit(0);
	}
	wait(NULL);
"""))
    check_equal([n for _, n in marks(trace)], [1, 2, 3], "marks")


@test
def a_program_started_in_a_chroot_runs_unrecorded():
    if os.geteuid() != 0:
        raise Skip("chroot needs root")
    skip_if_sanitized("no static executables")
    root = scratch()
    shutil.copy(body('mark("inside", 1); puts("ran");', static=True),
                root / "program")
    done = record("chroot", root, "/program")
    check_equal((done.status, done.out), (0, "ran\n"), "outcome")


@test
def a_program_that_changes_its_user_is_recorded():
    if os.geteuid() != 0:
        raise Skip("setuid needs root")
    trace = record_ok(body(r"""
	mark("before", 1);
	if (setgroups(0, NULL) || setgid(65534) || setuid(65534))
		return 1;
	mark("after", 2);
	if (fork() == 0) {
		mark("child", 3);
		_exit(0);
	}
	wait(NULL);
"""))
    check_equal([n for _, n in marks(trace)], [1, 2, 3], "marks")


@test
def a_program_without_home_and_shared_memory_is_recorded():
    program = body('mark("bare", 1);')
    trace = record_ok("env", "-u", "HOME", "-u", "XDG_RUNTIME_DIR",
                      "TMPDIR=/nowhere", program)
    check_equal(marks(trace), [("bare", 1)], "marks")


@test
def fifty_processes_forking_are_recorded_completely():
    trace = record_ok(body(r"""
	for (int i = 0; i < 50; i++)
		if (fork() == 0) {
			for (int n = 0; n < 100; n++)
				mark("child", i * 100 + n);
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
"""), options=["--memory", "16M"])
    check_equal(sorted(n for _, n in marks(trace)), list(range(5000)), "marks")


@test
def a_library_with_tracepoints_is_recorded_with_its_program():
    library = build(PLUGIN, "-shared", "-fPIC", name="libplugin.so")
    where = pathlib.Path(library).parent
    program = body("""
	extern void plugin(int);
	plugin(1);
	mark("program", 2);
""", library, f"-Wl,-rpath,{where}")
    trace = record_ok(program)
    check_equal([e["n"] for e in trace.events()], [1, 2], "n")


@test
def the_program_runs_on_where_its_session_is_gone():
    program = body('mark("alone", 1); puts("ran");')
    # gone, of an older recorder, and nothing that could be one
    for session in ("/run/sonde/s0123", "sonde-1-0123456789abcdef",
                    "/" + "x" * 200, "/dev/null", "/tmp"):
        env = {**os.environ, "SONDE_SESSION": session}
        done = subprocess.run([program], env=env, capture_output=True,
                              text=True, timeout=120)
        check_equal((done.returncode, done.stdout), (0, "ran\n"), session)


install()
main()
