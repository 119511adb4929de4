/* SPDX-License-Identifier: MIT */
/*
 * os.c - the trace writer's system calls (os.h).
 */
#include "ctf/os.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctf/directory.h"
#include "sys/write.h"

int (*sonde_ctf_fault)(const char *call);

static int fault(const char *call)
{
	return sonde_ctf_fault ? sonde_ctf_fault(call) : 0;
}

int sonde_ctf_create(int dir, const char *name, int access)
{
	int error = fault("open");

	return error ? error : sonde_directory_file_below(dir, name, access);
}

int sonde_ctf_mkdir(int dir, const char *name)
{
	int error = fault("mkdir");

	if (error)
		return error;
	return sonde_directory_make_below(dir, name, false);
}

int sonde_ctf_pwrite(int fd, const void *data, size_t size, uint64_t offset)
{
	int error = fault("pwrite");

	return error ? error : sonde_pwrite_all(fd, data, size, offset);
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
