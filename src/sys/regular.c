/* SPDX-License-Identifier: MIT */
/*
 * regular.c - a file is looked at before it is opened.
 *
 * The descriptor that looked is the one that opens, by its place in
 * /proc/self/fd: a path that changes meanwhile changes nothing. Three system
 * calls.
 */
#include "sys/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "sys/fd.h"

int sonde_regular_look(const char *path, struct stat *ret_stat)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	int rc;

	if (fd < 0)
		return -errno;
	rc = fstat(fd, ret_stat)        ? -errno :
	     S_ISREG(ret_stat->st_mode) ? 0 :
					  -EINVAL;
	if (!rc)
		return fd;
	(void)close(fd); /* it was only looked at */
	return rc;
}

int sonde_regular_open(int looked, int mode)
{
	int fd = sonde_fd_reopen(looked, mode | O_NOCTTY | O_NONBLOCK);

	(void)close(looked); /* it was only looked at */
	return fd;
}
