/* SPDX-License-Identifier: MIT */
/*
 * execs.h - the kernel's notices of programs that are executed, by the proc
 * connector: of all of the machine, for CAP_NET_ADMIN in its first namespaces.
 * Elsewhere it may open and say nothing.
 */
#ifndef SYS_EXECS_H
#define SYS_EXECS_H

#include <sys/types.h>

/* A descriptor that is readable when there is one; -errno. */
int sonde_execs_open(void);

/* 0 and the process (not thread) that has executed a program; -EAGAIN: there is no
 * other; -ENOBUFS: some could not be kept. */
int sonde_execs_next(int fd, pid_t *ret_pid);

#endif /* SYS_EXECS_H */
