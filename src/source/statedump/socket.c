/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * socket.c - sockets' names, and a table of them by inode number (socket.h).
 *
 * Sockets are added in runs and then looked for: a run is sorted once.
 */
#include "source/statedump/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/grow.h"

/* ---- text ---- */

static void address_text(uint16_t family, const uint8_t *bytes, uint16_t port,
			 char *to, size_t size)
{
	char host[INET6_ADDRSTRLEN];

	if (!inet_ntop(family, bytes, host, sizeof(host)))
		host[0] = '\0'; /* can't be: it has room */
	(void)snprintf(to, size, family == AF_INET6 ? "[%s]:%u" : "%s:%u", host,
		       port);
}

static bool inet_text(const struct sonde_statedump_socket *socket, char *to)
{
	const char *protocol = socket->protocol == IPPROTO_TCP ? "tcp" :
			       socket->protocol == IPPROTO_UDP ? "udp" :
								 NULL;
	char local[56];
	char peer[56];

	if (!protocol)
		return false;
	address_text(socket->family, socket->local, socket->local_port, local,
		     sizeof(local));
	address_text(socket->family, socket->peer, socket->peer_port, peer,
		     sizeof(peer));
	if (socket->peer_port)
		(void)snprintf(to, SONDE_SOCKET_TEXT_MAX, "%s %s -> %s",
			       protocol, local, peer);
	else
		(void)snprintf(to, SONDE_SOCKET_TEXT_MAX, "%s %s", protocol,
			       local);
	return true;
}

static bool unix_text(const struct sonde_statedump_socket *socket, char *to)
{
	static const char kind[] = "unix ";
	char *at = to + sizeof(kind) - 1;
	uint32_t size = socket->name_size;

	_Static_assert(sizeof(kind) + SONDE_SOCKET_NAME_MAX <=
			       SONDE_SOCKET_TEXT_MAX,
		       "the longest name fits");
	if (!size || size > SONDE_SOCKET_NAME_MAX)
		return false;
	/* A path ends with its first NUL; an abstract name doesn't. */
	if (socket->name[0])
		size = (uint32_t)strnlen(socket->name, size);
	memcpy(to, kind, sizeof(kind));
	memcpy(at, socket->name, size);
	for (uint32_t i = 0; i < size; i++)
		if (!at[i])
			at[i] = '@';
	at[size] = '\0';
	return true;
}

bool sonde_socket_text(const struct sonde_statedump_socket *socket,
		       char to[SONDE_SOCKET_TEXT_MAX])
{
	if (socket->family == AF_UNIX)
		return unix_text(socket, to);
	return (socket->family == AF_INET || socket->family == AF_INET6) &&
	       inet_text(socket, to);
}

/* ---- table: sorted by the first that looks ---- */

static int by_ino(const void *left, const void *right)
{
	const struct sonde_statedump_socket *a = left;
	const struct sonde_statedump_socket *b = right;

	return (a->ino > b->ino) - (a->ino < b->ino);
}

int sonde_sockets_add(struct sonde_sockets *sockets,
		      const struct sonde_statedump_socket *socket)
{
	if (sockets->nr == SONDE_SOCKETS_MAX)
		return -E2BIG;
	if (SONDE_GROW(sockets->all, sockets->nr, sockets->room))
		return -ENOMEM;
	sockets->all[sockets->nr++] = *socket;
	sockets->is_sorted = false;
	return 0;
}

const struct sonde_statedump_socket *
sonde_sockets_find(struct sonde_sockets *sockets, uint64_t ino)
{
	const struct sonde_statedump_socket key = { .ino = ino };

	if (!sockets->nr)
		return NULL;
	if (!sockets->is_sorted)
		qsort(sockets->all, sockets->nr, sizeof(key), by_ino);
	sockets->is_sorted = true;
	return bsearch(&key, sockets->all, sockets->nr, sizeof(key), by_ino);
}

void sonde_sockets_fini(struct sonde_sockets *sockets)
{
	free(sockets->all);
	*sockets = (struct sonde_sockets){ 0 };
}
