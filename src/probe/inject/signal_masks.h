/* SPDX-License-Identifier: MIT */
/*
 * signal_masks.h - threads that block what the agent must get.
 *
 * A thread that blocks SIGTRAP is killed by an int3, and one that blocks
 * SIGSEGV or SIGBUS by a bad pointer in a condition: the kernel resets the
 * action of a signal that an instruction raises while it is blocked. Programs
 * do block all signals in helper threads that are to handle none (jemalloc's,
 * libraries' workers), and mean those that others send.
 *
 * So these three are taken out of such a thread's mask, once: it is seized,
 * interrupted and let go (ptrace), as when one is borrowed (inject.h). It
 * doesn't happen to a thread
 *
 *	- that blocks them for some ms only (pthread_create() does)
 *	- that a debugger holds stopped, or for which one of them is pending
 *
 * For a thread in a system call with a mask of its own for that long
 * (sigsuspend(), ppoll(), sigwait()) the one that it will have afterwards is
 * changed; /proc doesn't tell that one, so such a thread is looked at once.
 *
 * What changes for the program: a SIGTRAP, SIGSEGV or SIGBUS that somebody
 * *sends* to it may be delivered to such a thread. A thread that blocks them
 * later is found when the next probe is put in or taken out.
 */
#ifndef PROBE_INJECT_SIGNAL_MASKS_H
#define PROBE_INJECT_SIGNAL_MASKS_H

#include "probe/inject/process.h"

/* 0; -EBUSY if a thread goes on blocking one of them. Known for about a second:
 * cheap to ask. */
int sonde_signal_masks_open(struct sonde_process *process);

#endif /* PROBE_INJECT_SIGNAL_MASKS_H */
