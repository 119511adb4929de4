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
#include "view/index/span.h"

#define SONDE_VIEW_PIXELS 8192 /* at most */

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
	/* of SONDE_VIEW_VALUE: `share` is the most that it was, `name` the least, on
	 * the scale below, from 0 to 255 */
};

/* What a counter is drawn between: its least and its most, or nothing and the farther
 * of both, if that is more than twice as far as the nearer. */
void sonde_view_value_scale(const struct sonde_view_row *row, double *ret_low,
			    double *ret_high);

/* All pixels of a counter, from left to right: its values, and nothing of what was
 * lost. As sonde_view_paint_row(), of which it is a part. */
void sonde_view_paint_counter(const struct sonde_view_rows *rows, uint32_t row,
			      const struct sonde_view_span *span,
			      uint32_t pixels, struct sonde_view_run *runs);

/* A row's pixels; those of which nothing is known are in no run. `runs` has room
 * for one each; how many there are. Between the index' lock and unlock. */
uint32_t sonde_view_paint_row(const struct sonde_view_index *index,
			      uint32_t row, const struct sonde_view_span *span,
			      uint32_t pixels, struct sonde_view_run *runs);

/* Many rows of one time. */
struct sonde_view_picture {
	const uint32_t *ids; /* of rows; that of none has no runs */
	size_t nr;
	const struct sonde_view_span *span;
	uint32_t pixels;
	struct sonde_view_run *runs; /* room for `pixels` of each row */
	uint32_t *nr_runs;           /* returned, for each row */
};

/* A picture is painted in so many parts, in any order and by any threads, each once:
 * together they are what sonde_view_paint_row() makes of each row. Two, or more of
 * 32 rows. */
size_t sonde_view_picture_parts(const struct sonde_view_picture *picture);
void sonde_view_paint_part(const struct sonde_view_index *index,
			   const struct sonde_view_picture *picture,
			   size_t part);
/* Of this, all pixels of the part's rows, from left to right, but for those of
 * counters: their states, and nothing of what was lost. */
void sonde_view_paint_states(const struct sonde_view_rows *rows,
			     const struct sonde_view_picture *picture,
			     size_t part);

#endif /* VIEW_INDEX_PAINT_H */
