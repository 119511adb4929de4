/* SPDX-License-Identifier: MIT */
/*
 * peer.c - who is at the other end of a Unix socket (peer.h).
 *
 * Whatever is read of a process number is used only after
 * sonde_peer_has_ended() has said no: while the process lives no other has its
 * number. A look at a peer's ancestors costs two reads of /proc for each.
 */
#include "sys/peer.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "sys/proc.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

enum {
	ANCESTORS_MAX = 256, /* deeper than any honest tree of processes */
	TRIES = 8,
};

void sonde_peer_of_number(const struct ucred *cred, struct sonde_peer *ret_peer)
{
	struct sonde_peer peer = { cred->pid, cred->uid, -1 };

	if (peer.pid > 0)
		peer.pidfd = sonde_proc_pidfd(peer.pid);
	if (peer.pidfd >= 0 && (sonde_process_uid(peer.pid) != cred->uid ||
				sonde_peer_has_ended(&peer)))
		sonde_peer_release(&peer);
	*ret_peer = peer;
}

int sonde_peer_of(int socket, struct sonde_peer *ret_peer)
{
	struct ucred cred;
	socklen_t size = sizeof(cred);
	socklen_t fd_size = sizeof(int);
	int pidfd = -1;

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &cred, &size))
		return -errno;
	if (!getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &fd_size))
		*ret_peer = (struct sonde_peer){ cred.pid, cred.uid, pidfd };
	else if (errno == ENOPROTOOPT)
		sonde_peer_of_number(&cred, ret_peer);
	else
		*ret_peer = (struct sonde_peer){ cred.pid, cred.uid, -1 };
	return 0;
}

void sonde_peer_release(struct sonde_peer *peer)
{
	if (peer->pidfd >= 0)
		(void)close(peer->pidfd); /* it is only a name */
	peer->pidfd = -1;
}

bool sonde_peer_has_ended(const struct sonde_peer *peer)
{
	struct pollfd end = { .fd = peer->pidfd, .events = POLLIN };

	/* Readable from the end on, when it still has its number. */
	return peer->pidfd < 0 || poll(&end, 1, 0) != 0;
}

/* The numbers from `pid` up to and with `last`; 0: they don't lead there. */
static int peer_read_line(pid_t pid, pid_t last, pid_t line[ANCESTORS_MAX])
{
	int nr = 0;

	while (pid > 0 && nr < ANCESTORS_MAX) {
		line[nr++] = pid;
		if (pid == last)
			return nr;
		pid = sonde_process_parent(pid);
	}
	return 0;
}

/*
 * A parent that ends leaves its children to another. So who is a process's
 * parent before and after lived in between; what was read in between of its
 * number was read of it. Reading the whole line twice does that for each.
 */
int sonde_peer_descends(const struct sonde_peer *peer,
			const struct sonde_peer *ancestor)
{
	pid_t first[ANCESTORS_MAX];
	pid_t again[ANCESTORS_MAX];

	for (int i = 0; i < TRIES; i++) {
		int nr = peer->pid > 0 && ancestor->pid > 0 ?
				 peer_read_line(peer->pid, ancestor->pid,
						first) :
				 0;
		int nr_again =
			nr ? peer_read_line(peer->pid, ancestor->pid, again) :
			     0;

		if (sonde_peer_has_ended(peer) ||
		    sonde_peer_has_ended(ancestor))
			return -ESRCH;
		if (!nr)
			return -EACCES;
		if (nr == nr_again &&
		    !memcmp(first, again, (size_t)nr * sizeof(first[0])))
			return 0;
	}
	return -EACCES;
}

int sonde_peer_check(int socket)
{
	struct sonde_peer peer = { .pidfd = -1 };
	int rc = sonde_peer_of(socket, &peer);

	if (rc)
		return rc;
	sonde_peer_release(&peer);
	return peer.uid == 0 || peer.uid == geteuid() ? 0 : -EPERM;
}
