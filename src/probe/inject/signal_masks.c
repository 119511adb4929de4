/* SPDX-License-Identifier: MIT */
/*
 * signal_masks.c - taking SIGTRAP, SIGSEGV and SIGBUS out of threads' masks.
 *
 * Cost: two files of /proc a thread, once a second at most; a thread that
 * blocks one of the signals is stopped for some 50 us, once.
 */
#include "probe/inject/signal_masks.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/port.h"
#include "probe/inject/inject.h"
#include "probe/inject/process_parts.h"
#include "probe/inject/procfs.h"
#include "sys/proc.h"

#define BIT(number) (1ull << ((number)-1))
#define WANTED      (BIT(SIGTRAP) | BIT(SIGSEGV) | BIT(SIGBUS))

#define TRIES       8
#define PAUSE_NS    2000000
#define FRESH_S     1 /* threads hardly ever change their masks */

/* System calls that exchange the mask while they last, if an argument, the
 * mask's address, is not zero. */
static const struct {
	long number;
	unsigned int argument;
} exchanging[] = {
	{ SYS_rt_sigtimedwait, 0 }, { SYS_rt_sigsuspend, 0 },
	{ SYS_ppoll, 3 },           { SYS_pselect6, 5 },
	{ SYS_epoll_pwait, 4 },     { SYS_epoll_pwait2, 4 },
};

static bool exchanges(pid_t pid, pid_t tid)
{
	struct sonde_proc_syscall call;

	if (sonde_proc_syscall(pid, tid, &call))
		return false;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(exchanging); i++)
		if (exchanging[i].number == call.number)
			return call.args[exchanging[i].argument] != 0;
	return false;
}

static bool was_looked_at(const struct sonde_process *process, pid_t tid)
{
	for (size_t i = 0; i < process->nr_looked_at; i++)
		if (process->looked_at[i] == tid)
			return true;
	return false;
}

/* Without memory it is looked at again. */
static void note(struct sonde_process *process, pid_t tid)
{
	pid_t *list = reallocarray(process->looked_at,
				   process->nr_looked_at + 1, sizeof(*list));

	if (!list)
		return;
	process->looked_at = list;
	list[process->nr_looked_at++] = tid;
}

/* Whether it is, or may be, one that blocks. `held`: a debugger's. */
static bool may_block(const struct sonde_process *process, pid_t tid,
		      bool *ret_held)
{
	uint64_t tracer = 0;
	uint64_t mask = 0;

	if (sonde_proc_status(tid, "SigBlk", 16, &mask) != 0 ||
	    sonde_proc_status(tid, "TracerPid", 10, &tracer) != 0)
		return false;
	*ret_held = tracer != 0;
	if (tracer != 0)
		return (mask & WANTED) != 0 && sonde_procfs_state(tid) != 't';
	if (exchanges(process->pid, tid))
		return !was_looked_at(process, tid);
	return (mask & WANTED) != 0;
}

/* How many threads block, or may; `opens`: those are changed, or looked at. */
static size_t look(struct sonde_process *process, bool opens)
{
	size_t found = 0;
	pid_t *tids = NULL;
	size_t nr = 0;

	if (sonde_procfs_threads(process->pid, &tids, &nr) != 0)
		return 0;
	for (size_t i = 0; i < nr; i++) {
		bool held = false;

		if (!may_block(process, tids[i], &held))
			continue;
		found++;
		if (!opens || held)
			continue;
		const bool is_in = exchanges(process->pid, tids[i]);
		if (sonde_inject_unblock(process->pid, tids[i], WANTED) == 0 &&
		    is_in)
			note(process, tids[i]);
	}
	free(tids);
	return found;
}

int sonde_signal_masks_open(struct sonde_process *process)
{
	const struct timespec pause = { 0, PAUSE_NS };
	struct timespec now;
	size_t found;

	(void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	if (process->masks_checked_s != 0 &&
	    now.tv_sec - process->masks_checked_s <= FRESH_S)
		return process->masks_rc;
	found = look(process, false);
	for (int i = 0; i < TRIES && found != 0; i++) {
		(void)nanosleep(&pause, NULL);
		found = look(process, i % 2 != 0);
	}
	process->masks_rc = found == 0 ? 0 : -EBUSY;
	process->masks_checked_s = now.tv_sec;
	return process->masks_rc;
}
