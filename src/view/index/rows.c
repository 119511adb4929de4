/* SPDX-License-Identifier: MIT */
/*
 * rows.c - states by row (rows.h): adding them. Chunks and nodes go to the file,
 * each whole, in the order in which they became full.
 */
#include "view/index/rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

void sonde_view_rows_init(struct sonde_view_rows *rows, int fd)
{
	*rows = (struct sonde_view_rows){ .nr = 0 };
	sonde_view_body_init(&rows->body, fd);
}

static void free_open(struct sonde_view_row *row)
{
	if (row->open) {
		free(row->open->words);
		free(row->open->abouts);
	}
	free(row->open);
	row->open = NULL;
}

void sonde_view_rows_fini(struct sonde_view_rows *rows)
{
	for (size_t i = 0; i < rows->nr; i++) {
		free(rows->rows[i].nodes);
		free(rows->rows[i].entries);
		free_open(&rows->rows[i]);
		sonde_view_series_free(rows->rows[i].series);
	}
	free(rows->rows);
	sonde_view_body_fini(&rows->body);
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
							.pid = -1,
							.least = INFINITY,
							.most = -INFINITY };
	return (int)rows->nr++;
}

/* ---- adding ---- */

/* States that any of the entries has sums of. */
static uint32_t states_of_entries(const struct sonde_view_row *row)
{
	const uint64_t *last = row->entries[row->nr_entries - 1].sums;
	uint32_t states = 0;

	for (uint32_t i = 0; i < SONDE_VIEW_STATES; i++)
		if (last[i])
			states |= 1u << i;
	return states;
}

/* The open node is full: to the file with it. */
static int put_node(struct sonde_view_rows *rows, struct sonde_view_row *row)
{
	uint32_t head[2] = { row->nr_entries, states_of_entries(row) };
	unsigned char *to;
	unsigned char *at;
	int err = sonde_view_body_room(
		&rows->body,
		sizeof(head) + row->nr_entries * sizeof(*row->entries), &to);

	if (err || SONDE_GROW(row->nodes, row->nr_nodes, row->nodes_room))
		return err ? err : -ENOMEM;
	memcpy(to, head, sizeof(head));
	at = to + sizeof(head);
	for (uint32_t i = 0; i < row->nr_entries; i++) {
		const struct sonde_view_entry *entry = &row->entries[i];

		memcpy(at, entry, 16);
		at += 16;
		for (uint32_t left = head[1]; left; left &= left - 1, at += 8)
			memcpy(at, &entry->sums[__builtin_ctz(left)], 8);
	}
	row->nodes[row->nr_nodes++] = (struct sonde_view_node_place){
		.begin = (int64_t)row->entries[0].begin,
		.offset = rows->body.used,
	};
	rows->body.used += (uint64_t)(at - to);
	row->nr_entries = 0;
	return 0;
}

/* The open chunk is full, up to the row's end: likewise. */
static int put_chunk(struct sonde_view_rows *rows, struct sonde_view_row *row)
{
	struct sonde_view_open *open = row->open;
	struct sonde_view_entry *entry;
	unsigned char *to;
	int err = 0;

	if (row->nr_entries == SONDE_VIEW_NODE)
		err = put_node(rows, row);
	if (!err)
		err = sonde_view_body_room(&rows->body, SONDE_VIEW_CHUNK_BYTES,
					   &to);
	if (err)
		return err;
	if (SONDE_GROW(row->entries, row->nr_entries, row->entries_room))
		return -ENOMEM;
	entry = &row->entries[row->nr_entries++];
	entry->begin = (uint64_t)sonde_view_open_begin(open, 0);
	entry->offset = rows->body.used;
	memcpy(entry->sums, open->sums, sizeof(entry->sums));
	rows->body.used += sonde_view_open_encode(open, row->end, to);
	open->nr = 0;
	return 0;
}

/* A state that begins at the row's end. */
static int open_state(struct sonde_view_rows *rows, struct sonde_view_row *row,
		      uint8_t state, uint32_t about)
{
	int err;

	if (!row->open) {
		row->open = calloc(1, sizeof(*row->open));
		if (!row->open)
			return -ENOMEM;
	}
	err = sonde_view_open_add(row->open, row->end, state, about);
	if (err == -ENOSPC) {
		err = put_chunk(rows, row);
		memcpy(row->open->sums, row->sums, sizeof(row->sums));
		if (!err)
			err = sonde_view_open_add(row->open, row->end, state,
						  about);
	}
	return err;
}

static int append_value(struct sonde_view_rows *rows,
			struct sonde_view_row *row,
			const struct sonde_view_piece *piece)
{
	bool known = piece->state == SONDE_VIEW_VALUE && isfinite(piece->value);
	double value = known ? piece->value : NAN;

	if (value < row->least)
		row->least = value;
	if (value > row->most)
		row->most = value;
	return sonde_view_series_add(&row->series, &rows->body, row->end,
				     value);
}

/* From the row's end on, up to the piece's. */
static int append_piece(struct sonde_view_rows *rows,
			struct sonde_view_row *row,
			const struct sonde_view_piece *piece)
{
	const struct sonde_view_open *open = row->open;
	int err = 0;

	if (row->kind == SONDE_VIEW_ROW_COUNTER)
		err = append_value(rows, row, piece);
	else if (!open || !open->nr ||
		 sonde_view_open_state(open, open->nr - 1) != piece->state ||
		 open->abouts[open->nr - 1] != piece->about)
		err = open_state(rows, row, piece->state, piece->about);
	if (err)
		return err;
	row->sums[piece->state] += (uint64_t)(piece->end - row->end);
	row->end = piece->end;
	return 0;
}

int sonde_view_rows_add(struct sonde_view_rows *rows, uint32_t number,
			const struct sonde_view_piece *piece)
{
	struct sonde_view_row *row = &rows->rows[number];
	int64_t begin = piece->begin > 0 ? piece->begin : 0;
	const struct sonde_view_piece unknown = { .end = begin,
						  .state = SONDE_VIEW_UNKNOWN };
	int err = 0;

	if (row->begin == row->end)
		row->begin = row->end = begin;
	if (piece->end <= row->end || piece->end <= begin ||
	    piece->end > SONDE_VIEW_TIME_MAX)
		return 0;
	if (begin > row->end)
		err = append_piece(rows, row, &unknown);
	return err ? err : append_piece(rows, row, piece);
}

static int close_series(struct sonde_view_rows *rows,
			struct sonde_view_row *row)
{
	struct sonde_view_node_place root = { .begin = row->begin };
	int err = SONDE_GROW(row->nodes, row->nr_nodes, row->nodes_room);

	if (!err)
		err = sonde_view_series_close(row->series, &rows->body,
					      row->end, &root.offset);
	if (err)
		return err;
	row->nodes[row->nr_nodes++] = root;
	sonde_view_series_free(row->series);
	row->series = NULL;
	return 0;
}

struct sonde_view_values
sonde_view_rows_values(const struct sonde_view_rows *rows, uint32_t number)
{
	const struct sonde_view_row *row = &rows->rows[number];

	return (struct sonde_view_values){
		.body = &rows->body,
		.series = row->series,
		.root = row->nr_nodes ? row->nodes[0].offset : 0,
		.begin = row->begin,
		.end = row->end,
	};
}

int sonde_view_rows_close(struct sonde_view_rows *rows)
{
	int err = 0;

	for (size_t i = 0; !err && i < rows->nr; i++) {
		struct sonde_view_row *row = &rows->rows[i];

		if (row->series)
			err = close_series(rows, row);
		if (!err && row->open && row->open->nr)
			err = put_chunk(rows, row);
		if (!err && row->nr_entries)
			err = put_node(rows, row);
		if (err)
			break;
		free_open(row);
	}
	return err ? err : sonde_view_body_flush(&rows->body);
}
