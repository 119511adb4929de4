/* SPDX-License-Identifier: MIT */
/*
 * pairs.h - the options --begin, --end and --name, which say what begins and
 * ends; of `sonde flame` and `sonde export`.
 */
#ifndef CMD_PAIRS_H
#define CMD_PAIRS_H

#include "cmd/read.h"
#include "view/export/pairs.h"

enum sonde_pairs_option {
	SONDE_OPTION_BEGIN = 1001,
	SONDE_OPTION_END,
	SONDE_OPTION_NAME,
	SONDE_OPTION_OTHERS, /* the commands' own options begin here */
};

/* clang-format off */
#define SONDE_PAIRS_OPTIONS                                          \
	{ "begin", required_argument, NULL, SONDE_OPTION_BEGIN },    \
	{ "end", required_argument, NULL, SONDE_OPTION_END },        \
	{ "name", required_argument, NULL, SONDE_OPTION_NAME }
/* clang-format on */

#define SONDE_PAIRS_HELP                                                      \
	"What begins and ends (default: pairs that tracers are known to\n"    \
	"write: functions, system calls, interrupts, X_begin and X_end)\n"    \
	"      --begin EXPR     events for which EXPR is true begin a span\n" \
	"      --end EXPR       and these end the last one of their thread\n" \
	"      --name EXPR      what the span is called (default: the\n"      \
	"                       event's name)\n"

struct sonde_pairs_words {
	const char *begin, *end, *name;
};

/* Whether the option is one of these; its word is taken. */
bool sonde_pairs_option(struct sonde_pairs_words *words, int option);

/* Whether they go together: 0, or an exit status after saying why not. */
int sonde_pairs_check(const struct sonde_pairs_words *words);

/* After sonde_read_open(): 0, or an exit status of which all has been said. The
 * filters are for sonde_pairs_config_done(), also then. */
int sonde_pairs_config(struct sonde_read *read,
		       const struct sonde_pairs_words *words,
		       struct sonde_pairs_config *ret_config);
void sonde_pairs_config_done(struct sonde_pairs_config *config);

#endif /* CMD_PAIRS_H */
