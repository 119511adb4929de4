/* SPDX-License-Identifier: MIT */
/*
 * write.c - all bytes to a descriptor.
 *
 * Interrupted and partial writes go on where they stopped; a write of nothing
 * is an error, so the loop ends.
 */
#include "sys/write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

enum way {
	WAY_WRITE,
	WAY_PWRITE,
	WAY_SEND,
};

static ssize_t write_some(int fd, const char *from, size_t size, enum way way,
			  off_t offset)
{
	switch (way) {
	case WAY_PWRITE:
		return pwrite(fd, from, size, offset);
	case WAY_SEND:
		return send(fd, from, size, MSG_NOSIGNAL);
	case WAY_WRITE:
		break;
	}
	return write(fd, from, size);
}

static int write_all(int fd, const char *from, size_t size, enum way way,
		     off_t offset)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = write_some(fd, from + done, size - done, way,
				       offset + (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EIO;
		done += (size_t)n;
	}
	return 0;
}

int sonde_write_all(int fd, const void *bytes, size_t size)
{
	return write_all(fd, bytes, size, WAY_WRITE, 0);
}

int sonde_write_socket(int fd, const void *bytes, size_t size)
{
	return write_all(fd, bytes, size, WAY_SEND, 0);
}

int sonde_pwrite_all(int fd, const void *bytes, size_t size, uint64_t offset)
{
	return write_all(fd, bytes, size, WAY_PWRITE, (off_t)offset);
}

int sonde_write_replace(int dir, const char *draft, const char *name,
			const void *bytes, size_t size)
{
	int rc;
	int fd;

	(void)unlinkat(dir, draft, 0); /* of who was killed; or a link */
	fd = openat(dir, draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	rc = sonde_write_all(fd, bytes, size);
	if (close(fd) && !rc)
		rc = -errno;
	if (!rc && renameat(dir, draft, dir, name))
		rc = -errno;
	if (rc)
		(void)unlinkat(dir, draft, 0); /* what there is of it */
	return rc;
}
