/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * socket.c - sockets' names, and a table of them by inode number (socket.h).
 *
 * At most half of the table is full, so a search meets a free place soon;
 * growing puts all in anew.
 */
#include "source/statedump/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

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

/* ---- table: open addressing, at most half full ---- */

static uint32_t *socket_slot_of(const struct sonde_sockets *sockets,
				uint64_t ino)
{
	uint64_t hash = ino * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t at = (uint32_t)(hash >> 32) & (sockets->nr_slots - 1);

	while (sockets->slots[at] &&
	       sockets->all[sockets->slots[at] - 1].ino != ino)
		at = (at + 1) & (sockets->nr_slots - 1);
	return &sockets->slots[at];
}

static int grow(struct sonde_sockets *sockets)
{
	uint32_t room = sockets->room ? 2 * sockets->room : 256;
	struct sonde_statedump_socket *all;
	uint32_t *slots;

	if (room > SONDE_SOCKETS_MAX)
		return -E2BIG;
	all = realloc(sockets->all, room * sizeof(*all));
	if (!all)
		return -ENOMEM;
	sockets->all = all;
	slots = calloc(2 * (size_t)room, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(sockets->slots);
	sockets->slots = slots;
	sockets->nr_slots = 2 * room;
	sockets->room = room;
	for (uint32_t i = 0; i < sockets->nr; i++)
		*socket_slot_of(sockets, all[i].ino) = i + 1;
	return 0;
}

int sonde_sockets_add(struct sonde_sockets *sockets,
		      const struct sonde_statedump_socket *socket)
{
	uint32_t *slot;

	if (sockets->nr == sockets->room) {
		int rc = grow(sockets);

		if (rc)
			return rc;
	}
	slot = socket_slot_of(sockets, socket->ino);
	if (*slot)
		return 0;
	sockets->all[sockets->nr++] = *socket;
	*slot = sockets->nr;
	return 0;
}

const struct sonde_statedump_socket *
sonde_sockets_find(const struct sonde_sockets *sockets, uint64_t ino)
{
	uint32_t slot = sockets->nr ? *socket_slot_of(sockets, ino) : 0;

	return slot ? &sockets->all[slot - 1] : NULL;
}

void sonde_sockets_fini(struct sonde_sockets *sockets)
{
	free(sockets->all);
	free(sockets->slots);
	*sockets = (struct sonde_sockets){ 0 };
}
