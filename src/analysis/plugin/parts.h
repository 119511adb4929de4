/* SPDX-License-Identifier: MIT */
/* parts.h - what the files of run.h share: a run, and its rows. */
#ifndef ANALYSIS_PLUGIN_PARTS_H
#define ANALYSIS_PLUGIN_PARTS_H

#include "analysis/plugin/run.h"
#include "analysis/reports/lost.h"
#include "base/hash.h"

/* A row, since when it is what. */
struct sonde_plugin_row {
	int number; /* the sink's; -E2BIG: it is left out */
	int state;  /* SONDE_PLUGIN_NONE; of a counter that is known, 0 */
	bool is_counter;
	double value;
	int64_t begin_ns;
	int64_t until_ns; /* when events are lost next: it ends there */
};

struct sonde_plugin_run {
	struct sonde_plugin_pass *pass;
	struct sonde_trace *trace;
	/* One of: */
	const struct sonde_plugin_rows *rows;
	const struct sonde_plugin_report *report;
	void *state;
	bool is_begun;
	char error[256]; /* what sonde_plugin_fail() was told first */
	/* of rows: */
	const struct sonde_plugin_sink *sink;
	void *ctx;
	struct sonde_hash by_name, by_state; /* to an index, to a number */
	struct sonde_plugin_row *list;
	size_t nr_rows, room;
	struct sonde_lost lost; /* where its events come from */
	uint32_t sources;
	bool in_loss; /* the event at hand came while others were lost */
};

/* rows.c: before the first event, and after the last one. */
void sonde_plugin_rows_init(struct sonde_plugin_run *run);
int sonde_plugin_rows_end(struct sonde_plugin_run *run, int64_t end_ns);
void sonde_plugin_rows_fini(struct sonde_plugin_run *run);

#endif /* ANALYSIS_PLUGIN_PARTS_H */
