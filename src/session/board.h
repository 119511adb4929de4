/* SPDX-License-Identifier: MIT */
/*
 * board.h - counts as they stand: memory that the recorder writes and the front end
 * reads at any time (recorder.h).
 *
 * Rows are added and never removed; what a row is about is written before the
 * row is one (`nr_rows`, release). Numbers only grow, each by one store. So the
 * front end reads without a lock, and what a recorder that was killed has written
 * stays. Both are one program: there is no format to keep.
 *
 * It is address space: rows that aren't used have no memory.
 */
#ifndef SESSION_BOARD_H
#define SESSION_BOARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bins.h"
#include "ring/layout.h"

#define SONDE_BOARD_ROWS   32768u
#define SONDE_BOARD_NAME   512u
#define SONDE_BOARD_PLACES (2u * SONDE_BOARD_ROWS)
/* With a value. */
#define SONDE_BOARD_VALUES 4096u

struct sonde_board_row {
	char event[SONDE_BOARD_NAME]; /* provider:event, any text */
	char process[32];             /* as it calls itself, or "" */
	pid_t pid;                    /* 0: of all processes */
	uint64_t keys[SONDE_TALLY_KEYS];
	uint64_t count;
	/* Of values, as a cell has them (ring/layout.h). */
	uint64_t sum, greatest, least;
};

struct sonde_board {
	/* The front end's, before the recorder is there. */
	bool by_process; /* a row for each program */
	bool has_value;  /* rows have values */
	uint32_t nr_keys;
	uint64_t interval_ns; /* between two looks, at most */
	/* The recorder's; CLOCK_MONOTONIC. */
	uint64_t began_ns, read_ns;
	uint64_t uncounted; /* events of processes that can't map the cells */
	uint64_t untold;    /* events for which there was no row */
	uint64_t keyless;   /* events for whose keys there was no cell */
	uint64_t valueless; /* events that lack the value or a key */
	bool is_signed[SONDE_TALLY_KEYS];    /* the keys */
	uint32_t places[SONDE_BOARD_PLACES]; /* board.c's: a row's number + 1 */
	uint32_t nr_rows;
	struct sonde_board_row rows[SONDE_BOARD_ROWS];
	/* By row: values from 0 on, and below. */
	uint64_t bins[SONDE_BOARD_VALUES][2 * SONDE_BINS_HALF];
};

/* Shared with children of fork. NULL: no memory. */
struct sonde_board *sonde_board_new(void);

struct sonde_arena_source;

/* The row for an entry of the source, and its keys if there are any (or NULL); of
 * its process if the board is by_process; a new one if there is none. NULL: its
 * description isn't there yet, or the board is full. */
struct sonde_board_row *sonde_board_row_of(struct sonde_board *board,
					   struct sonde_arena_source *source,
					   uint32_t index,
					   const uint64_t *keys);

#endif /* SESSION_BOARD_H */
