/* SPDX-License-Identifier: MIT */
/*
 * cell_text.h - values in the sentences of a report: "1.25 ms", "1,234".
 *
 * The texts live in a small ring, so at most SONDE_CELL_TEXTS of them can be used
 * in one sentence.
 */
#ifndef ANALYSIS_REPORTS_CELL_TEXT_H
#define ANALYSIS_REPORTS_CELL_TEXT_H

#include <stdint.h>

#include "analysis/analysis.h"

#define SONDE_CELL_TEXTS 16

struct sonde_cell_text {
	const struct sonde_analysis_args *args; /* who knows how to show */
	unsigned int next;
	char text[SONDE_CELL_TEXTS][64];
};

/* COUNT, HEX; INT, BYTES, DURATION, TIME. */
const char *sonde_cell_text_int(struct sonde_cell_text *words,
				enum sonde_cell cell, int64_t value);
/* RATE, PERCENT, NUMBER. */
const char *sonde_cell_text_double(struct sonde_cell_text *words,
				   enum sonde_cell cell, double value);
/* "1 event", "1,234 events": the noun gets an s unless there is one. */
const char *sonde_cell_text_count(struct sonde_cell_text *words, uint64_t count,
				  const char *noun);

#endif /* ANALYSIS_REPORTS_CELL_TEXT_H */
