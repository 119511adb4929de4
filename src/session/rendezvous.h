/* SPDX-License-Identifier: MIT */
/*
 * rendezvous.h - how a traced process and a recorder find each other.
 *
 * The recorder listens on an abstract Unix socket (SOCK_SEQPACKET) whose name
 * the programs it starts find in the environment, as SONDE_SESSION. A process
 * that has a libsonde connects when it starts:
 *
 *	process		one message, sonde_hello, with its arena's descriptor
 *	recorder	one message, sonde_welcome, once the arena is set up
 *
 * and both close the connection. Whoever connects is identified by the kernel
 * (SO_PEERCRED), never by what it says; but the recorder's own front may present
 * the arena that it made for another process. Anything may come over the socket: a
 * message of another size, no descriptor or several; all end in -EPROTO, and no
 * call here ever waits.
 */
#ifndef SESSION_RENDEZVOUS_H
#define SESSION_RENDEZVOUS_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "ring/filters.h"
#include "ring/hello.h"

#define SONDE_SESSION_NAME_MAX 64

/* Listens under the abstract name. 0 or -errno. */
int sonde_rendezvous_listen(const char *name, int *ret_fd);

/* Who waits to be let in: a connection and its peer. 0; -EAGAIN if nobody;
 * -EMFILE and the like: there is somebody, but no descriptor. */
int sonde_rendezvous_accept(int listen_fd, int *ret_fd, struct ucred *ret_peer);

/*
 * Read the hello. 0, a descriptor the caller owns, and the process it says to
 * be; -EAGAIN if it hasn't come; -EPROTO, -EPROTONOSUPPORT or -ECONNRESET: answer and forget the peer.
 */
int sonde_rendezvous_receive(int fd, int *ret_arena_fd, pid_t *ret_pid);

/* The same for a question about conditions (ring/filters.h): 0; -ENOMSG if it
 * is something else that was sent, which is still to be received. */
int sonde_rendezvous_receive_ask(int fd, struct sonde_filters_ask *ret_ask);

/* `file` is borrowed. 0, or -errno. */
int sonde_rendezvous_answer_ask(int fd, int file);

/* 0, or -errno: the peer has gone, and runs unrecorded. */
int sonde_rendezvous_answer(int fd, int error);

#endif /* SESSION_RENDEZVOUS_H */
