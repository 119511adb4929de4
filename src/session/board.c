/* SPDX-License-Identifier: MIT */
/*
 * board.c - see board.h: anonymous shared memory, and a row for each name.
 *
 * A row is looked for among all; that is done once for each event of a program.
 */
#include "session/board.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/port.h"

struct sonde_board *sonde_board_new(void)
{
	void *board =
		mmap(NULL, sizeof(struct sonde_board), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return board == MAP_FAILED ? NULL : board;
}

void sonde_board_free(struct sonde_board *board)
{
	if (board)
		(void)munmap(board, sizeof(*board));
}

struct sonde_board_row *sonde_board_row(struct sonde_board *board,
					const char *event, pid_t pid,
					const char *process)
{
	struct sonde_board_row *row = board->rows;
	uint32_t nr = board->nr_rows;

	if (!board->by_process)
		pid = 0;
	for (; row < board->rows + nr; row++)
		if (row->pid == pid && !strcmp(row->event, event))
			return row;
	if (nr == SONDE_BOARD_ROWS)
		return NULL;
	(void)snprintf(row->event, sizeof(row->event), "%s", event);
	(void)snprintf(row->process, sizeof(row->process), "%s",
		       pid ? process : "");
	row->pid = pid;
	/* Pairs with sonde_load_acquire in collect: all of the row is
	 * there. */
	sonde_store_release(&board->nr_rows, nr + 1);
	return row;
}
