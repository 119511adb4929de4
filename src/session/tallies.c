/* SPDX-License-Identifier: MIT */
/*
 * tallies.c - see tallies.h: for each cell, its row and what was added to it.
 *
 * What is read is a process's, and may be anything: an index beyond the entries
 * has no row. Of sums and bins the board gets what is new, of the least and the
 * greatest what they are.
 */
#include "session/tallies.h"

#include <stdlib.h>
#include <string.h>

#include "base/port.h"

/* Words of a cell (ring/layout.h). */
#define WORDS_MAX (SONDE_TALLY_CELL_VALUES / sizeof(uint64_t))

struct tallied {
	struct sonde_board_row *row; /* NULL: none yet */
	uint64_t *added;             /* words, or NULL */
};

struct sonde_tallies {
	struct sonde_board *board;
	struct sonde_arena_source *source;
	struct sonde_arena_view *view;
	uint32_t nr_words; /* of a cell */
	uint32_t nr_cells;
	struct sonde_cells_entry *directory; /* a copy */
	struct tallied *cells;
	uint64_t sums[WORDS_MAX];
	uint64_t words[WORDS_MAX]; /* of one row */
};

static uint64_t greater(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The cell's sums over all rows, in tallies->sums. */
static void add_rows_up(struct sonde_tallies *tallies, uint32_t cell)
{
	const struct sonde_geometry *geometry = &tallies->view->geometry;
	uint64_t *sums = tallies->sums;
	size_t size = tallies->nr_words * sizeof(uint64_t);

	memset(sums, 0, size);
	for (uint32_t row = 0; row <= geometry->nr_cpus; row++) {
		const uint64_t *words = tallies->words;

		if (!sonde_arena_read_row(tallies->view, row,
					  (uint64_t)cell *
						  geometry->subbuf_size,
					  tallies->words, size))
			continue;
		for (uint32_t i = 0; i < tallies->nr_words; i++)
			sums[i] = i == SONDE_TALLY_GREATEST ||
						  i == SONDE_TALLY_LEAST ?
					  greater(sums[i], words[i]) :
					  sums[i] + words[i];
	}
}

/* What the word has gained. */
static uint64_t gained(const struct sonde_tallies *tallies,
		       const struct tallied *cell, uint32_t word)
{
	return tallies->sums[word] - cell->added[word];
}

static void show_values(struct sonde_tallies *tallies,
			const struct tallied *cell)
{
	struct sonde_board_row *row = cell->row;
	uint64_t *bins = tallies->board->bins[row - tallies->board->rows];
	uint64_t count = row->count;

	for (uint32_t i = 0; i < 2 * SONDE_BINS_HALF; i++) {
		uint64_t more = gained(tallies, cell, SONDE_TALLY_WORDS + i);

		if (more)
			sonde_store_relaxed(&bins[i], bins[i] + more);
		count += more;
	}
	sonde_store_relaxed(&row->sum,
			    row->sum + gained(tallies, cell, SONDE_TALLY_SUM));
	sonde_store_relaxed(&row->greatest,
			    greater(row->greatest,
				    tallies->sums[SONDE_TALLY_GREATEST]));
	sonde_store_relaxed(&row->least,
			    greater(row->least,
				    tallies->sums[SONDE_TALLY_LEAST]));
	sonde_store_relaxed(&row->count, count);
}

static void show(struct sonde_tallies *tallies, struct tallied *cell)
{
	if (tallies->board->has_value)
		show_values(tallies, cell);
	else
		sonde_store_relaxed(&cell->row->count,
				    cell->row->count +
					    gained(tallies, cell,
						   SONDE_TALLY_COUNT));
}

/* Room to remember what was added. */
static bool can_remember(const struct sonde_tallies *tallies,
			 struct tallied *cell)
{
	if (!cell->added)
		cell->added = calloc(tallies->nr_words, sizeof(uint64_t));
	return cell->added;
}

static void look_at_cell(struct sonde_tallies *tallies, uint32_t i)
{
	const struct sonde_cells_entry *entry = &tallies->directory[i];
	struct tallied *cell = &tallies->cells[i];

	if (entry->state != SONDE_TALLY_READY ||
	    entry->index >= sonde_arena_nr_entries(tallies->view))
		return;
	if (!cell->row)
		cell->row = sonde_board_row_of(tallies->board, tallies->source,
					       entry->index, entry->keys);
	if (!cell->row || !can_remember(tallies, cell))
		return; /* the next look may have more luck */
	add_rows_up(tallies, i);
	show(tallies, cell);
	memcpy(cell->added, tallies->sums,
	       tallies->nr_words * sizeof(uint64_t));
}

/* Cell 0. */
static void look_at_rest(struct sonde_tallies *tallies)
{
	struct tallied *cell = &tallies->cells[0];

	if (!can_remember(tallies, cell))
		return;
	add_rows_up(tallies, 0);
	tallies->board->keyless += gained(tallies, cell, SONDE_TALLY_COUNT);
	tallies->board->valueless += gained(tallies, cell, SONDE_TALLY_SUM);
	memcpy(cell->added, tallies->sums,
	       tallies->nr_words * sizeof(uint64_t));
}

void sonde_tallies_look(struct sonde_tallies *tallies)
{
	uint32_t row = tallies->view->geometry.nr_cpus + 1;

	look_at_rest(tallies);
	if (!sonde_arena_read_row(tallies->view, row, 0, tallies->directory,
				  tallies->nr_cells *
					  sizeof(*tallies->directory)))
		return;
	for (uint32_t i = 1; i < tallies->nr_cells; i++)
		look_at_cell(tallies, i);
}

struct sonde_tallies *sonde_tallies_new(struct sonde_board *board,
					struct sonde_arena_source *source)
{
	struct sonde_tallies *tallies = calloc(1, sizeof(*tallies));

	if (!tallies)
		return NULL;
	tallies->board = board;
	tallies->source = source;
	tallies->view = sonde_arena_source_view(source);
	tallies->nr_cells = tallies->view->geometry.nr_subbufs;
	tallies->nr_words =
		tallies->view->geometry.subbuf_size / sizeof(uint64_t);
	tallies->directory =
		calloc(tallies->nr_cells, sizeof(*tallies->directory));
	tallies->cells = calloc(tallies->nr_cells, sizeof(*tallies->cells));
	if (tallies->directory && tallies->cells)
		return tallies;
	sonde_tallies_free(tallies);
	return NULL;
}

/* What has no row now gets none. */
static void tell_rowless(struct sonde_tallies *tallies)
{
	bool has_value = tallies->board->has_value;
	uint32_t first = has_value ? SONDE_TALLY_WORDS : SONDE_TALLY_COUNT;
	uint32_t end =
		has_value ? SONDE_TALLY_WORDS + 2 * SONDE_BINS_HALF : first + 1;

	for (uint32_t i = 1; i < tallies->nr_cells; i++) {
		if (tallies->directory[i].state != SONDE_TALLY_READY ||
		    tallies->cells[i].row)
			continue;
		add_rows_up(tallies, i);
		for (uint32_t word = first; word < end; word++)
			tallies->board->untold += tallies->sums[word];
	}
}

void sonde_tallies_free(struct sonde_tallies *tallies)
{
	if (!tallies)
		return;
	if (tallies->directory && tallies->cells)
		tell_rowless(tallies);
	for (uint32_t i = 0; tallies->cells && i < tallies->nr_cells; i++)
		free(tallies->cells[i].added);
	free(tallies->cells);
	free(tallies->directory);
	free(tallies);
}
