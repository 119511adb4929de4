#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_robust.py - what a process, a signal, a limit or a second recording may
do to one recording: at most its own part is missing, and the summary says so.
"""

import contextlib
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import sys
import time

from sonde import SONDE, Trace, build, check, install, record, scratch
from harness import Skip, check_equal, main, test
from robust import EVENTS, read_stat, recorder_of, summary, until

def emitter(text="emit(100);"):
    return build(EVENTS + "int main(int argc, char **argv)\n{\n" + text +
                 "\n\treturn 0;\n}\n", "-Wno-unused")


def start(directory, *command, options=(), **more):
    return subprocess.Popen(
        [SONDE, "record", *options, "-o", str(directory), "--",
         *map(str, command)], text=True, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


# ---- in the program: python3 THIS ROLE ARGS ----

def connect():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(os.environ["SONDE_SESSION"])
    return s


def nonsense(s):
    """Says something that is no hello; the recorder's answer."""
    try:
        s.send(b"x")
        return s.recv(64)
    except OSError:
        return b""


def role_crowd():
    first = connect()
    for _ in range(100):
        with connect() as other:
            check(nonsense(other), "no answer to another")
    check(nonsense(first), "the first had to go")


def role_silent():
    silent = [connect() for _ in range(100)]
    with connect() as last:
        check(nonsense(last), "no answer to the last")
    check(not nonsense(silent[0]), "the first is still there")


def role_flood(program):
    """Peers that take all descriptors the recorder has, and then go."""
    children = []
    for _ in range(15):
        ready, done = os.pipe(), os.pipe()
        if not os.fork():
            os.close(done[1])
            silent = [connect() for _ in range(4)]
            os.write(ready[1], b"x")
            os.read(done[0], len(silent))
            os._exit(0)
        os.close(done[0])
        os.read(ready[0], 1)
        os.close(ready[0])
        os.close(ready[1])
        children.append(done[1])
    with connect() as turned_away:
        check(not nonsense(turned_away), "there was a descriptor")
    for child in children:
        os.close(child)
    for _ in children:
        os.wait()
    subprocess.run([program], check=True)


def role_killed(program):
    """A process that ends while the recorder doesn't answer."""
    recorder = recorder_of(os.getppid())
    os.kill(recorder, signal.SIGSTOP)
    until(lambda: read_stat(recorder)[1] == "T")
    child = subprocess.Popen([program])
    # Once it sleeps with its socket, it has said hello.
    def waits():
        links = pathlib.Path(f"/proc/{child.pid}/fd")
        with contextlib.suppress(OSError):
            return (read_stat(child.pid)[1] == "S" and
                    any(os.readlink(f).startswith("socket:")
                        for f in links.iterdir()))
        return False
    until(waits)
    child.kill()
    child.wait()
    os.kill(recorder, signal.SIGCONT)
    subprocess.run([program], check=True)


def role_hang():
    recorder = recorder_of(os.getppid())
    os.kill(recorder, signal.SIGSTOP)
    until(lambda: read_stat(recorder)[1] == "T")


def role_limits(program):
    print(resource.getrlimit(resource.RLIMIT_NOFILE)[0],
          resource.getrlimit(resource.RLIMIT_FSIZE)[0],
          signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN, flush=True)
    subprocess.run([program])


def role(*words):
    return sys.executable, os.path.abspath(__file__), "role", *words


# ---- processes that come and go ----

@test
def a_process_that_ended_while_it_waited_is_not_recorded():
    done = record(*role("killed", emitter()), options=["--json"])
    check_equal(done.status, 0, done.err)
    told = summary(done)
    check_equal(told["processes"], 1, "processes")
    check_equal(told["processes_refused"], 1, "refused")
    check("did not wait" in told["notes"][0], told["notes"])
    check_equal(done.trace().count("robust:event"), 100, "events")


@test
def a_peer_that_is_slow_keeps_its_place_while_others_come_and_go():
    done = record(*role("crowd"), options=["--json"])
    check_equal(done.status, 0, done.err)
    # All of one process, and all for one reason.
    check_equal(summary(done)["processes_refused"], 1, "refused")


@test
def silent_peers_make_room_oldest_first_and_are_counted():
    done = record(*role("silent"), options=["--json"])
    check_equal(done.status, 0, done.err)
    # One process: it was silent, and it spoke nonsense.
    told = summary(done)
    check_equal(told["processes_refused"], 2, "refused")
    check("said nothing" in told["notes"][0], told["notes"])


# ---- limits ----

def limited(*limits):
    """For preexec_fn: (resource, soft, hard); None stays."""
    def apply():
        for what, soft, hard in limits:
            old = resource.getrlimit(what)[1]
            resource.setrlimit(what, (soft, old if hard is None else hard))
    return apply


@test
def soft_limits_bind_the_program_and_not_the_recorder():
    done = record(
        *role("limits", emitter("emit(10);")), preexec_fn=limited(
            (resource.RLIMIT_NOFILE, 32, None),
            (resource.RLIMIT_FSIZE, 16 << 20, None)))
    check_equal(done.status, 0, done.err)
    check_equal(done.out.split(), ["32", str(16 << 20), "False"], "limits")
    check_equal(done.trace().count("robust:event"), 10, "events")


@test
def processes_beyond_the_descriptors_are_refused_and_nothing_else_is_lost():
    program = emitter(r"""
	int pipes[2], said[2];
	char c;

	if (argc > 1) {
		emit(10);
		write(1, "x", 1);
		read(0, &c, 1);
		return 0;
	}
	if (pipe(pipes) || pipe(said))
		return 1;
	dup2(pipes[0], 0);
	dup2(said[1], 1);
	for (int i = 0; i < 30; i++)
		if (!fork()) {
			close(pipes[1]);
			execl(argv[0], argv[0], "child", NULL);
			_exit(1);
		}
	emit(10);
	for (int i = 0; i < 30; i++) /* all have been here */
		read(said[0], &c, 1);
	close(pipes[1]);
""")
    done = record(program, options=["--json"],
                  preexec_fn=limited((resource.RLIMIT_NOFILE, 40, 40)))
    check_equal(done.status, 0, done.err)
    told = summary(done)
    check(told["processes"] > 0, "nobody was recorded")
    check(told["processes_refused"] > 0, "nobody was refused")
    check_equal(told["processes"] + told["processes_refused"], 31, "all")
    check(any("ulimit -n" in note for note in told["notes"]), told["notes"])
    check_equal(told["events_recorded"] + told["events_lost"],
                10 * told["processes"], "events")
    check_equal(done.trace().count("robust:event"), told["events_recorded"],
                "events in the trace")


@test
def peers_beyond_the_descriptors_are_turned_away_and_do_no_harm():
    done = record(*role("flood", emitter()), options=["--json"],
                  preexec_fn=limited((resource.RLIMIT_NOFILE, 40, 40)))
    check_equal(done.status, 0, done.err)
    told = summary(done)
    check_equal(told["processes"], 1, "processes")
    check(any("ulimit -n" in note for note in told["notes"]), told["notes"])
    check_equal(done.trace().count("robust:event"), 100, "events")


@test
def a_limit_on_files_that_is_too_small_is_named():
    done = record(emitter(), options=["--memory", "1G"], preexec_fn=limited(
        (resource.RLIMIT_FSIZE, 64 << 20, 64 << 20)))
    check_equal(done.status, 0, done.err)
    check("ulimit -f" in done.err, done.err)


@test
def memory_that_can_never_do_is_refused_with_what_would():
    if os.cpu_count() < 2:
        raise Skip("one CPU needs little")
    done = record("true", options=["--mode", "overwrite", "--memory", "64k",
                                   "--subbuf", "8k"])
    check_equal(done.status, 2, done.err)
    more = re.search(r"--memory (\d+[kMG])", done.err)
    check(more, done.err)
    done = record("true", options=["--mode", "overwrite", "--memory",
                                   more[1], "--subbuf", "8k"])
    check_equal(done.status, 0, done.err)


# ---- signals ----

@test
def signals_for_the_whole_group_do_not_end_the_recording():
    program = emitter(r"""
	static const int signals[] = { SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM,
		SIGPROF, SIGIO, SIGPIPE, SIGHUP, SIGWINCH, SIGCONT };

	emit(50);
	for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		signal(signals[i], SIG_IGN);
		if (signals[i] != SIGHUP)
			kill(0, signals[i]);
	}
	for (int n = SIGRTMIN; n <= SIGRTMAX; n++) {
		signal(n, SIG_IGN);
		kill(0, n);
	}
	emit(50);
""")
    done = record(program, start_new_session=True)
    check_equal(done.status, 0, done.err)
    check_equal(done.trace().count("robust:event"), 100, "events")


@test
def ignored_child_signals_do_not_hide_the_end_of_the_program():
    done = record(*role("limits", emitter()), preexec_fn=lambda: signal.signal(
        signal.SIGCHLD, signal.SIG_IGN))
    check_equal(done.status, 0, done.err)
    check(done.out.endswith("True\n"), f"the program saw: {done.out}")


def is_pending(pid, number):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    mask = int(re.search(r"ShdPnd:\s*(\w+)", text)[1], 16)
    return mask >> (number - 1) & 1


@test
def nohup_is_honoured():
    directory = scratch() / "trace"
    front = start(directory, emitter(
        'puts("here"); fflush(stdout); getchar(); emit(100);'),
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    check_equal(front.stdout.readline(), "here\n", "the program's word")
    for _ in range(2):
        front.send_signal(signal.SIGHUP)
        until(lambda: not is_pending(front.pid, signal.SIGHUP))
    err = front.communicate("\n")[1]
    check_equal(front.returncode, 0, err)
    check_equal(Trace(directory).count("robust:event"), 100, "events")


@test
def a_recorder_that_hangs_can_be_killed_by_signals():
    front = start(scratch() / "trace", *role("hang"))
    # More than two do no harm: some come before the front end asks for the end.
    while front.poll() is None:
        if "T" in [stat[1] for stat in children(front.pid)]:
            front.send_signal(signal.SIGTERM)
        time.sleep(0.01)
    err = front.stderr.read()
    check("still writing" in err and "was killed" in err, err)


def children(pid):
    stats = [read_stat(path.name) for path in pathlib.Path("/proc").iterdir()
             if path.name.isdigit()]
    mine = [stat for stat in stats if stat and stat[2] == pid]
    return mine if len(mine) == 1 else []  # the program has been reaped


# ---- directories ----

@test
def a_directory_of_the_users_stays_when_the_program_does_not_start():
    bad = scratch() / "program"
    bad.write_text("#!/no/such/interpreter\n")
    bad.chmod(0o755)
    directory = scratch()
    done = subprocess.run([SONDE, "record", "-o", str(directory), str(bad)],
                          stderr=subprocess.PIPE, text=True)
    check_equal(done.returncode, 127, done.stderr)
    check(directory.is_dir(), "it is gone")
    check_equal(os.listdir(directory), [], "what is in it")
    directory.rmdir()
    subprocess.run([SONDE, "record", "-o", str(directory), str(bad)],
                   stderr=subprocess.DEVNULL)
    check(not directory.exists(), "what we made is still there")


@test
def recordings_of_the_same_second_get_directories_of_their_own():
    where = scratch()
    runs = [subprocess.Popen([SONDE, "record", "-q", "true"], cwd=where,
                             stderr=subprocess.PIPE, text=True)
            for _ in range(6)]
    for run in runs:
        err = run.communicate()[1]
        check_equal(run.returncode, 0, err)
    check_equal(len(os.listdir(where)), 6, "traces")


@test
def a_time_stamp_counter_that_the_kernel_gives_up_is_told():
    """The program puts another file in the place of what says so."""
    where = ("/sys/devices/system/clocksource/clocksource0/"
             "current_clocksource")
    if os.geteuid() != 0 or pathlib.Path(where).read_text() != "tsc\n":
        raise Skip("needs root, and a kernel that trusts the counter")
    other = scratch() / "clocksource"
    other.write_text("hpet\n")
    for command, unstable in (("true", False),
                              (f"mount --bind {other} {where}", True)):
        done = subprocess.run(
            ["unshare", "--mount", SONDE, "record", "-o", scratch() / "trace",
             "--", "sh", "-c", command], text=True, stderr=subprocess.PIPE)
        check_equal(done.returncode, 0, done.stderr)
        check_equal("became unstable" in done.stderr, unstable, done.stderr)


@test
def an_option_is_not_taken_for_a_value():
    for words in (["-o", "--", "true"], ["-o", "--quiet", "true"]):
        done = subprocess.run([SONDE, "record", *words], cwd=scratch(),
                              stderr=subprocess.PIPE, text=True)
        check_equal(done.returncode, 2, done.stderr)
        check("needs a value" in done.stderr, done.stderr)


if sys.argv[1:2] == ["role"]:
    globals()["role_" + sys.argv[2]](*sys.argv[3:])
    sys.exit(0)
install()
main()
