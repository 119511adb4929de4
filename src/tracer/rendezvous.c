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

static int present(int fd, int arena)
{
	struct sonde_hello hello = {
		.magic = SONDE_HELLO_MAGIC,
		.version = SONDE_HELLO_VERSION,
		.pid = (uint32_t)getpid(),
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

void sonde_rendezvous(const char *session, int arena)
{
	struct sonde_welcome welcome;
	int fd = connect_to(session);

	if (fd < 0)
		return;
	if (is_ours(fd) && present(fd, arena)) {
		/* what it says is for the recorder's user, not for us */
		while (recv(fd, &welcome, sizeof(welcome), 0) < 0 &&
		       errno == EINTR)
			;
	}
	(void)close(fd); /* nothing more to be said */
}
