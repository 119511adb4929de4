/* SPDX-License-Identifier: MIT */
/*
 * recorder.h - the recording child: lets processes in, reads their rings,
 * writes the trace.
 *
 * `sonde record` is two processes. The front (session/front.h) starts the
 * program and waits for it; the recording child, made before the program, does
 * all the work. They share one socket pair:
 *
 *	child -> front	one sonde_recorder_ready: the trace is open, or why not
 *	front -> child	end of file: finish (also what is left when the front
 *			is killed: then nobody listens any more, and the trace
 *			is finished all the same)
 *	child -> front	one sonde_summary
 *
 * The child ignores the signals of the terminal: the front decides.
 *
 * The loop sleeps in one epoll: the listening socket, peers that have not said
 * hello, the control socket, a pidfd for each process that made an arena. In
 * discard mode it also wakes on a timer while there are arenas, and then reads
 * all rings. The timer adapts: it aims at finding the fullest ring some percent
 * full, and is never longer than a full-speed writer needs to fill the smallest
 * ring to the half. The program is never woken, and never wakes us.
 *
 * Limits: IMAGES_MAX arenas and PEERS_MAX peers at a time; a peer that says
 * nothing is dropped when its place is needed. Whoever has the user's own uid
 * is let in; others only if they descend from the front (as after a change of
 * uid in a program that root records).
 */
#ifndef SESSION_RECORDER_H
#define SESSION_RECORDER_H

#include <stdint.h>
#include <sys/types.h>

#include "session/options.h"

struct sonde_recorder_config {
	const struct sonde_record_options *options;
	const char *directory; /* of the trace, to be made */
	uint64_t session;      /* a random number */
	pid_t front;
	int control_fd; /* SOCK_SEQPACKET */
	int listen_fd;
};

struct sonde_recorder_ready {
	int32_t error;  /* 0 or -errno */
	char text[240]; /* what failed, if error */
};

/*
 * Runs until the control socket ends. Descriptors are borrowed. Returns 0 or
 * -errno, which has been told to the front.
 */
int sonde_recorder_run(const struct sonde_recorder_config *config);

#endif /* SESSION_RECORDER_H */
