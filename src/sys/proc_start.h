/* SPDX-License-Identifier: MIT */
/*
 * proc_start.h - a process that gets nothing of ours by accident: no signal is ignored or
 * blocked in it, whatever we do with ours, and it has what is said and what isn't
 * closed on exec. Any thread. The caller waits for it.
 */
#ifndef SYS_PROC_START_H
#define SYS_PROC_START_H

#include <sys/types.h>

/* `path` is searched for as a shell does if there is no slash in it. `words` and
 * `environment` end with NULL. `fds` are its standard input, output and error; NULL,
 * or one that is negative: ours. 0 or -errno. */
int sonde_proc_start_plain(const char *path, const char *const *words,
			   char *const *environment, const int *fds,
			   pid_t *ret_pid);

/* Its exit status, 128 if a signal ended it, or -errno. */
int sonde_proc_wait(pid_t pid);

#endif /* SYS_PROC_START_H */
