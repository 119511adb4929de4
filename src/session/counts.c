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
#include "session/tallies.h"

/* An entry. */
struct counted {
	struct sonde_board_row *row; /* NULL: none yet */
	uint64_t added;              /* of its sum */
};

struct sonde_counts {
	struct sonde_board *board;
	struct sonde_arena_source *source;
	uint32_t nr;
	struct counted *entries;
	uint64_t *sums;                /* room, for as many */
	uint64_t uncounted;            /* as added to the board */
	struct sonde_tallies *tallies; /* or else NULL */
};

/* Room for as many entries as there are now. */
static int counts_grow(struct sonde_counts *counts, uint32_t nr)
{
	struct counted *entries;
	uint64_t *sums;

	if (nr <= counts->nr)
		return 0;
	entries = realloc(counts->entries, nr * sizeof(*entries));
	if (entries)
		counts->entries = entries;
	sums = realloc(counts->sums, nr * sizeof(*sums));
	if (sums)
		counts->sums = sums;
	if (!entries || !sums)
		return -ENOMEM;
	memset(entries + counts->nr, 0, (nr - counts->nr) * sizeof(*entries));
	counts->nr = nr;
	return 0;
}

static int counts_read(struct sonde_counts *counts)
{
	struct sonde_arena_view *view = sonde_arena_source_view(counts->source);
	int rc = counts_grow(counts, sonde_arena_nr_entries(view));

	if (!rc && counts->nr)
		sonde_arena_count(view, counts->nr, counts->sums);
	return rc;
}

static void add_gain(struct sonde_counts *counts, uint32_t index)
{
	struct counted *entry = &counts->entries[index];
	uint64_t new = counts->sums[index] - entry->added;

	if (new && !entry->row)
		entry->row = sonde_board_row_of(counts->board, counts->source,
						index, NULL);
	if (!new || !entry->row)
		return;
	sonde_store_relaxed(&entry->row->count, entry->row->count + new);
	entry->added = counts->sums[index];
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
	else if (counts_read(counts))
		return; /* the next look has it all */
	for (uint32_t i = 0; i < counts->nr; i++)
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
	/* Another recorder may have had the slot. */
	if (board->has_value || board->nr_keys || counts_read(counts)) {
		free(counts);
		return NULL;
	}
	for (uint32_t i = 0; i < counts->nr; i++)
		counts->entries[i].added = counts->sums[i];
	return counts;
}

/* What has no row now gets none. */
static void tell_unnamed(const struct sonde_counts *counts)
{
	for (uint32_t i = 0; i < counts->nr; i++)
		if (!counts->entries[i].row)
			counts->board->untold +=
				counts->sums[i] - counts->entries[i].added;
}

void sonde_counts_free(struct sonde_counts *counts)
{
	if (!counts)
		return;
	sonde_counts_look(counts);
	tell_unnamed(counts);
	sonde_tallies_free(counts->tallies);
	free(counts->entries);
	free(counts->sums);
	free(counts);
}
