/* SPDX-License-Identifier: MIT */
/*
 * write.c - all bytes to a descriptor.
 *
 * Interrupted and partial writes go on where they stopped; a write of nothing
 * is an error, so the loop ends.
 */
#include "sys/write.h"

#include <errno.h>
#include <sys/types.h>
#include <unistd.h>

static int write_all(int fd, const char *from, size_t size, const off_t *offset)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = offset ? pwrite(fd, from + done, size - done,
					    *offset + (off_t)done) :
				     write(fd, from + done, size - done);

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
	return write_all(fd, bytes, size, NULL);
}

int sonde_pwrite_all(int fd, const void *bytes, size_t size, uint64_t offset)
{
	off_t from = (off_t)offset;

	return write_all(fd, bytes, size, &from);
}
