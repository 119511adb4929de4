/* SPDX-License-Identifier: MIT */
/*
 * gdb_socket.h - connections of `sonde gdbserver`.
 *
 * A server that has attached to a process listens on a socket that is named by
 * the process, in a directory that only its user can write to, beside what the
 * user asked for. So there is one server of a user's for a process, and who
 * comes later is led to it. Only the same user, or root, is let in, or believed.
 */
#ifndef CMD_GDB_SOCKET_H
#define CMD_GDB_SOCKET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The socket of a process's server. A descriptor, or -errno: -EADDRINUSE (there
 * is a server), -ECONNREFUSED (there is none), -EPERM (it is somebody else's).
 */
int sonde_gdb_socket_claim(pid_t pid);
int sonde_gdb_socket_reach(pid_t pid);
/* At the end of who claimed it. */
void sonde_gdb_socket_release(pid_t pid);
/* A connection that waits at any of our sockets; -EPERM. */
int sonde_gdb_socket_accept(int fd);

struct sonde_gdb_socket_place {
	uint16_t port;
	bool is_everywhere; /* from all addresses of the machine */
};
/* "HOST:PORT"; HOST "" is the loopback address, "*" all, "[...]" an IPv6 one;
 * PORT 0 any port. A descriptor, or -errno; -EINVAL: that is no such text. */
int sonde_gdb_socket_listen(const char *where,
			    struct sonde_gdb_socket_place *ret_place);

/* Copies both ways until one of them ends: 0 (the socket's end) or 1. */
int sonde_gdb_socket_relay(int fd, int in, int out);

#endif /* CMD_GDB_SOCKET_H */
