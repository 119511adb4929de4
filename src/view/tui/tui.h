/* SPDX-License-Identifier: MIT */
/*
 * tui.h - a trace on a terminal: its time line in cells of text, the list of its
 * events, statistics; from the same index as pages in a browser.
 *
 * One thread, and the index's. What takes long (a filter that hardly anything
 * matches, statistics of a long span) gives up when a key is pressed.
 */
#ifndef VIEW_TUI_TUI_H
#define VIEW_TUI_TUI_H

#include <stdbool.h>

#include <sonde/trace.h>

#include "view/index/rules.h"
#include "view/live/screen.h"

struct sonde_tui_config {
	struct sonde_trace *trace;            /* borrowed */
	const char *name;                     /* of the trace */
	const struct sonde_view_rules *rules; /* NULL: none */
	struct sonde_screen *screen;          /* a terminal; borrowed */
	bool colour;
	bool (*is_stopped)(void); /* a signal says so */
};

/* Until q is pressed, or it is stopped. 0, -ENOMEM, -EINTR, or the errno of the
 * terminal. */
int sonde_tui_run(const struct sonde_tui_config *config);

#endif /* VIEW_TUI_TUI_H */
