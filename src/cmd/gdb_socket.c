/* SPDX-License-Identifier: MIT */
#include "cmd/gdb_socket.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	BACKLOG = 4,
};

/* "\0sonde-gdbserver/PID" */
static socklen_t name_of(pid_t pid, struct sockaddr_un *ret_name)
{
	int nr;

	memset(ret_name, 0, sizeof(*ret_name));
	ret_name->sun_family = AF_UNIX;
	nr = snprintf(ret_name->sun_path + 1, sizeof(ret_name->sun_path) - 1,
		      "sonde-gdbserver/%d", pid);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)nr);
}

static bool is_trusted(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) &&
	       (peer.uid == geteuid() || peer.uid == 0);
}

int sonde_gdb_socket_claim(pid_t pid)
{
	struct sockaddr_un name;
	socklen_t size = name_of(pid, &name);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int rc;

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&name, size) || listen(fd, BACKLOG)) {
		rc = -errno;
		(void)close(fd);
		return rc;
	}
	return fd;
}

int sonde_gdb_socket_reach(pid_t pid)
{
	struct sockaddr_un name;
	socklen_t size = name_of(pid, &name);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int rc;

	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&name, size)) {
		rc = -errno;
	} else if (!is_trusted(fd)) {
		rc = -EPERM;
	} else {
		return fd;
	}
	(void)close(fd);
	return rc;
}

int sonde_gdb_socket_accept(int fd)
{
	struct sockaddr_storage peer = { 0 };
	socklen_t size = sizeof(peer);
	int to = accept4(fd, (struct sockaddr *)&peer, &size, SOCK_CLOEXEC);

	if (to < 0)
		return -errno;
	if (peer.ss_family == AF_UNIX && !is_trusted(to)) {
		(void)close(to);
		return -EPERM;
	}
	if (peer.ss_family != AF_UNIX)
		(void)setsockopt(to, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 },
				 sizeof(int));
	return to;
}

static int listen_at(const struct addrinfo *address, uint16_t *ret_port)
{
	union {
		struct sockaddr any;
		struct sockaddr_in ip4;
		struct sockaddr_in6 ip6;
	} bound = { 0 };
	socklen_t size = sizeof(bound);
	int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int rc;

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 },
			 sizeof(int));
	if (bind(fd, address->ai_addr, address->ai_addrlen) ||
	    listen(fd, BACKLOG) || getsockname(fd, &bound.any, &size)) {
		rc = -errno;
		(void)close(fd);
		return rc;
	}
	*ret_port =
		ntohs(bound.any.sa_family == AF_INET6 ? bound.ip6.sin6_port :
							bound.ip4.sin_port);
	return fd;
}

int sonde_gdb_socket_listen(const char *where, uint16_t *ret_port)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC,
				  .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_PASSIVE | AI_NUMERICSERV };
	struct addrinfo *addresses = NULL;
	const char *colon = strrchr(where, ':');
	char host[256] = "";
	int fd = -EINVAL;

	if (!colon || (size_t)(colon - where) >= sizeof(host))
		return -EINVAL;
	memcpy(host, where, (size_t)(colon - where));
	/* IPv4 first where a name has both: it is what GDB tries first. */
	for (int family = 0; family < 2 && fd < 0; family++) {
		hints.ai_family = family ? AF_INET6 : AF_INET;
		if (getaddrinfo(host[0] ? host : NULL, colon + 1, &hints,
				&addresses))
			continue;
		fd = listen_at(addresses, ret_port);
		freeaddrinfo(addresses);
		if (fd == -EADDRINUSE)
			break;
	}
	return fd;
}

/* Some bytes; false: that was the end. */
static bool copy(int from, int to)
{
	char bytes[16384];
	ssize_t nr = read(from, bytes, sizeof(bytes));
	ssize_t done = 0;

	if (nr < 0 && errno == EINTR)
		return true;
	while (nr > 0 && done < nr) {
		ssize_t put = write(to, bytes + done, (size_t)(nr - done));

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return false;
		done += put;
	}
	return nr > 0;
}

int sonde_gdb_socket_relay(int fd, int in, int out)
{
	struct pollfd fds[2] = { { fd, POLLIN, 0 }, { in, POLLIN, 0 } };

	while (poll(fds, 2, -1) >= 0 || errno == EINTR) {
		if (fds[0].revents && !copy(fd, out))
			return 0;
		if (fds[1].revents && !copy(in, fd))
			return 1;
	}
	return 0;
}
