/* SPDX-License-Identifier: MIT */
/*
 * grace_period.c - waiting until no thread is between two instructions that are about
 * to be replaced.
 *
 * Each of those instructions has become an int3 before: a thread that was there
 * leaves with the first instruction it executes. So it is enough to know of
 * each thread that it has executed one since, or sleeps elsewhere:
 *
 *	sleeps		/proc/PID/task/TID/syscall tells its program counter
 *	runs		its run time (schedstat), which the kernel adds up at
 *			each tick and each switch, has changed twice: between
 *			the two it was on a CPU for a tick, or was switched to
 *			and away again
 *
 * A thread that is made later begins behind a system call, not here.
 */
#include "probe/inject/grace_period.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/number.h"
#include "probe/inject/procfs.h"
#include "sys/proc.h"

#define ROUND_NS       500000
#define ROUNDS_PER_MS  2
#define CHANGES_WANTED 2

struct watched {
	pid_t tid;
	uint64_t run_time;
	unsigned int changes;
	bool done;
};

static bool is_inside(uint64_t pc,
		      const struct sonde_grace_period_range *ranges, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (pc > ranges[i].start && pc < ranges[i].end)
			return true;
	return false;
}

/* Looks once more. */
static void look(pid_t pid, struct watched *watched,
		 const struct sonde_grace_period_range *ranges, size_t nr)
{
	struct sonde_proc_syscall call;
	char text[256];
	const char *at = text;
	uint64_t run_time;
	int rc;

	rc = sonde_proc_syscall(pid, watched->tid, &call);
	if (rc == -ENOENT || (!rc && !is_inside(call.pc, ranges, nr))) {
		watched->done = true; /* it has ended, or sleeps elsewhere */
		return;
	}
	if (sonde_textfile_read(text, sizeof(text),
				"/proc/%d/task/%d/schedstat", pid,
				watched->tid) < 0 ||
	    !sonde_number_take(&at, 10, UINT64_MAX, &run_time))
		return;
	if (watched->run_time != 0 && run_time != watched->run_time)
		watched->changes++;
	watched->run_time = run_time;
	watched->done = watched->changes >= CHANGES_WANTED;
}

static bool all_done(pid_t pid, struct watched *list, size_t nr_threads,
		     const struct sonde_grace_period_range *ranges, size_t nr)
{
	bool done = true;

	for (size_t i = 0; i < nr_threads; i++) {
		if (!list[i].done)
			look(pid, &list[i], ranges, nr);
		done = done && list[i].done;
	}
	return done;
}

int sonde_grace_period_wait(pid_t pid,
			    const struct sonde_grace_period_range *ranges,
			    size_t nr, unsigned int limit_ms)
{
	const struct timespec pause = { 0, ROUND_NS };
	unsigned int rounds = limit_ms * ROUNDS_PER_MS;
	struct watched *list;
	size_t nr_threads;
	pid_t *tids;
	bool done;
	int rc = sonde_procfs_threads(pid, &tids, &nr_threads);

	if (rc != 0)
		return rc;
	list = calloc(nr_threads + 1, sizeof(*list));
	if (list)
		for (size_t i = 0; i < nr_threads; i++)
			list[i].tid = tids[i];
	free(tids);
	if (!list)
		return -ENOMEM;
	done = all_done(pid, list, nr_threads, ranges, nr);
	for (; !done && rounds > 0; rounds--) {
		(void)nanosleep(&pause, NULL);
		done = all_done(pid, list, nr_threads, ranges, nr);
	}
	free(list);
	return done ? 0 : -EAGAIN;
}
