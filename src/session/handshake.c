/* SPDX-License-Identifier: MIT */
/*
 * handshake.c - the recorder's side of the socket that programs connect to
 * (handshake.h).
 *
 * A message is looked at (MSG_PEEK) and its peer known before anything is
 * received; of descriptors only one of a memory file is taken. No call waits.
 */
#include "session/handshake.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/number.h"
#include "session/find.h"
#include "sys/fd.h"
#include "sys/foreign.h"
#include "sys/proc.h"
#include "sys/textfile.h"

/* Unless the system allows less. */
#define BACKLOG 4096

uint32_t sonde_handshake_backlog(void)
{
	char text[32];
	const char *at = text;
	uint64_t most;

	(void)sonde_textfile_read(text, sizeof(text),
				  "/proc/sys/net/core/somaxconn");
	return sonde_number_take(&at, 10, BACKLOG, &most) && most ?
		       (uint32_t)most :
		       BACKLOG;
}

/* A name that can't be guessed is what keeps others out of root's. */
static int listen_in(const struct sonde_rundir *dir,
		     char ret_path[SONDE_SESSION_NAME_MAX], int *ret_fd)
{
	uint64_t secret[2];
	char name[SONDE_SOCKET_NAME_MAX];
	struct sonde_rundir_socket what = {
		.name = name,
		.type = SOCK_SEQPACKET | SOCK_NONBLOCK,
		.mode = geteuid() == 0 ? 0666 : 0600,
		.backlog = BACKLOG,
	};
	int rc;

	if (getrandom(secret, sizeof(secret), 0) != (ssize_t)sizeof(secret))
		return -errno;
	(void)snprintf(name, sizeof(name), "s%016" PRIx64 "%016" PRIx64,
		       secret[0], secret[1]);
	rc = sonde_rundir_listen(dir, &what, ret_fd);
	if (!rc)
		(void)snprintf(ret_path, SONDE_SESSION_NAME_MAX, "%s/%s",
			       dir->path, name);
	return rc;
}

int sonde_handshake_listen(char ret_path[SONDE_SESSION_NAME_MAX], int *ret_fd)
{
	struct sonde_rundir dir;
	int rc = sonde_rundir_open(&dir);

	if (rc)
		return rc;
	/* what recorders that were killed left behind */
	sonde_rundir_clean(&dir);
	rc = listen_in(&dir, ret_path, ret_fd);
	sonde_rundir_close(&dir);
	return rc;
}

int sonde_handshake_accept(int listen_fd, int *ret_fd,
			   struct sonde_peer *ret_peer)
{
	int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return errno == EINTR || errno == ECONNABORTED ? -EAGAIN :
								 -errno;
	if (sonde_peer_of(fd, ret_peer)) {
		sonde_foreign_drop(fd);
		return -EAGAIN;
	}
	*ret_fd = fd;
	return 0;
}

/* Takes the message out that was looked at, and has no descriptor whose end we
 * might have to wait for. */
static void handshake_consume(int fd)
{
	char byte;

	(void)!recv(fd, &byte, 1, MSG_DONTWAIT);
}

/* Whether it is an arena's file where --arena says they are: by its path, for a
 * question to another file system could make us wait. */
static bool is_in_arenas(int fd)
{
	const char *directory = secure_getenv(SONDE_ARENA_ENV);
	size_t length = directory ? strlen(directory) : 0;
	char path[PATH_MAX];

	return length && !sonde_fd_path(fd, path) &&
	       !strncmp(path, directory, length) && path[length] == '/' &&
	       sonde_find_is_arena_link(path);
}

/* The one descriptor of a message that was looked at, if it is of a memory
 * file (others have no seals), or of an arena's. */
static int take_descriptor(struct msghdr *message, int *ret_fd)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(message);
	int fd;

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
	    c->cmsg_len != CMSG_LEN(sizeof(fd)))
		return -EPROTO;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	if ((message->msg_flags & MSG_CTRUNC) ||
	    (fcntl(fd, F_GET_SEALS) < 0 && !is_in_arenas(fd))) {
		sonde_foreign_close(fd);
		return -EPROTO;
	}
	*ret_fd = fd;
	return 0;
}

static int handshake_judge(const struct sonde_hello *hello, ssize_t n,
			   int flags)
{
	if (n != (ssize_t)sizeof(*hello) || hello->magic != SONDE_HELLO_MAGIC ||
	    (flags & MSG_TRUNC))
		return -EPROTO;
	return hello->version == SONDE_HELLO_VERSION ? 0 : -EPROTONOSUPPORT;
}

int sonde_handshake_receive(int fd, int *ret_arena_fd, pid_t *ret_pid)
{
	struct sonde_hello hello;
	struct iovec io = { &hello, sizeof(hello) };
	union {
		struct cmsghdr align;
		char bytes[CMSG_LEN(sizeof(int))];
	} control;
	struct msghdr message = {
		.msg_iov = &io,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = CMSG_LEN(sizeof(int)),
	};
	ssize_t n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_PEEK);
	int arena_fd = -1;
	int rc;

	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	if (!message.msg_controllen && !(message.msg_flags & MSG_CTRUNC)) {
		/* No descriptor. Left in the queue it would cost the peer
		 * our answer. */
		handshake_consume(fd);
		return n ? -EPROTO : -ECONNRESET;
	}
	rc = take_descriptor(&message, &arena_fd);
	if (!rc) {
		handshake_consume(fd);
		rc = handshake_judge(&hello, n, message.msg_flags);
	}
	if (rc) {
		if (arena_fd >= 0)
			(void)close(arena_fd); /* a memory file */
		return rc;
	}
	*ret_arena_fd = arena_fd;
	*ret_pid = (pid_t)hello.pid;
	return 0;
}

int sonde_handshake_answer(int fd, int error)
{
	struct sonde_welcome welcome = {
		.magic = SONDE_HELLO_MAGIC,
		.version = SONDE_HELLO_VERSION,
		.error = error,
	};

	return send(fd, &welcome, sizeof(welcome),
		    MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ?
		       -errno :
		       0;
}

int sonde_handshake_receive_ask(int fd, struct sonde_filters_ask *ret_ask)
{
	const size_t head = offsetof(struct sonde_filters_ask, index);
	struct iovec io = { ret_ask, sizeof(*ret_ask) };
	struct msghdr message = { .msg_iov = &io, .msg_iovlen = 1 };
	ssize_t n = recvmsg(fd, &message, MSG_PEEK);

	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	if (n < (ssize_t)sizeof(ret_ask->magic) ||
	    ret_ask->magic != SONDE_FILTERS_MAGIC)
		return -ENOMSG;
	if (message.msg_flags & MSG_CTRUNC)
		return -EPROTO; /* it has descriptors */
	handshake_consume(fd);
	if ((message.msg_flags & MSG_TRUNC) || n < (ssize_t)head ||
	    ret_ask->nr > SONDE_FILTERS_ASK ||
	    (size_t)n != head + ret_ask->nr * sizeof(ret_ask->index[0]))
		return -EPROTO;
	return ret_ask->version == SONDE_HELLO_VERSION ? 0 : -EPROTONOSUPPORT;
}

int sonde_handshake_answer_ask(int fd, int file)
{
	struct sonde_welcome welcome = {
		.magic = SONDE_HELLO_MAGIC,
		.version = SONDE_HELLO_VERSION,
	};
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .bytes = { 0 } };
	struct iovec io = { &welcome, sizeof(welcome) };
	struct msghdr message = {
		.msg_iov = &io,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &file, sizeof(file));
	return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno :
									0;
}
