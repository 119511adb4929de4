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

/* All pixels of a row, from left to right: its states, and nothing of what was
 * lost. As sonde_view_paint_row(), of which it is a part. */
void sonde_view_paint_states(const struct sonde_view_rows *rows, uint32_t row,
			     const struct sonde_view_span *span,
			     uint32_t pixels, struct sonde_view_run *runs);

/* Likewise of a counter: its values. */
void sonde_view_paint_counter(const struct sonde_view_rows *rows, uint32_t row,
			      const struct sonde_view_span *span,
			      uint32_t pixels, struct sonde_view_run *runs);

/* A row's pixels; those of which nothing is known are in no run. `runs` has room
 * for one each; how many there are. Between the index' lock and unlock. */
uint32_t sonde_view_paint_row(const struct sonde_view_index *index,
			      uint32_t row, const struct sonde_view_span *span,
			      uint32_t pixels, struct sonde_view_run *runs);

#endif /* VIEW_INDEX_PAINT_H */
