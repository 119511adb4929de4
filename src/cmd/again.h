/* SPDX-License-Identifier: MIT */
/*
 * again.h - this program again, as a process of ours with words of its own.
 */
#ifndef CMD_AGAIN_H
#define CMD_AGAIN_H

#include <sys/types.h>

/* With these as its standard input, output and error; nothing else that is closed on
 * exec. 0 or -errno. */
int sonde_command_spawn(const int theirs[3], char *const *argv, pid_t *ret_pid);

#endif /* CMD_AGAIN_H */
