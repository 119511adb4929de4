/* SPDX-License-Identifier: MIT */
/*
 * entry.h - a program that was just executed, up to its entry point: its
 * libraries are there, and nothing of its own has run.
 */
#ifndef PROBE_HOOKS_ENTRY_H
#define PROBE_HOOKS_ENTRY_H

#include <sys/types.h>

/*
 * `pid` is a child that is traced (ptrace) by the calling thread, and stopped
 * behind its exec. 0: it isn't traced any more, and stopped by SIGSTOP at its
 * entry point; -ECHILD: it has ended, and is to be waited for; -errno: it isn't
 * traced any more, and runs.
 */
int sonde_hooks_entry_reach(pid_t pid);

#endif /* PROBE_HOOKS_ENTRY_H */
