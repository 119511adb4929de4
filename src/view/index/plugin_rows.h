/* SPDX-License-Identifier: MIT */
/*
 * plugin_rows.h - the rows that a user's rules make (rules.h), those of his plug-ins, and
 * our counters (analysis/plugin/counters.h), in a pass of its own, if the trace has
 * their events: all are rows of <sonde/plugin.h>, which analysis/plugin/run.h
 * replays. What a row is when events are lost where its events come from ends
 * there: whether it went on nobody knows.
 *
 * A rule that names what the trace doesn't have makes no row: it may be of other
 * traces. At most SONDE_VIEW_PLUGIN_ROWS rows are made. `about` of a piece is 1 + the number
 * of its name in `names` of the build; 0: there were too many.
 */
#ifndef VIEW_INDEX_PLUGIN_ROWS_H
#define VIEW_INDEX_PLUGIN_ROWS_H

#include "view/index/build.h"
#include "view/index/rules.h"

#define SONDE_VIEW_PLUGIN_ROWS 1024u

struct sonde_view_plugin_rows;

/* `rules` NULL: none. NULL in *ret_own: nothing fits the trace. `unfit`: why the first doesn't that
 * doesn't, or "". 0, -ENOMEM. */
int sonde_view_plugin_rows_new(struct sonde_view_build *build,
			       struct sonde_trace *trace,
			       const struct sonde_view_rules *rules,
			       char *unfit, size_t size,
			       struct sonde_view_plugin_rows **ret_own);
/* 0 or a negative errno of reading or of the rows. `end_ns` is the trace's. */
int sonde_view_plugin_rows_run(struct sonde_view_plugin_rows *own,
			       const struct sonde_map_options *options,
			       int64_t end_ns);
void sonde_view_plugin_rows_free(struct sonde_view_plugin_rows *own);

#endif /* VIEW_INDEX_PLUGIN_ROWS_H */
