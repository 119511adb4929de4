/* SPDX-License-Identifier: MIT */
/*
 * watch.c - which processes should be recorded and aren't (watch.h).
 *
 * A process is a suspect until it comes; a child by fork of a suspect is the
 * same suspect. Only what the kernel answers by itself is read, and each look
 * is bounded.
 */
#include "session/watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/port.h"
#include "sys/proc.h"
#include "sys/program.h"
#include "sys/seccomp.h"

#define SEEN_MAX    1024u
#define THREADS_MAX 512u /* per look */
#define JUDGED_MAX  8u   /* likewise; files are read for each */

/* A process, and which program it is. */
struct seen {
	pid_t pid;
	dev_t dev;
	ino_t ino;
	const char *why; /* constant; NULL: no suspect */
	char name[SONDE_COMM_SIZE];
};

struct sonde_watch {
	struct sonde_watch_config config;
	dev_t own_dev; /* our program: what is about to execute another */
	ino_t own_ino;
	int own_filters;
	uint32_t nr_seen;
	uint32_t threads_left;
	uint32_t judged_left;
	struct seen seen[SEEN_MAX];
	struct sonde_lines maps;
};

static struct seen *find(struct sonde_watch *watch, pid_t pid)
{
	for (uint32_t i = 0; i < watch->nr_seen; i++)
		if (watch->seen[i].pid == pid)
			return &watch->seen[i];
	return NULL;
}

/* ---- one process ---- */

/* Whether one of its mappings is an arena of the session. */
static bool watch_has_arena(struct sonde_watch *watch, pid_t pid)
{
	struct sonde_proc_mapping mapping;
	bool found = false;

	if (sonde_proc_maps_open(&watch->maps, pid))
		return false;
	while (!found && sonde_proc_maps_next(&watch->maps, &mapping))
		found = strstr(mapping.path, "sonde-arena") &&
			watch->config.has_arena(watch->config.ctx,
						makedev(mapping.major,
							mapping.minor),
						(ino_t)mapping.ino);
	sonde_lines_close(&watch->maps);
	return found;
}

static bool watch_has_events(const struct sonde_watch *watch, pid_t pid)
{
	struct sonde_declared *declared = watch->config.declared;

	if (!declared)
		return false;
	sonde_declared_restart(declared);
	return !sonde_declared_add_process(declared, pid) &&
	       sonde_declared_nr(declared);
}

/* Whether a link of /proc/PID leads to where ours does. */
static bool shares(pid_t pid, const char *link)
{
	char path[64];
	struct stat theirs;
	struct stat ours;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, link);
	if (stat(path, &theirs))
		return true; /* can't be told */
	(void)snprintf(path, sizeof(path), "/proc/self/%s", link);
	return stat(path, &ours) ||
	       (theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino);
}

static const char *reason(const struct sonde_watch *watch, pid_t pid,
			  bool can_come)
{
	enum sonde_program_kind kind;
	struct stat st;
	char path[48];
	int filters;

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	kind = sonde_program_look(AT_FDCWD, path);
	if (!can_come && sonde_program_reason(kind))
		return sonde_program_reason(kind);
	if (!can_come && kind == SONDE_PROGRAM_STATIC)
		return "it is static, and nothing can be preloaded";
	if (!stat(path, &st) && (st.st_mode & (S_ISUID | S_ISGID)))
		return "it is a set-user-ID or set-group-ID program";
	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	filters = sonde_seccomp_filters(path);
	if (filters && filters != watch->own_filters)
		return "it runs under a seccomp filter of its own; if that "
		       "allows the tracer's calls, set SONDE_SECCOMP=allow";
	if (!shares(pid, "ns/mnt") || !shares(pid, "root"))
		return "it runs in another mount namespace or root directory, "
		       "and didn't come";
	return "it has no SONDE_SESSION in its environment, or can't reach "
	       "the recorder";
}

/* `seen` is another program than it was. */
static void watch_judge(struct sonde_watch *watch, struct seen *seen)
{
	bool can_come;

	seen->why = NULL;
	if ((seen->dev == watch->own_dev && seen->ino == watch->own_ino) ||
	    watch_has_arena(watch, seen->pid))
		return;
	can_come = watch_has_events(watch, seen->pid);
	if (!can_come && !watch->config.hooks)
		return;
	sonde_process_name(seen->pid, seen->name);
	seen->why = reason(watch, seen->pid, can_come);
}

/* A child by fork of one that is a suspect shares its fate: as arenas, they are
 * counted once. */
static bool is_fork_of(const struct seen *parent, const struct stat *st)
{
	return parent && parent->why && parent->dev == st->st_dev &&
	       parent->ino == st->st_ino;
}

static void see(struct sonde_watch *watch, pid_t pid, pid_t parent)
{
	struct seen *seen = find(watch, pid);
	struct stat st;
	char path[48];

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (stat(path, &st) || !watch->judged_left)
		return;
	if (seen && seen->dev == st.st_dev && seen->ino == st.st_ino)
		return;
	if (is_fork_of(find(watch, parent), &st) ||
	    (!seen && watch->nr_seen == SEEN_MAX))
		return;
	if (!seen)
		seen = &watch->seen[watch->nr_seen++];
	*seen = (struct seen){ .pid = pid, .dev = st.st_dev, .ino = st.st_ino };
	watch->judged_left--;
	watch_judge(watch, seen);
}

/* ---- the tree ---- */

/* Those found so far whose children are still to be looked at. */
struct queue {
	uint32_t nr;
	pid_t pids[SEEN_MAX];
	pid_t parents[SEEN_MAX];
};

static void add_children(struct queue *queue, pid_t pid, pid_t tid)
{
	FILE *children = sonde_proc_children(pid, tid);
	pid_t child;

	while (children && queue->nr < SEEN_MAX &&
	       (child = sonde_proc_next_child(children)) > 0) {
		queue->parents[queue->nr] = pid;
		queue->pids[queue->nr++] = child;
	}
	if (children)
		(void)fclose(children); /* it was only read */
}

static void add_children_of_all(struct sonde_watch *watch, struct queue *queue,
				pid_t pid)
{
	DIR *tasks = sonde_proc_dir(pid, "task");
	int32_t tid;

	while (tasks && watch->threads_left &&
	       (tid = sonde_proc_next(tasks)) >= 0) {
		watch->threads_left--;
		add_children(queue, pid, tid);
	}
	if (tasks)
		(void)closedir(tasks); /* it was only read */
}

void sonde_watch_look(struct sonde_watch *watch)
{
	struct queue queue = { 0 };
	pid_t self = getpid();

	watch->threads_left = THREADS_MAX;
	watch->judged_left = JUDGED_MAX;
	add_children_of_all(watch, &queue, watch->config.frontend);
	for (uint32_t i = 0; i < queue.nr; i++) {
		if (queue.pids[i] == self)
			continue;
		see(watch, queue.pids[i], queue.parents[i]);
		add_children_of_all(watch, &queue, queue.pids[i]);
	}
}

void sonde_watch_came(struct sonde_watch *watch, pid_t pid)
{
	struct seen *seen = find(watch, pid);

	if (seen)
		seen->why = NULL;
}

void sonde_watch_tell(const struct sonde_watch *watch,
		      struct sonde_summary *summary)
{
	for (uint32_t i = 0; i < watch->nr_seen; i++)
		if (watch->seen[i].why)
			sonde_summary_missed(summary, watch->seen[i].pid,
					     watch->seen[i].name,
					     watch->seen[i].why);
}

/* ---- life ---- */

struct sonde_watch *sonde_watch_new(const struct sonde_watch_config *config)
{
	struct sonde_watch *watch = calloc(1, sizeof(*watch));
	struct stat st;

	if (!watch)
		return NULL;
	watch->config = *config;
	watch->own_filters = sonde_seccomp_filters("/proc/self/status");
	if (!stat("/proc/self/exe", &st)) {
		watch->own_dev = st.st_dev;
		watch->own_ino = st.st_ino;
	}
	return watch;
}

void sonde_watch_free(struct sonde_watch *watch)
{
	free(watch);
}
