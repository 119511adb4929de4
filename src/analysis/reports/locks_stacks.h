/* SPDX-License-Identifier: MIT */
/*
 * locks_stacks.h - who waits for locks and who holds them, by call stack, as
 * trees: `sonde report locks --by stack`.
 */
#ifndef ANALYSIS_REPORTS_LOCKS_STACKS_H
#define ANALYSIS_REPORTS_LOCKS_STACKS_H

#include "analysis/analysis.h"
#include "analysis/reports/contention.h"

/* 0, or -EINVAL and said in args->error: args->by can't be had. */
int sonde_lock_by_check(struct sonde_analysis_args *args);

/* Adds the trees, of a contention whose sites are stacks. 0, -ENOMEM, -E2BIG. */
int sonde_lock_stacks(const struct sonde_analysis_args *args,
		      const struct sonde_contention *contention, size_t rows,
		      struct sonde_report *report);

#endif /* ANALYSIS_REPORTS_LOCKS_STACKS_H */
