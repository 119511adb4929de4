/* SPDX-License-Identifier: MIT */
/*
 * fd.h - the file that a descriptor is of, by its link in /proc/self/fd.
 */
#ifndef SYS_FD_H
#define SYS_FD_H

#include <limits.h>

/* The same file opened once more, with what is of an open file (locks, a place to
 * read at, O_NONBLOCK) its own. `flags` are open()'s; O_CLOEXEC is added. A
 * descriptor, or -errno. */
int sonde_fd_reopen(int fd, int flags);

/* Where the file is, as the kernel knows it: it may have been moved since. 0 or
 * -errno, and then path is "". */
int sonde_fd_path(int fd, char path[PATH_MAX]);

#endif /* SYS_FD_H */
