/* SPDX-License-Identifier: MIT */
/*
 * perf_map.c - see perf_map.h.
 *
 * No link is followed, neither to the directory nor in it: openat2() resolves
 * below the process's root. So a kernel without it (before 5.6) names no such
 * code. A process costs one descriptor while it is recorded.
 */
#include "source/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/time.h"
#include "sys/proc.h"
#include "sys/regular.h"
#include "sys/textfile.h"

#define FILE_BYTES_MAX (64ll << 20)
#define CODE_BYTES_MAX (UINT64_C(1) << 30)
#define ADDRESS_LEAST  4096u
#define ADDRESS_END    (UINT64_C(1) << 56)

/* ---- where it is ---- */

static int look_below(int directory, const char *path, uint64_t flags)
{
	const struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW | flags,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS,
	};
	long fd = syscall(SYS_openat2, directory, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

static int open_its_tmp(pid_t pid)
{
	char path[48];
	int root;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	fd = look_below(root, "tmp", O_DIRECTORY);
	(void)close(root); /* it was only looked at */
	return fd;
}

/* When the process began, by the clock of files. */
static int process_began(pid_t pid, int64_t *ret_seconds)
{
	struct sonde_proc_stat stat;
	long ticks = sysconf(_SC_CLK_TCK);
	int rc = sonde_proc_stat(pid, &stat);

	if (rc)
		return rc;
	if (ticks <= 0)
		return -EINVAL;
	*ret_seconds = (int64_t)(sonde_time_ns(CLOCK_REALTIME) / 1000000000) -
		       (int64_t)(sonde_time_ns(CLOCK_BOOTTIME) / 1000000000) +
		       (int64_t)(stat.start / (uint64_t)ticks);
	return 0;
}

void sonde_source_code_find(struct sonde_source_code_place *place, pid_t pid)
{
	uint64_t number = 0;
	uint64_t user = 0;
	int fd;

	if (place->is_known || sonde_proc_status(pid, "NSpid", 10, &number) ||
	    sonde_proc_status(pid, "Uid", 10, &user) ||
	    process_began(pid, &place->begun_s))
		return;
	fd = open_its_tmp(pid);
	if (fd < 0)
		return;
	place->directory = fd;
	place->number = (pid_t)number;
	place->user = (uid_t)user;
	place->is_known = true;
}

void sonde_source_code_fini(struct sonde_source_code_place *place)
{
	if (place->is_known)
		(void)close(place->directory); /* it was only looked at */
	place->is_known = false;
}

/* ---- what it says ---- */

bool sonde_source_code_parse(const char *line,
			     struct sonde_source_code_entry *ret_entry)
{
	const char *at = line;
	uint64_t begin;
	uint64_t size;
	size_t length;

	if (!sonde_hex_take_number(&at, &begin) || !sonde_hex_take(&at, ' ') ||
	    !sonde_hex_take_number(&at, &size) || !sonde_hex_take(&at, ' '))
		return false;
	length = strlen(at);
	if (length && at[length - 1] == '\r')
		length--;
	if (!length || begin < ADDRESS_LEAST || begin >= ADDRESS_END || !size ||
	    size > CODE_BYTES_MAX)
		return false;
	*ret_entry = (struct sonde_source_code_entry){
		.begin = begin,
		.size = size,
		.name = at,
		.length = length < SONDE_PERF_MAP_NAME ? length :
							 SONDE_PERF_MAP_NAME,
	};
	return true;
}

static bool may_believe(const struct sonde_source_code_place *place,
			const struct stat *file)
{
	/* Three times in whole seconds may be off by two. */
	return S_ISREG(file->st_mode) && file->st_uid == place->user &&
	       file->st_size <= FILE_BYTES_MAX &&
	       file->st_mtim.tv_sec >= place->begun_s - 2;
}

static int open_perf_map(const struct sonde_source_code_place *place)
{
	char path[32];
	struct stat file;
	int fd;

	if (!place->is_known)
		return -ENOENT;
	(void)snprintf(path, sizeof(path), "perf-%d.map", (int)place->number);
	fd = look_below(place->directory, path, 0);
	if (fd < 0)
		return fd;
	if (!fstat(fd, &file) && may_believe(place, &file))
		return sonde_regular_open(fd, O_RDONLY);
	(void)close(fd); /* it was only looked at */
	return -EPERM;
}

int sonde_source_code_read(
	const struct sonde_source_code_place *place,
	bool (*add)(void *ctx, const struct sonde_source_code_entry *entry),
	void *ctx, uint64_t *ret_omitted)
{
	struct sonde_source_code_entry entry;
	struct sonde_lines *lines;
	uint32_t nr = 0;
	int64_t bytes = 0;
	char *line;
	int fd = open_perf_map(place);

	*ret_omitted = 0;
	if (fd < 0)
		return fd;
	lines = calloc(1, sizeof(*lines));
	if (!lines) {
		(void)close(fd); /* nothing was written */
		return -ENOMEM;
	}
	lines->fd = fd;
	/* It may grow while it is read. */
	while (bytes < FILE_BYTES_MAX && (line = sonde_lines_next(lines))) {
		bytes += (int64_t)strlen(line) + 1;
		if (!sonde_source_code_parse(line, &entry))
			continue;
		if (nr++ >= SONDE_PERF_MAP_ENTRIES)
			++*ret_omitted;
		else if (!add(ctx, &entry))
			break;
	}
	sonde_lines_close(lines);
	free(lines);
	return 0;
}

/* ---- events ---- */

void sonde_source_code_describe(struct sonde_build *build)
{
	sonde_build_int(build, "begin", 64, SONDE_FIELD_HEX);
	sonde_build_int(build, "size", 64, 0);
	sonde_build_string(build, "name");
}

void sonde_source_code_describe_lost(struct sonde_build *build)
{
	sonde_build_int(build, "nr", 64, 0);
}
