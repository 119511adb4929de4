/* SPDX-License-Identifier: MIT */
/*
 * ranking.c - the first rows of a table, from a hash table's entries in order.
 *
 * All entries are sorted, and how many aren't shown is told.
 */
#include "analysis/reports/ranking.h"

#include <errno.h>
#include <stdlib.h>

int sonde_ranking_add(const struct sonde_ranking *ranking,
		      struct sonde_table *table)
{
	size_t nr = ranking->candidates ? ranking->candidates :
					  ranking->hash->nr_entries;
	const void **sorted;

	if (!ranking->hash->nr_entries)
		return 0;
	sorted = sonde_hash_sorted(ranking->hash, ranking->compare,
				   ranking->ctx);
	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < nr && i < ranking->rows; i++)
		ranking->add(table, sorted[i], ranking->ctx);
	if (nr > ranking->rows)
		sonde_table_more(table, nr - ranking->rows);
	free(sorted);
	return 0;
}
