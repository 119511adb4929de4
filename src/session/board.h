/* SPDX-License-Identifier: MIT */
/*
 * board.h - counts as they stand: memory that the recorder writes and the front
 * reads at any time (recorder.h).
 *
 * Rows are added and never removed; what a row is about is written before the
 * row is one (`nr_rows`, release). Numbers only grow, each by one store. So the
 * front reads without a lock, and what a recorder that was killed has written
 * stays. Both are one program: there is no format to keep.
 *
 * It is address space: rows that aren't used have no memory.
 */
#ifndef SESSION_BOARD_H
#define SESSION_BOARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SONDE_BOARD_ROWS 32768u
#define SONDE_BOARD_NAME 512u

struct sonde_board_row {
	char event[SONDE_BOARD_NAME]; /* provider:event, any text */
	char process[32];             /* as it calls itself, or "" */
	pid_t pid;                    /* 0: of all processes */
	uint64_t count;
};

struct sonde_board {
	/* The front's, before the recorder is there. */
	bool by_process;      /* a row for each program */
	uint64_t interval_ns; /* between two looks, at most */
	/* The recorder's; CLOCK_MONOTONIC. */
	uint64_t began_ns, read_ns;
	uint64_t uncounted; /* events of processes that can't map the cells */
	uint64_t untold;    /* events for which there was no row */
	uint32_t nr_rows;
	struct sonde_board_row rows[SONDE_BOARD_ROWS];
};

/* Shared with children of fork. NULL: no memory. */
struct sonde_board *sonde_board_new(void);
void sonde_board_free(struct sonde_board *board);

/* The row of that event, and of that process if the board is by_process; a new
 * one if there is none. NULL: it is full. */
struct sonde_board_row *sonde_board_row(struct sonde_board *board,
					const char *event, pid_t pid,
					const char *process);

#endif /* SESSION_BOARD_H */
