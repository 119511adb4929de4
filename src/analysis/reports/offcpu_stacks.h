/* SPDX-License-Identifier: MIT */
/*
 * offcpu_stacks.h - where threads were blocked, by the call stacks with which
 * they left the CPU, as a tree: `sonde report offcpu --by stack`.
 */
#ifndef ANALYSIS_REPORTS_OFFCPU_STACKS_H
#define ANALYSIS_REPORTS_OFFCPU_STACKS_H

#include "analysis/analysis.h"

/* As a report's run() (reports.h). */
int sonde_analysis_offcpu_stacks(struct sonde_analysis_args *args,
				 struct sonde_report **ret_report);

#endif /* ANALYSIS_REPORTS_OFFCPU_STACKS_H */
