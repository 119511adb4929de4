/* SPDX-License-Identifier: MIT */
/*
 * maps.c - /proc/PID/maps as a list.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "probe/inject/process.h"
#include "sys/proc.h"

/* One was split, to change the protection of a part for a moment. */
static bool maps_goes_on(const struct sonde_mapping *m,
			 const struct sonde_mapping *next)
{
	return m->inode != 0 && m->end == next->start &&
	       m->inode == next->inode &&
	       m->offset + (m->end - m->start) == next->offset &&
	       m->readable == next->readable && m->writable == next->writable &&
	       m->executable == next->executable && m->shared == next->shared &&
	       strcmp(m->path, next->path) == 0;
}

/* Takes the path. */
static int append(struct sonde_maps *mappings, size_t *room,
		  const struct sonde_mapping *mapping)
{
	struct sonde_mapping *last =
		mappings->nr ? &mappings->list[mappings->nr - 1] : NULL;

	if (last && maps_goes_on(last, mapping)) {
		last->end = mapping->end;
		free(mapping->path);
		return 0;
	}
	if (SONDE_GROW(mappings->list, mappings->nr, *room))
		return -ENOMEM;
	mappings->list[mappings->nr++] = *mapping;
	return 0;
}

static int add(struct sonde_maps *mappings, size_t *room,
	       const struct sonde_proc_mapping *mapped)
{
	struct sonde_mapping mapping = {
		.start = mapped->begin,
		.end = mapped->end,
		.offset = mapped->offset,
		.inode = mapped->ino,
		.readable = mapped->mode & SONDE_MAPPED_READ,
		.writable = mapped->mode & SONDE_MAPPED_WRITE,
		.executable = mapped->mode & SONDE_MAPPED_EXEC,
		.shared = mapped->mode & SONDE_MAPPED_SHARED,
		.path = strdup(mapped->path),
	};
	int rc = mapping.path ? append(mappings, room, &mapping) : -ENOMEM;

	if (rc != 0)
		free(mapping.path);
	return rc;
}

int sonde_process_mappings(pid_t pid, struct sonde_maps *ret)
{
	struct sonde_maps mappings = { 0 };
	struct sonde_proc_mapping mapped;
	struct sonde_lines lines;
	size_t room = 0;
	int rc = sonde_proc_maps_open(&lines, pid);

	if (rc != 0)
		return rc == -ENOENT ? -ESRCH : rc;
	while (rc == 0 && sonde_proc_maps_next(&lines, &mapped))
		rc = add(&mappings, &room, &mapped);
	sonde_lines_close(&lines);
	if (rc == 0 && mappings.nr == 0)
		rc = -ESRCH;
	if (rc == 0)
		*ret = mappings;
	else
		sonde_maps_free(&mappings);
	return rc;
}

void sonde_maps_free(struct sonde_maps *mappings)
{
	for (size_t i = 0; i < mappings->nr; i++)
		free(mappings->list[i].path);
	free(mappings->list);
	*mappings = (struct sonde_maps){ 0 };
}
