/* SPDX-License-Identifier: MIT */
/*
 * handshake.h - how a traced process and a recorder find each other.
 *
 * The recorder listens on a Unix socket (SOCK_SEQPACKET) in a directory of its
 * user's (sys/rundir.h), whose path the programs it starts find in the
 * environment, as SONDE_SESSION. A process that has a libsonde connects when it
 * starts:
 *
 *	process		one message, sonde_hello, with its arena's descriptor
 *	recorder	one message, sonde_welcome, once the arena is set up
 *
 * and both close the connection.
 *
 * Other users can't connect: the directory is the user's alone, and root's, which
 * a program that has changed its user must enter, has sockets with random names
 * (128 bits) that nobody can list. Whoever connects is identified by the kernel,
 * before anything is received (sys/peer.h), never by what it says; but the
 * recorder's own front end may present the arena that it made for another process.
 *
 * Anything may come over the socket: a message of another size, no descriptor
 * or several, one of something that isn't a memory file. All end in -EPROTO, and
 * no call here ever waits. A message is looked at before it is received: a
 * descriptor is only taken if it is the only one, and of a memory file, or of one in the directory of --arena,
 * which anybody can close without waiting. All else stays in the queue, for who drops
 * the connection (sys/foreign.h).
 */
#ifndef SESSION_HANDSHAKE_H
#define SESSION_HANDSHAKE_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "ring/filters.h"
#include "ring/hello.h"
#include "sys/peer.h"
#include "sys/rundir.h"

#define SONDE_SESSION_NAME_MAX SONDE_SOCKET_PATH_MAX

/* How many connections can wait to be accepted. */
uint32_t sonde_handshake_backlog(void);

/* Listens at a path that nobody can guess, to be unlinked at the end. 0 or
 * -errno. */
int sonde_handshake_listen(char ret_path[SONDE_SESSION_NAME_MAX], int *ret_fd);

/* Who waits to be let in: a connection, and its peer. 0; -EAGAIN if nobody;
 * -EMFILE and the like: there is somebody, but no descriptor. The connection is
 * to be dropped by sonde_foreign_drop(). */
int sonde_handshake_accept(int listen_fd, int *ret_fd,
			   struct sonde_peer *ret_peer);

/*
 * Read the hello. 0, a descriptor the caller owns, and the process it says to
 * be; -EAGAIN if it hasn't come; -EPROTO, -EPROTONOSUPPORT or -ECONNRESET:
 * answer and forget the peer.
 */
int sonde_handshake_receive(int fd, int *ret_arena_fd, pid_t *ret_pid);

/* The same for a question about conditions (ring/filters.h): 0; -ENOMSG if it
 * is something else that was sent, which is still to be received. */
int sonde_handshake_receive_ask(int fd, struct sonde_filters_ask *ret_ask);

/* `file` is borrowed. 0, or -errno. */
int sonde_handshake_answer_ask(int fd, int file);

/* 0, or -errno: the peer has gone, and runs unrecorded. */
int sonde_handshake_answer(int fd, int error);

#endif /* SESSION_HANDSHAKE_H */
