/* SPDX-License-Identifier: MIT */
/*
 * userdir.c - directories under a user's home (userdir.h). A variable that doesn't
 * begin with '/' counts as not set, as the XDG base directory specification
 * wants it.
 */
#include "sys/userdir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *absolute_variable(const char *name)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets variables */
	const char *value = getenv(name);

	return value && *value == '/' ? value : NULL;
}

int sonde_userdir_path(const char *variable, const char *below_home,
		       const char *file, char to[PATH_MAX])
{
	const char *top = absolute_variable(variable);
	const char *home = absolute_variable("HOME");
	int length;

	if (!top && !home)
		return -ENOENT;
	length = snprintf(to, PATH_MAX, "%s%s/sonde%s", top ? top : home,
			  top ? "" : below_home, file);
	return length < 0 || length >= PATH_MAX ? -ENAMETOOLONG : 0;
}

int sonde_userdir_open(const char *variable, const char *below_home)
{
	char path[PATH_MAX];
	int err = sonde_userdir_path(variable, below_home, "", path);
	int fd;

	if (err)
		return err;
	for (char *end = path + 1; (end = strchr(end, '/')); *end++ = '/') {
		*end = 0;
		(void)mkdir(path, 0700); /* it may be there */
	}
	(void)mkdir(path, 0700);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
