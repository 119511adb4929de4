#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_function_probes.py - `sonde record -p PID --functions=GLOB`: functions of
optimised programs that know nothing of Sonde. Counts are gdb's or gcov's, entries
and exits pair, outputs are those of runs without us, and what can't be recorded is
told. Programs wait for a line of input, so that all they do is recorded."""

import collections
import json
import pathlib
import shutil
import socket as socket_module
import subprocess

from sonde import (SONDE, Trace, build, check, install, record, run,
                   scratch)
from attached import Attached, refusal
from called import JUMPS, THROWS, Waiting, launched, paired, whole
from harness import Skip, check_equal, main, test
from obedient import TIMEOUT

CALLS = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int odd(int n);
int even(int n) { return n ? odd(n - 1) : 1; }
int odd(int n) { return n ? even(n - 1) : 0; }
int order(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}
void never(void) { abort(); }
void nothing(void) { }
int rare(int n)
{
	if (__builtin_expect(n > 90, 0)) {
		printf("%d is much\n", n);
		if (n == 1000)
			never();
	}
	return n * 3;
}
int choose(int n)
{
	switch (n) {
	case 0: return fib(3);
	case 1: return rare(n);
	case 2: nothing(); return 7;
	case 3: return strlen("four") + rare(95);
	case 4: return even(n);
	case 5: return 11;
	default: return odd(n);
	}
}
int main(void)
{
	int list[500], sum = 0;
	char line[80];

	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (int i = 0; i < 500; i++)
		list[i] = (i * 7919) % 1009;
	qsort(list, 500, sizeof(*list), order);
	for (int i = 0; i < 100; i++)
		sum += choose(i % 9) + rare(i);
	printf("%d %d %d %d\n", fib(15), even(200), list[3], sum);
	return 0;
}
"""

# Functions that end with a jump to another one.
TAILS = r"""
#include <stdio.h>
#include <string.h>
#define APART __attribute__((noinline, noclone, noipa))
APART int last(int n) { return n + 1; }
APART int middle(int n) { return last(n * 2); }
APART int first(int n) { return middle(n + 3); }
APART size_t length(const char *text) { return strlen(text); }
APART int down(int n) { return n ? down(n - 1) : 0; }
int main(void)
{
	char line[80];
	size_t sum = 0;

	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (int i = 0; i < 50; i++)
		sum += first(i) + length(line) + down(i);
	printf("%zu\n", sum);
	return 0;
}
"""

# A function in two parts, of which one jumps to the other's end.
SPLIT = r"""
#include <stdio.h>
__asm__(".text\n"
	".type split, @function\n"
	"split: .cfi_startproc\n"
	"push %rbx\n"
	".cfi_def_cfa_offset 16\n"
	"mov %edi, %eax\n"
	"sub $16, %rsp\n"
	".cfi_def_cfa_offset 32\n"
	"test $1, %edi\n"
	"jne split_far\n"
	"split_back: add $16, %rsp\n"
	".cfi_def_cfa_offset 16\n"
	"pop %rbx\n"
	".cfi_def_cfa_offset 8\n"
	"ret\n"
	".cfi_endproc\n"
	".size split, . - split\n"
	".section .text.unlikely, \"ax\", @progbits\n"
	".skip 4096, 0x90\n"
	"split_far: .cfi_startproc\n"
	".cfi_def_cfa_offset 32\n"
	"add $1000, %eax\n"
	"jmp split_back\n"
	".cfi_endproc\n"
	".previous\n");
int split(int n);
int main(void)
{
	char line[80];
	int sum = 0;

	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (int i = 0; i < 100; i++)
		sum += split(i);
	printf("%d\n", sum);
	return 0;
}
"""

def gdb_counts(program, names, text="go\n"):
    """How often gdb's breakpoints at the very beginnings are hit."""
    if not shutil.which("gdb"):
        raise Skip("no gdb")
    directory = scratch()
    (directory / "input").write_text(text)
    words = []
    for name in names:
        words += ["-ex", f"break *{name}"]
    for number in range(1, len(names) + 1):
        words += ["-ex", f"ignore {number} 1000000"]
    done = subprocess.run(
        ["gdb", "-q", "-batch", "-nx", *words, "-ex",
         f"run < {directory}/input", "-ex", "info breakpoints",
         str(program)], capture_output=True, text=True, timeout=TIMEOUT,
        check=False)
    counts = collections.Counter()
    name = None
    for line in done.stdout.splitlines():
        if " in " in line or "<" in line:
            name = line.rpartition("<")[2].partition("+")[0].rstrip(">") \
                if "<" in line else line.partition(" in ")[2].split()[0]
        elif "already hit" in line:
            counts[name] = int(line.split()[3])
    check(counts, done.stdout + done.stderr)
    return dict(counts)


OWN = ("--functions=*", "--not=_*")


@test
def calls_are_as_many_as_gdb_counts():
    names = ["fib", "even", "odd", "order", "rare", "choose", "nothing"]
    program = build(CALLS, "-O2", "-fno-inline", "-fno-ipa-icf")
    recorded = Waiting([program], *(f"--functions={name}" for name in names))
    report, counts = recorded.report()
    paired(report)
    # A function may have no room for its probes.
    check(len(counts) >= len(names) - 2, recorded.said)
    check_equal(counts, gdb_counts(program, counts), "calls")


@test
def what_is_not_optimised_is_recorded_as_well():
    program = build(CALLS, "-O0")
    recorded = Waiting([program], *OWN)
    report, counts = recorded.report()
    names = sorted(set(counts) - {None})
    check({"fib", "order", "rare"} <= set(names), names)
    check_equal(counts, gdb_counts(program, names), "calls")
    paired(report, begun_before=1)  # main()


@test
def a_jump_to_another_function_ends_the_one_before():
    program = build(TAILS, "-O2")
    recorded = Waiting([program], "--functions=*", "--not=main",
                       "--not=_*")
    report, counts = recorded.report()
    paired(report)
    check_equal({name: counts.get(name)
                 for name in ("first", "middle", "last", "length")},
                {"first": 50, "middle": 50, "last": 50, "length": 50},
                "calls")


@test
def a_part_that_jumps_back_passes_by_no_end():
    program = build(SPLIT, "-O2")
    recorded = Waiting([program], "--functions=split")
    report, counts = recorded.report()
    check_equal((recorded.out, counts), ("54950\n", {"split": 100}), "calls")
    paired(report)


@test
def exceptions_leave_what_they_leave():
    program = build(THROWS, "-xc++", "-O2")
    recorded = Waiting([program], "--functions=*dive*",
                       "--functions=*attempt*")
    check_equal(recorded.out, "420 310\n", "output")
    report, counts = recorded.report()
    check_equal(sorted(counts.values()), [10, 310], "calls")
    check_equal([report[key] for key in ("left", "open", "unbegun")],
                [310, 0, 0], "not paired")


@test
def jumps_stacks_threads_and_signals():
    program = build(JUMPS, "-O2", "-pthread")
    recorded = Waiting([program], "--functions=*", "--not=main",
                       "--not=_*")
    report, counts = recorded.report()
    check_equal(recorded.out, "0\n", "the child")
    expected = {"pool": 3, "dive": 15, "other": 1, "work": 200,
                "handler": 200, "leaf": 3 + 2 + 200 * 101}
    check_equal({name: counts[name] for name in expected}, expected, "calls")
    # dive()'s that longjmp() left; nothing else.
    check_equal([report[key] for key in ("left", "unbegun")], [15, 0],
                "not paired")
    check("forked nothing is recorded" in recorded.said or
          "1 process" in recorded.said, recorded.said)


# What functions are given and return is known by the program's own text.
GIVEN = r"""
#include <stdio.h>
#define APART __attribute__((noinline, noclone, used))
enum colour { RED, GREEN = 5 };
struct pair { int a, b; };
struct large { long a[4]; };
static volatile long sink;
static char room[] = "written";
APART int mix(int a, unsigned char b, long c, const char *text,
	      enum colour d, _Bool e)
{
	sink += a + b + c + text[0] + d + e;
	return -a;
}
APART unsigned floats(double x, unsigned n, float y)
{
	sink += (long)(x + y);
	return n + 1;
}
APART int by_value(struct pair p, int after)
{
	sink += p.a + p.b;
	return after;
}
APART struct large hidden(long n)
{
	struct large l = { { n } };

	sink += n;
	return l;
}
APART const char *named(const char *first, char *second, void *addr)
{
	sink += (long)addr + (second ? second[0] : 0);
	return first ? first + 1 : "none";
}
APART int seven(int a, int b, int c, int d, int e, int f, int g)
{
	sink += a + b + c + d + e + f;
	return g;
}
APART void nothing(void)
{
	sink++;
}
APART long down(long n)
{
	long rest = n > 0 ? down(n - 1) : 0;

	sink += rest;
	return rest + n;
}
APART int last(short n)
{
	sink += n;
	return n * 2;
}
APART int jumps(short n)
{
	sink += n;
	return last(n + 1);
}
int main(void)
{
	char line[80];

	if (!fgets(line, sizeof(line), stdin))
		return 1;
	mix(-7, 200, 1L << 40, "a \"text\"\n", GREEN, 1);
	floats(1.5, 4000000000u, 2.5f);
	by_value((struct pair){ 1, 2 }, 77);
	hidden(3);
	puts(named("xyz", room, (void *)0x1234));
	puts(named(NULL, NULL, NULL));
	named((char *)8 + 8000, NULL, NULL);
	seven(1, 2, 3, 4, 5, 6, 7);
	nothing();
	printf("%ld\n", down(2));
	jumps(-5);
	return 0;
}
"""

# Name, what must be known, what may be, and the result.
GIVEN_CALLS = [
    ("mix", {"a": -7, "b": 200, "c": 1 << 40, "text": 'a "text"\n',
             "d": "GREEN"}, {"e": 1}, 7),
    ("floats", {"n": 4000000000}, {}, 4000000001),
    ("by_value", {}, {"after": 77}, 77),
    ("hidden", {}, {"n": 3}, None),
    ("named", {"first": "xyz", "addr_": 0x1234}, {}, "yz"),
    ("named", {"first": "(null)", "second": 0, "addr_": 0}, {}, "none"),
    ("named", {"first": "(bad)", "second": 0, "addr_": 0}, {}, "(bad)"),
    ("seven", {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6}, {}, 7),
    ("nothing", {}, {}, None),
    ("down", {"n": 2}, {}, 3), ("down", {"n": 1}, {}, 1),
    ("down", {"n": 0}, {}, 0),
    ("jumps", {"n": -5}, {}, -8), ("last", {"n": -4}, {}, -8)]


def calls_of(directory, *options):
    """Calls as print's tree has them, in the order of their beginnings."""
    done = run(SONDE, "print", "--tree", "--json", *options, directory)
    check_equal(done.returncode, 0, done.stderr)
    calls = [json.loads(line) for line in done.stdout.splitlines()]
    return sorted(calls, key=lambda c: (c["begin_ns"], c["depth"]))


def plain(value):
    return value["label"] if isinstance(value, dict) else value


def check_given(program):
    recorded = Waiting([program], *OWN, "--not=main", "--args")
    calls = calls_of(recorded.dir)
    names = [call["name"] for call in calls]
    wanted = [call for call in GIVEN_CALLS if call[0] in names]
    # A function may have no room for its probes, or a last one be jumped to.
    check(len({call[0] for call in wanted}) >= 7, recorded.said)
    check_equal(names, [call[0] for call in wanted], "calls")
    known = 0
    for call, (name, must, may, result) in zip(calls, wanted):
        args = {k: plain(v) for k, v in call.get("args", {}).items()}
        known += len(args)
        args.pop("second", None) if name == "named" and \
            must.get("second") is None else None
        for key, value in must.items():
            check_equal(args.pop(key, None), value, f"{name}: {key}")
        for key, value in args.items():
            check_equal(value, may[key], f"{name}: {key}")
        if name != "jumps" or "result" in call:
            check_equal(call.get("result"), result, f"{name}: result")
    check(known > 14, known)


@test
def what_functions_are_given_and_return_is_recorded():
    check_given(build(GIVEN, "-O0"))
    check_given(build(GIVEN, "-O2"))


@test
def what_they_are_given_is_known_of_clangs_code_too():
    if not shutil.which("clang"):
        raise Skip("no clang")
    check_given(build(GIVEN, "-O0", compiler="clang"))
    check_given(build(GIVEN, "-O2", compiler="clang"))


# A call that longjmp() leaves, and one of the same function in its place.
LEFT = r"""
#include <setjmp.h>
#include <stdio.h>
#define APART __attribute__((noinline, noclone, used))
static jmp_buf back;
static volatile int sink;
APART int leaves(int n)
{
	sink += n;
	if (n == 1)
		longjmp(back, 1);
	sink++;
	return n;
}
int main(void)
{
	char line[80];

	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (volatile int i = 0; i < 10; i++) {
		if (!setjmp(back))
			leaves(1);
		leaves(2);
	}
	return 0;
}
"""


def called_if(program, *rules, said=""):
    recorded = Waiting([program], *(f"--functions={rule}" for rule in rules),
                       "--args")
    check(said in recorded.said, recorded.said)
    return [(call["name"], call.get("result"))
            for call in calls_of(recorded.dir)]


@test
def calls_are_recorded_under_a_condition_on_what_they_are_given():
    for level in ("-O0", "-O2"):
        program = build(GIVEN, level)
        for rule, calls in (
                ("down if n == 1", [("down", 1)]),
                ("down if n != 1", [("down", 3), ("down", 0)]),
                ('mix if d == "GREEN" && c > 1 << 39', [("mix", 7)]),
                ("floats if n > 3000000000", [("floats", 4000000001)])):
            check_equal(called_if(program, rule), calls, rule)
    check_equal(called_if(program, 'named if first == "x*"'),
                [("named", "yz")], "a text")
    check_equal(called_if(program, "down", "nothing if 1", "down if n == 0"),
                [("nothing", None), ("down", 0)], "the last one decides")


@test
def a_condition_on_what_is_not_known_leaves_a_function_out():
    check_equal(called_if(build(GIVEN, "-O0"), "down if n == 1",
                          "nothing if n == 1", said="it names what isn't"),
                [("down", 1)], "calls")
    said = refusal("--functions=down if n >", "--", build(GIVEN, "-O0"))
    check("--functions" in said and "n >" in said, said)


@test
def what_a_wanted_call_left_is_no_other_calls_end():
    recorded = Waiting([build(LEFT, "-O0")], "--functions=leaves if n == 1")
    trace = Trace(recorded.dir)
    check_equal((len(trace.events("function:entry")),
                 len(trace.events("function:exit"))), (10, 0), "events")
    recorded = Waiting([build(LEFT, "-O0")], "--functions=leaves if n == 2")
    trace = Trace(recorded.dir)
    check_equal((len(trace.events("function:entry")),
                 len(trace.events("function:exit"))), (10, 10), "events")


def debian(name):
    path = pathlib.Path("/usr/bin") / name
    if not path.exists():
        raise Skip(f"no {path}")
    return path


def real(program, *words, text, options=("--functions=*",), least=1000):
    recorded = Waiting([debian(program), *words], *options, text=text)
    report, _ = recorded.report()
    check_equal(report["left"], 0, "left")
    check(report["unbegun"] <= 40, report["unbegun"])
    check(report["calls"] >= least, report["calls"])


@test
def bash_is_recorded_function_by_function():
    real("bash", "-c", "read x; for ((i = 0; i < 300; i++)); do "
         "y=$((y + i)); z=\"$z${y//1/2}\"; done; echo ${#z} $y", text="go\n")


@test
def python_is_recorded_function_by_function():
    real("python3", "-c", "input(); print(sum(len(str([i])) "
         "for i in range(2000)))", text="go\n")


@test
def sqlite_is_recorded_function_by_function():
    real("sqlite3", ":memory:", options=["--functions=*@libsqlite3*"],
         text="create table t(a, b);\n" +
         "".join(f"insert into t values({i}, 'x{i}');\n"
                 for i in range(100)) +
         "select sum(a), max(b) from t where b like 'x%7';\n")


class Served:
    """A server, and what it answered untouched and recorded."""

    def __init__(self, words, ask, is_up, *options):
        self.answers = []
        for is_recorded in (False, True):
            server = subprocess.Popen(words, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
            while not is_up():
                check(server.poll() is None, "the server has ended")
            recording = Attached("-p", server.pid, "--memory", "256M",
                                 *options) if is_recorded else None
            self.answers.append(ask())
            if recording:
                summary = recording.end()
                self.dir = recording.dir
                self.said = "".join(recording.said)
                check_equal(summary["events_lost"], 0, self.said)
            check(server.poll() is None, "the server has ended")
            server.terminate()
            check_equal(server.wait(TIMEOUT), 0, "how the server ended")
        check_equal(self.answers[1], self.answers[0], "answers")

    def counts(self):
        done = run(SONDE, "report", "functions", "--json", "--limit", "9999",
                   self.dir)
        check_equal(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        check_equal(report["left"], 0, "left")
        # What its threads were in when the recording began.
        check(report["unbegun"] <= 40, report["unbegun"])
        return {row.get("function"): row["calls"]
                for row in report["functions"]}


def check_counts(counts, expected, said):
    """Of those that could be recorded: most can."""
    there = {name: counts[name] for name in expected if name in counts}
    check(2 * len(there) >= len(expected), said)
    check_equal(there, {name: expected[name] for name in there}, "calls")


@test
def redis_is_recorded_function_by_function():
    if not shutil.which("redis-server") or not shutil.which("redis-cli"):
        raise Skip("no redis-server (package redis-server, redis-tools)")
    directory = scratch()
    socket = f"{directory}/socket"
    commands = "".join(f"SET k{i} {i}\nINCR k{i}\nGET k{i}\nRPUSH l {i}\n"
                       f"HSET h f{i} {i}\nZADD z {i} m{i}\n"
                       for i in range(200))

    def cli(text):
        return subprocess.run(["redis-cli", "-s", socket], input=text,
                              text=True, capture_output=True, check=False)
    served = Served(
        ["redis-server", "--port", "0", "--unixsocket", socket, "--save", "",
         "--dir", str(directory)],
        lambda: cli(commands).stdout, lambda: cli("ping\n").stdout == "PONG\n",
        "--functions=*Command", "--functions=call")
    check_counts(served.counts(),
                 {f"{name}Command": 200 for name in
                  ("set", "incr", "get", "rpush", "hset", "zadd")},
                 served.said)


NGINX = """daemon off;
master_process off;
pid {0}/pid;
error_log {0}/error;
events {{ worker_connections 64; }}
http {{
	access_log off;
	client_body_temp_path {0}/1; proxy_temp_path {0}/2;
	fastcgi_temp_path {0}/3; uwsgi_temp_path {0}/4; scgi_temp_path {0}/5;
	server {{ listen unix:{0}/socket; root {0}; }}
}}
"""


def fetched(path, target):
    """What a server at that socket answers, but for its clock; None: none."""
    with socket_module.socket(socket_module.AF_UNIX) as client:
        try:
            client.connect(path)
        except OSError:
            return None
        client.sendall(f"GET {target} HTTP/1.0\r\n\r\n".encode())
        answer = b"".join(iter(lambda: client.recv(65536), b""))
    return [line for line in answer.split(b"\r\n")
            if not line.startswith(b"Date:")]


@test
def nginx_is_recorded_function_by_function():
    nginx = shutil.which("nginx") or "/usr/sbin/nginx"
    if not pathlib.Path(nginx).exists():
        raise Skip("no nginx (package nginx-light)")
    directory = pathlib.Path(scratch())
    directory.chmod(0o755)
    (directory / "conf").write_text(NGINX.format(directory))
    (directory / "page").write_text("line\n" * 5000)
    path = f"{directory}/socket"

    def ask():
        return [fetched(path, target) for _ in range(50)
                for target in ("/page", "/none")]
    # Nobody who attaches to each nginx means this one.
    program = shutil.copy(nginx, directory / "served")
    served = Served([program, "-c", directory / "conf", "-e",
                     directory / "error"], ask,
                    lambda: fetched(path, "/page"), "--functions=ngx_*")
    check_counts(served.counts(),
                 {"ngx_event_accept": 100, "ngx_http_create_request": 100,
                  "ngx_http_core_run_phases": 100,
                  "ngx_http_free_request": 100, "ngx_open_cached_file": 100},
                 served.said)


@test
def what_is_left_out_is_told():
    program = build(CALLS, "-O2", "-fno-inline")
    recorded = Waiting([program], "--functions=*", "--verbose")
    check("functions are recorded" in recorded.said, recorded.said)
    check("is not recorded: " in recorded.said, recorded.said)
    process = subprocess.Popen([program], stdin=subprocess.PIPE,
                               stdout=subprocess.DEVNULL)
    text = refusal("-p", process.pid, "--functions=no_such_*")
    check("no function of it is called so" in text, text)
    process.communicate(b"go\n", timeout=TIMEOUT)


STARTED = r"""
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#define APART __attribute__((noinline, noclone, noipa))
APART int leaf(int n) { return n + 1; }
__attribute__((constructor)) static void before(void) { leaf(1); }
APART int work(int n) { int s = 0; while (n--) s = leaf(s); return s; }
int main(int argc, char **argv)
{
	(void)argv;
	printf("%d\n", work(1000));
	fflush(stdout);
	if (argc > 1)
		kill(getpid(), SIGTERM);
	return 3;
}
"""


@test
def a_program_that_is_started_is_recorded_from_its_entry_on():
    program = build(STARTED, "-O2")
    recording, report, counts = launched(program, "--functions=*",
                                         "--not=_*", status=3)
    check_equal(recording.out, "1000\n", "output")
    check_equal({name: counts[name] for name in ("main", "leaf", "before")},
                {"main": 1, "leaf": 1001, "before": 1}, "calls")
    paired(report)


NEAR_AND_FAR = r"""
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#define APART __attribute__((noinline, noclone, noipa))
APART int work(int n) { return getenv("HOME") ? n + 1 : n; }
int main(void)
{
	int n = 0;

	for (int i = 0; i < 10000; i++)
		n = work(n);
	printf("%ju %ju\n", (uintmax_t)(uintptr_t)work,
	       (uintmax_t)(uintptr_t)dlsym(RTLD_DEFAULT, "getenv"));
	return 0;
}
"""


@test
def functions_of_the_program_and_of_a_library_take_8_bytes():
    program = build(NEAR_AND_FAR, "-O2", "-D_GNU_SOURCE", "-ldl")
    both = "--functions=work", "--functions=getenv@libc*"
    recording = record(program, options=["--memory", "64M", *both])
    check_equal(recording.status, 0, recording.err)
    work, library = map(int, recording.out.split())
    addrs = [event["addr"] for event in Trace(recording.dir).events()]
    check_equal(collections.Counter(map(whole, addrs)),
                {work: 20000, library: 20000}, "addresses")
    check(all(isinstance(addr, tuple) for addr in addrs), "all are numbers")
    size = sum(file.stat().st_size for file in recording.dir.glob("*_cpu*"))
    check(8 * 40000 <= size <= 9 * 40000, size)
    recording = record(program, options=["--memory", "64M", "--stack", *both])
    work, library = map(int, recording.out.split())
    addrs = [event["addr"] for event in Trace(recording.dir).events()]
    check_equal(collections.Counter(addrs), {work: 20000, library: 20000},
                "with stacks")


@test
def deep_and_short_calls_leave_nothing():
    program = build(STARTED, "-O2")
    own = ("--functions=*", "--not=_*")
    _, report, counts = launched(program, *own, "--depth=1", status=3)
    paired(report)
    # before() ends with a jump to leaf().
    check_equal(counts, {"main": 1, "before": 1, "leaf": 1}, "calls")
    check_equal(report["left_out"], 1000, "main()'s leaf()")
    recording = record(program, options=[*own, "--min-duration", "1h"])
    check_equal((recording.status, recording.out), (3, "1000\n"), "output")
    check("1003 calls were left out" in recording.err, recording.err)


@test
def a_signal_ends_it_as_it_would_without_us():
    program = build(STARTED, "-O2")
    recording, _, counts = launched(program, "--functions=leaf",
                                    words=["signal"], status=128 + 15)
    check_equal((recording.out, counts), ("1000\n", {"leaf": 1001}), "run")


@test
def a_program_without_such_functions_is_not_run():
    directory = scratch() / "trace"
    program = build(STARTED, "-O2")
    done = run(SONDE, "record", "-o", directory, "--functions=nothing_*",
               "--", program)
    check_equal((done.returncode, done.stdout), (1, ""), done.stderr)
    check("no function of it is called so" in done.stderr, done.stderr)
    check(not directory.exists(), "a trace is left")
    done = run(SONDE, "record", "-o", directory, "--functions=*", "--",
               "/nowhere/program")
    check_equal(done.returncode, 127, done.stderr)


@test
def allocations_and_functions_are_one_recording():
    program = build(CALLS.replace("fgets(line, sizeof(line), stdin)",
                                  "strcpy(malloc(80), line)"), "-O1")
    recording = record(program, options=["--malloc", "--functions=*",
                                         "--not=_*"])
    check_equal(recording.status, 0, recording.err)
    names = {event.name for event in Trace(recording.dir).events()}
    check({"malloc:malloc", "function:entry", "function:exit"} <= names,
          names)


@test
def words_that_do_not_go_together_are_refused():
    for words, said in (
            (["-p", "1", "--functions"], "--functions='GLOB'"),
            (["--functions=fib"], "say of what"),
            (["--not=fib", "--", "true"], "--not is of"),
            (["-p", "1", "--not=x"], "--not is of"),
            (["-p", "1", "--functions="], "name is missing")):
        done = run(SONDE, "record", *words)
        check_equal(done.returncode, 2, f"{words}: {done.stderr}")
        check(said in done.stderr, f"{words}: {done.stderr}")


install()
main()
