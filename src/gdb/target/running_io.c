/* SPDX-License-Identifier: MIT */
/*
 * running_io.c - vFile: files as the process sees them, to be read only.
 *
 * GDB reads the program's files and /proc through it. Paths are led through
 * /proc/PID/root where the process has another root than we; nothing is ever
 * written.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/port.h"
#include "gdb/target/running_parts.h"

enum {
	CHUNK_MAX = SONDE_GDB_PACKET_MAX - 32,
	/* as the protocol numbers them */
	REMOTE_EINVAL = 22,
	REMOTE_EROFS = 30,
	REMOTE_EMFILE = 24,
	REMOTE_EUNKNOWN = 9999,
	STAT_BYTES = 64,
};

static void fail(struct sonde_gdb_reply *reply, int error)
{
	static const uint8_t same[] = { EPERM,  ENOENT, EINTR,   EBADF,
					EACCES, ENODEV, ENOTDIR, EISDIR };
	int code = REMOTE_EUNKNOWN;

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(same); i++)
		if (same[i] == error)
			code = error;
	if (error == EINVAL)
		code = REMOTE_EINVAL;
	sonde_gdb_reply_clear(reply);
	sonde_gdb_reply_format(reply, "F-1,%x", code);
}

/* A path of the process's; NULL, for free(). */
static char *running_io_path_of(const struct sonde_gdb_running *running,
				const char *name)
{
	struct stat ours;
	struct stat its;
	char root[64];
	char *path = NULL;

	(void)snprintf(root, sizeof(root), "/proc/%d/root", running->pid);
	if (stat("/", &ours) || stat(root, &its) ||
	    (ours.st_dev == its.st_dev && ours.st_ino == its.st_ino))
		return strdup(name);
	if (asprintf(&path, "%s%s", root, name) < 0)
		return NULL;
	return path;
}

/* "hex" up to a comma or the end, as a path. */
static char *take_path(const struct sonde_gdb_running *running,
		       const char **rest)
{
	size_t nr = strcspn(*rest, ",");
	char *hex = strndup(*rest, nr);
	char *name = hex ? sonde_hex_bytes(hex, NULL) : NULL;
	char *path = name && name[0] == '/' ?
			     running_io_path_of(running, name) :
			     NULL;

	free(hex);
	free(name);
	*rest += nr;
	return path;
}

static int free_file(const struct sonde_gdb_running *running)
{
	for (int i = 0; i < SONDE_GDB_FILES_MAX; i++)
		if (running->files[i] == 0)
			return i;
	return -1;
}

/* open:name,flags,mode */
static void answer_open(struct sonde_gdb_running *running, const char *rest,
			struct sonde_gdb_reply *reply)
{
	int slot = free_file(running);
	char *path = take_path(running, &rest);
	struct stat facts;
	uint64_t flags;
	int fd;

	if (slot < 0 || !path || !sonde_hex_take(&rest, ',') ||
	    !sonde_hex_take_number(&rest, &flags) || flags != 0) {
		free(path);
		sonde_gdb_reply_format(reply, "F-1,%x",
				       slot < 0 ? REMOTE_EMFILE : REMOTE_EROFS);
		return;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	free(path);
	if (fd < 0 || fstat(fd, &facts) || !S_ISREG(facts.st_mode)) {
		fail(reply, fd < 0 ? errno : EACCES);
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	running->files[slot] = fd;
	sonde_gdb_reply_format(reply, "F%x", slot);
}

/* "N": an open file; its descriptor or -1 */
static int running_io_take_file(const struct sonde_gdb_running *running,
				const char **rest, uint64_t *ret_slot)
{
	if (!sonde_hex_take_number(rest, ret_slot) ||
	    *ret_slot >= SONDE_GDB_FILES_MAX || running->files[*ret_slot] == 0)
		return -1;
	return running->files[*ret_slot];
}

/* close:fd */
static void answer_close(struct sonde_gdb_running *running, const char *rest,
			 struct sonde_gdb_reply *reply)
{
	uint64_t slot;
	int fd = running_io_take_file(running, &rest, &slot);

	if (fd < 0) {
		fail(reply, EBADF);
		return;
	}
	(void)close(fd);
	running->files[slot] = 0;
	sonde_gdb_reply_text(reply, "F0");
}

/* pread:fd,count,offset */
static void answer_pread(struct sonde_gdb_running *running, const char *rest,
			 struct sonde_gdb_reply *reply)
{
	static char bytes[CHUNK_MAX];
	uint64_t slot;
	uint64_t count;
	uint64_t offset;
	int fd = running_io_take_file(running, &rest, &slot);
	ssize_t nr;

	if (fd < 0 || !sonde_hex_take(&rest, ',') ||
	    !sonde_hex_take_pair(&rest, &count, ',', &offset) ||
	    offset > INT64_MAX) {
		fail(reply, fd < 0 ? EBADF : EINVAL);
		return;
	}
	if (count > sizeof(bytes))
		count = sizeof(bytes);
	nr = pread(fd, bytes, count, (off_t)offset);
	if (nr < 0) {
		fail(reply, errno);
		return;
	}
	sonde_gdb_reply_format(reply, "F%zx;", (size_t)nr);
	sonde_gdb_reply_bytes(reply, bytes, (size_t)nr);
}

static size_t put_big(uint8_t *to, uint64_t value, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		to[i] = (uint8_t)(value >> 8 * (nr - 1 - i));
	return nr;
}

/* fstat:fd */
static void answer_stat(struct sonde_gdb_running *running, const char *rest,
			struct sonde_gdb_reply *reply)
{
	uint8_t bytes[STAT_BYTES];
	struct stat facts;
	uint64_t slot;
	int fd = running_io_take_file(running, &rest, &slot);
	size_t at = 0;

	if (fd < 0 || fstat(fd, &facts)) {
		fail(reply, fd < 0 ? EBADF : errno);
		return;
	}
	at += put_big(bytes + at, facts.st_dev, 4);
	at += put_big(bytes + at, facts.st_ino, 4);
	at += put_big(bytes + at, facts.st_mode & (S_IFMT | 0777), 4);
	at += put_big(bytes + at, facts.st_nlink, 4);
	at += put_big(bytes + at, facts.st_uid, 4);
	at += put_big(bytes + at, facts.st_gid, 4);
	at += put_big(bytes + at, facts.st_rdev, 4);
	at += put_big(bytes + at, (uint64_t)facts.st_size, 8);
	at += put_big(bytes + at, (uint64_t)facts.st_blksize, 8);
	at += put_big(bytes + at, (uint64_t)facts.st_blocks, 8);
	at += put_big(bytes + at, (uint64_t)facts.st_atime, 4);
	at += put_big(bytes + at, (uint64_t)facts.st_mtime, 4);
	at += put_big(bytes + at, (uint64_t)facts.st_ctime, 4);
	sonde_gdb_reply_format(reply, "F%zx;", at);
	sonde_gdb_reply_bytes(reply, bytes, at);
}

/* readlink:name */
static void answer_readlink(struct sonde_gdb_running *running, const char *rest,
			    struct sonde_gdb_reply *reply)
{
	char *path = take_path(running, &rest);
	char name[4096];
	ssize_t nr = path ? readlink(path, name, sizeof(name)) : -1;

	free(path);
	if (nr < 0) {
		fail(reply, errno);
		return;
	}
	sonde_gdb_reply_format(reply, "F%zx;", (size_t)nr);
	sonde_gdb_reply_bytes(reply, name, (size_t)nr);
}

/* vFile: */
void sonde_gdb_running_file(struct sonde_gdb_running *running, const char *rest,
			    struct sonde_gdb_reply *reply)
{
	if (sonde_hex_take_word(&rest, "open:"))
		answer_open(running, rest, reply);
	else if (sonde_hex_take_word(&rest, "close:"))
		answer_close(running, rest, reply);
	else if (sonde_hex_take_word(&rest, "pread:"))
		answer_pread(running, rest, reply);
	else if (sonde_hex_take_word(&rest, "fstat:"))
		answer_stat(running, rest, reply);
	else if (sonde_hex_take_word(&rest, "readlink:"))
		answer_readlink(running, rest, reply);
	else if (sonde_hex_take_word(&rest, "setfs:"))
		sonde_gdb_reply_text(reply, "F0");
	else
		sonde_gdb_reply_format(reply, "F-1,%x", REMOTE_EROFS);
}

void sonde_gdb_running_close_files(struct sonde_gdb_running *running)
{
	for (int i = 0; i < SONDE_GDB_FILES_MAX; i++) {
		if (running->files[i] > 0)
			(void)close(running->files[i]);
		running->files[i] = 0;
	}
}
