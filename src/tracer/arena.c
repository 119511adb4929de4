/* SPDX-License-Identifier: MIT */
/*
 * arena.c - what libsonde does when a program starts: make the arena, and
 * present it to the session that started the program, if one did.
 *
 * Seven system calls where no session asks; each may fail, and then the
 * program simply isn't traced. The descriptor is moved out of the way of the
 * program's own and serves only those who attach later; the program may close
 * it. Children of fork share the arena; exec makes a new one.
 *
 * The mapping is address space, not memory: the file is sparse and ends at
 * SONDE_META_SPAN until a recorder makes it longer, so mlockall() and core
 * dumps find little there.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ring/hello.h"
#include "tracer/rendezvous.h"
#include "tracer/self.h"

/* Where the descriptor goes; lower if the limit on descriptors is. */
static const int high_fds[] = { 1000, 240 };

unsigned char *sonde_arena;
unsigned char *sonde_fast_rings;

static int new_file(void)
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

static unsigned char *map_file(int fd)
{
	void *arena = mmap(NULL, SONDE_ARENA_SPAN, PROT_READ | PROT_WRITE,
			   MAP_SHARED, fd, 0);

	if (arena == MAP_FAILED)
		return NULL;
	/* advice: a kernel that doesn't take it does no harm */
	(void)madvise(arena, SONDE_ARENA_SPAN, MADV_DONTDUMP);
	return arena;
}

static int move_high(int fd)
{
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(high_fds); i++) {
		int high = fcntl(fd, F_DUPFD_CLOEXEC, high_fds[i]);

		if (high >= 0) {
			(void)close(fd); /* `high` is the same file */
			return high;
		}
	}
	return fd;
}

static bool make_arena(int *ret_fd)
{
	unsigned char *bytes;
	struct sonde_arena *arena;
	int fd = new_file();

	if (fd < 0)
		return false;
	bytes = map_file(fd);
	if (!bytes) {
		(void)close(fd); /* nothing was written */
		return false;
	}
	arena = (struct sonde_arena *)(void *)bytes;
	arena->version = SONDE_ARENA_VERSION;
	arena->pid = (uint32_t)getpid();
	arena->writer =
		sonde_rseq_setup() ? SONDE_WRITER_RSEQ : SONDE_WRITER_LANES;
	sonde_arena = bytes;
	sonde_fast_rings = bytes + SONDE_META_SPAN;
	/* Pairs with the system call by which sonde_rendezvous passes the file
	 * on, or an attacher opens it: the header is complete. */
	sonde_store_release(&arena->magic, SONDE_ARENA_MAGIC);
	*ret_fd = move_high(fd);
	return true;
}

void sonde_start(void)
{
	static bool is_started;
	int saved_errno = errno;
	const char *session;
	int fd;

	if (is_started)
		return;
	is_started = true;
	if (make_arena(&fd)) {
		/* can't fail but for want of memory, and then children keep
		 * our ids */
		(void)pthread_atfork(NULL, NULL, sonde_self_forked);
		sonde_self_learn();
		session = secure_getenv(SONDE_SESSION_ENV);
		if (session && *session)
			sonde_rendezvous(session, fd);
	}
	errno = saved_errno;
}

/*
 * As early as can be: whoever has tracepoints needs the arena and the
 * session's rules in his constructors. In a static executable all constructors
 * are one list, so sonde_register() starts us as well.
 */
__attribute__((constructor(101))) static void start(void)
{
	sonde_start();
}
