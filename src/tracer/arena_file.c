/* SPDX-License-Identifier: MIT */
/*
 * arena_file.c - the memory file of an arena, and its header (arena_file.h).
 *
 * The header is complete before the descriptor goes to anyone. A file beyond
 * the process's limit isn't made, for growing it would be a signal.
 */
#include "tracer/arena_file.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

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

int sonde_arena_file_new(void)
{
	int fd;

	if (!may_make_file())
		return -1;
	fd = memfd_create("sonde-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -1;
	if (ftruncate(fd, (off_t)SONDE_META_SPAN) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK)) {
		(void)close(fd); /* nothing was written */
		return -1;
	}
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
	/* Pairs with the system call by which sonde_rendezvous passes the file
	 * on, or an attacher opens it: the header is complete. */
	sonde_store_release(&arena->magic, SONDE_ARENA_MAGIC);
}
