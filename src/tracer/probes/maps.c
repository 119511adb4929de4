/* SPDX-License-Identifier: MIT */
/*
 * maps.c - /proc/PID/maps as a list.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/probes/process.h"

static int append(struct sonde_mappings *mappings, size_t *room,
		  const struct sonde_mapping *mapping)
{
	if (mappings->nr == *room) {
		const size_t more = *room ? 2 * *room : 64;
		struct sonde_mapping *list = reallocarray(
			mappings->list, more, sizeof(*mappings->list));

		if (!list)
			return -ENOMEM;
		mappings->list = list;
		*room = more;
	}
	mappings->list[mappings->nr++] = *mapping;
	return 0;
}

/* START-END PERM OFFSET DEVICE INODE PATH */
static int parse_line(const char *line, struct sonde_mapping *ret)
{
	char permissions[5] = "";
	int path_at = 0;

	if (sscanf(line, /* NOLINT(cert-err34-c): hex, from the kernel */
		   "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %" SCNu64 " %n",
		   &ret->start, &ret->end, permissions, &ret->offset,
		   &ret->inode, &path_at) < 5 ||
	    path_at == 0)
		return -EINVAL;
	ret->readable = permissions[0] == 'r';
	ret->writable = permissions[1] == 'w';
	ret->executable = permissions[2] == 'x';
	ret->shared = permissions[3] == 's';
	ret->path = strdup(line + path_at);
	if (!ret->path)
		return -ENOMEM;
	ret->path[strcspn(ret->path, "\n")] = '\0';
	return 0;
}

int sonde_process_mappings(pid_t pid, struct sonde_mappings *ret)
{
	struct sonde_mappings mappings = { 0 };
	char path[64];
	size_t room = 0;
	size_t line_room = 0;
	char *line = NULL;
	int rc = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return errno == ENOENT ? -ESRCH : -errno;
	while (rc == 0 && getline(&line, &line_room, file) > 0) {
		struct sonde_mapping mapping = { 0 };

		rc = parse_line(line, &mapping);
		if (rc == 0) {
			rc = append(&mappings, &room, &mapping);
			if (rc != 0)
				free(mapping.path);
		}
	}
	free(line);
	(void)fclose(file);
	if (rc == 0 && mappings.nr == 0)
		rc = -ESRCH;
	if (rc == 0)
		*ret = mappings;
	else
		sonde_mappings_free(&mappings);
	return rc;
}

void sonde_mappings_free(struct sonde_mappings *mappings)
{
	for (size_t i = 0; i < mappings->nr; i++)
		free(mappings->list[i].path);
	free(mappings->list);
	*mappings = (struct sonde_mappings){ 0 };
}
