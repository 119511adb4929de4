/* SPDX-License-Identifier: MIT */
/*
 * seccomp.h - under how many seccomp filters does a process run?
 *
 * A filter may kill whoever makes a call it doesn't allow, prctl() among them.
 * So the answer is read from /proc with openat, read and close: what the
 * loader has just made itself, for every library of the program.
 */
#ifndef SYS_SECCOMP_H
#define SYS_SECCOMP_H

#include "base/port.h"

/* What sonde_launch tells libsonde, or the user does: "allow", or a number of
 * filters that are known to allow libsonde's calls. */
#define SONDE_SECCOMP_ENV "SONDE_SECCOMP"

/*
 * `path` is /proc/self/status, or that of another process. The number of its
 * filters; 0 if it has none, -1 if that can't be found out (no /proc; a kernel
 * before 5.9, which doesn't count, and there is one). Async-signal-safe.
 */
SONDE_HIDDEN int sonde_seccomp_filters(const char *path);

#endif /* SYS_SECCOMP_H */
