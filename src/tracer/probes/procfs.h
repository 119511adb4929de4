/* SPDX-License-Identifier: MIT */
/*
 * procfs.h - what /proc tells about a process and its threads.
 *
 * All may be out of date when it returns.
 */
#ifndef TRACER_PROBES_PROCFS_H
#define TRACER_PROBES_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A number from a line of /proc/PID/status, e.g. "TracerPid"; of several the
 * last. -ENOENT: there is no such line. */
int sonde_procfs_status(pid_t pid, const char *name, int base,
			uint64_t *ret_value);

/* All threads, for free(). */
int sonde_procfs_threads(pid_t pid, pid_t **ret_tids, size_t *ret_nr);

/* The tracer's process; 0: none. */
pid_t sonde_procfs_tracer(pid_t pid);
/* /proc/sys/kernel/yama/ptrace_scope; 0 if there is none. */
int sonde_procfs_yama(void);

/* Whether a signal is about to be delivered to the thread. */
bool sonde_procfs_signal_pends(pid_t pid, pid_t tid);
/* Whether a system call that fails with EINTR can just be made once more. */
bool sonde_procfs_restarts(long number);
/* 'R', 'S', 't' (held by a debugger) ... ; 0 if it is gone. */
char sonde_procfs_state(pid_t pid, pid_t tid);
/* The system call that it sleeps in; -1: it runs, or it can't be known. */
#define SONDE_PROCFS_CALL_ARGS 6
long sonde_procfs_call(pid_t pid, pid_t tid,
		       uint64_t ret_args[SONDE_PROCFS_CALL_ARGS]);
/* A thread that can be interrupted with the least effect. */
int sonde_procfs_choose_thread(pid_t pid, pid_t *ret_tid);

/* The process whose id in the PID namespace of `pid` is `inner`. */
int sonde_procfs_outer_pid(pid_t pid, pid_t inner, pid_t *ret_pid);

#endif /* TRACER_PROBES_PROCFS_H */
