/* SPDX-License-Identifier: MIT */
/*
 * regular.h - opening a file whose path others choose, or may change.
 *
 * To open something other than a file does things: it waits for who is at the
 * other end of a FIFO, starts a watchdog, rewinds a tape. A link in another
 * process's part of /proc leads where that process likes, and what the link is
 * called says nothing about it. So a path is looked at by a descriptor that
 * opens nothing (O_PATH), and only a regular file is then opened, by that
 * descriptor: the one that was looked at.
 *
 * A file system that a program serves may still make us wait; the kernel lets no
 * other user's do so.
 */
#ifndef SYS_REGULAR_H
#define SYS_REGULAR_H

#include <sys/stat.h>

/* A descriptor that can only be looked at, and what it is of; -EINVAL: not a
 * regular file; or -errno. */
int sonde_regular_look(const char *path, struct stat *ret_stat);

/* What was looked at, opened with O_RDONLY or O_RDWR; or -errno. Closes
 * `looked`. */
int sonde_regular_open(int looked, int mode);

#endif /* SYS_REGULAR_H */
