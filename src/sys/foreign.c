/* SPDX-License-Identifier: MIT */
/*
 * foreign.c - closing descriptors that another process has made, without
 * waiting.
 *
 * A place is free, or has the number of a child that closes one descriptor and
 * ends; the child shares our table of descriptors, so its close() is ours. A
 * call costs one look at each place, and a fork.
 */
#include "sys/foreign.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	NR_CHILDREN = 16,
	NR_PENDING = 4096,
	PATIENCE_S = 1,
};

static pid_t children[NR_CHILDREN]; /* 0: none */
static int pending[NR_PENDING];
static unsigned int nr_pending;

__attribute__((noreturn)) static void close_and_end(int fd)
{
	sigset_t all;

	(void)sigfillset(&all);
	(void)signal(SIGALRM, SIG_DFL);
	(void)pthread_sigmask(SIG_UNBLOCK, &all, NULL);
	(void)alarm(PATIENCE_S);
	(void)close(fd); /* waits, maybe; what it says is no matter */
	_exit(0);
}

/* A place for another child. */
static pid_t *foreign_free_place(void)
{
	pid_t *found = NULL;

	for (int i = 0; i < NR_CHILDREN; i++) {
		if (children[i] && waitpid(children[i], NULL, WNOHANG | __WALL))
			children[i] = 0;
		if (!children[i])
			found = &children[i];
	}
	return found;
}

void sonde_foreign_tend(void)
{
	pid_t *place;

	while ((place = foreign_free_place()) && nr_pending) {
		/* A fork, but for the table of descriptors, which is shared,
		 * and the signal at its end. */
		long pid = syscall(SYS_clone, CLONE_FILES, 0, 0, 0, 0);

		if (!pid)
			close_and_end(pending[nr_pending - 1]);
		if (pid < 0)
			return; /* another time */
		*place = (pid_t)pid;
		nr_pending--;
	}
}

void sonde_foreign_close(int fd)
{
	if (nr_pending == NR_PENDING)
		sonde_foreign_tend();
	if (nr_pending < NR_PENDING)
		pending[nr_pending++] = fd;
	sonde_foreign_tend();
}

/*
 * Nothing more comes, as it is shut down. A message without content can't be
 * told from the end by its size, but the end has no sender: with SO_PASSCRED
 * any message has one. Looking takes nothing out, and what it shows we may let
 * go: the queue still has it.
 */
static bool is_empty(int connection)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(struct ucred))];
	} control;
	char byte;
	struct iovec io = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &io,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t nr;

	if (setsockopt(connection, SOL_SOCKET, SO_PASSCRED, &(int){ 1 },
		       sizeof(int)))
		return false;
	nr = recvmsg(connection, &message, MSG_PEEK | MSG_DONTWAIT);
	/* The peer left without reading what we sent: that is told once. */
	if (nr < 0 && errno == ECONNRESET)
		nr = recvmsg(connection, &message, MSG_PEEK | MSG_DONTWAIT);
	return !nr && !message.msg_controllen && !message.msg_flags;
}

void sonde_foreign_drop(int connection)
{
	if (!shutdown(connection, SHUT_RDWR) && is_empty(connection))
		(void)close(connection); /* nothing is lost by that */
	else
		sonde_foreign_close(connection);
}
