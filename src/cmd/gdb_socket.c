/* SPDX-License-Identifier: MIT */
/*
 * gdb_socket.c - connections of `sonde gdbserver`: its own socket, and what the
 * user asked for (gdb_socket.h).
 *
 * A user has one server for each process: the one that could bind the socket
 * with the process's name. The kernel says who a client is before a byte of the
 * client's is read.
 */
#include "cmd/gdb_socket.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sys/peer.h"
#include "sys/proc.h"
#include "sys/rundir.h"
#include "sys/write.h"

enum {
	BACKLOG = 4,
	PASS_RIGHTS = 83, /* SO_PASSRIGHTS; older C libraries don't know it */
};

static void name_of(pid_t pid, char ret_name[SONDE_SOCKET_NAME_MAX])
{
	/* With when it began: a number may be another's later. */
	(void)snprintf(ret_name, SONDE_SOCKET_NAME_MAX, "probes-%d-%" PRIu64,
		       (int)pid, sonde_process_start(pid));
}

/* It shall be sent bytes only: of a descriptor, we might be the last owner, and
 * closing it can take long. What is accepted inherits it. (Older kernels don't
 * know that wish.) */
static void refuse_rights(int fd)
{
	(void)setsockopt(fd, SOL_SOCKET, PASS_RIGHTS, &(int){ 0 }, sizeof(int));
}

int sonde_gdb_socket_claim(pid_t pid)
{
	char name[SONDE_SOCKET_NAME_MAX];
	const struct sonde_rundir_socket what = {
		.name = name,
		.type = SOCK_STREAM | SOCK_CLOEXEC,
		.mode = 0600,
		.backlog = BACKLOG,
	};
	struct sonde_rundir dir;
	int fd = -1;
	int rc = sonde_rundir_open(&dir);

	if (rc)
		return rc;
	name_of(pid, name);
	rc = sonde_rundir_listen(&dir, &what, &fd);
	sonde_rundir_close(&dir);
	if (rc)
		return rc;
	refuse_rights(fd);
	return fd;
}

void sonde_gdb_socket_release(pid_t pid)
{
	char name[SONDE_SOCKET_NAME_MAX];
	struct sonde_rundir dir;

	if (sonde_rundir_open(&dir))
		return;
	name_of(pid, name);
	sonde_rundir_remove(&dir, name);
	sonde_rundir_close(&dir);
}

int sonde_gdb_socket_reach(pid_t pid)
{
	char name[SONDE_SOCKET_NAME_MAX];
	struct sonde_rundir dir;
	int fd = -1;
	int rc = sonde_rundir_open(&dir);

	if (rc)
		return rc;
	name_of(pid, name);
	rc = sonde_rundir_connect(&dir, name, SOCK_STREAM | SOCK_CLOEXEC, &fd);
	sonde_rundir_close(&dir);
	if (rc == -ENOENT)
		return -ECONNREFUSED;
	if (rc)
		return rc;
	refuse_rights(fd);
	if (!sonde_peer_check(fd))
		return fd;
	(void)close(fd);
	return -EPERM;
}

int sonde_gdb_socket_accept(int fd)
{
	struct sockaddr_storage peer = { 0 };
	socklen_t size = sizeof(peer);
	/* Who doesn't read must not keep us from hearing a signal. */
	int to = accept4(fd, (struct sockaddr *)&peer, &size,
			 SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (to < 0)
		return -errno;
	if (peer.ss_family == AF_UNIX && sonde_peer_check(to)) {
		(void)close(to);
		return -EPERM;
	}
	if (peer.ss_family != AF_UNIX)
		(void)setsockopt(to, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 },
				 sizeof(int));
	return to;
}

union address {
	struct sockaddr any;
	struct sockaddr_in ip4;
	struct sockaddr_in6 ip6;
};

static void tell_place(const union address *bound,
		       struct sonde_gdb_socket_place *ret_place)
{
	if (bound->any.sa_family == AF_INET6) {
		ret_place->port = ntohs(bound->ip6.sin6_port);
		ret_place->is_everywhere =
			IN6_IS_ADDR_UNSPECIFIED(&bound->ip6.sin6_addr);
	} else {
		ret_place->port = ntohs(bound->ip4.sin_port);
		ret_place->is_everywhere =
			bound->ip4.sin_addr.s_addr == htonl(INADDR_ANY);
	}
}

static int listen_at(const struct addrinfo *address,
		     struct sonde_gdb_socket_place *ret_place)
{
	union address bound = { 0 };
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
	tell_place(&bound, ret_place);
	return fd;
}

/* What is before the last colon; "[...]" are an IPv6 address's own. */
static bool take_host(const char *where, const char *colon, char *to,
		      size_t size)
{
	size_t nr = (size_t)(colon - where);

	if (nr > 2 && where[0] == '[' && colon[-1] == ']') {
		where++;
		nr -= 2;
	}
	if (nr >= size)
		return false;
	memcpy(to, where, nr);
	to[nr] = '\0';
	return true;
}

int sonde_gdb_socket_listen(const char *where,
			    struct sonde_gdb_socket_place *ret_place)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC,
				  .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_NUMERICSERV };
	struct addrinfo *addresses = NULL;
	const char *colon = strrchr(where, ':');
	char host[256] = "";
	int fd = -EINVAL;
	bool is_named;

	if (!colon || !take_host(where, colon, host, sizeof(host)))
		return -EINVAL;
	/* Without a name it is the loopback address, or with this flag all. */
	is_named = host[0] && strcmp(host, "*") != 0;
	if (host[0] && !is_named)
		hints.ai_flags |= AI_PASSIVE;
	/* IPv4 first where a name has both: it is what GDB tries first. */
	for (int family = 0; family < 2 && fd < 0; family++) {
		hints.ai_family = family ? AF_INET6 : AF_INET;
		if (getaddrinfo(is_named ? host : NULL, colon + 1, &hints,
				&addresses))
			continue;
		fd = listen_at(addresses, ret_place);
		freeaddrinfo(addresses);
		if (fd == -EADDRINUSE)
			break;
	}
	return fd;
}

/* Some bytes; false: that was the end. */
static bool socket_copy(int from, int to)
{
	char bytes[16384];
	ssize_t nr = read(from, bytes, sizeof(bytes));

	if (nr < 0 && errno == EINTR)
		return true;
	return nr > 0 && !sonde_write_all(to, bytes, (size_t)nr);
}

int sonde_gdb_socket_relay(int fd, int in, int out)
{
	struct pollfd fds[2] = { { fd, POLLIN, 0 }, { in, POLLIN, 0 } };

	while (poll(fds, 2, -1) >= 0 || errno == EINTR) {
		if (fds[0].revents && !socket_copy(fd, out))
			return 0;
		if (fds[1].revents && !socket_copy(in, fd))
			return 1;
	}
	return 0;
}
