/* SPDX-License-Identifier: MIT */
/* points_load.c - TRACE/gdb/points, the lines of a tfile's head ("tp ...",
 * "tsv ..."). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gdb/frames_parts.h"

/* What GDB could have defined is far less. */
#define LINES_MAX 1000000u

static int read_line(struct sonde_probe_points *points, char *line)
{
	line[strcspn(line, "\n")] = '\0';
	if (strncmp(line, "tp ", 3) == 0)
		return sonde_probe_points_read_line(points, line + 3);
	if (strncmp(line, "tsv ", 4) == 0)
		return sonde_probe_points_read_line(points, line + 4);
	return *line ? -EINVAL : 0;
}

static int read_lines(FILE *file, struct sonde_probe_points *points,
		      unsigned int *ret_line)
{
	char *line = NULL;
	size_t room = 0;
	int rc = 0;

	for (*ret_line = 1; !rc && getline(&line, &room, file) > 0;
	     (*ret_line)++)
		rc = *ret_line > LINES_MAX ? -E2BIG : read_line(points, line);
	free(line);
	return rc;
}

int sonde_gdb_points_load(const char *directory,
			  struct sonde_probe_points *points, char *error,
			  size_t error_size)
{
	unsigned int line = 0;
	FILE *file = NULL;
	char *path;
	int rc;

	if (asprintf(&path, "%s/gdb/points", directory) < 0)
		return -ENOMEM;
	file = fopen(path, "re");
	rc = file ? read_lines(file, points, &line) : -errno;
	if (rc == -ENOENT && !file && access(directory, F_OK))
		(void)snprintf(error, error_size, "%s: %s", directory,
			       strerrordesc_np(errno));
	else if (rc == -ENOENT && !file)
		(void)snprintf(error, error_size,
			       "%s has no trace frames: it was not recorded "
			       "with 'sonde gdbserver' or 'sonde probe'",
			       directory);
	else if (!file)
		(void)snprintf(error, error_size, "%s: %s", path,
			       strerrordesc_np(-rc));
	else if (rc)
		(void)snprintf(error, error_size,
			       "%s, line %u: not a tracepoint's line", path,
			       line - 1);
	if (file)
		(void)fclose(file);
	free(path);
	return rc;
}
