/* SPDX-License-Identifier: MIT */
/*
 * counts.c - see counts.h: for each entry, its row and what was added to it.
 *
 * An entry's events count from before its description is complete: they are
 * added when it is. Memory follows the number of entries.
 */
#include "session/counts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/port.h"
#include "base/time.h"
#include "session/gains.h"
#include "session/tallies.h"

struct sonde_counts {
	struct sonde_board *board;
	struct sonde_arena_source *source;
	struct sonde_gains gains; /* of rows of the board; NULL: none yet */
	uint64_t uncounted;       /* as added to the board */
	struct sonde_tallies *tallies; /* or else NULL */
};

static void add_gain(struct sonde_counts *counts, uint32_t index)
{
	struct sonde_gain *gain = &counts->gains.entries[index];
	uint64_t new = sonde_gains_new(&counts->gains, index);
	struct sonde_board_row *row;

	if (new && !gain->of)
		gain->of = sonde_board_row_of(counts->board, counts->source,
					      index, NULL);
	row = gain->of;
	if (!new || !row)
		return;
	sonde_store_relaxed(&row->count, row->count + new);
	gain->told += new;
}

static void add_uncounted(struct sonde_counts *counts)
{
	uint64_t now = sonde_arena_nr_contended(
		sonde_arena_source_view(counts->source));

	counts->board->uncounted += now - counts->uncounted;
	counts->uncounted = now;
}

void sonde_counts_look(struct sonde_counts *counts)
{
	if (counts->tallies)
		sonde_tallies_look(counts->tallies);
	else if (sonde_gains_look(&counts->gains,
				  sonde_arena_source_view(counts->source)))
		return; /* the next look has it all */
	for (uint32_t i = 0; i < counts->gains.nr; i++)
		add_gain(counts, i);
	add_uncounted(counts);
	sonde_store_relaxed(&counts->board->read_ns, sonde_monotonic_ns());
}

struct sonde_counts *sonde_counts_new(struct sonde_board *board,
				      struct sonde_arena_source *source)
{
	struct sonde_counts *counts = calloc(1, sizeof(*counts));

	if (!counts)
		return NULL;
	counts->board = board;
	counts->source = source;
	if (board->has_value || board->nr_keys) {
		counts->tallies = sonde_tallies_new(board, source);
		if (counts->tallies)
			return counts;
	}
	if (!board->has_value && !board->nr_keys &&
	    !sonde_gains_begin(&counts->gains, sonde_arena_source_view(source)))
		return counts;
	sonde_gains_fini(&counts->gains);
	free(counts);
	return NULL;
}

void sonde_counts_free(struct sonde_counts *counts)
{
	if (!counts)
		return;
	sonde_counts_look(counts);
	/* What has no row now gets none. */
	for (uint32_t i = 0; i < counts->gains.nr; i++)
		if (!counts->gains.entries[i].of)
			counts->board->untold +=
				sonde_gains_new(&counts->gains, i);
	sonde_tallies_free(counts->tallies);
	sonde_gains_fini(&counts->gains);
	free(counts);
}
