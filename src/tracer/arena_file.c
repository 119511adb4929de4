/* SPDX-License-Identifier: MIT */
/*
 * arena_file.c - the memory file of an arena, and its header (arena_file.h).
 *
 * The header is complete before the descriptor goes to anyone. A file beyond the
 * process's limit isn't made, for growing it would be a signal.
 *
 * A file in a directory (SONDE_ARENA) is as long as its disk has room for from the
 * start, and outlives whoever has it: `sonde recover` reads it then.
 */
#include "tracer/arena_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/time.h"

/* A file beyond this limit would not fail: it would bring a signal. */
static bool may_make_file(void)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_FSIZE, &limit) &&
	       limit.rlim_cur >= SONDE_META_SPAN;
}

/* Of the open file, which goes with its last descriptor or mapping. */
static void arena_file_lock(int fd)
{
	struct flock lock = { .l_type = F_WRLCK,
			      .l_whence = SEEK_SET,
			      .l_start = SONDE_LOCK_PROCESS,
			      .l_len = 1 };

	/* Without it, nobody learns of our end by it. */
	(void)fcntl(fd, F_OFD_SETLK, &lock);
}

static int make_memory_file(void)
{
	int fd = memfd_create("sonde-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -1;
	if (ftruncate(fd, (off_t)SONDE_META_SPAN) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK)) {
		(void)close(fd); /* nothing was written */
		return -1;
	}
	return fd;
}

/* With room on its disk: a store where there is none would be a signal. */
static int make_file_in(const char *directory)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path),
			 "%s/" SONDE_ARENA_FILE "%d.%" PRIx64, directory,
			 (int)getpid(), sonde_monotonic_ns());
	int fd;

	if (n <= 0 || (size_t)n >= sizeof(path))
		return -1;
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		  S_IRUSR | S_IWUSR);
	if (fd < 0)
		return -1;
	if (!fallocate(fd, 0, 0, (off_t)SONDE_META_SPAN))
		return fd;
	(void)unlink(path); /* it holds nothing */
	(void)close(fd);
	return -1;
}

int sonde_arena_file_new(const char *directory)
{
	int fd = -1;

	if (!may_make_file())
		return -1;
	if (directory && *directory)
		fd = make_file_in(directory);
	if (fd < 0)
		fd = make_memory_file();
	if (fd >= 0)
		arena_file_lock(fd);
	return fd;
}

void sonde_arena_file_begin(unsigned char *bytes, enum sonde_writer_kind writer,
			    uint32_t pid, uint64_t mapped)
{
	struct sonde_arena *arena = (struct sonde_arena *)(void *)bytes;

	arena->version = SONDE_ARENA_VERSION;
	arena->writer = writer;
	arena->pid = pid;
	arena->mapped = mapped;
	memcpy(arena->name, program_invocation_short_name,
	       strnlen(program_invocation_short_name, sizeof(arena->name)));
	/* Pairs with the system call by which sonde_handshake passes the file
	 * on, or an attacher opens it: the header is complete. */
	sonde_store_release(&arena->magic, SONDE_ARENA_MAGIC);
}
