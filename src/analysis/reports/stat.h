/* SPDX-License-Identifier: MIT */
/*
 * stat.h - what a trace is: who made it, when, its clocks and streams, how many
 * events of which kind, what was lost, what is damaged. Counting is a map over
 * slices (reader/map.h); all else is known since the trace was opened.
 */
#ifndef ANALYSIS_REPORTS_STAT_H
#define ANALYSIS_REPORTS_STAT_H

#include "analysis/analysis.h"

/* `verbose`: the environment, and all there is about clocks. args->begin and
 * the like are not used. 0, or what sonde_map() returned. */
int sonde_stat(const struct sonde_analysis_args *args, bool verbose,
	       struct sonde_report **ret_report);

/* ---- shared with check.c ---- */

/* A stream's name in tables: its file's name; with its directory if the trace
 * has several. */
const char *sonde_stat_stream_name(const struct sonde_trace *trace,
				   const struct sonde_stream *stream);
/* "events lost", "damage" ... */
const char *sonde_stat_problem_name(enum sonde_problem_kind kind);

#endif /* ANALYSIS_REPORTS_STAT_H */
