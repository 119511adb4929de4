/* SPDX-License-Identifier: MIT */
/*
 * board.c - see board.h: anonymous shared memory, and a row for each name.
 *
 * Rows are found by a table of places, by hash; once for each event or key of a
 * program.
 */
#include "session/board.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/port.h"
#include "session/arena_source.h"
#include "types/desc.h"

struct sonde_board *sonde_board_new(void)
{
	void *board =
		mmap(NULL, sizeof(struct sonde_board), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return board == MAP_FAILED ? NULL : board;
}

static bool is_row(const struct sonde_board_row *row,
		   const struct sonde_board_row *wanted, pid_t pid)
{
	return row->pid == pid && row->keys[0] == wanted->keys[0] &&
	       row->keys[1] == wanted->keys[1] &&
	       !strcmp(row->event, wanted->event);
}

static uint32_t hash_row(const struct sonde_board_row *row, pid_t pid)
{
	uint64_t hash = (uint64_t)pid;

	for (const char *p = row->event; *p; p++)
		hash = (hash ^ (unsigned char)*p) * 1099511628211u;
	for (uint32_t i = 0; i < SONDE_TALLY_KEYS; i++) {
		hash = (hash ^ row->keys[i]) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 32;
	}
	return (uint32_t)hash;
}

/* NULL: it is full. */
static struct sonde_board_row *find_or_add(struct sonde_board *board,
					   const struct sonde_board_row *wanted)
{
	uint32_t nr = board->nr_rows;
	pid_t pid = board->by_process ? wanted->pid : 0;
	uint32_t place = hash_row(wanted, pid) % SONDE_BOARD_PLACES;
	struct sonde_board_row *row;

	/* There are more places than rows: one is empty. */
	for (; board->places[place]; place = (place + 1) % SONDE_BOARD_PLACES) {
		row = &board->rows[board->places[place] - 1];
		if (is_row(row, wanted, pid))
			return row;
	}
	if (nr == (board->has_value ? SONDE_BOARD_VALUES : SONDE_BOARD_ROWS))
		return NULL;
	row = &board->rows[nr];
	*row = *wanted;
	row->pid = pid;
	if (!pid)
		row->process[0] = '\0';
	board->places[place] = nr + 1;
	/* Pairs with sonde_load_acquire in collect: all of the row is there. */
	sonde_store_release(&board->nr_rows, nr + 1);
	return row;
}

struct sonde_board_row *sonde_board_row_of(struct sonde_board *board,
					   struct sonde_arena_source *source,
					   uint32_t index, const uint64_t *keys)
{
	struct sonde_board_row wanted = { .pid = sonde_arena_source_pid(
						  source) };
	const struct sonde_desc *desc;
	uint64_t room[SONDE_DESC_MAX / 8];

	if (sonde_arena_copy_desc(sonde_arena_source_view(source), index, room,
				  &desc))
		return NULL;
	(void)snprintf(wanted.event, sizeof(wanted.event), "%s:%s",
		       sonde_desc_provider(desc), sonde_desc_name(desc));
	(void)snprintf(wanted.process, sizeof(wanted.process), "%s",
		       sonde_arena_source_name(source));
	if (keys)
		memcpy(wanted.keys, keys, sizeof(wanted.keys));
	return find_or_add(board, &wanted);
}
