/* SPDX-License-Identifier: MIT */
/*
 * gains.c - see gains.h: two arrays, as long as the arena's list of entries.
 *
 * That list only grows, so an entry keeps its place; what was told stays told.
 */
#include "session/gains.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int gains_grow(struct sonde_gains *gains, uint32_t nr)
{
	struct sonde_gain *entries;
	uint64_t *sums;

	if (nr <= gains->nr)
		return 0;
	entries = realloc(gains->entries, nr * sizeof(*entries));
	if (entries)
		gains->entries = entries;
	sums = realloc(gains->sums, nr * sizeof(*sums));
	if (sums)
		gains->sums = sums;
	if (!entries || !sums)
		return -ENOMEM;
	memset(entries + gains->nr, 0, (nr - gains->nr) * sizeof(*entries));
	gains->nr = nr;
	return 0;
}

int sonde_gains_look(struct sonde_gains *gains,
		     const struct sonde_arena_view *view)
{
	int rc = gains_grow(gains, sonde_arena_nr_entries(view));

	if (!rc && gains->nr)
		sonde_arena_count(view, gains->nr, gains->sums);
	return rc;
}

int sonde_gains_begin(struct sonde_gains *gains,
		      const struct sonde_arena_view *view)
{
	int rc = sonde_gains_look(gains, view);

	for (uint32_t i = 0; !rc && i < gains->nr; i++)
		gains->entries[i].told = gains->sums[i];
	return rc;
}

void sonde_gains_fini(struct sonde_gains *gains)
{
	free(gains->entries);
	free(gains->sums);
	*gains = (struct sonde_gains){ 0 };
}
