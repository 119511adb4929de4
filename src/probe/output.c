/* SPDX-License-Identifier: MIT */
/*
 * output.c - where the traces of runs go, and what lies beside them (output.h).
 *
 * A name that is taken is never written to; the next number is tried. A
 * temporary directory has the last trace only, and goes with the output.
 */
#include "probe/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMES_MAX   100000u
#define NUMBER_SIZE 24

static int join(char to[PATH_MAX], const char *directory, const char *rest)
{
	int length = snprintf(to, PATH_MAX, "%s%s", directory, rest);

	return length < 0 || length >= PATH_MAX ? -ENAMETOOLONG : 0;
}

static int fail(struct sonde_directory_error *error, int rc, const char *path)
{
	(void)snprintf(error->text, sizeof(error->text), "%.250s: %s", path,
		       strerrordesc_np(-rc));
	return rc;
}

static int make_temporary(struct sonde_probe_output *output,
			  struct sonde_directory_error *error)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets it */
	const char *place = secure_getenv("TMPDIR");
	int rc = join(output->temporary, place && *place ? place : P_tmpdir,
		      "/sonde-gdb-XXXXXX");

	if (!rc && !mkdtemp(output->temporary))
		rc = -errno;
	if (rc)
		rc = fail(error, rc, output->temporary);
	else
		rc = sonde_directory_make(output->temporary, &output->base,
					  error);
	if (rc)
		output->temporary[0] = '\0';
	else
		output->base.made = true;
	return rc;
}

static int next_temporary(struct sonde_probe_output *output,
			  struct sonde_directory_error *error)
{
	char name[NUMBER_SIZE];
	int rc = 0;

	(void)snprintf(name, sizeof(name), "/trace.%u", ++output->nr);
	if (!output->temporary[0])
		rc = make_temporary(output, error);
	if (!rc && join(output->last, output->temporary, name))
		rc = fail(error, -ENAMETOOLONG, output->temporary);
	return rc ? rc :
		    sonde_directory_make(output->last, &output->place, error);
}

/* The first name that isn't taken. */
static int next_named(struct sonde_probe_output *output, const char *directory,
		      struct sonde_directory_error *error)
{
	char number[NUMBER_SIZE] = "";
	struct stat st;

	for (unsigned int i = 1; i <= NAMES_MAX; i++) {
		int rc = join(output->last, directory, number);

		if (rc)
			return fail(error, rc, directory);
		(void)snprintf(number, sizeof(number), ".%u", i);
		if (!lstat(output->last, &st))
			continue;
		rc = sonde_directory_make(output->last, &output->place, error);
		if (rc || output->place.made)
			return rc;
		/* Another one was faster. */
		sonde_directory_close(&output->place);
	}
	return fail(error, -EEXIST, directory);
}

void sonde_probe_output_init(struct sonde_probe_output *output)
{
	*output = (struct sonde_probe_output){ .base = SONDE_DIRECTORY_NONE,
					       .place = SONDE_DIRECTORY_NONE };
}

int sonde_probe_output_next(struct sonde_probe_output *output,
			    const char *directory,
			    struct sonde_directory_error *error)
{
	int rc;

	if (output->temporary[0])
		sonde_directory_remove(&output->place);
	sonde_directory_close(&output->place);
	rc = directory ? next_named(output, directory, error) :
			 next_temporary(output, error);
	if (rc)
		output->last[0] = '\0';
	return rc;
}

void sonde_probe_output_drop(struct sonde_probe_output *output)
{
	if (output->place.dir >= 0)
		sonde_directory_remove(&output->place);
	output->last[0] = '\0';
}

typedef size_t line_of(const struct sonde_probe_points *points, size_t i,
		       char *to, size_t size);

static int put_lines(FILE *file, const char *kind,
		     const struct sonde_probe_points *points, line_of *get)
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

static int write_points(int dir, const struct sonde_probe_points *points)
{
	int fd = sonde_directory_file_below(dir, "points.new", O_WRONLY);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	int rc;

	if (!file)
		return fd < 0 ? fd : -ENOMEM;
	rc = put_lines(file, "tp", points, sonde_probe_points_line);
	if (!rc)
		rc = put_lines(file, "tsv", points,
			       sonde_probe_points_variable_line);
	if (ferror(file) && !rc)
		rc = -EIO;
	if (fclose(file) && !rc)
		rc = -errno;
	if (!rc && renameat(dir, "points.new", dir, "points"))
		rc = -errno;
	return rc;
}

int sonde_probe_output_points(const struct sonde_probe_output *output,
			      const struct sonde_probe_points *points)
{
	int dir = sonde_directory_make_below(output->place.dir, "gdb", true);
	int rc;

	if (dir < 0)
		return dir;
	rc = write_points(dir, points);
	(void)close(dir); /* nothing was written by it */
	return rc;
}

void sonde_probe_output_fini(struct sonde_probe_output *output)
{
	sonde_directory_close(&output->place);
	if (output->temporary[0])
		sonde_directory_remove(&output->base);
	output->temporary[0] = '\0';
	output->last[0] = '\0';
}
