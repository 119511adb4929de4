/* SPDX-License-Identifier: MIT */
/*
 * forks.h - children of fork() of a process that has hooks: they have its text,
 * jumps and all, and the agent only counts what they do there (inject/agent.h,
 * is_parent). So they are not recorded, and that is told; and at the end the
 * jumps are taken out of theirs, too (inject/forked.h).
 *
 * They are found by looking for them; one that lives shorter than the pause
 * between two looks isn't seen, but its hits are in the sum. One that has
 * executed a program by then isn't meant: its text is its own.
 */
#ifndef PROBE_HOOKS_FORKS_H
#define PROBE_HOOKS_FORKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "probe/inject/process.h"

#define SONDE_HOOKS_FORKS_MAX 256u

/* A descendant that was looked at. */
struct sonde_hooks_fork {
	pid_t pid;
	uint64_t start;
	bool has_hooks;
};

struct sonde_hooks_forks {
	size_t nr; /* that were looked at; those beyond the maximum aren't */
	struct sonde_hooks_fork list[SONDE_HOOKS_FORKS_MAX];
};

/* Among the descendants of the process, whose agent is in the file of that
 * number. */
void sonde_hooks_forks_look(struct sonde_hooks_forks *forks, pid_t pid,
			    uint64_t agent);

/* One gets hooks of its own: if it is one of them, whether it was looked at
 * before or not, it isn't told of. */
void sonde_hooks_forks_forget(struct sonde_hooks_forks *forks, pid_t pid,
			      uint64_t agent);

/* Takes the jumps out of those that live. How many have them still, and why the
 * last of them. */
unsigned int sonde_hooks_forks_clear(const struct sonde_hooks_forks *forks,
				     struct sonde_process_error *error);

/* How many were found so far, and the numbers of the first in `text`. */
unsigned int sonde_hooks_forks_tell(const struct sonde_hooks_forks *forks,
				    char *text, size_t size);

#endif /* PROBE_HOOKS_FORKS_H */
