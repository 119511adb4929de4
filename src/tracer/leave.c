/* SPDX-License-Identifier: MIT */
/*
 * leave.c - a process that can't be recorded any more says so in its arena
 * (leave.h).
 *
 * What is said is written before the word that says that it is there. No system
 * call, no lock: a process may be between vfork and exec, or about to lose the
 * right.
 */
#include "tracer/leave.h"

#include <string.h>

#include "base/port.h"
#include "tracer/self.h"

/* What follows the last '/'. */
static const char *last_part(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash && slash[1] ? slash + 1 : name;
}

struct sonde_leave *sonde_leave_note(uint32_t pid, enum sonde_leave_why why,
				     const char *name)
{
	struct sonde_arena *header = (void *)sonde_arena;
	struct sonde_leave *leave;
	uint32_t i;

	if (!header)
		return NULL;
	i = sonde_add_relaxed(&header->nr_leaves, 1);
	if (i >= SONDE_LEAVES)
		return NULL;
	leave = &header->leaves[i];
	leave->pid = pid;
	strncpy(leave->name, last_part(name), sizeof(leave->name) - 1);
	/* Pairs with the load of why in sonde_arena_leave: the rest is there.
	 */
	sonde_store_release(&leave->why, (uint32_t)why);
	return leave;
}

void sonde_leave_undo(struct sonde_leave *leave)
{
	if (leave)
		sonde_store_relaxed(&leave->why, SONDE_LEAVE_NONE);
}

void sonde_leave_recording(enum sonde_leave_why why)
{
	struct sonde_arena *header = (void *)sonde_arena;
	uint32_t *states;

	if (!header || sonde_has_left)
		return;
	sonde_has_left = true;
	if (!sonde_self.key)
		sonde_self_learn();
	(void)sonde_leave_note(sonde_self.pid, why, "");
	/* No other recorder comes, and enables something. */
	sonde_store_relaxed(&header->writer, (uint32_t)SONDE_WRITER_NONE);
	states = (void *)(sonde_arena + SONDE_STATES_OFF);
	for (uint32_t i = 0; i < SONDE_EVENTS_MAX; i++)
		if (sonde_load_relaxed(&states[i]))
			sonde_store_relaxed(&states[i], 0);
}
