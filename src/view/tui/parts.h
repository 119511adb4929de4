/* SPDX-License-Identifier: MIT */
/*
 * parts.h - what the files of tui.h share: what is shown, and from where to where.
 *
 * There is one cursor, an instant: rows say what they did then, and the list of
 * events begins there. `span` is what the time line shows; the cursor is in it.
 * Times are since the trace's begin.
 */
#ifndef VIEW_TUI_PARTS_H
#define VIEW_TUI_PARTS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "view/index/list.h"
#include "view/index/paint.h"
#include "view/tui/list.h"
#include "view/tui/tui.h"

#define SONDE_TUI_PROMPT 200

enum sonde_tui_typing {
	SONDE_TUI_NOTHING, /* keys are commands */
	SONDE_TUI_FILTER,
	SONDE_TUI_FIND,
	SONDE_TUI_ROWS,
};

struct sonde_tui {
	const struct sonde_tui_config *config;
	struct sonde_view_index *index;
	int64_t begin_ns, length;
	bool colour;
	size_t width, height;
	size_t label; /* columns before the cells of rows */
	/* the time line */
	struct sonde_view_span span;
	int64_t cursor;
	uint32_t *ids; /* of rows that are shown, in their order */
	size_t nr_ids, ids_room, first;
	int64_t chosen; /* a row; -1: the first */
	bool in_events; /* up and down go through events, not rows */
	char rows[SONDE_TUI_PROMPT]; /* which rows */
	/* events */
	struct sonde_tui_list list;
	enum sonde_stamp_form times;
	char filter[SONDE_TUI_PROMPT], find[SONDE_TUI_PROMPT];
	/* what is typed, and what is said */
	enum sonde_tui_typing typing;
	char typed[SONDE_TUI_PROMPT];
	uint32_t wrong_column; /* of what is typed, from 1; 0: none */
	char said[512];
	/* text instead of all that; for free(); NULL: none */
	char *page;
	size_t page_first;
	bool ended;
};

/* How many lines rows and events have. */
size_t sonde_tui_row_lines(const struct sonde_tui *tui);
size_t sonde_tui_event_lines(const struct sonde_tui *tui);
/* Cells of a row. */
uint32_t sonde_tui_cells(const struct sonde_tui *tui);

/* A row's name, as wide as `room` at most: a thread's number is never cut, its name is.
 * Returns how wide that is. While the index is locked. */
#define SONDE_TUI_LABEL 40
int sonde_tui_label(const struct sonde_tui *tui, uint32_t id, int room,
		    char to[SONDE_TUI_LABEL + 1]);

/* draw.c: all of the screen. */
void sonde_tui_draw(struct sonde_tui *tui, FILE *to);
/* Text of a trace or of ours, as wide as that; blanks behind it if `pad`. */
void sonde_tui_put(FILE *to, const char *text, size_t width, bool pad);
/* detail.c: what the chosen row did at the cursor, a line. */
void sonde_tui_detail(struct sonde_tui *tui, char *to, size_t size);
void sonde_tui_duration(int64_t ns, char *to, size_t size);

/* keys.c: what a key does. 0 or a negative errno. */
int sonde_tui_key(struct sonde_tui *tui, int key);

/* statistics.c: of the span that is seen, as the page. 0 or a negative errno. */
int sonde_tui_statistics(struct sonde_tui *tui);

/* Whether a key waits, or a signal: who works gives up. */
bool sonde_tui_is_enough(void *ctx);

#endif /* VIEW_TUI_PARTS_H */
