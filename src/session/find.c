/* SPDX-License-Identifier: MIT */
/*
 * find.c - a running process's arena, and what else can be asked about it from
 * outside (find.h).
 *
 * No file is opened whose link in /proc doesn't say that it is an arena. The
 * usual descriptors are tried first, then all, then mappings.
 */
#include "session/find.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/port.h"
#include "sys/proc.h"
#include "sys/regular.h"
#include "sys/seccomp.h"

#define ARENA_LINK     "/memfd:sonde-arena"
#define CGROUP_MOUNT   "/sys/fs/cgroup"
#define ALLOWED        "SONDE_SECCOMP=allow"
#define LIBRARY_PREFIX "libsonde"

bool sonde_find_is_arena_link(const char *link)
{
	const char *name = strrchr(link, '/');
	size_t n = strlen(ARENA_LINK);

	if (name &&
	    !strncmp(name + 1, SONDE_ARENA_FILE, strlen(SONDE_ARENA_FILE)))
		return true;
	return !strncmp(link, ARENA_LINK, n) &&
	       (!link[n] || !strcmp(link + n, " (deleted)"));
}

void sonde_find_mapping(const struct sonde_proc_mapping *mapping,
			struct sonde_find_maps *maps)
{
	const char *name = strrchr(mapping->path, '/');

	/* "libsonde.so.0", "libsonde-preload.so" */
	maps->has_library |= name && !strncmp(name + 1, LIBRARY_PREFIX,
					      strlen(LIBRARY_PREFIX));
	if (maps->has_arena || !sonde_find_is_arena_link(mapping->path))
		return;
	maps->has_arena = true;
	maps->start = mapping->begin;
	maps->end = mapping->end;
}

/* ---- opening ---- */

/* Opens /proc/PID/what if that is a link to an arena. */
static int open_link(pid_t pid, const char *what, int mode)
{
	char path[320];
	char link[PATH_MAX];
	struct stat st;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, what);
	n = readlink(path, link, sizeof(link) - 1);
	if (n < 0)
		return -errno;
	link[n] = '\0';
	if (!sonde_find_is_arena_link(link))
		return -ENOENT;
	/* Anything may be called so. */
	fd = sonde_regular_look(path, &st);
	return fd < 0 ? fd : sonde_regular_open(fd, mode);
}

/* The next of the process's descriptors that is an arena's; -ENOENT: there are no
 * more. `dir` is of sonde_proc_dir(pid, "fd"), or NULL. */
static int open_next(pid_t pid, DIR *dir, int mode)
{
	char path[32];
	int32_t number;
	int fd = -ENOENT;

	while (dir && fd < 0 && (number = sonde_proc_next(dir)) >= 0) {
		(void)snprintf(path, sizeof(path), "fd/%d", (int)number);
		fd = open_link(pid, path, mode);
	}
	return fd;
}

static int open_any(pid_t pid)
{
	DIR *dir = sonde_proc_dir(pid, "fd");
	int fd = open_next(pid, dir, O_RDWR);

	if (dir)
		(void)closedir(dir); /* it was only read */
	return fd;
}

static int open_mapping(pid_t pid, const struct sonde_find_maps *maps, int mode)
{
	char path[80];
	int fd;

	(void)snprintf(path, sizeof(path), "map_files/%" PRIx64 "-%" PRIx64,
		       maps->start, maps->end);
	fd = open_link(pid, path, mode);
	return fd == -EACCES || fd == -ENOENT ? -EPERM : fd;
}

/* 0, or -errno: who may not read it can't open it either. */
static int read_maps(pid_t pid, struct sonde_find_maps *ret_maps)
{
	struct sonde_proc_mapping mapping;
	struct sonde_lines lines;
	int rc = sonde_proc_maps_open(&lines, pid);

	*ret_maps = (struct sonde_find_maps){ 0 };
	while (!rc && sonde_proc_maps_next(&lines, &mapping))
		sonde_find_mapping(&mapping, ret_maps);
	sonde_lines_close(&lines);
	return rc == -ENOENT ? -ESRCH : rc;
}

bool sonde_find_is_ours(pid_t pid)
{
	char name[SONDE_COMM_SIZE];
	struct stat theirs;
	struct stat ours;
	char path[48];

	sonde_process_name(pid, name);
	if (!strcmp(name, SONDE_RECORDER_COMM) ||
	    !strcmp(name, SONDE_SERVANT_COMM))
		return true;
	(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	return !stat(path, &theirs) && !stat("/proc/self/exe", &ours) &&
	       theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}

int sonde_find_arena(pid_t pid, int *ret_fd)
{
	return sonde_find_is_ours(pid) ? -ENOENT :
					 sonde_find_given_arena(pid, ret_fd);
}

int sonde_find_given_arena(pid_t pid, int *ret_fd)
{
	struct sonde_find_maps maps;
	int fd;
	int rc;

	/* Where libsonde leaves it. */
	fd = open_link(pid, "fd/1000", O_RDWR);
	if (fd == -ENOENT)
		fd = open_link(pid, "fd/240", O_RDWR);
	if (fd >= 0) {
		*ret_fd = fd;
		return 0;
	}
	rc = read_maps(pid, &maps);
	if (rc)
		return rc == -EPERM ? -EACCES : rc;
	if (!maps.has_arena)
		return maps.has_library ? -ENODATA : -ENOENT;
	fd = open_any(pid);
	if (fd < 0)
		fd = open_mapping(pid, &maps, O_RDWR);
	if (fd < 0)
		return fd;
	*ret_fd = fd;
	return 0;
}

int sonde_find_held(pid_t pid, void (*take)(void *ctx, pid_t pid, int fd),
		    void *ctx)
{
	DIR *dir = sonde_proc_dir(pid, "fd");
	struct sonde_find_maps maps;
	bool is_open = false;
	int fd;
	int rc;

	while ((fd = open_next(pid, dir, O_RDONLY)) >= 0) {
		is_open = true;
		take(ctx, pid, fd);
	}
	if (dir)
		(void)closedir(dir); /* it was only read */
	if (is_open)
		return 0;
	rc = read_maps(pid, &maps);
	if (rc || !maps.has_arena)
		return rc == -EPERM ? -EACCES : rc;
	fd = open_mapping(pid, &maps, O_RDONLY);
	if (fd >= 0)
		take(ctx, pid, fd);
	return fd < 0 ? fd : 0;
}

/* ---- filters ---- */

/* Whether the environment it was started with has this. */
static bool find_has_variable(pid_t pid, const char *wanted)
{
	size_t size = 0;
	bool found = false;
	char *word = NULL;
	char path[48];
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	file = fopen(path, "re");
	while (file && !found && getdelim(&word, &size, '\0', file) > 0)
		found = !strcmp(word, wanted);
	free(word);
	if (file)
		(void)fclose(file); /* it was only read */
	return found;
}

bool sonde_find_is_filtered(pid_t pid)
{
	const struct dirent *entry;
	bool filtered = false;
	char path[320];
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own */
	while (dir && !filtered && (entry = readdir(dir))) {
		if (*entry->d_name == '.')
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%d/task/%s/status",
			       (int)pid, entry->d_name);
		/* -1 is also a thread that has just ended */
		filtered = sonde_seccomp_filters(path) && !access(path, F_OK);
	}
	if (dir)
		(void)closedir(dir); /* it was only read */
	return filtered && !find_has_variable(pid, ALLOWED);
}

int sonde_find_can_reach(const struct sonde_arena_view *view, pid_t pid)
{
	if (view->is_once)
		return -ENOENT;
	if (sonde_arena_mapped(view) >= SONDE_ARENA_SPAN)
		return 0;
	if (!view->can_reach)
		return -EOPNOTSUPP;
	return sonde_find_is_filtered(pid) ? -ENOSYS : 0;
}

/* ---- control groups ---- */

bool sonde_find_in_cgroup(const char *group, const char *wanted)
{
	size_t n = strlen(CGROUP_MOUNT);

	if (!strncmp(wanted, CGROUP_MOUNT, n) &&
	    (wanted[n] == '/' || !wanted[n]))
		wanted += n;
	wanted += strspn(wanted, "/");
	group += strspn(group, "/");
	n = strlen(wanted);
	while (n && wanted[n - 1] == '/')
		n--;
	return !strncmp(group, wanted, n) &&
	       (!n || !group[n] || group[n] == '/');
}

/* One part of a path is it, with what managers put around. */
static bool is_container_part(const char *part, size_t size, const char *wanted)
{
	static const char *const before[] = { "", "machine-", "lxc.payload." };
	static const char *const behind[] = { "", ".scope", ".service" };
	const size_t n = strlen(wanted);

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(before); i++)
		for (size_t j = 0; j < SONDE_ARRAY_SIZE(behind); j++) {
			const size_t first = strlen(before[i]);

			if (size == first + n + strlen(behind[j]) &&
			    !strncmp(part, before[i], first) &&
			    !strncmp(part + first, wanted, n) &&
			    !strncmp(part + first + n, behind[j],
				     strlen(behind[j])))
				return true;
		}
	return false;
}

bool sonde_find_in_container(const char *group, const char *wanted)
{
	const char *id = sonde_proc_container_id(group);

	if (!*wanted)
		return false;
	if (id && strlen(wanted) <= SONDE_CONTAINER_ID &&
	    !strncmp(id, wanted, strlen(wanted)))
		return true;
	for (group += strspn(group, "/"); *group; group += strspn(group, "/")) {
		const size_t size = strcspn(group, "/");

		if (is_container_part(group, size, wanted))
			return true;
		group += size;
	}
	return false;
}
