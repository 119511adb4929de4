/* SPDX-License-Identifier: MIT */
/*
 * probe_running.c - which probes are in the kernel on account of a `sonde probe
 * --kernel` that runs, whoever's, and ending one.
 *
 * There is no list of them anywhere, which could be wrong: each recording has a
 * process of its own, the recorder, which has a name of its own and the
 * arguments that the command was given. Who may not look into a process isn't
 * told of it, as by ps(1). What another process says of itself is shown, and
 * parsed as our own arguments are, and no more.
 *
 * A recording of the machine is ended by SIGTERM, as by Ctrl-C. One of a PROGRAM
 * isn't: the signal would be the program's.
 */
#include "cmd/probe.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "analysis/report.h"
#include "base/port.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "probe/kernel.h"
#include "session/find.h"
#include "sys/proc.h"
#include "sys/textfile.h"
#include "view/text/show.h"

#define EXIT_FAILED 1
#define STOP_MS     60000

enum {
	WORDS_MAX = 128,
	WORDS_SIZE = 65536,
	NAME_SIZE = 256,
	PATH_SIZE = 4096,
};

/* One that runs. */
struct probe_running {
	sonde_probe_kernel_parse *parse;
	pid_t frontend;
	char text[WORDS_SIZE]; /* what it was called with, word by word */
	char *words[WORDS_MAX];
	struct sonde_probe_kernel_options options;
	char where[PATH_SIZE]; /* the trace; "": it chose the name */
};

static int split_cmdline(char *text, size_t size, char **words)
{
	int nr = 0;

	for (size_t at = 0; at < size && nr < WORDS_MAX - 1;
	     at += strlen(text + at) + 1)
		words[nr++] = text + at;
	words[nr] = NULL;
	return nr;
}

/* A relative path is from where it runs. */
static void place_trace(struct probe_running *running)
{
	const char *output = running->options.output;
	char link[64];
	char cwd[PATH_SIZE / 2];
	ssize_t length;

	running->where[0] = '\0';
	if (!output)
		return;
	(void)snprintf(link, sizeof(link), "/proc/%d/cwd", running->frontend);
	length = output[0] == '/' ? -1 : readlink(link, cwd, sizeof(cwd));
	if (length > 0 && length < (ssize_t)sizeof(cwd))
		(void)snprintf(running->where, PATH_SIZE, "%.*s/%s",
			       (int)length, cwd, output);
	else
		(void)snprintf(running->where, PATH_SIZE, "%s", output);
}

static bool is_probe_running(pid_t pid, struct probe_running *running)
{
	char name[SONDE_COMM_SIZE];
	int size;
	int nr;

	sonde_process_name(pid, name);
	if (strcmp(name, SONDE_RECORDER_COMM) != 0)
		return false;
	running->frontend = sonde_process_parent(pid);
	size = sonde_textfile_read(running->text, sizeof(running->text),
				   "/proc/%d/cmdline", pid);
	nr = size > 0 ? split_cmdline(running->text, (size_t)size,
				      running->words) :
			0;
	if (running->frontend <= 0 || nr < 3 ||
	    strcmp(running->words[1], "probe") != 0 ||
	    !running->parse(nr - 1, running->words + 1, &running->options))
		return false;
	place_trace(running);
	return true;
}

/* The i-th of its probes: what was said of it, and its name; false: there are no
 * more. */
static bool next_running_probe(const struct probe_running *running,
			       const char **at, char text[NAME_SIZE],
			       char name[NAME_SIZE])
{
	size_t length;

	*at = sonde_text_skip_blanks(*at);
	if (!**at)
		return false;
	length = sonde_text_item(*at, ';');
	(void)snprintf(text, NAME_SIZE, "%.*s",
		       (int)sonde_text_trim(*at, length), *at);
	sonde_probe_kernel_name(text, running->options.name, name, NAME_SIZE);
	*at += length + ((*at)[length] == ';');
	return true;
}

static bool runs_probe(const struct probe_running *running, const char *wanted)
{
	const char *at = running->options.where;
	char text[NAME_SIZE];
	char name[NAME_SIZE];

	while (next_running_probe(running, &at, text, name))
		if (!strcmp(name, wanted))
			return true;
	return false;
}

/* ---- --list ---- */

enum {
	COLUMN_NAME,
	COLUMN_PID,
	COLUMN_TRACE,
	COLUMN_PROBE,
};

static const struct sonde_column columns[] = {
	[COLUMN_NAME] = { "name", "NAME", SONDE_CELL_TEXT },
	[COLUMN_PID] = { "pid", "PID", SONDE_CELL_INT },
	[COLUMN_TRACE] = { "trace", "TRACE", SONDE_CELL_TEXT },
	[COLUMN_PROBE] = { "probe", "PROBE", SONDE_CELL_TEXT },
};

static void add_running_rows(struct sonde_table *table,
			     const struct probe_running *running)
{
	const char *at = running->options.where;
	char text[NAME_SIZE];
	char name[NAME_SIZE];

	while (next_running_probe(running, &at, text, name)) {
		sonde_table_row(table);
		sonde_table_text(table, COLUMN_NAME, name);
		sonde_table_int(table, COLUMN_PID, running->frontend);
		if (running->where[0])
			sonde_table_text(table, COLUMN_TRACE, running->where);
		sonde_table_text(table, COLUMN_PROBE, text);
	}
}

/* Those of all processes, one after the other. */
static bool each_running(DIR *processes, struct probe_running *running)
{
	int32_t pid;

	while ((pid = sonde_proc_next(processes)) >= 0)
		if (is_probe_running(pid, running))
			return true;
	return false;
}

int sonde_probe_kernel_running(sonde_probe_kernel_parse *parse, bool json)
{
	static struct probe_running running;
	struct sonde_report *report = sonde_report_new("probes");
	struct sonde_table *table = sonde_report_table(
		report, "probes", NULL, columns, SONDE_ARRAY_SIZE(columns));
	DIR *processes = opendir("/proc");
	struct sonde_show how;
	bool is_any = false;
	int rc = processes ? sonde_report_error(report) : -errno;

	running.parse = parse;
	while (processes && each_running(processes, &running)) {
		add_running_rows(table, &running);
		is_any = true;
	}
	if (processes)
		(void)closedir(processes); /* it was only read */
	if (!is_any)
		sonde_report_note(report,
				  "no 'sonde probe --kernel' runs; --list "
				  "GLOB shows the kernel's functions");
	sonde_show_init(&how, stdout);
	how.json = json;
	if (!rc)
		rc = sonde_show_report(&how, report, stdout);
	sonde_report_free(report);
	if (rc)
		sonde_complain("probe: %s", strerrordesc_np(-rc));
	return rc || !is_any ? EXIT_FAILED : 0;
}

/* ---- --stop ---- */

/* The trace is finished when the front end has ended. */
static int end_running(const struct probe_running *running, const char *name)
{
	int fd = sonde_proc_pidfd(running->frontend);
	struct pollfd ended = { .fd = fd, .events = POLLIN };
	int rc = fd < 0 ? fd : 0;

	if (!rc && syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0))
		rc = -errno;
	if (!rc && poll(&ended, 1, STOP_MS) != 1)
		rc = -ETIMEDOUT;
	if (fd >= 0)
		(void)close(fd);
	if (rc) {
		sonde_complain("probe: %.100s, of process %d, can't be ended: "
			       "%s",
			       name, running->frontend, strerrordesc_np(-rc));
		return EXIT_FAILED;
	}
	if (running->where[0])
		(void)printf("%s\n", running->where);
	return 0;
}

int sonde_probe_kernel_stop(sonde_probe_kernel_parse *parse, const char *name)
{
	static struct probe_running running;
	DIR *processes = opendir("/proc");
	bool is_found = false;

	running.parse = parse;
	while (processes && !is_found && each_running(processes, &running))
		is_found = runs_probe(&running, name);
	if (processes)
		(void)closedir(processes); /* it was only read */
	if (!is_found) {
		sonde_complain("probe: there is no probe %.100s in the kernel; "
			       "sonde probe --kernel --list shows them",
			       name);
		return EXIT_FAILED;
	}
	if (running.options.program) {
		sonde_complain("probe: %.100s is recorded while %.100s runs, "
			       "below process %d: it is over when that ends",
			       name, running.options.program[0],
			       running.frontend);
		return EXIT_FAILED;
	}
	return end_running(&running, name);
}
