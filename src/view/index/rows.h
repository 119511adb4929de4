/* SPDX-License-Identifier: MIT */
/*
 * rows.h - what each row (a CPU, a thread) was doing when: states in the order
 * of time, of which a sum over any span costs the same.
 *
 * A row's states are told one after the other, as they end. They go into
 * *chunks* of SONDE_VIEW_CHUNK states; a full one is written to a file, and
 * read from there through a mapping, so memory holds an open chunk and a
 * directory (16 bytes for each full chunk) per row. A chunk has, for each
 * *group* of states, the time that the row has spent in each state up to the
 * group's begin. So the sums over a span are the difference of two of these,
 * and of a few states beside them: exact, at any zoom, by two searches.
 *
 *	invariants of a row
 *	1. states begin in the order of time, and one ends where the next begins
 *	   (the last one at `end`): what is not known is a state as well
 *	2. neighbours differ, in the state or in what goes with it
 *	3. the sums up to a time add up to that time less the row's begin
 *
 * (A pyramid of ever coarser cells, as usual for this, gives sums over its
 * cells; a span that doesn't begin and end at cells' edges is put together of
 * some on each level. Running sums give the same in less, decision 19.)
 *
 * The caller sees to it that nothing is added while anything is asked. Times are
 * since the trace's begin, at most 2^55.
 */
#ifndef VIEW_INDEX_ROWS_H
#define VIEW_INDEX_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view/index/states.h"

#define SONDE_VIEW_CHUNK    128u
#define SONDE_VIEW_GROUP    32u
#define SONDE_VIEW_ROWS     32768u
#define SONDE_VIEW_TIME_MAX (((int64_t)1 << 55) - 1)

enum sonde_view_row_kind {
	SONDE_VIEW_ROW_CPU,
	SONDE_VIEW_ROW_IRQS,     /* of a CPU */
	SONDE_VIEW_ROW_SOFTIRQS, /* of a CPU */
	SONDE_VIEW_ROW_THREAD,
};

struct sonde_view_chunk {
	uint32_t nr, row;
	uint64_t sums[SONDE_VIEW_CHUNK / SONDE_VIEW_GROUP][SONDE_VIEW_STATES];
	uint64_t begins[SONDE_VIEW_CHUNK]; /* time | state << 56 */
	uint32_t about[SONDE_VIEW_CHUNK];
};

struct sonde_view_chunk_place {
	int64_t begin; /* of its first state */
	uint64_t offset;
};

struct sonde_view_row {
	enum sonde_view_row_kind kind;
	int32_t number; /* the CPU, the thread */
	int32_t pid;    /* of a thread; -1 unknown */
	char name[48];
	int64_t begin, end;               /* of all its states; equal: none */
	uint64_t sums[SONDE_VIEW_STATES]; /* up to `end` */
	/* ---- private ---- */
	struct sonde_view_chunk_place *chunks; /* full ones */
	size_t nr_chunks, chunks_capacity;
	struct sonde_view_chunk *open; /* the last one; NULL: none */
};

struct sonde_view_rows {
	struct sonde_view_row *rows;
	size_t nr, capacity;
	/* ---- private ---- */
	int fd;
	uint64_t used, mapped;
	const unsigned char *map;
};

/* `fd`: an empty file, which becomes theirs. */
void sonde_view_rows_init(struct sonde_view_rows *rows, int fd);
void sonde_view_rows_fini(struct sonde_view_rows *rows);

/* A new row's number; -E2BIG, -ENOMEM. */
int sonde_view_rows_new(struct sonde_view_rows *rows,
			enum sonde_view_row_kind kind, int32_t number);

/* The open chunks are written as well: nothing more can be added. */
int sonde_view_rows_close(struct sonde_view_rows *rows);
/* Of none so far: `fd` and all its bytes, mapped, become theirs; chunks and
 * their directories are the caller's to add, checked. 0 or -errno. */
int sonde_view_rows_map(struct sonde_view_rows *rows, int fd);

struct sonde_view_piece {
	int64_t begin, end;
	uint8_t state;  /* enum sonde_view_state_id */
	uint32_t about; /* what goes with it: a thread, a cause */
};
/* The row's next state. What of it is before the row's end is left out. 0,
 * -ENOMEM, or the errno of writing. */
int sonde_view_rows_add(struct sonde_view_rows *rows, uint32_t row,
			const struct sonde_view_piece *piece);

/* What the row was doing then; false: nothing is known. */
bool sonde_view_rows_at(const struct sonde_view_rows *rows, uint32_t row,
			int64_t time, struct sonde_view_piece *ret_piece);
/* How long it had been in each state by then. */
void sonde_view_rows_sums(const struct sonde_view_rows *rows, uint32_t row,
			  int64_t time, uint64_t ret_sums[SONDE_VIEW_STATES]);

#endif /* VIEW_INDEX_ROWS_H */
