/* SPDX-License-Identifier: MIT */
/*
 * peer.h - who is at the other end of a Unix socket.
 *
 * A process number says who connected only as long as that process lives: the
 * number is then given to another, and a stranger who connects and ends is
 * taken for whoever has his number next. So a peer is held by a descriptor of
 * the process itself (a pidfd), and what is read of its number counts only if
 * the process had not ended after it was read: until then nobody else has the
 * number.
 *
 * Linux 6.5 gives the descriptor of the process that connected (SO_PEERPIDFD).
 * Before, it is opened by number, which may be a later process's already. That
 * one is believed if it runs as the user who connected: a stranger gains no
 * user's rights by it. (A process of the same user may take the other's
 * place there; it could as well trace it.)
 *
 * No call waits. Not for several threads with one peer.
 */
#ifndef SYS_PEER_H
#define SYS_PEER_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>

struct sonde_peer {
	pid_t pid; /* as we see it; 0: not in our PID namespace */
	uid_t uid; /* effective, when it connected (or listened) */
	/* Owned; -1: it has ended, or can't be held (no descriptor): then
	 * `pid` says nothing that could be relied on. */
	int pidfd;
};

/* The other end of a connected Unix socket. 0 or -errno. */
int sonde_peer_of(int socket, struct sonde_peer *ret_peer);

/* The same where the kernel has no SO_PEERPIDFD: by what SO_PEERCRED says. */
void sonde_peer_of_number(const struct ucred *cred,
			  struct sonde_peer *ret_peer);

/* Gives the descriptor back; may be repeated. */
void sonde_peer_release(struct sonde_peer *peer);

/* Also if it can't be known. Asked after something was read of its number:
 * false says that it was read of this process. */
bool sonde_peer_has_ended(const struct sonde_peer *peer);

/*
 * Whether it is `ancestor` or descends from it. 0; -EACCES: it doesn't; -ESRCH:
 * one of them has ended, so nobody can say.
 */
int sonde_peer_descends(const struct sonde_peer *peer,
			const struct sonde_peer *ancestor);

/* Whether the other end of a connected Unix socket runs as us, or as root. 0;
 * -EPERM; or -errno. */
int sonde_peer_check(int socket);

#endif /* SYS_PEER_H */
