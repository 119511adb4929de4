/* SPDX-License-Identifier: MIT */
/*
 * arena.c - what libsonde does when a program starts: make the arena, and
 * present it to the session that started the program, if one did.
 *
 * Fourteen system calls where no session asks; each may fail, and then the
 * program simply isn't traced. The first three find out whether a seccomp
 * filter may kill for the others: then none of them is made (calls.h). The descriptor is moved out of the way of the
 * program's own and serves only those who attach later; the program may close
 * it. Children of fork share the arena; exec makes a new one.
 *
 * An unrecorded program maps SONDE_META_SPAN bytes, of which it touches a few
 * pages; a recorded one what its recorder made of the file. No more, as
 * address space is not free: it counts for RLIMIT_AS and for mlockall(), which
 * also fills it. For a recorder that comes later, it maps more at its next event
 * (reach.h); with SONDE_ATTACHABLE in its environment, a program maps all that a
 * recorder may ever want at its start.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ring/hello.h"
#include "tracer/arena_file.h"
#include "tracer/calls.h"
#include "tracer/filters.h"
#include "tracer/handshake.h"
#include "tracer/reach.h"
#include "tracer/self.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
/* Of x86-64, and of AArch64 with pages of 4 KiB. Where they are larger, there are
 * none. */
#define HUGE_PAGE ((size_t)2 << 20)

/* Where the descriptor goes; lower if the limit on descriptors is. */
static const int high_fds[] = { 1000, 240 };

unsigned char *sonde_arena;
unsigned char *sonde_fast_rings;
uint64_t sonde_fast_bytes;

static size_t mapped_span(void)
{
	return secure_getenv("SONDE_ATTACHABLE") ? SONDE_ARENA_SPAN :
						   SONDE_META_SPAN;
}

static unsigned char *own_arena_map_file(int fd)
{
	size_t span = mapped_span();
	void *arena =
		mmap(NULL, span, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (arena == MAP_FAILED)
		return NULL;
	/* advice: a kernel that doesn't take it does no harm */
	(void)madvise(arena, span, MADV_DONTDUMP);
	return arena;
}

static bool is_to_be_resident(const struct sonde_slot *slot)
{
	return slot->resident && slot->resident <= SONDE_RESIDENT_RINGS;
}

static bool rings_are_to_be_resident(void)
{
	const struct sonde_slot *slots =
		(const void *)(sonde_arena + SONDE_SLOTS_OFF);

	for (uint32_t i = 0; i < SONDE_SLOTS; i++)
		if (is_to_be_resident(&slots[i]))
			return true;
	return false;
}

/* Where the arena may move to, so that huge pages of the file can be huge pages
 * of the mapping: room that is taken, a HUGE_PAGE longer than `size`; NULL. */
static unsigned char *room_for_huge_pages(size_t size)
{
	unsigned char *room =
		mmap(NULL, size + HUGE_PAGE, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	unsigned char *begin;

	if (room == MAP_FAILED)
		return NULL;
	begin = room + (-(uintptr_t)room & (HUGE_PAGE - 1));
	if (begin != room)
		(void)munmap(room, (size_t)(begin - room));
	(void)munmap(begin + size, (size_t)(room + HUGE_PAGE - begin));
	return begin;
}

/*
 * The recorder has made the file longer: map the rings as well. Nobody has a
 * pointer into the arena yet, so it may move.
 */
static bool own_arena_map_rings(int fd)
{
	void *room = NULL;
	struct stat st;
	void *arena;

	if (secure_getenv("SONDE_ATTACHABLE"))
		return true;
	if (fstat(fd, &st) || (uint64_t)st.st_size <= SONDE_META_SPAN)
		return true;
	if (rings_are_to_be_resident())
		room = room_for_huge_pages((size_t)st.st_size);
	arena = mremap(sonde_arena, SONDE_META_SPAN, (size_t)st.st_size,
		       room ? MREMAP_MAYMOVE | MREMAP_FIXED : MREMAP_MAYMOVE,
		       room);
	if (arena == MAP_FAILED)
		return false;
	sonde_arena = arena;
	((struct sonde_arena *)arena)->mapped = (uint64_t)st.st_size;
	return true;
}

/* So that no event has to wait for a page, nor for the tables of pages, which caches
 * don't hold where a ring is large: of what is there the kernel makes huge pages, if
 * it has any (6.1 and later). */
static void own_arena_touch(struct sonde_slot *slot)
{
	unsigned char *rings = sonde_arena + slot->ctl_off;
	size_t size =
		slot->data_off - slot->ctl_off +
		(size_t)slot->resident * slot->nr_subbufs * slot->subbuf_size;
	uint32_t became = SONDE_RESIDENT_REFUSED;

	if (!madvise(sonde_arena, SONDE_META_SPAN, MADV_POPULATE_WRITE) &&
	    !madvise(rings, size, MADV_POPULATE_WRITE)) {
		(void)madvise(rings, size, MADV_COLLAPSE);
		/* Those that were in the middle of it. */
		(void)madvise(rings, size, MADV_POPULATE_WRITE);
		became = mlock(sonde_arena, SONDE_META_SPAN) ||
					 mlock(rings, size) ?
				 SONDE_RESIDENT_THERE :
				 SONDE_RESIDENT_LOCKED;
	}
	slot->resident |= became << SONDE_RESIDENT_SHIFT;
}

/* For the sessions whose users want that. */
static void own_arena_be_resident(void)
{
	struct sonde_slot *slots = (void *)(sonde_arena + SONDE_SLOTS_OFF);

	for (uint32_t i = 0; i < SONDE_SLOTS; i++)
		if (is_to_be_resident(&slots[i]))
			own_arena_touch(&slots[i]);
}

/* Another descriptor of the file, out of the way; -1 if there is no room. */
static int move_high(int fd)
{
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(high_fds); i++) {
		int high = fcntl(fd, F_DUPFD_CLOEXEC, high_fds[i]);

		if (high >= 0)
			return high;
	}
	return -1;
}

/* A stack is walked by words of eight bytes (ring/walk.c). */
#if UINTPTR_MAX > UINT32_MAX
#define STACK_ABILITIES (SONDE_ARENA_CAN_STACK | SONDE_ARENA_CAN_STACK_FAST)
#else
#define STACK_ABILITIES 0u
#endif

#ifdef __x86_64__
#define FAST_ABILITIES SONDE_ARENA_CAN_SEVERAL
#else
#define FAST_ABILITIES 0u
#endif

static bool make_arena(int *ret_fd)
{
	unsigned char *bytes;
	enum sonde_writer_kind writer;
	int fd = sonde_arena_file_new(secure_getenv(SONDE_ARENA_ENV));

	if (fd < 0)
		return false;
	bytes = own_arena_map_file(fd);
	if (!bytes) {
		(void)close(fd); /* nothing was written */
		return false;
	}
	writer = !sonde_calls_clock_readable() ? SONDE_WRITER_NONE :
		 sonde_rseq_setup()            ? SONDE_WRITER_RSEQ :
						 SONDE_WRITER_LANES;
	sonde_self_learn();
	sonde_arena = bytes;
	((struct sonde_arena *)(void *)bytes)->abilities =
		SONDE_ARENA_CAN_REACH | SONDE_ARENA_CAN_COUNT |
		SONDE_ARENA_CAN_CONTEXT | SONDE_ARENA_CAN_COUNTER |
		STACK_ABILITIES | FAST_ABILITIES;
	sonde_arena_file_begin(bytes, writer, sonde_self.pid, mapped_span());
	*ret_fd = fd;
	return true;
}

/* The session's answer has come, or there is no session (NULL). */
static void settle(int fd, const char *session)
{
	const struct sonde_arena *header = (void *)sonde_arena;

	/* It was made for the recorder to hear why. */
	if (header->writer == SONDE_WRITER_NONE) {
		sonde_arena = NULL;
		return;
	}
	if (session && !own_arena_map_rings(fd)) {
		/* not traced, then, and the recorder is told */
		((struct sonde_arena *)(void *)sonde_arena)->refused++;
		sonde_arena = NULL;
		return;
	}
	/* it may have moved */
	header = (void *)sonde_arena;
	sonde_reach_start(header->mapped);
	if (session) {
		own_arena_be_resident();
		sonde_filters_start(session);
	}
	/* can't fail but for want of memory, and then children keep our ids */
	(void)pthread_atfork(NULL, NULL, sonde_self_forked);
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
	if (sonde_calls_allowed() && make_arena(&fd)) {
		session = secure_getenv(SONDE_SESSION_ENV);
		if (session && !*session)
			session = NULL;
		/* Whatever fails: the program just isn't recorded. */
		if (session)
			(void)sonde_handshake(session, fd, sonde_self.pid,
					      sonde_patience_ns(secure_getenv(
						      SONDE_PATIENCE_ENV)));
		settle(fd, session);
		(void)move_high(fd); /* whoever attaches finds it there */
		(void)close(fd);
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
