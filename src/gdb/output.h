/* SPDX-License-Identifier: MIT */
/*
 * output.h - where the traces of the runs go, and what lies beside them.
 *
 * directory, directory.1, directory.2 ...: the first that isn't there. Without
 * a directory, a temporary one, of which only the last trace is kept and that
 * is removed in the end.
 */
#ifndef GDB_OUTPUT_H
#define GDB_OUTPUT_H

#include <limits.h>
#include <stdbool.h>

#include "gdb/points.h"

struct sonde_gdb_output {
	char temporary[PATH_MAX]; /* ""; or to be removed */
	char last[PATH_MAX];      /* "": there was none */
	unsigned int nr;
};

/* The name of the next trace, in output->last. `directory` NULL: temporary. */
int sonde_gdb_output_next(struct sonde_gdb_output *output,
			  const char *directory);
/* Writes LAST/gdb/points: "tp LINE" and "tsv LINE" (points.h). */
int sonde_gdb_output_points(const struct sonde_gdb_output *output,
			    const struct sonde_gdb_points *points);
/* Removes what is temporary. */
void sonde_gdb_output_fini(struct sonde_gdb_output *output);

#endif /* GDB_OUTPUT_H */
