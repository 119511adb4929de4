/* SPDX-License-Identifier: MIT */
/* dir.c - see dir.h. What can't be read any more is the end. */
#include "sys/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

DIR *sonde_dir_open_at(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !dir) {
		int error = errno;

		(void)close(fd); /* a directory */
		errno = error;
	}
	return dir;
}

const char *sonde_dir_next(DIR *dir)
{
	const struct dirent *entry;

	/* The caller's own stream. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			return entry->d_name;
	return NULL;
}
