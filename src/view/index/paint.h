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
	uint64_t all = (uint64_t)(span->to - span->from);

	/* A frame asks for each pixel of each row: the long division is slow. */
	if (all < UINT64_MAX / SONDE_VIEW_PIXELS)
		return span->from + (int64_t)(all * i / nr);
	return span->from + (int64_t)((wide)(span->to - span->from) * i / nr);
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

/* A row's pixels; those of which nothing is known are in no run. `runs` has room
 * for one each; how many there are. Between the index' lock and unlock. */
uint32_t sonde_view_paint_row(const struct sonde_view_index *index,
			      uint32_t row, const struct sonde_view_span *span,
			      uint32_t pixels, struct sonde_view_run *runs);

#endif /* VIEW_INDEX_PAINT_H */
