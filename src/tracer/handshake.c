/* SPDX-License-Identifier: MIT */
/*
 * handshake.c - the arena's presentation to the session that started the
 * program (handshake.h).
 *
 * All that is waited for counts against one point of time, whatever interrupts
 * it; after that the program runs unrecorded. One message out, one answer in,
 * and the socket is closed.
 */
#include "tracer/handshake.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "ring/hello.h"

/* A connection and when we give it up: one moment for all that is waited for. */
struct call {
	int fd;
	int64_t end_ns;
};

/* By a system call: the C library's own would read the time stamp counter, which
 * may be turned off, and be killed for it. */
static int64_t now_ns(void)
{
	struct timespec t = { 0 };

	(void)syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t); /* can't fail */
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* connect() waits as send() does, if the queue of peers is full. */
static bool session_socket_reach(const struct call *call,
				 const struct sockaddr_un *address)
{
	int64_t left_ns;

	while ((left_ns = call->end_ns - now_ns()) > 0) {
		/* 0 would mean: for ever */
		struct timeval limit = {
			.tv_sec = left_ns / 1000000000,
			.tv_usec = left_ns % 1000000000 / 1000 + 1,
		};

		if (limit.tv_usec > 999999)
			limit.tv_usec = 999999;
		if (setsockopt(call->fd, SOL_SOCKET, SO_SNDTIMEO, &limit,
			       sizeof(limit)))
			return false;
		if (!connect(call->fd, (const struct sockaddr *)address,
			     sizeof(*address)))
			return true;
		if (errno != EINTR)
			return false;
	}
	return false;
}

/* Something has come; a signal handler doesn't make it longer. */
static bool session_socket_await(const struct call *call)
{
	struct pollfd pollfd = { .fd = call->fd, .events = POLLIN };
	int64_t left_ns;

	while ((left_ns = call->end_ns - now_ns()) > 0) {
		int nr = poll(&pollfd, 1, (int)((left_ns + 999999) / 1000000));

		if (nr > 0)
			return true;
		if (nr < 0 && errno != EINTR)
			return false;
	}
	return false;
}

static bool connect_to(const char *session, uint64_t patience_ns,
		       struct call *ret_call)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t n = strlen(session);

	/* A session without a path is of an older recorder's. */
	if (session[0] != '/' || n >= sizeof(address.sun_path))
		return false;
	memcpy(address.sun_path, session, n);
	ret_call->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (ret_call->fd < 0)
		return false;
	ret_call->end_ns = now_ns() + (int64_t)patience_ns;
	if (session_socket_reach(ret_call, &address))
		return true;
	(void)close(ret_call->fd); /* nobody there */
	return false;
}

/* The path may lead elsewhere by now: talk only to ourselves and to root. */
static int is_ours(int fd)
{
	struct ucred peer = { .uid = (uid_t)-1 };
	socklen_t size = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) &&
	       (peer.uid == 0 || peer.uid == geteuid());
}

static int present(int fd, int arena, uint32_t pid)
{
	struct sonde_hello hello = {
		.magic = SONDE_HELLO_MAGIC,
		.version = SONDE_HELLO_VERSION,
		.pid = pid,
	};
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr aligned;
	} control = { { 0 } };
	struct iovec data = { &hello, sizeof(hello) };
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.bytes),
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &arena, sizeof(arena));
	return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) ==
	       (ssize_t)sizeof(hello);
}

/* What it says is for the recorder's user, and for who presents the arena of
 * another. */
static int take_answer(const struct call *call)
{
	struct sonde_welcome welcome;

	return session_socket_await(call) &&
			       recv(call->fd, &welcome, sizeof(welcome),
				    MSG_DONTWAIT) == (ssize_t)sizeof(welcome) ?
		       welcome.error :
		       -ENOTCONN;
}

int sonde_handshake(const char *session, int arena, uint32_t pid,
		    uint64_t patience_ns)
{
	struct call call;
	int rc = -ENOTCONN;

	if (!connect_to(session, patience_ns, &call))
		return rc;
	if (is_ours(call.fd) && present(call.fd, arena, pid))
		rc = take_answer(&call);
	(void)close(call.fd); /* nothing more to be said */
	return rc;
}

/* The answer, and the descriptor that comes with it. */
static int receive_filters(const struct call *call, int *ret_fd)
{
	struct sonde_welcome welcome;
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr aligned;
	} control;
	struct iovec data = { &welcome, sizeof(welcome) };
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.bytes),
	};
	struct cmsghdr *header;
	ssize_t n;

	if (!session_socket_await(call))
		return -ENOTCONN;
	n = recvmsg(call->fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	header = n < 0 ? NULL : CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_level == SOL_SOCKET &&
	    header->cmsg_type == SCM_RIGHTS &&
	    header->cmsg_len == CMSG_LEN(sizeof(int))) {
		memcpy(ret_fd, CMSG_DATA(header), sizeof(*ret_fd));
		return 0;
	}
	return n == (ssize_t)sizeof(welcome) && welcome.error ? welcome.error :
								-EPROTO;
}

int sonde_handshake_ask(const char *session,
			const struct sonde_filters_ask *ask,
			uint64_t patience_ns, int *ret_fd)
{
	size_t size = offsetof(struct sonde_filters_ask, index) +
		      ask->nr * sizeof(ask->index[0]);
	struct call call;
	int rc = -ENOTCONN;

	if (!connect_to(session, patience_ns, &call))
		return rc;
	if (is_ours(call.fd) &&
	    send(call.fd, ask, size, MSG_NOSIGNAL | MSG_DONTWAIT) ==
		    (ssize_t)size)
		rc = receive_filters(&call, ret_fd);
	(void)close(call.fd); /* nothing more to be said */
	return rc;
}
