/* SPDX-License-Identifier: MIT */
/*
 * malloc_stacks.h - allocations by call stack, as trees: `sonde report malloc
 * --by stack`.
 */
#ifndef ANALYSIS_REPORTS_MALLOC_STACKS_H
#define ANALYSIS_REPORTS_MALLOC_STACKS_H

#include "analysis/analysis.h"
#include "analysis/reports/heap.h"

/* Adds the trees, of a heap whose sites are stacks. 0, -ENOMEM, -E2BIG. */
int sonde_malloc_stacks(const struct sonde_analysis_args *args,
			const struct sonde_heap *heap, size_t rows,
			struct sonde_report *report);

#endif /* ANALYSIS_REPORTS_MALLOC_STACKS_H */
