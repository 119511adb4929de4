/* SPDX-License-Identifier: MIT */
/*
 * malloc_stacks.h - allocations by call stack, as a tree: `sonde report malloc
 * --by stack`.
 */
#ifndef ANALYSIS_REPORTS_MALLOC_STACKS_H
#define ANALYSIS_REPORTS_MALLOC_STACKS_H

#include "analysis/analysis.h"
#include "analysis/reports/heap.h"

/* Whether args->by asks for it. */
bool sonde_malloc_by_stack(const struct sonde_analysis_args *args);

/* 0, or -EINVAL and said in args->error: it can't be had. */
int sonde_malloc_stacks_check(struct sonde_analysis_args *args);

/* Adds the tree, of a heap whose sites are stacks. 0 or -ENOMEM. */
int sonde_malloc_stacks(const struct sonde_analysis_args *args,
			const struct sonde_heap *heap, size_t rows,
			struct sonde_report *report);

#endif /* ANALYSIS_REPORTS_MALLOC_STACKS_H */
