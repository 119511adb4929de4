/* SPDX-License-Identifier: MIT */
/*
 * output.h - where the traces of the runs go, and what lies beside them.
 *
 * directory, directory.1, directory.2 ...: the first that isn't there. Without
 * a directory, a temporary one, of which only the last trace is kept and that
 * is removed in the end.
 */
#ifndef PROBE_OUTPUT_H
#define PROBE_OUTPUT_H

#include <limits.h>
#include <stdbool.h>

#include "ctf/directory.h"
#include "probe/points.h"

struct sonde_probe_output {
	char temporary[PATH_MAX]; /* ""; or `base` is to be removed */
	char last[PATH_MAX];      /* "": there was none */
	struct sonde_directory base;
	struct sonde_directory place; /* output->last, to write in */
	unsigned int nr;
};

/* There is none yet. */
void sonde_probe_output_init(struct sonde_probe_output *output);
/* Makes the directory of the next trace, output->last. `directory` NULL: a
 * temporary one. */
int sonde_probe_output_next(struct sonde_probe_output *output,
			    const char *directory,
			    struct sonde_directory_error *error);
/* It was not used. */
void sonde_probe_output_drop(struct sonde_probe_output *output);
/* Writes LAST/gdb/points: "tp LINE" and "tsv LINE" (points.h). */
int sonde_probe_output_points(const struct sonde_probe_output *output,
			      const struct sonde_probe_points *points);
/* Removes what is temporary. */
void sonde_probe_output_fini(struct sonde_probe_output *output);

#endif /* PROBE_OUTPUT_H */
