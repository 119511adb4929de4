/* SPDX-License-Identifier: MIT */
/*
 * malloc_groups.h - allocations by call site, or added up by what call sites have
 * in common: `sonde report malloc [--by function|line|module]`.
 */
#ifndef ANALYSIS_REPORTS_MALLOC_GROUPS_H
#define ANALYSIS_REPORTS_MALLOC_GROUPS_H

#include "analysis/analysis.h"
#include "analysis/reports/heap.h"

/* Adds tables by call site. 0, -ENOMEM, -E2BIG. */
int sonde_malloc_sites(const struct sonde_analysis_args *args,
		       const struct sonde_heap *heap, size_t rows,
		       struct sonde_report *report);

/* Adds tables by args->by. 0, -ENOMEM, -E2BIG, or
 * -EINVAL and said in args->error. */
int sonde_malloc_groups(struct sonde_analysis_args *args,
			const struct sonde_heap *heap, size_t rows,
			struct sonde_report *report);

#endif /* ANALYSIS_REPORTS_MALLOC_GROUPS_H */
