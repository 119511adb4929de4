/* SPDX-License-Identifier: MIT */
/*
 * inject.h - one thread of a running process, borrowed to make a servant or a
 * system call.
 *
 * The thread's registers, its signal mask, its restartable sequence and its
 * interrupted system call are afterwards as they were; a system call that the
 * kernel would not restart by itself (epoll_wait()) is restarted, with its
 * whole timeout. Whoever is killed meanwhile: the thread runs on, with its own
 * registers and mask.
 */
#ifndef PROBE_INJECT_INJECT_H
#define PROBE_INJECT_INJECT_H

#include "base/text.h"
#include "probe/inject/process.h"

struct sonde_inject_request {
	pid_t pid;
	pid_t inner_pid; /* in the process's own PID namespace */
	pid_t tracer;    /* who may take the servant's socket: the tool, in that
			    namespace; 0: it has the right anyway */
	int memory_fd;   /* /proc/PID/mem, for reading */
	const struct sonde_borrow_ops *borrow; /* NULL: by ptrace */
	void *borrow_ctx;
};

/* The servant's memory (servant.h) and, in its data, its thread id. 0, or
 * -errno with *error. */
int sonde_inject(const struct sonde_inject_request *request,
		 struct sonde_process_error *error, uint64_t *ret_memory);

/* One system call that has no pointers and doesn't sleep, by ptrace. 0, and what
 * the kernel said in call->result; or -errno with *error: it wasn't made. */
int sonde_inject_call(const struct sonde_inject_request *request,
		      struct sonde_process_error *error,
		      struct sonde_remote_call *call);

/* Takes signals out of a thread's mask, unless one of them is pending; what it
 * is about goes on. 0; -EPERM (another debugger's), -ESRCH, -EBUSY (it can't be
 * interrupted now). */
int sonde_inject_unblock(pid_t pid, pid_t tid, uint64_t signals);

#define sonde_process_error_set(error, ...) \
	((void)sonde_text_fail(error, 0, __VA_ARGS__))

#endif /* PROBE_INJECT_INJECT_H */
