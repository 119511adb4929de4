/* SPDX-License-Identifier: MIT */
/*
 * paint.h - what the pixels of a row show, of whatever kind they are: those of a
 * page, cells of a terminal.
 */
#ifndef VIEW_INDEX_PAINT_H
#define VIEW_INDEX_PAINT_H

#include <stdbool.h>
#include <stdint.h>

#include "view/index/index.h"

#define SONDE_VIEW_PIXELS 8192 /* at most */

struct sonde_view_span {
	int64_t from, to; /* since the trace's begin; from < to */
};

/* Which pixel of n shows that time; may be outside. */
static inline int64_t sonde_view_pixel_of(const struct sonde_view_span *span,
					  int64_t time, uint32_t nr)
{
	__extension__ typedef __int128 wide;

	return (int64_t)((wide)(time - span->from) * nr /
			 (span->to - span->from));
}

/* Where pixel i of n, begins; i up to n. */
static inline int64_t sonde_view_pixel(const struct sonde_view_span *span,
				       uint32_t i, uint32_t nr)
{
	__extension__ typedef __int128 wide;

	return span->from + (int64_t)((wide)(span->to - span->from) * i / nr);
}

/* Where pixels begin, one after the other, as above. */
struct sonde_view_edges {
	int64_t at;
	uint64_t step, rest, more; /* `more` of `nr` parts behind `at` */
	uint32_t nr;
};
static inline struct sonde_view_edges
sonde_view_edges(const struct sonde_view_span *span, uint32_t nr)
{
	uint64_t all = (uint64_t)(span->to - span->from);

	return (struct sonde_view_edges){
		.at = span->from, .step = all / nr, .rest = all % nr, .nr = nr
	};
}
static inline int64_t sonde_view_edges_next(struct sonde_view_edges *edges)
{
	edges->at += (int64_t)edges->step;
	edges->more += edges->rest;
	if (edges->more >= edges->nr) {
		edges->more -= edges->nr;
		edges->at++;
	}
	return edges->at;
}

/* Which pixels a hole touches; false: none. */
bool sonde_view_hole_pixels(const struct sonde_view_hole *hole,
			    const struct sonde_view_span *span, uint32_t pixels,
			    uint32_t *ret_first, uint32_t *ret_last);

/* Whether what is missing may be the row's. */
bool sonde_view_hole_is_of(const struct sonde_view_hole *hole,
			   const struct sonde_view_row *row);

/* Pixels that show the same. */
struct sonde_view_run {
	uint16_t x, width;
	uint8_t state; /* that took most of them */
	uint8_t share; /* how much that is, of 255 */
	uint16_t name; /* of what went on all the time; 0: several, or none */
};

/* All pixels of a row, from left to right: its states, and nothing of what was
 * lost. As sonde_view_paint_row(), of which it is a part. */
void sonde_view_paint_states(const struct sonde_view_rows *rows, uint32_t row,
			     const struct sonde_view_span *span,
			     uint32_t pixels, struct sonde_view_run *runs);

/* A row's pixels; those of which nothing is known are in no run. `runs` has room
 * for one each; how many there are. Between the index' lock and unlock. */
uint32_t sonde_view_paint_row(const struct sonde_view_index *index,
			      uint32_t row, const struct sonde_view_span *span,
			      uint32_t pixels, struct sonde_view_run *runs);

#endif /* VIEW_INDEX_PAINT_H */
