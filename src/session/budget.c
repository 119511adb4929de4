/* SPDX-License-Identifier: MIT */
/*
 * budget.c - how a session's memory is shared by processes, and a share by
 * rings (budget.h).
 *
 * What has been given and not given back never exceeds the budget. Pure
 * arithmetic, of powers of two.
 */
#include "session/budget.h"

#include <errno.h>

#include "base/power.h"

#define SUBBUF_WANTED         (128u << 10)
#define SUBBUF_LARGEST_CHOSEN (256u << 10)
/* The event that opens one takes some ten times as long as others. */
#define SUBBUF_LARGEST_REALTIME (1u << 20)

/* Room for the control blocks in front of a slot's data. */
#define CONTROL_RESERVE (2ull << 20)

uint32_t sonde_budget_min_subbufs(enum sonde_ring_mode mode)
{
	return mode == SONDE_OVERWRITE ? 4 : SONDE_SUBBUFS_MIN;
}

static uint32_t choose_subbuf(const struct sonde_budget *budget,
			      uint64_t ring_bytes)
{
	uint64_t size = ring_bytes / 8;
	uint64_t most = budget->is_realtime ? SUBBUF_LARGEST_REALTIME :
					      SUBBUF_LARGEST_CHOSEN;

	if (budget->subbuf_bytes)
		return budget->subbuf_bytes;
	if (size > most)
		size = most;
	if (size < SUBBUF_WANTED)
		size = SUBBUF_WANTED;
	if (budget->subbuf_most && size > budget->subbuf_most)
		size = budget->subbuf_most;
	if (size > ring_bytes / sonde_budget_min_subbufs(budget->mode))
		size = ring_bytes / 4;
	return size < SONDE_SUBBUF_MIN ? SONDE_SUBBUF_MIN : (uint32_t)size;
}

/* As many cells as a slot has address space for, in so many rows. */
static int take_tally(const struct sonde_budget *budget,
		      struct sonde_geometry *ret_geometry)
{
	uint32_t nr_rows = budget->nr_possible + 2;
	uint64_t nr = sonde_power_below((SONDE_SLOT_SPAN - CONTROL_RESERVE) /
					nr_rows / budget->subbuf_bytes);

	if (nr < SONDE_TALLY_CELLS_MIN)
		return -ENOSPC;
	if (nr > SONDE_TALLY_CELLS_MAX)
		nr = SONDE_TALLY_CELLS_MAX;
	*ret_geometry = (struct sonde_geometry){
		.nr_cpus = budget->nr_possible,
		.nr_lanes = 2,
		.subbuf_size = budget->subbuf_bytes,
		.nr_subbufs = (uint32_t)nr,
	};
	return 0;
}

/* Cells are few, and not of the budget. */
static int take_cells(const struct sonde_budget *budget,
		      struct sonde_geometry *ret_geometry)
{
	if ((budget->nr_possible + 1ull) * SONDE_CELLS_ROW >
	    SONDE_SLOT_SPAN - CONTROL_RESERVE)
		return -ENOSPC;
	*ret_geometry = (struct sonde_geometry){
		.nr_cpus = budget->nr_possible,
		.nr_lanes = 1,
		.subbuf_size = SONDE_SUBBUF_MIN,
		.nr_subbufs = SONDE_CELLS_ROW_SUBBUFS,
	};
	return 0;
}

int sonde_budget_take(struct sonde_budget *budget, bool lanes_only,
		      struct sonde_geometry *ret_geometry)
{
	uint64_t left = budget->total_bytes - budget->used_bytes;
	uint64_t share = budget->used_bytes ? left / 4 : left / 2;
	uint32_t nr_rings = budget->nr_possible + SONDE_LANES;
	uint32_t nr_used = lanes_only ? SONDE_LANES : budget->nr_online;
	uint64_t ring = sonde_power_below(share / nr_used);
	uint64_t span = SONDE_SLOT_SPAN - CONTROL_RESERVE;
	uint64_t ring_max;
	uint32_t subbuf;

	if (budget->mode == SONDE_COUNT)
		return take_cells(budget, ret_geometry);
	if (budget->mode == SONDE_TALLY)
		return take_tally(budget, ret_geometry);
	if (budget->stacks_depth)
		span -= sonde_stacks_bytes(budget->stacks_depth);
	ring_max = sonde_power_below(span / nr_rings);
	if (ring > ring_max)
		ring = ring_max;
	subbuf = choose_subbuf(budget, ring);
	if (ring > (uint64_t)subbuf * SONDE_SUBBUFS_MAX)
		ring = (uint64_t)subbuf * SONDE_SUBBUFS_MAX;
	if (ring < (uint64_t)subbuf * sonde_budget_min_subbufs(budget->mode))
		return -ENOSPC;
	*ret_geometry = (struct sonde_geometry){
		.nr_cpus = budget->nr_possible,
		.nr_lanes = SONDE_LANES,
		.subbuf_size = subbuf,
		.nr_subbufs = (uint32_t)(ring / subbuf),
		.charged_bytes = ring * nr_used,
	};
	budget->used_bytes += ret_geometry->charged_bytes;
	return 0;
}

/* From a budget of its own, of which the first share is half. */
int sonde_budget_take_beside(struct sonde_budget *budget, bool lanes_only,
			     uint64_t ring_bytes, uint32_t subbuf_bytes,
			     struct sonde_geometry *ret_geometry)
{
	struct sonde_budget own = *budget;
	int rc;

	own.mode = SONDE_DISCARD;
	own.used_bytes = 0;
	own.subbuf_bytes = subbuf_bytes;
	own.stacks_depth = 0;
	own.total_bytes =
		2 * ring_bytes * (lanes_only ? SONDE_LANES : budget->nr_online);
	rc = sonde_budget_take(&own, lanes_only, ret_geometry);
	if (rc)
		return rc;
	if (ret_geometry->charged_bytes >
	    budget->total_bytes - budget->used_bytes)
		return -ENOSPC;
	budget->used_bytes += ret_geometry->charged_bytes;
	return 0;
}

uint32_t sonde_budget_largest_subbuf(const struct sonde_budget *budget)
{
	uint32_t largest = 0;

	/* The first share is the largest, and so are its sub-buffers. */
	for (int lanes_only = 0; lanes_only < 2; lanes_only++) {
		struct sonde_budget fresh = *budget;
		struct sonde_geometry geometry;

		fresh.used_bytes = 0;
		if (!sonde_budget_take(&fresh, lanes_only, &geometry) &&
		    geometry.subbuf_size > largest)
			largest = geometry.subbuf_size;
	}
	return largest;
}

void sonde_budget_give(struct sonde_budget *budget,
		       const struct sonde_geometry *geometry)
{
	budget->used_bytes -= geometry->charged_bytes;
}

uint32_t sonde_geometry_nr_rings(const struct sonde_geometry *geometry)
{
	return geometry->nr_cpus + geometry->nr_lanes;
}

uint64_t sonde_geometry_ring_bytes(const struct sonde_geometry *geometry)
{
	return (uint64_t)geometry->subbuf_size * geometry->nr_subbufs;
}

uint32_t sonde_geometry_record_limit(const struct sonde_geometry *geometry)
{
	return geometry->subbuf_size - SONDE_SUBBUF_SLACK - SONDE_SUBBUF_HEAD;
}
