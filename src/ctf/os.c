/* SPDX-License-Identifier: MIT */
/*
 * os.c - the trace writer's system calls (os.h).
 */
#include "ctf/os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int (*sonde_ctf_fault)(const char *call);

static int fault(const char *call)
{
	return sonde_ctf_fault ? sonde_ctf_fault(call) : 0;
}

int sonde_ctf_open(int dir, const char *name, int flags)
{
	int error = fault("open");
	int fd;

	if (error)
		return error;
	do {
		fd = openat(dir, name, flags | O_CLOEXEC | O_NOFOLLOW, 0666);
	} while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : fd;
}

int sonde_ctf_mkdir(int dir, const char *name)
{
	int error = fault("mkdir");

	if (error)
		return error;
	return mkdirat(dir, name, 0777) ? -errno : 0;
}

int sonde_ctf_pwrite(int fd, const void *data, size_t size, uint64_t offset)
{
	const char *bytes = data;
	int error = fault("pwrite");

	if (error)
		return error;
	while (size > 0) {
		ssize_t n = pwrite(fd, bytes, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EIO;
		bytes += n;
		size -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

int sonde_ctf_truncate(int fd, uint64_t size)
{
	int error = fault("ftruncate");
	int r;

	if (error)
		return error;
	do {
		r = ftruncate(fd, (off_t)size);
	} while (r && errno == EINTR);
	return r ? -errno : 0;
}

int sonde_ctf_rename(int dir, const char *from, const char *to)
{
	int error = fault("rename");

	if (error)
		return error;
	return renameat(dir, from, dir, to) ? -errno : 0;
}

int sonde_ctf_unlink(int dir, const char *name)
{
	int error = fault("unlink");

	if (error)
		return error;
	return unlinkat(dir, name, 0) ? -errno : 0;
}

ssize_t sonde_ctf_pread(int fd, void *data, size_t size, uint64_t offset)
{
	char *bytes = data;
	size_t done = 0;

	while (done < size) {
		ssize_t n = pread(fd, bytes + done, size - done,
				  (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}
