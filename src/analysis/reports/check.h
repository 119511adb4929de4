/* SPDX-License-Identifier: MIT */
/*
 * check.h - whether a trace keeps the rules of its format: each rule's verdict,
 * and each stream's.
 *
 * Rules have a severity. An *error* means that something can't be read. After a
 * *warning* all can be read, but readers will differ in what they make of it.
 * A *note* is no fault of the trace's: the tracer tells of losses.
 */
#ifndef ANALYSIS_REPORTS_CHECK_H
#define ANALYSIS_REPORTS_CHECK_H

#include "analysis/analysis.h"
#include "analysis/model/kernel.h"

struct sonde_check_result {
	uint64_t nr_errors, nr_warnings, nr_notes;
};

/* Reads every packet's head and every event, all fields of it. args->begin and
 * the like are not used. 0, or what sonde_map() returned, or -ENOMEM. */
int sonde_check(const struct sonde_analysis_args *args,
		struct sonde_check_result *ret_result,
		struct sonde_report **ret_report);

/*
 * Calls `found` for each CPU of whose switches some are missing, which other
 * switches show (kernel.h). Nothing is known of traces for which not all
 * switches were asked. 0, or what sonde_map() returned, or -ENOMEM.
 */
typedef void sonde_check_switches_fn(void *ctx, int32_t cpu,
				     const struct sonde_kernel_unseen *unseen);
int sonde_check_switches(const struct sonde_analysis_args *args,
			 sonde_check_switches_fn *found, void *ctx);

#endif /* ANALYSIS_REPORTS_CHECK_H */
