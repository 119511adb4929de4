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

int sonde_userdir_open(const char *variable, const char *below_home)
{
	const char *top = absolute_variable(variable);
	const char *home = absolute_variable("HOME");
	char path[PATH_MAX];
	int length;

	if (!top && !home)
		return -ENOENT;
	length = snprintf(path, sizeof(path), "%s%s/sonde", top ? top : home,
			  top ? "" : below_home);
	if (length < 0 || (size_t)length >= sizeof(path))
		return -ENAMETOOLONG;
	for (char *end = path + 1; (end = strchr(end, '/')); *end++ = '/') {
		*end = 0;
		(void)mkdir(path, 0700); /* it may be there */
	}
	(void)mkdir(path, 0700);
	length = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return length < 0 ? -errno : length;
}
