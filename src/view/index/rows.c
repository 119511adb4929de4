/* SPDX-License-Identifier: MIT */
/*
 * rows.c - states by row (rows.h).
 *
 * The file holds chunks alone, one behind the other, each whole. It is made
 * longer in large steps, so that it is seldom mapped anew.
 */
#include "view/index/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/search.h"
#include "sys/write.h"

#define MAP_STEP  ((uint64_t)64 << 20)
#define TIME_BITS 56
#define TIME_MASK (((uint64_t)1 << TIME_BITS) - 1)

void sonde_view_rows_init(struct sonde_view_rows *rows, int fd)
{
	*rows = (struct sonde_view_rows){ .fd = fd };
}

void sonde_view_rows_fini(struct sonde_view_rows *rows)
{
	for (size_t i = 0; i < rows->nr; i++) {
		free(rows->rows[i].chunks);
		free(rows->rows[i].open);
	}
	free(rows->rows);
	if (rows->map)
		(void)munmap((void *)(uintptr_t)rows->map, rows->mapped);
	if (rows->fd >= 0)
		(void)close(rows->fd);
}

int sonde_view_rows_new(struct sonde_view_rows *rows,
			enum sonde_view_row_kind kind, int32_t number)
{
	if (rows->nr == SONDE_VIEW_ROWS)
		return -E2BIG;
	if (SONDE_GROW(rows->rows, rows->nr, rows->capacity))
		return -ENOMEM;
	rows->rows[rows->nr] = (struct sonde_view_row){ .kind = kind,
							.number = number,
							.pid = -1 };
	return (int)rows->nr++;
}

/* ---- adding ---- */

/* Longer, and mapped: nobody reads meanwhile. */
static int grow_map(struct sonde_view_rows *rows)
{
	uint64_t size = rows->mapped + MAP_STEP;
	void *map;

	if (ftruncate(rows->fd, (off_t)size))
		return -errno;
	map = mmap(NULL, size, PROT_READ, MAP_SHARED, rows->fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	if (rows->map)
		(void)munmap((void *)(uintptr_t)rows->map, rows->mapped);
	rows->map = map;
	rows->mapped = size;
	return 0;
}

/* The open chunk is full: to the file with it. */
static int put_chunk(struct sonde_view_rows *rows, struct sonde_view_row *row)
{
	const struct sonde_view_chunk *chunk = row->open;
	int err = 0;

	if (SONDE_GROW(row->chunks, row->nr_chunks, row->chunks_capacity))
		return -ENOMEM;
	if (rows->used + sizeof(*chunk) > rows->mapped)
		err = grow_map(rows);
	if (!err)
		err = sonde_pwrite_all(rows->fd, chunk, sizeof(*chunk),
				       rows->used);
	if (err)
		return err;
	row->chunks[row->nr_chunks++] = (struct sonde_view_chunk_place){
		.begin = (int64_t)(chunk->begins[0] & TIME_MASK),
		.offset = rows->used,
	};
	rows->used += sizeof(*chunk);
	row->open->nr = 0;
	return 0;
}

/* A chunk with room for a state. */
static int make_chunk_room(struct sonde_view_rows *rows,
			   struct sonde_view_row *row)
{
	if (!row->open) {
		row->open = calloc(1, sizeof(*row->open));
		if (!row->open)
			return -ENOMEM;
		row->open->row = (uint32_t)(row - rows->rows);
	}
	return row->open->nr < SONDE_VIEW_CHUNK ? 0 : put_chunk(rows, row);
}

/* From the row's end on. */
static int append_state(struct sonde_view_rows *rows,
			struct sonde_view_row *row, int64_t end, uint8_t state,
			uint32_t about)
{
	struct sonde_view_chunk *chunk = row->open;
	uint64_t word = (uint64_t)row->end | (uint64_t)state << TIME_BITS;
	uint32_t last = chunk ? chunk->nr - 1 : 0;
	int err;

	if (!chunk || chunk->nr == 0 || chunk->about[last] != about ||
	    chunk->begins[last] >> TIME_BITS != state) {
		err = make_chunk_room(rows, row);
		if (err)
			return err;
		chunk = row->open;
		if (chunk->nr % SONDE_VIEW_GROUP == 0)
			memcpy(chunk->sums[chunk->nr / SONDE_VIEW_GROUP],
			       row->sums, sizeof(row->sums));
		chunk->begins[chunk->nr] = word;
		chunk->about[chunk->nr++] = about;
	}
	row->sums[state] += (uint64_t)(end - row->end);
	row->end = end;
	return 0;
}

int sonde_view_rows_add(struct sonde_view_rows *rows, uint32_t number,
			const struct sonde_view_piece *piece)
{
	struct sonde_view_row *row = &rows->rows[number];
	int64_t begin = piece->begin > 0 ? piece->begin : 0;
	int err = 0;

	if (row->begin == row->end)
		row->begin = row->end = begin;
	if (piece->end <= row->end || piece->end <= begin ||
	    piece->end > SONDE_VIEW_TIME_MAX)
		return 0;
	if (begin > row->end)
		err = append_state(rows, row, begin, SONDE_VIEW_UNKNOWN, 0);
	return err ? err :
		     append_state(rows, row, piece->end, piece->state,
				  piece->about);
}

int sonde_view_rows_close(struct sonde_view_rows *rows)
{
	int err = 0;

	for (size_t i = 0; !err && i < rows->nr; i++) {
		struct sonde_view_row *row = &rows->rows[i];

		if (row->open && row->open->nr)
			err = put_chunk(rows, row);
		if (err)
			break;
		free(row->open);
		row->open = NULL;
	}
	return err;
}

int sonde_view_rows_map(struct sonde_view_rows *rows, int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	void *map;

	rows->fd = fd;
	if (size <= 0)
		return -EINVAL;
	map = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	rows->map = map;
	rows->mapped = (uint64_t)size;
	return 0;
}

/* ---- asking ---- */

/* The chunk that time is in: it is not before the row's begin. */
static const struct sonde_view_chunk *
find_chunk(const struct sonde_view_rows *rows, const struct sonde_view_row *row,
	   int64_t time, int64_t *ret_end)
{
	size_t i;

	*ret_end = row->end;
	if (row->open && row->open->nr) {
		int64_t begin = (int64_t)(row->open->begins[0] & TIME_MASK);

		if (time >= begin)
			return row->open;
		*ret_end = begin;
	}
	SONDE_SEARCH(i, row->nr_chunks, row->chunks[i].begin <= time);
	if (i < row->nr_chunks)
		*ret_end = row->chunks[i].begin;
	return (const struct sonde_view_chunk
			*)(const void *)(rows->map + row->chunks[i - 1].offset);
}

/* The state of the chunk in which time is. */
static uint32_t find_state(const struct sonde_view_chunk *chunk, int64_t time)
{
	size_t i;

	SONDE_SEARCH(i, chunk->nr,
		     (int64_t)(chunk->begins[i] & TIME_MASK) <= time);
	return (uint32_t)i - 1;
}

/* The first state of the group in which time is. */
static uint32_t group_at(const struct sonde_view_chunk *chunk, uint64_t time)
{
	uint32_t i = 0;

	while (i + SONDE_VIEW_GROUP < chunk->nr &&
	       (chunk->begins[i + SONDE_VIEW_GROUP] & TIME_MASK) <= time)
		i += SONDE_VIEW_GROUP;
	return i;
}

bool sonde_view_rows_at(const struct sonde_view_rows *rows, uint32_t number,
			int64_t time, struct sonde_view_piece *ret_piece)
{
	const struct sonde_view_row *row = &rows->rows[number];
	const struct sonde_view_chunk *chunk;
	int64_t end;
	uint32_t i;

	if (time < row->begin || time >= row->end)
		return false;
	chunk = find_chunk(rows, row, time, &end);
	i = find_state(chunk, time);
	*ret_piece = (struct sonde_view_piece){
		.begin = (int64_t)(chunk->begins[i] & TIME_MASK),
		.end = i + 1 < chunk->nr ?
			       (int64_t)(chunk->begins[i + 1] & TIME_MASK) :
			       end,
		.state = (uint8_t)(chunk->begins[i] >> TIME_BITS),
		.about = chunk->about[i],
	};
	return true;
}

void sonde_view_rows_sums(const struct sonde_view_rows *rows, uint32_t number,
			  int64_t time, uint64_t ret_sums[SONDE_VIEW_STATES])
{
	const struct sonde_view_row *row = &rows->rows[number];
	const struct sonde_view_chunk *chunk;
	int64_t end;
	uint32_t i;

	if (time <= row->begin) {
		memset(ret_sums, 0, sizeof(row->sums));
		return;
	}
	if (time >= row->end) {
		memcpy(ret_sums, row->sums, sizeof(row->sums));
		return;
	}
	chunk = find_chunk(rows, row, time, &end);
	i = group_at(chunk, (uint64_t)time);
	memcpy(ret_sums, chunk->sums[i / SONDE_VIEW_GROUP], sizeof(row->sums));
	for (;; i++) {
		uint64_t word = chunk->begins[i];
		uint64_t until = (uint64_t)time;
		bool is_last =
			i + 1 == chunk->nr ||
			(chunk->begins[i + 1] & TIME_MASK) >= (uint64_t)time;

		if (!is_last)
			until = chunk->begins[i + 1] & TIME_MASK;
		ret_sums[word >> TIME_BITS] += until - (word & TIME_MASK);
		if (is_last)
			return;
	}
}
