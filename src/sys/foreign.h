/* SPDX-License-Identifier: MIT */
/*
 * foreign.h - closing descriptors that somebody else has made.
 *
 * close() of such a descriptor waits as long as its maker likes, if it is the
 * last one: a TCP socket with SO_LINGER and data that nobody reads, a file of a
 * file system that a program serves. So does closing a Unix socket in whose queue
 * such descriptors wait. Here close() is left to a short-lived child process
 * that shares our descriptors and nothing else; it gets one second.
 *
 * NR_CHILDREN close at a time; the next NR_PENDING descriptors wait; if that is
 * not enough, more stay open until we end, when the kernel doesn't wait for
 * sockets. No call waits. One thread.
 */
#ifndef SYS_FOREIGN_H
#define SYS_FOREIGN_H

/* `fd` is gone for the caller, and closed some time. */
void sonde_foreign_close(int fd);

/*
 * Ends a connection of type SOCK_SEQPACKET: the peer sees that at once. A queue
 * without messages is closed by ourselves, which is the usual case.
 */
void sonde_foreign_drop(int connection);

/* To be called now and then: for what could not be closed yet. */
void sonde_foreign_tend(void);

#endif /* SYS_FOREIGN_H */
