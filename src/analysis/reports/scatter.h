/* SPDX-License-Identifier: MIT */
/*
 * scatter.h - how many spans begin when and take how long: a grid of counts, and
 * the longest of a box in it.
 *
 * A column is an equal share of a stretch of time; a row is a fourth of a power of
 * two of the durations (four bins of base/bins.h), so the grid is of one size,
 * however many spans there are, and each is in it: 240 rows of 4 bytes a column.
 *
 * Merging gives the same as adding all spans to one, in whatever order.
 */
#ifndef ANALYSIS_REPORTS_SCATTER_H
#define ANALYSIS_REPORTS_SCATTER_H

#include <stdint.h>

#include "analysis/reports/longest.h"
#include "base/bins.h"

#define SONDE_SCATTER_BINS    4 /* of base/bins.h that are a row */
#define SONDE_SCATTER_ROWS    (SONDE_BINS_HALF / SONDE_SCATTER_BINS)
#define SONDE_SCATTER_COLUMNS 1000u

struct sonde_scatter_config {
	int64_t from_ns, to_ns; /* from < to; what begins outside is left out */
	uint32_t nr_columns;    /* 1 to SONDE_SCATTER_COLUMNS */
	/* The box: begins from there to before there, durations from least to
	 * most. */
	int64_t box_from_ns, box_to_ns, least_ns, most_ns;
};

/* Zeros, but for a config: an empty one. Without a config nothing is done. */
struct sonde_scatter {
	const struct sonde_scatter_config *config; /* borrowed */
	uint32_t *counts;  /* by column, then row; NULL: all are 0. A count that
			   * is too large is the largest number. */
	uint64_t nr_boxed; /* in the box */
	struct sonde_longest worst; /* likewise */
};

void sonde_scatter_fini(struct sonde_scatter *scatter);

/* 0 or -ENOMEM, and then nothing has changed. `span` is as of sonde_longest_add(). */
int sonde_scatter_add(struct sonde_scatter *scatter,
		      const struct sonde_longest_span *span,
		      const struct sonde_key *key);
/* Adds what is in `from`, of the same config; that may be left without counts.
 * Cannot fail. */
void sonde_scatter_merge(struct sonde_scatter *into,
			 struct sonde_scatter *from);

/* Where the durations of a row begin, in ns; of the one behind the last: INT64_MAX. */
int64_t sonde_scatter_lower(uint32_t row);

#endif /* ANALYSIS_REPORTS_SCATTER_H */
