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
