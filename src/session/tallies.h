/* SPDX-License-Identifier: MIT */
/*
 * tallies.h - what a process has tallied (ring/layout.h), added to a board as
 * counts.h does with counts.
 *
 * Cost of a look: a read of the directory, and for each of its keys one of its
 * cell in each row. One thread.
 */
#ifndef SESSION_TALLIES_H
#define SESSION_TALLIES_H

#include "session/arena_source.h"
#include "session/board.h"

struct sonde_tallies;

/* Of a slot that no other recorder ever had. Both are borrowed. NULL: no
 * memory. */
struct sonde_tallies *sonde_tallies_new(struct sonde_board *board,
					struct sonde_arena_source *source);
void sonde_tallies_look(struct sonde_tallies *tallies);

/* Without another look. NULL is fine. */
void sonde_tallies_free(struct sonde_tallies *tallies);

#endif /* SESSION_TALLIES_H */
