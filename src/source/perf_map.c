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
#include "source/jitdump.h"
#include "sys/proc.h"
#include "sys/regular.h"
#include "sys/textfile.h"

#define FILE_BYTES_MAX (64ll << 20)
#define CODE_BYTES     20u /* and the name with its NUL */
#define LOST_BYTES     12u

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

/* As the process sees the path. */
static int look_as_it_does(pid_t pid, const char *path, uint64_t flags)
{
	char name[48];
	int root;
	int fd;

	(void)snprintf(name, sizeof(name), "/proc/%d/root", (int)pid);
	root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	fd = look_below(root, path, flags);
	(void)close(root); /* it was only looked at */
	return fd;
}

/* A file like that which it has mapped; < 0: none. */
static int look_for_dump(pid_t pid)
{
	struct sonde_proc_mapping mapping;
	struct sonde_lines lines;
	int fd = -ENOENT;

	if (sonde_proc_maps_open(&lines, pid))
		return -ENOENT;
	while (fd < 0 && sonde_proc_maps_next(&lines, &mapping))
		if (mapping.mode & SONDE_MAPPED_EXEC &&
		    sonde_source_jitdump_is(mapping.path))
			fd = look_as_it_does(pid, mapping.path, 0);
	sonde_lines_close(&lines);
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

/* Once; 0 is no descriptor of ours. */
static void find_dump(struct sonde_source_code_place *place, pid_t pid)
{
	int fd = place->dump ? -EEXIST : look_for_dump(pid);

	if (fd > 0)
		place->dump = fd;
}

void sonde_source_code_find(struct sonde_source_code_place *place, pid_t pid)
{
	uint64_t number = 0;
	uint64_t user = 0;
	int fd;

	if (place->is_known) {
		find_dump(place, pid);
		return;
	}
	if (sonde_proc_status(pid, "NSpid", 10, &number) ||
	    sonde_proc_status(pid, "Uid", 10, &user) ||
	    process_began(pid, &place->begun_s))
		return;
	fd = look_as_it_does(pid, "tmp", O_DIRECTORY);
	if (fd < 0)
		return;
	place->directory = fd;
	place->number = (pid_t)number;
	place->user = (uid_t)user;
	place->is_known = true;
	find_dump(place, pid);
}

void sonde_source_code_fini(struct sonde_source_code_place *place)
{
	if (place->is_known)
		(void)close(place->directory); /* it was only looked at */
	if (place->is_known && place->dump)
		(void)close(place->dump); /* likewise */
	place->is_known = false;
}

/* ---- what it says ---- */

bool sonde_source_code_parse(const char *line,
			     struct sonde_source_made_code *ret_entry)
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
	return sonde_source_made_code(begin, size, at, length, ret_entry);
}

static bool may_believe(const struct sonde_source_code_place *place,
			const struct stat *file)
{
	/* Three times in whole seconds may be off by two. */
	return S_ISREG(file->st_mode) && file->st_uid == place->user &&
	       file->st_size <= FILE_BYTES_MAX &&
	       file->st_mtim.tv_sec >= place->begun_s - 2;
}

/* Takes the descriptor. */
static int open_believed(const struct sonde_source_code_place *place, int fd)
{
	struct stat file;

	if (fd < 0)
		return fd;
	if (!fstat(fd, &file) && may_believe(place, &file))
		return sonde_regular_open(fd, O_RDONLY);
	(void)close(fd); /* it was only looked at */
	return -EPERM;
}

static int open_perf_map(const struct sonde_source_code_place *place)
{
	char path[32];

	if (!place->is_known)
		return -ENOENT;
	(void)snprintf(path, sizeof(path), "perf-%d.map", (int)place->number);
	return open_believed(place, look_below(place->directory, path, 0));
}

/* Of one process: how many entries there were so far, and to whom they go. */
struct code_reading {
	const struct sonde_source_code_target *target;
	uint32_t nr;
	uint64_t omitted;
};

static bool code_take(void *ctx, const struct sonde_source_made_code *entry)
{
	struct code_reading *reading = ctx;
	const struct sonde_source_code_target *target = reading->target;
	uint8_t *at;

	if (reading->nr++ >= SONDE_PERF_MAP_ENTRIES) {
		reading->omitted++;
		return true;
	}
	at = sonde_out_event(target->out, target->code_id,
			     CODE_BYTES + entry->length + 1);
	if (!at)
		return true; /* counted */
	memcpy(at, &target->owner, 4);
	memcpy(at + 4, &entry->begin, 8);
	memcpy(at + 12, &entry->size, 8);
	memcpy(at + CODE_BYTES, entry->name, entry->length);
	at[CODE_BYTES + entry->length] = 0;
	return true;
}

static int read_map(const struct sonde_source_code_place *place,
		    struct code_reading *reading)
{
	struct sonde_source_made_code entry;
	struct sonde_lines *lines;
	int64_t bytes = 0;
	char *line;
	int fd = open_perf_map(place);

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
		if (sonde_source_code_parse(line, &entry))
			(void)code_take(reading, &entry); /* it goes on */
	}
	sonde_lines_close(lines);
	free(lines);
	return 0;
}

/* In memory of our own: who writes it may cut it at any time. */
static int read_dump_bytes(int fd, uint8_t **ret_bytes, size_t *ret_size)
{
	struct stat file;
	uint8_t *bytes;
	size_t done = 0;
	ssize_t n = 1;

	if (fstat(fd, &file) || file.st_size > FILE_BYTES_MAX)
		return -EFBIG;
	bytes = malloc((size_t)file.st_size + 1);
	if (!bytes)
		return -ENOMEM;
	while (n > 0 && done < (size_t)file.st_size) {
		n = pread(fd, bytes + done, (size_t)file.st_size - done,
			  (off_t)done);
		done += n > 0 ? (size_t)n : 0;
	}
	*ret_bytes = bytes;
	*ret_size = done;
	return 0;
}

static int read_dump(const struct sonde_source_code_place *place,
		     struct code_reading *reading)
{
	uint8_t *bytes;
	size_t size;
	int rc;
	int fd;

	if (!place->is_known || !place->dump)
		return -ENOENT;
	fd = open_believed(place, fcntl(place->dump, F_DUPFD_CLOEXEC, 3));
	if (fd < 0)
		return fd;
	rc = read_dump_bytes(fd, &bytes, &size);
	(void)close(fd); /* it was only read */
	if (rc)
		return rc;
	if (!sonde_source_jitdump_parse(bytes, size, code_take, reading))
		rc = -EPERM;
	free(bytes);
	return rc;
}

int sonde_source_code_tell(const struct sonde_source_code_place *place,
			   const struct sonde_source_code_target *target)
{
	struct code_reading reading = { .target = target };
	const int of_map = read_map(place, &reading);
	const int of_dump = read_dump(place, &reading);
	uint8_t *at = reading.omitted ?
			      sonde_out_event(target->out, target->lost_id,
					      LOST_BYTES) :
			      NULL;

	if (at) {
		memcpy(at, &target->owner, 4);
		memcpy(at + 4, &reading.omitted, 8);
	}
	return of_dump ? of_map : 0;
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
