/* SPDX-License-Identifier: MIT */
/*
 * rundir.h - a directory for sockets that nobody else can put anything into.
 *
 * The first that can be had of
 *
 *	$XDG_RUNTIME_DIR/sonde	if that is ours and only we can write to it
 *	/run/user/UID/sonde	the same, where the variable is not set
 *	/run/sonde		for root
 *	/tmp/sonde-UID-XXXXXX	the one that is there and ours, or a new one
 *
 * It belongs to us, and nobody else may list or write to it. Others can't even
 * enter it unless we are root: a program that root records may change its user,
 * and then still reaches a socket whose name it has been given. (Names can be
 * secret: /proc/net/unix shows what a socket was bound to, and they are bound
 * to another name, and renamed.)
 *
 * Sockets at a path are reached from other network namespaces; not from where
 * the path isn't seen (chroot, another mount namespace).
 *
 * A server that is killed leaves its socket behind; the next one that looks
 * takes it away: no process has it, and whoever removes what another left holds
 * a lock on the directory. No call waits.
 */
#ifndef SYS_RUNDIR_H
#define SYS_RUNDIR_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/un.h>

/* With a name and the zero byte a path fits a socket's address. */
#define SONDE_SOCKET_PATH_MAX sizeof(((struct sockaddr_un *)0)->sun_path)
#define SONDE_SOCKET_NAME_MAX 40

struct sonde_rundir {
	int fd; /* of the directory; -1: closed */
	char path[SONDE_SOCKET_PATH_MAX - SONDE_SOCKET_NAME_MAX];
};

/* 0 or -errno of the last place tried. */
int sonde_rundir_open(struct sonde_rundir *ret_dir);
void sonde_rundir_close(struct sonde_rundir *dir);

struct sonde_rundir_socket {
	const char *name; /* shorter than SONDE_SOCKET_NAME_MAX, no '/' */
	int type;         /* SOCK_STREAM ..., and flags */
	mode_t mode;      /* who may connect: 0600, 0666 */
	int backlog;
};

/* Listens there, and gives a descriptor. 0; -EADDRINUSE: somebody listens under
 * that name; or -errno. */
int sonde_rundir_listen(const struct sonde_rundir *dir,
			const struct sonde_rundir_socket *what, int *ret_fd);

/* 0 and a connected socket; -ENOENT, -ECONNREFUSED: nobody is there. */
int sonde_rundir_connect(const struct sonde_rundir *dir, const char *name,
			 int type, int *ret_fd);

/* At the end of the server that listens under `name`. */
void sonde_rundir_remove(const struct sonde_rundir *dir, const char *name);

/* Removes sockets where nobody listens. */
void sonde_rundir_clean(const struct sonde_rundir *dir);

#endif /* SYS_RUNDIR_H */
