# SPDX-License-Identifier: MIT
"""page_things.py - what pages take for the reader's: ./server, which takes
requests; a server that runs, which is called nginx or shop; job.py; recordings.
"""

import os
import pathlib
import re
import shutil
import subprocess

from handmade import Handmade, Layout
from pages import (ELSEWHERE, all_pages, become_ordinary, blocks_of, environment,
                   follow, may_record_the_kernel)
from sonde import OPTIONS, PREFIX, ROOT, SONDE, build, run, scratch
from harness import Skip, check_equal, long_test

EXAMPLES = PREFIX / OPTIONS["datadir"] / "doc/sonde/examples"

SERVER = r"""
#include <sonde/tracepoint.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void http_request(int id)
{
	struct timespec pause = { 0, 300000 };
	int status = id % 10 ? 200 : 500;
	const char *path = "/index.html";
	unsigned long bytes = id * 20000L;
	char *volatile body = malloc(100), *volatile kept = malloc(16);

	pthread_mutex_lock(&lock);
	sonde_event(http, request, id, status, path, bytes);
	sonde_event_level(http, debug, SONDE_DEBUG, id);
	sonde_event(http, header, id);
	nanosleep(&pause, 0);
	pthread_mutex_unlock(&lock);
	free(body);
	(void)kept; /* a leak */
	sonde_event(http, done, id, status);
	if (status == 500)
		sonde_event(shop, refused, id);
}

/* With --on it serves for as long as it may. */
int main(int argc, char **argv)
{
	int nr = argc > 1 && !strcmp(argv[1], "--on") ? 1 << 30 : 100;

	for (int id = 0; id < nr; id++)
		http_request(id);
	return 0;
}
"""


def your_programs(place):
    """./server, job.py; on the PATH slowserver and controlloop."""
    (place / "bin").mkdir()
    shutil.copy(build(SERVER, "-finstrument-functions"), place / "server")
    for name in "slowserver", "controlloop":
        shutil.copy(build((EXAMPLES / f"{name}.c").read_text()),
                    place / "bin" / name)
    (place / "job.py").write_text("print(sum(range(1000)))\n")


def recorded(place, name, *command, options=("--malloc", "--locks")):
    done = run(SONDE, "record", "-q", *options, "-o", name, "--", *command,
               cwd=place)
    check_equal(done.returncode, 0, done.stderr)


def for_the_readme(place):
    """Recordings trace, before and after; what `make demo` has for sqlite3."""
    if not shutil.which("sqlite3"):
        raise Skip("no sqlite3")
    your_programs(place)
    demo = (ROOT / "tools/demo").read_text()
    rows = re.search(r"^rows\(\) \{\n.*?^\}\n", demo, re.M | re.S)[0]
    for name, index in (("sqlite", ""), ("indexed", "CREATE INDEX i ON t(name);")):
        sql = subprocess.check_output(
            ["sh", "-c", rows + f"rows 20000 '{index}'"], text=True)
        if name == "sqlite":
            os.environ["sql"] = sql
    (place / "sonde-demo").mkdir()
    recorded(place, "trace", "./server")
    recorded(place, "before", "./server")
    recorded(place, "sonde-demo/indexed", "sqlite3", "indexed.db", sql)
    shutil.copytree(place / "before", place / "after")


def examples(place):
    """A reader's copy of them."""
    shutil.copytree(EXAMPLES, place, dirs_exist_ok=True)


def servers(place):
    """Two that run, nginx and shop."""
    for name in "nginx", "shop":
        shutil.copy(place / "server", place / name)
        subprocess.Popen([place / name, "--on"], stdout=subprocess.DEVNULL)


# Recordings that manual pages and docs/filter.md have names for.
COPIES = ("after", "reference", "new", "TRACE", "long.trace",
          "t.trace", "web.trace")

# What filters in the pages name.
FIELDS = r"""
#include <sonde/tracepoint.h>

int main(void)
{
	unsigned char addresses[4] = { 127, 0, 0, 1 };

	for (int i = 0; i < 9; i++) {
		int ret = 1 - i % 3;

		sonde_event(made, switched, sonde_field(next_tid, i));
		sonde_event(made, call, ret, sonde_field(flags, 0x40),
			    sonde_field(mode, 0644));
		sonde_event(malloc, malloc, sonde_field(size, i * 16384));
		sonde_event(http, request, sonde_field(bytes, i * 1000000));
		sonde_event(made, packet, sonde_struct(hdr, sonde_struct(
			    ip, sonde_array(saddr, addresses, 4))));
	}
	return 0;
}
"""


def with_context(place):
    """A trace whose events say their thread by a context, as LTTng's."""
    made = Handmade(Layout(events={"made:context": []},
                           context=[("vtid", 32, 8)]))
    with made.stream("cpu0") as stream, stream.packet(begin=100, end=900):
        stream.event("made:context", 200, {"vtid": 2})
    shutil.copytree(made.dir, place)


def things(place):
    your_programs(place)
    shutil.copy(place / "server", place / "soak-test")
    examples(place)
    shutil.copy(place / "shop-events.xml", place / "released.xml")
    (place / "mill-events.xml").write_text(
        '<events provider="mill"><event name="idle"/></events>')
    recorded(place, "sqlite.trace", "./server", options=["--malloc", "--stack"])
    recorded(place, "before", "./server")
    for name in COPIES:
        shutil.copytree(place / "before", place / name)
    for name in "trace", "DIR":
        recorded(place, f"{name}/fields", build(FIELDS))
        recorded(place, f"{name}/server", "./server")
        with_context(place / name / "context")
    if may_record_the_kernel():
        recorded(place, "kernel.trace", "sleep", "1.6",
                 options=["-k", "sched,syscalls,irq"])
        recorded(place, "slow", "bin/slowserver", options=["-k", "sched,syscalls"])


def for_a_manual(place):
    """All of it, made once for each user."""
    once = pathlib.Path(os.environ["SONDE_TEST_SCRATCH"]) / "things"
    if not (once / "made").exists():
        shutil.rmtree(once, ignore_errors=True)
        once.mkdir()
        things(once)
        (once / "made").touch()
    shutil.copytree(once, place, symlinks=True, dirs_exist_ok=True)
    servers(place)


def a_web_server(place):
    for_a_manual(place)
    (place / "bin/curl").symlink_to(shutil.which("true"))


def shipped(place):
    for_a_manual(place)
    for host in "web-1", "db-1":
        done = run(SONDE, "ship", "-q", "before", "--host", host, "--to",
                   f"file://{place / ELSEWHERE['/mnt/traces']}", cwd=place)
        check_equal(done.returncode, 0, done.stderr)


def without_a_trace(place):
    for_a_manual(place)
    shutil.rmtree(place / "trace")


def a_session(place):
    for_a_manual(place)
    done = run(SONDE, "start", "night", "-p", "nginx", cwd=place)
    check_equal(done.returncode, 0, done.stderr)


# What pages want that isn't for_a_manual() (man/) or your_programs() (docs/).
THINGS = {
    "README.md": for_the_readme,
    "docs/tutorial.md": examples,
    "docs/filter.md": for_a_manual,
    "docs/fleet.md": for_a_manual,
    "docs/tsp.md": for_a_manual,
    "docs/view.md": for_a_manual,
    "man/sonde.1": without_a_trace,
    "man/sonde-clear.1": a_web_server,
    "man/sonde-collect.1": shipped,
    "man/sonde-hosts.1": shipped,
    "man/sonde-live.1": a_session,
    "man/sonde-top.1": a_session,
}


# ---- a test of each page ----

def is_true(page):
    place = scratch()
    environment(place)
    usual = for_a_manual if page.startswith("man/") else your_programs
    THINGS.get(page, usual)(place)
    follow(page, place)


def is_true_for_ordinary_users(page):
    become_ordinary()
    is_true(page)


def _is_run(page):
    return any(b.note("not run") is None for b in blocks_of(page)
               if b.kind in ("sh", "console"))


def test_pages(of_manuals):
    """A test of each page that has something to be run, and another for
    ordinary users."""
    for page in filter(_is_run, all_pages()):
        if page.startswith("man/") != of_manuals:
            continue
        for claim in is_true, is_true_for_ordinary_users:
            def one(page=page, claim=claim):
                claim(page)
            name = re.sub(r"\W", "_", page.rpartition("/")[2])
            one.__name__ = f"{name}_{claim.__name__}"
            long_test(one)
