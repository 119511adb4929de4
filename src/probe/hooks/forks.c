/* SPDX-License-Identifier: MIT */
/*
 * forks.c - descendants that have the hooks of a process in their text (forks.h).
 *
 * A child has them if the agent's data of its parent are mapped in it, and the
 * memory isn't the parent's own (the servant's, and that of a
 * vfork() for as long as it lasts). Cost of a look: the lists of children, and
 * for each new one its mappings, once.
 */
#include "probe/hooks/forks.h"

#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe/inject/forked.h"
#include "probe/inject/process.h"
#include "probe/inject/procfs.h"
#include "sys/proc.h"

#define AGENT_PATH "/memfd:sonde-agent"
#define TOLD_MAX   8u

static bool forks_have(const struct sonde_hooks_forks *forks, pid_t pid)
{
	uint64_t start = sonde_process_start(pid);

	for (size_t i = 0; i < forks->nr; i++)
		if (forks->list[i].pid == pid && forks->list[i].start == start)
			return true;
	return false;
}

static bool lives_on(const struct sonde_hooks_fork *fork)
{
	return fork->has_hooks && sonde_process_start(fork->pid) == fork->start;
}

static bool has_agent(pid_t pid, uint64_t agent)
{
	struct sonde_maps mappings;
	bool found = false;

	if (sonde_process_mappings(pid, &mappings) != 0)
		return false;
	for (size_t i = 0; i < mappings.nr; i++)
		found |= mappings.list[i].inode == agent &&
			 strncmp(mappings.list[i].path, AGENT_PATH,
				 strlen(AGENT_PATH)) == 0;
	sonde_maps_free(&mappings);
	return found;
}

static void forks_add(struct sonde_hooks_forks *forks, pid_t pid,
		      bool has_hooks)
{
	if (forks->nr == SONDE_HOOKS_FORKS_MAX)
		return;
	forks->list[forks->nr++] = (struct sonde_hooks_fork){
		.pid = pid,
		.start = sonde_process_start(pid),
		.has_hooks = has_hooks,
	};
}

static void forks_look_at(struct sonde_hooks_forks *forks, pid_t pid,
			  pid_t child, uint64_t agent)
{
	if (!forks_have(forks, child) &&
	    syscall(SYS_kcmp, pid, child, KCMP_VM, 0, 0) != 0)
		forks_add(forks, child, has_agent(child, agent));
}

static void look_at_children(struct sonde_hooks_forks *forks, pid_t pid,
			     uint64_t agent)
{
	pid_t *children = NULL;
	size_t nr = 0;

	if (sonde_procfs_children(pid, &children, &nr) != 0)
		return;
	for (size_t i = 0; i < nr; i++)
		forks_look_at(forks, pid, children[i], agent);
	free(children);
}

void sonde_hooks_forks_look(struct sonde_hooks_forks *forks, pid_t pid,
			    uint64_t agent)
{
	look_at_children(forks, pid, agent);
	/* The list grows by their own. */
	for (size_t i = 0; i < forks->nr; i++)
		if (lives_on(&forks->list[i]))
			look_at_children(forks, forks->list[i].pid, agent);
}

void sonde_hooks_forks_forget(struct sonde_hooks_forks *forks, pid_t pid,
			      uint64_t agent)
{
	if (!forks_have(forks, pid) && has_agent(pid, agent))
		forks_add(forks, pid, false);
	for (size_t i = 0; i < forks->nr; i++)
		if (forks->list[i].pid == pid && lives_on(&forks->list[i]))
			forks->list[i].has_hooks = false;
}

unsigned int sonde_hooks_forks_clear(const struct sonde_hooks_forks *forks,
				     struct sonde_process_error *error)
{
	unsigned int nr_left = 0;

	for (size_t i = 0; i < forks->nr; i++)
		nr_left += lives_on(&forks->list[i]) &&
			   sonde_process_clear_inherited(forks->list[i].pid,
							 error) != 0 &&
			   lives_on(&forks->list[i]);
	return nr_left;
}

unsigned int sonde_hooks_forks_tell(const struct sonde_hooks_forks *forks,
				    char *text, size_t size)
{
	unsigned int nr = 0;
	size_t at = 0;

	*text = '\0';
	for (size_t i = 0; i < forks->nr; i++) {
		if (!forks->list[i].has_hooks)
			continue;
		if (nr++ < TOLD_MAX && at < size)
			at += (size_t)snprintf(text + at, size - at, "%s%d",
					       nr > 1 ? ", " : "",
					       (int)forks->list[i].pid);
	}
	if (nr > TOLD_MAX && at < size)
		(void)snprintf(text + at, size - at, " ...");
	return nr;
}
