/* SPDX-License-Identifier: MIT */
/*
 * reports.h - what plug-ins (<sonde/plugin.h>) add to `sonde report`: their reports,
 * and how long the states of their rows took.
 */
#ifndef ANALYSIS_PLUGIN_REPORTS_H
#define ANALYSIS_PLUGIN_REPORTS_H

#include <sonde/plugin.h>

#include "analysis/analysis.h"

/* The run() of an analysis with a `plugin`. -ENODATA: the trace won't do, by the
 * plug-in. */
int sonde_plugin_report_run(struct sonde_analysis_args *args,
			    struct sonde_report **ret_report);
/* Of one with `rows`. Times during which nothing is known count for nothing; what
 * went on when events were lost or the trace ended is a part of the total alone,
 * as nobody knows how long it took. */
int sonde_plugin_sums_run(struct sonde_analysis_args *args,
			  struct sonde_report **ret_report);

#endif /* ANALYSIS_PLUGIN_REPORTS_H */
