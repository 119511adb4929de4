/* SPDX-License-Identifier: MIT */
/* fd.c - what /proc/self/fd says of a descriptor (fd.h). */
#include "sys/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define LINK_SIZE 32

static const char *fd_link(int fd, char link[LINK_SIZE])
{
	(void)snprintf(link, LINK_SIZE, "/proc/self/fd/%d", fd);
	return link;
}

int sonde_fd_reopen(int fd, int flags)
{
	char link[LINK_SIZE];
	int own = open(fd_link(fd, link), flags | O_CLOEXEC);

	return own < 0 ? -errno : own;
}

int sonde_fd_path(int fd, char path[PATH_MAX])
{
	char link[LINK_SIZE];
	ssize_t n = readlink(fd_link(fd, link), path, PATH_MAX - 1);
	int rc = n < 0 ? -errno : 0;

	path[n < 0 ? 0 : n] = '\0';
	return rc;
}
