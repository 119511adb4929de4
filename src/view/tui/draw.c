/* SPDX-License-Identifier: MIT */
/*
 * draw.c - the screen as text: a head, an overview of the whole trace with what is
 * seen of it, rows, what the chosen one did, events, and the last line for what is
 * typed.
 *
 * A state has a letter besides its colour, for terminals and people that have none.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "view/index/explain.h"
#include "view/tui/parts.h"

#define LABEL_LEAST  18u
#define THREAD_WIDTH 16u
#define HEAD_LINES   4u /* and a detail and a foot below */
#define NAMED_CELLS  3u /* where a name has room */

static const struct {
	char letter;
	const char *colour;
} looks[SONDE_VIEW_STATES] = {
	[SONDE_VIEW_UNKNOWN] = { ' ', "" },
	[SONDE_VIEW_RUNNING] = { '#', "32" },
	[SONDE_VIEW_READY] = { 'w', "33" },
	[SONDE_VIEW_PREEMPTED] = { 'p', "31" },
	[SONDE_VIEW_BLOCKED] = { '-', "37" },
	[SONDE_VIEW_BLOCKED_LOCK] = { 'l', "35" },
	[SONDE_VIEW_BLOCKED_FILE] = { 'f', "36" },
	[SONDE_VIEW_IDLE] = { '.', "37" },
	[SONDE_VIEW_IRQ] = { 'I', "34" },
	[SONDE_VIEW_SOFTIRQ] = { 'S', "93" },
	[SONDE_VIEW_SPAN] = { '=', "94" },
	[SONDE_VIEW_HELD] = { 'h', "92" },
	[SONDE_VIEW_CONTENDED] = { 'C', "95" },
	[SONDE_VIEW_VALUE] = { '_', "36" },
};
#define LOST_LETTER '!'
#define LOST_COLOUR "41"

size_t sonde_tui_row_lines(const struct sonde_tui *tui)
{
	size_t rest =
		tui->height > HEAD_LINES + 2 ? tui->height - HEAD_LINES - 2 : 2;

	return tui->nr_ids && rest / 2 > tui->nr_ids ? tui->nr_ids :
	       tui->nr_ids                           ? rest / 2 :
						       1;
}

size_t sonde_tui_event_lines(const struct sonde_tui *tui)
{
	size_t others = HEAD_LINES + 2 + sonde_tui_row_lines(tui);

	return tui->height > others ? tui->height - others : 1;
}

uint32_t sonde_tui_cells(const struct sonde_tui *tui)
{
	return tui->width > tui->label + 10 ?
		       (uint32_t)(tui->width - tui->label) :
		       10;
}

void sonde_tui_put(FILE *to, const char *text, size_t width, bool pad)
{
	size_t length = strlen(text);
	char escape[SONDE_ESCAPE_MAX];
	size_t used;

	for (size_t at = 0; at < length; at += used) {
		size_t n = sonde_escape_safe(text + at, length - at, escape,
					     &used);
		size_t bytes;
		size_t columns = n > 1 && n != used ?
					 n :
					 sonde_utf8_columns(escape, n, &bytes);

		if (columns > width)
			break;
		width -= columns;
		(void)fwrite(escape, 1, n, to);
	}
	while (pad && width--)
		(void)fputc(' ', to);
}

/* A line of ours. */
static void tui_put_line(const struct sonde_tui *tui, FILE *to,
			 const char *text)
{
	sonde_tui_put(to, text, tui->width, false);
	(void)fputc('\n', to);
}

static void put_coloured(const struct sonde_tui *tui, FILE *to,
			 const char *colour, const char *text, size_t length)
{
	if (tui->colour && *colour)
		(void)fprintf(to, "\033[%sm%.*s\033[m", colour, (int)length,
			      text);
	else
		(void)fwrite(text, 1, length, to);
}

/* ---- the head ---- */

static void tui_draw_head(struct sonde_tui *tui, FILE *to)
{
	struct sonde_view_progress progress;
	char span[32];
	char all[32];
	char line[400];
	int at;

	sonde_view_index_progress(tui->index, &progress);
	sonde_tui_duration(tui->span.to - tui->span.from, span, sizeof(span));
	sonde_tui_duration(tui->length, all, sizeof(all));
	at = snprintf(line, sizeof(line), "%.60s: %s of %s, cursor +%.9f s",
		      tui->config->name, span, all, (double)tui->cursor / 1e9);
	if (progress.error[0])
		at += snprintf(line + at, sizeof(line) - (size_t)at, "; %s",
			       progress.error);
	else if (!progress.ready)
		at += snprintf(line + at, sizeof(line) - (size_t)at,
			       "; read %d %%", (int)(progress.done * 100));
	if (tui->filter[0])
		(void)snprintf(line + at, sizeof(line) - (size_t)at,
			       "; only %.100s", tui->filter);
	tui_put_line(tui, to, line);
}

/* How many events, by square roots: a burst doesn't hide what is quiet. */
static void count_cells(struct sonde_tui *tui, uint32_t cells, char *marks)
{
	static const char dense[] = " .:-=+*#%@";
	const struct sonde_view_span whole = { 0, tui->length };
	uint64_t *counts = calloc(cells, sizeof(*counts));
	uint64_t before = sonde_view_index_count(tui->index, 0);
	uint64_t most = 1;

	for (uint32_t i = 0; counts && i < cells; i++) {
		uint64_t next = sonde_view_index_count(
			tui->index, sonde_view_pixel(&whole, i + 1, cells));

		counts[i] = next - before;
		most = counts[i] > most ? counts[i] : most;
		before = next;
	}
	for (uint32_t i = 0; i < cells; i++)
		marks[i] = ' ';
	for (uint32_t i = 0; counts && i < cells; i++)
		if (counts[i])
			marks[i] = dense[1 + (int)(sqrt((double)counts[i] /
							(double)most) *
						   8)];
	free(counts);
}

static void mark_holes(struct sonde_tui *tui, uint32_t cells, char *marks)
{
	const struct sonde_view_span whole = { 0, tui->length };
	struct sonde_view_hole hole;

	for (size_t i = 0; sonde_view_index_hole(tui->index, i, &hole); i++) {
		uint32_t first;
		uint32_t last;

		if (sonde_view_hole_pixels(&hole, &whole, cells, &first, &last))
			memset(marks + first, LOST_LETTER, last - first + 1);
	}
}

/* Where what is seen is in the whole. */
static void mark_place(const struct sonde_tui *tui, uint32_t cells, char *marks)
{
	const struct sonde_view_span whole = { 0, tui->length };
	int64_t first = sonde_view_pixel_of(&whole, tui->span.from, cells);
	int64_t last = sonde_view_pixel_of(&whole, tui->span.to - 1, cells);

	memset(marks, ' ', cells);
	for (int64_t i = first < 0 ? 0 : first; i <= last && i < cells; i++)
		marks[i] = '_';
}

/* A scale of what is seen, and the cursor. */
static void draw_scale(const struct sonde_tui *tui, uint32_t cells, char *marks,
		       FILE *to)
{
	char begin[32];

	for (uint32_t i = 0; i < cells; i++)
		marks[i] = i % 10 ? ' ' : '.';
	marks[sonde_view_pixel_of(&tui->span, tui->cursor, cells)] = '|';
	(void)snprintf(begin, sizeof(begin), "+%.9f",
		       (double)tui->span.from / 1e9);
	sonde_tui_put(to, begin, tui->label, true);
	(void)fwrite(marks, 1, cells, to);
	(void)fputc('\n', to);
}

static void draw_overview(struct sonde_tui *tui, FILE *to)
{
	uint32_t cells = sonde_tui_cells(tui);
	char *marks = calloc(cells, 1);

	if (!marks)
		return;
	count_cells(tui, cells, marks);
	mark_holes(tui, cells, marks);
	sonde_tui_put(to, "events", tui->label, true);
	(void)fwrite(marks, 1, cells, to);
	(void)fputc('\n', to);
	mark_place(tui, cells, marks);
	sonde_tui_put(to, "seen", tui->label, true);
	(void)fwrite(marks, 1, cells, to);
	(void)fputc('\n', to);
	draw_scale(tui, cells, marks, to);
	free(marks);
}

/* ---- rows ---- */

int sonde_tui_label(const struct sonde_tui *tui, uint32_t id, int room,
		    char to[SONDE_TUI_LABEL + 1])
{
	const struct sonde_view_row *row =
		&sonde_view_index_rows(tui->index)->rows[id];
	char number[16] = "";
	char name[96];
	int digits = 0;
	int dent = row->kind > SONDE_VIEW_ROW_LOCK ? 2 : 0;

	sonde_view_row_name(row, name, sizeof(name));
	if (row->kind == SONDE_VIEW_ROW_THREAD)
		digits = snprintf(number, sizeof(number), " %" PRId32,
				  row->number);
	return snprintf(to, SONDE_TUI_LABEL + 1, "%*s%.*s%s", dent, "",
			room - digits - dent, name, number);
}

/* As wide as the longest label wants, and three tenths of the screen at most. */
static void fit_labels(struct sonde_tui *tui)
{
	size_t most = tui->width * 3 / 10;
	char label[SONDE_TUI_LABEL + 1];

	tui->label = LABEL_LEAST;
	(void)sonde_view_index_lock(tui->index);
	for (size_t i = 0; i < tui->nr_ids; i++) {
		int width = sonde_tui_label(tui, tui->ids[i], SONDE_TUI_LABEL,
					    label) +
			    2;

		if ((size_t)width > tui->label)
			tui->label = (size_t)width;
	}
	sonde_view_index_unlock(tui->index);
	if (tui->label > most)
		tui->label = most > LABEL_LEAST ? most : LABEL_LEAST;
}

/* A counter's cells have a digit: the most that it was, of 9. */
static char letter_of_run(const struct sonde_view_run *run)
{
	if (run->state == SONDE_VIEW_LOST)
		return LOST_LETTER;
	return run->state == SONDE_VIEW_VALUE ?
		       (char)('0' + (run->share * 9 + 127) / 255) :
		       looks[run->state].letter;
}

/* Cells of what goes on have its name, as far as there is room. */
static void name_run(struct sonde_tui *tui, const struct sonde_view_run *run,
		     char *letters)
{
	const char *name =
		run->name && run->width >= NAMED_CELLS &&
				run->state != SONDE_VIEW_VALUE ?
			sonde_view_index_name(tui->index, run->name) :
			NULL;

	for (uint32_t i = 0; name && name[i] && i + 1 < run->width; i++)
		if (name[i] > ' ' && name[i] < 0x7f)
			letters[i] = name[i];
		else
			letters[i] = '?';
}

/* The nearest of a terminal's cube of 6 by 6 by 6 colours; of a run without one of
 * its own, its state's. */
static const char *colour_of_run(const struct sonde_tui *tui,
				 const struct sonde_view_run *run, char *text,
				 size_t size)
{
	uint32_t colour = sonde_view_index_colour(tui->index, run->name);
	unsigned int cube = 0;

	if (run->state == SONDE_VIEW_LOST)
		return LOST_COLOUR;
	if (!colour || run->state == SONDE_VIEW_VALUE)
		return looks[run->state].colour;
	for (int shift = 16; shift >= 0; shift -= 8)
		cube = cube * 6 + ((colour >> shift & 0xff) * 5 + 127) / 255;
	(void)snprintf(text, size, "38;5;%u", 16 + cube);
	return text;
}

static void draw_run(struct sonde_tui *tui, const struct sonde_view_run *run,
		     char *letters, FILE *to)
{
	char colour[16];

	memset(letters, letter_of_run(run), run->width);
	name_run(tui, run, letters);
	put_coloured(tui, to, colour_of_run(tui, run, colour, sizeof(colour)),
		     letters, run->width);
}

static void tui_draw_row(struct sonde_tui *tui, uint32_t id,
			 struct sonde_view_run *runs, char *letters, FILE *to)
{
	bool chosen = tui->chosen == (int64_t)id;
	uint32_t cells = sonde_tui_cells(tui);
	uint32_t nr =
		sonde_view_paint_row(tui->index, id, &tui->span, cells, runs);
	uint32_t x = 0;
	char label[SONDE_TUI_LABEL + 1];

	(void)sonde_tui_label(tui, id, (int)tui->label - 2, label);
	(void)fputc(chosen ? '>' : ' ', to);
	if (tui->colour && chosen && !tui->in_events)
		(void)fputs("\033[7m", to);
	sonde_tui_put(to, label, tui->label - 2, true);
	(void)fputs(tui->colour ? "\033[m " : " ", to);
	for (uint32_t i = 0; i < nr; x = runs[i].x + runs[i].width, i++) {
		(void)fprintf(to, "%*s", (int)(runs[i].x - x), "");
		draw_run(tui, &runs[i], letters, to);
	}
	(void)fputc('\n', to);
}

static void draw_rows(struct sonde_tui *tui, FILE *to)
{
	size_t lines = sonde_tui_row_lines(tui);
	uint32_t cells = sonde_tui_cells(tui);
	struct sonde_view_run *runs = calloc(cells, sizeof(*runs));
	char *letters = calloc(cells, 1);

	for (size_t i = 0; runs && letters && i < lines; i++) {
		if (tui->first + i < tui->nr_ids)
			tui_draw_row(tui, tui->ids[tui->first + i], runs,
				     letters, to);
		else
			(void)fputc('\n', to);
	}
	free(runs);
	free(letters);
}

static void draw_time_line(struct sonde_tui *tui, FILE *to)
{
	struct sonde_view_progress progress;

	if (tui->nr_ids) {
		(void)sonde_view_index_lock(tui->index);
		draw_rows(tui, to);
		sonde_view_index_unlock(tui->index);
		return;
	}
	sonde_view_index_progress(tui->index, &progress);
	tui_put_line(tui, to,
		     tui->rows[0]    ? "no row is called so" :
		     progress.why[0] ? progress.why :
		     progress.ready  ? "no rows" :
				       "rows are being made");
}

/* ---- events ---- */

static void draw_event(struct sonde_tui *tui, size_t i, size_t label, FILE *to)
{
	const struct sonde_tui_line *line = &tui->list.lines[i];
	char thread[64] = "";

	if (line->tid >= 0) {
		(void)sonde_view_index_lock(tui->index);
		(void)snprintf(thread, sizeof(thread), "%.9s %" PRId32,
			       sonde_view_thread_name(tui->index, line->tid),
			       line->tid);
		sonde_view_index_unlock(tui->index);
	}
	(void)fputc(i == 0 && tui->in_events ? '>' :
		    line->is_unordered       ? '?' :
					       ' ',
		    to);
	sonde_tui_put(to, thread, label, true);
	sonde_tui_put(to, line->text,
		      tui->width > label + 1 ? tui->width - label - 1 : 0,
		      false);
	(void)fputc('\n', to);
}

static void tui_draw_events(struct sonde_tui *tui, FILE *to)
{
	size_t lines = sonde_tui_event_lines(tui);
	size_t nr = tui->list.nr < lines ? tui->list.nr : lines;
	size_t label = 0;

	for (size_t i = 0; i < nr; i++)
		if (tui->list.lines[i].tid >= 0)
			label = THREAD_WIDTH;
	for (size_t i = 0; i < nr; i++)
		draw_event(tui, i, label, to);
	if (nr == lines)
		return;
	tui_put_line(tui, to,
		     tui->list.is_partial ?
			     " a key was pressed before more were found" :
			     " no more events");
	for (size_t i = nr + 1; i < lines; i++)
		(void)fputc('\n', to);
}

/* ---- all of it ---- */

static void draw_foot(struct sonde_tui *tui, FILE *to)
{
	static const char *const prompts[] = {
		[SONDE_TUI_FILTER] = "only events: ",
		[SONDE_TUI_FIND] = "find: ",
		[SONDE_TUI_ROWS] = "rows with: ",
	};
	char line[SONDE_TUI_PROMPT + 40];

	if (tui->typing) {
		(void)snprintf(line, sizeof(line), "%s%s_",
			       prompts[tui->typing], tui->typed);
		sonde_tui_put(to, line, tui->width, false);
		return;
	}
	sonde_tui_put(to,
		      tui->said[0] ?
			      tui->said :
			      "arrows  w s zoom  a d move  0 all  Tab  / "
			      "only  f find  e sums  ? help  q uit",
		      tui->width, false);
}

static void draw_detail(struct sonde_tui *tui, FILE *to)
{
	char line[512];

	if (tui->wrong_column)
		(void)snprintf(line, sizeof(line), "column %" PRIu32 ": %.400s",
			       tui->wrong_column, tui->said);
	else
		sonde_tui_detail(tui, line, sizeof(line));
	tui_put_line(tui, to, line);
}

static void draw_page(struct sonde_tui *tui, FILE *to)
{
	const char *line = tui->page;
	size_t lines = tui->height > 1 ? tui->height - 1 : 1;

	for (size_t i = 0; *line; i++) {
		size_t length = strcspn(line, "\n");

		if (i >= tui->page_first && i < tui->page_first + lines)
			(void)fprintf(to, "%.*s\n", (int)length, line);
		line += length + (line[length] == '\n');
	}
	sonde_tui_put(to, "up, down; any other key goes back", tui->width,
		      false);
}

void sonde_tui_draw(struct sonde_tui *tui, FILE *to)
{
	if (tui->page) {
		draw_page(tui, to);
		return;
	}
	fit_labels(tui);
	tui_draw_head(tui, to);
	draw_overview(tui, to);
	draw_time_line(tui, to);
	draw_detail(tui, to);
	tui_draw_events(tui, to);
	draw_foot(tui, to);
}
