/* SPDX-License-Identifier: MIT */
/*
 * io.c - calls that read and write files and sockets as events.
 *
 *	io:read_begin		{fd, size, caller}
 *	io:read			{fd, size, result, caller}
 *				read, pread, readv, preadv, recv, recvfrom,
 *				recvmsg
 *	io:write_begin, io:write	likewise: write, pwrite, writev, pwritev,
 *				send, sendto, sendmsg, sendfile
 *	io:accept_begin		{listener, caller}
 *	io:accept		{listener, fd, caller}		accept, accept4
 *	io:connect_begin	{fd, caller}
 *	io:connect		{fd, result, caller}
 *	io:open_begin		{dir, flags, caller, filename}	open, openat
 *	io:open			{fd, caller}
 *	io:close_begin, io:close	as connect
 *	io:fsync_begin, io:fsync	likewise: fsync, fdatasync
 *
 * Each call is two events, as any of them may wait: one before it and one after it.
 * `size` is what is asked for, in all vectors together. `result`, and the `fd` of
 * what has been opened or accepted, are what the system call gives: -EAGAIN, say,
 * where the program finds -1 and errno. A descriptor is its next owner's from the
 * close_begin on: whoever pairs accept and close takes that.
 *
 * What the C library calls by itself isn't seen: stdio writes to its files from
 * inside. Nor is what libsonde and this library call. Hooks have names of their own
 * in C, as headers may make others of those that programs call (open64, __read_chk).
 *
 * What is behind them is looked up at the start, unlike that of other hooks: these
 * calls are allowed where dlsym() isn't, in a signal's handler and between fork() and
 * exec(), whatever other threads were doing then.
 */
#include "tracer/preload/hooks.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#define VECTORS_MAX 1024u /* IOV_MAX: more are refused */
#define NAME_MOST   255   /* bytes of a file's, as probes have it */

/* The code of libsonde, and of this library. */
static struct {
	uintptr_t begin, size;
} own[2];

/* dl_iterate_phdr()'s, of each part of the program. */
static int find_libraries(struct dl_phdr_info *info, size_t size, void *ctx)
{
	const uintptr_t in[2] = { (uintptr_t)sonde_emit_block,
				  (uintptr_t)find_libraries };

	(void)size;
	(void)ctx;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + header->p_vaddr;

		for (int n = 0; n < 2 && header->p_type == PT_LOAD; n++)
			if (in[n] - begin < header->p_memsz) {
				own[n].begin = begin;
				own[n].size = header->p_memsz;
			}
	}
	return 0;
}

__attribute__((constructor)) static void choose_io(void)
{
	if (!sonde_hook_named("io"))
		return;
	(void)dl_iterate_phdr(find_libraries, NULL);
	sonde_hook_groups |= SONDE_HOOK_IO;
}

static bool io_is_wanted(const void *caller)
{
	uintptr_t from = (uintptr_t)caller;

	return sonde_hook_wanted(SONDE_HOOK_IO) &&
	       from - own[0].begin >= own[0].size &&
	       from - own[1].begin >= own[1].size;
}

#define IO_EVENT(...)                                                     \
	do {                                                              \
		if (io_is_wanted(caller))                                 \
			SONDE_HOOK_EVENT(SONDE_HOOK_IO, io, __VA_ARGS__); \
	} while (0)

#define OUTCOME(name, given) sonde_field(name, (given) == -1 ? -errno : (given))

static void begin_read(int fd, size_t size, const void *caller)
{
	IO_EVENT(read_begin, fd, size, caller);
}

static void end_read(int fd, size_t size, ssize_t given, const void *caller)
{
	IO_EVENT(read, fd, size, OUTCOME(result, given), caller);
}

static void begin_write(int fd, size_t size, const void *caller)
{
	IO_EVENT(write_begin, fd, size, caller);
}

static void end_write(int fd, size_t size, ssize_t given, const void *caller)
{
	IO_EVENT(write, fd, size, OUTCOME(result, given), caller);
}

static void begin_open(int dir, unsigned int flags, const void *caller,
		       const char *filename)
{
	IO_EVENT(open_begin, dir, sonde_hex(flags, flags), caller,
		 sonde_string_max(filename, filename, NAME_MOST));
}

static int end_open(int given, const void *caller)
{
	IO_EVENT(open, OUTCOME(fd, given), caller);
	return given;
}

static size_t vectors_bytes(const struct iovec *vectors, size_t nr)
{
	size_t sum = 0;

	for (size_t i = 0; i < nr && i < VECTORS_MAX; i++)
		sum += vectors[i].iov_len;
	return sum;
}

/* ---- the hooks ---- */

/* clang-format off */
#define NEEDS_MODE(flags) \
	((flags) & O_CREAT || ((flags) & O_TMPFILE) == O_TMPFILE)
/* Declared before it is defined, for its type. */
#define HOOK(type, name, ...)                                       \
	SONDE_EXPORT type io_##name(__VA_ARGS__) __asm__(#name);    \
	static __typeof__(&io_##name) behind_##name;                \
	__attribute__((constructor)) static void find_##name(void)  \
	{                                                           \
		void *found = dlsym(RTLD_NEXT, #name);              \
								    \
		memcpy(&behind_##name, &found, sizeof(found));      \
	}                                                           \
	SONDE_HOOK_AS(type, io_##name, #name, __VA_ARGS__)
#define BEHIND(name) SONDE_HOOK_BEHIND_IN(behind_##name, #name, NULL)

/* As many bytes as `size_` says, by a call with the same arguments. */
#define MOVE(what, name, size_, arguments, ...)                     \
	HOOK(ssize_t, name, __VA_ARGS__)                            \
	{                                                           \
		const void *caller = __builtin_return_address(0);   \
		size_t asked = io_is_wanted(caller) ? (size_) : 0;  \
		ssize_t given;                                      \
								    \
		begin_##what(fd, asked, caller);                    \
		given = BEHIND(name) arguments;                     \
		end_##what(fd, asked, given, caller);               \
		return given;                                       \
	}
/* What gives no bytes. */
#define CALL(what, name, first, second, arguments, ...)             \
	HOOK(int, name, __VA_ARGS__)                                \
	{                                                           \
		const void *caller = __builtin_return_address(0);   \
		int given;                                          \
								    \
		IO_EVENT(what##_begin, first, caller);              \
		given = BEHIND(name) arguments;                     \
		IO_EVENT(what, first, OUTCOME(second, given), caller); \
		return given;                                       \
	}

MOVE(read, read, size, (fd, to, size), int fd, void *to, size_t size)
MOVE(read, __read_chk, size, (fd, to, size, room),
     int fd, void *to, size_t size, size_t room)
MOVE(read, pread, size, (fd, to, size, at),
     int fd, void *to, size_t size, off_t at)
MOVE(read, pread64, size, (fd, to, size, at),
     int fd, void *to, size_t size, off_t at)
MOVE(read, __pread_chk, size, (fd, to, size, at, room),
     int fd, void *to, size_t size, off_t at, size_t room)
MOVE(read, __pread64_chk, size, (fd, to, size, at, room),
     int fd, void *to, size_t size, off_t at, size_t room)
MOVE(read, readv, vectors_bytes(to, (size_t)nr), (fd, to, nr),
     int fd, const struct iovec *to, int nr)
MOVE(read, preadv, vectors_bytes(to, (size_t)nr), (fd, to, nr, at),
     int fd, const struct iovec *to, int nr, off_t at)
MOVE(read, preadv64, vectors_bytes(to, (size_t)nr), (fd, to, nr, at),
     int fd, const struct iovec *to, int nr, off_t at)
MOVE(read, recv, size, (fd, to, size, flags),
     int fd, void *to, size_t size, int flags)
MOVE(read, __recv_chk, size, (fd, to, size, room, flags),
     int fd, void *to, size_t size, size_t room, int flags)
MOVE(read, recvfrom, size, (fd, to, size, flags, peer, length),
     int fd, void *to, size_t size, int flags, void *peer, socklen_t *length)
/* NOLINTNEXTLINE(readability-function-size): what the C library gives */
MOVE(read, __recvfrom_chk, size, (fd, to, size, room, flags, peer, length),
     int fd, void *to, size_t size, size_t room, int flags, void *peer,
     socklen_t *length)
MOVE(read, recvmsg, vectors_bytes(message->msg_iov, message->msg_iovlen),
     (fd, message, flags), int fd, struct msghdr *message, int flags)
MOVE(write, write, size, (fd, from, size),
     int fd, const void *from, size_t size)
MOVE(write, pwrite, size, (fd, from, size, at),
     int fd, const void *from, size_t size, off_t at)
MOVE(write, pwrite64, size, (fd, from, size, at),
     int fd, const void *from, size_t size, off_t at)
MOVE(write, writev, vectors_bytes(from, (size_t)nr), (fd, from, nr),
     int fd, const struct iovec *from, int nr)
MOVE(write, pwritev, vectors_bytes(from, (size_t)nr), (fd, from, nr, at),
     int fd, const struct iovec *from, int nr, off_t at)
MOVE(write, pwritev64, vectors_bytes(from, (size_t)nr), (fd, from, nr, at),
     int fd, const struct iovec *from, int nr, off_t at)
MOVE(write, send, size, (fd, from, size, flags),
     int fd, const void *from, size_t size, int flags)
MOVE(write, sendto, size, (fd, from, size, flags, peer, length),
     int fd, const void *from, size_t size, int flags, const void *peer,
     socklen_t length)
MOVE(write, sendmsg, vectors_bytes(message->msg_iov, message->msg_iovlen),
     (fd, message, flags), int fd, const struct msghdr *message, int flags)
MOVE(write, sendfile, size, (fd, from, at, size),
     int fd, int from, off_t *at, size_t size)
MOVE(write, sendfile64, size, (fd, from, at, size),
     int fd, int from, off_t *at, size_t size)

CALL(accept, accept, listener, fd, (listener, peer, length),
     int listener, void *peer, socklen_t *length)
CALL(accept, accept4, listener, fd, (listener, peer, length, flags),
     int listener, void *peer, socklen_t *length, int flags)
CALL(connect, connect, fd, result, (fd, peer, length),
     int fd, const void *peer, socklen_t length)
CALL(close, close, fd, result, (fd), int fd)
CALL(fsync, fsync, fd, result, (fd), int fd)
CALL(fsync, fdatasync, fd, result, (fd), int fd)

/* A mode is there only if a file may be made. */
#define OPEN(name, dir, arguments, ...)                                   \
	HOOK(int, name, __VA_ARGS__, ...)                                 \
	{                                                                 \
		const void *caller = __builtin_return_address(0);         \
		unsigned int mode = 0;                                    \
		va_list list;                                             \
									  \
		if (NEEDS_MODE(flags)) {                           \
			va_start(list, flags);                            \
			mode = va_arg(list, unsigned int);                \
			va_end(list);                                     \
		}                                                         \
		begin_open(dir, (unsigned int)flags, caller, path);       \
		return end_open(BEHIND(name) arguments, caller);          \
	}
/* By a compiler that has seen that there is none. */
#define OPEN_2(name, dir, arguments, ...)                                 \
	HOOK(int, name, __VA_ARGS__)                                      \
	{                                                                 \
		const void *caller = __builtin_return_address(0);         \
									  \
		begin_open(dir, (unsigned int)flags, caller, path);       \
		return end_open(BEHIND(name) arguments, caller);          \
	}

OPEN(open, AT_FDCWD, (path, flags, mode), const char *path, int flags)
OPEN(open64, AT_FDCWD, (path, flags, mode), const char *path, int flags)
OPEN(openat, dir, (dir, path, flags, mode),
     int dir, const char *path, int flags)
OPEN(openat64, dir, (dir, path, flags, mode),
     int dir, const char *path, int flags)
OPEN_2(__open_2, AT_FDCWD, (path, flags), const char *path, int flags)
OPEN_2(__open64_2, AT_FDCWD, (path, flags), const char *path, int flags)
OPEN_2(__openat_2, dir, (dir, path, flags),
       int dir, const char *path, int flags)
OPEN_2(__openat64_2, dir, (dir, path, flags),
       int dir, const char *path, int flags)
