/* SPDX-License-Identifier: MIT */
/*
 * cells.h - numbers that are only ever added to, one row of them for each CPU:
 * what a slot has that counts (layout.h).
 *
 * An addition is one instruction in a restartable sequence: it happened, or it
 * didn't, whatever interrupts or kills the thread. Where a sequence is
 * interrupted before it, or can't be had, the addition is an atomic one to the
 * row behind those of the CPUs. So the sum over all rows is exact at any time,
 * and async-signal-safe.
 *
 * Cost: some ten instructions, and no lock.
 */
#ifndef RING_CELLS_H
#define RING_CELLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/port.h"
#include "ring/layout.h"

struct sonde_cells {
	unsigned char *rows; /* of CPU 0, and the others behind it */
	uint64_t row_bytes;
	uint32_t nr_cpus;
};

/* Adds to the cell at `offset` in a row; `rseq` is the thread's, or NULL. */
SONDE_HIDDEN void sonde_cells_add(const struct sonde_cells *cells, void *rseq,
				  uint64_t offset, uint64_t value);

/* Makes the cell of this CPU's row `value`, unless it is more: a maximum is that
 * over all rows. Atomic, and hardly ever written. */
SONDE_HIDDEN void sonde_cells_raise(const struct sonde_cells *cells, void *rseq,
				    uint64_t offset, uint64_t value);

/* In commit_<arch>.S: adds to the cell of this CPU's row; `first` is that of
 * row 0. Whether it did. */
SONDE_HIDDEN bool sonde_rseq_add(void *rseq, void *first, uint64_t row_bytes,
				 uint32_t nr_cpus, uint64_t value);

#endif /* RING_CELLS_H */
