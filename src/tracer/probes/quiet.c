/* SPDX-License-Identifier: MIT */
/*
 * quiet.c - waiting until no thread is between two instructions that are about
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
#include "tracer/probes/quiet.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tracer/probes/procfs.h"

#define ROUND_NS       500000
#define ROUNDS_PER_MS  2
#define CHANGES_WANTED 2

struct watched {
	pid_t tid;
	uint64_t run_time;
	unsigned int changes;
	bool done;
};

static int read_task(pid_t pid, pid_t tid, const char *name, char *to,
		     size_t size)
{
	char path[96];
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)pid,
		       (int)tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, to, size - 1);
	close(fd);
	if (n < 0)
		return -errno;
	to[n] = '\0';
	return 0;
}

static bool is_inside(uint64_t pc, const struct sonde_quiet_range *ranges,
		      size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (pc > ranges[i].start && pc < ranges[i].end)
			return true;
	return false;
}

/* NUMBER [six arguments] SP PC, all but the number in hex; or "running". */
static bool sleeps_outside(const char *text,
			   const struct sonde_quiet_range *ranges, size_t nr)
{
	const char *last = strrchr(text, ' ');

	return last && strncmp(text, "running", 7) != 0 &&
	       !is_inside(strtoull(last + 1, NULL, 16), ranges, nr);
}

/* Looks once more. */
static void look(pid_t pid, struct watched *watched,
		 const struct sonde_quiet_range *ranges, size_t nr)
{
	char text[256];
	uint64_t run_time;

	if (read_task(pid, watched->tid, "syscall", text, sizeof(text)) ==
	    -ENOENT) {
		watched->done = true; /* it has ended */
		return;
	}
	if (sleeps_outside(text, ranges, nr)) {
		watched->done = true;
		return;
	}
	if (read_task(pid, watched->tid, "schedstat", text, sizeof(text)) != 0)
		return;
	run_time = strtoull(text, NULL, 10);
	if (watched->run_time != 0 && run_time != watched->run_time)
		watched->changes++;
	watched->run_time = run_time;
	watched->done = watched->changes >= CHANGES_WANTED;
}

static bool all_done(pid_t pid, struct watched *list, size_t nr_threads,
		     const struct sonde_quiet_range *ranges, size_t nr)
{
	bool done = true;

	for (size_t i = 0; i < nr_threads; i++) {
		if (!list[i].done)
			look(pid, &list[i], ranges, nr);
		done = done && list[i].done;
	}
	return done;
}

int sonde_quiet_wait(pid_t pid, const struct sonde_quiet_range *ranges,
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
