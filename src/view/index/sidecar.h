/* SPDX-License-Identifier: MIT */
/*
 * sidecar.h - an index kept in a file, so that a trace that was looked at once is
 * not read again.
 *
 * It lies in $XDG_CACHE_HOME/sonde (~/.cache/sonde), under a name made of the
 * trace's path, and is of that trace as long as its *key* is: the sizes and
 * times of change of its streams and metadata, and the user's rules. It is written under no name, and
 * gets its name when it is whole. To open it costs its tail alone, which is
 * small: its sum is looked at then, and each number in it that leads somewhere.
 * The body is read where it is asked for, and believed nothing (walk.h); whether
 * a disk has changed it is found out behind the back of who asks
 * (sonde_view_sidecar_verify). What doesn't fit is as if it weren't there, and is
 * replaced.
 *
 *	body		chunks and nodes of rows (rows.h), from the file's begin
 *	tail: cells	SONDE_VIEW_CELLS + 1 numbers (cells.h)
 *	rows		a struct disk_row each
 *	nodes		where they are, 16 bytes each, row by row
 *	causes		a length in 64 bits and as many bytes each, whole words
 *	names		likewise, and then their colours, 64 bits each
 *	trailer		the file's last bytes: what it is, and how many of each
 *
 * All in this machine's byte order.
 */
#ifndef VIEW_INDEX_SIDECAR_H
#define VIEW_INDEX_SIDECAR_H

#include <stdatomic.h>
#include <stdint.h>

#include <sonde/trace.h>

#include "view/index/build.h"
#include "view/index/cells.h"
#include "view/index/rules.h"

struct sonde_view_sidecar {
	int directory;   /* -1: there is none to be had, nothing is kept */
	char name[40];   /* in it */
	uint64_t key[2]; /* the trace's, and the rules' */
	const struct sonde_view_rules *rules; /* NULL: none */
};

/* A number that is the trace's, by its path. */
uint64_t sonde_view_sidecar_where(const struct sonde_trace *trace);

/* Finds the directory, which it may make, and what the trace is called there. */
void sonde_view_sidecar_init(struct sonde_view_sidecar *sidecar,
			     const struct sonde_trace *trace,
			     const struct sonde_view_rules *rules);
void sonde_view_sidecar_fini(struct sonde_view_sidecar *sidecar);

/* An empty file without a name, to be kept or not; -errno. */
int sonde_view_sidecar_create(const struct sonde_view_sidecar *sidecar);

/*
 * Keeps what was built in such a file under the trace's name. 0; -EAGAIN: the
 * trace has changed meanwhile; another negative errno: it isn't kept. What was
 * built can be used as before, but not added to.
 */
int sonde_view_sidecar_keep(const struct sonde_view_sidecar *sidecar,
			    const struct sonde_trace *trace,
			    struct sonde_view_build *build,
			    const struct sonde_view_cells *cells);

/* The file of the trace's name; -errno. */
int sonde_view_sidecar_open(const struct sonde_view_sidecar *sidecar);
/*
 * What such a file holds, into a build and cells that are empty; `fd` becomes
 * the build's. 0; -EINVAL: it is not the trace's, or damaged; -errno. Then both
 * are to be finished, and `fd` is closed.
 */
int sonde_view_sidecar_load(const struct sonde_view_sidecar *sidecar, int fd,
			    struct sonde_view_build *build,
			    struct sonde_view_cells *cells);
/*
 * Reads the body of one that was loaded, `fd`, and looks at its sum: 0; -EINVAL:
 * it is damaged; -EINTR: *stopping; -errno. Memory: a window.
 */
int sonde_view_sidecar_verify(int fd, const atomic_bool *stopping);

#endif /* VIEW_INDEX_SIDECAR_H */
