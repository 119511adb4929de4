/* SPDX-License-Identifier: MIT */
/*
 * statistics.c - of the span that is seen: how long each row was in which state,
 * which the index knows, and how often which event came, which is counted.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/report.h"
#include "view/text/show.h"
#include "view/tui/parts.h"

bool sonde_tui_is_enough(void *ctx)
{
	struct sonde_tui *tui = ctx;

	return tui->config->is_stopped() ||
	       sonde_screen_wait(tui->config->screen, 0) != 0;
}

enum {
	COLUMN_ROW,
	COLUMN_STATE,
	COLUMN_TIME,
	COLUMN_SHARE,
	NR_COLUMNS
};

static const struct sonde_column columns[NR_COLUMNS] = {
	[COLUMN_ROW] = { "row", "ROW", SONDE_CELL_TEXT },
	[COLUMN_STATE] = { "state", "STATE", SONDE_CELL_TEXT },
	[COLUMN_TIME] = { "time", "TIME", SONDE_CELL_DURATION },
	[COLUMN_SHARE] = { "share", "SHARE", SONDE_CELL_PERCENT },
};

static void add_row_states(const struct sonde_tui *tui,
			   const struct sonde_view_rows *rows, uint32_t id,
			   struct sonde_table *table)
{
	const struct sonde_view_span *span = &tui->span;
	uint64_t before[SONDE_VIEW_STATES];
	uint64_t after[SONDE_VIEW_STATES];
	char name[SONDE_TUI_LABEL + 1];

	(void)sonde_tui_label(tui, id, SONDE_TUI_LABEL, name);
	sonde_view_rows_sums(rows, id, span->from, before);
	sonde_view_rows_sums(rows, id, span->to, after);
	for (size_t i = SONDE_VIEW_UNKNOWN + 1; i < SONDE_VIEW_STATES; i++) {
		if (after[i] == before[i])
			continue;
		sonde_table_row(table);
		sonde_table_text(table, COLUMN_ROW, name);
		sonde_table_text(table, COLUMN_STATE,
				 sonde_view_state((uint8_t)i)->name);
		sonde_table_int(table, COLUMN_TIME,
				(int64_t)(after[i] - before[i]));
		sonde_table_share(table, COLUMN_SHARE, after[i] - before[i],
				  (uint64_t)(span->to - span->from));
	}
}

static int report_states(struct sonde_tui *tui,
			 struct sonde_report **ret_report)
{
	struct sonde_report *report = sonde_report_new("states");
	struct sonde_table *table =
		sonde_report_table(report, "states", "States, of what is seen",
				   columns, NR_COLUMNS);
	const struct sonde_view_rows *rows = sonde_view_index_lock(tui->index);

	for (size_t i = 0; i < tui->nr_ids; i++)
		add_row_states(tui, rows, tui->ids[i], table);
	sonde_view_index_unlock(tui->index);
	return sonde_report_end(report, 0, ret_report);
}

static int statistics_progress(void *ctx, uint64_t done, uint64_t all)
{
	(void)done;
	(void)all;
	return sonde_tui_is_enough(ctx) ? -EINTR : 0;
}

static int report_events(struct sonde_tui *tui,
			 struct sonde_report **ret_report)
{
	struct sonde_analysis_args args = { .trace = tui->config->trace,
					    .show = sonde_show_cell };

	sonde_map_options_init(&args.map);
	args.map.from_ns = tui->begin_ns + tui->span.from;
	args.map.to_ns = tui->begin_ns + tui->span.to - 1;
	args.map.filter = tui->list.search.filter;
	args.map.progress = statistics_progress;
	args.map.progress_ctx = tui;
	return sonde_analysis_run(sonde_analysis_find("top"), &args,
				  ret_report);
}

static int show_on_page(struct sonde_tui *tui, FILE *to,
			int (*make)(struct sonde_tui *tui,
				    struct sonde_report **ret_report))
{
	const struct sonde_show show = { .ascii = true,
					 .width = (unsigned int)tui->width };
	struct sonde_report *report;
	int err = make(tui, &report);

	if (err == -EINTR)
		(void)fprintf(to, "a key was pressed before all was counted\n");
	if (err)
		return err == -EINTR ? 0 : err;
	err = sonde_show_report(&show, report, to);
	sonde_report_free(report);
	return err;
}

int sonde_tui_statistics(struct sonde_tui *tui)
{
	char *text = NULL;
	size_t length;
	FILE *to = open_memstream(&text, &length);
	int err = to ? 0 : -ENOMEM;

	if (!err && tui->nr_ids)
		err = show_on_page(tui, to, report_states);
	if (!err)
		err = show_on_page(tui, to, report_events);
	if (to && fclose(to) && !err)
		err = -ENOMEM;
	if (err) {
		free(text);
		return err;
	}
	tui->page = text;
	tui->page_first = 0;
	return 0;
}
