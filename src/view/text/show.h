/* SPDX-License-Identifier: MIT */
/*
 * show.h - reports on a terminal, in a file, as JSON.
 *
 * The units of text and how they are written are here and nowhere else.
 */
#ifndef VIEW_TEXT_SHOW_H
#define VIEW_TEXT_SHOW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/report_wire.h"

struct sonde_show {
	bool json;
	bool colour;
	bool ascii; /* no blocks in bars, no other character beyond ASCII */
	unsigned int width; /* columns; 0: as wide as it takes */
};

/* Colour if `to` is a terminal and neither NO_COLOR nor TERM=dumb says
 * otherwise; the terminal's width; ASCII unless the locale is UTF-8. */
void sonde_show_init(struct sonde_show *show, FILE *to);

/* 0 or the negative errno of writing. */
int sonde_show_report(const struct sonde_show *show,
		      const struct sonde_report *report, FILE *to);

/* The same report about each of several machines. */
int sonde_show_machines(const struct sonde_show *show,
			const struct sonde_report_item *machines, size_t nr,
			FILE *to);

/* One cell as text, e.g. "1.25 ms"; what snprintf() would return. */
int sonde_show_cell(enum sonde_cell cell, const struct sonde_cell_value *value,
		    char *to, size_t size);

/* Text from a trace, safe for a terminal: control characters, escape sequences
 * and invalid UTF-8 are shown as escapes, e.g. \x1b. */
size_t sonde_show_safe(char *to, size_t size, const char *text, size_t length);

#endif /* VIEW_TEXT_SHOW_H */
