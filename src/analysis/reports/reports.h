/* SPDX-License-Identifier: MIT */
/*
 * reports.h - one object for each report, for the list in registry.c and for the
 * commands that are about one.
 */
#ifndef ANALYSIS_REPORTS_REPORTS_H
#define ANALYSIS_REPORTS_REPORTS_H

#include "analysis/analysis.h"

extern const struct sonde_analysis sonde_analysis_top;
extern const struct sonde_analysis sonde_analysis_period;
extern const struct sonde_analysis sonde_analysis_latency;
extern const struct sonde_analysis sonde_analysis_malloc;
extern const struct sonde_analysis sonde_analysis_locks;
extern const struct sonde_analysis sonde_analysis_samples;
extern const struct sonde_analysis sonde_analysis_functions;
extern const struct sonde_analysis sonde_analysis_activity;
extern const struct sonde_analysis sonde_analysis_blame;
extern const struct sonde_analysis sonde_analysis_cputop;
extern const struct sonde_analysis sonde_analysis_critical;
extern const struct sonde_analysis sonde_analysis_io;
extern const struct sonde_analysis sonde_analysis_irq;
extern const struct sonde_analysis sonde_analysis_memory;
extern const struct sonde_analysis sonde_analysis_offcpu;
extern const struct sonde_analysis sonde_analysis_sched;
extern const struct sonde_analysis sonde_analysis_syscalls;

extern const struct sonde_analysis sonde_analysis_stat;
extern const struct sonde_analysis sonde_analysis_check;
extern const struct sonde_analysis sonde_analysis_diff;

#endif /* ANALYSIS_REPORTS_REPORTS_H */
