/* SPDX-License-Identifier: MIT */
/*
 * chunk.c - directories of chunks: names, sizes, removal (chunk.h).
 */
#include "session/chunk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctf/directory.h"
#include "session/kernel.h"
#include "sys/dir.h"

const char *const sonde_chunk_parts[SONDE_CHUNK_PARTS] = {
	".",
	SONDE_TRACE_KERNEL,
	SONDE_TRACE_USER,
};

void sonde_chunk_name(uint32_t nr, bool is_hidden,
		      char name[SONDE_CHUNK_NAME_ROOM])
{
	(void)snprintf(name, SONDE_CHUNK_NAME_ROOM, "%s" SONDE_CHUNK_NAME,
		       is_hidden ? "." : "", nr);
}

/* What the files there take; what can't be seen takes nothing. */
static uint64_t bytes_in(int top, const char *name)
{
	DIR *dir = sonde_dir_open_at(top, name);
	const char *file;
	uint64_t bytes = 0;
	struct stat st;

	while ((file = sonde_dir_next(dir)))
		if (!fstatat(dirfd(dir), file, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(st.st_mode))
			bytes += (uint64_t)st.st_blocks * 512;
	if (dir)
		(void)closedir(dir); /* it was only looked at */
	return bytes;
}

uint64_t sonde_chunk_bytes(int top, const char *name)
{
	int dir = sonde_directory_open_below(top, name);
	uint64_t bytes = 0;

	for (size_t i = 0; i < SONDE_CHUNK_PARTS; i++)
		bytes += bytes_in(dir, sonde_chunk_parts[i]);
	if (dir >= 0)
		(void)close(dir); /* nothing was written by it */
	return bytes;
}

void sonde_chunk_remove_hidden(int top, const char *name)
{
	int dir = sonde_directory_open_below(top, name);

	if (dir < 0)
		return;
	sonde_directory_clear(dir);
	(void)close(dir); /* nothing was written by it */
	(void)unlinkat(top, name, AT_REMOVEDIR);
}

int sonde_chunk_remove(int top, uint32_t nr)
{
	char hidden[SONDE_CHUNK_NAME_ROOM];
	char name[SONDE_CHUNK_NAME_ROOM];

	sonde_chunk_name(nr, false, name);
	sonde_chunk_name(nr, true, hidden);
	if (renameat(top, name, top, hidden))
		return -errno;
	sonde_chunk_remove_hidden(top, hidden);
	return 0;
}
