/* SPDX-License-Identifier: MIT */
#include "cmd/cmd.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "view/text/show.h"

void sonde_complain(const char *format, ...)
{
	char text[1024];
	char safe[sizeof(text)];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	/* Names come from traces, too, and may hold more than letters. */
	(void)sonde_show_safe(safe, sizeof(safe), text, strlen(text));
	/* One write: the program may be printing, too. */
	(void)fprintf(stderr, "sonde: %s\n", safe);
}

void sonde_help_main(void)
{
	(void)fputs(
		"sonde - record what programs do, at the price of reading the "
		"clock\n"
		"\n"
		"  sonde record [options] -- PROGRAM [ARGS]   run and record\n"
		"  sonde list PROGRAM|DIR|-k                  what events "
		"there are\n"
		"  sonde print TRACE                          the events, a "
		"line each\n"
		"  sonde convert TRACE                        to CTF 2\n"
		"  sonde stat TRACE                           what is in "
		"it\n"
		"  sonde check TRACE                          is it "
		"sound?\n"
		"  sonde report [NAME] TRACE                  answers: top, "
		"locks, malloc ...\n"
		"  sonde diff A B                             what changed\n"
		"  sonde flame TRACE                          what called "
		"what, how long\n"
		"  sonde cut -o DIR TRACE                     a part of a "
		"trace\n"
		"  sonde export --to FORMAT TRACE             for Perfetto and "
		"others\n"
		"  sonde doctor                               what can be recorded "
		"here\n"
		"  sonde modules build|load|unload|status     our own kernel "
		"tracer\n"
#ifdef SONDE_HAVE_PROBES
		"  sonde gdb PID|TRACE                        tracepoints from "
		"GDB\n"
		"  sonde gdbserver COMM PROGRAM|--attach      the server it "
		"connects to\n"
		"  sonde probe -p PID 'FILE:LINE if COND'     tracepoints "
		"without GDB's prompt\n"
#endif
		"  sonde help [COMMAND]\n"
		"  sonde --version\n"
		"\n"
		"Try: sonde record --malloc -- ls -l\n",
		stdout);
}

static void help_record_what(void)
{
	(void)fputs(
		"sonde record [options] -- PROGRAM [ARGS]\n"
		"sonde record -a -k RULES [options]\n"
		"\n"
		"What to record\n"
		"  -e, --event GLOB     events to record: provider:event, with "
		"* and ?;\n"
		"                       may be given several times (default: "
		"all);\n"
		"                       'http:request if bytes > 1000': "
		"under a condition\n"
		"      --filter COND    of the events selected, only those for "
		"which this holds\n"
		"      --exclude GLOB   but not these\n"
		"      --loglevel LEVEL only this level and more urgent ones\n"
		"      --malloc         the C library's allocation calls\n"
		"      --locks          mutexes, rwlocks, condition variables\n"
		"Kernel events (see also: sonde doctor, sonde list -k)\n"
		"  -k, --kernel RULES   such as sched,syscalls or irq:softirq_* "
		"or\n"
		"                       'syscalls:openat if ret < 0'; of the "
		"program and its\n"
		"                       descendants\n"
		"  -a, --all            of the whole machine; without PROGRAM "
		"until Ctrl-C\n"
		"      --until RULES    end the recording when such an event "
		"happens; with\n"
		"                       --mode overwrite: a flight recorder's "
		"snapshot\n"
		"      --kernel-source S  modules (see: sonde modules), bpf, "
		"tracefs, or auto:\n"
		"                       the best of them (default)\n"
		"      --kernel-memory SIZE  for the kernel's buffers (default: "
		"16M per CPU)\n"
		"      --kernel-strings N  bytes of a system call's strings "
		"(default: 256)\n"
		"      --kernel-buffers N  bytes of what it reads and writes "
		"(default: 0)\n"
		"      --self           what the recorder itself does, as well\n",
		stdout);
}

static void help_record_output(void)
{
	(void)fputs(
		"Where to\n"
		"  -o, --output DIR     the trace (default: "
		"./sonde-YYYYMMDD-HHMMSS)\n"
		"      --memory SIZE    for all rings together (default: 64M)\n"
		"      --subbuf SIZE    of one sub-buffer, the limit of a "
		"record\n"
		"      --mode MODE      discard: write as it comes, and drop "
		"what is too much\n"
		"                       overwrite: keep the newest in memory, "
		"write at the end\n"
		"      --headers KIND   of records: compact (best for up to 30 "
		"events),\n"
		"                       large, or auto: count the program's "
		"events (default)\n"
		"      --ctf 1.8|2      version of the format's metadata "
		"(default: 1.8)\n"
		"      --read-timer T   how often to read the rings (default: "
		"adaptive)\n"
		"What to tell\n"
		"  -q, --quiet          only what went wrong\n"
		"  -v, --verbose        what is being done\n"
		"      --json           the summary as one line of JSON, on "
		"standard error\n"
		"\n"
		"The exit status is the program's, 128 + N if signal N killed "
		"it.\n",
		stdout);
}

void sonde_help_record(void)
{
	help_record_what();
	help_record_output();
}
