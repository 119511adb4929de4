/* SPDX-License-Identifier: MIT */
#include "tracer/rendezvous.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ring/hello.h"

/* A recorder that takes longer is not seen to live. */
#define ANSWER_SECONDS 10

static int connect_to(const char *session)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct timeval limit = { .tv_sec = ANSWER_SECONDS };
	size_t n = strlen(session);
	int fd;

	if (n >= sizeof(address.sun_path))
		return -1;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	/* sun_path[0] stays NUL: the abstract namespace */
	memcpy(address.sun_path + 1, session, n);
	/* connect() waits as send() does, if the queue of peers is full */
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) ||
	    connect(fd, (const struct sockaddr *)&address,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				n))) {
		(void)close(fd); /* nobody there */
		return -1;
	}
	return fd;
}

/* Anybody may listen under a name: talk only to ourselves and to root. */
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
	return sendmsg(fd, &message, MSG_NOSIGNAL) == (ssize_t)sizeof(hello);
}

/* What it says is for the recorder's user, and for who presents the arena of
 * another. */
static int await_answer(int fd)
{
	struct sonde_welcome welcome;
	ssize_t n;

	do
		n = recv(fd, &welcome, sizeof(welcome), 0);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(welcome) ? welcome.error : -ENOTCONN;
}

int sonde_rendezvous(const char *session, int arena, uint32_t pid)
{
	int fd = connect_to(session);
	int rc = -ENOTCONN;

	if (fd < 0)
		return rc;
	if (is_ours(fd) && present(fd, arena, pid))
		rc = await_answer(fd);
	(void)close(fd); /* nothing more to be said */
	return rc;
}

/* The answer, and the descriptor that comes with it. */
static int receive_filters(int fd, int *ret_fd)
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

	do
		n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
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

int sonde_rendezvous_ask(const char *session,
			 const struct sonde_filters_ask *ask, int *ret_fd)
{
	size_t size = offsetof(struct sonde_filters_ask, index) +
		      ask->nr * sizeof(ask->index[0]);
	int fd = connect_to(session);
	int rc = -ENOTCONN;

	if (fd < 0)
		return rc;
	if (is_ours(fd) && send(fd, ask, size, MSG_NOSIGNAL) == (ssize_t)size)
		rc = receive_filters(fd, ret_fd);
	(void)close(fd); /* nothing more to be said */
	return rc;
}
