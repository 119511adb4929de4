/* SPDX-License-Identifier: MIT */
/*
 * cells.c - see cells.h: on this CPU's row, or atomically on the one behind all.
 */
#include "ring/cells.h"

void sonde_cells_add(const struct sonde_cells *cells, void *rseq,
		     uint64_t offset, uint64_t value)
{
	unsigned char *first = cells->rows + offset;

	if (rseq && sonde_rseq_add(rseq, first, cells->row_bytes,
				   cells->nr_cpus, value))
		return;
	(void)sonde_add_relaxed(
		(uint64_t *)(void *)(first + cells->nr_cpus * cells->row_bytes),
		value);
}

/* That of the row behind all, where the CPU isn't known. */
static uint64_t *cell_here(const struct sonde_cells *cells, void *rseq,
			   uint64_t offset)
{
	const uint32_t *words = rseq;
	uint32_t row = words ? sonde_load_relaxed(&words[1]) : cells->nr_cpus;

	if (row > cells->nr_cpus)
		row = cells->nr_cpus;
	return (uint64_t *)(void *)(cells->rows + row * cells->row_bytes +
				    offset);
}

void sonde_cells_raise(const struct sonde_cells *cells, void *rseq,
		       uint64_t offset, uint64_t value)
{
	uint64_t *cell = cell_here(cells, rseq, offset);
	uint64_t now = sonde_load_relaxed(cell);

	while (now < value &&
	       !__atomic_compare_exchange_n(cell, &now, value, true,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}
