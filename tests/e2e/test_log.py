#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_log.py - `sonde record --log`: what a program logs is what it writes to
standard error beside (LOG_PERROR), whichever of the C library's functions it
calls; and what it does is what it does without us."""

import subprocess

from sonde import SONDE, build, check, install, record, run
from harness import check_equal, main, test

LOGS = r"""
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

static void say(int priority, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsyslog(priority, format, args);
	va_end(args);
}

int main(int argc, char **argv)
{
	char longer[3000];

	(void)argv;
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = 0;
	openlog("shop", LOG_PERROR, LOG_LOCAL3);
	syslog(LOG_ERR, "order %d of %s, %.2f", 5, "Ada", argc * 1.5);
	errno = ENOENT;
	syslog(LOG_USER | LOG_WARNING, "no book: %m");
	say(LOG_DEBUG | LOG_MAIL, "%s and %s", "this", "that");
	setlogmask(LOG_UPTO(LOG_NOTICE));
	syslog(LOG_INFO, "nobody sees it");
	say(LOG_NOTICE, "%s", "");
	syslog(LOG_EMERG | LOG_USER, "%s", longer);
	errno = 7;
	say(LOG_CRIT, "the last");
	printf("%d\n", errno);
	return 0;
}
"""
LEVELS = ["err", "warning", "debug", "notice", "emerg", "crit"]
FACILITIES = [0, 1, 2, 0, 1, 0]


def said(text):
    return [line.removeprefix("shop: ") for line in text.splitlines()
            if line.startswith("shop: ")]


@test
def what_is_logged_is_what_it_says_elsewhere():
    for flags in ((), ("-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2")):
        program = build(LOGS, "-O2", *flags, name="logs")
        bare = subprocess.run([program], text=True, stderr=subprocess.PIPE,
                              stdout=subprocess.PIPE)
        done = record(program, options=("--log",))
        check_equal((done.status, done.out), (0, bare.stdout), done.err)
        check_equal(said(done.err), said(bare.stderr), "on standard error")
        events = done.trace().events("log:syslog")
        check_equal([e["text"] for e in events],
                    [line[:1023] for line in said(bare.stderr)], "texts")
        check_equal([e["level"][0] for e in events], LEVELS,
                    "levels")
        check_equal([e["facility"] for e in events], FACILITIES, "facilities")


@test
def without_it_nothing_is_an_event_and_of_what_runs_it_is_refused():
    program = build(LOGS, "-O2", name="logs")
    done = record(program, options=("--malloc",))
    check_equal(done.trace().count("log:syslog"), 0, "without --log")
    done = run(SONDE, "record", "--log", "-p", "1")
    check_equal(done.returncode, 2, done.stderr)
    check("a program that is started" in done.stderr, done.stderr)


@test
def a_program_that_logs_nothing_is_not_said_to_have_no_tracepoints():
    done = record("true", options=("--log",))
    check_equal(done.status, 0, done.err)
    check("nothing was called of what --log" in done.err, done.err)
    check("sonde list" not in done.err, done.err)


@test
def a_trace_without_events_has_no_field_to_be_wrong_about():
    trace = record("true", options=("--log",)).trace().dir
    for words in (["report", "latency", "--begin", "priority == 3", "--end",
                   "priority == 4"], ["print", "-f", "priority == 3"]):
        done = run(SONDE, *words, trace)
        check_equal(done.returncode, 0, done.stderr)
        check("the trace has no events" in done.stderr, done.stderr)
        check("no event has a field" not in done.stderr, done.stderr)


@test
def python_logs_by_it():
    done = record("/usr/bin/python3", "-c",
                  "import syslog; syslog.syslog(syslog.LOG_ALERT, 'by é')",
                  options=("--log",))
    check_equal(done.status, 0, done.err)
    events = done.trace().events("log:syslog")
    check_equal([(e["level"][0], e["text"]) for e in events],
                [("alert", "by é")], "events")


install()
main()
