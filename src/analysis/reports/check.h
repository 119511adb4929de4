/* SPDX-License-Identifier: MIT */
/* check.h - what a kernel's switches say about a trace, for check.c. */
#ifndef ANALYSIS_REPORTS_CHECK_H
#define ANALYSIS_REPORTS_CHECK_H

#include "analysis/analysis.h"
#include "analysis/model/kernel.h"

/*
 * Calls `found` for each CPU of whose switches some are missing, which other
 * switches show (kernel.h). Nothing is known of traces for which not all
 * switches were asked. 0, or what sonde_map() returned, or -ENOMEM.
 */
typedef void sonde_check_switches_fn(void *ctx, int32_t cpu,
				     const struct sonde_model_unseen *unseen);
int sonde_check_switches(const struct sonde_analysis_args *args,
			 sonde_check_switches_fn *found, void *ctx);

#endif /* ANALYSIS_REPORTS_CHECK_H */
