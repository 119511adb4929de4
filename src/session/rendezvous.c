/* SPDX-License-Identifier: MIT */
#include "session/rendezvous.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 1024

int sonde_rendezvous_listen(const char *name, int *ret_fd)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length = strlen(name);
	int rc = 0;
	int fd;

	if (!length || length + 1 > sizeof(address.sun_path))
		return -EINVAL;
	/* The NUL in front makes the name abstract. */
	memcpy(address.sun_path + 1, name, length);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	length += offsetof(struct sockaddr_un, sun_path) + 1;
	if (bind(fd, (const void *)&address, (socklen_t)length) ||
	    listen(fd, BACKLOG)) {
		rc = -errno;
		(void)close(fd);
		return rc;
	}
	*ret_fd = fd;
	return 0;
}

int sonde_rendezvous_accept(int listen_fd, int *ret_fd, struct ucred *ret_peer)
{
	socklen_t size = sizeof(*ret_peer);
	int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return errno == EINTR || errno == ECONNABORTED ? -EAGAIN :
								 -errno;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret_peer, &size)) {
		(void)close(fd);
		return -EAGAIN;
	}
	*ret_fd = fd;
	return 0;
}

/* Takes the descriptors out of a message: how many, and the last one. All are
 * closed unless there is exactly one. */
static int take_descriptors(struct msghdr *message, int *ret_fd)
{
	int nr = 0;
	int fd = -1;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c;
	     c = CMSG_NXTHDR(message, c)) {
		size_t left;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		left = c->cmsg_len - CMSG_LEN(0);
		for (size_t i = 0; i + sizeof(int) <= left; i += sizeof(int)) {
			if (fd >= 0)
				(void)close(fd);
			memcpy(&fd, CMSG_DATA(c) + i, sizeof(fd));
			nr++;
		}
	}
	if (nr == 1) {
		*ret_fd = fd;
		return 0;
	}
	if (fd >= 0)
		(void)close(fd);
	return -EPROTO;
}

int sonde_rendezvous_receive(int fd, int *ret_arena_fd, pid_t *ret_pid)
{
	struct sonde_hello hello;
	struct iovec io = { &hello, sizeof(hello) };
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(4 * sizeof(int))];
	} control;
	struct msghdr message = {
		.msg_iov = &io,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	int arena_fd = -1;
	int rc;

	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	rc = take_descriptors(&message, &arena_fd);
	if (!n)
		rc = -ECONNRESET;
	else if (n != sizeof(hello) || hello.magic != SONDE_HELLO_MAGIC ||
		 (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		rc = -EPROTO;
	else if (hello.version != SONDE_HELLO_VERSION)
		rc = -EPROTONOSUPPORT;
	if (rc) {
		if (arena_fd >= 0)
			(void)close(arena_fd);
		return rc;
	}
	*ret_arena_fd = arena_fd;
	*ret_pid = (pid_t)hello.pid;
	return 0;
}

int sonde_rendezvous_answer(int fd, int error)
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

int sonde_rendezvous_receive_ask(int fd, struct sonde_filters_ask *ret_ask)
{
	const size_t head = offsetof(struct sonde_filters_ask, index);
	uint64_t magic;
	ssize_t n = recv(fd, &magic, sizeof(magic), MSG_PEEK);

	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	if (n != (ssize_t)sizeof(magic) || magic != SONDE_FILTERS_MAGIC)
		return -ENOMSG;
	/* Descriptors that came with it are closed by the kernel. */
	n = recv(fd, ret_ask, sizeof(*ret_ask), MSG_TRUNC);
	if (n < (ssize_t)head || ret_ask->nr > SONDE_FILTERS_ASK ||
	    (size_t)n != head + ret_ask->nr * sizeof(ret_ask->index[0]))
		return -EPROTO;
	return ret_ask->version == SONDE_HELLO_VERSION ? 0 : -EPROTONOSUPPORT;
}

int sonde_rendezvous_answer_ask(int fd, int file)
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
