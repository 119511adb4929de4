/* SPDX-License-Identifier: MIT */
/* blocks.h - from a probe's recorded payload to the blocks of a GDB trace
 * frame. */
#ifndef GDB_BLOCKS_H
#define GDB_BLOCKS_H

#include "probe/plan.h"

/* Blocks of GDB's trace frame ('R', 'M', 'V', ...; gdb manual, "Trace File
 * Format"), in the making. */
struct sonde_gdb_blocks {
	uint8_t *to;
	size_t room;
	size_t length;      /* that they have or would have */
	uint32_t registers; /* bit n: register n was collected */
};

/* Appends one. */
void sonde_gdb_blocks_put(struct sonde_gdb_blocks *blocks, const void *bytes,
			  size_t nr);

/*
 * The blocks from a recorded payload. An 'R' has zeros for the registers that
 * were not collected, but for rip, which is the site; there is none if none
 * was. 0; -EINVAL: the payload is not such a one.
 */
int sonde_gdb_blocks_make(const struct sonde_probe_plan *plan,
			  const struct sonde_probe_plan_part *part,
			  const uint8_t *payload, size_t size,
			  struct sonde_gdb_blocks *blocks);

#endif /* GDB_BLOCKS_H */
