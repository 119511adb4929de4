/* SPDX-License-Identifier: MIT */
/*
 * count.h - what `sonde count` and `sonde hist` share: all but how their words
 * begin.
 */
#ifndef CMD_COUNT_H
#define CMD_COUNT_H

#include <stdio.h>

#include "session/board.h"
#include "session/options.h"

/* From words to an exit status. */
int sonde_command_count_run(const struct sonde_command *command, int argc,
			    char **argv);

/* ---- count_table.c ---- */

/* What was drawn last. */
struct sonde_command_drawn {
	uint64_t ns;
	uint64_t counts[SONDE_BOARD_ROWS]; /* by row */
};

/* Draws the board; while it counts, rates are those since `drawn`, and at the end
 * those of all the time. 0 or -errno. */
int sonde_command_count_draw(const struct sonde_board *board,
			     const struct sonde_record_options *options,
			     struct sonde_command_drawn *drawn, bool is_last,
			     FILE *out);

#endif /* CMD_COUNT_H */
