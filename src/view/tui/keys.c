/* SPDX-License-Identifier: MIT */
/*
 * keys.c - what keys do: move the cursor, the span and the chosen row, and take what
 * is typed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view/index/explain.h"
#include "view/tui/parts.h"

#define BACKSPACE 127
#define ERASE_ALL 21 /* Ctrl-U */
#define ESCAPE    27

static void tui_say(struct sonde_tui *tui, const char *words)
{
	(void)snprintf(tui->said, sizeof(tui->said), "%s", words);
}

/* ---- time ---- */

/* The span stays as long as it is, within the trace. */
static void place_span(struct sonde_tui *tui, int64_t from, int64_t length)
{
	if (length > tui->length)
		length = tui->length;
	if (length < 1)
		length = 1;
	if (from > tui->length - length)
		from = tui->length - length;
	if (from < 0)
		from = 0;
	tui->span = (struct sonde_view_span){ from, from + length };
}

/* The cursor alone. */
static void place_cursor(struct sonde_tui *tui, int64_t time)
{
	if (time >= tui->length)
		time = tui->length - 1;
	if (time < 0)
		time = 0;
	tui->cursor = time;
	if (time < tui->span.from || time >= tui->span.to)
		place_span(tui, time - (tui->span.to - tui->span.from) / 2,
			   tui->span.to - tui->span.from);
}

static void go_to(struct sonde_tui *tui, int64_t time)
{
	place_cursor(tui, time);
	sonde_tui_list_go(&tui->list, tui->begin_ns + tui->cursor);
}

/* To the event that the list begins with. */
static void follow_list(struct sonde_tui *tui)
{
	place_cursor(tui, tui->list.at.time - tui->begin_ns);
}

/* The cursor stays where it is on the screen. */
static void zoom(struct sonde_tui *tui, bool in)
{
	int64_t before = tui->span.to - tui->span.from;
	int64_t length = in ? before / 2 : before;
	double share = (double)(tui->cursor - tui->span.from) / (double)before;

	if (!in)
		length = before > tui->length / 2 ? tui->length : before * 2;
	place_span(tui, tui->cursor - (int64_t)(share * (double)length),
		   length);
}

static void move_span(struct sonde_tui *tui, int direction)
{
	int64_t by = (tui->span.to - tui->span.from + 1) / 2 * direction;
	int64_t from = tui->span.from;

	place_span(tui, from + by, tui->span.to - from);
	go_to(tui, tui->cursor + tui->span.from - from);
}

static void move_cursor(struct sonde_tui *tui, int direction)
{
	uint32_t cells = sonde_tui_cells(tui);
	int64_t cell = (tui->span.to - tui->span.from + cells - 1) / cells;

	go_to(tui, tui->cursor + cell * direction);
}

/* ---- rows and events ---- */

static size_t chosen_at(const struct sonde_tui *tui)
{
	for (size_t i = 0; i < tui->nr_ids; i++)
		if ((int64_t)tui->ids[i] == tui->chosen)
			return i;
	return 0;
}

static void choose_row(struct sonde_tui *tui, int64_t at)
{
	size_t lines = sonde_tui_row_lines(tui);

	if (!tui->nr_ids)
		return;
	if (at >= (int64_t)tui->nr_ids)
		at = (int64_t)tui->nr_ids - 1;
	if (at < 0)
		at = 0;
	tui->chosen = tui->ids[at];
	if ((size_t)at < tui->first)
		tui->first = (size_t)at;
	if ((size_t)at >= tui->first + lines)
		tui->first = (size_t)at + 1 - lines;
}

static int move_down(struct sonde_tui *tui, int by)
{
	int err;

	if (!tui->in_events && tui->nr_ids) {
		choose_row(tui, (int64_t)chosen_at(tui) + by);
		return 0;
	}
	err = sonde_tui_list_move(&tui->list, by);
	if (!err)
		follow_list(tui);
	return err;
}

static int lines_of_page(const struct sonde_tui *tui)
{
	size_t lines = tui->in_events || !tui->nr_ids ?
			       sonde_tui_event_lines(tui) :
			       sonde_tui_row_lines(tui);

	return lines > 1 ? (int)lines - 1 : 1;
}

static int tui_find(struct sonde_tui *tui, bool backward)
{
	int got;

	if (!tui->find[0]) {
		tui_say(tui, "f, and what to find, comes first");
		return 0;
	}
	got = sonde_tui_list_find(&tui->list, backward);
	if (got < 0 && got != -EAGAIN)
		return got;
	if (got)
		follow_list(tui);
	if (got == -EAGAIN)
		tui_say(tui,
			"a key was pressed before one was found; n goes on");
	else if (!got)
		tui_say(tui, backward ? "there is none before" :
					"there is none behind");
	return 0;
}

static void go_to_waker(struct sonde_tui *tui)
{
	struct sonde_view_piece piece;
	const struct sonde_view_rows *rows;
	int64_t waker = -1;
	int64_t time;

	rows = sonde_view_index_lock(tui->index);
	if (tui->chosen >= 0 && sonde_view_rows_at(rows, (uint32_t)tui->chosen,
						   tui->cursor, &piece))
		waker = sonde_view_waker(tui->index, (uint32_t)tui->chosen,
					 &piece, &time);
	sonde_view_index_unlock(tui->index);
	if (waker < 0) {
		tui_say(tui, "it is not known who woke it");
		return;
	}
	tui->chosen = waker;
	choose_row(tui, (int64_t)chosen_at(tui));
	go_to(tui, time);
}

static int change_times(struct sonde_tui *tui)
{
	tui->times = tui->times == SONDE_STAMP_RELATIVE ? SONDE_STAMP_LOCAL :
							  SONDE_STAMP_RELATIVE;
	return sonde_tui_list_times(&tui->list, tui->times);
}

/* ---- typing ---- */

static char *typed_into(struct sonde_tui *tui)
{
	return tui->typing == SONDE_TUI_FILTER ? tui->filter :
	       tui->typing == SONDE_TUI_FIND   ? tui->find :
						 tui->rows;
}

static void begin_typing(struct sonde_tui *tui, enum sonde_tui_typing typing)
{
	tui->typing = typing;
	memcpy(tui->typed, typed_into(tui), sizeof(tui->typed));
}

/* What was typed; what is wrong stays there, to be put right. */
static int take_typed(struct sonde_tui *tui)
{
	struct sonde_trace_error error = { .column = 0 };
	bool find_it = tui->typing == SONDE_TUI_FIND;
	int err = 0;

	if (tui->typing != SONDE_TUI_ROWS)
		err = sonde_tui_list_filter(&tui->list, find_it, tui->typed,
					    &error);
	if (err == -EINVAL) {
		tui_say(tui, error.text);
		tui->wrong_column = error.column ? error.column : 1;
		return 0;
	}
	if (err)
		return err;
	memcpy(typed_into(tui), tui->typed, sizeof(tui->typed));
	if (tui->typing == SONDE_TUI_ROWS)
		tui->first = 0;
	tui->typing = SONDE_TUI_NOTHING;
	return find_it && tui->find[0] ? tui_find(tui, false) : 0;
}

static int tui_type_key(struct sonde_tui *tui, int key)
{
	size_t length = strlen(tui->typed);

	tui->wrong_column = 0;
	tui->said[0] = 0;
	if (key == ESCAPE)
		tui->typing = SONDE_TUI_NOTHING;
	else if (key == '\n' || key == '\r')
		return take_typed(tui);
	else if (key == ERASE_ALL)
		tui->typed[0] = 0;
	else if ((key == BACKSPACE || key == '\b') && length)
		tui->typed[length - 1] = 0;
	else if (key >= ' ' && key < BACKSPACE &&
		 length + 1 < sizeof(tui->typed)) {
		tui->typed[length] = (char)key;
		tui->typed[length + 1] = 0;
	}
	return 0;
}

/* ---- pages ---- */

static const char help[] =
	"left, right    move the cursor by a cell\n"
	"w, s           zoom in, out about the cursor; 0 the whole trace\n"
	"a, d           earlier, later; Home, End: the trace's begin, end\n"
	"up, down       choose a row, or go through the events: Tab changes that\n"
	"               (also Page Up and Page Down)\n"
	"/              show only events for which an expression is true\n"
	"f              find an event for which one is; n, p the next, previous\n"
	"r              show only rows that are called so, or have that number\n"
	"j              go to who woke the chosen row\n"
	"Esc, Ctrl-U    while typing: leave it as it was, erase all\n"
	"t              times since the trace's begin, or of the clock\n"
	"e              statistics of what is seen\n"
	"q, Ctrl-C      end\n"
	"\n"
	"What a row did most of in a cell:\n"
	"  # running    w waiting for a CPU   p preempted\n"
	"  - blocked    l by a lock           f by a file    . idle\n"
	"  I interrupt  S soft interrupt      = within a function, a request\n"
	"  h lock held  C held and waited for\n"
	"  0 to 9       a counter's most, from the low end of its scale to the high\n"
	"  ! events were lost: nobody knows\n";

static void show_help(struct sonde_tui *tui)
{
	tui->page = strdup(help);
	tui->page_first = 0;
}

static size_t page_lines(const struct sonde_tui *tui)
{
	size_t nr = 0;

	for (const char *at = tui->page; (at = strchr(at, '\n')); at++)
		nr++;
	return nr;
}

static void turn_page(struct sonde_tui *tui, int key)
{
	size_t shown = tui->height > 1 ? tui->height - 1 : 1;
	size_t nr = page_lines(tui);
	size_t last = nr > shown ? nr - shown : 0;
	size_t by = key == SONDE_KEY_PRESS_PAGE_UP ||
				    key == SONDE_KEY_PRESS_PAGE_DOWN ?
			    shown :
			    1;

	if (key == SONDE_KEY_PRESS_DOWN || key == SONDE_KEY_PRESS_PAGE_DOWN)
		tui->page_first += by;
	else if (key == SONDE_KEY_PRESS_UP || key == SONDE_KEY_PRESS_PAGE_UP)
		tui->page_first =
			tui->page_first > by ? tui->page_first - by : 0;
	else {
		free(tui->page);
		tui->page = NULL;
	}
	if (tui->page_first > last)
		tui->page_first = last;
}

/* ---- which key ---- */

static int obey_move(struct sonde_tui *tui, int key)
{
	switch (key) {
	case SONDE_KEY_PRESS_LEFT:
		move_cursor(tui, -1);
		return 0;
	case SONDE_KEY_PRESS_RIGHT:
		move_cursor(tui, 1);
		return 0;
	case SONDE_KEY_PRESS_UP:
		return move_down(tui, -1);
	case SONDE_KEY_PRESS_DOWN:
		return move_down(tui, 1);
	case SONDE_KEY_PRESS_PAGE_UP:
		return move_down(tui, -lines_of_page(tui));
	case SONDE_KEY_PRESS_PAGE_DOWN:
		return move_down(tui, lines_of_page(tui));
	case SONDE_KEY_PRESS_HOME:
		go_to(tui, 0);
		return 0;
	case SONDE_KEY_PRESS_END:
		go_to(tui, tui->length - 1);
		return 0;
	default:
		return 0;
	}
}

static void obey_view(struct sonde_tui *tui, int key)
{
	switch (key) {
	case 'w':
	case 's':
		zoom(tui, key == 'w');
		break;
	case 'a':
	case 'd':
		move_span(tui, key == 'a' ? -1 : 1);
		break;
	case '0':
		place_span(tui, 0, tui->length);
		break;
	case '\t':
		tui->in_events = !tui->in_events;
		break;
	case 'j':
		go_to_waker(tui);
		break;
	case 'q':
		tui->ended = true;
		break;
	case '?':
		show_help(tui);
		break;
	default:
		break;
	}
}

static int obey_search(struct sonde_tui *tui, int key)
{
	switch (key) {
	case '/':
		begin_typing(tui, SONDE_TUI_FILTER);
		return 0;
	case 'f':
		begin_typing(tui, SONDE_TUI_FIND);
		return 0;
	case 'r':
		begin_typing(tui, SONDE_TUI_ROWS);
		return 0;
	case 'n':
	case 'p':
		return tui_find(tui, key == 'p');
	case 't':
		return change_times(tui);
	case 'e':
		return sonde_tui_statistics(tui);
	default:
		return 0;
	}
}

int sonde_tui_key(struct sonde_tui *tui, int key)
{
	int err;

	if (tui->page) {
		turn_page(tui, key);
		return 0;
	}
	if (tui->typing)
		return tui_type_key(tui, key);
	tui->said[0] = 0;
	err = obey_move(tui, key);
	if (!err)
		err = obey_search(tui, key);
	if (!err)
		obey_view(tui, key);
	return err;
}
