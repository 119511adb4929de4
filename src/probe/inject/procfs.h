/* SPDX-License-Identifier: MIT */
/*
 * procfs.h - what /proc tells about a process and its threads.
 *
 * All may be out of date when it returns.
 */
#ifndef PROBE_INJECT_PROCFS_H
#define PROBE_INJECT_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* All threads, for free(). */
int sonde_procfs_threads(pid_t pid, pid_t **ret_tids, size_t *ret_nr);

/* The tracer's process; 0: none. */
pid_t sonde_procfs_tracer(pid_t pid);
/* /proc/sys/kernel/yama/ptrace_scope; 0 if there is none. */
int sonde_procfs_yama(void);

/* An entry of its auxiliary vector; 0 if there is none. */
uint64_t sonde_procfs_auxiliary(pid_t pid, uint64_t type);

/* Whether a signal is about to be delivered to the thread. */
bool sonde_procfs_signal_pends(pid_t pid, pid_t tid);
/* Whether a system call that fails with EINTR can just be made once more. */
bool sonde_procfs_restarts(long number);
/* 'R', 'S', 't' (held by a debugger) ... ; 0 if it is gone. */
char sonde_procfs_state(pid_t tid);
/* A thread that can be interrupted with the least effect. */
int sonde_procfs_choose_thread(pid_t pid, pid_t *ret_tid);

/* Whether a process is a child of another that has ended, and nobody has waited
 * for it. */
bool sonde_procfs_is_left(pid_t parent, pid_t child);
/* All children, for free(). */
int sonde_procfs_children(pid_t parent, pid_t **ret_pids, size_t *ret_nr);
/* A child of this name; -ENOENT. */
int sonde_procfs_child(pid_t parent, const char *name, pid_t *ret_child);

/* Another process than ours that has a pidfd of `pid`, as far as one may look; 0:
 * none is seen. Reads what all processes have open. */
pid_t sonde_procfs_pidfd_holder(pid_t pid);

/* The process whose id in the PID namespace of `pid` is `inner`. */
int sonde_procfs_outer_pid(pid_t pid, pid_t inner, pid_t *ret_pid);

#endif /* PROBE_INJECT_PROCFS_H */
