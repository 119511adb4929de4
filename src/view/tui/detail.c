/* SPDX-License-Identifier: MIT */
/* detail.c - what a row did at the cursor, and why, in words. */
#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "view/index/explain.h"
#include "view/text/show.h"
#include "view/tui/parts.h"

void sonde_tui_duration(int64_t ns, char *to, size_t size)
{
	const struct sonde_cell_value value = { .set = true, .i = ns };

	(void)sonde_show_cell(SONDE_CELL_DURATION, &value, to, size);
}

static void detail_add_thread(struct sonde_tui *tui, struct sonde_text *text,
			      const char *words, int32_t tid)
{
	sonde_text_add(text, "%s%s (%" PRId32 ")", words,
		       sonde_view_thread_name(tui->index, tid), tid);
}

static void detail_add_lock(struct sonde_tui *tui, struct sonde_text *text,
			    const struct sonde_view_piece *piece)
{
	if (sonde_view_holder(piece))
		detail_add_thread(tui, text, " by ", sonde_view_holder(piece));
	sonde_text_add(text, ", %" PRIu32 " wait", sonde_view_waiters(piece));
}

static void add_waker(struct sonde_tui *tui, struct sonde_text *text,
		      const struct sonde_view_piece *piece)
{
	int64_t time;
	int64_t waker = sonde_view_waker(tui->index, (uint32_t)tui->chosen,
					 piece, &time);
	const struct sonde_view_rows *rows = sonde_view_index_rows(tui->index);

	if (waker >= 0)
		detail_add_thread(tui, text, "; woken by ",
				  rows->rows[waker].number);
}

/* What goes with the state. */
static void add_about(struct sonde_tui *tui, struct sonde_text *text,
		      const struct sonde_view_row *row,
		      const struct sonde_view_piece *piece)
{
	const char *name = NULL;

	if (row->kind == SONDE_VIEW_ROW_LOCK && piece->state)
		detail_add_lock(tui, text, piece);
	else if (row->kind == SONDE_VIEW_ROW_CPU &&
		 piece->state == SONDE_VIEW_RUNNING)
		detail_add_thread(tui, text, " ", (int32_t)piece->about);
	else if (piece->state == SONDE_VIEW_RUNNING)
		sonde_text_add(text, " on CPU %" PRIu32, piece->about);
	else if (piece->state == SONDE_VIEW_SPAN)
		name = sonde_view_index_name(tui->index, piece->about);
	else if (piece->state == SONDE_VIEW_VALUE)
		sonde_text_add(text, " %.10g%s%s", piece->value,
			       *row->unit ? " " : "", row->unit);
	else if (sonde_view_is_blocked(piece))
		name = sonde_view_index_cause(tui->index, piece->about);
	if (name)
		sonde_text_add(text, " %s", name);
	add_waker(tui, text, piece);
}

static void describe_row(struct sonde_tui *tui, struct sonde_text *text)
{
	const struct sonde_view_rows *rows = sonde_view_index_rows(tui->index);
	const struct sonde_view_row *row = &rows->rows[tui->chosen];
	struct sonde_view_piece piece;
	char name[96];
	char lasts[32];

	sonde_view_row_name(row, name, sizeof(name));
	sonde_text_add(text, "%s: ", name);
	if (!sonde_view_rows_at(rows, (uint32_t)tui->chosen, tui->cursor,
				&piece) ||
	    piece.state == SONDE_VIEW_UNKNOWN) {
		sonde_text_add(text, "nothing is known of it then");
		return;
	}
	sonde_tui_duration(piece.end - piece.begin, lasts, sizeof(lasts));
	sonde_text_add(text, "%s", sonde_view_state(piece.state)->name);
	add_about(tui, text, row, &piece);
	sonde_text_add(text, "; %s from +%.9f s", lasts,
		       (double)piece.begin / 1e9);
}

void sonde_tui_detail(struct sonde_tui *tui, char *to, size_t size)
{
	struct sonde_text text = { .to = to, .size = size };

	*to = 0;
	(void)sonde_view_index_lock(tui->index);
	if (tui->chosen >= 0)
		describe_row(tui, &text);
	sonde_view_index_unlock(tui->index);
}
