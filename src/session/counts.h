/* SPDX-License-Identifier: MIT */
/*
 * counts.h - what processes have counted, added to a board (board.h).
 *
 * A look at a process reads the cells of its slot (ring/layout.h) and adds what
 * is new to the rows of its events. The looks' sum is what the cells have gained
 * since the slot was taken, whenever the looks are; the last one, when the
 * process has ended or its slot is stopped, makes it exact. A process may be
 * hostile: then its numbers are wrong, and no other's.
 *
 * A look costs what gains.h says. One thread.
 */
#ifndef SESSION_COUNTS_H
#define SESSION_COUNTS_H

#include "session/arena_source.h"
#include "session/board.h"

struct sonde_counts;

/* Of a source whose slot is configured, before it is started. Both are
 * borrowed. NULL: no memory. */
struct sonde_counts *sonde_counts_new(struct sonde_board *board,
				      struct sonde_arena_source *source);
void sonde_counts_look(struct sonde_counts *counts);

/* With a last look. NULL is fine. */
void sonde_counts_free(struct sonde_counts *counts);

#endif /* SESSION_COUNTS_H */
