/* SPDX-License-Identifier: MIT */
/* ranking.h - the first rows of a table, from the entries of a hash table. */
#ifndef ANALYSIS_REPORTS_RANKING_H
#define ANALYSIS_REPORTS_RANKING_H

#include <stddef.h>

#include "analysis/report.h"
#include "base/hash.h"

struct sonde_ranking {
	const struct sonde_hash *hash;
	/* As of qsort(), by entries; equal ones come by their keys. */
	int (*compare)(const void *a, const void *b, void *ctx);
	/* Appends the row of an entry. */
	void (*add)(struct sonde_table *table, const void *entry, void *ctx);
	void *ctx;
	size_t rows;       /* how many to show at most */
	size_t candidates; /* how many of the first deserve it; 0: all */
};

/* Sorts, shows, says how many more there are. 0 or -ENOMEM. */
int sonde_ranking_add(const struct sonde_ranking *ranking,
		      struct sonde_table *table);

#endif /* ANALYSIS_REPORTS_RANKING_H */
