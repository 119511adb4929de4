/* SPDX-License-Identifier: MIT */
/* stat.h - what reports call streams and problems. */
#ifndef ANALYSIS_REPORTS_STAT_H
#define ANALYSIS_REPORTS_STAT_H

#include <sonde/trace.h>

/* A stream's name in tables: its file's name; with its directory if the trace
 * has several. */
const char *sonde_stat_stream_name(const struct sonde_trace *trace,
				   const struct sonde_stream *stream);
/* "events lost", "damage" ... */
const char *sonde_stat_problem_name(enum sonde_problem_kind kind);

#endif /* ANALYSIS_REPORTS_STAT_H */
