/* SPDX-License-Identifier: MIT */
/*
 * clean.c - what killed recorders left in tracefs, and its removal.
 *
 *	instances/sonde-PID-SESSION	trace buffers of the process PID
 *	sonde_PID/NAME			probes of the process PID, in
 *					kprobe_events and uprobe_events
 *
 * An instance is left over if its process is gone, or has begun after the
 * instance was made: then the number was given anew. If we are wrong about that
 * (a recorder in a container has a number that means nothing here), the kernel
 * refuses: a living recorder has files of its instance open, and a probe that
 * is switched on in some instance can't be removed either. So nothing is
 * switched off first; removing an instance does it.
 *
 * Probes go after instances. One is left over if its process is gone, or has
 * neither an instance nor our name.
 */
#include "doctor/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/number.h"
#include "base/port.h"
#include "base/time.h"
#include "source/tracefs/instance.h"
#include "sys/dir.h"
#include "sys/proc.h"
#include "sys/textfile.h"

#define PROBES_TEXT_MAX ((size_t)1 << 20)
/* Between the clocks that are compared. */
#define SLACK_S 2.0

struct finds {
	bool remove;
	uint32_t instances; /* left over, and removed if asked */
	uint32_t probes;
	uint32_t denied; /* left over, and not ours to remove */
};

/* ---- processes ---- */

/* Seconds since 1970 at which a process began; 0 if there is none, or no
 * telling. */
static double process_start(pid_t pid)
{
	uint64_t ticks = sonde_process_start(pid);

	if (!ticks)
		return 0;
	return (double)(sonde_time_ns(CLOCK_REALTIME) -
			sonde_time_ns(CLOCK_BOOTTIME)) /
		       SONDE_NS_PER_S +
	       (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

/* Whether it runs: one that has ended and that nobody has asked about yet (a
 * zombie) has nothing open any more. */
static bool is_process(pid_t pid)
{
	struct sonde_proc_stat stat;

	return !sonde_proc_stat(pid, &stat) && stat.state != 'Z' &&
	       stat.state != 'X';
}

static bool is_named_sonde(pid_t pid)
{
	char name[SONDE_COMM_SIZE];

	sonde_process_name(pid, name);
	return !strncmp(name, "sonde", 5);
}

/* The number after `prefix`, which `end` must follow; 0 if it is no such name.
 */
static pid_t pid_in(const char *name, const char *prefix, char end)
{
	size_t length = strlen(prefix);
	const char *at = name + length;
	uint64_t pid;

	return !strncmp(name, prefix, length) && *at != '0' &&
			       sonde_number_take(&at, 10, INT32_MAX, &pid) &&
			       *at == end ?
		       (pid_t)pid :
		       0;
}

/* ---- instances ---- */

static bool is_instance_left(int instances, const char *name)
{
	pid_t pid = pid_in(name, "sonde-", '-');
	struct stat st;
	double start;

	if (!pid)
		return false;
	if (!is_process(pid))
		return true;
	start = process_start(pid);
	return start > 0 && !fstatat(instances, name, &st, 0) &&
	       start > (double)st.st_mtim.tv_sec + SLACK_S;
}

static void find_instance(int instances, const char *name, struct finds *finds)
{
	if (!is_instance_left(instances, name))
		return;
	if (!finds->remove || !unlinkat(instances, name, AT_REMOVEDIR))
		finds->instances++;
	else if (errno == EACCES || errno == EPERM)
		finds->denied++;
	/* else it is in use, or somebody else was quicker */
}

static int find_instances(int root, struct finds *finds)
{
	DIR *dir = sonde_dir_open_at(root, "instances");
	const char *name;

	if (!dir)
		return -errno;
	while ((name = sonde_dir_next(dir)))
		find_instance(dirfd(dir), name, finds);
	(void)closedir(dir); /* only read from */
	return 0;
}

static bool has_instance(int root, pid_t pid)
{
	DIR *dir = sonde_dir_open_at(root, "instances");
	const char *name;
	bool found = false;

	if (!dir)
		return true; /* better safe */
	while (!found && (name = sonde_dir_next(dir)))
		found = pid_in(name, "sonde-", '-') == pid;
	(void)closedir(dir); /* only read from */
	return found;
}

/* ---- probes ---- */

/* "p:sonde_12/name ...", "r16:sonde_12/name ..." */
static void find_probe(int root, const char *file, char *line,
		       struct finds *finds)
{
	char *name = strchr(line, ':');
	char command[160];
	pid_t pid = name ? pid_in(name + 1, "sonde_", '/') : 0;
	int rc;

	if (!pid || (is_process(pid) &&
		     (is_named_sonde(pid) || has_instance(root, pid))))
		return;
	name[1 + strcspn(name + 1, " \t")] = '\0';
	if (!finds->remove) {
		finds->probes++;
		return;
	}
	if (snprintf(command, sizeof(command), "-%s", name) >=
	    (int)sizeof(command))
		return; /* the kernel's names are at most 64 each */
	rc = sonde_tracefs_write(root, file, command);
	if (!rc)
		finds->probes++;
	else if (rc == -EACCES || rc == -EPERM)
		finds->denied++;
}

static int find_probes(int root, const char *file, struct finds *finds)
{
	char *text = malloc(PROBES_TEXT_MAX);
	char *save = NULL;

	if (!text)
		return -ENOMEM;
	/* The kernel may have no such probes, and then no such file. */
	if (sonde_textfile_read_at(root, file, text, PROBES_TEXT_MAX) > 0)
		for (char *line = strtok_r(text, "\n", &save); line;
		     line = strtok_r(NULL, "\n", &save))
			find_probe(root, file, line, finds);
	free(text);
	return 0;
}

/* ---- both ---- */

static int find_all(struct finds *finds)
{
	struct sonde_source_error error;
	int root = sonde_tracefs_open(&error);
	int rc;

	if (root < 0)
		return root;
	rc = find_instances(root, finds);
	if (!rc)
		rc = find_probes(root, "kprobe_events", finds);
	if (!rc)
		rc = find_probes(root, "uprobe_events", finds);
	(void)close(root); /* a directory */
	return rc;
}

static const char *doctor_clean_plural(uint32_t nr)
{
	return nr == 1 ? "" : "s";
}

/* "2 sets of trace buffers and 1 probe" */
static void count(const struct finds *finds, char *text, size_t size)
{
	int used = 0;

	text[0] = '\0';
	if (finds->instances)
		used = snprintf(text, size,
				"%" PRIu32 " set%s of trace buffers",
				finds->instances,
				doctor_clean_plural(finds->instances));
	if (finds->probes)
		(void)snprintf(text + used, size - (size_t)used,
			       "%s%" PRIu32 " probe%s", used ? " and " : "",
			       finds->probes,
			       doctor_clean_plural(finds->probes));
}

/* Those that were removed, or that there are; to `text`, between both. */
static int look(struct finds *finds, const char *before, const char *after,
		char *text, size_t size)
{
	int rc = find_all(finds);
	char what[96];

	text[0] = '\0';
	if (rc)
		return rc;
	count(finds, what, sizeof(what));
	if (what[0])
		(void)snprintf(text, size, "%s%s%s", before, what, after);
	return (int)(finds->instances + finds->probes);
}

int sonde_doctor_clean(char *text, size_t size)
{
	struct finds finds = { .remove = true };
	int rc = look(&finds, "removed ",
		      " that a killed recorder left in tracefs", text, size);

	return rc >= 0 && finds.denied ? -EACCES : rc;
}

int sonde_doctor_left(char *text, size_t size)
{
	struct finds finds = { .remove = false };

	return look(&finds, "a killed recorder left ", " in tracefs", text,
		    size);
}
