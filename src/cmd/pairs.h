/* SPDX-License-Identifier: MIT */
/*
 * pairs.h - the options --begin, --end and --name, which say what begins and
 * ends; of `sonde flame` and `sonde export`.
 */
#ifndef CMD_PAIRS_H
#define CMD_PAIRS_H

#include "cmd/read.h"
#include "view/export/pairs.h"

enum {
	SONDE_PAIRS_BEGIN,
	SONDE_PAIRS_END,
	SONDE_PAIRS_NAME,
	SONDE_PAIRS_NR,
};

struct sonde_pairs_words {
	struct sonde_read_expression list[SONDE_PAIRS_NR];
};

/* clang-format off */
/* TO_PAIRS: the option goes to this member of struct sonde_pairs_words. */
#define SONDE_PAIRS_OPTIONS(TO_PAIRS)                                        \
	{ .help = "What begins and ends (default: pairs that tracers are known " \
		  "to\nwrite: functions, system calls, interrupts, X_begin " \
		  "and X_end)" },                                            \
	{ "begin", 0, "EXPR", NULL, TO_PAIRS(list[SONDE_PAIRS_BEGIN].text),  \
	  "events for which EXPR is true begin a span" },                    \
	{ "end", 0, "EXPR", NULL, TO_PAIRS(list[SONDE_PAIRS_END].text),      \
	  "and these end the last one of their thread" },                    \
	{ "name", 0, "EXPR", NULL, TO_PAIRS(list[SONDE_PAIRS_NAME].text),    \
	  "what the span is called (default: the event's name)" }
/* clang-format on */

/* Whether they go together: 0, or an exit status after saying why not. */
int sonde_pairs_check(const struct sonde_pairs_words *words);

/* After sonde_read_open(): 0, or an exit status of which all has been said. The
 * filters are for sonde_pairs_config_done(), also then. */
int sonde_pairs_config(struct sonde_read *read,
		       const struct sonde_pairs_words *words,
		       struct sonde_pairs_config *ret_config);
void sonde_pairs_config_done(struct sonde_pairs_config *config);

#endif /* CMD_PAIRS_H */
