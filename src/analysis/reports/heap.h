/* SPDX-License-Identifier: MIT */
/*
 * heap.h - a heap as its trace tells it: the blocks in use, and sums.
 *
 * Bytes are those that the program asked for. A block is in use from the
 * function's return until it is given to free() or realloc(); a block that
 * realloc() moves counts as one, that of before until realloc() returns.
 *
 * What each call site held at the peak is known without a copy at each new
 * peak: a new peak is a new *epoch*; a site whose bytes are about to change
 * for the first time in an epoch first notes what it held, which is what it
 * held when the epoch began.
 *
 * Invariants: 1. live_bytes is the sum of `live_bytes` of all sites, and of
 * the sizes of all blocks, with those that are being moved. 2. peak_bytes is
 * the greatest live_bytes ever, and peak_ns the first time it was reached.
 * 3. peak_bytes is the sum of what sonde_heap_site_peak() says of all sites.
 *
 * Memory: up to 110 bytes for each block in use, and SONDE_HEAP_BLOCKS blocks,
 * 300 MB; then -E2BIG.
 */
#ifndef ANALYSIS_REPORTS_HEAP_H
#define ANALYSIS_REPORTS_HEAP_H

#include "analysis/reports/histogram.h"
#include "analysis/reports/journal.h"
#include "analysis/reports/site.h"
#include "base/hash.h"

#define SONDE_HEAP_BLOCKS ((size_t)7 << 19) /* 7/8 of 4 Mi */

enum sonde_heap_op {
	SONDE_HEAP_MALLOC = 1,
	SONDE_HEAP_CALLOC,
	SONDE_HEAP_MEMALIGN,
	SONDE_HEAP_REALLOC,
	SONDE_HEAP_FREE,
	SONDE_HEAP_REALLOC_BEGIN,
	SONDE_HEAP_NR_OPS,
};

/* The words of a journal's entry. */
enum sonde_heap_word {
	SONDE_HEAP_SIZE,
	SONDE_HEAP_PTR,
	SONDE_HEAP_CALLER,
	SONDE_HEAP_MORE, /* calloc: the count; realloc: the old block */
};

struct sonde_heap_calls {
	uint64_t calls, failed;
	uint64_t bytes; /* asked for, successfully */
};

struct sonde_heap_site {
	struct sonde_analysis_site at; /* where malloc() returned to */
	struct sonde_heap_calls calls;
	uint64_t live_bytes, live_blocks;
	/* ---- private ---- */
	uint64_t epoch, noted_bytes;
};

/* The sites, to be sorted: the place of a caller in `sites`. */
struct sonde_heap_caller {
	struct sonde_key key;
	uint32_t site;
};

struct sonde_heap_thread {
	struct sonde_key key;
	uint64_t allocations, frees, bytes;
};

struct sonde_heap_size {
	struct sonde_key key; /* from 4 KiB on, rounded down by up to 1/16 */
	uint64_t allocations, bytes;
	uint64_t live_bytes, live_blocks;
};

struct sonde_heap {
	bool by_stack; /* to be set before the first event */
	struct sonde_heap_calls calls[SONDE_HEAP_NR_OPS];
	uint64_t live_bytes, live_blocks;
	uint64_t peak_bytes, peak_blocks;
	int64_t peak_ns;
	uint64_t unknown_frees; /* blocks from before, or lost events */
	uint64_t reused; /* blocks given out again without having been freed */
	size_t nr_sites;
	struct sonde_heap_site *sites;
	struct sonde_hash callers;        /* struct sonde_heap_caller */
	struct sonde_hash threads;        /* struct sonde_heap_thread */
	struct sonde_hash sizes;          /* struct sonde_heap_size */
	struct sonde_histogram lifetimes; /* of freed blocks */
	/* ---- private ---- */
	size_t sites_capacity;
	struct sonde_hash blocks, moving;
	uint64_t epoch;
};

void sonde_heap_init(struct sonde_heap *heap);
void sonde_heap_fini(struct sonde_heap *heap);

/* The events that matter, as a journal has them. */
extern const struct sonde_journal_form sonde_heap_forms[];
extern const size_t sonde_heap_nr_forms;

/* The next event. 0, -ENOMEM, -E2BIG. For sonde_journal_run(): `ctx` is the
 * heap. */
int sonde_heap_replay(void *ctx, const struct sonde_journal_entry *entry);

/* All events of a trace. Also -EINVAL, and said in args->error. */
int sonde_heap_read(struct sonde_analysis_args *args, struct sonde_heap *heap);

/* What the site held at the peak. */
uint64_t sonde_heap_site_peak(const struct sonde_heap *heap,
			      const struct sonde_heap_site *site);

#endif /* ANALYSIS_REPORTS_HEAP_H */
