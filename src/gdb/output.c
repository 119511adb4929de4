/* SPDX-License-Identifier: MIT */
#include "gdb/output.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMES_MAX      100000u
#define OPEN_AT_ONCE   16
#define NUMBER_SIZE    24
#define DIRECTORY_MODE 0777 /* the user's mask decides */

static int remove_one(const char *path, const struct stat *st, int kind,
		      struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

/* Best effort: it is in a place for temporary files. */
static void remove_tree(const char *path)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	(void)nftw(path, remove_one, OPEN_AT_ONCE, FTW_DEPTH | FTW_PHYS);
}

static int join(char to[PATH_MAX], const char *directory, const char *rest)
{
	int length = snprintf(to, PATH_MAX, "%s%s", directory, rest);

	return length < 0 || length >= PATH_MAX ? -ENAMETOOLONG : 0;
}

static int make_temporary(struct sonde_gdb_output *output)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets it */
	const char *place = secure_getenv("TMPDIR");
	int rc = join(output->temporary, place && *place ? place : P_tmpdir,
		      "/sonde-gdb-XXXXXX");

	if (rc || mkdtemp(output->temporary))
		return rc;
	rc = -errno;
	output->temporary[0] = '\0';
	return rc;
}

static int next_temporary(struct sonde_gdb_output *output)
{
	char name[NUMBER_SIZE];
	int rc = 0;

	(void)snprintf(name, sizeof(name), "/trace.%u", ++output->nr);
	if (!output->temporary[0])
		rc = make_temporary(output);
	else if (output->last[0])
		remove_tree(output->last);
	output->last[0] = '\0';
	return rc ? rc : join(output->last, output->temporary, name);
}

int sonde_gdb_output_next(struct sonde_gdb_output *output,
			  const char *directory)
{
	char number[NUMBER_SIZE];
	struct stat st;
	int rc;

	if (!directory)
		return next_temporary(output);
	rc = join(output->last, directory, "");
	for (unsigned int i = 1; !rc && !lstat(output->last, &st); i++) {
		if (i > NAMES_MAX)
			return -EEXIST;
		(void)snprintf(number, sizeof(number), ".%u", i);
		rc = join(output->last, directory, number);
	}
	return rc;
}

typedef size_t line_of(const struct sonde_gdb_points *points, size_t i,
		       char *to, size_t size);

static int put_lines(FILE *file, const char *kind,
		     const struct sonde_gdb_points *points, line_of *get)
{
	for (size_t i = 0;; i++) {
		size_t length = get(points, i, NULL, 0);
		char *line;

		if (!length)
			return 0;
		line = malloc(length + 1);
		if (!line)
			return -ENOMEM;
		(void)get(points, i, line, length + 1);
		(void)fprintf(file, "%s %s\n", kind, line);
		free(line);
	}
}

int sonde_gdb_output_points(const struct sonde_gdb_output *output,
			    const struct sonde_gdb_points *points)
{
	char path[PATH_MAX];
	char made[PATH_MAX];
	FILE *file;
	int rc = join(path, output->last, "/gdb");

	if (!rc && mkdir(path, DIRECTORY_MODE) && errno != EEXIST)
		rc = -errno;
	if (!rc)
		rc = join(path, output->last, "/gdb/points");
	if (!rc)
		rc = join(made, path, ".new");
	if (rc)
		return rc;
	file = fopen(made, "we");
	if (!file)
		return -errno;
	rc = put_lines(file, "tp", points, sonde_gdb_points_line);
	if (!rc)
		rc = put_lines(file, "tsv", points,
			       sonde_gdb_points_variable_line);
	if (ferror(file) && !rc)
		rc = -EIO;
	if (fclose(file) && !rc)
		rc = -errno;
	if (!rc && rename(made, path))
		rc = -errno;
	return rc;
}

void sonde_gdb_output_fini(struct sonde_gdb_output *output)
{
	if (output->temporary[0])
		remove_tree(output->temporary);
	output->temporary[0] = '\0';
	output->last[0] = '\0';
}
