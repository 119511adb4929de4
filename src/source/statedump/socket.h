/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * socket.h - what a socket is called in a dump, and a table of sockets by inode
 * number for /proc, where a descriptor tells nothing else.
 *
 *	tcp 10.0.0.1:80 -> 10.0.0.2:5555	udp likewise
 *	tcp [::1]:80				no peer: it listens
 *	unix /run/x, unix @abstract		a NUL in a name becomes '@'
 *
 * Others are called as the kernel calls their files, "socket:[12345]".
 */
#ifndef SOURCE_STATEDUMP_SOCKET_H
#define SOURCE_STATEDUMP_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SONDE_SOCKET_NAME_MAX 108u
#define SONDE_SOCKET_TEXT_MAX 128u /* bytes of a text, its NUL included */

struct sonde_statedump_socket {
	uint64_t ino;
	uint16_t family;   /* AF_... */
	uint16_t protocol; /* IPPROTO_... */
	uint16_t local_port;
	uint16_t peer_port;
	uint8_t local[16]; /* in the network's byte order; IPv4: the first 4 */
	uint8_t peer[16];
	uint32_t name_size;
	char name[SONDE_SOCKET_NAME_MAX]; /* AF_UNIX; not terminated */
};

/* False if it has no better text than its file's name. */
bool sonde_socket_text(const struct sonde_statedump_socket *socket,
		       char to[SONDE_SOCKET_TEXT_MAX]);

#define SONDE_SOCKETS_MAX (1u << 18)

/* Zeroed is empty. Bounded; what is beyond is refused. */
struct sonde_sockets {
	struct sonde_statedump_socket *all;
	uint32_t nr;
	uint32_t room;
	bool is_sorted; /* by inode */
};

/* 0, -ENOMEM, or -E2BIG if it is full. */
int sonde_sockets_add(struct sonde_sockets *sockets,
		      const struct sonde_statedump_socket *socket);
const struct sonde_statedump_socket *
sonde_sockets_find(struct sonde_sockets *sockets, uint64_t ino);
void sonde_sockets_fini(struct sonde_sockets *sockets);

#endif /* SOURCE_STATEDUMP_SOCKET_H */
