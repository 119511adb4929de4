/* SPDX-License-Identifier: MIT */
/*
 * budget.h - how much ring memory each traced process gets.
 *
 * A session has one budget of bytes. What counts is memory that can be
 * touched: the rings a process writes to in the ordinary way (one for each CPU
 * that is online, or the lanes where there are no restartable sequences). The
 * other rings are address space until something goes wrong.
 *
 * A process that finds the budget untouched gets half of it: most recordings
 * have one process that matters. Any other gets a quarter of what remains, so
 * some twenty can run at a time, with the default budget on a few CPUs; a
 * process that has ended gives its share back. A share
 * below two of the smallest sub-buffers for each ring is refused: the process
 * runs on, unrecorded, and the summary says so.
 *
 * Where events are counted and not recorded, a process gets a row of cells for
 * each CPU, of which only pages with events in them take memory.
 *
 * Within a share all rings are alike, a power of two of sub-buffers of a power
 * of two of bytes. Sub-buffers hold 128 KiB at least where the ring can have
 * two of them, so that records of 64 KiB fit; larger rings have larger ones, up
 * to 256 KiB (1 MiB for real time); small rings are cut in four. In overwrite mode two sub-buffers
 * are always out of the reader's reach, so a ring has four at least.
 *
 * Pure arithmetic; one thread at a time.
 */
#ifndef SESSION_BUDGET_H
#define SESSION_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "ring/layout.h"

#define SONDE_LANES 4u

struct sonde_budget {
	uint64_t total_bytes;
	uint64_t used_bytes;
	uint32_t nr_possible;  /* CPUs that may ever be there: rings */
	uint32_t nr_online;    /* CPUs that are there now: memory */
	uint32_t subbuf_bytes; /* SONDE_TALLY: of a cell; 0: choose, */
	uint32_t subbuf_most;  /* up to this; 0: as you like */
	uint32_t stacks_depth; /* of call stacks, behind the rings; 0: none */
	bool is_realtime;      /* few sub-buffers are better than many */
	enum sonde_ring_mode mode;
};

struct sonde_geometry {
	uint32_t nr_cpus;
	uint32_t nr_lanes;
	uint32_t subbuf_size;
	uint32_t nr_subbufs;
	uint64_t charged_bytes; /* give this back */
};

/*
 * Shares out memory for one more process; `lanes_only` if it has no use for
 * per-CPU rings. Returns 0, or -ENOSPC if what remains is too little.
 */
int sonde_budget_take(struct sonde_budget *budget, bool lanes_only,
		      struct sonde_geometry *ret_geometry);

/*
 * The same beside a share: rings of `ring_bytes` each, in discard mode, with
 * sub-buffers of `subbuf_bytes`; 0: choose.
 */
int sonde_budget_take_beside(struct sonde_budget *budget, bool lanes_only,
			     uint64_t ring_bytes, uint32_t subbuf_bytes,
			     struct sonde_geometry *ret_geometry);

/* The fewest sub-buffers that a ring can do with. */
uint32_t sonde_budget_min_subbufs(enum sonde_ring_mode mode);

/* The largest sub-buffers any share can have; 0 if there can't be a share. */
uint32_t sonde_budget_largest_subbuf(const struct sonde_budget *budget);

void sonde_budget_give(struct sonde_budget *budget,
		       const struct sonde_geometry *geometry);

/* Rings in all, and bytes of one. */
uint32_t sonde_geometry_nr_rings(const struct sonde_geometry *geometry);
uint64_t sonde_geometry_ring_bytes(const struct sonde_geometry *geometry);

/* The largest record that fits a sub-buffer, its header included. */
uint32_t sonde_geometry_record_limit(const struct sonde_geometry *geometry);

#endif /* SESSION_BUDGET_H */
