/* SPDX-License-Identifier: MIT */
/*
 * within.h - rows of what goes on within each thread: functions, requests,
 * whatever events begin and end (view/export/spans.h says which). Each depth of a
 * thread is a row below it, down to SONDE_VIEW_DEPTH; deeper ones have none. What
 * is no thread's has no row either, nor have a kernel's calls and interrupts,
 * which rows of their own tell of.
 *
 * `about` of a piece is 1 + the number of its name in `names` of the build; 0: there
 * were more than SONDE_VIEW_NAMES.
 *
 * It is a pass of its own, in the order of time, over the streams of the sources
 * that have such events; of a trace that has none it reads nothing.
 */
#ifndef VIEW_INDEX_WITHIN_H
#define VIEW_INDEX_WITHIN_H

#include "view/index/build.h"

struct sonde_view_within;

/* NULL in *ret_within: nothing begins and ends in that trace. 0, -ENOMEM. */
int sonde_view_within_new(struct sonde_view_build *build,
			  struct sonde_trace *trace,
			  struct sonde_view_within **ret_within);
/* 0 or a negative errno of reading or of the rows. */
int sonde_view_within_run(struct sonde_view_within *within,
			  const struct sonde_map_options *options);
void sonde_view_within_free(struct sonde_view_within *within);

#endif /* VIEW_INDEX_WITHIN_H */
