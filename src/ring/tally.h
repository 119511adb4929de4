/* SPDX-License-Identifier: MIT */
/*
 * tally.h - which cell an event belongs to, in a slot that tallies (layout.h),
 * and what is added there: for a program's own tracepoints, and for the agent of
 * probes.
 *
 * The directory of keys is shared by all CPUs, is looked at more often than
 * written, and has no lock: an entry goes from free to taken to ready, once, and
 * stays. A thread that is killed in between leaves an entry that is nobody's.
 *
 * An event is one addition to its bin, so all bins together are the number of
 * events, whatever interrupts; the sum, the least and the greatest follow, each
 * as a whole. A thread that is killed between them has counted a value that isn't
 * in the sum.
 *
 * All of it is async-signal-safe, and waits for nobody. Cost: a hash of the key,
 * up to SONDE_TALLY_PROBES looks, two or three additions (cells.h).
 */
#ifndef RING_TALLY_H
#define RING_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bins.h"
#include "base/port.h"
#include "ring/cells.h"
#include "ring/filters.h"
#include "ring/layout.h"

/* Where a slot's cells are in this process, for a thread. */
struct sonde_cells_tally {
	struct sonde_cells cells;
	void *rseq; /* the thread's, or NULL */
	struct sonde_cells_entry *directory;
	uint32_t nr_cells; /* a power of two */
	uint32_t cell_bytes;
};

/* `rings` is what the slot's offsets are from, and all of it is mapped. */
SONDE_HIDDEN struct sonde_cells_tally
sonde_cells_tally_of(const struct sonde_slot *slot, unsigned char *rings,
		     void *rseq);

/*
 * One more event with those numbers; `index` is its entry, `known` the cell that
 * it is known to belong to, or 0. The cell that its value is still to be added
 * to; 0: it has been counted, without a value or in the cell for what has no room.
 */
SONDE_HIDDEN uint32_t sonde_cells_tally_count(
	const struct sonde_cells_tally *tally, uint32_t known, uint32_t index,
	const struct sonde_filter_value values[SONDE_FILTER_VALUES],
	const struct sonde_filter_number numbers[SONDE_FILTER_VALUES]);

/* The same rows from where that cell is in the first. */
static inline struct sonde_cells
sonde_cells_tally_cell(const struct sonde_cells_tally *tally, uint32_t cell)
{
	struct sonde_cells cells = tally->cells;

	cells.rows += (uint64_t)cell * tally->cell_bytes;
	return cells;
}

/* Where a value's bin is in a cell. */
static inline uint64_t sonde_cells_tally_bin(int64_t value)
{
	/* As sonde_bins_of(), but negative ones stand behind the others. */
	int bin = value >= 0 ?
			  sonde_bins_of_magnitude((uint64_t)value) :
			  SONDE_BINS_HALF +
				  sonde_bins_of_magnitude((uint64_t)~value);

	return (SONDE_TALLY_WORDS + (uint64_t)bin) * sizeof(uint64_t);
}

/* What of a value is still to be added. */
enum sonde_cells_left {
	SONDE_CELLS_LEFT_NONE = 0,
	SONDE_CELLS_LEFT_ALL = 1,
	SONDE_CELLS_LEFT_SUM = 2,   /* and the extremes */
	SONDE_CELLS_LEFT_RAISE = 3, /* they alone */
};

/* Adds that to a cell (sonde_cells_tally_cell), at its bin. */
SONDE_HIDDEN void sonde_cells_tally_finish(const struct sonde_cells *cells,
					   void *rseq,
					   enum sonde_cells_left left,
					   uint64_t bin, int64_t value);

#endif /* RING_TALLY_H */
